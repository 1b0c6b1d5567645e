"""Intervals over annotators and clusters of items, held against brute force, planted variances and independent items."""

from dataclasses import replace

import numpy as np
import pytest

from merilo.errors import DataError
from merilo.people.agreement import (
    LeaveOneOut,
    alpha_of_numbers,
    jackknife_interval,
    krippendorff_alpha,
)
from merilo.people.uncertainty.annotator_accuracy import (
    answer_difference,
    components,
    individuals,
    person_effects,
)
from merilo.people.uncertainty.two_way import influences, shared_part, two_way
from merilo.people.votes import Votes
from merilo.statistics.intervals import cluster_design_effect


def study(
    rng: np.random.Generator,
    texts: int = 30,
    size: int = 5,
    people: int = 12,
    overlap: int = 4,
    *,
    text: float = 1.0,
    whole: bool = True,
) -> tuple[Votes, np.ndarray]:
    """Questions about texts of different difficulty; a person answers all questions of a text, or single ones."""
    items = texts * size
    of_item = np.repeat(np.arange(texts), size)
    units = texts if whole else items
    chosen = np.array([rng.permutation(people)[:overlap] for _ in range(units)])
    person = (np.repeat(chosen, size, axis=0) if whole else chosen).ravel()
    item = np.repeat(np.arange(items), overlap)
    difficulty = np.repeat(text * rng.standard_normal(texts), size) + 0.5 * rng.standard_normal(items)
    ability = 1 + 0.7 * rng.standard_normal(people)
    right = rng.random(item.size) < 1 / (1 + np.exp(difficulty[item] - ability[person]))
    label = np.where(right, 0, rng.integers(1, 3, item.size))
    codes = (one.astype(np.int32) for one in (item, person, label))
    return Votes(*codes, items, people, 3, of_item.astype(np.int32)), right.astype(float)


def test_clusters_of_one_item_each_change_no_interval() -> None:
    votes, right = study(np.random.default_rng(0))
    single, none = (
        replace(votes, cluster=np.arange(votes.items, dtype=np.int32)),
        replace(votes, cluster=None),
    )
    model = np.random.default_rng(1).random(votes.items).round()
    # The order of additions may differ in the last digit.
    ours, plain = two_way(single, right), two_way(none, right)
    assert (ours.item_error, ours.annotator_error) == pytest.approx((plain.item_error, plain.annotator_error))
    assert (ours.interval.low, ours.interval.high) == pytest.approx((plain.interval.low, plain.interval.high))
    assert individuals(single, right).mean == individuals(none, right).mean
    assert individuals(single, right).interval.low == pytest.approx(individuals(none, right).interval.low)
    found, same = answer_difference(single, right, model), answer_difference(none, right, model)
    assert found.standard_error == pytest.approx(same.standard_error)
    interval, other = jackknife_interval(none), jackknife_interval(single)
    assert (other.low, other.high) == pytest.approx((interval.low, interval.high))


def test_the_items_part_of_the_consensus_is_that_of_a_bootstrap_of_texts() -> None:
    rng = np.random.default_rng(7)
    votes, right = study(rng, texts=60)
    found = two_way(votes, right)
    influence = influences(votes, right)
    scores = influence.item + influence.value
    assert votes.cluster is not None
    means = [scores.reshape(60, 5)[rng.integers(0, 60, 60)].mean() for _ in range(4000)]
    assert found.item_error == pytest.approx(float(np.std(means)), rel=0.08)
    assert found.clusters == 60
    assert found.cluster_effect == cluster_design_effect(influence.item, votes.cluster)
    assert "60 clusters of items" in found.interval.method
    alone = two_way(replace(votes, cluster=None), right)
    assert alone.clusters is None
    assert alone.item_error < found.item_error


def test_two_answers_of_one_annotator_to_one_text_do_not_tell_how_annotators_differ() -> None:
    votes, right = study(np.random.default_rng(2), whole=True)
    influence = influences(votes, right)
    text = votes.unit
    total, same, others, different = 0.0, 0, 0.0, 0
    for one in range(len(votes)):
        apart = text != text[one]
        own = apart & (votes.annotator == votes.annotator[one])
        total += float(influence.answer[one] * influence.answer[own].sum())
        same += int(own.sum())
        foreign = apart & (votes.annotator != votes.annotator[one])
        others += float(influence.answer[one] * influence.answer[foreign].sum())
        different += int(foreign.sum())
    variance = max(total / same - others / different, 0.0) * same / votes.items**2
    assert shared_part(votes, influence).variance == pytest.approx(variance)


