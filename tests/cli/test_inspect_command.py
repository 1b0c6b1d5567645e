"""`merilo inspect` describes an export and prints a command that works."""

import json
import re
import shlex
from pathlib import Path

import pytest
from command import merilo
from exports import row, small_pool, toloka, written
from platform_files import MTURK, OLD_TOLOKA, delimited, mturk_row, old_toloka, studio_csv, studio_records

from merilo.cli import COMMANDS


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The suggested command makes a folder where it runs."""
    monkeypatch.chdir(tmp_path)


def runs(command: str) -> int:
    return merilo(*shlex.split(command)[1:]).status


def test_an_export_of_toloka(tmp_path: Path) -> None:
    rows = [
        *small_pool(),
        row("q0", "A6", "new", reward=""),
        row("q1", "B", "w0"),
        row("q2", "A", "w0", page="again"),
    ]
    pool = written(tmp_path / "p.tsv", toloka(rows))
    found = merilo("inspect", pool, "--json", "-")
    assert found.status == 0
    assert found.json["platform"] == "toloka"
    assert found.json["fields"] == ["question"]
    one = found.json["answer_columns"]["OUTPUT:answer"]
    assert one["rows"] == 28
    assert (one["annotators"], one["items"]) == (6, 4)
    assert one["overlap"] == {"6": 1, "5": 3}
    assert one["answers"] == {"distinct": 3, "top": {"A": 26, "A6": 1, "B": 1}}
    assert one["controls"] == {"items": 1, "rows": 5, "known": 5, "annotators": 5}
    assert one["repeats"] == {"equal": 1, "different": 1}
    assert (one["timed"], one["paid"]) == (28, 27)
    assert [near["option"] for near in one["near_spellings"]] == ["--recode A6=A"]
    assert found.json["command"].endswith("--repeats first --out baseline")
    assert runs(found.json["command"]) == 0


@pytest.mark.parametrize("kind", ["old toloka", "min", "csv", "mturk"])
def test_the_command_that_it_prints_works_for_every_platform(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "p.csv"
    if kind == "old toloka":
        written(path, delimited(OLD_TOLOKA, old_toloka(), ";"))
    elif kind == "min":
        path = written(tmp_path / "p.jsonl", "").with_suffix(".json")
        written(path, json.dumps(studio_records()))
    elif kind == "csv":
        studio_csv(path, studio_records())
    else:
        written(
            path,
            delimited([*MTURK, "Answer.x"], [mturk_row(i, p, "yes") for i in range(3) for p in range(3)]),
        )
    outcome = merilo("inspect", path)
    assert outcome.status == 0
    command = outcome.out.strip().splitlines()[-1].strip()
    assert command == f"merilo baseline {path} --out baseline"
    assert runs(command) == 0


def test_several_answer_columns_are_all_listed(tmp_path: Path) -> None:
    rows = [mturk_row(i, p, "yes", "3") for i in range(3) for p in range(3)]
    path = written(tmp_path / "b.csv", delimited([*MTURK, "Answer.toxic", "Answer.grade"], rows))
    found = merilo("inspect", path, "--json", "-").json
    assert {name: one["answers"]["top"] for name, one in found["answer_columns"].items()} == {
        "toxic": {"yes": 9},
        "grade": {"3": 9},
    }
    assert found["command"].endswith("--answer toxic --out baseline")
    assert runs(found["command"]) == 0
    assert "Choose the column of answers with --answer" in merilo("inspect", path).out
    one = merilo("inspect", path, "--answer", "grade", "--json", "-").json
    assert list(one["answer_columns"]) == ["grade"]
    assert one["command"].endswith("--answer grade --out baseline-2")


def test_columns_of_a_plain_table_are_guessed_and_named(tmp_path: Path) -> None:
    rows = "".join(f"sentence {i},turker {p},good,note {i}{p}\n" for i in range(4) for p in range(3))
    path = written(tmp_path / "p.csv", "sentence,turker,my_label,note\n" + rows)
    found = merilo("inspect", path, "--json", "-").json
    assert (
        found["command"].split(" --", 1)[1]
        == "item sentence --annotator turker --answer my_label --out baseline"
    )
    assert runs(found["command"]) == 0
    usual = written(tmp_path / "u.csv", "item,annotator,answer\n" + "q,w1,A\nq,w2,A\nq,w3,A\n")
    assert (
        merilo("inspect", usual, "--json", "-").json["command"] == f"merilo baseline {usual} --out baseline-2"
    )


def sentence_pairs(path: Path, overlap: int = 5, *, people: int = 5) -> list[tuple[str, str]]:
    """A pool of sentence pairs that share premises and hypotheses, with columns of the person and of the answer."""
    pairs = [(f"premise {n // 2}", f"hypothesis {n % 6}") for n in range(18)]
    rows = [
        (*pair, f"w{(n * overlap + k) % people}", ("ru", "by")[(n * overlap + k) % people % 2], 7 * n % 23 + 5 * k, "123"[(n + (k == 4)) % 3])
        for n, pair in enumerate(pairs)
        for k in range(overlap)
    ]  # fmt: skip
    header = ["premise", "hypothesis", "worker", "country", "minutes", "result"]
    written(path, delimited(header, [list(map(str, row)) for row in rows]))
    return pairs


@pytest.mark.parametrize("people", [5, 90])
def test_items_of_two_texts_are_not_merged(tmp_path: Path, people: int) -> None:
    pairs = sentence_pairs(tmp_path / "p.csv", people=people)
    found = merilo("inspect", "p.csv", "--json", "-").json
    assert found["fields"] == ["premise", "hypothesis"]
    one = found["answer_columns"]["result"]
    assert (one["items"], one["overlap"]) == (len(pairs), {"5": len(pairs)})
    assert found["command"] == (
        "merilo baseline p.csv --item premise --item hypothesis --answer result --dataset rcb --out baseline"
    )
    assert runs(found["command"]) == 0


def test_gold_without_a_known_column_does_not_hide_the_export(tmp_path: Path) -> None:
    pairs = sentence_pairs(tmp_path / "p.csv")
    rows = "".join(f"{one},{other},1,2\n" for one, other in pairs)
    written(tmp_path / "gold.csv", "premise,hypothesis,first,second\n" + rows)
    outcome = merilo("inspect", "p.csv", "--gold", "gold.csv", "--json", "-")
    assert outcome.status == 1
    assert outcome.json["answer_columns"]["result"]["items"] == len(pairs)
    (match,) = outcome.json["matches"]
    assert "--gold-column (choose from: premise, hypothesis, first, second)" in match["why"]
    named = merilo("inspect", "p.csv", "--gold", "gold.csv", "--gold-column", "first", "--json", "-")
    assert (named.status, named.json["matches"][0]["matched"]) == (0, len(pairs))


def test_the_command_names_the_skills_that_lie_beside_the_export(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka(small_pool()))
    written(tmp_path / "workerSkills.csv", "worker_id|skill_value\nw0|80\nw1|90\n")
    written(tmp_path / "other.csv", "a,b\n1,2\n")
    command = merilo("inspect", pool, "--json", "-").json["command"]
    assert command == f"merilo baseline {pool} --skills {tmp_path / 'workerSkills.csv'} --out baseline"
    assert runs(command) == 0


@pytest.mark.parametrize(
    ("field", "says"), [("premis", "did you mean 'premise'?"), ("zzz", "(choose from: premise, hypothesis")]
)
def test_a_missing_field_is_told_with_the_field_that_was_meant(tmp_path: Path, field: str, says: str) -> None:
    sentence_pairs(tmp_path / "p.csv")
    outcome = merilo("inspect", "p.csv", "--item", field)
    assert outcome.status == 2
    assert says in outcome.complaint
    columns = "--item", "premise", "--item", "hypothesis", "--annotator", "worker", "--answer", "result"
    outcome = merilo("baseline", "p.csv", *columns, "--by", field)
    assert says in outcome.complaint


def test_a_plain_table_whose_columns_cannot_be_guessed_is_still_told_of(tmp_path: Path) -> None:
    path = written(tmp_path / "p.csv", "a,b,c\n1,2,3\n1,2,4\n")
    outcome = merilo("inspect", path)
    assert outcome.status == 0
    assert "--annotator COLUMN" in outcome.out
    assert "Replace COLUMN" in outcome.out


def test_right_answers_that_match_and_those_that_do_not(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka(small_pool()))
    some = written(tmp_path / "some.csv", "question,gold\nq0,A\nq1,A\nother,A\n")
    found = merilo("inspect", pool, "--gold", some, "--json", "-")
    assert found.status == 0
    (match,) = found.json["matches"]
    assert (match["fits"], match["matched"], match["items"], match["unused"]) == (True, 2, 4, 1)
    assert "'q2'" in match["why"]
    assert runs(found.json["command"]) == 0
    none = written(tmp_path / "none.csv", "text,gold\nelse,A\n")
    outcome = merilo("inspect", pool, "--gold", none, "--json", "-")
    assert outcome.status == 1
    (match,) = outcome.json["matches"]
    assert not match["fits"]
    assert "question" in match["why"]
    assert "--gold" not in outcome.json["command"]
    assert runs(outcome.json["command"]) == 0
    assert merilo("inspect", pool, "--gold", tmp_path / "missing.csv").status == 2


def test_gold_answers_in_another_form_than_the_answers_are_told_and_refused(tmp_path: Path) -> None:
    """Public benchmarks number their options from 0; people answered with letters."""
    right = [0, 1, 2, 0, 1, 2]
    questions = [
        {"question": f"q{n}", "choices": ["x", "y", "z"], "answer": place} for n, place in enumerate(right)
    ]
    file, answers = tmp_path / "questions.jsonl", tmp_path / "answers.csv"
    file.write_text("\n".join(map(json.dumps, questions)), encoding="utf-8")
    rows = [f"q{n},{who},{'ABC'[place]}" for n, place in enumerate(right) for who in "uvw"]
    answers.write_text("\n".join(["question,annotator,answer", *rows]), encoding="utf-8")
    says = "the gold answers are 0, 1, 2, and people answered A, B, C"
    found = merilo("inspect", answers, "--gold", file, "--json", "-")
    assert found.status == 1
    (match,) = found.json["matches"]
    assert not match["fits"]
    assert says in match["why"]
    refused = merilo("baseline", answers, "--gold", file, "--item", "question", "--out", tmp_path / "b")
    assert refused.status == 1
    assert f"{says}: if both name the same in two ways" in refused.complaint
    assert merilo("datasets", "new", file).status == 0
    scored = merilo(
        *("baseline", answers, "--dataset", tmp_path / "questions.yaml", "--item", "question"),
        *("--out", tmp_path / "b", "--json", "-"),
    )
    assert scored.json["metrics"]["acc"]["value"] == 1


def test_a_dataset_that_matches_and_one_that_does_not(tmp_path: Path) -> None:
    rows = [row("( )", "1", f"w{n}") for n in range(3)]
    pool = written(tmp_path / "p.tsv", toloka(rows))
    assert merilo("inspect", pool, "--dataset", "bps").status == 0
    outcome = merilo("inspect", pool, "--dataset", "mathlogicqa", "--json", "-")
    assert outcome.status == 1
    (match,) = outcome.json["matches"]
    assert "3 of 3 answers are not among its labels (A, B, C, D)" in match["why"]
    assert "the files have no field text, option_a" in match["why"]


def test_it_fits_into_80_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rows = [row("a long question " * 20, "a long answer " * 20, f"w{n}") for n in range(3)]
    pool = written(tmp_path / "p.tsv", toloka(rows))
    lines = merilo("inspect", pool).out.splitlines()
    assert all(len(line) <= 80 for line in lines[:-1])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (b"PK\x03\x04", "ZIP"),
        ("вопрос,ответ\n".encode("cp1251"), "--encoding cp1251"),
    ],
)
def test_files_that_are_no_table(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(content)
    outcome = merilo("inspect", path)
    assert outcome.status == 2
    assert says in outcome.complaint


def test_an_answer_cannot_steer_the_terminal(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka([row("q", "\x1b[2J[bold]", f"w{n}") for n in range(3)]))
    shown = merilo("inspect", pool).out
    assert "\x1b" not in shown
    assert "[bold]" in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_names_values_in_words(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    outcome = merilo(command, "--help")
    shown = outcome.out
    assert outcome.status == 0
    assert not re.search(r"<[a-z]", shown)
    assert "list[" not in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_every_option_of_baseline_stands_in_a_group() -> None:
    shown = merilo("baseline", "--help").out
    panels = re.split(
        r"\b(Arguments|Options|Most used|Input|Procedure|Columns of a plain table|Output) [─-]", shown
    )
    ungrouped = panels[panels.index("Options") + 1]
    assert re.findall(r"--\w[\w-]*", ungrouped) == ["--help"]
