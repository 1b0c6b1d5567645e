"""Every dataset from its file to the comparison with a model: the values at the end follow from what people answered.

The answer of most people to every item is found here again from the simulated answers; its score is the library's. A row of the
table says how people answer a dataset. Only commands, files and pages are used.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command import done, merilo
from exports import write_lines
from programming import need_a_jail
from small_media import png
from walked_road import (
    PEOPLE,
    AnsweredItem,
    Choices,
    Entry,
    WalkedRoad,
    answer_study,
    answered_study,
    experts_answer,
    lines,
    walk,
)

import merilo as package
from merilo.metrics.detox import Ratings

EXAMPLES = Path(package.__file__).parent / "datasets" / "examples"


# What people can answer: the right answer, and wrong ones.


def label(item: Entry, labels: Sequence[str]) -> tuple[str, ...]:
    return item["outputs"], *(one for one in labels if one != item["outputs"])


def integer(item: Entry, _: Sequence[str]) -> tuple[str, ...]:
    number = int(item["outputs"])
    return str(number), str(number + 1), str(-number - 3), str(number + 100)


def words(item: Entry, _: Sequence[str]) -> tuple[str, ...]:
    """The first wrong answer holds the right one, so it is worth something by F1."""
    right = item["outputs"].split(";")[-1]
    return right, f"{right} или нет", "Не знаю", "трудно сказать"


def exam(item: Entry, labels: Sequence[str]) -> tuple[str, ...]:
    """The first wrong answer holds half of the right one, which tasks 16 and 26 count."""
    numbers = item["outputs"].split(",")
    if item["meta"]["type"] == "text":
        return numbers[0], "неверно", "незнаю", "наугад"
    if item["meta"]["type"] == "matching":
        return item["outputs"], ",".join([*numbers[:2], "9", "9"]), "8,8,8,8", "7,7,7,7"
    wrong = [one for one in ("1,2,3", "2,3", "1", "2") if one != item["outputs"]]
    return (item["outputs"], numbers[0], *wrong[:2]) if len(numbers) == 2 else (item["outputs"], *wrong[:3])


def act(item: Entry, _: Sequence[str]) -> tuple[str, ...]:
    """One answer about an act; the criteria of ruEthics are not shown."""
    virtue = item["outputs"]["virtue"]
    return virtue, str(1 - int(virtue))


def program(item: Entry, _: Sequence[str]) -> tuple[str, ...]:
    """The right program is written in another way than the dataset's own."""
    right = f"    {MINE}\n{item['meta']['canonical_solution']}"
    return right, "    return None", "    import os\n    os._exit(0)", "    return ("


MINE = "# mine"


#: Dataset -> what people can answer, and the site or the platform whose export they fill in.
ROADS: dict[str, tuple[Choices, str]] = {
    "bps": (label, "site"), "lcs": (label, "site"), "mamuramu": (label, "site"), "mathlogicqa": (label, "site"),
    "ruhatespeech": (label, "site"), "ruhhh": (label, "site"), "rummlu": (label, "site"),
    "ruopenbookqa": (label, "site"), "ruworldtree": (label, "site"),
    "chegeka": (words, "site"), "multiq": (words, "site"), "parus": (label, "toloka"), "rcb": (label, "table"),
    "ruethics": (act, "site"), "rumodar": (integer, "site"), "rumultiar": (integer, "site"), "rutie": (label, "abc"),
    "rwsd": (label, "label-studio"), "simplear": (integer, "mturk"), "use": (exam, "site"),
}  # fmt: skip
#: The roads that are like others in the form of the answer, the metric and the place.
LIKE_OTHERS = (
    "bps", "lcs", "mathlogicqa", "multiq", "ruhhh", "rummlu", "rumodar", "ruopenbookqa", "ruworldtree",
)  # fmt: skip

#: The datasets whose answers are programs, with every person's program as a sample.
PROGRAMS = ("rucodeeval", "ruhumaneval")

