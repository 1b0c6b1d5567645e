"""Comparisons of annotators with models as JSON and as lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Final

from merilo.baselines.baseline_reader import StoredBaseline
from merilo.baselines.model_comparison import Match, ModelComparison
from merilo.baselines.record import cluster_record
from merilo.reports.estimates import counted, interval_json
from merilo.reports.verdict_prose import verdict_sentence
from merilo.strict_json import Json

#: Names of the two sides of each kind of comparison.
KINDS: Final = {
    "consensus": ("the people's consensus", "the model's answers"),
    "single": ("a single person", "a single answer"),
    "majority": ("the majority of people", "the majority of as many answers"),
}


def comparison_summary(
    crowd: StoredBaseline, comparisons: Sequence[ModelComparison], *, metric: str, seed: int, forced: bool
) -> dict[str, Json]:
    """Summarise comparisons with models as one JSON object.

    Args:
        crowd: the annotators of the baseline.
        comparisons: the comparisons, one per model.
        metric: the metric's name.
        seed: random seed for all random draws.
        forced: whether items were left out because `force` was given.
    """
    clusters = cluster_record(crowd.clusters)
    return {
        "baseline": crowd.folder,
        "metric": metric,
        "items": len(crowd.names),
        "annotators": len(crowd.annotators),
        "clusters": clusters.to_json() if clusters else None,
        "forced": forced,
        "warnings": [*baseline_warnings(crowd)],
        "correction": f"Holm over {counted(len(comparisons), 'model')}, each kind of comparison by itself",
        "seed": seed,
        "models": [_comparison(comparison) for comparison in comparisons],
    }


def baseline_warnings(crowd: StoredBaseline) -> list[str]:
    """Return the warnings about the baseline with which models are compared."""
    found = []
    if crowd.status == "rejected":
        reasons = "; ".join(crowd.reasons) or "its summary gives no reason"
        found.append(f"{crowd.folder} is rejected, so a comparison with it is not valid: {reasons}")
    if crowd.sampled and crowd.sampled[0] < crowd.sampled[1]:
        found.append(
            f"the comparison is on a sample, {crowd.sampled[0]} of {counted(crowd.sampled[1], 'item')} of the dataset: its scores and "
            "differences are not weighted to the whole dataset"
        )
    if crowd.clusters and not crowd.clusters.declared:
        found += [warning.en for warning in crowd.clusters.warnings()]
    return found


def sentences(comparison: ModelComparison) -> list[str]:
    """Return the warnings about a comparison, and how a log of another harness was read."""
    found = [*comparison.log.sentences()] if comparison.log else []
    if comparison.people_only:
        found.append(
            f"{counted(len(comparison.people_only), 'item')} of the baseline without an answer of {comparison.model}: "
            "left out"
        )
    if comparison.model_only:
        found.append(
            f"{counted(len(comparison.model_only), 'answer')} of {comparison.model} to other items: left out"
        )
    if comparison.undecided:
        found.append(
            f"{counted(comparison.undecided, 'item')} without a consensus of the people: left out of the comparison with the "
            "consensus"
        )
    found += [
        f"{KINDS[kind][0]} and {KINDS[kind][1]} are not compared: {why}"
        for kind, why in comparison.missing.items()
    ]
    if any(match.kind == "consensus" and not match.like for match in comparison.matches):
        found.append(
            "the first comparison sets a consensus of several people beside single answers of the model, which favours the people"
        )
    return found


def _comparison(comparison: ModelComparison) -> dict[str, Json]:
    share, interval = comparison.percentile_rank or (None, None)
    return {
        "model": comparison.model,
        "n": comparison.n,
        "samples": {"fewest": comparison.samples[0], "most": comparison.samples[1]},
        "left_out": {
            "without_consensus": comparison.undecided,
            "without_answer_of_the_model": [*comparison.people_only],
            "not_in_the_baseline": [*comparison.model_only],
        },
        "comparisons": {match.kind: _match(match, comparison.model) for match in comparison.matches},
        "not_compared": {str(kind): why for kind, why in comparison.missing.items()},
        "standing": None
        if share is None
        else {
            "share_of_people_below": number(share),
            "ci95": interval_json(interval),
            "interval": interval.method if interval else None,
            "people": comparison.people,
        },
        "log": comparison.log.to_json() if comparison.log else None,
        "warnings": [*sentences(comparison)],
    }


def _match(match: Match, model: str) -> dict[str, Json]:
    difference, crossed = match.difference, match.crossed
    return {
        "people": number(difference.first),
        "model": number(difference.second),
        "n": difference.n,
        "clusters": crossed.clusters if crossed else None,
        "like_beside_like": match.like,
        "difference": number(difference.value),
        "ci95": interval_json(difference.interval),
        "interval": difference.interval.method,
        "ci95_items_and_annotators": interval_json(match.both),
        "interval_items_and_annotators": match.both.method if match.both else None,
        "design_effect": number(crossed.design_effect) if crossed else None,
        "cluster_design_effect": number(crossed.cluster_effect) if crossed else None,
        "p": number(match.p, 9),
        "p_holm": number(match.corrected, 9),
        "test": crossed.method if crossed else f"{difference.test.method}, for these annotators",
        "p_for_these_annotators": number(difference.test.p, 9),
        "test_for_these_annotators": difference.test.method,
        "model_better": difference.better,
        "model_worse": difference.worse,
        "detectable_difference": None if match.detectable is None else number(match.detectable),
        **verdict_json(match, model),
    }


def verdict_json(match: Match, model: str) -> dict[str, Json]:
    """Return the verdict of a comparison, and its tests of equivalence if there is a margin, as JSON."""
    verdict, crossed = match.verdict, match.crossed
    if verdict is None:
        return {"verdict": None, "significant": None, "verdict_sentence": None, "equivalence": None}
    equivalence: dict[str, Json] | None = None
    if crossed and verdict.margin:
        margin, needed = verdict.margin, verdict.needed
        equivalence = {
            "margin": margin.value,
            "margin_given": "after_the_data" if margin.planned is None else "in_the_frozen_plan",
            "plan_frozen": margin.planned,
            "ci90_items_and_annotators": interval_json(crossed.interval(0.9)),
            "p_equivalent": number(crossed.p_within(margin.value), 9),
            "p_equivalent_holm": number(verdict.p_equivalent or 0.0, 9),
            "p_not_worse": number(crossed.p_above(-margin.value), 9),
            "p_not_worse_holm": number(verdict.p_not_worse or 0.0, 9),
            "items_needed": needed.items if needed else None,
            "annotators_needed": needed.annotators if needed else None,
        }
    return {
        "verdict": verdict.outcome,
        "significant": verdict.significant,
        "verdict_sentence": {
            "en": verdict_sentence(match, model, "en"),
            "ru": verdict_sentence(match, model, "ru"),
        },
        "equivalence": equivalence,
    }


def number(value: float, places: int = 6) -> float | None:
    """Round a number; `None` if it is not finite."""
    return round(value, places) if isfinite(value) else None
