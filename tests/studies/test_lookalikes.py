"""Control items beside the items of the test: shares of the dataset's groups, of answers and of lengths."""

import random
from dataclasses import replace

import pytest
from every import every

from merilo.datasets import CATALOGUE, dataset
from merilo.datasets.generators import GENERATORS, generate_splits
from merilo.datasets.ready_items import examples
from merilo.items import Item
from merilo.studies.known_answers import (
    ComparedShare,
    choose_controls,
    compare_controls,
    screen_known,
    telling_shares,
)


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


def telling(rows: tuple[ComparedShare, ...]) -> set[str]:
    return {one.field for one in rows if one.telling}


def test_shares_are_those_of_the_items() -> None:
    test, controls = questions(150, 1), questions(24, 2)
    rows = compare_controls(controls, test, dataset("rummlu"))
    assert {one.field for one in rows} == {"domain", "answer", "length"}
    for field in ("domain", "answer", "length"):
        own = [one for one in rows if one.field == field]
        assert sum(one.test for one in own) == pytest.approx(1)
        assert sum(one.controls for one in own) == pytest.approx(1)
    law = next(one for one in rows if one.value == "law")
    assert law.test == sum(one.meta["domain"] == "law" for one in test) / 150
    assert law.controls == sum(one.meta["domain"] == "law" for one in controls) / 24
    assert law.difference == abs(law.test - law.controls)
    quartiles = [one.test for one in rows if one.field == "length"]
    assert len(quartiles) == 4
    assert all(0.2 <= share <= 0.3 for share in quartiles)


def test_controls_of_the_same_kind_are_seldom_told_apart() -> None:
    alarms = [
        bool(telling(compare_controls(questions(n, 1000 + seed), questions(150, seed), dataset("rummlu"))))
        for seed in range(100)
        for n in (4, 10, 24)
    ]
    assert sum(alarms) <= 12


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


@pytest.mark.thorough
def test_controls_from_shots_of_generated_datasets_look_like_the_test() -> None:
    told = []
    for name in sorted(GENERATORS):
        for seed in range(2):
            test, shots = generate_splits(name, 250, seed=seed, shots=50)
            pool = screen_known(shots.items, test.items).items
            chosen = choose_controls(pool, test.items, CATALOGUE[name], wanted=14, seed=seed)
            assert len(chosen.items) == 14
            told += [(name, seed)] * bool(telling(chosen.shares))
    assert len(told) <= 1, told


def test_bundled_shots_are_seldom_told_from_the_bundled_test() -> None:
    """Control items are never made of turns of a dialogue, whose turns share their words."""
    told = []
    for name, declared in CATALOGUE.items():
        splits = examples(declared)
        shots = splits["shots"].items if "shots" in splits else ()
        if telling(compare_controls(shots, splits["test"].items, declared)) and not splits["test"].lengths:
            told.append(name)
    assert len(told) <= 1, told
