"""Every dataset from its file to the comparison with a model: the values at the end follow from what people answered.

The values are computed here again from the simulated answers, with plain majorities and the formulas of the benchmark's
documents. A row of the table says how people answer a dataset and what comes out. Only commands and files are used.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb, prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command import merilo
from programming import need_a_jail, write_lines
from small_media import png
from walked_road import (
    PEOPLE,
    AnsweredItem,
    Choices,
    Entry,
    WalkedRoad,
    answer_study,
    answered_study,
    done,
    experts_answer,
    walk,
)

import merilo as package
from merilo.metrics.detox import Ratings

EXAMPLES = Path(package.__file__).parent / "datasets" / "examples"

#: An item with an answer to it, of people or of a model.
Pair = tuple[Entry, Any]
#: Metric -> its value and the number of items behind it.
Values = dict[str, tuple[float, int]]


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
    return item["meta"]["canonical_solution"], "    return None", "    raise ValueError", "    pass"


# The metrics, as the benchmark's documents define them.


def accuracy(pairs: Sequence[Pair]) -> float:
    return sum(answer == item["outputs"] for item, answer in pairs) / len(pairs)


def f1_macro(pairs: Sequence[Pair]) -> float:
    golds, answers = [item["outputs"] for item, _ in pairs], [answer for _, answer in pairs]
    classes = {*golds, *answers}
    scores = []
    for one in classes:
        both = sum(gold == answer == one for gold, answer in zip(golds, answers, strict=True))
        scores.append(2 * both / (golds.count(one) + answers.count(one)))
    return sum(scores) / len(classes)


def _tokens(text: str) -> list[str]:
    return re.sub(r"[^\w\s]", "", text.lower()).split()


def exact(pairs: Sequence[Pair]) -> float:
    return sum(
        any(_tokens(answer) == _tokens(gold) for gold in item["outputs"].split(";")) for item, answer in pairs
    ) / len(pairs)


def token_f1(pairs: Sequence[Pair]) -> float:
    def one(gold: list[str], answer: list[str]) -> float:
        return 2 * (Counter(gold) & Counter(answer)).total() / (len(gold) + len(answer))

    return sum(
        max(one(_tokens(gold), _tokens(answer)) for gold in item["outputs"].split(";"))
        for item, answer in pairs
    ) / len(pairs)


def grade(pairs: Sequence[Pair]) -> float:
    """The share of the points: 34 for a whole variant."""
    return sum(_points(item, answer) for item, answer in pairs) / sum(
        item["meta"]["score"] for item, _ in pairs
    )


def _points(item: Entry, answer: str) -> int:
    gold, kind = item["outputs"], item["meta"]["type"]
    if kind == "text":
        return int("".join(filter(str.isalpha, answer.lower())) in gold.split(","))
    given, right = answer.split(","), gold.split(",")
    if kind == "matching":
        return sum(map(str.__eq__, given, right)) if len(given) == len(right) else 0
    if item["meta"]["id_task"] == "16":
        faults = max(len({*right} - {*given}), len({*given} - {*right}))
        return max(0, 2 - faults)
    return int({*given} == {*right})


def correlation(pairs: Sequence[tuple[str, str]]) -> float:
    """Matthews' correlation of two 0/1 variables; 0 where one of them is constant."""
    table = Counter(pairs)
    both = prod(table[one, one] for one in "01") - table["0", "1"] * table["1", "0"]
    sums = prod(sum(pair[place] == one for pair in pairs) for place in (0, 1) for one in "01")
    return both / sqrt(sums) if sums else 0.0


# What comes out of a dataset: metric -> value and number of items.


def means(**metrics: Callable[[Sequence[Pair]], float]) -> Callable[[Sequence[Pair]], Values]:
    return lambda pairs: {name: (metric(pairs), len(pairs)) for name, metric in metrics.items()}


