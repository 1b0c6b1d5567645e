"""Control items: the accuracy of annotators on them, the exclusion that follows, and the known answers themselves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from merilo.errors import InputError
from merilo.files import read_table
from merilo.records import Record
from merilo.responses import Responses, answer_seconds

#: Columns of a file of skills, in order of preference.
_NAMES: Final = {
    "annotator": ("worker_id", "annotator", "respondent", "user_id", "id"),
    "skill": ("skill_value", "skill", "value"),
}

#: Fewest good annotators who must give the same other answer for a control to be called suspect.
FEWEST_IN_AGREEMENT: Final = 3


@dataclass(frozen=True, slots=True)
class ExclusionRule:
    """Excludes annotators below an accuracy on control items, if they answered enough of them.

    Attributes:
        min_control_accuracy: the threshold, 0 to 1; an annotator exactly at the threshold is kept.
        min_controls: annotators with fewer answers to controls are not judged by them, and are kept. Annotators
            without control answers are never judged, even if this is 0.

    Example:
        >>> rule = ExclusionRule(0.5, min_controls=2)
        >>> rule.excluded([0, 0, 1, 2], [1, 2, 2, 5]).tolist()
        [False, True, False, True]
    """

    min_control_accuracy: float = 0.5
    min_controls: int = 1

    def judged(self, answers: ArrayLike) -> NDArray[np.bool_]:
        """Return who has enough answers to controls to be judged, by how many each annotator gave."""
        return np.asarray(np.asarray(answers) >= max(1, self.min_controls))

    def excluded(self, right: ArrayLike, answers: ArrayLike) -> NDArray[np.bool_]:
        """Return who is excluded, by how many answers to controls are correct, and how many there are."""
        accuracy = np.asarray(right) / np.maximum(1, np.asarray(answers))
        return np.asarray(self.judged(answers) & (accuracy < self.min_control_accuracy))


def judged_annotators(
    responses: Responses,
    *,
    min_control_accuracy: float,
    min_controls: int = 1,
    skills: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Judge every annotator on the control items (`ExclusionRule`).

    Args:
        responses: the responses, control items among them.
        min_control_accuracy: the threshold, 0 to 1; an annotator exactly at it is kept.
        min_controls: how many control answers are needed to judge an annotator; others are kept.
        skills: the platform's own skill values, columns `annotator` and `skill`; see `read_skills`.

    Returns:
        One row per annotator, sorted by id: `annotator`, `responses` (to test items), `controls`, `controls_correct`,
        `control_accuracy` (null without controls), `skill` (null if unknown), `median_seconds`, `favourite_share` (the
        share of their most frequent answer among all their answers), `judged` (has enough control answers),
        `excluded`, `rule`.
    """
    known = pl.col("is_control") & pl.col("control").is_not_null()
    rule, n = ExclusionRule(min_control_accuracy, min_controls), pl.col("controls")
    table = (
        responses.table.with_columns(seconds=answer_seconds())
        .group_by(annotator="respondent")
        .agg(
            responses=(~pl.col("is_control")).sum(),
            controls=known.sum(),
            controls_correct=(known & (pl.col("answer") == pl.col("control"))).sum(),
            median_seconds=pl.col("seconds").median(),
            favourite_share=pl.col("answer").unique_counts().max() / pl.len(),
        )
        .sort("annotator")
        .with_columns(control_accuracy=pl.when(n > 0).then(pl.col("controls_correct") / n))
    )
    answers, right = table["controls"].to_numpy(), table["controls_correct"].to_numpy()
    out = pl.Series(rule.excluded(right, answers))
    below = pl.when(out).then(pl.lit(f"control accuracy below {min_control_accuracy:g}"))
    table = table.with_columns(judged=pl.Series(rule.judged(answers)), excluded=out, rule=below)
    if skills is None:
        skills = pl.DataFrame(schema={"annotator": pl.String, "skill": pl.Float64})
    table = table.join(skills, on="annotator", how="left", maintain_order="left")
    return table.select(
        "annotator", "responses", "controls", "controls_correct", "control_accuracy", "skill", "median_seconds",
        "favourite_share", "judged", "excluded", "rule",
    )  # fmt: skip


