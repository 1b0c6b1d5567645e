"""Read a table of no known platform: CSV, TSV, Parquet, JSON or JSONL, with columns that a reading declares.

A row is an answer, an item (a column for each annotator) or a person (a column for each item). Without a reading, only
columns with the usual names below are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import polars as pl

from merilo.errors import InputError, UsageError, argument
from merilo.file_reading import OtherColumns, Reading
from merilo.files import FileTable as Table
from merilo.files import Progress, read_parquet, read_table, refuse_too_wide
from merilo.metrics.pass_at_k import FAILED, PASSED
from merilo.people.platforms.export import ROW, Export, column, export_of_columns, number, text_columns
from merilo.people.signals import folded
from merilo.strict_json import Json, json_lines, read_json
from merilo.wording import choices, listed, shown

#: What a column holds -> its usual names, without case, spaces and punctuation, in order of preference.
USUAL: Final[Mapping[str, tuple[str, ...]]] = {
    "item": (
        *("item", "itemid", "task", "taskid", "questionid", "exampleid", "unitid"),
        *("задание", "idзадания", "задание id", "идзадания", "единица"),
    ),
    "annotator": (
        *("respondent", "respondentid", "annotator", "annotatorid", "worker", "workerid", "user", "userid"),
        *("participant", "participantid", "rater", "raterid", "assessor", "assessorid", "coder", "coderid"),
        *("labeler", "labelerid", "judge", "person", "personid"),
        *(
            "разметчик",
            "аннотатор",
            "исполнитель",
            "участник",
            "ассессор",
            "респондент",
            "эксперт",
            "человек",
        ),
    ),
    "answer": ("answer", "label", "response", "output", "annotation", "ответ", "метка"),
    "control": ("control", "golden", "goldcontrol", "контроль"),
    "page": ("page", "assignment", "assignmentid", "страница"),
    "started": ("started", "start", "startedat", "starttime", "datestart", "начало"),
    "submitted": ("submitted", "end", "submittedat", "endtime", "dateend", "конец", "окончание"),
    "seconds": ("pageseconds", "seconds", "durationseconds", "timeseconds", "секунды"),
    "reward": ("pagereward", "reward", "вознаграждение"),
}

#: Names of columns that show an item, if no column has one of the names above.
_SHOWN: Final = (
    "question",
    "вопрос",
    "example",
    "пример",
    "text",
    "текст",
    "sentence",
    "предложение",
    "prompt",
)
#: Names of columns that may have the answer if no column has one of the names above.
_JUDGED: Final = ("choice", "rating", "judgment", "judgement", "verdict", "оценка", "класс", "выбор")

_OTHERS: Final = ("control", "page", "started", "submitted", "seconds", "reward")
#: What a column holds -> the name of the response table's column, if it is another one.
_PLACES: Final = {"seconds": "page_seconds", "reward": "page_reward"}

_BINARY: Final = (".parquet", ".pq")
_LINES: Final = (".jsonl", ".ndjson")

#: The columns of a table that has been turned into one row per answer.
_ITEM, _PERSON, _ANSWER = "item", "\x1fannotator", "\x1fanswer"

#: How tables write that an answer is right or wrong, in lower case.
_RIGHT: Final = ("1", "1.0", "true", "yes", "correct", "right", "passed", "да", "верно")
_WRONG: Final = ("0", "0.0", "false", "no", "incorrect", "wrong", "failed", "нет", "неверно")


def is_other_format(path: Path) -> bool:
    """Return whether a file is a table in a format without a delimited header."""
    return path.suffix.lower() in (*_BINARY, *_LINES, ".json")


def load(path: Path, *, encoding: str | None = None, progress: Progress | None = None) -> Table:
    """Read a table of any of the plain formats into text columns.

    Raises:
        InputError: the file is not in the format that its name says.
    """
    suffix = path.suffix.lower()
    if suffix in _BINARY:
        return Table(shown(path), as_texts(read_parquet(path), path))
    if suffix in _LINES:
        return _of_records(path, dict(json_lines(path, progress)))
    if suffix == ".json":
        content = read_json(path)
        if isinstance(content, dict) and (samples := _of_inspect(content, path)):
            content = samples
        if not isinstance(content, list):
            raise InputError("is not a JSON list of records", file=path)
        return _of_records(path, dict(enumerate(content, start=1)))
    return without_qualtrics_rows(read_table(path, encoding=encoding, progress=progress))


def without_qualtrics_rows(table: Table) -> Table:
    """Leave out the two rows after the header of Qualtrics, which hold the questions' texts and their ids."""
    if table.data.height < 2:
        return table
    ids = [text for text in table.data.row(1) if text]
    if not ids or not all(text.startswith('{"ImportId":') for text in ids):
        return table
    return Table(table.file, table.data[2:], table.first_row + 2)


