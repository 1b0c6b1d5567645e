"""`merilo demo`: two studies on the annotation site, from the items to the comparison, the same with the same seed."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from command import merilo
from exports import csv_rows
from made_once import made_demo

from merilo import datasets
from merilo.cli.demo import difficulty
from merilo.people.simulation import SIMULATED_PREFIX
from merilo.site.serving import read_site
from merilo.site.simulated_people import collect_from_simulated_people


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_demo(tmp_path_factory) / "merilo-demo"


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_answers_at_the_same_times(demo: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    shutil.copytree(demo / "everyday" / "study", study)
    for path in study.glob("site.db*"):
        path.unlink()
    collect_from_simulated_people(study, seed=1, difficulty=difficulty(demo / "everyday"))
    assert merilo("study", "collect", study, "--out", tmp_path / "answers.csv").status == 0
    assert (tmp_path / "answers.csv").read_bytes() == (demo / "everyday" / "answers.csv").read_bytes()


def test_every_item_has_exactly_its_overlap_and_everybody_is_simulated(demo: Path) -> None:
    for name, items in (("everyday", 80), ("lcs", 100)):
        folder = demo / name
        baseline = json.loads((folder / "hb" / "baseline.json").read_text(encoding="utf-8"))
        assert "simulated" in {one["code"] for one in baseline["findings"]}
        rows = csv_rows(folder / "answers.csv")
        assert all(row["respondent"].startswith(SIMULATED_PREFIX) for row in rows)
        assert max(Counter((row["respondent"], row["task"]) for row in rows).values()) == 1
        site = read_site(folder / "study")
        counted = Counter(
            task.task
            for person in site.people.values()
            for task in person.tasks.values()
            if task.counts and task.state == "answered"
        )
        assert list(counted.values()) == [5] * items


def test_the_demo_prints_its_commands_and_ends_by_naming_pages_that_say_that_people_are_simulated(
    demo: Path,
) -> None:
    lines = (demo.parent / "printed.txt").read_text(encoding="utf-8").splitlines()
    ran = [tuple(line.split()[2:4]) for line in lines if line.startswith("$ merilo ")]
    assert ran[:3] == [("datasets", "new"), ("study", "create"), ("study", "freeze")]
    assert Counter(words[0] for words in ran) == Counter(
        datasets=3, study=10, run=2, compare=2, leaderboard=1
    )
    named = [line.split()[0].rstrip(":") for line in lines if line.startswith("  merilo-demo/")]
    assert [Path(name).name for name in named] == [
        "report.html",
        "items.html",
        "report.html",
        "comparison.html",
        "index.html",
    ]
    for name in named:
        assert "simulated annotators" in (demo.parent / name).read_text(encoding="utf-8")
    board = json.loads((demo / "leaderboard" / "leaderboard.json").read_text(encoding="utf-8"))
    assert list(dict.fromkeys(row["dataset"] for row in board["rows"])) == ["everyday", "lcs"]
    assert len({row["model"] for row in board["rows"]}) == 3


def test_the_questions_are_a_sound_benchmark() -> None:
    folder = Path(datasets.__file__).parent / "everyday"
    rows = {
        name: [json.loads(line) for line in (folder / f"{name}.jsonl").read_text("utf-8").splitlines()]
        for name in ("questions", "solved")
    }
    everything = [*rows["questions"], *rows["solved"]]
    assert [len(part) for part in rows.values()] == [80, 40]
    assert len({row["question"] for row in everything}) == 120
    assert all(len(set(row["choices"])) == 4 for row in everything)
    for part in rows.values():
        assert Counter(row["answer"] for row in part) == dict.fromkeys(range(4), len(part) // 4)
        assert len({*Counter(row["subject"] for row in part).values()}) == 1


def test_the_benchmark_is_english_from_the_questions_to_the_published_folder(demo: Path) -> None:
    folder = demo / "everyday"
    assert not any("а" <= letter <= "я" for letter in (folder / "everyday.yaml").read_text("utf-8").lower())
    assert [path.name for path in (folder / "study").glob("instruction.*")] == ["instruction.en.md"]
    assert merilo("verify", folder / "hb").status == 0
    compared = merilo(*("compare", folder / "hb", folder / "simulated-model.jsonl", "--json", "-")).json
    stated = re.compile(r"\(([A-D])\)\.$|^\*\*([A-D])\.|(?:^|is |Answer: )([A-D])\.?$")
    log = [json.loads(line) for line in (folder / "simulated-model.jsonl").read_text("utf-8").splitlines()]
    right = sum(row["target"] in stated.search(row["resps"][0][0]).groups() for row in log)
    assert compared["rows"][0]["score"]["value"] == right / len(log) == 0.8


def test_of_several_datasets_a_declaration_beside_the_folder_of_items_names_its_own(
    demo: Path, tmp_path: Path
) -> None:
    declaration = demo / "everyday" / "everyday.yaml"
    ask = ("run", "--model", "random", "--shots", "0", "--data", tmp_path / "data")
    (tmp_path / "data").mkdir()
    shutil.copy(demo / "lcs" / "test.json", tmp_path / "data" / "lcs.json")
    both = merilo(*ask, "--datasets", f"{declaration},lcs", "--out", tmp_path / "run", "--json", "-")
    assert {name: one["items"] for name, one in both.json["datasets"].items()} == {"everyday": 80, "lcs": 100}
    alone = merilo(*ask, "--datasets", declaration, "--out", tmp_path / "alone")
    assert alone.status == 2
    assert "has no items of everyday" in alone.complaint


def test_an_earlier_demo_is_replaced_only_by_force_and_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "notes.txt").write_text("mine", encoding="utf-8")
    refused = merilo("demo", "--out", tmp_path / "demo", "--no-open")
    assert refused.status == 2
    assert "--force" in refused.complaint
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["notes.txt"]


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "demo", "/proc/nowhere/demo", tmp_path / ("x" * 300)):
        refused = merilo("demo", "--out", place, "--no-open")
        assert (refused.status, "written (" in refused.complaint) == (2, True), refused
