"""Control items: the accuracy of annotators on them, the exclusion that follows.

And the controls' own known answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from merilo.errors import DataError, InputError, argument
from merilo.files import read_table
from merilo.responses import Responses, answer_seconds


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
        """Return who has enough answers to controls to be judged.

        Args:
            answers: shape (annotators,), how many answers to controls each annotator gave.

        Returns:
            Shape (annotators,).
        """
        enough: NDArray[np.bool_] = np.asarray(answers, dtype=np.int64) >= max(1, self.min_controls)
        return enough

    def excluded(self, right: ArrayLike, answers: ArrayLike) -> NDArray[np.bool_]:
        """Return who is excluded.

        Args:
            right: shape (annotators,), how many answers to controls are correct.
            answers: shape (annotators,), how many answers to controls there are.

        Returns:
            Shape (people,).
        """
        total = np.asarray(answers, dtype=np.int64)
        accuracy = np.asarray(right, dtype=np.float64) / np.maximum(1, total)
        out: NDArray[np.bool_] = self.judged(total) & (accuracy < self.min_control_accuracy)
        return out


_ID_COLUMNS: Final = ("worker_id", "annotator", "respondent", "user_id", "id")
_SKILL_COLUMNS: Final = ("skill_value", "skill", "value")


def judged_annotators(
    responses: Responses,
    *,
    min_control_accuracy: float,
    min_controls: int = 1,
    skills: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Judge every annotator on the control items.

    An annotator with at least `min_controls` judged control answers and an accuracy on them below
    `min_control_accuracy` is excluded with all answers (`ExclusionRule`). Annotators with fewer control answers
    cannot be judged: they are kept, and `judged` is false.

    Args:
        responses: the responses, control items among them.
        min_control_accuracy: the threshold, 0 to 1; an annotator exactly at it is kept.
        min_controls: how many control answers are needed to judge an annotator.
        skills: the platform's own skill values, columns `annotator` and `skill`; see `read_skills`.

    Returns:
        One row per annotator, sorted by id: `annotator`, `responses` (to test items), `controls`, `controls_correct`,
        `control_accuracy` (null without controls), `skill` (null if unknown), `median_seconds`, `favourite_share` (the
        share of their most frequent answer among all their answers), `judged` (has enough control answers),
        `excluded`, `rule`.

    Raises:
        DataError: every annotator is excluded.
    """
    known_control = pl.col("is_control") & pl.col("control").is_not_null()
    accuracy = pl.col("controls_correct") / pl.col("controls")
    table = (
        responses.table.with_columns(answer_seconds().alias("seconds"))
        .group_by(pl.col("respondent").alias("annotator"))
        .agg(
            (~pl.col("is_control")).sum().alias("responses"),
            known_control.sum().alias("controls"),
            (known_control & (pl.col("answer") == pl.col("control"))).sum().alias("controls_correct"),
            pl.col("seconds").median().alias("median_seconds"),
            (pl.col("answer").unique_counts().max() / pl.len()).alias("favourite_share"),
        )
        .sort("annotator")
        .with_columns(pl.when(pl.col("controls") > 0).then(accuracy).alias("control_accuracy"))
    )
    rule = ExclusionRule(min_control_accuracy, min_controls)
    answers, right = table["controls"].to_numpy(), table["controls_correct"].to_numpy()
    below = pl.lit(f"control accuracy below {min_control_accuracy:g}")
    table = table.with_columns(
        pl.Series("judged", rule.judged(answers)), pl.Series("excluded", rule.excluded(right, answers))
    ).with_columns(pl.when("excluded").then(below).alias("rule"))
    if skills is None:
        skills = pl.DataFrame(schema={"annotator": pl.String, "skill": pl.Float64})
    table = table.join(skills, on="annotator", how="left", maintain_order="left")
    if table.height and table["excluded"].all():
        best = max(table["control_accuracy"].to_list())
        raise DataError(
            f"all {table.height} annotators are below {min_control_accuracy:g} on control items (the best has "
            f"{best:.2f}): no answers are left to aggregate; check the control items' known answers, or lower "
            f"{argument('min_control_accuracy')}"
        )
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
    names = []
    for what, known in (("annotator", _ID_COLUMNS), ("skill", _SKILL_COLUMNS)):
        there = [name for name in known if name in table.columns]
        if not there:
            raise InputError(
                f"there is no column for the {what} (expected one of: {', '.join(known)})", file=path, row=1
            )
        names.append(there[0])
    annotator, skill = pl.col("annotator"), pl.col("skill")
    data = (
        table.select(
            pl.col(names[0]).str.strip_chars().alias("annotator"),
            pl.col(names[1])
            .str.replace(",", ".", literal=True)
            .cast(pl.Float64, strict=False)
            .alias("skill"),
        )
        .with_row_index("row", offset=2)
        .filter(annotator.is_not_null() | skill.is_not_null())
    )
    for wrong, message, field in (
        (annotator.is_null(), "has no annotator", names[0]),
        (skill.is_null() | ~skill.is_finite(), "is not a number", names[1]),
        (
            skill != skill.first().over("annotator"),
            "annotator {annotator} has two different skills",
            None,
        ),
    ):
        for row in data.filter(wrong).head(1).iter_rows(named=True):
            raise InputError(message.format(**row), file=path, row=row["row"], field=field)
    return data.unique("annotator", maintain_order=True).select("annotator", "skill")