def by_field(
    field: str, name: str = "acc.{}", metric: Callable[[Sequence[Pair]], float] = accuracy
) -> Callable[[Sequence[Pair]], Values]:
    """The metric on all items, and on those of each value of a field."""

    def values(pairs: Sequence[Pair]) -> Values:
        groups: dict[str, list[Pair]] = {}
        for item, answer in pairs:
            groups.setdefault({**item["inputs"], **item["meta"]}[field], []).append((item, answer))
        return {
            name.partition(".")[0]: (metric(pairs), len(pairs)),
            **{name.format(value): (metric(group), len(group)) for value, group in groups.items()},
        }

    return values


def correlations(pairs: Sequence[Pair]) -> Values:
    """The answers to each of the three questions against each of the five criteria."""
    found = {}
    for question in ("correct", "good", "ethical"):
        asked = [(item, answer) for item, answer in pairs if item["meta"]["question"] == question]
        for criterion in ("virtue", "law", "moral", "justice", "utilitarianism"):
            both = [
                (item["outputs"][criterion], answer[criterion] if isinstance(answer, Mapping) else answer)
                for item, answer in asked
            ]
            found[f"{question}.{criterion}"] = correlation(both), len(both)
    return found


@dataclass(frozen=True)
class Road:
    """How a dataset is answered, and what comes out.

    Attributes:
        choices: what people can answer.
        values: pairs of item and answer -> metric -> value and number of items; the main metric first.
        where: the site, or the platform whose export people fill in.
    """

    choices: Choices
    values: Callable[[Sequence[Pair]], Values]
    where: str = "site"


ACC = means(acc=accuracy)
ACC_F1 = means(acc=accuracy, f1_macro=f1_macro)
EM = means(em=accuracy)
F1_EM = means(f1=token_f1, em=exact)

ROADS = {
    "bps": Road(label, ACC),
    "chegeka": Road(words, F1_EM),
    "lcs": Road(label, ACC),
    "mamuramu": Road(label, by_field("domain")),
    "mathlogicqa": Road(label, ACC),
    "multiq": Road(words, F1_EM),
    "parus": Road(label, ACC, "toloka"),
    "rcb": Road(label, ACC_F1, "table"),
    "ruethics": Road(act, correlations),
    "ruhatespeech": Road(label, by_field("target_group")),
    "ruhhh": Road(label, by_field("criteria")),
    "rummlu": Road(label, by_field("domain")),
    "rumodar": Road(integer, EM),
    "rumultiar": Road(integer, EM),
    "ruopenbookqa": Road(label, ACC_F1),
    "rutie": Road(label, ACC, "abc"),
    "ruworldtree": Road(label, ACC_F1),
    "rwsd": Road(label, ACC, "label-studio"),
    "simplear": Road(integer, EM, "mturk"),
    "use": Road(exam, by_field("id_task", "grade_norm.task{}", grade)),
}

#: The datasets whose answers are programs, with every person's program as a sample.
PROGRAMS = ("rucodeeval", "ruhumaneval")


def sums(folder: Path) -> Path:
    """Write a dataset of 24 sums in two domains, with 12 solved ones, and 3 for the training beside it."""
    folder.mkdir()

    def item(number: int) -> dict[str, Any]:
        options = [f"{3 * number + step}" for step in (0, 1, 2)]
        return {
            "instruction": 0,
            "inputs": {"question": f"{number} + {2 * number} = ?", **dict(zip("abc", options, strict=True))},
            "outputs": "первый",
            "meta": {"id": number, "domain": "малые" if number < 13 else "большие"},
        }

    for name, numbers in {"test": (1, 25), "shots": (25, 37), "training": (37, 40)}.items():
        place = folder.parent if name == "training" else folder
        split = {"data": [item(number) for number in range(*numbers)]}
        (place / f"{name}.json").write_text(json.dumps(split), encoding="utf-8")
    (folder / "dataset.yaml").write_text(SUMS, encoding="utf-8")
    return folder


SUMS = """\
name: sums
title: Sums
fields: [question, a, b, c]
answer: {kind: choice, labels: [первый, второй, третий]}
metrics: [acc]
extra: acc.{domain}
prompts: ["{question}\\nпервый: {a}\\nвторой: {b}\\nтретий: {c}\\nОтвет:"]
"""

