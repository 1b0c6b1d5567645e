"""Bad input gets one clear sentence with file and row, the right exit status, and nothing half-written."""

import json
import os
from pathlib import Path

import pytest
from command import done, merilo
from exports import HEADER, row, small_pool, toloka, written

from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples
from merilo.items import Split, write_splits


def refused(path: Path, *options: object, status: int) -> str:
    out = path.parent / "out"
    outcome = merilo("baseline", path, *options, "--out", out)
    assert outcome.status == status, outcome
    assert not out.exists()
    assert not list(path.parent.glob(".out*"))
    assert outcome.out == ""
    return outcome.complaint


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    return written(tmp_path / "pool.tsv", toloka(small_pool()))


def renamed(column: str, other: str) -> str:
    return toloka(small_pool(), [name.replace(column, other) for name in HEADER])


WHOLE = toloka(small_pool())
#: A split file with the outputs of one item.
LABELLED = '[{"inputs": {"question": "q0"}, "outputs": %s, "meta": {"id": 1}}]'

#: The content of the pool, the exit status, and what the complaint names.
BAD_POOLS: list[tuple[str | bytes, int, list[str]]] = [
    ("", 2, ["empty"]),
    ("INPUT:question\tOUTPUT:answer\n\x00\x01\x02\x03", 2, ["not a table"]),
    (b"PK\x03\x04" + bytes(60), 2, ["an Excel workbook"]),
    (toloka([*small_pool(), row("вопрос", "A", "w1")]).encode("cp1251"), 2, ["UTF-8", "row 27", "cp1251"]),
    (renamed("GOLDEN:answer", "OUTPUT:answer"), 2, ["OUTPUT:answer", "two columns"]),
    (renamed("GOLDEN:answer", "OUTPUT:second"), 2, ["answer, second"]),
    (WHOLE[: WHOLE.rindex("APPROVED")], 2, ["row 26", "middle of a row"]),
    (WHOLE + '"a question\nof two lines', 2, ["row 27", "middle of a"]),
    (WHOLE.replace("APPROVED", "APPROVED\tmore", 1), 2, ["row 2", "10 fields, but the header has 9"]),
    ("\t".join([*HEADER, *(f"HINT:{n}" for n in range(300_000))]) + "\n", 2, ["300009 columns; at most 10000"]),
    (toloka([*small_pool(), row("q1", "A", "", page="p")]), 2, ["row 27", "no annotator"]),
    ("study,task,respondent,answer\nstudy-1,t1,w,A\n", 1, ["merilo study import STUDY FILE"]),
    (toloka([]), 1, ["none of the 0 rows has an answer"]),
    (toloka([row("c", "A", f"w{person}", golden="A") for person in range(5)]), 1, ["none of the 5 rows is an answer that counts (5 to control items)"]),
    (toloka([row("q", "Skip: this may be mine", f"w{person}") for person in range(5)]), 1, ["(5 may be mine)"]),
    (
        toloka([row("q", "A", "w1"), row("c", "B", "w1", golden="A"), row("c", "A", "w2", golden="A")]),
        1,
        ["(2 to control items, 1 by excluded annotators)"],
    ),
    (
        toloka([row(q, a, f"w{n}", golden=g) for q, a, g in (("q", "A", ""), ("c", "B", "A")) for n in range(5)]),
        1,
        ["all 5 annotators are below 0.5"],
    ),
]  # fmt: skip

