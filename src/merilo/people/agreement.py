"""Inter-annotator agreement, corrected for chance: coefficients, and the interval of alpha by the jackknife.

The deletions of nominal labels have closed forms, so the time grows with the number of answers and not
with its square. Only the ranks of the ordinal level are computed anew for each deletion, of groups of items
or annotators if the study is large.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from statistics import NormalDist
from typing import Final

import numpy as np
import polars as pl
import scipy
from numpy.typing import ArrayLike, NDArray

from merilo.errors import UsageError
from merilo.people.frames import Frame, encoded
from merilo.people.votes import Votes, run_starts
from merilo.responses import Responses
from merilo.settings import Level
from merilo.statistics import FloatArray
from merilo.statistics.crossed_difference import skewed_quantile
from merilo.statistics.intervals import Interval, cluster_count, student_quantile
from merilo.wording import listed


def krippendorff_alpha(votes: Votes, level: Level = "nominal", *, values: ArrayLike | None = None) -> float:
    """Compute Krippendorff's alpha: 1 - observed disagreement / disagreement expected by chance.

    Items may have any number of answers; those with fewer than two are left out. Time and
    memory grow with the number of votes, not with items x labels or labels squared.

    Args:
        votes: the answers.
        level: the distance between two labels: "nominal" (0 or 1), "ordinal" (by the answers between them, in the
            order of the codes), "interval" (by the squared difference of `values`).
        values: shape (labels,), the number behind each label, used for "interval" only; by default the codes
            themselves.

    Returns:
        Alpha: 1 is full agreement, 0 what chance gives, below 0 systematic disagreement. NaN if it is not defined: no
        item has two answers, or all comparable answers have the same label.

    Raises:
        UsageError: `level` is not one of the three, or `values` does not give one finite number per label.

    References:
        K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011).

    Example:
        >>> votes = Votes(*np.array([[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 1]]), 3, 2, 2)
        >>> round(krippendorff_alpha(votes), 4)
        0.4444
    """
    answers = np.bincount(votes.item, minlength=votes.items)
    kept = answers[votes.item] >= 2
    item, label = votes.item[kept], votes.label[kept]
    totals = np.bincount(label, minlength=votes.labels).astype(np.float64)
    n = totals.sum()
    if n < 2 or np.count_nonzero(totals) < 2:
        return float("nan")
    if level == "nominal":
        within = _nominal_disagreement(votes, answers)
        expected = n * n - float(totals @ totals)
    else:
        number = _numbers_of_labels(totals, level, values)
        within = _interval_disagreement(item, number[label], answers)
        expected = 2 * float(n * (totals @ number**2))
    if expected == 0:
        return float("nan")
    return float(1 - within * (n - 1) / expected)


def _nominal_disagreement(votes: Votes, answers: NDArray[np.intp]) -> float:
    """Number of ordered pairs of different labels within an item, divided by its number of answers minus one."""
    tally = votes.tally()
    agreeing = np.bincount(tally.item, weights=tally.votes.astype(np.float64) ** 2, minlength=answers.size)
    pairable = answers >= 2
    m = answers[pairable].astype(np.float64)
    return float(((m * m - agreeing[pairable]) / (m - 1)).sum())


def _interval_disagreement(item: NDArray[np.int32], number: FloatArray, answers: NDArray[np.intp]) -> float:
    """Squared differences over ordered pairs within an item, divided by its number of answers minus one."""
    pairable = answers >= 2
    m = answers[pairable].astype(np.float64)
    mean = np.bincount(item, weights=number, minlength=answers.size) / np.maximum(answers, 1)
    # Centred on each item's mean, so that large equal numbers cancel exactly.
    spread = np.bincount(item, weights=(number - mean[item]) ** 2, minlength=answers.size)[pairable]
    return float((2 * m * spread / (m - 1)).sum())


def _numbers_of_labels(totals: FloatArray, level: str, values: ArrayLike | None) -> FloatArray:
    """Return the numbers whose squared differences are the distances of this level, centred on their mean."""
    if level == "ordinal":
        # Krippendorff's ordinal distance is the difference of the labels' middle ranks.
        number = np.cumsum(totals) - totals / 2
    elif level == "interval":
        number = (
            np.arange(totals.size, dtype=np.float64) if values is None else np.array(values, dtype=np.float64)
        )
    else:
        raise UsageError(
            f"there is no level of measurement '{level}' (choose from: nominal, ordinal, interval)"
        )
    if number.shape != totals.shape or not np.isfinite(number).all():
        raise UsageError(f"the interval level needs one finite number for each of the {totals.size} labels")
    centred: FloatArray = number - (totals @ number) / max(totals.sum(), 1)
    return centred


def fleiss_kappa(votes: Votes) -> float:
    """Compute Fleiss' kappa, for any number of answers per item.

    With p_a the mean over items (of two answers or more) of the share of agreeing pairs, and pi_k the mean over items
    of the share of label k, kappa = (p_a - p_e) / (1 - p_e) with p_e = sum of pi_k squared. If all items have the
    same number of answers, this is Fleiss' original formula.

    Args:
        votes: the answers.

    Returns:
        Kappa, or NaN if it is not defined: no item with two answers, or one label in all answers.

    References:
        J. L. Fleiss, Measuring nominal scale agreement among many raters, Psychological Bulletin 76(5), 1971;
        for unequal numbers of answers K. L. Gwet, Handbook of Inter-Rater Reliability, 4th edition (2014), chapter 2.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 1]]), 3, 2, 2)
        >>> round(fleiss_kappa(votes), 4)
        0.3333
    """
    agreeing, shares = _agreement_and_shares(votes)
    return beyond_chance(agreeing, float(shares @ shares))


def gwet_ac1(votes: Votes) -> float:
    """Compute Gwet's AC1: like kappa, but stable if nearly all answers have one label.

    As `fleiss_kappa` with p_e = sum of pi_k (1 - pi_k) / (K - 1), where K counts all labels that can be given.

    Args:
        votes: the answers; `votes.labels` is K.

    Returns:
        AC1, or NaN if it is not defined: no item with two answers, or fewer than two labels that can be given.

    References:
        K. L. Gwet, Computing inter-rater reliability and its variance in the presence of high agreement,
        British Journal of Mathematical and Statistical Psychology 61(1), 2008.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 1]]), 3, 2, 2)
        >>> round(gwet_ac1(votes), 4)
        0.3333
    """
    if votes.labels < 2:
        return float("nan")
    agreeing, shares = _agreement_and_shares(votes)
    return beyond_chance(agreeing, float(shares @ (1 - shares)) / (votes.labels - 1))


def beyond_chance(observed: float, expected: float) -> float:
    """Return (observed - expected) / (1 - expected); NaN if the expected agreement is 1."""
    return (observed - expected) / (1 - expected) if 1 - expected > 1e-12 else float("nan")


def _agreement_and_shares(votes: Votes) -> tuple[float, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Compute the mean share of agreeing pairs over items with two answers.

    The second value is each label's mean share over all items.
    """
    tally = votes.tally()
    answers = np.bincount(votes.item, minlength=votes.items).astype(np.float64)
    pairs = np.bincount(tally.item, weights=tally.votes * (tally.votes - 1.0), minlength=votes.items)
    pairable = answers >= 2
    if not pairable.any():
        return float("nan"), np.zeros(votes.labels)
    agreeing = (pairs[pairable] / (answers[pairable] * (answers[pairable] - 1))).mean()
    share = np.bincount(tally.label, weights=tally.votes / answers[tally.item], minlength=votes.labels)
    return float(agreeing), share / np.count_nonzero(answers)


