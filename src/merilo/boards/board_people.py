"""The people of a board: baselines with their provenance, and the comparisons of models with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

import polars as pl

from merilo.baselines.baseline_reader import StoredBaseline, read_stored_baseline
from merilo.baselines.model_comparison import Match, compare
from merilo.baselines.model_verdicts import Compared, ComparisonVerdict, Margin, verdicts
from merilo.baselines.record import BASELINE_FILE, METRICS_FILE, read_record
from merilo.boards.board_datasets import BoardDataset
from merilo.boards.board_models import AnsweredDataset, RankedModel
from merilo.boards.stored_scores import StoredResults, content_key
from merilo.datasets import CATALOGUE
from merilo.errors import InputError, MeriloError, for_library
from merilo.files import collecting_later
from merilo.reports.comparison import planned_margin
from merilo.reports.hb.verification import MANIFEST, verify
from merilo.statistics.crossed_difference import CrossedDifference
from merilo.strict_json import Json
from merilo.wording import shown

#: How far below a given folder baselines are looked for: `bps/study/baseline`.
_DEPTH: Final = 4

#: The tables of a baseline that a comparison with models reads, and its items.
_COMPARED: Final = (
    BASELINE_FILE,
    "consensus.parquet",
    "responses.parquet",
    "annotators.parquet",
    "items.jsonl",
)

#: Whether the values of a study were recomputed from its raw answers; only a published folder has them.
Verified: TypeAlias = Literal["verified", "differs", "no"]


@dataclass(frozen=True, slots=True)
class PeopleMetric:
    """A metric of a study.

    Attributes:
        value: the metric of the consensus.
        n: the number of items.
        low: the lower bound of the interval of record; `None` without one.
        high: the upper bound.
        over: what the interval is over.
    """

    value: float
    n: int | None
    low: float | None = None
    high: float | None = None
    over: Literal["items and annotators", "items"] = "items"


@dataclass(frozen=True, slots=True)
class PeopleStudy:
    """A study of people on one dataset.

    Attributes:
        name: the folder's path below the folder that was given.
        dataset: the dataset.
        metrics: the metrics that have a value, the main ones first.
        annotators: how many annotators count; `None` if it is not known.
        first_day: the day of the first answer, as 2026-11-23; empty if it is not known.
        last_day: the day of the last answer.
        accepted: whether the baseline is accepted.
        simulated: whether its annotators are simulated.
        verified: whether its values were recomputed from the raw answers of its published folder.
        folder: the folder with the answers of people, for comparisons; `None` if there is none.
        key: a hash of what the values and comparisons depend on.
    """

    name: str
    dataset: BoardDataset
    metrics: Mapping[str, PeopleMetric]
    annotators: int | None
    first_day: str
    last_day: str
    accepted: bool
    simulated: bool
    verified: Verified
    folder: Path | None
    key: str

    def main(self) -> float | None:
        """Return the mean of the main metrics; `None` if one has no value."""
        names = self.dataset.metrics
        values = [self.metrics[name].value for name in names if name in self.metrics]
        return sum(values) / len(values) if values and len(values) == len(names) else None


def people_studies(folders: Sequence[Path], stored: StoredResults) -> list[PeopleStudy]:
    """Read the baselines in folders, each found by its record; a published folder joins the baseline that it publishes.

    Raises:
        InputError: a folder does not exist or holds no baseline, or a record cannot be read.
    """
    found: list[PeopleStudy] = []
    for folder in folders:
        places = [*_baselines(folder, _DEPTH)]
        if not places:
            told = (
                "there is no such folder"
                if not folder.is_dir()
                else "holds no baseline: baseline.json is missing"
            )
            raise InputError(told, file=shown(folder))
        found += [_study(place, folder, stored) for place in places]
    kept: list[PeopleStudy] = []
    for one in found:
        twin = next((at for at, other in enumerate(kept) if _same(one, other)), None)
        if twin is None:
            kept.append(one)
        else:
            kept[twin] = _joined(kept[twin], one)
    return sorted(kept, key=lambda one: (one.dataset.key, not one.accepted, one.name))


def _baselines(folder: Path, depth: int) -> Iterator[Path]:
    if (folder / BASELINE_FILE).is_file() or (
        (folder / METRICS_FILE).is_file() and (folder / MANIFEST).is_file()
    ):
        yield folder
    elif depth and folder.is_dir():
        for entry in sorted(folder.iterdir()):
            if entry.is_dir() and not entry.name.startswith("."):
                yield from _baselines(entry, depth - 1)


def _study(place: Path, root: Path, stored: StoredResults) -> PeopleStudy:
    files = sorted(one for one in place.rglob("*") if one.is_file()) if (place / MANIFEST).is_file() else []
    read = files or [place / name for name in _COMPARED]
    hashes: dict[str, Json] = {one.relative_to(place).as_posix(): stored.hash_of(one) for one in read}
    key = content_key("people", hashes)
    held = cast("dict[str, Any]", stored.result(key, lambda: _summary(place)))
    margin = planned_margin(place)
    name = place.relative_to(root).as_posix() if place != root else place.resolve().name
    metrics = {name: PeopleMetric(*values) for name, values in held["metrics"].items()}
    compared = (place / "responses.parquet").is_file()
    return PeopleStudy(
        shown(name),
        BoardDataset.of_json(held["dataset"]),
        metrics,
        held["annotators"],
        held["first_day"],
        held["last_day"],
        held["accepted"],
        held["simulated"],
        held["verified"],
        place if compared else None,
        content_key(key, None if margin is None else margin.value),
    )


def _summary(place: Path) -> dict[str, Json]:
    record = read_record(place)
    name = record.dataset or place.resolve().name
    if name.lower() in CATALOGUE:
        about = BoardDataset.of(CATALOGUE[name.lower()])
    else:
        about = BoardDataset(name.lower(), name, tuple(record.main_metrics))
    metrics: dict[str, Json] = {}
    for metric, one in record.metrics.items():
        if one.value is not None:
            low, high = one.interval or (None, None)
            metrics[metric] = [
                one.value,
                one.n,
                low,
                high,
                "items and annotators" if one.over_both else "items",
            ]
    days = _days(place)
    verified: Verified = "no"
    if (place / MANIFEST).is_file():
        with collecting_later():
            verified = "verified" if verify(place).ok else "differs"
    return {
        "dataset": about.to_json(),
        "metrics": metrics,
        "annotators": record.annotators.kept,
        "first_day": days[0],
        "last_day": days[1],
        "accepted": record.status != "rejected",
        "simulated": record.simulated,
        "verified": verified,
    }


def _days(place: Path) -> tuple[str, str]:
    """Return the days of the first and the last answer of a study; empty texts if they are not known."""
    parquet, table = place / "responses.parquet", place / "raw" / "responses.csv"
    try:
        if parquet.is_file():
            times = pl.read_parquet(parquet, columns=["submitted"])["submitted"]
        elif table.is_file():
            times = pl.read_csv(table, columns=["submitted"], infer_schema=False)["submitted"]
        else:
            return "", ""
    except (pl.exceptions.PolarsError, OSError):
        return "", ""
    days = times.cast(pl.String).drop_nulls().str.slice(0, 10)
    days = days.filter(days.str.contains(r"^\d{4}-\d\d-\d\d$"))
    return (str(days.min()), str(days.max())) if days.len() else ("", "")


#: Values of a published folder are rounded to three decimals.
_ROUNDED: Final = 6e-4


def _same(one: PeopleStudy, other: PeopleStudy) -> bool:
    """Whether two folders hold the same baseline: one of them is its published folder."""
    alike = ("dataset", "annotators", "last_day", "accepted", "simulated")
    return (
        all(getattr(one, name) == getattr(other, name) for name in alike)
        and (one.folder is None) != (other.folder is None)
        and set(one.metrics) == set(other.metrics)
        and all(
            held.n == other.metrics[name].n and abs(held.value - other.metrics[name].value) < _ROUNDED
            for name, held in one.metrics.items()
        )
    )


def _joined(one: PeopleStudy, other: PeopleStudy) -> PeopleStudy:
    answers, published = (one, other) if one.folder else (other, one)
    held = {name: getattr(answers, name) for name in PeopleStudy.__slots__}
    held |= {"name": published.name, "verified": published.verified}
    return PeopleStudy(**held)


@dataclass(frozen=True, slots=True)
class BesidePeople:
    """A model beside the people of a study.

    Attributes:
        study: the place of the study in the list of studies.
        kind: consensus, single person or majority.
        n: the number of items that both answered.
        value: the difference, model minus people.
        low: the lower bound of its interval of record.
        high: the upper bound.
        p: the p-value after Holm's correction over all comparisons with people of the board.
        verdict: what may be said about the difference.
    """

    study: int
    kind: str
    n: int
    value: float
    low: float
    high: float
    p: float
    verdict: ComparisonVerdict


def beside_people(
    studies: Sequence[PeopleStudy], models: Sequence[RankedModel], stored: StoredResults
) -> tuple[dict[tuple[int, str], list[BesidePeople]], dict[tuple[int, str], str]]:
    """Compare every model with the people of its datasets, on the items that both answered.

    The p-values of all comparisons of the board are corrected together.

    Returns:
        (place of the model, dataset) -> the comparisons; and why there is none.
    """
    crowds: dict[int, StoredBaseline | MeriloError] = {}

    def crowd_of(at: int) -> StoredBaseline:
        if at not in crowds:
            try:
                crowds[at] = read_stored_baseline(cast("Path", studies[at].folder))
            except MeriloError as error:
                crowds[at] = error
        held = crowds[at]
        if isinstance(held, MeriloError):
            raise held
        return held

    held: list[tuple[int, str, int, dict[str, Any]]] = []
    reasons: dict[tuple[int, str], str] = {}
    for at, study in enumerate(studies):
        if study.folder is None:
            continue
        for place, model in enumerate(models):
            answered = model.datasets.get(study.dataset.key)
            if answered is None or not answered.score.metrics:
                continue
            key = content_key("beside", study.key, answered.answers_key)
            made = stored.result(key, lambda at=at, answered=answered: _compared(crowd_of(at), answered))  # type: ignore[misc]
            if made["reason"]:
                reasons[place, study.dataset.key] = str(made["reason"])
            held += [
                (place, study.dataset.key, at, cast("dict[str, Any]", one))
                for one in cast("list[Json]", made["matches"])
            ]
    margins = {at: planned_margin(one.folder) for at, one in enumerate(studies) if one.folder}
    told = verdicts([_told(one, margins[at]) for _, _, at, one in held])
    found: dict[tuple[int, str], list[BesidePeople]] = {}
    for (place, key, at, one), (p, verdict) in zip(held, told, strict=True):
        found.setdefault((place, key), []).append(
            BesidePeople(at, one["kind"], one["n"], one["value"], one["low"], one["high"], p, verdict)
        )
    return found, reasons


def _compared(crowd: StoredBaseline, answered: AnsweredDataset) -> dict[str, Json]:
    try:
        with collecting_later():
            (found,) = compare(crowd, [answered.samples(crowd)], force=True)
    except MeriloError as error:
        return {"reason": for_library(error.marked), "matches": []}
    return {
        "reason": "",
        "matches": [_match_json(one, len(crowd.annotators)) for one in found.matches],
    }


def _match_json(one: Match, annotators: int) -> dict[str, Json]:
    return {
        "kind": one.kind,
        "n": one.difference.n,
        "value": one.difference.value,
        "low": one.interval.low,
        "high": one.interval.high,
        "p": one.p,
        "annotators": annotators,
        "crossed": None if one.crossed is None else cast("Json", asdict(one.crossed)),
    }


def _told(one: Mapping[str, Any], margin: Margin | None) -> Compared:
    crossed = one["crossed"]
    if crossed is not None:
        pair = crossed["discordant"]
        crossed = CrossedDifference(**(crossed | {"discordant": None if pair is None else tuple(pair)}))
    return Compared(one["p"], one["value"], crossed, margin, one["annotators"])


def shown_match(matches: Sequence[BesidePeople]) -> BesidePeople | None:
    """Return the comparison that a board shows: with the first study's consensus, or with a single person."""
    for kind in ("consensus", "single"):
        for one in matches:
            if one.kind == kind:
                return one
    return None
