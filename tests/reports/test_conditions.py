"""How people and models were asked, side by side, and what differs."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from command import merilo as command

import merilo
from merilo.reports.conditions import CONDITIONS, SHARED, AskedConditions, Side
from merilo.text import Text


def side(**values: object) -> Side:
    return Side(dict(values), {name: Text("{value}", value=str(value)) for name, value in values.items()})  # type: ignore[arg-type,misc]


def test_what_differs_and_what_is_not_known_is_named() -> None:
    people = side(prompt="people", shots=0, training=True, tools=False, answers=5, pay=0.05)
    model = side(prompt="people", shots=5, training=False, tools=False, answers=5, time_limit=None, pay=0.001)
    found = AskedConditions(people, {"m": model})
    assert found.differences("m") == ["shots", "training"]
    assert found.unknown("m") == ["time_limit"]
    sentence = found.sentence("m").en
    assert "asked differently: solved examples with a question (0 and 5), training before" in sentence
    assert "not known of both sides: time limit" in sentence
    assert next(str(name) for name, _ in found.rows()) == "question as asked"
    assert len(found.rows()) == 7


def test_equal_conditions_are_told_and_pay_is_not_judged() -> None:
    one = side(**dict.fromkeys(CONDITIONS, 1))
    other = replace(one, values={**one.values, "pay": 2})
    found = AskedConditions(one, {"m": other})
    assert found.differences("m") == []
    assert found.sentence("m").en == "People and m were asked alike, as far as is known."
    assert found.to_dict()["models"] == {"m": {**dict(other.values), "differs": [], "not_known": []}}


GOLD = {f"question {item}": "AB"[item % 2] for item in range(20)}


def saved(folder: Path) -> Path:
    rows = [
        (task, f"person{person}", gold if (person + place) % 6 else "C")
        for place, (task, gold) in enumerate(GOLD.items())
        for person in range(5)
    ]
    table = pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")
    merilo.baseline(merilo.read_responses(table), gold=GOLD).save(folder)
    return folder


def test_files_of_answers_without_a_plan_have_no_conditions(tmp_path: Path) -> None:
    folder = saved(tmp_path / "base")
    found = merilo.compare(folder, {"m": dict(GOLD)})
    assert found.conditions is None
    assert found.to_dict()["conditions"] is None


def test_the_log_of_another_harness_tells_how_its_model_was_asked(tmp_path: Path) -> None:
    folder, date = saved(tmp_path / "base"), "2026-01-02T10-20-30.1"
    rows = [
        {
            "doc_id": place, "doc": {"id": task, "task": task}, "filter": "none", "resps": [[gold]], "target": gold,
            "arguments": [[f"Q: {task}", {"temperature": 0.7, "max_gen_toks": 64, "until": []}]],
        }
        for place, (task, gold) in enumerate(GOLD.items())
    ]  # fmt: skip
    log = tmp_path / f"samples_quiz_{date}.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    results = {
        "results": {},
        "model_name": "m",
        "n-shot": {"quiz": 5},
        "system_instruction": "Be <b>brief</b>.",
    }
    (tmp_path / f"results_{date}.json").write_text(json.dumps(results))
    asked = merilo.compare(folder, [log]).conditions
    assert asked is not None
    (model,) = asked.models.values()
    expected = {
        "shots": 5,
        "temperature": 0.7,
        "token_limit": 64,
        "system_prompt": "Be <b>brief</b>.",
        "answers": 1,
    }
    assert {name: model.values[name] for name in expected} == expected
    assert asked.differences("m") == ["shots"]
    assert "temperature" not in asked.unknown("m")
    page = command("compare", folder, log, "--format", "html").out
    assert "“Be &lt;b&gt;brief&lt;/b&gt;.”" in page
    assert "limit of tokens of an answer" in page


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A frozen study, its baseline and a run of a built-in respondent over its items."""
    place = tmp_path_factory.mktemp("conditions")
    for words in (
        (
            "datasets",
            "generate",
            "lcs",
            "--seed",
            "1",
            "--size",
            "40",
            "--shots",
            "12",
            "--out",
            place / "lcs.json",
        ),
        ("study", "create", place / "lcs.json", "--dataset", "lcs", "--out", place / "study"),
        ("study", "freeze", place / "study", "--date", "2026-01-09", "--yes"),
        ("run", "--model", "random", "--datasets", "lcs", "--data", place, "--out", place / "run"),
    ):
        done = command(*words)
        assert done.status == 0, done.err
    items = [json.loads(line) for line in (place / "study" / "items.jsonl").read_text().splitlines()]
    rows = [
        {"inputs": item["inputs"], "worker": f"person{person}", "label": item["outputs"]}
        for item in items
        for person in range(5)
    ]
    pl.DataFrame(rows).write_csv(place / "answers.csv")
    done = command(
        "baseline", place / "answers.csv", "--item", "inputs", "--annotator", "worker", "--answer", "label",
        "--dataset", "lcs", "--gold", place / "lcs.json", "--out", place / "study" / "baseline",
    )  # fmt: skip
    assert done.status == 0, done.err
    return place


def test_the_plan_and_the_run_are_compared_on_all_surfaces(study: Path) -> None:
    people, run = study / "study" / "baseline", study / "run"
    found = merilo.compare(people, [run])
    asked = found.conditions
    assert asked is not None
    (name,) = asked.models
    assert set(SHARED) <= set(asked.people.values)
    assert asked.people.values["answers"] == 5
    assert asked.people.values["tools"] is False
    assert "answers" in asked.differences(name)
    content = found.to_dict()["conditions"]
    assert content["models"][name]["differs"] == asked.differences(name)
    done = command("compare", people, run, "--details")
    assert done.status == 0, done.err
    told = " ".join(done.out.split())
    assert "were asked differently:" in told
    assert "rules restrict them" in told
    page = command("compare", people, run, "--format", "html").out
    for text in (
        "How people and models were asked",
        "Как спрашивали людей и модели",
        "спрашивали по-разному",
    ):
        assert text in page
