"""The folder of a baseline: the report, the summary, and every table in CSV and Parquet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from merilo.atomic_write import guarded
from merilo.baselines.baseline_reader import ITEMS_FILE, responses_with_fate
from merilo.baselines.model_comparison import ModelComparison
from merilo.baselines.model_tables import confusion_table, posterior_table
from merilo.baselines.model_verdicts import Margin
from merilo.baselines.pipeline import Baseline
from merilo.baselines.quality import StudyQuality
from merilo.items import entry_of
from merilo.reports.item_browser import item_browser
from merilo.reports.model_sections import with_models
from merilo.reports.page import page
from merilo.reports.quality import quality_table
from merilo.strict_json import Json, as_text


def write_folder(
    folder: Path,
    baseline: Baseline,
    content: dict[str, Json],
    quality: StudyQuality | None = None,
    *,
    models: Sequence[Path] = (),
    common_items: bool = False,
    margin: Margin | None = None,
) -> tuple[dict[str, Json], list[ModelComparison]]:
    """Write all files of a baseline.

    `report.html`, `items.html` (every item with all answers), `baseline.json`, `items.jsonl` (the items with gold, if it is known). As CSV and
    Parquet: `responses` (every response and its use), `annotators`, `consensus`, `quality` (the quality measures of every
    annotator) and, if a model of annotators was fitted, `posterior` (the probability of every label of every item) and
    `confusion`. In CSV, text that a spreadsheet would run as a formula is prefixed with an apostrophe; Parquet keeps
    every text unchanged.

    Args:
        folder: an existing folder.
        baseline: the baseline.
        content: the summary of the baseline.
        quality: the quality of its annotators; left out if not given.
        models: files of models' answers to compare with the annotators.
        common_items: if the items differ, compare on the items that both answered.
        margin: the margin for equivalence with the models.

    Returns:
        The summary, with the comparisons with models if there are any; and the comparisons, one per model.

    Raises:
        DataError: a model's items differ from the baseline's, and `common_items` is not given; or the study is too small
            for the margin.
        InputError: a file of models' answers cannot be read.
    """
    tables = {
        "responses": responses_with_fate(baseline),
        "annotators": baseline.annotators,
        "consensus": baseline.consensus,
        **({"quality": quality_table(quality)} if quality else {}),
    }
    if baseline.model:
        said = {
            "posterior": posterior_table(baseline.pool, baseline.model, baseline.consensus["item"]),
            "confusion": confusion_table(baseline.pool, baseline.model),
        }
        tables |= {name: table for name, table in said.items() if table is not None}
    for name, table in tables.items():
        guarded(table).write_csv(folder / f"{name}.csv")
        table.write_parquet(folder / f"{name}.parquet")
    _write_items(folder, baseline)
    found = with_models(baseline, content, models, common_items=common_items, margin=margin)
    _write_summary(folder, found.content)
    report = page(
        baseline,
        found.content,
        quality,
        found.comparisons,
        disagreements=found.disagreements,
        scale=found.scale,
    )
    (folder / "report.html").write_text(report, encoding="utf-8")
    (folder / "items.html").write_text(item_browser(baseline, found.answered), encoding="utf-8")
    return found.content, found.comparisons


def _write_items(folder: Path, baseline: Baseline) -> None:
    """Write the items with gold under the ids of the consensus, for `merilo score consensus.csv --data items.jsonl`."""
    scorer = baseline.scorer
    if scorer is None or baseline.gold is None:
        return
    own = baseline.gold.items
    with (folder / ITEMS_FILE).open("w", encoding="utf-8") as stream:
        for item in scorer.items:
            entry = entry_of(replace(item, id=own[int(item.id)].id))
            stream.write(f"{json.dumps(entry, ensure_ascii=False)}\n")


def _write_summary(folder: Path, content: dict[str, Json]) -> None:
    (folder / "baseline.json").write_text(as_text(content), encoding="utf-8")
