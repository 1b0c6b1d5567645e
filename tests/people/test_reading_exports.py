"""Realistic exports of every platform and format, and unreadable files."""

import csv
import datetime
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command import done, merilo
from exports import row, small_pool, toloka, written

import merilo as merilo_library
from merilo.errors import InputError, MeriloError
from merilo.file_reading import Reading
from merilo.people.controls import judged_annotators
from merilo.people.cost import cost
from merilo.people.platforms import moment
from merilo.people.reading import read_responses

ABC = (
    "ASSIGNMENT:time_spent",
    "ASSIGNMENT:date_start",
    "ASSIGNMENT:date_end",
    "ASSIGNMENT:user_id",
    "ASSIGNMENT:result_id",
    "ASSIGNMENT:status",
    "ASSIGNMENT:assignment_id",
)
TURNS = [
    {"question": "q1", "answer_1": "x", "answer_2": "y"},
    {"question": "q2", "answer_1": "x", "answer_2": "y"},
]


def abc_row(person: str, *fields: str) -> list[str]:
    times = ["100", "2023-01-01 10:00:00", "2023-01-01 10:05:00"]
    return [*fields, *times, person, f"result-{person}", "ACCEPTED", f"page-{person}-{fields[0][:9]}"]


def abc_file(path: Path, header: Sequence[str], rows: list[list[str]], delimiter: str = ";") -> Path:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerows([[*header, *ABC], *rows])
    path.write_bytes(text.getvalue().encode("utf-8-sig"))
    return path


def lines(path: Path, records: Sequence[object]) -> Path:
    return written(path, "\n".join(json.dumps(record, ensure_ascii=False) for record in records))


def plain_records() -> list[dict[str, Any]]:
    return [{"item": f"q{item}", "annotator": f"w{n}", "answer": "A"} for item in range(2) for n in range(3)]


@pytest.mark.parametrize(
    ("started", "submitted", "seconds"),
    [
        ("2026-01-01T10:00:00", "2026-01-01T10:00:30.500", 30.5),
        ("2026-01-01T10:00:00.123456", "2026-01-01 10:00:30.123456", 30),
        ("2026-01-01T10:00:00Z", "2026-01-01T13:00:30+03:00", 30),
        ("2026-01-01T10:00:00-0330", "2026-01-01T13:30:30 UTC", 30),
        ("2026-01-01T10:00:00+03", "2026-01-01T10:01:00+03", 60),
        ("2025-12-31T23:59:50", "2026-01-01T00:00:10", 20),
        ("23:59:50", "00:00:10", 20),
        ("9:05", "9:06", 60),
        ("01.02.2026 10:00", "01.02.2026 10:01:05", 65),
        ("2026/02/01 10:00:00", "2026/02/01 10:00:07", 7),
    ],
)
def test_times_in_every_spelling(tmp_path: Path, started: str, submitted: str, seconds: float) -> None:
    path = written(tmp_path / "p.tsv", toloka([row("q", "A", "w", started=started, submitted=submitted)]))
    responses = read_responses([path])
    assert responses.table["page_seconds"].to_list() == [seconds]
    assert responses.unread == ()


def test_one_file_may_write_times_in_several_ways() -> None:
    texts = pl.Series(
        ["2026-01-01T10:00:00", None, "01.01.2026 10:00", "yesterday", "2026-01-01 12:00:00+02:00"]
    )
    ten = datetime.datetime(2026, 1, 1, 10)
    assert pl.select(moment(pl.lit(texts))).to_series().to_list() == [ten, None, ten, None, ten]


def test_times_and_rewards_that_are_none_are_told_and_lose_no_answer(tmp_path: Path) -> None:
    bad = ["nan", "inf", "-inf", "-1", "much", "$0.02", "1e400", "1e308", "1,000.5"]
    rows = [
        row("q0", "A", f"new{n}", reward=text, started="soon", submitted="later")
        for n, text in enumerate(bad)
    ]
    outcome = done("baseline", written(tmp_path / "p.tsv", toloka([*small_pool(), *rows])), "--json", "-")
    for said in (
        "p.tsv, row 27); it is treated as missing",
        "ASSIGNMENT:reward",
        "'nan'",
        "'soon'",
        "'later'",
    ):
        assert said in outcome.err
    assert outcome.json["cost"]["total"] == 0.5
    assert outcome.json["cost"]["hours"] == round(25 * 30.5 / 3600, 6)
    assert outcome.json["responses"]["used"] == 20 + len(bad)


def test_items_are_numbered_alike_however_many_rows_are_compared_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["a", "b", "a", "c", "b", "a", "d"]
    path = lines(
        tmp_path / "p.jsonl",
        [{"item": text, "annotator": str(n), "answer": "A"} for n, text in enumerate(texts)],
    )
    whole = read_responses(path)
    monkeypatch.setattr("merilo.people.reading._COMPARED", 2)
    assert read_responses(path).table.equals(whole.table)
    assert whole.table["item"].to_list() == [1, 2, 1, 3, 2, 1, 4]