SUMS = """\
name: sums
title: Sums
fields: [image, question, a, b, c]
media: [image]
answer: {kind: choice, labels: [первый, второй, третий]}
metrics: [acc]
extra: acc.{domain}
prompts: ["<image>\\n{question}\\nпервый: {a}\\nвторой: {b}\\nтретий: {c}\\nОтвет:"]
"""


def sums(folder: Path, ids: Sequence[str] = ("{}",)) -> Path:
    """Write a dataset of 24 sums with pictures in two domains, with 12 solved ones, and 3 for the training beside it."""
    (folder / "samples").mkdir(parents=True)

    def item(number: int) -> dict[str, Any]:
        options = [f"{3 * number + step}" for step in (0, 1, 2)]
        picture, question = f"samples/{number}.png", f"{number} + {2 * number} = ?"
        (folder / picture).write_bytes(png(colour=(5 * number, 0, 0)))
        inputs = {"image": picture, "question": question, **dict(zip("abc", options, strict=True))}
        meta = {"id": ids[number % len(ids)].format(number), "domain": "малые" if number < 13 else "большие"}
        return {"instruction": 0, "inputs": inputs, "outputs": "первый", "meta": meta}

    for name, numbers in {"test": (1, 25), "shots": (25, 37), "training": (37, 40)}.items():
        place = folder.parent if name == "training" else folder
        split = {"data": [item(number) for number in range(*numbers)]}
        (place / f"{name}.json").write_text(json.dumps(split), encoding="utf-8")
    (folder / "dataset.yaml").write_text(SUMS, encoding="utf-8")
    return folder


def check(walked: WalkedRoad, dataset: object, data: Path) -> None:
    """Compare every value that the commands told with the one that follows from the answers."""
    found = {row["id"]: row["label"].lower() for row in walked.table("consensus.csv")}
    assert found == {one.id: one.consensus.lower() for one in walked.items}
    items = walked.baseline["items"]
    assert items["total"] == items["consensus"] == len(walked.items)
    assert walked.baseline["status"] == "accepted", walked.baseline["reasons"]

    people = values(walked.items, dataset, data)
    told = walked.baseline["metrics"]
    assert {name: (found["value"], found["n"]) for name, found in told.items()} == people
    for name, found in told.items():
        if found["n"] == 1:
            assert found["ci95"] is None, name
            assert found["reason"].startswith("no interval"), name
        else:
            low, high = found["ci95"]
            assert low <= found["value"] <= high, f"{name}: {found}"
    assert walked.verified["verified"] is True

    assert {value for value, _ in walked.runs["gold"].values()} == {1.0}
    for model, scores in walked.runs.items():
        assert {*scores} == {*told}
        compared = walked.compared[model]
        assert len(compared) == (15 if dataset == "ruethics" else 1)
        for metric, one in compared.items():
            row = one["consensus"]
            assert (row["people"]["value"], row["people"]["n"]) == people[metric]
            value, n = scores[metric]
            assert (row["score"]["value"], row["score"]["n"]) == (pytest.approx(value, abs=1e-6), n)


def values(items: Sequence[AnsweredItem], dataset: object, data: Path) -> dict[str, Any]:
    """Metric -> the value of the answers of most people, as printed with six digits, and the number of items."""
    answers = {
        one.id: dict.fromkeys(one.gold, one.consensus) if isinstance(one.gold, Mapping) else one.consensus
        for one in items
    }
    found = package.score(answers, dataset=str(dataset), data=data).metrics
    return {name: (pytest.approx(one.value, abs=1e-6), one.n) for name, one in found.items()}


