"""Read a plain table with one response per row: CSV, TSV, Parquet or JSONL, with columns that the user names."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Set
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

from merilo.errors import InputError, UsageError, argument
from merilo.files import Progress, Table, read_parquet, read_table, refuse_too_wide
from merilo.people.platforms import scored
from merilo.people.platforms.export import Columns, Export, column, export_of_columns, text_columns
from merilo.people.signals import folded
from merilo.strict_json import Json, json_lines
from merilo.wording import choices, listed, shown

#: What a column of a plain table holds -> its usual names, in order of preference.
USUAL: Final[Mapping[str, tuple[str, ...]]] = {
    "item": ("item", "item_id", "task", "task_id", "question_id", "id"),
    "annotator": ("respondent", "annotator", "annotator_id", "worker", "worker_id", "user", "user_id"),
    "answer": ("answer", "label", "response", "output"),
    "control": ("control", "golden", "gold_control"),
    "page": ("page", "assignment", "assignment_id"),
    "started": ("started", "start", "date_start"),
    "submitted": ("submitted", "end", "date_end"),
    "seconds": ("page_seconds", "seconds", "time_spent"),
    "reward": ("page_reward", "reward"),
}
_REQUIRED: Final = ("item", "annotator", "answer")

#: What a column holds -> the name of the response table's column, if it is another one.
_PLACES: Final = {"annotator": "respondent", "seconds": "page_seconds", "reward": "page_reward"}

_BINARY: Final = (".parquet", ".pq")
_LINES: Final = (".jsonl", ".ndjson")


def is_other_format(path: Path) -> bool:
    """Return whether a file is a table in a format without a delimited header."""
    return path.suffix.lower() in (*_BINARY, *_LINES)


def load(path: Path, *, encoding: str | None = None, progress: Progress | None = None) -> Table:
    """Read a table of any of the plain formats into text columns.

    Raises:
        InputError: the file is not in the format that its name says.
    """
    suffix = path.suffix.lower()
    if suffix in _BINARY:
        return Table(shown(path), as_texts(read_parquet(path), path))
    if suffix in _LINES:
        return _json_lines(path, progress)
    return read_table(path, encoding=encoding, progress=progress)


def read(table: Table, columns: Columns) -> Export:
    """Read one plain table.

    Args:
        table: the file's text columns.
        columns: the columns that the user named; columns with usual names are found automatically.

    Raises:
        UsageError: a required column was neither named nor found.
    """
    if columns.wide:
        table, columns = scored.long(table, columns)
    if columns.score is not None:
        table = scored.verdicts(table, columns)
        columns = replace(columns, answer=columns.score)
    data = table.data
    items = [found_column(data, "item", name, table.file) for name in dict.fromkeys(columns.item) or (None,)]
    found = {
        what: found_column(data, what, getattr(columns, what), table.file) for what in USUAL if what != "item"
    }
    places = {_PLACES.get(what, what): name for what, name in found.items()}
    inputs = {name: name for name in items}
    export = export_of_columns(table, data, places, inputs, column(data, found["control"]))
    signals = folded(data)
    rows = export.rows if signals.is_null().all() else export.rows.with_columns(signals)
    return replace(export, rows=rows, project=listed(items, 50), scored=columns.score is not None)


def found_column(data: pl.DataFrame, what: str, named: str | None, file: str) -> str:
    """Find the column for one purpose; return an empty string if there is none and it is optional."""
    if named is not None:
        if named in data.columns:
            return named
        raise UsageError(f"there is no such column ({choices(named, data.columns)})", file=file, field=named)
    found = _usual(what, data.columns) or ""
    if what in _REQUIRED and not found:
        raise UsageError(
            f"no column for the {what} was found; name it with {argument(what)}"
            + (f", or a column of scores with {argument('score')}" if what == "answer" else "")
            + f" (choose from: {listed(data.columns)})",
            file=file,
        )
    return found


def _usual(what: str, names: Container[str]) -> str | None:
    return next((name for name in USUAL[what] if name in names), None)


def as_texts(data: pl.DataFrame, file: Path | str) -> pl.DataFrame:
    """Convert every column of a table to text, and empty texts to null.

    Raises:
        InputError: a column has values that cannot be converted to text.
    """
    texts = [_text_column(column, file) for column in data.get_columns()]
    return pl.DataFrame(texts).with_columns(pl.all().replace("", None))


def _text_column(column: pl.Series, path: Path | str) -> pl.Series:
    """Convert any column to text: structures and lists to JSON, times to UTC, durations to seconds."""
    kind = column.dtype
    if kind.is_nested():
        values = [None if value is None else _as_json(value) for value in column]
        return pl.Series(column.name, values, dtype=pl.String)
    if isinstance(kind, pl.Duration):
        column = column.dt.total_microseconds() / 1_000_000
    elif isinstance(kind, pl.Datetime) and kind.time_zone:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError:
        raise InputError(
            f"has values of type {kind}, which cannot be read as text", file=path, field=column.name
        ) from None


def _as_json(value: object) -> str:
    plain = value.to_list() if isinstance(value, pl.Series) else value
    return json.dumps(plain, ensure_ascii=False, default=str)


def _json_lines(path: Path, progress: Progress | None) -> Table:
    """Read one row per line; a blank line becomes a row of nulls, so that later rows keep their numbers."""
    records: dict[int, dict[str, Json]] = {}
    for row, value in json_lines(path, progress):
        if not isinstance(value, dict):
            raise InputError("is not a JSON object", file=path, row=row)
        records[row] = value
    names = dict.fromkeys(name for record in records.values() for name in record)
    if not names:
        raise InputError("the file is empty", file=path)
    refuse_too_wide(list(names), path)
    rows = [records.get(row, {}) for row in range(1, max(records) + 1)]
    return Table(shown(path), text_columns(rows), first_row=1)


#: Parts of the names of columns that hold gold answers, which do not describe an item.
_GOLD: Final = ("gold", "truth", "correct", "expected", "эталон", "правильн")

#: Common parts of column names, for tables with other names than the recognised ones.
_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "annotator": (
        "worker",
        "turker",
        "annotator",
        "user",
        "respondent",
        "participant",
        "rater",
        "assessor",
        "hashed_id",
        "subject_id",
        "prolific",
        "person",
        "разметчик",
        "исполнитель",
    ),
    "answer": (
        "answer",
        "label",
        "response",
        "verdict",
        "choice",
        "rating",
        "result",
        "ответ",
        "метка",
        "результат",
    ),
    "item": ("item", "task", "question", "example", "sentence", "text", "prompt", "вопрос", "задани"),
}


def guess(data: pl.DataFrame, columns: Columns) -> Columns:
    """Guess the required columns of a plain table from their names; columns that the user named take precedence.

    Without a usual name, the item is the column with the most values that occur more than once, together with the other
    columns that describe it: a sentence pair is two columns, and one of them alone would merge different items.

    Args:
        data: the table's text columns.
        columns: the columns that the user named.

    Returns:
        The columns; the item, the annotator or the answer is missing if it cannot be guessed.
    """
    taken = {*columns.item, *filter(None, (columns.answer, columns.annotator, columns.control, columns.page))}
    found = {"annotator": columns.annotator, "answer": columns.answer}
    for what, given in found.items():
        free = [name for name in data.columns if name not in taken]
        alike = (name for part in _PARTS[what] for name in free if part in name.casefold())
        found[what] = given or _usual(what, free) or next(alike, None)
        taken.add(found[what] or "")
    usual = _usual("item", [name for name in data.columns if name not in taken])
    item = (usual,) if usual else _describing(data, taken, found["annotator"])
    return replace(columns, annotator=found["annotator"], answer=found["answer"], item=columns.item or item)


#: Names of columns that say whether an answer is right, of the number of an attempt, and of the time of an answer.
_SCORES: Final = (
    "correct",
    "is_correct",
    "score",
    "right",
    "solved",
    "success",
    "accuracy",
    "acc",
    "passed",
    "верно",
)
_ATTEMPTS: Final = (
    "attempt",
    "attempt_number",
    "attempt_no",
    "try",
    "try_number",
    "trial_attempt",
    "попытка",
)
_SECONDS: Final = (
    "duration",
    "elapsed",
    "response_time",
    "time_taken",
    "rt",
    "reaction_time",
    "time",
    "duration_s",
)


def guess_scores(data: pl.DataFrame, columns: Columns) -> Columns:
    """Guess the columns of a table of answers that were scored elsewhere; unchanged if there are no scores.

    Without columns of scores, of items and of answers, but with several columns of 1 and 0, a row is a person.

    Args:
        data: the table's text columns.
        columns: the columns that the user named.
    """
    names = {name.casefold().replace(" ", "_"): name for name in reversed(data.columns)}
    one = next(
        (names[name] for name in _SCORES if name in names and scored.is_score(data[names[name]])), None
    )
    score = columns.score or one
    if score is None:
        whole = guess(data, columns)
        wide = columns.wide or (
            not columns.item
            and columns.answer is None
            and len(scored.items_of_wide(data, columns)) > 1
            and (whole.annotator is None or data[whole.annotator].n_unique() == data.height)
        )
        return replace(columns, wide=wide)
    free = data.drop(score)
    found = guess(free, columns)
    attempt = columns.attempt or next((names[name] for name in _ATTEMPTS if name in names), None)
    rest = [name for name in found.item if name != attempt]
    usual = _usual("seconds", data.columns)
    seconds = columns.seconds or usual or next((names[name] for name in _SECONDS if name in names), None)
    return replace(
        columns,
        score=score,
        attempt=attempt,
        annotator=found.annotator,
        item=tuple(name for name in rest if name != seconds),
        seconds=seconds,
    )


def _describing(data: pl.DataFrame, taken: Set[str], annotator: str | None) -> tuple[str, ...]:
    """Return the columns that describe the item: they are the same in most rows of it, whoever answers."""
    others = {name for what in USUAL if what not in _REQUIRED for name in USUAL[what]}
    free = [
        name
        for name in data.columns
        if name and name not in {*taken, *others} and not any(part in name.casefold() for part in _GOLD)
    ]
    repeating = {name: n for name in free if 1 < (n := data[name].n_unique()) < data.height}
    people = data.height if annotator is None else data[annotator].n_unique()
    if annotator is not None and 2 * people <= data.height:
        # What is the same for all answers of a person describes the person.
        repeating = {
            name: n for name, n in repeating.items() if data.select(annotator, name).n_unique() > people
        }
    alike = [name for name in free if any(part in name.casefold() for part in _PARTS["item"])]
    if not repeating:
        return tuple(alike[:1])
    # Texts come first: a number may be a time or a grade.
    texts = [
        name for name in repeating if data[name].drop_nulls().cast(pl.Float64, strict=False).null_count()
    ]
    texts.sort(key=lambda name: (2 * repeating[name] <= data.height, repeating[name]), reverse=True)
    numbers = [name for name in repeating if name not in texts]
    numbers.sort(key=lambda name: (name in alike, repeating[name]), reverse=True)
    main, *further = texts + numbers
    chosen = [main]
    for name in further:
        before, after = (_fitness(data, key, annotator) for key in (chosen, [*chosen, name]))
        if after >= before and 2 * data.select(*chosen, name).n_unique() <= data.height:
            chosen.append(name)
    return tuple(name for name in data.columns if name in chosen)


def _fitness(data: pl.DataFrame, key: list[str], annotator: str | None) -> tuple[int, float]:
    """Say how well columns distinguish items: nobody answers an item twice, and items get equally many answers."""
    repeats = 0 if annotator is None else data.height - data.select(annotator, *key).n_unique()
    sizes = data.group_by(key).len()["len"]
    return -repeats, float((sizes == sizes.mode().sort()[-1]).mean() or 0)


def unusual(data: pl.DataFrame, columns: Columns) -> dict[str, tuple[str, ...]]:
    """Return the command-line options for columns that would not be found by their usual names.

    Args:
        data: the table's text columns.
        columns: the columns to use.

    Returns:
        Option, without its dashes -> columns.
    """
    options = {}
    for what in USUAL:
        named = getattr(columns, what)
        given = named if what == "item" else (named,)
        if any(given) and given != (_usual(what, data.columns),):
            options[what] = given
    return options
