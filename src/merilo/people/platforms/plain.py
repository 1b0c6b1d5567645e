"""Read a table of no known platform by the columns that a reading declares, or that have the usual names below.

A row is an answer, an item (a column for each annotator) or a person (a column for each item); all become rows with one
answer each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from merilo.errors import InputError, UsageError, argument
from merilo.file_reading import Reading
from merilo.files import FileTable
from merilo.metrics.pass_at_k import FAILED, PASSED
from merilo.people.platforms import HEADER, PARSED, ROW, Export, column, export_of_columns, number, numbered
from merilo.people.platforms.loading import INSPECT
from merilo.people.signals import SIGNAL_COLUMNS, folded
from merilo.wording import choices, listed

#: What a column holds -> its usual names, without case, spaces and punctuation, in order of preference.
USUAL: Final[Mapping[str, str]] = {
    "item": "item itemid task taskid questionid exampleid unitid задание idзадания заданиеid идзадания единица",
    "annotator": (
        "respondent respondentid annotator annotatorid worker workerid user userid participant participantid rater "
        "raterid assessor assessorid coder coderid labeler labelerid judge person personid разметчик аннотатор "
        "исполнитель участник ассессор респондент эксперт человек"
    ),
    "answer": "answer label response output annotation ответ метка",
    "control": "control golden goldcontrol контроль",
    "page": "page assignment assignmentid страница",
    "started": "started start startedat starttime datestart начало",
    "submitted": "submitted end submittedat endtime dateend конец окончание",
    "seconds": "pageseconds seconds durationseconds timeseconds секунды",
    "reward": "pagereward reward вознаграждение",
}

#: Names of columns that may hold it if no column has one of the names above.
_FURTHER: Final[Mapping[str, str]] = {
    "item": "question вопрос example пример text текст sentence предложение prompt id",
    "answer": "choice rating judgment judgement verdict оценка класс выбор",
}

#: The words of a column that plainly is the duration of an answer, besides their unit.
_SECONDS: Final = re.compile(r"s|secs?|seconds?|сек|секунд[аы]?|ms|msec|millis|milliseconds|мс")
_DURATION: Final = {"time", "duration", "elapsed", "spent", "took", "rt", "latency", "время", "длительность"}
_OF_AN_ANSWER: Final = {
    *(
        "answer",
        "response",
        "reaction",
        "judgement",
        "judgment",
        "task",
        "item",
        "question",
        "page",
        "lead",
        "work",
    ),
    *("on", "in", "to", "of", "taken", "ответа", "в"),
}

#: What an optional column holds -> the name of the export's column.
_OTHERS: Final = {
    "control": "control",
    "page": "page",
    **{name: place for place, (_, name) in PARSED.items()},
}

#: The columns of a table that has been turned into one row per answer.
_ITEM, _PERSON, _ANSWER = "item\x1f", "\x1fannotator", "\x1fanswer"

#: What the last line of a spreadsheet begins with if it holds sums.
_TOTALS: Final = {"total", "totals", "grand total", "sum", "итого", "всего", "сумма", "общий итог"}

#: How tables write that an answer is right or wrong, in lower case.
_RIGHT: Final = ("1", "1.0", "true", "yes", "correct", "right", "passed", "да", "верно")
_WRONG: Final = ("0", "0.0", "false", "no", "incorrect", "wrong", "failed", "нет", "неверно")


def columns_of(data: pl.DataFrame, reading: Reading, file: str) -> tuple[Reading, dict[str, tuple[str, ...]]]:
    """Find the columns that the reading names, and others by their usual names, in a table with one answer a row.

    Returns:
        The reading that names all of them, and what no column holds plainly: the columns that may hold it.

    Raises:
        UsageError: a column that the reading names is missing.
    """
    chosen: dict[str, tuple[str, ...]] = {
        "item": reading.item,
        "annotator": reading.annotator,
        "answer": reading.columns.score or reading.answer,
    }
    named = _named(reading)
    for name in named:
        _require(name, data, file)
    bare = {name: re.sub(r"[\W_]+", "", name.casefold()) for name in data.columns if name not in named}

    def usual(names: str) -> list[str]:
        order = names.split()
        return sorted(
            (name for name in bare if bare[name] in order), key=lambda name: order.index(bare[name])
        )

    unclear: dict[str, tuple[str, ...]] = {}
    for what in ("annotator", "answer", "item"):
        if chosen[what]:
            continue
        there = usual(USUAL[what])
        if not there:
            # A column `id` with another value in each row numbers the answers.
            further = usual(_FURTHER.get(what, ""))
            there = [n for n in further if bare[n] != "id" or _repeats(data, n, chosen["annotator"])]
        # Of columns that group the rows equally any will do.
        groups = data.select(there).n_unique() if there else 0
        if there and (len(there) == 1 or all(data[name].n_unique() == groups for name in there)):
            chosen[what] = (there[0],)
        else:
            unclear[what] = tuple(there)
    places = {name: tuple(dict.fromkeys(columns)) for name, columns in chosen.items()}
    if reading.columns.score:
        places["answer"] = reading.answer
    free = (what for what in _OTHERS if not getattr(reading.columns, what))
    columns = reading.columns.model_copy(
        update={what: there[0] for what in free if (there := usual(USUAL[what]))}
    )
    # A row that was split into answers has the duration of all of them.
    durations = [name for name in bare if _is_duration(name)]
    if (
        columns.seconds is None
        and len(durations) == 1
        and not (ROW in data and data[ROW].is_duplicated().any())
    ):
        columns = columns.model_copy(update={"seconds": durations[0]})
    return reading.model_copy(update={**places, "columns": columns}), unclear


def _is_duration(name: str) -> bool:
    """Check whether a name plainly says a duration with its unit, such as `time_sec`, `duration (s)` or `rt_ms`."""
    apart = re.sub(r"([a-zа-я])([A-ZА-Я])", r"\1 \2", name)
    *words, unit = re.findall(r"[^\W_]+", apart) or [""]
    said = {word.casefold() for word in words}
    if not _SECONDS.fullmatch(unit.casefold()) or said - _DURATION - _OF_AN_ANSWER:
        return False
    return bool(said & _DURATION) or (not said and len(unit) > 1)


def not_read(data: pl.DataFrame, reading: Reading, file: str) -> list[str]:
    """Return the columns of a table from which a reading takes nothing."""
    table = data.with_row_index(ROW)
    long, own = _one_answer_a_row(*_laid_open(table, with_usual_answer(table, reading), file), file)
    whole = columns_of(long, own, file)[0]
    taken = {*reading.item, *reading.annotator, *reading.answer, *SIGNAL_COLUMNS, *_named(whole)}
    parts = (*reading.numbered.item, reading.numbered.answer) if reading.numbered else ()
    forms = [re.compile(re.escape(part).replace(r"\{n\}", r"\d+")) for part in parts]
    return [n for n in data.columns if n not in taken and not any(form.fullmatch(n) for form in forms)]


def _named(reading: Reading) -> list[str]:
    """Return the columns that a reading names."""
    others = reading.columns.model_dump(exclude={"score"}).values()
    return [*reading.item, *reading.annotator, *reading.answer, *reading.columns.score, *filter(None, others)]


def _require(name: str, data: pl.DataFrame, file: str) -> None:
    if name not in data.columns:
        raise UsageError(f"there is no such column ({choices(name, data.columns)})", file=file, field=name)


def _repeats(data: pl.DataFrame, name: str, annotator: Sequence[str]) -> bool:
    alone = len(annotator) == 1 and data[annotator[0]].n_unique() == 1
    return alone or data[name].n_unique() < data.height


def read(table: FileTable, reading: Reading) -> Export:
    """Read one plain table.

    Raises:
        UsageError: a column that the reading names is missing, or a required column is neither named nor plain.
        InputError: a score is neither right nor wrong.
    """
    data, reading = numbered(table), with_usual_answer(table.data, reading)
    if reading.numbered:
        data, reading = _laid_open(data, reading, table.file)
    data, reading = _one_answer_a_row(data, reading, table.file)
    reading, unclear = columns_of(data, reading, table.file)
    if unclear:
        raise _unclear(unclear, data.columns, table.file)
    columns, answer = reading.columns, (reading.columns.score or reading.answer)[0]
    if columns.score:
        data = _verdicts(data, reading, table.file)
    _refuse_totals(data, reading.item, table.file)
    places = {place: getattr(columns, what) for what, place in _OTHERS.items() if what != "control"}
    skipped, no = columns.skipped, [*_WRONG, "", "-"]
    marked = column(data, skipped).str.strip_chars().str.to_lowercase().is_in(no)
    not_mine = pl.lit(value=True) if skipped is None else marked
    second_header = pl.lit(_is_header(data, reading.annotator[0], answer)) & (pl.int_range(pl.len()) == 0)
    why = pl.when(second_header).then(pl.lit(HEADER)).when(~not_mine).then(pl.lit("may_be_mine"))
    export = export_of_columns(
        table,
        data,
        {**places, "respondent": reading.annotator[0], "answer": answer, "arm": columns.arm},
        {name: name.rstrip("\x1f") for name in reading.item},
        column(data, columns.control),
        dropped=why,
    )
    signals = folded(data)
    rows = export.rows if signals.is_null().all() else export.rows.with_columns(signals)
    return replace(export, rows=rows, scored=bool(columns.score))


def _is_header(data: pl.DataFrame, annotator: str, answer: str) -> bool:
    """Return whether the first row is a second header, such as one in another language: it has usual names."""
    names = (("annotator", annotator), ("answer", answer))
    return data.height > 0 and all(
        re.sub(r"[\W_]+", "", (data[name][0] or "").casefold()) in USUAL[what].split() for what, name in names
    )


def _refuse_totals(data: pl.DataFrame, item: Sequence[str], file: str) -> None:
    """Refuse a last row of totals, which would be an item of its own."""
    for name in item:
        last = data[name][-1] if data.height else None
        if last and last.strip(" :").casefold() in _TOTALS and (data[name] == last).sum() == 1:
            raise InputError(
                f"'{last}' looks like a line of totals: delete it",
                file=file,
                row=int(data[ROW][-1]),
                field=name,
            )


def with_usual_answer(data: pl.DataFrame, reading: Reading) -> Reading:
    """Name the option of Prodigy's choice tasks as the answer, whose column `answer` says accept or reject.

    The answers of a log of Inspect are scores.
    """
    if reading.answer or reading.columns.score:
        return reading
    if set(INSPECT) == {*data.columns}:
        return reading.named(score="score", attempt="attempt")
    return reading.named(answer="accept") if {"accept", "options", "answer"} <= {*data.columns} else reading


def _unclear(unclear: Mapping[str, Sequence[str]], names: Sequence[str], file: str) -> UsageError:
    what, there = next(iter(unclear.items()))
    several = f"the columns {listed(there)} may all hold the {what}"
    return UsageError(
        f"{several if there else f'no column is plainly the {what}'} (columns: "
        f"{listed([name for name in names if not name.startswith(chr(31))], 30)}): name it with {argument(what)}, or "
        f"declare it in a file for {argument('reading')}, which merilo inspect writes",
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
    shared = [
        n for n in data.columns if n not in {p.replace("{n}", each) for p in patterns for each in numbers}
    ]
    parts = []
    for each in numbers:
        own = {pattern.replace("{n}", each): pattern.replace("{n}", "") for pattern in patterns}
        for name in own:
            _require(name, data, file)
        part = data.select(*shared, *(pl.col(name).alias(bare) for name, bare in own.items()))
        parts.append(part.filter(pl.any_horizontal(pl.col(name).is_not_null() for name in own.values())))
    *item, answer = (pattern.replace("{n}", "") for pattern in patterns)
    rows = pl.concat(parts).sort(ROW, maintain_order=True)
    return rows, reading.named(item=(*reading.item, *item), answer=answer, numbered=None)


def _one_answer_a_row(data: pl.DataFrame, reading: Reading, file: str) -> tuple[pl.DataFrame, Reading]:
    """Turn the columns of annotators or of items into rows; empty cells are no answers."""
    if reading.rows == "answer":
        return data, reading
    columns_of(data, reading, file)  # refuses columns that are missing
    by_item = reading.rows == "item"
    many = reading.annotator if by_item else reading.columns.score or reading.answer
    others = [name for name in data.columns if name not in many]
    # An unnamed item of a person is the column, an unnamed person is the row.
    long = data.unpivot(many, index=others, variable_name=_PERSON if by_item else _ITEM, value_name=_ANSWER)
    long = long.filter(pl.col(_ANSWER).is_not_null()).sort(ROW, maintain_order=True)
    if by_item:
        return long, reading.named(rows="answer", annotator=_PERSON, answer=_ANSWER)
    score = {"score": _ANSWER} if reading.columns.score else {}
    by_person = reading.named(rows="answer", item=_ITEM, answer=_ANSWER, **score)
    person = columns_of(long, by_person, file)[0].annotator
    if not person:
        long = long.with_columns(pl.format("row {}", ROW).alias(_PERSON))
    return long, by_person.named(annotator=person or _PERSON)


def _verdicts(data: pl.DataFrame, reading: Reading, file: str) -> pl.DataFrame:
    """Replace the column of scores by verdicts, with one row for all attempts of a person at an item.

    A row without a score is no answer. The first right attempt counts, else the last; seconds of attempts add up.

    Raises:
        InputError: a score is neither right nor wrong, or an attempt has no number.
    """
    columns = reading.columns
    score, attempt, seconds = columns.score[0], columns.attempt, columns.seconds
    text = pl.col(score).str.strip_chars().str.to_lowercase()
    data = data.filter(text.is_not_null() & (text != ""))
    wrong = {score: text.is_in([*_RIGHT, *_WRONG])}
    says = {score: "a score: answers are right (1, true) or wrong (0, false)"}
    if attempt is not None:
        wrong[attempt], says[attempt] = number(pl.col(attempt)).is_not_null(), "the number of an attempt"
    for name, holds in wrong.items():
        strange = data.filter(~holds).select(name, ROW).rows()
        if strange:
            what = f"'{strange[0][0] or ''}' is not {says[name]}"
            raise InputError(what, file=file, row=int(strange[0][1]), field=name.lstrip("\x1f"))
    right = text.is_in([*_RIGHT])
    if attempt is not None:
        pair, tried = [*reading.item, *reading.annotator], pl.col("\x1ftry")
        data = data.with_columns(number(pl.col(attempt)).alias("\x1ftry"))
        if seconds:
            data = data.with_columns(number(pl.col(seconds)).sum().over(pair).cast(pl.String).alias(seconds))
        # Right attempts come first, in their order; wrong ones in the reverse order.
        data = data.sort(~right, pl.when(right).then(tried).otherwise(-tried), maintain_order=True)
        data = data.unique(pair, keep="first", maintain_order=True).sort(ROW).drop("\x1ftry")
    return data.with_columns(pl.when(right).then(pl.lit(PASSED)).otherwise(pl.lit(FAILED)).alias(score))
