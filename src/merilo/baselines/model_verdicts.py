"""Verdicts of comparisons with people or another model: above, at the same level, not worse, below, or not told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final, Literal, NamedTuple, TypeAlias

from merilo.errors import DataError, UsageError, argument
from merilo.statistics.crossed import Crossed
from merilo.statistics.crossed_difference import CrossedDifference
from merilo.statistics.paired_tests import holm
from merilo.statistics.planning import FEWEST_ANNOTATORS, StudySize, study_size

Outcome: TypeAlias = Literal["above", "human_level", "not_worse", "below", "untold"]

#: The significance level of every test.
ALPHA: Final = 0.05
#: With fewer items (or clusters of items), equivalence is not tested. With fewer than `FEWEST_ANNOTATORS`, every
#: verdict is "untold": three annotators give a wrong "human level" in a tenth of studies
#: (`benchmarks/difference_coverage.py`).
FEWEST_ITEMS: Final = 10


@dataclass(frozen=True, slots=True)
class Margin:
    """The largest difference from people that counts as none.

    Attributes:
        value: the difference, in (0, 1).
        planned: the date of the frozen plan that has this margin; `None` if it was given after the data.
    """

    value: float
    planned: str | None = None

    def __post_init__(self) -> None:
        if not (isfinite(self.value) and 0 < self.value < 1):
            raise UsageError(f"{argument('margin')} takes a difference between 0 and 1, not {self.value:g}")


@dataclass(frozen=True, slots=True)
class ComparisonVerdict:
    """What may be said about the difference between people and a model, or between two models.

    Attributes:
        outcome: above people; at human level (equivalent within the margin); not worse than people by the margin; below
            people; or untold.
        margin: the margin; `None` if there is none.
        p_equivalent: the p-value of the two one-sided tests, after Holm's correction over the models.
        p_not_worse: the p-value of the test of not being worse by the margin, after Holm's correction over the models.
        needed: the approximate size of a study that would tell; `None` if the outcome is told or no size is known.
        significant: whether the model is above or below people by the two-sided test, which a model at human
            level may be too; `None` if the difference is not significant, or if there are too few annotators
            for a verdict.
        few_annotators: the number of annotators if it is too small for a verdict; otherwise `None`.
    """

    outcome: Outcome
    margin: Margin | None
    p_equivalent: float | None = None
    p_not_worse: float | None = None
    needed: StudySize | None = None
    significant: Literal["above", "below"] | None = None
    few_annotators: int | None = None


class Compared(NamedTuple):
    """A comparison with a model, of which a verdict is told.

    Attributes:
        p: the p-value.
        value: the difference.
        crossed: the difference over items and annotators; `None` if the metric is not a mean over items.
        margin: the margin; without it only above, below and untold are possible. A planned margin is left out
            if there are too few items or annotators.
        annotators: how many annotators the study has, 0 if two models are compared; used where there is no
            difference over items and annotators.
    """

    p: float
    value: float
    crossed: CrossedDifference | None
    margin: Margin | None
    annotators: int


def verdicts(found: Sequence[Compared]) -> list[tuple[float, ComparisonVerdict]]:
    """Correct the p-values of comparisons together, and give the verdicts.

    Equivalence is tested by two one-sided tests at 5 %, each over items and annotators. Its verdict comes
    first, because a difference inside the margin counts as none even if it is significant. Then come above
    and below people, by the two-sided test at 5 %, and not worse than people, by the lower one of the
    one-sided tests. With too few annotators no verdict is told.

    Args:
        found: the comparisons.

    Returns:
        The p-value after Holm's correction, and the verdict, of each comparison.

    Raises:
        DataError: a margin is given after the data, and there are too few items or annotators.

    References:
        D. Schuirmann (1987), as for `CrossedDifference.p_within`; S. Holm (1979), as for `holm`.
    """
    corrected = holm([one.p for one in found])
    tested: dict[int, tuple[CrossedDifference, Margin]] = {}
    for place, one in enumerate(found):
        if one.crossed is None or one.margin is None:
            continue
        small = _too_small(one.crossed)
        if small and one.margin.planned is None:
            raise DataError(f"{argument('margin')} needs {small}")
        if not small:
            tested[place] = one.crossed, one.margin
    within = holm([crossed.p_within(margin.value) for crossed, margin in tested.values()])
    above = holm([crossed.p_above(-margin.value) for crossed, margin in tested.values()])
    told = [(p, _without_margin(one, p)) for p, one in zip(corrected, found, strict=True)]
    for (place, (crossed, margin)), equivalent, not_worse in zip(tested.items(), within, above, strict=True):
        told[place] = corrected[place], _verdict(crossed, margin, corrected[place], equivalent, not_worse)
    return told


def _without_margin(one: Compared, p: float) -> ComparisonVerdict:
    annotators = one.crossed.annotators if one.crossed else one.annotators
    if 0 < annotators < FEWEST_ANNOTATORS:
        return ComparisonVerdict("untold", None, few_annotators=annotators)
    significant = _by_difference(p, one.value)
    return ComparisonVerdict(significant or "untold", None, significant=significant)


def _verdict(
    one: CrossedDifference, margin: Margin, p: float, within: float, not_worse: float
) -> ComparisonVerdict:
    outcome: Outcome
    significant = _by_difference(p, one.value)
    if within <= ALPHA:
        outcome = "human_level"
    elif significant:
        outcome = significant
    else:
        outcome = "not_worse" if not_worse <= ALPHA else "untold"
    needed = None
    if outcome == "untold":
        parts = one.item_variance, one.annotator_variance, (0.0, 0.0), 0.0
        now = Crossed(one.value, one.annotators, *parts, one.freedom, (-1.0, 1.0))
        sizes = study_size(now, one.n, margin.value), study_size(now, one.n)
        needed = min(filter(None, sizes), key=lambda size: size.items * size.annotators, default=None)
    return ComparisonVerdict(outcome, margin, within, not_worse, needed, significant)


def _by_difference(p: float, value: float) -> Literal["above", "below"] | None:
    if p > ALPHA or value == 0:
        return None
    return "above" if value > 0 else "below"


def _too_small(one: CrossedDifference) -> str | None:
    """Name what a test of equivalence needs and the study lacks."""
    few = [
        f"at least {fewest} {what} (the study has {there})"
        for there, fewest, what in (
            (one.clusters or one.n, FEWEST_ITEMS, "clusters of items" if one.clusters else "items"),
            (one.annotators or FEWEST_ANNOTATORS, FEWEST_ANNOTATORS, "annotators"),
        )
        if there < fewest
    ]
    return " and ".join(few) or None
