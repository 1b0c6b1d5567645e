"""A prompt is filled in one pass, and the data is not changed."""

import re
from collections import Counter
from dataclasses import replace

import pytest
from every import every
from hypothesis import given
from hypothesis import strategies as st

from merilo.datasets import Answer, Dataset, dataset, names
from merilo.datasets.rendering import Media, group, parts, prompts, render, spread, template
from merilo.errors import DataError
from merilo.items import Item
from merilo.strict_json import Json

NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True)
#: Data that reads like a placeholder, a format specification, a back-reference.
TRICKY = st.sampled_from(
    ["{question}", "{}", "{{", "}", "{0}", r"\1", "<image>", "%s", "{choice1!r}"]
) | st.text(max_size=8)

OWN = Dataset(
    name="own",
    title="Own",
    fields=("question", "image", "image_1"),
    media=("image", "image_1"),
    answer=Answer(kind="text"),
    metrics=("em",),
    prompts={"": ("Что на картинке <image>? {question}", "{question} <image> или <image_1>? <b>")},
)


def item_for(declared: Dataset, prompt: str | int, group_name: str, fill: str) -> Item:
    """An item of a dataset whose every field is the same text."""
    inputs: Json = dict.fromkeys(declared.fields, fill) if declared.fields else fill
    assert isinstance(inputs, str | dict)
    meta: dict[str, Json] = {"id": 1}
    if declared.prompts_by:
        meta[declared.prompts_by] = group_name
    return Item(1, prompt, inputs, None, meta)


ALL_PROMPTS = [
    pytest.param(dataset(name), group_name, number, id=f"{name}-{group_name}-{number}")
    for name in names()
    for group_name, texts in prompts(dataset(name)).items()
    for number in range(len(texts))
]


@every(("declared", "group_name", "number"), ALL_PROMPTS)
def test_every_prompt_renders_to_the_last_placeholder(
    declared: Dataset, group_name: str, number: int
) -> None:
    item = item_for(declared, number, group_name, "☃")
    text = render(item, declared)
    assert "☃" in text
    assert not re.search(r"\{\w+\}", text)
    assert text == re.sub(r"\{\w+\}", "☃", template(item, declared))


@given(st.sampled_from(ALL_PROMPTS), TRICKY)
def test_text_of_the_data_that_looks_like_a_placeholder_is_left_alone(case: object, fill: str) -> None:
    declared, group_name, number = case.values  # type: ignore[attr-defined]
    item = item_for(declared, number, group_name, fill)
    plain = re.split(r"\{\w+\}", template(item, declared))
    assert render(item, declared) == fill.join(plain)


@given(st.lists(TRICKY | NAMES.map(lambda name: ("field", name)), max_size=8), st.dictionaries(NAMES, TRICKY))
def test_a_template_is_its_texts_and_the_values_between(
    pieces: list[str | tuple[str, str]], values: dict[str, str]
) -> None:
    """The template is built from known pieces, so the expected text is known without parsing."""
    texts = [re.sub(r"[{}<>]", "", piece) for piece in pieces if isinstance(piece, str)]
    fields = [piece[1] for piece in pieces if isinstance(piece, tuple)]
    inputs = {**values, **{name: values.get(name, "{other}") for name in fields}}
    written = "".join(text + f"{{{name}}}" for text, name in zip(texts, fields, strict=False))
    expected = "".join(text + inputs[name] for text, name in zip(texts, fields, strict=False))
    assert render(Item(1, written, inputs), OWN) == expected


def test_braces_that_name_no_field_are_text() -> None:
    bps = Item(1, "Скобки (), [], {} — в строке {inputs}?", "( )")
    assert render(bps, dataset("bps")) == "Скобки (), [], {} — в строке ( )?"
    turn = {"question": "Кто?", "choice1": "я", "choice2": "ты"}
    stray = Item(1, "{ {question}} {{choice1} }{choice2}{", turn)
    assert render(stray, dataset("rutie")) == "{ Кто?} {я }ты{"


