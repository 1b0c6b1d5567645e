"""The guide's out-of-bag protocol: experts who wrote the questions answer those of the other experts.

An expert who may have written a question marks and skips it; the other experts decide it by majority. The name comes
from bagging, where a tree is evaluated on the rows that were not used to grow it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

import polars as pl

from merilo.errors import DataError, UsageError
from merilo.people.experts.marks import may_be_mine, spelling
from merilo.responses import Responses

#: How an answer after the time limit is treated: ignored, counted, or counted as wrong.
Late: TypeAlias = Literal["drop", "keep", "wrong"]

#: The decision rule: more than half of the remaining answers, or the most frequent one.
Decision: TypeAlias = Literal["majority", "plurality"]

#: How an item was decided.
Outcome: TypeAlias = Literal["majority", "plurality", "no_majority", "too_few", "late"]

ONE_DOMAIN: Final = ""


@dataclass(frozen=True, slots=True)
class OutOfBagDesign:
    """The settings of the protocol, fixed before the answers are seen.

    Attributes:
        mine: answers that mean "may be mine", besides the guide's own wording (`marks.may_be_mine`).
        seconds: the time limit for a question, from the moment it is shown; `None` sets none.
        late: how answers after the limit are treated.
        min_answers: items with fewer remaining answers are listed and not decided.
        decision: the decision rule.
    """

    mine: tuple[str, ...] = ()
    seconds: float | None = None
    late: Late = "drop"
    min_answers: int = 3
    decision: Decision = "majority"

    def __post_init__(self) -> None:
        if self.seconds is not None and not self.seconds > 0:
            raise UsageError("the time limit must be a number of seconds above 0")
        if self.min_answers < 1:
            raise UsageError("the smallest number of answers per item must be at least 1")

    def marks(self, answer: str) -> bool:
        """Check whether an answer means "may be mine"; case, ё, quotation marks and punctuation do not matter."""
        return may_be_mine(answer) or spelling(answer) in map(spelling, self.mine)


@dataclass(frozen=True, slots=True)
class ExpertItem:
    """The result for one question.

    Attributes:
        item: the item's number.
        domain: its domain.
        experts: N, the experts of the domain.
        marks: k, the number of these experts who may have written the item.
        late: answers after the time limit.
        missing: experts of the domain who neither answered nor marked the item.
        answers: label -> answers that count, most frequent first; late answers that count as wrong have the label "".
        label: the experts' answer; `None` if there is none.
        outcome: how it was decided, or why not.
        given: expert -> label of their answer that counts, as in `answers`.
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
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def left(self) -> int:
        """The number of answers that decide the item: N - k, minus missing and ignored late answers."""
        return sum(self.answers.values())


@dataclass(frozen=True, slots=True)
class OutOfBag:
    """The result of the out-of-bag protocol.

    Attributes:
        design: the settings.
        items: every question.
        experts: domain -> the ids of its experts.
        mine: the answers that were read as "may be mine" -> how often each was given.
    """

    design: OutOfBagDesign
    items: tuple[ExpertItem, ...]
    experts: Mapping[str, tuple[str, ...]]
    mine: Mapping[str, int]

    def named(self, outcome: Outcome) -> list[int]:
        """Return the numbers of the items with this outcome."""
        return [one.item for one in self.items if one.outcome == outcome]


def out_of_bag(
    responses: Responses,
    design: OutOfBagDesign,
    *,
    domains: Mapping[int, str] | None = None,
    marks: Collection[tuple[str, int]] = (),
) -> OutOfBag:
    """Decide every question by the experts who did not write it.

    Args:
        responses: the experts' responses, at most one per expert and item; control items are left out.
        design: the settings.
        domains: mapping from item number to domain; by default, all items have one domain.
        marks: marks "may be mine" that are recorded separately from the answers: (annotator, item).

    Returns:
        The result. The time of a page is divided equally among its answers.

    Raises:
        DataError: there are no answers, only some items have a domain, or there is a time limit but no times.
    """
    table = _with_seconds(responses)
    if not table.height:
        raise DataError("there are no answers from experts")
    if design.seconds is not None and table["seconds"].null_count() == table.height:
        raise DataError("a time limit is set, but no response has a time")
    domain_of = _domains(table, domains)
    rows: dict[int, dict[str, tuple[str, float | None]]] = defaultdict(dict)
    people: dict[str, set[str]] = defaultdict(set)
    for item, person, answer, seconds in table.select("item", "respondent", "answer", "seconds").iter_rows():
        rows[item][person] = (answer, seconds)
        people[domain_of[item]].add(person)
    for person, item in marks:
        people[domain_of[item]].add(person)
    given = {str(text): int(n) for text, n in table["answer"].value_counts().sort("answer").iter_rows()}
    mine = {text: n for text, n in given.items() if design.marks(text)}
    items = tuple(
        _item(
            ExpertItem(item, domain_of[item], len(people[domain_of[item]])),
            {who: (None if text in mine else text, time) for who, (text, time) in rows[item].items()},
            {who for who, marked in marks if marked == item},
            design,
        )
        for item in sorted(rows)
    )
    return OutOfBag(design, items, {name: tuple(sorted(ids)) for name, ids in sorted(people.items())}, mine)


def _with_seconds(responses: Responses) -> pl.DataFrame:
    """Select the responses to test items, and add the seconds of each answer."""
    shared = pl.when(pl.col("page").is_null()).then(1).otherwise(pl.len().over("page", "respondent"))
    table = responses.table.with_columns((pl.col("page_seconds") / shared).alias("seconds"))
    return table.filter(~pl.col("is_control")).drop_nulls(["item", "respondent", "answer"])


def _domains(table: pl.DataFrame, domains: Mapping[int, str] | None) -> dict[int, str]:
    numbers = [int(n) for n in table["item"].unique()]
    if domains is None:
        return dict.fromkeys(numbers, ONE_DOMAIN)
    without = sorted(n for n in numbers if n not in domains)
    if without:
        items = "1 item has" if len(without) == 1 else f"{len(without)} items have"
        raise DataError(f"{items} no domain (the first is item {without[0]})")
    return {n: domains[n] for n in numbers}


def _item(
    empty: ExpertItem,
    given: Mapping[str, tuple[str | None, float | None]],
    marked: Collection[str],
    design: OutOfBagDesign,
) -> ExpertItem:
    """Decide one item; an answer of `None` is a mark."""
    counted: dict[str, str] = {}
    authors = {who for who, (answer, _) in given.items() if answer is None} | set(marked)
    late = 0
    for who, (answer, seconds) in given.items():
        if answer is None or who in authors:
            continue
        too_late = design.seconds is not None and seconds is not None and seconds > design.seconds
        late += too_late
        if not too_late or design.late == "keep":
            counted[who] = answer
        elif design.late == "wrong":
            counted[who] = ""
    counts = Counter(counted.values())
    label, outcome = _decide(counts, design)
    return replace(
        empty,
        marks=len(authors),
        late=late,
        missing=empty.experts - len(given.keys() | authors),
        answers=dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))),
        label=label,
        outcome=outcome,
        given=counted,
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
