"""Bad input gets one clear sentence with file and row, the right exit status, and nothing half-written."""

import json
import os
import zipfile
from pathlib import Path

import pytest
from command import merilo
from exports import HEADER, row, small_pool, toloka, written

from merilo.datasets import dataset
from merilo.datasets.ready_items import examples
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


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "no such file" in refused(tmp_path / "nowhere.tsv", status=2)


def test_a_file_of_model_answers_that_is_not_there(pool: Path, tmp_path: Path) -> None:
    gold = written(tmp_path / "gold.csv", "question,gold\nq0,A\nq1,B\n")
    complaint = refused(pool, "--gold", gold, "--model", tmp_path / "nowhere.jsonl", status=2)
    assert "nowhere.jsonl" in complaint
    assert "no such file" in complaint


def test_a_folder_instead_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "pool.tsv").mkdir()
    assert "is a folder" in refused(tmp_path / "pool.tsv", status=2)


def renamed(column: str, other: str) -> list[str]:
    return [name.replace(column, other) for name in HEADER]


WHOLE = toloka(small_pool())

#: A pool, the exit status, and what the complaint names.
BAD_POOLS: dict[str, tuple[str, int, list[str]]] = {
    "empty": ("", 2, ["empty"]),
    "no text": ("INPUT:question\tOUTPUT:answer\n\x00\x01\x02\x03", 2, ["not a table"]),
    "without annotators": (
        toloka(small_pool(), renamed("ASSIGNMENT:worker_id", "ASSIGNMENT:nobody")),
        2,
        ["ASSIGNMENT:worker_id"],
    ),
    "two columns of one name": (
        toloka(small_pool(), renamed("GOLDEN:answer", "OUTPUT:answer")),
        2,
        ["OUTPUT:answer", "two columns"],
    ),
    "cut off in a row": (WHOLE[: WHOLE.rindex("APPROVED")], 2, ["row 26", "middle of a row"]),
    "cut off in a quoted field": (WHOLE + '"a question\nof two lines', 2, ["row 27", "middle of a"]),
    "too many fields": (
        WHOLE.replace("APPROVED", "APPROVED\tmore", 1),
        2,
        ["row 2", "10 fields, but the header has 9"],
    ),
    "too many columns": (
        "\t".join([*HEADER, *(f"HINT:{n}" for n in range(300_000))]) + "\n",
        2,
        ["300009 columns; at most 10000"],
    ),
    "an answer of nobody": (
        toloka([*small_pool(), row("q1", "A", "", page="p")]),
        2,
        ["row 27", "no annotator"],
    ),
    "no rows": (toloka([]), 1, ["none of the 0 rows has an answer"]),
    "controls only": (
        toloka([row("c", "A", f"w{person}", golden="A") for person in range(5)]),
        1,
        ["there are no test items"],
    ),
    "all annotators excluded": (
        toloka(
            [row("q", "A", f"w{n}") for n in range(5)]
            + [row("c", "B", f"w{n}", golden="A") for n in range(5)]
        ),
        1,
        ["all 5 annotators are below 0.5"],
    ),
}


@pytest.mark.parametrize("case", BAD_POOLS)
def test_a_bad_pool_is_named_with_what_is_wrong(tmp_path: Path, case: str) -> None:
    text, status, named = BAD_POOLS[case]
    complaint = refused(
        written(tmp_path / "p.tsv", text),
        *(["--platform", "toloka"] if "without" in case else []),
        status=status,
    )
    assert [one for one in named if one not in complaint] == []


@pytest.mark.parametrize(
    ("option", "text", "status", "named"),
    [
        ("--gold", "question,gold\nq1,A\nq2,A\nq1,B\n", 1, ["side.csv, row 4", "row 2"]),
        ("--gold", "question,gold\nelsewhere,A\n", 1, ["no row matches"]),
        ("--gold", "question,first,second\nq1,A,B\n", 2, ["--gold-column"]),
        ("--skills", "worker_id|skill_value\nw1|90\nw2|many\n", 2, ["side.csv, row 3, skill_value"]),
    ],
)
def test_a_bad_file_beside_the_pool_is_named(
    pool: Path, tmp_path: Path, option: str, text: str, status: int, named: list[str]
) -> None:
    complaint = refused(pool, option, written(tmp_path / "side.csv", text), status=status)
    assert [one for one in named if one not in complaint] == []


def test_an_excel_workbook(tmp_path: Path) -> None:
    path = tmp_path / "pool.tsv"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    assert "Excel" in refused(path, status=2)


def test_another_encoding_is_named_with_its_row_and_can_be_given(tmp_path: Path) -> None:
    path = tmp_path / "pool.tsv"
    path.write_bytes(toloka([*small_pool(), row("вопрос", "A", "w1")]).encode("cp1251"))
    complaint = refused(path, status=2)
    assert "UTF-8" in complaint
    assert "row 27" in complaint
    assert "cp1251" in complaint
    reading = tmp_path / "reading.yaml"
    reading.write_text("encoding: cp1251\n", encoding="utf-8")
    assert merilo("baseline", path, "--reading", reading).status == 0


