"""Reading responses: exports of platforms, tables, and tables in memory; and what was read, before any exclusion."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import polars as pl

from merilo.errors import UsageError, argument
from merilo.file_reading import Reading, read_reading, reading_of
from merilo.files import FileTable as Table
from merilo.files import Progress
from merilo.people import platforms
from merilo.people.platforms import Platform
from merilo.people.platforms.plain import as_texts
from merilo.people.pseudonyms import key_of
from merilo.people.recoding import NearSpelling, near_spellings
from merilo.people.votes import Encoding, encode
from merilo.responses import Responses
from merilo.strict_json import Json
from merilo.wording import listed

if TYPE_CHECKING:
    import pandas as pd

    Frame: TypeAlias = pl.DataFrame | pd.DataFrame
    Column: TypeAlias = pl.Series | pd.Series[Any]
else:
    Frame: TypeAlias = Any


#: The columns of a table of responses, as crowd-kit names them.
COLUMNS = ("task", "worker", "label")


def is_frame(value: object) -> TypeGuard[Frame]:
    """Return whether a value is a Polars or pandas table."""
    return isinstance(value, pl.DataFrame) or is_pandas(value)


def is_pandas(value: object) -> bool:
    """Return whether a value is a pandas table, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)


def mapping_of(value: Any) -> Any:  # noqa: ANN401 - any argument
    """Convert a Series of pandas to a mapping from its index; other values are returned as they are."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(value, pandas.Series):
        return value
    return {str(item): str(answer) for item, answer in value.dropna().items()}


def polars_of(frame: Frame | Responses) -> pl.DataFrame:
    """Convert a table to Polars; missing values of pandas become null.

    Of responses, the table has the answers to items, without those to control items.

    Raises:
        UsageError: the value is neither a table nor responses.
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, Responses):
        answers = frame.table.filter(~pl.col("is_control"))
        if len(frame.fields) == 1:
            ids = frame.items.select("item", pl.col(frame.fields[0]).alias("\x1fid"))
            answers = answers.join(ids, on="item", how="left", maintain_order="left")
            answers = answers.with_columns(pl.col("\x1fid").alias("item"))
        return answers.select("item", "respondent", "answer").rename(
            dict(zip(("item", "respondent", "answer"), COLUMNS, strict=True))
        )
    if not is_pandas(frame):
        lazy = ": collect it first" if type(frame).__name__ == "LazyFrame" else ""
        raise UsageError(
            f"takes a table of pandas or Polars, or the result of read_responses, not {type(frame).__name__}{lazy}"
        )
    columns: Any = frame
    if not columns.columns.is_unique:
        raise UsageError(
            f"two columns of the table have the name '{columns.columns[columns.columns.duplicated()][0]}'"
        )
    # As objects, missing values of every type can be None.
    values = {name: columns[name].astype(object) for name in columns.columns}
    return pl.DataFrame(
        [
            pl.Series(str(name), column.where(column.notna(), None).tolist(), strict=False)
            for name, column in values.items()
        ]
    )


def pandas_of(table: pl.DataFrame, index: str | None = None) -> Any:  # noqa: ANN401 - pandas may be missing
    """Convert a Polars table to pandas, with the column `index` as index if given."""
    import pandas as pd  # noqa: PLC0415 - needed only for callers who pass pandas tables

    frame = pd.DataFrame({name: _pandas_column(table[name]) for name in table.columns})
    return frame if index is None else frame.set_index(index)


def _pandas_column(column: pl.Series) -> Any:  # noqa: ANN401 - pandas may be missing
    """Return a column's values for pandas; integers with missing values stay integers."""
    import pandas as pd  # noqa: PLC0415 - needed only for callers who pass pandas tables

    values = column.to_list()
    missing = column.dtype.is_integer() and column.null_count()
    return pd.array(values, dtype="Int64") if missing else values


def records_of(table: pl.DataFrame) -> list[dict[str, str | None]]:
    """Return the rows of a table as dictionaries of texts."""
    from merilo.people.platforms.plain import as_texts  # noqa: PLC0415 - needed only for tables read like files

    return as_texts(table, "table").to_dicts()


