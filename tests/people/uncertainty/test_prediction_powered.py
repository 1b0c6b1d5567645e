"""The corrected mean equals ppi-python's where annotators are independent, and carries shared annotators and clusters."""

from dataclasses import replace

import numpy as np
import pytest

from merilo.people.uncertainty.prediction_powered import (
    JudgedTexts,
    corrected_difference,
    corrected_mean,
    judges_weight,
    other_scores,
    other_shares,
)
from merilo.people.votes import Votes
from merilo.statistics import FloatArray

PEOPLE, TEXTS = 80, 480


def one_answer_each() -> tuple[JudgedTexts, FloatArray, np.random.Generator]:
    """80 of 480 texts have one answer, each of another person."""
    random = np.random.default_rng(7)
    quality = random.random(TEXTS)
    points = (random.random(PEOPLE) < quality[:PEOPLE]).astype(float)
    judge = (random.random(TEXTS) < 0.2 + 0.8 * quality).astype(float)
    code = np.arange(PEOPLE, dtype=np.int32)
    votes = Votes(code, code, points.astype(np.int32), TEXTS, PEOPLE, 2)
    return JudgedTexts(votes, judge[:, None], np.zeros(TEXTS, np.int64)), points, random


# The values are those of ppi-python 0.2.3 on the same arrays, in an environment of its own (pip install ppi-python):
#   ppi_mean_pointestimate(points, judge[:80], judge[80:], lam=LAM)
#   ppi_mean_ci(points, judge[:80], judge[80:], alpha=0.05, lam=LAM)
# where LAM is None (the tuned weight), 0, 0.5 or 1.
REFERENCE = {
    None: (0.5313089302656546, 0.42601775412790516, 0.636600106403404),
    0.0: (0.5125, 0.40296892694121, 0.6220310730587899),
    0.5: (0.5475, 0.4384215493812822, 0.6565784506187178),
    1.0: (0.5825, 0.44575585548015795, 0.7192441445198421),
}


@pytest.mark.parametrize("weight", REFERENCE)
def test_the_mean_and_its_error_are_those_of_ppi_python(weight: float | None) -> None:
    texts, points, _ = one_answer_each()
    chosen = judges_weight(texts, points[:, None]) if weight is None else weight
    found = corrected_mean(texts, points, texts.judged[:, 0], chosen)
    value, low, high = REFERENCE[weight]
    assert found.value == pytest.approx(value, abs=1e-12)
    # ppi-python divides by n where an unbiased variance divides by n - 1.
    assert np.sqrt(found.variance) == pytest.approx((high - low) / 2 / 1.959964, rel=0.01)
    assert found.annotator_variance == 0


def test_shares_of_labels_are_those_of_ppi_python_and_have_the_sum_1() -> None:
    # ppi_mean_pointestimate(np.eye(3)[people], np.eye(3)[judge[:80]], np.eye(3)[judge[80:]])
    reference = [0.25818822078907466, 0.37621551593323216, 0.36559626327769346]
    texts, _, random = one_answer_each()
    kind = random.integers(0, 3, TEXTS)
    people = np.where(random.random(PEOPLE) < 0.7, kind[:PEOPLE], random.integers(0, 3, PEOPLE))
    judge = np.eye(3)[np.where(random.random(TEXTS) < 0.6, kind, 0)]
    texts, shares = replace(texts, judged=judge), np.eye(3)[people]
    weight = judges_weight(texts, shares)
    values = [corrected_mean(texts, shares[:, k], judge[:, k], weight).value for k in range(3)]
    assert values == pytest.approx(reference, abs=1e-12)
    assert sum(values) == pytest.approx(1, abs=1e-12)


def test_strata_weigh_as_their_share_of_all_texts() -> None:
    # w = np.where(np.arange(80) < 20, 2, 2 / 3); w_unlabeled = np.where(np.arange(400) < 220, 200 / 220, 200 / 180)
    # ppi_mean_pointestimate(points, judge[:80], judge[80:], lam=0.5, w=w, w_unlabeled=w_unlabeled)
    texts, points, _ = one_answer_each()
    stratum = np.concatenate([np.arange(80) >= 20, np.arange(400) >= 220]).astype(np.int64)
    found = corrected_mean(replace(texts, stratum=stratum), points, texts.judged[:, 0], 0.5)
    assert found.value == pytest.approx(0.5348484848484849, abs=1e-12)