@dataclass(frozen=True, slots=True)
class PlainColumns:
    """The columns of a table with one answer a row.

    Attributes:
        item: the columns that identify an item.
        annotator: the column of annotators; `None` if it was not found.
        answer: the column of answers, or of scores.
        others: what a column holds -> the column; "" if there is none.
        unclear: what no column holds plainly -> the columns that may hold it.
    """

    item: tuple[str, ...]
    annotator: str | None
    answer: str | None
    others: Mapping[str, str]
    unclear: Mapping[str, tuple[str, ...]]


def _bare(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())


def _alike(data: pl.DataFrame, names: Sequence[str]) -> bool:
    """Return whether columns group the rows equally, so that any of them will do."""
    if len(names) < 2:
        return True
    whole = data.select(names).n_unique()
    return all(data[name].n_unique() == whole for name in names)


def columns_of(data: pl.DataFrame, reading: Reading, file: str) -> PlainColumns:
    """Find the columns that the reading names, and others by their usual names.

    Raises:
        UsageError: a column that the reading names is missing.
    """
    chosen: dict[str, tuple[str, ...]] = {
        "item": reading.item,
        "annotator": reading.annotator,
        "answer": reading.columns.score or reading.answer,
    }
    named = [name for names in chosen.values() for name in names]
    named += [
        name for what in OtherColumns.model_fields if isinstance(name := getattr(reading.columns, what), str)
    ]
    for name in named:
        if name not in data.columns:
            raise UsageError(
                f"there is no such column ({choices(name, data.columns)})", file=file, field=name
            )
    free = [name for name in data.columns if name not in named]
    bare = {name: _bare(name) for name in free}

    def found(names: Sequence[str]) -> list[str]:
        places = {name: place for place, name in enumerate(map(_bare, names))}
        return sorted((name for name in free if bare[name] in places), key=lambda name: places[bare[name]])

    others = {what: getattr(reading.columns, what) or next(iter(found(USUAL[what])), "") for what in _OTHERS}
    unclear: dict[str, tuple[str, ...]] = {}
    for what, further in (("annotator", ()), ("answer", _JUDGED), ("item", (*_SHOWN, "id"))):
        if chosen[what]:
            continue
        there = found(USUAL[what]) or found(further)
        if what == "item" and not found(USUAL[what]):
            # A column `id` with another value in each row numbers the answers.
            there = [
                name for name in there if bare[name] != "id" or _repeats(data, name, chosen["annotator"])
            ]
        if there and _alike(data, there):
            chosen[what] = (there[0],)
        else:
            unclear[what] = tuple(there)
    annotator, answer = (next(iter(chosen[what]), None) for what in ("annotator", "answer"))
    return PlainColumns(tuple(dict.fromkeys(chosen["item"])), annotator, answer, others, unclear)


def _repeats(data: pl.DataFrame, name: str, annotator: tuple[str, ...]) -> bool:
    alone = len(annotator) == 1 and data[annotator[0]].n_unique() == 1
    return alone or data[name].n_unique() < data.height


