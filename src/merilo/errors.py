"""The exceptions that Merilo raises.

    MeriloError                     the base; caught once, by the command line
    ├── UsageError                  options that do not go together, a name that does not exist     (exit 2)
    ├── InputError                  a file that cannot be read as what it should be                 (exit 2)
    ├── OutputError                 a place that cannot be written                                  (exit 2)
    ├── MissingPartError            a missing extra or system package                             (exit 2)
    └── DataError                   readable input whose content is invalid or answers "no"         (exit 1)

Every message is one sentence that says what to do. If a file is at fault, the location comes first:
``pool.tsv, row 12, OUTPUT:answer: ...``. Rows are counted as a spreadsheet counts them: the header is row 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


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

    Args:
        message: one sentence: what is wrong and what is expected.
        file: the file at fault, as the user named it.
        row: the row at fault; the header is row 1.
        field: the column, option or JSON path at fault.

    Example:
        >>> str(InputError("is not a number", file="gold.csv", row=3, field="score"))
        'gold.csv, row 3, score: is not a number'
    """

    exit_status: ClassVar[int] = 2

    def __init__(
        self, message: str, *, file: object = None, row: int | None = None, field: str | None = None
    ) -> None:
        self.message = message
        self.place = Place(None if file is None else str(file), row, field)
        where = str(self.place)
        super().__init__(f"{where}: {message}" if where else message)


class UsageError(MeriloError):
    """Options that do not go together, or a name that does not exist."""


class InputError(MeriloError):
    """A file that cannot be read as what it should be."""


class OutputError(MeriloError):
    """A place that cannot be written, or that must not be overwritten."""


class MissingPartError(MeriloError):
    """An optional part (an extra, a system package) that is needed and not installed."""


class DataError(MeriloError):
    """Readable input whose content is invalid, or a check that fails."""

    exit_status: ClassVar[int] = 1
