"""What commands that read a study's exports share: progress, right answers, the command that makes the result again."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from merilo.api.right_answers import gold_of
from merilo.baselines.provenance import command_line
from merilo.cli.output import tracked
from merilo.datasets import Dataset
from merilo.errors import UsageError
from merilo.files import Progress

__all__ = ["command_line", "gold_of", "reading", "typed_freely", "votes_option"]

LONG_INPUT_BYTES = 8_000_000


def typed_freely(declared: Dataset | None) -> bool:
    """Whether the dataset's answers must be read as they were typed."""
    return declared is not None and declared.answers_as_typed


def votes_option(text: str) -> int | Literal["majority"]:
    """The value of --min-votes.

    Raises:
        UsageError: it is neither 'majority' nor a whole number.
    """
    if text == "majority":
        return "majority"
    if not text.isdecimal():
        raise UsageError(f"--min-votes takes 'majority' or a number from 1 on, not '{text}'")
    return int(text)


@contextmanager
def reading(files: Sequence[Path]) -> Iterator[Progress | None]:
    """A progress bar on standard error for input that takes a while, on a terminal."""
    size = sum(path.stat().st_size for path in files if path.is_file())
    if size < LONG_INPUT_BYTES or not sys.stderr.isatty():
        yield None
        return
    with tracked("Reading", size) as progress:
        yield progress
