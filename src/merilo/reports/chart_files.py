"""Charts as files: SVG, and PDF and PNG through Matplotlib, in one language."""

from __future__ import annotations

import atexit
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from markupsafe import Markup

from merilo.errors import MissingPartError
from merilo.reports.charts import MODEL_COLOURS, WIDTH, Chart, Shape, placed
from merilo.text import Language, Text

if TYPE_CHECKING:
    from matplotlib.artist import Artist

#: The form of a file.
ChartForm: TypeAlias = Literal["svg", "pdf", "png"]
FORMS: Final[tuple[ChartForm, ...]] = get_args(ChartForm)

_INK, _SOFT, _LINE, _BLUE = "#1b2430", "#5d6b7c", "#dde3ea", "#2563c9"
_GOOD, _BAD, _NEUTRAL, _AMBER = "#2f8f6b", "#c8453b", "#a9b4c0", "#c78a1e"


@dataclass(frozen=True, slots=True)
class Look:
    """How a shape is drawn; an empty colour is not drawn."""

    fill: str = ""
    stroke: str = ""
    width: float = 1
    opacity: float = 1
    dashes: tuple[float, ...] = ()
    bold: bool = False


#: Style classes of a shape -> its look, as in the style sheet of the report.
LOOKS: Final = {
    "axis": Look(stroke=_SOFT),
    "grid": Look(stroke=_LINE),
    "band": Look(fill=_BLUE, opacity=0.3),
    "mark": Look(fill=_BLUE, stroke="#ffffff", width=2),
    "threshold": Look(stroke=_INK, width=1.5, dashes=(6, 4)),
    "whisker good": Look(stroke=_GOOD, opacity=0.35, width=1.2),
    "whisker bad": Look(stroke=_BAD, opacity=0.35, width=1.2),
    "good": Look(fill=_GOOD),
    "bad": Look(fill=_BAD),
    "neutral": Look(fill=_NEUTRAL),
    "person": Look(fill=_NEUTRAL),
    "way-0": Look(fill="#b7c0ca"),
    "way-1": Look(fill="#1d4e9e"),
    "way-2": Look(fill="#2f7ad6"),
    "way-3": Look(fill="#3f9db3"),
    "way-4": Look(fill="#c78a1e"),
    "way-5": Look(fill="#a9602b"),
    "way-6": Look(fill="#7a4fa3"),
    "line crowd": Look(stroke=_BLUE, width=2),
    "line rival": Look(stroke=_AMBER, width=2),
    "tick": Look(fill=_SOFT),
    "inside": Look(fill="#ffffff", bold=True),
    "name crowd": Look(fill=_BLUE, bold=True),
    "name rival": Look(fill="#8a5a0c", bold=True),
    "line zero": Look(stroke=_INK, width=2),
    "margin": Look(fill=_NEUTRAL, opacity=0.35),
    "line single": Look(stroke=_AMBER, width=2, dashes=(5, 3)),
    "title": Look(fill=_INK, bold=True),
    **{f"model-{place}": Look(fill=colour) for place, colour in enumerate(MODEL_COLOURS)},
    **{f"whisker model-{place}": Look(stroke=colour, width=2) for place, colour in enumerate(MODEL_COLOURS)},
}

TITLE_HEIGHT: Final = 34.0
MARGIN: Final = 16.0
_FONT_SIZE: Final = 13.0
_FAMILY: Final = "DejaVu Sans"
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


#: The characters of the fonts of `_fonts`: Latin, Greek, Cyrillic, punctuation, signs.
_LETTERS: Final = frozenset((*range(0x20, 0x500), *range(0x2000, 0x2300)))


