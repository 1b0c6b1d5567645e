"""`merilo.expert_baseline` and `merilo experts baseline` give the same result."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest
from command import merilo as run

import merilo
from merilo.people.reading import StudyResponses

EXPERTS = ["ann", "bob", "cat", "dan", "eve"]
HEADER = ["question", "annotator", "answer", "own"]
GOLD = {f"question {n}": "ABCD"[n % 4] for n in range(20)}


def write(path: Path, header: list[str], rows: list[list[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(header)
        table.writerows(rows)
    return path


def experts(skip: str) -> list[list[object]]:
    """Each expert wrote a fifth of the questions and skips them; expert ann has 4 wrong."""
    return [
        [text, who, skip if n % 5 == place else "A" if who == "ann" and n < 5 else right, int(n % 5 == place)]
        for n, (text, right) in enumerate(GOLD.items())
        for place, who in enumerate(EXPERTS)
    ]


def people() -> list[list[object]]:
    return [
        [text, f"p{place}", right if n % 3 else "C" if right == "D" else "D", 0]
        for n, (text, right) in enumerate(GOLD.items())
        for place in range(5)
    ]


COLUMNS = {"item": "question", "annotator": "annotator", "answer": "answer"}
WORDS = ("--item", "question", "--annotator", "annotator", "--answer", "answer")


def read(source: Path | pl.DataFrame) -> StudyResponses:
    return merilo.read_responses(source, **COLUMNS)


def test_the_result_of_files_is_that_of_the_command_to_the_byte(tmp_path: Path) -> None:
    ours = write(tmp_path / "experts.csv", HEADER, experts("skip"))
    theirs = write(tmp_path / "people.csv", HEADER, people())
    gold = write(tmp_path / "gold.csv", ["question", "gold"], [[*pair] for pair in GOLD.items()])
    words = (
        "--people",
        theirs,
        "--gold",
        gold,
        "--mine",
        "skip",
        "--mine-column",
        "own",
        *WORDS,
    )
    done = run("experts", "baseline", ours, *words, "--out", tmp_path / "command", "--json", "-")
    made = merilo.expert_baseline(
        read(ours),
        people=read(theirs),
        gold=gold,
        mine=("skip",),
        mine_column="own",
    )
    made.save(tmp_path / "library")
    assert json.loads(json.dumps(made.to_dict())) == done.json
    written = [
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("command", "library")
    ]
    assert written[0] == written[1]
    assert made.comparison.second == made.scored.scores.main["acc"].value == 1.0
    assert made.comparison.value > 0


def test_tables_give_the_numbers_of_files(tmp_path: Path) -> None:
    ours = write(tmp_path / "experts.csv", HEADER, experts("пропустить"))
    frame = pl.DataFrame(
        [[str(cell) for cell in row] for row in experts("пропустить")], schema=HEADER, orient="row"
    )
    others = pl.DataFrame([[str(cell) for cell in row] for row in people()], schema=HEADER, orient="row")
    of_file = merilo.expert_baseline(read(ours), gold=GOLD, mine=["пропустить"])
    of_table = merilo.expert_baseline(read(frame), people=read(others), gold=GOLD, mine=["пропустить"])
    assert of_table.scored.scores == of_file.scored.scores
    assert of_table.items.equals(of_file.items)
    command = of_table.to_dict()["provenance"]["command"]
    assert command.startswith(
        "merilo.expert_baseline(responses, people='in memory', mine=['пропустить'], gold='in memory', "
    )


def test_a_study_without_marks_names_the_arguments(tmp_path: Path) -> None:
    frame = pl.DataFrame([row[:3] for row in people()], schema=HEADER[:3], orient="row")
    with pytest.raises(
        merilo.UsageError, match=r"with mine or the column of marks with mine_column .*protocol='basic'"
    ):
        merilo.expert_baseline(read(frame), gold=GOLD)
    basic = merilo.expert_baseline(read(frame), gold=GOLD, protocol="basic")
    assert basic.items is None
    assert basic.scored.scores.main["acc"].value == pytest.approx(13 / 20)