def encoded(frame: Frame | Responses) -> Encoding:
    """Encode the votes of a table, or of responses.

    Raises:
        UsageError: a column is missing, or there is no complete row.
    """
    table = polars_of(frame)
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise UsageError(f"a table needs the columns {', '.join(COLUMNS)}; it has {listed(table.columns)}")
    found = encode(*(table[name] for name in COLUMNS))
    if not len(found.votes):
        raise UsageError("the table has no row with a task, a worker and a label")
    return found


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of responses and how they were read.

    Attributes:
        files: the files, with their names as given; empty if the responses were given as tables.
        tables: the tables, if the responses were given as tables.
        reading: how the columns were read.
        declared: the file of the reading, if it was given.
    """

    files: tuple[Path, ...]
    tables: tuple[Table, ...]
    reading: Reading
    declared: Path | None = None

    def read(self, progress: Progress | None = None) -> StudyResponses:
        """Read the responses."""
        found = platforms.read(self.tables or self.files, self.reading, progress=progress)
        return StudyResponses(**{one.name: getattr(found, one.name) for one in fields(found)}, origin=self)

    @property
    def recognised(self) -> Platform | None:
        """Return the platform: as given, or recognised by the files' headers.

        `None` for tables and for several platforms.
        """
        if self.reading.platform is not None:
            return self.reading.platform
        found = {platforms.recognise(path, self.reading.encoding) for path in self.files}
        return found.pop() if len(found) == 1 else None

    @property
    def key(self) -> bytes:
        """Return the key for pseudonyms, a digest of the content."""
        if self.files:
            return key_of(self.files)
        digests = sorted(blake2b(_csv(table)).digest() for table in self.tables)
        return blake2b(b"".join(digests), person=b"merilo key").digest()

    def inputs(self) -> tuple[dict[str, Json], ...]:
        """Describe the tables as inputs of a result: size and SHA-256 of each as CSV."""
        return tuple(
            {"file": table.file, "bytes": len(text), "sha256": sha256(text).hexdigest()}
            for table in self.tables
            for text in [_csv(table)]
        )


def _csv(table: Table) -> bytes:
    return table.data.write_csv().encode("utf-8")


@dataclass(frozen=True, slots=True, repr=False)
class StudyResponses(Responses):
    """Responses together with their source.

    Attributes:
        origin: the source of the responses and the reading options.
    """

    origin: Origin | None = None

    def __repr__(self) -> str:
        people = self.table["respondent"].n_unique()
        return (
            f"<{self.table.height} responses of {people} annotators to {self.items.height} items, "
            f"{self.rows_read} rows read>"
        )


Source = str | Path | Frame | Sequence[str | Path] | Sequence[Frame]


def read_responses(
    source: Source,
    *,
    reading: Reading | str | Path | Mapping[str, object] | None = None,
    progress: Progress | None = None,
    **named: object,
) -> StudyResponses:
    """Read the responses of one study with the same readers as the command line.

    Args:
        source: a file, several files of one study, or a table of pandas or Polars, one row per response. The
            columns of a table are found by their names (`task`, `worker`, `label` and others) or named below.
        reading: how the columns become responses: a `reading.yaml`, its content, or a `Reading`.
        progress: called with the number of bytes read since the last call.
        **named: parts of the reading by name, such as `platform`, `item` (one column, or several that identify an item
            together), `annotator`, `answer`, and of its section `columns`: `control` (the known answer of a control
            item), `page` (the id of items that were shown and paid together), `started`, `submitted`, `seconds` (spent
            on the page), `reward` (for the page), `score` (for answers that were scored elsewhere) and others; see
            `Reading`.

    Raises:
        TypeError: there is no such keyword argument.
        InputError: the source cannot be read in the expected format.
        UsageError: a column is missing, or no column plainly holds the items, the annotators or the answers.
        DataError: the sources belong to different projects, or contain no answers.

    Example:
        >>> import polars as pl
        >>> frame = pl.DataFrame({"task": [1, 1], "worker": ["a", "b"], "label": ["yes", "no"]})
        >>> read_responses(frame)
        <2 responses of 2 annotators to 1 items, 2 rows read>
    """
    sources = [source] if isinstance(source, str | Path) or is_frame(source) else _several(source)
    tables = [one for one in sources if is_frame(one)]
    if not sources or (tables and len(tables) < len(sources)):
        raise UsageError("takes files or tables, not both and not nothing", field=argument("source"))
    strange = [one for one in sources if not isinstance(one, str | Path) and not is_frame(one)]
    if strange:
        raise UsageError(
            f"takes files or tables of pandas or Polars, not {type(strange[0]).__name__}",
            field=argument("source"),
        )
    file = Path(reading) if isinstance(reading, str | Path) else None
    declared = (
        reading if isinstance(reading, Reading) else read_reading(file) if file else reading_of(reading or {})
    )
    return Origin(
        files=() if tables else tuple(Path(str(one)) for one in sources),
        tables=tuple(
            Table(_name(number, len(tables)), as_texts(polars_of(one), _name(number, len(tables))), 1)
            for number, one in enumerate(tables, start=1)
        ),
        reading=declared.named(
            **{name: value for name, value in named.items() if value is not None and value != []}
        ),
        declared=file,
    ).read(progress)


def _several(source: object) -> list[object]:
    if isinstance(source, Responses | Mapping) or not isinstance(source, Iterable):
        raise UsageError(
            f"takes files or tables of pandas or Polars, not {type(source).__name__}"
            + (": collect it first" if type(source).__name__ == "LazyFrame" else ""),
            field=argument("source"),
        )
    return list(source)


def _name(number: int, of: int) -> str:
    return "table" if of == 1 else f"table {number}"


@dataclass(frozen=True, slots=True)
class ControlCounts:
    """The control items of an export.

    Attributes:
        items: how many there are.
        rows: how many responses to control items there are.
        known: how many of these have a known answer in the answer column.
        people: how many annotators responded to a control item with a known answer.
    """

    items: int
    rows: int
    known: int
    people: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """The contents of the exports of one study, read for one answer column.

    Attributes:
        rows_read: the number of rows in the files.
        dropped: mapping from reason to the number of rows that are not responses.
        annotators: the number of annotators.
        items: the number of items, without control items.
        answers: answer -> how often it was given, most frequent first, including answers to control items.
        overlap: number of annotators -> number of items answered by that many annotators, largest first; no
            annotator is excluded.
        controls: the control items.
        equal_repeats: pairs of annotator and item (without control items) with several equal answers.
        different_repeats: such pairs with different answers.
        near: answers that look like misspellings.
        timed: how many responses have a duration.
        paid: how many responses have a reward.
    """

    rows_read: int
    dropped: dict[str, int]
    annotators: int
    items: int
    answers: dict[str, int]
    overlap: dict[int, int]
    controls: ControlCounts
    equal_repeats: int
    different_repeats: int
    near: tuple[NearSpelling, ...]
    timed: int
    paid: int


def inspect(responses: Responses, labels: Sequence[str] = ()) -> Inspection:
    """Summarise the exports of one study.

    Args:
        responses: the responses as read, including repeats and before any exclusion.
        labels: the dataset's labels, if they are known.
    """
    table = responses.table
    tests, controls = table.filter(~pl.col("is_control")), table.filter("is_control")
    known = controls.filter(pl.col("control").is_not_null())
    counts = table["answer"].value_counts().sort(["count", "answer"], descending=[True, False])
    answers = dict(counts.iter_rows())
    pairs = tests.group_by("item", "respondent").agg(pl.len().alias("rows"), pl.col("answer").n_unique())
    repeated = pairs.filter(pl.col("rows") > 1)
    people = pairs.group_by("item").agg(pl.len().alias("people"))["people"].value_counts()
    return Inspection(
        rows_read=responses.rows_read,
        dropped=dict(responses.dropped),
        annotators=table["respondent"].n_unique(),
        items=tests["item"].n_unique(),
        answers=answers,
        overlap={int(n): int(items) for n, items in sorted(people.iter_rows(), reverse=True)},
        controls=ControlCounts(
            controls["item"].n_unique(), controls.height, known.height, known["respondent"].n_unique()
        ),
        equal_repeats=repeated.filter(pl.col("answer") == 1).height,
        different_repeats=repeated.filter(pl.col("answer") > 1).height,
        near=near_spellings(answers, labels),
        timed=table["page_seconds"].count(),
        paid=table["page_reward"].count(),
    )
