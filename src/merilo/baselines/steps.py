"""The steps from responses to a baseline, each a function with its own result type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from merilo.baselines.consensus_scorer import ConsensusScorer, question_types
from merilo.baselines.consensus_table import consensus_table
from merilo.baselines.item_clusters import ItemClusters, field_tables, find_clusters, with_clusters
from merilo.datasets.declaration import Dataset
from merilo.errors import DataError
from merilo.people.aggregation import Consensus, Fit, Resolution
from merilo.people.aggregation.majority import majority
from merilo.people.agreement import Agreement, measure, on_scale
from merilo.people.decision import PoolVotes, decide, each_answer, pool_votes, with_parts
from merilo.people.gold import Gold
from merilo.people.other_datasets import OtherAnswers
from merilo.people.quality.controls import ControlHealth, ControlItem, judged_annotators
from merilo.people.quality.peers import agreement_with_others
from merilo.people.recoding import settle
from merilo.people.spelling import Merged, same_answers
from merilo.people.verdicts import passed_shares, with_passed
from merilo.responses import Responses
from merilo.settings import Settings


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Responses ready for aggregation.

    Attributes:
        responses: all responses, with one spelling for equal answers and at most one answer per annotator and item.
        gold: the gold answers in the same spelling; `None` if they are not known.
        merged: which answers count as another spelling, and which texts are no answers.
        items: the items that are not control items: `item` and the input fields.
        clusters: the clusters that these items form; `None` if no field is named.
        in_order: number of an item whose answers are lists of numbers -> whether their order matters; empty if only
            whole answers are voted on.
    """

    responses: Responses
    gold: Gold | None
    merged: Merged
    items: pl.DataFrame
    clusters: ItemClusters | None = None
    in_order: Mapping[int, bool] = field(default_factory=dict)

    @property
    def tests(self) -> pl.DataFrame:
        """Return the responses to items that are not control items."""
        return self.responses.table.filter(~pl.col("is_control"))


@dataclass(frozen=True, slots=True)
class Screened:
    """The annotators and responses that count.

    Attributes:
        annotators: one row per annotator, as returned by `judged_annotators`.
        used: the responses that count: those to test items by annotators who were not excluded.
        pool: all votes of the pool, and which of these votes count.
    """

    annotators: pl.DataFrame
    used: pl.DataFrame
    pool: PoolVotes


@dataclass(frozen=True, slots=True)
class Decided:
    """The consensus of the annotators.

    Attributes:
        consensus: the consensus by the settings, in the codes of the pool.
        majority: the consensus by majority only.
        resolved_by: how many items were resolved in each way.
        low_agreement: how many items have no majority.
        votes_needed: mapping from the number of equal votes that make a majority to the number of items that need it.
    """

    consensus: Consensus
    majority: Consensus
    resolved_by: dict[Resolution, int]
    low_agreement: int
    votes_needed: dict[int, int]

    @property
    def model(self) -> Fit | None:
        """Return the model of annotators, if one was fitted."""
        return self.consensus.fit


def clean(
    responses: Responses,
    gold: Gold | None,
    declaration: Dataset,
    settings: Settings,
    cluster: str | None = None,
) -> Cleaned:
    """Bring equal answers to one spelling, resolve repeated answers, and group the items by their clusters.

    `cluster` is the field of clusters that the dataset declares.

    Raises:
        DataError: an annotator gave two different answers to an item, there are no test items, or all items
            belong to the same cluster.
        UsageError: there is no field `settings.cluster`.
    """
    types, asked = question_types(responses, gold), responses.test_items
    responses, gold, merged = same_answers(
        responses, gold, declaration, types, min_control_score=settings.min_control_score
    )
    responses = settle(responses, settings.repeats)
    # An item that every expert skipped keeps its place, without votes.
    skipped = {"may_be_mine", "not_shown"} & responses.dropped.keys()
    items = asked if skipped else responses.test_items
    if not items.height:
        raise DataError(
            f"all {responses.table.height} responses are to control items: there are no test items"
        )
    clusters = find_clusters(settings.cluster, cluster, items["item"].to_list(), field_tables(items, gold))
    by_part = "grade_norm" in declaration.metrics
    in_order = {number: kind == "matching" for number, kind in types.items() if by_part and kind != "text"}
    return Cleaned(responses, gold, merged, items, clusters, in_order)


def screen(cleaned: Cleaned, settings: Settings, skills: pl.DataFrame | None) -> Screened:
    """Exclude annotators who fail the control items, with all their answers.

    Raises:
        DataError: no annotator is left.
    """
    annotators = judged_annotators(
        cleaned.responses,
        min_control_accuracy=settings.min_control_accuracy,
        min_controls=settings.min_controls,
        skills=skills,
    )
    out = annotators.filter("excluded").select(pl.col("annotator").alias("respondent"))
    used = cleaned.tests.join(out, on="respondent", how="anti", maintain_order="left")
    pool = pool_votes(cleaned.responses, annotators)
    pool = with_clusters(pool, cleaned.clusters)
    if cleaned.in_order:
        pool = with_parts(pool, cleaned.in_order, settings.min_votes)
    return Screened(annotators, used, pool)


