"""The items on which one side is right and the other wrong, as JSON and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from merilo.baselines.baseline_reader import StoredBaseline
from merilo.baselines.model_answers import Samples
from merilo.baselines.model_disagreement import OppositeOutcomes
from merilo.reports.text_escapes import csv_cell
from merilo.strict_json import Json

#: The columns of the table of items.
COLUMNS: Final = ("dataset", "model", "right", "id", "group", "consensus", "gold", "answers")


def with_opposites(models: Json, found: Sequence[OppositeOutcomes]) -> Json:
    """Add the opposite outcomes of each model to the list of comparisons as JSON."""
    if not isinstance(models, list):
        return models
    return [
        {**model, "opposite_outcomes": opposites_json(one)} if isinstance(model, dict) else model
        for model, one in zip(models, found, strict=True)
    ]


def opposites_json(found: OppositeOutcomes) -> dict[str, Json]:
    """Return the items and the counts by group as JSON."""
    return {
        "n": found.n,
        "only_people": [*found.only_people],
        "only_model": [*found.only_model],
        "field": found.group_field,
        "groups": {
            group: {"n": one.items, "only_people": one.only_people, "only_model": one.only_model}
            for group, one in found.groups.items()
        },
    }


def opposite_rows(
    dataset: str, crowd: StoredBaseline, samples: Sequence[Samples], found: Sequence[OppositeOutcomes]
) -> list[dict[str, Json]]:
    """Return a row for each item on which one side is right and the other wrong.

    Args:
        dataset: the dataset's name.
        crowd: the annotators of the baseline.
        samples: the models' answers.
        found: the opposite outcomes, in the order of `samples`.

    Returns:
        Rows with `COLUMNS`: `right` is `people` or `model`, and `answers` is the list of the model's answers.
    """
    place = {name: at for at, name in enumerate(crowd.names)}
    rows: list[dict[str, Json]] = []
    for model, one in zip(samples, found, strict=True):
        for name, side in one.sides().items():
            at = place[name]
            row: dict[str, Json] = {
                "dataset": dataset,
                "model": one.model,
                "right": side,
                "id": name,
                "group": one.group_of.get(name),
                "consensus": crowd.consensus[at],
                "gold": crowd.gold[at],
                "answers": [*model.answers[name]],
            }
            rows.append(row)
    return rows


def rows_as_cells(rows: Sequence[Mapping[str, Json]]) -> list[list[str]]:
    """Return the rows as cells of a CSV file, where several answers are joined by ` | `."""
    return [[_cell(row[name]) for name in COLUMNS] for row in rows]


def _cell(value: Json) -> str:
    text = " | ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    return csv_cell(text)
