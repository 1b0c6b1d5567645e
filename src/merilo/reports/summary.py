"""A baseline as one JSON object, as in the output of `merilo baseline --json` and in `baseline.json`."""

from __future__ import annotations

from merilo.baselines.groups import Group
from merilo.baselines.item_clusters import ItemClusters
from merilo.baselines.pipeline import Baseline
from merilo.baselines.provenance import Provenance
from merilo.baselines.quality import StudyQuality
from merilo.metrics.plain_dataset import declaration_json
from merilo.people.aggregation import Resolution
from merilo.people.agreement import Agreement
from merilo.people.cost import Cost
from merilo.people.gold import Gold
from merilo.reports.adaptive_prose import adaptive_json
from merilo.reports.audit import audit_in_short
from merilo.reports.controls import control_health_summary
from merilo.reports.estimates import human_benchmark_json, metrics_json, single_person_json
from merilo.reports.json_numbers import rounded
from merilo.reports.quality import quality_summary, sensitivity_summary
from merilo.reports.unresolved import unresolved
from merilo.reports.whole_dataset import population_json, with_dataset
from merilo.statistics.intervals import Interval
from merilo.strict_json import Json


def summary(
    baseline: Baseline, provenance: Provenance, quality: StudyQuality | None = None
) -> dict[str, Json]:
    """Summarise a baseline as one JSON object.

    Args:
        baseline: the baseline.
        provenance: the provenance of the baseline.
        quality: the quality of its annotators; left out if not given.
    """
    looked_at: dict[str, Json] = (
        {
            "quality": quality_summary(quality),
            "sensitivity": sensitivity_summary(quality),
            "dataset_quality": audit_in_short(quality.dataset) if quality.dataset else None,
        }
        if quality
        else {}
    )
    return {
        "dataset": baseline.settings.dataset,
        "simulated": baseline.simulated,
        "status": baseline.status,
        "reasons": [reason.en for reason in baseline.reasons],
        "warnings": [warning.en for warning in baseline.warnings],
        "responses": _responses(baseline),
        "annotators": _annotators(baseline),
        "control_health": control_health_summary(baseline),
        "items": _items(baseline),
        "adaptive": adaptive_json(baseline.diagnosis.adaptive),
        "clusters": clusters_json(baseline.clusters),
        "resolved_by": resolved_by(baseline.resolved_by),
        "unresolved": {one.code: one.items for one in unresolved(baseline)},
        "metrics": with_dataset(metrics_json(baseline.estimates), baseline.whole),
        "human_benchmark": human_benchmark_json(baseline.estimates, baseline.settings),
        "population": population_json(baseline.whole),
        "single_person": single_person_json(baseline.estimates),
        "model": _model(baseline),
        "agreement": {
            **_coefficients(baseline.agreement),
            "level": baseline.settings.level,
            "low_agreement": baseline.low_agreement,
            "low_agreement_share": rounded(baseline.low_agreement_share),
            "max_low_agreement": baseline.settings.max_low_agreement,
            "min_votes": baseline.settings.min_votes,
            "votes_needed": {str(votes): n for votes, n in baseline.decided.votes_needed.items()},
            "n": baseline.agreement.answers,
        },
        "by": {
            field: {value: _group(group) for value, group in groups.items()}
            for field, groups in baseline.by.items()
        },
        "cost": cost_summary(baseline.cost),
        "declaration": declaration_json(baseline.declaration),
        "gold": _gold(baseline.gold),
        "normalisation": dict(baseline.responses.renamed or {}),
        "normalisation_rules": dict(baseline.cleaned.normalisation.changed),
        **looked_at,
        "provenance": provenance.to_json(),
    }


def clusters_json(clusters: ItemClusters | None) -> Json:
    """Return the field of the items' clusters and their number; null if no field is named."""
    if clusters is None:
        return None
    return {
        "field": clusters.field,
        "given_by": "dataset" if clusters.declared else "option",
        "items": clusters.items,
        "clusters": clusters.clusters,
        "items_without_field": clusters.without,
        "block": clusters.block,
    }


def resolved_by(ways: dict[Resolution, int]) -> dict[str, Json]:
    """Return how many items were resolved in each way; `majority` includes unanimous answers and most votes.

    Example:
        >>> counts = resolved_by({Resolution.UNANIMOUS: 22, Resolution.PLURALITY: 58, Resolution.SKILL: 15})
        >>> counts["majority"], counts["unanimous"], counts["skill"], counts["glad"]
        (80, 22, 15, 0)
    """

    def count(*names: Resolution) -> int:
        return sum(ways.get(name, 0) for name in names)

    counts: dict[str, Json] = {
        "majority": count(Resolution.UNANIMOUS, Resolution.MAJORITY, Resolution.PLURALITY),
        "skill": count(Resolution.SKILL),
        "top_skill": count(Resolution.TOP_SKILL),
        "glad": count(Resolution.GLAD),
        "unresolved": count(Resolution.UNRESOLVED),
        "unanimous": count(Resolution.UNANIMOUS),
        "plurality": count(Resolution.PLURALITY),
    }
    if count(Resolution.EACH_ANSWER):
        counts["each_answer"] = count(Resolution.EACH_ANSWER)
    if count(Resolution.DAWID_SKENE):
        counts["dawid_skene"] = count(Resolution.DAWID_SKENE)
    if count(Resolution.ONE_COIN):
        counts["one_coin"] = count(Resolution.ONE_COIN)
    if count(Resolution.MEDOID):
        counts["medoid"] = count(Resolution.MEDOID)
    return counts


