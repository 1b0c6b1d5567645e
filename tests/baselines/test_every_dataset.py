"""Simulated annotators answer every dataset's items; the baseline's metrics equal those of the scorer."""

import csv
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from command import merilo

from merilo.datasets import dataset, names
from merilo.datasets.ready_items import examples
from merilo.items import Item, Split, write_splits

#: Their answers are programs, or sentences that three classifiers rate.
NOT_LABELS = ("ruhumaneval", "rucodeeval", "rudetox")
SCORED = [name for name in names() if name not in NOT_LABELS]


def right_answer(item: Item) -> str:
    if isinstance(item.outputs, dict):
        return str(next(iter(item.outputs.values())))
    return str(item.outputs).split(";")[0]


def answers_of(name: str, items: Sequence[Item], chance: random.Random) -> list[list[str]]:
    """Five answers to each item, spelled as people type: most correct, some copied from another item."""
    form = dataset(name).answer
    wrong = list(form.labels) or [right_answer(item) for item in items]
    given = []
    for item in items:
        right = right_answer(item)
        given.append([right if chance.random() < 0.7 else chance.choice(wrong) for _ in range(5)])
    return given


def export(path: Path, items: Sequence[Item], given: Sequence[Sequence[str]]) -> list[str]:
    """A plain table as a platform would export it, and the options that name its columns."""
    inputs = [item.inputs if isinstance(item.inputs, dict) else {"inputs": item.inputs} for item in items]
    fields = [field for field in inputs[0] if field != "tests"]
    with path.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["id", *fields, "worker", "answer_given"])
        for item, shown, answers in zip(items, inputs, given, strict=True):
            for worker, answer in enumerate(answers):
                table.writerow([item.id, *(shown.get(field, "") for field in fields), f"w{worker}", answer])
    words = ["--annotator", "worker", "--answer", "answer_given"]
    for field in ("id", *fields):
        words += ["--item", field]
    return words


@pytest.mark.parametrize("name", SCORED)
def test_the_metrics_of_people_are_those_of_anybodys_answers_and_have_an_interval(
    name: str, tmp_path: Path
) -> None:
    items = examples(dataset(name))["test"].items
    data = tmp_path / "gold.json"
    write_splits(data, [Split("test", items)])
    given = answers_of(name, items, random.Random(name))
    words = export(tmp_path / "export.csv", items, given)

    outcome = merilo(
        "baseline", tmp_path / "export.csv", "--dataset", name, "--gold", data, *words,
        "--max-low-agreement", 1, "--out", tmp_path / "out", "--json", "-",
    )  # fmt: skip
    assert outcome.status == 0, outcome.err
    people = outcome.json["metrics"]
    for metric, found in people.items():
        if found["n"] == 1:
            assert "at least two items" in found["reason"], metric
            continue
        low, high = found["ci95"]
        assert low <= found["value"] <= high, metric
    # The folder's own items are the same; reading them back is tested once.
    for own in (data, tmp_path / "out" / "raw" / "items.jsonl") if name == "multiq" else (data,):
        scored = merilo(
            "score", tmp_path / "out" / "consensus.csv", "--dataset", name, "--data", own, "--json", "-"
        )
        assert scored.status == 0, scored.err
        anybody = scored.json["metrics"]
        assert list(people) == list(anybody)
        for metric, found in anybody.items():
            assert people[metric]["n"] == found["n"]
            assert people[metric]["value"] == pytest.approx(found["value"], abs=1e-6)
    declared = dataset(name)
    assert (
        list(people)[: len(declared.metrics)] == list(declared.metrics) or declared.answer.kind == "criteria"
    )
