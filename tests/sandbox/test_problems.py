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


@pytest.mark.parametrize("wrap", [
    lambda items: {"data": {"test": items}},
    lambda items: {"data": items},
    lambda items: items,
    lambda items: lines(*items),
])  # fmt: skip
def test_items_are_read_from_every_form_of_a_split(tmp_path, wrap):
    problems = read_problems(written(tmp_path, wrap([item(6), item(7)])))
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


def test_one_row_alone_is_json_lines_too(tmp_path):
    assert list(read_problems(written(tmp_path, json.dumps(row())))) == ["HumanEval/0"]


def test_tests_may_be_a_list_of_json(tmp_path):
    path = written(tmp_path, [item(tests=[{"x": 1}, {"x": [2]}], outputs=("2", "[2, 2]"))])
    assert read_problems(path)["1"].tests == ({"x": 1}, {"x": [2]})


def test_a_literal_may_hold_what_json_cannot(tmp_path):
    path = written(tmp_path, [item(tests="[{'x': (1, 2)}, {'x': {3}}]")])
    assert read_problems(path)["1"].tests == ({"x": (1, 2)}, {"x": {3}})


def test_gold_that_stands_once_a_generation_is_read_once(tmp_path):
    path = written(tmp_path, [item(outputs=[["2", "abab"]] * 10)])
    assert read_problems(path)["1"].gold == ("2", "abab")


def test_gold_that_is_no_text_is_compared_as_its_text(tmp_path):
    path = written(tmp_path, [item(outputs=[2, None])])
    assert read_problems(path)["1"].gold == ("2", "None")


@pytest.mark.parametrize("outputs", [None, "", []])
def test_a_problem_without_gold_is_closed(tmp_path, outputs):
    problem = read_problems(written(tmp_path, [item(outputs=outputs)]))["1"]
    assert problem.is_closed


def test_the_last_function_of_the_stub_is_the_entry_point_where_none_is_named(tmp_path):
    path = written(tmp_path, [item(function="def one():\n    return 1\n\n" + STUB, entry_point=None)])
    assert read_problems(path)["1"].stub.entry_point == "double"


@pytest.mark.parametrize(("problem", "message"), [
    (item(tests=""), "data[0].inputs.tests: has no tests"),
    (item(tests=None), "data[0].inputs.tests: has no tests"),
    (item(tests="[]"), "data[0].inputs.tests: has no tests"),
    (item(tests="[{'x': open('/etc/passwd')}]"), "data[0].inputs.tests: is no literal list of keyword arguments"),
    (item(tests="[" * 5000), "is no literal"),
    (item(tests="-" * 100_000 + "1"), "is no literal"),
    (item(tests="'x'"), "must be a list of keyword arguments"),
    (item(tests="[1, 2]"), "data[0].inputs.tests[0]: must be keyword arguments ({'name': value}) and is 1"),
    (item(tests="[{1: 2}]"), "must be keyword arguments"),
    (item(outputs=("2",)), "data[0].outputs: has 1 results for 2 tests"),
    (item(outputs=[["2", "a"], ["2", "b"]]), "the lists of results differ"),
    (item(outputs={"a": 1}), "must be a list of results"),
    (item(entry_point="triple"), "data[0].meta.entry_point: the function triple is not defined in the stub"),
    (item(entry_point="double()"), "is no name of a function"),
    (item(function="x = 1", entry_point=None), "is missing, and the stub defines no function"),
    (item(function=""), "data[0].inputs.function: must be a text"),
    (item(None), "data[0].meta.id: must be a number or a text and is missing"),
    (item(True), "data[0].meta.id: must be a number or a text and is True"),
    ({"inputs": "text", "meta": {}}, "data[0].inputs: must hold function and tests"),
    ({"inputs": {}}, "data[0].meta: must hold id and entry_point"),
    ({"question": 1}, "is neither an item"),
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
    (row(prompt=None), "row 2, prompt: must be a text and is missing"),
    (row("HumanEval/0"), 'row 2, id: the id "HumanEval/0" is another problem\'s too'),
])  # fmt: skip
def test_a_row_that_cannot_be_judged_is_named(tmp_path, problem, message):
    path = written(tmp_path, lines(row(), {"task_id": "HumanEval/1"} | problem), "rows.jsonl")
    with pytest.raises(DataError, match=r"rows\.jsonl") as caught:
        read_problems(path)
    assert message in str(caught.value)


def test_an_id_is_the_same_as_a_number_and_as_a_text(tmp_path):
    with pytest.raises(DataError, match="another problem's too"):
        read_problems(written(tmp_path, [item(1), item("1")]))


@pytest.mark.parametrize(("data", "message"), [
    (b"", "the file is empty"),
    (b" \n", "the file is empty"),
    (b"[]", "holds no problems"),
    (b'{"data": {}}', "holds no list of items"),
    (b'{"data": 5}', "holds no list of items"),
    (b"5", "holds no list of items"),
    (b"{", "is neither JSON nor JSON Lines"),
    (b"id,prompt\n1,x\n", "is neither JSON nor JSON Lines"),
    (b'[{"inputs": ', "is neither JSON nor JSON Lines"),
    (lines(row()).encode() + b'{"task_id": "Hum', "row 2: is not a row of JSON"),
    (lines(row()).encode() + b"7\n", "row 2: must be an object and is 7"),
    ("[\n\"кот\"]".encode("cp1251"), "row 2: is not UTF-8 text (byte 0xea)"),
    (b"\x1f\x8b\x08\x00broken", "is not a whole gzip archive"),
    (gzip.compress(lines(row()).encode())[:-12], "is not a whole gzip archive"),
    (b"[" * 200_000, "is no JSON that can be read"),
])  # fmt: skip
def test_a_file_that_holds_no_problems_is_refused(tmp_path, data, message):
    path = tmp_path / "problems.json"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_problems(path)
    assert message in str(caught.value)
    assert "problems.json" in str(caught.value)
    assert caught.value.exit_status == 2


def test_a_file_that_is_not_there_or_is_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_problems(tmp_path / "none.json")
    with pytest.raises(InputError, match="is a folder"):
        read_problems(tmp_path)


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
    """What is said against a file; nothing against one that holds problems."""
    try:
        problems = read_problems(path)
    except MeriloError as error:
        return str(error)
    assert problems
    return None
