"""The percentile rank of a model among annotators, with the noise of annotators' scores removed.

An annotator's observed score is the true score plus chance, so a model beats too few of the annotators below it and too
many of those above it: the plain share of annotators with a lower score is drawn towards one half. The distribution of
true scores is estimated by deconvolution instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt
from typing import Final

import numpy as np
import scipy

from merilo.errors import DataError
from merilo.people.uncertainty.annotator_accuracy import (
    MIN_ANSWERS,
    clustered_variance,
    components,
    drawn_answer,
    person_effects,
)
from merilo.people.votes import Votes
from merilo.statistics import FloatArray
from merilo.statistics.crossed_difference import FLOOR
from merilo.statistics.intervals import Interval, cluster_count, student_quantile

#: The grid of true scores, on the logit scale.
NODES: Final = np.linspace(-6.0, 8.0, 113)

#: Among fewer people, neither the rank of a model nor the best tenth of people is shown: their intervals say nothing.
LEAST_RANKED: Final = 25

#: Shares and scores are kept this far from 0 and 1.
_SMALLEST: Final = 1e-6
_EQUAL: Final = 1e-9

#: Careless annotators are taken to be spread evenly over this range below the others, on the logit scale.
CARELESS: Final = 6.0

#: The penalties: the log of the spread is added to the log-likelihood, the share of careless annotators is
#: beta(1, 10), and the
#: centre is normal with this standard deviation, which only matters if nobody errs.
CENTRE: Final = 4.0
CARELESS_PRIOR: Final = 10.0
#: The log of the factor between both spreads and their geometric mean is normal with this standard deviation. With
#: equal spreads, many sloppy annotators widen the upper side too, and a very good model is ranked too low.
UNEVEN: Final = 0.5


def percentile_rank(
    votes: Votes,
    score: FloatArray,
    model: FloatArray,
    *,
    min_answers: int = MIN_ANSWERS,
    level: float = 0.95,
) -> tuple[float, Interval, int]:
    """Compute the share of annotators whose true score is below the model's, and its interval.

    On the logit scale, true scores are normal with one spread below and another above the centre, but for a share of
    careless annotators who are spread evenly below the centre. Centre, spreads and share are those of the largest
    penalised likelihood of the observed scores. Each of these is binomial around the true score (for scores between 0
    and 1 with the number of 0-or-1 answers that have the same variance). Scores are first adjusted for how hard the
    annotator's items are, as far as others' answers tell. If items form clusters, the number of an annotator's answers
    is divided by their design effect (`person_effects`). The rank is the fitted share below the model's score. Its
    variance is that of the fit (delta method, observed information) plus that of the model's advantage over the items,
    whose standard error is at least two items. The interval is Student's with people - 1 degrees of freedom,
    on the probit scale. It contains Clopper and Pearson's interval for the most extreme sample: n people who
    are all below (or above) the model cannot show a share above 0.025^(1/n) (or below 1 minus that).

    Args:
        votes: the answers.
        score: shape (n,), the score of each answer, in [0, 1].
        model: shape (items,), the model's score on each item, in [0, 1].
        min_answers: annotators with fewer answers are left out.
        level: the nominal coverage, in (0, 1).

    Returns:
        The share, its interval and the number of annotators it is based on. One annotator says nothing about
        others: the interval is [0, 1].

    Raises:
        DataError: no annotator has enough answers.

    References:
        B. Efron (2016), Empirical Bayes deconvolution estimates. Biometrika 103, 1-20.
        Y. Chung, S. Rabe-Hesketh, V. Dorie, A. Gelman, J. Liu (2013), A nondegenerate penalized likelihood
        estimator for variance parameters in multilevel models. Psychometrika 78, 685-709 (log of the spread).
        K. Wallis (2014), The two-piece normal, binormal, or double Gaussian distribution. Statistical Science 29,
        106-112.
        C. Clopper, E. Pearson (1934), The use of confidence or fiducial limits illustrated in the case of the binomial.
        Biometrika 26, 404-413.

    Example:
        >>> item, annotator = np.divmod(np.arange(2000), 10)
        >>> votes = Votes(*(a.astype(np.int32) for a in (item, annotator, item)), 200, 10, 200)
        >>> right = np.random.default_rng(0).random(2000) < 0.5 + 0.04 * annotator
        >>> share, interval, people = percentile_rank(votes, right.astype(float), np.arange(200) % 10 / 9.0 > 0.05)
        >>> share > 0.9, people
        (True, 10)
    """
    answered = np.bincount(votes.annotator, minlength=votes.annotators)
    chosen = np.flatnonzero(answered >= max(min_answers, 1))
    people = int(chosen.size)
    if not people:
        raise DataError("no annotator answered enough items for the comparison")
    model = np.asarray(model, dtype=np.float64)
    asked = np.bincount(votes.item, minlength=votes.items) > 0
    own = float(model[asked].mean())
    observed = _adjusted(votes, score)[chosen]
    worth = _answers_worth(votes, score)
    # A model without any error, or any right answer, may err on the next item.
    items = float(asked.sum() if votes.cluster is None else cluster_count(votes.cluster[asked]))
    place = (own * items + 0.5) / (items + 1)
    error = max(_advantage_error(votes, model[votes.item] - score), FLOOR / items)
    if people < 2:
        difference = own - float(observed[0])
        share = 0.5 if abs(difference) < _EQUAL else float(difference > 0)
        return share, Interval(0.0, 1.0, level, "one annotator says nothing about others"), 1
    answers = (
        answered / person_effects(votes, components(votes, score)) if votes.cluster is not None else answered
    )
    fitted = _Abilities.fit(observed, np.array(answers[chosen] * worth, dtype=np.float64))
    share = fitted.below(fitted.at, place)
    z = _probit(share)
    slopes = _gradient(lambda at: _probit(fitted.below(at, place)), fitted.at)
    ends = np.clip([place - error, place + error], _SMALLEST, 1 - _SMALLEST)
    by_items = (
        _probit(fitted.below(fitted.at, float(ends[1]))) - _probit(fitted.below(fitted.at, float(ends[0])))
    ) / 2
    deviation = sqrt(max(float(slopes @ fitted.covariance @ slopes), 0.0) + by_items**2)
    reach = student_quantile((1 + level) / 2, people - 1) * deviation
    low, high = (float(scipy.special.ndtr(end)) for end in (z - reach, z + reach))
    extreme = ((1 - level) / 2) ** (1 / people)
    low, high = min(low, extreme), max(high, 1 - extreme)
    method = f"deconvolved scores of people (probit scale, t with {people - 1} degrees of freedom)"
    return share, Interval(low, high, level, method), people


@dataclass(frozen=True, slots=True)
class _Abilities:
    """The fitted distribution of true scores.

    Attributes:
        at: shape (4,), the centre, the log of the spread, the logit of the share of careless annotators, and the log of
            the factor by which the spread is larger below and smaller above the centre.
        covariance: shape (4, 4), of these.
    """

    at: FloatArray
    covariance: FloatArray

    @staticmethod
    def fit(observed: FloatArray, weight: FloatArray) -> _Abilities:
        """Fit the distribution to the observed scores of annotators, each of `weight` answers."""
        log_right, log_wrong = -np.logaddexp(0.0, -NODES), -np.logaddexp(0.0, NODES)
        fit = (weight * observed)[:, None] * log_right + (weight * (1 - observed))[:, None] * log_wrong
        likelihood = np.exp(fit - fit.max(axis=1, keepdims=True))

        def loss(at: FloatArray) -> float:
            share = 1 / (1 + np.exp(-at[2]))
            penalty = at[1] - (at[0] / CENTRE) ** 2 / 2 + CARELESS_PRIOR * np.log1p(-share) + np.log(share)
            # The spread has a weak upper bound too, for two or three annotators.
            penalty -= np.exp(2 * at[1]) / 8 + (at[3] / UNEVEN) ** 2 / 2
            return -float(np.log(np.maximum(likelihood @ _masses(at), 1e-300)).sum() + penalty)

        middle = np.log((observed * weight + 0.5) / ((1 - observed) * weight + 0.5))
        start = np.array([float(np.median(middle)), log(max(float(middle.std()) / 2, 0.2)), -3.0, 0.0])
        options = {"xatol": 1e-4, "fatol": 1e-6, "maxiter": 2000}
        at = scipy.optimize.minimize(loss, start, method="Nelder-Mead", options=options).x
        information = _hessian(loss, at)
        values, vectors = np.linalg.eigh(information)
        inverse = vectors @ np.diag(1 / np.maximum(values, 1e-3)) @ vectors.T
        return _Abilities(at, inverse)

    @staticmethod
    def below(at: FloatArray, place: float) -> float:
        """Return the share of the distribution below a score."""
        logit = log(place / (1 - place))
        share = 1 / (1 + np.exp(-at[2]))
        careless = min(max((logit - at[0] + CARELESS) / CARELESS, 0.0), 1.0)
        return float((1 - share) * _two_piece(np.array(logit), at) + share * careless)


def _two_piece(logit: FloatArray, at: FloatArray) -> FloatArray:
    """Return the share of annotators who are not careless below each logit: two halves of normal distributions."""
    below, above = np.exp(at[1] + at[3]), np.exp(at[1] - at[3])
    apart = logit - at[0]
    low = below * 2 * scipy.special.ndtr(np.minimum(apart, 0.0) / below)
    high = above * (2 * scipy.special.ndtr(np.maximum(apart, 0.0) / above) - 1)
    return np.asarray((low + high) / (below + above))


def _masses(at: FloatArray) -> FloatArray:
    """Return the probability of each node, shape (nodes,)."""
    half = (NODES[1] - NODES[0]) / 2
    share = 1 / (1 + np.exp(-at[2]))
    ends = np.append(NODES - half, NODES[-1] + half)
    edges = np.clip((ends - at[0] + CARELESS) / CARELESS, 0.0, 1.0)
    return np.asarray((1 - share) * np.diff(_two_piece(ends, at)) + share * np.diff(edges))


def _gradient(function: Callable[[FloatArray], float], at: FloatArray) -> FloatArray:
    """Return central differences, shape of `at`."""
    steps = 1e-3 * np.eye(at.size)
    return np.array([(function(at + step) - function(at - step)) / 2e-3 for step in steps])


def _hessian(function: Callable[[FloatArray], float], at: FloatArray) -> FloatArray:
    """Return central second differences, shape (parameters, parameters)."""
    steps = 2e-2 * np.eye(at.size)
    found = [
        [
            (
                function(at + one + two)
                - function(at + one - two)
                - function(at - one + two)
                + function(at - one - two)
            )
            / 1.6e-3
            for two in steps
        ]
        for one in steps
    ]
    return np.array(found)


def _probit(share: float) -> float:
    """Return the normal quantile of a share, at most about 5 either way."""
    return float(scipy.special.ndtri(min(max(share, _SMALLEST), 1 - _SMALLEST)))


def _adjusted(votes: Votes, score: FloatArray) -> FloatArray:
    """Return each annotator's mean score, less the ease of their items as predicted from the others' answers."""
    parts = components(votes, score)
    m = np.bincount(votes.item, minlength=votes.items)[votes.item]
    sums = np.bincount(votes.item, weights=score - score.mean(), minlength=votes.items)[votes.item]
    others = sums - (score - score.mean())
    noise = parts.rest + parts.person
    between = parts.item + parts.cluster
    noise += parts.cell
    pull = between / np.maximum(between * (m - 1) + noise, 1e-12)
    answered = np.maximum(np.bincount(votes.annotator, minlength=votes.annotators), 1)
    adjusted = (
        np.bincount(votes.annotator, weights=score - pull * others, minlength=votes.annotators) / answered
    )
    return np.asarray(np.clip(adjusted, 0.0, 1.0), dtype=np.float64)


def _answers_worth(votes: Votes, score: FloatArray) -> float:
    """Return how many answers scored 0 or 1 have the variance of one answer's score; 1 if all scores are 0 or 1."""
    mean = float(score.mean())
    variance = float(score.var())
    return max(mean * (1 - mean) / variance, 1.0) if variance > 0 else 1.0


def _advantage_error(votes: Votes, apart: FloatArray) -> float:
    """Return the standard error of the model's mean advantage that comes from the items."""
    each = drawn_answer(votes)
    of_item = np.bincount(votes.item, weights=each, minlength=votes.items)
    parts = components(votes, apart)
    variance = parts.item * float(of_item @ of_item) + parts.rest * float(each @ each)
    return float(np.sqrt(variance + clustered_variance(votes, each, parts)))