def on_scale(
    votes: Votes, names: Sequence[str], level: Level, order: Sequence[str] = ()
) -> tuple[Votes, NDArray[np.float64] | None]:
    """Return the votes with label codes in the order of the scale, and the numbers behind the labels.

    An ordinal scale uses the declared order of labels if that includes every label, otherwise that of numbers.

    Args:
        votes: the answers.
        names: the labels' names, by code.
        level: the level of measurement.
        order: the dataset's labels, lowest first.

    Returns:
        The votes, and the numbers of the labels by new code (`None` unless the level is interval).

    Raises:
        UsageError: the level is interval and a label is not a number, or it is ordinal and the order is not known.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 0], [0, 1, 2], [0, 1, 2]]), 1, 3, 3)
        >>> ordered, _ = on_scale(votes, ["1", "10", "9"], "ordinal")
        >>> ordered.label.tolist()
        [0, 2, 1]
    """
    if level == "nominal":
        return votes, None
    if level == "interval":
        wrong = next((name for name in names if _number(name) is None), None)
        if wrong is not None:
            raise UsageError(
                f"agreement on the interval level needs numeric answers, but '{wrong}' is not a number"
            )
        return votes, places_on_scale(names)
    places = places_on_scale(names, order)
    if places is None:
        strange = next(name for name in names if name not in order and (order or _number(name) is None))
        raise UsageError(
            f"the ordinal level needs the order of the labels, and '{strange}' "
            + (f"is not in the order {listed(order)}" if order else "is not a number")
            + ": declare 'order' from low to high in reading.yaml"
        )
    # Names with the same value ("1" and "1.0") share a code.
    _, code = np.unique(places, return_inverse=True)
    return replace(votes, label=code.astype(np.int32)[votes.label]), None


