"""The guide's out-of-bag protocol: experts who wrote the questions answer those of the other experts.

An expert who may have written a question marks and skips it; the other experts decide it by majority. The
name comes from bagging, where a tree is evaluated on the rows that were not used to grow it.

No question is left out. One that the rule does not decide gets the label with the most votes; if several have
as many, late answers are counted too, and then the experts' skill decides. A question that is still open has
no label and counts as wrong.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isclose
from typing import Final, Literal, TypeAlias

import polars as pl

from merilo.errors import DataError, UsageError
from merilo.people.spelling import NOT_SHOWN, may_be_mine, spelling
from merilo.responses import Responses, answer_seconds
from merilo.settings import Decision, ExpertSettings, Late

_DEFAULTS: Final = ExpertSettings()

#: How the rule decided an item, or why it did not.
Outcome: TypeAlias = Literal["majority", "plurality", "no_majority", "too_few", "late"]

#: What decided an item that the rule did not decide: the most votes, late answers as well, or the experts' skill.
Fallback: TypeAlias = Literal["votes", "late", "skill"]

_DECIDED: Final = frozenset({"majority", "plurality", "late"})

ONE_DOMAIN: Final = ""


@dataclass(frozen=True, slots=True)
class OutOfBagDesign:
    """The settings of the protocol, fixed before the answers are seen.

    Attributes:
        mine: answers that mean "may be mine", besides the guide's own wording (`may_be_mine`).
        seconds: the time limit for a question, from the moment it is shown; `None` sets none.
        late: how answers after the limit are treated.
        min_answers: the rule decides no item with fewer remaining answers.
        decision: the decision rule.
    """

    mine: tuple[str, ...] = ()
    seconds: float | None = None
    late: Late = _DEFAULTS.late
    min_answers: int = _DEFAULTS.min_answers
    decision: Decision = _DEFAULTS.decision

    def __post_init__(self) -> None:
        if self.seconds is not None and not self.seconds > 0:
            raise UsageError("the time limit must be a number of seconds above 0")
        if self.min_answers < 1:
            raise UsageError("the smallest number of answers per item must be at least 1")

    def marks(self, answer: str) -> bool:
        """Check whether an answer means "may be mine"; its case, quotation marks and punctuation do not matter."""
        return may_be_mine(answer) or spelling(answer) in map(spelling, self.mine)


@dataclass(frozen=True, slots=True)
class ExpertItem:
    """The result for one question.

    Attributes:
        item: the item's number.
        domain: its domain.
        experts: N, the experts of the domain.
        marks: k, the number of these experts who may have written the item.
        not_shown: how many of the marks are of authors to whom the item was not shown.
        late: answers after the time limit.
        missing: experts of the domain who neither answered nor marked the item.
        answers: label -> answers that count, most frequent first; late answers that count as wrong have the label "".
        label: the experts' answer; `None` if there is none, which counts as wrong.
        outcome: how the rule decided it, or why not.
        fallback: what decided an item that the rule did not decide; `None` otherwise.
        given: expert -> label of their answer that counts, as in `answers`.
        late_given: expert -> label of their late answer that is ignored.
        marked: the experts who may have written the item.
    """

    item: int
    domain: str
    experts: int
    marks: int = 0
    not_shown: int = 0
    late: int = 0
    missing: int = 0
    answers: Mapping[str, int] = field(default_factory=dict)
    label: str | None = None
    outcome: Outcome = "too_few"
    fallback: Fallback | None = None
    given: Mapping[str, str] = field(default_factory=dict)
    late_given: Mapping[str, str] = field(default_factory=dict)
    marked: tuple[str, ...] = ()

    @property
    def by_rule(self) -> bool:
        """Whether the rule decided the item; answers that are late and count as wrong decide it too."""
        return self.outcome in _DECIDED

    @property
    def deciding(self) -> Mapping[str, str]:
        """Expert -> label, as the item was decided.

        An item without any answer counts as answered wrongly by those who marked it.
        """
        late = self.late_given if self.fallback == "late" or not self.given else {}
        return {**self.given, **late} or dict.fromkeys(self.marked, "")

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
        skill: expert -> share of right answers to control items, and of answers equal to the label that the
            rule decided; without experts who gave no such answer.
        unanswered: expert -> the items of their domains that they neither answered nor marked; without
            experts who did all.
    """

    design: OutOfBagDesign
    items: tuple[ExpertItem, ...]
    experts: Mapping[str, tuple[str, ...]]
    mine: Mapping[str, int]
    skill: Mapping[str, float] = field(default_factory=dict)
    unanswered: Mapping[str, int] = field(default_factory=dict)

    def named(self, outcome: Outcome) -> list[int]:
        """Return the numbers of the items with this outcome."""
        return [one.item for one in self.items if one.outcome == outcome]

    @property
    def people(self) -> int:
        """The number of experts."""
        return len({who for ids in self.experts.values() for who in ids})


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
    items = [
        _item(
            ExpertItem(item, domain_of[item], len(people[domain_of[item]])),
            {who: (None if text in mine else text, time) for who, (text, time) in rows[item].items()},
            {who for who, marked in marks if marked == item},
            design,
        )
        for item in sorted(rows)
    ]
    hidden = Counter(table.filter(pl.col("answer") == NOT_SHOWN)["item"].to_list())
    skill = _skill(responses, items)
    unanswered = Counter(
        who for one in items for who in people[one.domain].difference(rows[one.item], one.marked)
    )
    return OutOfBag(
        design,
        tuple(_decided(replace(one, not_shown=hidden[one.item]), skill) for one in items),
        {name: tuple(sorted(ids)) for name, ids in sorted(people.items())},
        mine,
        skill,
        dict(sorted(unanswered.items())),
    )


