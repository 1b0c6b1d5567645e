"""Disagreement as a signal: the distribution of people's labels beside that of a model's samples.

Where an item has no single right answer, the reference is the distribution of people's labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite, nan, sqrt
from typing import Final, TypeAlias

import numpy as np

from merilo.errors import DataError
from merilo.people.agreement import jackknife_variance
from merilo.people.votes import Votes
from merilo.statistics import FloatArray, IntArray
from merilo.statistics.intervals import ONE_CLUSTER, Interval, cluster_count, student_quantile
from merilo.text import Text

#: Added to every label's count before a logarithm (Jeffreys' prior), so that a label without votes has a probability.
PRIOR: Final = 0.5
#: The fewest people and samples that make a distribution of an item, and the fewest items.
LEAST, LEAST_ITEMS = 2, 3
#: The most groups of items, and of people, of which one is left out at a time; the splits of people for ceilings.
_GROUPS: Final = 60
_SPLITS: Final = 20

#: A measure of label counts of people and of the model, each of shape (items, labels).
Statistic: TypeAlias = Callable[[FloatArray, FloatArray], float]

#: The names of the measures in tables.
MEASURES: Final = {
    "agreement": Text("agreement with a person"),
    "distance": Text("distance of the distributions (0: the same)"),
    "divergence": Text("Jensen–Shannon divergence, bits"),
    "like_people": Text("the same with equally many answers of people"),
    "cross_entropy": Text("cross-entropy, bits"),
    "entropy_correlation": Text("correlation of entropies over items"),
    "people_spread": Text("probability that two people differ"),
    "model_spread": Text("probability that two samples of the model differ"),
}


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of a model against people.

    Attributes:
        value: the measure; `nan` if it is not defined.
        interval: its 95 % interval over items and people; `None` if it is not defined.
        ceiling: what people reach in the model's place; `None` if there are too few of them.
    """

    value: float
    interval: Interval | None
    ceiling: float | None


@dataclass(frozen=True, slots=True)
class SpreadBin:
    """Items on which the model's samples differ about equally often.

    Attributes:
        items: how many items.
        model: the mean probability that two samples differ.
        people: the mean probability that two people differ.
    """

    items: int
    model: float
    people: float


@dataclass(frozen=True, slots=True)
class Disagreement:
    """People's label distributions against a model's.

    Attributes:
        items: how many items have at least two people and two samples.
        people: the mean number of people an item.
        samples: the mean number of samples an item.
        agreement: the probability that a sample equals a person's label; the ceiling is that of two people.
        distance: the squared distance of the two distributions, without bias by the number of answers; the
            ceiling is 0.
        divergence: the Jensen-Shannon divergence in bits; few answers make it larger.
        like_people: the divergence of equally many samples from the other half of people; its ceiling puts
            people in the samples' place, so that the number of answers raises both alike.
        cross_entropy: the mean of -log2 of the model's probability of a person's label; the ceiling predicts
            each person from the others.
        entropy_correlation: Pearson's correlation of the entropies over items; the ceiling is that of two
            halves of people.
        people_spread: the probability that two people give different labels.
        model_spread: the probability that two samples differ; its ceiling is people's spread.
        calibration: people's spread by the model's, from the items where the model is most certain.
        even: the places of items on which people split evenly, the most even first.
    """

    items: int
    people: float
    samples: float
    agreement: Measure
    distance: Measure
    divergence: Measure
    like_people: Measure
    cross_entropy: Measure
    entropy_correlation: Measure
    people_spread: Measure
    model_spread: Measure
    calibration: tuple[SpreadBin, ...]
    even: tuple[int, ...]

    def measures(self) -> dict[str, Measure]:
        """Return the measures by their names in the JSON, in the order of tables."""
        return {name: getattr(self, name) for name in MEASURES}


