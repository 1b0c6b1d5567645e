"""The exam's items without a majority for a whole answer are decided number by number."""

import json
from importlib import resources
from pathlib import Path

import polars as pl
import pytest

import merilo
from merilo.baselines.baseline import Baseline

PEOPLE = 5
#: Answers to the item of type matching, gold 3,6,5,1. In the set of task 20 each person leaves out another number.
SEQUENCES = ["3,6,5,2", "3,6,4,1", "3,7,5,1", "3,6,5,9", "8,6,5,1"]


def exam() -> list[dict]:
    path = resources.files("merilo.datasets") / "examples" / "use.json"
    content = json.loads(path.read_text(encoding="utf-8"))["data"]
    return content["test"] if isinstance(content, dict) else content


def sheet(item: dict, person: int) -> str:
    meta, gold = item["meta"], item["outputs"]
    if meta["type"] == "matching":
        return SEQUENCES[person]
    if meta["id_task"] == "20":
        numbers = gold.split(",")
        return ",".join(one for place, one in enumerate(numbers) if place != person % len(numbers))
    return gold.split(",")[0] if meta["type"] == "text" else gold


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exam") / "test.json"
    path.write_text(json.dumps({"data": {"test": exam()}}, ensure_ascii=False), encoding="utf-8")
    return path


def made(gold: Path, **settings: object) -> Baseline:
    rows = [
        {**item["inputs"], "annotator": f"p{person}", "answer": sheet(item, person)}
        for item in exam()
        for person in range(PEOPLE)
    ]
    responses = merilo.read_responses(
        pl.DataFrame(rows), item=list(exam()[0]["inputs"]), annotator="annotator", answer="answer"
    )
    return merilo.baseline(responses, dataset="use", gold=str(gold), **settings)


def test_numbers_that_most_people_gave_make_the_answer(gold: Path) -> None:
    found = made(gold)
    rescued = found.consensus.filter(pl.col("resolved_by") == "parts").sort("id")
    right = {str(item["meta"]["id"]): item["outputs"] for item in exam()}
    assert rescued.height == 2
    assert rescued["label"].to_list() == [right[str(number)] for number in rescued["id"]]
    assert "3,6,5,1" not in SEQUENCES
    assert rescued["confidence"].min() == pytest.approx(3 / 5)
    assert found.metrics["grade_norm"].value == 1
    interval = found.metrics["grade_norm"].ci95
    assert interval is None or interval.low <= 1 <= interval.high
    assert found.resolved_by.parts == 2
    assert found.agreement.low_agreement == 2
    assert json.loads(json.dumps(found.to_json()))["resolved_by"]["parts"] == 2


def test_a_model_beside_people_has_the_composed_answers(gold: Path, tmp_path: Path) -> None:
    found = made(gold)
    found.save(tmp_path / "base")
    model = pl.DataFrame([{"id": str(item["meta"]["id"]), "answer": sheet(item, 0)} for item in exam()])
    model.write_csv(tmp_path / "model.csv")
    row = merilo.compare(tmp_path / "base", {"model": tmp_path / "model.csv"}).rows[0]
    assert (row.people.value, row.score.value < 1) == (1.0, True)


def test_whole_majorities_and_the_published_procedure_stay(gold: Path) -> None:
    found, published = made(gold), made(gold, resolve="none")
    assert published.resolved_by.parts == 0
    both = found.consensus.select("item", "label", "resolved_by").join(
        published.consensus.select("item", pl.col("label").alias("majority")), on="item"
    )
    with_majority = both.filter(pl.col("majority").is_not_null())
    assert with_majority.height == 28
    assert (with_majority["label"] == with_majority["majority"]).all()
    assert set(with_majority["resolved_by"]) <= {"unanimous", "majority"}