PICTURES = """\
name: flags
title: Flags
fields: [question, image]
media: [image]
answer: {kind: text}
metrics: [em]
prompts: ["<image>\\n{question}\\nОтвет:"]
"""


def pictures(folder: Path) -> Path:
    """Write a dataset of eight questions about pictures, with two solved ones and the pictures."""
    (folder / "samples").mkdir(parents=True)
    entries = []
    for number in range(1, 11):
        name = f"samples/flag_{number}.png"
        (folder / name).write_bytes(png(colour=(20 * number, 0, 0)))
        entries.append({
            "instruction": 0,
            "inputs": {"question": f"Что это за флаг № {number}?", "image": name},
            "outputs": f"Страна {number}",
            "meta": {"id": number},
        })  # fmt: skip
    for split, part in (("test", entries[:8]), ("shots", entries[8:])):
        (folder / f"{split}.json").write_text(json.dumps({"data": part}), encoding="utf-8")
    (folder / "dataset.yaml").write_text(PICTURES, encoding="utf-8")
    return folder


def check(walked: WalkedRoad, road: Road) -> None:
    """Compare every value that the commands told with the one that follows from the answers."""
    assert walked.consensus_file() == {one.id: one.consensus.lower() for one in walked.items}
    items = walked.baseline["items"]
    assert items["total"] == items["consensus"] == len(walked.items)
    assert walked.baseline["status"] == "accepted", walked.baseline["reasons"]

    people = road.values([(one.item, one.consensus) for one in walked.items])
    told = walked.baseline["metrics"]
    assert {name: (found["value"], found["n"]) for name, found in told.items()} == close(people)
    published = walked.published["metrics"]
    closed = not (walked.root / "hb" / "raw" / "gold.csv").exists()
    for name, found in told.items():
        if found["n"] == 1:
            assert found["ci95"] is None, name
            assert found["reason"].startswith("no interval"), name
        else:
            low, high = found["ci95"]
            assert low <= found["value"] <= high, f"{name}: {found}"
        if closed and (found["value"] in {0, 1} or ("." in name and published[name]["value"] is None)):
            assert published[name]["value"] is None, "the value would tell gold answers"
            continue
        for part in ("value", "n", "ci95"):
            # Values of closed gold answers are published with three decimals.
            assert published[name][part] == pytest.approx(found[part], abs=5e-4)
    assert walked.verified["verified"] is True

    assert {value for value, _ in walked.runs["gold"].values()} == {1.0}
    for model, values in walked.runs.items():
        said = walked.said[model]
        expected = close(road.values([(one.item, said[one.id]) for one in walked.items]))
        assert values == expected, model
        compared = walked.compared[model]
        assert {*compared} == ({*people} if road.values is correlations else {next(iter(people))})
        for main, one in compared.items():
            row = one["consensus"]
            assert (row["people"]["value"], row["people"]["n"]) == close(people)[main]
            assert (row["score"]["value"], row["score"]["n"]) == expected[main]


def check_programs(walked: WalkedRoad) -> None:
    """Compare pass@k of people, and of each person, with what follows from who wrote the right program."""
    right = [
        [answer == one.item["meta"]["canonical_solution"] for answer in one.answers] for one in walked.items
    ]
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
        published = walked.published["metrics"][f"pass@{k}"]
        if found["value"] not in {0, 1}:
            assert published["ci95"] == pytest.approx([low, high], abs=5e-4)
    mean = sum(map(sum, right)) / (items * people)
    single = walked.baseline["single_person"]
    assert single["value"] == told["pass@1"]["value"] == pytest.approx(mean)
    assert single["ci95"] == told["pass@1"]["ci95"]

    of_people = sorted(sum(passed[person] for passed in right) for person in range(people))
    table = walked.people_file()
    assert sorted(int(one["passed"]) for one in table) == of_people
    for one in table:
        assert float(one["pass@1"]) == pytest.approx(int(one["passed"]) / items)
        assert float(one["pass@1_low"]) <= float(one["pass@1"]) <= float(one["pass@1_high"])

    assert walked.baseline["status"] == "accepted"
    assert walked.baseline["items"]["consensus"] == 0
    assert walked.baseline["resolved_by"]["each_answer"] == items
    assert walked.baseline["agreement"]["krippendorff_alpha"] is None
    assert {*walked.consensus_file().values()} == {""}
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


