"""Recompute the published human scores of the catalogue from the raw answers that were published with them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from math import ceil, floor, isclose
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from merilo.datasets import CATALOGUE, Dataset
from merilo.datasets.declaration import Provenance
from merilo.errors import InputError
from merilo.records import rounded
from merilo.reports.baseline import baseline
from merilo.reports.recipes import run_recipe
from merilo.settings import Settings
from merilo.statistics.intervals import Interval
from merilo.strict_json import Json
from merilo.text import Given, Text
from merilo.wording import listed

Verdict: TypeAlias = Literal["reproduced", "differs", "closed"]

VERDICTS: Final[Mapping[Verdict, Text]] = {
    "reproduced": Text("reproduced"),
    "differs": Text("differs"),
    "closed": Text("closed"),
}

#: How far a value may lie from one that was published with three decimals.
_TOLERANCE: Final = 0.0005

#: Why a score cannot be recomputed if nobody published raw answers.
_CLOSED: Final[Mapping[Provenance, Text]] = {
    "measured": Text("no raw answers published"),
    "literature": Text("from a paper; no raw answers with the benchmark"),
    "official statistics": Text("official statistics; no raw answers published"),
    "by definition": Text("by definition; nobody was asked"),
}


@dataclass(frozen=True, slots=True)
class PublishedValue:
    """A published value beside the recomputed one.

    Attributes:
        name: the metric, `n`, or the path in the JSON of the command that computes the value.
        published: the published value.
        value: the recomputed value; `None` if it cannot be computed.
        because: why the value differs or cannot be computed; `None` if it is reproduced, or differs unexpectedly.
        interval: the 95 % interval of the recomputed value, if it is an estimate.
    """

    name: str
    published: float
    value: float | None = None
    because: Text | None = None
    interval: Interval | None = None

    @property
    def verdict(self) -> Verdict:
        """Return whether the value is reproduced, differs, or is closed."""
        if self.value is None:
            return "closed"
        close = isclose(self.value, self.published, rel_tol=0, abs_tol=_TOLERANCE + 1e-9)
        return "reproduced" if close else "differs"

    def to_json(self) -> dict[str, Json]:
        """Return the value as JSON."""
        reason = None if self.verdict == "reproduced" or self.because is None else self.because.en
        bounds: Json = [rounded(self.interval.low), rounded(self.interval.high)] if self.interval else None
        return {
            "name": self.name,
            "published": self.published,
            "value": None if self.value is None else rounded(self.value),
            "ci95": bounds,
            "verdict": self.verdict,
            "because": reason,
        }


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One dataset of the published table.

    Attributes:
        dataset: the dataset.
        scores: the published scores.
        counts: the number of items, and what the published analysis of the raw answers counted.
        warnings: the reasons why the recomputed baseline is rejected, and scores that the published number of
            items cannot give.
        command: the command that computes the values; `None` without raw answers.
    """

    dataset: Dataset
    scores: tuple[PublishedValue, ...]
    counts: tuple[PublishedValue, ...]
    warnings: tuple[Text, ...]
    command: str | None = None

    @property
    def values(self) -> tuple[PublishedValue, ...]:
        """Return the scores and the counts."""
        return (*self.scores, *self.counts)

    @property
    def table_values(self) -> tuple[PublishedValue, ...]:
        """Return the values of the published table: the scores and the number of items."""
        return (*self.scores, *(one for one in self.counts if one.name == "n"))

    @property
    def verdict(self) -> Verdict:
        """Return the verdict on the row of the table: "reproduced" only if all of its values are."""
        verdicts = {one.verdict for one in self.table_values}
        return "differs" if "differs" in verdicts else "closed" if "closed" in verdicts else "reproduced"

    @property
    def because(self) -> Text | None:
        """Return the reason for the verdict; `None` if the row is reproduced, or differs unexpectedly."""
        return next((one.because for one in self.table_values if one.verdict == self.verdict), None)

    def to_json(self) -> dict[str, Json]:
        """Return the row as JSON."""
        reason = None if self.verdict == "reproduced" or self.because is None else self.because.en
        return {
            "dataset": self.dataset.name,
            "verdict": self.verdict,
            "because": reason,
            "sources": list(dict.fromkeys(one.source for one in self.dataset.human)),
            "scores": [one.to_json() for one in self.scores],
            "counts": [one.to_json() for one in self.counts],
            "warnings": [one.en for one in self.warnings],
            "command": self.command,
        }


@dataclass(frozen=True, slots=True)
class Replay:
    """The published table, recomputed where raw answers are at hand.

    Attributes:
        rows: one row per dataset, those with raw answers first.
    """

    rows: tuple[PublishedRow, ...]

    @property
    def failures(self) -> tuple[tuple[PublishedRow, PublishedValue], ...]:
        """Return the values that differ for no known reason."""
        return tuple(
            (row, one)
            for row in self.rows
            for one in row.values
            if one.verdict == "differs" and one.because is None
        )

    def to_dict(self) -> dict[str, Json]:
        """Return the result as JSON."""
        return {"reproduced": not self.failures, "rows": [row.to_json() for row in self.rows]}


