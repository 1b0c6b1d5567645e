"""Time and price of right answers in a comparison: the JSON, the rows and sentences, and a small picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, isfinite, log10
from typing import Final

import numpy as np

from merilo.baselines.time_and_price import AnswerPrice, TimeAndPrice, TimedAnswers
from merilo.records import rounded
from merilo.reports.charts import MODEL_COLOURS, WIDTH, Chart, Shape, flowed_legend
from merilo.reports.cost_report import each
from merilo.reports.estimates import EMPTY, interval_json
from merilo.statistics.intervals import Interval
from merilo.strict_json import Json
from merilo.text import Text, joined

_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, WIDTH - 16.0, 12.0, 212.0
_SEGMENTS: Final = 80
#: Digits of prices in the JSON.
_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class TimedModel:
    """A model with its name, for tables and the picture."""

    name: str
    found: TimeAndPrice


def timed_json(found: TimeAndPrice) -> dict[str, Json]:
    """Return time and price of right answers as JSON."""
    equal, ratio = found.equal_time, found.ratio
    return {
        "people_answers_timed": len(found.people.votes) if found.people else 0,
        "model_answers_timed": len(found.model.votes) if found.model else 0,
        "within": [
            {"seconds": at, "people": _share_json(found.people, at), "model": _share_json(found.model, at)}
            for at in found.times
        ],
        "equal_at_seconds": None if equal is None else rounded(equal[0]),
        "ahead_before": None if equal is None else equal[1],
        "price_of_right_answer": {
            "people": _price_json(found.people_price),
            "model": _price_json(found.model_price),
        },
        "people_over_model": _triple_json(ratio),
        "pay_per_answer": None if found.pay is None else rounded(found.pay, _DIGITS),
        "equal_pay_per_answer": _triple_json(found.equal_pay),
    }


def _share_json(side: TimedAnswers | None, seconds: float) -> Json:
    if side is None:
        return None
    value, interval = side.within(seconds)
    return {"value": rounded(value), "ci95": interval_json(interval)}


def _price_json(price: AnswerPrice | None) -> Json:
    if price is None:
        return None
    return {**_triple_json((price.value, price.low, price.high)), "currency": price.currency}


def _triple_json(found: tuple[float, float, float] | None) -> dict[str, Json]:
    """Return a value with its interval; null for an infinite bound."""
    if found is None:
        return {"value": None, "ci95": None}
    value, low, high = (rounded(one, _DIGITS) if isfinite(one) else None for one in found)
    return {"value": value, "ci95": [low, high]}


def within_rows(
    found: TimeAndPrice,
) -> Iterator[tuple[float, tuple[float, Interval | None] | None, tuple[float, Interval | None] | None]]:
    """Yield each time with the shares of points that people and the model earn within it, and their intervals."""
    for at in found.times:
        people = None if found.people is None else found.people.within(at)
        yield at, people, None if found.model is None else found.model.within(at)


def share_text(share: tuple[float, Interval | None] | None) -> Text | str:
    """Return a share with its interval."""
    if share is None:
        return EMPTY
    value, interval = share
    if interval is None:
        return Text("{value:.3f}", value=value)
    return Text("{value:.3f} [{low:.3f}–{high:.3f}]", value=value, low=interval.low, high=interval.high)


def duration(seconds: float) -> Text:
    """Return a time in seconds, minutes or hours, with at most three figures.

    Example:
        >>> [duration(one).en for one in (0.5, 60, 90, 9000, float("inf"))]
        ['0.5 s', '60 s', '1.5 min', '2.5 h', '∞']
    """
    if not isfinite(seconds):
        return joined(["∞"])
    if seconds < 90:
        return Text("{value} s", value=figures(seconds))
    if seconds < 5400:
        return Text("{value} min", value=figures(seconds / 60))
    return Text("{value} h", value=figures(seconds / 3600))


def figures(value: float) -> Text:
    """Return a number with three figures, or all of a larger whole number."""
    return Text("{value:.3g}", value=value) if value < 1000 else Text("{value:.0f}", value=value)


def timed_sentences(one: TimedModel) -> Iterator[Text]:
    """Yield the price of a right answer of people and of the model, and where they are equal."""
    found = one.found
    if found.people_price and found.model_price:
        yield Text(
            "A right answer costs {people} from a person and {model} from {name}.",
            people=_price(found.people_price),
            model=_price(found.model_price),
            name=one.name,
        )
    elif found.model_price:
        yield Text("A right answer of {name} costs {model}.", model=_price(found.model_price), name=one.name)
    if found.ratio and found.equal_pay and found.pay:
        currency = found.model_price.currency if found.model_price else None
        value, low, high = found.ratio
        yield Text(
            "People cost {ratio} times as much [{low}–{high}]: the prices would be equal if an answer were "
            "paid {equal} instead of {pay}.",
            ratio=figures(value),
            low=figures(low),
            high=figures(high) if isfinite(high) else "∞",
            equal=each(found.equal_pay[0], currency),
            pay=each(found.pay, currency),
        )
    if found.people is None or found.model is None:
        return
    if equal := found.equal_time:
        at, ahead = equal
        yield Text(
            "Within {at} an answer both give equally many right answers; {ahead:people=before that people give more, "
            "after it the model|model=before that the model gives more, after it people}.",
            ahead=ahead,
            at=duration(at),
        )
    elif found.ahead:
        yield Text(
            "{ahead:people=People give|model=The model gives} more right answers within every time.",
            ahead=found.ahead,
        )


def _price(price: AnswerPrice) -> Text:
    high = each(price.high, price.currency) if isfinite(price.high) else "∞"
    value, low = each(price.value, price.currency), each(price.low, price.currency)
    return Text("{value} [{low}–{high}]", value=value, low=low, high=high)


def within_chart(models: Sequence[TimedModel]) -> Chart | None:
    """Draw the shares of points earned within a time by people and models; `None` if no model's times are known."""
    timed = [(place, one) for place, one in enumerate(models) if one.found.model is not None]
    if not timed:
        return None
    people = next((one.found.people for _, one in timed if one.found.people), None)
    sides = [one.found.model for _, one in timed if one.found.model] + ([people] if people else [])
    low = floor(min(log10(float(one.seconds.min())) for one in sides))
    high = ceil(max(log10(float(one.seconds.max())) for one in sides) + 1e-9)

    def x(at: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * (at - low) / max(high - low, 1)

    def y(share: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * share

    shapes: list[Shape] = []
    for share in (0.0, 0.5, 1.0):
        shapes.append(Shape("line", (_LEFT, y(share), _RIGHT, y(share)), "grid"))
        shapes.append(
            Shape("text", (_LEFT - 8, y(share) + 4), "tick", Text("{share:.0%}", share=share), "end")
        )
    for power in range(low, high + 1):
        shapes.append(Shape("line", (x(power), _TOP, x(power), _BOTTOM), "grid"))
        seconds = Text("{seconds:g} s", seconds=10.0**power)
        shapes.append(Shape("text", (x(power), _BOTTOM + 18), "tick", seconds))
    at = np.linspace(low, high, _SEGMENTS + 1)

    def line(side: TimedAnswers, classes: str) -> Iterator[Shape]:
        shares = side.shares(10**at).tolist()
        for (a, b), (c, d) in pairwise(zip(at.tolist(), shares, strict=True)):
            yield Shape("line", (x(a), y(b), x(c), y(d)), classes)

    for place, one in timed:
        if one.found.model is not None:
            shapes += line(one.found.model, f"whisker model-{place % len(MODEL_COLOURS)}")
    legend: list[tuple[Text | str, int | str]] = [(one.name[:70], place) for place, one in timed]
    if people is not None:
        shapes += line(people, "line zero")
        legend.append((Text("a single person", context="legend"), "line zero"))
    axis = Text("seconds of an answer")
    shapes.append(Shape("text", ((_LEFT + _RIGHT) / 2, _BOTTOM + 38), "tick", axis))
    entries, height = flowed_legend(legend, _BOTTOM + 64)
    return Chart(Text("Right answers within a time"), height, [*shapes, *entries], scrolls=True)
