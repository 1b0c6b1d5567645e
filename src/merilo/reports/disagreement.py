"""People's disagreement beside a model's as JSON and as rows of a table."""

from __future__ import annotations

from typing import Final

from merilo.baselines.model_disagreement import ModelDisagreement
from merilo.bilingual import BilingualText
from merilo.people.disagreement import Disagreement, Measure
from merilo.reports.comparison import number
from merilo.reports.estimates import interval_json
from merilo.strict_json import Json

#: The name of each measure in the table, in its order.
MEASURES: Final = {
    "agreement": "agreement with a person",
    "distance": "distance (0: the same)",
    "divergence": "Jensen-Shannon, bits",
    "like_people": "  equally many answers",
    "cross_entropy": "cross-entropy, bits",
    "entropy_correlation": "correlation of entropies",
    "people_spread": "two people differ",
    "model_spread": "two samples differ",
}

#: The name of each measure in the report.
MEASURE_NAMES: Final = {
    "agreement": BilingualText("agreement with a person", "совпадение с ответом одного человека"),
    "distance": BilingualText(
        "distance of the distributions (0: the same)", "расстояние между распределениями (0 — совпадают)"
    ),
    "divergence": BilingualText("Jensen–Shannon divergence, bits", "дивергенция Йенсена — Шеннона, бит"),
    "like_people": BilingualText(
        "the same with equally many answers of people", "то же при равном числе ответов людей и модели"
    ),
    "cross_entropy": BilingualText("cross-entropy, bits", "перекрёстная энтропия, бит"),
    "entropy_correlation": BilingualText(
        "correlation of entropies over items", "корреляция энтропий по вопросам"
    ),
    "people_spread": BilingualText(
        "probability that two people differ", "вероятность, что ответы двух людей различны"
    ),
    "model_spread": BilingualText(
        "probability that two samples of the model differ", "вероятность, что два ответа модели различны"
    ),
}


def disagreement_summary(one: ModelDisagreement) -> dict[str, Json] | None:
    """Summarise a model's disagreement as JSON; `None` if it cannot be computed."""
    if one.found is None:
        return None
    return {
        **_found(one.found),
        "ambiguous": [*one.even],
        "by": {
            name: {value: _found(found) for value, found in groups.items()}
            for name, groups in one.groups.items()
        },
    }


def measures(found: Disagreement) -> dict[str, Measure]:
    """Return the measures by their names in the JSON, in the order of the table."""
    return {
        "agreement": found.agreement,
        "distance": found.distance,
        "divergence": found.divergence,
        "like_people": found.like_people,
        "cross_entropy": found.cross_entropy,
        "entropy_correlation": found.entropy_correlation,
        "people_spread": found.people_spread,
        "model_spread": found.model_spread,
    }


def _found(found: Disagreement) -> dict[str, Json]:
    return {
        "items": found.items,
        "people_per_item": number(found.people),
        "samples_per_item": number(found.samples),
        **{name: _measure(one) for name, one in measures(found).items()},
        "calibration": [
            {"items": one.items, "model_spread": number(one.model), "people_spread": number(one.people)}
            for one in found.calibration
        ],
    }


def _measure(one: Measure) -> dict[str, Json]:
    return {
        "value": number(one.value),
        "ci95": interval_json(one.interval),
        "ceiling": None if one.ceiling is None else number(one.ceiling),
    }
