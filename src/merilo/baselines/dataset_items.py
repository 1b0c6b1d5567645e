"""Items of a dataset made from what a study shows and from the right answers, ready for `merilo.metrics.scoring.score`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from merilo.datasets import Answer, Dataset
from merilo.items import Item, ItemId
from merilo.metrics.answers import Given
from merilo.metrics.scoring import explain
from merilo.people.gold import Gold
from merilo.strict_json import Json

_META = "meta."


def metas(gold: Gold | None) -> dict[int, dict[str, Json]]:
    """The `meta` of every item that the file of right answers has, by the item's number.

    Whole numbers are read back as numbers, because the file's table holds texts.
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
    """The input texts of every item, by the item's number.

    Args:
        items: a row an item.
        fields: the columns of the texts.
        number: the column of the items' numbers.
    """
    names = list(fields)
    rows = zip(items[number].to_list(), items.select(names).iter_rows(named=True), strict=True)
    return {int(n): {name: text for name, text in row.items() if text is not None} for n, row in rows}


def undeclared(name: str, metrics: tuple[str, ...], labels: Iterable[str]) -> Dataset:
    """A declaration for answers of a dataset that nobody declared: they are compared as they are written.

    Args:
        name: what to call it in messages.
        metrics: names of metrics that need labels only, or of ruDetox's.
        labels: the labels of the answers and of the right answers.
    """
    known: Mapping[str, None] = dict.fromkeys(labels)
    if len(known) < 2:
        # A choice needs two labels; where only one occurs, the other is anything else.
        known = {**known, "another answer": None, "a third answer": None}
    return Dataset(name=name, title=name, answer=Answer(kind="choice", labels=tuple(known)), metrics=metrics)


def item_points(
    declared: Dataset, items: Sequence[Item], answers: Mapping[ItemId, Given]
) -> dict[int, float]:
    """What each answer is worth, from 0 to 1, by the dataset's first metric that judges items one by one.

    Macro F1 and Matthews correlation do not: with these an answer is compared with the right one as it is written.

    Args:
        declared: the declaration.
        items: the items with their right answers, numbered.
        answers: item's number -> answer; items without one are left out.
    """
    judged = {item.id: explain(declared, item, answers[item.id])[0] for item in items if item.id in answers}
    return {int(number): one.points / one.most for number, one in judged.items()}