def check_programs(walked: WalkedRoad) -> None:
    """Compare pass@k of people, and of each person, with what follows from who wrote the right program."""
    right = [[MINE in answer for answer in one.answers] for one in walked.items]
    items, people = len(right), len(right[0])
    told = walked.baseline["metrics"]
    assert [*told] == [f"pass@{k}" for k in range(1, people + 1)] + ["pass@10"]
    assert "needs 10 programs" in told.pop("pass@10")["reason"]
    for k in range(1, people + 1):
        ways = [1 - comb(people - sum(passed), k) / comb(people, k) for passed in right]
        found = told[f"pass@{k}"]
        assert (found["value"], found["n"]) == (pytest.approx(sum(ways) / items, abs=1e-6), items)
        low, high = found["ci95"]
        assert 0 <= low <= found["value"] <= high <= 1
    mean = sum(map(sum, right)) / (items * people)
    single = walked.baseline["single_person"]
    assert single["value"] == told["pass@1"]["value"] == pytest.approx(mean)
    assert single["ci95"] == told["pass@1"]["ci95"]

    of_people = sorted(sum(passed[person] for passed in right) for person in range(people))
    table = walked.table("annotators.csv")
    assert sorted(int(one["passed"]) for one in table) == of_people
    for one in table:
        assert float(one["pass@1"]) == pytest.approx(int(one["passed"]) / items)
        assert float(one["pass@1_low"]) <= float(one["pass@1"]) <= float(one["pass@1_high"])

    assert walked.baseline["status"] == "accepted"
    assert walked.baseline["items"]["consensus"] == 0
    assert walked.baseline["resolved_by"]["each_answer"] == items
    assert walked.baseline["agreement"]["krippendorff_alpha"] is None
    assert {row["label"] for row in walked.table("consensus.csv")} == {""}
    assert walked.verified["verified"] is True
    assert "the verdicts on answers" in walked.verified["not_recomputed"]
    card = (walked.root / "hb" / "human_baseline_en.md").read_text(encoding="utf-8")
    assert re.search(rf"The pass@1 of {people} annotators is {mean:.3f} \[.*?\] on {items} items\.", card)
    assert "majority" not in card

    for model, value in (("gold", 1.0), ("random", 0.0)):
        assert walked.runs[model]["pass@1"] == (value, items)
        (compared,) = walked.compared[model].values()
        assert {*compared} == {"person"}
        row = compared["person"]
        found = row["people"]["value"], row["score"]["value"], row["score"]["n"]
        assert found == (pytest.approx(mean, abs=1e-6), value, items)


def test_every_dataset_of_the_catalogue_has_a_road() -> None:
    listed = merilo("datasets", "list", "--json", "-").json
    assert {one["name"] for one in listed["datasets"]} == {*ROADS, *PROGRAMS, "rudetox"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.thorough if name in LIKE_OTHERS else []) for name in ROADS]
)
def test_a_dataset_goes_from_its_file_to_the_comparison_with_a_model(name: str, tmp_path: Path) -> None:
    choices, where = ROADS[name]
    data = EXAMPLES / f"{name}.json"
    check(walk(tmp_path, data, choices, where=where), name, data)


def test_an_own_dataset_with_pictures_and_training_is_answered_after_a_careless_person_is_stopped(
    tmp_path: Path,
) -> None:
    data = sums(tmp_path / "dataset")
    options = ("--audience", "basic", "--training", tmp_path / "training.json", "--control-share", 0.25)
    walked = walk(tmp_path, data, label, options=options)
    check(walked, data / "dataset.yaml", data / "test.json")
    assert walked.baseline["annotators"]["excluded"] == 1


@pytest.mark.parametrize("where", ["site", "toloka"])
def test_an_own_dataset_with_texts_as_ids_is_walked_to_its_end(where: str, tmp_path: Path) -> None:
    # Some texts look like numbers, and some only differ by a zero.
    ids = ("sum/{}", "0{}", "{}", "№ {}")
    data = sums(tmp_path / "dataset", ids)
    assert done("datasets", "validate", data, "--json", "-").json["problems"] == []
    walked = walk(tmp_path, data, label, where=where, options=("--audience", "basic"))
    check(walked, data / "dataset.yaml", data / "test.json")
    expected = {ids[number % 4].format(number) for number in range(1, 25)}
    assert {one.item["meta"]["id"] for one in walked.items} == expected
    assert {one["id"] for one in lines(tmp_path / "gold", "sums")} == expected
    # A table of answers names the items by the same texts.
    answers = [{"id": one.id, "answer": one.gold} for one in walked.items]
    (tmp_path / "model.json").write_text(json.dumps(answers), encoding="utf-8")
    with (tmp_path / "model.csv").open("w", encoding="utf-8", newline="") as table:
        csv.writer(table).writerows([("id", "answer"), *(one.values() for one in answers)])
    for model in ("model.json", "model.csv"):
        compared = done("compare", tmp_path / "study" / "baseline", tmp_path / model, "--json", "-").json
        score = compared["rows"][0]["score"]
        assert (score["value"], score["n"]) == (1.0, 24)


