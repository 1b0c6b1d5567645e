"""Functions shared by commands that read a study's exports."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from merilo.baselines.study_input import gold_of
from merilo.cli.output import tracked
from merilo.datasets import Dataset
from merilo.errors import UsageError
from merilo.files import Progress

__all__ = ["gold_of", "reading", "typed_freely", "votes_option"]

LONG_INPUT_BYTES = 8_000_000


def typed_freely(declared: Dataset | None) -> bool:
    """Return whether the dataset's answers must be read exactly as typed."""
    return declared is not None and declared.answers_as_typed


def votes_option(text: str) -> int | Literal["majority"]:
    """Parse the value of --min-votes.

    Raises:
        UsageError: the text is neither 'majority' nor a whole number.
    """
    if text == "majority":
        return "majority"
    if not text.isdecimal():
        raise UsageError(f"--min-votes takes 'majority' or a number of at least 1, not '{text}'")
    return int(text)


@contextmanager
def reading(files: Sequence[Path]) -> Iterator[Progress | None]:
    """Show a progress bar on standard error for large input, if it is a terminal."""
    size = sum(path.stat().st_size for path in files if path.is_file())
    if size < LONG_INPUT_BYTES or not sys.stderr.isatty():
        yield None
        return
    with tracked("Reading", size) as progress:
        yield progress
