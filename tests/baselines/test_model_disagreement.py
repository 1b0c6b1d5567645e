"""Where people and a model differ: distributions of labels, and the items on which one side alone is right."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from command import merilo
from compared_study import guesses, model
from compared_study import study as three_answers_an_item
from exports import row, toloka, written

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


def test_the_items_on_which_one_side_alone_is_right_are_those_counted_by_hand(tmp_path: Path) -> None:
    people, answers = three_answers_an_item(tmp_path), guesses()
    found = merilo("compare", people, model(tmp_path / "m.csv", answers), "--json", "-").json["models"][0]
    opposite, match = found["opposite_outcomes"], found["comparisons"]["consensus"]
    assert len(opposite["only_people"]) == match["model_worse"]
    assert len(opposite["only_model"]) == match["model_better"]
    gold = {f"q{item}": "ABC"[item % 3] for item in range(40)}
    assert all(answers[name][0] != gold[name] for name in opposite["only_people"])
    assert all(answers[name][0] == gold[name] for name in opposite["only_model"])


def test_a_model_with_several_answers_is_wrong_if_more_than_half_of_them_are(tmp_path: Path) -> None:
    people = three_answers_an_item(tmp_path)
    gold = {f"q{item}": "ABC"[item % 3] for item in range(40)}
    right = merilo(
        "compare",
        people,
        model(tmp_path / "g.csv", {name: [one] for name, one in gold.items()}),
        "--json",
        "-",
    )
    missed = right.json["models"][0]["opposite_outcomes"]["only_model"]
    assert missed, "people are wrong on some items"
    agreed = [name for name in gold if name not in missed]
    answers = {name: [one, one, "X"] for name, one in gold.items()}
    answers[agreed[0]] = [gold[agreed[0]], "X", "X"]
    answers[agreed[1]] = [gold[agreed[1]], gold[agreed[1]], "X", "X"]
    found = merilo("compare", people, model(tmp_path / "m.csv", answers), "--json", "-").json["models"][0]
    assert found["opposite_outcomes"]["only_people"] == [agreed[0]], (
        "half of the answers are not more than half"
    )
    assert found["opposite_outcomes"]["only_model"] == missed


@pytest.fixture
def domains(tmp_path: Path) -> tuple[Path, Path]:
    """Four items of two domains, of which people miss one and the model two."""
    rows = [row(f"t{n}", "B" if n == 3 else "A", f"w{w}") for n in range(4) for w in range(5)]
    items = [
        {
            "inputs": {"question": f"t{n}"},
            "outputs": "A",
            "meta": {"id": n, "domain": "law" if n < 2 else "art"},
        }
        for n in range(4)
    ]
    gold = written(tmp_path / "gold.json", json.dumps({"data": items}))
    done = merilo(
        "baseline", written(tmp_path / "p.tsv", toloka(rows)), "--gold", gold, "--out", tmp_path / "people"
    )
    assert done.status == 0, done.err
    answers = written(
        tmp_path / "m.jsonl", "".join(f'{{"id": {n}, "answer": "{a}"}}\n' for n, a in enumerate("BAAA"))
    )
    return tmp_path / "people", answers


def test_the_items_are_counted_by_domain(domains: tuple[Path, Path]) -> None:
    found = merilo("compare", *domains, "--json", "-").json["models"][0]["opposite_outcomes"]
    assert found["field"] == "domain"
    assert found["groups"] == {
        "art": {"n": 2, "only_people": 0, "only_model": 1},
        "law": {"n": 2, "only_people": 1, "only_model": 0},
    }
    assert (found["only_people"], found["only_model"]) == (["0"], ["3"])
    assert sum(Counter(one["n"] for one in found["groups"].values()).elements()) == found["n"]


def test_macro_f1_counts_an_answer_as_right_if_it_is_the_gold_answer(domains: tuple[Path, Path]) -> None:
    plain = merilo("compare", *domains, "--json", "-").json["models"][0]["opposite_outcomes"]
    f1 = merilo("compare", *domains, "--metric", "f1_macro", "--json", "-").json["models"][0][
        "opposite_outcomes"
    ]
    assert f1 == plain