def close(values: Values) -> dict[str, Any]:
    """The values as printed: rounded to six digits."""
    return {name: (pytest.approx(value, abs=1e-6), n) for name, (value, n) in values.items()}


def test_every_dataset_of_the_catalogue_has_a_road() -> None:
    listed = merilo("datasets", "list", "--json", "-").json
    assert {one["name"] for one in listed["datasets"]} == {*ROADS, *PROGRAMS, "rudetox"}


@pytest.mark.parametrize("name", [*ROADS])
def test_a_dataset_goes_from_its_file_to_the_comparison_with_a_model(name: str, tmp_path: Path) -> None:
    road = ROADS[name]
    check(walk(tmp_path, EXAMPLES / f"{name}.json", road.choices, where=road.where), road)


def test_an_own_dataset_with_training_is_answered_after_a_careless_person_is_stopped(tmp_path: Path) -> None:
    data = sums(tmp_path / "dataset")
    options = ("--audience", "basic", "--training", tmp_path / "training.json", "--control-share", 0.25)
    walked = walk(tmp_path, data, label, options=options)
    check(walked, Road(label, by_field("domain")))
    assert walked.baseline["annotators"]["excluded"] == 1


@pytest.mark.parametrize("where", ["site", "toloka"])
def test_an_own_dataset_with_texts_as_ids_is_walked_to_its_end(where: str, tmp_path: Path) -> None:
    data, ids = sums(tmp_path / "dataset"), {}
    for split in data.glob("*.json"):
        content = json.loads(split.read_text(encoding="utf-8"))
        for entry in content["data"]:
            # Some texts look like numbers, and some only differ by a zero.
            number = entry["meta"]["id"]
            ids[number] = entry["meta"]["id"] = (f"sum/{number}", f"0{number}", f"{number}", f"№ {number}")[number % 4]  # fmt: skip
        split.write_text(json.dumps(content), encoding="utf-8")
    assert done("datasets", "validate", data, "--json", "-").json["problems"] == []
    walked = walk(tmp_path, data, label, where=where, options=("--audience", "basic"))
    check(walked, Road(label, by_field("domain")))
    assert {one.item["meta"]["id"] for one in walked.items} == {ids[number] for number in range(1, 25)}
    assert walked.said["gold"].keys() == {one.id for one in walked.items}
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
    check(walked, Road(label, ACC))
    assert {len(one.item["inputs"]) for one in walked.items} == {4, 5}


def test_pictures_are_shown_to_people_and_their_answers_compared(tmp_path: Path) -> None:
    walked = walk(tmp_path, pictures(tmp_path / "dataset"), words, options=("--audience", "basic"))
    check(walked, Road(words, EM))


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

    for project in ("meaning", "fluent", "inoffensive"):

        def answer(item: Entry, project: str = project) -> tuple[str, ...]:
            known = item["outputs"]
            if known:  # a control item
                return *(known for _ in range(PEOPLE)), str(1 - int(known))
            right = JUDGED[item["meta"]["id"]][project]
            return *("1" if person < right else "0" for person in range(PEOPLE)), "0"

        answer_study(tmp_path, studies / project, answer)
        known = [json.loads(line) for line in (studies / project / "controls.jsonl").read_text(encoding="utf-8").splitlines()]  # fmt: skip
        assert {one["outputs"] for one in known} == {"0", "1"}
        instruction = (studies / project / "instruction.ru.md").read_text(encoding="utf-8")
        assert "Перепишите" not in instruction
        assert "модель" not in instruction.split("## Ограничения")[0]
        made = merilo("study", "baseline", studies / project, "--json", "-").json
        assert made["items"]["total"] == len(pairs)
        assert made["annotators"]["excluded"] == 1

    fields = {"meaning": ["toxic_comment", "neutral_comment"], "fluent": ["neutral_comment"], "inoffensive": ["neutral_comment"]}  # fmt: skip
    accepted = {}
    for project, shown in fields.items():
        done("study", "baseline", studies / project, "--out", studies / project / "baseline")
        consensus = pl.read_csv(studies / project / "baseline" / "consensus.csv", infer_schema=False)
        accepted[project] = consensus.filter(pl.col("label") == "1").select(shown)
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


