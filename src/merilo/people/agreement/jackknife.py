"""Confidence intervals of agreement coefficients over items and annotators, by the jackknife."""

from __future__ import annotations

from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from merilo.people.agreement.alpha import krippendorff_alpha
from merilo.people.agreement.deletions import LeaveOneOut, alpha_of_numbers
from merilo.people.agreement.kappa import fleiss_kappa, gwet_ac1
from merilo.people.votes import Votes
from merilo.settings import Level
from merilo.statistics.cluster_variance import cluster_count
from merilo.statistics.distributions import student_quantile
from merilo.statistics.intervals import Interval

#: As many annotators who answer at random are added to those of the study.
RANDOM_ANNOTATOR: Final = 0.5


def intervals(
    votes: Votes, *, level: Level = "nominal", values: ArrayLike | None = None, confidence: float = 0.95
) -> dict[str, Interval]:
    """Compute intervals of the agreement coefficients over items and annotators.

    With A the coefficient, N the items with two answers and P the annotators:

        variance = v(items) + v(annotators) - v(answers), at least the larger of the first two

    v(...) are jackknife variances. Both of the first two contain the chance of single answers, so that part is subtracted
    once. v(items) is at least (2 / N)^2, about what one more item without any agreement would add. The interval is Student's
    with min(N, P) - 1 degrees of freedom, clipped to [-1, 1].

    A few annotators often include none of the population's careless ones. The interval is therefore computed as if half an
    annotator more, who answers at random, had taken part (as Jeffreys' prior adds half an observation). To first order, a
    share e of annotators who answer at random changes A to (1 - e)^2 A, so the influence of this annotator is -2 A; it moves
    the centre of the interval to A - A / (P + 1/2). The interval always holds A, and this annotator alone lowers the lower
    bound to 0 at most. For this reason, a unanimous study has a lower bound below 1.

    If items form clusters (`Votes.cluster`), a cluster takes the place of an item: it is left out as a whole, N is the number of
    clusters, and v(answers) is over one annotator's answers to one cluster. With a single cluster there are no intervals.

    If one of the two annotators of a study is deleted, no agreement remains. The interval is then over items alone, and
    its method says so.

    Args:
        votes: the answers, at most one per annotator and item.
        level: the level of measurement of Krippendorff's alpha.
        values: shape (labels,), the numbers behind the labels, for the interval level.
        confidence: the nominal coverage.

    Returns:
        name -> interval, of "krippendorff_alpha", "fleiss_kappa" and "gwet_ac1". A coefficient that is not defined is left
        out; so are all of them if fewer than two items have two answers.

    References:
        B. Efron, C. Stein (1981), The jackknife estimate of variance. Annals of Statistics 9, 586-596.
        K. L. Gwet (2008), Variance estimation of nominal-scale inter-rater reliability with random selection of raters.
        Psychometrika 73, 407-430 (the variances over items and over raters are added).
        A. C. Cameron, J. Gelbach, D. Miller (2011), Robust inference with multiway clustering. Journal of Business &
        Economic Statistics 29, 238-249 (the variance over single answers is subtracted).

    Example:
        >>> item, annotator = np.divmod(np.arange(300, dtype=np.int32), 3)
        >>> votes = Votes(item, annotator, item % 2, 100, 3, 2)
        >>> round(intervals(votes)["krippendorff_alpha"].low, 2)
        0.0
    """
    several = np.bincount(votes.item, minlength=votes.items) >= 2
    pairable = int(several.sum()) if votes.cluster is None else cluster_count(votes.cluster[several])
    if pairable < 2:
        return {}
    people = int(np.unique(votes.annotator).size)
    study = LeaveOneOut.of(votes)
    alpha = study.alpha() if level == "nominal" else alpha_of_numbers(votes, level, values)
    kappa, ac1 = study.kappas()
    seen = {
        "krippendorff_alpha": (krippendorff_alpha(votes, level, values=values), alpha),
        "fleiss_kappa": (fleiss_kappa(votes), kappa),
        "gwet_ac1": (gwet_ac1(votes), ac1),
    }
    return {
        name: interval_from_variances(
            value, deletions.variance, pairable, people, confidence, clustered=votes.cluster is not None
        )
        for name, (value, deletions) in seen.items()
        if np.isfinite(value)
    }


def interval_from_variances(
    value: float,
    variances: tuple[float, float, float],
    items: int,
    people: int,
    confidence: float = 0.95,
    *,
    clustered: bool = False,
) -> Interval:
    """Compute the interval of a coefficient from its jackknife variances, as `intervals` describes.

    Args:
        value: the coefficient.
        variances: over items, annotators and answers; over annotators NaN if it is not defined.
        items: the number of items that have two answers or more, at least 2; or of their clusters.
        people: the number of annotators.
        confidence: the nominal coverage.
        clustered: whether `items` counts clusters of items.
    """
    of_items, of_people, of_answers = variances
    of_items = max(of_items, (2 / items) ** 2)
    alone = not np.isfinite(of_people)
    freedom = items - 1 if alone else min(items, people) - 1
    t = student_quantile((1 + confidence) / 2, freedom)
    if alone:
        low, high = value - t * sqrt(of_items), value + t * sqrt(of_items)
    else:
        low = value - t * sqrt(_total(of_items, of_people, of_answers))
        influence = -2 * max(value, 0.0)
        more = people + RANDOM_ANNOTATOR
        shift = RANDOM_ANNOTATOR * influence / more
        squares = people * (people - 1) * of_people + people * shift**2
        squares += RANDOM_ANNOTATOR * (influence - shift) ** 2
        reach = t * sqrt(_total(of_items, squares / (more * (more - 1)), of_answers))
        low = min(low, max(value + shift - reach, 0.0))
        high = max(value, value + shift + reach)
    over = f"{items} clusters of items" if clustered else "items"
    units = f"{over} alone" if alone else f"{over} and annotators"
    method = f"jackknife over {units}, t with {freedom} {'degree' if freedom == 1 else 'degrees'} of freedom"
    # With very uneven overlaps a coefficient itself can lie below -1.
    return Interval(max(low, min(-1.0, value)), min(high, 1.0), confidence, method)


def _total(of_items: float, of_people: float, of_answers: float) -> float:
    """Return the variance over items and annotators together."""
    return max(of_items + of_people - of_answers, of_items, of_people)
