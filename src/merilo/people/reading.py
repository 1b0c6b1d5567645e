"""Reading the responses of a study: exports of platforms, tables in files, and tables in memory.

The platform of a file is recognised by its header, or else it is a plain table. Each file becomes an `Export` with
Merilo's columns (`merilo.people.platforms`), and the exports of a study become its responses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Final, TypeAlias

import polars as pl

from merilo.errors import DataError, InputError, UsageError, argument
from merilo.file_reading import Origin, Reading, read_reading, reading_of
from merilo.files import FileTable, Progress, read_header
from merilo.files import sha256 as content_digest
from merilo.people.frames import Frame, is_frame, not_, polars_of
from merilo.people.gold_file import may_be_ids
from merilo.people.platforms import Export, label_studio, loading, plain
from merilo.people.platforms.forms import TABLE_FORMS, named_columns
from merilo.people.platforms.loading import as_texts
from merilo.people.pseudonyms import key_of
from merilo.responses import INPUT_MARK, SCHEMA, SIGNALS, Responses, lost_pages
from merilo.settings import Platform
from merilo.strict_json import Json, read_json
from merilo.wording import choices, listed, shortened, shown

#: The columns of answers that a study collected, with its control items among them.
_OF_A_STUDY: Final = {"study", "task", "respondent", "answer"}

#: How many rows are compared at once.
_COMPARED: Final = 100_000

#: The answer that counts as wrong because it came after the time limit.
LATE: Final = "(after the time limit)"


Source: TypeAlias = str | Path | Frame | Sequence[str | Path] | Sequence[Frame]


def read_responses(
    source: Source,
    *,
    reading: Reading | str | Path | Mapping[str, object] | None = None,
    progress: Progress | None = None,
    **named: object,
) -> Responses:
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
    origin = Origin(
        files=() if tables else tuple(Path(str(each)) for each in sources),
        tables=tuple(
            FileTable(name, as_texts(polars_of(table), name), 1)
            for name, table in zip(names, tables, strict=True)
        ),
        reading=whole.named(**{name: value for name, value in named.items() if value not in (None, [])}),
        declared=file,
    )
    return read_origin(origin, progress)


def read_origin(origin: Origin, progress: Progress | None = None) -> Responses:
    """Read the responses of files or tables, control items too, as they are written.

    Raises:
        InputError: a source is not a valid export.
        UsageError: there are several answer columns and the user chose none, or a named column is missing.
        DataError: the sources come from different projects, or have no answers.
    """
    sources, reading = origin.tables or origin.files, origin.reading
    _refuse_the_same_file(origin.files)
    exports = [read_export(source, None, reading, progress) for source in sources]
    return replace(recode(_responses(exports, reading), reading.recode), origin=origin)


def _refuse_the_same_file(files: Sequence[Path]) -> None:
    """Refuse a file that is given twice: its answers and their cost would count twice."""
    sizes = [path.stat().st_size if path.is_file() else -1 for path in files]
    contents: dict[str, Path] = {}
    for path in (path for path, size in zip(files, sizes, strict=True) if size > 0 and sizes.count(size) > 1):
        if other := contents.get(digest := content_digest(path)):
            raise DataError(f"has the same content as {shown(other)}: give it once", file=path)
        contents[digest] = path


def platform_of(origin: Origin) -> Platform | None:
    """Return the platform: as declared, or recognised by the headers; `None` for tables and several platforms."""
    if origin.reading.platform is not None:
        return origin.reading.platform
    names = {recognise(path, origin.reading.encoding) for path in origin.files}
    return names.pop() if len(names) == 1 else None


def key_of_origin(origin: Origin) -> bytes:
    """Return the key for pseudonyms, a digest of the content."""
    if origin.files:
        return key_of(origin.files)
    digests = sorted(blake2b(_csv(table)).digest() for table in origin.tables)
    return blake2b(b"".join(digests), person=b"merilo key").digest()


def inputs_of(origin: Origin) -> tuple[dict[str, Json], ...]:
    """Describe the tables as inputs of a result: size and SHA-256 of each as CSV."""
    texts = {table.file: _csv(table) for table in origin.tables}
    return tuple(
        {"file": file, "bytes": len(text), "sha256": sha256(text).hexdigest()} for file, text in texts.items()
    )


def _csv(table: FileTable) -> bytes:
    return table.data.write_csv().encode("utf-8")


@loading.with_advice()
def recognise(path: Path, encoding: str | None = None) -> Platform:
    """Recognise the platform of a file by its header; one of an unknown platform is a `table`.

    Raises:
        InputError: the file cannot be read as a table.
    """
    if path.suffix.lower() == ".json" and label_studio.is_label_studio(read_json(path)):
        return "label-studio"
    return _platform_of(read_header(path, encoding)) if loading.is_delimited(path) else "table"


def _platform_of(header: Sequence[str]) -> Platform:
    """Recognise the platform of a table by its column names."""
    names = set(header)
    prefixes = {name.partition(":")[0] for name in names}
    if "ASSIGNMENT:worker_id" in names and names & {"ASSIGNMENT:started", "ASSIGNMENT:task_id"}:
        return "toloka"
    # ABC Elementary's input and answer columns have the same prefixes as Toloka's.
    if names & {"ASSIGNMENT:date_start", "ASSIGNMENT:time_spent", "ASSIGNMENT:result_id"}:
        return "abc"
    if {"INPUT", "OUTPUT"} <= prefixes:
        return "toloka"
    if {"HITId", "AssignmentId"} <= names and any(name.startswith("Answer.") for name in names):
        return "mturk"
    return "label-studio" if {"annotator", "annotation_id", "lead_time"} <= names else "table"


@loading.with_advice()
def load(
    path: Path, platform: Platform, reading: Reading | None = None, progress: Progress | None = None
) -> FileTable:
    """Read a file of a platform as text columns, of delimited text only those that the platform and the reading name.

    Raises:
        InputError: the file cannot be read.
    """
    if platform == "label-studio" and path.suffix.lower() == ".json":
        return label_studio.load(path)
    encoding = reading.encoding if reading else None
    if reading is None or platform not in TABLE_FORMS or TABLE_FORMS[platform].all_columns:
        return loading.load(path, encoding=encoding, progress=progress)
    wants, named = TABLE_FORMS[platform].wants, named_columns(reading)
    return loading.load(path, encoding=encoding, keep=lambda n: wants(n) or n in named, progress=progress)


@loading.with_advice()
def field_names(path: Path, encoding: str | None = None) -> list[str]:
    """Return the names of a file's columns, or of a JSON file's fields, in the file's order.

    Raises:
        InputError: the file cannot be read.
    """
    if loading.is_delimited(path):
        return read_header(path, encoding)
    platform = recognise(path, encoding)
    table = load(path, platform)
    return label_studio.field_names(table) if platform == "label-studio" else table.data.columns


def read_export(
    source: Path | FileTable, platform: Platform | None, reading: Reading, progress: Progress | None = None
) -> Export:
    """Read one file with every row that it has; `read_responses` makes responses of such exports.

    Args:
        source: the file, or a table of its text columns.
        platform: the platform; by default, that of the reading, or as recognised: a table if the reading's rows are
            other than those of platforms.
        reading: how the columns become responses.
        progress: called with the number of bytes read since the last call.

    Raises:
        InputError: the file is not a valid export.
        UsageError: several answer columns and no choice among them, or a column that is missing.
        DataError: the file holds answers that a study collected.
    """
    other = reading.rows != "answer" or reading.numbered or reading.columns.score
    platform = platform or reading.platform or ("table" if other else None)
    if isinstance(source, FileTable):
        platform, table = platform or _platform_of(source.data.columns), source
    else:
        platform = platform or recognise(source, reading.encoding)
        table = load(source, platform, reading, progress)
    if platform == "table":
        if set(table.data.columns) >= _OF_A_STUDY and reading.item != ("study", "task"):
            raise DataError(
                "holds answers to the tasks of a study: read it with 'merilo study import STUDY FILE'",
                file=table.file,
            )
        return plain.read(table, reading)
    return _with_item(TABLE_FORMS[platform].read(table, reading), reading.item)


def _with_item(export: Export, chosen: Sequence[str]) -> Export:
    """Restrict the items of an export to some of their input fields."""
    there, names = export.inputs.columns, dict[str, None]()
    for name in chosen:
        bare = name.removeprefix("INPUT:").removeprefix("Input.")
        if name not in there and bare not in there:
            raise UsageError(
                f"no field '{name}' was shown to the annotators ({choices(bare, there)})",
                file=export.file,
                field=argument("item"),
            )
        names[name if name in there else bare] = None
    return replace(export, inputs=export.inputs.select([*names])) if names else export


def _responses(exports: Sequence[Export], reading: Reading) -> Responses:
    """Normalise white space, drop and count rows without an answer, number the items."""
    first = exports[0]
    _refuse_other_projects(exports)
    # The fields of items that have the name of a column of the response table get a prefix.
    reserved = {*SCHEMA, SIGNALS, "dropped", "arm", "paid"}
    prefixed = {name: f"{INPUT_MARK}{name}" for name in first.inputs.columns if name in reserved}
    parts = [
        pl.concat(
            [export.inputs.rename(prefixed), export.rows.with_columns(file=pl.lit(export.file))],
            how="horizontal",
        )
        for export in exports
    ]
    fields = [prefixed.get(name, name) for name in first.inputs.columns]
    data = pl.concat(parts, how="diagonal")
    data = data.with_columns(_folded(data[name]) for name in (*fields, "respondent", "answer", "control"))
    identity = (*fields, "respondent", "answer", "control", "page")
    data = data.filter(~pl.all_horizontal(pl.col(name).is_null() for name in identity))
    data = data.with_columns(
        _in_one_notation(data[name])
        for name in ("respondent", *fields[:1])
        if name == "respondent" or (len(fields) == 1 and may_be_ids(name.removeprefix(INPUT_MARK)))
    )
    rows_read = data.height
    why, sample = _why_dropped(fields, reading), pl.lit(1, pl.UInt32)
    data = data.with_columns(why.alias("dropped"), paid=_is_page(), sample=sample)
    counts = data["dropped"].drop_nulls().value_counts().sort("dropped")
    unanswered = data.filter(pl.col("dropped").is_not_null(), "paid")
    data = data.filter(pl.col("dropped").is_null())
    if not data.height:
        raise DataError(f"none of the {rows_read} rows has an answer", file=first.file)
    if data["respondent"].null_count():
        nameless = data.filter(pl.col("respondent").is_null()).row(0, named=True)
        raise InputError(
            "the response has no annotator: fill it in, or declare 'without_annotator: drop' in the reading",
            file=nameless["file"],
            row=nameless["row"],
        )
    if reading.time_limit is not None and reading.late == "wrong":
        late = pl.col("page_seconds") > reading.time_limit
        data = data.with_columns(pl.when(late).then(pl.lit(LATE)).otherwise("answer").alias("answer"))
    items, numbers = _numbered(data.select(fields))
    data = data.drop(fields).with_columns(numbers)
    return Responses(
        table=data.select(
            *(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items()),
            *([SIGNALS] if SIGNALS in data.columns else []),
        ),
        items=items,
        rows_read=rows_read,
        dropped=dict(counts.iter_rows()),
        currency=first.currency,
        answer_field=first.answer_field,
        renamed={},
        unread=tuple(unread for export in exports for unread in export.unread),
        lost_pages=lost_pages(unanswered, data) if unanswered.height else None,
        scored=first.scored,
        reading=reading,
        arms=_arms(data) if "arm" in data.columns else None,
    )


def _numbered(asked: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Return the different items with their numbers, from 1 in order of appearance, and the number of each row's item.

    Polars copies the texts of all rows that it compares: some at a time take less memory.
    """
    slices = list(asked.iter_slices(_COMPARED))
    items = pl.concat(rows.unique(maintain_order=True) for rows in slices).unique(maintain_order=True)
    items = items.with_row_index("item", offset=1)
    joined = (
        rows.join(items, on=asked.columns, how="left", nulls_equal=True, maintain_order="left")
        for rows in slices
    )
    return items, pl.concat(rows["item"] for rows in joined)


