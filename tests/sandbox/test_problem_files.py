"""Files of problems and of completions, of every form, and what is wrong with them in a sentence."""

import gzip
import json
import os
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merilo.errors import DataError, InputError, MeriloError
from merilo.sandbox.extraction import Stub
from merilo.sandbox.problems import (
    LONGEST_COMPLETION,
    Problem,
    count_completions,
    read_completions,
    read_problems,
)
from merilo.sandbox.program import Check

STUB = 'def double(x):\n    """Удвойте x."""'


def item(
    number=1,
    function=STUB,
    tests="[{'x': 1}, {'x': 'ab'}]",
    outputs=("2", "abab"),
    entry_point="double",
    **more,
):
    return {
        "instruction": "Допишите функцию.\n{function}",
        "inputs": {"function": function, "tests": tests},
        "outputs": list(outputs) if isinstance(outputs, tuple) else outputs,
        "meta": {"id": number, "entry_point": entry_point, "canonical_solution": "    return 2 * x"} | more,
    }  # fmt: skip


def row(task_id="HumanEval/0", **more):
    return {
        "task_id": task_id,
        "prompt": STUB + "\n",
        "entry_point": "double",
        "test": "def check(candidate):\n    assert candidate(1) == 2\n",
        "canonical_solution": "    return 2 * x\n",
    } | more


def written(folder: Path, value, name="problems.json") -> Path:
    path = folder / name
    if isinstance(value, bytes):
        path.write_bytes(value)
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        path.write_text(text, encoding="utf-8")
    return path


def lines(*rows) -> str:
    return "".join(json.dumps(each, ensure_ascii="completion" in each) + "\n" for each in rows)


KNOWN = {
    name: Problem(id_, Stub.read("def double(x):\n", "double"), ({"x": 1},), ("2",))
    for name, id_ in [("1", 1), ("HumanEval/2", "HumanEval/2"), ("3", "3")]
}
ROW_BYTES = b'{"id": 1, "completion": "a"}\n'


def completions(folder: Path, *rows) -> Path:
    return written(folder, lines(*rows), "completions.jsonl")


def read(path: Path) -> list[tuple[int, object, str | None]]:
    return [(each.row, each.problem.id, each.completion) for each in read_completions(path, KNOWN)]


@pytest.mark.parametrize(("name", "wrap"), [
    ("problems.json", lambda items: {"data": {"test": items}}),
    ("test.json", lambda items: {"data": items}),
    ("test.jsonl", lambda items: lines(*items)),
])  # fmt: skip
def test_items_are_read_from_every_form_of_a_split(tmp_path, name, wrap):
    problems = read_problems(written(tmp_path, wrap([item(6), item(7)]), name))
    assert list(problems) == ["6", "7"]
    problem = problems["6"]
    assert (problem.id, problem.tests, problem.gold) == (6, ({"x": 1}, {"x": "ab"}), ("2", "abab"))
    assert problem.canonical == "    return 2 * x"
    assert problem.stub.entry_point == "double"


def test_human_evals_own_lines_are_read_plain_and_compressed(tmp_path):
    plain = written(tmp_path, lines(row(), row("HumanEval/1")), "HumanEval.jsonl")
    packed = tmp_path / "HumanEval.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_problems(plain) == read_problems(packed)
    problem = read_problems(plain)["HumanEval/1"]
    assert isinstance(problem.tests, Check)
    assert (problem.tests.context, problem.stub.prompt) == ("", row()["prompt"])
    assert not problem.is_closed


