"""The baseline folder, the report, plots."""

from __future__ import annotations

from typing import Literal, TypeAlias

#: The formats of other tools in which answers and metrics are written.
ForeignFormat: TypeAlias = Literal["inspect", "lm-eval", "every-eval-ever", "eval-results", "parquet", "csv"]
