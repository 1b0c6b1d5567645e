"""The alternative-annotator test: whether a judge represents people at least as well as one of them would."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.people.uncertainty.annotator_accuracy import components, mean_variance
from merilo.people.votes import Votes
from merilo.statistics import FloatArray
from merilo.statistics.intervals import (
    Interval,
    cluster_count,
    cluster_design_effect,
    limited_freedom,
    student_above,
)
from merilo.statistics.post_stratification import bounded_interval

#: The fewest texts of an annotator, scored by another one too, for a test, and the fewest annotators tested.
FEWEST_TEXTS: Final = 30
FEWEST_ANNOTATORS: Final = 3
#: The share of annotators that the judge must win against.
ENOUGH_WON: Final = 0.5
#: The largest expected share of false rejections.
FALSE_DISCOVERIES: Final = 0.05
#: Agreements closer than this are equal.
_SAME: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Alternative:
    """The judge beside one annotator, both compared with the other annotators of the same texts.

    Attributes:
        annotator: the annotator's code.
        texts: the number of texts that another annotator scored too.
        judge: the share of texts on which the judge agrees with the others at least as well as the annotator does.
        person: the same with the two exchanged.
        p: the p-value of the hypothesis that the judge's share is below the annotator's by `epsilon` or more.
        won: whether the hypothesis is rejected, with the false discovery rate over annotators controlled.
    """

    annotator: int
    texts: int
    judge: float
    person: float
    p: float
    won: bool


@dataclass(frozen=True, slots=True)
class AlternativeTest:
    """The test of a judge.

    Attributes:
        tested: the annotators with enough texts.
        others: the number of annotators with fewer.
        epsilon: by how much the judge's share may be smaller.
        advantage: the mean of the judge's shares over the tested annotators (the average advantage probability); 0 if
            nobody was tested.
        interval: its interval over texts and annotators; `None` if nobody was tested.
    """

    tested: tuple[Alternative, ...]
    others: int
    epsilon: float
    advantage: float
    interval: Interval | None

    @property
    def winning_rate(self) -> float:
        """The share of tested annotators that the judge won against."""
        return sum(one.won for one in self.tested) / max(len(self.tested), 1)

    @property
    def possible(self) -> bool:
        """Whether enough annotators were tested."""
        return len(self.tested) >= FEWEST_ANNOTATORS

    @property
    def passed(self) -> bool:
        """Whether the judge may be used in place of people."""
        return self.possible and self.winning_rate >= ENOUGH_WON


def alternative_annotator_test(
    votes: Votes, judge: FloatArray, *, numbers: FloatArray | None = None, epsilon: float = 0.1
) -> AlternativeTest:
    """Test whether a judge may stand in for people.

    Each annotator is left out in turn. On each of their texts, the judge's answer and the annotator's are compared with
    the answers of the others: by the share of equal answers, or for numbers by the root mean square difference. The
    advantage is the share of texts on which the judge is at least as close as the annotator. A t-test over the
    annotator's texts rejects that the judge's share is smaller than the annotator's by `epsilon` or more. The judge
    passes if it is rejected for half of the annotators, by the procedure of Benjamini and Yekutieli at 5 %.

    If texts form clusters (`Votes.cluster`), the variance of the t-test is multiplied by `cluster_design_effect`, with
    one degree of freedom less than there are clusters.

    Args:
        votes: people's answers; a text may have none.
        judge: shape (items,), the judge's answer to each text: the code of a label, or its number. NaN: it gave none,
            and is never as close as a person.
        numbers: shape (labels,), the number behind each label; by default, answers are equal or not.
        epsilon: the authors suggest 0.2 for experts, 0.15 for trained annotators, 0.1 for a crowd.

    References:
        N. Calderon, R. Reichart, R. Dror (2025), The alternative annotator test for LLM-as-a-judge. ACL 2025.
        Y. Benjamini, D. Yekutieli (2001), The control of the false discovery rate in multiple testing under dependency.
        Annals of Statistics 29, 1165-1188.

    Example:
        >>> text, annotator = np.divmod(np.arange(300, dtype=np.int32), 3)
        >>> label = (text % 2).astype(np.int32)
        >>> found = alternative_annotator_test(Votes(text, annotator, label, 100, 3, 2), np.arange(100) % 2.0)
        >>> found.winning_rate, found.advantage, found.passed
        (1.0, 1.0, True)
    """
    rows, judge_best, person_best = _compared(votes, judge, numbers)
    texts = np.bincount(votes.annotator[rows], minlength=votes.annotators)
    answering = int((np.bincount(votes.annotator, minlength=votes.annotators) > 0).sum())
    chosen = np.flatnonzero(texts >= FEWEST_TEXTS).tolist()
    found = []
    for code in chosen:
        own = votes.annotator[rows] == code
        apart = person_best[own].astype(np.float64) - judge_best[own]
        clusters = None if votes.cluster is None else votes.cluster[votes.item[rows[own]]]
        p = _p_of_mean_below(apart, epsilon, clusters)
        found.append((code, int(own.sum()), float(judge_best[own].mean()), float(person_best[own].mean()), p))
    won = rejected([one[-1] for one in found], FALSE_DISCOVERIES)
    tested = tuple(Alternative(*one, win) for one, win in zip(found, won, strict=True))
    advantage = sum(one.judge for one in tested) / max(len(tested), 1)
    interval = _interval(advantage, votes, rows, judge_best, chosen)
    return AlternativeTest(tested, answering - len(tested), epsilon, advantage, interval)


def chance_agreement(votes: Votes, numbers: FloatArray | None = None) -> float:
    """Compute the p-value of the hypothesis that annotators agree with each other no more than by chance.

    The products of two annotators' deviations from their own means on one text, of numbers or of the indicators of
    labels, have the mean 0 by chance. The test is Student's over texts, one-sided.

    Args:
        votes: people's answers.
        numbers: as for `alternative_annotator_test`.

    Returns:
        The p-value; 1 if every annotator gave one answer to all texts, or no text has two answers.

    Example:
        >>> text, annotator = np.divmod(np.arange(300, dtype=np.int32), 3)
        >>> chance_agreement(Votes(text, annotator, (text % 2).astype(np.int32), 100, 3, 2)) < 1e-6
        True
        >>> chance_agreement(Votes(text, annotator, np.zeros(300, np.int32), 100, 3, 2))
        1.0
    """
    values = np.eye(votes.labels)[votes.label] if numbers is None else numbers[votes.label][:, None]
    answered = np.maximum(np.bincount(votes.annotator), 1)
    products = np.zeros(votes.items)
    for column in values.T:
        apart = column - (np.bincount(votes.annotator, weights=column) / answered)[votes.annotator]
        sums, squares = (np.bincount(votes.item, apart**power, votes.items) for power in (1, 2))
        products += sums**2 - squares
    several = np.bincount(votes.item, minlength=votes.items) > 1
    found = products[several]
    if found.size < 2 or np.ptp(values) == 0:
        return 1.0
    return _p_of_mean_below(-found, 0.0, None if votes.cluster is None else votes.cluster[several])


def rejected(p_values: list[float], level: float) -> list[bool]:
    """Return which hypotheses are rejected at a false discovery rate, whatever the dependence of the tests.

    References:
        Y. Benjamini, D. Yekutieli (2001), as for `alternative_annotator_test`.

    Example:
        >>> rejected([0.001, 0.9, 0.02], 0.05)
        [True, False, False]
    """
    count = len(p_values)
    each = level / max(count * sum(1 / rank for rank in range(1, count + 1)), 1)
    below = [rank for rank, p in enumerate(sorted(p_values), start=1) if p <= rank * each]
    most = max(below, default=0) * each
    return [p <= most for p in p_values]


def _compared(
    votes: Votes, judge: FloatArray, numbers: FloatArray | None
) -> tuple[NDArray[np.intp], NDArray[np.bool_], NDArray[np.bool_]]:
    """Compare judge and annotator with the other annotators of each text.

    Returns:
        The rows of the answers whose text has another answer; whether the judge is at least as close to the others; and
        whether the annotator is.
    """
    overlap = np.bincount(votes.item, minlength=votes.items)
    rows = np.flatnonzero(overlap[votes.item] > 1)
    item, label = votes.item[rows], votes.label[rows]
    answer, others = judge[item], overlap[item] - 1.0
    known = ~np.isnan(answer)
    if numbers is None:
        counts = votes.counts()
        code = np.where(known, answer, 0).astype(np.int64)
        seen = known & (code >= 0)
        agreeing = np.where(seen, counts[item, np.maximum(code, 0)] - (code == label), 0)
        close, own = agreeing / others, (counts[item, label] - 1) / others
    else:
        values = numbers[votes.label]
        sums, squares = (np.bincount(votes.item, weights=values**power) for power in (1, 2))
        mine = numbers[label]
        total, square = sums[item] - mine, squares[item] - mine**2

        def distance(value: FloatArray) -> FloatArray:
            return np.sqrt(np.maximum(value**2 - 2 * value * total / others + square / others, 0.0))

        close, own = -distance(np.where(known, answer, 0.0)), -distance(mine)
    return rows, known & (close >= own - _SAME), ~known | (own >= close - _SAME)


def _p_of_mean_below(values: FloatArray, bound: float, clusters: NDArray[np.integer] | None) -> float:
    """Return the p-value of the hypothesis that the mean is at least a bound, by the t-test."""
    n, mean = values.shape[0], float(values.mean())
    variance, freedom = float(values.var(ddof=1)) / n, n - 1.0
    if clusters is not None and (units := cluster_count(clusters)) < n:
        if units == 1:
            return 1.0
        variance, freedom = variance * cluster_design_effect(values - mean, clusters), units - 1.0
    if variance <= 0:
        return float(mean >= bound)
    return student_above((bound - mean) / sqrt(variance), freedom)


def _interval(
    value: float, votes: Votes, rows: NDArray[np.intp], judge_best: NDArray[np.bool_], chosen: list[int]
) -> Interval | None:
    """Return the interval of the mean over annotators of the judge's shares, over texts and annotators."""
    kept = np.isin(votes.annotator[rows], chosen)
    if not kept.any():
        return None
    mask = np.zeros(len(votes), dtype=np.bool_)
    mask[rows[kept]] = True
    own, score = votes.where(mask), judge_best[kept].astype(np.float64)
    each = 1 / (np.bincount(own.annotator, minlength=own.annotators)[own.annotator] * len(chosen))
    variance, freedom = mean_variance(own, each, components(own, score))
    return bounded_interval(
        value,
        variance,
        limited_freedom(freedom, 2 * len(chosen) - 1),
        bounds=(0.0, 1.0),
        most=float(len(own)),
        alike=float(np.unique(own.item).size),
        method="over texts and annotators (Wilson's form)",
    )
