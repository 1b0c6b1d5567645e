"""Files of completions: read row by row, and what is wrong with them in a sentence."""

import gzip
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merilo.errors import DataError, InputError, MeriloError
from merilo.sandbox.extraction import Stub
from merilo.sandbox.problems import LONGEST_COMPLETION, Problem, count_completions, read_completions

STUB = Stub.read("def double(x):\n", "double")
PROBLEMS = {
    name: Problem(id_, STUB, ({"x": 1},), ("2",))
    for name, id_ in [("1", 1), ("HumanEval/2", "HumanEval/2"), ("3", "3")]
}


def written(folder, *rows, name="completions.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_many_rows_answer_one_problem(tmp_path):
    path = written(
        tmp_path,
        *[{"id": 1, "completion": str(number)} for number in range(3)],
        {"task_id": "3", "completion": "x"},
    )
    census = count_completions(path, PROBLEMS)
    assert census.counts == {"1": 3, "HumanEval/2": 0, "3": 1}
    assert census.generations == 4
    rows = list(read_completions(path, PROBLEMS))
    assert [(row.row, row.problem.id, row.completion) for row in rows] == [
        (1, 1, "0"),
        (2, 1, "1"),
        (3, 1, "2"),
        (4, "3", "x"),
    ]


@pytest.mark.parametrize("row", [{"id": 1}, {"id": "1"}, {"task_id": 1}, {"task_id": "1", "id": 77}])
def test_a_problem_is_named_by_id_or_task_id_as_a_number_or_a_text(tmp_path, row):
    path = written(tmp_path, row | {"completion": ""})
    assert [generation.problem.id for generation in read_completions(path, PROBLEMS)] == [1]


def test_compressed_files_blank_lines_and_a_byte_order_mark_are_read(tmp_path):
    text = '\ufeff{"id": 1, "completion": "a"}\n\n  \n{"id": 1, "completion": "b"}'.encode()
    path = tmp_path / "completions.jsonl.gz"
    path.write_bytes(gzip.compress(text))
    assert [(row.row, row.completion) for row in read_completions(path, PROBLEMS)] == [(1, "a"), (4, "b")]


def test_nul_bytes_and_lone_surrogates_are_what_a_model_may_write(tmp_path):
    path = written(
        tmp_path, {"id": 1, "completion": "return 1\0"}, {"id": 1, "completion": "return '\ud800'"}
    )
    assert [row.completion for row in read_completions(path, PROBLEMS)] == ["return 1\0", "return '\ud800'"]


def test_a_completion_of_fifty_megabytes_counts_and_is_not_run(tmp_path):
    path = written(
        tmp_path, {"id": 1, "completion": "x" * 50_000_000}, {"id": 1, "completion": "y" * LONGEST_COMPLETION}
    )
    census = count_completions(path, PROBLEMS)
    assert (census.generations, census.too_long) == (2, (1,))
    longest, allowed = read_completions(path, PROBLEMS)
    assert (longest.completion, longest.length, longest.extraction()) == (None, 50_000_000, None)
    assert allowed.completion == "y" * LONGEST_COMPLETION


@pytest.mark.parametrize(("row", "message"), [
    ({"id": 2, "completion": ""}, "row 2, id: '2' is not one of the 3 problems"),
    ({"task_id": "HumanEval/3", "completion": ""}, "row 2, task_id: 'HumanEval/3' is not one of the 3 problems, did you mean 'HumanEval/2'"),
    ({"completion": ""}, "row 2, id: is missing"),
    ({"id": [1], "completion": ""}, "row 2, id: is not the id of a problem: [1]"),
    ({"id": True, "completion": ""}, "row 2, id: is not the id of a problem: True"),
    ({"id": 1}, "row 2, completion: must be the text that the model wrote, but is missing"),
    ({"id": 1, "completion": None}, "row 2, completion: must be the text that the model wrote, but is null"),
    ({"id": 1, "completion": ["a"]}, 'row 2, completion: must be the text that the model wrote, but is ["a"]'),
])  # fmt: skip
def test_a_row_without_its_problem_or_its_completion_is_named(tmp_path, row, message):
    path = written(tmp_path, {"id": 1, "completion": ""}, row)
    with pytest.raises(DataError) as caught:
        count_completions(path, PROBLEMS)
    if row.get("id") == 2:
        message = message.replace("'2'", "2")
    assert message in str(caught.value)


GOOD = b'{"id": 1, "completion": "a"}\n'


@pytest.mark.parametrize(("data", "message"), [
    (b"", "completions.jsonl: holds no completions"),
    (b"\n\n", "holds no completions"),
    (GOOD + GOOD[:-4], "row 2: is not a row of JSON (Unterminated string starting at): the file ends in the middle of a row"),
    (GOOD + b"{]\n", "row 2: is not a row of JSON"),
    (GOOD + b"[]\n", "row 2: must be an object"),
    (GOOD + '{"id": 1, "completion": "кот"}\n'.encode("cp1251"), "row 2: is not UTF-8 text (byte 0xea)"),
    (GOOD.decode().encode("utf-16"), "is UTF-16 text"),
    (b"[" * 100_000 + b"\n", "row 1: cannot be read as JSON"),
    (b'{"id": ' + b"9" * 10_000 + b"}\n", "row 1: cannot be read as JSON"),
    (gzip.compress(GOOD * 100, mtime=0)[:-9], "is an incomplete or damaged gzip archive"),
    (b"\0" * 10, "row 1: is not a row of JSON"),
    (b"[\n" + GOOD.strip() + b"]\n", "row 1: is not a row of JSON (Expecting value); JSON Lines hold a whole object in every row"),
    (b"\x28\xb5\x2f\xfdpacked", "is compressed with Zstandard, but only gzip is supported; decompress it first"),
    (b"PK\x03\x04packed", "is a ZIP archive"),
    (gzip.compress(gzip.compress(GOOD, mtime=0), mtime=0), "is compressed twice"),
    (gzip.compress(GOOD.decode().encode("utf-16"), mtime=0), "is UTF-16 text"),
])  # fmt: skip
def test_a_file_that_is_no_json_lines_is_refused(tmp_path, data, message):
    path = tmp_path / "completions.jsonl"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        count_completions(path, PROBLEMS)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["id", "task_id", "completion"])