@pytest.mark.parametrize("name", ["row", "row of file", "dropped", "index", ""])
def test_a_plain_table_may_have_columns_of_any_name(tmp_path: Path, name: str) -> None:
    path = lines(tmp_path / "p.jsonl", [{name: 1, **record} for record in plain_records()])
    assert read_responses([path]).table["row"].to_list() == [1, 2, 3, 4, 5, 6]


def test_parquet_of_any_types(tmp_path: Path) -> None:
    start = datetime.datetime(2026, 1, 1, 10, tzinfo=datetime.timezone(datetime.timedelta(hours=3)))
    table = pl.DataFrame(
        {
            "item": [[1, 2], [1, 2], [3, None], [3, None]],
            "annotator": [1, 2, 1, 2],
            "answer": [True, False, True, True],
            "control": pl.Series([None, None, True, True], dtype=pl.Boolean),
            "started": [start] * 4,
            "submitted": [start + datetime.timedelta(seconds=30)] * 4,
            "seconds": [datetime.timedelta(seconds=20.5)] * 4,
            "reward": pl.Series(["0.02"] * 4).cast(pl.Decimal(10, 4)),
            "day": [[start.date()], [], [], None],
        }
    ).with_columns(pl.col("annotator").cast(pl.String).cast(pl.Categorical))
    table.write_parquet(tmp_path / "p.parquet")
    read = read_responses(tmp_path / "p.parquet")
    assert read.items["input_item"].to_list() == ["[1, 2]", "[3, null]"]
    assert read.table["answer"].to_list() == ["true", "false", "true", "true"]
    assert read.table["is_control"].to_list() == [False, False, True, True]
    assert read.table["page_seconds"].to_list() == [20.5] * 4
    assert read.table["started"][0] == datetime.datetime(2026, 1, 1, 7)
    assert cost(read).total == 0.08


def test_parquet_that_holds_no_text(tmp_path: Path) -> None:
    pl.DataFrame({"item": [b"\xff"], "annotator": ["w"], "answer": ["A"]}).write_parquet(
        tmp_path / "p.parquet"
    )
    with pytest.raises(InputError, match="item: has values of type Binary, which cannot be read as text"):
        read_responses([tmp_path / "p.parquet"])


def test_parquet_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    pl.DataFrame(plain_records()).write_parquet(tmp_path / "pool[1]*.parquet")
    assert read_responses([tmp_path / "pool[1]*.parquet"]).table.height == 6


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_row_of_abc_elementary_may_be_one_answer(tmp_path: Path, delimiter: str) -> None:
    rows = [abc_row(p, 'a; "b"\tc\nd', "1", "2", "", "") for p in "123"]
    rows += [abc_row(p, "control", "1", "2", "", "2") for p in "123"]
    header = ["INPUT:text", "OUTPUT:first", "OUTPUT:second", "GOLDEN:first", "GOLDEN:second"]
    path = abc_file(tmp_path / "p.csv", header, rows, delimiter)
    for answer, known in (("first", None), ("second", "2")):
        read = read_responses([path], reading=Reading(answer=(answer,)))
        # A control item is one whichever of its answers is known.
        assert read.table["is_control"].to_list() == [False] * 3 + [True] * 3
        assert read.table["control"].to_list() == [None] * 3 + [known] * 3
        assert read.items["text"].to_list() == ['a; "b" c d', "control"]


def test_a_dialogue_may_stand_beside_other_inputs(tmp_path: Path) -> None:
    rows = [
        abc_row(
            person, topic, json.dumps(TURNS), json.dumps([{"answer": "answer_1"}, {"answer": "answer_2"}])
        )
        for topic in ("sea", "sky")
        for person in "123"
    ]
    path = abc_file(tmp_path / "p.csv", ["INPUT:topic", "INPUT:dialog", "OUTPUT:result"], rows)
    read = read_responses([path])
    assert read.table["answer"].to_list() == ["1", "2"] * 6
    assert read.items.select("topic", "turn", "question").rows() == [
        (topic, turn, f"q{turn}") for topic in ("sea", "sky") for turn in "12"
    ]


@pytest.mark.parametrize(
    ("shown", "answered", "says"),
    [
        (TURNS, ["1"], "2 turns and 1 answers"),
        (TURNS, '["1",', "OUTPUT: is not JSON"),
        ([None, 1], ["1", "2"], "turn 1 of the dialogue is not an object"),
        ('[{"question": "\\ud800"}]', ["1"], "unpaired surrogate"),
        ("[" * 100_000, ["1"], "too deep"),
    ],
)
def test_broken_dialogues(tmp_path: Path, shown: object, answered: object, says: str) -> None:
    texts = [value if isinstance(value, str) else json.dumps(value) for value in (shown, answered)]
    path = abc_file(tmp_path / "p.csv", ["INPUT:dialog", "OUTPUT:result"], [abc_row("1", *texts)])
    outcome = merilo("baseline", path)
    assert outcome.status == 2
    assert "p.csv, row 2" in outcome.complaint
    assert says in outcome.complaint


