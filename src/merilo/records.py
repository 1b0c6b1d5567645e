"""Results as JSON: typed records whose fields are the keys, and the numbers and intervals in them.

A record is made by the step that computes it, or read from a file: a key that the file lacks has the field's
default. Only fields that were given are written, so that a result has the keys that it had when it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, Self, TypeAlias, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from merilo.errors import InputError, one_text
from merilo.strict_json import Json, read_json

if TYPE_CHECKING:
    #: An object of JSON whose keys are not declared.
    Object: TypeAlias = dict[str, Json]
else:
    Object = dict[str, Any]


class Bounded(Protocol):
    """What has two ends, as an interval of `merilo.statistics` does."""

    @property
    def low(self) -> float:
        """Return the lower end."""

    @property
    def high(self) -> float:
        """Return the upper end."""


class Span(NamedTuple):
    """The two ends of an interval."""

    low: float
    high: float

    @staticmethod
    def of(interval: Bounded | None) -> Span | None:
        """Return the ends, rounded as in JSON; `None` without an interval, or if an end is not defined."""
        ends = [] if interval is None else [rounded(interval.low), rounded(interval.high)]
        return Span(*cast("list[float]", ends)) if ends and None not in ends else None


def rounded(value: float, places: int = 6) -> float | None:
    """Round a number; a number that is not defined becomes null."""
    return round(value, places) if isfinite(value) else None


def _rounded_number(value: object) -> object:
    return rounded(value) if isinstance(value, float) else value


def _defined_ends(value: object) -> object:
    return None if isinstance(value, Sequence) and None in value else value


#: A number, rounded to six places; `None` if it is not defined.
Number: TypeAlias = Annotated[float | None, BeforeValidator(_rounded_number)]
#: The ends of an interval; `None` if there is none.
Ends: TypeAlias = Annotated[Span | None, BeforeValidator(_defined_ends)]


class Record(BaseModel):
    """An object of JSON with declared keys. It cannot be changed; `model_copy` returns a changed copy."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        validate_by_name=True,
        validate_by_alias=True,
        defer_build=True,
        protected_namespaces=(),
    )

    @classmethod
    def of(cls, source: object, /, **more: object) -> Self:
        """Return the record of the attributes of `source` that bear the names of fields, and of other values."""
        names = [name for name in cls.model_fields if name not in more and hasattr(source, name)]
        return cls(**{name: getattr(source, name) for name in names}, **more)

    def to_json(self) -> dict[str, Json]:
        """Return the record as JSON, with the keys that were given, in the order of the fields."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    @classmethod
    def of_json(cls, content: Json, file: Path | None = None) -> Self:
        """Return the record that JSON holds.

        Raises:
            InputError: a key has a value of another type; the message names the first one.
        """
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            faults = error.errors(include_url=False)
            place = faults[0]["loc"]
            same = [fault for fault in faults if fault["loc"] == place]
            raise InputError(one_text(same), file=file, field=".".join(map(str, place)) or None) from error

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read the record from a file.

        Raises:
            InputError: the file cannot be read, is not JSON or not such a record.
        """
        return cls.of_json(read_json(file), file)
