"""The published procedure, top to bottom: from the answers of a study to its baseline.

Equal answers get one spelling; annotators who fail the control items are excluded with all their answers; the others
decide each item; items without a majority are counted; the consensus is scored against the gold answers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.baselines.arms import PEOPLE
from merilo.baselines.baseline import (
    AgreementRecord,
    AnnotatorCounts,
    Baseline,
    Cleaned,
    Controls,
    Decided,
    Evidence,
    HumanBenchmark,
    ItemCounts,
    ResolvedBy,
    ResponseCounts,
)
from merilo.baselines.baseline_tables import consensus_table, doubtful_items
from merilo.baselines.crowd import scored_crowd
from merilo.baselines.estimates import (
    Estimates,
    by_majority_alone,
    estimate_metrics,
    estimate_programs,
    group_estimates,
    not_computed,
    refuse_programs,
    scaled_votes,
    verdict_gold,
)
from merilo.baselines.findings import findings_of, status_of
from merilo.baselines.people_table import people_table
from merilo.baselines.pool_items import field_tables, find_clusters, with_clusters
from merilo.baselines.population import estimate_dataset
from merilo.baselines.provenance import provenance
from merilo.baselines.study_input import StudyInput, declared
from merilo.datasets.declaration import Dataset, declaration_json, scored_elsewhere
from merilo.errors import DataError, UsageError, argument
from merilo.estimate import Estimate
from merilo.people.aggregation import Consensus, Resolution
from merilo.people.aggregation.majority import majority
from merilo.people.agreement import Agreement, measure
from merilo.people.controls import ExclusionRule, control_items, judged_annotators
from merilo.people.cost import cost
from merilo.people.decision import (
    PoolVotes,
    decide,
    each_answer,
    pool_votes,
    with_parts,
    with_passed,
)
from merilo.people.gold import Gold
from merilo.people.peers import agreement_with_others
from merilo.people.signals import count_signals
from merilo.people.spelling import same_answers, settle
from merilo.responses import Responses
from merilo.settings import Settings


def compute(study: StudyInput, settings: Settings) -> Baseline:
    """Compute the baseline of a study, and of its other arms.

    Raises:
        UsageError: the metric does not fit the dataset's answers, or answers are programs, which must be run.
        DataError: no answer counts, an annotator gave two different answers to an item, or no annotator passes
            the control items.
    """
    others = {name: compute(*arm) for name, arm in study.arms.items()}
    evidence = evidence_of(study, settings)
    declaration, crowd = evidence.declaration, evidence.crowd
    estimates = Estimates(not_computed(without_scores(declaration, evidence.gold)), {})
    if crowd:
        estimates = estimate_programs(crowd) if declaration.judged else estimate_metrics(evidence, crowd)
    findings = findings_of(evidence)
    table, doubts = doubtful_items(evidence) or (None, None)
    baseline = Baseline(
        dataset=study.dataset.name if study.dataset else None,
        status=status_of(evidence, findings),
        reasons=tuple(finding.sentence.en for finding in findings if finding.rejects),
        findings=findings,
        responses=_responses(evidence),
        annotators=_annotators(evidence),
        controls=_controls(evidence),
        items=_items(evidence),
        clusters=evidence.clusters,
        resolved_by=resolved_by(evidence.decided.resolved_by),
        metrics=estimates.metrics,
        by_majority_alone=estimates.by_majority_alone,
        single_person=estimates.single_person,
        agreement=_agreement(evidence),
        cost=evidence.cost,
        declaration=declaration_json(declaration),
        gold=evidence.gold.facts if evidence.gold else None,
        doubtful=doubts,
        people=people_table(evidence),
        provenance=study.provenance or provenance("merilo baseline", [], evidence.settings.parameters()),
        **_only_some(evidence),
    )
    baseline = baseline.model_copy(update={"human_benchmark": _human_benchmark(baseline, evidence.settings)})
    baseline._evidence = replace(evidence, doubtful=table)
    return baseline.beside(study.arm or PEOPLE, others)


def evidence_of(study: StudyInput, settings: Settings) -> Evidence:
    """Clean and count the answers, judge the annotators, and decide every item; errors as for `compute`."""
    settings, dataset = declaration_of(study, settings)
    answers = clean(study, dataset, settings)
    annotators = judge(answers, study, settings)
    pool = count_votes(answers, annotators, dataset, settings)
    decided = decide_items(pool, answers.items, dataset, settings)
    needed = pool.needed(settings.min_votes)
    crowd = scored_crowd(dataset, pool, answers.gold, decided.consensus, needed)
    return Evidence(
        **{part.name: getattr(answers, part.name) for part in fields(answers)},
        study=study,
        settings=settings,
        declaration=dataset,
        annotators=described(annotators, pool, decided, study, dataset),
        pool=pool,
        decided=decided,
        consensus=consensus_table(answers, pool, decided.consensus, crowd),
        crowd=crowd,
        controls=control_items(
            answers.responses, ExclusionRule(settings.min_control_accuracy, settings.min_controls)
        ),
        cost=cost(answers.responses, settings.currency),
    )


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
    return Cleaned(
        responses=responses, gold=gold, merged=merged, items=items, clusters=clusters, in_order=in_order
    )


def without_scores(dataset: Dataset, gold: Gold | None) -> dict[str, str]:
    """Return the metrics that cannot be computed despite gold, as a mapping from metric to reason."""
    if gold is None or gold.withheld:
        return {}
    reason = "needs three questions about each pair of sentences: see docs/rudetox.md"
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
    """Judge every annotator on the control items; one row each, see `judged_annotators`."""
    return judged_annotators(
        answers.responses,
        min_control_accuracy=settings.min_control_accuracy,
        min_controls=settings.min_controls,
        skills=study.skills,
    )


def count_votes(
    answers: Cleaned, annotators: pl.DataFrame, dataset: Dataset, settings: Settings
) -> PoolVotes:
    """Make votes of the answers; those of excluded annotators do not count.

    Raises:
        DataError: no annotator is left, or those who are left answered control items only.
    """
    out = annotators.filter("excluded")
    if out.height == annotators.height:
        best = max(out["control_accuracy"].to_list())
        raise DataError(
            f"all {out.height} annotators are below {settings.min_control_accuracy:g} on control items (the best has "
            f"{best:.2f}): no answers are left to aggregate; check the control items' known answers, or lower "
            f"{argument('min_control_accuracy')}"
        )
    refuse_without_answers(answers.responses, out["annotator"].to_list())
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


def described(
    annotators: pl.DataFrame, pool: PoolVotes, decided: Decided, study: StudyInput, dataset: Dataset
) -> pl.DataFrame:
    """Add to the annotators how often they agree with the others, here and in other datasets, and what a model says.

    The model's estimates are GLAD's `ability`, or `expected_accuracy` from the other models.
    """
    fit = decided.consensus.fit
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


def agreement_of(pool: PoolVotes, settings: Settings, *, no_agreement: bool = False) -> Agreement:
    """Compute the agreement of the answers that count, on the scale of the settings; none of verdicts."""
    votes, values = scaled_votes(pool, settings)
    counted = votes.where(np.zeros(len(votes), dtype=np.bool_)) if no_agreement else votes
    return measure(counted, settings.level, values)


def resolved_by(ways: Mapping[Resolution, int]) -> ResolvedBy:
    """Return how many items were resolved in each way.

    Ways that are not of every baseline are given only if they occur.

    Example:
        >>> counts = resolved_by({Resolution.UNANIMOUS: 22, Resolution.PLURALITY: 58, Resolution.SKILL: 15})
        >>> counts.majority, counts.unanimous, counts.skill, counts.glad
        (80, 22, 15, 0)
    """
    counts = {way.name.lower(): ways.get(way, 0) for way in Resolution}
    majority = counts.pop("majority") + counts["unanimous"] + counts["plurality"]
    always = ("skill", "top_skill", "glad", "unresolved", "unanimous", "plurality")
    return ResolvedBy(majority=majority, **{name: n for name, n in counts.items() if n or name in always})


def _responses(evidence: Evidence) -> ResponseCounts:
    responses, used = evidence.responses, evidence.used.height
    control = int(responses.table["is_control"].sum())
    left = responses.table.height - control - used
    return ResponseCounts(
        total=responses.rows_read,
        control=control,
        used=used,
        dropped={**responses.dropped, **({"excluded_annotator": left} if left > 0 else {})},
    )


def _annotators(evidence: Evidence) -> AnnotatorCounts:
    annotators = evidence.annotators
    return AnnotatorCounts(
        total=annotators.height,
        used=evidence.used["respondent"].n_unique(),
        with_controls=int((annotators["controls"] > 0).sum()),
        excluded=int(annotators["excluded"].sum()),
        unjudged=int((~annotators["judged"]).sum()),
    )


def _items(evidence: Evidence) -> ItemCounts:
    items = evidence.items.height
    return ItemCounts(
        total=items,
        consensus=0 if evidence.programs else items - evidence.decided.resolved_by[Resolution.UNRESOLVED],
        overlap=_overlap(evidence.items, evidence.used),
        overlap_before_exclusion=_overlap(
            evidence.items, evidence.responses.table.filter(~pl.col("is_control"))
        ),
    )


def _only_some(evidence: Evidence) -> dict[str, Any]:
    """Return the values that not every baseline has."""
    population, crowd = evidence.study.population, evidence.crowd
    more: dict[str, Any] = {"groups": group_estimates(evidence), "signals": count_signals(evidence.responses)}
    more["participation"] = evidence.responses.participation
    if population and crowd and not evidence.programs:
        whole = estimate_dataset(evidence, crowd, population)
        more |= {"whole_dataset": whole, "sampled_from": population.items}
    return {name: value for name, value in more.items() if value}


def _overlap(items: pl.DataFrame, answered: pl.DataFrame) -> dict[int, int]:
    """Count the items by the number of annotators who answered them, largest overlap first."""
    people = answered.group_by("item").agg(pl.col("respondent").n_unique().alias("people"))
    counts = items.select("item").join(people, on="item", how="left")["people"].fill_null(0).value_counts()
    return {int(people): int(n) for people, n in sorted(counts.iter_rows(), reverse=True)}


def _controls(evidence: Evidence) -> Controls:
    suspects = [control for control in evidence.controls if control.suspect]
    rows = evidence.responses.items.filter(pl.col("item").is_in([suspect.item for suspect in suspects]))
    inputs = {
        row.pop("item"): {name: str(text) for name, text in row.items() if text}
        for row in rows.iter_rows(named=True)
    }
    return Controls(
        total=len(evidence.controls),
        suspects=tuple(suspect.model_copy(update={"inputs": inputs[suspect.item]}) for suspect in suspects),
    )


def _human_benchmark(baseline: Baseline, settings: Settings) -> HumanBenchmark | None:
    """Return the values for a dataset's metadata, of groups if no metric is of all items; `None` without metrics.

    The items are those with a majority ("agreed"), or all that are decided ("all"): also if the value on
    those with a majority is withheld from a folder without gold answers.
    """
    metrics, alone = baseline.headlines, baseline.by_majority_alone
    if not metrics:
        return None
    agreed = settings.human_benchmark == "agreed"
    chosen = {**metrics, **(alone if agreed else {})}
    named = agreed and (by_majority_alone(settings) or metrics.keys() <= alone.keys())
    return HumanBenchmark(
        items="agreed" if named else "all",
        metrics={name: Estimate(value=chosen[name].value, n=chosen[name].n) for name in metrics},
    )


def _agreement(evidence: Evidence) -> AgreementRecord:
    decided, settings = evidence.decided, evidence.settings
    return AgreementRecord.of(
        agreement_of(evidence.pool, settings, no_agreement=evidence.programs),
        level=settings.level,
        low_agreement=decided.low_agreement,
        low_agreement_share=decided.low_agreement / evidence.items.height,
        max_low_agreement=settings.max_low_agreement,
        min_votes=settings.min_votes,
        votes_needed=dict(decided.votes_needed),
    )
