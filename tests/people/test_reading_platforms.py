"""Older Toloka exports, Label Studio's flat exports, Mechanical Turk's batches; options that do not apply to a platform."""

import datetime
import json
from pathlib import Path

import pytest
from command import done, merilo
from exports import MTURK, OLD_TOLOKA, delimited, mturk_row, old_toloka, studio_csv, studio_records, written

from merilo.errors import DataError, InputError, UsageError
from merilo.file_reading import Reading
from merilo.people.cost import cost
from merilo.people.platforms.forms import SeveralAnswersError
from merilo.people.platforms.label_studio import plain_value
from merilo.people.reading import read_responses, recognise
from merilo.responses import Responses


def read_all(paths: list[Path], **named: object) -> Responses:
    return read_responses(paths, reading=Reading().named(**named))


def old_file(path: Path, rows: list[list[str]] | None = None) -> Path:
    return written(path, delimited(OLD_TOLOKA, old_toloka() if rows is None else rows, ";"))


def batch(path: Path, answers: list[str], rows: list[list[str]]) -> Path:
    return written(path, delimited([*MTURK, *answers], rows))


# Toloka


def test_an_older_toloka_export_has_neither_times_nor_rewards_nor_controls(tmp_path: Path) -> None:
    path = old_file(tmp_path / "old.csv")
    assert recognise(path) == "toloka"
    read = read_all([path])
    assert (read.fields, read.table.height) == (["premise", "hypothesis"], 30)
    assert read.table["respondent"].n_unique() == 3
    with pytest.raises(UsageError, match=r"no field 'question' .*premise, hypothesis"):
        read_all([path], item="question")


def test_what_an_export_lacks_is_left_out_of_the_report(tmp_path: Path) -> None:
    outcome = done("baseline", old_file(tmp_path / "old.csv"), "--json", "-")
    assert outcome.err.count("no control items") == 1
    assert outcome.json["cost"]["total"] is None
    shown = merilo("baseline", tmp_path / "old.csv", "--details").out
    assert "cost" not in shown
    assert "median time" not in shown


def test_an_older_export_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    rows = [["посылка", "", "вывод", "да", f"w{person}"] for person in range(3)]
    path.write_bytes(delimited(OLD_TOLOKA, rows, ";").encode("cp1251"))
    assert "encoding: cp1251" in merilo("baseline", path).complaint
    read = read_all([path], encoding="cp1251")
    assert read.items["premise"].to_list() == ["посылка"]


def test_several_columns_without_a_name_are_passed_over(tmp_path: Path) -> None:
    header = [*OLD_TOLOKA, "", ""]
    path = written(tmp_path / "old.csv", delimited(header, [[*row, "", ""] for row in old_toloka()], ";"))
    assert read_all([path]).fields == ["premise", "hypothesis"]
    plain = written(tmp_path / "p.csv", "item,annotator,answer,,\n" + "q,w,A,,\n")
    assert read_all([plain]).table.height == 1


# What makes an item


@pytest.mark.parametrize("name", ["premise", "INPUT:premise"])
def test_an_item_may_be_made_of_some_of_the_columns_that_were_shown(tmp_path: Path, name: str) -> None:
    rows = [[row[0], "", f"{row[2]} for {row[4]}", *row[3:]] for row in old_toloka()]
    path = old_file(tmp_path / "old.csv", rows)
    assert read_all([path]).items.height == 30
    read = read_all([path], item=(name, name))
    assert read.fields == ["premise"]
    assert read.items.height == 10


@pytest.mark.parametrize("name", ["control", "score", "attempt", "skipped"])
def test_columns_that_a_platform_has_a_place_for_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"a fixed place for {name}"):
        read_all([old_file(tmp_path / "old.csv")], platform="toloka", **{name: "ASSIGNMENT:worker_id"})


def test_a_batch_whose_column_of_workers_has_another_name_keeps_its_platform(tmp_path: Path) -> None:
    rows = [mturk_row(0, person, "yes") for person in range(3)]
    path = batch(tmp_path / "b.csv", ["Answer.toxic"], rows)
    path.write_text(path.read_text(encoding="utf-8").replace("WorkerId", "Turker"), encoding="utf-8")
    assert recognise(path) == "mturk"
    assert "name the column of annotators with --annotator" in merilo("baseline", path).complaint
    found = read_all([path], annotator="Turker")
    assert found.fields == ["text"]
    assert found.currency == "USD"
    assert found.table["respondent"].to_list() == ["W0", "W1", "W2"]


