"""Read `study.yaml`, and name every fault in it with its line and the nearest known key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from merilo.declared_values import fault_text
from merilo.errors import InputError
from merilo.studies.lined_yaml import LinedYaml, YamlPath, read_lined_yaml
from merilo.studies.plan_types import STUDY_FILE, Study


@dataclass(frozen=True, slots=True)
class PlanFault:
    """A fault of a study.

    Attributes:
        file: the file's name in the study's folder.
        row: the line in it, if the fault has one.
        field: the key, dots between its parts; empty if the fault is not that of a key.
        message: what is wrong, and what is expected.
    """

    file: str
    row: int | None
    field: str
    message: str

    def __str__(self) -> str:
        line = None if self.row is None else f"line {self.row}"
        where = ", ".join(part for part in (self.file, line, self.field) if part)
        return f"{where}: {self.message}"


@dataclass(frozen=True, slots=True)
class PlanText:
    """A study.yaml that was read.

    Attributes:
        plan: the plan; `None` if the file has faults.
        faults: the faults, in the order of the file.
        source: the YAML with the lines of its keys.
    """

    plan: Study | None
    faults: tuple[PlanFault, ...]
    source: LinedYaml


def plan_path(study: Path) -> Path:
    """Return the path of `study.yaml`, given the study's folder or the file itself."""
    return study / STUDY_FILE if study.is_dir() or study.name != STUDY_FILE else study


def read_plan(study: Path) -> Study:
    """Read the plan of a study.

    Args:
        study: the study's folder, or its `study.yaml`.

    Raises:
        InputError: the file cannot be read, or has a fault; the message names the first one with its line.
    """
    found = read_plan_text(study)
    if found.plan is None:
        first, more = found.faults[0], len(found.faults) - 1
        hint = f" (and {more} more; 'merilo study validate' names all of them)" if more else ""
        raise InputError(
            f"{first.message}{hint}", file=plan_path(study), row=first.row, field=first.field or None
        )
    return found.plan


def read_plan_text(study: Path) -> PlanText:
    """Read the plan of a study and list all of its faults.

    Raises:
        InputError: the file is missing or is not YAML.
    """
    path = plan_path(study)
    if not path.exists():
        known = study.exists()
        raise InputError(
            f"is not a folder of a study: {STUDY_FILE} is missing"
            if known
            else "there is no such folder of a study",
            file=study,
        )
    source = read_lined_yaml(path)
    faults = [
        PlanFault(STUDY_FILE, row, _dotted(where), "occurs twice in one mapping; keep one of the two")
        for where, row in source.repeated
    ]
    plan: Study | None = None
    if not isinstance(source.content, Mapping):
        faults.append(
            PlanFault(
                STUDY_FILE,
                1,
                "",
                "is not a plan of a study: expected 'study: ...', 'dataset: ...', 'arms: ...'",
            )
        )
    else:
        try:
            plan = _adapter().validate_python(source.content)
        except ValidationError as error:
            faults += _told(error, source)
    faults.sort(key=lambda fault: fault.row or 0)
    return PlanText(None if faults else plan, tuple(faults), source)


@cache
def _adapter() -> TypeAdapter[Study]:
    return TypeAdapter(Study)


def _told(error: ValidationError, source: LinedYaml) -> Iterator[PlanFault]:
    """Convert Pydantic's faults; those of one union's members become one fault."""
    known: dict[YamlPath, list[ErrorDetails]] = {}
    for fault in error.errors(include_url=False):
        path: YamlPath = tuple(
            str(part) if not isinstance(part, int) else part for part in fault["loc"] if part != "[key]"
        )
        if fault["type"] != "missing":
            while path and path not in source.lines:
                path = path[:-1]
        known.setdefault(path, []).append(fault)
    for path, found in known.items():
        message = " or ".join(dict.fromkeys(_message(path, fault) for fault in found))
        key, colon, rest = message.partition(": ")
        if not path and colon and key in keys_at(()):
            # A fault between two sections names the one at fault itself.
            yield PlanFault(STUDY_FILE, source.line((key,)), key, rest)
        else:
            yield PlanFault(STUDY_FILE, source.line(path), _dotted(path), message)


def _message(path: YamlPath, fault: ErrorDetails) -> str:
    if fault["type"] == "unexpected_keyword_argument":
        names = keys_at(path[:-1])
        near = get_close_matches(str(path[-1]), names, n=1, cutoff=0.5)
        hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(names)}"
        return f"is not a key of the plan; {hint}"
    return fault_text(fault)


def keys_at(path: YamlPath) -> list[str]:
    """Return the keys that a mapping of the plan may have.

    Example:
        >>> keys_at(("arms", "people", "pay"))
        ['per_page', 'currency', 'commission']
    """
    kind: object = Study
    for part in path:
        kind = _inner(kind, part)
    return [one.name for one in fields(kind)] if isinstance(kind, type) and is_dataclass(kind) else []


def _inner(kind: object, part: str | int) -> object:
    """Return the type of one key, or of one entry of a list or mapping."""
    if isinstance(kind, type) and is_dataclass(kind):
        return _one_class(get_type_hints(kind).get(str(part)))
    arguments = get_args(kind)
    if get_origin(kind) is tuple:
        return _one_class(arguments[0])
    return _one_class(arguments[-1]) if arguments else None


def _one_class(kind: object) -> object:
    """Return the class of an optional section."""
    if get_origin(kind) in {Union, UnionType}:
        classes = [one for one in get_args(kind) if isinstance(one, type) and is_dataclass(one)]
        return classes[0] if classes else kind
    return kind


def _dotted(path: YamlPath) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
