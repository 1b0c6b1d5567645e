"""The chart of a panel: one person and groups of people on one axis, with the best people and models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor
from typing import Final, Literal

from merilo.baselines.record import ChosenRecord, PanelPointRecord, PanelRecord
from merilo.reports.charts import WIDTH, Chart, Shape
from merilo.text import Text
from merilo.wording import shortened

_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, WIDTH - 172.0, 12.0, 252.0
#: The longest name of a model, in letters, and the least distance between the names.
_LONGEST_NAME: Final = 15
_NAME_HEIGHT: Final = 15.0

#: Rule -> the style class of its colour and its name.
_RULES: Final[dict[Literal["any", "majority"], tuple[str, Text]]] = {
    "any": ("any", Text("any of k", context="curve")),
    "majority": ("crowd", Text("majority of k", context="curve")),
}


@dataclass(frozen=True, slots=True)
class _Name:
    """A name at the right side of the chart, at the height of what it names."""

    height: float
    classes: str
    text: Text


@dataclass(frozen=True)
class _Axes:
    """The axes: chosen people stand left of the numbers of people.

    Attributes:
        chosen: the best people, each with a name.
        last: the largest number of people.
        tick: the distance between two lines of the grid.
        least: the score at the bottom.
    """

    chosen: list[tuple[Text, ChosenRecord]]
    last: int
    tick: float
    least: float

    def y(self, share: float | None) -> float:
        """Return the height of a score."""
        above = ((share or 0.0) - self.least) / (1 - self.least)
        return _BOTTOM - (_BOTTOM - _TOP) * min(max(above, 0.0), 1.0)

    def x(self, k: int) -> float:
        """Return the place of a number of people; the chosen people have 0 and below."""
        step = (_RIGHT - _LEFT) / (self.last + len(self.chosen))
        return _LEFT + step * (len(self.chosen) + k - 0.5)


def panel_chart(panel: PanelRecord, models: Sequence[tuple[str, float]] = ()) -> Chart:
    """Draw what one person, a majority of k and any of k people reach, and the chosen people and models.

    Args:
        panel: the panel, with a curve.
        models: the name and score of each model.
    """
    axes = _axes(panel, models)
    shapes, names = [*_grid(axes, panel)], []
    for rule, (colour, name) in _RULES.items():
        points = [one for one in panel.points(rule) if one.value is not None]
        shapes += _curve(axes, points, colour)
        if points[1:]:
            names.append(_Name(axes.y(points[-1].value), f"name {colour}", name))
    shapes += _people(axes)
    for label, value in models:
        height = axes.y(value)
        shapes.append(Shape("line", (_LEFT, height, _RIGHT, height), "line rival"))
        text = Text("{name} {value:.3f}", name=shortened(label, _LONGEST_NAME), value=value)
        names.append(_Name(height, "name rival", text))
    last = _TOP - _NAME_HEIGHT
    for one in sorted(names, key=lambda one: one.height):
        last = max(last + _NAME_HEIGHT, one.height)
        shapes.append(Shape("text", (_RIGHT + 8, last + 4), one.classes, one.text, "start"))
    return Chart(Text("Which human: one person and groups of people"), _BOTTOM + 44, shapes, scrolls=True)


def _axes(panel: PanelRecord, models: Sequence[tuple[str, float]]) -> _Axes:
    chosen = [
        (name, one)
        for name, one in ((Text("best one"), panel.best), (Text("best 10 %"), panel.tenth))
        if one is not None and one.value is not None
    ]
    ends = [end for one in panel.curve for end in (one.over_both or (one.value or 0.0,))]
    ends += [end for _, one in chosen for end in one.ci95_other_items or ()] + [value for _, value in models]
    lowest = min(ends, default=0.0) - 0.02
    tick = next(size for size in (0.02, 0.05, 0.1, 0.2) if 1 - lowest <= 8 * size or size == 0.2)
    least = max(floor(lowest / tick), 0) * tick
    return _Axes(chosen, max((one.k for one in panel.curve), default=1), tick, least)


def _grid(axes: _Axes, panel: PanelRecord) -> Iterator[Shape]:
    """Yield the region beyond the overlap, the lines of the grid and the numbers of people."""
    if axes.last > panel.overlap:
        edge = (axes.x(panel.overlap) + axes.x(panel.overlap + 1)) / 2
        yield Shape("rect", (edge, _TOP, _RIGHT - edge, _BOTTOM - _TOP, 0), "beyond")
        yield Shape("text", ((edge + _RIGHT) / 2, _BOTTOM - 8), "tick", Text("extrapolated"))
    for at in range(round((1 - axes.least) / axes.tick) + 1):
        value = axes.least + at * axes.tick
        height = axes.y(value)
        yield Shape("line", (_LEFT, height, _RIGHT, height), "grid")
        yield Shape("text", (_LEFT - 8, height + 4), "tick", Text("{value:.2f}", value=value), "end")
    for k in range(1, axes.last + 1):
        yield Shape("text", (axes.x(k), _BOTTOM + 18), "tick", str(k))
    middle = (axes.x(1) + axes.x(axes.last)) / 2
    yield Shape("text", (middle, _BOTTOM + 36), "tick", Text("number of people k"))


def _curve(axes: _Axes, points: Sequence[PanelPointRecord], colour: str) -> Iterator[Shape]:
    """Yield the band, the line and the points of a curve; the line is dashed beyond the overlap."""
    bounds = [(axes.x(one.k), one.over_both) for one in points if one.over_both]
    corners = [(x, axes.y(span.high)) for x, span in bounds]
    corners += [(x, axes.y(span.low)) for x, span in reversed(bounds)]
    if corners:
        at = tuple(value for corner in corners for value in corner)
        yield Shape("polygon", at, "band" if colour == "crowd" else f"band {colour}")
    for one, after in pairwise(points):
        classes = f"line {colour} dashed" if after.extrapolated else f"line {colour}"
        yield Shape("line", (axes.x(one.k), axes.y(one.value), axes.x(after.k), axes.y(after.value)), classes)
    for one in points:
        if not one.extrapolated:
            yield Shape("circle", (axes.x(one.k), axes.y(one.value), 4.5), colour)


def _people(axes: _Axes) -> Iterator[Shape]:
    """Yield the best people with their intervals, left of the curve."""
    for place, (name, one) in enumerate(reversed(axes.chosen)):
        x, span = axes.x(-place), one.ci95_other_items
        if span:
            yield Shape("line", (x, axes.y(span.low), x, axes.y(span.high)), "whisker chosen")
        yield Shape("circle", (x, axes.y(one.value), 5), "chosen")
        # The names are longer than their columns: the one beside the numbers of people stands below the other.
        yield Shape("text", (x, _BOTTOM + 34 - 16 * place), "tick", name)
