"""Warnings about people and items that are less independent than the intervals assume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import polars as pl
import scipy

from merilo.baselines.warnings import BaselineWarning
from merilo.errors import argument
from merilo.people.aggregation import NO_LABEL
from merilo.people.votes import IntArray, Votes
from merilo.statistics import FloatArray
from merilo.text import Text

#: The probability of a warning about items that are independent.
_SURE: Final = 0.01
#: The busiest annotators are those who together gave this share of the answers.
_BUSY: Final = 1 / 4
#: What makes them a cause of concern: so many points less agreement with the consensus, in so many standard errors.
_WORSE, _STANDARD_ERRORS = 0.1, 3.0
#: A single annotator with a larger share of the answers is named.
_MOST_BY_ONE: Final = 1 / 3
#: A field is a candidate for clusters if it has at least so many values.
_LEAST_CLUSTERS: Final = 10
#: With a smaller design effect clusters hardly change an interval.
_LEAST_EFFECT: Final = 1.2


def warning_on_busy_annotators(
    votes: Votes, consensus: IntArray, names: Sequence[str]
) -> BaselineWarning | None:
    """Return a warning if the people who do most of the work make intervals too short.

    Args:
        votes: the answers that count.
        consensus: shape (items,), the consensus labels.
        names: shape (annotators,), the annotators' ids by code.
    """
    answered = np.bincount(votes.annotator, minlength=votes.annotators)
    share = float(answered.max(initial=0)) / max(len(votes), 1)
    people = int((answered > 0).sum())
    if people > 2 and share > max(_MOST_BY_ONE, 2 / people):
        text = Text(
            "one annotator ({name}) gave {share:.0%} of the answers: the estimate is to a large part theirs",
            name=names[int(answered.argmax())],
            share=share,
        )
        return BaselineWarning("busy_annotator", text)
    worse = worse_busy_annotators(votes, consensus)
    if worse is None:
        return None
    busy, given, own, others = worse
    text = Text(
        "the {n:# annotator|# annotators} with the most work gave {share:.0%} of the answers and {n:agrees|agree} "
        "with the consensus on {own:.0%} of them, the others on {others:.0%}: intervals may be too short, because "
        "they cannot know how many such people another sample has",
        n=busy,
        share=given,
        own=own,
        others=others,
    )
    return BaselineWarning("busy_annotator", text)


def worse_busy_annotators(votes: Votes, consensus: IntArray) -> tuple[int, float, float, float] | None:
    """Find out whether the annotators with the most work agree with the consensus less often than the others.

    Args:
        votes: the answers.
        consensus: shape (items,), the consensus labels.

    Returns:
        The number of these annotators, their share of the answers, and the share of agreeing answers of theirs and of
        the others; `None` if they do not agree clearly less often.
    """
    decided = consensus[votes.item] != NO_LABEL
    agrees = (votes.label == consensus[votes.item])[decided]
    person = votes.annotator[decided]
    answered = np.bincount(person, minlength=votes.annotators)
    order = np.argsort(-answered, kind="stable")
    given = np.cumsum(answered[order])
    n = int(np.searchsorted(given, _BUSY * agrees.size)) + 1
    people = int((answered > 0).sum())
    if people < 6 or n > people / 4:
        return None
    busy = np.isin(person, order[:n])
    own, others = float(agrees[busy].mean()), float(agrees[~busy].mean())
    error = np.sqrt(own * (1 - own) / busy.sum() + others * (1 - others) / (~busy).sum())
    if others - own < max(_WORSE, _STANDARD_ERRORS * float(error)):
        return None
    return n, float(busy.mean()), own, others


def warnings_on_fields(
    points: Mapping[int, float], tables: Sequence[pl.DataFrame], declared: str | None
) -> tuple[BaselineWarning, ...]:
    """Return a warning if items with the same value of a field are alike, although no field of clusters is named.

    Args:
        points: mapping from item number to its points.
        tables: tables with `item` and the items' fields.
        declared: the field of the clusters; `None` if no field is named.
    """
    if declared is not None or not points:
        return ()
    score = pl.DataFrame({"item": list(points), "points": list(points.values())})
    columns = {
        name: table.select("item", pl.col(name).cast(pl.String))
        for table in reversed(tables)
        for name in table.columns
        if name != "item"
    }
    found: list[tuple[float, float, str]] = []
    for name, column in columns.items():
        rows = score.join(
            column.with_columns(pl.col("item").cast(score.schema["item"])), on="item"
        ).drop_nulls()
        groups = rows[name].n_unique()
        if _LEAST_CLUSTERS <= groups <= rows.height / 2:
            code = rows[name].rank("dense").to_numpy().astype(np.int32) - np.int32(1)
            effect, p = effect_of_clusters(rows["points"].to_numpy(), code)
            if p < _SURE / len(columns) and effect > _LEAST_EFFECT:
                found.append((effect, p, name))
    if not found:
        return ()
    effect, _, name = max(found)
    text = Text(
        "items with the same '{field}' are alike in how people answer them (design effect {effect:.1f}), but intervals "
        "treat items as independent: name the field with {option}",
        field=name,
        effect=effect,
        option=argument("cluster", name.removeprefix("meta.")),
    )
    return (BaselineWarning("undeclared_clusters", text),)


def effect_of_clusters(values: FloatArray, cluster: IntArray) -> tuple[float, float]:
    """Estimate the design effect of clusters from the correlation within them, and test whether there is one.

    Args:
        values: shape (n,).
        cluster: shape (n,), codes from 0; at least two clusters, and one of them with two values.

    Returns:
        The design effect 1 + (m - 1) r with the correlation r of a one-way analysis of variance and the weighted mean
        size m of the clusters, and the p-value of its F test.

    References:
        J. Fleiss (1986), The design and analysis of clinical experiments, chapter 1 (intraclass correlation).

    Example:
        >>> effect, p = effect_of_clusters(np.repeat([0.0, 1.0, 0.0, 1.0], 5), np.repeat(np.arange(4), 5))
        >>> round(effect, 2), p
        (5.0, 0.0)
    """
    size = np.bincount(cluster).astype(np.float64)
    n, groups = float(size.sum()), size.shape[0]
    mean = np.bincount(cluster, weights=values) / size
    between = float(size @ (mean - values.mean()) ** 2) / (groups - 1)
    within = float(((values - mean[cluster]) ** 2).sum()) / (n - groups)
    typical = (n - float(size @ size) / n) / (groups - 1)
    total = between + (typical - 1) * within
    correlation = max((between - within) / total, 0.0) if total > 0 else 0.0
    p = (
        float(scipy.special.fdtrc(groups - 1, n - groups, between / within))
        if within > 0
        else float(between <= 0)
    )
    return 1 + (float(size @ size) / n - 1) * correlation, p