@pytest.mark.parametrize(("changed", "tests", "gold"), [
    ({"tests": [{"x": 1}, {"x": [2]}]}, ({"x": 1}, {"x": [2]}), ("2", "abab")),
    ({"tests": "[{'x': (1, 2)}, {'x': {3}}]"}, ({"x": (1, 2)}, {"x": {3}}), ("2", "abab")),
    ({"outputs": [["2", "abab"]] * 10}, ({"x": 1}, {"x": "ab"}), ("2", "abab")),
    ({"outputs": [2, None]}, ({"x": 1}, {"x": "ab"}), ("2", "None")),
], ids=["JSON", "what JSON cannot hold", "gold once a generation", "gold as text"])  # fmt: skip
def test_tests_and_gold_have_several_forms(tmp_path, changed, tests, gold):
    problem = read_problems(written(tmp_path, {"data": [item(**changed)]}))["1"]
    assert (problem.tests, problem.gold) == (tests, gold)


def test_a_problem_without_gold_is_closed_and_the_last_function_is_its_entry_point(tmp_path):
    two = "def one():\n    return 1\n\n" + STUB
    for outputs in (None, "", []):
        path = written(tmp_path, {"data": [item(outputs=outputs, function=two, entry_point=None)]})
        problem = read_problems(path)["1"]
        assert (problem.is_closed, problem.stub.entry_point) == (True, "double")


def test_many_rows_answer_one_problem_named_by_id_or_task_id_as_a_number_or_a_text(tmp_path):
    names = [{"id": 1}, {"id": "1"}, {"task_id": 1}, {"task_id": "1", "id": 77}, {"task_id": "3"}]
    path = completions(tmp_path, *[name | {"completion": str(n)} for n, name in enumerate(names)])
    census = count_completions(path, KNOWN)
    assert (census.counts, census.generations) == ({"1": 4, "HumanEval/2": 0, "3": 1}, 5)
    assert read(path) == [(1, 1, "0"), (2, 1, "1"), (3, 1, "2"), (4, 1, "3"), (5, "3", "4")]


def test_compression_blank_lines_a_byte_order_mark_nul_bytes_and_lone_surrogates_are_read(tmp_path):
    text = '\ufeff{"id": 1, "completion": "a\\u0000"}\n\n  \n{"id": 1, "completion": "\\ud800"}'.encode()
    path = written(tmp_path, gzip.compress(text), "completions.jsonl.gz")
    assert read(path) == [(1, 1, "a\0"), (4, 1, "\ud800")]


def test_a_completion_of_fifty_megabytes_counts_and_is_not_run(tmp_path):
    texts = ["x" * 50_000_000, "y" * LONGEST_COMPLETION]
    path = completions(tmp_path, *[{"id": 1, "completion": text} for text in texts])
    census = count_completions(path, KNOWN)
    assert (census.generations, census.too_long) == (2, (1,))
    longest, allowed = read_completions(path, KNOWN)
    assert (longest.completion, longest.extraction()) == (None, None)
    assert allowed.completion == texts[1]


@pytest.mark.parametrize(("row", "message"), [
    ({"id": 2, "completion": ""}, "row 2, id: 2 is not one of the 3 problems"),
    ({"task_id": "HumanEval/3", "completion": ""}, "row 2, task_id: 'HumanEval/3' is not one of the 3 problems, did you mean 'HumanEval/2'"),
    ({"completion": ""}, "row 2, id: is missing"),
    ({"id": [1], "completion": ""}, "row 2, id: is not the id of a problem: [1]"),
    ({"id": True, "completion": ""}, "row 2, id: is not the id of a problem: True"),
    ({"id": 1}, "row 2, completion: must be the text that the model wrote, but is missing"),
    ({"id": 1, "completion": None}, "row 2, completion: must be the text that the model wrote, but is null"),
    ({"id": 1, "completion": ["a"]}, 'row 2, completion: must be the text that the model wrote, but is ["a"]'),
    ({"id": 1, "completion": "", "annotator": "a"}, "row 1, annotator: is missing, but row 2 names a person"),
    ({"id": 1, "completion": "", "annotator": ""}, "row 2, annotator: is empty"),
    ({"id": 1, "completion": "", "respondent": None}, "row 2, respondent: is empty"),
    ({"id": 1, "completion": "", "annotator": ["a"]}, "row 2, annotator: is not a name of a person: ['a']"),
    ({"id": 1, "completion": "", "annotator": True}, "row 2, annotator: is not a name of a person: True"),
])  # fmt: skip
def test_a_row_without_its_problem_or_its_completion_is_named(tmp_path, row, message):
    with pytest.raises(DataError) as caught:
        count_completions(completions(tmp_path, {"id": 1, "completion": ""}, row), KNOWN)
    assert message in str(caught.value)


