"""Agreement coefficients after the deletion of each item, each annotator and each answer.

The deletions of nominal coefficients have closed forms, so the time grows with the number of answers and not with its square.
Only the ranks of the ordinal level are computed anew for each deletion, of groups of items or annotators if the study is large.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merilo.people.agreement.alpha import krippendorff_alpha
from merilo.people.votes import Votes
from merilo.settings import Level
from merilo.statistics.arrays import FloatArray

#: Alpha of ranks is computed again for every deletion. If that would visit more answers than this, groups are deleted.
VISITED: Final = 10_000_000

#: As many groups are deleted at least.
FEWEST_GROUPS: Final = 20

#: Pairs of an answer and a label of its item that are held at once.
PAIRS_AT_ONCE: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Deletions:
    """A coefficient of the studies that remain after deletions; NaN if nothing comparable remains.

    Attributes:
        items: shape (units,), one item deleted (or a group of items, or a cluster).
        annotators: shape (units,), one annotator (or group of annotators) deleted.
        answers: shape (n,), one answer deleted; if items form clusters, one annotator's answers to one cluster, shape (cells,).
    """

    items: FloatArray
    annotators: FloatArray
    answers: FloatArray

    @property
    def variance(self) -> tuple[float, float, float]:
        """The jackknife variances over items, annotators and answers; NaN if a deletion leaves nothing comparable."""
        return (
            jackknife_variance(self.items),
            jackknife_variance(self.annotators),
            jackknife_variance(self.answers),
        )


def jackknife_variance(deleted: FloatArray) -> float:
    """Compute the jackknife variance (G - 1) / G * sum of (deleted - mean)^2 from G estimates; NaN for fewer than 2.

    Example:
        The variance of the mean of 1, 2, 3 is 1 / 3:

        >>> round(jackknife_variance(np.array([2.5, 2.0, 1.5])), 4)
        0.3333
    """
    n = deleted.shape[0]
    return float(((deleted - deleted.mean()) ** 2).sum() * (n - 1) / n) if n > 1 else float("nan")


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """Leave-one-out values of nominal coefficients, from sums over each item's answers.

    Attributes:
        votes: the answers.
        m: shape (items,), the number of answers.
        squares: shape (items,), the sum of squared votes over labels.
        own: shape (n,), the votes for an answer's own label on its item.
        cell_item: shape (cells,), the pairs of an item and a label given, sorted by item.
        cell_label: shape (cells,).
        cell_votes: shape (cells,).
    """

    votes: Votes
    m: FloatArray
    squares: FloatArray
    own: FloatArray
    cell_item: NDArray[np.int32]
    cell_label: NDArray[np.int32]
    cell_votes: FloatArray

    @classmethod
    def of(cls, votes: Votes) -> LeaveOneOut:
        """Sum the answers of each item."""
        tally = votes.tally()
        count = tally.votes.astype(np.float64)
        cell = tally.item.astype(np.int64) * max(votes.labels, 1) + tally.label
        place = np.searchsorted(cell, votes.item.astype(np.int64) * max(votes.labels, 1) + votes.label)
        return cls(
            votes,
            np.bincount(votes.item, minlength=votes.items).astype(np.float64),
            np.asarray(np.bincount(tally.item, weights=count**2, minlength=votes.items), np.float64),
            count[place],
            tally.item,
            tally.label,
            count,
        )

    def alpha(self) -> Deletions:
        """Compute Krippendorff's alpha after each deletion."""
        votes, m = self.votes, self.m
        pairable = m >= 2
        within = np.where(pairable, (m * m - self.squares) / np.maximum(m - 1, 1), 0.0)
        of, k = m[votes.item], self.own
        rest = (of - 1) ** 2 - (self.squares[votes.item] - 2 * k + 1)
        after = np.where(of >= 3, rest / np.maximum(of - 2, 1), 0.0)
        # Of two answers, the other one is no longer comparable if one is deleted.
        whole, single = np.where(m == 2, 1.0, 0.0), np.where(m >= 3, 1.0, 0.0)
        n, w = float(m[pairable].sum()), float(within.sum())

        def coefficient(sums: FloatArray, squares: FloatArray) -> FloatArray:
            left = n - sums[1]
            expected = left**2 - squares
            disagreement = w - sums[0]
            return _ratio(disagreement * (left - 1), expected, left >= 2)

        by_answer = np.stack(
            [within[votes.item] - after, np.where(of == 2, 2.0, np.where(of >= 3, 1.0, 0.0))]
        )
        by_item = np.stack([within, np.where(pairable, m, 0.0)])
        scale = np.where(pairable, 1.0, 0.0)
        return self._deletions(by_item, by_answer, scale, (whole, single), (coefficient,))[0]

    def kappas(self) -> tuple[Deletions, Deletions]:
        """Compute Fleiss' kappa and Gwet's AC1 after each deletion."""
        votes, m = self.votes, self.m
        agreeing = np.where(m >= 2, (self.squares - m) / np.maximum(m * (m - 1), 1), 0.0)
        of, k = m[votes.item], self.own
        rest = self.squares[votes.item] - 2 * k + 1 - (of - 1)
        after = np.where(of >= 3, rest / np.maximum((of - 1) * (of - 2), 1), 0.0)
        share = np.where(m >= 2, -1 / np.maximum(m * (m - 1), 1), 0.0)
        single = np.where(m >= 2, 1 / np.maximum(m - 1, 1), 1.0)
        a, c, n = float(agreeing.sum()), float((m >= 2).sum()), float((m >= 1).sum())
        labels = votes.labels

        def kappa(sums: FloatArray, squares: FloatArray) -> FloatArray:
            left = np.maximum(n - sums[2], 1)
            observed = (a - sums[0]) / np.maximum(c - sums[1], 1)
            return _ratio(1 - observed, 1 - squares / left**2, c - sums[1] >= 0.5)

        def ac1(sums: FloatArray, squares: FloatArray) -> FloatArray:
            left = np.maximum(n - sums[2], 1)
            observed = (a - sums[0]) / np.maximum(c - sums[1], 1)
            chance = (1 - squares / left**2) / max(labels - 1, 1)
            return _ratio(1 - observed, 1 - chance, c - sums[1] >= 0.5)

        by_answer = np.stack(
            [agreeing[votes.item] - after, np.where(of == 2, 1.0, 0.0), np.where(of == 1, 1.0, 0.0)]
        )
        by_item = np.stack([agreeing, np.where(m >= 2, 1.0, 0.0), np.where(m >= 1, 1.0, 0.0)])
        scale = 1 / np.maximum(m, 1)
        of_kappa, of_ac1 = self._deletions(by_item, by_answer, scale, (share, single), (kappa, ac1))
        return of_kappa, of_ac1

    def _deletions(
        self,
        by_item: FloatArray,
        by_answer: FloatArray,
        scale: FloatArray,
        lost: tuple[FloatArray, FloatArray],
        coefficients: Sequence[Callable[[FloatArray, FloatArray], FloatArray]],
    ) -> list[Deletions]:
        """Compute coefficients after each deletion.

        A coefficient depends on sums over items and on the squared length of the vector of label totals, in which an
        item has the weight `scale` for each of its answers. If an answer is deleted, the vector loses lost[0] for each of
        the item's answers and lost[1] for the answer itself.

        Args:
            by_item: shape (sums, items), what the sums lose with each item.
            by_answer: shape (sums, n), what they lose with each answer.
            scale: shape (items,).
            lost: two of shape (items,).
            coefficients: each computes a coefficient from the lost sums and the remaining squared length, per deletion.
        """
        votes = self.votes
        weight = self.cell_votes * scale[self.cell_item]
        totals = np.bincount(self.cell_label, weights=weight, minlength=votes.labels).astype(np.float64)
        length = float(totals @ totals)
        product = np.bincount(
            self.cell_item, weights=self.cell_votes * totals[self.cell_label], minlength=votes.items
        )
        whole, single = lost[0][votes.item], lost[1][votes.item]
        along = whole * product[votes.item] + single * totals[votes.label]

        def without(codes: NDArray[np.signedinteger]) -> tuple[FloatArray, FloatArray]:
            """Compute the lost sums and the remaining squared length without the answers of each code."""
            sums = np.array([np.bincount(codes, weights=row) for row in by_answer], dtype=np.float64)
            removed = np.bincount(codes, along)
            return sums, np.asarray(length - 2 * removed + self._lengths(codes, whole, single))

        present = np.bincount(votes.annotator, minlength=votes.annotators) > 0
        people = (np.cumsum(present) - 1).astype(np.int32)[votes.annotator]
        by_person = without(people)
        if votes.cluster is None:
            answered = self.m > 0
            remaining = length - 2 * scale * product + scale**2 * self.squares
            units = by_item[:, answered], remaining[answered]
            own = whole**2 * self.squares[votes.item] + 2 * whole * single * self.own + single**2
            each = by_answer, length - 2 * along + own
        else:
            units = self._without_clusters(by_item, scale, length, totals)
            cells = votes.unit.astype(np.int64) * votes.annotators + people
            each = without(np.unique(cells, return_inverse=True)[1])
        return [
            Deletions(coefficient(*units), coefficient(*by_person), coefficient(*each))
            for coefficient in coefficients
        ]

    def _without_clusters(
        self, by_item: FloatArray, scale: FloatArray, length: float, totals: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Compute the lost sums and the remaining squared length of label totals without each cluster of items."""
        votes = self.votes
        if votes.cluster is None:
            raise ValueError("the items form no clusters")
        answered = np.flatnonzero(self.m > 0)
        clusters, code = np.unique(votes.cluster[answered], return_inverse=True)
        of_item = np.zeros(votes.items, dtype=np.int64)
        of_item[answered] = code
        lost = np.array(
            [np.bincount(code, row[answered], clusters.size) for row in by_item], dtype=np.float64
        )
        weight = self.cell_votes * scale[self.cell_item]
        key = of_item[self.cell_item] * max(votes.labels, 1) + self.cell_label
        given, place = np.unique(key, return_inverse=True)
        removed = np.bincount(place, weight, given.size)
        owner, label = np.divmod(given, max(votes.labels, 1))
        change = np.bincount(owner, removed**2 - 2 * removed * totals[label], clusters.size)
        return lost, np.asarray(length + change, dtype=np.float64)

    def _lengths(self, codes: NDArray[np.signedinteger], whole: FloatArray, single: FloatArray) -> FloatArray:
        """Compute the squared length of the vector of label totals that the answers of each code remove.

        Args:
            codes: shape (n,), 0 .. groups-1; the answers of one code are to different items.
            whole: shape (n,), as in `_deletions`.
            single: shape (n,).
        """
        votes = self.votes
        groups = int(codes.max(initial=-1)) + 1
        cells = np.bincount(self.cell_item, minlength=votes.items)
        first = np.cumsum(cells) - cells
        order = np.argsort(codes, kind="stable")
        pairs = np.cumsum(cells[votes.item[order]] + 1)
        person = codes[order]
        squares = np.zeros(groups)
        ends = np.flatnonzero(np.r_[person[1:] != person[:-1], True]) + 1
        start = 0
        while start < order.size:
            limit = (pairs[start - 1] if start else 0) + PAIRS_AT_ONCE
            fitting = ends[(ends > start) & (pairs[ends - 1] <= limit)]
            stop = int(fitting[-1]) if fitting.size else int(ends[ends > start][0])
            rows = order[start:stop]
            start = stop
            times = cells[votes.item[rows]]
            of = np.repeat(rows, times)
            place = np.repeat(first[votes.item[rows]] - (np.cumsum(times) - times), times) + np.arange(
                of.size
            )
            who = np.r_[codes[of], codes[rows]].astype(np.int64)
            key = who * votes.labels + np.r_[self.cell_label[place], votes.label[rows]]
            amount = np.r_[whole[of] * self.cell_votes[place], single[rows]]
            if groups * votes.labels <= 4 * key.size:
                total = np.bincount(key, amount, groups * votes.labels)
                squares += (total.reshape(groups, votes.labels) ** 2).sum(axis=1)
            else:
                given, which = np.unique(key, return_inverse=True)
                total = np.bincount(which, amount, given.size)
                squares += np.bincount(given // votes.labels, total**2, groups)
        return squares


def _ratio(disagreement: FloatArray, expected: FloatArray, comparable: NDArray[np.bool_]) -> FloatArray:
    """1 - disagreement / expected: NaN if nothing comparable remains, 1 if one label remains (no disagreement)."""
    defined = expected > 1e-9
    value = np.where(defined, 1 - disagreement / np.where(defined, expected, 1.0), 1.0)
    return np.where(comparable, value, np.nan)


def alpha_of_numbers(votes: Votes, level: Level, values: ArrayLike | None) -> Deletions:
    """Compute alpha of ranks or numbers after each deletion.

    Items and annotators are deleted one at a time, or in groups, and alpha is computed again. Single answers are deleted
    by a closed form in which the ranks stay as they are.
    """
    everything = np.bincount(votes.item, minlength=votes.items)[votes.item] >= 2
    label = votes.label[everything]
    totals = np.bincount(label, minlength=votes.labels).astype(np.float64)
    if level == "ordinal":
        number = np.cumsum(totals) - totals / 2
    else:
        number = np.array(np.arange(votes.labels) if values is None else values, dtype=np.float64)
    number = number - (totals @ number) / max(totals.sum(), 1)

    def without(codes: NDArray[np.int32]) -> FloatArray:
        units = np.unique(codes)
        groups = min(units.size, max(VISITED // max(len(votes), 1), FEWEST_GROUPS))
        order = np.arange(units.size)
        if groups < units.size:
            # Groups are random, because items at regular distances may be of one kind.
            order = np.random.default_rng(0).permutation(units.size) % groups
        group = order[np.searchsorted(units, codes)]
        return np.array([_alpha_or_one(votes.where(group != one), level, values) for one in range(groups)])

    answers = _without_answers(votes, number)
    if votes.cluster is not None:
        # To first order, several answers change alpha by the sum of the changes of each.
        moved, _ = votes.cell_sums(answers - answers.mean())
        answers = moved + answers.mean()
    return Deletions(without(votes.unit), without(votes.annotator), answers)


def _alpha_or_one(votes: Votes, level: Level, values: ArrayLike | None) -> float:
    """Return alpha; 1 if all comparable answers are equal, NaN if there are none."""
    if not (np.bincount(votes.item) >= 2).any():
        return float("nan")
    value = krippendorff_alpha(votes, level, values=values)
    return 1.0 if np.isnan(value) else value


def _without_answers(votes: Votes, number: FloatArray) -> FloatArray:
    """Compute alpha of numbers after the deletion of each answer, shape (n,)."""
    m = np.bincount(votes.item, minlength=votes.items).astype(np.float64)
    x = number[votes.label]
    s1 = np.bincount(votes.item, x, votes.items)
    s2 = np.bincount(votes.item, x * x, votes.items)
    within = np.where(m >= 2, 2 * (m * s2 - s1**2) / np.maximum(m - 1, 1), 0.0)
    pairable = m >= 2
    n, first, second = float(m[pairable].sum()), float(s1[pairable].sum()), float(s2[pairable].sum())
    of, sum1, sum2 = m[votes.item], s1[votes.item], s2[votes.item]
    after = np.where(of >= 3, 2 * ((of - 1) * (sum2 - x * x) - (sum1 - x) ** 2) / np.maximum(of - 2, 1), 0.0)
    lost = (of == 2, of >= 3)
    left = n - np.select(lost, [2.0, 1.0], 0.0)
    one = first - np.select(lost, [sum1, x], 0.0)
    two = second - np.select(lost, [sum2, x * x], 0.0)
    disagreement = float(within.sum()) - (within[votes.item] - after)
    return _ratio(disagreement * (left - 1), 2 * (left * two - one**2), left >= 2)
