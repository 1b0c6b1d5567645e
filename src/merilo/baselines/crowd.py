"""The answers of a baseline's annotators to the items with gold; or the items of a dataset without annotators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.baselines.evidence import Evidence
from merilo.baselines.pool_items import fields_of, find_clusters
from merilo.datasets.declaration import Dataset
from merilo.errors import DataError, argument
from merilo.estimate import Estimate
from merilo.items import Item
from merilo.metrics.answers import has_gold
from merilo.metrics.metric import Metric
from merilo.metrics.registry import metric_of
from merilo.people.gold_file import text_of
from merilo.people.votes import Votes, encode
from merilo.wording import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """The annotators' answers to the items that have gold; none in a comparison of models, or with closed gold.

    Attributes:
        folder: the baseline's folder, with its name as given; without annotators, where the items come from.
        names: shape (items,), the items' ids as text.
        gold: shape (items,), the gold answers as text.
        items: shape (items,), the items with their gold answers, as the scorer expects them.
        declaration: the dataset as the scorer uses it.
        consensus: shape (items,), the consensus labels, `None` for items without a consensus.
        votes: the answers that count; items are coded by their position in `names`.
        needed: shape (items,), how many equal votes make a majority.
        labels: the labels by code.
        annotators: the annotators' ids by code.
        evidence: what the baseline rests on; `None` in a comparison of models.
    """

    folder: str
    names: tuple[str, ...]
    gold: tuple[str, ...]
    items: tuple[Item, ...]
    declaration: Dataset
    consensus: tuple[str | None, ...]
    votes: Votes
    needed: NDArray[np.int64]
    labels: tuple[str, ...] = ()
    annotators: tuple[str, ...] = ()
    evidence: Evidence | None = None

    @property
    def sampled_from(self) -> int | None:
        """Return the number of items of the dataset that the people's items were drawn from; `None` if of none."""
        population = self.evidence.study.population if self.evidence else None
        return population.items if population and len(self.names) < population.items else None

    @property
    def metric(self) -> str:
        """Return the name of the baseline's main metric."""
        return self.declaration.metrics[0]

    @property
    def scored(self) -> Metric:
        """Return the main metric."""
        return metric_of(self.metric, self.declaration.answer.kind)

    @property
    def metric_name(self) -> str:
        """Return the name of the main metric in results: that of the correlation for a part of `by_criterion`."""
        group = self.declaration.extra
        return group if self.metric == "mcc" and group and "{" not in group else self.metric

    @property
    def estimates(self) -> Mapping[str, Estimate]:
        """Return the estimates of the baseline's consensus by metric; empty without annotators."""
        return self.evidence.estimates.metrics if self.evidence else {}

    def on(self, chosen: Sequence[int]) -> Crowd:
        """Return the same annotators restricted to the items at these places."""
        rows = list(chosen)
        place = np.full(len(self.names), -1, dtype=np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        votes = self.votes.where(place[self.votes.item] >= 0)
        cluster = None if votes.cluster is None else votes.cluster[rows]
        return replace(
            self,
            names=tuple(self.names[i] for i in rows),
            gold=tuple(self.gold[i] for i in rows),
            items=tuple(self.items[i] for i in rows),
            consensus=tuple(self.consensus[i] for i in rows),
            votes=replace(votes, item=place[votes.item], items=len(rows), cluster=cluster),
            needed=self.needed[rows],
        )


def crowd_of(baseline: Evidence, folder: str = "this baseline") -> Crowd:
    """Return the annotators of a baseline.

    Args:
        baseline: what the baseline rests on.
        folder: where it is.

    Raises:
        DataError: no item has a gold answer, or no answer to an item with gold counts.
    """
    declaration = baseline.declaration
    if declaration.answer.kind == "verdict":
        raise DataError(
            "the answers of people were scored elsewhere: the right answers are not known, so no model can be scored",
            file=folder,
        )
    items = {int(item.id): item for item in baseline.scorer.items} if baseline.scorer else {}
    known = _named(baseline.consensus.filter(pl.col("gold").is_not_null()), folder)
    known = known.filter(pl.col("item").is_in(list(items)))
    if not known.height:
        raise DataError(
            f"no item of this baseline has a gold answer: add {argument('data', 'FILE')}", file=folder
        )
    place = known.select("item", place=pl.int_range(pl.len()))
    used = baseline.used.drop_nulls("answer").join(place, on="item", maintain_order="left")
    if not used.height:
        raise DataError("no counted answer is to an item with a gold answer", file=folder)
    encoding = encode(used["place"], used["respondent"], used["answer"])
    # Items without counted answers keep their place.
    item = encoding.items.to_numpy().astype(np.int32)[encoding.votes.item]
    numbers = known["item"].to_list()
    cluster = baseline.clusters.codes(numbers) if baseline.clusters else None
    everyone = baseline.pool.everyone.items
    needed = np.broadcast_to(baseline.pool.needed(baseline.settings.min_votes), len(everyone))
    of_item = dict(zip(everyone, needed.tolist(), strict=True))
    return Crowd(
        folder=folder,
        names=tuple(known["name"]),
        gold=tuple(known["gold"].cast(pl.String)),
        items=tuple(items[number] for number in numbers),
        declaration=declaration,
        consensus=tuple(known["label"].cast(pl.String)),
        votes=replace(encoding.votes, item=item, items=known.height, cluster=cluster),
        needed=np.array([of_item.get(number, 2) for number in numbers]),
        labels=tuple(encoding.labels.cast(pl.String)),
        annotators=tuple(encoding.annotators.cast(pl.String)),
        evidence=baseline,
    )


def items_without_people(items: Sequence[Item], declaration: Dataset, source: str) -> Crowd:
    """Return the items of a dataset that have gold answers, without annotators, for a comparison of models alone.

    Args:
        items: the items.
        declaration: the dataset.
        source: where the items come from, for messages.

    Raises:
        DataError: no item has a gold answer, or all items belong to one cluster.
    """
    known = tuple(item for item in items if has_gold(item))
    if not known:
        raise DataError(f"no item has a gold answer: add {argument('data', 'FILE')}", file=source)
    numbers = range(len(known))
    fields = fields_of(dict(enumerate(known)))
    clusters = find_clusters(None, declaration.cluster, numbers, [fields])
    none = np.empty(0, dtype=np.int32)
    return Crowd(
        folder=source,
        names=tuple(str(item.id) for item in known),
        gold=tuple(text_of(item.outputs) or "" for item in known),
        items=known,
        declaration=declaration,
        consensus=(None,) * len(known),
        votes=Votes(none, none, none, len(known), 0, 0, clusters.codes(numbers) if clusters else None),
        needed=np.zeros(len(known), dtype=np.int64),
    )


def _named(known: pl.DataFrame, folder: str) -> pl.DataFrame:
    """Add the items' ids as `name`, or their numbers if the gold answers have no ids."""
    number = pl.col("item").cast(pl.String)
    ids = known["id"].null_count() < known.height
    name = pl.col("id").cast(pl.String).fill_null("item " + number) if ids else number
    named = known.with_columns(name.alias("name"))
    if twice := [name for name, n in Counter(named["name"]).items() if n > 1]:
        raise DataError(
            f"{len(twice)} ids belong to several items each ({listed(twice, 5)}): model answers "
            "cannot be matched to items",
            file=folder,
        )
    return named