def test_a_hostile_name_changes_nothing_on_the_terminal(tmp_path: Path) -> None:
    names = [name.replace("INPUT:question", '"a\n\x1b[31m\x07\u202eb"') for name in HEADER]
    text = "\t".join(names) + "\n" + toloka(small_pool()).split("\n", 1)[1]
    complaint = refused(written(tmp_path / "p.tsv", text), "--platform", "table", status=2)
    assert "a [31m b" in complaint
    assert complaint.isprintable()


def test_several_answer_columns_are_listed(tmp_path: Path) -> None:
    names = [name.replace("GOLDEN:answer", "OUTPUT:second") for name in HEADER]
    path = written(tmp_path / "p.tsv", toloka(small_pool(), names))
    assert "answer, second" in refused(path, status=2)
    assert "did you mean 'second'" in refused(path, "--answer", "secund", status=2)


def test_an_annotator_who_contradicts_themselves(tmp_path: Path) -> None:
    path = written(tmp_path / "p.tsv", toloka([*small_pool(), row("q0", "B", "w0", page="later")]))
    complaint = refused(path, status=1)
    assert "row 27" in complaint
    assert "'A' in row 2" in complaint
    for choice, used in {"first": 20, "last": 20, "drop": 19}.items():
        found = merilo("baseline", path, "--repeats", choice, "--json", "-").json
        assert found["responses"]["used"] == used
        assert found["responses"]["total"] == 26


@pytest.mark.parametrize("place", ["before", "after"])
def test_an_item_answered_as_a_control_and_as_a_test_item_is_no_repetition(
    tmp_path: Path, place: str
) -> None:
    as_control, again = (
        row("q0", "B", "w0", page="of the control", golden="A"),
        row("q1", "A", "w1", page="later"),
    )
    pool = small_pool()
    rows = [as_control, *pool, again] if place == "before" else [*pool, again, as_control]
    found = merilo("baseline", written(tmp_path / "p.tsv", toloka(rows)), "--json", "-").json
    assert found["responses"]["used"] == 20
    assert found["items"]["overlap"] == {"5": 4}


def test_exports_of_different_projects(tmp_path: Path, pool: Path) -> None:
    names = [name.replace("INPUT:question", "INPUT:text") for name in HEADER]
    other = written(tmp_path / "other.tsv", toloka(small_pool(), names))
    complaint = refused(pool, other, status=1)
    assert "a different project" in complaint
    assert "its inputs are text, not question" in complaint


def test_gold_that_repeats_itself_is_used_once(pool: Path, tmp_path: Path) -> None:
    gold = written(tmp_path / "gold.csv", "question,gold\nq1,A\nq1,A\n")
    outcome = merilo("baseline", pool, "--gold", gold, "--json", "-")
    assert outcome.status == 0
    assert outcome.json["metrics"]["acc"]["n"] == 1


@pytest.mark.parametrize("text", ["[", "{}", "7", '[{"question": "q1"', '["q1"]', "[" * 100_000])
def test_gold_that_is_no_list_of_items(pool: Path, tmp_path: Path, text: str) -> None:
    refused(pool, "--gold", written(tmp_path / "gold.json", text), status=2)