def studio_task(**annotation: object) -> dict[str, object]:
    result = [{"from_name": "answer", "value": {"choices": ["A"]}}]
    people = [{"id": n, "completed_by": n, "lead_time": 3, "result": result, **annotation} for n in range(3)]
    return {"id": 1, "data": {"text": "q"}, "annotations": people}


def test_label_studio_times_that_are_none(tmp_path: Path) -> None:
    tasks = [studio_task(lead_time=seconds) for seconds in (True, "soon", 10**400, -1, [3])]
    read = read_responses(written(tmp_path / "p.json", json.dumps(tasks)))
    assert read.table["page_seconds"].to_list() == [None] * 15


@pytest.mark.parametrize(
    "text",
    ["[{", "{}", "[1]", "[]", '[{"data": null}]', json.dumps([{**studio_task(), "data": None}]), "\udcff"],
)
def test_label_studio_exports_that_are_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(MeriloError, match=r"p\.json"):
        read_responses(path)


def test_a_file_whose_name_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xef\xf3\xeb.tsv")
    try:
        written(path, toloka(small_pool()))
    except OSError:
        pytest.skip("this file system wants UTF-8 names")
    outcome = done("baseline", path, "--out", tmp_path / "out", "--json", "-")
    assert outcome.json["provenance"]["inputs"][0]["file"].endswith("\\xef\\xf3\\xeb.tsv")


def test_a_page_is_paid_even_if_no_answer_of_it_can_be_used(tmp_path: Path) -> None:
    rows = [
        *small_pool(),
        row("", "A", "w0", page="all empty", reward="1"),
        row(" ", "B", "w0", page="all empty", reward="1"),
        row("", "A", "w0", page="w0-q0", reward="0.02"),
        row("q0", "", "w7", page="no answer", reward="10"),
        row("q0", "A", "w0", page="again", reward="100"),
        row("q1", "A", "w8", page="refused", status="REJECTED", reward="1000"),
        row("", "", "w8", page="skipped", status="SKIPPED", reward="1000"),
    ]
    found = merilo("baseline", written(tmp_path / "p.tsv", toloka(rows)), "--json", "-").json
    assert found["cost"]["total"] == 25 * 0.02 + 1 + 10 + 100
    assert found["cost"]["pages"] == 28
    assert found["cost"]["median_seconds_per_answer"] == 30.5
    assert found["responses"]["total"] == len(rows)
    assert found["responses"]["total"] == sum(
        (found["responses"]["used"], found["responses"]["control"], *found["responses"]["dropped"].values())
    )


def test_without_pages_every_answer_has_its_own_time(tmp_path: Path) -> None:
    path = lines(tmp_path / "p.jsonl", [{**record, "seconds": 30} for record in plain_records()])
    people = judged_annotators(read_responses(path), min_control_accuracy=0.5)
    assert people["median_seconds"].to_list() == [30.0] * 3


def test_what_a_spreadsheet_would_run_stands_behind_an_apostrophe(tmp_path: Path) -> None:
    evil, number = '=HYPERLINK("http://x","y")', "-5"
    rows = [row(f"{text} {n}", text, f"{text}{n}") for text in (evil, "@SUM(1)", number) for n in range(3)]
    merilo("baseline", written(tmp_path / "p.tsv", toloka(rows)), "--out", tmp_path / "out")
    for path in sorted((tmp_path / "out").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as stream:
            cells = [cell for line in csv.reader(stream) for cell in line]
        assert not [cell for cell in cells if cell.startswith(("=", "@"))], path
    table = pl.read_csv(tmp_path / "out" / "raw" / "responses.csv", infer_schema_length=0)
    assert number in table["answer"].to_list()
    assert evil in merilo_library.load(tmp_path / "out").responses.table["answer"].to_list()


@pytest.mark.parametrize("name", ["wide.csv", "wide.jsonl"])
def test_a_table_with_very_many_columns_is_refused_at_once(tmp_path: Path, name: str) -> None:
    names = ["item", "annotator", "label", *(f"c{number}" for number in range(100_000))]
    text = json.dumps(dict.fromkeys(names, "1")) if name.endswith("jsonl") else ",".join(names) + "\n1"
    with pytest.raises(InputError, match=f"{name}: has 100003 columns; at most 10000 are read"):
        read_responses(written(tmp_path / name, text))