def test_people_name_themselves_in_all_rows_and_write_one_program_a_problem(tmp_path):
    by_a = {"id": 1, "completion": "", "annotator": "a"}
    for rows, message in (
        ([by_a, {"id": 3, "completion": ""}], "row 2, annotator: is missing, but row 1 names a person"),
        ([by_a, by_a | {"id": 3}, by_a], "row 3, annotator: a has a program for problem 1 in row 1 already"),
    ):
        with pytest.raises(DataError, match=message):
            count_completions(completions(tmp_path, *rows), KNOWN)


@pytest.mark.parametrize("name", ["id", "task_id", "completion"])
def test_a_row_that_says_two_things_is_not_read_as_one(tmp_path, name):
    said = {"id": 1, "completion": "a"} | {name: "1"}
    path = written(tmp_path, json.dumps(said)[:-1] + f', "{name}": "2"}}\n', "completions.jsonl")
    with pytest.raises(DataError, match=f"row 1, {name}: occurs twice in the row"):
        count_completions(path, KNOWN)
    path.write_text('{"id": 1, "completion": "a", "tokens": {"a": NaN, "a": 2}}\n')
    assert count_completions(path, KNOWN).generations == 1


@pytest.mark.parametrize(("problem", "message"), [
    (item(tests=""), "item 1, inputs.tests: has no tests"),
    (item(tests="[]"), "item 1, inputs.tests: has no tests"),
    (item(tests="[{'x': open('/etc/passwd')}]"), "item 1, inputs.tests: is not a list of literals"),
    (item(tests="-" * 100_000 + "1"), "item 1, inputs.tests: is not a list of literals"),
    (item(tests="'x'"), "item 1, inputs.tests: must be a list"),
    (item(tests="[1, 2]"), "item 1, inputs.tests: must be a list of dictionaries"),
    (item(tests="[{1: 2}]"), "item 1, inputs.tests: must be a list of dictionaries"),
    (item(outputs=("2",)), "item 1, outputs: has 1 results for 2 tests"),
    (item(outputs=[["2", "a"], ["2", "b"]]), "item 1, outputs: the lists of results differ"),
    (item(outputs={"a": 1}), "item 1, outputs: must be a list"),
    (item(entry_point="triple"), "item 1, meta.entry_point: the function triple is not defined in the stub"),
    (item(entry_point="double()"), "item 1, meta.entry_point: is not the name of a function"),
    (item(function="x = 1", entry_point=None), "item 1, meta.entry_point: is missing, and the stub does not define a function"),
    (item(function=""), "item 1, inputs.function: must be a text"),
    (item(function="async def double(x):\n"), "item 1, meta.entry_point: the function double is async, and the results of async calls cannot be compared"),
    (item() | {"inputs": "text"}, "item 1, inputs: must be an object with function and tests, not a text"),
])  # fmt: skip
def test_a_problem_that_cannot_be_judged_is_named(tmp_path, problem, message):
    with pytest.raises(DataError) as caught:
        read_problems(written(tmp_path, {"data": [problem]}))
    assert message in str(caught.value)
    assert caught.value.exit_status == 1


