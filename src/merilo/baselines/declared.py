"""The dataset's declaration of a study's answers, and the scorer built from it and the gold answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from merilo.baselines.consensus_scorer import ConsensusScorer
from merilo.baselines.item_clusters import ItemClusters
from merilo.datasets.declaration import METRICS, Dataset, is_metric, undeclared, with_metric
from merilo.errors import UsageError, argument
from merilo.items import Item
from merilo.metrics.scoring import RATED
from merilo.people.decision import PoolVotes
from merilo.people.gold import Gold
from merilo.people.spelling import rules_of
from merilo.responses import Responses
from merilo.settings import Settings

#: Kinds of answers that are labels; gold answers are brought to the spelling of the study's answers.
_LABELS: Final = frozenset({"label", "choice", "integer"})


def settings_for(dataset: Dataset | None, settings: Settings) -> Settings:
    """Return the settings with the dataset's name, its labels and whether its answers are free text.

    Raises:
        UsageError: there is no metric or rule of normalisation with the name in the settings.
    """
    if settings.metric is not None and not is_metric(settings.metric):
        raise UsageError(f"there is no metric '{settings.metric}' (choose from: {', '.join(METRICS)})")
    rules_of(settings.normalise)
    if dataset is None:
        return settings
    labels = dataset.answer.labels
    return replace(settings, dataset=dataset.name, labels=labels, open_answers=not labels)


def declared(dataset: Dataset | None, settings: Settings) -> Dataset:
    """Return the dataset as the scorer uses it, with the metric of the settings first.

    Args:
        dataset: the declaration; `None` if the study has no declared dataset.
        settings: the metric and the alternatives.

    Raises:
        UsageError: the metric does not fit the answers, or separators of alternatives are given twice.
    """
    if dataset is None:
        return undeclared(settings.metric or "acc", settings.alternatives)
    if settings.alternatives is not None:
        raise UsageError(
            f"{argument('alternatives')} cannot be given: {dataset.title} declares the separator of its gold answers"
        )
    plain = replace(dataset, cluster=None)  # the clusters are those of the study
    return plain if settings.metric is None else with_metric(plain, settings.metric)


def consensus_scorer(
    dataset: Dataset, pool: PoolVotes, gold: Gold | None, clusters: ItemClusters | None = None
) -> ConsensusScorer | None:
    """Return the scorer of a study's consensus; `None` without gold, or if the metrics need more than the answers."""
    if gold is None or gold.withheld or set(dataset.metrics) <= set(RATED):
        return None
    items: Mapping[int, Item] = gold.items
    if dataset.answer.kind in _LABELS:
        texts = gold.answers.select("item", "gold").iter_rows()
        items = {number: _with_outputs(items[number], text) for number, text in texts}
    return ConsensusScorer.of(dataset, pool.everyone, items, clusters.for_scores(items) if clusters else None)


def _with_outputs(item: Item, text: str) -> Item:
    if item.outputs == text:
        return item
    return Item(item.id, item.instruction, item.inputs, text, item.meta)


def without_scorer(dataset: Dataset, gold: Gold | None) -> dict[str, str]:
    """Return the metrics that cannot be computed despite gold, as a mapping from metric to reason."""
    if gold is None or gold.withheld:
        return {}
    reason = f"needs the sentences and three questions about them: use merilo recipe run {dataset.name}"
    return dict.fromkeys(dataset.metrics, reason)


def question_types(responses: Responses, gold: Gold | None) -> dict[int, str]:
    """Map item numbers to question types, if the gold file or the pool has them (the exam's questions)."""
    types = {}
    if "type" in responses.fields:
        types = {
            int(number): str(kind)
            for number, kind in responses.items.select("item", "type").drop_nulls().iter_rows()
        }
    for number, item in (gold.items if gold else {}).items():
        if isinstance(kind := item.meta.get("type"), str):
            types[number] = kind
    return types
