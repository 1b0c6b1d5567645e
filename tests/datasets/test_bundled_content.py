"""Bundled examples obey the rules that a program can check: prompts, ids, golds, balance."""

import ast
import doctest
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from every import every

import merilo.datasets
from merilo.datasets.bundled_items import examples
from merilo.datasets.solvers import SOLVERS
from merilo.datasets.validation import validate
from merilo.errors import UsageError

BUNDLED = Path(merilo.datasets.__file__).parent


#: The input fields that each type of the exam's items shows.
EXAM = {
    "text": {"task", "text"},
    "matching": {"task", "text", "choices", "additional_text"},
    "multiple_choice_based_on_text": {"task", "text", "choices"},
    "multiple_choice_options_within_text": {"task", "text"},
    "multiple_choice_independent_options": {"task", "choices"},
}


def fields_of(group: str) -> set[str]:
    """The input fields that a prompt of a group shows."""
    name, _, kind = group.partition("/")
    declared = merilo.datasets.dataset(name)
    return EXAM[kind] if name == "use" else {*declared.fields} - {"tests"} or {declared.placeholder}


NAMES = sorted(merilo.datasets.names())


def prompts_of(name: str) -> dict[str, list[str]]:
    """The groups of a dataset's prompts; one group of its own name where it has no groups."""
    prompts = yaml.safe_load((BUNDLED / "prompts" / f"{name}.yaml").read_text(encoding="utf-8"))["prompts"]
    if isinstance(prompts, list):
        return {name: prompts}
    return {f"{name}/{group}": texts for group, texts in prompts.items()}


def words(prompt: str) -> set[str]:
    return set(re.findall(r"\w+", re.sub(r"\{\w+\}", "", prompt).lower()))


@every("name", NAMES)
def test_a_group_has_ten_prompts_that_differ_in_more_than_punctuation(name: str) -> None:
    for group, texts in prompts_of(name).items():
        assert len(texts) == 10, group
        bags = [words(text) for text in texts]
        for one in range(10):
            for other in range(one):
                shared = len(bags[one] & bags[other]) / len(bags[one] | bags[other])
                assert shared < 0.6, f"{group}: prompts {other + 1} and {one + 1} are nearly the same"


@every("name", NAMES)
def test_a_prompt_shows_each_field_once(name: str) -> None:
    for group, texts in prompts_of(name).items():
        for prompt in texts:
            assert sorted(re.findall(r"\{(\w+)\}", prompt)) == sorted(fields_of(group)), prompt


# The bundled items.


@every("name", NAMES)
def test_bundled_examples_are_valid(name: str) -> None:
    report = validate(BUNDLED / "examples" / f"{name}.json", merilo.datasets.dataset(name))
    assert report.problems == []
    assert report.items["test"] >= 8


def test_a_dataset_of_ones_own_has_no_bundled_examples() -> None:
    answer = merilo.datasets.Answer(kind="integer")
    own = merilo.datasets.Dataset(name="own", title="Own", answer=answer, metrics=("em",))
    with pytest.raises(UsageError, match="no examples of 'own'"):
        examples(own)


CODE_SETS = {"ruhumaneval", "rucodeeval"}
EXAMPLES = sorted(path.stem for path in (BUNDLED / "examples").glob("*.json"))


def split_of(name: str, split: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads((BUNDLED / "examples" / f"{name}.json").read_text("utf-8"))[
        "data"
    ][split]
    return items


def items_of(name: str) -> list[dict[str, Any]]:
    """Test and shots in the order of the file; a dialogue's turns one after another."""
    items: list[Any] = split_of(name, "test") + split_of(name, "shots")
    return [turn for dialogue in items for turn in dialogue] if name == "rutie" else items


# USE: one whole variant.


def use_options(item: dict[str, Any]) -> set[str]:
    """The numbers that an answer to this item may contain."""
    if item["inputs"]["choices"]:
        return set(re.findall(r"^(\d+)\)", item["inputs"]["choices"], flags=re.MULTILINE))
    return set(re.findall(r"\((\d+)\)", item["inputs"]["text"]))


def test_use_golds_have_the_form_of_their_type() -> None:
    for item in items_of("use"):
        gold, kind = item["outputs"], item["meta"]["type"]
        if kind == "text":
            assert re.fullmatch(r"[а-яё]+(,[а-яё]+)*", gold), gold
            continue
        numbers = gold.split(",")
        assert set(numbers) <= use_options(item), item["meta"]
        assert len(set(numbers)) == len(numbers)
        if kind == "matching":
            assert len(numbers) == 4
        else:
            assert numbers == sorted(numbers, key=int)
            assert set(numbers) < use_options(item), "everything is right: nothing to choose"


@every(("split", "task"), [(split, task) for split in ("test", "shots") for task in ("14", "24")])
def test_a_use_answer_of_two_words_is_right_in_either_order(split: str, task: str) -> None:
    """Both words stand in one sentence or two of the text, and both orders, with ё and with е, are gold."""
    (item,) = (item for item in split_of("use", split) if item["meta"]["id_task"] == task)
    golds = set(item["outputs"].split(","))
    first = item["outputs"].split(",")[0]
    words = set(re.findall(r"\w+", item["inputs"]["text"].replace("(", "").replace(")", "").lower()))
    pairs = [
        (first[:cut], first[cut:]) for cut in range(1, len(first)) if {first[:cut], first[cut:]} <= words
    ]
    assert any({one + other, other + one} <= golds for one, other in pairs)
    assert {gold.replace("ё", "е") for gold in golds} <= golds


# Programs: written for Merilo, so they may run without a sandbox.

PROGRAMS = [
    pytest.param(item, id=item["meta"]["entry_point"])
    for name in sorted(CODE_SETS & set(EXAMPLES))
    for item in items_of(name)
]


@every("item", PROGRAMS)
def test_a_program_passes_its_tests_and_examples_and_not_by_doing_nothing(item: dict[str, Any]) -> None:
    scope: dict[str, Any] = {}
    exec(item["inputs"]["function"] + item["meta"]["canonical_solution"], scope)
    name = item["meta"]["entry_point"]
    cases = ast.literal_eval(item["inputs"]["tests"])
    assert 8 <= len({repr(case) for case in cases}) == len(cases) <= 10
    assert [str(scope[name](**case)) for case in cases] == item["outputs"]
    # A crash reads as `None`, so no gold may; one constant must not do for every case either.
    assert "None" not in item["outputs"]
    assert len(set(item["outputs"])) > 1
    found = doctest.DocTestFinder(recurse=False).find(scope[name], name, module=False, globs=scope)
    assert sum(len(test.examples) for test in found) >= 2
    assert all(doctest.DocTestRunner(verbose=False).run(test).failed == 0 for test in found)


# Golds that can be computed.


@every("name", SOLVERS)
def test_golds_of_computable_datasets_are_right(name: str) -> None:
    assert len(items_of(name)) >= 10
    for item in items_of(name):
        assert item["outputs"] == SOLVERS[name](item["inputs"]), item["inputs"]


# Labels, domains, criteria.

LABELS = {
    name: declared.answer.labels
    for name, declared in merilo.datasets.CATALOGUE.items()
    if declared.answer.kind == "choice" and name not in {"lcs", "rutie"}
}


@every(("name", "labels"), LABELS.items())
def test_labels_are_balanced(name: str, labels: tuple[str, ...]) -> None:
    counts = Counter(item["outputs"] for item in split_of(name, "test"))
    assert set(counts) == set(labels)
    assert max(counts.values()) - min(counts.values()) <= 1
