"""The forest plot of a comparison: the differences from people, or from the first model, with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Final

from merilo.baselines.model_comparison import Match, signed
from merilo.reports.charts import MODEL_COLOURS, WIDTH, Chart, Shape, flowed_legend, model_mark
from merilo.reports.comparison import Comparison
from merilo.text import Text, joined
from merilo.wording import shortened

#: With more differences, their numbers are left out and the rows are closer to each other.
_MOST_NUMBERS: Final = 30
#: Pixels between two models of a dataset, and between datasets, without and with numbers.
_SPACE: Final = ((10.0, 10.0), (20.0, 14.0))
_EDGE, _END, _TOP = 16.0, WIDTH - 16.0, 10.0
_LABELS, _NUMBERS = 172.0, 176.0
#: How many letters of a name a line holds.
_LONGEST, _LONGEST_MODEL = 23, 70
#: Steps between the ticks of the axis.
_STEPS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True, slots=True)
class _Row:
    """One dataset of the plot.

    Attributes:
        title: the lines of its name.
        below: its metric and its number of items.
        matches: the compared models, by their place in the legend.
        single: the difference of a single person from the consensus; `None` if it is not known or not compared.
        margin: the margin for equivalence; `None` without one.
    """

    title: Sequence[str]
    below: Text
    matches: Mapping[int, Match]
    single: float | None
    margin: float | None


def forest_title(results: Mapping[str, Comparison]) -> Text:
    """Return what the plot shows."""
    first = next(iter(results.values()))
    if not first.baseline.annotators:
        return Text("Differences from {first}, with 95% intervals", first=_first_model(results))
    if _kind(first) == "single":
        return Text("Differences from a single person, with 95% intervals")
    return Text("Differences from the consensus of people, with 95% intervals")


def forest_chart(results: Mapping[str, Comparison], titles: Mapping[str, str]) -> Chart:
    """Draw the difference of each model from people, or from the first model without people: one row a dataset.

    The margin for equivalence is shaded; lines mark the consensus and a single person.

    Args:
        results: mapping from dataset to the comparison on it.
        titles: mapping from dataset to its title.
    """
    every = {one.tests.model: None for result in results.values() for one in result.models}
    # Without people the first model is the line at 0.
    people = any(one.baseline.annotators for one in results.values())
    firsts = {
        match.beside for result in results.values() for match in result.firsts() if match and not people
    }
    models = [name for name in every if name not in firsts]
    rows = [row for key, result in results.items() if (row := _row(result, titles[key], models)).matches]
    lines = sum(len(row.matches) for row in rows)
    numbers = lines <= _MOST_NUMBERS
    step, pad = _SPACE[numbers]
    left, right = _EDGE + _LABELS, _END - (_NUMBERS if numbers else 24.0)
    low, high, tick = _range(rows)

    def x(value: float) -> float:
        return left + (right - left) * (value - low) / (high - low)

    heights = [max(len(row.matches) * step + pad, 17.0 * (len(row.title) + 1) + 10) for row in rows]
    bottom = _TOP + sum(heights)
    shapes: list[Shape] = []
    for at in range(round(low / tick), round(high / tick) + 1):
        place = x(at * tick)
        shapes.append(Shape("line", (place, _TOP, place, bottom), "grid"))
        sign = signed(at * tick, 2) if at else "0"
        shapes.append(Shape("text", (place, bottom + 18), "tick", sign))
    y = _TOP
    for row, height in zip(rows, heights, strict=True):
        if row.margin is not None:
            width = x(row.margin) - x(-row.margin)
            shapes.append(Shape("rect", (x(-row.margin), y, width, height, 0), "margin"))
        y += height
    shapes.append(Shape("line", (x(0), _TOP, x(0), bottom), "line zero"))
    y = _TOP
    for row, height in zip(rows, heights, strict=True):
        shapes += _drawn(row, y, height, x, numbers=numbers)
        y += height
        shapes.append(Shape("line", (_EDGE, y, _END, y), "grid"))
    better = Text("model better →")
    worse = (
        Text("← people better")
        if people
        else Text("← {first} better", first=shortened(_first_model(results), 24))
    )
    shapes.append(Shape("text", (left, bottom + 36), "tick", worse, "start"))
    shapes.append(Shape("text", (right, bottom + 36), "tick", better, "end"))
    legend = [*_legend(models, rows, forest_zero(results))]
    drawn, height = flowed_legend(legend, bottom + 64)
    return Chart(forest_title(results), height, [*shapes, *drawn], scrolls=True)


def forest_zero(results: Mapping[str, Comparison]) -> Text:
    """Return with whom the models are compared, as the legend names it."""
    first = next(iter(results.values()))
    if not first.baseline.annotators:
        return joined([_first_model(results)])
    return (
        Text("a single person", context="legend") if _kind(first) == "single" else Text("consensus of people")
    )


def _first_model(results: Mapping[str, Comparison]) -> str:
    matches = (match for result in results.values() for match in result.firsts() if match)
    return shortened(next(match.beside for match in matches), _LONGEST_MODEL)


def _kind(result: Comparison) -> str:
    """Return the kind of comparison that the plot shows: that with the consensus, if there is one."""
    kinds = [match.kind for one in result.models for match in one.tests.marked]
    return next((kind for kind in ("consensus", "single", "first") if kind in kinds), "first")


def _row(result: Comparison, title: str, models: Sequence[str]) -> _Row:
    kind = _kind(result)
    matches = {
        models.index(one.tests.model): match
        for one in result.models
        for match in one.tests.marked
        if match.kind == kind
    }
    first = result.models[0].tests.matches
    sides = {match.kind: match.difference.first for match in first}
    single = sides["single"] - sides["consensus"] if {"single", "consensus"} <= sides.keys() else None
    counts = sorted({match.difference.n for match in matches.values()})
    n = f"{counts[0]}–{counts[-1]}" if len(counts) > 1 else str(*counts)
    below = Text("{metric}, n = {n}", metric=result.metric, n=n)
    if kind == "single":
        below = Text("{metric}, 0 = a person", metric=result.metric)
    return _Row(_broken(title), below, matches, single, result.margin.value if result.margin else None)


def _broken(title: str) -> list[str]:
    """Break a title into at most two lines; the rest is left out."""
    if len(title) <= _LONGEST:
        return [title]
    places = [title.rfind(" ", 0, _LONGEST + 1), *(title.rfind(sign, 0, _LONGEST) + 1 for sign in "-_./")]
    cut = next((place for place in places if place > _LONGEST // 4), _LONGEST)
    return [title[:cut], shortened(title[cut:].strip(), _LONGEST)]


def _range(rows: Sequence[_Row]) -> tuple[float, float, float]:
    """Return the ends of the axis and the step between its ticks."""
    values = [0.0]
    for row in rows:
        values += [end for match in row.matches.values() for end in (match.interval.low, match.interval.high)]
        values += [row.single or 0.0, row.margin or 0.0, -(row.margin or 0.0)]
    low, high = min(values), max(values)
    step = next((one for one in _STEPS if (high - low) / one <= 6), _STEPS[-1])
    least, most = (-1.0, 1.0) if low >= -1 and high <= 1 else (-2.0, 2.0)
    return max(least, floor(low / step - 0.2) * step), min(most, ceil(high / step + 0.2) * step), step


def _drawn(
    row: _Row, top: float, height: float, x: Callable[[float], float], *, numbers: bool
) -> Iterator[Shape]:
    """Yield the label, the intervals and the marks of a dataset."""
    middle = top + height / 2
    base = middle - 17 * (len(row.title) + 1) / 2 + 13
    for at, line in enumerate(row.title):
        yield Shape("text", (_EDGE, base + 17 * at), "title", line, "start")
    yield Shape("text", (_EDGE, base + 17 * len(row.title)), "tick", row.below, "start")
    if row.single is not None:
        yield Shape("line", (x(row.single), top + 3, x(row.single), top + height - 3), "line single")
    step, _ = _SPACE[numbers]
    start = middle - step * (len(row.matches) - 1) / 2
    for at, (model, match) in enumerate(sorted(row.matches.items())):
        y, value, found = start + step * at, match.difference.value, match.interval
        low, high = signed(found.low), signed(found.high)
        text = Text("{value} [{low}, {high}]", value=signed(value), low=low, high=high)
        colour = f"model-{model % len(MODEL_COLOURS)}"
        yield Shape("line", (x(found.low), y, x(found.high), y), f"whisker {colour}")
        yield model_mark(model, x(value), y, 5.5 if numbers else 4.0)
        if numbers:
            yield Shape("text", (_END, y + 4.5), "tick", text, "end")


def _legend(
    models: Sequence[str], rows: Sequence[_Row], zero: Text
) -> Iterator[tuple[Text | str, int | str]]:
    """Yield the names in the legend, each with the place of a model or the style classes of a line or area."""
    for place, name in enumerate(models):
        yield shortened(name, _LONGEST_MODEL), place
    yield zero, "line zero"
    if any(row.single is not None for row in rows):
        yield Text("a single person", context="legend"), "line single"
    margins = sorted({row.margin for row in rows if row.margin is not None})
    if margins:
        yield (
            Text("margin ±{margin:g}", margin=margins[0])
            if len(margins) == 1
            else Text("margin ±{low:g} to ±{high:g}", low=margins[0], high=margins[-1]),
            "margin",
        )