def read(table: Table, reading: Reading) -> Export:
    """Read one plain table.

    Raises:
        UsageError: a column that the reading names is missing, or a required column is neither named nor plain.
        InputError: a score is neither right nor wrong.
    """
    data = table.data.with_row_index(ROW, offset=table.first_row)
    reading = with_usual_answer(data, reading)
    if reading.numbered:
        data, reading = _laid_open(data, reading, table.file)
    data, reading = _one_answer_a_row(data, reading, table.file)
    found = columns_of(data, reading, table.file)
    if found.unclear:
        raise _unclear(found, data.columns, table.file)
    score = found.answer if reading.columns.score else None
    if score is not None:
        data = _verdicts(data, found, score, reading.columns.attempt, table.file)
    data = _in_seconds(data, found.others["seconds"])
    places = {_PLACES.get(what, what): name for what, name in found.others.items() if what != "control"}
    places |= {"respondent": found.annotator or "", "answer": found.answer or ""}
    skipped = reading.columns.skipped
    export = export_of_columns(
        table,
        data,
        places,
        {name: name.rstrip("\x1f") for name in found.item},
        column(data, found.others["control"]),
        dropped=None if skipped is None else _marked(pl.col(skipped)),
    )
    rows, signals = export.rows, folded(data)
    if not signals.is_null().all():
        rows = rows.with_columns(signals)
    if reading.columns.arm:
        rows = rows.with_columns(data[reading.columns.arm].alias("arm"))
    return replace(export, rows=rows, project=listed(found.item, 50), scored=score is not None)


def with_usual_answer(data: pl.DataFrame, reading: Reading) -> Reading:
    """Name the option of Prodigy's choice tasks as the answer, whose column `answer` says accept or reject.

    The answers of a log of Inspect are scores.
    """
    if set(_INSPECT) == {*data.columns} - {ROW} and not (reading.answer or reading.columns.score):
        return reading.named(score="score", attempt="attempt")
    if reading.answer or not {"accept", "options", "answer"} <= set(data.columns):
        return reading
    return reading.named(answer="accept")


def _marked(mark: pl.Expr) -> pl.Expr:
    no = [*_WRONG, "", "-"]
    return pl.when(~mark.str.strip_chars().str.to_lowercase().is_in(no)).then(pl.lit("may_be_mine"))


def _unclear(found: PlainColumns, names: Sequence[str], file: str) -> UsageError:
    what, columns = next(iter(found.unclear.items()))
    several = (
        f"the columns {listed(columns)} may all hold the {what}"
        if columns
        else f"no column is plainly the {what}"
    )
    there = [name for name in names if not name.startswith("\x1f")]
    return UsageError(
        f"{several} (columns: {listed(there, 30)}): name it with {argument(what)}, or declare it in a file for "
        f"{argument('reading')}, which merilo inspect writes",
        file=file,
    )


def _laid_open(data: pl.DataFrame, reading: Reading, file: str) -> tuple[pl.DataFrame, Reading]:
    """Give every numbered question a row of its own."""
    if reading.numbered is None:
        return data, reading
    patterns = (*reading.numbered.item, reading.numbered.answer)
    form = re.compile(re.escape(reading.numbered.answer).replace(r"\{n\}", r"(\d+)"))
    numbers = [match[1] for name in data.columns if (match := form.fullmatch(name))]
    if not numbers:
        raise UsageError("there is no such column", file=file, field=reading.numbered.answer)
    columns = {name: pattern.replace("{n}", "") for pattern in patterns for name in [pattern]}
    every = {pattern.replace("{n}", n) for pattern in patterns for n in numbers}
    shared = [name for name in data.columns if name not in every]
    parts = []
    for n in numbers:
        own = {pattern.replace("{n}", n): kept for pattern, kept in columns.items()}
        for name in own:
            if name not in data.columns:
                raise UsageError(
                    f"there is no such column ({choices(name, data.columns)})", file=file, field=name
                )
        part = data.select(*shared, *(pl.col(name).alias(kept) for name, kept in own.items()))
        parts.append(part.filter(pl.any_horizontal(pl.col(name).is_not_null() for name in own.values())))
    item = [columns[pattern] for pattern in reading.numbered.item]
    laid = pl.concat(parts).sort(ROW, maintain_order=True)
    answer = columns[reading.numbered.answer]
    return laid, reading.named(item=(*reading.item, *item), answer=answer, numbered=None)


