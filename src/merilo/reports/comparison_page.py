"""The page of a comparison over several datasets: the table, verdicts, tests, and the items on which people and models differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from merilo.baselines.model_comparison import verdict_sentence
from merilo.baselines.model_disagreement import Side
from merilo.errors import for_command_line
from merilo.reports.charts import page_environment
from merilo.reports.comparison import ComparedModel, Comparison
from merilo.reports.comparison_table import grid, heads, notes
from merilo.reports.dataset_comparisons import DatasetComparisons
from merilo.wording import shortened

#: The most items that the page lists of each model, dataset and side; the file of `--items` lists all.
MOST_ITEMS_LISTED: Final = 50

_LONGEST_TEXT: Final = 300


@dataclass(frozen=True, slots=True)
class _ListedItem:
    """An item on which one side alone is right."""

    name: str
    group: str
    text: str
    consensus: str
    gold: str
    answers: str


def comparison_page(found: DatasetComparisons) -> str:
    """Render the page in English and Russian, without scripts and links to anything outside itself."""
    table = found.table
    rows = [
        {
            "human": en.human,
            "name": (en.name, ru.name),
            "cells": [
                {"lines": [*zip(*pair, strict=True)], "tie": tie}
                for *pair, tie in zip(en.cells, ru.cells, en.ties, strict=True)
            ],
        }
        for en, ru in zip(grid(table, "en"), grid(table, "ru"), strict=True)
    ]
    titles = {one.key: one.title for one in table.columns}
    rendered = (
        page_environment()
        .get_template("comparison.html.j2")
        .render(
            heads=[*zip(heads(table, "en"), heads(table, "ru"), strict=True)],
            rows=rows,
            notes=notes(table),
            results=[(key, titles[key], one) for key, one in found.results.items()],
            verdict_sentence=verdict_sentence,
            listed=_listed,
            skipped=found.skipped,
            most=MOST_ITEMS_LISTED,
        )
    )
    return for_command_line(rendered)


def _listed(result: Comparison, model: ComparedModel, side: Side) -> list[_ListedItem]:
    """Return the first items on which only this side is right."""
    opposites, crowd = model.opposites, result.baseline
    if opposites is None:
        return []
    names = opposites.only_people if side == "people" else opposites.only_model
    place = {name: row for row, name in enumerate(crowd.names)}
    found = []
    for name in names[:MOST_ITEMS_LISTED]:
        row = place[name]
        inputs = crowd.items[row].inputs
        text = " │ ".join(map(str, inputs.values())) if isinstance(inputs, Mapping) else inputs
        found.append(
            _ListedItem(
                name,
                opposites.group_of.get(name, ""),
                shortened(text, _LONGEST_TEXT),
                shortened(crowd.consensus[row] or ""),
                shortened(crowd.gold[row]),
                shortened(" | ".join(model.samples.answers[name]), 120),
            )
        )
    return found
