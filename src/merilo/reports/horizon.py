"""`merilo.horizon`: the time that items take people of which models solve half, as JSON, chart and page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, isfinite, log
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from merilo.baselines.time_horizon import ModelHorizon, TimeHorizons, time_horizons
from merilo.errors import UsageError, argument, for_command_line
from merilo.records import rounded
from merilo.reports.chart_files import FORMS, chart_file, with_title
from merilo.reports.charts import (
    MODEL_COLOURS,
    WIDTH,
    Chart,
    Shape,
    flowed_legend,
    model_mark,
    page_environment,
)
from merilo.reports.comparison import Answers, models_beside, people_of
from merilo.reports.estimates import DataTable
from merilo.reports.time_and_price import duration
from merilo.settings import HorizonSettings
from merilo.statistics import FloatArray
from merilo.strict_json import Json
from merilo.text import Language, Text, joined

if TYPE_CHECKING:
    from merilo.reports.baseline import BaselineResult

#: How the interval is computed, for the JSON.
METHOD: Final = "Fieller over items, people and the errors of item times, with Student's quantile"
#: Times at which the axis may have ticks, in seconds.
_TICKS: Final = (
    1,
    2,
    5,
    10,
    20,
    30,
    60,
    120,
    300,
    600,
    1200,
    1800,
    3600,
    7200,
    18000,
    36000,
    86400,
    259200,
    864000,
)
_MOST_TICKS: Final = 9
#: How many groups of items with equal numbers the points are.
_GROUPS: Final = 8
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, WIDTH - 16.0, 12.0, 292.0
_SEGMENTS: Final = 60
_Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class HorizonResult:
    """The time horizons of models.

    Attributes:
        found: item times and horizons.
    """

    found: TimeHorizons

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what limits the estimates, a sentence each."""
        return tuple(warning.en for warning in self.found.warnings)

    def to_dict(self) -> dict[str, Json]:
        """Return the horizons as JSON, as `merilo horizon --json` prints them."""
        found, times = self.found, self.found.times
        seconds = found.seconds
        return {
            "baseline": found.baseline.folder,
            "metric": found.baseline.metric,
            "parameters": found.settings.parameters(),
            "interval": METHOD,
            "warnings": [*self.warnings],
            "times": {
                "items": len(found.names),
                "items_without_times": found.without_times,
                "people": found.people,
                "people_guessing": found.guessers,
                "pages": found.pages,
                "pages_cut_off": found.cut_off,
                "median_seconds": rounded(float(np.median(seconds))),
                "shortest_seconds": rounded(float(seconds.min())),
                "longest_seconds": rounded(float(seconds.max())),
                "spread": rounded(times.spread),
                "person_spread": rounded(times.person_spread),
                "noise": rounded(times.noise),
                "reliability": rounded(times.reliability),
            },
            "models": [_model_json(one) for one in found.models],
            "items": [
                {
                    "id": name,
                    "seconds": rounded(each),
                    "measured_seconds": rounded(exp(measured)),
                    "error": rounded(error),
                }
                for name, each, measured, error in zip(
                    found.names,
                    seconds.tolist(),
                    times.measured.tolist(),
                    np.sqrt(times.error).tolist(),
                    strict=False,
                )
            ],
        }

    def drawing(self) -> Chart:
        """Return the shares of solved items by time, with the fitted curves."""
        return horizon_chart(self.found)

    def chart(self, suffix: str = ".svg", language: Language = "en") -> bytes:
        """Return the picture as the content of a file that ends in `.svg`, `.pdf` or `.png`.

        Raises:
            MissingPartError: PDF and PNG need Matplotlib.
        """
        drawn = self.drawing()
        form = next(one for one in FORMS if suffix == f".{one}")
        return chart_file(*with_title(drawn, drawn.title), language, form)

    def page(self) -> str:
        """Return a page in English and Russian, without scripts and links to anything outside itself."""
        rendered = (
            page_environment()
            .get_template("horizon.html.j2")
            .render(
                table=horizon_table(self.found),
                notes=[*horizon_notes(self.found)],
                warnings=self.found.warnings,
                drawing=self.drawing(),
                colours=MODEL_COLOURS,
                share=self.found.settings.share,
            )
        )
        return for_command_line(rendered)

    def __repr__(self) -> str:
        return "\n".join(f"{one.model}: {horizon_cell(one).en}" for one in self.found.models)


