"""The folder of a run: its record, its logs, and the files of answers made from them.

RUN/run.json                        what is asked and how
RUN/log/<dataset>.jsonl             every reply, appended as it arrives
RUN/<dataset>.jsonl                 the answers: id, answer, sample, outcome
RUN/<dataset>.completions.jsonl     the programs: task_id, completion, sample, outcome
RUN/<dataset>.json                  the results of the programs, as a submission has them
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from merilo.errors import InputError, OutputError, UsageError, argument
from merilo.models.run_log import LOG_FOLDER, RunLog, open_log
from merilo.models.run_record import RECORD_FILE, RunRecord, is_run, read_record, write_record
from merilo.wording import listed

#: The folder of the sandbox's verdicts in a run's folder.
SANDBOX_FOLDER: Final = "sandbox"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of a run with its record.

    Attributes:
        path: the folder.
        record: what is asked and how.
    """

    path: Path
    record: RunRecord

    def answers_file(self, dataset: str) -> Path:
        """Return the file of the answers to a dataset; for programs, their results."""
        programs = self.path / f"{dataset}.json"
        return programs if programs.is_file() else self.path / f"{dataset}.jsonl"

    @property
    def model(self) -> str:
        """The model's name, as tables show it; that of a built-in respondent says so."""
        return self.record.model.name

    def dataset_named(self, name: str | None = None) -> str:
        """Return a dataset of the run: that of this name, or the only one.

        Raises:
            UsageError: the run has no such dataset, or several and none is named.
        """
        held = list(self.record.datasets)
        if name and name.lower() in held:
            return name.lower()
        if name:
            raise UsageError(
                f"the run has no answers to {name}, only to {listed(held)}", field=str(self.path)
            )
        if len(held) == 1:
            return held[0]
        raise UsageError(
            f"the run has answers to {listed(held)}; name one file, such as {self.path / held[0]}.jsonl",
            field=str(self.path),
        )


def read_run(path: Path) -> RunFolder:
    """Read the folder of a run.

    Raises:
        InputError: the folder is not one of a run, or its record cannot be read.
    """
    return RunFolder(path, read_record(path))


@contextmanager
def run_in(path: Path, record: RunRecord, *, force: bool = False) -> Iterator[tuple[RunFolder, RunLog]]:
    """Open the folder of a run for asking: make it, or resume the run that it holds.

    Args:
        path: the folder.
        record: what is asked and how.
        force: delete the run that the folder holds and start again.

    Yields:
        The folder with the whole record, and its log.

    Raises:
        UsageError: the folder holds another run.
        InputError: its record cannot be read.
        OutputError: it holds other files, cannot be written, or another process is writing it.
    """
    if path.exists() and not is_run(path) and not _is_new(path):
        raise OutputError("exists already and holds no run; choose another folder", file=path)
    with open_log(path) as log:
        if is_run(path) and force:
            _clear(path)
        if is_run(path):
            record = read_record(path).extended(record, path)
        write_record(path, record)
        yield RunFolder(path, record), log


def _is_new(path: Path) -> bool:
    """Check whether a folder is empty, or a run that was killed before its record was written."""
    if not path.is_dir():
        return False
    names = {entry.name for entry in path.iterdir()}
    log = path / LOG_FOLDER
    return names <= {LOG_FOLDER} and (not log.is_dir() or not any(log.glob("*.jsonl")))


def _clear(path: Path) -> None:
    """Delete the files of a run; other files in its folder are kept."""
    try:
        datasets = list(read_record(path).datasets)
    except InputError:
        datasets = []
    try:
        for name in datasets:
            for suffix in (".jsonl", ".json", ".completions.jsonl"):
                (path / f"{name}{suffix}").unlink(missing_ok=True)
        for entry in (path / LOG_FOLDER).glob("*.*"):
            entry.unlink()
        with suppress(FileNotFoundError):
            shutil.rmtree(path / SANDBOX_FOLDER)
        (path / RECORD_FILE).unlink()
    except OSError as error:
        raise OutputError(
            f"cannot be cleared for {argument('force', given=True)} ({error.strerror})", file=path
        ) from error
