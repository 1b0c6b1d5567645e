"""`merilo score`: people and models through one function, and how each answer was judged."""

import csv
import json
from pathlib import Path

import pytest
from command import Outcome, merilo
from gold_sets import TITLES, documents, gold_split, right_answer, write_gold, wrong_answer

from merilo.datasets import dataset
from merilo.datasets.bundled_items import BUNDLED
from merilo.datasets.dataset_files import read_split
from merilo.metrics.scoring import score
from merilo.submissions import read_gold

USE = read_gold(BUNDLED)["USE"]
#: A sheet for the bundled variant: right but for what is named here, and task 24 left blank.
SLIPS = {"1": "2", "16": "3", "26": "3,6,1,5", "9": "1,3,5,6"}
POINTS = 34 - 1 - 1 - 2 - 1 - 1


def right_to(item) -> str:
    return item.outputs.split(",")[0] if item.meta["type"] == "text" else item.outputs


def answers_to_the_variant() -> dict[int | str, str]:
    sheet = {item.id: SLIPS.get(item.meta["id_task"], right_to(item)) for item in USE.split}
    return {item.id: sheet[item.id] for item in USE.split if item.meta["id_task"] != "24"}


def score_file(path: Path, data: Path, name: str, *words: object) -> Outcome:
    return merilo("score", path, "--dataset", name, "--data", data, "--json", "-", *words)


@pytest.fixture(scope="module")
def variant(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gold(tmp_path_factory.mktemp("use"), {"USE": USE.split}) / "use.json"


def test_a_persons_sheet_and_a_models_answers_are_scored_alike(variant: Path, tmp_path: Path) -> None:
    """The same answers, from a person's table and from a model's log, give the same everything."""
    answers = answers_to_the_variant()
    with (tmp_path / "person.csv").open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["id", "annotator", "answer"])
        rows.writerows([name, "p17", answer] for name, answer in answers.items())
    lines = (json.dumps({"id": name, "answer": answer, "model": "m"}) for name, answer in answers.items())
    (tmp_path / "model.jsonl").write_text("\n".join(lines), encoding="utf-8")
    person = score_file(tmp_path / "person.csv", variant, "use")
    model = score_file(tmp_path / "model.jsonl", variant, "USE")
    assert person.json == model.json
    by_function = score(dataset("use"), read_split(variant).items, answers)
    assert person.json["metrics"]["grade_norm"]["value"] == by_function.main["grade_norm"].value
    assert person.json["metrics"]["grade_norm"]["value"] == pytest.approx(POINTS / 34)
    assert person.json["metrics"]["grade_norm.task16"]["value"] == 0.5
    assert person.json["metrics"]["grade_norm.task26"]["value"] == 0.5
    assert person.json["metrics"]["grade_norm.task24"]["value"] == 0.0
    assert person.json["items"] == {"total": 30, "answered": 29}


@pytest.mark.parametrize(
    ("task", "points", "told"),
    [
        ("1", "0 of 1", "missing: ['4']; wrong or extra: none"),
        ("9", "0 of 1", "missing: none; wrong or extra: ['6']"),
        ("16", "1 of 2", "rule of task 16: chosen"),
        ("26", "2 of 4", "position 3: '1', gold '5': differs"),
        ("14", "1 of 1", "gold alternatives, reduced in the same way: 'чтобызатем', 'затемчтобы'"),
    ],
)
def test_explain_shows_the_rule_at_work(
    task: str, points: str, told: str, variant: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(answers_to_the_variant()), encoding="utf-8")
    number = next(item.id for item in USE.split if item.meta["id_task"] == task)
    outcome = merilo("score", tmp_path / "a.json", "--dataset", "use", "--data", variant, "--explain", number)
    assert outcome.out.startswith(f"item {number}, grade_norm: {points}\n")
    assert told in outcome.out


@pytest.mark.parametrize("title", [title for title in TITLES if title != "ruDetox"])
def test_every_judgement_agrees_with_the_score(title: str, tmp_path: Path) -> None:
    """Half right, half wrong: what --explain says of each item is what the metric counted."""
    declared, split = dataset(title), gold_split(dataset(title), 30)

    def answer(declared, item):
        return (
            right_answer(declared, item) if sum(map(ord, str(item.id))) % 2 else wrong_answer(declared, item)
        )

    data = write_gold(tmp_path, {title: split}) / f"{title.lower()}.json"
    (tmp_path / "r.json").write_text(
        json.dumps({"data": {"test": documents(declared, split, answer)}}), encoding="utf-8"
    )
    asked = [word for item in split for word in ("--explain", item.id)]
    outcome = score_file(tmp_path / "r.json", data, title, *asked)
    sheet = read_split(data)
    scores = score(
        declared, sheet.items, {item.id: _typed(declared, answer(declared, item)) for item in sheet}
    )
    assert set(outcome.json["explained"]) == {str(item.id) for item in split}
    for item in sheet:
        for judgement in outcome.json["explained"][str(item.id)]:
            for metric in judgement["metric"].split(", "):
                if metric in scores.main and scores.main[metric].per_item:
                    assert judgement["points"] == scores.main[metric].per_item[item.id]
            assert judgement["steps"]


def _typed(declared, answer):
    return tuple(map(tuple, answer)) if declared.answer.kind == "program" else answer


