"""Dataset items built from the input fields of a study and the gold answers.

Ready for `merilo.metrics.scoring.score`.
"""

from __future__ import annotations

from collections.abc import Sequence

from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import spread
from merilo.datasets.solvers import SOLVERS
from merilo.errors import DataError
from merilo.items import Item
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
    converted: list[Item] = []
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
        converted.append(Item(item.id, "", inputs, item.outputs, meta))
    try:
        return tuple(spread(converted, dataset, seed=0))
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
    inputs: dict[str, Json] = {}
    for name in dataset.fields or ("inputs",):
        known = [(name,), dataset.pool_fields.get(name, (name,))]
        if not dataset.fields:
            known.append((dataset.placeholder,))
            # The solver has computed the gold answer from all columns, so they are the question.
            known += (
                [tuple(column for column in columns if not is_id(column))] if dataset.name in SOLVERS else []
            )
        present = next((names for names in known if names and set(names) <= columns.keys()), None)
        if present is not None:
            inputs[name] = " ".join(columns.pop(column) for column in present)
        elif name not in dataset.hidden:
            return None
    return inputs if dataset.fields else str(inputs["inputs"])
