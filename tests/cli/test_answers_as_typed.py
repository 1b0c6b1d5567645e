"""The exam's lists of numbers are compared as lists; labels are brought to one spelling."""

import csv
import json
from pathlib import Path

from command import merilo
from exports import row, toloka, written

import merilo as library
from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples
from merilo.items import Item, Split, write_splits


def pool_of(path: Path, answers: list[str]) -> Path:
    return written(path, toloka([row("q0", answer, f"w{n}") for n, answer in enumerate(answers)]))


def right(item: Item) -> str:
    return str(item.outputs).split(",")[0] if item.meta["type"] == "text" else str(item.outputs)


def use_study(folder: Path) -> tuple[list[Item], Path, list[object]]:
    """Three people answer a whole variant of the exam rightly; one question's gold answer is "1,0"."""
    items = list(examples(dataset("use"))["test"].items)
    place = next(n for n, item in enumerate(items) if str(item.meta["type"]).startswith("multiple_choice"))
    one = items[place]
    items[place] = Item(one.id, one.instruction, one.inputs, "1,0", one.meta)
    write_splits(folder / "gold.json", [Split("test", items)])
    fields = list(dict(items[0].inputs))
    with (folder / "pool.csv").open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["id", *fields, "worker", "given"])
        for item in items:
            shown = [dict(item.inputs).get(field, "") for field in fields]
            table.writerows([item.id, *shown, f"w{who}", right(item)] for who in range(3))
    options: list[object] = ["--annotator", "worker", "--answer", "given"]
    for field in ("id", *fields):
        options += ["--item", field]
    return items, folder / "pool.csv", [*options, "--dataset", "use", "--gold", folder / "gold.json"]


def test_the_exam_takes_a_list_of_numbers_that_looks_like_an_empty_fraction(tmp_path: Path) -> None:
    items, pool, options = use_study(tmp_path)
    outcome = merilo("baseline", pool, *options, "--out", tmp_path / "people", "--json", "-")
    assert outcome.json["metrics"]["grade_norm"]["value"] == 1.0
    assert "'1,0' (3) as '0,1'" in str(outcome.json["findings"])  # a set, in the exam's own order
    model = tmp_path / "model.jsonl"
    lines = (json.dumps({"id": item.id, "answer": right(item)}) for item in items)
    model.write_text("\n".join(lines), encoding="utf-8")
    compared = merilo("compare", tmp_path / "people", model, "--json", "-")
    assert compared.json["rows"][0]["score"]["value"] == 1.0


def test_a_gold_cell_lists_several_right_answers(tmp_path: Path) -> None:
    rows = [row("q0", answer, f"w{n}") for n, answer in enumerate(["b", "b", "b"])]
    rows += [row("q1", "d", f"w{n}") for n in range(3)]
    pool = written(tmp_path / "p.tsv", toloka(rows))
    gold = written(tmp_path / "gold.csv", "question,gold\nq0,a;b\nq1,c\n")
    for metric in ("em", "f1"):
        found = library.baseline(pool, gold=gold, metric=metric, alternatives=";")
        assert found.metrics[metric].value == 0.5, metric
        whole = merilo("baseline", pool, "--gold", gold, "--metric", metric, "--json", "-")
        assert whole.json["metrics"][metric]["value"] < 0.5, metric


def test_a_list_in_a_split_file_is_several_right_answers_with_alternatives(tmp_path: Path) -> None:
    pool = pool_of(tmp_path / "p.tsv", ["b", "b", "b"])
    entry = {"instruction": "?", "inputs": {"question": "q0"}, "outputs": ["a", "b"], "meta": {"id": 1}}
    gold = written(tmp_path / "gold.json", json.dumps([entry]))
    assert library.baseline(pool, gold=gold, metric="em", alternatives=";").metrics["em"].value == 1.0
