"""Display of a baseline in a notebook: a summary and the plot of its main metric."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from merilo.baselines.record import BaselineRecord
from merilo.errors import for_library
from merilo.reports import charts
from merilo.reports.baseline_table import rows

_STYLE: Final = Markup(
    """<style>
.merilo-baseline { max-width: 720px; }
.merilo-baseline [lang=ru] { display: none; }
.merilo-baseline table { border-collapse: collapse; margin: .5em 0; }
.merilo-baseline td { padding: .15em .8em .15em 0; text-align: left; vertical-align: top; }
.merilo-baseline svg { display: block; width: 100%; }
.merilo-baseline svg text { fill: #5d6b7c; font-size: 13px; }
.merilo-baseline .axis { stroke: #5d6b7c; }
.merilo-baseline .band { fill: #2563c9; opacity: .3; }
.merilo-baseline .mark { fill: #2563c9; stroke: #fff; stroke-width: 2; }
</style>"""
)


def baseline_html(record: BaselineRecord) -> str:
    """Render the baseline as HTML without scripts: status, plot of the main metric with its interval, and tables."""
    name = record.dataset
    title = Markup("<b>Human baseline{}: {}</b>").format(f" of {name}" if name else "", record.status)
    if record.simulated:
        title += Markup(" (simulated annotators)")
    return str(
        Markup(
            '<div class="merilo-baseline">{}{}{}<table>{}</table>'
            "<details><summary>Details</summary><table>{}</table></details></div>"
        ).format(_STYLE, title, _plot(record), _rows(record), _rows(record, details=True))
    )


def _rows(record: BaselineRecord, *, details: bool = False) -> Markup:
    return Markup("").join(
        Markup("<tr><td>{}</td><td>{}</td></tr>").format(name, for_library(value))
        for name, value in rows(record, details=details)
    )


def _plot(record: BaselineRecord) -> Markup:
    headline = next(iter(record.metrics.values()), None)
    if headline is None or headline.value is None or headline.interval is None:
        return Markup("")
    return charts.interval_bar(headline.value, *headline.interval).__html__()