def jensen_shannon(first: FloatArray, second: FloatArray) -> FloatArray:
    """Compute the Jensen-Shannon divergence of distributions in bits, shape (items,): 0 if equal, 1 if disjoint.

    Args:
        first: shape (items, labels), rows sum to 1.
        second: shape (items, labels), rows sum to 1.

    References:
        J. Lin (1991), Divergence measures based on the Shannon entropy. IEEE Transactions on Information
        Theory 37, 145-151.

    Example:
        >>> jensen_shannon(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.0, 1.0], [0.5, 0.5]])).tolist()
        [1.0, 0.0]
    """
    return np.maximum(entropy((first + second) / 2) - (entropy(first) + entropy(second)) / 2, 0.0)


def entropy(share: FloatArray) -> FloatArray:
    """Compute Shannon's entropy of distributions in bits, shape (items,).

    Example:
        >>> entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
        [1.0, 0.0]
    """
    return np.asarray(-(share * np.log2(np.where(share > 0, share, 1.0))).sum(axis=1) + 0.0)


def split_evenly(counts: IntArray) -> IntArray:
    """Find items on which people split evenly.

    The second label has at least two votes and at most one less than the first.

    Args:
        counts: shape (items, labels).

    Returns:
        The places of these items, those with the highest entropy first.

    Example:
        >>> split_evenly(np.array([[2, 2], [3, 1], [4, 0], [3, 2]])).tolist()
        [0, 3]
    """
    if counts.shape[1] < 2:
        return np.zeros(0, dtype=np.int64)
    ranked = -np.sort(-counts, axis=1)
    even = np.flatnonzero((ranked[:, 1] >= 2) & (ranked[:, 0] - ranked[:, 1] <= 1))
    uncertain = entropy(_shares(counts[even].astype(np.float64)))
    return np.asarray(even[np.argsort(-uncertain, kind="stable")], dtype=np.int64)


def disagreement(votes: Votes, samples: Sequence[Sequence[int]], *, seed: int = 0) -> Disagreement:
    """Compare people's label distributions with those of a model's samples.

    Intervals hold over items and people: the jackknife variances over items and over people are added, and
    the quantile is Student's with one degree of freedom less than there are people. More than 60 items or
    people are left out in 60 groups. Clusters of items (`Votes.cluster`) are left out as a whole. A model's
    samples are taken as given.

    With p people and m samples of an item, and c and d their counts of a label, the probability that two
    people differ is estimated by 1 - Σ c (c - 1) / (p (p - 1)), that a person and a sample do by 1 - Σ c d /
    (p m). Both are unbiased for any number of answers, and so is the squared distance, twice the second less
    the first and the model's own (Székely and Rizzo).

    Args:
        votes: people's answers.
        samples: for each item, the codes of the model's labels; labels that no person gave have codes from
            `votes.labels` on.
        seed: random seed of the splits of people and of the model's samples, for the ceilings.

    Raises:
        DataError: fewer than three items have at least two people and two samples, there are fewer than three
            people, or all items belong to one cluster.

    References:
        J. Arvesen (1969), Jackknifing U-statistics. Annals of Mathematical Statistics 40, 2076-2100.
        G. Székely, M. Rizzo (2013), Energy statistics. Journal of Statistical Planning and Inference 143, 1249-1272.
    """
    labels = max(votes.labels, 1 + max((max(one, default=0) for one in samples), default=0))
    model = np.zeros((votes.items, labels))
    for place, given in enumerate(samples):
        np.add.at(model[place], list(given), 1)
    crowd = np.zeros((votes.items, labels))
    np.add.at(crowd, (votes.item, votes.label), 1)
    usable = (crowd.sum(axis=1) >= LEAST) & (model.sum(axis=1) >= LEAST)
    n, people = int(usable.sum()), len(np.unique(votes.annotator[usable[votes.item]]))
    if n < LEAST_ITEMS:
        raise DataError(
            f"disagreement needs at least {LEAST_ITEMS} items with {LEAST} people and {LEAST} "
            f"samples of the model each; there are {n}"
        )
    if people < LEAST + 1:
        raise DataError(f"disagreement needs at least {LEAST + 1} people; there are {people}")
    if votes.cluster is not None and cluster_count(votes.cluster[usable]) == 1:
        raise DataError(ONE_CLUSTER)
    position = np.cumsum(usable) - 1
    kept = votes.where(usable[votes.item])
    study = _Study(
        crowd[usable],
        model[usable],
        position[kept.item],
        kept.annotator.astype(np.int64),
        kept.label.astype(np.int64),
        people,
        None if votes.cluster is None else np.unique(votes.cluster[usable], return_inverse=True)[1],
    )
    halves = _Halves.of(study, np.random.default_rng(seed))
    like = study.measure(lambda people, own: float(jensen_shannon(_shares(people), _shares(own)).mean()))
    return Disagreement(
        n,
        float(study.crowd.sum(axis=1).mean()),
        float(study.model.sum(axis=1).mean()),
        study.measure(
            lambda people, own: 1 - float(_apart(people, own).mean()), 1 - _mean(_differing(study.crowd))
        ),
        study.measure(_distance, 0.0),
        like,
        Measure(halves.model, None, halves.people),
        study.measure(_cross_entropy, _left_out_entropy(study.crowd)),
        study.measure(_entropy_correlation, halves.correlation),
        study.measure(lambda people, _: _mean(_differing(people))),
        study.measure(lambda _, own: _mean(_differing(own)), _mean(_differing(study.crowd))),
        tuple(_calibration(study.crowd, study.model)),
        tuple(int(one) for one in split_evenly(crowd.astype(np.int64))),
    )


