"""`merilo.item_response`: people and models on one scale, as JSON and as a chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np
from markupsafe import Markup, escape

from merilo.baselines.ability_scale import AbilityScale, ModelLocation, ability_scale
from merilo.errors import UsageError, argument
from merilo.records import rounded
from merilo.reports.comparison import Answers, models_beside, people_of
from merilo.reports.estimates import interval_json
from merilo.statistics import FloatArray
from merilo.statistics.item_response import ItemModel
from merilo.strict_json import Json
from merilo.text import Language, Text

if TYPE_CHECKING:
    from merilo.reports.baseline import BaselineResult

#: An item separates a model from people if its standardised residual is at least this large.
SURPRISING: Final = 2.0
#: The most items in each list of the JSON.
LISTED: Final = 50
#: Infit above this, and unlikely by chance after Holm's correction, marks an item that does not fit the model.
MISFIT: Final = 1.2
_WIDTH: Final = 720


@dataclass(frozen=True, slots=True)
class ScaleResult:
    """People and models on one scale.

    Attributes:
        scale: the fitted model, the items' information, and the models' locations.
    """

    scale: AbilityScale

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what limits the estimates, a sentence each."""
        return tuple(warning.en for warning in self.scale.warnings)

    def to_dict(self) -> dict[str, Json]:
        """Return the scale as JSON, as `merilo scale --json` prints it."""
        return scale_summary(self.scale)

    def chart(self) -> str:
        """Return people, models and items on one axis, as the text of an SVG file."""
        return str(scale_drawing(self.scale))

    def __repr__(self) -> str:
        people = self.scale.people
        best = f", best tenth above {people.best_tenth:+.2f}" if self.scale.ranked else ""
        lines = [f"median person 0.00{best} (logits)"]
        for one in self.scale.models:
            found = one.location
            lines.append(
                f"{one.model}: {found.ability:+.2f} [{found.interval.low:+.2f}, {found.interval.high:+.2f}]"
                + (f", above {found.below:.0%} of people" if self.scale.ranked and one.fits else "")
                + ("" if one.fits else ", does not fit the scale")
            )
        return "\n".join(lines)


def item_response(
    baseline: BaselineResult | str | Path,
    models: Mapping[str, Answers] | Sequence[str | Path] = (),
    *,
    model: ItemModel = "rasch",
    data: str | Path | None = None,
) -> ScaleResult:
    """Fit an item-response model to people's answers and place models on its scale.

    Args:
        baseline: the result of `baseline`, or the folder of a baseline.
        models: the models' answers, as `compare` takes them; a model may have answered only a part of the items.
        model: "rasch", or "2pl" with a discrimination for each item.
        data: the items with ids and gold answers, if the baseline was computed without gold.

    Raises:
        UsageError: the model is unknown, or answers of the dataset are neither right nor wrong.
        InputError: answers cannot be read.
        DataError: there are fewer than three people or two items, all answers are equal, or no item has a gold answer.
    """
    if model not in {"rasch", "2pl"}:
        raise UsageError(f"there is no item-response model '{model}' (choose from: rasch, 2pl)")
    if isinstance(models, str | Path):
        raise UsageError("takes models by name, or several files", field=argument("models"))
    people = people_of(baseline, data)
    return ScaleResult(ability_scale(people, models_beside(people, models), model=model))


