"""Write `study.yaml` with comments, and read it back: every fault is named with its line and the nearest known key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from textwrap import wrap
from typing import Any, Final, TypeAlias, get_args, get_origin, get_type_hints

import yaml
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, to_jsonable_python

from merilo.errors import InputError, MeriloError, fault_text
from merilo.settings import PlannedAnalysis, help_of
from merilo.strict_yaml import PlainLoader
from merilo.studies.plan_types import STUDY_FILE, Study
from merilo.wording import choices

#: The keys and list positions that lead to a value.
YamlPath: TypeAlias = tuple[str | int, ...]

_LARGEST: Final = 1_000_000
_UNFOLDED: Final[Mapping[str, Any]] = {"allow_unicode": True, "width": 10**9, "sort_keys": False}


@cache
def author_questions() -> Mapping[str, Any]:
    """Return what only the author can answer (`checklist`, `publication`), and all `numbers` of the checklist."""
    text = (files("merilo.studies") / "author_questions.yaml").read_text(encoding="utf-8")
    content: Mapping[str, Any] = yaml.safe_load(text)
    return content


_HEAD: Final = """\
# Plan of a human baseline. Edit what you like, then check it:
#   merilo study validate {folder}
# and before the first answer is collected, record it with its date and hash:
#   merilo study freeze {folder}
# Explanation of every key: docs/studies.md
"""


def plan_text(plan: Study, *, folder: str, reason: str = "") -> str:
    """Write a plan as YAML with the meaning of every key as a comment; `read_plan` gives the same plan.

    Args:
        plan: the plan.
        folder: the study's folder, for the comment at the top.
        reason: why these arms are asked, for a comment above them.
    """
    parts = [_HEAD.format(folder=folder)]
    for section in fields(plan):
        about = [_meaning(section.name, plan), reason if section.name == "arms" else ""]
        lines = _entry(section.name, getattr(plan, section.name), "")
        if len(lines) > 1 or lines[0].endswith((" []", " null", " {}")):
            lines = [*(f"# {line}" for text in about for line in wrap(text, 100)), *lines]
        else:
            lines = [_commented(lines[0], about[0])]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _entry(name: str, value: object, indent: str) -> list[str]:
    """Return the lines of one key: a section with its keys below it, another value beside it."""
    key = f"{indent}{_flow(name)}:"
    if isinstance(value, tuple) and value and is_dataclass(value[0]):
        listed = yaml.safe_dump([asdict(part) for part in value], **_UNFOLDED)
        return [key, *(f"{indent}  {line}" for line in listed.splitlines())]
    if isinstance(value, Mapping):
        about = author_questions()[name] if name in {"checklist", "publication"} else {}
        members = {inner: (value.get(inner) or "", about.get(inner, "")) for inner in {**about, **value}}
    elif is_dataclass(value) and len(indent) < 4:
        members = {
            part.name: (getattr(value, part.name), _meaning(part.name, value)) for part in fields(value)
        }
    else:
        return [f"{key} {_flow(value)}"]
    lines = [key] if members else [f"{key} {{}}"]
    for inner, (own, meaning) in members.items():
        below = _entry(inner, own, f"{indent}  ")
        lines += below if len(below) > 1 else [_commented(below[0], meaning)]
    return lines


def _commented(line: str, comment: str) -> str:
    return f"{line:<36}  # {comment}" if comment else line


def _meaning(name: str, section: object) -> str:
    """Return the comment of a key; the settings of the baseline have none, 'merilo baseline --help' explains them."""
    about = help_of(name, type(section))
    return about.text if about and not isinstance(section, PlannedAnalysis) else ""


def _flow(value: object) -> str:
    """Return one YAML value on one line; numbers of the checklist and empty texts in double quotes."""
    if isinstance(value, str) and re.fullmatch(r"[\d.]*", value):
        return f'"{value}"'
    plain = to_jsonable_python(value)
    text: str = yaml.safe_dump(plain, default_flow_style=True, **_UNFOLDED)
    return text.removesuffix("...\n").strip()


def first_fault(faults: Sequence[MeriloError], kind: type[MeriloError]) -> MeriloError:
    """Return the first fault as an error of a kind; it says how many more there are."""
    more = len(faults) - 1
    hint = f" (and {more} more; 'merilo study validate' names all of them)" if more else ""
    place = faults[0].place
    return kind(f"{faults[0].marked}{hint}", file=place.file, row=place.row, field=place.field)


@dataclass(slots=True)
class LinedYaml:
    """The content of a YAML file.

    Attributes:
        content: the plain values.
        lines: path -> line of its key, from 1.
        repeated: path and line of every key that occurs twice in one mapping.
    """

    content: object
    lines: dict[YamlPath, int]
    repeated: list[tuple[YamlPath, int]]

    def known(self, path: YamlPath) -> YamlPath:
        """Return the path, or the nearest one above it that the file has."""
        while path and path not in self.lines:
            path = path[:-1]
        return path

    def line(self, path: YamlPath) -> int:
        """Return the line of a path, or of the nearest path above it."""
        return self.lines.get(self.known(path), 1)

    def note(self, node: yaml.Node, path: YamlPath) -> None:
        """Note the lines of a node and of everything below it."""
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            seen: set[str | int] = set()
            for key, value in node.value:
                inner = (*path, str(key.value))
                self.lines[inner] = key.start_mark.line + 1
                if inner[-1] in seen:
                    self.repeated.append((inner, self.lines[inner]))
                seen.add(inner[-1])
                self.note(value, inner)
        elif isinstance(node, yaml.SequenceNode):
            for number, value in enumerate(node.value):
                self.note(value, (*path, number))


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
    plan, faults, _ = read_plan_text(study)
    if plan is None:
        raise first_fault(faults, InputError)
    return plan


def read_plan_text(study: Path) -> tuple[Study | None, list[MeriloError], LinedYaml]:
    """Read the plan of a study and list all of its faults.

    Returns:
        The plan, `None` if the file has faults; the faults, in the order of the file; the YAML with its lines.

    Raises:
        InputError: the file is missing or is not YAML.
    """
    path = plan_path(study)
    if not path.exists():
        missing = "is not a folder of a study: study.yaml is missing"
        raise InputError(missing if study.exists() else "there is no such folder of a study", file=study)
    source = read_lined_yaml(path)
    faults: list[MeriloError] = [
        InputError(
            "occurs twice in one mapping; keep one of the two", file=STUDY_FILE, row=row, field=_dotted(where)
        )
        for where, row in source.repeated
    ]
    plan: Study | None = None
    if not isinstance(source.content, Mapping):
        expected = "is not a plan of a study: expected 'study: ...', 'dataset: ...', 'arms: ...'"
        faults.append(InputError(expected, file=STUDY_FILE, row=1))
    else:
        try:
            plan = _adapter().validate_python(source.content)
        except ValidationError as error:
            faults += _faults_of(error, source)
    faults.sort(key=lambda fault: fault.place.row or 0)
    return None if faults else plan, faults, source


@cache
def _adapter() -> TypeAdapter[Study]:
    return TypeAdapter(Study)


def _faults_of(error: ValidationError, source: LinedYaml) -> Iterator[InputError]:
    """Convert Pydantic's faults; those of one union's members become one fault."""
    by_path: dict[YamlPath, list[str]] = {}
    for fault in error.errors(include_url=False):
        path: YamlPath = tuple(part for part in fault["loc"] if part != "[key]")
        if fault["type"] != "missing":
            path = source.known(path)
        by_path.setdefault(path, []).append(_message(path, fault))
    for place, messages in by_path.items():
        path, message = place, " or ".join(dict.fromkeys(messages))
        key, colon, rest = message.partition(": ")
        if not path and colon and key in keys_at(()):
            path, message = (key,), rest  # a fault between two sections names the one at fault itself
        yield InputError(message, file=STUDY_FILE, row=source.line(path), field=_dotted(path) or None)


def _message(path: YamlPath, fault: ErrorDetails) -> str:
    if fault["type"] == "unexpected_keyword_argument":
        hint = choices(str(path[-1]), keys_at(path[:-1]), 99)
        return f"is not a key of the plan; {hint.partition(' choose')[0]}"
    return fault_text(fault)


def keys_at(path: YamlPath) -> list[str]:
    """Return the keys that a mapping of the plan may have.

    Example:
        >>> keys_at(("arms", "people", "pay"))
        ['per_page', 'currency', 'commission', 'screening', 'minimum_per_hour']
    """
    kind: Any = Study
    parts = iter(path)
    for part in parts:
        hint = get_type_hints(kind).get(str(part))
        inner = [known for known in (hint, *get_args(hint)) if is_dataclass(known)]
        if not inner:
            return []
        kind = inner[0]
        if get_origin(hint) in {Mapping, tuple}:
            next(parts, None)  # the name of a group of annotators, or a place in a list
    return [member.name for member in fields(kind)]


def _dotted(path: YamlPath) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def read_lined_yaml(path: Path) -> LinedYaml:
    """Read a YAML file: plain values only, no aliases, no tags.

    Raises:
        InputError: the file cannot be read, is too large, or is not such YAML; the message names the line.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"is larger than {_LARGEST} bytes", file=path)
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", file=path) from error
    lined = LinedYaml(None, {}, [])
    try:
        loader = PlainLoader(text)
        node = loader.get_single_node()
        if node is not None:
            lined.note(node, ())
            lined.content = loader.construct_document(node)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        row = mark.line + 1 if mark else None
        if isinstance(error, yaml.reader.ReaderError):
            row = text.count("\n", 0, error.position) + 1
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"is not YAML ({reason})", file=path, row=row) from error
    return lined
