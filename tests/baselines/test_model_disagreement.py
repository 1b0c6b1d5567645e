"""Disagreement in `merilo compare`: the table, the JSON, groups, and why there is none."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from command import merilo

from merilo.baselines.baseline_reader import read_stored_baseline
from merilo.baselines.model_answers import read_samples
from merilo.baselines.model_disagreement import model_disagreement
from merilo.datasets.declaration import Answer
from merilo.people.disagreement import disagreement
from merilo.people.votes import encode

#: Two easy items, two on which people split evenly; five people each.
ANSWERS = {"q0": "AAAAA", "q1": "BBBBA", "q2": "AABBC", "q3": "AAABB"}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("disagreement")
    rows = [
        f"{item},p{person},{label}" for item, given in ANSWERS.items() for person, label in enumerate(given)
    ]
    (folder / "answers.csv").write_text("\n".join(["text,annotator,answer", *rows]))
    gold = [
        f"{item},{item},{'B' if item == 'q1' else 'A'},{'even' if item > 'q1' else 'clear'}"
        for item in ANSWERS
    ]
    (folder / "items.csv").write_text("\n".join(["id,text,gold,kind", *gold]))
    done = merilo(
        "baseline", folder / "answers.csv", "--platform", "csv", "--item", "text", "--annotator", "annotator", "--answer",
        "answer", "--gold", folder / "items.csv", "--gold-column", "gold", "--min-votes", "2", "--out", folder / "people",
    )  # fmt: skip
    assert done.status in {0, 1}, done.err
    sampled = {"q0": "AA", "q1": "BA", "q2": "AB", "q3": "BB"}
    lines = [json.dumps({"id": item, "answer": list(given)}) for item, given in sampled.items()]
    (folder / "sampled.jsonl").write_text("\n".join(lines))
    (folder / "once.jsonl").write_text("\n".join(json.dumps({"id": item, "answer": "A"}) for item in ANSWERS))
    return folder


def test_compare_gives_the_numbers_of_the_function(study: Path) -> None:
    found = merilo("compare", study / "people", study / "sampled.jsonl", "--json", "-").json["models"][0][
        "disagreement"
    ]
    rows = [
        (item, f"p{person}", label) for item, given in ANSWERS.items() for person, label in enumerate(given)
    ]
    votes = encode(*(list(column) for column in zip(*rows, strict=True))).votes
    same = disagreement(votes, [[0, 0], [1, 0], [0, 1], [1, 1]])
    assert found["agreement"]["value"] == pytest.approx(same.agreement.value, abs=1e-6)
    assert found["agreement"]["ceiling"] == pytest.approx(same.agreement.ceiling, abs=1e-6)
    assert found["distance"]["ci95"] == pytest.approx(
        [same.distance.interval.low, same.distance.interval.high], abs=1e-6
    )
    assert found["ambiguous"] == ["q2", "q3"]


def test_the_terminal_names_the_ambiguous_items(study: Path) -> None:
    shown = merilo("compare", study / "people", study / "sampled.jsonl", "--details")
    assert "Distribution of labels" in shown.out
    assert "people split evenly on 2 items, which are ambiguous: q2, q3" in shown.out


def test_one_answer_an_item_makes_no_distribution(study: Path) -> None:
    found = merilo("compare", study / "people", study / "once.jsonl", "--json", "-").json["models"][0]
    assert found["disagreement"] is None
    assert "at least 2" in found["disagreement_reason"]


def test_an_unknown_field_of_groups_is_refused(study: Path) -> None:
    outcome = merilo("compare", study / "people", study / "sampled.jsonl", "--by", "colour")
    assert outcome.status == 2
    assert "--by: there is no field 'colour'" in outcome.complaint


def test_labels_of_a_declared_dataset_have_a_distribution_and_numbers_have_none(study: Path) -> None:
    crowd = read_stored_baseline(study / "people")
    model = read_samples(study / "sampled.jsonl", crowd)
    choice = replace(crowd.declaration, answer=Answer(kind="choice", labels=("A", "B", "C")))
    assert model_disagreement(replace(crowd, declaration=choice), model).found is not None
    number = replace(crowd.declaration, answer=Answer(kind="integer"))
    refused = model_disagreement(replace(crowd, declaration=number), model)
    assert refused.found is None
    assert refused.reason == "answers are free, not labels of a closed set"