def test_english_questions_in_their_own_file_are_walked_to_their_end(tmp_path: Path) -> None:
    """Options stand in a list beside their labels, some with three options and some with numbers, as in ARC."""

    def row(n: int, of: str = "") -> Entry:
        labels = ("1234" if n % 5 == 0 else "ABCD")[: 3 + n % 2]
        texts = [f"{2 * n + place - n % len(labels)} apples" for place in range(len(labels))]
        choices = {"text": texts, "label": [*labels]}
        return {"id": f"{of}{n}", "question": f"{of}What are twice {n} apples?", "choices": choices, "answerKey": labels[n % len(labels)]}  # fmt: skip

    file = write_lines(tmp_path / "arc.jsonl", *map(row, range(24)))
    shots = write_lines(tmp_path / "solved.jsonl", *(row(n, "Solved: ") for n in range(24)))
    done("datasets", "new", file, "--shots", shots)
    walked = walk(tmp_path, tmp_path / "arc.yaml", label)
    check(walked, tmp_path / "arc.yaml", file)
    assert {len(one.item["inputs"]) for one in walked.items} == {4, 5}


#: Pair of ruDetox -> how many of five people accept it in each of the three projects.
JUDGED = {
    1: {"meaning": 5, "fluent": 5, "inoffensive": 5},
    2: {"meaning": 3, "fluent": 3, "inoffensive": 3},
    3: {"meaning": 4, "fluent": 2, "inoffensive": 5},
    4: {"meaning": 0, "fluent": 5, "inoffensive": 4},
    5: {"meaning": 5, "fluent": 4, "inoffensive": 1},
    6: {"meaning": 3, "fluent": 5, "inoffensive": 4},
    7: {"meaning": 2, "fluent": 2, "inoffensive": 2},
    8: {"meaning": 4, "fluent": 4, "inoffensive": 3},
}
#: The pairs that a majority accepts in every project.
KEPT = {1, 2, 6, 8}


class Rater:
    """Rates sentences by their lengths."""

    making: Mapping[str, str] = {}

    def rate(self, sources: Sequence[str], rewritten: Sequence[str]) -> Ratings:
        lengths = np.array([len(text) for text in rewritten])
        return Ratings(lengths % 7 / 7, lengths % 5 / 5, lengths % 3 / 3)


