"""Answers that echo a model's: how many answers of a study a model gave in place of its annotators.

Annotator i gives the model's answer with probability c_i, and otherwise an answer of their own. An own answer to
item j is right with probability 1 / (1 + exp(b_j - t_i)) for the ability t_i of the annotator and the difficulty b_j
of the item; difficulties have another mean where the model is wrong. People and models fall for the same lures: an own
wrong answer to an item on which the model is wrong equals the model's as often as other annotators' own wrong answers
to this item do, drawn towards the study's mean. What remains is agreement that neither skill nor lures explain.

Abilities are integrated out, and the distribution of c over annotators is estimated on a grid. An echo of right
answers alone cannot be told from skill, and what every annotator repeats cannot be told from a lure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from merilo.people.quality import BoolArray
from merilo.people.votes import IntArray
from merilo.statistics import FloatArray
from merilo.statistics.intervals import Interval

#: The shares of an annotator's answers that are tried; 0 is an annotator who answers alone.
_SHARES: Final = np.array([0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1])
#: The abilities that are integrated over, in standard deviations of the annotators.
_ABILITIES: Final = np.linspace(-3, 3, 13)
#: Steps of the EM algorithm: with more of them the estimate changes by less than its Monte Carlo error.
_STEPS: Final = 30
#: How many own wrong answers to an item the study's share of lured ones counts as.
_LENT: Final = 4.0
#: Draws from the posterior distribution of the annotators' shares, the first of which are left out.
_DRAWS, _FIRST = 1200, 200
#: Answers times grid points that are held in memory at once.
_CELLS: Final = 4_000_000
#: An annotator is named if the p-value, corrected by Holm's method over the annotators, is at most this.
NAMED: Final = 0.02


@dataclass(frozen=True, slots=True)
class Echo:
    """How many answers of a study echo a model.

    Attributes:
        share: the expected share of answers that the model gave.
        interval: its 95 % credible interval.
        people: shape (annotators,), the expected share of each annotator's answers; NaN without answers.
        p: shape (annotators,), p-values of the test that the annotator answered alone; NaN without answers.
    """

    share: float
    interval: Interval
    people: FloatArray
    p: FloatArray


@dataclass(slots=True)
class _State:
    """The parameters of the model, updated by each step."""

    difficulty: FloatArray
    mean: FloatArray
    spread: float
    ability: tuple[float, float]
    lured: FloatArray
    shares: FloatArray


@dataclass(frozen=True, slots=True)
class _Answers:
    """The answers, sorted by annotator."""

    annotator: IntArray
    item: IntArray
    right: BoolArray
    echoes: BoolArray
    missed: BoolArray
    labels: int
    annotators: int
    items: int

    def chunks(self) -> Iterator[slice]:
        """Divide the answers between annotators, so that no part is too large for the memory."""
        most = max(_CELLS // (_SHARES.size * _ABILITIES.size), 1)
        start = 0
        while start < self.item.size:
            end = min(start + most, self.item.size)
            if end < self.item.size:
                first = int(np.searchsorted(self.annotator, self.annotator[end]))
                end = (
                    first
                    if first > start
                    else int(np.searchsorted(self.annotator, self.annotator[end], "right"))
                )
            yield slice(start, end)
            start = end


def model_echo(
    annotator: IntArray,
    item: IntArray,
    *,
    right: BoolArray,
    echoes: BoolArray,
    model_right: BoolArray,
    labels: int,
    seed: int = 0,
) -> Echo:
    """Estimate how many answers of a study a model gave in place of its annotators.

    Args:
        annotator: shape (n,), codes of annotators.
        item: shape (n,), codes of items.
        right: shape (n,), whether the answer is right.
        echoes: shape (n,), whether it is the model's answer.
        model_right: shape (items,), whether the model's answer to the item is right.
        labels: how many answers an item has to choose from.
        seed: random seed of the draws for the interval.

    References:
        A. Dempster, N. Laird, D. Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm.
        N. Laird (1978), Nonparametric maximum likelihood estimation of a mixing distribution.
    """
    order = np.argsort(annotator, kind="stable")
    codes, person = np.unique(annotator[order], return_inverse=True)
    answers = _Answers(
        person.astype(np.int32),
        item[order],
        right[order],
        echoes[order],
        ~model_right[item[order]],
        max(labels, 2),
        codes.size,
        model_right.size,
    )
    likelihood, expected, variance, posterior = _fitted(answers, ~model_right)
    ratio = 2 * (likelihood.max(1) - likelihood[:, 0])
    tested = np.where(ratio > 1e-9, scipy.special.gammaincc(0.5, ratio / 2) / 2, 1.0)
    drawn = _draws(likelihood, expected, variance, np.random.default_rng(seed)) / item.size
    low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
    people = np.full(int(annotator.max(initial=-1)) + 1, np.nan)
    p = people.copy()
    people[codes] = (posterior * expected).sum(1) / np.bincount(person)
    p[codes] = tested
    interval = Interval(low, high, method="posterior distribution of annotators' shares (1000 draws)")
    return Echo(float(drawn.mean()), interval, people, p)


def _fitted(answers: _Answers, missed: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Fit the model.

    Returns:
        For each annotator and share in `_SHARES`: the log-likelihood; the expected number of echoes; its variance; the
        posterior probability.
    """
    items = answers.items
    state = _State(
        np.zeros(items), np.zeros(items), 1.0, (1.0, 1.0),
        np.full(answers.item.size, 1 / (answers.labels - 1)), np.full(_SHARES.size, 0.1 / (_SHARES.size - 1)),
    )  # fmt: skip
    state.shares[0] = 0.9
    for _ in range(_STEPS):
        _maximise(answers, state, _expected(answers, state), missed)
    grid = (answers.annotators, _SHARES.size)
    likelihood, echoes, variance, posterior = (np.zeros(grid) for _ in range(4))
    for piece in _pieces(answers, state):
        people = piece.people
        likelihood[people], posterior[people] = piece.likelihood, piece.posterior
        echo = (piece.weight[piece.place] * (piece.by_model / piece.either)).sum(2)
        echoes[people] = np.add.reduceat(echo, piece.first)
        variance[people] = np.add.reduceat(echo * (1 - echo), piece.first)
    return likelihood, echoes, variance, posterior


