"""The programs of a run in the sandbox: from completions to the results that submissions hold."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from merilo.api.asked_datasets import ItemSource
from merilo.api.programs import Watch, score_programs
from merilo.errors import MissingPartError
from merilo.files import sha256
from merilo.models.asked_dataset import AskedDataset
from merilo.models.run_folder import SANDBOX_FOLDER, RunFolder
from merilo.sandbox.job import Step

#: As `merilo.api.programs.Watch`.
ProgramWatch: TypeAlias = Watch


@contextmanager
def unwatched(generations: int, resumed: int) -> Iterator[Callable[[Step], None]]:
    """Show nothing."""
    yield lambda _: None


def run_programs(folder: RunFolder, asked: AskedDataset, source: ItemSource, watch: ProgramWatch) -> str:
    """Run the programs of a dataset in the sandbox and write their results as `<dataset>.json`.

    Programs that were judged before are not run again.

    Returns:
        A sentence if there is no sandbox; else an empty text.

    Raises:
        DataError: a problem is invalid.
        OutputError: the results cannot be written.
    """
    name = asked.declared.name
    completions = folder.path / f"{name}.completions.jsonl"
    results = folder.path / f"{name}.json"
    # The ledger of other completions, from before the run was extended, is of no use.
    place = folder.path / SANDBOX_FOLDER / f"{name}-{sha256(completions)[:12]}"
    try:
        score_programs(completions, data=source.file, partial=True, out=place, outputs=results, watch=watch)
    except MissingPartError as error:
        return f"the programs of {asked.declared.title} have not been run: {error.marked}"
    for old in place.parent.glob(f"{name}-*"):
        if old != place:
            shutil.rmtree(old, ignore_errors=True)
    return ""
