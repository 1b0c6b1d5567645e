"""Freeze the plan of a study: record the date and the hashes, and name every later difference."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final, cast

from merilo.atomic_write import write_text
from merilo.errors import InputError, OutputError, UsageError, argument
from merilo.files import sha256
from merilo.records import Object, Record
from merilo.strict_json import Json, indented
from merilo.studies.plan_file import read_lined_yaml
from merilo.studies.plan_types import FROZEN_FILE, ITEMS_FILE, STUDY_FILE, WEIGHTS_FILE
from merilo.studies.study_folder import StudyFolder
from merilo.version import __version__

#: Sections that may be filled in after the plan was frozen: they are answers about the study, not decisions.
OPEN_SECTIONS: Final = ("checklist", "publication")


class FrozenPlan(Record):
    """The record of a frozen plan.

    Attributes:
        date: the date, as given or of the day: `2026-11-22`.
        hash: the SHA-256 of all hashes below.
        merilo: the version that wrote it.
        files: name of a file in the folder -> its SHA-256.
        plan: the content of `study.yaml`.
    """

    date: str
    hash: str
    merilo: str = ""
    files: dict[str, str]
    plan: Object


@dataclass(frozen=True, slots=True)
class PlanChange:
    """A difference from the frozen plan.

    Attributes:
        what: the key of `study.yaml`, or a file's name.
        frozen: what it was; `None` if it did not exist. Of a file: its hash.
        now: what it is; `None` if it does not exist any more.
        decision: whether it is a decision that should not change, not an answer that is filled in later.
    """

    what: str
    frozen: str | None
    now: str | None
    decision: bool = True

    def __str__(self) -> str:
        if self.frozen is None:
            return f"{self.what}: {self.now} was added"
        if self.now is None:
            return f"{self.what}: {self.frozen} was removed"
        return f"{self.what}: {self.frozen} was changed to {self.now}"


def freeze_plan(study: StudyFolder, *, day: str | None = None, force: bool = False) -> FrozenPlan:
    """Write `frozen.json`: the date, the hashes of `study.yaml` and of the files that it names, and the plan itself.

    Args:
        study: the study.
        day: the date, `YYYY-MM-DD`. Default: today.
        force: replace an earlier record.

    Raises:
        OutputError: the plan is frozen already and `force` is not given.
        UsageError: the date is not a date.
        InputError: a file that the plan names is missing.
    """
    path = study.path / FROZEN_FILE
    if path.exists() and not force:
        earlier = read_frozen(study.path)
        when = f" on {earlier.date}" if earlier else ""
        raise OutputError(
            f"the plan was frozen{when}; to replace the record, give {argument('force')}", file=path
        )
    try:
        stamped = date.fromisoformat(day).isoformat() if day is not None else date.today().isoformat()
    except ValueError:
        raise UsageError(f"{argument('date')} takes a date such as 2026-11-22, not '{day}'") from None
    files = {name: sha256(study.path / name) for name in planned_files(study)}
    frozen = FrozenPlan(
        date=stamped, hash=combined_hash(files), merilo=__version__, files=files, plan=_content(study.path)
    )
    write_text(path, indented(frozen.to_json()) + "\n")
    return frozen


def planned_files(study: StudyFolder) -> list[str]:
    """List the files that the plan consists of, `study.yaml` first."""
    plan = study.plan
    names = [STUDY_FILE, ITEMS_FILE, WEIGHTS_FILE, *plan.instruction.values()]
    names += [section.file for section in (plan.controls, plan.training) if section is not None]
    if (study.path / plan.dataset).is_file():
        names.append(plan.dataset)
    return list(dict.fromkeys(names))


def combined_hash(files: Mapping[str, str]) -> str:
    """Return one hash for several files: the SHA-256 of lines `HASH  NAME`, sorted by name."""
    lines = "".join(f"{files[name]}  {name}\n" for name in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()


def read_frozen(folder: Path) -> FrozenPlan | None:
    """Read the record of a frozen plan; `None` if the plan is not frozen.

    Raises:
        InputError: the record is damaged.
    """
    path = folder / FROZEN_FILE
    if not path.exists():
        return None
    frozen = FrozenPlan.read(path)
    if combined_hash(frozen.files) != frozen.hash:
        raise InputError(
            "the hash does not follow from the files' hashes: the record was edited", file=path, field="hash"
        )
    return frozen


def changes_since_freeze(folder: Path) -> list[PlanChange]:
    """List what differs from the frozen plan: keys of `study.yaml`, then other files. Comments do not count.

    Raises:
        InputError: the plan is not frozen, or a file cannot be read.
    """
    frozen = read_frozen(folder)
    if frozen is None:
        raise InputError(
            "is missing: the plan was not frozen (merilo study freeze)", file=folder / FROZEN_FILE
        )
    before, now = dict(_leaves(frozen.plan)), dict(_leaves(_content(folder)))
    found = [
        PlanChange(key, before.get(key), now.get(key), key.partition(".")[0] not in OPEN_SECTIONS)
        for key in {**before, **now}
        if before.get(key) != now.get(key)
    ]
    for name, digest in frozen.files.items():
        path = folder / name
        if name != STUDY_FILE:
            current = sha256(path) if path.is_file() else None
            if current != digest:
                found.append(PlanChange(name, digest[:12], current and current[:12]))
    return found


def _content(folder: Path) -> dict[str, Json]:
    content = read_lined_yaml(folder / STUDY_FILE).content
    return cast("dict[str, Json]", _plain(content)) if isinstance(content, dict) else {}


def _plain(value: object) -> Json:
    """Values as JSON has them: YAML also knows dates, and keys that are not texts."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def _leaves(value: Json, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{number}]")
    else:
        yield path, indented(value)