def test_texts_that_people_judged_completely_need_no_judge() -> None:
    texts, points, _ = one_answer_each()
    complete, kept = texts.on(texts.with_people)
    assert judges_weight(complete, points[kept][:, None]) == 0
    found = corrected_mean(complete, points[kept], complete.judged[:, 0], 0.0)
    assert found.value == pytest.approx(points.mean())


def test_a_judge_unrelated_to_people_gets_no_weight_and_people_their_own_interval() -> None:
    texts, points, _ = one_answer_each()
    constant = replace(texts, judged=np.ones((TEXTS, 1)))
    assert judges_weight(constant, points[:, None]) == 0
    assert corrected_mean(constant, points, np.ones(TEXTS), 0.0).value == pytest.approx(points.mean())


def crossed(strict: float, people: int = 4) -> tuple[Votes, FloatArray]:
    """Everybody judges the same 100 of 1,000 texts; people differ in how strict they are."""
    random = np.random.default_rng(3)
    text, person = np.divmod(np.arange(100 * people, dtype=np.int32), people)
    chance = 0.5 + strict * np.linspace(-1, 1, people)[person]
    points = (random.random(text.size) < chance).astype(float)
    return Votes(text, person, points.astype(np.int32), 1000, people, 2), points


def test_the_interval_carries_how_people_differ() -> None:
    judge = np.random.default_rng(4).random(1000)
    widths = []
    for strict in (0.0, 0.4):
        votes, points = crossed(strict)
        texts = JudgedTexts(votes, judge[:, None], np.zeros(1000, np.int64))
        found = corrected_mean(texts, points, judge, judges_weight(texts, points[:, None]))
        widths.append(found.interval.high - found.interval.low)
    assert widths[1] > 2 * widths[0]


def test_how_strict_people_are_cancels_out_of_a_difference() -> None:
    judge = np.random.default_rng(4).random(1000)
    stratum = np.arange(1000) % 2
    votes, points = crossed(0.4)
    texts = JudgedTexts(votes, judge[:, None], stratum)
    mean = corrected_mean(texts, points, judge, 0.0)
    found = corrected_difference(texts, points, judge, judge=False)
    own = stratum[votes.item]
    assert found.value == pytest.approx(points[own == 1].mean() - points[own == 0].mean())
    assert found.annotator_variance < 0.1 * mean.annotator_variance
    assert found.interval.low < 0 < found.interval.high
    # A judge that likes the texts of one stratum does not move the difference.
    biased = judge + 0.5 * stratum
    moved = corrected_difference(replace(texts, judged=biased[:, None]), points, biased)
    assert moved.value == pytest.approx(found.value, abs=0.1)


def test_the_interval_carries_clusters_of_texts() -> None:
    random = np.random.default_rng(5)
    cluster = np.repeat(np.arange(200, dtype=np.int32), 5)
    chance = random.random(200)[cluster]
    text, person = np.repeat(np.arange(100, dtype=np.int32), 3), np.tile(np.arange(3, dtype=np.int32), 100)
    points = (random.random(300) < chance[text]).astype(float)
    widths = []
    for codes in (None, cluster):
        votes = Votes(text, person, points.astype(np.int32), 1000, 3, 2, codes)
        texts = JudgedTexts(votes, chance[:, None], np.zeros(1000, np.int64))
        found = corrected_mean(texts, points, chance, 0.0)
        widths.append(found.interval.high - found.interval.low)
    assert widths[1] > 1.3 * widths[0]


def test_an_unequal_choice_of_texts_is_noticed_and_strata_remove_it() -> None:
    random = np.random.default_rng(6)
    field = (random.random(1000) < 0.5).astype(np.int64)
    judge = (random.random(1000) < 0.3 + 0.4 * field).astype(float)
    asked = np.flatnonzero(random.random(1000) < np.where(field, 0.25, 0.05)).astype(np.int32)
    zero = np.zeros(asked.size, np.int32)
    votes = Votes(asked, zero, zero, 1000, 1, 1)
    names = np.array(["short", "long"])[field]
    texts = JudgedTexts(votes, judge[:, None], np.zeros(1000, np.int64))
    assert other_scores(texts)[0] < 0.01
    assert (other_shares(texts, names) or 0) < 1e-6
    texts = replace(texts, stratum=field)
    assert other_scores(texts)[0] > 0.05
    assert other_shares(texts, np.array([str(one) for one in range(1000)])) is None
