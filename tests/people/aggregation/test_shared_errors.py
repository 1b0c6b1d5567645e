"""Confidences are calibrated without gold answers: held-out answers show how strongly errors on an item are correlated."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from open_pools import open_pool
from simulated_votes import small_votes

from merilo.people.aggregation import NO_LABEL, Consensus, candidates, glad, one_coin, pooled_dawid_skene
from merilo.people.aggregation.candidates import Candidates, HeldOutEvidence, error_correlation
from merilo.people.votes import Votes

MODELS = [pooled_dawid_skene, one_coin, glad]
CROWDS = Path(__file__).resolve().parents[4] / "shared" / "data" / "crowds"


def study(
    seed: int,
    *,
    spread: float,
    labels: int = 4,
    items: int = 300,
    people: int = 25,
    overlap: int = 5,
    lured: float = 0.0,
) -> tuple[Votes, np.ndarray]:
    """Answers and true labels.

    With `spread` above 0 items differ in difficulty, so that people err on the same items; `lured` of the wrong answers to an
    item are the same one.
    """
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), overlap)
    person = np.argsort(rng.random((items, people)), axis=1)[:, :overlap].ravel()
    ability, difficulty = 1.5 + 0.6 * rng.standard_normal(people), spread * rng.standard_normal(items)
    truth = rng.integers(0, labels, items)
    right = rng.random(item.size) < 1 / (1 + np.exp(difficulty[item] - ability[person]))
    off = np.where(rng.random(item.size) < lured, 1, rng.integers(1, labels, item.size))
    label = np.where(right, truth[item], (truth[item] + off) % labels)
    columns = (column.astype(np.int32) for column in (item, person, label))
    return Votes(*columns, items, people, labels), truth


def correlation(votes: Votes, accuracy: np.ndarray) -> float:
    return error_correlation(
        votes,
        accuracy,
        anchors=np.full(votes.items, NO_LABEL, np.int32),
        wrong_answers=max(votes.labels - 1.0, 1.0),
        open_answers=False,
    )


def belief_by_the_formula(votes: Votes, accuracy: np.ndarray, r: float) -> list[float]:
    """The probability of each answer's label: multiply the other answers' probabilities, divide log odds by 1 + (n - 2) r."""
    wrong = votes.labels - 1
    found = []
    for held in range(len(votes)):
        others = [n for n in range(len(votes)) if votes.item[n] == votes.item[held] and n != held]
        log = np.zeros(votes.labels)
        for n in others:
            p = accuracy[votes.annotator[n]]
            log += np.log([p if t == votes.label[n] else (1 - p) / wrong for t in range(votes.labels)])
        share = np.exp((log - log.max()) / (1 + (len(others) - 1) * r))
        found.append(share[votes.label[held]] / share.sum())
    return found


@given(votes=small_votes(min_labels=2), seed=st.integers(0, 99), r=st.sampled_from([0.01, 0.3, 1.5]))
def test_a_held_out_answer_is_predicted_from_the_other_answers_to_its_item(
    votes: Votes, seed: int, r: float
) -> None:
    answers = np.bincount(votes.item, minlength=votes.items)
    votes = votes.where(answers[votes.item] > 1)
    if not len(votes):
        return
    accuracy = np.random.default_rng(seed).uniform(0.05, 0.95, votes.annotators)
    candidates = Candidates.of(votes, np.full(votes.items, NO_LABEL, np.int32))
    gain = np.log(accuracy / (1 - accuracy) * (votes.labels - 1))[candidates.annotator]
    order = np.argsort(votes.item.astype(np.int64) * votes.labels + votes.label, kind="stable")
    expected = np.array(belief_by_the_formula(votes, accuracy, r))[order]
    assert HeldOutEvidence.of(candidates, gain).belief(r) == pytest.approx(expected, abs=1e-9)


def test_hundreds_of_equal_answers_leave_numbers() -> None:
    many = 2000
    votes = Votes(
        np.zeros(many, np.int32), np.arange(many, dtype=np.int32), np.zeros(many, np.int32), 1, many, 3
    )
    for model in MODELS:
        confidence = model(votes).confidence
        assert 0.5 < confidence[0] <= 1


@pytest.mark.parametrize("seed", range(3))
def test_independent_errors_are_recognised(seed: int) -> None:
    votes, _ = study(seed, spread=0.0, overlap=10)
    fit = one_coin(votes).fit
    assert fit.error_correlation < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_errors_on_the_same_items_are_recognised(seed: int) -> None:
    votes, _ = study(seed, spread=2.0, overlap=10)
    fit = one_coin(votes).fit
    assert fit.error_correlation > 0.2


def surplus(confidence: np.ndarray, label: np.ndarray, truth: np.ndarray) -> float:
    """Mean confidence minus accuracy; an item without a label is wrong and has confidence 0."""
    return float(np.nan_to_num(confidence).mean() - (label == truth).mean())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("labels", "low", "high"), [(2, -0.05, 0.05), (4, -0.08, 0.0)])
def test_if_people_make_the_same_errors_the_confidence_is_no_longer_too_high(
    model, labels: int, low: float, high: float
) -> None:
    before, after = [], []
    for seed in range(4):
        votes, truth = study(seed, spread=1.2, labels=labels, overlap=10, lured=0.8)
        found: Consensus = model(votes)
        before.append(surplus(found.fit.posterior.max(axis=1), found.label, truth))
        after.append(surplus(found.confidence, found.label, truth))
    assert np.mean(before) > 0.03
    assert low < np.mean(after) < high


@pytest.mark.parametrize("model", MODELS)
def test_if_errors_are_independent_confidences_stay_the_accuracy(model) -> None:
    after = []
    for seed in range(4):
        votes, truth = study(seed, spread=0.0)
        found = model(votes)
        after.append(surplus(found.confidence, found.label, truth))
    assert abs(np.mean(after)) < 0.03


@pytest.mark.parametrize("model", MODELS)
@given(votes=small_votes(min_labels=2), data=st.data())
def test_calibration_changes_no_label_and_orders_no_label_anew(
    model, votes: Votes, data: st.DataObject
) -> None:
    anchors = np.array(
        data.draw(st.lists(st.integers(-1, votes.labels - 1), min_size=votes.items, max_size=votes.items))
    )
    found = model(votes, anchors=anchors, open_answers=False)
    table, calibrated = found.fit.posterior, found.fit.calibrated_posterior
    assert calibrated.sum(axis=1) == pytest.approx(table.sum(axis=1))
    answered = np.isin(np.arange(votes.items), votes.item)
    for item in np.flatnonzero(answered | (anchors != NO_LABEL)):
        label = found.label[item]
        assert calibrated[item].max() <= table[item].max() + 1e-9
        if label != NO_LABEL:
            assert table[item, label] == pytest.approx(table[item].max())
            assert found.confidence[item] == pytest.approx(calibrated[item, label])


def test_a_known_label_is_certain() -> None:
    votes, truth = study(0, spread=2.0)
    anchors = np.where(np.arange(votes.items) < 20, truth, NO_LABEL)
    for model in MODELS:
        assert (model(votes, anchors=anchors).confidence[:20] == 1).all()


@pytest.mark.parametrize("fault", ["slips", "near misses", "attractive"])
def test_open_answers_keep_a_confidence_near_the_accuracy(fault: str) -> None:
    for model in (one_coin, glad):
        gaps = []
        for seed in range(3):
            pool = open_pool(fault, seed=seed)
            found = model(pool.votes)
            gaps.append(surplus(found.confidence, found.label, pool.truth))
        assert abs(np.mean(gaps)) < 0.05


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("item", "annotator", "label"),
    [
        pytest.param([0, 1, 2, 3], [0, 0, 0, 0], [0, 1, 0, 1], id="one annotator"),
        pytest.param([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [1, 1, 1, 1, 1, 1], id="equal answers"),
        pytest.param([0, 0, 0], [0, 1, 2], [0, 0, 1], id="one item"),
        pytest.param([], [], [], id="no answers"),
    ],
)
def test_small_pools_have_confidences(model, item: list[int], annotator: list[int], label: list[int]) -> None:
    columns = (np.array(column, np.int32) for column in (item, annotator, label))
    found = model(Votes(*columns, 4, 3, 2))
    decided = found.label != NO_LABEL
    assert np.isnan(found.confidence[~decided]).all()
    assert ((found.confidence[decided] >= 0.5) & (found.confidence[decided] <= 1)).all()
    assert 0.01 <= found.fit.error_correlation <= 1.5


def test_without_two_answers_to_an_item_only_the_prior_is_known() -> None:
    votes = Votes(*(np.arange(5, dtype=np.int32) for _ in range(2)), np.zeros(5, np.int32), 5, 5, 2)
    assert correlation(votes, np.full(5, 0.8)) == candidates.MEDIAN


def test_a_sample_of_a_large_pool_gives_the_same_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    votes, _ = study(1, spread=2.0, items=2000, people=60)
    accuracy = one_coin(votes).fit.quality
    whole = correlation(votes, accuracy)
    monkeypatch.setattr(candidates, "MOST_ANSWERS", 4000)
    sampled = correlation(votes, accuracy)
    assert sampled != whole
    assert sampled == correlation(votes, accuracy)
    assert np.log(sampled) == pytest.approx(np.log(whole), abs=0.4)