def replay(
    pools: Path,
    *,
    gold: Path | None = None,
    rudetox_models: str | None = None,
    rudetox_curves: Path | None = None,
) -> Replay:
    """Recompute every published human score for which raw answers are at hand.

    Args:
        pools: the folder of the published raw answers, one folder per dataset.
        gold: a folder with gold answers that are not published, one file `NAME.json` per dataset.
        rudetox_models: the classifiers of the metric J, as for `run_recipe`.
        rudetox_curves: the calibration curves of J.

    Raises:
        InputError: the folder has none of the datasets, or a file is missing or cannot be read.
    """
    manifest = tomllib.loads((files("merilo.datasets") / "replay.toml").read_text("utf-8"))
    declared: dict[str, dict[str, Any]] = manifest["pools"]
    if not any((pools / name).is_dir() for name in declared):
        raise InputError(
            f"has none of the folders {listed([*declared])}: give the folder that holds the published answers",
            file=pools,
        )
    reasons = {
        (pool, value): Given({"en": one["en"], "ru": one["ru"]})
        for one in manifest["differences"]
        for pool in one["pools"]
        for value in one["values"]
    }
    rows = []
    for name in (*declared, *(one for one in CATALOGUE if one not in declared)):
        dataset, pool, folder = CATALOGUE[name], declared.get(name), pools / name
        if pool is None:
            rows.append(_row(dataset, _CLOSED[dataset.human[0].provenance]))
        elif not folder.is_dir():
            rows.append(
                _row(dataset, Text("raw answers are published, but not in {folder}", folder=str(pools)))
            )
        elif "questions" in pool:
            asked = {question: folder / file for question, file in pool["questions"].items()}
            ran = run_recipe(name, asked, rudetox_models=rudetox_models, rudetox_curves=rudetox_curves)
            content = ran.to_dict()
            intervals = {metric: score.interval for metric, score in ran.scores.items()}
            closed = Text("J needs its classifiers (the option {option})", option="rudetox-models")
            rows.append(_row(dataset, closed, _Recomputed(pool, content, intervals, reasons)))
        else:
            known = gold / f"{name}.json" if gold else None
            made = baseline(
                [folder / file for file in pool["files"]],
                dataset=dataset,
                gold=known if known and known.is_file() else None,
                settings=Settings(resolve="none"),
            )
            content = made.to_dict()
            intervals = {metric: score.interval for metric, score in made.metrics.items()}
            closed = Text("its gold answers are closed (the option {option} takes them)", option="gold")
            recomputed = _Recomputed(
                pool, content, intervals, reasons, tuple(one.text for one in made.details.reasons)
            )
            rows.append(_row(dataset, closed, recomputed))
    return Replay(tuple(rows))


@dataclass(frozen=True, slots=True)
class _Recomputed:
    """What raw answers give: the pool's entry in the manifest, the command's JSON, and intervals by metric."""

    pool: Mapping[str, Any]
    content: Mapping[str, Any]
    intervals: Mapping[str, Interval | None]
    reasons: Mapping[tuple[str, str], Text]
    warnings: tuple[Text, ...] = ()

    def at(self, path: str) -> float | None:
        """Return the value at a path in the JSON, if it has one there."""
        found: Any = self.content
        for key in path.split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        return found if isinstance(found, int | float) else None


def _row(dataset: Dataset, closed: Text, found: _Recomputed | None = None) -> PublishedRow:
    """Return a dataset's row; values that cannot be recomputed are closed for the given reason."""

    def value(name: str, published: float, path: str) -> PublishedValue:
        ours = found.at(path) if found else None
        because = closed if ours is None or not found else found.reasons.get((dataset.name, name))
        return PublishedValue(name, published, ours, because, found.intervals.get(name) if found else None)

    scores = tuple(value(one.metric, one.value, f"metrics.{one.metric}.value") for one in dataset.human)
    pool = found.pool if found else {}
    n = dataset.human[0].n
    counted = () if n is None else (value("n", n, pool.get("n", "items.consensus")),)
    counts = (*counted, *(value(path, known, path) for path, known in pool.get("found", {}).items()))
    return PublishedRow(
        dataset,
        scores,
        counts,
        (*(found.warnings if found else ()), *_impossible(dataset)),
        found.content["provenance"]["command"] if found else None,
    )


def _impossible(dataset: Dataset) -> Iterator[Text]:
    """Yield a warning for each published share that no number of right answers to so many items gives."""
    for one in dataset.human:
        if one.n is None or one.metric not in {"acc", "em"}:
            continue
        near = [right / one.n for right in (floor(one.value * one.n), ceil(one.value * one.n))]
        if not any(isclose(share, one.value, rel_tol=0, abs_tol=_TOLERANCE + 1e-9) for share in near):
            yield Text(
                "{metric} {value} is no share of {n:# item|# items}: nearest {low:.4f} and {high:.4f}",
                metric=one.metric,
                value=one.value,
                n=one.n,
                low=near[0],
                high=near[1],
            )
