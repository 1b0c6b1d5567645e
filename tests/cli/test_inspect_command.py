"""`merilo inspect` shows one decoded item, and writes a reading that works."""

import json
import shlex
from pathlib import Path

import pytest
from command import merilo
from exports import (
    MTURK,
    OLD_TOLOKA,
    delimited,
    mturk_row,
    old_toloka,
    row,
    small_pool,
    studio_csv,
    studio_records,
    toloka,
    written,
)


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_an_export_of_toloka(tmp_path: Path) -> None:
    rows = [
        *small_pool(),
        row("q0", "A6", "new", reward=""),
        row("q1", "B", "w0"),
        row("q2", "A", "w0", page="again"),
    ]
    pool = written(tmp_path / "p.tsv", toloka(rows))
    gold = written(tmp_path / "gold.csv", "question,gold\nq0,A\nq1,B\n")
    found = merilo("inspect", pool, "--gold", gold, "--json", "-")
    assert found.status == 0
    assert [one["platform"] for one in found.json["readings"]] == ["toloka"]
    one = found.json["summary"]
    assert one["rows"] == 28
    assert (one["annotators"], one["items"]) == (6, 4)
    assert one["overlap"] == {"6": 1, "5": 3}
    assert one["answers"] == {"distinct": 3, "top": {"A": 26, "A6": 1, "B": 1}}
    assert one["controls"] == {"items": 1, "rows": 5, "known": 5, "annotators": 5}
    assert one["repeats"] == {"equal": 1, "different": 1}
    assert (one["timed"], one["paid"]) == (28, 27)
    assert [near["label"] for near in one["near_spellings"]] == ["A"]
    item = found.json["item"]
    assert item["fields"] == {"question": "q0"}
    assert (item["answers"]["new"], item["answers"]["w1"], item["gold"]) == ("A6", "A", "A")
    assert found.json["gold"] == {"matched": 2, "items": 4}


@pytest.mark.parametrize("kind", ["old toloka", "min", "csv", "mturk", "table"])
def test_the_reading_that_it_writes_is_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "p.csv"
    if kind == "old toloka":
        written(path, delimited(OLD_TOLOKA, old_toloka(), ";"))
    elif kind == "min":
        path = written(tmp_path / "p.json", json.dumps(studio_records()))
    elif kind == "csv":
        studio_csv(path, studio_records())
    elif kind == "mturk":
        rows = [mturk_row(item, person, "yes") for item in range(2) for person in range(3)]
        written(path, delimited([*MTURK, "Answer.toxic"], rows))
    else:
        written(path, "task,worker,label\n" + "".join(f"t{n // 3},w{n % 3},A\n" for n in range(6)))
    shown = merilo("inspect", path, "--out", "reading.yaml")
    assert shown.status == 0, shown.err
    command = shown.out.strip().split("\n")[-1]
    assert command.strip() == f"merilo baseline {path} --reading reading.yaml"
    plain = merilo("baseline", path, "--json", "-").json
    read = merilo(*shlex.split(command)[1:], "--json", "-").json
    assert read["items"] == plain["items"]
    assert read["agreement"] == plain["agreement"]
    refused = merilo("inspect", path, "--out", "reading.yaml")
    assert "reading.yaml" in refused.complaint
    assert "--force" in refused.complaint


def test_several_answer_columns_are_as_many_readings(tmp_path: Path) -> None:
    rows = [mturk_row(0, person, "yes", "4") for person in range(3)]
    path = written(tmp_path / "p.csv", delimited([*MTURK, "Answer.toxic", "Answer.grade"], rows))
    found = merilo("inspect", path, "--out", "reading.yaml", "--json", "-")
    assert found.status == 1
    assert [one["answer"] for one in found.json["readings"]] == [["toxic"], ["grade"]]
    assert "declares nothing" in merilo("baseline", path, "--reading", "reading.yaml").complaint
    assert merilo("inspect", path, "--answer", "grade").status == 0


def test_numbered_questions_are_proposed(tmp_path: Path) -> None:
    text = "worker,text1,text2,label1,label2\n" + "".join(f"w{n},a,b,yes,no\n" for n in range(3))
    path = written(tmp_path / "p.csv", text)
    assert merilo("inspect", path, "--out", "reading.yaml").status == 0
    found = merilo("baseline", path, "--reading", "reading.yaml", "--json", "-").json
    assert (found["items"]["total"], found["responses"]["total"]) == (2, 6)


def test_gold_answers_that_do_not_match_end_with_status_1(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka(small_pool()))
    other = written(tmp_path / "gold.csv", "question,gold\nelsewhere,A\n")
    found = merilo("inspect", pool, "--gold", other, "--json", "-")
    assert found.status == 1
    assert "no row matches an item of the pool" in found.json["fault"]
    assert found.json["item"]["gold"] is None


#: Words after `inspect p.tsv` in a folder with `empty`, `zeros` and `folder/`, and what is said of them.
REFUSED = [
    *((f"{option} {file}", f"{file}: {reason}") for option in ("", "--gold", "--reading") for file, reason in (
        ("nowhere", "there is no such file"), ("folder", "is a folder, not a file"),
    )),
    *((f"{option} empty", "empty: the file is empty") for option in ("", "--gold")),
    *((f"{option} zeros", "zeros: is not a table of text") for option in ("", "--gold")),
    ("--reading empty", "empty: declares nothing"),
    ("--reading field.yaml", "field.yaml, people: is not a field of this declaration"),
    ("--gold p.tsv --gold-column x", "there is no column 'x'"),
    ("--gold other.csv", "items have question, the file has word, gold"),
    ("--gold-column x", "--gold-column needs --gold"),
    ("--force", "--force: replaces an existing --out: give --out too"),
    ("--json folder", "folder: is a folder; name a file"),
    ("--json p.tsv/x", "p.tsv is not a folder)"),
    ("--out p.tsv --force", "would be overwritten together with the input file"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "sentence"), REFUSED)
def test_what_cannot_be_inspected_is_one_sentence_and_writes_nothing(words: str, sentence: str) -> None:
    written(Path("p.tsv"), toloka(small_pool()))
    for name, text in (
        ("empty", ""),
        ("zeros", "\0\0"),
        ("field.yaml", "people: x"),
        ("other.csv", "word,gold\nq0,A\n"),
    ):
        written(Path(name), text)
    Path("folder").mkdir()
    before = sorted(Path().iterdir())
    outcome = merilo("inspect", "p.tsv", *words.split())
    assert (outcome.status, outcome.out) == (2, "")
    assert sentence in outcome.complaint
    assert sorted(Path().iterdir()) == before


def test_an_answer_cannot_steer_the_terminal(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka([row("q", "\x1b[2J[bold]", f"w{n}") for n in range(3)]))
    shown = merilo("inspect", pool).out
    assert "\x1b" not in shown
    assert "[bold]" in shown