def places_on_scale(names: Sequence[str], order: Sequence[str] = ()) -> NDArray[np.float64] | None:
    """Return the places of labels on a scale, shape (labels,): in the order, or as numbers; `None` if it is unknown.

    Example:
        >>> places_on_scale(["good", "bad"], ["bad", "good"]), places_on_scale(["1", "2,5"]), places_on_scale(["bad"])
        (array([1., 0.]), array([1. , 2.5]), None)
    """
    place = {name: float(number) for number, name in enumerate(order)}
    if not all(name in place for name in names):
        place = {name: number for name in names if (number := _number(name)) is not None}
    return np.array([place[name] for name in names]) if len({*names} - {*place}) == 0 else None


def _number(name: str) -> float | None:
    try:
        number = float(name.replace(",", "."))
    except ValueError:
        return None
    return number if np.isfinite(number) else None


#: Alpha of ranks is computed again for every deletion. If that would visit more answers than this, groups are deleted.
VISITED: Final = 10_000_000

#: As many groups are deleted at least.
FEWEST_GROUPS: Final = 20


@dataclass(frozen=True, slots=True)
class Deletions:
    """A coefficient of the studies that remain after deletions; NaN if nothing comparable remains.

    Attributes:
        items: shape (units,), one item deleted (or a group of items, or a cluster).
        annotators: shape (units,), one annotator (or group of annotators) deleted.
        answers: shape (n,), one answer deleted; if items form clusters, one annotator's answers to one
            cluster, shape (cells,).
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
    """Leave-one-out values of Krippendorff's alpha of names, from sums over each item's answers.

    Attributes:
        votes: the answers.
        m: shape (items,), the number of answers.
        squares: shape (items,), the sum of squared votes over labels.
        own: shape (n,), the votes for an answer's own label on its item.
        counts: sparse, shape (items, labels), the votes for each label of an item.
    """

    votes: Votes
    m: FloatArray
    squares: FloatArray
    own: FloatArray
    counts: scipy.sparse.csr_array

    @classmethod
    def of(cls, votes: Votes) -> LeaveOneOut:
        """Sum the answers of each item."""
        tally = votes.tally()
        count = tally.votes.astype(np.float64)
        return cls(
            votes,
            np.bincount(votes.item, minlength=votes.items).astype(np.float64),
            np.asarray(np.bincount(tally.item, weights=count**2, minlength=votes.items), np.float64),
            votes.agreeing().astype(np.float64),
            scipy.sparse.csr_array((count, (tally.item, tally.label)), (votes.items, votes.labels)),
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
        return self._deletions(by_item, by_answer, scale, (whole, single), coefficient)

    def _deletions(
        self,
        by_item: FloatArray,
        by_answer: FloatArray,
        scale: FloatArray,
        lost: tuple[FloatArray, FloatArray],
        coefficient: Callable[[FloatArray, FloatArray], FloatArray],
    ) -> Deletions:
        """Compute a coefficient after each deletion.

        It depends on sums over items and on the squared length of the vector of label totals, in which an
        item has the weight `scale` for each of its answers. If an answer is deleted, the vector loses lost[0]
        for each of the item's answers and lost[1] for the answer itself.

        Args:
            by_item: shape (sums, items), what the sums lose with each item.
            by_answer: shape (sums, n), what they lose with each answer.
            scale: shape (items,).
            lost: two of shape (items,).
            coefficient: computes the coefficient from the lost sums and the remaining squared length, per deletion.
        """
        votes, counts = self.votes, self.counts
        totals = counts.T @ scale
        length = float(totals @ totals)
        whole, single = lost[0][votes.item], lost[1][votes.item]

        def remaining(removed: scipy.sparse.csr_array) -> FloatArray:
            """Compute the squared length of the vector of label totals without each row of `removed`."""
            return np.asarray(length - 2 * (removed @ totals) + removed.multiply(removed).sum(axis=1))

        def without(codes: NDArray[np.signedinteger]) -> tuple[FloatArray, FloatArray]:
            """Compute the lost sums and the remaining squared length without the answers of each code."""
            groups = int(codes.max(initial=-1)) + 1
            answered = scipy.sparse.csr_array((whole, (codes, votes.item)), (groups, votes.items))
            given = scipy.sparse.csr_array((single, (codes, votes.label)), (groups, votes.labels))
            sums = np.array([np.bincount(codes, row) for row in by_answer])
            return sums, remaining(answered @ counts + given)

        people = np.unique(votes.annotator, return_inverse=True)[1]
        answered = np.flatnonzero(self.m)
        if votes.cluster is None:
            product = counts @ totals
            left = length - 2 * scale * product + scale**2 * self.squares
            units = by_item[:, answered], left[answered]
            along = whole * product[votes.item] + single * totals[votes.label]
            own = whole**2 * self.squares[votes.item] + 2 * whole * single * self.own + single**2
            each = by_answer, length - 2 * along + own
        else:
            clusters, code = np.unique(votes.cluster[answered], return_inverse=True)
            members = scipy.sparse.csr_array(
                (scale[answered], (code, answered)), (clusters.size, votes.items)
            )
            units = (
                np.array([np.bincount(code, row[answered]) for row in by_item]),
                remaining(members @ counts),
            )
            cells = votes.unit.astype(np.int64) * votes.annotators + people
            each = without(np.unique(cells, return_inverse=True)[1])
        by_person = without(people)
        return Deletions(coefficient(*units), coefficient(*by_person), coefficient(*each))


def _ratio(disagreement: FloatArray, expected: FloatArray, comparable: NDArray[np.bool_]) -> FloatArray:
    """1 - disagreement / expected: NaN if nothing comparable remains, 1 if one label remains (no disagreement)."""
    defined = expected > 1e-9
    value = np.where(defined, 1 - disagreement / np.where(defined, expected, 1.0), 1.0)
    return np.where(comparable, value, np.nan)


def alpha_of_numbers(votes: Votes, level: Level, values: ArrayLike | None) -> Deletions:
    """Compute alpha of ranks or numbers after each deletion.

    Items and annotators are deleted one at a time, or in groups, and alpha is computed again. Single answers
    are deleted by a closed form in which the ranks stay as they are.
    """
    everything = np.bincount(votes.item, minlength=votes.items)[votes.item] >= 2
    label = votes.label[everything]
    totals = np.bincount(label, minlength=votes.labels).astype(np.float64)
    number = _numbers_of_labels(totals, level, values)

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


#: How many annotators who answer at random are added to those of the study.
RANDOM_ANNOTATORS: Final = 1.0


def jackknife_interval(
    votes: Votes, *, level: Level = "nominal", values: ArrayLike | None = None, confidence: float = 0.95
) -> Interval | None:
    """Compute the interval of Krippendorff's alpha over items and annotators.

    With A the coefficient, N the items with two answers and P the annotators:

        variance = v(items) + v(annotators) - v(answers), at least the larger of the first two

    v(...) are jackknife variances. Both of the first two contain the chance of single answers, so that part
    is subtracted once. v(items) is at least (2 / N)^2, about what one more item without any agreement would
    add. The interval is Student's, clipped to [-1, 1]. Its degrees of freedom are min(N, E) - 1, rounded down, at
    least 1. E = 1 / (sum of s^2) is the effective number of annotators, with s an annotator's share of the answers.

    A few annotators often include none of the population's careless ones. To first order, an annotator with the
    share s of the answers who answers at random changes A by -2 A s. The lower bound is therefore computed a second
    time, as if each annotator answered at random with the probability 1 / (P + 1): the variance grows by
    the one that this causes. The lower of both bounds counts, but this allowance does not take it below 0. For this
    reason, a unanimous study has a lower bound below 1. Student's quantile of the lower bound is corrected for the
    skewness that annotators cause.

    A share e of such annotators changes A to (1 - e)^2 A: the root of A, not A, is linear in e. The part of the
    upper bound's distance that annotators cause, d, therefore grows by d^2 / 4 A, at most twofold. Careless annotators
    who are missing from the study would lower A, so that the upper bound is A / 2 (P + 1) lower than Student's, but
    not lower than the normal distribution's.

    If items form clusters (`Votes.cluster`), a cluster takes the place of an item: it is left out as a whole,
    N is the number of clusters, and v(answers) is over one annotator's answers to one cluster. With a single
    cluster there is no interval.

    If one of the two annotators of a study is deleted, no agreement remains. The interval is then over items alone, and
    its method says so.

    Args:
        votes: the answers, at most one per annotator and item.
        level: the level of measurement.
        values: shape (labels,), the numbers behind the labels, for the interval level.
        confidence: the nominal coverage.

    Returns:
        The interval; `None` if alpha is not defined, or if fewer than two items have two answers.

    References:
        B. Efron, C. Stein (1981), The jackknife estimate of variance. Annals of Statistics 9, 586-596.
        K. L. Gwet (2008), Variance estimation of nominal-scale inter-rater reliability with random selection of raters.
        Psychometrika 73, 407-430 (the variances over items and over raters are added).
        A. C. Cameron, J. Gelbach, D. Miller (2011), Robust inference with multiway clustering. Journal of Business &
        Economic Statistics 29, 238-249 (the variance over single answers is subtracted).
        P. Hall (1992), On the removal of skewness by transformation. J. Royal Statistical Society B 54, 221-228.

    Example:
        >>> item, annotator = np.divmod(np.arange(300, dtype=np.int32), 3)
        >>> votes = Votes(item, annotator, item % 2, 100, 3, 2)
        >>> round(jackknife_interval(votes).low, 2)
        0.0
    """
    several = np.bincount(votes.item, minlength=votes.items) >= 2
    pairable = int(several.sum()) if votes.cluster is None else cluster_count(votes.cluster[several])
    value = krippendorff_alpha(votes, level, values=values)
    if pairable < 2 or not np.isfinite(value):
        return None
    comparable = np.bincount(votes.annotator, weights=several[votes.item])
    shares = comparable[np.unique(votes.annotator)] / comparable.sum()
    deletions = (
        LeaveOneOut.of(votes).alpha() if level == "nominal" else alpha_of_numbers(votes, level, values)
    )
    return interval_from_deletions(
        value, deletions, pairable, shares, confidence, clustered=votes.cluster is not None
    )


def interval_from_deletions(
    value: float,
    deletions: Deletions,
    items: int,
    shares: FloatArray,
    confidence: float = 0.95,
    *,
    clustered: bool = False,
) -> Interval:
    """Compute the interval of a coefficient from its deletions, as `jackknife_interval` describes.

    Args:
        value: the coefficient.
        deletions: the coefficient after each deletion.
        items: the number of items that have two answers or more, at least 2; or of their clusters.
        shares: shape (annotators,), the share of each annotator in the answers to these items.
        confidence: the nominal coverage.
        clustered: whether `items` counts clusters of items.
    """
    of_items, of_people, of_answers = deletions.variance
    of_items = max(of_items, (2 / items) ** 2)
    alone = not np.isfinite(of_people)
    effective = 1 / float(shares @ shares)
    # Equal shares must give the number of annotators in spite of rounding.
    freedom = items - 1 if alone else max(int(min(items, effective + 1e-9)) - 1, 1)
    t = student_quantile((1 + confidence) / 2, freedom)
    if alone:
        low, high = value - t * sqrt(of_items), value + t * sqrt(of_items)
    else:
        variance = max(of_items + of_people - of_answers, of_items, of_people)
        low = _lower(value, variance, t, deletions.annotators, shares)
        by_people = t * sqrt(max(variance - of_items, 0.0))
        curved = by_people * min(by_people / (4 * value), 1.0) if value > 0 else by_people
        normal = NormalDist().inv_cdf((1 + confidence) / 2)
        lowered = t * sqrt(variance) - max(value, 0.0) / (2 * (shares.size + 1))
        high = value + max(lowered, normal * sqrt(variance)) + curved
    over = f"{items} clusters of items" if clustered else "items"
    units = f"{over} alone" if alone else f"{over} and annotators"
    method = f"jackknife over {units}, t with {freedom} {'degree' if freedom == 1 else 'degrees'} of freedom"
    # With very uneven overlaps a coefficient itself can lie below -1.
    return Interval(max(low, min(-1.0, value)), min(high, 1.0), confidence, method)


def _lower(value: float, variance: float, t: float, deleted: FloatArray, shares: FloatArray) -> float:
    """Return the lower bound: that of the study, or that with annotators who answer at random if it is lower."""
    moved = (deleted.mean() - deleted) * (1 - 1 / deleted.size)
    third = float((moved**3).sum())
    change = -2 * max(value, 0.0) * shares
    q = RANDOM_ANNOTATORS / (shares.size + RANDOM_ANNOTATORS)
    wider = variance + q * (1 - q) * float(change @ change)
    assumed = q * (1 - q) * (1 - 2 * q) * float((change**3).sum())

    def bound(variance: float, third: float) -> float:
        return value - skewed_quantile(t, -third / variance**1.5) * sqrt(variance)

    return min(bound(variance, third), max(bound(wider, third + assumed), 0.0))


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of the annotators. Coefficients that are not defined are NaN.

    Attributes:
        items: items with at least one answer.
        answers: how many answers there are.
        krippendorff_alpha: Krippendorff's alpha.
        fleiss_kappa: Fleiss' kappa.
        gwet_ac1: Gwet's AC1.
        interval: the interval of Krippendorff's alpha, if it was requested and is defined.
        majority_sizes: votes of an item's most frequent label -> items, the largest first.
    """

    items: int
    answers: int
    krippendorff_alpha: float
    fleiss_kappa: float
    gwet_ac1: float
    interval: Interval | None
    majority_sizes: dict[int, int]


