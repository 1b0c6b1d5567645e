"""A published folder read back: the baseline is computed from its raw answers, and compared with what is published."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isclose
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from merilo.atomic_write import guarded
from merilo.baselines.baseline import BASELINE_FILE, Baseline, read_record
from merilo.baselines.comparison import rows_beside
from merilo.baselines.crowd import crowd_of
from merilo.baselines.model_answers import read_model
from merilo.baselines.model_echoes import echoes_or_reason
from merilo.baselines.pipeline import compute
from merilo.baselines.raw_files import MODELS, RAW, SETTINGS_FILE, arm_folder, read_raw
from merilo.baselines.study_input import find_gold
from merilo.baselines.withholding import NEEDS_GOLD, withheld
from merilo.errors import InputError
from merilo.records import Record
from merilo.strict_json import Json, as_text, read_json

#: The SHA-256 of every other file.
MANIFEST: Final = "manifest.json"

#: Numbers are published with six decimal places; a larger difference than one unit of the last place is a change.
TOLERANCE: Final = 1.5e-6

#: Keys that say how the baseline was made, and sentences, which say what the values beside them say.
_NOT_COMPARED: Final = ("provenance", "findings")

#: The comparisons with models: `load` takes them as they are, `verify` recomputes them.
_OF_MODELS: Final = ("models", "echoes")

#: What programs leave in a folder that they open.
_IGNORED: Final = frozenset({".ipynb_checkpoints", ".DS_Store", "__pycache__"})


class Discrepancy(NamedTuple):
    """A published value that does not follow from the raw answers, or a file that is not as it was written.

    Attributes:
        name: a key of `baseline.json` with points, a cell of a table, or a file.
        published: the published value.
        recomputed: the value that follows from the raw answers.
    """

    name: str
    published: Json
    recomputed: Json


class Manifest(Record):
    """The content of `manifest.json`: the SHA-256 of every other file, by name; of a notebook, that of its cells."""

    files: dict[str, str]


def load(folder: str | Path, *, gold: str | Path | None = None) -> Baseline:
    """Compute a baseline again from the raw answers of its folder.

    Args:
        folder: a folder that `merilo baseline --out` or `merilo report` wrote.
        gold: the gold answers, if the folder has none: a file, as for `merilo.baseline`.

    Returns:
        The baseline. If its gold answers are withheld, the values that need them are those of `baseline.json`, and
        `baseline.gold.withheld` says so.

    Raises:
        InputError: the folder is not such a folder, or its files are damaged.
        DataError: no baseline can be computed from these answers.
    """
    place = Path(folder)
    if not (place / RAW / SETTINGS_FILE).is_file():
        why = f"is not the folder of a baseline: {RAW}/{SETTINGS_FILE} is missing"
        raise InputError(why if place.is_dir() else "there is no such folder", file=place)
    study, settings = read_raw(place / RAW)
    hidden = study.gold is not None and study.gold.withheld
    if gold is not None:
        path, hidden = Path(gold), False
        known = find_gold(
            study.responses, study.dataset, path, None, None, alternatives=settings.alternatives
        )
        study = replace(study, gold=known and known.named(path.name))
    return _with_published(compute(study, settings), read_record(place), hidden=hidden)


def _with_published(baseline: Baseline, published: Baseline, *, hidden: bool) -> Baseline:
    """Take the values that cannot be recomputed, of a baseline and of its arms, as they are published."""
    shown = baseline.with_values(published, NEEDS_GOLD if hidden else _OF_MODELS)
    if not baseline.arms:
        return shown
    arms = {
        name: _with_published(arm, published.arms.get(name, arm), hidden=hidden)
        for name, arm in baseline.arms.items()
    }
    differences = published.differences if hidden else shown.differences
    return shown.model_copy(update={"arms": arms, "differences": differences})


def not_recomputed(folder: str | Path, *, gold: str | Path | None = None) -> tuple[str, ...]:
    """Return what `verify` takes as it is: keys of `baseline.json` that need withheld gold or answers, verdicts."""
    content = read_record(Path(folder))
    closed = gold is None and content.gold is not None and content.gold.withheld
    without_answers = not (Path(folder) / RAW / MODELS).is_dir()
    names = (*NEEDS_GOLD, "arms") if closed else _OF_MODELS if without_answers else ()
    return (
        *(name for name in names if getattr(content, name)),
        *(["the verdicts on answers"] if content.programs else []),
    )


def _with_models(baseline: Baseline) -> Baseline:
    """Compare the models of `raw/` with the people again; their names and prices are taken as they are published."""
    study, published = baseline.evidence.study, baseline.models
    crowd = crowd_of(baseline)
    samples = [read_model(path, crowd) for path in study.models]
    names = list(dict.fromkeys(row.model for row in published))
    if len(names) == len(samples):
        samples = [replace(model, model=name) for model, name in zip(samples, names, strict=True)]
    prices = {row.model: row.usd for row in published}
    rows = rows_beside(crowd, samples, study.margin)
    priced = tuple(row.model_copy(update={"usd": prices.get(row.model)}) for row in rows)
    echoes = tuple(echoes_or_reason(crowd, model) for model in samples)
    return baseline.model_copy(update={"models": priced, "echoes": echoes})


def tables(baseline: Baseline) -> dict[str, bytes]:
    """Return annotators, consensus and doubtful items as CSV files, guarded against formulas, by name."""
    csv_tables = {
        "annotators.csv": baseline.annotators,
        "consensus.csv": baseline.consensus,
        "doubtful.csv": baseline.doubtful,
    }
    for number, (name, arm) in enumerate(baseline.arms.items(), start=1):
        folder = arm_folder(name, number)
        csv_tables |= {f"{folder}/annotators.csv": arm.annotators, f"{folder}/consensus.csv": arm.consensus}
    return {
        name: guarded(table).write_csv().encode() for name, table in csv_tables.items() if table is not None
    }


def verify(folder: str | Path, *, gold: str | Path | None = None) -> list[Discrepancy]:
    """Compare a folder's values with those that follow from its raw answers, and its files with the manifest.

    Args:
        folder: a folder that `merilo baseline --out` or `merilo report` wrote.
        gold: the gold answers, if the folder has none; without them, values that need gold are not compared.

    Returns:
        What differs; empty if the folder is verified.

    Raises:
        InputError: the folder is not such a folder, or its files cannot be read.
        DataError: no baseline can be computed from its raw answers.
    """
    place = Path(folder)
    baseline = load(place, gold=gold)
    if baseline.evidence.study.models:
        baseline = _with_models(baseline)
    if gold is not None and (known := read_record(place).gold) and known.withheld:
        baseline = withheld(baseline)
    content = json.loads(as_text(baseline.to_json()))
    discrepancies = [*_differing(read_json(place / BASELINE_FILE), content, "")]
    for name, table in tables(baseline).items():
        if not (place / name).is_file():
            raise InputError("there is no such file", file=place / name)
        published = _rows((place / name).read_bytes(), place / name)
        discrepancies += _differing(published, _rows(table, place / name), name)
    return [*_changed(place), *discrepancies]  # a changed file is the cause of other differences


def _differing(published: Json, recomputed: Json, name: str) -> Iterator[Discrepancy]:
    """Yield the values that differ by more than one unit of the sixth decimal place."""
    if isinstance(published, dict) and isinstance(recomputed, dict):
        for key in {**published, **recomputed}:
            if name or key not in _NOT_COMPARED:
                own = f"{name}.{key}" if name else key
                yield from _differing(published.get(key), recomputed.get(key), own)
    elif isinstance(published, list) and isinstance(recomputed, list) and len(published) == len(recomputed):
        for place, (value, other) in enumerate(zip(published, recomputed, strict=True)):
            yield from _differing(value, other, f"{name}.{place}")
    elif not _equal(published, recomputed):
        # Of a row or a list that only one side has, its name says enough.
        one_side = published is None or recomputed is None
        both = (
            ("missing" if value is None else "there")
            if one_side and isinstance(published or recomputed, dict | list)
            else value
            for value in (published, recomputed)
        )
        yield Discrepancy(name, *both)


def _equal(first: Json, second: Json) -> bool:
    numbers = [
        number
        for number in (first, second)
        if isinstance(number, int | float) and not isinstance(number, bool)
    ]
    if len(numbers) == 2:
        return isclose(*numbers, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(first) is type(second) and first == second


def _rows(table: bytes, path: Path) -> Json:
    """Return the rows of a table of CSV by their first cells, each as a mapping from column to cell."""
    try:
        rows = pl.read_csv(io.BytesIO(table), infer_schema_length=None).rows(named=True)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"cannot be read ({str(error).partition(chr(10))[0][:200]})", file=path) from error
    firsts = (next(iter(row.values())) for row in rows)
    names = ("an empty line" if first is None else str(first) for first in firsts)
    return dict(zip(names, rows, strict=True))


def manifest(files: Mapping[str, bytes]) -> bytes:
    """Return the manifest of a folder with these files."""
    return as_text(
        Manifest(files={name: _digest(name, data) for name, data in sorted(files.items())}).to_json()
    ).encode()


def _digest(name: str, content: bytes) -> str:
    """Return the SHA-256 of a file; of a notebook, that of its cells without outputs, which running it changes."""
    if name.endswith(".ipynb"):
        try:
            cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(content)["cells"]]
        except (ValueError, TypeError, KeyError):
            cells = []
        content = json.dumps(cells, ensure_ascii=False).encode() if cells else content
    return hashlib.sha256(content).hexdigest()


def _changed(folder: Path) -> Iterator[Discrepancy]:
    """Yield the files that were changed, are missing, or are not in the manifest."""
    entries, there = Manifest.read(folder / MANIFEST).files, set()
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        name = place.as_posix()
        if path.is_dir() or name == MANIFEST or _IGNORED.intersection(place.parts):
            continue
        there.add(name)
        if name not in entries:
            yield Discrepancy(name, "not in the manifest", None)
        elif _digest(name, path.read_bytes()) != entries[name]:
            yield Discrepancy(name, "as in the manifest", "changed")
    for name in sorted(entries.keys() - there):
        yield Discrepancy(name, "as in the manifest", "missing")