#: Options beside a good pool, the text of `side.csv` or `side.json`, the exit status, and what the complaint names.
BAD_WORDS: list[tuple[str, str, int, list[str]]] = [
    ("--gold side.csv", "question,gold\nq1,A\nq2,A\nq1,B\n", 1, ["side.csv, row 4", "row 2"]),
    ("--gold side.csv", "question,gold\nelsewhere,A\n", 1, ["no row matches"]),
    ("--gold side.csv", "question,first,second\nq1,A,B\n", 2, ["--gold-column"]),
    *(("--gold side.json", text, 2, ["side.json"]) for text in ("[", "{}", "7", '["q1"]', "[" * 100_000)),
    ("--skills side.csv", "worker_id|skill_value\nw1|90\nw2|many\n", 2, ["side.csv, row 3, skill_value"]),
    *(("--reading side.csv", f"encoding: {name}\n", 2, ["no text encoding"]) for name in ("undefined", "idna", "hex", "rot13", "../x")),
    ("--gold side.csv --model nowhere.jsonl", "question,gold\nq0,A\nq1,B\n", 2, ["nowhere.jsonl", "no such file"]),
    ("--gold side.csv --dataset chegeka --metric f1_macro", "question,gold\nq0,A\n", 2, ["(choose from: acc, exact_match, group_exact_match, em, f1, "]),
    ("--gold side.csv --metric grade_norm", "question,gold\nq0,A\n", 2, ["without one, choose from: acc, exact_match, em, f1_macro, mcc, pearson, spearman, f1"]),
    ("--gold side.csv --dataset ruhumaneval", "question,gold\nq0,A\n", 2, ["merilo code score"]),
    ("--gold side.csv --dataset use", "question,gold\nq0,A\n", 1, ["needs id_task, variant and score"]),
    ("--gold side.json --dataset ruethics", LABELLED % '{"virtue": "1", "law": "0"}', 1, ["lacks 'moral'"]),
    ("--gold side.json --metric em", LABELLED % '["a", "b"]', 2, ["is a list, but one gold answer is expected"]),
    ("--min-control-accuracy 1.5", "", 2, ["--min-control-accuracy must be 1 or less"]),
    ("--min-control-accuracy nan", "", 2, ["--min-control-accuracy must be a finite number"]),
    ("--min-votes 0", "", 2, ["--min-votes"]),
    ("--min-votes three", "", 2, ["--min-votes must be a whole number or 'majority'"]),
    ("--max-low-agreement -1", "", 2, ["--max-low-agreement"]),
    ("--metric bleu", "", 2, ["bleu"]),
    ("--resolve magic", "", 2, ["magic"]),
    ("--dataset lsc", "", 2, ["did you mean lcs"]),
    ("--gold-column x", "", 2, ["--gold-column needs --gold"]),
    ("--answer secund", "", 2, ["secund"]),
    ("--details --json -", "", 2, ["--details: lengthens the tables, and --json - prints none"]),
    ("--json .", "", 2, ["input file"]),
    ("--json side.csv/x", "", 2, ["side.csv is not a folder"]),
    ("--no-such-option", "", 2, ["no-such-option"]),
]  # fmt: skip


@pytest.mark.parametrize(("content", "status", "named"), BAD_POOLS, ids=[case[2][0] for case in BAD_POOLS])
def test_a_bad_pool_is_named_with_what_is_wrong(
    content: str | bytes, status: int, named: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "pool.tsv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    complaint = refused(path, status=status)
    assert [text for text in named if text not in complaint] == []


@pytest.mark.parametrize(("words", "side", "status", "named"), BAD_WORDS, ids=[case[0] for case in BAD_WORDS])
def test_bad_options_and_files_beside_the_pool_are_named(
    words: str, side: str, status: int, named: list[str], pool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pool.parent)
    for name in ("side.csv", "side.json"):
        written(pool.parent / name, side)
    complaint = refused(pool, *words.split(" "), status=status)
    assert [text for text in named if text not in complaint] == []


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path, pool: Path) -> None:
    assert merilo("baseline").status == 2
    assert "no such file" in refused(tmp_path / "nowhere.tsv", status=2)
    (tmp_path / "folder.tsv").mkdir()
    assert "is a folder" in refused(tmp_path / "folder.tsv", status=2)
    for suffix in ("tsv", "jsonl", "parquet", "json"):
        os.mkfifo(tmp_path / f"pipe.{suffix}")
        assert "pipe" in refused(tmp_path / f"pipe.{suffix}", status=2)
    pool.chmod(0)
    if os.geteuid():  # root reads everything
        assert f"'{pool}' is not readable" in refused(pool, status=2)


def test_an_export_without_annotators_is_named_by_its_platform(tmp_path: Path) -> None:
    path = written(tmp_path / "p.tsv", renamed("ASSIGNMENT:worker_id", "ASSIGNMENT:nobody"))
    assert "ASSIGNMENT:worker_id" in refused(path, "--platform", "toloka", status=2)


def test_an_encoding_can_be_given(tmp_path: Path) -> None:
    path = tmp_path / "pool.tsv"
    path.write_bytes(toloka([*small_pool(), row("вопрос", "A", "w1")]).encode("cp1251"))
    reading = written(tmp_path / "reading.yaml", "encoding: cp1251\n")
    assert merilo("baseline", path, "--reading", reading).status == 0


def test_a_hostile_name_changes_nothing_on_the_terminal(tmp_path: Path) -> None:
    names = [name.replace("INPUT:question", '"a\n\x1b[31m\x07\u202eb"') for name in HEADER]
    text = "\t".join(names) + "\n" + WHOLE.split("\n", 1)[1]
    complaint = refused(written(tmp_path / "p.tsv", text), "--platform", "table", status=2)
    assert "a [31m b" in complaint
    assert complaint.isprintable()


