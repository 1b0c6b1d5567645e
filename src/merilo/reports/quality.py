"""The quality of annotators as a table and as rows of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from merilo.baselines.quality import StudyQuality
from merilo.baselines.record import annotator_record
from merilo.baselines.sensitivity import SensitivityRow
from merilo.people.quality.annotators import AnnotatorQuality
from merilo.text import Text

#: The questions of the tests.
TESTS: Final = {
    "disagrees": Text("agreement with the others"),
    "one_answer": Text("one answer too often"),
    "long_run": Text("one answer in a row"),
    "drift": Text("learning and fatigue"),
    "too_fast": Text("faster than the others"),
    "unreadable": Text("faster than anyone can read"),
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


def people_to_look_at(quality: StudyQuality) -> list[AnnotatorQuality]:
    """Return the annotators with flags, ordered by the number of flags and then of answers, largest first."""
    shown = [one for one in quality.people.annotators if one.flags]
    return sorted(shown, key=lambda one: (-len(one.flags), -one.answers, one.annotator))


def sensitivity_grid(rows: Sequence[SensitivityRow]) -> tuple[list[str], list[list[SensitivityRow]]]:
    """Return the names of the aggregators, and for each threshold the list of its rows."""
    names = list(dict.fromkeys(row.aggregator for row in rows))
    lines: dict[float, list[SensitivityRow]] = {}
    for row in rows:
        lines.setdefault(row.threshold, []).append(row)
    return names, list(lines.values())
