"""Verification of a folder `hb/`: whether its files are unchanged and each figure follows from the raw answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Final

from merilo.baselines.baseline import COSTS_FILE, METRICS_FILE
from merilo.errors import InputError, MeriloError
from merilo.reports.hb.figures import ABSENT, Figure, compare_figures, figures_of, table_figures
from merilo.reports.hb.raw_study import RAW, read_raw
from merilo.reports.hb.recomputation import Recomputed, cost_details, recompute
from merilo.reports.hb.sources import object_of
from merilo.strict_json import Json, indented, read_json
from merilo.version import __version__

MANIFEST: Final = "manifest.json"

#: The keys of the baseline's JSON that stand in `costs.json`; the others stand in `metrics.json`.
COST_KEYS: Final = ("cost",)

#: The key of the costs by group of people and by pool, in `costs.json` only.
DETAILS_KEY: Final = "cost_details"

_TABLES: Final = ("annotators.csv", "consensus.csv")

#: The tables that a folder has only with gold answers.
_WITH_GOLD: Final = ("doubtful.csv",)

_KIND: Final = "merilo hb"
_FORMAT: Final = 1

#: What programs leave in a folder that they open.
_IGNORED: Final = frozenset({".ipynb_checkpoints", ".DS_Store", "__pycache__"})


@dataclass(frozen=True, slots=True)
class FileCheck:
    """What happened to the files of a folder since its manifest was written.

    Attributes:
        changed: files whose SHA-256 is another.
        missing: files of the manifest that are not there.
        extra: files that the manifest does not name.
    """

    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a verification.

    Attributes:
        folder: the folder.
        figures: every published figure with its recomputed value; empty if nothing could be computed.
        files: changed, missing and unknown files.
        taken: what the figures rest on and nobody computed again: the verdicts of the sandbox on people's programs.
        faults: published files that cannot be read, and why nothing could be recomputed, a sentence each.
        without_gold: published values that could not be recomputed because gold answers are withheld.
    """

    folder: Path
    figures: tuple[Figure, ...]
    files: FileCheck
    faults: tuple[str, ...] = field(default=())
    without_gold: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()

    @property
    def moved(self) -> tuple[Figure, ...]:
        """Return the figures that do not follow from the raw answers."""
        return tuple(figure for figure in self.figures if not figure.follows)

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
            "follows": {figure.name: figure.follows for figure in self.figures},
            "moved": [figure.to_json() for figure in self.moved],
            "files": {
                "changed": [*self.files.changed],
                "missing": [*self.files.missing],
                "extra": [*self.files.extra],
            },
            "not_recomputed_without_gold": [*self.without_gold],
            "not_recomputed": [*self.taken],
            "faults": [*self.faults],
        }


def verify(folder: str | Path) -> Verification:
    """Recompute every published value of a folder `hb/`, and compare its files with the manifest.

    `merilo report verify` does the same.

    Args:
        folder: a folder that `report` wrote.

    Returns:
        Every value as published and as recomputed, and the files that changed; `ok` if there is no difference.

    Raises:
        InputError: the folder is not such a folder.
    """
    place = Path(folder)
    files = _check_files(place, _manifest(place))
    published, faults = _published(place)
    try:
        raw = read_raw(place / RAW)
        made = recompute(raw)
    except MeriloError as error:
        return Verification(place, (), files, (*faults, f"nothing can be recomputed: {error}"))
    figures = compare_figures(published, _recomputed(made))
    taken = [_verdicts_taken(made)] if made.baseline.programs else []
    unknown: list[str] = []
    if made.raw.gold is not None and made.raw.gold.withheld:
        unknown = [one.name for one in figures if one.needs_gold and one.published != ABSENT]
        figures = [one for one in figures if not one.needs_gold]
    return Verification(place, tuple(figures), files, tuple(faults), tuple(unknown), tuple(taken))


def _verdicts_taken(made: Recomputed) -> str:
    programs = made.raw.responses.table.height
    if made.raw.responses.scored:
        return f"the scores of {programs} answers are taken as the files gave them"
    return (
        f"the verdicts on {programs} programs are taken as the sandbox gave them: the programs are "
        "not in this folder and were not "
        "run again ('merilo study baseline' runs them, from the folder of the study)"
    )