def _responses(baseline: Baseline) -> dict[str, Json]:
    responses = baseline.responses
    control = int(responses.table["is_control"].sum())
    tests = responses.table.height - control
    dropped: dict[str, Json] = {**responses.dropped}
    if tests > baseline.used.height:
        dropped["excluded_annotator"] = tests - baseline.used.height
    return {
        "total": responses.rows_read,
        "control": control,
        "used": baseline.used.height,
        "dropped": dropped,
    }


def _annotators(baseline: Baseline) -> dict[str, Json]:
    table = baseline.annotators
    return {
        "total": table.height,
        "used": baseline.used["respondent"].n_unique(),
        "with_controls": int((table["controls"] > 0).sum()),
        "excluded": int(table["excluded"].sum()),
        "kept_without_controls": int((table["controls"] == 0).sum()),
        "unjudged": int((~table["judged"]).sum()),
        "min_control_accuracy": baseline.settings.min_control_accuracy,
    }


def _items(baseline: Baseline) -> dict[str, Json]:
    return {
        "total": baseline.items,
        "consensus": 0 if baseline.programs else baseline.items - baseline.resolved_by[Resolution.UNRESOLVED],
        "overlap": {str(people): n for people, n in baseline.diagnosis.overlap.items()},
        "overlap_before_exclusion": {
            str(people): n for people, n in baseline.diagnosis.overlap_before.items()
        },
    }


def _coefficients(agreement: Agreement) -> dict[str, Json]:
    """Return the coefficients with their intervals, and the items by the size of their majority."""
    found: dict[str, Json] = {}
    for name in ("krippendorff_alpha", "fleiss_kappa", "gwet_ac1"):
        found[name] = rounded(getattr(agreement, name))
        found[f"{name}_ci95"] = _interval(agreement.intervals.get(name))
    alpha = agreement.intervals.get("krippendorff_alpha")
    found["interval"] = alpha.method if alpha else None
    found["majority_sizes"] = {str(size): n for size, n in agreement.majority_sizes.items()}
    return found


def _group(group: Group) -> dict[str, Json]:
    """Summarise a group of items: the number of items, agreement and metrics."""
    found: dict[str, Json] = {"items": group.items}
    if group.agreement:
        found |= {"answers": group.agreement.answers, "agreement": _coefficients(group.agreement)}
    for score in group.scores.values():
        crowd = group.two_ways.get(score.name)
        found[score.name] = {
            "value": rounded(score.value),
            "ci95": _interval(score.interval),
            "ci95_items_and_annotators": _interval(crowd.interval if crowd else None),
            "n": score.n,
            "clusters": score.clusters,
        }
    return found


def _model(baseline: Baseline) -> Json:
    """Summarise the fitted model of annotators and its convergence; null without a model."""
    fit = baseline.model
    if fit is None:
        return None
    return {
        "name": fit.model,
        "converged": fit.converged,
        "iterations": fit.iterations,
        "tolerance": fit.tolerance,
        "log_likelihood": [rounded(value) for value in fit.log_likelihood],
        "anchored_items": fit.anchored,
        "error_correlation": rounded(fit.error_correlation),
    }


def _interval(interval: Interval | None) -> Json:
    return None if interval is None else [rounded(interval.low), rounded(interval.high)]


def cost_summary(cost: Cost) -> dict[str, Json]:
    """Convert the cost of a group of annotators to JSON; docs/json.md explains its keys."""
    return {
        "total": cost.total,
        "pages": cost.pages,
        "answers": cost.answers,
        "hours": cost.hours,
        "hourly": cost.hourly,
        "currency": cost.currency,
        "median_seconds_per_answer": cost.median_seconds,
        "published_way": {"total": cost.published_total, "hourly": cost.published_hourly},
    }


def _gold(gold: Gold | None) -> Json:
    if gold is None:
        return None
    return {
        "source": gold.source,
        "column": gold.column,
        "matched": gold.answers.height,
        "items_without_gold": list(gold.without_gold),
        "unsolved": list(gold.unsolved),
        "rows_without_item": list(gold.unused),
        **({"withheld": True} if gold.withheld else {}),
    }
