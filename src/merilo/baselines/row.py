"""The type of a comparison: one model beside people, or beside another model, on one dataset."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from merilo.errors import UsageError, argument
from merilo.estimate import Estimate, Sentence
from merilo.records import Number, Record
from merilo.text import joined, plain_number

Beside: TypeAlias = Literal["consensus", "person", "model"]
Verdict: TypeAlias = Literal["above", "equal", "not_worse", "below", "untold"]


class Margin(NamedTuple):
    """The largest difference that counts as none, in (0, 1), and the day of the frozen plan that has it."""

    value: float
    planned: str | None = None


def margin_of(value: float) -> Margin:
    """Return a margin that the user gives; raises `UsageError` if it is not between 0 and 1."""
    if not 0 < value < 1:
        raise UsageError(f"{argument('margin')} takes a difference between 0 and 1, not {value:g}")
    return Margin(value)


class Row(Record):
    """One model beside people, or beside another model, on one dataset.

    Attributes:
        dataset: the dataset's name.
        model: the model's name.
        beside: with whom it is compared.
        other: the name of the model that it is beside; empty beside people.
        score: the model's metric on the compared items.
        people: the same of the people or of the other model; `None` if it is not known.
        difference: `score` minus `people`, paired by item; without a value, `reason` says why it is not tested.
        p: the p-value of no difference after Holm's correction.
        verdict: what may be said: above, below, equal within the margin, not worse by the margin, or untold.
        sentence: the verdict in words.
        margin: the largest difference that counts as none.
        seconds: the median time of a person's answer.
        usd: the price of the model's answers to an item.
        counted: what the model and the people have in the total score, the mean of the dataset's main metrics.
    """

    dataset: str
    model: str
    beside: Beside
    other: str = ""
    score: Estimate
    people: Estimate | None
    difference: Estimate
    p: Number = None
    verdict: Verdict | None = None
    sentence: Sentence = joined(())
    margin: float | None = None
    seconds: Number = None
    usd: Number = None
    counted: tuple[Number, Number] = (None, None)

    def adds_up(self, digits: int = 3) -> bool:
        """Whether the difference, which is of values that are not rounded, is that of the rounded values too."""
        values = (self.score.value, self.people and self.people.value, self.difference.value)
        mine, theirs, difference = (float(plain_number(value or 0.0, f".{digits}f")) for value in values)
        return self.difference.value is None or round(mine - theirs, digits) == difference


def headlines(rows: Iterable[Row]) -> list[Row]:
    """Return the row of each model and dataset whose sentence opens every form: the first one."""
    first: dict[tuple[str, str], Row] = {}
    for row in rows:
        first.setdefault((row.dataset, row.model), row)
    return [*first.values()]
