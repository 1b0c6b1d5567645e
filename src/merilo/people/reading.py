"""Reading responses with their source: exports of platforms, tables in files, and tables in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b, sha256
from pathlib import Path
from typing import TypeAlias

from merilo.errors import UsageError, argument
from merilo.file_reading import Reading, read_reading, reading_of
from merilo.files import FileTable, Progress
from merilo.people import platforms
from merilo.people.frames import Frame, is_frame, not_, polars_of
from merilo.people.platforms import Platform
from merilo.people.platforms.values import as_texts
from merilo.people.pseudonyms import key_of
from merilo.responses import Responses
from merilo.strict_json import Json


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
    tables: tuple[FileTable, ...]
    reading: Reading
    declared: Path | None = None

    def read(self, progress: Progress | None = None) -> StudyResponses:
        """Read the responses."""
        responses = platforms.read(self.tables or self.files, self.reading, progress=progress)
        return StudyResponses(
            **{field.name: getattr(responses, field.name) for field in fields(responses)}, origin=self
        )

    @property
    def recognised(self) -> Platform | None:
        """Return the platform: as given, or recognised by the files' headers.

        `None` for tables and for several platforms.
        """
        if self.reading.platform is not None:
            return self.reading.platform
        names = {platforms.recognise(path, self.reading.encoding) for path in self.files}
        return names.pop() if len(names) == 1 else None

    @property
    def key(self) -> bytes:
        """Return the key for pseudonyms, a digest of the content."""
        if self.files:
            return key_of(self.files)
        digests = sorted(blake2b(_csv(table)).digest() for table in self.tables)
        return blake2b(b"".join(digests), person=b"merilo key").digest()

    def inputs(self) -> tuple[dict[str, Json], ...]:
        """Describe the tables as inputs of a result: size and SHA-256 of each as CSV."""
        texts = {table.file: _csv(table) for table in self.tables}
        return tuple(
            {"file": file, "bytes": len(text), "sha256": sha256(text).hexdigest()}
            for file, text in texts.items()
        )


def _csv(table: FileTable) -> bytes:
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


Source: TypeAlias = str | Path | Frame | Sequence[str | Path] | Sequence[Frame]


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
    single = isinstance(source, str | Path | Mapping | Responses) or is_frame(source)
    sources = [source] if single or not isinstance(source, Iterable) else list(source)
    tables = [each for each in sources if is_frame(each)]
    for each in sources:
        if not isinstance(each, str | Path) and not is_frame(each):
            raise UsageError(
                f"takes files or tables of pandas or Polars, {not_(each)}", field=argument("source")
            )
    if not sources or 0 < len(tables) < len(sources):
        raise UsageError("takes files or tables, not both and not nothing", field=argument("source"))
    file = Path(reading) if isinstance(reading, str | Path) else None
    whole = (
        reading if isinstance(reading, Reading) else read_reading(file) if file else reading_of(reading or {})
    )
    names = ["table"] if len(tables) == 1 else [f"table {number}" for number in range(1, len(tables) + 1)]
    return Origin(
        files=() if tables else tuple(Path(str(each)) for each in sources),
        tables=tuple(
            FileTable(name, as_texts(polars_of(table), name), 1)
            for name, table in zip(names, tables, strict=True)
        ),
        reading=whole.named(**{name: value for name, value in named.items() if value not in (None, [])}),
        declared=file,
    ).read(progress)
