"""Experts who wrote the questions answer those of the others: the out-of-bag protocol of the guide.

Whoever may have written a question marks it and skips it; the rest decide it by majority. It is named after bagging, where a
tree is judged on the rows that it was not grown on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

import polars as pl

from merilo.errors import DataError, UsageError
from merilo.items import ItemId
from merilo.metrics.score import Score
from merilo.responses import Responses
from merilo.statistics.intervals import wilson

#: What becomes of an answer after the time limit: it does not count; it counts; it counts and is wrong.
Late: TypeAlias = Literal["drop", "keep", "wrong"]

#: What decides: more than half of the answers left, or simply the most of them.
Decision: TypeAlias = Literal["majority", "plurality"]

#: How an item was decided.
Outcome: TypeAlias = Literal["majority", "plurality", "no_majority", "too_few", "late"]

ONE_DOMAIN: Final = ""


@dataclass(frozen=True, slots=True)
class OutOfBagDesign:
    """What was decided before the answers were seen.

    Attributes:
        mine: the answers that mean "may be mine".
        seconds: the time limit for a question, from the moment it is shown; `None` sets none.
        late: what becomes of answers after it.
        min_answers: items with fewer answers left are named and not decided.
        decision: what decides.
    """

    mine: tuple[str, ...] = ()
    seconds: float | None = None
    late: Late = "drop"
    min_answers: int = 3
    decision: Decision = "majority"

    def __post_init__(self) -> None:
        if self.seconds is not None and not self.seconds > 0:
            raise UsageError("the time limit takes a number of seconds above 0")
        if self.min_answers < 1:
            raise UsageError("an item needs at least 1 answer")


@dataclass(frozen=True, slots=True)
class ExpertItem:
    """One question after the experts.

    Attributes:
        item: the item's number.
        domain: its domain.
        experts: N, people of the domain.
        marks: k, those of them who may have written it.
        late: answers after the time limit.
        missing: people of the domain who neither answered nor marked it.
        answers: answers that count, by label, the most given first; late ones that count as wrong stand under "".
        label: the experts' answer; `None` where there is none.
        outcome: how it was decided, or why not.
        correct: whether the answer is the gold; `None` without an answer or without gold.
    """

    item: int
    domain: str
    experts: int
    marks: int = 0
    late: int = 0
    missing: int = 0
    answers: Mapping[str, int] = field(default_factory=dict)
    label: str | None = None
    outcome: Outcome = "too_few"
    correct: bool | None = None

    @property
    def left(self) -> int:
        """How many answers decide the item: N - k, less those that are missing or came too late to count."""
        return sum(self.answers.values())


@dataclass(frozen=True, slots=True)
class OutOfBag:
    """A baseline by experts out of bag.

    Attributes:
        design: what was decided beforehand.
        items: every question.
        experts: domain -> the ids of its people.
        score: the metric over decided items with gold; `None` without any.
        by_domain: the same by domain.
        undecided_wrong: the metric with undecided items counted as wrong; NaN without gold.
    """

    design: OutOfBagDesign
    items: tuple[ExpertItem, ...]
    experts: Mapping[str, tuple[str, ...]]
    score: Score | None
    by_domain: Mapping[str, Score]
    undecided_wrong: float

    def named(self, outcome: Outcome) -> list[int]:
        """The numbers of the items with one outcome."""
        return [one.item for one in self.items if one.outcome == outcome]


def out_of_bag(
    responses: Responses,
    design: OutOfBagDesign,
    *,
    gold: Mapping[int, str] | None = None,
    domains: Mapping[int, str] | None = None,
    marks: Collection[tuple[str, int]] = (),
    metric: str = "acc",
) -> OutOfBag:
    """Decide every question by the experts who did not write it.

    Args:
        responses: the experts' responses, at most one a person an item; control items are left out.
        design: what was decided beforehand.
        gold: item's number -> right answer.
        domains: item's number -> domain; one domain when not given.
        marks: marks "may be mine" that stand beside the answers and not among them: (annotator, item).
        metric: the metric's name.

    Returns:
        The baseline. Of several answers on one page each takes an equal part of the page's time.

    Raises:
        DataError: there is no answer, an item has no domain while others have, or there is a time limit and no times.
    """
    table = _with_seconds(responses)
    if not table.height:
        raise DataError("the experts answered nothing")
    if design.seconds is not None and table["seconds"].null_count() == table.height:
        raise DataError("there is a time limit, and no response says how long it took")
    domain_of = _domains(table, domains)
    rows: dict[int, dict[str, tuple[str, float | None]]] = defaultdict(dict)
    people: dict[str, set[str]] = defaultdict(set)
    for item, person, answer, seconds in table.select("item", "respondent", "answer", "seconds").iter_rows():
        rows[item][person] = (answer, seconds)
        people[domain_of[item]].add(person)
    for person, item in marks:
        people[domain_of[item]].add(person)
    mine = {text.casefold() for text in design.mine}
    items = tuple(
        _item(
            ExpertItem(item, domain_of[item], len(people[domain_of[item]])),
            {
                who: (None if text.casefold() in mine else text, time)
                for who, (text, time) in rows[item].items()
            },
            {who for who, marked in marks if marked == item},
            design,
            (gold or {}).get(item),
        )
        for item in sorted(rows)
    )
    scored = [one for one in items if one.correct is not None]
    known = [one for one in items if one.item in (gold or {})]
    return OutOfBag(
        design,
        items,
        {name: tuple(sorted(ids)) for name, ids in sorted(people.items())},
        _score(scored, metric),
        {
            name: score
            for name in sorted(people)
            if (score := _score([one for one in scored if one.domain == name], metric))
        },
        sum(one.correct is True for one in known) / len(known) if known else float("nan"),
    )


def _with_seconds(responses: Responses) -> pl.DataFrame:
    """The responses to test items, with the seconds of each answer."""
    shared = pl.when(pl.col("page").is_null()).then(1).otherwise(pl.len().over("page", "respondent"))
    table = responses.table.with_columns((pl.col("page_seconds") / shared).alias("seconds"))
    return table.filter(~pl.col("is_control")).drop_nulls(["item", "respondent", "answer"])


def _domains(table: pl.DataFrame, domains: Mapping[int, str] | None) -> dict[int, str]:
    numbers = [int(n) for n in table["item"].unique()]
    if domains is None:
        return dict.fromkeys(numbers, ONE_DOMAIN)
    without = sorted(n for n in numbers if n not in domains)
    if without:
        raise DataError(f"{len(without)} items have no domain (the first is item {without[0]})")
    return {n: domains[n] for n in numbers}


def _item(
    empty: ExpertItem,
    given: Mapping[str, tuple[str | None, float | None]],
    marked: Collection[str],
    design: OutOfBagDesign,
    gold: str | None,
) -> ExpertItem:
    """Decide one item; an answer of `None` is a mark."""
    counts: Counter[str] = Counter()
    authors = {who for who, (answer, _) in given.items() if answer is None} | set(marked)
    late = 0
    for who, (answer, seconds) in given.items():
        if answer is None or who in authors:
            continue
        too_late = design.seconds is not None and seconds is not None and seconds > design.seconds
        late += too_late
        if not too_late or design.late == "keep":
            counts[answer] += 1
        elif design.late == "wrong":
            counts[""] += 1
    label, outcome = _decide(counts, design)
    return replace(
        empty,
        marks=len(authors),
        late=late,
        missing=empty.experts - len(given.keys() | authors),
        answers=dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))),
        label=label,
        outcome=outcome,
        correct=None if gold is None or outcome in {"no_majority", "too_few"} else label == gold,
    )


def _decide(counts: Counter[str], design: OutOfBagDesign) -> tuple[str | None, Outcome]:
    left = counts.total()
    if left < design.min_answers:
        return None, "too_few"
    (first, most), *others = counts.most_common(2)
    alone = not others or others[0][1] < most
    if 2 * most > left:
        outcome: Outcome = "majority"
    elif design.decision == "plurality" and alone:
        outcome = "plurality"
    else:
        return None, "no_majority"
    return (first, outcome) if first else (None, "late")


def _score(items: list[ExpertItem], metric: str) -> Score | None:
    if not items:
        return None
    right = sum(one.correct is True for one in items)
    per_item: dict[ItemId, float] = {one.item: float(one.correct is True) for one in items}
    return Score(metric, right / len(items), len(items), wilson(right, len(items)), per_item)
