"""The page of a comparison over several datasets: the table, verdicts, tests, and the items on which people and models differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from merilo.baselines.baseline_reader import StoredBaseline
from merilo.baselines.model_answers import Samples
from merilo.baselines.model_comparison import ModelComparison
from merilo.baselines.model_disagreement import OppositeOutcomes, Side
from merilo.bilingual import BilingualText
from merilo.errors import for_command_line
from merilo.reports.charts import page_environment
from merilo.reports.comparison_table import ComparisonTable
from merilo.reports.comparison_table_text import grid, heads, notes
from merilo.reports.verdict_prose import verdict_sentence
from merilo.wording import shortened

#: The most items that the page lists of each model, dataset and side; the file of `--items` lists all.
MOST_ITEMS_LISTED: Final = 50

_LONGEST_TEXT: Final = 300


@dataclass(frozen=True, slots=True)
class ComparedDataset:
    """What the page shows about one dataset.

    Attributes:
        key: the dataset's name.
        title: its title.
        metric: the metric of the comparison.
        crowd: the annotators of the baseline.
        comparisons: the comparison with each model.
        samples: the models' answers.
        opposites: the items on which one side alone is right.
    """

    key: str
    title: str
    metric: str
    crowd: StoredBaseline
    comparisons: Sequence[ModelComparison]
    samples: Sequence[Samples]
    opposites: Sequence[OppositeOutcomes]


@dataclass(frozen=True, slots=True)
class _ListedItem:
    """An item on which one side alone is right."""

    name: str
    group: str
    text: str
    consensus: str
    gold: str
    answers: str


def comparison_page(
    table: ComparisonTable,
    datasets: Sequence[ComparedDataset],
    skipped: Sequence[tuple[str, str, BilingualText]] = (),
) -> str:
    """Render the page in English and Russian, without scripts and links to anything outside itself.

    Args:
        table: people and models over all datasets.
        datasets: the datasets that were compared.
        skipped: dataset, model and the reason why they were not compared.
    """
    environment = page_environment()
    rows = [
        {
            "human": en.human,
            "name": (en.name, ru.name),
            "cells": [
                {"lines": [*_pairs(first, second)], "tie": tie}
                for first, second, tie in zip(en.cells, ru.cells, en.ties, strict=True)
            ],
        }
        for en, ru in zip(grid(table, "en"), grid(table, "ru"), strict=True)
    ]
    rendered = environment.get_template("comparison.html.j2").render(
        heads=[*zip(heads(table, "en"), heads(table, "ru"), strict=True)],
        rows=rows,
        notes=[*zip(notes(table, "en"), notes(table, "ru"), strict=True)],
        datasets=datasets,
        verdict_sentence=verdict_sentence,
        listed=_listed,
        skipped=skipped,
        most=MOST_ITEMS_LISTED,
        sides=("people", "model"),
    )
    return for_command_line(rendered)


def _pairs(en: Sequence[str], ru: Sequence[str]) -> Iterator[tuple[str, str]]:
    return zip(en, ru, strict=True)


def _listed(part: ComparedDataset, at: int, side: Side) -> list[_ListedItem]:
    """Return the first items on which only this side is right."""
    found = part.opposites[at]
    names = found.only_people if side == "people" else found.only_model
    place = {name: row for row, name in enumerate(part.crowd.names)}
    return [_item(part, at, name, place[name]) for name in names[:MOST_ITEMS_LISTED]]


def _item(part: ComparedDataset, at: int, name: str, row: int) -> _ListedItem:
    crowd = part.crowd
    inputs = crowd.items[row].inputs
    text = " │ ".join(map(str, inputs.values())) if isinstance(inputs, Mapping) else inputs
    return _ListedItem(
        name,
        part.opposites[at].group_of.get(name, ""),
        shortened(text, _LONGEST_TEXT),
        shortened(crowd.consensus[row] or ""),
        shortened(crowd.gold[row]),
        shortened(" | ".join(part.samples[at].answers[name]), 120),
    )
