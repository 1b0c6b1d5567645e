"""Widening of an interval because a few annotators do not show how far the worst annotators are off.

If one annotator in ten guesses, most samples of three annotators have nobody who guesses. Their answers then show
neither a difference between annotators nor how much worse other annotators would be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.people.votes import IntArray
from merilo.statistics.arrays import FloatArray
from merilo.statistics.distributions import student_quantile
from merilo.statistics.intervals import wilson_form

#: With fewer annotators no interval over annotators is reported, because they cannot show how much annotators differ.
LEAST_ANNOTATORS: Final = 3
#: How many annotators who guess are assumed in addition to those of the study.
GUESSERS: Final = 0.5


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
    annotator: IntArray | NDArray[np.intp], change: FloatArray, annotators: int
) -> GuessingVariance:
    """Compute the variance of an estimate if each annotator were one who guesses with a small probability.

    With P annotators the probability is q = 0.5 / (P + 0.5): half an annotator who guesses is added to those of the study.
    If guessing changes the estimate by g_j for annotator j, the variance is q (1 - q) times the sum of g_j².

    Args:
        annotator: shape (n,), the annotator's code of each answer.
        change: shape (n,), the change of the estimate if the answer were a random label.
        annotators: the number of codes.

    References:
        H. Jeffreys (1946), An invariant form for the prior probability in estimation problems. Proceedings of the Royal
        Society A 186, 453-461 (half an observation is added to each outcome).

    Example:
        >>> found = guessing_variance(np.arange(3), np.array([-0.1, -0.1, 0.0]), 3)
        >>> round(found.below, 6), found.above
        (0.002449, 0.0)
    """
    present = np.bincount(annotator, minlength=annotators) > 0
    changes = np.bincount(annotator, weights=change, minlength=annotators)[present]
    q = GUESSERS / (changes.shape[0] + GUESSERS)
    below, above = np.minimum(changes, 0.0), np.maximum(changes, 0.0)
    return GuessingVariance(q * (1 - q) * float(below @ below), q * (1 - q) * float(above @ above))


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
        variances: the variance from items, the additional variance because items share annotators, and the denominator of
            Satterthwaite's formula.
        level: the nominal coverage, in (0, 1).
    """
    from_items, shared, doubt = variances
    moved = []
    for side, assumed in enumerate((guessing.below, guessing.above)):
        both = from_items + max(assumed, shared)
        t = student_quantile((1 + level) / 2, max(both**2 / doubt, 1.0))
        moved.append(wilson_form(p, effective * from_items / both, t)[side] if assumed > shared else p)
    return min(bounds[0], moved[0]), max(bounds[1], moved[1])
