"""What the best person of a study and its best tenth reach on other items, with their selection allowed for.

Whoever scored best was partly lucky, so the score that made somebody the best is too high (the winner's curse). The
estimate takes the distribution of all the people's accuracy into account, and chance in it: with this distribution
known, the selection does not bias what is known about a person.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from merilo.people.uncertainty.annotator_accuracy import (
    MIN_ANSWERS,
    Components,
    components,
    drawn_answer,
    person_effects,
)
from merilo.people.votes import Votes
from merilo.statistics import FloatArray
from merilo.statistics.intervals import Interval

#: The share of the people that is the best tenth.
TENTH: Final = 0.1
#: With fewer people, the best is not distinguished from the others.
FEWEST_PEOPLE: Final = 3

#: The distributions of accuracy: a beta distribution with a mean and a concentration, and a share of people of another
#: kind, who guess or are alike in another accuracy.
_MEANS: Final = 1 / (1 + np.exp(-np.linspace(-3.5, 6.5, 34)))
_CONCENTRATIONS: Final = np.geomspace(1.5, 3000.0, 11)
_KINDS: Final = 1 / (1 + np.exp(-np.linspace(-1.5, 5.0, 10)))
_SHARES: Final = np.array([0.08, 0.2, 0.4, 0.65])
#: The prior probability that there is no other kind of people, and that those of another kind guess.
_ONE_KIND, _GUESSING = 0.5, 0.2
#: How concentrated the accuracy of people of another kind is.
_ALIKE: Final = 100.0
#: The share of the correction for luck that is doubted: other distributions would pull the chosen ones less or more.
_DOUBTED: Final = 0.25
_DRAWS: Final = 4000


@dataclass(frozen=True, slots=True)
class ChosenPeople:
    """The people of a study who did best, and what they would reach on other items.

    Attributes:
        people: their codes, the best first.
        among: the number of people from whom they were chosen.
        observed: their mean score on the items that chose them.
        value: the expected score on other items.
        interval: its interval, over items, chance in the choice and the distribution of the people's accuracy.
    """

    people: tuple[int, ...]
    among: int
    observed: float
    value: float
    interval: Interval


def chosen_people(
    votes: Votes,
    score: FloatArray,
    *,
    guess: float | None = None,
    min_answers: int = MIN_ANSWERS,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[ChosenPeople, ChosenPeople] | None:
    """Estimate what the best person and the best tenth of the people reach on other items.

    The number of right answers of a person is binomial, with an accuracy from a beta distribution or, for a share of
    the people, that of another kind of people, such as those who guess. None of these numbers is known: all values
    of a grid count by their likelihood. People are chosen by the mean of what is then known about each of them. The
    uncertainty because people answered the same items, which may be easy or hard ones, is added. So is a doubt of the
    distribution, because no study is large enough to tell which is right: a quarter of the correction for luck.

    Args:
        votes: the answers, at most one per annotator and item.
        score: shape (n,), the points of each answer, 0 to 1.
        guess: the expected accuracy of random guessing; by default, that of one of the labels given.
        min_answers: people with fewer answers are not chosen.
        level: the nominal coverage, in (0, 1).
        seed: random seed of the draws.

    Returns:
        The best person and the best tenth, at least one; `None` if fewer than three people gave enough answers.

    References:
        B. Efron (2011), Tweedie's formula and selection bias. J. American Statistical Association 106, 1602-1614.
        A. Dawid (1994), Selection paradoxes of Bayesian inference. IMS Lecture Notes 24, 211-220.

    Example:
        Ten people of equal accuracy: the best one was lucky.

        >>> item, person = np.divmod(np.arange(1000, dtype=np.int32), 10)
        >>> right = np.random.default_rng(0).random(1000) < 0.8
        >>> best, _ = chosen_people(Votes(item, person, right.astype(np.int32), 100, 10, 2), right.astype(float))
        >>> round(best.observed, 2), round(best.value, 2)
        (0.9, 0.86)
    """
    answered = np.bincount(votes.annotator, minlength=votes.annotators)
    people = np.flatnonzero(answered >= max(min_answers, 1))
    if people.shape[0] < FEWEST_PEOPLE:
        return None
    parts = components(votes, score)
    n = answered[people].astype(np.float64)
    observed = np.bincount(votes.annotator, weights=score, minlength=votes.annotators)[people] / n
    mean = float(observed @ n / n.sum())
    # Points that vary less than right and wrong ones of the same mean tell more; items of one cluster tell less.
    chance = parts.item + parts.rest + parts.cluster + parts.cell
    worth = min(max(mean * (1 - mean) / chance, 1.0), 100.0) if chance > 0 else 1.0
    trials = n * (1.0 if np.isin(score, (0.0, 1.0)).all() else worth) / person_effects(votes, parts)[people]
    labels = max(np.unique(votes.label).shape[0], 2)
    at_chance = min(max(1 / labels if guess is None else guess, 0.01), 0.5)
    posterior = _posterior(trials * observed, trials, at_chance)
    # Equal people are told apart by their items and not by their names, which a published folder replaces.
    asked = np.bincount(votes.annotator, weights=votes.item, minlength=votes.annotators)[people]
    order = np.lexsort((asked, -posterior.mean.round(12)))
    draws = posterior.draws(order[: ceil(TENTH * people.shape[0])], np.random.default_rng(seed))
    found = []
    for size in (1, draws.shape[0]):
        chosen, drawn = order[:size], draws[:size].mean(axis=0)
        value, scored = float(posterior.mean[chosen].mean()), float(observed[chosen].mean())
        extra = _item_variance(votes, parts, people[chosen], posterior.pull[chosen])
        noise = sqrt(extra + (_DOUBTED * (scored - value)) ** 2)
        drawn = drawn + noise * np.random.default_rng(seed + 1).standard_normal(drawn.shape[0])
        low, high = np.quantile(np.clip(drawn, 0.0, 1.0), [(1 - level) / 2, (1 + level) / 2])
        method = "hierarchical beta-binomial model of all people, over items and the choice"
        found.append(
            ChosenPeople(
                tuple(people[chosen].tolist()),
                people.shape[0],
                scored,
                value,
                Interval(min(float(low), value), max(float(high), value), level, method),
            )
        )
    return found[0], found[1]


@dataclass(frozen=True, slots=True)
class _Posterior:
    """What is known about each person's accuracy.

    Attributes:
        right: shape (people,), the right answers.
        trials: shape (people,), all answers.
        grid: shape (points, 4): mean, concentration, accuracy of the other kind of people, probability of the point.
        others: shape (people, points), the probability that the person is of the other kind.
        mean: shape (people,), the expected accuracy.
        pull: shape (people,), the weight of the person's own score in it, 0 to 1.
    """

    right: FloatArray
    trials: FloatArray
    grid: FloatArray
    others: FloatArray
    mean: FloatArray
    pull: FloatArray

    def draws(self, chosen: NDArray[np.intp], rng: np.random.Generator) -> FloatArray:
        """Draw the accuracies of people together, shape (people, draws)."""
        at = rng.choice(self.grid.shape[0], _DRAWS, p=self.grid[:, 3])
        mean, concentration, kind = self.grid[at, :3].T
        drawn = np.empty((chosen.shape[0], _DRAWS))
        for row, person in enumerate(chosen.tolist()):
            other = rng.random(_DRAWS) < self.others[person, at]
            of = np.where(other, kind, mean)
            strength = np.where(other, _ALIKE, concentration)
            x, n = self.right[person], self.trials[person]
            drawn[row] = rng.beta(of * strength + x, (1 - of) * strength + n - x)
        return drawn


def _posterior(right: FloatArray, trials: FloatArray, chance: float) -> _Posterior:
    """Weigh all distributions of accuracy by their likelihood."""
    both, place, times = np.unique(np.stack([right, trials]), axis=1, return_inverse=True, return_counts=True)
    x, n = both[0][:, None], both[1][:, None]
    mean, concentration = (one.ravel() for one in np.meshgrid(_MEANS, _CONCENTRATIONS, indexing="ij"))
    kinds = np.r_[chance, _KINDS]
    usual = _log_likelihood(x, n, mean, concentration)
    other = _log_likelihood(x, n, kinds, np.full(kinds.shape, _ALIKE))
    prior = np.log((1 - _ONE_KIND) * np.r_[_GUESSING, np.full(_KINDS.shape, (1 - _GUESSING) / _KINDS.size)])
    # Between a uniform prior of the logarithm of the concentration and one of the standard deviation between people.
    spread = -0.25 * np.log(concentration)
    # The points of the grid: the distribution, the other kind of people (-1: none) and its share.
    logs, points = [times @ usual + np.log(_ONE_KIND) + spread], [(np.arange(mean.size), -1, 0.0)]
    for at, before in enumerate(prior):
        for share in _SHARES:
            mixed = np.logaddexp(np.log1p(-share) + usual, np.log(share) + other[:, at, None])
            logs.append(times @ mixed + before - np.log(_SHARES.size) + spread)
            points.append((np.arange(mean.size), at, share))
    weights = np.stack(logs)
    weights = np.exp(weights - weights.max())
    block, of = np.nonzero(weights > 1e-5)
    weight = weights[block, of] / weights[block, of].sum()
    kind = np.array([one for _, one, _ in points])[block]
    share = np.array([one for *_, one in points])[block]
    with np.errstate(divide="ignore"):
        odds = np.log(share) - np.log1p(-share) + other[:, kind] - usual[:, of]
    others = np.where(share > 0, 1 / (1 + np.exp(-np.clip(odds, -500, 500))), 0.0)
    m, s, q = mean[of], concentration[of], kinds[kind]
    expected = others * (q * _ALIKE + x) / (_ALIKE + n) + (1 - others) * (m * s + x) / (s + n)
    pull = others * n / (_ALIKE + n) + (1 - others) * n / (s + n)
    place = place.ravel()
    grid = np.column_stack([m, s, q, weight])
    return _Posterior(right, trials, grid, others[place], (expected @ weight)[place], (pull @ weight)[place])


def _log_likelihood(x: FloatArray, n: FloatArray, mean: FloatArray, strength: FloatArray) -> FloatArray:
    """Return the logarithm of the beta-binomial likelihood, shape (people, distributions)."""
    a, b = mean * strength, (1 - mean) * strength
    return np.asarray(betaln(a + x, b + n - x) - betaln(a, b))


def _item_variance(votes: Votes, parts: Components, people: NDArray[np.integer], pull: FloatArray) -> float:
    """Return the variance because the items are a sample that the binomial model of single people does not contain.

    The estimate of a person is partly their own mean and partly that of all people, and people share items.
    """
    answered = np.bincount(votes.annotator, minlength=votes.annotators)
    own = np.zeros(votes.annotators)
    own[people] = pull / people.shape[0] / answered[people]
    each = own[votes.annotator] + (1 - pull.mean()) * drawn_answer(votes)
    of_item = np.bincount(votes.item, weights=each, minlength=votes.items)
    variance = parts.item * (float(of_item @ of_item) - float((own[people] ** 2 * answered[people]).sum()))
    if votes.cluster is not None:
        of_cluster = np.bincount(votes.unit, weights=each)
        alone = np.bincount(votes.annotator, weights=each, minlength=votes.annotators)[people]
        clusters = np.unique(votes.unit).shape[0]
        variance += parts.cluster * max(float(of_cluster @ of_cluster) - float(alone @ alone) / clusters, 0.0)
    return max(variance, 0.0)
