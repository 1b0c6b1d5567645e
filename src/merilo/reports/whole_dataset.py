"""The estimates for the whole dataset as JSON and as lines of text, beside those of the sample."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from rich.markup import escape

from merilo.baselines.dataset_estimates import DatasetEstimate, DatasetEstimates, estimate_points
from merilo.baselines.expert_scores import LabelScores
from merilo.baselines.population import Population
from merilo.people.uncertainty.dataset_estimate import DatasetValue
from merilo.people.uncertainty.two_way import LEAST_ANNOTATORS
from merilo.reports.estimates import OVER_ITEMS_ALONE, counted, interval_json
from merilo.reports.json_numbers import rounded
from merilo.statistics.intervals import Interval
from merilo.strict_json import Json


def population_json(whole: DatasetEstimates | None) -> Json:
    """Return the dataset, its strata and the weights of their items; null if the items are not a sample of it."""
    if whole is None:
        return None
    weights = [one.weight for one in whole.strata if one.weight is not None]
    return {
        "source": PurePath(whole.population.source).name,
        "fields": [*whole.population.fields],
        "items": whole.population.items,
        "items_of_estimate": whole.items,
        "sampled": len(whole.population.of),
        "used": int(whole.sample.stratum.shape[0]),
        "smallest_weight": rounded(min(weights)),
        "largest_weight": rounded(max(weights)),
        "design_effect_of_weights": rounded(whole.sample.design_effect),
        "effective_items": rounded(whole.sample.effective_items),
        "strata": [
            {
                "stratum": one.name,
                "items": one.items,
                "sampled": one.asked,
                "used": one.used,
                "weight": None if one.weight is None else rounded(one.weight),
            }
            for one in whole.strata
        ],
        "without_responses": [one.name for one in whole.empty],
    }


def with_dataset(metrics: Mapping[str, Json], whole: DatasetEstimates | None) -> dict[str, Json]:
    """Add the key `dataset`, the estimate for the whole dataset, to the metrics as JSON."""
    if whole is None:
        return dict(metrics)
    found: dict[str, Json] = {}
    for name, one in metrics.items():
        if not isinstance(one, dict):
            found[name] = one
        elif name in whole.metrics:
            found[name] = {**one, "dataset": _estimate(whole.metrics[name], whole)}
        elif name in whole.missing:
            found[name] = {**one, "dataset": {"value": None, "reason": whole.missing[name]}}
        else:
            found[name] = one
    return found


def _estimate(one: DatasetEstimate, whole: DatasetEstimates) -> dict[str, Json]:
    crowd = one.crowd
    return {
        "value": rounded(crowd.value),
        "items": whole.items,
        "n": crowd.n,
        "ci95": interval_json(crowd.interval),
        "interval": crowd.interval.method if crowd.interval else None,
        **_both(crowd),
        "single_person": None
        if one.single is None
        else {"mean": rounded(one.single.value), "n": one.single.n, **_both(one.single)},
    }


def _both(value: DatasetValue) -> dict[str, Json]:
    return {
        "ci95_items_and_annotators": interval_json(value.both),
        "interval_items_and_annotators": value.both.method if value.both else None,
        "standard_error": {
            "items": rounded(value.item_error),
            "annotators": rounded(value.annotator_error),
        },
    }


def baseline_on_dataset_json(whole: DatasetEstimates | None) -> dict[str, Json]:
    """Return the key `whole_dataset` of one side of an expert study: the population, and its metrics; empty without it."""
    if whole is None:
        return {}
    metrics: dict[str, Json] = {name: _estimate(one, whole) for name, one in whole.metrics.items()}
    metrics |= {name: {"value": None, "reason": reason} for name, reason in whole.missing.items()}
    return {"whole_dataset": {"population": population_json(whole), "metrics": metrics}}


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
    content = _estimate(DatasetEstimate(found, None), whole)
    return {"whole_dataset": {"population": population_json(whole), "metrics": {part.name: content}}}


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
