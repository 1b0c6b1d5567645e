"""Answers of people that were scored elsewhere become a baseline without gold answers."""

import random
import re
from itertools import product
from pathlib import Path
from statistics import mean

import pytest
from tests.support.command import Outcome, merilo

PEOPLE, TASKS = range(12), range(15)

READING = """
item: task_name
annotator: hashed_id
columns: {score: solved, attempt: attempt_number, seconds: time}
"""


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def done(*words: object) -> Outcome:
    outcome = merilo(*words)
    assert outcome.status == 0, outcome.err + outcome.out
    return outcome


def tries() -> dict[tuple[int, int], list[int]]:
    """The attempts of each person at each task: up to three, none after a right one."""
    draw = random.Random(5)
    found = {}
    for person, task in product(PEOPLE, TASKS):
        one = [int(draw.random() < 0.7 - 0.03 * task) for _ in range(3)]
        found[person, task] = one[: one.index(1) + 1] if 1 in one else one
    return found


def attempts_table(path: Path) -> dict[tuple[int, int], list[int]]:
    """A table as public human data of ARC have it: a row an attempt, counted over all tasks of a person."""
    known, lines = tries(), ["hashed_id,task_name,attempt_number,time,solved"]
    for person in PEOPLE:
        number = 0
        for task in TASKS:
            for right in known[person, task]:
                number += 1
                lines.append(f"p{person},t{task},{number},{20 + task},{bool(right)}")
    path.write_text("\n".join(lines), encoding="utf-8")
    return known


def share(known: dict[tuple[int, int], list[int]], most: int) -> float:
    return mean(mean(max(known[person, task][:most]) for person in PEOPLE) for task in TASKS)


def test_a_table_of_scored_attempts_becomes_a_baseline_that_verifies(tmp_path: Path) -> None:
    known = attempts_table(tmp_path / "people.csv")
    (tmp_path / "reading.yaml").write_text(READING, encoding="utf-8")
    words = ("baseline", "people.csv", "--reading", "reading.yaml")
    result = done(*words, "--out", "baseline", "--json", "-").json
    assert result["metrics"]["acc"]["value"] == pytest.approx(share(known, 3))
    assert result["metrics"]["acc"]["n"] == len(TASKS)
    low, high = result["metrics"]["acc"]["ci95"]
    assert low < share(known, 3) < high
    assert result["provenance"]["command"] == "merilo baseline people.csv --reading reading.yaml"
    page = (tmp_path / "baseline" / "report.html").read_text("utf-8")
    assert not re.search(r"program|программ|pass@", re.sub(r"<style.*?</style>", "", page, flags=re.DOTALL))
    done("report", "baseline", "--out", "hb")
    assert "verified:" in done("verify", "hb").out
    (tmp_path / "model.csv").write_text("id,answer\nt0,passed\n", encoding="utf-8")
    assert "were scored elsewhere" in merilo("compare", "baseline", "model.csv").complaint


def test_one_row_a_person_is_read_as_one_row_an_answer(tmp_path: Path) -> None:
    known = tries()
    lines = ["participant,age," + ",".join(f"q{task}" for task in TASKS)]
    lines += [f"p{n},{20 + n}," + ",".join(str(known[n, task][0]) for task in TASKS) for n in PEOPLE]
    (tmp_path / "wide.csv").write_text("\n".join(lines), encoding="utf-8")
    scores = ", ".join(f"q{task}" for task in TASKS)
    (tmp_path / "reading.yaml").write_text(
        f"rows: person\ncolumns: {{score: [{scores}]}}\n", encoding="utf-8"
    )
    words = ("baseline", "wide.csv", "--reading", "reading.yaml", "--json", "-")
    assert done(*words).json["metrics"]["acc"]["value"] == pytest.approx(share(known, 1))
