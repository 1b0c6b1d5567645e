"""The quality of annotators as JSON, as a table, and as rows of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from merilo.baselines.quality import StudyQuality
from merilo.baselines.sensitivity import SensitivityRow
from merilo.people.quality.annotators import FLAGS, AnnotatorQuality
from merilo.reports.estimates import interval_json
from merilo.reports.json_numbers import rounded
from merilo.strict_json import Json

#: Russian texts of the flags; `FLAGS` has the English texts.
FLAGS_RU: Final = {
    "guessing": "точность на контрольных заданиях ближе к случайному угадыванию, чем к точности остальных",
    "disagrees": "согласен с остальными реже, чем можно объяснить случайностью",
    "too_fast": "отвечает намного быстрее остальных или быстрее, чем можно прочесть вопрос",
    "one_answer": "даёт один и тот же ответ чаще, чем можно объяснить случайностью",
    "long_run": "повторяет один ответ подряд дольше, чем можно объяснить случайностью",
    "fatigue": "к концу работы отвечает хуже",
    "learning": "к концу работы отвечает лучше",
}

#: The questions of the tests, in English and in Russian.
TESTS: Final = {
    "disagrees": ("agreement with the others", "согласие с остальными"),
    "one_answer": ("one answer too often", "один и тот же ответ слишком часто"),
    "long_run": ("one answer in a row", "один и тот же ответ подряд"),
    "drift": ("learning and fatigue", "обучение и усталость"),
    "too_fast": ("faster than the others", "быстрее остальных"),
    "unreadable": ("faster than anyone can read", "быстрее, чем можно прочитать"),
}


def quality_summary(quality: StudyQuality) -> dict[str, Json]:
    """Return the quality of annotators as JSON: one row per annotator, the tests, and the findings expected by chance."""
    people = quality.people
    return {
        "annotators": [_person(one) for one in people.annotators],
        "tests": [
            {
                "test": test.flag,
                "tested": test.tested,
                "below_level": test.below_level,
                "expected_by_chance": rounded(test.expected_by_chance),
                "flagged": test.flagged,
            }
            for test in people.tests
        ],
        "level": people.level,
        "correction": "Holm, over the people of one test",
        "guess": rounded(people.guess),
        "drift_of_all": {
            "annotators": people.pooled_drift.annotators,
            "z": rounded(people.pooled_drift.z),
            "p": rounded(people.pooled_drift.p),
        },
    }


def sensitivity_summary(quality: StudyQuality) -> dict[str, Json]:
    """Return the sensitivity of the metric as JSON: one row per threshold and aggregator."""
    return {
        "rows": [
            {
                "min_control_accuracy": row.threshold,
                "aggregator": row.aggregator,
                "annotators": row.annotators,
                "answers": row.answers,
                "consensus": row.consensus,
                "metric": row.score.name if row.score else None,
                "value": rounded(row.score.value) if row.score else None,
                "n": row.score.n if row.score else 0,
                "ci95": interval_json(row.score.interval if row.score else None),
                "ci95_items_and_annotators": interval_json(row.two_way.interval if row.two_way else None),
            }
            for row in quality.sensitivity
        ],
        "left_out": dict(quality.left_out),
    }


def quality_table(quality: StudyQuality) -> pl.DataFrame:
    """Return the quality of annotators as a table, one row per annotator."""
    rows = [dict(_flat(one)) for one in quality.people.annotators]
    return pl.DataFrame(rows, infer_schema_length=None)


def _person(one: AnnotatorQuality) -> dict[str, Json]:
    interval = one.controls.interval
    return {
        "annotator": one.annotator,
        "answers": one.answers,
        "controls": {
            "answers": one.controls.answers,
            "distinct": one.controls.distinct,
            "right": one.controls.right,
            "accuracy": rounded(one.controls.accuracy),
            "ci95": [rounded(interval.low), rounded(interval.high)] if interval else None,
            "guessing_odds": rounded(one.controls.guessing_odds),
            "guessing_p": rounded(one.controls.guessing_p),
            "below_threshold_p": rounded(one.controls.below_p),
        },
        "agreement": {
            "items": one.peers.items,
            "value": rounded(one.peers.agreement),
            "expected": rounded(one.peers.expected),
            "p": rounded(one.peers.p),
        },
        "pace": {
            "pages": one.pace.pages,
            "median_seconds": rounded(one.pace.seconds),
            "times_faster": rounded(one.pace.times_faster),
            "z": rounded(one.pace.z),
            "fast_pages": rounded(one.pace.fast_pages),
            "characters_per_second": rounded(one.pace.characters_per_second),
        },
        "repetition": {
            "favourite_share": rounded(one.repetition.share),
            "favourite_p": rounded(one.repetition.share_p),
            "longest_run": one.repetition.run,
            "longest_run_p": rounded(one.repetition.run_p),
        },
        "drift": {
            "answers": one.drift.answers,
            "early": rounded(one.drift.early),
            "late": rounded(one.drift.late),
            "z": rounded(one.drift.z),
            "p": rounded(one.drift.p),
        },
        "ability": {model: rounded(value) for model, value in one.ability.items()},
        "flags": list(one.flags),
        "excluded_by": one.excluded_by,
    }


def _flat(one: AnnotatorQuality) -> list[tuple[str, str | float | None]]:
    cells: list[tuple[str, str | float | None]] = []
    for name, value in _person(one).items():
        if isinstance(value, dict):
            for inner, cell in value.items():
                if isinstance(cell, list):
                    low, high = (float(bound) if isinstance(bound, int | float) else None for bound in cell)
                    cells += [(f"{name}_low", low), (f"{name}_high", high)]
                elif inner == "ci95":
                    cells += [(f"{name}_low", None), (f"{name}_high", None)]
                else:
                    cells.append((f"{name}_{inner}", cell if isinstance(cell, str | int | float) else None))
        elif isinstance(value, list):
            cells.append((name, " ".join(map(str, value))))
        else:
            cells.append((name, value))
    return cells


@dataclass(frozen=True, slots=True)
class FlaggedPerson:
    """An annotator to inspect, as a row of the report in both languages."""

    quality: AnnotatorQuality
    en: str
    ru: str


def people_to_look_at(quality: StudyQuality) -> list[FlaggedPerson]:
    """Return the annotators with flags, ordered by the number of flags and then of answers, largest first."""
    shown = [one for one in quality.people.annotators if one.flags]
    shown.sort(key=lambda one: (-len(one.flags), -one.answers, one.annotator))
    return [
        FlaggedPerson(
            one, "; ".join(FLAGS[flag] for flag in one.flags), "; ".join(FLAGS_RU[flag] for flag in one.flags)
        )
        for one in shown
    ]


def sensitivity_grid(rows: Sequence[SensitivityRow]) -> tuple[list[str], list[list[SensitivityRow]]]:
    """Return the names of the aggregators, and for each threshold the list of its rows."""
    names = list(dict.fromkeys(row.aggregator for row in rows))
    lines: dict[float, list[SensitivityRow]] = {}
    for row in rows:
        lines.setdefault(row.threshold, []).append(row)
    return names, list(lines.values())
