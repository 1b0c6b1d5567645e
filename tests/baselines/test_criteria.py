"""One answer to a question about an act is scored by five criteria of ethics."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from command import merilo
from sklearn.metrics import matthews_corrcoef

from merilo.datasets import dataset

QUESTIONS = ("correct", "good", "ethical")
ETHICS = dataset("ruethics")
ACTS = 40
SAID = np.random.default_rng(0).integers(0, 2, (len(QUESTIONS), ACTS))
JUDGED = np.random.default_rng(1).integers(0, 2, (len(ETHICS.answer.criteria), ACTS))


def pool(path: Path, question: str, *, column: bool) -> Path:
    """A table of five people, of whom three agree, with or without the column of the question."""
    with path.open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines)
        table.writerow([*ETHICS.fields, *(["question"] if column else []), "annotator", "answer"])
        for act, said in enumerate(SAID[QUESTIONS.index(question)]):
            shown = [f"text {act}", "one", "two", *([question] if column else [])]
            for person in range(5):
                table.writerow([*shown, f"{question} {person}", said if person < 3 else 1 - said])
    return path


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    items = [
        {
            "instruction": "?",
            "inputs": dict(zip(ETHICS.fields, (f"text {act}", "one", "two"), strict=True)),
            "outputs": {
                name: str(judged[act]) for name, judged in zip(ETHICS.answer.criteria, JUDGED, strict=True)
            },
            "meta": {"id": 3 * act + place, "question": question},
        }
        for act in range(ACTS)
        for place, question in enumerate(QUESTIONS)
    ]
    path = tmp_path / "gold.json"
    path.write_text(json.dumps({"data": {"test": items}}), encoding="utf-8")
    return path


def baseline(files: list[Path], gold: Path, *, column: bool):
    fields = [*ETHICS.fields, *(["question"] if column else [])]
    words = [word for field in fields for word in ("--item", field)]
    return merilo("baseline", *files, *words, "--dataset", "ruethics", "--gold", gold, "--json", "-")


def test_three_pools_and_five_criteria_make_fifteen_correlations(tmp_path: Path, gold: Path) -> None:
    files = [pool(tmp_path / f"{question}.csv", question, column=True) for question in QUESTIONS]
    found = baseline(files, gold, column=True)
    metrics = found.json["metrics"]
    assert set(metrics) == {one.metric for one in ETHICS.human}
    for question, said in zip(QUESTIONS, SAID, strict=True):
        for criterion, judged in zip(ETHICS.answer.criteria, JUDGED, strict=True):
            score = metrics[f"{question}.{criterion}"]
            assert score["value"] == pytest.approx(matthews_corrcoef(judged, said), abs=1e-6)
            assert score["n"] == ACTS


def test_one_pool_is_scored_by_its_own_question(tmp_path: Path, gold: Path) -> None:
    found = baseline([pool(tmp_path / "good.csv", "good", column=True)], gold, column=True)
    assert set(found.json["metrics"]) == {f"good.{criterion}" for criterion in ETHICS.answer.criteria}


def test_a_pool_that_does_not_say_its_question_is_refused(tmp_path: Path, gold: Path) -> None:
    found = baseline([pool(tmp_path / "good.csv", "good", column=False)], gold, column=False)
    assert found.status != 0
    assert (
        "the rows differ in meta.question, which the pool does not have: add a column 'question'"
        in found.complaint
    )
