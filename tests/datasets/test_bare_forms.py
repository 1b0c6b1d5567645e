"""The bare form of an item: its fields and a label for the answer, without the instruction."""

from pathlib import Path

import pytest
from every import every

from merilo.datasets import Answer, Dataset, dataset, names
from merilo.datasets.bundled_items import examples
from merilo.datasets.custom import read_declaration
from merilo.datasets.rendering import PLACEHOLDER, Media, bare_parts, option_fields
from merilo.errors import DataError
from merilo.items import Item


def text(item: Item, declared: Dataset) -> str:
    return "".join(map(str, bare_parts(item, declared)))


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


def test_a_custom_dataset_of_plain_texts() -> None:
    plain = Dataset(
        name="own", title="Own", answer=Answer(kind="integer"), metrics=("em",), placeholder="sum"
    )
    assert text(Item(1, "Считай: {sum}", "2 + 2"), plain) == "2 + 2\nОтвет:"


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
