"""The mean score of texts by people and a judge: people score some of the texts, and a model, the judge, scores all.

The judge's mean is over many texts, and biased. The texts that people scored estimate the bias (prediction-powered
inference). People differ, one annotator scores many texts, and texts may form clusters, so the interval is over texts
and annotators together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr

from merilo.people.uncertainty.annotator_accuracy import cluster_effect_of
from merilo.people.uncertainty.two_way import Influence, shared_part
from merilo.people.votes import Votes
from merilo.statistics import FloatArray, IntArray
from merilo.statistics.intervals import Interval, cluster_count, cluster_design_effect
from merilo.statistics.post_stratification import StratifiedSample, bounded_interval, stratified_variance

#: A field with more values identifies single texts, and a value with fewer texts is counted with the other rare ones.
MOST_VALUES: Final = 20
FEWEST_OF_VALUE: Final = 10
_METHOD: Final = "prediction-powered, over texts and annotators (Wilson's form)"


@dataclass(frozen=True)
class JudgedTexts:
    """Texts that a judge scored, and people's answers to some of them.

    Attributes:
        votes: people's answers; most texts may have none.
        judged: shape (texts, scores), the judge's scores.
        stratum: shape (texts,), the codes of the texts' strata, 0 to strata - 1; each has a text with answers.
    """

    votes: Votes
    judged: FloatArray
    stratum: IntArray

    @cached_property
    def overlap(self) -> NDArray[np.intp]:
        """The number of people's answers to each text, shape (texts,)."""
        return np.bincount(self.votes.item, minlength=self.votes.items)

    @cached_property
    def with_people(self) -> NDArray[np.bool_]:
        """Which texts people scored, shape (texts,)."""
        return self.overlap > 0

    @cached_property
    def sizes(self) -> FloatArray:
        """The number of texts of each stratum, shape (strata,)."""
        return np.bincount(self.stratum).astype(np.float64)

    def on(self, chosen: NDArray[np.bool_]) -> tuple[JudgedTexts, NDArray[np.bool_]]:
        """Return the chosen texts as one stratum, and which of people's answers are to them.

        Args:
            chosen: shape (texts,).
        """
        place = np.cumsum(chosen, dtype=np.int32) - np.int32(1)
        kept = chosen[self.votes.item]
        votes = self.votes.where(kept)
        cluster = None if votes.cluster is None else votes.cluster[chosen]
        votes = replace(votes, item=place[votes.item], items=int(chosen.sum()), cluster=cluster)
        return JudgedTexts(votes, self.judged[chosen], np.zeros(votes.items, dtype=np.int64)), kept


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """A mean score over all texts by people's standards.

    Attributes:
        value: the estimate.
        interval: its interval over texts and annotators.
        item_variance: the variance from the texts.
        annotator_variance: the variance because texts share annotators.
    """

    value: float
    interval: Interval
    item_variance: float
    annotator_variance: float

    @property
    def variance(self) -> float:
        """The variance from both."""
        return self.item_variance + self.annotator_variance


def judges_weight(texts: JudgedTexts, points: FloatArray) -> float:
    """Compute the weight of the judge, 0 to 1, with which the variance over texts is smallest (power tuning).

    With one stratum, n texts with people and N others, it is  cov(people, judge) / ((1 + n / N) var(judge)).  A judge
    unrelated to people gets 0.

    Args:
        texts: the judge's scores, and people's answers.
        points: shape (n, scores), the scores of people's answers. Of several scores, such as the shares of labels, the
            sum of their variances is made smallest, so the shares keep their sum.

    References:
        A. Angelopoulos, J. Duchi, T. Zrnic (2023), PPI++: Efficient prediction-powered inference. arXiv:2311.01453.
    """
    mean = people_means(texts, points)
    shares = texts.sizes / texts.sizes.sum()
    shared = spread = 0.0
    for code, share in enumerate(shares.tolist()):
        own = (texts.stratum == code) & texts.with_people
        n, others = int(own.sum()), int((texts.stratum == code).sum()) - int(own.sum())
        if not others:
            continue
        products = (mean[own] - mean[own].mean(axis=0)) * texts.judged[own]
        shared += share**2 * float(products.sum()) / n**2
        every = texts.judged[texts.stratum == code]
        spread += share**2 * float(every.var(axis=0, ddof=1).sum()) * (1 / n + 1 / others)
    return min(max(shared / spread, 0.0), 1.0) if spread > 0 else 0.0


