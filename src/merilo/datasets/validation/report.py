"""The validation report: problems make the data invalid, notes do not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from merilo.errors import InputError


@dataclass(frozen=True, slots=True)
class Violation:
    """A fault and its location.

    Attributes:
        file: the file below the folder that was validated.
        path: the JSON path inside it, such as `data.test[3].meta.id`; empty for the file itself.
        message: what is wrong and what is expected.
    """

    file: str
    path: str
    message: str

    def __str__(self) -> str:
        """Return the fault as one line; control characters are escaped."""
        line = ": ".join(filter(None, (", ".join(filter(None, (self.file, self.path))), self.message)))
        return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in line)

    @property
    def order(self) -> tuple[str, list[tuple[int, str]], str]:
        """Return the key that sorts faults in the order of the file: `data[2]` before `data[10]`."""
        steps = re.split(r"(\d{1,18})", self.path)
        return self.file, [(int(step), "") if step.isdecimal() else (0, step) for step in steps], self.message


@dataclass(slots=True)
class ValidationReport:
    """The problems and notes found in one pass.

    Attributes:
        problems: violations of rules.
        notes: possible mistakes that violate no rule.
        files: the files that were read.
        items: how many items each split holds.
    """

    problems: list[Violation] = field(default_factory=list)
    notes: list[Violation] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    items: dict[str, int] = field(default_factory=dict)

    @property
    def valid(self) -> bool:
        """Whether no rule is violated."""
        return not self.problems

    def wrong(self, file: str, path: str, message: str) -> None:
        """Add a problem."""
        self.problems.append(Violation(file, path, message))

    def note(self, file: str, path: str, message: str) -> None:
        """Add a note."""
        self.notes.append(Violation(file, path, message))

    def unreadable(self, file: str, error: InputError) -> None:
        """Add the problem of a file that cannot be read."""
        place = ", ".join(
            filter(None, (f"row {error.place.row}" if error.place.row else "", error.place.field or ""))
        )
        self.wrong(file, place, error.message)


def grouped(violations: Sequence[Violation]) -> list[str]:
    """Return a line for each kind of fault: its first place, and how many more places have it.

    Faults of one kind are in the same file, at the same path but for the numbers, with the same message but for numbers
    and quoted values.
    """
    groups: dict[tuple[str, str, str], list[Violation]] = {}
    for one in violations:
        key = one.file, re.sub(r"\d+", "", one.path), re.sub(r"'[^']*'|\d+", "", one.message)
        groups.setdefault(key, []).append(one)
    return [
        str(same[0])
        + (f" (and {len(same) - 1} more like this, the last at {same[-1].path})" if same[1:] else "")
        for same in groups.values()
    ]
