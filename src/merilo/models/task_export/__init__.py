"""Tasks that other harnesses run with Merilo's prompts and metrics."""

from __future__ import annotations

from typing import Literal, TypeAlias

#: The harness for which a dataset is exported as a task.
TaskFormat: TypeAlias = Literal["lm-eval", "inspect"]

#: The formats of `merilo datasets export`: those, and the file that registers a benchmark on the Hugging Face hub.
ExportFormat: TypeAlias = Literal["lm-eval", "inspect", "hub"]
