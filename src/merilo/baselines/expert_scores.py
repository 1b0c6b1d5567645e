"""Scores of experts and non-experts, computed as for any other answers to the dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from merilo.baselines.dataset_items import item_points, metas, texts
from merilo.baselines.pipeline import Baseline
from merilo.datasets import Dataset
from merilo.errors import UsageError
from merilo.items import Item, ItemId
from merilo.metrics.answers import Given
from merilo.metrics.plain_dataset import PlainAnswer, PlainDataset
from merilo.metrics.score import Score
from merilo.metrics.scoring import RATED, Scores, score
from merilo.people.experts.out_of_bag import OutOfBag
from merilo.people.gold import Gold
from merilo.responses import Responses


@dataclass(frozen=True, slots=True)
class LabelScores:
    """Scores of one label per item.

    Attributes:
        scores: every metric of the dataset.
        points: mapping from item number to the answer's points, from 0 to 1, by the first metric that scores single items.
        by_domain: mapping from domain to the first metric on its items.
        undecided_wrong: the first metric with undecided items counted as wrong; NaN without gold.
    """

    scores: Scores = field(default_factory=lambda: Scores({}))
    points: Mapping[int, float] = field(default_factory=dict)
    by_domain: Mapping[str, Score] = field(default_factory=dict)
    undecided_wrong: float = float("nan")


def score_experts(
    result: OutOfBag, responses: Responses, gold: Gold | None, declared: Dataset | None
) -> LabelScores:
    """Score the out-of-bag labels of experts.

    An item decided only by late answers counts as unanswered, which is wrong for every metric.

    Args:
        result: the experts' out-of-bag labels.
        responses: the experts' study.
        gold: the gold answers of the study.
        declared: the dataset; without a dataset the metric is `acc`.

    Raises:
        UsageError: the dataset's items require more than one label each.
    """
    labels = {
        one.item: one.label or "" for one in result.items if one.label is not None or one.outcome == "late"
    }
    made = score_labels(labels, responses, gold, declared)
    if gold is None:
        return made
    known = set(gold.answers["item"].to_list())
    main = next(iter(made.scores.main), None)
    every = {one.item: labels.get(one.item, "") for one in result.items if one.item in known}
    all_items = score_labels(every, responses, gold, declared).scores.main.get(main or _first(declared))
    by_domain = {}
    for domain in result.experts:
        own = {
            one.item: labels[one.item] for one in result.items if one.domain == domain and one.item in labels
        }
        if main and (found := score_labels(own, responses, gold, declared).scores.main.get(main)):
            by_domain[domain] = found
    return LabelScores(
        made.scores, made.points, by_domain, all_items.value if all_items else float("nan")
    )  # fmt: skip


def score_people(people: Baseline, declared: Dataset | None) -> LabelScores:
    """Score the consensus of non-experts.

    Raises:
        UsageError: the dataset's items require more than one label each.
    """
    decided = people.consensus.select("item", "label").drop_nulls()
    labels = {int(item): str(label) for item, label in decided.iter_rows()}
    return score_labels(labels, people.responses, people.gold, declared)


def score_labels(
    labels: Mapping[int, str], responses: Responses, gold: Gold | None, declared: Dataset | None
) -> LabelScores:
    """Score one label per item.

    Args:
        labels: mapping from item number to label.
        responses: the study.
        gold: the gold answers of the study; nothing is scored without gold answers, or if no item with gold has a label.
        declared: the dataset; without a dataset the metric is `acc`.

    Raises:
        UsageError: the dataset's items require more than one label each.
    """
    if declared:
        _require_labels(declared)
    right = {int(n): str(text) for n, text in gold.answers.select("item", "gold").iter_rows()} if gold else {}
    answers: dict[ItemId, Given] = {number: label for number, label in labels.items() if number in right}
    if not answers:
        return LabelScores()
    meta, inputs = metas(gold), texts(responses.items, responses.fields)
    items = [Item(number, "", inputs[number], text, meta.get(number, {})) for number, text in right.items()]
    by = declared or PlainDataset("the study", ("acc",), PlainAnswer())
    return LabelScores(score(by, items, answers), item_points(by, items, answers))


def _first(declared: Dataset | None) -> str:
    return declared.metrics[0] if declared else "acc"


def _require_labels(declared: Dataset) -> None:
    """Raise an error for datasets whose answers are not one label or text per item."""
    instead = {
        "criteria": f"merilo recipe run {declared.name}",
        "program": "merilo code score",
    }.get(declared.answer.kind)
    if set(declared.metrics) & set(RATED):
        instead = "merilo recipe run rudetox"
    if instead:
        raise UsageError(
            f"answers to {declared.name} are not one label per item: score the experts' answers with '{instead}'"
        )