def test_the_variance_components_are_mean_products_of_pairs() -> None:
    votes, right = study(np.random.default_rng(6), texts=8, size=3, people=6, overlap=3)
    centred = right - right.mean()
    person, item, text = votes.annotator, votes.item, votes.unit
    pairs: dict[tuple[bool, str], list[float]] = {}
    for a in range(len(votes)):
        for b in range(len(votes)):
            if a != b:
                level = "item" if item[a] == item[b] else "text" if text[a] == text[b] else "far"
                key = (bool(person[a] == person[b]), level)
                pairs.setdefault(key, []).append(float(centred[a] * centred[b]))
    mean = {key: float(np.mean(found)) for key, found in pairs.items()}
    far = mean[False, "far"]
    found = components(votes, right)
    of_person, of_text = max(mean[True, "far"] - far, 0), max(mean[False, "text"] - far, 0)
    assert found.person == pytest.approx(of_person)
    assert found.cluster == pytest.approx(of_text)
    assert found.item == pytest.approx(max(mean[False, "item"] - far - of_text, 0))
    assert found.cell == pytest.approx(max(mean[True, "text"] - far - of_person - of_text, 0))


def test_planted_variances_between_texts_and_annotators_are_found() -> None:
    rng, found = np.random.default_rng(9), []
    for _ in range(60):
        votes, _ = study(rng, texts=40, people=20, overlap=5)
        assert votes.cluster is not None
        pair = votes.unit.astype(np.int64) * 20 + votes.annotator
        score = (
            0.3 * rng.standard_normal(20)[votes.annotator]
            + 0.5 * rng.standard_normal(40)[votes.unit]
            + 0.4 * rng.standard_normal(200)[votes.item]
            + 0.2 * rng.standard_normal(800)[pair]
            + rng.standard_normal(len(votes))
        )
        one = components(votes, score)
        found.append([one.person, one.cluster, one.item, one.cell, one.rest])
    expected = [0.09, 0.25, 0.16, 0.04, 1.0]
    assert np.mean(found, axis=0) == pytest.approx(expected, abs=0.03)


def test_a_persons_interval_is_wider_if_their_items_share_texts() -> None:
    votes, right = study(np.random.default_rng(12), text=2.0)
    shared, alone = individuals(votes, right), individuals(replace(votes, cluster=None), right)
    assert shared.best is not None
    assert alone.best is not None
    assert shared.best.design_effect > 1.2
    assert shared.best.interval.low < alone.best.interval.low
    assert shared.interval.high - shared.interval.low > alone.interval.high - alone.interval.low
    effects = person_effects(votes, components(votes, right))
    assert shared.best.design_effect == pytest.approx(effects[shared.best.annotator])


@pytest.mark.parametrize("whole", [True, False])
def test_agreement_is_computed_without_each_text_and_each_annotators_answers_to_it(whole: bool) -> None:
    votes, _ = study(np.random.default_rng(3), texts=7, size=3, people=6, overlap=3, whole=whole)
    made = LeaveOneOut.of(votes)
    text = votes.unit
    cells = sorted({*zip(text.tolist(), votes.annotator.tolist(), strict=True)})
    deleted = made.alpha()
    assert deleted.items == pytest.approx([krippendorff_alpha(votes.where(text != one)) for one in range(7)])
    assert deleted.annotators == pytest.approx(
        [krippendorff_alpha(votes.where(votes.annotator != one)) for one in range(6)]
    )
    assert deleted.answers == pytest.approx(
        [krippendorff_alpha(votes.where((text != one) | (votes.annotator != who))) for one, who in cells]
    )


def test_agreement_of_ranks_leaves_out_whole_texts_too() -> None:
    votes, _ = study(np.random.default_rng(4), texts=8, size=3, people=6, overlap=3)
    found = alpha_of_numbers(votes, "ordinal", None)
    text = votes.unit
    assert found.items == pytest.approx(
        [krippendorff_alpha(votes.where(text != one), "ordinal") for one in range(8)]
    )
    assert found.answers.shape == (np.unique(text.astype(np.int64) * 6 + votes.annotator).size,)
    interval = jackknife_interval(votes, level="ordinal")
    assert "8 clusters of items" in interval.method


def test_a_single_cluster_has_no_interval() -> None:
    votes, right = study(np.random.default_rng(0))
    one = replace(votes, cluster=np.zeros(votes.items, dtype=np.int32))
    with pytest.raises(DataError, match="at least two clusters"):
        two_way(one, right)
    assert jackknife_interval(one) is None


def test_the_consensus_of_texts_covers_its_true_value() -> None:
    rng, held, alone = np.random.default_rng(21), 0, 0
    true = []
    for _ in range(40):
        votes, right = study(rng, texts=400, size=1, people=400, overlap=4)
        true.append(influences(replace(votes, cluster=None), right).value)
    expected = float(np.mean(true))
    for _ in range(120):
        votes, right = study(rng, texts=40, size=8, people=16, overlap=4)
        both = two_way(votes, right, resamples=300).interval
        plain = two_way(replace(votes, cluster=None), right, resamples=300).interval
        held += both.low <= expected <= both.high
        alone += plain.low <= expected <= plain.high
    assert held / 120 > 0.9
    assert held > alone
