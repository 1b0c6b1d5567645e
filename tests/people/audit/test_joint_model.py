"""People and models together: siblings are one witness, a lure misleads both, a contaminated model proves nothing."""

from dataclasses import replace

import numpy as np
import pytest

from merilo.people.audit.gold_model import fit_gold_model
from merilo.people.audit.joint_model import ModelVotes, fit_joint_model
from merilo.people.votes import Votes

ITEMS, LABELS = 120, 4


def study(people: int = 5, seed: int = 0) -> tuple[Votes, np.ndarray, np.ndarray]:
    """People, right in four of five cases; the golds of the first six items are wrong."""
    rng = np.random.default_rng(seed)
    item, person = np.divmod(np.arange(people * ITEMS), people)
    truth = rng.integers(0, LABELS, ITEMS)
    off = np.where(rng.random(item.size) < 0.8, 0, rng.integers(1, LABELS, item.size))
    label = (truth[item] + off) % LABELS
    gold = (truth + (np.arange(ITEMS) < 6)) % LABELS
    columns = (one.astype(np.int32) for one in (item, person, label))
    return Votes(*columns, ITEMS, people, LABELS), gold.astype(np.int32), truth


def answers(truth: np.ndarray, accuracy: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    off = np.where(rng.random(truth.size) < accuracy, 0, rng.integers(1, LABELS, truth.size))
    return ((truth + off) % LABELS).astype(np.int32)


def models(*given: np.ndarray, family: tuple[str, ...] = ()) -> ModelVotes:
    names = tuple(f"m{n}" for n in range(len(given)))
    return ModelVotes(names, np.array(given, np.int32), family or ("",) * len(given))


def test_models_that_contradict_the_gold_with_people_raise_the_probability() -> None:
    votes, gold, truth = study()
    alone = fit_gold_model(votes, gold, options=LABELS).gold_wrong
    good = fit_joint_model(votes, gold, models(*(answers(truth, 0.9, n) for n in range(3))), options=LABELS)
    np.testing.assert_array_equal(good.people_wrong, alone)
    assert good.gold.gold_wrong[:6].sum() > alone[:6].sum()
    assert good.gold.gold_wrong[:6].min() > 0.5 > alone[:6].min()
    assert good.gold.gold_wrong[6:].max() < 0.5
    np.testing.assert_array_equal(good.gold.best[:6], truth[:6])


def test_siblings_never_count_as_independent() -> None:
    votes, gold, truth = study()
    one = answers(truth, 0.7, 1)
    copies = fit_joint_model(votes, gold, models(*[one] * 6), options=LABELS)
    assert copies.weight.sum() < 1.5
    assert set(copies.family) == {"m0"}
    apart = models(*(answers(truth, 0.7, n) for n in range(6)))
    independent = fit_joint_model(votes, gold, apart, options=LABELS)
    assert independent.weight.sum() > 3
    assert len(set(independent.family)) == 6
    declared = fit_joint_model(votes, gold, replace(apart, family=("a",) * 6), options=LABELS)
    assert declared.weight.sum() <= 6 / (1 + 5 * 0.5) + 1e-9
    assert set(declared.family) == {"a"}
    single = fit_joint_model(votes, gold, models(one), options=LABELS)
    np.testing.assert_allclose(
        copies.gold.log_odds[:6], single.gold.log_odds[:6], atol=1.5
    )  # six copies say little more than one


def test_a_model_that_repeats_the_gold_does_not_clear_it() -> None:
    votes, gold, truth = study(people=10)
    honest = fit_joint_model(votes, gold, models(answers(truth, 0.85, 3)), options=LABELS)
    memory = fit_joint_model(votes, gold, models(gold), options=LABELS)
    assert memory.copied[0] > honest.copied[0]
    assert memory.gold.gold_wrong[:6].mean() > 0.4 * memory.people_wrong[:6].mean()


def test_a_model_that_guesses_changes_little() -> None:
    votes, gold, truth = study()
    noise = fit_joint_model(votes, gold, models(*(answers(truth, 0.0, n) for n in range(4))), options=LABELS)
    alone = noise.people_wrong
    assert np.abs(noise.gold.gold_wrong[:6] - alone[:6]).max() < 0.25
    assert noise.gold.gold_wrong[6:].sum() < alone[6:].sum() + 1


def test_models_alone_find_wrong_golds_too() -> None:
    _, gold, truth = study()
    none = np.empty(0, np.int32)
    empty = Votes(none, none, none, ITEMS, 0, LABELS)
    found = fit_joint_model(empty, gold, models(*(answers(truth, 0.9, n) for n in range(4))), options=LABELS)
    assert found.gold.gold_wrong[:6].mean() > found.gold.gold_wrong[6:].max()


@pytest.mark.parametrize("missing", [0.3, 1.0])
def test_missing_answers_and_golds_are_no_evidence(missing: float) -> None:
    votes, gold, truth = study()
    partly = answers(truth, 0.9, 5)
    partly[np.random.default_rng(0).random(ITEMS) < missing] = -1
    gold[-10:] = -1
    found = fit_joint_model(votes, gold, models(partly), options=LABELS)
    assert np.isnan(found.gold.gold_wrong[-10:]).all()
    assert np.isfinite(found.gold.gold_wrong[:-10]).all()
    untouched = np.flatnonzero((partly < 0) & (gold >= 0))
    assert np.abs(found.gold.gold_wrong - found.people_wrong)[untouched].max() < 0.5
    assert found.gold.best_probability.min() >= 0
