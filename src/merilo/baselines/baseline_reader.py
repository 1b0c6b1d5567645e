"""The annotators of a baseline, read from its folder or from memory; or the items of a dataset without annotators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.baselines.baseline import CostRecord, cost_record
from merilo.baselines.evidence import Evidence
from merilo.baselines.item_clusters import ItemClusters, fields_of, find_clusters
from merilo.datasets.declaration import Dataset
from merilo.errors import DataError, argument
from merilo.estimate import Estimate
from merilo.items import Item
from merilo.metrics.answers import has_gold
from merilo.metrics.metric import Metric
from merilo.metrics.registry import metric_of
from merilo.people.decision import votes_needed
from merilo.people.gold_file import text_of
from merilo.people.votes import Votes, encode
from merilo.settings import Settings
from merilo.wording import listed


@dataclass(frozen=True, slots=True)
class StoredBaseline:
    """The annotators of a baseline and their answers to the items that have gold; there may be no annotators.

    Attributes:
        folder: the baseline's folder, with its name as given; without annotators, where the items come from.
        names: shape (items,), the items' ids as text.
        gold: shape (items,), the gold answers as text.
        items: shape (items,), the items with their gold answers, as the scorer expects them.
        declaration: the dataset as the scorer uses it.
        consensus: shape (items,), the consensus labels, `None` for items without a consensus.
        votes: the answers that count; items are coded by their position in `names`.
        labels: the labels by code.
        annotators: the annotators' ids by code.
        needed: shape (items,), how many equal votes make a majority.
        settings: the settings of the baseline.
        status: the status of the baseline, see `findings.STATUSES`.
        reasons: why the baseline was rejected, in English.
        clusters: the clusters that the items form; `None` if no field is named.
        sampled: the number of items of the study and of the dataset from which they were sampled; `None` if
            they are not known to be a sample.
        numbers: shape (items,), the items' numbers in the study.
        cost: what the annotators cost, and how long they took; `None` without annotators.
        asked: how many items the annotators were asked, without control items.
        estimates: metric -> its estimate of the consensus.
        person: the estimate of a single person.
        simulated: whether the annotators are simulated.
    """

    folder: str
    names: tuple[str, ...]
    gold: tuple[str, ...]
    items: tuple[Item, ...]
    declaration: Dataset
    consensus: tuple[str | None, ...]
    votes: Votes
    labels: tuple[str, ...]
    annotators: tuple[str, ...]
    needed: NDArray[np.int64]
    settings: Settings
    status: str = "accepted"
    reasons: tuple[str, ...] = ()
    clusters: ItemClusters | None = None
    sampled: tuple[int, int] | None = None
    numbers: tuple[int, ...] = ()
    cost: CostRecord | None = None
    asked: int = 0
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    person: Estimate | None = None
    simulated: bool = False

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

    def on(self, chosen: Sequence[int]) -> StoredBaseline:
        """Return the same annotators restricted to the items at these places."""
        place = np.full(len(self.names), -1, dtype=np.int32)
        place[list(chosen)] = np.arange(len(chosen), dtype=np.int32)
        kept = place[self.votes.item] >= 0
        votes = self.votes.where(kept)
        return replace(
            self,
            names=tuple(self.names[i] for i in chosen),
            gold=tuple(self.gold[i] for i in chosen),
            items=tuple(self.items[i] for i in chosen),
            consensus=tuple(self.consensus[i] for i in chosen),
            votes=replace(
                votes,
                item=place[votes.item],
                items=len(chosen),
                cluster=None if votes.cluster is None else votes.cluster[list(chosen)],
            ),
            needed=self.needed[list(chosen)],
            numbers=tuple(self.numbers[i] for i in chosen),
        )


def read_stored_baseline(folder: Path, *, data: Path | None = None) -> StoredBaseline:
    """Read the annotators of a baseline from its published folder.

    Args:
        folder: the folder.
        data: the items with their ids and gold answers, if the baseline was computed without gold.

    Raises:
        InputError: the folder is not a baseline folder.
        DataError: no item has a gold answer, no answer to an item with gold counts, or all items belong to one cluster.
    """
    from merilo.baselines.published_folder import load  # noqa: PLC0415 - it imports this module

    baseline = load(folder, gold=data)
    return replace(stored_baseline_of(baseline.evidence), folder=str(folder), simulated=baseline.simulated)


def stored_baseline_of(baseline: Evidence) -> StoredBaseline:
    """Return the annotators of a baseline in memory; the result equals `read_stored_baseline` of its folder.

    Raises:
        DataError: no item has a gold answer, no answer to an item with gold counts, or all items belong to one cluster.
    """
    scored = {int(item.id): item for item in baseline.scorer.items} if baseline.scorer else {}
    tables = _Tables(
        "this baseline",
        baseline.consensus,
        responses_with_fate(baseline),
        baseline.annotators,
        baseline.status,
        tuple(one.sentence.en for one in baseline.findings if one.rejects),
        cost_record(baseline.cost),
        baseline.clusters,
        (baseline.items.height, baseline.study.population.items) if baseline.study.population else None,
        baseline.estimates.all(),
        baseline.estimates.single_person,
    )
    _names(baseline.consensus.filter(pl.col("gold").is_not_null()), tables.source)
    return _crowd(tables, scored, baseline.declaration, baseline.settings)


def items_without_people(items: Sequence[Item], declaration: Dataset, source: str) -> StoredBaseline:
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
    names = tuple(str(item.id) for item in known)
    numbers = tuple(range(len(known)))
    clusters = find_clusters(
        None, declaration.cluster, numbers, [fields_of(dict(zip(numbers, known, strict=True)))]
    )
    codes = clusters.codes(numbers) if clusters else None
    none = np.empty(0, dtype=np.int32)
    return StoredBaseline(
        source,
        names,
        tuple(text_of(item.outputs) or "" for item in known),
        known,
        declaration,
        (None,) * len(known),
        Votes(none, none, none, len(known), 0, 0, codes),
        (),
        (),
        np.zeros(len(known), dtype=np.int64),
        Settings(),
        clusters=clusters,
        numbers=numbers,
    )


def responses_with_fate(baseline: Evidence) -> pl.DataFrame:
    """Return all responses with their use in the column `became`: used, control, or excluded with its annotator."""
    out = baseline.annotators.filter("excluded")["annotator"].implode()
    became = (
        pl.when("is_control")
        .then(pl.lit("control"))
        .when(pl.col("respondent").is_in(out))
        .then(pl.lit("excluded_annotator"))
        .otherwise(pl.lit("used"))
    )
    return baseline.responses.table.with_columns(became.alias("became"))


@dataclass(frozen=True, slots=True)
class _Tables:
    """The tables and status of a baseline, and the folder that they come from."""

    source: str
    consensus: pl.DataFrame
    responses: pl.DataFrame
    annotators: pl.DataFrame
    status: str
    reasons: tuple[str, ...]
    cost: CostRecord
    clusters: ItemClusters | None = None
    sampled: tuple[int, int] | None = None
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    person: Estimate | None = None


def _crowd(
    tables: _Tables, items: Mapping[int, Item], declaration: Dataset, settings: Settings
) -> StoredBaseline:
    """Build the baseline on the items with gold, given by number."""
    folder = tables.source
    if declaration.answer.kind == "verdict":
        raise DataError(
            "the answers of people were scored elsewhere: the right answers are not known, so no model can be scored",
            file=folder,
        )
    known = tables.consensus.filter(pl.col("gold").is_not_null() & pl.col("item").is_in(list(items)))
    if not known.height:
        raise DataError(
            f"no item of this baseline has a gold answer: add {argument('data', 'FILE')}", file=folder
        )
    used = tables.responses.filter(pl.col("became") == "used", pl.col("answer").is_not_null())
    used = used.join(known.select("item"), on="item", how="semi", maintain_order="left")
    if not used.height:
        raise DataError("no counted answer is to an item with a gold answer", file=folder)
    place = pl.DataFrame({"item": known["item"], "place": np.arange(known.height)})
    coded = used.join(place, on="item", how="left", maintain_order="left")
    encoding = encode(coded["place"], coded["respondent"], coded["answer"])
    # Items without counted answers keep their place.
    item = encoding.items.to_numpy().astype(np.int32)[encoding.votes.item]
    cluster = tables.clusters.codes(known["item"].to_list()) if tables.clusters else None
    votes = replace(encoding.votes, item=item, items=known.height, cluster=cluster)
    return StoredBaseline(
        folder,
        _names(known, folder),
        tuple(known["gold"].cast(pl.String)),
        tuple(items[int(number)] for number in known["item"]),
        declaration,
        tuple(known["label"].cast(pl.String)),
        votes,
        tuple(encoding.labels.cast(pl.String)),
        tuple(encoding.annotators.cast(pl.String)),
        _needed(settings, tables.responses, known["item"]),
        settings,
        tables.status,
        tables.reasons,
        tables.clusters,
        tables.sampled,
        tuple(known["item"].to_list()),
        tables.cost,
        tables.consensus.height,
        tables.estimates,
        tables.person,
    )


def _needed(settings: Settings, responses: pl.DataFrame, items: pl.Series) -> NDArray[np.int64]:
    """Return how many equal votes make a majority for each item."""
    if settings.min_votes != "majority":
        return np.full(len(items), settings.min_votes, dtype=np.int64)
    tests = responses.filter(pl.col("became") != "control").group_by("item")
    counts = tests.agg(before=pl.len(), left=(pl.col("became") == "used").sum())
    needed = votes_needed(*(counts[name].cast(pl.Int64).to_numpy() for name in ("before", "left")))
    found = counts.select("item").with_columns(pl.Series("needed", needed))
    return (
        items.to_frame()
        .join(found, on="item", how="left", maintain_order="left")["needed"]
        .fill_null(2)
        .cast(pl.Int64)
        .to_numpy()
    )


def _names(known: pl.DataFrame, folder: str) -> tuple[str, ...]:
    """Return the items' ids, or their numbers if the gold answers have no ids."""
    ids, numbers = known["id"].cast(pl.String), known["item"].cast(pl.String)
    if ids.null_count() == known.height:
        return tuple(numbers)
    names = tuple(ids.fill_null("item " + numbers))
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise DataError(
            f"{len(twice)} ids belong to several items each ({listed(twice, 5)}): model answers "
            "cannot be matched to items",
            file=folder,
        )
    return names