def _one_answer_a_row(data: pl.DataFrame, reading: Reading, file: str) -> tuple[pl.DataFrame, Reading]:
    """Turn the columns of annotators or of items into rows; empty cells are no answers."""
    if reading.rows == "answer":
        return data, reading
    columns_of(data, reading, file)  # refuses columns that are missing
    by_item = reading.rows == "item"
    many = reading.annotator if by_item else reading.columns.score or reading.answer
    kept = [name for name in data.columns if name not in many]
    # An unnamed item of a person is the column, an unnamed person is the row.
    what = _PERSON if by_item else _ITEM + "\x1f"
    long = data.unpivot(many, index=kept, variable_name=what, value_name=_ANSWER)
    long = long.filter(pl.col(_ANSWER).is_not_null()).sort(ROW, maintain_order=True)
    if by_item:
        return long, reading.named(rows="answer", annotator=_PERSON, answer=_ANSWER)
    named: dict[str, object] = {"rows": "answer", "item": what, "answer": _ANSWER}
    if reading.columns.score:
        named |= {"score": _ANSWER}
    found = columns_of(long, reading.named(**named), file)
    if found.annotator is None:
        long = long.with_columns(pl.format("row {}", ROW).alias(_PERSON))
    return long, reading.named(**named, annotator=found.annotator or _PERSON)


def _in_seconds(data: pl.DataFrame, name: str) -> pl.DataFrame:
    """Convert a column whose name ends in `ms` from milliseconds to seconds."""
    if not name or not re.search(r"(?:^|[_\W])(?:ms|msec|millis|milliseconds|мс)$|[a-zа-я]M[sS]$", name):
        return data
    return data.with_columns((number(pl.col(name)) / 1000).cast(pl.String).alias(name))


def _verdicts(
    data: pl.DataFrame, found: PlainColumns, score: str, attempt: str | None, file: str
) -> pl.DataFrame:
    """Replace the column of scores by verdicts, with one row for all attempts of a person at an item.

    A row without a score is no answer. The best of the attempts counts; the seconds of attempts are added.

    Raises:
        InputError: a score is neither right nor wrong, or an attempt has no number.
    """
    text = pl.col(score).str.strip_chars().str.to_lowercase()
    strange = data.filter(text.is_not_null() & (text != "") & ~text.is_in([*_RIGHT, *_WRONG]))
    if strange.height:
        raise InputError(
            f"'{strange[score][0]}' is not a score: answers are right (1, true) or wrong (0, false)",
            file=file,
            row=int(strange[ROW][0]),
            field=score.lstrip("\x1f"),
        )
    right = text.is_in([*_RIGHT])
    data = data.filter(text.is_not_null() & (text != ""))
    if attempt is not None:
        data = _best(data, found, right, attempt, file)
    return data.with_columns(pl.when(right).then(pl.lit(PASSED)).otherwise(pl.lit(FAILED)).alias(score))


def _best(data: pl.DataFrame, found: PlainColumns, right: pl.Expr, attempt: str, file: str) -> pl.DataFrame:
    """Keep one row for all attempts of a person at an item: the first right one, else the last."""
    tried = data.with_columns(number(pl.col(attempt)).alias("\x1ftry"))
    unknown = tried.filter(pl.col("\x1ftry").is_null())
    if unknown.height:
        raise InputError(
            f"'{unknown[attempt][0] or ''}' is not the number of an attempt",
            file=file,
            row=int(unknown[ROW][0]),
            field=attempt,
        )
    pair = [*found.item, str(found.annotator)]
    if seconds := found.others["seconds"]:
        tried = tried.with_columns(number(pl.col(seconds)).sum().over(pair).cast(pl.String).alias(seconds))
    # Right attempts come first, in their order; wrong ones in the reverse order.
    place = pl.when(right).then(pl.col("\x1ftry")).otherwise(-pl.col("\x1ftry"))
    best = tried.sort(~right, place, maintain_order=True).unique(pair, keep="first", maintain_order=True)
    return best.sort(ROW).drop("\x1ftry")


