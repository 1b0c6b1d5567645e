import random
import sys

import pytest
from every import every

from merilo.datasets import CATALOGUE
from merilo.datasets.generators import GENERATORS, generate_splits
from merilo.datasets.ready_items import examples
from merilo.studies.known_answers import (
    LookalikeItem,
    check_lookalikes,
    choose_controls,
    compare_controls,
    screen_known,
)


def questions(n: int, seed: int, words: str = "река город гора поле лес море") -> list[LookalikeItem]:
    chance = random.Random(seed)
    return [
        LookalikeItem(
            " ".join(chance.choices(words.split(), k=chance.randint(4, 12))),
            chance.choice("xyz"),
            chance.choice("AB"),
        )
        for _ in range(n)
    ]


@pytest.mark.thorough
def test_controls_of_the_same_kind_are_seldom_told_apart() -> None:
    alarms = [
        not check_lookalikes(questions(150, seed), questions(24, 1000 + seed), seed=seed).alike
        for seed in range(12)
    ]
    # All features and each of four groups are tested: 3 of 12 would be far beyond the nominal share.
    assert sum(alarms) <= 2


@every(
    "different, feature",
    [
        (LookalikeItem("река " * 30, "x", "A"), "length"),
        (LookalikeItem("река город гора поле лес", "другая область", "A"), "domain"),
        (LookalikeItem("звезда планета комета спутник луна", "x", "A"), "words"),
    ],
    ids=["length", "domain", "words"],
)
def test_controls_that_look_different_are_found_by_what_tells_them(
    different: LookalikeItem, feature: str
) -> None:
    check = check_lookalikes(questions(150, 1), [different] * 20, seed=0)
    telling = {found.name for found in check.features if found.telling}
    assert {"all", feature} <= telling
    assert any(f"can be distinguished from test items by {feature}: AUC" in text for text in check.warnings)
    if feature == "words":
        assert "звезда" in check.words


def test_too_few_controls_are_not_judged() -> None:
    check = check_lookalikes(questions(100, 1), questions(7, 2), seed=0)
    assert not check.checked
    assert check.alike
    assert check.warnings == [
        "whether control items look like test items was not checked: too few control items (7)"
    ]


@pytest.mark.thorough
def test_controls_from_shots_of_generated_datasets_look_like_the_test() -> None:
    """The AUC's interval lies above 0.5 only as often as chance puts it there."""
    told = []
    for name in sorted(GENERATORS):
        for seed in range(2):
            test, shots = generate_splits(name, 250, seed=seed, shots=50)
            pool = screen_known(shots.items, test.items).items
            chosen = choose_controls(pool, test.items, CATALOGUE[name], wanted=14, seed=seed)
            assert len(chosen.items) == 14
            whole = chosen.check.features[0]
            assert whole.name == "all"
            if whole.interval.low > 0.5:
                told.append((name, seed))
    assert len(told) <= 2, told


def test_bundled_shots_are_seldom_told_from_the_bundled_test() -> None:
    """Control items are never made of turns of a dialogue, whose turns share their words."""
    told = []
    for name, declared in CATALOGUE.items():
        splits = examples(declared)
        shots = splits["shots"].items if "shots" in splits else ()
        check = compare_controls(shots, splits["test"].items, declared, seed=0)
        assert check.checked == (min(len(shots), len(splits["test"])) >= 8), name
        if not check.alike and not splits["test"].lengths:
            told.append(name)
    assert len(told) <= 1, told


def test_without_scikit_learn_the_check_is_left_out_and_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction", None)
    check = check_lookalikes(questions(100, 1), questions(20, 2), seed=0)
    assert not check.checked
    assert check.warnings[0].endswith(
        "was not checked: scikit-learn is not installed (pip install 'merilo[studies]')"
    )
