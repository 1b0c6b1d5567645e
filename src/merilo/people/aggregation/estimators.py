"""Aggregation of labels: the function `aggregate`, and estimators with the interface of crowd-kit.

A table has the columns `task`, `worker` and `label`. Results are tables of the library (pandas or Polars) of the input.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias

import numpy as np
import polars as pl

from merilo.errors import UsageError, argument
from merilo.people.aggregation import (
    NO_LABEL,
    Consensus,
    Resolution,
    auto,
    cascade,
    dawid_skene,
    glad,
    plurality,
)
from merilo.people.reading import Frame, encoded, is_pandas, pandas_of, polars_of
from merilo.people.votes import Encoding, Votes
from merilo.responses import Responses
from merilo.statistics import FloatArray

Method: TypeAlias = Literal["majority", "auto", "dawid-skene", "glad", "cascade"]


class _Estimator(ABC):
    """Base class of all aggregators.

    Attributes:
        labels_: the label of each task. pandas: a Series indexed by `task`. Polars: a table of `task` and
            `label`. A task with tied labels has a null label.
        probas_: the probability of each label of each task under the model. pandas: indexed by `task`. Polars: with
            a column `task`. `None` if answers are open, because there are too many labels for a table.
        skills_: the quality of each worker. pandas: a Series indexed by `worker`. Polars: a table of `worker`
            and `skill`.
        consensus_: the internal representation of the result.
    """

    labels_: Any
    probas_: Any
    skills_: Any
    consensus_: Consensus

    @abstractmethod
    def _aggregate(self, encoding: Encoding) -> Consensus:
        """Compute the consensus of encoded votes."""

    def fit(self, data: Frame | Responses) -> Self:
        """Aggregate a table of `task`, `worker`, `label`; rows with missing values are ignored.

        Raises:
            UsageError: a column is missing, or the labels do not suit the method.
        """
        encoding = encoded(data)
        consensus = self._aggregate(encoding)
        self.consensus_ = consensus
        names = encoding.labels.to_list()
        label = [None if code == NO_LABEL else names[code] for code in consensus.label.tolist()]
        tasks, workers = encoding.items.alias("task"), encoding.annotators.alias("worker")
        shares = self._probabilities(encoding.votes, consensus)
        columns = (
            [] if shares is None else [pl.Series(str(name), shares[:, n]) for n, name in enumerate(names)]
        )
        labels = pl.DataFrame([tasks, pl.Series("label", label, dtype=encoding.labels.dtype)])
        skills = pl.DataFrame([workers, pl.Series("skill", self._skills(encoding.votes, consensus))])
        probabilities = pl.DataFrame([tasks, *columns])
        if is_pandas(data):
            self.labels_ = pandas_of(labels, "task")["label"].rename("agg_label")
            self.skills_ = pandas_of(skills, "worker")["skill"]
            self.probas_ = (
                None if shares is None else pandas_of(probabilities, "task").set_axis(names, axis=1)
            )
        else:
            self.labels_, self.skills_ = labels, skills
            self.probas_ = None if shares is None else probabilities
        return self

    def fit_predict(self, data: Frame | Responses) -> Any:  # noqa: ANN401 - a Series of pandas or a table of Polars
        """Aggregate a table and return `labels_`."""
        return self.fit(data).labels_

    def fit_predict_proba(self, data: Frame | Responses) -> Any:  # noqa: ANN401 - a table of pandas or Polars
        """Aggregate a table and return `probas_`."""
        return self.fit(data).probas_

    def _probabilities(self, votes: Votes, consensus: Consensus) -> FloatArray | None:
        return consensus.fit.posterior if consensus.fit else _shares(votes)

    def _skills(self, votes: Votes, consensus: Consensus) -> FloatArray:
        if consensus.fit is not None:
            return consensus.fit.quality
        label = consensus.label[votes.item]
        judged, people = label != NO_LABEL, votes.annotators
        answered = np.bincount(votes.annotator[judged], minlength=people)
        agreed = np.bincount(votes.annotator[votes.label == label], minlength=people)
        return np.where(answered > 0, agreed / np.maximum(answered, 1), np.nan)


def _shares(votes: Votes) -> FloatArray:
    """Compute the shares of votes, shape (items, labels)."""
    counts = votes.counts()
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


class MajorityVote(_Estimator):
    """The label with the most votes.

    `probas_` are shares of votes; `skills_` are the shares of each worker's labels that equal the result.

    Example:
        >>> frame = pl.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "label": ["x", "x", "y"]})
        >>> MajorityVote().fit_predict(frame).rows()
        [(1, 'x')]
    """

    def _aggregate(self, encoding: Encoding) -> Consensus:
        return plurality(encoding.votes, 1)


class Cascade(_Estimator):
    """Majority vote; ties are broken by the larger sum of GLAD's abilities. `skills_` are GLAD's abilities."""

    def _aggregate(self, encoding: Encoding) -> Consensus:
        return cascade(encoding.votes, fit=glad(encoding.votes).fit)

    def _probabilities(self, votes: Votes, consensus: Consensus) -> FloatArray | None:
        return _shares(votes)


class _Model(_Estimator):
    """A model of annotators.

    Args:
        n_iter: the maximum number of iterations.
        tol: stop if an iteration improves the log-likelihood per answer by less than this.
    """

    _n_iter: ClassVar[int]
    _tol: ClassVar[float]

    def __init__(self, n_iter: int | None = None, tol: float | None = None) -> None:
        self.n_iter = self._n_iter if n_iter is None else n_iter
        self.tol = self._tol if tol is None else tol


class DawidSkene(_Model):
    """Dawid and Skene's model; `skills_` are expected shares of correct answers. For closed labels only."""

    _n_iter, _tol = 1000, 1e-8

    def _aggregate(self, encoding: Encoding) -> Consensus:
        return dawid_skene(encoding.votes, iterations=self.n_iter, tolerance=self.tol)


