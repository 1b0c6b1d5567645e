"""Charts of a report as shapes, which the page shows as SVG and the folder `hb/` writes as SVG, PDF and PNG.

They are laid out without a plotting library, because importing one takes about a second and the text in the charts must
follow the page's language.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import cos, pi, sin
from typing import Any, Final, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from merilo.text import LANGUAGES, Text, both_languages, plain_number

WIDTH: Final = 720

#: The colours of models in a chart, which people with any colour vision can tell apart.
MODEL_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")

_EDGE, _END = 16.0, WIDTH - 16.0
#: Approximate width of a letter of a legend, and height of its line, in pixels.
_LETTER: Final = 7.4
_LEGEND_LINE: Final = 22.0


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of a whole.

    Attributes:
        kind: the style class of its colour.
        name: its name.
        count: the size of the part.
    """

    kind: str
    name: Text
    count: int


@dataclass(frozen=True, slots=True)
class Dot:
    """One annotator on the chart of control items.

    Attributes:
        name: the pseudonymous id of the annotator.
        value: accuracy on control items.
        low: the interval's lower bound.
        high: the interval's upper bound.
        n: the number of answers to control items.
        excluded: whether the annotator was excluded.
    """

    name: str
    value: float
    low: float
    high: float
    n: int
    excluded: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape of a chart, in pixels from the top left.

    Attributes:
        kind: what it is.
        at: its numbers: x1, y1, x2, y2 of a line; x, y, width, height, rx; cx, cy, r; x, y of a text; x and y of each
            corner of a polygon.
        classes: the style classes that colour it.
        text: the content of a text; the tooltip of another shape.
        anchor: which part of a text stands at its place.
    """

    kind: Literal["line", "rect", "circle", "text", "polygon"]
    at: tuple[float, ...]
    classes: str
    text: Text | str = ""
    anchor: Literal["start", "middle", "end"] = "middle"


#: The names of a shape's numbers in SVG.
COORDINATES: Final = {
    "line": ("x1", "y1", "x2", "y2"),
    "rect": ("x", "y", "width", "height", "rx"),
    "circle": ("cx", "cy", "r"),
    "text": ("x", "y"),
}


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart, `WIDTH` pixels wide.

    Attributes:
        title: what it shows.
        height: its height in pixels.
        shapes: its shapes, the lowest layer first.
        scrolls: whether it scrolls horizontally on narrow screens instead of shrinking until it is unreadable.
    """

    title: Text
    height: float
    shapes: Sequence[Shape]
    scrolls: bool = False

    def __html__(self) -> Markup:
        """Return the chart for a page that shows one of two languages, coloured by the page's style sheet."""
        svg = Markup(
            '<svg viewBox="0 0 {} {:.0f}" role="img" preserveAspectRatio="xMidYMid meet">'
            "<title>{} / {}</title>{}</svg>"
        ).format(
            WIDTH, self.height, self.title.en, self.title.ru, Markup("").join(map(_element, self.shapes))
        )
        return Markup('<div class="chart" tabindex="0">{}</div>').format(svg) if self.scrolls else svg


def placed(shape: Shape) -> Markup:
    """Return the attributes that place a shape in an SVG file."""
    if shape.kind == "polygon":
        return Markup('points="{}"').format(" ".join(f"{round(value, 2):g}" for value in shape.at))
    pairs = zip(COORDINATES[shape.kind], shape.at, strict=True)
    return Markup(" ").join(Markup('{}="{:g}"').format(name, round(value, 2)) for name, value in pairs)


def _element(shape: Shape) -> Markup:
    if shape.kind == "text":
        return Markup('<text {} text-anchor="{}" class="{}">{}</text>').format(
            placed(shape), shape.anchor, shape.classes, _in_both(shape.text)
        )
    tooltip = Markup("<title>{}</title>").format(shape.text) if shape.text else ""
    return Markup('<{0} {1} class="{2}">{3}</{0}>').format(shape.kind, placed(shape), shape.classes, tooltip)


def _in_both(text: Text | str) -> Markup:
    if isinstance(text, str) or text.en == text.ru:
        return escape(str(text))
    return Markup('<tspan lang="en">{}</tspan><tspan lang="ru">{}</tspan>').format(text.en, text.ru)


