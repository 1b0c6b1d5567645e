"""Signals of help by AI that the annotation site recorded, counted over people."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl

from merilo.people.cost import faster_than_reading
from merilo.people.signals import DECLARED, HIDDEN_WORD, MEASURED
from merilo.records import Number, Record
from merilo.responses import SIGNALS, Responses
from merilo.text import Text

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
