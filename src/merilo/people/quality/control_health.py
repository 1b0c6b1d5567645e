"""The quality of the control items themselves: do good annotators confirm their known answers?

A control with a wrong known answer excludes good annotators. Each control is therefore judged by the annotators who
are good on the other controls.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from merilo.people.quality.exclusion import ExclusionRule
from merilo.responses import Responses

#: Fewest good annotators who must give the same other answer for a control to be called suspect.
FEWEST_IN_AGREEMENT: Final = 3

#: Annotators judged on fewer controls than this are counted, because a single wrong answer can decide about them.
FEW_CONTROLS: Final = 3


@dataclass(frozen=True, slots=True)
class ControlItem:
    """One control item and how it was answered.

    Good annotators are those whose accuracy on the other controls is at or above the rule's threshold, judged on at least
    the number of control items that the rule requires.

    Attributes:
        item: the item's number in the study.
        known: its known answer.
        answers: how many answers it got.
        correct: how many of them equal the known answer.
        most_common: the most frequent answer; in a tie the known answer, else the first in alphabetical order.
        most_common_answers: how many annotators gave it.
        other: the most common answer other than the known one; `None` if all are correct.
        other_answers: how many gave it.
        good_answers: how many answers are by good annotators.
        good_correct: how many of those equal the known answer.
        suspect: whether more than half of the answers by good annotators are the same other answer, of at least
            `FEWEST_IN_AGREEMENT` annotators, and the known answer is not the most common one. Several different answers instead of the known one
            show that an item is difficult, not that its known answer is wrong.
    """

    item: int
    known: str
    answers: int
    correct: int
    most_common: str
    most_common_answers: int
    other: str | None
    other_answers: int
    good_answers: int
    good_correct: int
    suspect: bool

    @property
    def share_correct(self) -> float:
        """The share of correct answers, 0 to 1."""
        return self.correct / self.answers

    @property
    def good_share_correct(self) -> float:
        """The same among good annotators; NaN without any."""
        return self.good_correct / self.good_answers if self.good_answers else float("nan")


@dataclass(frozen=True, slots=True)
class ControlHealth:
    """The reliability of a study's control items.

    Attributes:
        controls: one row per control item with answers, suspect ones first, then by `share_correct`, the lowest
            first.
        annotators: how many annotators the study has.
        without_controls: how many of them answered no control.
        unjudged: how many were kept without being judged: too few answers to controls, or none.
        judged_on_few: how many were judged on fewer than `FEW_CONTROLS` answers to controls.
        excluded: how many are excluded.
        excluded_on_few: how many of those were judged on fewer than `FEW_CONTROLS` answers.
        newly_kept: the ids of annotators who are excluded now, and would be kept without suspect controls, sorted.
        newly_excluded: the ids of annotators who are kept now, and would be excluded without them, sorted.
    """

    controls: tuple[ControlItem, ...]
    annotators: int
    without_controls: int
    unjudged: int
    judged_on_few: int
    excluded: int
    excluded_on_few: int
    newly_kept: tuple[str, ...]
    newly_excluded: tuple[str, ...]

    @property
    def suspects(self) -> tuple[int, ...]:
        """The numbers of suspect control items, ascending."""
        return tuple(sorted(one.item for one in self.controls if one.suspect))

    @property
    def judged_differently(self) -> int:
        """The number of annotators for whom the exclusion would change without suspect controls."""
        return len(self.newly_kept) + len(self.newly_excluded)


def control_health(responses: Responses, annotators: pl.DataFrame, rule: ExclusionRule) -> ControlHealth:
    """Check the known answers of control items against the annotators who are good on the other controls.

    Args:
        responses: the responses, control items among them; an annotator may have answered a control several times.
        annotators: one row per annotator, as returned by `people.controls.annotators` under the same rule:
            `annotator`, `controls`, `controls_correct`.
        rule: the exclusion rule.

    Returns:
        The health of the controls; without control items it has no rows.
    """
    answered = _answered(responses)
    rows = tuple(
        sorted(_items(answered, rule), key=lambda one: (not one.suspect, one.share_correct, one.item))
    )
    names, answers = annotators["annotator"], annotators["controls"]
    judged = pl.Series(rule.judged(answers.to_numpy()))
    now = pl.Series(rule.excluded(annotators["controls_correct"].to_numpy(), answers.to_numpy()))
    few = judged & (answers < FEW_CONTROLS)
    suspects = [one.item for one in rows if one.suspect]
    left = (
        annotators.select("annotator")
        .join(
            answered.filter(~pl.col("item").is_in(suspects))
            .group_by(pl.col("respondent").alias("annotator"))
            .agg(pl.len().alias("answers"), pl.col("correct").sum()),
            on="annotator",
            how="left",
            maintain_order="left",
        )
        .fill_null(0)
    )
    then = pl.Series(rule.excluded(left["correct"].to_numpy(), left["answers"].to_numpy()))
    return ControlHealth(
        controls=rows,
        annotators=annotators.height,
        without_controls=int((answers == 0).sum()),
        unjudged=int((~judged).sum()),
        judged_on_few=int(few.sum()),
        excluded=int(now.sum()),
        excluded_on_few=int((now & few).sum()),
        newly_kept=tuple(sorted(names.filter(now & ~then).to_list())),
        newly_excluded=tuple(sorted(names.filter(then & ~now).to_list())),
    )


def without_controls(responses: Responses, items: Collection[int]) -> Responses:
    """Remove the known answers of some controls, so that they are not used to judge annotators.

    The items remain control items and do not become test items.

    Args:
        responses: the responses.
        items: the numbers of the controls, `ControlHealth.suspects` for instance.
    """
    known = pl.when(~pl.col("item").is_in(list(items))).then("control").alias("control")
    return replace(responses, table=responses.table.with_columns(known))


def _answered(responses: Responses) -> pl.DataFrame:
    """Select the answers to controls with a known answer: `item`, `respondent`, `answer`, `control`, `correct`."""
    return (
        responses.table.filter(pl.col("is_control") & pl.col("control").is_not_null())
        .select("item", "respondent", "answer", "control")
        .with_columns((pl.col("answer") == pl.col("control")).fill_null(value=False).alias("correct"))
    )


def _items(answered: pl.DataFrame, rule: ExclusionRule) -> list[ControlItem]:
    if not answered.height:
        return []
    person, pair = ["respondent"], ["respondent", "item"]
    elsewhere = answered.select(
        "item",
        "respondent",
        "answer",
        (pl.col("correct").sum().over(person) - pl.col("correct").sum().over(pair)).alias("right"),
        (pl.len().over(person) - pl.len().over(pair)).alias("answers"),
    )
    right, answers = elsewhere["right"].to_numpy(), elsewhere["answers"].to_numpy()
    good = elsewhere.with_columns(pl.Series("good", rule.judged(answers) & ~rule.excluded(right, answers)))
    of_good = good.filter("good")
    counts, good_counts = _counts(answered), _counts(of_good)
    good_people = _counts(of_good.unique(["item", "respondent", "answer"]))
    known = dict(answered.group_by("item", maintain_order=True).agg(pl.col("control").first()).iter_rows())
    found = []
    for item, given in counts.items():
        truth = known[item]
        ranked = sorted(given, key=lambda answer: (-given[answer], answer != truth, answer))
        other = next((answer for answer in ranked if answer != truth), None)
        good_given = good_counts.get(item, {})
        n = sum(good_given.values())
        agreed = any(
            2 * many > n and good_people[item][answer] >= FEWEST_IN_AGREEMENT
            for answer, many in good_given.items()
            if answer != truth
        )
        found.append(
            ControlItem(
                item=item,
                known=truth,
                answers=sum(given.values()),
                correct=given.get(truth, 0),
                most_common=ranked[0],
                most_common_answers=given[ranked[0]],
                other=other,
                other_answers=given[other] if other is not None else 0,
                good_answers=n,
                good_correct=good_given.get(truth, 0),
                suspect=agreed and ranked[0] != truth,
            )
        )
    return found


def _counts(answered: pl.DataFrame) -> dict[int, dict[str, int]]:
    """Return how often each answer was given to each item."""
    counts: dict[int, dict[str, int]] = {}
    for item, answer, n in answered.group_by("item", "answer").len().iter_rows():
        counts.setdefault(item, {})[answer] = n
    return counts
