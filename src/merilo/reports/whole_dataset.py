"""The estimates for the whole dataset as JSON and as lines of text, beside those of the sample."""

from __future__ import annotations

from rich.markup import escape

from merilo.baselines.dataset_estimates import DatasetEstimate, DatasetEstimates, estimate_points
from merilo.baselines.expert_scores import LabelScores
from merilo.baselines.population import Population
from merilo.baselines.record import estimate_on_dataset, population_record
from merilo.people.uncertainty.two_way import LEAST_ANNOTATORS
from merilo.reports.estimates import OVER_ITEMS_ALONE, counted
from merilo.statistics.intervals import Interval
from merilo.strict_json import Json


def baseline_on_dataset_json(whole: DatasetEstimates | None) -> dict[str, Json]:
    """Return the key `whole_dataset` of one side of an expert study: the population, and its metrics; empty without it."""
    if whole is None:
        return {}
    metrics: dict[str, Json] = {
        name: estimate_on_dataset(one, whole).to_json() for name, one in whole.metrics.items()
    }
    metrics |= {name: {"value": None, "reason": reason} for name, reason in whole.missing.items()}
    return {"whole_dataset": {"population": population_record(whole).to_json(), "metrics": metrics}}


def experts_on_dataset_json(scored: LabelScores, population: Population | None) -> dict[str, Json]:
    """Return the key `whole_dataset` of experts who skip their own questions; empty without a population or scores.

    The metric is the first one that scores single items.
    """
    metric = next((name for name in scored.scores.main if name in {"acc", "em", "f1"}), None)
    by = scored.decided_by
    part = next((one for one in by.scorer.parts()[0] if one.name == metric), None) if by else None
    if population is None or not scored.points or by is None or part is None:
        return {}
    whole, found = estimate_points(
        scored.points, population, part, scorer=by.scorer, rule=by.rule, consensus=by.consensus
    )
    content = estimate_on_dataset(DatasetEstimate(found, None), whole).to_json()
    return {
        "whole_dataset": {"population": population_record(whole).to_json(), "metrics": {part.name: content}}
    }


def whole_dataset_lines(whole: DatasetEstimates | None) -> list[tuple[str, str]]:
    """Return the rows (name, value) of the terminal table."""
    if whole is None:
        return []
    rows = [
        (
            "sample",
            escape(
                f"{len(whole.population.of)} of {counted(whole.population.items, 'item')}; the metrics above are those of the "
                "sample"
            ),
        )
    ]
    weights = [one.weight for one in whole.strata if one.weight is not None]
    by = f" by {', '.join(whole.population.fields)}" if whole.population.fields else ""
    strata = (
        counted(len(whole.strata), "stratum") if len(whole.strata) == 1 else f"{len(whole.strata)} strata"
    )
    rows.append(
        (
            "  weights",
            escape(
                f"{min(weights):.3g} to {max(weights):.3g} in {strata}{by}; "
                f"design effect {whole.sample.design_effect:.2f} (Kish)"
            ),
        )
    )
    for name, one in whole.metrics.items():
        crowd = one.crowd
        alone = f" {_text(crowd.interval)}" if crowd.interval else ""
        sure = f" {_text(crowd.both)}" if crowd.both else f"{alone} {OVER_ITEMS_ALONE.en}" if alone else ""
        on = f"for {counted(whole.items, 'item')}"
        rows.append((f"{name}, whole dataset", f"{crowd.value:.3f}{sure}  {on}"))
        rows.append(
            (f"  {OVER_ITEMS_ALONE.en}", alone.strip() or "-")
            if crowd.both
            else ("  items and annotators", _text(None))
        )
        if one.single:
            rows.append(("  single person", f"{one.single.value:.3f} {_text(one.single.both)}"))
    rows += [(f"{name}, whole dataset", f"not defined: {reason}") for name, reason in whole.missing.items()]
    return rows


def _text(interval: Interval | None) -> str:
    if interval is None:
        return f"not defined: it takes at least {LEAST_ANNOTATORS} annotators"
    # Rich reads an unescaped square bracket as markup.
    return f"\\[{interval.low:.3f}, {interval.high:.3f}]"