def _refuse_other_projects(exports: Sequence[Export]) -> None:
    """Refuse files whose items or answers have other fields than those of the first one."""
    first = exports[0]
    for export in exports:
        for what, ours, theirs in (
            ("inputs", first.inputs.columns, export.inputs.columns),
            ("answers", first.answer_fields, export.answer_fields),
        ):
            if {*ours} != {*theirs}:
                names = [listed(sorted(each), 50) for each in (theirs, ours)]
                raise DataError(
                    f"belongs to a different project than {first.file}: its {what} are {names[0]}, not {names[1]}",
                    file=export.file,
                    row=1,
                )


def _why_dropped(fields: Sequence[str], reading: Reading) -> pl.Expr:
    """Return the reason why a row is no response, or null."""
    reasons: list[tuple[pl.Expr, pl.Expr]] = [
        (pl.all_horizontal(pl.col(name).is_null() for name in fields), pl.lit("empty_input")),
        (pl.col("dropped").is_not_null(), pl.col("dropped")),
        (pl.col("answer").is_null(), pl.lit("empty_answer")),
    ]
    if reading.without_annotator == "drop":
        reasons.append((pl.col("respondent").is_null(), pl.lit("without_annotator")))
    if reading.time_limit is not None and reading.late == "drop":
        reasons.append((pl.col("page_seconds") > reading.time_limit, pl.lit("late")))
    return pl.coalesce(pl.when(holds).then(why) for holds, why in reasons)