@dataclass(frozen=True, slots=True)
class _Study:
    """Label counts of people and the model on the usable items, and people's single answers."""

    crowd: FloatArray
    model: FloatArray
    item: IntArray
    annotator: IntArray
    label: IntArray
    people: int
    cluster: IntArray | None = None

    def measure(self, statistic: Statistic, ceiling: float | None = None) -> Measure:
        value = statistic(self.crowd, self.model)
        if not isfinite(value):
            return Measure(nan, None, None)
        known = ceiling if ceiling is not None and isfinite(ceiling) else None
        variance = _jackknife(self._without_items(statistic)) + _jackknife(self._without_people(statistic))
        reach = student_quantile(0.975, self.people - 1) * sqrt(variance)
        over = "items" if self.cluster is None else f"{int(self.cluster.max()) + 1} clusters of items"
        method = f"jackknife over {over} and over people (Student)"
        return Measure(value, Interval(value - reach, value + reach, 0.95, method), known)

    def _without_items(self, statistic: Statistic) -> list[float]:
        unit = np.arange(len(self.crowd)) if self.cluster is None else self.cluster
        units = int(unit.max()) + 1
        group = unit * min(_GROUPS, units) // units
        return [
            statistic(self.crowd[group != one], self.model[group != one])
            for one in range(int(group.max()) + 1)
        ]

    def _without_people(self, statistic: Statistic) -> list[float]:
        _, code = np.unique(self.annotator, return_inverse=True)
        group = code % min(_GROUPS, self.people)
        found = []
        for one in range(int(group.max()) + 1):
            out = group == one
            left = self.crowd.copy()
            np.subtract.at(left, (self.item[out], self.label[out]), 1)
            enough = left.sum(axis=1) >= LEAST
            found.append(statistic(left[enough], self.model[enough]) if enough.any() else nan)
        return found


def _jackknife(values: Sequence[float]) -> float:
    """Compute the jackknife variance from the values with one group left out.

    Those that are not defined are ignored.
    """
    known = np.array([value for value in values if isfinite(value)])
    return jackknife_variance(known) if len(known) > 1 else 0.0


