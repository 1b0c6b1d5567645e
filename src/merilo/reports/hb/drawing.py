"""The charts of a report as files of their own: SVG, and PDF and PNG through Matplotlib.

The shapes come from the report's charts, so all three formats show the same chart. A file has one language, a title and
a legend.
"""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Literal

from markupsafe import Markup, escape

from merilo.bilingual import Language
from merilo.reports import charts

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_INK, _SOFT, _LINE, _BLUE = "#1b2430", "#5d6b7c", "#dde3ea", "#2563c9"
_GOOD, _BAD, _NEUTRAL, _AMBER = "#2f8f6b", "#c8453b", "#a9b4c0", "#c78a1e"

#: Class -> how its shapes are drawn, as in the style sheet of the report.
_STYLES: Final[dict[str, dict[str, str | float]]] = {
    "axis": {"stroke": _SOFT, "width": 1},
    "grid": {"stroke": _LINE, "width": 1},
    "band": {"fill": _BLUE, "opacity": 0.3},
    "mark": {"fill": _BLUE, "stroke": "#ffffff", "width": 2},
    "threshold": {"stroke": _INK, "width": 1.5, "dashes": "6 4"},
    "whisker": {"opacity": 0.35, "width": 1.2},
    "good": {"fill": _GOOD, "stroke": _GOOD},
    "bad": {"fill": _BAD, "stroke": _BAD},
    "neutral": {"fill": _NEUTRAL},
    "way-0": {"fill": "#b7c0ca"},
    "way-1": {"fill": "#1d4e9e"},
    "way-2": {"fill": "#2f7ad6"},
    "way-3": {"fill": "#3f9db3"},
    "way-4": {"fill": "#c78a1e"},
    "way-5": {"fill": "#a9602b"},
    "way-6": {"fill": "#7a4fa3"},
    "person": {"fill": _NEUTRAL},
    "line": {"width": 2},
    "crowd": {"stroke": _BLUE, "fill": _BLUE},
    "rival": {"stroke": _AMBER, "fill": "#8a5a0c"},
    "tick": {"fill": _SOFT},
    "inside": {"fill": "#ffffff", "weight": "bold"},
    "name": {"weight": "bold"},
    "title": {"fill": _INK, "weight": "bold"},
}

_FONT_SIZE: Final = 13.0
_TITLE_HEIGHT: Final = 34.0
_LEGEND_LINE: Final = 22.0
_MARGIN: Final = 16.0
#: Width of a letter of the legend, about.
_LETTER: Final = 7.6
#: CSS pixels an inch.
_PIXELS: Final = 96.0


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape of a chart, in pixels from the top left.

    Attributes:
        kind: `line`, `rect`, `circle` or `text`.
        at: its numbers: x1, y1, x2, y2; x, y, width, height, rx; cx, cy, r; or x, y.
        look: how it is drawn: fill, stroke, width, opacity, dashes, weight.
        text: the text of a text.
        anchor: where a text begins: `start`, `middle` or `end`.
    """

    kind: str
    at: tuple[float, ...]
    look: Mapping[str, str | float]
    text: str = ""
    anchor: str = "start"

    def lowered(self, by: float) -> Shape:
        """Return the shape moved down."""
        places = {"line": (1, 3)}.get(self.kind, (1,))
        return replace(
            self, at=tuple(one + by if place in places else one for place, one in enumerate(self.at))
        )


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart as a file of its own.

    Attributes:
        shapes: its shapes with title and legend.
        height: its height in pixels; the width is that of the report's charts.
    """

    shapes: tuple[Shape, ...]
    height: float

    def svg(self) -> bytes:
        """Return the plot as SVG."""
        body = "\n".join(_svg_of(shape) for shape in self.shapes)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{charts.WIDTH}" height="{self.height:.0f}" '
            f'viewBox="0 0 {charts.WIDTH} {self.height:.0f}" '
            f'font-family="DejaVu Sans, Verdana, sans-serif" font-size="{_FONT_SIZE:g}">\n'
            f'<rect width="100%" height="100%" fill="#ffffff"/>\n{body}\n</svg>\n'
        ).encode()

    def with_matplotlib(self, kind: Literal["pdf", "png"]) -> bytes:
        """Return the plot as PDF or PNG, without the date, so that the same plot gives the same bytes."""
        import matplotlib as mpl  # noqa: PLC0415 - an extra
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415

        with mpl.rc_context({"font.family": "DejaVu Sans", "pdf.fonttype": 42, "text.parse_math": False}):
            figure = Figure(figsize=(charts.WIDTH / _PIXELS, self.height / _PIXELS), facecolor="white")
            FigureCanvasAgg(figure)
            axes = figure.add_axes((0, 0, 1, 1))
            axes.set_axis_off()
            axes.set_xlim(0, charts.WIDTH)
            axes.set_ylim(self.height, 0)
            for order, shape in enumerate(self.shapes):
                _draw(axes, shape, order)
            stream = io.BytesIO()
            nothing = {"CreationDate": None} if kind == "pdf" else {"Software": None}
            figure.savefig(stream, format=kind, dpi=2 * _PIXELS, metadata=nothing)
        return stream.getvalue()


