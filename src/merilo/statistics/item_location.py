"""Respondents placed on the scale of a fitted item-response model, and what its items can tell about people."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from merilo.errors import DataError
from merilo.statistics import FloatArray
from merilo.statistics.intervals import Interval, student_quantile
from merilo.statistics.item_response import ItemResponseFit

#: If at least this share of people answer an item correctly, or incorrectly, it says almost nothing about them.
TOO_EASY: Final = 0.95
#: Abilities are sought between these bounds around the scale's middle, in logits.
_FARTHEST: Final = 12.0
#: The relative error of the scale's unit if each item had one answer; it falls with the root of their number. Few
#: answers leave the people's spread and the items' difficulties too small. By simulation.
_UNIT_ERROR: Final = 0.3
_METHOD: Final = "items and the people who define the scale (Student)"
#: Quadrature of expectations over people.
_NODE, _HERMITE_WEIGHT = np.polynomial.hermite_e.hermegauss(41)
_WEIGHT = _HERMITE_WEIGHT / _HERMITE_WEIGHT.sum()


@dataclass(frozen=True, slots=True)
class Location:
    """The ability of one respondent on the scale of a fitted model.

    Attributes:
        ability: Warm's weighted likelihood estimate, in logits.
        error: its standard error for these items and these people.
        interval: the 95 % interval over items and people together.
        below: the share of people with a lower ability, between 0 and 1.
        below_interval: its 95 % interval.
        expected_score: the share of all items that a respondent of this ability is expected to answer correctly.
        infit: the weighted mean square of residuals; above 1 if other items are hard for this respondent than
            for people.
        infit_z: infit as a standard normal value.
        dependence: how strongly its answers depend on the people's difficulties: 1 as strongly as people's, 0 not
            at all, below 0 if it fails what is easy for people.
        dependence_z: the difference of the dependence from 1, as a standard normal value.
        expected: shape (items answered,), the probability of a correct answer to each of the items.
        surprise: shape (items answered,), the standardised residual; below 0 if it fails where people succeed.
    """

    ability: float
    error: float
    interval: Interval
    below: float
    below_interval: Interval
    expected_score: float
    infit: float
    infit_z: float
    dependence: float
    dependence_z: float
    expected: FloatArray
    surprise: FloatArray


@dataclass(frozen=True, slots=True)
class PeopleOnScale:
    """The distribution of people's ability.

    Attributes:
        median: the ability of the median person.
        best_tenth: the ability that the best tenth of people exceed.
        spread: the standard deviation of abilities.
        median_interval: the 95 % interval of the median.
        best_tenth_interval: the 95 % interval of the ability that the best tenth exceed.
        median_score: the share of all items that the median person is expected to answer correctly.
        best_tenth_score: the same for a person at the best tenth.
    """

    median: float
    best_tenth: float
    spread: float
    median_interval: Interval
    best_tenth_interval: Interval
    median_score: float
    best_tenth_score: float


@dataclass(frozen=True, slots=True)
class ItemInformation:
    """What each item tells about people.

    Attributes:
        share_right: shape (items,), the share of people expected to answer correctly.
        information: shape (items,), Fisher's information about an ability in logits, averaged over people.
        too_easy: shape (items,), the probability that at least 95 % of people would answer correctly.
        too_hard: shape (items,), the probability that at most 5 % would.
    """

    share_right: FloatArray
    information: FloatArray
    too_easy: FloatArray
    too_hard: FloatArray


def locate(fit: ItemResponseFit, item: NDArray[np.signedinteger], score: FloatArray) -> Location:
    """Estimate the ability of a respondent whose answers were not used to fit the model.

    Warm's estimate maximises the likelihood times the root of the information; unlike the maximum of the
    likelihood it is finite if every answer is correct. What the fit does not know of an item's difficulty is
    integrated out: its logit is divided by the root of 1 + π v / 8, with v the posterior variance of the
    intercept (MacKay). The interval adds the error of the scale, whose origin and unit come from the people
    of the study (`_over_people`); its quantile is Student's.

    Args:
        fit: the model fitted to people.
        item: shape (n,), codes of the items that the respondent answered, each once.
        score: shape (n,), the scores, each 0 or 1, or the share of correct answers.

    Raises:
        DataError: none of the items has an estimated difficulty.

    References:
        T. Warm (1989), Weighted likelihood estimation of ability in item response theory. Psychometrika 54, 427-450.
        D. MacKay (1992), The evidence framework applied to classification networks. Neural Computation 4, 720-736.
    """
    usable = np.isfinite(fit.difficulty[item])
    if not usable.any():
        raise DataError("none of the items that were answered has an estimated difficulty")
    slope, intercept = _moderated(fit)
    a, d, y = slope[item[usable]], intercept[item[usable]], score[usable]

    def weighted_score(theta: float) -> float:
        p = scipy.special.expit(a * theta + d)
        information = a**2 * p * (1 - p)
        bias = (a * information * (1 - 2 * p)).sum() / (2 * max(float(information.sum()), 1e-300))
        return float((a * (y - p)).sum() + bias)

    low, high = (
        float(np.clip(-d / a, -30, 30).min()) - _FARTHEST,
        float(np.clip(-d / a, -30, 30).max()) + _FARTHEST,
    )
    ability = float(scipy.optimize.brentq(weighted_score, low, high, xtol=1e-8))
    p = scipy.special.expit(a * ability + d)
    information = float((a**2 * p * (1 - p)).sum())
    error = 1 / sqrt(information)
    interval = _over_people(fit, ability, error)
    below, share = _share_below(fit, ability, error)
    variance = p * (1 - p)
    infit = float(((y - p) ** 2).sum() / variance.sum())
    deviation = sqrt(float((variance * (1 - 4 * variance)).sum())) / float(variance.sum())
    z = (infit ** (1 / 3) - 1) * 3 / deviation + deviation / 3 if deviation > 1e-9 else 0.0
    dependence, dependence_z = _dependence(d, y - p, variance)
    expected = np.full(len(item), np.nan)
    expected[usable] = p
    with np.errstate(divide="ignore", invalid="ignore"):
        surprise = (score - expected) / np.sqrt(expected * (1 - expected))
    return Location(
        ability,
        error,
        interval,
        below,
        share,
        expected_score(fit, ability),
        infit,
        z,
        dependence,
        dependence_z,
        expected,
        surprise,
    )


def _dependence(easiness: FloatArray, residual: FloatArray, variance: FloatArray) -> tuple[float, float]:
    """Return the slope of a respondent's logits on the people's, by one Newton step from 1, and its score test.

    Easiness is centred with the weights of Fisher's information, because the ability is estimated from these answers.
    """
    centred = easiness - (variance @ easiness) / variance.sum()
    information = float(variance @ centred**2)
    if information < 1e-9:
        return 1.0, 0.0
    score = float(residual @ centred)
    return 1 + score / information, score / sqrt(information)


def expected_score(fit: ItemResponseFit, ability: float) -> float:
    """Return the share of all items that a respondent of this ability is expected to answer correctly."""
    slope, intercept = _moderated(fit)
    known = np.isfinite(intercept)
    return float(scipy.special.expit(slope[known] * ability + intercept[known]).mean())


def people_on_scale(fit: ItemResponseFit) -> PeopleOnScale:
    """Return the ability of the median person and of the best tenth, for normally distributed abilities."""
    tenth = NormalDist().inv_cdf(0.9) * fit.spread
    # The error of the spread, as of the share below.
    doubt = min(tenth / sqrt(2 * max(fit.effective_spread, 1e-9)), _FARTHEST)
    return PeopleOnScale(
        0.0,
        tenth,
        fit.spread,
        _over_people(fit, 0.0, 0.0),
        _over_people(fit, tenth, doubt),
        expected_score(fit, 0.0),
        expected_score(fit, tenth),
    )


def information(fit: ItemResponseFit) -> ItemInformation:
    """Compute what each item tells about people: Fisher's information averaged over the distribution of abilities.

    Whether an item is too easy or too hard is a probability, because few answers leave its difficulty
    uncertain; the mean over items estimates their share without the bias of counting shrunk estimates.

    References:
        F. Lord (1980), Applications of item response theory to practical testing problems, chapter 5 (test
        information).
    """
    slope, intercept = _moderated(fit)
    p = scipy.special.expit(slope[:, None] * (fit.spread * _NODE) + intercept[:, None])
    share = p @ _WEIGHT
    with np.errstate(invalid="ignore"):
        found = (slope[:, None] ** 2 * p * (1 - p)) @ _WEIGHT
    share = np.where(fit.difficulty == -np.inf, 1.0, np.where(fit.difficulty == np.inf, 0.0, share))
    # The logit at which the share, averaged over abilities, reaches the limit (MacKay's approximation).
    limit = np.log(TOO_EASY / (1 - TOO_EASY)) * np.sqrt(1 + pi * (fit.discrimination * fit.spread) ** 2 / 8)
    logit, deviation = -fit.discrimination * fit.difficulty, np.sqrt(fit.intercept_variance)
    easy, hard = (
        scipy.special.ndtr((logit - limit) / deviation),
        scipy.special.ndtr((-logit - limit) / deviation),
    )
    sure = ~np.isfinite(fit.difficulty)
    return ItemInformation(
        share, np.nan_to_num(found), np.where(sure, share >= 1, easy), np.where(sure, share <= 0, hard)
    )


def _moderated(fit: ItemResponseFit) -> tuple[FloatArray, FloatArray]:
    """Return slopes and intercepts with the intercepts' uncertainty integrated out; `nan` where nothing is known."""
    known = np.isfinite(fit.difficulty)
    slope = np.where(known, fit.discrimination, np.nan)
    intercept = np.where(known, -slope * np.where(known, fit.difficulty, 0.0), np.nan)
    shrunk = 1 / np.sqrt(1 + pi * fit.intercept_variance / 8)
    return slope * shrunk, intercept * shrunk