def test_an_annotator_who_contradicts_themselves(tmp_path: Path) -> None:
    path = written(tmp_path / "p.tsv", toloka([*small_pool(), row("q0", "B", "w0", page="later")]))
    complaint = refused(path, status=1)
    assert "row 27" in complaint
    assert "'A' in row 2" in complaint
    for choice, used in {"first": 20, "last": 20, "drop": 19}.items():
        responses = merilo("baseline", path, "--repeats", choice, "--json", "-").json["responses"]
        assert (responses["used"], responses["total"]) == (used, 26)


@pytest.mark.parametrize("place", ["before", "after"])
def test_an_item_answered_as_a_control_and_as_a_test_item_is_no_repetition(
    tmp_path: Path, place: str
) -> None:
    as_control = row("q0", "B", "w0", page="of the control", golden="A")
    rows = [*small_pool(), row("q1", "A", "w1", page="later")]
    rows = [as_control, *rows] if place == "before" else [*rows, as_control]
    baseline = merilo("baseline", written(tmp_path / "p.tsv", toloka(rows)), "--json", "-").json
    assert (baseline["responses"]["used"], baseline["items"]["overlap"]) == (20, {"5": 4})


def test_exports_of_different_projects(tmp_path: Path, pool: Path) -> None:
    complaint = refused(
        pool, written(tmp_path / "other.tsv", renamed("INPUT:question", "INPUT:text")), status=1
    )
    assert "a different project" in complaint
    assert "its inputs are text, not question" in complaint


def test_an_existing_folder_is_never_overwritten_unasked(pool: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    precious = written(out / "precious.txt", "mine")
    outcome = merilo("baseline", pool, "--out", out)
    assert (outcome.status, "--force" in outcome.complaint) == (2, True)
    assert precious.read_text(encoding="utf-8") == "mine"
    assert merilo("baseline", pool, "--out", out, "--force").status == 0
    assert (out / "report.html").is_file()


def test_a_place_that_cannot_be_written_is_named(pool: Path, tmp_path: Path) -> None:
    blocked = written(tmp_path / "file", "x") / "out"
    long = tmp_path / ("x" * 300)
    for words in (("--out", blocked), ("--out", long), ("--json", long), ("--json", "/dev/full/x")):
        outcome = merilo("baseline", pool, *words)
        assert (outcome.status, "cannot be written" in outcome.complaint) == (2, True), words


def test_the_raw_annotation_and_the_folder_one_works_in_are_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even with --force: a study can be scored again, and people cannot be asked again."""
    pool = written(tmp_path / "study" / "pool.tsv", WHOLE)
    inside = written(tmp_path / "study" / "deep" / "gold.csv", "question,gold\nq1,A\n")
    (tmp_path / "link.json").symlink_to(pool)
    for options in (
        ("--out", pool),
        ("--out", pool.parent),
        ("--out", tmp_path),
        ("--out", inside.parent, "--gold", inside),
        ("--json", pool),
        ("--json", inside, "--gold", inside),
        ("--json", tmp_path / "link.json"),
    ):
        outcome = merilo("baseline", pool, *options, "--force")
        assert (outcome.status, "input file" in outcome.complaint) == (2, True), options
        assert pool.read_text(encoding="utf-8") == WHOLE
        assert inside.is_file()
    monkeypatch.chdir(written(tmp_path / "work" / "notes.txt", "mine").parent)
    for place in (".", "", "..", tmp_path / "work"):
        assert merilo("baseline", pool, "--out", place, "--force").status == 2
        assert (tmp_path / "work" / "notes.txt").is_file()


def test_a_variant_of_the_exam_with_questions_missing_is_named_with_them(tmp_path: Path) -> None:
    variant = [
        item for item in examples(dataset("use"))["test"].items if item.meta["id_task"] not in {"8_0", "26"}
    ]
    name = variant[0].meta["variant"]
    write_splits(tmp_path / "gold.json", [Split("test", variant)])
    rows = [row(str(item.id), "1", f"w{who}") for item in variant for who in range(3)]
    header = [column.replace("INPUT:question", "INPUT:id") for column in HEADER]
    pool = written(tmp_path / "p.tsv", toloka(rows, header))
    outcome = done("baseline", pool, "--dataset", "use", "--gold", tmp_path / "gold.json", "--json", "-")
    findings = json.dumps(outcome.json["findings"])
    assert f"variant {name} has no item with a gold answer for tasks 8_0, 26" in findings
    assert outcome.json["metrics"]["grade_norm"]["value"] is None
