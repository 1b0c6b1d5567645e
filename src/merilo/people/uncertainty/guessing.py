"""The allowance for annotators who guess: a small study often includes none, and then does not show their variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.people.votes import IntArray
from merilo.statistics import FloatArray
from merilo.statistics.crossed_difference import skewed_quantile
from merilo.statistics.intervals import student_quantile, wilson_form

#: How many annotators who guess are assumed in addition to those of the study.
GUESSERS: Final = 1.0
#: The same for a test about single persons, whose interval is not skewed as Wilson's is. From 1.5 on, false
#: verdicts stay at 3.5 % in each direction (`benchmarks/bad_crowds.py`).
GUESSERS_TESTED: Final = 2.0


@dataclass(frozen=True, slots=True)
class GuessingVariance:
    """The variance of an estimate if some of its annotators might have guessed.

    Attributes:
        below: the variance caused by annotators whose guessing would lower the estimate.
        above: the variance caused by annotators whose guessing would raise the estimate.
    """

    below: float
    above: float


def guessing_variance(
    annotator: IntArray | NDArray[np.intp],
    change: FloatArray,
    annotators: int,
    *,
    guessers: float = GUESSERS,
) -> GuessingVariance:
    """Compute the variance of an estimate if each annotator were one who guesses with a small probability.

    With P annotators the probability is q = G / (P + G): G annotators who guess are added to those of the study,
    by default half a one. If guessing changes the estimate by g_j for annotator j, the variance is q (1 - q) times the
    sum of g_j².

    Args:
        annotator: shape (n,), the annotator's code of each answer.
        change: shape (n,), the change of the estimate if the answer were a random label.
        annotators: the number of codes.
        guessers: how many annotators who guess are added.

    References:
        H. Jeffreys (1946), An invariant form for the prior probability in estimation problems. Proceedings of the Royal
        Society A 186, 453-461 (observations are added to each outcome).

    Example:
        >>> found = guessing_variance(np.arange(3), np.array([-0.1, -0.1, 0.0]), 3)
        >>> round(found.below, 6), found.above
        (0.00375, 0.0)
    """
    present = np.bincount(annotator, minlength=annotators) > 0
    changes = np.bincount(annotator, weights=change, minlength=annotators)[present]
    q = guessers / (changes.shape[0] + guessers)
    below, above = np.minimum(changes, 0.0), np.maximum(changes, 0.0)
    return GuessingVariance(q * (1 - q) * float(below @ below), q * (1 - q) * float(above @ above))


def skewed_wilson(p: float, effective: float, quantile: float, skewness: float) -> tuple[float, float]:
    """Compute Wilson's interval with each quantile corrected for the skewness that annotators cause.

    Args:
        p: the proportion, in [0, 1].
        effective: the effective number of items.
        quantile: the quantile of the statistic if it were not skewed.
        skewness: the skewness of the estimate, below 0 if a few annotators are much worse than the others.

    References:
        P. Hall (1992), On the removal of skewness by transformation. J. Royal Statistical Society B 54, 221-228.
    """
    low, high = (wilson_form(p, effective, skewed_quantile(quantile, side * skewness)) for side in (-1, 1))
    return float(low[0]), float(high[1])


def widened(
    bounds: tuple[float, float],
    guessing: GuessingVariance,
    p: float,
    effective: float,
    *,
    variances: tuple[float, float, float],
    level: float,
) -> tuple[float, float]:
    """Move a bound outwards if annotators who guess would cause a larger variance than the study's annotators do.

    The variance assumed for guessing is not estimated, so it does not reduce the degrees of freedom.

    Args:
        bounds: the interval of a proportion, in [0, 1].
        guessing: the variance if annotators guess.
        p: the proportion, in [0, 1].
        effective: the effective number of items without shared annotators.
        variances: the variance from items, the additional variance because items share annotators, and the
            denominator of Satterthwaite's formula.
        level: the nominal coverage, in (0, 1).
    """
    from_items, shared, doubt = variances
    moved = []
    for side, assumed in enumerate((guessing.below, guessing.above)):
        both = from_items + assumed + shared
        t = student_quantile((1 + level) / 2, max(both**2 / doubt, 1.0))
        moved.append(wilson_form(p, effective * from_items / both, t)[side])
    return min(bounds[0], moved[0]), max(bounds[1], moved[1])