class Auto(_Estimator):
    """The recommended model: pooled Dawid-Skene for closed labels, GLAD for open ones.

    `skills_` are expected accuracies, or GLAD's abilities.

    Args:
        order: the labels from the lowest to the highest, if they are ordered: the label is then the weighted median.
    """

    def __init__(self, order: Sequence[Any] = ()) -> None:
        self.order = order

    def _aggregate(self, encoding: Encoding) -> Consensus:
        if not len(self.order):
            return auto(encoding.votes)
        places = {label: place for place, label in enumerate(self.order)}
        labels = encoding.labels.to_list()
        if missing := [label for label in labels if label not in places]:
            raise UsageError(f"order has no place for label '{missing[0]}'", field="order")
        return auto(encoding.votes, scale=[places[label] for label in labels])


class GLAD(_Model):
    """Abilities of workers and difficulty of tasks; `skills_` are the abilities (`alphas_` in crowd-kit)."""

    _n_iter, _tol = 500, 1e-9

    def _aggregate(self, encoding: Encoding) -> Consensus:
        return glad(encoding.votes, iterations=self.n_iter, tolerance=self.tol)


_METHODS: Final[dict[str, type[_Estimator]]] = {
    "majority": MajorityVote,
    "auto": Auto,
    "dawid-skene": DawidSkene,
    "glad": GLAD,
    "cascade": Cascade,
}


def aggregate(data: Frame | Responses, method: Method = "majority", *, order: Sequence[Any] = ()) -> Any:  # noqa: ANN401 - a table of the library of the input
    """Compute one label for each task from the labels of several workers.

    Args:
        data: a table of pandas or Polars with the columns `task`, `worker` and `label`, or the result of
            `read_responses`: its answers to items, without those to control items, of all annotators.
        method: "majority" (most votes), "auto", "dawid-skene", "glad" or "cascade".
        order: the labels from the lowest to the highest, if they are ordered: "auto" then takes the weighted median.

    Returns:
        A table of the same library (Polars for responses), sorted by `task`: `task`, `label` (null if labels tie),
        `confidence` (the probability of the label under a model; its share of the votes for "majority" and
        "cascade") and `resolved_by`.

    Raises:
        UsageError: there is no such method, a column is missing, or the labels do not suit the method or the order.

    Example:
        >>> frame = pl.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "label": ["x", "x", "y"]})
        >>> aggregate(frame).select("task", "label", "resolved_by").rows()
        [(1, 'x', 'majority')]
    """
    if method not in _METHODS:
        raise UsageError(
            f"there is no method '{method}' (choose from: {', '.join(_METHODS)})", field=argument("method")
        )
    pandas = is_pandas(data)
    table = polars_of(data)
    if len(order) and method != "auto":
        raise UsageError(f"the order of labels is for the method 'auto', not '{method}'", field="order")
    estimator = (Auto(order) if method == "auto" else _METHODS[method]()).fit(table)
    consensus = estimator.consensus_
    labels: pl.DataFrame = estimator.labels_
    found = labels.with_columns(
        pl.Series("confidence", consensus.confidence).fill_nan(None),
        pl.Series("resolved_by", [Resolution(way).name.lower() for way in consensus.how.tolist()]),
    )
    return pandas_of(found) if pandas else found
