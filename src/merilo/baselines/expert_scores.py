"""Scores of experts and non-experts, computed as for any other answers to the dataset."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import polars as pl

from merilo.baselines.consensus_scorer import ConsensusScorer
from merilo.baselines.dataset_items import item_points, metas, texts
from merilo.baselines.decision_rule import MANY_TIES, DecisionRule, decision_rule, tie_weights, two_ways
from merilo.baselines.evidence import Evidence
from merilo.baselines.item_clusters import ItemClusters, field_tables, find_clusters
from merilo.datasets import Dataset
from merilo.datasets.declaration import undeclared
from merilo.errors import UsageError
from merilo.items import Item, ItemId
from merilo.metrics.answers import Given
from merilo.metrics.metric import Score
from merilo.metrics.scoring import Scores, score
from merilo.people.aggregation import NO_LABEL, Consensus, Resolution
from merilo.people.gold import Gold
from merilo.people.out_of_bag import OutOfBag, decided_without
from merilo.people.uncertainty.two_way import TwoWay, annotator_groups
from merilo.people.votes import IntArray, Votes, encode
from merilo.responses import Responses
from merilo.statistics import FloatArray
from merilo.statistics.paired_tests import Difference, compare_scores

Key = TypeVar("Key", bound=Hashable)


def compare(
    first: Mapping[Key, float],
    second: Mapping[Key, float],
    *,
    clusters: Mapping[Key, int] | None = None,
) -> Difference | None:
    """Compare two groups on the items that both decided.

    Args:
        first: mapping from an item's key to the points of the first group's answer: whether it is correct, or a number
            from 0 to 1.
        second: the same mapping for the second group.
        clusters: mapping from an item's key to the code of its cluster; by default, items are independent.

    Returns:
        The difference, second minus first; `None` if no item was decided by both.

    Raises:
        DataError: all these items belong to one cluster.

    Example:
        >>> found = compare({"a": True, "b": False, "c": False, "d": True}, {"a": True, "b": True, "c": True})
        >>> found.n, found.second, round(found.value, 2), found.test.p
        (3, 1.0, 0.67, 0.5)
    """
    both = [key for key in first if key in second]
    if not both:
        return None
    codes = None if clusters is None else np.array([clusters[key] for key in both])
    ours, theirs = (np.array([side[key] for key in both], dtype=np.float64) for side in (first, second))
    return compare_scores(ours, theirs, clusters=codes)


@dataclass(frozen=True, slots=True)
class GroupRule:
    """How items are decided again if other people of the group answer them.

    Attributes:
        scorer: scores a consensus.
        rule: the group's votes, and the weights that break ties.
        consensus: the consensus of the group.
    """

    scorer: ConsensusScorer
    rule: DecisionRule
    consensus: Consensus

    def graded(self, places: Mapping[int, int], clusters: IntArray | None) -> tuple[Votes, FloatArray]:
        """Return the votes on some items, and the points of each from 0 to 1.

        Args:
            places: mapping from the number of an item with gold to its code in the votes returned.
            clusters: shape (items,), codes of the clusters of these items; `None` if items are independent.
        """
        votes = self.rule.votes
        pairs = self.scorer.pairs(votes)
        items = [self.scorer.items[place] for place in pairs.place.tolist()]
        earned = self.scorer.points(items, [self.scorer.labels[code] for code in pairs.label.tolist()])
        code_of = np.full(votes.items, -1, dtype=np.int32)
        for code, item in zip(self.scorer.codes.tolist(), self.scorer.items, strict=True):
            code_of[code] = places.get(int(item.id), -1)
        inside = (code_of[votes.item] >= 0) & (pairs.pair_of_vote >= 0)
        kept = votes.where(inside)
        kept = replace(kept, item=code_of[kept.item], items=len(places), cluster=clusters)
        return kept, earned[pairs.pair_of_vote[inside]]


@dataclass(frozen=True, slots=True)
class LabelScores:
    """Scores of one label per item.

    Attributes:
        scores: every metric of the dataset.
        points: mapping from item number to the answer's points, from 0 to 1, by the first metric that scores
            single items.
        by_domain: mapping from domain to the first metric on its items.
        by_rule: the first metric on the items that the experts' rule decided; `None` without gold, and for
            other annotators.
        two_ways: mapping from metric to its uncertainty over items and annotators, without metrics for which it is not
            defined.
        domain_two_ways: mapping from domain to the uncertainty of `by_domain` over items and annotators.
        decided_by: how the group decides; `None` without gold.
        clusters: the clusters that the items form; `None` if no field is named.
    """

    scores: Scores = field(default_factory=lambda: Scores({}))
    points: Mapping[int, float] = field(default_factory=dict)
    by_domain: Mapping[str, Score] = field(default_factory=dict)
    by_rule: Score | None = None
    two_ways: Mapping[str, TwoWay] = field(default_factory=dict)
    domain_two_ways: Mapping[str, TwoWay] = field(default_factory=dict)
    decided_by: GroupRule | None = None
    clusters: ItemClusters | None = None


def score_experts(
    result: OutOfBag,
    responses: Responses,
    gold: Gold | None,
    declared: Dataset | None,
    cluster: str | None = None,
) -> LabelScores:
    """Score the out-of-bag labels of experts.

    Every item with gold is scored. One without a label counts as unanswered, which is wrong for every metric.

    Args:
        result: the experts' out-of-bag labels.
        responses: the experts' study.
        gold: the gold answers of the study.
        declared: the dataset; without a dataset the metric is `acc`.
        cluster: the field of the items that form a cluster if they have the same value; by default, the field
            that the dataset declares.

    Raises:
        DataError: all items belong to the same cluster.
        UsageError: the dataset's items require more than one label each, or there is no field `cluster`.
    """
    clusters = _clusters(responses, gold, declared, cluster)
    labels = {one.item: one.label or "" for one in result.items}
    made = score_labels(labels, responses, gold, declared, clusters)
    if gold is None or gold.withheld:
        return made
    main = next(iter(made.scores.main), None)
    ruled = {one.item: labels[one.item] for one in result.items if one.by_rule}
    by_rule = score_labels(ruled, responses, gold, declared, clusters).scores.main.get(main or "")
    scorer, rule, consensus = _out_of_bag_rule(result, responses, gold, declared, clusters)
    by_domain: dict[str, Score] = {}
    domain_two_ways: dict[str, TwoWay] = {}
    for domain in result.experts:
        own = {one.item: labels[one.item] for one in result.items if one.domain == domain}
        if main and (found := score_labels(own, responses, gold, declared, clusters).scores.main.get(main)):
            by_domain[domain] = found
            within = scorer.on([one.item for one in result.items if one.domain == domain])
            if over_both := two_ways(rule, within, consensus, {main: found}).get(main):
                domain_two_ways[domain] = over_both
    return LabelScores(
        made.scores,
        made.points,
        by_domain,
        by_rule,
        two_ways(rule, scorer, consensus, made.scores.all()),
        domain_two_ways,
        GroupRule(scorer, rule, consensus),
        clusters,
    )


def _clusters(
    responses: Responses, gold: Gold | None, declared: Dataset | None, chosen: str | None
) -> ItemClusters | None:
    items = responses.test_items
    tables = field_tables(items, gold)
    return find_clusters(chosen, declared.cluster if declared else None, items["item"].to_list(), tables)


def _out_of_bag_rule(
    result: OutOfBag,
    responses: Responses,
    gold: Gold,
    declared: Dataset | None,
    clusters: ItemClusters | None,
) -> tuple[ConsensusScorer, DecisionRule, Consensus]:
    """Return the scorer, the rule and the consensus of experts who skip their own items.

    In a resample the leading label decides an item, and the experts' skill breaks ties. If skill decides many items,
    they are also decided again without each expert.
    """
    label_of = {one.item: one.label or "" for one in result.items}
    rows = [(one.item, who, label) for one in result.items for who, label in one.deciding.items()]
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    wrong = [""] if "" in label_of.values() else []
    encoding = encode(*(pl.Series(list(column)) for column in columns), known_labels=wrong)
    numbers = [int(number) for number in encoding.items]
    votes = replace(encoding.votes, cluster=clusters.codes(numbers) if clusters else None)
    codes = {str(text): code for code, text in enumerate(encoding.labels)}
    label = [codes[label_of[number]] for number in numbers]
    skill = np.array([result.skill.get(str(who), np.nan) for who in encoding.annotators], dtype=np.float64)
    rule = DecisionRule(votes, weight=tie_weights(votes, skill, None))
    tied = sum(one.fallback == "skill" for one in result.items)
    group = annotator_groups(votes)
    if tied > MANY_TIES * len(label) and group.max() > 0:
        # With fixed skills, the variance lacks that of the skills, which other experts would have.
        names = encoding.annotators.cast(pl.String).to_numpy()
        again = [
            decided_without(result, responses, set(names[group == left_out]))
            for left_out in range(int(group.max()) + 1)
        ]
        codes_of = [[codes.get(one[number] or "", NO_LABEL) for number in numbers] for one in again]
        rule = replace(rule, refits=np.array(codes_of, dtype=np.int32))
    consensus = Consensus(
        np.array(label, dtype=np.int32),
        np.full(len(label), Resolution.MAJORITY, dtype=np.int8),
        np.full(len(label), np.nan),
    )
    by, items = _scored_items(responses, gold, declared)
    by_number = {int(item.id): item for item in items}
    scorer = ConsensusScorer.of(by, encoding, by_number, clusters.for_scores(by_number) if clusters else None)
    return scorer, rule, consensus


def score_people(people: Evidence, declared: Dataset | None) -> LabelScores:
    """Score the consensus of non-experts.

    Raises:
        UsageError: the dataset's items require more than one label each.
    """
    decided = people.consensus.select("item", "label").drop_nulls()
    labels = {int(item): str(label) for item, label in decided.iter_rows()}
    clusters = people.clusters
    made = replace(score_labels(labels, people.responses, people.gold, declared, clusters), clusters=clusters)
    if people.gold is None or not made.scores.all():
        return made
    by, items = _scored_items(people.responses, people.gold, declared)
    by_number = {int(item.id): item for item in items}
    known = clusters.for_scores(by_number) if clusters else None
    scorer = ConsensusScorer.of(by, people.pool.everyone, by_number, known, people.pool.composed)
    rule = decision_rule(people.pool, people.annotators, people.decided.consensus, people.settings)
    over_both = two_ways(rule, scorer, people.decided.consensus, made.scores.all())
    return replace(made, two_ways=over_both, decided_by=GroupRule(scorer, rule, people.decided.consensus))


def score_labels(
    labels: Mapping[int, str],
    responses: Responses,
    gold: Gold | None,
    declared: Dataset | None,
    clusters: ItemClusters | None = None,
) -> LabelScores:
    """Score one label per item.

    Args:
        labels: mapping from item number to label.
        responses: the study.
        gold: the gold answers of the study; nothing is scored without gold answers, or if no item with gold
            has a label.
        declared: the dataset; without a dataset the metric is `acc`.
        clusters: the clusters of the items; by default, items are independent.

    Raises:
        UsageError: the dataset's items require more than one label each.
    """
    if declared:
        _require_labels(declared)
    scored = gold is not None and not gold.withheld
    right = (
        {int(n): str(text) for n, text in gold.answers.select("item", "gold").iter_rows()}
        if gold and scored
        else {}
    )
    answers: dict[ItemId, Given] = {number: label for number, label in labels.items() if number in right}
    if not answers:
        return LabelScores(clusters=clusters)
    by, items = _scored_items(responses, gold, declared)
    scores = score(by, items, answers, clusters=clusters.for_scores(map(int, answers)) if clusters else None)
    return LabelScores(scores, item_points(by, items, answers), clusters=clusters)


def _scored_items(
    responses: Responses, gold: Gold | None, declared: Dataset | None
) -> tuple[Dataset, list[Item]]:
    """Return the declaration by which labels are scored, and the items with gold."""
    right = gold.answers.select("item", "gold").iter_rows() if gold else ()
    meta, inputs = metas(gold), texts(responses.items, responses.fields)
    items = [Item(int(n), "", inputs[int(n)], str(text), meta.get(int(n), {})) for n, text in right]
    return declared or undeclared(name="the study"), items


def _require_labels(declared: Dataset) -> None:
    """Raise an error for datasets whose answers are not one label or text per item."""
    instead = {
        "criteria": "merilo baseline",
        "program": "merilo code score",
    }.get(declared.answer.kind)
    if declared.rated:
        instead = "merilo score"
    if instead:
        raise UsageError(
            f"answers to {declared.name} are not one label per item: score the experts' answers with '{instead}'"
        )
