"""`merilo.audit` and `merilo audit` give the same result."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest
from command import merilo as run

import merilo

PEOPLE = ["ann", "bob", "cat", "dan", "eve"]


def write(path: Path, header: list[str], rows: list[list[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(header)
        table.writerows(rows)
    return path


def answers() -> list[list[object]]:
    return [
        [f"sum {n}", person, str(100 + 31 * n if (n, person) != (3, "bob") else 7)]
        for n in range(20)
        for person in PEOPLE
    ]


#: Gold 5 is wrong.
GOLD = {f"sum {n}": "5" if n == 5 else str(100 + 31 * n) for n in range(20)}


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    return write(tmp_path / "pool.csv", ["item", "annotator", "answer"], answers())


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return write(tmp_path / "gold.csv", ["item", "gold"], [[*pair] for pair in GOLD.items()])


def test_the_audit_of_files_is_that_of_the_command_to_the_byte(
    pool: Path, gold: Path, tmp_path: Path
) -> None:
    revised = write(tmp_path / "revised.csv", ["item", "revised_gold"], [["sum 5", "255"]])
    skills = write(tmp_path / "skills.csv", ["annotator", "skill"], [[person, 50] for person in PEOPLE])
    words = ("--gold", gold, "--revised", revised, "--skills", skills, "--open", "--min-votes", 3)
    done = run("audit", pool, *words, "--out", tmp_path / "command", "--json", "-")
    made = merilo.audit(pool, gold=gold, revised=revised, skills=skills, choice=False, min_votes=3)
    made.save(tmp_path / "library")
    assert json.loads(json.dumps(made.to_dict())) == done.json
    written = [
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("command", "library")
    ]
    assert written[0].pop("review.html")
    assert written[0] == written[1]
    assert (made.before.scores["acc"].value, made.after.scores["acc"].value) == (0.95, 1.0)
    assert made.provenance.command.endswith(" --open")
    with pytest.raises(merilo.OutputError, match="give force=True"):
        made.save(tmp_path / "library")


def test_an_audit_of_tables_names_the_call(tmp_path: Path) -> None:
    frame = pl.DataFrame(answers(), schema=["item", "annotator", "answer"], orient="row")
    made = merilo.audit(frame, gold=GOLD, choice=False)
    assert made.findings["gold"][0] == "5"
    assert (
        made.to_dict()["provenance"]["command"] == "merilo.audit(responses, gold='in memory', choice=False)"
    )


def test_the_accuracy_before_revision_is_that_of_the_baseline(pool: Path, gold: Path) -> None:
    made = merilo.audit(pool, gold=gold, dataset="lcs")
    assert made.before.settings == merilo.baseline(pool, gold=gold, dataset="lcs").settings