def test_alternatives_that_were_tried_are_listed(tmp_path: Path) -> None:
    items = [
        {
            "instruction": "{text}",
            "inputs": {"text": "кто?", "topic": "книги"},
            "outputs": "Толстой;Лев Толстой",
            "meta": {"id": 1},
        }
    ]
    (tmp_path / "d.json").write_text(json.dumps({"data": {"test": items}}), encoding="utf-8")
    (tmp_path / "r.csv").write_text("id,answer\n1,писатель Лев Толстой\n", encoding="utf-8")
    outcome = merilo(
        "score", tmp_path / "r.csv", "--dataset", "chegeka", "--data", tmp_path / "d.json", "--explain", 1
    )
    assert "alternative 'Толстой' normalised to 'толстой': token F1 0.5" in outcome.out
    assert "alternative 'Лев Толстой' normalised to 'лев толстой': token F1 0.8" in outcome.out
    assert "item 1, f1: 0.8 of 1" in outcome.out
    assert "item 1, em: 0 of 1" in outcome.out


def test_answers_without_items_and_items_without_answers_are_told(tmp_path: Path) -> None:
    data = write_gold(tmp_path, {"BPS": gold_split(dataset("BPS"), 4)}) / "bps.json"
    (tmp_path / "r.json").write_text('{"1": "1", "2": "0", "999": "1"}')
    outcome = score_file(tmp_path / "r.json", data, "bps")
    assert outcome.status == 0
    assert outcome.json["unanswered"] == [3, 4]
    assert outcome.json["unknown"] == ["999"]
    assert outcome.json["metrics"]["acc"]["n"] == 2
    shown = merilo(
        *("score", tmp_path / "r.json", "--dataset", "bps", "--data", data, "--json", tmp_path / "o.json")
    )
    assert "Wilson's form" in shown.out
    assert json.loads((tmp_path / "o.json").read_text(encoding="utf-8")) == outcome.json
    assert "2 of 4 items have no answer and are left out: 3, 4" in outcome.err
    assert "1 answers belong to no item and are left out: 999" in outcome.err


def test_a_blank_of_the_exam_is_said_to_earn_nothing(variant: Path, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps(answers_to_the_variant()))
    outcome = score_file(tmp_path / "r.json", variant, "use")
    assert outcome.json["metrics"]["grade_norm"]["n"] == 30
    assert "1 of 30 items have no answer and score 0 in a variant that has other answers: 28" in outcome.err


def test_what_each_item_earned_can_be_asked_for(tmp_path: Path) -> None:
    data = write_gold(tmp_path, {"RCB": gold_split(dataset("RCB"), 3)}) / "rcb.json"
    (tmp_path / "r.json").write_text(
        json.dumps({item.id: item.outputs for item in read_split(data).items[:2]})
    )
    outcome = score_file(tmp_path / "r.json", data, "rcb", "--per-item")
    assert outcome.json["per_item"] == {"acc": {"1": 1.0, "2": 1.0}}
    assert (
        "--per-item needs --json"
        in merilo("score", tmp_path / "r.json", "--dataset", "rcb", "--data", data, "--per-item").complaint
    )


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["--explain", "9"], 2, "there is no item '9' to explain"),
        (["--explain", "3"], 2, "item '3' has no answer to explain"),
        (["--split", "train"], 2, "has no split 'train'"),
        (["--rudetox-curves", "x.json"], 2, "--rudetox-curves needs --rudetox-models"),
    ],
)
def test_wrong_words_are_one_sentence(words: list[str], status: int, told: str, tmp_path: Path) -> None:
    data = write_gold(tmp_path, {"BPS": gold_split(dataset("BPS"), 3)}) / "bps.json"
    (tmp_path / "r.json").write_text('{"1": "1", "2": "0"}')
    outcome = merilo("score", tmp_path / "r.json", "--dataset", "bps", "--data", data, *words)
    assert outcome.status == status
    assert told in outcome.err


def test_a_closed_test_cannot_be_scored(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(
        '{"data": {"test": [{"instruction": "{inputs}", "inputs": "a b", "outputs": "", "meta": {"id": 1}}]}}'
    )
    (tmp_path / "r.json").write_text('{"1": "1"}')
    outcome = merilo("score", tmp_path / "r.json", "--dataset", "lcs", "--data", tmp_path / "d.json")
    assert outcome.status == 1
    assert "the test is closed" in outcome.complaint


def test_not_one_answer_to_these_items(tmp_path: Path) -> None:
    data = write_gold(tmp_path, {"BPS": gold_split(dataset("BPS"), 3)}) / "bps.json"
    (tmp_path / "r.json").write_text('{"x1": "1"}')
    outcome = merilo("score", tmp_path / "r.json", "--dataset", "bps", "--data", data)
    assert outcome.status == 1
    assert "not one of 1 answers belongs to an item" in outcome.err


def test_another_datasets_items_are_refused(variant: Path, tmp_path: Path) -> None:
    (tmp_path / "answers.json").write_text("{}", encoding="utf-8")
    other = score_file(tmp_path / "answers.json", variant, "rcb")
    assert other.status == 2
    assert "is it a file of another dataset?" in other.complaint
    assert "premise" in other.complaint
    assert "use.json" in other.complaint
    assert merilo("score", tmp_path / "none").complaint.endswith("none: there is no such file")


def test_a_wrong_choice_is_told_in_our_words() -> None:
    assert "Value error" not in merilo("table", "--format", "foo").complaint
