"""How the columns of a file become responses: the declaration that `merilo inspect --out` writes as `reading.yaml`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, cast

from pydantic import BeforeValidator, ConfigDict, Field

from merilo.errors import InputError
from merilo.records import Record
from merilo.settings import Platform
from merilo.strict_yaml import TextLoader, read_yaml

if TYPE_CHECKING:
    from merilo.files import FileTable
    from merilo.strict_json import Json

#: Texts that programs write into an empty cell. Each is an answer where gold answers or labels have it.
MISSING: Final = ("", "NA", "N/A", "nan", "NaN", "None", "NULL", "null", "{}")


def _no_text(value: object) -> object:
    """Return `None` for an empty value of YAML."""
    return None if isinstance(value, str) and value in {"", "null", "~"} else value


def _texts(value: object) -> object:
    """Return a list of texts; a single text is a list of one."""
    if value is None or value == "":
        return ()
    return (value,) if isinstance(value, str) else value


Column: TypeAlias = Annotated[str | None, BeforeValidator(_no_text)]
Names: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_texts)]


class _Declared(Record):
    model_config = ConfigDict(extra="forbid")


class Numbered(_Declared):
    """Several questions a row: patterns of columns, in which `{n}` is the number of the question."""

    item: Names
    answer: Annotated[str, Field(pattern=r"\{n\}")]


class OtherColumns(_Declared):
    """What the other columns hold.

    Times and durations are those of a page. `control` has the known answers of control items, `score` whether the
    answer is right (several columns where a row is a person), `attempt` the number of an attempt, of which the best
    counts, `arm` the group of the annotator, and `skipped` marks a question that the annotator may have written.
    """

    page: Column = None
    started: Column = None
    submitted: Column = None
    seconds: Column = None
    reward: Column = None
    control: Column = None
    score: Names = ()
    attempt: Column = None
    arm: Column = None
    skipped: Column = None


class Reading(_Declared):
    """How the columns of a file become responses.

    Attributes:
        platform: the program that wrote the file; by default, recognised by the header.
        rows: what a row is: an answer, an item with a column for each annotator, or a person with a column for each
            item.
        item: the columns that identify an item; by default, all input fields of a platform.
        annotator: the column of annotators; several columns if a row is an item.
        answer: the column of answers; several columns if a row is a person.
        numbered: the columns of several questions a row.
        columns: what other columns hold.
        skip: answers that mean "may be mine", in addition to the guide's wording.
        time_limit: seconds on a page, after which its answers are late.
        late: late answers are dropped, or count as wrong.
        missing: texts that are no answers.
        order: labels from low to high.
        set_separator: what separates the labels of an answer with several; "" if no answer has several.
        recode: answer -> its replacement; `None` leaves the answer out.
        without_annotator: rows without an annotator are refused or dropped.
        encoding: the file's encoding, if it is not UTF-8 and has no byte-order mark.
    """

    platform: Annotated[Platform | None, BeforeValidator(_no_text)] = None
    rows: Literal["answer", "item", "person"] = "answer"
    item: Names = ()
    annotator: Names = ()
    answer: Names = ()
    numbered: Annotated[Numbered | None, BeforeValidator(_no_text)] = None
    columns: OtherColumns = OtherColumns()
    skip: Names = ()
    time_limit: Annotated[
        Annotated[float, Field(gt=0, allow_inf_nan=False)] | None, BeforeValidator(_no_text)
    ] = None
    late: Literal["drop", "wrong"] = "drop"
    missing: Annotated[tuple[str, ...], BeforeValidator(lambda value: value or ())] = MISSING
    order: Names = ()
    set_separator: str = ""
    recode: dict[str, Column] = Field(default_factory=dict)
    without_annotator: Literal["refuse", "drop"] = "refuse"
    encoding: Column = None

    def named(self, **values: Any) -> Reading:  # noqa: ANN401 - fields of a reading have many types
        """Return the reading with other values by name; the names of `columns` are among them.

        Raises:
            TypeError: there is no such name.
            InputError: a value is not possible.
        """
        of_columns = {name: values.pop(name) for name in tuple(values) if name in OtherColumns.model_fields}
        if unknown := set(values) - set(Reading.model_fields):
            raise TypeError(f"a reading has no '{min(unknown)}'")
        own = {name: getattr(self, name) for name in self.model_fields_set}
        if of_columns:
            own["columns"] = {**self.columns.model_dump(exclude_unset=True), **of_columns}
        return reading_of({**own, **values})


def reading_of(content: object, file: Path | None = None) -> Reading:
    """Return the reading that a mapping declares.

    Raises:
        InputError: a name is unknown, or a value is not possible; the message names it.
    """
    reading = Reading.of_json(cast("Json", content), file)
    many = {"item": "annotator", "person": "answer"}.get(reading.rows)
    for name in ("annotator", "answer"):
        if name != many and len(getattr(reading, name)) > 1:
            raise InputError(f"names several columns, but a row is an {reading.rows}", file=file, field=name)
    if reading.rows == "item" and not reading.annotator:
        raise InputError("must name the annotators' columns, because a row is an item", file=file)
    if reading.rows == "person" and not (reading.answer or reading.columns.score):
        raise InputError("must name the items' columns as answer, because a row is a person", file=file)
    return reading


def read_reading(path: Path) -> Reading:
    """Read `reading.yaml`.

    Raises:
        InputError: the file cannot be read, is not YAML, or declares nothing that a reading has.
    """
    content = read_yaml(path, TextLoader)
    if content is None or content == "":
        raise InputError(
            "declares nothing: take the comment signs from one of the readings that merilo inspect wrote",
            file=path,
        )
    if not isinstance(content, dict):
        raise InputError("is not a mapping of names to columns", file=path)
    return reading_of(content, path)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where responses come from, and how they were read.

    Attributes:
        files: the files, with their names as given; empty if the responses were given as tables.
        tables: the tables, if the responses were given as tables.
        reading: how the columns were read.
        declared: the file of the reading, if it was given.
    """

    files: tuple[Path, ...]
    tables: tuple[FileTable, ...]
    reading: Reading
    declared: Path | None = None
