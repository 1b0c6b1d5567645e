"""The two figures of a study, which must not be mistaken for each other: the crowd's consensus and the single person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.baselines.settings import Settings
from merilo.errors import DataError
from merilo.metrics.score import Score
from merilo.people.uncertainty.annotator_accuracy import Individuals, individuals
from merilo.people.uncertainty.two_way import TwoWay, two_way
from merilo.people.votes import Encoding, Votes

FloatArray = NDArray[np.float64]

#: What breaks ties must never outweigh a vote.
_BREAKS_TIES: Final = 1e-3
_LEAST_WEIGHT: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Figures:
    """What the crowd reaches together, and what its people reach alone.

    Attributes:
        crowd: the consensus figure with its uncertainty over items and annotators together.
        published: the same by majorities of `min_votes` alone, other items left out, where the settings ask for another way.
        single: the single person's figure.
        names: the annotators' ids, by code.
    """

    crowd: TwoWay
    published: TwoWay | None
    single: Individuals
    names: pl.Series

    def name(self, code: int) -> str:
        """The id of an annotator."""
        return str(self.names[code])


def figures(
    everyone: Encoding,
    votes: Votes,
    *,
    consensus: pl.DataFrame,
    annotators: pl.DataFrame,
    score: Score,
    settings: Settings,
) -> Figures | None:
    """Both figures of a study whose gold is known.

    The consensus is decided again many times with the rule of the settings: a majority of `min_votes`, or most votes
    with ties broken by skill and then ability, or votes weighed by what a model thinks of the people. Such a model is
    not fitted again for each exchanged answer.

    Args:
        everyone: the encoding that the votes' codes belong to.
        votes: the answers that count.
        consensus: a row an item with `item` and `gold`.
        annotators: a row an annotator with `annotator`, `skill`, `control_accuracy`, `ability`, `expected_accuracy`.
        score: the published figure.
        settings: what was decided beforehand.

    Returns:
        The figures; `None` where no item with gold has an answer and a consensus.
    """
    labels = everyone.labels.cast(pl.String)
    gold = (
        everyone.items.cast(pl.UInt32)
        .to_frame("item")
        .join(consensus.select("item", "gold"), on="item", how="left", maintain_order="left")["gold"]
    )
    known = votes.where(gold.is_not_null().to_numpy()[votes.item])
    if not len(known) or not score.n:
        return None
    codes = (
        gold.to_frame("label")
        .join(
            pl.DataFrame({"label": labels, "code": np.arange(len(labels))}),
            on="label",
            how="left",
            maintain_order="left",
        )["code"]
        .fill_null(-1)
        .to_numpy()
    )
    right = (known.label == codes[known.item]).astype(np.float64)
    by_majority = (settings.aggregator, settings.resolve) == ("majority", "none")
    try:
        crowd = two_way(
            known,
            right,
            min_votes=settings.min_votes if by_majority else 0,
            weight=None if by_majority else vote_weights(known, everyone.annotators, annotators, settings),
            value=score.value,
        )
    except DataError:
        return None
    return Figures(
        crowd,
        None if by_majority else _by_majorities(known, right, settings.min_votes),
        individuals(known, right),
        everyone.annotators,
    )


def _by_majorities(votes: Votes, right: FloatArray, min_votes: int) -> TwoWay | None:
    """The figure of the published procedure; `None` where there is no majority at all."""
    try:
        return two_way(votes, right, min_votes=min_votes)
    except DataError:
        return None


def vote_weights(votes: Votes, names: pl.Series, annotators: pl.DataFrame, settings: Settings) -> FloatArray:
    """What each answer weighs when the items are decided again.

    Args:
        votes: the answers.
        names: shape (annotators,), the annotators' ids by code.
        annotators: a row an annotator with `annotator`, `skill`, `control_accuracy`, `ability`, `expected_accuracy`.
        settings: how the consensus is reached.

    Returns:
        Shape (n,): more than 0.
    """
    people = (
        names.cast(pl.String)
        .to_frame("annotator")
        .join(annotators, on="annotator", how="left", maintain_order="left")
    )
    if settings.aggregator == "dawid-skene":
        accuracy = np.clip(_column(people, "expected_accuracy", 0.5), 0.01, 0.99)
        odds = np.log(accuracy * max(votes.labels - 1, 1) / (1 - accuracy))
        return np.asarray(np.maximum(odds, _LEAST_WEIGHT)[votes.annotator])
    if settings.aggregator == "glad":
        odds = _column(people, "ability", 1.0) + np.log(max(votes.labels - 1, 1))
        return np.asarray(np.maximum(odds, _LEAST_WEIGHT)[votes.annotator])
    weight = np.ones(people.height)
    if settings.resolve in {"skill", "cascade"}:
        column = "skill" if people["skill"].is_not_null().any() else "control_accuracy"
        weight += _BREAKS_TIES * _ranked(people, column)
    if settings.resolve in {"glad", "cascade"}:
        weight += _BREAKS_TIES**2 * _ranked(people, "ability")
    return weight[votes.annotator]


def _column(people: pl.DataFrame, name: str, unknown: float) -> FloatArray:
    values: FloatArray = people[name].cast(pl.Float64).fill_null(unknown).fill_nan(unknown).to_numpy()
    return values


def _ranked(people: pl.DataFrame, name: str) -> FloatArray:
    """A column brought between 0 and 1, the mean for who has none."""
    values = people[name].cast(pl.Float64).fill_nan(None)
    if values.null_count() == len(values):
        return np.zeros(len(values))
    filled = values.fill_null(values.mean()).to_numpy()
    reach = float(filled.max() - filled.min())
    ranked: FloatArray = (filled - filled.min()) / reach if reach > 0 else np.zeros(filled.shape[0])
    return ranked
