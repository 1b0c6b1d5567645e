"""The exceptions that Merilo raises.

    MeriloError                     the base; caught once, by the command line
    ├── UsageError                  options that do not go together, a name that does not exist     (exit 2)
    ├── InputError                  a file that cannot be read or has the wrong format              (exit 2)
    ├── OutputError                 a place that cannot be written                                  (exit 2)
    ├── MissingPartError            a missing extra or system package                             (exit 2)
    ├── BackendError                a model's server or library that cannot answer at all           (exit 2)
    └── DataError                   what was read, or a study's state, does not allow the work      (exit 1)

Every message is one sentence that says what to do. If a file is at fault, the location comes first:
``pool.tsv, row 12, OUTPUT:answer: ...``. Rows are counted as a spreadsheet counts them: the header is row 1.

A message names an argument by `argument`: a user of the library reads ``min_votes``, a user of the command line
``--min-votes``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


# Unicode keeps these code points for use inside a program: no text has them.
_OPEN, _BETWEEN, _CLOSE = "\ufdd0", "\ufdd1", "\ufdd2"
_ARGUMENT: Final = re.compile(f"{_OPEN}([^{_CLOSE}]*){_BETWEEN}([^{_CLOSE}]*){_CLOSE}")


def argument(name: str, value: str = "", *, given: object = None) -> str:
    """Name an argument in a message, for both kinds of reader.

    Args:
        name: the argument's name in Python.
        value: what follows the flag on the command line.
        given: the value in Python; without it, only the name is shown.

    Returns:
        Text for a message; `for_library` and `for_command_line` replace it by a readable name.

    Example:
        >>> text = f"name the column with {argument('gold_column', 'NAME')}"
        >>> for_library(text)
        'name the column with gold_column'
        >>> for_command_line(text)
        'name the column with --gold-column NAME'
    """
    flag = f"--{name.replace('_', '-')}{' ' if value else ''}{value}"
    return f"{_OPEN}{flag}{_BETWEEN}{name}{'' if given is None else f'={given!r}'}{_CLOSE}"


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Replace arguments in a message by other names, such as the keys of a plan that gives their values.

    Args:
        text: the message with markers.
        names: mapping from argument to its name for the reader; other arguments are unchanged.

    Example:
        >>> renamed(f"{argument('by')}: there is no field 'x'", {"by": "baseline.by"})
        "baseline.by: there is no field 'x'"
    """
    return _ARGUMENT.sub(lambda marker: names.get(marker[2].partition("=")[0], marker[0]), text)


def for_library(text: str) -> str:
    """Return the text with arguments named as in Python: ``min_votes``."""
    return _ARGUMENT.sub(r"\2", text)


def for_command_line(text: str) -> str:
    """Return the text with arguments named as on the command line: ``--min-votes``."""
    return _ARGUMENT.sub(r"\1", text)


@dataclass(frozen=True, slots=True)
class Place:
    """A location in the user's input.

    Attributes:
        file: the file's name as the user gave it.
        row: the row as a spreadsheet counts it (the header is row 1), or the line of a JSONL file.
        field: the column, option or JSON path.
    """

    file: str | None = None
    row: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        parts = [self.file, f"row {self.row}" if self.row is not None else None, self.field]
        return ", ".join(part for part in parts if part)


class MeriloError(Exception):
    """The base of every error that Merilo raises on purpose.

    The text of the error names arguments as in Python. `on_command_line` is the same text with flags, and `marked` is
    the message with markers, for building another error from this one.

    Args:
        message: one sentence: what is wrong and what is expected. It may name arguments by `argument`.
        file: the file at fault, as the user named it.
        row: the row at fault; the header is row 1.
        field: the column, argument or JSON path at fault.

    Example:
        >>> str(InputError("is not a number", file="gold.csv", row=3, field="score"))
        'gold.csv, row 3, score: is not a number'
        >>> error = UsageError("takes a number of at least 1", field=argument("min_votes"))
        >>> str(error), error.on_command_line
        ('min_votes: takes a number of at least 1', '--min-votes: takes a number of at least 1')
    """

    exit_status: ClassVar[int] = 2

    def __init__(
        self, message: str, *, file: object = None, row: int | None = None, field: str | None = None
    ) -> None:
        self.marked = message
        self.message = for_library(message)
        self.place = Place(
            None if file is None else str(file), row, None if field is None else for_library(field)
        )
        where = str(Place(self.place.file, row, field))
        marked = f"{where}: {message}" if where else message
        self.on_command_line = for_command_line(marked)
        super().__init__(for_library(marked))


class UsageError(MeriloError):
    """Options that do not go together, or a name that does not exist."""


class InputError(MeriloError):
    """A file that cannot be read or has the wrong format."""


class OutputError(MeriloError):
    """A place that cannot be written, or that must not be overwritten."""


class MissingPartError(MeriloError):
    """An optional part (an extra, a system package) that is needed and not installed."""


def missing_extra(
    needed: str, extra: str, cause: object = "", *, field: str | None = None
) -> MissingPartError:
    """Build the error for what needs an extra of Merilo, or packages beside it, that are not installed.

    Example:
        >>> str(missing_extra("PostgreSQL", "postgres"))
        "PostgreSQL needs the extra 'postgres': pip install '.[postgres]' in the folder of Merilo"
    """
    why = f" ({cause})" if cause else ""
    sentence = f"{needed} needs the extra '{extra}': pip install '.[{extra}]' in the folder of Merilo{why}"
    return MissingPartError(sentence, field=field)


class BackendError(MeriloError):
    """A server or library that cannot answer at all: a wrong key, an unknown model, nothing at the address."""


class DataError(MeriloError):
    """Readable input whose content is invalid, or a check that fails."""

    exit_status: ClassVar[int] = 1


#: Pydantic's type of a fault -> what to tell the author; names in braces are Pydantic's.
_FAULTS: Final = {
    "missing": "is missing",
    "unexpected_keyword_argument": "is not a field of this declaration",
    "extra_forbidden": "is not a field of this declaration",
    "string_type": "must be a text (put it in quotes)",
    "string_too_short": "must not be empty",
    "string_pattern_mismatch": "must be the name of a file in the study's folder",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping (name: value)",
    "mapping_type": "must be a mapping (name: value)",
    "dataclass_type": "must be a mapping (name: value)",
    "model_type": "must be a mapping (name: value)",
    "json_invalid": "must be a JSON object",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be {ge:.15g} or more",
    "greater_than": "must be more than {gt:.15g}",
    "less_than_equal": "must be {le:.15g} or less",
    "less_than": "must be less than {lt:.15g}",
}


def fault_text(fault: ErrorDetails) -> str:
    """Say what is wrong with a value, in words for its author."""
    context = fault.get("ctx", {})
    if fault["type"] == "value_error":
        return str(context["error"])
    text = _FAULTS.get(fault["type"])
    return text.format(**context) if text else fault["msg"]


def one_text(faults: Iterable[ErrorDetails]) -> str:
    """Say what is wrong with one value; the faults of a union's members are alternatives."""
    return " or ".join(dict.fromkeys(map(fault_text, faults))).replace(" or must be ", " or ")