def people_means(texts: JudgedTexts, points: FloatArray) -> FloatArray:
    """Return the mean of people's scores of each text, shape (texts, scores); 0 without answers."""
    sums = [np.bincount(texts.votes.item, weights=one, minlength=texts.votes.items) for one in points.T]
    return np.column_stack(sums) / np.maximum(texts.overlap, 1)[:, None]


def corrected_mean(
    texts: JudgedTexts,
    points: FloatArray,
    judged: FloatArray,
    weight: float,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
) -> CorrectedMean:
    """Compute the mean score over all texts: the judge's mean over the others, corrected by people's texts.

    With the weight w it is  w · mean(judge on the other texts) + mean(people - w · judge on the texts with people),  in
    each stratum, weighted by the stratum's share of all texts. With the weight 0 it is people's mean alone. It
    estimates the mean over texts and people drawn as these were, so that no text is known exactly.

    The variance has three parts: that of the mean differences between people and w · judge of the texts with people, in
    strata and with the design effect of clusters, at least one text's; that because texts share annotators
    (`shared_part`); and that of w · judge on the other texts. The degrees of freedom are Satterthwaite's, and at most
    twice the number of annotators minus 2: with three to five annotators, half this limit covers in 98 to 100 % of
    studies, and none in 92 to 98 %.

    Args:
        texts: the judge's scores, people's answers, and strata.
        points: shape (n,), the score of each of people's answers.
        judged: shape (texts,), the judge's score of each text.
        weight: the judge's weight.
        bounds: the smallest and the largest possible score.
        level: the nominal coverage, in (0, 1).

    Raises:
        DataError: all texts with people belong to one cluster.

    References:
        A. Angelopoulos, S. Bates, C. Fannjiang, M. Jordan, T. Zrnic (2023), Prediction-powered inference. Science 382,
        669-674.
        A. Angelopoulos, J. Duchi, T. Zrnic (2023), PPI++: Efficient prediction-powered inference. arXiv:2311.01453.

    Example:
        >>> text, annotator = np.divmod(np.arange(300, dtype=np.int32), 3)
        >>> votes = Votes(text, annotator, np.zeros(300, np.int32), 1000, 3, 1)
        >>> points, judge = (text % 4 > 1).astype(float), (np.arange(1000) % 4 > 0).astype(float)
        >>> texts = JudgedTexts(votes, judge[:, None], np.zeros(1000, np.int64))
        >>> weight = judges_weight(texts, points[:, None])
        >>> found = corrected_mean(texts, points, judge, weight)
        >>> round(float(judge.mean()), 3), round(weight, 2), round(found.value, 3)
        (0.75, 0.6, 0.5)
    """
    votes, asked, width = texts.votes, texts.with_people, bounds[1] - bounds[0]
    strata = texts.sizes.shape[0]
    others = np.bincount(texts.stratum[~asked], minlength=strata)
    # A stratum that people scored completely needs no judge.
    used = weight * judged * (others > 0)[texts.stratum]
    sample = StratifiedSample(texts.stratum[asked], texts.sizes)
    share = np.zeros(votes.items)
    share[asked] = sample.share
    each = (share / np.maximum(texts.overlap, 1))[votes.item]
    apart = points - used[votes.item]
    of_text = people_means(texts, apart[:, None])[:, 0]
    middle = np.bincount(texts.stratum[asked], weights=of_text[asked], minlength=strata) / sample.drawn
    value, further, further_freedom = float(each @ apart), 0.0, inf
    if weight and others.any():
        code = np.cumsum(others > 0) - 1
        rest = StratifiedSample(code[texts.stratum[~asked]], texts.sizes[others > 0])
        share_of_rest = float(rest.sizes.sum() / texts.sizes.sum())
        value += share_of_rest * float(rest.share @ used[~asked])
        of_others = stratified_variance(used[~asked], rest)
        further, further_freedom = share_of_rest**2 * of_others.uncorrected, of_others.freedom
    centred = apart - middle[texts.stratum][votes.item]
    n, none = int(asked.sum()), np.zeros(len(votes))
    deviations = (of_text - middle[texts.stratum])[asked]
    part = shared_part(
        votes, Influence(value, n, deviations, each * centred * n, votes.item.astype(np.intp), none, none)
    )
    clusters, effect = cluster_effect_of(votes, deviations)
    of_texts = stratified_variance(of_text[asked], sample)
    from_texts = max(of_texts.uncorrected, (width / sample.effective_items) ** 2) * effect
    variance = from_texts + part.variance + further
    freedom = min(of_texts.freedom, (clusters or n) - 1)
    doubt = from_texts**2 / max(freedom, 1) + part.doubt + further**2 / further_freedom
    most = 2 * max(part.annotators - 1, 1)
    interval = bounded_interval(
        value,
        variance,
        max(min(variance**2 / doubt, float(most)), 1.0),
        bounds=bounds,
        most=inf,
        alike=sample.effective_items / effect,
        method=_METHOD,
        level=level,
    )
    return CorrectedMean(value, interval, from_texts + further, part.variance)


