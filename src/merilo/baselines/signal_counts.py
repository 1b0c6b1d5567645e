"""Signals of help by AI that the annotation site recorded, counted over people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import polars as pl

from merilo.people.cost import faster_than_reading
from merilo.people.signals import DECLARATIONS, DECLARED, HIDDEN_WORD, MEASURED
from merilo.records import Number, Record
from merilo.responses import SIGNALS, Responses
from merilo.text import Text

_SCHEMA: Final = {
    **dict.fromkeys((*MEASURED, HIDDEN_WORD), pl.Float64()),
    DECLARED: pl.String(),
}


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


class SignalsRecord(Record):
    """Signals of help by AI; see `count_signals`.

    `answers` and `measured` count answers, all others annotators: `watched` those with measured answers, `trapped`
    those whose items had hidden text, the others those with such an answer.
    """

    annotators: int = 0
    answers: int = 0
    measured: int = 0
    watched: int = 0
    pastes: int = 0
    copies: int = 0
    returns: int = 0
    fast: int = 0
    trapped: int = 0
    hidden_word: int = 0
    declared: Mapping[str, int] = {}
    people: tuple[PersonSignals, ...] = ()


def count_signals(responses: Responses) -> SignalsRecord | None:
    """Count the signals of each annotator; `None` if nothing was recorded.

    Args:
        responses: all responses of a study, those to control items included.
    """
    table = responses.table
    if SIGNALS not in table.columns or table[SIGNALS].null_count() == table.height:
        return None
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
    return _record(
        [PersonSignals(annotator=row.pop("respondent"), **row) for row in rows.iter_rows(named=True)]
    )


def _record(people: list[PersonSignals]) -> SignalsRecord:
    """Return the counts of people with at least one such answer."""
    seen = [person for person in people if person.measured]
    trapped = [person for person in people if person.traps]
    declared = {said: sum(person.declared == said for person in people) for said in DECLARATIONS}
    return SignalsRecord(
        annotators=len(people),
        answers=sum(person.answers for person in people),
        measured=sum(person.measured for person in people),
        watched=len(seen),
        **{
            name: sum(getattr(person, name) > 0 for person in seen)
            for name in ("pastes", "copies", "returns")
        },
        fast=sum(person.fast > 0 for person in people),
        trapped=len(trapped),
        hidden_word=sum(person.hidden_word > 0 for person in trapped),
        declared=declared if any(declared.values()) else {},
        people=tuple(people),
    )


def signal_sentences(signals: SignalsRecord) -> tuple[Text, ...]:
    """Return what was recorded, one sentence for each kind of signal."""
    said: list[Text] = []
    if signals.watched:
        said.append(
            Text(
                "{pasted} of {people:# annotator|# annotators} pasted into an answer, {copied} copied text of a page, "
                "{returned} left the window and then answered",
                pasted=signals.pastes,
                people=signals.watched,
                copied=signals.copies,
                returned=signals.returns,
            )
        )
    if signals.fast:
        said.append(
            Text(
                "{n} of {people:# annotator|# annotators} gave answers faster than anyone can read",
                n=signals.fast,
                people=signals.annotators,
            )
        )
    if signals.watched and (without := signals.answers - signals.measured):
        said.append(
            Text(
                "{n:# answer has|# answers have} no signals, because JavaScript was off or failed", n=without
            )
        )
    if signals.trapped:
        said.append(
            Text(
                "{n} of {people:# annotator|# annotators} gave the word that only hidden text asks for",
                n=signals.hidden_word,
                people=signals.trapped,
            )
        )
    if signals.declared:
        said.append(
            Text(
                "{asked:# annotator|# annotators} declared whether they used AI: {some} for some answers, "
                "{most} for most, {no} for none",
                asked=sum(signals.declared.values()),
                some=signals.declared.get("some", 0),
                most=signals.declared.get("most", 0),
                no=signals.declared.get("no", 0),
            )
        )
    return tuple(said)