def test_pairs_of_rudetox_are_judged_in_three_projects_and_the_accepted_ones_are_scored(
    tmp_path: Path,
) -> None:
    data, studies = tmp_path / "rudetox.json", tmp_path / "studies"
    split = json.loads((EXAMPLES / "rudetox.json").read_text(encoding="utf-8"))
    pairs = {one["meta"]["id"]: one for one in split["data"]["test"]}
    # Solved pairs become control items, accepted and rejected ones; the examples of the instruction take others.
    split["data"]["shots"] = [
        {"instruction": "{toxic_comment}", "inputs": f"Болван номер {word}, отойди от окна!", "outputs": f"Гость номер {word}, отойдите от окна.", "meta": {"id": 100 + number}}
        for number, word in enumerate(("один", "два", "три", "четыре", "пять", "шесть"))
    ]  # fmt: skip
    data.write_text(json.dumps(split, ensure_ascii=False), encoding="utf-8")
    done("study", "create", data, "--out", studies, "--control-share", 0.5)
    assert {one.name for one in studies.iterdir()} == {"meaning", "fluent", "inoffensive"}

    accepted: dict[str, pl.DataFrame] = {}
    for project in ("meaning", "fluent", "inoffensive"):

        def answer(item: Entry, _: Sequence[str], project: str = project) -> tuple[str, ...]:
            known = item["outputs"]
            if known:  # a control item
                return *(known for _ in range(PEOPLE)), str(1 - int(known))
            right = JUDGED[item["meta"]["id"]][project]
            return *("1" if person < right else "0" for person in range(PEOPLE)), "0"

        study = studies / project
        answer_study(tmp_path, study, answer)
        assert {one["outputs"] for one in lines(study, "controls")} == {"0", "1"}
        instruction = (study / "instruction.ru.md").read_text(encoding="utf-8")
        assert "Перепишите" not in instruction
        assert "модель" not in instruction.split("## Ограничения")[0]
        made = done("study", "baseline", study, "--out", study / "baseline", "--json", "-").json
        assert made["items"]["total"] == len(pairs)
        assert made["annotators"]["excluded"] == 1
        consensus = pl.read_csv(study / "baseline" / "consensus.csv", infer_schema=False)
        accepted[project] = consensus.filter(pl.col("label") == "1")
    kept = accepted["meaning"]
    for project in ("fluent", "inoffensive"):
        kept = kept.join(accepted[project], on="neutral_comment", how="semi")
    assert set(kept["toxic_comment"]) == {pairs[number]["inputs"] for number in KEPT}

    answers = {number: pairs[number]["outputs"] for number in KEPT}
    scored = package.score(answers, dataset="rudetox", data=data, rudetox_models=Rater())
    rated = [len(text) for text in answers.values()]
    expected = sum((n % 7 / 7) * (n % 5 / 5) * (n % 3 / 3) for n in rated) / len(rated)
    assert scored.metrics["j"].value == pytest.approx(expected)
    assert scored.metrics["j"].n == len(KEPT)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.thorough if name == "ruhumaneval" else []) for name in PROGRAMS],
)
def test_programs_of_people_are_run_in_the_sandbox_and_compared_with_a_model(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_a_jail()
    walked = walk(tmp_path, EXAMPLES / f"{name}.json", program, run_options=("--samples", 1))
    check_programs(walked)
    study = tmp_path / "study"
    rows = lines(study / "answers", "people.verdicts")
    assert {row["answer"] for row in rows if MINE not in row["program"]} == {"failed"}
    assert {row["ending"] for row in rows if MINE in row["program"]} == {"passed"}
    experts_answer(
        tmp_path, [replace(one, answers=PEOPLE * (program(one.item, ())[0],)) for one in walked.items]
    )
    told = done("study", "baseline", study, "--out", tmp_path / "both", "--json", "-").json
    assert told["arms"]["experts"]["metrics"]["pass@1"]["value"] == 1.0 > told["metrics"]["pass@1"]["value"]
    assert {row["ending"] for row in lines(study / "answers", "experts.verdicts")} == {"passed"}
    # Programs that were run are not run again.
    monkeypatch.delattr("merilo.reports.study_programs.Jails")
    status = merilo("study", "status", study, "--show-estimate", "--json", "-").json
    assert status["estimate"]["value"] == told["metrics"]["pass@1"]["value"]


def test_programs_without_a_sandbox_are_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, _ = answered_study(tmp_path, EXAMPLES / "ruhumaneval.json", program)
    monkeypatch.setenv("PATH", str(tmp_path))
    refused = merilo("study", "baseline", study, "--out", tmp_path / "baseline")
    assert refused.status != 0
    assert "the programs that people wrote in" in refused.err
    assert "cannot be run, so there is no baseline" in refused.err
    assert "Traceback" not in refused.err
    assert not (tmp_path / "baseline").exists()


def test_programs_have_no_control_items_because_tests_check_each_of_them(tmp_path: Path) -> None:
    data = EXAMPLES / "ruhumaneval.json"
    refused = merilo("study", "create", data, "--controls", data, "--out", tmp_path / "study")
    assert refused.status == 2
    assert "each is checked by its tests in the sandbox: leave --controls out" in refused.complaint
