"""The folder of a baseline: the report, the summary, and every table in CSV and Parquet."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl

from merilo.atomic_write import guarded
from merilo.baselines.baseline_reader import ITEMS_FILE, responses_with_fate
from merilo.baselines.dataset_items import items_of_pool
from merilo.baselines.pipeline import Baseline
from merilo.baselines.quality import StudyQuality
from merilo.baselines.record import BASELINE_FILE, BaselineRecord
from merilo.items import Item, entry_of
from merilo.people.gold import is_id
from merilo.reports.item_browser import item_browser
from merilo.reports.model_sections import ModelSections
from merilo.reports.page import page
from merilo.strict_json import as_text


def write_folder(folder: Path, baseline: Baseline, quality: StudyQuality, found: ModelSections) -> None:
    """Write all files of a baseline.

    `report.html`, `items.html` (every item with all answers), `baseline.json`, `items.jsonl` (the items as a model can
    be asked them, with gold if it is known). As CSV and Parquet: `responses` (every response and its use),
    `annotators`, `consensus` and, with gold, `doubtful` (the doubtful items). In CSV, text that a spreadsheet would run
    as a formula is prefixed with an apostrophe; Parquet keeps every text unchanged.

    Args:
        folder: an existing folder.
        baseline: the baseline.
        quality: its doubtful items, and its metric for other thresholds.
        found: its JSON, and the comparisons with models.
    """
    tables = {
        "responses": responses_with_fate(baseline),
        "annotators": baseline.annotators,
        "consensus": baseline.consensus,
    }
    if quality.doubtful:
        tables["doubtful"] = quality.doubtful.table
    for name, table in tables.items():
        guarded(table).write_csv(folder / f"{name}.csv")
        table.write_parquet(folder / f"{name}.parquet")
    _write_items(folder, baseline)
    (folder / BASELINE_FILE).write_text(as_text(found.content), encoding="utf-8")
    report = page(
        baseline,
        BaselineRecord.of_json(found.content),
        quality,
        found.comparisons,
        echoes=found.echoes,
    )
    (folder / "report.html").write_text(report, encoding="utf-8")
    (folder / "items.html").write_text(item_browser(baseline, found.answered), encoding="utf-8")


def _write_items(folder: Path, baseline: Baseline) -> None:
    """Write the items that people answered.

    `merilo run --data items.jsonl` and `merilo score consensus.csv --data items.jsonl` read them.

    Items with gold have the ids of the consensus. Without gold, only items that can be asked are written,
    without answers.
    """
    scorer, gold = baseline.scorer, baseline.gold
    if scorer is not None and gold is not None:
        items = [replace(item, id=gold.items[int(item.id)].id) for item in scorer.items]
        asked = None if any(item.instruction for item in items) else _of_dataset(baseline, items)
    elif gold is None:
        asked, items = _of_dataset(baseline, _without_gold(baseline.cleaned.items)), []
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


def _of_dataset(baseline: Baseline, items: list[Item]) -> tuple[Item, ...] | None:
    return items_of_pool(baseline.dataset, items) if baseline.dataset else None
