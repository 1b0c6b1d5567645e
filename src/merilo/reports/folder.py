"""The folder of a baseline: the report, the summary, and every table in CSV and Parquet."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from merilo.atomic_write import guarded, new_folder, refuse_existing, write_files
from merilo.baselines.baseline import BASELINE_FILE, Baseline
from merilo.baselines.baseline_reader import ITEMS_FILE, responses_with_fate
from merilo.baselines.dataset_items import items_of_pool
from merilo.baselines.evidence import Evidence
from merilo.items import Item, entry_of
from merilo.people.gold import is_id
from merilo.reports.hb.raw_study import RAW, arm_folder, published_study
from merilo.reports.item_browser import item_browser
from merilo.reports.page import page
from merilo.strict_json import as_text


def save(baseline: Baseline, folder: Path, *, force: bool = False) -> None:
    """Write the folder of a baseline, which appears only when it is complete.

    Raises:
        OutputError: the folder exists and `force` is not given, or it contains an input file of the baseline.
    """
    study = baseline.evidence.study
    refuse_existing(folder, force=force, needed=study.files)
    with new_folder(folder, force=force) as place:
        write_folder(place, baseline)
        write_files(place / RAW, published_study(study, baseline.settings).to_files())


def write_folder(folder: Path, baseline: Baseline) -> None:
    """Write all files of a baseline but the raw answers.

    `report.html`, `items.html` (every item with all answers), `baseline.json`, `items.jsonl` (the items as a model can
    be asked them, with gold if it is known). As CSV and Parquet: `responses` (every response and its use),
    `annotators`, `consensus` and, with gold, `doubtful` (the doubtful items); annotators and consensus of another arm
    are in its subfolder. In CSV, text that a spreadsheet would run
    as a formula is prefixed with an apostrophe; Parquet keeps every text unchanged.

    Args:
        folder: an existing folder.
        baseline: the baseline.
    """
    evidence, found = baseline.evidence, baseline.beside_models
    tables = {
        "responses": responses_with_fate(evidence),
        "annotators": baseline.annotators,
        "consensus": baseline.consensus,
    }
    if baseline.doubtful is not None:
        tables["doubtful"] = baseline.doubtful
    _write(folder, tables)
    for number, (name, arm) in enumerate(baseline.arms.items(), start=1):
        place = folder / arm_folder(name, number)
        place.mkdir()
        _write(place, {"annotators": arm.annotators, "consensus": arm.consensus})
    _write_items(folder, evidence)
    (folder / BASELINE_FILE).write_text(as_text(baseline.to_json()), encoding="utf-8")
    (folder / "report.html").write_text(page(baseline), encoding="utf-8")
    answered = found.answered if found else []
    (folder / "items.html").write_text(item_browser(baseline, answered), encoding="utf-8")


def _write(folder: Path, tables: Mapping[str, pl.DataFrame]) -> None:
    for name, table in tables.items():
        guarded(table).write_csv(folder / f"{name}.csv")
        table.write_parquet(folder / f"{name}.parquet")


def _write_items(folder: Path, evidence: Evidence) -> None:
    """Write the items that people answered.

    `merilo run --data items.jsonl` and `merilo score consensus.csv --data items.jsonl` read them.

    Items with gold have the ids of the consensus. Without gold, only items that can be asked are written,
    without answers.
    """
    scorer, gold = evidence.scorer, evidence.gold
    if scorer is not None and gold is not None:
        items = [replace(item, id=gold.items[int(item.id)].id) for item in scorer.items]
        asked = None if any(item.instruction for item in items) else _of_dataset(evidence, items)
    elif gold is None:
        asked, items = _of_dataset(evidence, _without_gold(evidence.items)), []
    else:
        return
    if lines := [json.dumps(entry_of(item), ensure_ascii=False) for item in asked or items]:
        (folder / ITEMS_FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _without_gold(items: pl.DataFrame) -> list[Item]:
    """Return the items of a pool under their own ids, or under their numbers if the pool has no distinct ids."""
    named = next((name for name in items.columns if is_id(name)), "item")
    ids = items[named] if items[named].is_unique().all() and not items[named].null_count() else items["item"]
    if ids.dtype == pl.String and ids.str.contains(r"^(0|[1-9]\d{0,17})$").all():
        ids = ids.cast(pl.Int64)
    rows = items.drop("item").iter_rows(named=True)
    return [Item(name, "", row) for name, row in zip(ids, rows, strict=True)]


def _of_dataset(evidence: Evidence, items: list[Item]) -> tuple[Item, ...] | None:
    return items_of_pool(dataset, items) if (dataset := evidence.study.dataset) else None
