"""Verification of a folder `hb/`: whether its files are unchanged and each figure follows from the raw answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from merilo.errors import InputError, MeriloError
from merilo.reports.hb.expert_raw import EXPERTS_RAW, experts_again
from merilo.reports.hb.figures import ABSENT, Figure, compare_figures, figures_of, table_figures
from merilo.reports.hb.manifest import COSTS_FILE, METRICS_FILE, FileCheck, read_manifest
from merilo.reports.hb.producers import cost_details
from merilo.reports.hb.raw_reader import read_raw
from merilo.reports.hb.raw_study import RAW
from merilo.reports.hb.recomputation import Recomputed, recompute
from merilo.reports.hb.sources import EXPERTS_FILE
from merilo.strict_json import Json, read_json

TABLES: Final = ("annotators.csv", "consensus.csv")

#: The keys of the baseline's JSON that stand in `costs.json`; the others stand in `metrics.json`.
COST_KEYS: Final = ("cost",)

#: The key of the costs by group of people and by pool, in `costs.json` only.
DETAILS_KEY: Final = "cost_details"


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a verification.

    Attributes:
        folder: the folder.
        figures: every published figure with its recomputed value; empty if nothing could be computed.
        files: changed, missing and unknown files.
        hashed: published results that are compared with the manifest only, because their raw answers are not in the folder.
        taken: what the figures rest on and nobody computed again: the verdicts of the sandbox on people's programs.
        faults: published files that cannot be read, and why nothing could be recomputed, a sentence each.
        without_gold: published values that could not be recomputed because gold answers are withheld.
    """

    folder: Path
    figures: tuple[Figure, ...]
    files: FileCheck
    faults: tuple[str, ...] = field(default=())
    hashed: tuple[str, ...] = ()
    without_gold: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()

    @property
    def moved(self) -> tuple[Figure, ...]:
        """Return the figures that do not follow from the raw answers."""
        return tuple(one for one in self.figures if not one.follows)

    @property
    def ok(self) -> bool:
        """Return whether every figure follows and every file is as it was written."""
        files = self.files
        return not (self.moved or self.faults or files.changed or files.missing or files.extra)

    def to_dict(self) -> dict[str, Json]:
        """Return the verification as JSON; docs/report.md explains its keys."""
        return {
            "folder": str(self.folder),
            "verified": self.ok,
            "figures": {"total": len(self.figures), "follow": len(self.figures) - len(self.moved)},
            "follows": {one.name: one.follows for one in self.figures},
            "moved": [one.to_json() for one in self.moved],
            "files": {
                "changed": [*self.files.changed],
                "missing": [*self.files.missing],
                "extra": [*self.files.extra],
            },
            "hashed_only": [*self.hashed],
            "not_recomputed_without_gold": [*self.without_gold],
            "not_recomputed": [*self.taken],
            "faults": [*self.faults],
        }


def verify_folder(folder: Path) -> Verification:
    """Compute every figure of a folder `hb/` again from its raw answers, and compare the files with the manifest.

    Raises:
        InputError: the folder is not a folder of `merilo report`.
    """
    manifest = read_manifest(folder)
    files = manifest.check(folder)
    published, faults = _published(folder)
    try:
        made = recompute(read_raw(folder / RAW))
        experts = _experts(folder)
        again = experts_again(folder / RAW / EXPERTS_RAW, experts, made.baseline)
    except MeriloError as error:
        return Verification(folder, (), files, (*faults, f"nothing can be recomputed: {error}"))
    recomputed = recomputed_figures(made, experts if again is None else again)
    if experts is not None and again is not None:
        published = {**published, **expert_figures({key: experts.get(key) for key in again})}
        recomputed |= expert_figures(again)
    figures = compare_figures(published, recomputed)
    hashed = (f"{EXPERTS_RAW}.json",) if experts is not None and again is None else ()
    taken = (_verdicts_taken(made),) if made.baseline.programs else ()
    unknown: list[str] = []
    if made.raw.gold is not None and made.raw.gold.withheld:
        unknown = [one.name for one in figures if one.needs_gold and one.published != ABSENT]
        figures = [one for one in figures if not one.needs_gold]
    return Verification(folder, tuple(figures), files, tuple(faults), hashed, tuple(unknown), taken)


def _verdicts_taken(made: Recomputed) -> str:
    programs = made.raw.responses.table.height
    return (
        f"the verdicts on {programs} programs are taken as the sandbox gave them: the programs are not in this folder and were not "
        "run again ('merilo study baseline' runs them, from the folder of the study)"
    )


def recomputed_figures(made: Recomputed, experts: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """Return every figure that follows from the raw answers, by name.

    Args:
        made: the recomputed baseline.
        experts: the JSON of `merilo experts baseline`, whose cost is published beside it.
    """
    tables = {
        name: value
        for file, content in made.tables().items()
        for name, value in table_figures(file, content).items()
    }
    details: Json = cost_details(made.content, made.raw.responses.table, experts)
    return {**figures_of({**made.content, DETAILS_KEY: details}), **tables}


def expert_figures(content: Mapping[str, Json]) -> dict[str, Json]:
    """Return the figures of `experts.json` by name."""
    return {f"{EXPERTS_RAW}.json, {name}": value for name, value in figures_of(content).items()}


def _experts(folder: Path) -> dict[str, Json] | None:
    path = folder / EXPERTS_FILE
    return _object(path) if path.is_file() else None


def _published(folder: Path) -> tuple[Mapping[str, Json], list[str]]:
    """Return the published figures, and a sentence for each file that cannot be read."""
    content: dict[str, Json] = {}
    tables: dict[str, Json] = {}
    faults = []
    for name in (METRICS_FILE, COSTS_FILE):
        try:
            content |= _object(folder / name)
        except InputError as error:
            faults.append(str(error))
    for name in TABLES:
        try:
            tables |= table_figures(name, (folder / name).read_bytes())
        except InputError as error:
            faults.append(str(error))
        except OSError as error:
            faults.append(f"{folder / name}: cannot be read ({error.strerror})")
    return {**figures_of(content), **tables}, faults


def _object(path: Path) -> dict[str, Json]:
    found = read_json(path)
    if not isinstance(found, dict):
        raise InputError("is not an object", file=path)
    return found