def horizon(
    baseline: BaselineResult | str | Path,
    models: Mapping[str, Answers] | Sequence[str | Path] | str | Path,
    *,
    data: str | Path | None = None,
    settings: HorizonSettings | None = None,
    **chosen: object,
) -> HorizonResult:
    """Estimate the time that items take people of which a model solves half, or another share.

    Args:
        baseline: the result of `baseline`, or the folder of a baseline; people's answers need times.
        models: the models' answers, as `compare` takes them; a model may have answered only a part of the items.
        data: the items with ids and gold answers, if the baseline was computed without gold.
        settings: how the horizons are estimated; by default, the defaults of `HorizonSettings`.
        chosen: single settings by name: `share`, `times`, `time_limit`, `noise`, `replies`, `cluster`.

    Raises:
        UsageError: no model is given, there is no such setting, or answers of the dataset are neither right nor wrong.
        InputError: answers cannot be read.
        DataError: people's times are missing, too few or all equal, or no item has times of two people.
    """
    settings = HorizonSettings.of(chosen, settings)
    given = [models] if isinstance(models, str | Path) else models
    if not given:
        raise UsageError("takes models by name, or several files", field=argument("models"))
    people = people_of(baseline, data, settings.cluster)
    return HorizonResult(
        time_horizons(people, models_beside(people, given, replies=settings.replies), settings)
    )


def horizon_table(found: TimeHorizons) -> DataTable:
    """Return the table of the models."""
    heads = (
        Text("model", context="column"),
        Text("items", context="column"),
        Text("score", context="column"),
        Text("time horizon"),
        "95 %",
        Text("if times were exact"),
    )
    title = Text("Time horizon: items of which {share:.0%} are solved", share=found.settings.share)
    return DataTable(title, heads, [_row(one) for one in found.models])


def _row(one: ModelHorizon) -> tuple[Text | str, ...]:
    between: Text | str = "—"
    if one.interval is not None:
        between = joined([duration(one.interval[0]), "–", duration(one.interval[1])])
    exact = "—" if one.exact is None else duration(one.exact)
    return one.model, str(one.items), Text("{value:.3f}", value=one.score), _value(one), between, exact


def _value(one: ModelHorizon) -> Text | str:
    if one.seconds is not None:
        return duration(one.seconds)
    if one.bound is not None:
        sign = ">" if one.above else "<"
        return joined([sign, duration(one.bound[0])])
    return "—"


def horizon_cell(one: ModelHorizon) -> Text:
    """Return the horizon of a model in one line, or why there is none."""
    if one.seconds is not None and one.interval is not None:
        low, high = map(duration, one.interval)
        return Text("{value} [{low}, {high}]", value=duration(one.seconds), low=low, high=high)
    return bound_sentence(one)


def bound_sentence(one: ModelHorizon) -> Text:
    """Return the one-sided statement about a model, or why there is none."""
    if one.bound is None:
        return one.reason or Text("no horizon")
    seconds, k = one.bound
    if one.above:
        return Text(
            "longer than {bound}: it fails {failed:.3g} of {n:# item|# items}, and {k:# item takes|# items take} "
            "people as long or longer (one-sided, 95 %)",
            bound=duration(seconds), failed=float((1 - one.success).sum()), n=one.items, k=k,
        )  # fmt: skip
    return Text(
        "shorter than {bound}: it solves {solved:.3g} of {n:# item|# items}, and {k:# item takes|# items take} people "
        "as long or less (one-sided, 95 %)",
        bound=duration(seconds), solved=float(one.success.sum()), n=one.items, k=k,
    )  # fmt: skip


def horizon_notes(found: TimeHorizons) -> Iterator[Text]:
    """Yield the sentences below the table."""
    for one in found.models:
        if one.seconds is None:
            yield joined([f"{one.model}:", bound_sentence(one)])
    seconds = found.seconds
    yield Text(
        "Time horizon: the time of a typical person for items of which the model solves {share:.0%}.",
        share=found.settings.share,
    )
    yield Text(
        "{n:# item|# items} with times of {people:# annotator|# annotators} on {pages:# page|# pages}: {low} to "
        "{high}, median {middle}.",
        n=len(found.names), people=found.people, pages=found.pages, low=duration(float(seconds.min())),
        high=duration(float(seconds.max())), middle=duration(float(np.median(seconds))),
    )  # fmt: skip
    yield Text(
        "{share:.0%} of the variance of measured log times is of true times; the rest is error, and the curve allows "
        "for it.",
        share=found.times.reliability,
    )