def test_an_existing_folder_is_never_overwritten_unasked(pool: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    precious = written(out / "precious.txt", "mine")
    outcome = merilo("baseline", pool, "--out", out)
    assert outcome.status == 2
    assert "--force" in outcome.complaint
    assert precious.read_text(encoding="utf-8") == "mine"
    assert merilo("baseline", pool, "--out", out, "--force").status == 0
    assert (out / "report.html").is_file()


def test_a_place_that_cannot_be_written(pool: Path, tmp_path: Path) -> None:
    blocked = written(tmp_path / "file", "x")
    outcome = merilo("baseline", pool, "--out", blocked / "out")
    assert outcome.status == 2
    assert "cannot be written" in outcome.complaint


def test_a_full_disk(pool: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    outcome = merilo("baseline", pool, "--json", "/dev/full/x")
    assert outcome.status == 2
    assert "cannot be written" in outcome.err


def test_the_raw_annotation_is_never_replaced_by_its_result(tmp_path: Path) -> None:
    """Not even with --force: a study can be scored again, and people cannot be asked again."""
    pool = written(tmp_path / "study" / "pool.tsv", toloka(small_pool()))
    raw = pool.read_bytes()
    inside = written(tmp_path / "study" / "deep" / "gold.csv", "question,gold\nq1,A\n")
    for options in (
        ("--out", pool),
        ("--out", pool.parent),
        ("--out", tmp_path),
        ("--out", inside.parent, "--gold", inside),
        ("--json", pool),
        ("--json", inside, "--gold", inside),
    ):
        outcome = merilo("baseline", pool, *options, "--force")
        assert outcome.status == 2, options
        assert "input file" in outcome.complaint
        assert pool.read_bytes() == raw
        assert inside.is_file()
    link = tmp_path / "link.json"
    link.symlink_to(pool)
    assert merilo("baseline", pool, "--json", link).status == 2
    assert pool.read_bytes() == raw


def test_the_folder_that_one_works_in_is_never_replaced(
    pool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(written(tmp_path / "work" / "notes.txt", "mine").parent)
    for place in (".", "", "..", tmp_path / "work"):
        assert merilo("baseline", pool, "--out", place, "--force").status == 2
        assert (tmp_path / "work" / "notes.txt").is_file()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    for name in ("pool.tsv", "pool.jsonl", "pool.parquet", "pool.json"):
        os.mkfifo(tmp_path / name)
        assert "pipe" in refused(tmp_path / name, status=2)


def test_a_name_too_long_for_the_disk(pool: Path, tmp_path: Path) -> None:
    for option in ("--out", "--json"):
        outcome = merilo("baseline", pool, option, tmp_path / ("x" * 300))
        assert outcome.status == 2
        assert "cannot be written" in outcome.complaint


@pytest.mark.parametrize("encoding", ["undefined", "idna", "hex", "rot13", "../x", "klingon"])
def test_encodings_that_are_none(pool: Path, tmp_path: Path, encoding: str) -> None:
    reading = tmp_path / "reading.yaml"
    reading.write_text(f"encoding: {encoding}\n", encoding="utf-8")
    assert "no text encoding" in refused(pool, "--reading", reading, status=2)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads and writes everything")
def test_a_file_that_may_not_be_read(pool: Path) -> None:
    pool.chmod(0)
    assert f"'{pool}' is not readable" in refused(pool, status=2)


@pytest.mark.parametrize(
    "options",
    [
        ("--min-control-accuracy", "1.5"),
        ("--min-control-accuracy", "nan"),
        ("--min-votes", "0"),
        ("--max-low-agreement", "-1"),
        ("--metric", "bleu"),
        ("--resolve", "magic"),
        ("--dataset", "lsc"),
        ("--gold-column", "x"),
        ("--min-votes", "three"),
        ("--no-such-option",),
    ],
)
def test_wrong_usage(pool: Path, options: tuple[str, ...]) -> None:
    refused(pool, *options, status=2)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--dataset", "chegeka", "--metric", "f1_macro"),
            "(choose from: acc, exact_match, group_exact_match, em, f1, ",
        ),
        (
            ("--metric", "grade_norm"),
            "without one, choose from: acc, exact_match, em, f1_macro, mcc, pearson, spearman, f1",
        ),
        (("--dataset", "ruhumaneval"), "merilo code score"),
    ],
)
def test_a_metric_that_does_not_fit_the_answers(
    pool: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    gold = written(tmp_path / "gold.csv", "question,gold\nq0,A\n")
    assert said in refused(pool, "--gold", gold, *options, status=2)


def test_an_exam_without_its_meta(pool: Path, tmp_path: Path) -> None:
    gold = written(tmp_path / "gold.csv", "question,gold\nq0,A\n")
    complaint = refused(pool, "--gold", gold, "--dataset", "use", status=1)
    assert "needs id_task, variant and score" in complaint


def test_a_variant_of_the_exam_with_questions_missing_is_named_with_them(tmp_path: Path) -> None:
    variant = [
        item for item in examples(dataset("use"))["test"].items if item.meta["id_task"] not in {"8_0", "26"}
    ]
    name = variant[0].meta["variant"]
    write_splits(tmp_path / "gold.json", [Split("test", variant)])
    rows = [row(str(item.id), "1", f"w{who}") for item in variant for who in range(3)]
    header = [column.replace("INPUT:question", "INPUT:id") for column in HEADER]
    pool = written(tmp_path / "p.tsv", toloka(rows, header))
    outcome = merilo("baseline", pool, "--dataset", "use", "--gold", tmp_path / "gold.json", "--json", "-")
    assert outcome.status == 0, outcome.err
    assert f"variant {name} has no item with a gold answer for tasks 8_0, 26" in "\n".join(
        one["sentence"] for one in outcome.json["findings"]
    )
    missing = outcome.json["metrics"]["grade_norm"]
    assert missing["value"] is None
    assert f"variant {name} lacks tasks 8_0, 26" in missing["reason"]


def test_gold_without_a_criterion(pool: Path, tmp_path: Path) -> None:
    entry = {"inputs": {"question": "q0"}, "outputs": {"virtue": "1", "law": "0"}, "meta": {"id": 1}}
    gold = written(tmp_path / "gold.json", json.dumps([entry]))
    complaint = refused(pool, "--gold", gold, "--dataset", "ruethics", status=1)
    assert "lacks 'moral'" in complaint


def test_no_file_at_all() -> None:
    assert merilo("baseline").status == 2


def test_a_mistyped_command_is_corrected() -> None:
    outcome = merilo("basline")
    assert outcome.status == 2
    assert "did you mean 'baseline'" in outcome.complaint
