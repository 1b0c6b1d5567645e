"""The answers of a baseline's annotators to the items with gold; or the items of a dataset without annotators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.baselines.pool_items import fields_of, find_clusters
from merilo.datasets.declaration import Dataset
from merilo.errors import DataError, argument
from merilo.items import Item
from merilo.metrics.answers import has_gold
from merilo.metrics.metric import Metric
from merilo.metrics.registry import metric_of
from merilo.people.platforms.loading import json_text
from merilo.people.votes import Votes
from merilo.wording import listed

if TYPE_CHECKING:
    from merilo.baselines.baseline import Baseline


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
        baseline: the baseline; `None` in a comparison of models.
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
    baseline: Baseline | None = None

    @property
    def sampled_from(self) -> int | None:
        """Return the number of items of the dataset that the people's items were drawn from; `None` if of none."""
        whole = self.baseline.sampled_from if self.baseline else None
        return whole if whole and len(self.names) < whole else None

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

    def on(self, chosen: Sequence[int]) -> Crowd:
        """Return the same annotators restricted to the items at these places."""
        rows = list(chosen)
        return replace(
            self,
            names=tuple(self.names[i] for i in rows),
            gold=tuple(self.gold[i] for i in rows),
            items=tuple(self.items[i] for i in rows),
            consensus=tuple(self.consensus[i] for i in rows),
            votes=self.votes.on(rows),
            needed=self.needed[rows],
        )


def crowd_of(baseline: Baseline, folder: str = "this baseline") -> Crowd:
    """Return the annotators of a baseline.

    Args:
        baseline: the baseline.
        folder: where it is.

    Raises:
        DataError: no item has a gold answer, or no answer to an item with gold counts.
    """
    evidence = baseline.evidence
    declaration, pool, scorer = evidence.declaration, evidence.pool, evidence.scorer
    if declaration.answer.kind == "verdict":
        raise DataError(
            "the answers of people were scored elsewhere: the right answers are not known, so no model can be scored",
            file=folder,
        )
    scored = zip(scorer.items, scorer.codes.tolist(), strict=True) if scorer else ()
    items = {int(item.id): (item, code) for item, code in scored}
    known = _named(evidence.consensus.filter(pl.col("gold").is_not_null()), folder)
    known = known.filter(pl.col("item").is_in(list(items)))
    if not known.height:
        raise DataError(
            f"no item of this baseline has a gold answer: add {argument('data', 'FILE')}", file=folder
        )
    codes = [items[number][1] for number in known["item"]]
    votes = pool.votes.on(codes)
    if not len(votes):
        raise DataError("no counted answer is to an item with a gold answer", file=folder)
    needed = np.broadcast_to(pool.needed(evidence.settings.min_votes), pool.votes.items)
    return Crowd(
        folder=folder,
        names=tuple(known["name"]),
        gold=tuple(known["gold"].cast(pl.String)),
        items=tuple(items[number][0] for number in known["item"]),
        declaration=declaration,
        consensus=tuple(known["label"].cast(pl.String)),
        votes=votes,
        needed=needed[codes],
        labels=tuple(pool.everyone.labels.cast(pl.String)),
        annotators=tuple(pool.everyone.annotators.cast(pl.String)),
        baseline=baseline,
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
        gold=tuple(json_text(item.outputs) or "" for item in known),
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
