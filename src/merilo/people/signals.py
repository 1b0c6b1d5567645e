"""Signals of help by AI that the annotation site records with an answer: counts and times, and no content.

In tables every signal is a column of its own with the prefix `signal_`; in the response table they are one JSON text.
`count_signals` counts them over people.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Final

import polars as pl

from merilo.people.cost import faster_than_reading
from merilo.records import Number, Record
from merilo.responses import SIGNALS, Responses
from merilo.strict_json import Json
from merilo.text import Text

#: What the page of an item counts and measures, by name.
MEASURED: Final[Mapping[str, str]] = {
    "pastes": "pastes and drops into the answer",
    "copies": "copies of text of the page",
    "leaves": "how often the window was left",
    "returns": "how often the answer was changed as the first thing after a return",
    "away_seconds": "seconds outside the window",
    "first_seconds": "seconds from the page to the first key or choice",
    "keys": "typed characters and deletions",
    "key_median_ms": "median milliseconds between two keys",
    "key_spread_ms": "their interquartile range",
}

#: Whether the answer has the word that the hidden text asks models for (0 or 1), and what the person declared at the
#: end: `no`, `some` or `most` answers with AI.
HIDDEN_WORD, DECLARED = "hidden_word", "declared"

#: What people may declare.
DECLARATIONS: Final = ("no", "some", "most")

PREFIX: Final = "signal_"

#: The columns of a table of answers.
SIGNAL_COLUMNS: Final = tuple(f"{PREFIX}{name}" for name in (*MEASURED, HIDDEN_WORD, DECLARED))

#: A larger count or time cannot be that of one answer.
_MOST: Final = 1e7

#: Seconds by which the clocks of a browser and of the server may differ.
_SLACK: Final = 5.0
_LONGEST: Final = 1000


def measured(text: str, seconds: float) -> str | None:
    """Return what a page has sent as the JSON that is stored; `None` if it sent nothing that can be used.

    Args:
        text: the JSON of a page.
        seconds: seconds since the page was sent; a longer time on it is made up, and left out.

    Example:
        >>> measured('{"pastes": 1, "away_seconds": 2.50001, "first_seconds": 90, "typed": "x"}', 60.0)
        '{"pastes":1,"away_seconds":2.5}'
    """
    try:
        sent = json.loads(text) if len(text) <= _LONGEST else None
    except (ValueError, RecursionError):
        return None
    usable = {
        name: int(value) if value == int(value) else round(value, 3)
        for name in MEASURED
        if isinstance(sent, dict)
        and isinstance(value := sent.get(name), int | float)
        and not isinstance(value, bool)
        and 0 <= value <= (seconds + _SLACK if name.endswith("_seconds") else _MOST)
    }
    return json.dumps(usable, separators=(",", ":")) if usable else None


def unfolded(text: str | None, more: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """Return the signals of an answer, and more of them, as columns of a table; those that are not known are null."""
    signals = {**(json.loads(text) if text else {}), **(more or {})}
    return {name: signals.get(name.removeprefix(PREFIX)) for name in SIGNAL_COLUMNS}


def folded(table: pl.DataFrame) -> pl.Series:
    """Return the signals of every row as JSON, from text columns; null in a row without any."""
    there = [name for name in SIGNAL_COLUMNS if name in table.columns]
    if not there:
        return pl.Series(SIGNALS, [None], dtype=pl.String).new_from_index(0, table.height)
    signals = [_read(row) for row in table.select(there).iter_rows(named=True)]
    return pl.Series(
        SIGNALS, [json.dumps(row, separators=(",", ":")) if row else None for row in signals], pl.String
    )


def _read(row: Mapping[str, str | None]) -> dict[str, Json]:
    """Return the signals of a row; a text that is no number of at least 0 and no declaration is left out."""
    signals: dict[str, Json] = {}
    for name, text in row.items():
        bare = name.removeprefix(PREFIX)
        if bare == DECLARED:
            if text in DECLARATIONS:
                signals[bare] = text
            continue
        try:
            value = float(text) if text is not None else -1.0
        except ValueError:
            continue
        if isfinite(value) and 0 <= value <= _MOST:
            signals[bare] = int(value) if value.is_integer() else value
    return signals


_SCHEMA: Final = {**dict.fromkeys((*MEASURED, HIDDEN_WORD), pl.Float64()), DECLARED: pl.String()}


class PersonSignals(Record):
    """The signals of help by AI of one annotator: numbers of answers, and medians over answers."""

    annotator: str
    answers: int = 0
    measured: int = 0
    fast: int = 0
    pastes: int = 0
    copies: int = 0
    leaves: int = 0
    returns: int = 0
    away_seconds: float = 0.0
    first_seconds: Number = None
    key_median_ms: Number = None
    key_spread_ms: Number = None
    traps: int = 0
    hidden_word: int = 0
    declared: str | None = None


def count_signals(responses: Responses) -> tuple[PersonSignals, ...]:
    """Count the signals of each annotator; nobody if nothing was recorded.

    Args:
        responses: all responses of a study, those to control items included.
    """
    table = responses.table
    if SIGNALS not in table.columns or table[SIGNALS].null_count() == table.height:
        return ()
    texts = [json.loads(text) if text else {} for text in table[SIGNALS]]
    signals = pl.DataFrame([{name: entry.get(name) for name in _SCHEMA} for entry in texts], schema=_SCHEMA)
    rows = (
        pl.concat([faster_than_reading(responses), signals], how="horizontal")
        .group_by("respondent")
        .agg(
            answers=pl.len(),
            measured=pl.col("pastes").count(),
            fast=pl.col("fast").sum(),
            **{name: (pl.col(name) > 0).sum() for name in ("pastes", "copies", "leaves", "returns")},
            away_seconds=pl.col("away_seconds").sum().round(3),
            **{name: pl.col(name).median() for name in ("first_seconds", "key_median_ms", "key_spread_ms")},
            traps=pl.col(HIDDEN_WORD).count(),
            hidden_word=pl.col(HIDDEN_WORD).sum().cast(pl.Int64),
            declared=pl.col(DECLARED).drop_nulls().first(),
        )
        .sort("respondent")
    )
    return tuple(PersonSignals(annotator=row.pop("respondent"), **row) for row in rows.iter_rows(named=True))


def signal_sentences(people: Sequence[PersonSignals]) -> Iterator[Text]:
    """Yield what was recorded, one sentence for each kind of signal; annotators count who gave such an answer."""
    watched = [person for person in people if person.measured]
    trapped = [person for person in people if person.traps]
    if watched:
        pasted, copied, returned = (
            sum(getattr(person, name) > 0 for person in watched) for name in ("pastes", "copies", "returns")
        )
        yield Text(
            "{pasted} of {people:# annotator|# annotators} pasted into an answer, {copied} copied text of a page, "
            "{returned} left the window and then answered",
            pasted=pasted, people=len(watched), copied=copied, returned=returned,
        )  # fmt: skip
    if fast := sum(person.fast > 0 for person in people):
        yield Text(
            "{n} of {people:# annotator|# annotators} gave answers faster than anyone can read",
            n=fast,
            people=len(people),
        )
    if watched and (without := sum(person.answers - person.measured for person in people)):
        yield Text(
            "{n:# answer has|# answers have} no signals, because JavaScript was off or failed", n=without
        )
    if trapped:
        yield Text(
            "{n} of {people:# annotator|# annotators} gave the word that only hidden text asks for",
            n=sum(person.hidden_word > 0 for person in trapped),
            people=len(trapped),
        )
    said = Counter(person.declared for person in people if person.declared)
    if said:
        yield Text(
            "{asked:# annotator|# annotators} declared whether they used AI: {some} for some answers, "
            "{most} for most, {no} for none",
            asked=said.total(), some=said["some"], most=said["most"], no=said["no"],
        )  # fmt: skip
