"""Aggregation of labels: one function, and estimators in crowd-kit's manner.

A table has the columns `task`, `worker` and `label`. pandas in, pandas out; Polars in, Polars out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias

import numpy as np
import polars as pl

from merilo.api.frames import COLUMNS, Frame, is_pandas, pandas_of, polars_of
from merilo.errors import UsageError, argument
from merilo.files import listed
from merilo.people.aggregation import (
    NO_LABEL,
    Consensus,
    Resolution,
    cascade,
    dawid_skene,
    glad,
    one_coin,
    plurality,
)
from merilo.people.votes import Encoding, Votes, encode

Method: TypeAlias = Literal["majority", "dawid-skene", "one-coin", "glad", "cascade"]


def encoded(frame: Frame) -> Encoding:
    """The votes of a table.

    Raises:
        UsageError: a column is missing, or there is no complete row.
    """
    table = polars_of(frame)
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise UsageError(f"a table needs the columns {', '.join(COLUMNS)}; it has {listed(table.columns)}")
    found = encode(*(table[name] for name in COLUMNS))
    if not len(found.votes):
        raise UsageError("the table has no row with a task, a worker and a label")
    return found


class _Estimator(ABC):
    """What all aggregators share.

    Attributes:
        labels_: the label of each task. pandas: a Series indexed by `task`. Polars: a table of `task` and `label`. A task on
            which labels tie has none (null).
        probas_: the probability of each label of each task. pandas: indexed by `task`. Polars: with a column `task`. `None`
            where answers are open: there are too many labels for a table.
        skills_: the quality of each worker. pandas: a Series indexed by `worker`. Polars: a table of `worker` and `skill`.
        consensus_: the result as the program computes with it.
    """

    labels_: Any
    probas_: Any
    skills_: Any
    consensus_: Consensus

    @abstractmethod
    def _aggregate(self, votes: Votes) -> Consensus:
        """The consensus on votes."""

    def fit(self, data: Frame) -> Self:
        """Aggregate a table of `task`, `worker`, `label`; missing values are no answers.

        Raises:
            UsageError: a column is missing, or the labels do not suit the method.
        """
        encoding = encoded(data)
        consensus = self._aggregate(encoding.votes)
        self.consensus_ = consensus
        pandas = is_pandas(data)
        label = [None if code == NO_LABEL else encoding.labels[code] for code in consensus.label.tolist()]
        tasks, workers = encoding.items.alias("task"), encoding.annotators.alias("worker")
        labels = pl.DataFrame([tasks, pl.Series("label", label, dtype=encoding.labels.dtype)])
        skills = pl.DataFrame([workers, pl.Series("skill", self._skills(encoding, consensus))])
        shares = self._probabilities(encoding.votes, consensus)
        probabilities = (
            None
            if shares is None
            else pl.DataFrame(
                [tasks, *(pl.Series(str(name), shares[:, n]) for n, name in enumerate(encoding.labels))]
            )
        )
        self.labels_ = pandas_of(labels, "task")["label"].rename("agg_label") if pandas else labels
        self.skills_ = pandas_of(skills, "worker")["skill"] if pandas else skills
        self.probas_ = probabilities
        if pandas and probabilities is not None:
            self.probas_ = pandas_of(probabilities, "task").set_axis(encoding.labels.to_list(), axis=1)
        return self

    def fit_predict(self, data: Frame) -> Any:  # noqa: ANN401 - a Series of pandas or a table of Polars
        """Aggregate, and answer with `labels_`."""
        return self.fit(data).labels_

    def fit_predict_proba(self, data: Frame) -> Any:  # noqa: ANN401 - a table of pandas or Polars
        """Aggregate, and answer with `probas_`."""
        return self.fit(data).probas_

    def _probabilities(
        self, votes: Votes, consensus: Consensus
    ) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        if consensus.fit is not None:
            return consensus.fit.posterior
        counts = votes.counts()
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def _skills(self, encoding: Encoding, consensus: Consensus) -> list[float]:
        if consensus.fit is not None:
            return [float(one) for one in consensus.fit.quality]
        votes = encoding.votes
        judged = consensus.label[votes.item] != NO_LABEL
        right = judged & (votes.label == consensus.label[votes.item])
        answered = np.bincount(votes.annotator[judged], minlength=votes.annotators)
        agreed = np.bincount(votes.annotator[right], minlength=votes.annotators)
        return [float(one) for one in np.where(answered > 0, agreed / np.maximum(answered, 1), np.nan)]


class MajorityVote(_Estimator):
    """The label with the most votes. `probas_` are shares of votes; `skills_` the share of a worker's labels that win.

    Example:
        >>> frame = pl.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "label": ["x", "x", "y"]})
        >>> MajorityVote().fit_predict(frame).rows()
        [(1, 'x')]
    """

    def _aggregate(self, votes: Votes) -> Consensus:
        return plurality(votes, 1)


class Cascade(_Estimator):
    """Most votes, and on a tie the larger sum of GLAD's abilities. `skills_` are GLAD's abilities."""

    def _aggregate(self, votes: Votes) -> Consensus:
        return cascade(votes)

    def _probabilities(
        self, votes: Votes, consensus: Consensus
    ) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        counts = votes.counts()
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))


class _Model(_Estimator):
    """A model of annotators.

    Args:
        n_iter: the most iterations.
        tol: stop when an iteration gains less than this in log-likelihood per answer.
    """

    _n_iter: ClassVar[int]
    _tol: ClassVar[float]

    def __init__(self, n_iter: int | None = None, tol: float | None = None) -> None:
        self.n_iter = self._n_iter if n_iter is None else n_iter
        self.tol = self._tol if tol is None else tol


class DawidSkene(_Model):
    """Dawid and Skene's model with a prior; `skills_` are expected shares of right answers. For closed labels only.

    Args:
        n_iter: the most iterations.
        tol: stop when an iteration gains less than this in log-likelihood per answer.
        weight: how strong the prior is; 0 is the classical model.
    """

    _n_iter, _tol = 1000, 1e-8

    def __init__(
        self, n_iter: int | None = None, tol: float | None = None, *, weight: float | None = None
    ) -> None:
        super().__init__(n_iter, tol)
        self.weight = weight

    def _aggregate(self, votes: Votes) -> Consensus:
        if self.weight is None:
            return dawid_skene(votes, iterations=self.n_iter, tolerance=self.tol)
        return dawid_skene(votes, iterations=self.n_iter, tolerance=self.tol, weight=self.weight)


class OneCoin(_Model):
    """One accuracy for each worker; `skills_` are the accuracies. For closed and open labels."""

    _n_iter, _tol = 1000, 1e-8

    def _aggregate(self, votes: Votes) -> Consensus:
        return one_coin(votes, iterations=self.n_iter, tolerance=self.tol)


class GLAD(_Model):
    """Abilities of workers and difficulty of tasks; `skills_` are the abilities (`alphas_` in crowd-kit)."""

    _n_iter, _tol = 500, 1e-9

    def _aggregate(self, votes: Votes) -> Consensus:
        return glad(votes, iterations=self.n_iter, tolerance=self.tol)


_METHODS: Final[dict[str, type[_Estimator]]] = {
    "majority": MajorityVote,
    "dawid-skene": DawidSkene,
    "one-coin": OneCoin,
    "glad": GLAD,
    "cascade": Cascade,
}


def aggregate(data: Frame, method: Method = "majority") -> Any:  # noqa: ANN401 - a table of the kind that was given
    """One label for each task from the labels of several workers.

    Args:
        data: a table of pandas or Polars with the columns `task`, `worker` and `label`.
        method: "majority" (most votes), "dawid-skene", "one-coin", "glad" or "cascade".

    Returns:
        A table of the same library, sorted by `task`: `task`, `label` (null where labels tie), `confidence` and
        `resolved_by`.

    Raises:
        UsageError: there is no such method, a column is missing, or the labels do not suit the method.

    Example:
        >>> frame = pl.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "label": ["x", "x", "y"]})
        >>> aggregate(frame).select("task", "label", "resolved_by").rows()
        [(1, 'x', 'majority')]
    """
    if method not in _METHODS:
        raise UsageError(
            f"there is no method '{method}' (there are: {', '.join(_METHODS)})", field=argument("method")
        )
    pandas = is_pandas(data)
    table = polars_of(data)
    estimator = _METHODS[method]().fit(table)
    consensus = estimator.consensus_
    labels: pl.DataFrame = estimator.labels_
    found = labels.with_columns(
        pl.Series("confidence", consensus.confidence).fill_nan(None),
        pl.Series("resolved_by", [Resolution(way).name.lower() for way in consensus.how.tolist()]),
    )
    return pandas_of(found) if pandas else found
