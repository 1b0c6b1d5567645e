"""`merilo.merge`: the baselines of several laboratories as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from merilo.atomic_write import write_text
from merilo.baselines.laboratories import Laboratory, LaboratoryEffects, laboratory_effects, merged
from merilo.errors import DataError, InputError, UsageError, argument
from merilo.reports.baseline import BaselineResult, baseline
from merilo.reports.hb.raw_study import RAW, read_raw
from merilo.strict_json import Json, as_text
from merilo.text import Text

LABORATORIES_FILE: Final = "laboratories.json"


@dataclass(frozen=True, slots=True)
class MergedBaselines:
    """The baseline of several laboratories.

    Attributes:
        baseline: the baseline of all answers.
        effects: how the laboratories differ; `None` if no single answer has points.
        notes: what a reader should know.
    """

    baseline: BaselineResult
    effects: LaboratoryEffects | None
    notes: tuple[Text, ...] = ()

    def to_dict(self) -> dict[str, Json]:
        """Return the JSON: that of the baseline, and `laboratories` and `between`."""
        return {**self.baseline.to_dict(), **(self.effects.to_dict() if self.effects else {})}

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write the folder of the baseline, and `laboratories.json`."""
        self.baseline.save(folder, force=force)
        if self.effects:
            write_text(Path(folder) / LABORATORIES_FILE, as_text(self.effects.to_dict()))


def merge(folders: Sequence[str | Path], *, seed: int = 0) -> MergedBaselines:
    """Make one baseline of the raw answers of several laboratories.

    Args:
        folders: folders of `merilo baseline --out` or `merilo report --out`, one a laboratory.
        seed: random seed of the bootstrap of the laboratories' intervals.

    Raises:
        UsageError: fewer than two folders are given.
        InputError: a folder has no raw answers.
        DataError: the laboratories do not fit together, or the gold answers of one are withheld.
    """
    paths = [Path(folder) for folder in folders]
    if len(paths) < 2:
        raise UsageError(f"needs at least two folders: {argument('folder')}")
    read = [_read(path, name) for path, name in zip(paths, _names(paths), strict=True)]
    both = merged(read)
    made = baseline(
        both.responses,
        dataset=both.dataset,
        gold=both.gold,
        skills=both.skills,
        settings=both.settings,
    )
    return MergedBaselines(made, laboratory_effects(made.details, seed=seed), both.notes)


def _read(path: Path, name: str) -> Laboratory:
    place = path / RAW
    if not place.is_dir():
        raise InputError(f"has no raw answers: the subfolder {RAW} is missing", file=path)
    raw = read_raw(place).recoded()
    if raw.gold is not None and raw.gold.withheld:
        raise DataError(
            f"the gold answers of {name} are withheld, so its answers cannot be scored again", file=path
        )
    return Laboratory(
        name=name,
        responses=raw.responses,
        settings=raw.settings,
        gold=raw.gold,
        skills=raw.skills,
        dataset=raw.dataset,
    )


def _names(paths: Sequence[Path]) -> list[str]:
    """Name each folder by the shortest end of its path that no other has."""
    parts = [path.resolve().parts for path in paths]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["-".join(one[-length:]) for one in parts]
        if len(set(names)) == len(names):
            common = 0
            while length > 1 and common < length - 1 and len({one[-common - 1] for one in parts}) == 1:
                common += 1
            return ["-".join(one[-length : len(one) - common]) for one in parts]
    raise UsageError("names the same folder twice", field=argument("folder"))