def test_experts_who_were_invited_are_published_beside_people(tmp_path: Path) -> None:
    walked = walk(tmp_path, EXAMPLES / "rummlu.json", label)
    # The experts agree with the people except on the last two items, where people were right and all experts are wrong.
    items = [
        replace(one, answers=5 * (label(one.item, list("ABCD"))[1],))
        if place >= len(walked.items) - 2
        else one
        for place, one in enumerate(walked.items)
    ]
    experts_answer(tmp_path, items)
    study = tmp_path / "study"
    told = done("study", "baseline", study, "--out", study / "baseline", "--force", "--json", "-").json
    right = accuracy([(one.item, one.consensus) for one in items])
    found = told["arms"]["experts"]["metrics"]["acc"]
    assert (found["value"], found["n"]) == close({"acc": (right, len(items))})["acc"]
    done("report", study, "--out", tmp_path / "both")
    assert done("verify", tmp_path / "both", "--json", "-").json["verified"] is True
    published = json.loads((tmp_path / "both" / "baseline.json").read_text(encoding="utf-8"))
    assert published["arms"]["experts"]["metrics"]["acc"]["value"] == found["value"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_people_are_run_in_the_sandbox_and_compared_with_a_model(
    name: str, tmp_path: Path
) -> None:
    need_a_jail()
    check_programs(walk(tmp_path, EXAMPLES / f"{name}.json", program, run_options=("--samples", 1)))


def test_programs_of_experts_are_run_and_stand_beside_those_of_people(tmp_path: Path) -> None:
    need_a_jail()
    study = answered_study(tmp_path, EXAMPLES / "rucodeeval.json", program)
    lines = (study / "items.jsonl").read_text(encoding="utf-8").splitlines()
    items = [
        AnsweredItem(item, PEOPLE * (item["meta"]["canonical_solution"],)) for item in map(json.loads, lines)
    ]
    experts_answer(tmp_path, items)
    told = done("study", "baseline", study, "--out", tmp_path / "baseline", "--json", "-").json
    assert told["arms"]["experts"]["metrics"]["pass@1"]["value"] == 1.0 > told["metrics"]["pass@1"]["value"]
    run = (study / "answers" / "experts.verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["ending"] for line in run} == {"passed"}


def test_programs_without_a_sandbox_are_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = answered_study(tmp_path, EXAMPLES / "ruhumaneval.json", program)
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


@pytest.mark.thorough
def test_a_program_that_gives_the_right_answer_in_another_way_counts_as_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_a_jail()

    def rewritten(item: Entry, _: Sequence[str]) -> tuple[str, ...]:
        right = f"    # mine\n{item['meta']['canonical_solution']}"
        return right, "    while True:\n        pass", "    import os\n    os._exit(0)", "    return ("

    study = answered_study(tmp_path, EXAMPLES / "rucodeeval.json", rewritten)
    made = merilo("study", "baseline", study, "--out", tmp_path / "baseline", "--json", "-")
    assert made.status == 0, made.err
    rows = [
        json.loads(line)
        for line in (study / "answers" / "people.verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert {row["ending"] for row in rows if "# mine" in row["program"]} == {"passed"}
    assert {row["answer"] for row in rows if "# mine" not in row["program"]} == {"failed"}
    mean = sum("# mine" in row["program"] for row in rows) / len(rows)
    assert made.json["metrics"]["pass@1"]["value"] == pytest.approx(mean)
    # Programs that were run are not run again.
    monkeypatch.delattr("merilo.reports.study_programs.Jails")
    status = merilo("study", "status", study, "--show-estimate", "--json", "-")
    assert status.json["estimate"]["value"] == pytest.approx(mean)
