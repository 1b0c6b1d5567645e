"""Any file of gold answers gives items with distinct ids or a one-sentence error."""

import csv
import json
from pathlib import Path
from random import Random

import polars as pl
import pytest
from gold_files import golds, pool, table

from merilo.errors import MeriloError
from merilo.people.gold import read_gold

_VALUES = (
    "a", "b", "", "1", "1.0", "q1", "q2", "None", "x;y", "\x1f", "\n", "ё", None, True, 1, 2.5, 10**400, [], ["a"], {},
    {"x": 1}, {"id": 3},
)  # fmt: skip
_KEYS = (
    "question", "inputs", "outputs", "meta", "id", "gold", "label", "answer", "instruction", "row", "item", "at", "idx",
    "INPUT:question", "OUTPUT:question", "input_row", "correct", "data",
)  # fmt: skip
_FIELDS = ("question", "text", "input_item", "input_row", "id", "idx", "gold", "picture", "inputs", "data")


def _written(random: Random, folder: Path) -> Path:
    records = [
        {key: random.choice(_VALUES) for key in random.sample(_KEYS, random.randint(1, 6))}
        for _ in range(random.randint(1, 5))
    ]
    form = random.choice(("json", "jsonl", "csv"))
    path = folder / f"gold.{form}"
    if form == "json":
        path.write_text(json.dumps({"data": records}), encoding="utf-8")
    elif form == "jsonl":
        path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            columns = random.sample(_KEYS, random.randint(1, 6))
            writer.writerow(columns)
            writer.writerows([random.choice(_VALUES) for _ in columns] for _ in records)
    return path


def _items(random: Random) -> pl.DataFrame:
    fields = random.sample(_FIELDS, random.randint(1, 3))
    texts = ("a", "b", "1", "q1", "q2", "3", None)
    rows = sorted({tuple(random.choice(texts) for _ in fields) for _ in range(4)}, key=str)
    items = pl.DataFrame(rows, schema=dict.fromkeys(fields, pl.String), orient="row")
    return items.with_row_index("item", offset=1)


@pytest.mark.parametrize("seed", range(8))
def test_any_file_gives_items_or_a_sentence(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    joined, refused = 0, []
    for _ in range(60):
        path, items = _written(random, tmp_path), _items(random)
        try:
            gold = read_gold(path, items, answer=random.choice(("", "label")), labels=["a", "b"])
        except MeriloError as error:
            refused.append(str(error))
            continue
        joined += 1
        assert list(gold.items) == gold.answers["item"].to_list()
        assert len({item.id for item in gold.items.values()}) == len(gold.items)
        assert gold.answers["id"].drop_nulls().is_unique().all()
        assert sorted([*gold.items, *gold.without_gold]) == items["item"].to_list()
    assert joined
    assert not any("\n" in message for message in refused)


def test_a_bare_name_beside_that_of_a_platform_keeps_its_column(tmp_path: Path) -> None:
    path = table(tmp_path / "g.csv", "INPUT:question,question,input_row,row,gold\nx,q1,a,b,A\n")
    gold = read_gold(path, pool(question=["q1"]))
    assert golds(gold) == ["A"]
    assert gold.fields is not None
    assert gold.fields.row(0, named=True)["INPUT:question"] == "x"