def has_matplotlib() -> bool:
    """Return whether Matplotlib is installed (the extra `plots`)."""
    return find_spec("matplotlib") is not None


def plot(chart: Markup, title: str, legend: Sequence[tuple[str, str]], language: Language) -> Plot:
    """Make a plot of a chart of the report.

    Args:
        chart: the chart, as a function of `charts` returns it.
        title: its title.
        legend: class and name of each kind of shape.
        language: the language of numbers and names in the chart.
    """
    text = re.search(r"<svg.*</svg>", str(chart), flags=re.DOTALL)
    root = ET.fromstring(text[0] if text else "<svg viewBox='0 0 0 0'/>")  # noqa: S314 - Merilo's own chart
    height = float(root.get("viewBox", "0 0 0 0").split()[3])
    shapes = [Shape("text", (_MARGIN, 22.0), _STYLES["title"], title)]
    shapes += [made.lowered(_TITLE_HEIGHT) for one in root if (made := _shape(one, language)) is not None]
    rows = _legend(legend, _TITLE_HEIGHT + height + 18)
    bottom = rows[-1].at[1] + 12 if rows else _TITLE_HEIGHT + height + 6
    return Plot((*shapes, *rows), bottom)


def _legend(entries: Sequence[tuple[str, str]], top: float) -> list[Shape]:
    """Lay out a legend from left to right, in as many lines as it needs."""
    shapes: list[Shape] = []
    x, y = _MARGIN, top
    for kind, name in entries:
        width = 20 + len(name) * _LETTER + 18
        if x > _MARGIN and x + width > charts.WIDTH:
            x, y = _MARGIN, y + _LEGEND_LINE
        look = _look(kind)
        if "fill" in look:
            shapes.append(Shape("rect", (x, y - 10, 12.0, 12.0, 2.0), {"fill": look["fill"]}))
        else:
            shapes.append(Shape("line", (x - 2, y - 4, x + 14, y - 4), look))
        shapes.append(Shape("text", (x + 20, y), _STYLES["tick"], name))
        x += width
    return shapes


def _shape(element: ET.Element, language: Language) -> Shape | None:
    look = _look(element.get("class", ""))

    def numbers(*names: str) -> tuple[float, ...]:
        return tuple(float(element.get(name, "0")) for name in names)

    if element.tag == "line":
        return Shape("line", numbers("x1", "y1", "x2", "y2"), look)
    plain = {name: value for name, value in look.items() if name != "stroke" or look.get("fill") != value}
    if element.tag == "rect":
        return Shape("rect", numbers("x", "y", "width", "height", "rx"), plain)
    if element.tag == "circle":
        return Shape("circle", numbers("cx", "cy", "r"), plain)
    if element.tag == "text":
        words = [element.text or ""]
        for part in element:
            if part.get("lang", language) == language:
                words.append(part.text or "")
            words.append(part.tail or "")
        anchor = element.get("text-anchor", "start")
        return Shape("text", numbers("x", "y"), {**look, "stroke": "none"}, "".join(words), anchor)
    return None