def _arms(data: pl.DataFrame) -> dict[str, str]:
    """Return the arm of each annotator.

    Raises:
        DataError: an annotator has two arms.
    """
    pairs = data.filter(pl.col("arm").is_not_null()).unique(["respondent", "arm"], maintain_order=True)
    twice = pairs.filter(pl.col("respondent").is_duplicated())
    if twice.height:
        first, other = twice.filter(pl.col("respondent") == twice["respondent"][0]).rows(named=True)[:2]
        raise DataError(
            f"annotator {first['respondent']} is in two arms: {first['arm']} and {other['arm']}",
            file=other["file"],
            row=other["row"],
        )
    return dict(pairs.select("respondent", "arm").iter_rows())


def _is_page() -> pl.Expr:
    """Return whether a row stands for work: the platform takes it, and it names an annotator or has an answer."""
    return pl.col("dropped").is_null() & pl.any_horizontal(
        pl.col("respondent", "answer", "page").is_not_null()
    )


def _in_one_notation(ids: pl.Series) -> pl.Series:
    """Write 7.0 as 7 if the column has both: programs add the fraction to whole numbers beside empty cells."""
    fractions = ids.filter(ids.str.contains(r"^\d+\.0+$")).unique()
    whole = fractions.str.replace(r"\.0+$", "")
    return ids.replace(fractions, whole) if len(whole) and whole.is_in(ids.unique().implode()).any() else ids


