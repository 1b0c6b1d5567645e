"""The plots of a report: every chart of the page as SVG, and as PDF and PNG through Matplotlib, in each language.

A file has one language, a title and a legend; otherwise it shows the shapes of the page's chart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from merilo.baselines.evidence import Evidence
from merilo.reports.chart_files import FORMS, MARGIN, chart_file, has_matplotlib, is_filled, with_title
from merilo.reports.charts import WIDTH, Chart, Shape
from merilo.reports.estimates import OVER_BOTH
from merilo.reports.hb.recomputation import Recomputed
from merilo.reports.page import page_charts, resolution
from merilo.text import LANGUAGES, Language, Text

if TYPE_CHECKING:
    pass

__all__ = ["has_matplotlib", "plot_files"]

_TITLES: Final = {
    "resolution": Text("How items were resolved (number of items)"),
    "controls": Text("Annotators by accuracy on control items, with 95% intervals"),
    "agreement": Text("Items by the share of equal answers"),
    "models": Text("People and models"),
}

_LEGENDS: Final[Mapping[str, Sequence[tuple[str, Text]]]] = {
    "controls": [
        ("good", Text("kept", context="annotator")),
        ("bad", Text("excluded", context="annotator")),
        ("threshold", Text("threshold of exclusion")),
    ],
    "agreement": [
        ("good", Text("consensus is right")),
        ("bad", Text("consensus is wrong")),
        ("neutral", Text("no consensus, or no gold")),
    ],
    "models": [("person", Text("one annotator"))],
}

_LEGEND_LINE: Final = 22.0
#: Approximate width of a letter of the legend.
_LETTER: Final = 7.6


def plot_files(made: Recomputed) -> dict[str, bytes]:
    """Return the plots by name: `plots/en/agreement.svg`; PDF and PNG only if Matplotlib is installed."""
    files = {}
    drawn = has_matplotlib()
    for name, chart in page_charts(made.record).items():
        file_name = re.sub(r"[^\w.@-]+", "-", name)
        for language in LANGUAGES:
            shapes, height = _with_title_and_legend(name, chart, made, language)
            file = f"plots/{language}/{file_name}"
            for form in FORMS if drawn else FORMS[:1]:
                files[f"{file}.{form}"] = chart_file(shapes, height, language, form)
    return files


def _with_title_and_legend(
    name: str, chart: Chart, made: Recomputed, language: Language
) -> tuple[list[Shape], float]:
    """Return the shapes of a plot, and its height."""
    shapes, height = with_title(chart, _title(name, made.baseline))
    legend = _legend(name, made)
    if not legend:
        return shapes, height + 6
    x, y = MARGIN, height + 18
    for classes, text in legend:
        label = text.in_language(language)
        width = 20 + len(label) * _LETTER + 18
        if x > MARGIN and x + width > WIDTH:
            x, y = MARGIN, y + _LEGEND_LINE
        if is_filled(classes):
            shapes.append(Shape("rect", (x, y - 10, 12.0, 12.0, 2.0), classes))
        else:
            shapes.append(Shape("line", (x - 2, y - 4, x + 14, y - 4), classes))
        shapes.append(Shape("text", (x + 20, y), "tick", label, "start"))
        x += width
    return shapes, y + 12


def _title(name: str, baseline: Evidence) -> Text:
    if name in _TITLES:
        return _TITLES[name]
    metric = name.removeprefix("estimate ")
    estimate = baseline.estimates.all()[metric]
    value = estimate.value
    if estimate.ci95 is None:
        return Text("{metric}: {value:.3f}", metric=metric, value=value)
    return Text(
        "{metric}: {value:.3f}, 95% interval {over} [{low:.3f}, {high:.3f}]",
        metric=metric,
        value=value,
        over=OVER_BOTH,
        low=estimate.ci95.low,
        high=estimate.ci95.high,
    )


def _legend(name: str, made: Recomputed) -> Sequence[tuple[str, Text]]:
    if name == "resolution":
        return [
            (part.kind, Text("{name:capital}: {count}", name=part.name, count=part.count))
            for part in resolution(made.record)
        ]
    return _LEGENDS.get(name, ())