#: Fewest good annotators who must give the same other answer for a control to be called suspect.
FEWEST_IN_AGREEMENT: Final = 3

#: Annotators judged on fewer controls than this are counted, because a single wrong answer can decide about them.
FEW_CONTROLS: Final = 3


@dataclass(frozen=True, slots=True)
class ControlItem:
    """One control item and how it was answered.

    Good annotators are those whose accuracy on the other controls is at or above the rule's threshold, judged
    on at least the number of control items that the rule requires.

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
            `FEWEST_IN_AGREEMENT` annotators, and the known answer is not the most common one. Several
            different answers instead of the known one show that an item is difficult, not that its known
            answer is wrong.
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
    """

    controls: tuple[ControlItem, ...]
    annotators: int
    without_controls: int
    unjudged: int
    judged_on_few: int
    excluded: int
    excluded_on_few: int

    @property
    def suspects(self) -> tuple[int, ...]:
        """The numbers of suspect control items, ascending."""
        return tuple(sorted(one.item for one in self.controls if one.suspect))


def control_health(responses: Responses, annotators: pl.DataFrame, rule: ExclusionRule) -> ControlHealth:
    """Check the known answers of control items against the annotators who are good on the other controls.

    Args:
        responses: the responses, control items among them; an annotator may have answered a control several times.
        annotators: one row per annotator, as returned by `judged_annotators` under the same rule:
            `annotator`, `controls`, `controls_correct`.
        rule: the exclusion rule.

    Returns:
        The health of the controls; without control items it has no rows.
    """
    answered = _answered(responses)
    rows = tuple(
        sorted(_items(answered, rule), key=lambda one: (not one.suspect, one.share_correct, one.item))
    )
    answers = annotators["controls"]
    judged = pl.Series(rule.judged(answers.to_numpy()))
    now = pl.Series(rule.excluded(annotators["controls_correct"].to_numpy(), answers.to_numpy()))
    few = judged & (answers < FEW_CONTROLS)
    return ControlHealth(
        controls=rows,
        annotators=annotators.height,
        without_controls=int((answers == 0).sum()),
        unjudged=int((~judged).sum()),
        judged_on_few=int(few.sum()),
        excluded=int(now.sum()),
        excluded_on_few=int((now & few).sum()),
    )


def _answered(responses: Responses) -> pl.DataFrame:
    """Select the answers to controls with a known answer: `item`, `respondent`, `answer`, `control`, `correct`."""
    return (
        responses.table.filter(pl.col("is_control") & pl.col("control").is_not_null())
        .select("item", "respondent", "answer", "control")
        .with_columns((pl.col("answer") == pl.col("control")).fill_null(value=False).alias("correct"))
    )


def _items(answered: pl.DataFrame, rule: ExclusionRule) -> list[ControlItem]:
    right, n = pl.col("correct").sum(), pl.len()
    elsewhere = answered.with_columns(
        (right.over("respondent") - right.over("respondent", "item")).alias("right"),
        (n.over("respondent") - n.over("respondent", "item")).alias("others"),
        pl.col("control").first().over("item").alias("known"),
    )
    others = elsewhere["others"].to_numpy()
    good = pl.Series(rule.judged(others) & ~rule.excluded(elsewhere["right"].to_numpy(), others))
    wrong = pl.col("answer") != pl.col("known")
    counts = (
        elsewhere.with_columns(good.alias("good"))
        .group_by("item", "known", "answer")
        .agg(
            n.alias("n"),
            pl.col("good").sum(),
            pl.col("respondent").filter("good").n_unique().alias("good_people"),
        )
        .sort("item", "n", wrong, "answer", descending=[False, True, False, False])
    )
    agreed = (
        wrong & (2 * pl.col("good") > pl.col("good").sum()) & (pl.col("good_people") >= FEWEST_IN_AGREEMENT)
    )
    table = counts.group_by("item", "known", maintain_order=True).agg(
        pl.col("n").sum().alias("answers"),
        pl.col("n").filter(~wrong).sum().alias("correct"),
        pl.col("answer").first().alias("most_common"),
        pl.col("n").first().alias("most_common_answers"),
        pl.col("answer").filter(wrong).first().alias("other"),
        pl.col("n").filter(wrong).first().fill_null(0).alias("other_answers"),
        pl.col("good").sum().alias("good_answers"),
        pl.col("good").filter(~wrong).sum().alias("good_correct"),
        (agreed.any() & wrong.first()).alias("suspect"),
    )
    return [ControlItem(**row) for row in table.iter_rows(named=True)]