#: White space that folding changes: at either end, repeated, or other than a space.
_TO_FOLD: Final = r"^\s|\s$|\s\s|[^\S ]"


def _folded(texts: pl.Series) -> pl.Series:
    """Fold white space; blank texts become null. Most texts of an export do not change."""
    texts = texts.cast(pl.String)
    rest = texts.filter(texts.str.contains(_TO_FOLD) | (texts == "")).unique()
    if not len(rest):
        return texts
    new = rest.str.replace_all(r"\s+", " ").str.strip_chars()
    return texts.replace(rest, new.set(new == "", None))


def recode(responses: Responses, mapping: Mapping[str, str | None]) -> Responses:
    """Replace answers and known answers of control items simultaneously: replacements are not replaced again.

    Args:
        responses: the responses.
        mapping: answer -> replacement; `None` leaves the answer out, counted as `recoded_to_nothing`.

    Returns:
        The responses; `renamed` has the replacements.

    Raises:
        UsageError: an answer does not occur.
    """
    if not mapping:
        return responses
    counts = responses.table["answer"].value_counts().sort(["count", "answer"], descending=[True, False])
    known = {*counts["answer"], *responses.table["control"].drop_nulls().unique()}
    for text in mapping:
        if text not in known:
            there = listed([f"'{shortened(answer, 30)}'" for answer in counts["answer"]], 8)
            raise UsageError(f"no response is '{shortened(text)}' (answers: {there})", field="recode")
    gone = [text for text, new in mapping.items() if new is None]
    responses = responses.without(pl.col("answer").is_in(gone), "recoded_to_nothing")
    if not responses.table.height:
        raise UsageError("no answers are left: all of them are recoded to an empty text", field="recode")
    return responses.with_spelling({text: new for text, new in mapping.items() if new is not None})