def _over_people(fit: ItemResponseFit, ability: float, error: float) -> Interval:
    """Return the interval of a place on the scale, adding the error of the scale's origin and of its unit.

    The origin is the average person: with s the spread of abilities and r_i the reliability of respondent i's ability,
    the mean of abilities has the variance s² / (Σ r_i - 1); 1 is subtracted because s is estimated by maximum
    likelihood, with the mean. The unit's relative error depends on the number of answers to an item.
    """
    origin = fit.spread**2 / max(fit.effective - 1, fit.effective / 2, 1e-9)
    unit = _UNIT_ERROR * ability / sqrt(float(fit.answers[fit.answers > 0].mean()))
    variance = error**2 + origin + unit**2
    freedom = max(fit.effective - 1, 1.0) * (variance / origin) ** 2 if origin > 0 else 1e6
    reach = student_quantile(0.975, min(freedom, 1e6)) * sqrt(variance)
    return Interval(ability - reach, ability + reach, 0.95, _METHOD)


def _share_below(fit: ItemResponseFit, ability: float, error: float) -> tuple[float, Interval]:
    """Return the share of people below an ability, Φ(ability / spread), and its interval by the delta method.

    The logarithm of the spread has the variance 1 / (2 Σ r_i²), with r_i the reliability of respondent i's ability.
    """
    normal = NormalDist()
    spread = max(fit.spread, 1e-9)
    at = ability / spread
    variance = error**2 / spread**2 + 1 / max(fit.effective, 1e-9)
    variance += at**2 / (2 * max(fit.effective_spread, 1e-9))
    reach = student_quantile(0.975, max(fit.effective - 1, 1.0)) * sqrt(variance)
    return normal.cdf(at), Interval(normal.cdf(at - reach), normal.cdf(at + reach), 0.95, _METHOD)
