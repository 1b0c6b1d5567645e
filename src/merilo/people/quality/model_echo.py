"""Answers that echo a model's: how many answers of a study a model gave in place of its annotators.

Annotator i gives the model's answer with probability c_i, and otherwise an answer of their own. An own answer to
item j is right with probability 1 / (1 + exp(b_j - t_i)) for the ability t_i of the annotator and the difficulty b_j
of the item; difficulties have another mean where the model is wrong. People and models fall for the same lures: an own
wrong answer to item j equals the model's wrong answer with probability l_j. A few annotators may guess: their own
answers are drawn evenly from all answers. What remains is agreement that neither skill nor lures nor chance explain.

All of these quantities are drawn from their joint posterior distribution by Gibbs sampling, so the intervals allow
for what the data do not tell: an echo of right answers looks like skill, and what everybody repeats like a lure.
"""

from __future__ import annotations

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
_SHARES: Final = np.array([0, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1])
#: The beta prior of the share of annotators who do not answer alone, and the Dirichlet prior of how much they copy.
_NOT_ALONE: Final = (0.3, 2.0)
_HOW_MUCH: Final = 0.12
#: The abilities and the difficulties that are tried, in standard deviations from the mean.
_GRID: Final = np.linspace(-2.8, 2.8, 15)
_DENSITY: Final = -(_GRID**2) / 2
#: The prior share of annotators who guess; they have the place after the abilities.
_GUESSERS: Final = 0.03
#: The prior of the mean difficulty of the items that the model misses: normal distribution, the others have mean 0.
_MISSED: Final = (0.75, 0.75)
#: How far the lures of the items may differ: parameters a + b of their beta distribution, and its means.
_CONCENTRATIONS: Final = np.array([1.0, 4.0, 16.0])
_MEANS: Final = np.linspace(0.025, 0.975, 20)
_ALPHA, _BETA = _CONCENTRATIONS[:, None] * _MEANS, _CONCENTRATIONS[:, None] * (1 - _MEANS)
_NORMALISER: Final = scipy.special.betaln(_ALPHA, _BETA)
#: Draws, the first of which are left out.
_DRAWS, _FIRST = 600, 100
#: Numbers that are held in memory at once.
_CELLS: Final = 4_000_000
#: An annotator is named if the probability that they answered alone is at most this.
NAMED: Final = 0.05

