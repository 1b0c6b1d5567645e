"""An expert baseline as JSON and as a table."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from merilo.baselines.expert_scores import LabelScores
from merilo.baselines.experts import Marks
from merilo.baselines.pipeline import Baseline
from merilo.baselines.provenance import Provenance
from merilo.baselines.record import cluster_record, ends_over_both, score_record
from merilo.metrics.score import Score
from merilo.people.experts.out_of_bag import ONE_DOMAIN, OutOfBag
from merilo.people.uncertainty.two_way import TwoWay
from merilo.records import rounded
from merilo.responses import INPUT_MARK, Responses
from merilo.statistics.paired_tests import Difference
from merilo.strict_json import Json


def out_of_bag_summary(
    result: OutOfBag, marks: Marks, scored: LabelScores, outside: Mapping[str, int]
) -> dict[str, Json]:
    """Summarise the experts' scores and how every question was decided.

    Args:
        result: the experts' out-of-bag labels.
        marks: the marks from a separate column.
        scored: the scores of these labels.
        outside: answers outside the labels, with their counts; these answers count as votes.
    """
    total, decided = len(result.items) + len(marks.only_marked), sum(one.by_rule for one in result.items)
    fallbacks: dict[str, Json] = {
        name: [one.item for one in result.items if one.fallback == name]
        for name in ("votes", "late", "skill")
    }
    return {
        "protocol": "out-of-bag",
        "experts": {name: len(ids) for name, ids in result.experts.items()},
        "people": {
            "total": result.people,
            "answered_all": result.people - len(result.unanswered),
            "unanswered": sum(result.unanswered.values()),
        },
        "items": {
            "total": total,
            "decided": decided,
            "decided_share": rounded(decided / total),
            "fallback": fallbacks,
            "counted_as_wrong": [
                one.item for one in result.items if not one.by_rule and one.fallback is None
            ],
            "too_few": list(result.named("too_few")),
            "no_majority": list(result.named("no_majority")),
            "only_marked": list(marks.only_marked),
            "answers_left": _counts([one.left for one in result.items]),
        },
        "answers": {
            "counted": sum(one.left for one in result.items),
            "may_be_mine": sum(one.marks for one in result.items),
            "not_shown": sum(one.not_shown for one in result.items),
            "late": sum(one.late for one in result.items),
            "missing": sum(one.missing for one in result.items),
        },
        "taken_as_mine": dict(result.mine),
        "outside_labels": dict(outside),
        "design": {
            "time_limit_seconds": result.design.seconds,
            "late": result.design.late,
            "min_answers": result.design.min_answers,
            "decision": result.design.decision,
            "mine": list(result.design.mine),
            "domains": {
                name: [one.item for one in result.items if one.domain == name]
                for name in result.experts
                if name != ONE_DOMAIN
            },
        },
        "clusters": _clusters(scored),
        **_metrics(scored),
        "decided_by_rule": score_record(scored.by_rule).to_json() if scored.by_rule else None,
        "by_domain": {
            name: _over_both(score, scored.domain_two_ways.get(name))
            for name, score in scored.by_domain.items()
        },
    }


def basic_summary(baseline: Baseline, scored: LabelScores) -> dict[str, Json]:
    """Summarise the baseline of non-experts, or of experts who had not seen the questions.

    Args:
        baseline: the baseline, as `merilo baseline` computes it.
        scored: the scores of the consensus.
    """
    return {
        "protocol": "basic",
        "status": baseline.status,
        "annotators": baseline.annotators.height,
        "excluded": int(baseline.annotators["excluded"].sum()),
        "items": baseline.items,
        "clusters": _clusters(scored),
        **_metrics(scored),
    }


def experts_summary(
    experts: dict[str, Json],
    people: dict[str, Json] | None,
    comparison: Difference | None,
    dataset: str | None,
    provenance: Provenance,
    *,
    cost: Mapping[str, Json],
) -> dict[str, Json]:
    """Summarise both baselines together.

    Args:
        experts: the summary of the experts' baseline.
        people: the summary of the non-experts' baseline, if there is one.
        comparison: the comparison of both baselines on the items that both decided.
        dataset: the dataset's name.
        provenance: the provenance of the result.
        cost: the experts' pay and time; see `CostRecord`.
    """
    return {
        "dataset": dataset,
        "experts": experts,
        "people": people,
        "comparison": None if comparison is None else comparison_json(comparison),
        "cost": {**cost},
        "provenance": provenance.to_json(),
    }


def comparison_json(comparison: Difference) -> dict[str, Json]:
    """Convert the comparison of experts (second) with non-experts (first) to JSON."""
    return {
        "n": comparison.n,
        "experts": rounded(comparison.second),
        "people": rounded(comparison.first),
        **difference_summary(comparison),
        "only_experts_right": comparison.better,
        "only_people_right": comparison.worse,
    }


def difference_summary(found: Difference) -> dict[str, Json]:
    """Convert a difference with its interval, test and smallest detectable difference to JSON."""
    return {
        "difference": rounded(found.value),
        "ci95": [rounded(found.interval.low), rounded(found.interval.high)],
        "interval": found.interval.method,
        "p": rounded(found.test.p),
        "test": found.test.method,
        "detectable": None if found.detectable is None else rounded(found.detectable),
    }


def expert_items(result: OutOfBag, scored: LabelScores, responses: Responses) -> pl.DataFrame:
    """Return one row per item: counts of experts and marks, the answers, how the item was decided, and its points."""
    rows = [
        {
            "item": one.item,
            "domain": one.domain,
            "experts": one.experts,
            "may_be_mine": one.marks,
            "not_shown": one.not_shown,
            "late": one.late,
            "missing": one.missing,
            "left": one.left,
            "answers": "; ".join(f"{label or '(late)'}: {n}" for label, n in one.answers.items()),
            "label": one.label,
            "outcome": one.outcome,
            "fallback": one.fallback,
            "points": scored.points.get(one.item),
        }
        for one in result.items
    ]
    inputs = responses.items.rename(
        {name: f"INPUT:{name.removeprefix(INPUT_MARK)}" for name in responses.fields}
    )
    table = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("item").cast(pl.UInt32))
    return table.join(inputs, on="item", how="left", maintain_order="left")


def _metrics(scored: LabelScores) -> dict[str, Json]:
    scores, over_both = scored.scores, scored.two_ways
    return {
        "metrics": {name: _over_both(score, over_both.get(name)) for name, score in scores.main.items()},
        "by_group": {name: _over_both(score, over_both.get(name)) for name, score in scores.extra.items()},
        "missing_metrics": dict(scores.missing),
    }


def _clusters(scored: LabelScores) -> Json:
    found = cluster_record(scored.clusters)
    return found.to_json() if found else None


def _over_both(score: Score, crowd: TwoWay | None) -> dict[str, Json]:
    return score_record(score, over_both=ends_over_both(crowd)).to_json()


def _counts(values: list[int]) -> dict[str, Json]:
    return {str(value): values.count(value) for value in sorted(set(values), reverse=True)}
