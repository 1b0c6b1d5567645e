"""The plots of a report: every chart of the page as SVG, and as PDF and PNG through Matplotlib, in each language.

A file has one language, a title and a legend; otherwise it shows the shapes of the page's chart.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Literal

from markupsafe import Markup

from merilo.baselines.pipeline import Baseline
from merilo.reports.charts import WIDTH, Chart, Shape, placed
from merilo.reports.estimates import OVER_BOTH, OVER_ITEMS_ALONE
from merilo.reports.hb.recomputation import Recomputed
from merilo.reports.page import page_charts, resolution
from merilo.text import LANGUAGES, Language, Text

if TYPE_CHECKING:
    from matplotlib.artist import Artist

_INK, _SOFT, _LINE, _BLUE = "#1b2430", "#5d6b7c", "#dde3ea", "#2563c9"
_GOOD, _BAD, _NEUTRAL, _AMBER = "#2f8f6b", "#c8453b", "#a9b4c0", "#c78a1e"


@dataclass(frozen=True, slots=True)
class _Look:
    """How a shape is drawn; an empty colour is not drawn."""

    fill: str = ""
    stroke: str = ""
    width: float = 1
    opacity: float = 1
    dashes: tuple[float, ...] = ()
    bold: bool = False


#: Style classes of a shape -> its look, as in the style sheet of the report.
_LOOKS: Final = {
    "axis": _Look(stroke=_SOFT),
    "grid": _Look(stroke=_LINE),
    "band": _Look(fill=_BLUE, opacity=0.3),
    "mark": _Look(fill=_BLUE, stroke="#ffffff", width=2),
    "threshold": _Look(stroke=_INK, width=1.5, dashes=(6, 4)),
    "whisker good": _Look(stroke=_GOOD, opacity=0.35, width=1.2),
    "whisker bad": _Look(stroke=_BAD, opacity=0.35, width=1.2),
    "good": _Look(fill=_GOOD),
    "bad": _Look(fill=_BAD),
    "neutral": _Look(fill=_NEUTRAL),
    "person": _Look(fill=_NEUTRAL),
    "way-0": _Look(fill="#b7c0ca"),
    "way-1": _Look(fill="#1d4e9e"),
    "way-2": _Look(fill="#2f7ad6"),
    "way-3": _Look(fill="#3f9db3"),
    "way-4": _Look(fill="#c78a1e"),
    "way-5": _Look(fill="#a9602b"),
    "way-6": _Look(fill="#7a4fa3"),
    "line crowd": _Look(stroke=_BLUE, width=2),
    "line rival": _Look(stroke=_AMBER, width=2),
    "tick": _Look(fill=_SOFT),
    "inside": _Look(fill="#ffffff", bold=True),
    "name crowd": _Look(fill=_BLUE, bold=True),
    "name rival": _Look(fill="#8a5a0c", bold=True),
    "title": _Look(fill=_INK, bold=True),
}

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

_FONT_SIZE: Final = 13.0
_TITLE_HEIGHT: Final = 34.0
_LEGEND_LINE: Final = 22.0
_MARGIN: Final = 16.0
#: Approximate width of a letter of the legend.
_LETTER: Final = 7.6
#: CSS pixels and typographic points an inch.
_PIXELS: Final = 96.0
_POINTS: Final = 72.0

_SVG: Final = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:.0f}" '
    'viewBox="0 0 {width} {height:.0f}" font-family="DejaVu Sans, Verdana, sans-serif" font-size="{font:g}">\n'
    '<rect width="100%" height="100%" fill="#ffffff"/>\n{body}\n</svg>\n'
)


def has_matplotlib() -> bool:
    """Return whether Matplotlib is installed (the extra `plots`)."""
    return find_spec("matplotlib") is not None


def plot_files(made: Recomputed) -> dict[str, bytes]:
    """Return the plots by name: `plots/en/agreement.svg`; PDF and PNG only if Matplotlib is installed."""
    files = {}
    drawn = has_matplotlib()
    for name, chart in page_charts(made.baseline, made.record, made.comparisons).items():
        file_name = re.sub(r"[^\w.@-]+", "-", name)
        for language in LANGUAGES:
            shapes, height = _with_title_and_legend(name, chart, made, language)
            file = f"plots/{language}/{file_name}"
            files[f"{file}.svg"] = _svg(shapes, height, language)
            if drawn:
                files[f"{file}.pdf"] = _with_matplotlib(shapes, height, language, "pdf")
                files[f"{file}.png"] = _with_matplotlib(shapes, height, language, "png")
    return files


def _with_title_and_legend(
    name: str, chart: Chart, made: Recomputed, language: Language
) -> tuple[list[Shape], float]:
    """Return the shapes of a plot, and its height."""
    shapes = [Shape("text", (_MARGIN, 22.0), "title", _title(name, made.baseline), "start")]
    for shape in chart.shapes:
        lowered = {1, 3} if shape.kind == "line" else {1}
        at = tuple(value + _TITLE_HEIGHT * (place in lowered) for place, value in enumerate(shape.at))
        shapes.append(replace(shape, at=at))
    legend = _legend(name, made)
    if not legend:
        return shapes, _TITLE_HEIGHT + chart.height + 6
    x, y = _MARGIN, _TITLE_HEIGHT + chart.height + 18
    for classes, text in legend:
        label = text.in_language(language)
        width = 20 + len(label) * _LETTER + 18
        if x > _MARGIN and x + width > WIDTH:
            x, y = _MARGIN, y + _LEGEND_LINE
        if _LOOKS[classes].fill:
            shapes.append(Shape("rect", (x, y - 10, 12.0, 12.0, 2.0), classes))
        else:
            shapes.append(Shape("line", (x - 2, y - 4, x + 14, y - 4), classes))
        shapes.append(Shape("text", (x + 20, y), "tick", label, "start"))
        x += width
    return shapes, y + 12


def _title(name: str, baseline: Baseline) -> Text:
    if name in _TITLES:
        return _TITLES[name]
    metric = name.removeprefix("estimate ")
    estimate = baseline.estimates.all()[metric]
    value = estimate.score.value
    if estimate.interval is None:
        return Text("{metric}: {value:.3f}", metric=metric, value=value)
    return Text(
        "{metric}: {value:.3f}, 95% interval {over} [{low:.3f}, {high:.3f}]",
        metric=metric,
        value=value,
        over=OVER_BOTH if estimate.two_way else OVER_ITEMS_ALONE,
        low=estimate.interval.low,
        high=estimate.interval.high,
    )


def _legend(name: str, made: Recomputed) -> Sequence[tuple[str, Text]]:
    if name == "resolution":
        return [
            (part.kind, Text("{name:capital}: {count}", name=part.name, count=part.count))
            for part in resolution(made.record)
        ]
    return _LEGENDS.get(name, ())


def _words(shape: Shape, language: Language) -> str:
    return shape.text if isinstance(shape.text, str) else shape.text.in_language(language)


def _svg(shapes: Sequence[Shape], height: float, language: Language) -> bytes:
    elements = []
    for shape in shapes:
        look = _LOOKS[shape.classes]
        attributes: dict[str, object] = {"fill": look.fill or "none"}
        if look.stroke:
            attributes |= {"stroke": look.stroke, "stroke-width": look.width}
        if look.opacity != 1:
            attributes["opacity"] = look.opacity
        if look.dashes:
            attributes["stroke-dasharray"] = " ".join(f"{dash:g}" for dash in look.dashes)
        if look.bold:
            attributes["font-weight"] = "bold"
        if shape.kind == "text":
            attributes["text-anchor"] = shape.anchor
        drawn = Markup(" ").join(Markup('{}="{}"').format(*one) for one in attributes.items())
        text = _words(shape, language) if shape.kind == "text" else ""
        elements.append(Markup("<{0} {1} {2}>{3}</{0}>").format(shape.kind, placed(shape), drawn, text))
    body = Markup("\n").join(elements)
    return _SVG.format(width=WIDTH, height=height, font=_FONT_SIZE, body=body).encode()


def _with_matplotlib(
    shapes: Sequence[Shape], height: float, language: Language, kind: Literal["pdf", "png"]
) -> bytes:
    """Return the plot as PDF or PNG, without the date, so that the same plot gives the same bytes."""
    import matplotlib as mpl  # noqa: PLC0415 - an extra
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context({"font.family": "DejaVu Sans", "pdf.fonttype": 42, "text.parse_math": False}):
        figure = Figure(figsize=(WIDTH / _PIXELS, height / _PIXELS), facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, WIDTH)
        axes.set_ylim(height, 0)
        for order, shape in enumerate(shapes):
            axes.add_artist(_artist(shape, language)).set_zorder(order)
        stream = io.BytesIO()
        metadata = {"CreationDate": None} if kind == "pdf" else {"Software": None}
        figure.savefig(stream, format=kind, dpi=2 * _PIXELS, metadata=metadata)
    return stream.getvalue()


def _artist(shape: Shape, language: Language) -> Artist:
    """Return a shape as Matplotlib draws it on axes whose units are pixels."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an extra
    from matplotlib.patches import Circle, FancyBboxPatch  # noqa: PLC0415
    from matplotlib.text import Text as Words  # noqa: PLC0415

    look, points = _LOOKS[shape.classes], _POINTS / _PIXELS
    x, y, *size = shape.at
    drawn: dict[str, Any]
    if shape.kind == "text":
        side = {"start": "left", "middle": "center", "end": "right"}[shape.anchor]
        weight = "bold" if look.bold else "normal"
        drawn = {"color": look.fill, "ha": side, "fontsize": _FONT_SIZE * points, "fontweight": weight}
        return Words(x, y, _words(shape, language), va="baseline", **drawn)
    drawn = {"linewidth": look.width * points, "alpha": look.opacity}
    if shape.kind == "line":
        if look.dashes:
            drawn["linestyle"] = (0, [dash * points for dash in look.dashes])
        return Line2D([x, size[0]], [y, size[1]], color=look.stroke, **drawn)
    drawn |= {"facecolor": look.fill, "edgecolor": look.stroke or "none"}
    if shape.kind == "circle":
        return Circle((x, y), size[0], **drawn)
    across, down, rounding = size
    radius = min(rounding, across / 2, down / 2)
    box = f"round,pad=0,rounding_size={radius}" if radius > 0 else "square,pad=0"
    return FancyBboxPatch((x, y), across, down, boxstyle=box, **drawn)