@pytest.mark.parametrize(("problem", "message"), [
    (row(test=""), "row 2, test: has no tests"),
    (row(test="x = 1"), "row 2, test: has no tests: it must define check(candidate)"),
    (row(entry_point="triple"), "row 2, entry_point: the function triple is not defined in the stub"),
    (row(prompt=None), "row 2, prompt: must be a text, but is missing"),
    (row("HumanEval/0"), 'row 2, id: another problem also has the id \'HumanEval/0\''),
])  # fmt: skip
def test_a_row_that_cannot_be_judged_is_named(tmp_path, problem, message):
    path = written(tmp_path, lines(row(), {"task_id": "HumanEval/1"} | problem), "rows.jsonl")
    with pytest.raises(DataError, match=r"rows\.jsonl") as caught:
        read_problems(path)
    assert message in str(caught.value)


def test_an_id_is_the_same_as_a_number_and_as_a_text(tmp_path):
    with pytest.raises(DataError, match="another problem also has the id '1'"):
        read_problems(written(tmp_path, {"data": [item(1), item("1")]}))


def refused(path: Path, reading) -> str:
    with pytest.raises(InputError) as caught:
        reading(path)
    assert path.name in str(caught.value)
    assert caught.value.exit_status == 2
    return str(caught.value)


COUNTED = partial(count_completions, problems=KNOWN)


@pytest.mark.parametrize(("data", "message"), [
    (b"", "completions.jsonl: holds no completions"),
    (b"\n\n", "holds no completions"),
    (ROW_BYTES + ROW_BYTES[:-4], "row 2: is not a row of JSON (Unterminated string starting at): the file ends in the middle of a row"),
    (ROW_BYTES + b"{]\n", "row 2: is not a row of JSON"),
    (ROW_BYTES + b"[]\n", "row 2: must be an object"),
    (ROW_BYTES + '{"id": 1, "completion": "кот"}\n'.encode("cp1251"), "row 2: is not UTF-8 text (byte 0xea)"),
    (ROW_BYTES.decode().encode("utf-16"), "is UTF-16 text"),
    (b"[" * 100_000 + b"\n", "row 1: cannot be read as JSON"),
    (b'{"id": ' + b"9" * 10_000 + b"}\n", "row 1: cannot be read as JSON"),
    (gzip.compress(ROW_BYTES * 100, mtime=0)[:-9], "is an incomplete or damaged gzip archive"),
    (b"\0" * 10, "row 1: is not a row of JSON"),
    (b"[\n" + ROW_BYTES.strip() + b"]\n", "row 1: is not a row of JSON (Expecting value); JSON Lines hold a whole object in every row"),
    (b"\x28\xb5\x2f\xfdpacked", "is compressed with Zstandard, but only gzip is supported; decompress it first"),
    (b"PK\x03\x04packed", "is a ZIP archive"),
    (gzip.compress(gzip.compress(ROW_BYTES, mtime=0), mtime=0), "is compressed twice"),
    (gzip.compress(ROW_BYTES.decode().encode("utf-16"), mtime=0), "is UTF-16 text"),
])  # fmt: skip
def test_a_file_that_is_no_json_lines_is_refused(tmp_path, data, message):
    assert message in refused(written(tmp_path, data, "completions.jsonl"), COUNTED)