def _model_json(one: ModelHorizon) -> dict[str, Json]:
    curve = one.curve
    return {
        "model": one.model,
        "items": one.items,
        "score": rounded(one.score),
        "horizon_seconds": _finite(one.seconds),
        "ci95": None if one.interval is None else [_finite(end) for end in one.interval],
        "horizon_if_times_were_exact": _finite(one.exact),
        "slope": None if curve is None else rounded(curve.slope),
        "slope_error": None if curve is None else rounded(curve.slope_error),
        "bound": None
        if one.bound is None
        else {"above" if one.above else "below": rounded(one.bound[0]), "items": one.bound[1]},
        "reason": None if one.reason is None else one.reason.en,
    }


def _finite(value: float | None) -> Json:
    """Return a rounded number; null for an infinite one."""
    return None if value is None or not isfinite(value) else rounded(value)


def horizon_chart(found: TimeHorizons) -> Chart:
    """Draw the share of solved items of each model in groups of equal numbers of items, and the fitted curves."""
    logs = np.log(found.seconds)
    ends = [float(logs.min()), float(logs.max())]
    wide = max(ends[1] - ends[0], 1.0)
    # A horizon far outside the items' times is not drawn.
    for one in found.models:
        if one.seconds and ends[0] - wide < log(one.seconds) < ends[1] + wide:
            ends += [log(one.seconds)]
    low, high = min(ends) - 0.05 * wide, max(ends) + 0.05 * wide

    def x(value: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * (value - low) / (high - low)

    def y(share: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * share

    shapes: list[Shape] = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        shapes.append(Shape("line", (_LEFT, y(share), _RIGHT, y(share)), "grid"))
        shapes.append(
            Shape("text", (_LEFT - 8, y(share) + 4), "tick", Text("{share:.0%}", share=share), "end")
        )
    ticks = [tick for tick in _TICKS if low <= log(tick) <= high]
    every = -(-len(ticks) // _MOST_TICKS)
    for tick in ticks[::every]:
        shapes.append(Shape("line", (x(log(tick)), _TOP, x(log(tick)), _BOTTOM), "grid"))
        shapes.append(Shape("text", (x(log(tick)), _BOTTOM + 18), "tick", duration(tick)))
    wanted = found.settings.share
    shapes.append(Shape("line", (_LEFT, y(wanted), _RIGHT, y(wanted)), "threshold"))
    at = np.linspace(low, high, _SEGMENTS + 1)
    if len(found.models) == 1 and (curve := found.models[0].curve) is not None:
        below, above = curve.band(at)
        edge = [(x(one), y(two)) for one, two in zip(at.tolist(), above.tolist(), strict=True)]
        edge += [(x(one), y(two)) for one, two in zip(at[::-1].tolist(), below[::-1].tolist(), strict=True)]
        shapes.append(Shape("polygon", tuple(end for corner in edge for end in corner), "band"))
    for place, one in enumerate(found.models):
        line, groups = _drawn(one, logs, at)
        colour = f"whisker model-{place % len(MODEL_COLOURS)}"
        shapes += [Shape("line", (x(a), y(b), x(c), y(d)), colour) for (a, b), (c, d) in pairwise(line)]
        shapes += [model_mark(place, x(middle), y(share), 5.0) for middle, share in groups]
    axis = Text("time that the item takes a typical person")
    shapes.append(Shape("text", ((_LEFT + _RIGHT) / 2, _BOTTOM + 40), "tick", axis))
    legend: list[tuple[Text | str, int | str]] = [
        (one.model[:70], place) for place, one in enumerate(found.models)
    ]
    entries, height = flowed_legend(legend, _BOTTOM + 68)
    return Chart(
        Text("Solved items by the time that they take people"), height, [*shapes, *entries], scrolls=True
    )


def _drawn(one: ModelHorizon, logs: FloatArray, at: FloatArray) -> tuple[list[_Point], list[_Point]]:
    """Return the curve of a model, and the shares of solved items in groups of equal numbers of items."""
    line: list[_Point] = []
    if one.curve is not None:
        line = [*zip(at.tolist(), one.curve.share(at).tolist(), strict=True)]
    order = np.argsort(logs[one.places], kind="stable")
    groups = np.array_split(order, min(_GROUPS, max(len(order) // 4, 1)))
    mine = logs[one.places]
    return line, [(float(mine[group].mean()), float(one.success[group].mean())) for group in groups]