def decide_items(cleaned: Cleaned, screened: Screened, declaration: Dataset, settings: Settings) -> Decided:
    """Decide every item by the settings, and also by majority only, as in the published procedure."""
    pool = screened.pool
    if declaration.judged:
        consensus = each_answer(pool)
        return Decided(consensus, consensus, _ways(cleaned, pool, consensus), 0, {})
    consensus = decide(pool, settings, free_text=declaration.answer.kind == "text")
    by_majority, low_agreement = without_majority(pool, settings, cleaned.items.height)
    return Decided(
        consensus, by_majority, _ways(cleaned, pool, consensus), low_agreement, _votes_needed(pool, settings)
    )


def with_quality(
    screened: Screened, decided: Decided, other: OtherAnswers | None, *, programs: bool
) -> Screened:
    """Add to the annotators how often they agree with the others, here and in other datasets, and what a model says.

    The model's estimates are GLAD's `ability`, or `expected_accuracy` from the other models.
    """
    fit, pool = decided.model, screened.pool
    agreement = agreement_with_others(pool.everyone.votes.where(pool.tests))
    found = pl.DataFrame({"annotator": pool.everyone.annotators})
    found = found.with_columns(pl.Series("agreement", agreement).fill_nan(None))
    for name, models in {
        "ability": {"glad"},
        "expected_accuracy": {"pooled", "dawid-skene"},
    }.items():
        quality = fit.quality if fit and fit.model in models else np.full(found.height, np.nan)
        found = found.with_columns(pl.Series(name, quality).fill_nan(None))
    annotators = screened.annotators.join(found, on="annotator", how="left", maintain_order="left")
    if programs:
        annotators = with_passed(annotators, pool)
    if other:
        annotators = annotators.join(other.reliability(), on="annotator", how="left", maintain_order="left")
    return replace(screened, annotators=annotators)


def tabulate(
    cleaned: Cleaned, screened: Screened, decided: Decided, scorer: ConsensusScorer | None
) -> pl.DataFrame:
    """Build the table of the consensus with the points of each label."""
    earned = scorer.share_earned(decided.consensus) if scorer else {}
    if scorer and scorer.dataset.judged:
        earned = passed_shares(screened.pool)
    return consensus_table(cleaned.items, screened.pool, decided.consensus, cleaned.gold, earned)


def agreement_of(pool: PoolVotes, settings: Settings, *, no_agreement: bool = False) -> Agreement:
    """Compute the agreement of the answers that count, on the scale of the settings.

    Args:
        pool: the votes.
        settings: the level of measurement and the labels' order.
        no_agreement: the answers are programs, whose agreement is not defined.
    """
    labels = pool.everyone.labels.cast(pl.String).to_list()
    counted = pool.votes
    counted = counted.where(np.zeros(len(counted), dtype=np.bool_)) if no_agreement else counted
    votes, values = on_scale(counted, labels, settings.level, settings.labels)
    return measure(votes, settings.level, values)


def without_majority(pool: PoolVotes, settings: Settings, items: int) -> tuple[Consensus, int]:
    """Decide every item by majority only.

    Args:
        pool: the votes.
        settings: how many equal votes make a majority.
        items: the number of items of the test that have answers.

    Returns:
        The consensus, and how many items have no majority.
    """
    decided = majority(pool.votes, pool.needed(settings.min_votes))
    return decided, items - int((decided.label >= 0).sum())


def _ways(cleaned: Cleaned, pool: PoolVotes, consensus: Consensus) -> dict[Resolution, int]:
    """Count the items resolved in each way; ways that never occurred have 0."""
    tested = np.isin(pool.everyone.items.to_numpy(), cleaned.items["item"].to_numpy())
    counts = np.bincount(consensus.how[tested], minlength=len(Resolution))
    # An item may have no votes if none of its answers counts.
    counts[Resolution.UNRESOLVED] += cleaned.items.height - int(tested.sum())
    return {way: int(counts[way]) for way in Resolution}


def _votes_needed(pool: PoolVotes, settings: Settings) -> dict[int, int]:
    """Count the items by the number of equal votes needed for a majority."""
    items = pool.everyone.votes.items
    tested = np.bincount(pool.everyone.votes.item[pool.tests], minlength=items) > 0
    needed = np.broadcast_to(pool.needed(settings.min_votes), items)[tested]
    return {int(votes): int(n) for votes, n in zip(*np.unique(needed, return_counts=True), strict=True)}


def overlap(items: pl.DataFrame, answered: pl.DataFrame) -> dict[int, int]:
    """Count the items by the number of annotators who answered them, largest overlap first."""
    people = answered.group_by("item").agg(pl.col("respondent").n_unique().alias("people"))
    counts = items.select("item").join(people, on="item", how="left")["people"].fill_null(0).value_counts()
    return {int(people): int(n) for people, n in sorted(counts.iter_rows(), reverse=True)}


@dataclass(frozen=True, slots=True)
class SuspectControl:
    """A suspect control item as people saw it.

    Attributes:
        control: the control item and its answers.
        inputs: the texts shown to annotators, by field.
    """

    control: ControlItem
    inputs: dict[str, str]


def suspect_controls(health: ControlHealth, items: pl.DataFrame) -> list[SuspectControl]:
    """Return the suspect control items with the texts shown to annotators.

    Args:
        health: the control items and their answers.
        items: all items: the number `item` and one text column per field.
    """
    inputs = {
        int(row["item"]): {name: str(text) for name, text in row.items() if name != "item" and text}
        for row in items.iter_rows(named=True)
        if row["item"] in health.suspects
    }
    return [SuspectControl(one, inputs[one.item]) for one in health.controls if one.suspect]
