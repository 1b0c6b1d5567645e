"""Items with known answers: examples, control items, and what control items look like beside the test."""

import random
from dataclasses import replace

import pytest
from every import every

from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples
from merilo.datasets.generators import generate_splits
from merilo.items import Item
from merilo.studies.known_answers import (
    choose_controls,
    choose_examples,
    compare_controls,
    screen_known,
    telling_shares,
)


def test_solved_items_of_the_test_without_gold_or_repeated_are_not_used() -> None:
    test = [Item(1, "{inputs}", "two  plus two", "1")]
    pool = [
        Item(2, "{inputs}", "Two plus Two", "1"),
        Item(3, "{inputs}", "three", None),
        Item(4, "{inputs}", "four", "0"),
        Item(5, "another template {inputs}", "FOUR", "0"),
    ]
    usable, faults = screen_known(pool, test)
    assert [item.id for item in usable] == [4]
    assert faults == [
        "items 2 repeat questions of the test and are not used",
        "1 without one gold answer are not used",
        "1 repeat others and are not used",
    ]


def test_examples_show_every_domain_and_label_with_few_items() -> None:
    splits = examples(dataset("rummlu"))
    chosen, uncovered = choose_examples(
        splits["shots"].items, splits["test"].items, dataset("rummlu"), most=5
    )
    shown = {f"domain: {item.meta['domain']}" for item in chosen}
    shown |= {f"answer: {item.outputs}" for item in chosen}
    wanted = {f"domain: {item.meta['domain']}" for item in splits["test"]} | {
        f"answer: {label}" for label in "ABCD"
    }
    assert set(uncovered) == wanted - shown


def test_two_labels_need_two_examples_and_what_the_shots_cannot_show_is_named() -> None:
    test, shots = generate_splits("bps", 50, seed=1, shots=30)
    chosen, uncovered = choose_examples(shots.items, test.items, dataset("bps"), most=30)
    assert (sorted(str(item.outputs) for item in chosen), uncovered) == (["0", "1"], ())
    ones = [item for item in shots if item.outputs == "1"]
    assert choose_examples(ones, test.items, dataset("bps"), most=30)[1] == ("answer: 0",)


def test_controls_of_a_larger_pool_have_the_tests_balance_of_answers() -> None:
    test, shots = generate_splits("bps", 400, seed=2, shots=200)
    skewed = [item for at, item in enumerate(shots) if item.outputs == "1" or at % 4 == 0]
    chosen = choose_controls(skewed, test.items, dataset("bps"), wanted=20, seed=0)
    assert abs(sum(item.outputs == "1" for item in chosen) - 10) <= 1


def questions(n: int, seed: int) -> list[Item]:
    """Questions of ruMMLU, of three domains and any answer and length."""
    chance, first = random.Random(seed), examples(dataset("rummlu"))["test"].items[0]
    assert isinstance(first.inputs, dict)
    return [
        replace(
            first,
            id=number,
            inputs={**first.inputs, "text": "слово " * chance.randint(4, 40)},
            outputs=chance.choice("ABCD"),
            meta={**first.meta, "id": number, "domain": chance.choice(["law", "virology", "anatomy"])},
        )
        for number in range(n)
    ]


def telling(rows) -> set[str]:
    return {one.field for one in rows if one.telling}


def test_shares_are_those_of_the_items() -> None:
    test, controls = questions(150, 1), questions(24, 2)
    rows = compare_controls(controls, test, dataset("rummlu"))
    assert {one.field for one in rows} == {"domain", "answer", "length"}
    for field in ("domain", "answer", "length"):
        own = [one for one in rows if one.field == field]
        assert sum(one.share for one in own) == pytest.approx(1)
        assert sum(one.chosen_share for one in own) == pytest.approx(1)
    law = next(one for one in rows if one.value == "law")
    assert law.share == sum(one.meta["domain"] == "law" for one in test) / 150
    assert law.chosen_share == sum(one.meta["domain"] == "law" for one in controls) / 24
    quartiles = [one.share for one in rows if one.field == "length"]
    assert len(quartiles) == 4
    assert all(0.2 <= share <= 0.3 for share in quartiles)


def test_controls_of_the_same_kind_are_seldom_told_apart() -> None:
    alarms = [
        bool(telling(compare_controls(questions(n, 1000 + seed), questions(150, seed), dataset("rummlu"))))
        for seed in range(40)
        for n in (4, 10, 24)
    ]
    assert sum(alarms) <= 5


@every(
    "changes, field",
    [
        ({"meta": {"domain": "law"}}, "domain"),
        ({"outputs": "A"}, "answer"),
        ({"inputs": {"text": "река " * 200}}, "length"),
    ],
    ids=["domain", "answer", "length"],
)
def test_controls_that_look_different_are_named_with_their_shares(changes: dict, field: str) -> None:
    controls = [
        replace(one, **{name: {**getattr(one, name), **new} if isinstance(new, dict) else new for name, new in changes.items()})
        for one in questions(20, 2)
    ]  # fmt: skip
    shares = compare_controls(controls, questions(150, 1), dataset("rummlu"))
    assert telling(shares) == {field}
    (told,) = telling_shares(shares)
    assert told.startswith(f"control items differ from test items by {field}: ")
    assert told.endswith("of the test and 100% of the control items")


def test_a_test_without_gold_answers_is_not_compared_by_answer() -> None:
    test = [replace(one, outputs=None) for one in questions(100, 1)]
    rows = compare_controls(questions(20, 2), test, dataset("rummlu"))
    assert {one.field for one in rows} == {"domain", "length"}
    assert compare_controls([], test, dataset("rummlu")) == ()
