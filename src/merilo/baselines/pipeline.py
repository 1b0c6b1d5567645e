"""The published procedure, top to bottom: from the answers of a study to its baseline.

Equal answers get one spelling; annotators who fail the control items are excluded with all their answers; the others
decide each item; items without a majority are counted; the consensus is scored against the gold answers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.baselines.arms import PEOPLE
from merilo.baselines.baseline import Baseline, record_of
from merilo.baselines.baseline_tables import consensus_table, doubtful_items
from merilo.baselines.consensus_scorer import (
    ConsensusScorer,
    consensus_scorer,
    declared,
    question_types,
    without_scorer,
)
from merilo.baselines.estimates import (
    Estimates,
    estimate_metrics,
    estimate_programs,
    group_estimates,
    needed_when_redecided,
    not_computed,
    refuse_programs,
    verdict_gold,
)
from merilo.baselines.evidence import Decided, Evidence
from merilo.baselines.findings import findings_of, status_of
from merilo.baselines.pool_items import ItemClusters, field_tables, find_clusters, with_clusters
from merilo.baselines.population import estimate_dataset
from merilo.baselines.study_input import StudyInput
from merilo.datasets.declaration import Dataset, scored_elsewhere
from merilo.errors import DataError, UsageError
from merilo.people.aggregation import Consensus, Resolution
from merilo.people.aggregation.majority import majority
from merilo.people.agreement import Agreement, measure, on_scale
from merilo.people.controls import ExclusionRule, control_items, judged_annotators
from merilo.people.cost import cost
from merilo.people.decision import (
    PoolVotes,
    decide,
    each_answer,
    passed_shares,
    pool_votes,
    with_parts,
    with_passed,
)
from merilo.people.gold import Gold
from merilo.people.peers import agreement_with_others
from merilo.people.spelling import Merged, same_answers, settle
from merilo.responses import Responses
from merilo.settings import Settings


def compute(study: StudyInput, settings: Settings) -> Baseline:
    """Compute the baseline of a study, and of its other arms.

    Raises:
        UsageError: the metric does not fit the dataset's answers, or answers are programs, which must be run.
        DataError: there are no test items, an annotator gave two different answers to an item, or no
            annotator passes the control items.
    """
    others = {name: compute(*arm) for name, arm in study.arms.items()}
    settings, dataset = declaration_of(study, settings)
    answers = clean(study, dataset, settings)
    annotators = judge(answers, study, settings)
    pool = count_votes(answers, annotators, dataset, settings)
    decided = decide_items(pool, answers.items, dataset, settings)
    scorer = consensus_scorer(dataset, pool, answers.gold, answers.clusters)
    estimates = (
        score(scorer, pool, decided, settings)
        if scorer
        else Estimates(not_computed(without_scorer(dataset, answers.gold)))
    )
    evidence = Evidence(
        study=study,
        settings=settings,
        declaration=dataset,
        responses=answers.responses,
        gold=answers.gold,
        merged=answers.merged,
        items=answers.items,
        clusters=answers.clusters,
        annotators=described(annotators, pool, decided, study, dataset),
        pool=pool,
        decided=decided,
        consensus=tabulate(answers, pool, decided, scorer),
        scorer=scorer,
        controls=control_items(
            answers.responses, ExclusionRule(settings.min_control_accuracy, settings.min_controls)
        ),
        estimates=estimates,
        whole=estimate_dataset(
            pool.votes, needed_when_redecided(pool, settings), scorer, decided.consensus, study.population
        )
        if scorer and study.population and not dataset.judged
        else {},
        agreement=agreement_of(pool, settings, no_agreement=dataset.judged),
        groups=group_estimates(
            settings,
            items=answers.items,
            gold=answers.gold,
            pool=pool,
            scorer=scorer,
            consensus=decided.consensus,
        ),
        cost=cost(answers.responses, settings.currency),
    )
    findings = findings_of(evidence)
    evidence = replace(evidence, findings=findings, status=status_of(evidence, findings))
    evidence = replace(evidence, doubtful=doubtful_items(evidence))
    return record_of(evidence).beside(study.arm or PEOPLE, others)


def declaration_of(study: StudyInput, settings: Settings) -> tuple[Settings, Dataset]:
    """Return the settings on the scale of the labels, and the dataset as the scorer uses it.

    Raises:
        UsageError: the metric does not fit the answers, or the answers are programs that were not run.
    """
    responses = study.responses
    if responses.reading and responses.reading.order and settings.level == "nominal":
        settings = replace(settings, level="ordinal")
    if not responses.scored:
        dataset = declared(study.dataset, settings)
    elif settings.metric in {None, "acc"}:
        dataset = scored_elsewhere(study.dataset)
    else:
        raise UsageError(f"answers that were scored elsewhere have the metric acc, not {settings.metric}")
    if dataset.answer.kind == "program":
        refuse_programs(responses, study.dataset.title if study.dataset else dataset.name)
    return settings, dataset


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


def clean(study: StudyInput, dataset: Dataset, settings: Settings) -> Cleaned:
    """Bring equal answers to one spelling, resolve repeated answers, and group the items by their clusters.

    Raises:
        DataError: an annotator gave two different answers to an item, there are no test items, or all items
            belong to the same cluster.
        UsageError: there is no field `settings.cluster`.
    """
    responses, gold = study.responses, study.gold
    if gold is None and responses.scored:
        gold = verdict_gold(responses)
    types, asked = question_types(responses, gold), responses.test_items
    responses, gold, merged = same_answers(
        responses, gold, dataset, types, min_control_score=settings.min_control_score
    )
    responses = settle(responses, settings.repeats)
    # An item that every expert skipped keeps its place, without votes.
    skipped = {"may_be_mine", "not_shown"} & responses.dropped.keys()
    items = asked if skipped else responses.test_items
    refuse_without_answers(responses)
    cluster = study.dataset.cluster if study.dataset else None
    clusters = find_clusters(settings.cluster, cluster, items["item"].to_list(), field_tables(items, gold))
    by_part = "grade_norm" in dataset.metrics
    in_order = {number: kind == "matching" for number, kind in types.items() if by_part and kind != "text"}
    return Cleaned(responses, gold, merged, items, clusters, in_order)


def refuse_without_answers(responses: Responses, excluded: Collection[str] = ()) -> None:
    """Refuse a study in which no answer counts, and say what became of its rows.

    Args:
        responses: the responses, without repeated ones.
        excluded: the annotators who are excluded.

    Raises:
        DataError: no answer to a test item is by an annotator who is not excluded.
    """
    control, out = pl.col("is_control"), pl.col("respondent").is_in([*excluded])
    if responses.table.select((~control & ~out).any()).item():
        return
    rows = {
        **responses.dropped,
        "to control items": responses.table.filter(control).height,
        "by excluded annotators": responses.table.filter(~control).height,
    }
    what = ", ".join(f"{n} {reason.replace('_', ' ')}" for reason, n in rows.items() if n)
    raise DataError(f"none of the {responses.rows_read} rows is an answer that counts ({what})")


def judge(answers: Cleaned, study: StudyInput, settings: Settings) -> pl.DataFrame:
    """Judge every annotator on the control items; one row each, see `judged_annotators`.

    Raises:
        DataError: no annotator is left, or those who are left answered control items only.
    """
    annotators = judged_annotators(
        answers.responses,
        min_control_accuracy=settings.min_control_accuracy,
        min_controls=settings.min_controls,
        skills=study.skills,
    )
    refuse_without_answers(answers.responses, annotators.filter("excluded")["annotator"].to_list())
    return annotators


def count_votes(
    answers: Cleaned, annotators: pl.DataFrame, dataset: Dataset, settings: Settings
) -> PoolVotes:
    """Make votes of the answers; those of excluded annotators do not count."""
    reading, labels = answers.responses.reading, dataset.answer.labels
    pool = replace(
        pool_votes(answers.responses, annotators),
        order=reading.order if reading and reading.order else labels,
        declared_open=not labels if dataset.name else None,
    )
    pool = with_clusters(pool, answers.clusters)
    return with_parts(pool, answers.in_order, settings.min_votes) if answers.in_order else pool


def decide_items(pool: PoolVotes, items: pl.DataFrame, dataset: Dataset, settings: Settings) -> Decided:
    """Decide every item by the settings, and also by majority only, as in the published procedure."""
    tested = np.isin(pool.everyone.items.to_numpy(), items["item"].to_numpy())
    if dataset.judged:
        consensus = each_answer(pool)
        return Decided(consensus, consensus, _resolved_by(consensus, tested, items.height), 0, {})
    consensus = decide(pool, settings, free_text=dataset.answer.kind == "text")
    needed = pool.needed(settings.min_votes)
    by_majority = majority(pool.votes, needed)
    low_agreement = items.height - int((by_majority.label >= 0).sum())
    answered = np.bincount(pool.everyone.votes.item[pool.tests], minlength=pool.everyone.votes.items) > 0
    sizes = np.unique(np.broadcast_to(needed, answered.size)[answered], return_counts=True)
    votes_needed = {int(votes): int(n) for votes, n in zip(*sizes, strict=True)}
    resolved = _resolved_by(consensus, tested, items.height)
    return Decided(consensus, by_majority, resolved, low_agreement, votes_needed)


def _resolved_by(consensus: Consensus, tested: NDArray[np.bool_], items: int) -> dict[Resolution, int]:
    """Count the items resolved in each way; ways that never occurred have 0."""
    counts = np.bincount(consensus.how[tested], minlength=len(Resolution))
    # An item may have no votes if none of its answers counts.
    counts[Resolution.UNRESOLVED] += items - int(tested.sum())
    return {way: int(counts[way]) for way in Resolution}


def score(scorer: ConsensusScorer, pool: PoolVotes, decided: Decided, settings: Settings) -> Estimates:
    """Score the consensus by every metric, each with its interval; verdicts count each by itself."""
    if scorer.dataset.judged:
        return estimate_programs(scorer, pool, scorer.dataset.metrics)
    return estimate_metrics(scorer, pool, decided, settings)


def described(
    annotators: pl.DataFrame, pool: PoolVotes, decided: Decided, study: StudyInput, dataset: Dataset
) -> pl.DataFrame:
    """Add to the annotators how often they agree with the others, here and in other datasets, and what a model says.

    The model's estimates are GLAD's `ability`, or `expected_accuracy` from the other models.
    """
    fit = decided.model
    columns = {"agreement": agreement_with_others(pool.everyone.votes.where(pool.tests))}
    for name, models in (("ability", {"glad"}), ("expected_accuracy", {"pooled", "dawid-skene"})):
        known = fit is not None and fit.model in models
        columns[name] = fit.quality if fit and known else np.full(len(pool.everyone.annotators), np.nan)
    quality = pl.DataFrame({"annotator": pool.everyone.annotators, **columns}).with_columns(
        pl.col(list(columns)).fill_nan(None)
    )
    annotators = annotators.join(quality, on="annotator", how="left", maintain_order="left")
    if dataset.judged:
        annotators = with_passed(annotators, pool)
    if study.other:
        elsewhere = study.other.reliability()
        annotators = annotators.join(elsewhere, on="annotator", how="left", maintain_order="left")
    return annotators


def tabulate(
    answers: Cleaned, pool: PoolVotes, decided: Decided, scorer: ConsensusScorer | None
) -> pl.DataFrame:
    """Build the table of the consensus with the points of each label."""
    earned = scorer.share_earned(decided.consensus) if scorer else {}
    if scorer and scorer.dataset.judged:
        earned = passed_shares(pool)
    return consensus_table(answers.items, pool, decided.consensus, answers.gold, earned)


def agreement_of(pool: PoolVotes, settings: Settings, *, no_agreement: bool = False) -> Agreement:
    """Compute the agreement of the answers that count, on the scale of the settings; none of verdicts."""
    counted = pool.votes
    counted = counted.where(np.zeros(len(counted), dtype=np.bool_)) if no_agreement else counted
    labels = pool.everyone.labels.cast(pl.String).to_list()
    votes, values = on_scale(counted, labels, settings.level, pool.order)
    return measure(votes, settings.level, values)