@cache
def _fonts() -> dict[str, Path]:
    """Write the regular and the bold font without other scripts and return their files by weight.

    Embedding the whole font takes most of the time of a PDF, because its tables are parsed for each file.
    """
    from fontTools import subset  # noqa: PLC0415 - an extra
    from matplotlib.font_manager import FontProperties, findfont  # noqa: PLC0415

    folder = TemporaryDirectory(prefix="merilo-fonts-")
    atexit.register(folder.cleanup)
    options = subset.Options(layout_features=[], glyph_names=True, notdef_outline=True, name_IDs=["*"])
    options.drop_tables += ["GSUB", "GPOS", "GDEF", "FFTM"]
    files = {}
    for weight in ("normal", "bold"):
        font = subset.load_font(findfont(FontProperties(family=_FAMILY, weight=weight)), options)
        shortened = subset.Subsetter(options)
        shortened.populate(unicodes=_LETTERS)
        shortened.subset(font)
        files[weight] = Path(folder.name, f"{weight}.ttf")
        subset.save_font(font, str(files[weight]), options)
        font.close()
    return files


def is_filled(classes: str) -> bool:
    """Return whether shapes of these style classes are areas, not lines."""
    return bool(LOOKS[classes].fill)


def with_title(chart: Chart, title: Text) -> tuple[list[Shape], float]:
    """Return the shapes of a chart below its title and and the height of both."""
    shapes = [Shape("text", (MARGIN, 22.0), "title", title, "start")]
    for shape in chart.shapes:
        lowered = (
            {1, 3} if shape.kind == "line" else range(1, len(shape.at), 2) if shape.kind == "polygon" else {1}
        )
        at = tuple(value + TITLE_HEIGHT * (place in lowered) for place, value in enumerate(shape.at))
        shapes.append(replace(shape, at=at))
    return shapes, TITLE_HEIGHT + chart.height


def chart_file(shapes: Sequence[Shape], height: float, language: Language, form: ChartForm) -> bytes:
    """Return a chart as the content of a file.

    Raises:
        MissingPartError: PDF and PNG need Matplotlib, which is not installed.
    """
    if form == "svg":
        return _svg(shapes, height, language)
    if not has_matplotlib():
        raise MissingPartError(
            f"a chart as {form.upper()} needs Matplotlib: install merilo[plots], or write SVG"
        )
    return _with_matplotlib(shapes, height, language, form)


def _words(shape: Shape, language: Language) -> str:
    return shape.text if isinstance(shape.text, str) else shape.text.in_language(language)


def _svg(shapes: Sequence[Shape], height: float, language: Language) -> bytes:
    elements = []
    for shape in shapes:
        look = LOOKS[shape.classes]
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

    with mpl.rc_context({"font.family": _FAMILY, "pdf.fonttype": 42, "text.parse_math": False}):
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
    from matplotlib.font_manager import FontProperties  # noqa: PLC0415 - an extra
    from matplotlib.lines import Line2D  # noqa: PLC0415
    from matplotlib.patches import Circle, FancyBboxPatch, Polygon  # noqa: PLC0415
    from matplotlib.text import Text as Words  # noqa: PLC0415

    look, points = LOOKS[shape.classes], _POINTS / _PIXELS
    x, y, *size = shape.at
    drawn: dict[str, Any]
    if shape.kind == "text":
        side = {"start": "left", "middle": "center", "end": "right"}[shape.anchor]
        weight, words = "bold" if look.bold else "normal", _words(shape, language)
        file = _fonts()[weight] if _LETTERS.issuperset(map(ord, words)) else None
        font = FontProperties(fname=file, weight=weight, size=_FONT_SIZE * points)
        return Words(x, y, words, va="baseline", ha=side, color=look.fill, fontproperties=font)
    drawn = {"linewidth": look.width * points, "alpha": look.opacity}
    if shape.kind == "line":
        if look.dashes:
            drawn["linestyle"] = (0, [dash * points for dash in look.dashes])
        return Line2D([x, size[0]], [y, size[1]], color=look.stroke, **drawn)
    drawn |= {"facecolor": look.fill, "edgecolor": look.stroke or "none"}
    if shape.kind == "polygon":
        return Polygon([*zip(shape.at[::2], shape.at[1::2], strict=True)], **drawn)
    if shape.kind == "circle":
        return Circle((x, y), size[0], **drawn)
    across, down, rounding = size
    radius = min(rounding, across / 2, down / 2)
    box = f"round,pad=0,rounding_size={radius}" if radius > 0 else "square,pad=0"
    return FancyBboxPatch((x, y), across, down, boxstyle=box, **drawn)
