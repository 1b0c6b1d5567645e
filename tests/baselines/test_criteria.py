"""A pool that does not say which question about an act was asked cannot be scored by the criteria of ethics."""

import csv
import json
from pathlib import Path

from command import merilo

from merilo.datasets import dataset

ETHICS = dataset("ruethics")


def test_a_pool_that_does_not_say_its_question_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "good.csv").open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines)
        table.writerow([*ETHICS.fields, "annotator", "answer"])
        table.writerows([f"text {act}", "one", "two", f"p{n}", act % 2] for act in range(4) for n in range(5))
    items = [
        {
            "instruction": "?",
            "inputs": dict(zip(ETHICS.fields, (f"text {act}", "one", "two"), strict=True)),
            "outputs": dict.fromkeys(ETHICS.answer.criteria, "1"),
            "meta": {"id": 2 * act + place, "question": question},
        }
        for act in range(4)
        for place, question in enumerate(("correct", "good"))
    ]
    gold = tmp_path / "gold.json"
    gold.write_text(json.dumps({"data": {"test": items}}), encoding="utf-8")
    words = [word for field in ETHICS.fields for word in ("--item", field)]
    found = merilo("baseline", tmp_path / "good.csv", *words, "--dataset", "ruethics", "--gold", gold)
    assert found.status != 0
    assert (
        "the rows differ in meta.question, which the pool does not have: add a column 'question'"
        in found.complaint
    )