def _recomputed(made: Recomputed) -> dict[str, Json]:
    """Return every figure that follows from the raw answers, by name."""
    figures = figures_of({**made.content, DETAILS_KEY: cost_details(made)})
    for file, content in made.tables().items():
        figures |= table_figures(file, content)
    return figures


def _published(folder: Path) -> tuple[dict[str, Json], list[str]]:
    """Return the published figures, and a sentence for each file that cannot be read."""
    content: dict[str, Json] = {}
    tables: dict[str, Json] = {}
    faults = []
    for name in (METRICS_FILE, COSTS_FILE):
        try:
            content |= object_of(folder / name)
        except InputError as error:
            faults.append(str(error))
    of_arms = sorted(
        path.relative_to(folder).as_posix() for name in _TABLES for path in folder.glob(f"*/{name}")
    )
    for name in (*_TABLES, *(name for name in _WITH_GOLD if (folder / name).is_file()), *of_arms):
        try:
            tables |= table_figures(name, (folder / name).read_bytes())
        except InputError as error:
            faults.append(str(error))
        except OSError as error:
            faults.append(f"{folder / name}: cannot be read ({error.strerror})")
    return {**figures_of(content), **tables}, faults


def manifest_file(files: Mapping[str, bytes], made_by: Json) -> bytes:
    """Return the manifest of a folder.

    Args:
        files: the contents of its other files by name.
        made_by: the provenance of the baseline: command, inputs, parameters, versions.
    """
    libraries = {name: version(name) for name in ("numpy", "polars", "scipy")}
    content: dict[str, Json] = {
        "kind": _KIND,
        "format": _FORMAT,
        "versions": {"merilo": __version__, **libraries},
        "baseline": made_by,
        "files": {name: _entry(name, data) for name, data in sorted(files.items())},
    }
    return f"{indented(content)}\n".encode()


def _entry(name: str, content: bytes) -> dict[str, Json]:
    """Return the manifest's entry of a file; that of a notebook has the hash of its cells without outputs too."""
    entry: dict[str, Json] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    if name.endswith(".ipynb"):
        entry["code_sha256"] = hashlib.sha256(_cells(content)).hexdigest()
    return entry


def _cells(notebook: bytes) -> bytes:
    """Return the cells of a notebook without outputs and counts, which running it changes."""
    try:
        cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(notebook)["cells"]]
    except (ValueError, TypeError, KeyError):
        return notebook
    return json.dumps(cells, ensure_ascii=False).encode()


def _check_files(folder: Path, entries: Mapping[str, dict[str, Json]]) -> FileCheck:
    """Compare a folder's files with its manifest; a notebook that was run counts as unchanged."""
    changed, extra, there = [], [], set()
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        name = place.as_posix()
        if path.is_dir() or name == MANIFEST or _IGNORED.intersection(place.parts):
            continue
        there.add(name)
        if name not in entries:
            extra.append(name)
            continue
        try:
            entry = _entry(name, path.read_bytes())
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", file=path) from error
        key = "code_sha256" if "code_sha256" in entries[name] else "sha256"
        if entry.get(key) != entries[name].get(key):
            changed.append(name)
    return FileCheck(tuple(changed), tuple(name for name in entries if name not in there), tuple(extra))


def _manifest(folder: Path) -> dict[str, dict[str, Json]]:
    """Return what the manifest of a folder says of each file."""
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(f"is not a folder of merilo report: {MANIFEST} is missing", file=folder)
    content = read_json(path)
    if not isinstance(content, dict) or content.get("kind") != _KIND:
        raise InputError("is not a manifest of merilo report", file=path)
    form = content.get("format")
    if form != _FORMAT:
        raise InputError(
            f"has the format {form}; this version of Merilo reads {_FORMAT}", file=path, field="format"
        )
    files = content.get("files")
    if (
        not isinstance(files, dict)
        or not isinstance(content.get("versions"), dict)
        or not isinstance(content.get("baseline"), dict)
    ):
        raise InputError("must have the objects files, versions and baseline", file=path)
    return {name: entry for name, entry in files.items() if isinstance(entry, dict)}