@dataclass(frozen=True, slots=True)
class _Halves:
    """Means over random splits of each item's people: one part in the model's place, the other as the reference."""

    model: float
    people: float
    correlation: float | None

    @classmethod
    def of(cls, study: _Study, rng: np.random.Generator) -> _Halves:
        n, m = study.crowd.sum(axis=1).astype(np.int64), study.model.sum(axis=1).astype(np.int64)
        size = np.minimum(n // 2, m)
        model, people, correlations = [], [], []
        for _ in range(_SPLITS):
            part = _drawn(study.crowd, size, rng)
            rest = _shares(study.crowd - part)
            people.append(float(jensen_shannon(_shares(part), rest).mean()))
            model.append(float(jensen_shannon(_shares(_drawn(study.model, size, rng)), rest).mean()))
            half = _drawn(study.crowd, n // 2, rng)
            correlations.append(_correlation(entropy(_shares(half)), entropy(_shares(study.crowd - half))))
        known = [one for one in correlations if isfinite(one)]
        return cls(float(np.mean(model)), float(np.mean(people)), float(np.mean(known)) if known else None)


def _drawn(counts: FloatArray, size: IntArray, rng: np.random.Generator) -> FloatArray:
    """Draw answers of each item without replacement, shape (items, labels)."""
    left, found = counts.astype(np.int64), np.zeros(counts.shape)
    total, wanted = left.sum(axis=1), size.copy()
    for label in range(counts.shape[1]):
        good = left[:, label]
        got = rng.hypergeometric(good, total - good, np.minimum(wanted, total))
        found[:, label] = got
        wanted, total = wanted - got, total - good
    return found


def _shares(counts: FloatArray) -> FloatArray:
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))


def _differing(counts: FloatArray) -> FloatArray:
    """Estimate the probability that two answers to an item differ, shape (items,)."""
    n = counts.sum(axis=1)
    return np.asarray(1 - (counts * (counts - 1)).sum(axis=1) / (n * (n - 1)))


def _apart(people: FloatArray, own: FloatArray) -> FloatArray:
    """Estimate the probability that a person and a sample differ, shape (items,)."""
    return np.asarray(1 - (_shares(people) * _shares(own)).sum(axis=1))


def _distance(people: FloatArray, own: FloatArray) -> float:
    return float((2 * _apart(people, own) - _differing(people) - _differing(own)).mean())


def _cross_entropy(people: FloatArray, own: FloatArray) -> float:
    p = (own + PRIOR) / (own.sum(axis=1, keepdims=True) + PRIOR * own.shape[1])
    return float(-(_shares(people) * np.log2(p)).sum(axis=1).mean())


def _left_out_entropy(people: FloatArray) -> float:
    """Return the cross-entropy of each person's label with the distribution of the item's other people."""
    n = people.sum(axis=1, keepdims=True)
    p = (people - 1 + PRIOR) / (n - 1 + PRIOR * people.shape[1])
    return float(-(_shares(people) * np.log2(np.where(people > 0, p, 1.0))).sum(axis=1).mean())


def _entropy_correlation(people: FloatArray, own: FloatArray) -> float:
    return _correlation(entropy(_shares(people)), entropy(_shares(own)))


def _correlation(first: FloatArray, second: FloatArray) -> float:
    a, b = first - first.mean(), second - second.mean()
    scale = sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / scale if scale > 1e-12 else nan


def _mean(values: FloatArray) -> float:
    return float(values.mean())


def _calibration(people: FloatArray, own: FloatArray) -> list[SpreadBin]:
    """Divide items into at most four groups of about equal size by the model's spread; equal spreads stay together."""
    spread, reference = _differing(own), _differing(people)
    edges = np.unique(np.quantile(spread, [0.25, 0.5, 0.75]))
    code = np.searchsorted(edges, spread, side="left")
    return [
        SpreadBin(int((code == one).sum()), _mean(spread[code == one]), _mean(reference[code == one]))
        for one in np.unique(code).tolist()
    ]
