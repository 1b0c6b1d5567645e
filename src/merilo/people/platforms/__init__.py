"""Read the exports of crowdsourcing platforms into the response table.

The platform is recognised by the header. A study may consist of several files of one project.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, get_args

import polars as pl

from merilo.errors import DataError, InputError, UsageError, argument
from merilo.file_reading import Reading
from merilo.files import FileTable as Table
from merilo.files import Progress, fold, read_header, read_table
from merilo.people.platforms import label_studio, plain
from merilo.people.platforms.export import Export, SeveralAnswersError, named_columns
from merilo.people.platforms.forms import TABLE_FORMS
from merilo.people.recoding import recode
from merilo.responses import INPUT_MARK, SCHEMA, SIGNALS, Responses, lost_pages
from merilo.settings import Platform
from merilo.strict_json import read_json
from merilo.wording import choices, listed, shown

__all__ = [
    "NAMES",
    "PLATFORMS",
    "Platform",
    "SeveralAnswersError",
    "export_of",
    "field_names",
    "read",
    "read_export",
    "recognise",
]

PLATFORMS: Final[tuple[str, ...]] = get_args(Platform)

#: The platforms' display names.
NAMES: Final[Mapping[Platform, str]] = {
    "toloka": "Toloka",
    "abc": "ABC Elementary",
    "label-studio": "Label Studio",
    "mturk": "Amazon Mechanical Turk",
    "table": "a plain table",
}


def recognise(path: Path, encoding: str | None = None) -> Platform:
    """Recognise the platform of a file by its header; one of an unknown platform is a `table`.

    Raises:
        InputError: the file cannot be read as a table.
    """
    if path.suffix.lower() == ".json" and label_studio.is_label_studio(read_json(path)):
        return "label-studio"
    if plain.is_other_format(path):
        return "table"
    return _platform_of(read_header(path, encoding))


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


def field_names(path: Path, encoding: str | None = None) -> list[str]:
    """Return the names of a file's columns, or of a JSON file's fields, in the file's order.

    Raises:
        InputError: the file cannot be read.
    """
    if recognise(path, encoding) == "label-studio" and path.suffix.lower() == ".json":
        return label_studio.field_names(path)
    if plain.is_other_format(path):
        return list(plain.load(path).data.columns)
    return read_header(path, encoding)


def read(
    sources: Sequence[Path | Table], reading: Reading | None = None, *, progress: Progress | None = None
) -> Responses:
    """Read the exports of one study.

    Args:
        sources: files, or tables of text columns as read from files.
        reading: how the columns become responses; by default, by their usual names.
        progress: called with the number of bytes read since the last call.

    Returns:
        The responses, including control items, as they are written; dropped rows are counted by reason.

    Raises:
        InputError: a source is not a valid export.
        UsageError: there are several answer columns and the user chose none, or a named column is missing.
        DataError: the sources come from different projects, or have no answers.
    """
    reading = reading or Reading()
    responses = _joined([_export(source, reading, progress) for source in sources], reading)
    return recode(responses, reading.recode)


def _export(source: Path | Table, reading: Reading, progress: Progress | None) -> Export:
    if isinstance(source, Table):
        return export_of(source, _platform(reading, lambda: _platform_of(source.data.columns)), reading)
    platform = _platform(reading, lambda: recognise(source, reading.encoding))
    return read_export(source, platform, reading, progress)


def _platform(reading: Reading, recognised: Callable[[], Platform]) -> Platform:
    """Return the platform of the reading; a table if its rows are other than those of platforms."""
    if reading.platform is not None:
        return reading.platform
    other = reading.rows != "answer" or reading.numbered or reading.columns.score
    return "table" if other else recognised()


def _refuse_named_columns(reading: Reading, file: str) -> None:
    """Raise an error if a reading names columns of Label Studio, whose names are fixed."""
    if named := sorted(named_columns(reading)):
        raise UsageError(
            f"exports of Label Studio have fixed names for {listed(named)}: leave them out of the reading",
            file=file,
        )


def export_of(table: Table, platform: Platform, reading: Reading) -> Export:
    """Convert the text columns of one export, as the reader of its platform does.

    Raises:
        InputError: the table is not a valid export.
        UsageError: several answer columns and no choice among them, or a column that is missing.
    """
    if platform == "table":
        return plain.read(table, reading)
    flat = platform == "label-studio"
    if flat:
        _refuse_named_columns(reading, table.file)
    export = label_studio.read_table(table, reading) if flat else TABLE_FORMS[platform].read(table, reading)
    if reading.columns.arm and not flat:
        export = replace(export, rows=export.rows.with_columns(table.data[reading.columns.arm].alias("arm")))
    return _with_item(export, reading.item) if reading.item else export


def _joined(exports: Sequence[Export], reading: Reading) -> Responses:
    first = exports[0]
    frames = []
    for export in exports:
        for what, one, two in (
            ("inputs", first.project, export.project),
            ("answers", *(listed(sorted(each.answer_fields), 50) for each in (first, export))),
        ):
            if one != two:
                raise DataError(
                    f"belongs to a different project than {first.file}: its {what} are {two}, not {one}",
                    file=export.file,
                    row=1,
                )
        file = pl.lit(export.file).alias("file")
        rows = export.rows.with_columns(file, pl.col("row").cast(pl.UInt32))
        frames.append(pl.concat([_set_apart(export.inputs), rows], how="horizontal"))
    fields = list(_set_apart(first.inputs).columns)
    return _responses(pl.concat(frames, how="diagonal"), first, fields, exports, reading)


def _set_apart(inputs: pl.DataFrame) -> pl.DataFrame:
    """Add the prefix `input_` to input fields that have the name of a column of the response table."""
    reserved = {*SCHEMA, SIGNALS, "dropped"}
    return inputs.rename({name: f"{INPUT_MARK}{name}" for name in inputs.columns if name in reserved})


def read_export(path: Path, platform: Platform, reading: Reading, progress: Progress | None = None) -> Export:
    """Read one file of a platform with every row that it has; `read` makes responses of such exports.

    Raises:
        InputError: the file is not a valid export.
        UsageError: several answer columns and no choice among them, or a column that is missing.
    """
    if platform == "label-studio" and path.suffix.lower() == ".json":
        _refuse_named_columns(reading, shown(path))
        export = label_studio.read(path, reading)
        return _with_item(export, reading.item) if reading.item else export
    if platform in TABLE_FORMS and not plain.is_other_format(path):
        wants, named = TABLE_FORMS[platform].wants, named_columns(reading)
        keep = lambda name: wants(name) or name in named  # noqa: E731 - shorter than a function
        table = read_table(path, keep=keep, encoding=reading.encoding, progress=progress)
    else:
        table = plain.load(path, encoding=reading.encoding, progress=progress)
    return export_of(table, platform, reading)


def _with_item(export: Export, chosen: Sequence[str]) -> Export:
    """Restrict the items of an export to some of their input fields."""
    there = export.inputs.columns
    names = []
    for name in dict.fromkeys(chosen):
        bare = name.removeprefix("INPUT:").removeprefix("Input.")
        if name not in there and bare not in there:
            raise UsageError(
                f"no field '{name}' was shown to the annotators ({choices(bare, there)})",
                file=export.file,
                field=argument("item"),
            )
        names.append(name if name in there else bare)
    names = list(dict.fromkeys(names))
    return replace(export, inputs=export.inputs.select(names), project=listed(sorted(names), 50))


def _responses(
    data: pl.DataFrame,
    first: Export,
    fields: list[str],
    exports: Sequence[Export],
    reading: Reading,
) -> Responses:
    """Normalise white space, drop and count rows without an answer, number the items."""
    data = data.with_columns(_folded(data[name]) for name in (*fields, "respondent", "answer", "control"))
    blank = pl.all_horizontal(
        pl.col(name).is_null() for name in (*fields, "respondent", "answer", "control", "page")
    )
    data = data.filter(~blank)
    rows_read = data.height
    reason = (
        pl.when(pl.all_horizontal(pl.col(name).is_null() for name in fields))
        .then(pl.lit("empty_input"))
        .when(pl.col("dropped").is_not_null())
        .then(pl.col("dropped"))
        .when(pl.col("answer").is_null())
        .then(pl.lit("empty_answer"))
    )
    if reading.without_annotator == "drop":
        reason = reason.when(pl.col("respondent").is_null()).then(pl.lit("without_annotator"))
    data = _timed(data)
    if reading.time_limit is not None and reading.late == "drop":
        reason = reason.when(pl.col("page_seconds") > reading.time_limit).then(pl.lit("late"))
    data = data.with_columns(pl.col("dropped").is_null().alias("paid"), reason.alias("dropped"))
    counts = data["dropped"].drop_nulls().value_counts().sort("dropped")
    unanswered = data.filter(pl.col("dropped").is_not_null(), "paid")
    data = data.filter(pl.col("dropped").is_null())
    if not data.height:
        raise DataError(f"none of the {rows_read} rows has an answer", file=first.file)
    nameless = data.filter(pl.col("respondent").is_null()).head(1)
    if nameless.height:
        raise InputError(
            "the response has no annotator: fill it in, or declare 'without_annotator: drop' in the reading",
            file=nameless["file"].item(),
            row=nameless["row"].item(),
        )
    if reading.time_limit is not None and reading.late == "wrong":
        late = pl.col("page_seconds") > reading.time_limit
        data = data.with_columns(pl.when(late).then(pl.lit(LATE)).otherwise("answer").alias("answer"))
    items = data.select(fields).unique(maintain_order=True).with_row_index("item", offset=1)
    data = data.join(items, on=fields, how="left", nulls_equal=True, maintain_order="left")
    renamed = {old: new for export in exports for old, new in export.renamed.items()}
    return Responses(
        table=data.select(
            *(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items()),
            *([SIGNALS] if SIGNALS in data.columns else []),
        ),
        items=items,
        rows_read=rows_read,
        dropped={row["dropped"]: row["count"] for row in counts.iter_rows(named=True)},
        currency=first.currency,
        answer_field=first.answer_field,
        renamed=dict(sorted(renamed.items())),
        unread=tuple(one for export in exports for one in export.unread),
        lost_pages=lost_pages(unanswered, data) if unanswered.height else None,
        scored=first.scored,
        reading=reading,
        arms=_arms(data) if "arm" in data.columns else None,
    )


#: The answer that counts as wrong because it came after the time limit.
LATE: Final = "(after the time limit)"


def _arms(data: pl.DataFrame) -> dict[str, str]:
    """Return the arm of each annotator.

    Raises:
        DataError: an annotator has two arms.
    """
    pairs = data.filter(pl.col("arm").is_not_null()).unique(["respondent", "arm"], maintain_order=True)
    twice = pairs.filter(pl.col("respondent").is_duplicated())
    if twice.height:
        who, arms = (
            twice["respondent"][0],
            twice.filter(pl.col("respondent") == twice["respondent"][0])["arm"],
        )
        raise DataError(
            f"annotator {who} is in two arms: {arms[0]} and {arms[1]}",
            file=twice["file"][1],
            row=twice["row"][1],
        )
    return dict(pairs.select("respondent", "arm").iter_rows())


def _timed(data: pl.DataFrame) -> pl.DataFrame:
    """Compute the seconds of each page from the platform's durations or else its times, which may cross midnight."""
    seconds = (pl.col("submitted") - pl.col("started")).dt.total_milliseconds() / 1000
    of_day = (pl.col("started").dt.year() == 1970) & (pl.col("submitted").dt.year() == 1970)
    crossing = pl.when(of_day & (seconds < 0)).then(seconds + 24 * 3600).otherwise(seconds)
    known = pl.coalesce("page_seconds", crossing)
    return data.with_columns(
        pl.when(known >= 0).then(known).alias("page_seconds"), pl.lit(1, dtype=pl.UInt32).alias("sample")
    )


#: White space that folding changes: at either end, repeated, or other than a space.
_TO_FOLD: Final = r"^\s|\s$|\s\s|[^\S ]"


def _folded(texts: pl.Series) -> pl.Series:
    """Fold white space; blank texts become null. Most texts of an export do not change."""
    texts = texts.cast(pl.String)
    rest = texts.filter(texts.str.contains(_TO_FOLD) | (texts == "")).unique()
    if not len(rest):
        return texts
    new = rest.to_frame("text").select(fold("text"))["text"]
    return texts.replace(rest, new.set(new == "", None))