_TINY: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Echo:
    """How many answers of a study echo a model.

    Attributes:
        share: the expected share of answers that the model gave.
        interval: its 95 % credible interval.
        people: shape (annotators,), the expected share of each annotator's answers; NaN without answers.
        alone: shape (annotators,), the probability that the annotator answered alone; NaN without answers.
    """

    share: float
    interval: Interval
    people: FloatArray
    alone: FloatArray


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
        seed: random seed of the draws.

    References:
        A. Gelfand, A. Smith (1990), Sampling-based approaches to calculating marginal densities.
    """
    codes, person = np.unique(annotator, return_inverse=True)
    order = np.argsort(person, kind="stable")
    chain = _Chain(
        person[order].astype(np.intp), item[order].astype(np.intp), right[order], echoes[order],
        missed=~model_right, labels=labels, seed=seed,
    )  # fmt: skip
    drawn, people, alone = [], np.zeros(codes.size), np.zeros(codes.size)
    for draw in range(_DRAWS):
        chain.step()
        if draw >= _FIRST:
            drawn.append(chain.copied)
            people += chain.posterior @ _SHARES
            alone += chain.posterior[:, 0]
    shares = np.array(drawn) / item.size
    low, high = np.quantile(shares, (0.025, 0.975)).tolist()
    every = np.full((2, int(annotator.max(initial=-1)) + 1), np.nan)
    every[:, codes] = np.stack((people, alone)) / len(drawn)
    interval = Interval(low, high, method=f"posterior distribution ({len(drawn)} draws)")
    return Echo(float(shares.mean()), interval, every[0], every[1])


#: What an answer is: a right one that the model gave too, another right one, another wrong one, the model's wrong one.
_SHARED, _RIGHT, _WRONG, _LURED = range(4)


class _Own:
    """The logarithms of the probabilities of own answers, right and wrong, shape (2 * difficulties, abilities + 1).

    The rows are the places of difficulties, those of items that the model misses after the others; the last column is
    that of somebody who guesses.
    """

    def __init__(self, ability: FloatArray, difficulty: FloatArray, labels: int) -> None:
        above = np.append(ability, 0.0) - difficulty.reshape(-1, 1)
        self.right = -np.logaddexp(0, -above)
        self.wrong = self.right - above
        self.right[:, -1], self.wrong[:, -1] = np.log(1 / labels), np.log(1 - 1 / labels)


class _Chain:
    """A Markov chain over all that is not known; answers are sorted by annotator.

    Attributes:
        posterior: shape (annotators, shares), the probabilities of the shares given the other draws.
        copied: the number of answers that the model gave.
    """

    def __init__(
        self,
        person: NDArray[np.intp],
        item: NDArray[np.intp],
        right: BoolArray,
        echoes: BoolArray,
        *,
        missed: BoolArray,
        labels: int,
        seed: int,
    ) -> None:
        self._rng = np.random.default_rng(seed)
        self._labels = max(labels, 2)
        self._person, self._item, self._group = person, item, missed.astype(np.intp)
        self._people, self._items = int(person.max(initial=-1)) + 1, missed.size
        kind = np.where(right, np.where(missed[item], _RIGHT, _SHARED), _WRONG)
        kind[~right & echoes & missed[item]] = _LURED
        self._shared, self._lured = np.flatnonzero(kind == _SHARED), np.flatnonzero(kind == _LURED)
        self._lured_people, self._lured_first = np.unique(person[self._lured], return_index=True)
        self._by_person, self._by_item = 4 * person + kind, 2 * item + ~right
        self._others = np.bincount(person[(kind == _RIGHT) | (kind == _WRONG)], minlength=self._people)
        # Own wrong answers to items that the model misses.
        self._tempted = np.flatnonzero(missed[item] & ~right)
        self._mean, self._spread, self._means, self._scale = 1.0, 1.0, np.zeros(2), 1.0
        self._place = np.full(self._items, _GRID.size // 2)
        self._difficulty = np.stack((_GRID, _GRID))
        self._lure = np.full(self._items, 1 / (self._labels - 1))
        self._lures = 1 / (self._labels - 1), 4.0
        self._weights = np.full(_SHARES.size, 0.1 / (_SHARES.size - 1))
        self._weights[0] = 0.9
        self.posterior = np.zeros((self._people, _SHARES.size))
        self.copied = 0

    def step(self) -> None:
        """Draw everything once, given everything else."""
        ability = self._mean + self._spread * _GRID
        own = _Own(ability, self._difficulty, self._labels)
        cell = (self._group * _GRID.size + self._place)[self._item]
        lured = np.exp(own.wrong[cell[self._lured]]) * self._lure[self._item[self._lured], None]
        lured[:, -1] = 1 / self._labels
        share, place = self._draw_people(own, cell, lured)
        by_model = self._draw_copies(own, cell, lured, share, place)
        self.copied = int(by_model.sum())
        honest = place < _GRID.size
        informs = ~by_model & honest[self._person]
        self._draw_items(ability, np.minimum(place, _GRID.size - 1), informs)
        if self._labels > 2:
            self._draw_lures(informs)
        self._draw_populations(ability[place[honest]], share)

    def _draw_people(
        self, own: _Own, cell: NDArray[np.intp], lured: FloatArray
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Draw the place of each annotator's share and of their ability."""
        counts = _counts(self._by_person, cell, 4 * self._people, 2 * _GRID.size).reshape(self._people, 4, -1)
        mixed = np.log(_SHARES[:, None] + (1 - _SHARES[:, None]) * np.exp(own.right)[:, None, :] + _TINY)
        mixed = mixed.reshape(2 * _GRID.size, -1)
        apart = np.log(np.maximum(1 - _SHARES, _TINY))[:, None]
        prior = np.append(
            _DENSITY - scipy.special.logsumexp(_DENSITY) + np.log(1 - _GUESSERS), np.log(_GUESSERS)
        )
        prior = np.log(self._weights)[:, None] + prior
        share, place = np.zeros(self._people, np.intp), np.zeros(self._people, np.intp)
        most = max(_CELLS // prior.size, 1)
        for people in (slice(start, start + most) for start in range(0, self._people, most)):
            here = counts[people]
            joint = (here[:, _SHARED] @ mixed).reshape(here.shape[0], *prior.shape)
            joint += (here[:, _RIGHT] @ own.right + here[:, _WRONG] @ own.wrong)[:, None, :]
            joint += self._others[people, None, None] * apart + prior
            self._add_lured(joint, people.start, lured)
            chosen, weight = _chosen(joint.reshape(here.shape[0], -1), self._rng)
            share[people], place[people] = np.divmod(chosen, prior.shape[1])
            self.posterior[people] = weight.reshape(joint.shape).sum(2)
        return share, place

    def _add_lured(self, joint: FloatArray, start: int, lured: FloatArray) -> None:
        """Add the likelihood of the model's wrong answers to that of the annotators from `start` on."""
        low, high = np.searchsorted(self._lured_people, (start, start + joint.shape[0])).tolist()
        ends = np.append(self._lured_first, lured.shape[0])
        most = max(_CELLS // joint[0].size, 1)
        while low < high:
            # As many annotators as fit into the memory, and at least one.
            end = int(np.clip(np.searchsorted(ends, ends[low] + most, "right") - 1, low + 1, high))
            alone = lured[ends[low] : ends[end], None, :]
            log = np.log(_SHARES[:, None] + (1 - _SHARES[:, None]) * alone + _TINY)
            joint[self._lured_people[low:end] - start] += np.add.reduceat(log, ends[low:end] - ends[low])
            low = end

    def _draw_copies(
        self,
        own: _Own,
        cell: NDArray[np.intp],
        lured: FloatArray,
        share: NDArray[np.intp],
        place: NDArray[np.intp],
    ) -> BoolArray:
        """Draw which answers the model gave."""
        by_model = np.zeros(self._item.size, np.bool_)
        of_shared, of_lured = self._person[self._shared], self._person[self._lured]
        for rows, person, alone in (
            (self._shared, of_shared, np.exp(own.right[cell[self._shared], place[of_shared]])),
            (self._lured, of_lured, lured[np.arange(of_lured.size), place[of_lured]]),
        ):
            copied = _SHARES[share[person]]
            by_model[rows] = self._rng.random(rows.size) * (copied + (1 - copied) * alone) < copied
        return by_model

    def _draw_items(self, ability: FloatArray, place: NDArray[np.intp], informs: BoolArray) -> None:
        """Draw the difficulty of each item from own answers of people who do not guess."""
        self._difficulty = self._means[:, None] + self._scale * _GRID
        own = _Own(ability, self._difficulty, self._labels)
        counts = _counts(self._by_item, place[self._person], 2 * self._items, _GRID.size, informs)
        counts = counts.reshape(self._items, 2, -1)
        both = counts[:, 0] @ own.right[:, :-1].T + counts[:, 1] @ own.wrong[:, :-1].T
        likelihood = both.reshape(self._items, 2, -1)[np.arange(self._items), self._group]
        self._place, _ = _chosen(likelihood + _DENSITY, self._rng)

    def _draw_lures(self, informs: BoolArray) -> None:
        """Draw for each item how often an own wrong answer is the model's, and the distribution over items."""
        mean, concentration = self._lures
        hits = np.bincount(self._item[self._lured[informs[self._lured]]], minlength=self._items)
        wrong = np.bincount(self._item[self._tempted[informs[self._tempted]]], minlength=self._items)
        missed = np.flatnonzero(self._group)
        drawn = self._rng.beta(
            concentration * mean + hits[missed], concentration * (1 - mean) + (wrong - hits)[missed]
        )
        drawn = np.clip(drawn, 1e-6, 1 - 1e-6)
        self._lure[missed] = drawn
        log = (
            (_ALPHA - 1) * np.log(drawn).sum()
            + (_BETA - 1) * np.log1p(-drawn).sum()
            - missed.size * _NORMALISER
        )
        chosen, _ = _chosen(log.reshape(1, -1), self._rng)
        row, column = divmod(int(chosen[0]), _MEANS.size)
        self._lures = float(_MEANS[column]), float(_CONCENTRATIONS[row])

    def _draw_populations(self, ability: FloatArray, share: NDArray[np.intp]) -> None:
        """Draw mean and spread of abilities and difficulties, and the distribution of the shares."""
        if ability.size:
            self._mean = self._rng.normal(ability.mean(), self._spread / np.sqrt(ability.size))
        self._spread = self._deviation(ability - self._mean)
        difficulty = self._difficulty[self._group, self._place]
        missed = difficulty[self._group == 1]
        mean, spread = _MISSED
        known, prior = missed.size / self._scale**2, spread**-2
        centre = (missed.sum() / self._scale**2 + mean * prior) / (known + prior)
        self._means[1] = self._rng.normal(centre, (known + prior) ** -0.5)
        self._scale = self._deviation(difficulty - self._means[self._group])
        alone, *others = np.bincount(share, minlength=_SHARES.size).tolist()
        copying = self._rng.beta(_NOT_ALONE[0] + sum(others), _NOT_ALONE[1] + alone)
        drawn = copying * self._rng.dirichlet(_HOW_MUCH + np.array(others))
        self._weights = np.maximum(np.append(1 - copying, drawn), 1e-300)

    def _deviation(self, from_mean: FloatArray) -> float:
        """Draw a standard deviation from its inverse gamma distribution."""
        return float(np.sqrt((0.5 + (from_mean**2).sum() / 2) / self._rng.gamma(1 + from_mean.size / 2)))


def _counts(
    row: NDArray[np.intp], column: NDArray[np.intp], rows: int, columns: int, weights: BoolArray | None = None
) -> FloatArray:
    """Count pairs, shape (rows, columns)."""
    counts = np.bincount(row * columns + column, weights, minlength=rows * columns)
    return counts.reshape(rows, columns).astype(np.float64, copy=False)


def _chosen(log: FloatArray, rng: np.random.Generator) -> tuple[NDArray[np.intp], FloatArray]:
    """Draw a column of each row, given logarithms of weights; return the columns, and the weights that sum to 1."""
    weight = np.exp(log - log.max(1, keepdims=True))
    cumulated = weight.cumsum(1)
    chosen = (cumulated < rng.random((log.shape[0], 1)) * cumulated[:, -1:]).sum(1)
    return chosen, weight / cumulated[:, -1:]