@cache
def page_environment() -> Environment:
    """Return the environment of all report pages.

    It has the templates of this package and escapes every value; an unknown name is an error. `_` is
    `text.both_languages`, `text` a sentence, `both` shows an object with the texts `en` and `ru`.
    """
    environment = Environment(
        loader=PackageLoader("merilo.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "both": _both_texts}
    environment.globals |= {
        "_": both_languages,
        "text": Text,
        "languages": LANGUAGES,
        "own_name": Text("English", context="name of this language"),
    }
    return environment


def _both_texts(value: Any) -> Markup:  # noqa: ANN401 - warnings, reasons and other texts in both languages
    return Markup('<span lang="en">{}</span><span lang="ru">{}</span>').format(value.en, value.ru)


def number(value: float, digits: int = 3) -> Markup:
    """Format a number in both languages, with a decimal comma in Russian.

    A positive number that rounds to 0 is shown as less than the smallest number with so many decimal places.

    Example:
        >>> print(number(0.5, 1))
        <span lang="en">0.5</span><span lang="ru">0,5</span>
    """
    least = 10.0**-digits
    if 0 < value < least / 2:
        return Markup("&lt;&nbsp;") + _both(f"{least:.{digits}f}")
    return _both(plain_number(value, f".{digits}f").replace("-", "−"))


def _both(text: str) -> Markup:
    russian = text.replace(".", ",")
    if russian == text:
        return escape(text)
    return Markup('<span lang="en">{}</span><span lang="ru">{}</span>').format(text, russian)


def _share(value: float) -> Text:
    return Text("{value:.1f}", value=value)


def _within(share: float, left: float, right: float) -> float:
    """Return where a share stands on an axis from 0 to 1."""
    return left + (right - left) * min(max(share, 0.0), 1.0)


def interval_bar(value: float, low: float, high: float) -> Chart:
    """Draw an estimate between 0 and 1 with its interval."""
    left, right, y = 16.0, WIDTH - 16.0, 30.0
    shapes = [Shape("line", (left, y, right, y), "axis")]
    for tick in range(0, 11, 2):
        x = _within(tick / 10, left, right)
        shapes.append(Shape("line", (x, y - 4, x, y + 4), "axis"))
        shapes.append(Shape("text", (x, y + 22), "tick", _share(tick / 10)))
    start, end = _within(low, left, right), _within(high, left, right)
    shapes.append(Shape("rect", (start, y - 6, max(end - start, 2), 12, 6), "band"))
    shapes.append(Shape("circle", (_within(value, left, right), y, 8), "mark"))
    title = Text("{value:.3f} [{low:.3f}, {high:.3f}]", value=value, low=low, high=high)
    return Chart(title, 60, shapes)


def stacked_bar(parts: Sequence[Segment]) -> Chart:
    """Draw parts of a whole as one bar; the page adds the legend."""
    total = sum(part.count for part in parts) or 1
    shapes, x = [], 0.0
    for part in parts:
        if not part.count:
            continue
        width = WIDTH * part.count / total
        tooltip = f"{part.name.en} / {part.name.ru}: {part.count}"
        shapes.append(Shape("rect", (x, 0, max(width - 1.5, 0.8), 44, 0), part.kind, tooltip))
        if width > 34:
            shapes.append(Shape("text", (x + width / 2, 28), "inside", str(part.count)))
        x += width
    return Chart(Text("How items were resolved"), 44, shapes)


def control_chart(dots: Sequence[Dot], threshold: float) -> Chart:
    """Draw annotators by their accuracy on control items, lowest first, with intervals and the threshold."""
    left, right, top, bottom = 40.0, WIDTH - 8.0, 12.0, 212.0

    def y(share: float) -> float:
        return bottom - (bottom - top) * share

    shapes = []
    for tick in range(0, 11, 2):
        height = y(tick / 10)
        shapes.append(Shape("line", (left, height, right, height), "grid"))
        shapes.append(Shape("text", (left - 8, height + 4), "tick", _share(tick / 10), "end"))
    step = (right - left) / max(len(dots), 1)
    radius = min(max(step * 0.32, 1.2), 5)
    for place, dot in enumerate(sorted(dots, key=lambda dot: (dot.value, dot.n, dot.name))):
        x = left + step * (place + 0.5)
        kind = "bad" if dot.excluded else "good"
        tooltip = f"{dot.name}: {dot.value:.2f} ({dot.n})"
        shapes.append(Shape("line", (x, y(dot.low), x, y(dot.high)), f"whisker {kind}"))
        shapes.append(Shape("circle", (x, y(dot.value), radius), kind, tooltip))
    shapes.append(Shape("line", (left, y(threshold), right, y(threshold)), "threshold"))
    return Chart(Text("Accuracy on control items"), 224, shapes, scrolls=True)


def histogram(shares: Sequence[float], marked: Sequence[bool | None]) -> Chart:
    """Draw a histogram of items by the share of equal answers.

    Each column shows items with a wrong consensus separately.

    Args:
        shares: for each item, the share of its answers that the most frequent label got, 0 to 1.
        marked: for each item, whether its consensus is correct; `None` without a consensus or without gold.
    """
    left, right, top, bottom, bins = 40.0, WIDTH - 8.0, 16.0, 196.0, 10
    columns: list[dict[str, int]] = [{"good": 0, "neutral": 0, "bad": 0} for _ in range(bins)]
    for share, right_answer in zip(shares, marked, strict=True):
        kind = "neutral" if right_answer is None else "good" if right_answer else "bad"
        columns[min(int(share * bins - 1e-9), bins - 1)][kind] += 1
    tallest = max((sum(column.values()) for column in columns), default=0) or 1
    step = (right - left) / bins
    shapes = [Shape("line", (left, bottom, right, bottom), "axis")]
    for place, column in enumerate(columns):
        x, base = left + step * place, bottom
        for kind, count in column.items():
            height = (bottom - top) * count / tallest
            base -= height
            if count:
                shapes.append(Shape("rect", (x + 3, base, step - 6, height, 0), kind))
        if total := sum(column.values()):
            shapes.append(Shape("text", (x + step / 2, base - 5), "tick", str(total)))
        percents = Text("{low}–{high}%", low=place * 10, high=(place + 1) * 10)
        shapes.append(Shape("text", (x + step / 2, bottom + 18), "tick", percents))
    return Chart(Text("Items by agreement"), 220, shapes, scrolls=True)


def standing_chart(
    people: Sequence[float], crowd: float | None, models: Sequence[tuple[str, float]]
) -> Chart:
    """Draw single annotators as dots stacked at their scores, and the crowd and the models as named lines.

    Args:
        people: the score of each annotator, from 0 to 1.
        crowd: the score of the consensus.
        models: the name and score of each model.
    """
    left, right, radius, column_width = 16.0, WIDTH - 16.0, 4.0, 9
    lines = [("rival", Text("{name} {value:.3f}", name=name, value=value), value) for name, value in models]
    if crowd is not None:
        lines.insert(0, ("crowd", Text("consensus {value:.3f}", value=crowd), crowd))
    stacks: dict[int, list[float]] = {}
    for value in sorted(people):
        stacks.setdefault(round(_within(value, left, right) / column_width), []).append(value)
    head = 22.0 * len(lines) + 8
    axis = head + max(max(map(len, stacks.values()), default=0) * 2 * radius + 8, 40)
    shapes = [Shape("line", (left, axis, right, axis), "axis")]
    shapes += [
        Shape("text", (_within(tick / 10, left, right), axis + 20), "tick", _share(tick / 10))
        for tick in range(0, 11, 2)
    ]
    for column, stack in stacks.items():
        for below, value in enumerate(stack):
            y = axis - 4 - radius * (2 * below + 1)
            shapes.append(Shape("circle", (column * column_width, y, radius - 0.5), "person", f"{value:.3f}"))
    for place, (kind, name, value) in enumerate(lines):
        x, y = _within(value, left, right), 16 + 22.0 * place
        shapes.append(Shape("line", (x, y - 10, x, axis), f"line {kind}"))
        if x > left + (right - left) / 2:
            shapes.append(Shape("text", (x - 6, y + 2), f"name {kind}", name, "end"))
        else:
            shapes.append(Shape("text", (x + 6, y + 2), f"name {kind}", name, "start"))
    return Chart(Text("People and models"), axis + 26, shapes, scrolls=True)


def model_mark(model: int, x: float, y: float, radius: float) -> Shape:
    """Return the mark of a model: its shape and its colour."""
    classes = f"model-{model % len(MODEL_COLOURS)}"
    sides, turn = _SHAPES[model % len(_SHAPES)]
    if not sides:
        return Shape("circle", (x, y, radius), classes)
    angles = [turn + 2 * pi * corner / sides for corner in range(sides)]
    size = radius * 1.25
    corners = [end for angle in angles for end in (x + size * cos(angle), y + size * sin(angle))]
    return Shape("polygon", tuple(corners), classes)


#: Shapes of marks: the number of corners, 0 for a circle, and the angle of the first.
_SHAPES: Final = ((0, 0.0), (4, pi / 4), (3, -pi / 2), (4, 0.0), (3, pi / 2))


def flowed_legend(legend: Sequence[tuple[Text | str, int | str]], y: float) -> tuple[list[Shape], float]:
    """Return the legend, as many entries in a line as fit, and the height of the chart."""
    shapes: list[Shape] = []
    x = _EDGE
    for name, sign in legend:
        letters = max(
            len(name if isinstance(name, str) else name.in_language(language)) for language in LANGUAGES
        )
        width = 24 + letters * _LETTER + 16
        if x > _EDGE and x + width > _END + 16:
            x, y = _EDGE, y + _LEGEND_LINE
        if isinstance(sign, int):
            shapes.append(model_mark(sign, x + 8, y - 4, 5.5))
        elif sign == "margin":
            shapes.append(Shape("rect", (x, y - 11, 16, 13, 0), sign))
        else:
            shapes.append(Shape("line", (x + 8, y - 12, x + 8, y + 3), sign))
        shapes.append(Shape("text", (x + 24, y), "tick", name, "start"))
        x += width
    return shapes, y + 12
