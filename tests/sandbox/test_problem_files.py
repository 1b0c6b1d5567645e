"""Files of problems, of every form, and what is wrong with them in a sentence."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merilo.errors import DataError, InputError, MeriloError
from merilo.sandbox.problems import read_problems
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
    path.write_text(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), encoding="utf-8"
    )
    return path


def lines(*rows) -> str:
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in rows)


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
    assert problem.tests.context == row()["prompt"]
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


@pytest.mark.parametrize("outputs", [None, "", []])
def test_a_problem_without_gold_is_closed(tmp_path, outputs):
    problem = read_problems(written(tmp_path, {"data": [item(outputs=outputs)]}))["1"]
    assert problem.is_closed


def test_the_last_function_of_the_stub_is_the_entry_point_where_none_is_named(tmp_path):
    path = written(
        tmp_path, {"data": [item(function="def one():\n    return 1\n\n" + STUB, entry_point=None)]}
    )
    assert read_problems(path)["1"].stub.entry_point == "double"


@pytest.mark.parametrize(("problem", "message"), [
    (item(tests=""), "item 1, inputs.tests: has no tests"),
    (item(tests=None), "item 1, inputs.tests: has no tests"),
    (item(tests="[]"), "item 1, inputs.tests: has no tests"),
    (item(tests="[{'x': open('/etc/passwd')}]"), "item 1, inputs.tests: is not a list of literals"),
    (item(tests="[" * 5000), "item 1, inputs.tests: is not a list of literals"),
    (item(tests="-" * 100_000 + "1"), "item 1, inputs.tests: is not a list of literals"),
    (item(tests="'x'"), "item 1, inputs.tests: is a literal, but not a list"),
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
    (row("HumanEval/0"), 'row 2, task_id: another problem also has the id \'HumanEval/0\''),
])  # fmt: skip
def test_a_row_that_cannot_be_judged_is_named(tmp_path, problem, message):
    path = written(tmp_path, lines(row(), {"task_id": "HumanEval/1"} | problem), "rows.jsonl")
    with pytest.raises(DataError, match=r"rows\.jsonl") as caught:
        read_problems(path)
    assert message in str(caught.value)


def test_an_id_is_the_same_as_a_number_and_as_a_text(tmp_path):
    with pytest.raises(DataError, match="another item has the same id"):
        read_problems(written(tmp_path, {"data": [item(1), item("1")]}))


@pytest.mark.parametrize(("name", "data", "message"), [
    ("a.json", b"", "the file is empty"),
    ("a.jsonl", b" \n", "the file is empty"),
    ("a.json", b"[]", "has no items"),
    ("a.json", b'{"data": {"test": []}}', "holds no problems"),
    ("a.json", b"{", "is not JSON"),
    ("a.csv", b"id,prompt\n1,x\n", "is not a file of items"),
    ("a.json", b'[{"inputs": ', "is not JSON"),
    ("a.json", b"[" * 200_000, "cannot be read as JSON"),
    ("a.jsonl", lines(row()).encode() + b'{"task_id": "Hum', "row 2: is not JSON"),
    ("a.jsonl", lines(row()).encode() + b"7\n", "row 2: must be an object, not 7"),
    ("a.jsonl", lines(row()).encode() + '"кот"'.encode("cp1251"), "row 2: is not UTF-8 text (byte 0xea)"),
    ("a.json", "[\n\"кот\"]".encode("cp1251"), "is not UTF-8 text"),
    ("a.gz", b"\x1f\x8b\x08\x00broken", "is an incomplete or damaged gzip archive"),
    ("a.gz", b"\x1f\x8b\x09\x00broken", "is an incomplete or damaged gzip archive"),
    ("a.jsonl.gz", gzip.compress(lines(row()).encode(), mtime=0)[:-12], "is an incomplete or damaged gzip archive"),
    ("a.jsonl", b'{"task_id": "1", "completion": "pass"}\n', "holds completions, not problems"),
    ("a.json", b'{"id": 1, "completion": "pass"}\n', "holds completions, not problems"),
    ("a.gz", gzip.compress(b'{"id": 1, "completion": "pass"}\n', mtime=0), "holds completions, not problems"),
    ("a.json.gz", gzip.compress(json.dumps({"data": [item()]}).encode(), mtime=0), "is compressed, but only HumanEval's own JSON Lines may be"),
    ("a.json.gz", gzip.compress(json.dumps([item()], indent=1).encode(), mtime=0), "is compressed, but only HumanEval's own JSON Lines may be"),
    ("a.jsonl.zst", b"\x28\xb5\x2f\xfdpacked", "is compressed with Zstandard, but only gzip is supported"),
    ("a.json", json.dumps({"data": [item()]}).encode("utf-16"), "is UTF-16 text"),
    ("a.json", lines(item(1), item(2)).encode(), "is not JSON: extra data at line 2, column 1; JSON Lines are read from a file named .jsonl"),
    ("a.json", b'{"data": "cut', "is not JSON: unterminated string starting at line 1, column 10"),
])  # fmt: skip
def test_a_file_that_holds_no_problems_is_refused(tmp_path, name, data, message):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_problems(path)
    assert message in str(caught.value)
    assert name in str(caught.value)
    assert caught.value.exit_status == 2


def test_a_file_that_is_not_there_or_is_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_problems(tmp_path / "none.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        read_problems(tmp_path / "folder.json")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
fields = st.sampled_from(
    ["inputs", "outputs", "meta", "prompt", "test", "entry_point", "task_id", "data", "function", "tests"]
)


@given(st.dictionaries(fields, json_values | st.dictionaries(fields, json_values)))
def test_any_json_is_problems_or_a_sentence(tmp_path_factory, value):
    path = written(tmp_path_factory.mktemp("any"), value)
    sentence = sentence_of(path)
    assert sentence is None or ("problems.json" in sentence and "\n" not in sentence)


def sentence_of(path: Path) -> str | None:
    """Return the error message on a file; empty if the file has problems."""
    try:
        problems = read_problems(path)
    except MeriloError as error:
        return str(error)
    assert problems
    return None


@pytest.mark.parametrize("name", ["problems.json", "problems.jsonl", "problems.parquet"])
def test_a_file_too_large_for_problems_is_refused_before_it_is_read(tmp_path, name):
    path = tmp_path / name
    with path.open("wb") as stream:
        stream.truncate(1 << 40)  # nothing on the disk, and more than there is memory
    with pytest.raises(
        InputError, match=f"{name}: holds more than 256 MiB, which is too large for a file of problems"
    ):
        read_problems(path)


def test_an_archive_that_unfolds_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("merilo.sandbox.problems.LONGEST_FILE", 10_000)
    path = tmp_path / "HumanEval.jsonl.gz"
    path.write_bytes(gzip.compress(lines(row()).encode() + b" " * 1_000_000))
    assert path.stat().st_size < 10_000
    with pytest.raises(InputError, match=r"HumanEval\.jsonl\.gz: holds more than"):
        read_problems(path)
