"""Dataset items built from the input fields of a study and the gold answers.

Ready for `merilo.metrics.scoring.score`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import spread
from merilo.datasets.solvers import SOLVERS
from merilo.errors import DataError
from merilo.items import Item, ItemId
from merilo.metrics.answers import Given
from merilo.metrics.registry import metric_of
from merilo.metrics.scoring import most_points, points
from merilo.people.gold import Gold, is_id
from merilo.responses import INPUT_MARK
from merilo.strict_json import Json

_META = "meta."


def metas(gold: Gold | None) -> dict[int, dict[str, Json]]:
    """Return the `meta` of every item in the file of gold answers, by item number.

    Texts that are whole numbers become integers, because the table of the file holds only texts.
    """
    if gold is None or gold.fields is None:
        return {}
    names = [name for name in gold.fields.columns if name.startswith(_META)]
    rows = gold.fields.select("item", *names).iter_rows(named=True)
    return {
        int(row["item"]): {
            name.removeprefix(_META): _read_back(row[name]) for name in names if row[name] is not None
        }
        for row in rows
    }


def _read_back(text: str) -> Json:
    return int(text) if text.isdecimal() and str(int(text)) == text else text


def texts(items: pl.DataFrame, fields: Iterable[str], *, number: str = "item") -> dict[int, dict[str, Json]]:
    """Return the input texts of every item, by item number.

    Args:
        items: one row per item.
        fields: the columns of the texts.
        number: the column of item numbers.
    """
    names = list(fields)
    rows = zip(items[number].to_list(), items.select(names).iter_rows(named=True), strict=True)
    return {int(n): {name: text for name, text in row.items() if text is not None} for n, row in rows}


def item_points(
    declared: Dataset, items: Sequence[Item], answers: Mapping[ItemId, Given]
) -> dict[int, float]:
    """Return each answer's points, from 0 to 1, by the dataset's first metric that scores single items.

    Macro F1 and the Matthews correlation depend on all items together; with these metrics, each answer is compared with
    the gold answer as text.

    Args:
        declared: the declaration.
        items: the items with their gold answers, identified by number.
        answers: mapping from item number to answer; items without an answer are left out.
    """
    kind = declared.answer.kind
    named = [metric_of(name, kind) for name in declared.metrics]
    metric = next((one for one in named if one.points), None) or metric_of("acc", kind)
    answered = [item for item in items if item.id in answers]
    earned = points(declared.answer, metric, answered, [answers[item.id] for item in answered])
    shares = earned / most_points(metric, answered)
    return {int(item.id): share for item, share in zip(answered, shares.tolist(), strict=True)}


def items_of_pool(dataset: Dataset, items: Sequence[Item]) -> tuple[Item, ...] | None:
    """Convert the items of a platform's pool to those of a dataset, with the dataset's fields and prompts.

    The pool's columns become the dataset's fields (`Dataset.pool_fields` names those that are called
    otherwise), and its other columns `meta`. Turns of a dialogue are numbered. Prompts are assigned as in a
    study, with seed 0.

    Args:
        dataset: the declaration.
        items: the pool's items in order, with its columns as `inputs`.

    Returns:
        The items; `None` if the pool lacks a field of the dataset, or people were asked other questions than
        the dataset's.
    """
    if not items or dataset.rated:
        return None
    made: list[Item] = []
    dialogue = turn = 0
    for item in items:
        columns = _columns(item)
        inputs = _inputs(dataset, columns)
        if inputs is None:
            return None
        meta: dict[str, Json] = {**{name: columns[name] for name in columns}, **item.meta, "id": item.id}
        if dataset.shots.earlier_turns and "dialog_id" not in meta:
            place = str(meta.pop("turn", turn + 1))
            if not place.isdecimal():
                return None
            dialogue += int(place) <= turn
            turn = int(place)
            meta |= {"dialog_id": dialogue, "question_id": turn}
        made.append(Item(item.id, "", inputs, item.outputs, meta))
    try:
        return tuple(spread(made, dataset, seed=0))
    except DataError:
        return None


def _columns(item: Item) -> dict[str, str]:
    """Return the texts of a pool's item by column; an empty column counts as missing."""
    inputs = {"inputs": item.inputs} if isinstance(item.inputs, str) else item.inputs
    return {
        name.removeprefix(INPUT_MARK): str(text) for name, text in inputs.items() if text not in (None, "")
    }


def _inputs(dataset: Dataset, columns: dict[str, str]) -> str | dict[str, Json] | None:
    """Take the inputs of a dataset's item out of a pool's columns; `None` if a field that prompts show is missing."""
    found: dict[str, Json] = {}
    for name in dataset.fields or ("inputs",):
        known = [(name,), dataset.pool_fields.get(name, (name,))]
        if not dataset.fields:
            known.append((dataset.placeholder,))
            # The solver has computed the gold answer from all columns, so they are the question.
            known += [tuple(one for one in columns if not is_id(one))] if dataset.name in SOLVERS else []
        held = next((names for names in known if names and set(names) <= columns.keys()), None)
        if held is not None:
            found[name] = " ".join(columns.pop(one) for one in held)
        elif name not in dataset.hidden:
            return None
    return found if dataset.fields else str(found["inputs"])