def scale_summary(scale: AbilityScale) -> dict[str, Json]:
    """Summarise a scale as one JSON object."""
    fit, told, people = scale.fit, scale.information, scale.people
    asked = fit.answers > 0
    return {
        "baseline": scale.baseline.folder,
        "model": fit.model,
        "unit": "logit; 0 is the average person",
        "answers": int(fit.answers.sum()),
        "log_likelihood": rounded(fit.log_likelihood),
        "iterations": fit.iterations,
        "converged": fit.converged,
        "warnings": [warning.en for warning in scale.warnings],
        "people": {
            "n": len(scale.baseline.annotators),
            "spread": rounded(people.spread),
            "median": {
                "ability": rounded(people.median),
                "ci95": interval_json(people.median_interval),
                "expected_score": rounded(people.median_score),
            },
            "best_tenth": {
                "ability": rounded(people.best_tenth),
                "ci95": interval_json(people.best_tenth_interval),
                "expected_score": rounded(people.best_tenth_score),
            },
            "annotators": [
                {"annotator": name, "ability": rounded(ability), "standard_error": rounded(error)}
                for name, ability, error in zip(
                    scale.baseline.annotators, fit.ability.tolist(), fit.ability_error.tolist(), strict=True
                )
            ],
        },
        "models": [_model(scale, one) for one in scale.models],
        "items": {
            "n": int(asked.sum()),
            "too_easy": rounded(float(told.too_easy[asked].mean())),
            "too_hard": rounded(float(told.too_hard[asked].mean())),
            "misfits": [scale.baseline.names[place] for place in misfits(scale)],
            "each": [_item(scale, place) for place in np.flatnonzero(asked).tolist()],
        },
    }


def misfits(scale: AbilityScale) -> list[int]:
    """Return the places of items whose answers depend on ability less than the model says, the worst first."""
    fit = scale.fit
    with np.errstate(invalid="ignore"):
        order = np.argsort(-np.nan_to_num(fit.infit_z, nan=-np.inf))
    found: list[int] = []
    for rank, place in enumerate(order.tolist()):
        limit = 0.05 / max(len(order) - rank, 1)
        if not float(fit.infit_z[place]) > _normal_above(limit):
            break
        if fit.infit[place] > MISFIT:
            found.append(place)
    return found


def separating(scale: AbilityScale, model: ModelLocation) -> tuple[list[int], list[int]]:
    """Return positions in `model.places` of items that it fails unlike people.

    The second list has those that it solves unlike people.

    The most surprising come first.
    """
    surprise = model.location.surprise
    order = np.argsort(surprise, kind="stable").tolist()
    worse = [row for row in order if surprise[row] <= -SURPRISING]
    return worse, [row for row in reversed(order) if surprise[row] >= SURPRISING]


def scale_drawing(scale: AbilityScale, language: Language = "en") -> Markup:
    """Draw people's abilities as dots, models as named lines, and items' difficulties below, as SVG.

    Args:
        scale: people, items and models on one scale.
        language: the language of the words.
    """
    above_axis = Text("people (dots) and models (lines): ability, in logits").in_language(language)
    below_axis = Text("items: difficulty").in_language(language)
    heading = Text("People and models on one scale").in_language(language)
    people = np.nan_to_num(scale.fit.ability)
    items = scale.fit.difficulty[np.isfinite(scale.fit.difficulty)]
    models = [(one.model, one.location.ability) for one in scale.models]
    every = np.concatenate([people, items, [ability for _, ability in models], [-1.0, 1.0]])
    low, high = floor(float(every.min())), ceil(float(every.max()))
    step = max(1, ceil((high - low) / 12))

    def x(value: float) -> float:
        return 20 + (_WIDTH - 40) * (value - low) / (high - low)

    above, tall = _stacked(people, x)
    below, deep = _stacked(items, x)
    head = 30.0 + 20 * len(models)
    axis = head + max(8 * tall, 24) + 10
    scaled = min(1.0, 120 / max(6 * deep, 1))
    bottom = axis + 34 + 6 * deep * scaled
    body = [
        _text(20, 16, above_axis, "start"),
        Markup('<line x1="20" x2="{}" y1="{:.1f}" y2="{:.1f}" stroke="#444"/>').format(
            _WIDTH - 20, axis, axis
        ),
        *(_text(x(tick), axis + 16, f"{tick:+d}".replace("+0", "0")) for tick in range(low, high + 1, step)),
        *(
            Markup('<circle cx="{:.1f}" cy="{:.1f}" r="3.5" fill="#456990"/>').format(cx, axis - 5 - 8 * row)
            for cx, row in above
        ),
        *(
            Markup('<rect x="{:.1f}" y="{:.1f}" width="4" height="{:.1f}" fill="#b7b7a4"/>').format(
                cx - 2, axis + 24 + 6 * row * scaled, max(5 * scaled, 0.6)
            )
            for cx, row in below
        ),
        _text(20, bottom + 12, below_axis, "start"),
    ]
    for place, (name, ability) in enumerate(models):
        y, left = 34 + 20.0 * place, x(ability) > _WIDTH / 2
        body.append(
            Markup(
                '<line x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}" stroke="#c1440e" stroke-width="1.5"/>'
            ).format(x(ability), y - 10, axis)
        )
        body.append(
            _text(x(ability) + (-5 if left else 5), y, f"{name} {ability:+.2f}", "end" if left else "start")
        )
    drawing = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1:.0f}" width="{0}" height="{1:.0f}" role="img" '
        'font-family="sans-serif" font-size="12"><title>{2}</title><rect width="100%" '
        'height="100%" fill="#fff"/>{3}</svg>\n'
    )
    title = f"{heading}: {scale.baseline.folder}" if scale.baseline.folder else heading
    return drawing.format(_WIDTH, bottom + 22, escape(title), Markup("").join(body))