def read_skills(path: Path, encoding: str | None = None) -> pl.DataFrame:
    """Read a platform's skills, such as Toloka's `worker_id|skill_value`.

    Args:
        path: a delimited file with a column of ids and a column of numbers.
        encoding: the encoding, if it is not UTF-8 and has no byte order mark.

    Returns:
        Columns `annotator` and `skill`.

    Raises:
        InputError: a column is missing, a value is not a number, or an annotator occurs twice with different values.
    """
    table = read_table(path, encoding=encoding).data
    names: dict[str, str] = {}
    for what, usual in _NAMES.items():
        there = [name for name in usual if name in table.columns]
        if not there:
            expected = f"there is no column for the {what} (expected one of: {', '.join(usual)})"
            raise InputError(expected, file=path, row=1)
        names[what] = there[0]
    annotator, skill = pl.col("annotator"), pl.col("skill")
    number = pl.col(names["skill"]).str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    data = table.select(annotator=pl.col(names["annotator"]).str.strip_chars(), skill=number)
    data = data.with_row_index("row", offset=2).filter(annotator.is_not_null() | skill.is_not_null())
    for wrong, message, field in (
        (annotator.is_null(), "has no annotator", names["annotator"]),
        (skill.is_null() | ~skill.is_finite(), "is not a number", names["skill"]),
        (skill != skill.first().over("annotator"), "annotator {annotator} has two different skills", None),
    ):
        for row in data.filter(wrong).head(1).iter_rows(named=True):
            raise InputError(message.format(**row), file=path, row=row["row"], field=field)
    return data.unique("annotator", maintain_order=True).select("annotator", "skill")


class ControlItem(Record):
    """One control item and how it was answered.

    Good annotators are those whose accuracy on the other controls is at or above the rule's threshold, judged
    on at least the number of control items that the rule requires.

    Attributes:
        item: the item's number in the study.
        inputs: what annotators saw; empty where it is not needed.
        known: its known answer.
        answers: how many answers it got.
        correct: how many of them equal the known answer.
        most_common: the most frequent answer; in a tie the known answer, else the first in alphabetical order.
        most_common_answers: how many annotators gave it.
        good_annotators_answers: how many answers are by good annotators.
        good_annotators_correct: how many of those equal the known answer.
        suspect: whether more than half of the answers by good annotators are the same other answer, of at least
            `FEWEST_IN_AGREEMENT` annotators, and the known answer is not the most common one. Several
            different answers instead of the known one show that an item is difficult, not that its known
            answer is wrong. Not in the JSON, which has the suspect ones only.
    """

    item: int
    inputs: dict[str, str] = {}  # noqa: RUF012 - Pydantic copies defaults
    known: str = ""
    answers: int = 0
    correct: int = 0
    most_common: str = ""
    most_common_answers: int = 0
    good_annotators_answers: int = 0
    good_annotators_correct: int = 0
    suspect: bool = Field(default=False, exclude=True)

    @property
    def share_correct(self) -> float:
        """The share of correct answers, 0 to 1."""
        return self.correct / self.answers


def control_items(responses: Responses, rule: ExclusionRule) -> tuple[ControlItem, ...]:
    """Check the known answers of control items against the annotators who are good on the other controls.

    Args:
        responses: the responses, control items among them; an annotator may have answered a control several times.
        rule: the exclusion rule.

    Returns:
        One for each control item with answers, suspect ones first, then by `share_correct`, the lowest first.
    """
    answer, known = pl.col("answer"), pl.col("control")
    table = responses.table.filter(pl.col("is_control") & known.is_not_null()).select(
        "item", "respondent", "answer", "control", correct=(answer == known).fill_null(value=False)
    )
    right, n = pl.col("correct").sum(), pl.len()
    table = table.with_columns(
        right=right.over("respondent") - right.over("respondent", "item"),
        others=n.over("respondent") - n.over("respondent", "item"),
        known=known.first().over("item"),
    )
    others = table["others"].to_numpy()
    good = pl.Series(rule.judged(others) & ~rule.excluded(table["right"].to_numpy(), others))
    wrong, n_of_good = answer != pl.col("known"), pl.col("good")
    people = pl.col("respondent").filter("good").n_unique()
    counts = (
        table.with_columns(good=good)
        .group_by("item", "known", "answer")
        .agg(n=n, good=n_of_good.sum(), people=people)
    )
    counts = counts.sort("item", "n", wrong, "answer", descending=[False, True, False, False])
    agreed = wrong & (2 * n_of_good > n_of_good.sum()) & (pl.col("people") >= FEWEST_IN_AGREEMENT)
    rows = counts.group_by("item", "known", maintain_order=True).agg(
        answers=pl.col("n").sum(),
        correct=pl.col("n").filter(~wrong).sum(),
        most_common=answer.first(),
        most_common_answers=pl.col("n").first(),
        good_annotators_answers=n_of_good.sum(),
        good_annotators_correct=n_of_good.filter(~wrong).sum(),
        suspect=agreed.any() & wrong.first(),
    )
    controls = (ControlItem(**row) for row in rows.iter_rows(named=True))
    return tuple(sorted(controls, key=lambda each: (not each.suspect, each.share_correct, each.item)))