@dataclass(frozen=True, slots=True)
class _Piece:
    """The probabilities of the answers of some annotators, given the parameters.

    Attributes:
        rows: the answers.
        people: shape (people,), the annotators.
        first: shape (people,), where their answers begin in `rows`.
        place: shape (rows,), the place of each answer's annotator in `people`.
        by_model: shape (rows, shares, 1), the probability of the answer as the model's.
        by_person: shape (rows, shares, abilities), that as the annotator's own.
        either: shape (rows, shares, abilities), their sum.
        likelihood, posterior: shape (people, shares), see `_fitted`.
        weight: shape (people, shares, abilities), the probabilities of abilities given the share.
    """

    rows: slice
    people: IntArray
    first: NDArray[np.intp]
    place: IntArray
    by_model: FloatArray
    by_person: FloatArray
    either: FloatArray
    likelihood: FloatArray
    posterior: FloatArray
    weight: FloatArray


def _pieces(answers: _Answers, state: _State) -> Iterator[_Piece]:
    prior = np.exp(-(_ABILITIES**2) / 2)
    log_prior = np.log(prior / prior.sum())
    mean, spread = state.ability
    missed_label = np.where(
        answers.missed,
        np.where(answers.echoes, state.lured, (1 - state.lured) / max(answers.labels - 2, 1)),
        1 / (answers.labels - 1),
    )
    share = _SHARES[None, :, None]
    for rows in answers.chunks():
        people, first = np.unique(answers.annotator[rows], return_index=True)
        right = scipy.special.expit(
            mean + spread * _ABILITIES - state.difficulty[answers.item[rows]][:, None]
        )
        alone = np.where(answers.right[rows, None], right, (1 - right) * missed_label[rows, None])
        by_model = share * answers.echoes[rows, None, None]
        by_person = (1 - share) * alone[:, None, :]
        either = by_model + by_person + 1e-12
        joint = np.add.reduceat(np.log(either), first) + log_prior
        top = joint.max(2, keepdims=True)
        weight = np.exp(joint - top)
        likelihood = np.log(weight.sum(2)) + top[:, :, 0]
        log_share = likelihood + np.log(state.shares)
        posterior = np.exp(log_share - log_share.max(1, keepdims=True))
        yield _Piece(
            rows, people, first, answers.annotator[rows] - people[0], by_model, by_person, either,
            likelihood, posterior / posterior.sum(1, keepdims=True), weight / weight.sum(2, keepdims=True),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Expected:
    """What one step expects, given the parameters.

    Attributes:
        shares: shape (shares,), the expected number of annotators with each share.
        abilities: shape (annotators, abilities), the posterior probabilities of abilities.
        own: shape (n, abilities), the probabilities that an answer is the annotator's own, with each ability.
    """

    shares: FloatArray
    abilities: FloatArray
    own: FloatArray


def _expected(answers: _Answers, state: _State) -> _Expected:
    posterior = np.zeros((answers.annotators, _SHARES.size))
    abilities = np.zeros((answers.annotators, _ABILITIES.size))
    own = np.zeros((answers.item.size, _ABILITIES.size))
    for piece in _pieces(answers, state):
        posterior[piece.people] = piece.posterior
        both = piece.posterior[:, :, None] * piece.weight
        abilities[piece.people] = both.sum(1)
        own[piece.rows] = (both[piece.place] * (piece.by_person / piece.either)).sum(1)
    return _Expected(posterior.sum(0), abilities, own)


def _maximise(answers: _Answers, state: _State, found: _Expected, missed: BoolArray) -> None:
    """Update the parameters."""
    mean, spread = state.ability
    ability = mean + spread * _ABILITIES
    # A Newton step of the difficulties, drawn towards the mean of the items on which the model is right or wrong.
    right = scipy.special.expit(ability - state.difficulty[answers.item][:, None])
    known = (found.own * right * (1 - right)).sum(1)
    slope = (found.own * (right - answers.right[:, None])).sum(1)
    precision = np.bincount(answers.item, weights=known, minlength=answers.items) + state.spread**-2
    pull = (state.difficulty - state.mean) / state.spread**2
    gradient = np.bincount(answers.item, weights=slope, minlength=answers.items) - pull
    state.difficulty = state.difficulty + np.clip(gradient / precision, -1, 1)
    state.difficulty -= state.difficulty.mean()
    state.mean = np.zeros(answers.items)
    for group in (missed, ~missed):
        if group.any():
            state.mean[group] = state.difficulty[group].mean()
    doubt = (state.difficulty - state.mean) ** 2 + 1 / precision
    state.spread = float(np.sqrt(np.clip(doubt.mean(), 0.1, 4.0)))
    first = float((found.abilities @ ability).mean())
    second = float((found.abilities @ ability**2).mean())
    state.ability = first, max(np.sqrt(max(second - first**2, 0.0)), 0.3)
    # The lures: the own wrong answers of the others to the same item.
    own = found.own.sum(1) * (~answers.right & answers.missed)
    lured = own * answers.echoes
    share = (float(lured.sum()) + 1) / (float(own.sum()) + answers.labels - 1)
    wrong = np.bincount(answers.item, weights=own, minlength=answers.items)[answers.item] - own
    hits = np.bincount(answers.item, weights=lured, minlength=answers.items)[answers.item] - lured
    state.lured = (hits + _LENT * share) / (wrong + _LENT)
    counts = found.shares + np.where(_SHARES == 0, 0.5, 0.05)
    state.shares = counts / counts.sum()


def _draws(
    likelihood: FloatArray, expected: FloatArray, variance: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Draw the number of echoes in the study from its posterior distribution by Gibbs sampling, shape (draws,)."""
    people, grid = likelihood.shape
    weight = np.exp(likelihood - likelihood.max(1, keepdims=True))
    prior = np.full(grid, 1 / (grid - 1))
    prior[0] = 1.0
    shares = prior / prior.sum()
    place, drawn = np.arange(people), np.empty(_DRAWS)
    for draw in range(_DRAWS):
        cumulated = (weight * shares).cumsum(1)
        chosen = (cumulated < rng.random((people, 1)) * cumulated[:, -1:]).sum(1)
        shares = np.maximum(rng.dirichlet(prior + np.bincount(chosen, minlength=grid)), 1e-300)
        spread = np.sqrt(variance[place, chosen].sum())
        drawn[draw] = max(expected[place, chosen].sum() + spread * rng.standard_normal(), 0.0)
    return drawn[_FIRST:]
