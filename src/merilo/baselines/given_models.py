"""Arguments of a comparison: which are baselines, which are models, and which answers of a model belong to which baseline."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from merilo.answer_tables import read_answer_records
from merilo.baselines.baseline_reader import StoredBaseline
from merilo.baselines.model_answers import Samples, log_file, read_samples
from merilo.baselines.run_samples import read_model
from merilo.errors import DataError, InputError, UsageError
from merilo.models.harness_logs.harness_answers import is_harness_log
from merilo.models.run_folder import is_run, read_run
from merilo.wording import listed, shown

BASELINE_FILE: Final = "baseline.json"

#: The suffixes of files of answers in a folder.
_SUFFIXES: Final = (".jsonl", ".json", ".csv", ".tsv", ".parquet")

#: Members of the ZIP archives that are logs of Inspect.
_INSPECT_MEMBERS: Final = re.compile(r"(?:header\.json|_journal/)")


def split_arguments(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Separate the folders of baselines from models; a baseline is a folder with `baseline.json`.

    Raises:
        InputError: a path does not exist, is an empty folder, or is an archive; or there is no baseline.
    """
    baselines = [path for path in paths if (path / BASELINE_FILE).is_file()]
    for path in paths if baselines else paths[:1]:
        _refuse_archive(path)
    if not baselines:
        raise InputError(f"is not a baseline folder: {BASELINE_FILE} is missing", file=shown(paths[0]))
    for path in paths:
        if path.is_dir() and not any(path.iterdir()):
            raise InputError("is an empty folder", file=shown(path))
        if not path.exists():
            raise InputError("does not exist", file=shown(path))
    return baselines, [path for path in paths if path not in baselines]


def _refuse_archive(path: Path) -> None:
    if path.is_file() and zipfile.is_zipfile(path) and path.suffix.lower() in {".zip", ""}:
        with zipfile.ZipFile(path) as archive:
            if not any(map(_INSPECT_MEMBERS.match, archive.namelist())):
                raise InputError("is a ZIP archive: unpack it, and give the folder", file=shown(path))


def dataset_key(crowd: StoredBaseline) -> str:
    """Return the name under which a baseline's dataset is listed: that of the dataset, or else that of the folder."""
    return crowd.declaration.name or Path(crowd.folder).resolve().name


def by_dataset(crowds: Sequence[StoredBaseline]) -> dict[str, StoredBaseline]:
    """Return a mapping from dataset to baseline.

    Raises:
        UsageError: two baselines are of the same dataset.
    """
    found: dict[str, StoredBaseline] = {}
    for crowd in crowds:
        key = dataset_key(crowd)
        if key in found:
            raise UsageError(
                f"{shown(found[key].folder)} and {shown(crowd.folder)} are both baselines of {key}: give one baseline of each dataset"
            )
        found[key] = crowd
    return found


def answers_to(
    path: Path, crowds: Mapping[str, StoredBaseline], *, force: bool = False
) -> dict[str, Samples]:
    """Read a model's answers to the datasets of baselines.

    Args:
        path: the folder of a run, a folder with logs or with files named after datasets, a log, or a file of answers.
        crowds: the baselines by dataset.
        force: whether a file may answer other items than its baseline has.

    Returns:
        A mapping from dataset to the answers; a run may have none.

    Raises:
        UsageError: a file could belong to several baselines.
        InputError: the answers cannot be read, or a run asked other items than a baseline has.
        DataError: a file or folder has no answers to the items of any baseline.
    """
    if is_run(path):
        held = read_run(path).record.datasets
        return {key: read_model(path, crowd) for key, crowd in crowds.items() if key.lower() in held}
    if path.is_dir():
        return _of_folder(path, crowds)
    if is_harness_log(path):
        return _of_log(path, crowds)
    key, name = _dataset_of(path, crowds, force=force)
    found = read_model(path, crowds[key])
    return {key: found if is_run(path.parent) or name is None else replace(found, model=name)}


def _of_folder(path: Path, crowds: Mapping[str, StoredBaseline]) -> dict[str, Samples]:
    files = dict(_named_files(path, crowds))
    if files:
        name = path.resolve().name
        return {key: replace(read_samples(file, crowds[key]), model=name) for key, file in files.items()}
    if not is_harness_log(path):
        raise InputError(
            f"is no baseline (no {BASELINE_FILE}), no run (no run.json), and has no log and no file of answers named after a dataset ({listed([*crowds])})",
            file=shown(path),
        )
    found = {}
    for key, crowd in crowds.items():
        try:
            log = log_file(path, crowd)
        except DataError as error:
            if "name one of them" in error.message:
                raise
            continue
        found[key] = _named(read_samples(log, crowd), path.resolve().name)
    if not found:
        raise DataError(
            f"none of its logs has items of the baselines ({listed([*crowds])})", file=shown(path)
        )
    return found


def _named_files(path: Path, crowds: Mapping[str, StoredBaseline]) -> Iterator[tuple[str, Path]]:
    """Yield the files of a folder that are named after datasets and are no logs."""
    for key in crowds:
        for suffix in _SUFFIXES:
            file = next(
                (
                    path / f"{name}{suffix}"
                    for name in (key, key.lower())
                    if (path / f"{name}{suffix}").is_file()
                ),
                None,
            )
            if file is not None and not is_harness_log(file):
                yield key, file
                break


def _of_log(path: Path, crowds: Mapping[str, StoredBaseline]) -> dict[str, Samples]:
    found = {}
    last: DataError | None = None
    for key, crowd in crowds.items():
        try:
            found[key] = _named(read_samples(path, crowd), path.stem)
        except DataError as error:
            last = error
    if not found and last is not None:
        raise DataError(
            f"has no items of the baselines ({listed([*crowds])}): {last.message}", file=shown(path)
        )
    return found


def _named(samples: Samples, name: str) -> Samples:
    """Give a log that does not name its model the name of its file or folder."""
    return samples if samples.log and samples.log.model else replace(samples, model=name)


def _dataset_of(path: Path, crowds: Mapping[str, StoredBaseline], *, force: bool) -> tuple[str, str | None]:
    """Return the dataset that a file of answers belongs to, and the model's name if the file's name has both."""
    lower = {key.lower(): key for key in crowds}
    parts = re.split(r"[._-]", path.stem)
    for at, rest in ((0, parts[1:]), (-1, parts[:-1])):
        if key := lower.get(parts[at].lower()):
            whole = path.stem
            name = whole[len(parts[0]) + 1 :] if at == 0 else whole[: -len(parts[-1]) - 1]
            return key, name if rest else path.resolve().parent.name
    if key := lower.get(path.resolve().parent.name.lower()):
        return key, None
    if len(crowds) == 1:
        return next(iter(crowds)), None
    answered = {" ".join(record.id.split()) for record in read_answer_records(path)}
    fits = [key for key, crowd in crowds.items() if answered == set(crowd.names)]
    if not fits and force:
        fits = [key for key, crowd in crowds.items() if answered & set(crowd.names)]
    if len(fits) == 1:
        return fits[0], None
    if fits:
        raise UsageError(
            f"{shown(path)} could belong to several baselines ({listed(fits)}): begin its name with its dataset, such as {fits[0]}.jsonl"
        )
    raise DataError(
        f"its items are not those of any baseline ({listed([*crowds])}): begin its name with its dataset, such as {next(iter(crowds))}.jsonl",
        file=shown(path),
    )
