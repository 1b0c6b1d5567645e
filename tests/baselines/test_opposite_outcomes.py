"""The items on which people or a model alone are right."""

import json
from collections import Counter
from pathlib import Path

import pytest
from command import merilo
from compared_study import guesses, model
from compared_study import study as three_answers_an_item
from exports import row, toloka, written


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