def test_a_row_that_says_two_things_is_not_read_as_one(tmp_path, name):
    path = tmp_path / "completions.jsonl"
    said = {"id": 1, "completion": "a"} | {name: "1"}
    path.write_text(json.dumps(said)[:-1] + f', "{name}": "2"}}\n')
    with pytest.raises(DataError, match=f"row 1, {name}: occurs twice in the row"):
        count_completions(path, PROBLEMS)
    path.write_text('{"id": 1, "completion": "a", "tokens": {"a": NaN, "a": 2}}\n')
    assert count_completions(path, PROBLEMS).generations == 1


def test_a_row_without_end_is_refused_before_it_is_held_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("merilo.sandbox.problems.LONGEST_ROW", 10_000)
    path = tmp_path / "completions.jsonl.gz"
    path.write_bytes(gzip.compress(GOOD + b" " * 1_000_000))
    with pytest.raises(InputError, match=r"completions\.jsonl\.gz, row 2: is longer than"):
        count_completions(path, PROBLEMS)


def test_a_file_that_is_not_there_or_is_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        count_completions(tmp_path / "none", PROBLEMS)
    with pytest.raises(InputError, match="is a folder"):
        count_completions(tmp_path, PROBLEMS)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a pipe or a device"):
        count_completions(tmp_path / "pipe", PROBLEMS)


@given(
    st.lists(st.binary(max_size=20) | st.sampled_from([GOOD, b"{", b"\n", b"\x1f\x8b", b"\xff\xfe"])).map(
        b"".join
    )
)
def test_any_bytes_are_completions_or_a_sentence(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "completions.jsonl"
    path.write_bytes(data)
    sentence = sentence_of(path)
    assert sentence is None or ("completions.jsonl" in sentence and "\n" not in sentence)


def sentence_of(path) -> str | None:
    """Return the error message on a file; empty if the file has completions."""
    try:
        census = count_completions(path, PROBLEMS)
    except MeriloError as error:
        return str(error)
    assert census.generations
    return None
