"""Dataset items built from the input fields of a study and the gold answers, ready for `merilo.metrics.scoring.score`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from merilo.items import Item, ItemId
from merilo.metrics.answers import Given
from merilo.metrics.scoring import Declared, explain
from merilo.people.gold import Gold
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
    declared: Declared, items: Sequence[Item], answers: Mapping[ItemId, Given]
) -> dict[int, float]:
    """Return each answer's points, from 0 to 1, by the dataset's first metric that scores single items.

    Macro F1 and the Matthews correlation depend on all items together; with these metrics, each answer is compared with
    the gold answer as text.

    Args:
        declared: the declaration.
        items: the items with their gold answers, identified by number.
        answers: mapping from item number to answer; items without an answer are left out.
    """
    judged = {item.id: explain(declared, item, answers[item.id])[0] for item in items if item.id in answers}
    return {int(number): one.points / one.most for number, one in judged.items()}