def measure(
    votes: Votes,
    *,
    level: Level = "nominal",
    values: ArrayLike | None = None,
    interval: bool = True,
) -> Agreement:
    """Compute all agreement coefficients.

    Args:
        votes: the answers.
        level: the level of measurement of Krippendorff's alpha; the other two take labels as names.
        values: shape (labels,), the numbers behind the labels, for the interval level.
        interval: whether to compute the interval of alpha.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 1]]), 3, 2, 2)
        >>> found = measure(votes, interval=False)
        >>> round(found.krippendorff_alpha, 3), found.majority_sizes
        (0.444, {2: 2, 1: 1})
    """
    return Agreement(
        items=int(np.unique(votes.item).size),
        answers=len(votes),
        krippendorff_alpha=krippendorff_alpha(votes, level, values=values),
        fleiss_kappa=fleiss_kappa(votes),
        gwet_ac1=gwet_ac1(votes),
        interval=jackknife_interval(votes, level=level, values=values) if interval else None,
        majority_sizes=majority_sizes(votes),
    )


def majority_sizes(votes: Votes) -> dict[int, int]:
    """Votes of an item's most frequent label -> how many items, the largest first; items without votes are left out."""
    tally = votes.tally()
    if not tally.item.size:
        return {}
    sizes, items = np.unique(np.maximum.reduceat(tally.votes, run_starts(tally.item)), return_counts=True)
    return {int(size): int(n) for size, n in zip(sizes[::-1], items[::-1], strict=True)}


