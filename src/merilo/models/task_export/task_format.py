"""The harnesses that tasks are exported for."""

from __future__ import annotations

from typing import Literal, TypeAlias

TaskFormat: TypeAlias = Literal["lm-eval", "inspect"]
