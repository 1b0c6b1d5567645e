"""The quality of annotators as a table and as rows of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from merilo.baselines.quality import StudyQuality
from merilo.baselines.record import annotator_record
from merilo.baselines.sensitivity import SensitivityRow
from merilo.people.quality.annotators import FLAGS, AnnotatorQuality

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


def quality_table(quality: StudyQuality) -> pl.DataFrame:
    """Return the quality of annotators as a table, one row per annotator."""
    rows = [dict(_flat(one)) for one in quality.people.annotators]
    return pl.DataFrame(rows, infer_schema_length=None)


def _flat(one: AnnotatorQuality) -> list[tuple[str, str | float | None]]:
    cells: list[tuple[str, str | float | None]] = []
    for name, value in annotator_record(one).to_json().items():
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
