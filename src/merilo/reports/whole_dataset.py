"""The estimates for the whole dataset as lines of text, beside those of the sample."""

from __future__ import annotations

from rich.markup import escape

from merilo.baselines.dataset_estimates import DatasetEstimates
from merilo.people.uncertainty.two_way import LEAST_ANNOTATORS
from merilo.reports.estimates import OVER_ITEMS_ALONE, counted
from merilo.statistics.intervals import Interval


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