def _look(classes: str) -> dict[str, str | float]:
    found: dict[str, str | float] = {}
    for name in classes.split():
        found |= _STYLES.get(name, {})
    return found


def _svg_of(shape: Shape) -> str:
    look = shape.look
    drawn = f'stroke="{look.get("stroke", "none")}" stroke-width="{look.get("width", 1)}"'
    if "dashes" in look:
        drawn += f' stroke-dasharray="{look["dashes"]}"'
    if "opacity" in look:
        drawn += f' opacity="{look["opacity"]}"'
    at = [f"{one:.2f}" for one in shape.at]
    fill = look.get("fill", _SOFT)
    if shape.kind == "line":
        return f'<line x1="{at[0]}" y1="{at[1]}" x2="{at[2]}" y2="{at[3]}" {drawn}/>'
    if shape.kind == "rect":
        size = f'width="{at[2]}" height="{at[3]}" rx="{at[4]}"'
        return f'<rect x="{at[0]}" y="{at[1]}" {size} fill="{fill}" {drawn}/>'
    if shape.kind == "circle":
        return f'<circle cx="{at[0]}" cy="{at[1]}" r="{at[2]}" fill="{fill}" {drawn}/>'
    weight = f' font-weight="{look["weight"]}"' if "weight" in look else ""
    place = f'x="{at[0]}" y="{at[1]}" text-anchor="{shape.anchor}"'
    return f'<text {place} fill="{fill}"{weight}>{escape(shape.text)}</text>'


def _draw(axes: Axes, shape: Shape, order: int) -> None:
    """Draw a shape on axes whose units are pixels."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an extra
    from matplotlib.patches import Circle, FancyBboxPatch  # noqa: PLC0415

    look = shape.look
    points = 72 / _PIXELS
    fill, stroke = str(look.get("fill", _SOFT)), str(look.get("stroke", "none"))
    width, opacity = float(look.get("width", 1)) * points, float(look.get("opacity", 1))
    if shape.kind == "line":
        x1, y1, x2, y2 = shape.at
        dashes = [float(one) * points for one in str(look.get("dashes", "")).split()]
        style: tuple[float, list[float]] | Literal["-"] = (0, dashes) if dashes else "-"
        axes.add_line(
            Line2D(
                [x1, x2],
                [y1, y2],
                color=stroke,
                linewidth=width,
                alpha=opacity,
                linestyle=style,
                zorder=order,
            )
        )
    elif shape.kind == "rect":
        x, y, across, down, round_ = shape.at
        radius = min(round_, across / 2, down / 2)
        box = f"round,pad=0,rounding_size={radius}" if radius > 0 else "square,pad=0"
        axes.add_patch(
            FancyBboxPatch(
                (x, y), across, down, boxstyle=box, facecolor=fill, edgecolor=stroke, linewidth=width,
                alpha=opacity, zorder=order,
            )
        )  # fmt: skip
    elif shape.kind == "circle":
        x, y, radius = shape.at
        axes.add_patch(
            Circle(
                (x, y), radius, facecolor=fill, edgecolor=stroke, linewidth=width, alpha=opacity, zorder=order
            )
        )
    else:
        x, y = shape.at
        side = {"start": "left", "middle": "center", "end": "right"}[shape.anchor]
        axes.text(
            x, y, shape.text, color=fill, fontsize=_FONT_SIZE * points, ha=side, va="baseline",
            fontweight=str(look.get("weight", "normal")), zorder=order,
        )  # fmt: skip
