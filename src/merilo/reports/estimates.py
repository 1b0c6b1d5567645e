"""The crowd's figure and the single person's as JSON and as lines of text."""

from __future__ import annotations

from math import isfinite

from merilo.baselines.estimates import Figures
from merilo.people.uncertainty.annotator_accuracy import Person
from merilo.statistics.intervals import Interval
from merilo.strict_json import Json


def crowd_summary(figures: Figures | None) -> dict[str, Json]:
    """What stands beside a metric's value: its interval over items and annotators, and what makes it wider."""
    if figures is None:
        return {}
    crowd = figures.crowd
    return {
        "ci95_items_and_annotators": interval_json(crowd.interval),
        "interval_items_and_annotators": crowd.interval.method,
        "annotators": crowd.annotators,
        "design_effect": _number(crowd.design_effect),
        "standard_error": {
            "items": _number(crowd.item_error),
            "annotators": _number(crowd.annotator_error),
        },
    }


def published_summary(figures: Figures | None) -> dict[str, Json]:
    """What stands beside the figure by majorities alone."""
    if figures is None or figures.published is None:
        return {}
    return {"ci95_items_and_annotators": interval_json(figures.published.interval)}


def single_summary(figures: Figures | None) -> Json:
    """What single people reach."""
    if figures is None:
        return None
    single = figures.single
    return {
        "mean": _number(single.mean),
        "ci95": interval_json(single.interval),
        "interval": single.interval.method,
        "spread": _number(single.spread),
        "spread_ci95": interval_json(single.spread_interval),
        "annotators": single.annotators,
        "answers": single.answers,
        "items": single.items,
        "min_answers": single.min_answers,
        "with_min_answers": len(single.people),
        "best": _person(figures, single.best),
        "worst": _person(figures, single.worst),
    }


def lines(figures: Figures | None) -> list[tuple[str, str]]:
    """The figures as rows of a table on the terminal: a name and its value."""
    if figures is None:
        return []
    crowd, single = figures.crowd, figures.single
    rows = [
        (
            "  items and annotators",
            f"{_text(crowd.interval)}  on {crowd.n} items, {crowd.annotators} annotators",
        ),
        (
            "single person",
            f"{single.mean:.3f} {_text(single.interval)}  spread {single.spread:.3f}, "
            f"{single.annotators} annotators, {single.answers} answers",
        ),
    ]
    rows += [
        (
            f"  {name} (of {person.among})",
            f"{person.value:.3f} {_text(person.simultaneous)}  on {person.n} items",
        )
        for name, person in (("best", single.best), ("worst", single.worst))
        if person is not None
    ]
    return rows


def interval_json(interval: Interval | None) -> Json:
    """An interval as a pair."""
    return None if interval is None else [_number(interval.low), _number(interval.high)]


def _person(figures: Figures, person: Person | None) -> Json:
    if person is None:
        return None
    return {
        "annotator": figures.name(person.annotator),
        "value": _number(person.value),
        "n": person.n,
        "ci95": interval_json(person.interval),
        "ci95_chosen_among_all": interval_json(person.simultaneous),
        "shrunk": _number(person.shrunk),
    }


def _text(interval: Interval) -> str:
    # The terminal's tables read a square bracket as markup unless it is escaped.
    return f"\\[{interval.low:.3f}, {interval.high:.3f}]"


def _number(value: float) -> float | None:
    return round(value, 6) if isfinite(value) else None
