"""Every command reads a file of answers in the same way, in all forms and with all names of columns."""

import csv
import json
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from every import every

from merilo.answer_tables import ItemAnswer, read_item_answers
from merilo.errors import InputError

IDS = ["id", "item_id", "meta.id", "item", "ID", "INPUT:id"]
ANSWERS = ["answer", "outputs", "output", "response", "Answer", "OUTPUT:answer"]


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    match path.suffix:
        case ".json":
            path.write_text(json.dumps(rows), encoding="utf-8")
        case ".jsonl" | ".ndjson":
            path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        case ".parquet":
            pl.DataFrame(rows).write_parquet(path)
        case suffix:
            with path.open("w", encoding="utf-8", newline="") as stream:
                writer = csv.DictWriter(stream, list(rows[0]), delimiter="\t" if suffix == ".tsv" else ",")
                writer.writeheader()
                writer.writerows(rows)
    return path


@every("suffix", ["csv", "tsv", "json", "jsonl", "ndjson", "parquet"])
def test_every_form_takes_every_name_of_a_column(suffix: str, tmp_path: Path) -> None:
    first = 2 if suffix in {"csv", "tsv"} else 1
    # Each Parquet file is read in a process of its own, which takes half a second: not all pairs, but all names.
    pairs = zip(IDS, ANSWERS, strict=True) if suffix == "parquet" else product(IDS, ANSWERS)
    for identifier, answer in pairs:
        rows = [{identifier: "q1", answer: " a  b ", "sample": "2"}, {identifier: "q2", answer: "c", "sample": "1"}]  # fmt: skip
        found = list(read_item_answers(write(tmp_path / f"m.{suffix}", rows)))
        assert found == [
            ItemAnswer(first, "q1", " a  b ", "2"),
            ItemAnswer(first + 1, "q2", "c", "1"),
        ], (identifier, answer)


def test_the_id_goes_before_the_items_number(tmp_path: Path) -> None:
    path = write(tmp_path / "m.csv", [{"item": "0", "id": "q7", "answer": "a"}])
    assert [record.item for record in read_item_answers(path)] == ["q7"]


@every("content", [
    {"data": {"test": [{"outputs": "a", "meta": {"id": 1}}, {"outputs": "b", "meta": {"id": 2}}]}},
    {"test": [{"outputs": "a", "meta": {"id": 1}}, {"outputs": "b", "meta": {"id": 2}}]},
    {"data": [[{"outputs": "a", "meta": {"id": 1}}, {"outputs": "b", "meta": {"id": 2}}]]},
    {"1": "a", "2": "b"},
])  # fmt: skip
def test_json_of_every_shape_holds_the_same_records(content: object, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert list(read_item_answers(path)) == [ItemAnswer(1, "1", "a"), ItemAnswer(2, "2", "b")]


def test_undecided_items_of_a_consensus_have_no_answer_and_formulas_are_undone(tmp_path: Path) -> None:
    path = tmp_path / "consensus.csv"
    path.write_text("item,id,label,resolved_by\n0,q0,'=A,majority\n1,q1,,unresolved\n2,q2,B,majority\n")
    assert list(read_item_answers(path)) == [ItemAnswer(2, "q0", "=A"), ItemAnswer(4, "q2", "B")]


def test_a_blank_line_of_a_table_is_no_answer_but_keeps_its_row(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("id,answer\nq0,A\n\nq1,\n")
    assert list(read_item_answers(path)) == [ItemAnswer(2, "q0", "A"), ItemAnswer(4, "q1", "")]


def test_a_record_without_an_answer_is_refused_with_its_row(tmp_path: Path) -> None:
    path = write(tmp_path / "m.jsonl", [{"id": "1", "answer": "a"}, {"id": "2"}])
    with pytest.raises(InputError, match="row 2: has no 'answer'"):
        list(read_item_answers(path))