def test_a_plain_text_goes_by_the_name_of_its_dataset_or_by_inputs() -> None:
    assert render(Item(1, "«{toxic_comment}»", "Эй!"), dataset("rudetox")) == "«Эй!»"
    assert render(Item(1, "«{inputs}»", "Эй!"), dataset("rudetox")) == "«Эй!»"


def test_a_dialogue_has_a_place_for_the_turns_so_far() -> None:
    turn = Item(
        1,
        "{context}\n{question} 1. {choice1} 2. {choice2}",
        {"question": "А у червяка?", "choice1": "0", "choice2": "4"},
    )
    assert render(turn, dataset("rutie")) == "\nА у червяка? 1. 0 2. 4"
    assert render(turn, dataset("rutie"), context="Сколько ног у стола? 4").startswith(
        "Сколько ног у стола? 4\n"
    )


def test_numbers_and_parts_are_shown_as_they_are_written() -> None:
    inputs: dict[str, Json] = {
        "text": "Т",
        "span1_index": 0,
        "span1_text": "",
        "span2_index": 2.5,
        "span2_text": None,
        "more": [1, "ё"],
    }
    shown = "{span1_index}|{span1_text}|{span2_index}|{span2_text}|{more}"
    assert render(Item(1, shown, inputs), dataset("rwsd")) == '0||2.5||[1, "ё"]'


def test_a_placeholder_that_cannot_be_filled_is_refused() -> None:
    with pytest.raises(DataError, match=r"item 7 names \{answer\}"):
        render(Item(7, "{question} {answer}", {"question": "?"}), OWN)
    with pytest.raises(DataError, match=r"\{question\}"):
        render(Item(7, "{question}", "text"), OWN)


def test_media_stand_between_texts() -> None:
    item = Item(1, 1, {"question": "<image_1>?", "image": "samples/a.png", "image_1": "samples/b.png"})
    assert [part for part in parts(item, OWN) if part != ""] == [
        "<image_1>?",
        " ",
        Media("image", "samples/a.png"),
        " или ",
        Media("image_1", "samples/b.png"),
        "? <b>",
    ]
    assert render(item, OWN) == "<image_1>? <image> или <image_1>? <b>"


def test_a_missing_file_is_refused() -> None:
    with pytest.raises(DataError, match="no file for <image>"):
        render(Item(1, 0, {"question": "?"}), OWN)


@every("number", [-1, 2])
def test_a_prompt_that_does_not_exist_is_refused(number: int) -> None:
    with pytest.raises(DataError, match="there are 2, numbered from 0"):
        render(Item(1, number, {"question": "?"}), OWN)


@given(st.lists(st.sampled_from(["cause", "effect"]), max_size=60), st.integers(0, 99))
def test_prompts_are_spread_evenly_over_each_group(tasks: list[str], seed: int) -> None:
    declared = dataset("parus")
    items = [Item(n, "", {}, None, {"id": n, "task": task}) for n, task in enumerate(tasks)]
    dealt = spread(items, declared, seed=seed)
    assert [replace(item, instruction="") for item in dealt] == items
    for task, texts in prompts(declared).items():
        counts = Counter(item.instruction for item in dealt if item.meta["task"] == task)
        assert set(counts) <= set(texts)
        used = [counts[text] for text in texts]
        assert max(used) - min(used) <= 1


def test_the_order_of_prompts_is_that_of_the_seed() -> None:
    items = [Item(n, "", "( )") for n in range(20)]
    dealt = [spread(items, dataset("bps"), seed=seed) for seed in (1, 1, 2)]
    assert dealt[0] == dealt[1] != dealt[2]


def test_an_item_must_say_its_group() -> None:
    with pytest.raises(DataError, match=r"meta\.task: item 3 has no task"):
        group(Item(3, "", {}), dataset("parus"))
    with pytest.raises(DataError, match="no prompts for 'reason'"):
        spread([Item(3, "", {}, None, {"task": "reason"})], dataset("parus"), seed=0)