def decided_without(
    result: OutOfBag, responses: Responses, left_out: Collection[str]
) -> dict[int, str | None]:
    """Decide every question again without some of the experts.

    Args:
        result: the result with all experts.
        responses: the experts' responses that it was computed from.
        left_out: the experts whose answers do not count.

    Returns:
        Mapping from item number to label; `None` if an item is not decided.
    """
    items = []
    for one in result.items:
        given, late = (
            {who: label for who, label in answers.items() if who not in left_out}
            for answers in (one.given, one.late_given)
        )
        label, outcome = _decide(Counter(given.values()), result.design)
        items.append(replace(one, given=given, late_given=late, label=label, outcome=outcome, fallback=None))
    skill = _skill(responses, items)
    return {one.item: _decided(one, skill).label for one in items}


def _skill(responses: Responses, items: Sequence[ExpertItem]) -> dict[str, float]:
    """Return each expert's share of right answers to control items.

    Answers equal to the label that the rule decided count in the same way.
    """
    right: dict[str, list[bool]] = defaultdict(list)
    controls = responses.table.filter("is_control").drop_nulls(["respondent", "answer", "control"])
    for who, answer, known in controls.select("respondent", "answer", "control").iter_rows():
        right[who].append(answer.strip() == known.strip())
    for one in items:
        for who, label in one.given.items() if one.label is not None else ():
            right[who].append(label == one.label)
    return {who: sum(found) / len(found) for who, found in sorted(right.items())}


def _decided(item: ExpertItem, skill: Mapping[str, float]) -> ExpertItem:
    """Decide an item that the rule did not decide: by the most votes, by late answers as well, or by skill."""
    if item.by_rule:
        return item
    everyone = {**item.given, **item.late_given}
    attempts: tuple[tuple[Fallback, Mapping[str, str]], ...] = (("votes", item.given), ("late", everyone))
    for fallback, votes in attempts:
        leading = _leading(Counter(votes.values()))
        if len(leading) == 1:
            return replace(item, label=leading[0] or None, fallback=fallback)
    weight = {
        label: sum(skill.get(who, 0.0) for who, given in everyone.items() if given == label)
        for label in _leading(Counter(everyone.values()))
    }
    best = [label for label, sum_of_skills in weight.items() if isclose(sum_of_skills, max(weight.values()))]
    return replace(item, label=best[0] or None, fallback="skill") if len(best) == 1 else item


def _leading(counts: Counter[str]) -> list[str]:
    """Return the labels with the most votes."""
    return [label for label, n in counts.items() if n == max(counts.values())]


def _with_seconds(responses: Responses) -> pl.DataFrame:
    """Select the responses to test items, and add the seconds of each answer."""
    table = responses.table.with_columns(answer_seconds().alias("seconds"))
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
    """Decide one item by the rule; an answer of `None` is a mark."""
    counted: dict[str, str] = {}
    authors = {who for who, (answer, _) in given.items() if answer is None} | set(marked)
    late = 0
    dropped: dict[str, str] = {}
    for who, (answer, seconds) in given.items():
        if answer is None or who in authors:
            continue
        too_late = design.seconds is not None and seconds is not None and seconds > design.seconds
        late += too_late
        if not too_late or design.late == "keep":
            counted[who] = answer
        elif design.late == "wrong":
            counted[who] = ""
        else:
            dropped[who] = answer
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
        late_given=dropped,
        marked=tuple(sorted(authors)),
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
