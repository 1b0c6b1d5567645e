"""The bare form of an item: its fields and a label for the answer, without the instruction."""

from dataclasses import replace
from pathlib import Path

import pytest
from every import every

from merilo.datasets import Answer, Dataset, dataset, names
from merilo.datasets.bare_forms import bare_forms, bare_parts, option_fields
from merilo.datasets.bundled import examples
from merilo.datasets.custom import read_declaration
from merilo.datasets.rendering import PLACEHOLDER, Media, prompts
from merilo.errors import DataError, InputError
from merilo.items import Item


def text(item: Item, declared: Dataset) -> str:
    return "".join(map(str, bare_parts(item, declared)))


@every("name", names())
def test_every_built_in_dataset_has_a_form_for_each_group(name: str) -> None:
    declared = dataset(name)
    known = bare_forms(declared)
    assert "" in known or set(known) == set(prompts(declared))
    for form in known.values():
        assert declared.answer.kind == "program" or form.endswith("\nОтвет:")


@every("name", names())
def test_a_form_shows_every_field_that_a_prompt_must_name(name: str) -> None:
    declared = dataset(name)
    for item in examples(declared)["test"]:
        shown = text(item, declared)
        inputs = item.inputs if isinstance(item.inputs, dict) else {declared.placeholder: item.inputs}
        named = {found[1] for found in PLACEHOLDER.finditer(str(item.instruction))} - set(declared.hidden)
        for field in named & set(inputs):
            assert str(inputs[field]) in shown, field


CUSTOM = Dataset(
    name="own",
    title="Own",
    fields=("picture", "question", "note", "option_a", "option_b"),
    media=("picture",),
    hidden=("note",),
    answer=Answer(kind="choice", labels=("A", "B")),
    metrics=("acc",),
)
ITEM = Item(
    1,
    "Что это? <picture> {question} {option_a} {option_b}",
    {"picture": "a.png", "question": "Кто это?", "note": "-", "option_a": "кот", "option_b": "пёс"},
)


def test_a_custom_dataset_without_a_form_lists_its_fields() -> None:
    assert text(ITEM, CUSTOM) == "<picture>\nКто это?\nA. кот\nB. пёс\nОтвет:"
    assert Media("picture", "a.png") in bare_parts(ITEM, CUSTOM)


def test_the_label_of_the_answer_is_in_the_language_of_the_prompt() -> None:
    english = replace(ITEM, instruction="What is it? <picture> {question} {option_a} {option_b}")
    assert text(english, CUSTOM).endswith("\nAnswer:")


def test_a_custom_dataset_of_plain_texts() -> None:
    plain = Dataset(
        name="own", title="Own", answer=Answer(kind="integer"), metrics=("em",), placeholder="sum"
    )
    assert text(Item(1, "Считай: {sum}", "2 + 2"), plain) == "2 + 2\nОтвет:"


def test_a_declaration_gives_its_own_form(tmp_path: Path) -> None:
    path = tmp_path / "dataset.yaml"
    path.write_text(
        'name: own\ntitle: Own\nanswer: {kind: integer}\nmetrics: [em]\nbare: "Сумма: {inputs}\\nОтвет:"\n',
        encoding="utf-8",
    )
    assert text(Item(1, "{inputs}", "2 + 2"), read_declaration(path)) == "Сумма: 2 + 2\nОтвет:"


def test_a_declaration_gives_a_form_for_each_group(tmp_path: Path) -> None:
    path = tmp_path / "dataset.yaml"
    path.write_text(
        "name: own\ntitle: Own\nanswer: {kind: integer}\nmetrics: [em]\nprompts_by: kind\n"
        'bare: {sum: "Сумма: {inputs}"}\n',
        encoding="utf-8",
    )
    declared = read_declaration(path)
    assert text(Item(1, "", "2 + 2", meta={"kind": "sum"}), declared) == "Сумма: 2 + 2"
    with pytest.raises(DataError, match=r"meta\.kind: Own has no bare form of a question for 'product'"):
        text(Item(1, "", "2 * 2", meta={"kind": "product"}), declared)


def test_a_form_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "dataset.yaml"
    path.write_text(
        "name: own\ntitle: Own\nanswer: {kind: integer}\nmetrics: [em]\nbare: [a]\n", encoding="utf-8"
    )
    with pytest.raises(InputError, match="bare: must be a mapping"):
        read_declaration(path)


def test_a_form_that_names_an_unknown_field() -> None:
    with pytest.raises(DataError, match=r"names \{text\}, which the item does not have"):
        text(ITEM, replace(CUSTOM, bare={"": "{text}"}))


@every(
    ("name", "fields"),
    [
        ("rummlu", {"A": "option_a", "B": "option_b", "C": "option_c", "D": "option_d"}),
        ("ruhhh", {"1": "reply_1", "2": "reply_2"}),
        ("rutie", {"1": "choice1", "2": "choice2"}),
        ("lcs", {}),
        ("rcb", {}),
        ("rwsd", {}),
        ("ruethics", {}),
        ("simplear", {}),
    ],
)
def test_options_are_found_by_their_labels(name: str, fields: dict[str, str]) -> None:
    assert option_fields(dataset(name)) == fields