def agreement_by(
    votes: Votes,
    groups: Sequence[str | None],
    *,
    level: Level = "nominal",
    values: ArrayLike | None = None,
    interval: bool = True,
) -> dict[str, Agreement]:
    """Compute all agreement coefficients within each group of items.

    Args:
        votes: the answers.
        groups: a name for each item (its domain, or any other field), length `votes.items`; items with `None` are in
            no group.
        level: as for `measure`.
        values: as for `measure`.
        interval: as for `measure`.

    Returns:
        group -> agreement, sorted by name; a group without answers is left out.

    Raises:
        UsageError: the number of names differs from the number of items.
    """
    if len(groups) != votes.items:
        raise UsageError(f"expected one group name for each of the {votes.items} items, not {len(groups)}")
    names = sorted({name for name in groups if name is not None})
    code = {name: number for number, name in enumerate(names)}
    group = np.array([-1 if name is None else code[name] for name in groups], dtype=np.int64)[votes.item]
    found = {}
    for name in names:
        within = votes.where(group == code[name])
        if len(within):
            found[name] = measure(within, level=level, values=values, interval=interval)
    return found


def agreement(
    data: Frame | Responses,
    *,
    level: Level = "nominal",
    order: Sequence[str] = (),
    interval: bool = True,
) -> Agreement:
    """Compute Krippendorff's alpha with its 95 % confidence interval, Fleiss' kappa and Gwet's AC1.

    Args:
        data: a table of pandas or Polars with the columns `task`, `worker` and `label`, or the result of
            `read_responses`: its answers to items, without those to control items, of all annotators.
        level: "nominal", "ordinal" or "interval", for Krippendorff's alpha.
        order: the labels from the lowest to the highest, for the ordinal level; by default, in numeric or
            alphabetical order.
        interval: whether to compute the interval of alpha over items and annotators.

    Returns:
        The coefficients, and the `interval` of alpha.

    Raises:
        UsageError: a column is missing, or a label is not a number on the interval level.

    Example:
        >>> frame = pl.DataFrame({"task": [1, 1, 2, 2], "worker": [*"abab"], "label": [*"xxyy"]})
        >>> agreement(frame).krippendorff_alpha
        1.0
    """
    encoding = encoded(data)
    votes, values = on_scale(encoding.votes, encoding.labels.cast(pl.String).to_list(), level, order)
    return measure(votes, level=level, values=values, interval=interval)
