import random

import numpy as np
import pytest
from every import every
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from merilo.datasets import CATALOGUE
from merilo.datasets.bundled import examples
from merilo.datasets.generators import GENERATORS, generate_splits
from merilo.statistics.intervals import Interval
from merilo.studies.known_answers import choose_controls, compare_controls, screen_known
from merilo.studies.lookalikes import (
    LookalikeCheck,
    LookalikeItem,
    TellingFeature,
    auc_of,
    check_lookalikes,
    fit_logistic,
    not_checked,
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


def test_the_classifier_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200, 12))
    labels = (table[:, 0] + rng.normal(size=200) > 1.2).astype(float)
    ours = fit_logistic(table, labels, penalty=3.0)
    theirs = LogisticRegression(C=1 / 3.0, class_weight="balanced", tol=1e-10, max_iter=1000).fit(
        table, labels
    )
    assert ours[1:] == pytest.approx(theirs.coef_[0], abs=1e-4)
    assert ours[0] == pytest.approx(theirs.intercept_[0], abs=1e-4)


def test_the_auc_is_that_of_scikit_learn_with_equal_scores_too() -> None:
    rng = np.random.default_rng(1)
    labels, scores = rng.integers(0, 2, 80), rng.integers(0, 6, 80).astype(float)
    ours = auc_of(scores[labels == 1], scores[labels == 0])
    assert ours == pytest.approx(roc_auc_score(labels, scores))


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
    if feature == "words":
        assert "звезда" in check.words


def test_an_unbalanced_answer_is_found() -> None:
    controls = [LookalikeItem(one.prompt, one.domain, "A") for one in questions(40, 2)]
    items = [LookalikeItem(one.prompt, one.domain, "AB"[at % 2]) for at, one in enumerate(questions(200, 3))]
    check = check_lookalikes(items, controls, seed=0)
    assert {found.name for found in check.features if found.telling} >= {"answer"}


def test_too_few_controls_are_not_judged() -> None:
    check = check_lookalikes(questions(100, 1), questions(7, 2), seed=0)
    assert not check.checked
    assert check.alike


def test_controls_from_shots_of_generated_datasets_look_like_the_test() -> None:
    """The AUC's interval contains 0.5, but for the one case in twenty that chance gives it."""
    outside = []
    for name in sorted(GENERATORS):
        for seed in range(2):
            test, shots = generate_splits(name, 250, seed=seed, shots=50)
            pool = screen_known(shots.items, test.items).items
            chosen = choose_controls(pool, test.items, CATALOGUE[name], wanted=14, seed=seed)
            assert len(chosen.items) == 14
            whole = chosen.check.features[0]
            assert whole.name == "all"
            if not whole.interval.low <= 0.5 <= whole.interval.high:
                outside.append((name, seed))
    assert len(outside) <= 2, outside


@every("name", sorted(CATALOGUE))
def test_bundled_shots_are_not_told_from_the_bundled_test(name: str) -> None:
    splits = examples(CATALOGUE[name])
    shots = splits["shots"].items if "shots" in splits else ()
    check = compare_controls(shots, splits["test"].items, CATALOGUE[name], seed=0)
    assert check.alike
    enough = min(len(shots), len(splits["test"])) >= 8
    assert check.checked <= enough
    if enough and not check.checked:
        assert check.features[0].interval.low == check.features[0].interval.high == 0.5


def test_an_interval_without_width_on_few_controls_counts_as_not_checked() -> None:
    nothing_learned = TellingFeature("all", 0.5, Interval(0.5, 0.5))
    few = LookalikeCheck(8, 100, (nothing_learned,))
    assert not few.checked
    assert not_checked(few).endswith("was not checked: too few control items (8)")
    assert LookalikeCheck(40, 100, (nothing_learned,)).checked
    assert LookalikeCheck(8, 100, (TellingFeature("all", 0.5, Interval(0.2, 0.8)),)).checked
    # Eight control items that every fold tells apart are found although the interval has no width.
    assert LookalikeCheck(8, 100, (TellingFeature("all", 1.0, Interval(1.0, 1.0)),)).checked