def _stacked(values: FloatArray, x: Callable[[float], float]) -> tuple[list[tuple[float, int]], int]:
    """Return the horizontal place and the row of each value, stacked in columns; and the tallest column."""
    rows: dict[int, int] = {}
    found = []
    for value in np.sort(values).tolist():
        column = round(x(value) / 8)
        found.append((column * 8.0, rows.get(column, 0)))
        rows[column] = rows.get(column, 0) + 1
    return found, max(rows.values(), default=0)


def _text(x: float, y: float, text: str, anchor: str = "middle") -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(x, y, anchor, text)


def _normal_above(probability: float) -> float:
    return NormalDist().inv_cdf(1 - probability)


def _model(scale: AbilityScale, one: ModelLocation) -> dict[str, Json]:
    found = one.location
    worse, better = separating(scale, one)
    return {
        "model": one.model,
        "items": one.items,
        "score": rounded(one.score),
        "ability": rounded(found.ability),
        "standard_error": rounded(found.error),
        "ci95": interval_json(found.interval),
        "interval": found.interval.method,
        "share_of_people_below": rounded(found.below),
        "share_of_people_below_ci95": interval_json(found.below_interval),
        "expected_score": rounded(found.expected_score),
        "infit": rounded(found.infit),
        "infit_z": rounded(found.infit_z),
        "dependence": rounded(found.dependence),
        "dependence_z": rounded(found.dependence_z),
        "fits": one.fits,
        "fails_unlike_people": _rows(scale, one, worse),
        "solves_unlike_people": _rows(scale, one, better),
    }


def _rows(scale: AbilityScale, one: ModelLocation, rows: Sequence[int]) -> list[Json]:
    return [
        {
            "id": scale.baseline.names[one.places[row]],
            "score": rounded(float(one.scores[row])),
            "expected": rounded(float(one.location.expected[row])),
            "people": rounded(float(scale.information.share_right[one.places[row]])),
        }
        for row in rows[:LISTED]
    ]


def _item(scale: AbilityScale, place: int) -> dict[str, Json]:
    fit, told = scale.fit, scale.information
    difficulty = float(fit.difficulty[place])
    return {
        "id": scale.baseline.names[place],
        "answers": int(fit.answers[place]),
        "right": rounded(float(fit.right[place])),
        "difficulty": rounded(difficulty) if isfinite(difficulty) else None,
        "standard_error": rounded(float(fit.difficulty_error[place])),
        "discrimination": rounded(float(fit.discrimination[place])),
        "information": rounded(float(told.information[place])),
        "infit": rounded(float(fit.infit[place])),
        "outfit": rounded(float(fit.outfit[place])),
    }