def corrected_difference(
    texts: JudgedTexts,
    points: FloatArray,
    judged: FloatArray,
    *,
    judge: bool = True,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> CorrectedMean:
    """Compute the mean score of the texts of stratum 1 minus that of stratum 0, with the judge's bias removed.

    It is `corrected_mean` of scores that are divided by the share of their stratum, below 0 in stratum 0. How strict an
    annotator is cancels out as far as they judged texts of both.

    Args:
        texts: texts in two strata.
        points: shape (n,), the score of each of people's answers.
        judged: shape (texts,), the judge's score of each text.
        judge: whether the judge is used, with its best weight for the difference.
        bounds: the smallest and the largest possible score.
    """
    factor = (np.array([-1.0, 1.0]) * texts.sizes.sum() / texts.sizes)[texts.stratum]
    turned, own = judged * factor, points * factor[texts.votes.item]
    scaled = replace(texts, judged=turned[:, None])
    weight = judges_weight(scaled, own[:, None]) if judge else 0.0
    width = bounds[1] - bounds[0]
    return corrected_mean(scaled, own, turned, weight, bounds=(-width, width))


def other_scores(texts: JudgedTexts) -> list[float]:
    """Compute the p-values of equal means of the judge's scores on texts with and without people, in the same strata.

    One p-value for each of the judge's scores, by the normal distribution. If texts form clusters, the variance is
    multiplied by `cluster_design_effect`.
    """
    asked, cluster, found = texts.with_people, texts.votes.cluster, []
    shares = (texts.sizes / texts.sizes.sum()).tolist()
    for judged in texts.judged.T:
        total = variance = 0.0
        for code, share in enumerate(shares):
            own, others = (judged[(texts.stratum == code) & side] for side in (asked, ~asked))
            if min(own.size, others.size) < 2:
                continue
            pooled = (own.var() * own.size + others.var() * others.size) / (own.size + others.size - 2)
            total += share * float(own.mean() - others.mean())
            variance += share**2 * float(pooled) * (1 / own.size + 1 / others.size)
        if cluster is not None:
            variance *= cluster_design_effect(judged - judged.mean(), cluster)
        found.append(2 * float(ndtr(-abs(total) / sqrt(variance))) if variance > 0 else 1.0)
    return found


def other_shares(texts: JudgedTexts, values: NDArray[np.str_]) -> float | None:
    """Compute the p-value of equal shares of a field's values with and without people: chi-squared over the strata.

    If texts form clusters, the statistic is divided by their mean size.

    Args:
        texts: the texts.
        values: shape (texts,), the field's values.

    Returns:
        The p-value; `None` if the field has one value, or more than `MOST_VALUES`.
    """
    names, codes = np.unique(values, return_inverse=True)
    if not 2 <= names.size <= MOST_VALUES:
        return None
    asked, statistic, freedom = texts.with_people, 0.0, 0
    for one in range(texts.sizes.shape[0]):
        inside = texts.stratum == one
        counts = np.array(
            [np.bincount(codes[inside & side], minlength=names.size) for side in (asked, ~asked)]
        )
        rare = counts.sum(axis=0) < FEWEST_OF_VALUE
        table = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)]).astype(np.float64)
        table = table[:, table.sum(axis=0) > 0]
        rows = table.sum(axis=1, keepdims=True)
        if table.shape[1] < 2 or not rows.all():
            continue
        expected = rows * table.sum(axis=0) / table.sum()
        statistic += float(((table - expected) ** 2 / expected).sum())
        freedom += table.shape[1] - 1
    cluster = texts.votes.cluster
    size = 1.0 if cluster is None else cluster.shape[0] / cluster_count(cluster)
    return float(chdtrc(freedom, statistic / size)) if freedom else None