# Label Studio


@pytest.mark.parametrize("kind", ["json", "csv", "tsv"])
def test_the_flat_exports_of_label_studio(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"p.{kind}"
    if kind == "json":
        written(path, json.dumps(studio_records()))
    else:
        studio_csv(path, studio_records(), "\t" if kind == "tsv" else ",")
    assert recognise(path) == "label-studio"
    read = read_all([path])
    assert sorted(read.fields) == ["meta", "text"]
    assert read.answer_field == "sentiment"
    assert read.items.height == 4
    assert read.table["answer"].to_list() == ["Pos", "Neg", *["Pos"] * 10]
    assert read.table["respondent"].to_list() == ["1", "2", "3"] * 4
    assert read.table["page"].to_list() == [str(n) for n in range(1, 13)]
    assert read.table["page_seconds"].to_list() == [4.288] * 12
    assert read.table["submitted"][0] == datetime.datetime(2021, 3, 9, 22, 16, 8, 728000)


def test_json_min_says_by_its_order_which_fields_are_answers(tmp_path: Path) -> None:
    records = [{**record, "sentiment": "Pos"} for record in studio_records()]
    read = read_all([written(tmp_path / "p.json", json.dumps(records))])
    assert read.answer_field == "sentiment"
    two = written(tmp_path / "two.json", json.dumps(studio_records(quality=[{"rating": 4}])))
    with pytest.raises(SeveralAnswersError, match="sentiment, quality"):
        read_all([two])
    chosen = read_all([two], answer="quality")
    assert chosen.table["answer"].unique().to_list() == ["4"]
    assert chosen.fields == ["text", "meta"]


def test_a_csv_whose_answers_never_differ_must_be_told_which_column_they_are(tmp_path: Path) -> None:
    path = studio_csv(tmp_path / "p.csv", [{**record, "sentiment": "Pos"} for record in studio_records()])
    with pytest.raises(UsageError, match=r"name it with answer .*meta, sentiment, text"):
        read_all([path])
    assert read_all([path], answer="sentiment").items.height == 4
    with pytest.raises(UsageError, match="no answer column 'mood'"):
        read_all([path], answer="mood")


def test_a_golden_field_of_label_studio_is_the_known_answer_of_a_control_item(tmp_path: Path) -> None:
    records = [{"golden": "Pos" if record["id"] == 100 else None, **record} for record in studio_records()]
    for path in (written(tmp_path / "p.json", json.dumps(records)), studio_csv(tmp_path / "p.csv", records)):
        read = read_all([path])
        assert read.table["is_control"].to_list() == [True] * 3 + [False] * 9
        assert read.table["control"].to_list() == ["Pos"] * 3 + [None] * 9
        assert "golden" not in read.fields


@pytest.mark.parametrize(
    ("written_as", "answer"),
    [
        ("A", "A"),
        ('{"choices": ["A", "B"]}', '["A", "B"]'),
        ('[{"rating": 4}]', "4"),
        ('[{"number": 2.5}]', "2.5"),
        ('["one line", "two"]', '["one line", "two"]'),
        ("[not JSON", "[not JSON"),
        ("{}", "{}"),
        ("[]", "[]"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_answers_of_label_studio_as_one_text(written_as: str, answer: str) -> None:
    assert plain_value(written_as) == answer


@pytest.mark.parametrize(
    "broken",
    [
        [*studio_records(1), {"text": "a task", "annotations": []}],
        [{"annotator": 1, "annotation_id": 1, "id": 1, "sentiment": "Pos"}],
    ],
)
def test_json_min_that_is_none(tmp_path: Path, broken: list[object]) -> None:
    with pytest.raises(InputError):
        read_all([written(tmp_path / "p.json", json.dumps(broken))])


# Amazon Mechanical Turk


def test_a_batch_of_mechanical_turk(tmp_path: Path) -> None:
    rows = [mturk_row(item, person, "yes") for item in range(2) for person in range(3)]
    path = batch(tmp_path / "Batch_1_batch_results.csv", ["Answer.toxic"], rows)
    assert recognise(path) == "mturk"
    read = read_all([path])
    assert read.fields == ["text"]
    assert read.answer_field == "Answer.toxic"
    assert read.table["respondent"].to_list() == ["W0", "W1", "W2"] * 2
    assert read.table["started"][0] == datetime.datetime(2025, 10, 10, 6, 59, 30)
    assert read.table["submitted"][0] == datetime.datetime(2025, 10, 10, 7, 0, 20)
    assert read.unread == ()
    money = cost(read)
    assert (money.total, money.currency, money.pages) == (0.3, "USD", 6)
    assert money.hourly == pytest.approx(3.6)


def test_rejected_assignments_are_counted_and_do_not_vote(tmp_path: Path) -> None:
    rows = [
        mturk_row(0, 0, "yes", "", AcceptTime="Thu Foo 09 07:30:20 XXX 2025"),
        mturk_row(0, 1, "no", "", AssignmentStatus="Rejected"),
        mturk_row(0, 2, "no", "empty answers"),
    ]
    read = read_all([batch(tmp_path / "b.csv", ["Answer.toxic", "Reject"], rows)])
    assert read.table["answer"].to_list() == ["yes"]
    assert read.dropped == {"rejected": 2}
    assert read.rows_read == 3
    assert cost(read).total == 0.05
    assert [(one.what, one.text) for one in read.unread] == [("time", "Thu Foo 09 07:30:20 XXX 2025")]


@pytest.mark.parametrize(
    ("answers", "kept"),
    [
        ('[{"toxic": "yes"}]', "yes"),
        ('{"toxic": "yes"}', "yes"),
        ('[{"toxic": {"yes": true, "no": false}}]', "yes"),
        ('[{"toxic": {"yes": true, "no": true}}]', '["yes", "no"]'),
        ('[{"toxic": {"label": "yes"}}]', "yes"),
        ('[{"toxic": {"labels": ["yes", "no"]}}]', '["yes", "no"]'),
        ('[{"other": null}, {"toxic": 3}]', "3"),
        ('[{"toxic": {"yes": false}}]', None),
    ],
)
def test_all_answers_of_an_assignment_as_json(tmp_path: Path, answers: str, kept: str | None) -> None:
    rows = [mturk_row(0, 0, answers), mturk_row(0, 1, '[{"toxic": "no"}]')]
    read = read_all([batch(tmp_path / "b.csv", ["Answer.taskAnswers"], rows)])
    assert read.answer_field == "Answer.toxic"
    assert read.table["answer"].to_list() == [*([kept] if kept else []), "no"]


@pytest.mark.parametrize("answers", ["[{", "[1]", '"yes"', "[" * 100_000, '[{"a": NaN}]'])
def test_answers_that_are_no_json_name_their_row(tmp_path: Path, answers: str) -> None:
    rows = [mturk_row(0, 0, '[{"toxic": "no"}]'), mturk_row(0, 1, answers)]
    with pytest.raises(InputError, match=r"b\.csv, row 3, Answer\.taskAnswers: "):
        read_all([batch(tmp_path / "b.csv", ["Answer.taskAnswers"], rows)])


def test_a_column_for_every_option_is_one_answer(tmp_path: Path) -> None:
    names = ["Answer.toxic.yes", "Answer.toxic.no", "Answer.comment"]
    rows = [
        mturk_row(0, 0, "true", "false", "x"),
        mturk_row(0, 1, "FALSE", "TRUE", ""),
        mturk_row(0, 2, "false", "false", ""),
    ]
    path = batch(tmp_path / "b.csv", names, rows)
    with pytest.raises(SeveralAnswersError, match="comment, toxic"):
        read_all([path])
    read = read_all([path], answer="toxic")
    assert read.table["answer"].to_list() == ["yes", "no"]
    assert read.dropped == {"empty_answer": 1}


def test_a_golden_input_of_mechanical_turk_is_the_known_answer_of_a_control_item(tmp_path: Path) -> None:
    rows = [mturk_row(item, 0, "yes", golden) for item, golden in enumerate(("no", ""))]
    read = read_all([batch(tmp_path / "b.csv", ["Answer.toxic", "Input.golden"], rows)])
    assert read.fields == ["text"]
    assert read.table["control"].to_list() == ["no", None]


def test_files_of_two_projects_are_refused(tmp_path: Path) -> None:
    one = batch(tmp_path / "a.csv", ["Answer.toxic"], [mturk_row(0, 0, "yes")])
    two = batch(tmp_path / "b.csv", ["Answer.rude"], [mturk_row(0, 0, "yes")])
    with pytest.raises(DataError, match="a different project"):
        read_all([one, two])