def as_texts(data: pl.DataFrame, file: Path | str) -> pl.DataFrame:
    """Convert every column of a table to text, and empty texts to null; a column without a name is left out.

    Raises:
        InputError: a column has values that cannot be converted to text.
    """
    named = [
        one for one in data.get_columns() if one.name and not re.fullmatch(r"__index_level_\d+__", one.name)
    ]
    return pl.DataFrame([_text_column(one, file) for one in named]).with_columns(pl.all().replace("", None))


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


def _of_records(path: Path, records: Mapping[int, Json]) -> Table:
    """Make a table of JSON objects by their rows; a row without an object has nulls, and others keep their numbers."""
    for row, value in records.items():
        if not isinstance(value, dict):
            raise InputError("is not a JSON object", file=path, row=row)
    objects = {row: _of_prodigy(value) for row, value in records.items() if isinstance(value, dict)}
    names = dict.fromkeys(name for record in objects.values() for name in record if name)
    if not names:
        raise InputError("the file is empty", file=path)
    refuse_too_wide(list(names), path)
    rows = [objects.get(row, {}) for row in range(1, max(objects) + 1)]
    return Table(shown(path), text_columns(rows), first_row=1)


#: The columns of the samples of a log of Inspect.
_INSPECT: Final = ("item", "annotator", "score", "seconds", "attempt")


def _of_inspect(log: Mapping[str, Json], path: Path) -> list[Json]:
    """Return the samples of a log of Inspect as scored answers, if a person solved them as its human agent.

    The person is `annotator` of the log's metadata, or else the file's name.
    """
    task, samples = log.get("eval"), log.get("samples")
    if (
        not isinstance(task, dict)
        or not isinstance(samples, list)
        or "human" not in json.dumps(_solvers(log))
    ):
        return []
    metadata = task.get("metadata")
    who = (metadata.get("annotator") if isinstance(metadata, dict) else None) or path.stem
    found: list[Json] = []
    for sample in samples:
        scores = sample.get("scores") if isinstance(sample, dict) else None
        first = next(iter(scores.values()), None) if isinstance(scores, dict) else None
        value = first.get("value") if isinstance(first, dict) else None
        right = {"C": 1, "I": 0}.get(value, value) if isinstance(value, str) else value
        seconds = sample.get("working_time", sample.get("total_time")) if isinstance(sample, dict) else None
        values = (
            (sample.get("id"), who, right, seconds, sample.get("epoch")) if isinstance(sample, dict) else ()
        )
        found.append(dict(zip(_INSPECT, values, strict=False)))
    return found


def _solvers(log: Mapping[str, Json]) -> list[Json]:
    task, plan = log.get("eval"), log.get("plan")
    return [
        task.get("solver") if isinstance(task, dict) else None,
        plan.get("steps") if isinstance(plan, dict) else None,
    ]


def _of_prodigy(record: dict[str, Json]) -> dict[str, Json]:
    """Return a choice task of Prodigy with its chosen option in `accept`: none where it was rejected or ignored."""
    if not isinstance(record.get("accept"), list) or "options" not in record:
        return record
    chosen = record["accept"]
    several = record.get("config", {})
    many = isinstance(several, dict) and several.get("choice_style") == "multiple"
    if isinstance(chosen, list) and len(chosen) == 1 and not many:
        chosen = chosen[0]
    who = record.get("_annotator_id") or record.get("_session_id")
    return {
        **record,
        "accept": chosen if record.get("answer") == "accept" and chosen != [] else None,
        **({"annotator": who} if who and "annotator" not in record else {}),
    }
