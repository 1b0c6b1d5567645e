"""What commands that read a study's exports share: progress, right answers, the command that makes the result again."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from merilo.baselines.pipeline import test_items
from merilo.cli.output import tracked
from merilo.datasets import Dataset
from merilo.datasets.solvers import SOLVERS, solver
from merilo.errors import UsageError
from merilo.files import Progress, shown
from merilo.people.gold import Gold, read_gold, solved_gold
from merilo.responses import Responses
from merilo.strict_json import Json

LONG_INPUT_BYTES = 8_000_000


def gold_of(
    responses: Responses,
    declared: Dataset | None,
    gold: Path | None,
    column: str | None,
    encoding: str | None,
    *,
    alternatives: str | None = None,
) -> Gold | None:
    """The right answers: from the user's file, else from the dataset's solver, if there is either.

    Raises:
        UsageError: a column is named and no file.
    """
    items = test_items(responses)
    if gold is not None:
        labels = sorted(set(responses.table["answer"].unique()))
        return read_gold(
            gold,
            items,
            answer=responses.answer_field or "",
            column=column,
            labels=labels,
            encoding=encoding,
            form=declared.answer if declared else None,
            alternatives=alternatives,
        )
    if column is not None:
        raise UsageError("--gold-column needs --gold")
    if declared and declared.name in SOLVERS:
        return solved_gold(items, solver(declared.name), declared.name)
    return None


def typed_freely(declared: Dataset | None) -> bool:
    """Whether the dataset's answers must be read as they were typed."""
    return declared is not None and declared.answers_as_typed


def command_line(
    command: str, files: Sequence[Path], options: Mapping[str, Json], defaults: Mapping[str, Json]
) -> str:
    """The command that makes the same result again; what was left at its default is left out."""
    words = ["merilo", *command.split(), *map(shown, files)]
    for name, value in options.items():
        if value is None or value == [] or value == defaults.get(name):
            continue
        if value is True:
            words.append(f"--{name.replace('_', '-')}")
            continue
        for one in value if isinstance(value, list) else [value]:
            words += [f"--{name.replace('_', '-')}", str(one)]
    return shlex.join(words)


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