@pytest.mark.parametrize(("name", "data", "message"), [
    ("a.json", b"", "the file is empty"),
    ("a.json", b"[]", "has no items"),
    ("a.json", b'{"data": {"test": []}}', "holds no problems"),
    ("a.json", b"{", "is not JSON"),
    ("a.csv", b"id,prompt\n1,x\n", "is not a file of items"),
    ("a.json", b"[" * 200_000, "cannot be read as JSON"),
    ("a.jsonl", lines(row()).encode() + b'{"task_id": "Hum', "row 2: is not a row of JSON (Unterminated string starting at): the file ends in the middle of a row"),
    ("a.jsonl", lines(row()).encode() + b"7\n", "row 2: must be an object, not 7"),
    ("a.jsonl", lines(row()).encode() + '"кот"'.encode("cp1251"), "row 2: is not UTF-8 text (byte 0xea)"),
    ("a.json", "[\n\"кот\"]".encode("cp1251"), "is not UTF-8 text"),
    ("a.gz", b"\x1f\x8b\x08\x00broken", "is an incomplete or damaged gzip archive"),
    ("a.jsonl.gz", gzip.compress(lines(row()).encode(), mtime=0)[:-12], "is an incomplete or damaged gzip archive"),
    ("a.jsonl", b'{"task_id": "1", "completion": "pass"}\n', "holds completions, not problems"),
    ("a.json", b'{"id": 1, "completion": "pass"}\n', "holds completions, not problems"),
    ("a.gz", gzip.compress(b'{"id": 1, "completion": "pass"}\n', mtime=0), "holds completions, not problems"),
    ("a.json.gz", gzip.compress(json.dumps({"data": [item()]}).encode(), mtime=0), "is compressed, but only HumanEval's own JSON Lines may be"),
    ("a.jsonl.zst", b"\x28\xb5\x2f\xfdpacked", "is compressed with Zstandard, but only gzip is supported"),
    ("a.json", json.dumps({"data": [item()]}).encode("utf-16"), "is UTF-16 text"),
    ("a.json", lines(item(1), item(2)).encode(), "is not JSON: extra data at line 2, column 1; JSON Lines are read from a file named .jsonl"),
])  # fmt: skip
def test_a_file_that_holds_no_problems_is_refused(tmp_path, name, data, message):
    assert message in refused(written(tmp_path, data, name), read_problems)


@pytest.mark.parametrize("reading", [COUNTED, read_problems], ids=["completions", "problems"])
def test_a_file_that_is_not_there_or_is_no_file_is_refused(tmp_path, reading):
    assert "there is no such file" in refused(tmp_path / "none.json", reading)
    (tmp_path / "folder.json").mkdir()
    assert "is a folder" in refused(tmp_path / "folder.json", reading)
    os.mkfifo(tmp_path / "pipe.json")
    assert "is a pipe or a device" in refused(tmp_path / "pipe.json", reading)


def test_a_file_too_large_for_problems_is_refused_before_it_is_read(tmp_path):
    for name in ("problems.json", "problems.jsonl", "problems.parquet"):
        with (tmp_path / name).open("wb") as stream:
            stream.truncate(1 << 40)  # nothing on the disk, and more than there is memory
        sentence = f"{name}: holds more than 256 MiB, which is too large for a file of problems"
        assert sentence in refused(tmp_path / name, read_problems)


def test_an_archive_that_unfolds_without_end_is_refused_before_it_is_held_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("merilo.sandbox.problems.LONGEST", 10_000)
    for good, reading, message in (
        (lines(row()).encode(), read_problems, "holds more than"),
        (ROW_BYTES, COUNTED, "row 2: holds more than 0 MiB, in one row"),
    ):
        path = written(tmp_path, gzip.compress(good + b" " * 1_000_000), "rows.jsonl.gz")
        assert path.stat().st_size < 10_000
        assert message in refused(path, reading)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
fields = st.sampled_from(
    ["inputs", "outputs", "meta", "prompt", "test", "entry_point", "task_id", "data", "function", "tests"]
)


@given(
    st.dictionaries(fields, json_values | st.dictionaries(fields, json_values)),
    st.lists(st.binary(max_size=20) | st.sampled_from([ROW_BYTES, b"{", b"\n", b"\x1f\x8b", b"\xff\xfe"])),
)
def test_any_file_is_read_or_refused_in_a_sentence(tmp_path_factory, value, parts):
    folder = tmp_path_factory.mktemp("any")
    for path, reading in (
        (written(folder, value), read_problems),
        (written(folder, b"".join(parts), "completions.jsonl"), COUNTED),
    ):
        sentence = ""
        try:
            assert reading(path)
        except MeriloError as error:
            sentence = str(error)
        assert not sentence or (path.name in sentence and "\n" not in sentence)
