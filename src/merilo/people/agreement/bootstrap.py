"""Confidence intervals of agreement coefficients by a bootstrap over items.

Items with the same vote counts (say three votes for A and two for B) form one profile, and a resample only draws a
new count for each profile: with few labels, a million items cost as much as a hundred.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merilo.errors import UsageError
from merilo.people.agreement.alpha import Level
from merilo.people.votes import Votes
from merilo.statistics.arrays import FloatArray
from merilo.statistics.intervals import Interval, percentile_interval

#: Cells of (resample, profile and label) that are computed at once: this many doubles fit into the cache.
AT_ONCE = 300_000

#: The number of resamples is reduced, to no fewer than 200, if they would need more cells than this in total.
AT_MOST = 100_000_000

#: From so many cells on, sums over labels are sparse products: faster, once SciPy is loaded.
MANY_CELLS = 10_000


def bootstrap(
    votes: Votes,
    *,
    level: Level = "nominal",
    values: ArrayLike | None = None,
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
) -> dict[str, Interval]:
    """Compute intervals of the agreement coefficients by drawing items with replacement.

    Args:
        votes: the answers. Items without answers are not drawn.
        level: the level of measurement of Krippendorff's alpha.
        values: shape (labels,), the numbers behind the labels, for the interval level.
        resamples: how many samples are drawn; fewer, but at least 200, if there are very many free answers.
        seed: random seed, recorded in the intervals' method.
        confidence: the nominal coverage.

    Returns:
        name -> interval, of "krippendorff_alpha", "fleiss_kappa" and "gwet_ac1"; a coefficient that is not defined on
        any sample is left out. Samples on which a coefficient is not defined are skipped and counted in the method.

    Raises:
        UsageError: fewer than 1 resample.
    """
    if resamples < 1:
        raise UsageError("a bootstrap needs at least 1 resample")
    profiles = _Profiles.of(votes)
    if profiles.items.sum() < 2:
        # With one item all resamples are equal, and the interval would have zero width.
        return {}
    resamples = min(resamples, max(200, AT_MOST // max(profiles.cell_label.size, 1)))
    rng = np.random.default_rng(seed)
    number = None if values is None else np.array(values, dtype=np.float64)

    def coefficients(drawn: FloatArray) -> dict[str, FloatArray]:
        kappa, ac1 = profiles.kappas(drawn)
        alpha = profiles.alpha(drawn, level, number)
        return {"krippendorff_alpha": alpha, "fleiss_kappa": kappa, "gwet_ac1": ac1}

    cells = max(profiles.cell_label.size, 1)
    # What is computed once a step must not outweigh the resamples of the step.
    step = max(1, AT_ONCE // cells, min(16, 32 * AT_ONCE // cells))
    parts = [
        coefficients(profiles.resample(rng, min(step, resamples - start)))
        for start in range(0, resamples, step)
    ]
    seen = coefficients(profiles.items[None, :].astype(np.float64))
    intervals = {
        name: _interval(np.concatenate([part[name] for part in parts]), float(value[0]), confidence, seed)
        for name, value in seen.items()
    }
    return {name: interval for name, interval in intervals.items() if interval is not None}


def _interval(estimates: FloatArray, value: float, confidence: float, seed: int) -> Interval | None:
    """Return the percentile interval over the samples with a defined coefficient, shifted so that their mean is the value.

    An item drawn twice raises the agreement expected by chance, so the coefficients of resamples are too low by a
    relative error of about 1 / items; with few items, an interval that is not shifted could miss the value itself.
    """
    defined = estimates[np.isfinite(estimates)]
    if not defined.size or not np.isfinite(value):
        return None
    centred = np.minimum(defined - defined.mean() + value, 1.0)
    interval = percentile_interval(centred, "items", level=confidence, seed=seed)
    lost = estimates.size - defined.size
    method = interval.method.replace("percentile", "percentile, centred on the value")
    if lost:
        method += f", {lost} more on which the coefficient is not defined"
    return Interval(min(interval.low, value), max(interval.high, value), interval.level, method)


@dataclass(frozen=True, slots=True)
class _Profiles:
    """The distinct profiles of vote counts.

    Attributes:
        items: shape (profiles,), how many items have the profile.
        answers: shape (profiles,), how many answers each of these items has.
        cell_profile: shape (cells,), sorted by label.
        cell_label: shape (cells,), ascending.
        cell_votes: shape (cells,), how many of the answers were this label.
        cells_of_label: shape (labels,), how many cells a label has.
        labels: how many labels can be given.
    """

    items: NDArray[np.int64]
    answers: FloatArray
    cell_profile: NDArray[np.intp]
    cell_label: NDArray[np.intp]
    cell_votes: FloatArray
    cells_of_label: NDArray[np.intp]
    labels: int

    @classmethod
    def of(cls, votes: Votes) -> _Profiles:
        tally = votes.tally()
        answers = np.bincount(votes.item, minlength=votes.items)
        answered = np.flatnonzero(answers)
        most = int(tally.votes.max(initial=0)) + 1
        place = np.zeros(votes.items, dtype=np.intp)
        if votes.labels * np.log2(most) < 62:
            # The counts of an item's labels are encoded as the digits of one number.
            digits = most ** np.arange(votes.labels, dtype=np.int64)
            code = np.zeros(votes.items, dtype=np.int64)
            np.add.at(code, tally.item, tally.votes * digits[tally.label])
            _, first, which, multiplicity = np.unique(
                code[answered], return_index=True, return_inverse=True, return_counts=True
            )
            place[answered] = which
            representative = np.zeros(votes.items, dtype=bool)
            representative[answered[first]] = True
        else:
            place[answered] = np.arange(answered.size)
            first, multiplicity = np.arange(answered.size), np.ones(answered.size, dtype=np.int64)
            representative = answers > 0
        shown = representative[tally.item]
        order = np.argsort(tally.label[shown], kind="stable")
        return cls(
            items=multiplicity.astype(np.int64),
            answers=answers[answered[first]].astype(np.float64),
            cell_profile=place[tally.item[shown]][order],
            cell_label=tally.label[shown][order].astype(np.intp),
            cell_votes=tally.votes[shown][order].astype(np.float64),
            cells_of_label=np.bincount(tally.label[shown], minlength=votes.labels),
            labels=votes.labels,
        )

    def resample(self, rng: np.random.Generator, rows: int) -> FloatArray:
        """Draw items, and count the drawn items of each profile, shape (rows, profiles)."""
        n, profiles = int(self.items.sum()), self.items.size
        if profiles * 8 < n:
            return rng.multinomial(n, self.items / n, size=rows).astype(np.float64)
        owner = np.repeat(np.arange(profiles), self.items)
        drawn = np.empty((rows, profiles))
        for row in range(rows):
            drawn[row] = np.bincount(owner[rng.integers(0, n, n)], minlength=profiles)
        return drawn

    def alpha(self, drawn: FloatArray, level: Level, values: FloatArray | None) -> FloatArray:
        """Compute Krippendorff's alpha of each row of drawn profiles, NaN if it is not defined."""
        pairable = self.answers >= 2
        weight = drawn if pairable.all() else np.where(pairable, drawn, 0.0)
        n = weight @ self.answers
        per_pair = np.where(pairable, 1 / np.maximum(self.answers - 1, 1), 0.0)
        if level == "nominal":
            same = np.bincount(self.cell_profile, weights=self.cell_votes**2, minlength=self.answers.size)
            within = weight @ ((self.answers**2 - same) * per_pair)
            expected = n * n - self._squares(weight, self.cell_votes)
        else:
            totals = self._by_label(weight, self.cell_votes, np.ones(self.cell_label.size, dtype=np.bool_))
            number = self._numbers(totals, level, values)
            spread = self._spread(number)
            within = (weight * (2 * self.answers * per_pair) * spread).sum(axis=1)
            mean = (totals * number).sum(axis=1, keepdims=True) / np.maximum(n, 1)[:, None]
            expected = 2 * n * (totals * (number - mean) ** 2).sum(axis=1)
            expected[np.count_nonzero(totals, axis=1) < 2] = 0
        defined = expected > 0
        ratio = within * (n - 1) / np.where(defined, expected, 1.0)
        return np.where(defined, 1 - ratio, np.nan)

    def kappas(self, drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute Fleiss' kappa and Gwet's AC1 of each row of drawn profiles, NaN if they are not defined."""
        pairable = self.answers >= 2
        pairs = np.bincount(
            self.cell_profile, weights=self.cell_votes * (self.cell_votes - 1), minlength=self.answers.size
        )
        agreeing = np.where(pairable, pairs / np.maximum(self.answers * (self.answers - 1), 1), 0.0)
        compared = drawn[:, pairable].sum(axis=1)
        observed = np.where(compared > 0, drawn @ agreeing / np.maximum(compared, 1), np.nan)
        n = drawn.sum(axis=1)
        concentration = self._squares(drawn, self.cell_votes / self.answers[self.cell_profile]) / (n * n)
        ac1 = np.full(drawn.shape[0], np.nan)
        if self.labels > 1:
            # The shares of the labels add up to 1, so the sum of pi (1 - pi) is 1 less the sum of squares.
            ac1 = _beyond_chance(observed, (1 - concentration) / (self.labels - 1))
        return _beyond_chance(observed, concentration), ac1

    def _squares(self, weight: FloatArray, amount: FloatArray) -> FloatArray:
        """Sum weight x amount over each label's cells, and return the sum of squares over labels, shape (rows,).

        Labels with a single cell (most labels of free answers) are handled without the inner sum.
        """
        alone = self.cells_of_label[self.cell_label] == 1
        single = np.bincount(
            self.cell_profile[alone], weights=amount[alone] ** 2, minlength=self.answers.size
        )
        squares: FloatArray = np.einsum("ij,ij,j->i", weight, weight, single)
        if not alone.all():
            totals = self._by_label(weight, amount, ~alone)
            squares += np.einsum("ij,ij->i", totals, totals)
        return squares

    def _by_label(self, weight: FloatArray, amount: FloatArray, chosen: NDArray[np.bool_]) -> FloatArray:
        """Sum weight x amount over the chosen cells of each label, shape (rows, labels with chosen cells)."""
        label = self.cell_label[chosen]
        first = np.flatnonzero(np.r_[True, label[1:] != label[:-1]])
        if label.size >= MANY_CELLS:
            from scipy.sparse import csr_array  # noqa: PLC0415 - slow to import; not needed for small studies

            rows = np.append(first, label.size)
            shape = (first.size, self.answers.size)
            cells_of_labels = csr_array((amount[chosen], self.cell_profile[chosen], rows), shape=shape)
            return np.asarray((cells_of_labels @ weight.T).T)
        cells = weight[:, self.cell_profile[chosen]] * amount[chosen]
        sums: FloatArray = np.add.reduceat(cells, first, axis=1)
        return sums

    def _numbers(self, totals: FloatArray, level: Level, values: FloatArray | None) -> FloatArray:
        """Return the numeric values of the labels given, shape (rows or 1, labels given)."""
        if level == "ordinal":
            ranks: FloatArray = np.cumsum(totals, axis=1) - totals / 2
            return ranks
        given = np.unique(self.cell_label)
        number = np.arange(self.labels, dtype=np.float64) if values is None else values
        chosen: FloatArray = number[given][None, :] - number[given].mean()
        return chosen

    def _spread(self, number: FloatArray) -> FloatArray:
        """Squared deviations of a profile's answers from their mean, shape (rows or 1, profiles)."""
        column = np.searchsorted(np.unique(self.cell_label), self.cell_label)
        spread = np.empty((number.shape[0], self.answers.size))
        for row, numbers in enumerate(number):
            value = numbers[column]
            mean = (
                np.bincount(self.cell_profile, self.cell_votes * value, minlength=self.answers.size)
                / self.answers
            )
            away = self.cell_votes * (value - mean[self.cell_profile]) ** 2
            spread[row] = np.bincount(self.cell_profile, away, minlength=self.answers.size)
        return spread


def _beyond_chance(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """(observed - expected) / (1 - expected), row by row; NaN if agreement by chance is 1."""
    room = 1 - expected
    defined = room > 1e-12
    return np.where(defined, (observed - expected) / np.where(defined, room, 1.0), np.nan)
