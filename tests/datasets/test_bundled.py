"""The bundled examples obey Merilo's rules, and their golds are correct as far as programs can check."""

from pathlib import Path

import pytest
from every import every

import merilo.datasets
from merilo.datasets import Answer, Dataset, dataset, names
from merilo.datasets.bundled import examples
from merilo.datasets.program_literals import program_golds, program_tests
from merilo.datasets.rendering import render
from merilo.datasets.solvers import SOLVERS
from merilo.datasets.validation import validate
from merilo.errors import UsageError

FOLDER = Path(merilo.datasets.__file__).parent / "examples"
each = every("name", names())


@each
def test_bundled_examples_are_valid(name: str) -> None:
    report = validate(FOLDER / f"{name}.json", dataset(name))
    assert report.problems == []
    assert report.items["test"] >= 8


@each
def test_every_bundled_item_renders(name: str) -> None:
    declared = dataset(name)
    for split in examples(declared).values():
        for item in split:
            text = render(item, declared)
            shown = [item.inputs] if isinstance(item.inputs, str) else [
                value for key, value in item.inputs.items() if key not in declared.hidden
            ]  # fmt: skip
            assert all(str(value) in text for value in shown)


@each
def test_golds_are_there_for_every_example(name: str) -> None:
    assert all(item.outputs is not None for split in examples(dataset(name)).values() for item in split)


@every("name", sorted(SOLVERS))
def test_golds_agree_with_the_solver(name: str) -> None:
    for split in examples(dataset(name)).values():
        assert [item.outputs for item in split] == [SOLVERS[name](item.inputs) for item in split]


@every("name", ["ruhumaneval", "rucodeeval"])
def test_canonical_solutions_give_the_golds(name: str) -> None:
    for item in examples(dataset(name))["test"]:
        assert isinstance(item.inputs, dict)
        space: dict[str, object] = {}
        exec(f"{item.inputs['function']}{item.meta['canonical_solution']}", space)  # our own programs
        solution = space[str(item.meta["entry_point"])]
        assert callable(solution)
        assert [str(solution(**case)) for case in program_tests(item)] == program_golds(item)


def test_the_dialogue_is_one_of_thirty_turns() -> None:
    split = examples(dataset("rutie"))["test"]
    assert [len(turns) for turns in split.dialogues()] == [30]


def test_the_exam_is_one_whole_variant_with_every_subtype() -> None:
    items = examples(dataset("use"))["test"].items
    assert sum(int(str(item.meta["score"])) for item in items) == 34
    assert len({item.meta["type"] for item in items}) == 5
    assert len({item.meta["variant"] for item in items}) == 1


def test_a_dataset_of_ones_own_has_no_bundled_examples() -> None:
    own = Dataset(name="own", title="Own", answer=Answer(kind="integer"), metrics=("em",))
    with pytest.raises(UsageError, match="no examples of 'own'"):
        examples(own)
