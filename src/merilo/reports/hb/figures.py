"""The figures of a report one by one, and the comparison of published with recomputed figures."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isclose
from typing import Final

import polars as pl

from merilo.baselines.consensus_table import COLUMNS, DOUBTS
from merilo.baselines.findings import NO_ESTIMATE
from merilo.errors import InputError
from merilo.strict_json import Json

#: Figures are published with six decimal places. A larger difference than one unit of the last place is a change.
TOLERANCE: Final = 1.5e-6

#: The keys of the baseline's JSON in the order in which their figures are listed.
_FIRST: Final = (
    "status",
    "metrics",
    "population",
    "single_person",
    "agreement",
    "by",
    "items",
    "responses",
    "annotators",
    "resolved_by",
    "cost",
    "controls",
)

#: Keys that hold no figures: the declaration of the dataset, and how the result was made.
NO_FIGURES: Final = ("declaration", "provenance")

#: A sentence that says what the figures beside it say.
SENTENCE: Final = "sentence"

#: What identifies an object in a list, so that a figure keeps its name if the order changes.
_NAMES: Final = ("annotator", "item", "model", "metric", "stratum")

#: Parts of the names of figures that need gold answers.
_NEEDS_GOLD: Final = frozenset(
    {
        "metrics",
        "human_benchmark",
        "single_person",
        "population",
        "by",
        "models",
        "reasons",
        "findings",
        "people",
        "differences",
    }
)

#: The value of a figure that is not there.
ABSENT: Final = "(absent)"


@dataclass(frozen=True, slots=True)
class Figure:
    """One published figure and the value that follows from the raw answers.

    Attributes:
        name: its key in the JSON, with points: `metrics.acc.value`; in a table, `consensus.csv, item 12, label`.
        published: the published value.
        recomputed: the value that follows from the raw answers.
    """

    name: str
    published: Json
    recomputed: Json

    @property
    def follows(self) -> bool:
        """Return whether both values are equal, numbers within one unit of the sixth decimal place."""
        return _equal(self.published, self.recomputed)

    @property
    def needs_gold(self) -> bool:
        """Return whether one side lacks the figure because it cannot be computed without gold answers."""
        if self.follows:
            return False
        parts = re.sub(r"^arms\.[^.]+\.", "", self.name).split(".")
        if parts[-1] == "status" and NO_ESTIMATE in {self.published, self.recomputed}:
            return True
        lacking = any(one is None or one in (ABSENT, {}, []) for one in (self.published, self.recomputed))
        return lacking and not _NEEDS_GOLD.isdisjoint(parts[:2])

    def to_json(self) -> dict[str, Json]:
        """Return the figure as JSON."""
        return {
            "figure": self.name,
            "published": self.published,
            "recomputed": self.recomputed,
            "follows": self.follows,
        }


def compare_figures(published: Mapping[str, Json], recomputed: Mapping[str, Json]) -> list[Figure]:
    """Pair figures by name; a figure that one side lacks does not follow.

    Example:
        >>> [one.name for one in compare_figures({"n": 3, "acc": 0.5}, {"n": 3, "acc": 0.6}) if not one.follows]
        ['acc']
    """
    return [
        Figure(name, published.get(name, ABSENT), recomputed.get(name, ABSENT))
        for name in {**published, **recomputed}
    ]


def figures_of(content: Mapping[str, Json]) -> dict[str, Json]:
    """Return every figure of a baseline's JSON by name, the most important first.

    Example:
        >>> figures_of({"cost": {"total": 5.5}, "metrics": {"acc": {"value": 0.9, "ci95": [0.8, 1.0]}}})
        {'metrics.acc.value': 0.9, 'metrics.acc.ci95.0': 0.8, 'metrics.acc.ci95.1': 1.0, 'cost.total': 5.5}
    """
    order = [*(key for key in _FIRST if key in content), *(key for key in content if key not in _FIRST)]
    return {
        name: value for key in order if key not in NO_FIGURES for name, value in _leaves(content[key], key)
    }


def _leaves(value: Json, name: str) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            if key != SENTENCE and key not in NO_FIGURES:
                yield from _leaves(inner, f"{name}.{key}")
    elif isinstance(value, list) and value:
        names = [_name_in_list(one, place) for place, one in enumerate(value)]
        unique = len(set(names)) == len(names)
        for place, one in enumerate(value):
            yield from _leaves(one, f"{name}.{names[place] if unique else place}")
    else:
        yield name, value


def _name_in_list(value: Json, place: int) -> str:
    if isinstance(value, dict):
        for key in _NAMES:
            if isinstance(known := value.get(key), str | int):
                return str(known)
    return str(place)


def table_figures(name: str, content: bytes) -> dict[str, Json]:
    """Return every cell of a table of annotators or items as a figure, without the input fields of items.

    Args:
        name: the file's name, `annotators.csv`, `consensus.csv` or `doubtful.csv`, below the folder of an arm.
        content: the file.

    Raises:
        InputError: the file is not such a table.
    """
    key = "annotator" if name.endswith("annotators.csv") else "item"
    try:
        table = pl.read_csv(io.BytesIO(content), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise InputError("is not a table as Merilo writes it", file=name) from error
    if key not in table.columns:
        raise InputError(f"must have the column {key}", file=name, row=1)
    columns = [
        one for one in table.columns if one != key and (key == "annotator" or one in (*COLUMNS, *DOUBTS))
    ]
    return {
        f"{name}, {key} {row[key]}, {column}": row[column]
        for row in table.iter_rows(named=True)
        for column in columns
    }


#: A fraction as tables of Merilo write it. Other texts, such as the labels 1 and 01, are compared as they are.
_FRACTION: Final = re.compile(r"-?\d+\.(\d*[1-9]|0)([eE][-+]?\d+)?|-?\d[eE][-+]?\d+")


def _equal(first: Json, second: Json) -> bool:
    one, other = _as_number(first), _as_number(second)
    if one is not None and other is not None:
        return isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(first) is type(second) and first == second


def _as_number(value: Json) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    return float(value) if isinstance(value, str) and _FRACTION.fullmatch(value) else None
