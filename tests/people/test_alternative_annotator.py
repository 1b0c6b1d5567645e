"""The alternative-annotator test equals a test written from its definition, and knows what it cannot tell."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from merilo.people.alternative_annotator import (
    FEWEST_TEXTS,
    alternative_annotator_test,
    chance_agreement,
    rejected,
)
from merilo.people.votes import Votes
from merilo.statistics import FloatArray

GRADES = np.array([1.0, 2.0, 3.0, 5.0])


def study(
    texts: int = 90, people: int = 5, overlap: int = 3, good: float = 0.7, seed: int = 1
) -> tuple[Votes, FloatArray]:
    """Votes of people and a judge, right with these probabilities, or any of four labels."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, 4, texts)
    text = np.repeat(np.arange(texts, dtype=np.int32), overlap)
    person = np.concatenate([random.choice(people, overlap, replace=False) for _ in range(texts)]).astype(
        np.int32
    )
    label = np.where(random.random(text.size) < good, truth[text], random.integers(0, 4, text.size)).astype(
        np.int32
    )
    judge = np.where(random.random(texts) < 0.75, truth, random.integers(0, 4, texts)).astype(float)
    return Votes(text, person, label, texts, people, 4), judge


def from_the_definition(
    votes: Votes, judge: FloatArray, numbers: FloatArray | None, epsilon: float
) -> tuple[list[float], float]:
    given: dict[int, dict[int, int]] = {}
    for text, person, label in zip(votes.item, votes.annotator, votes.label, strict=True):
        given.setdefault(int(person), {})[int(text)] = int(label)

    def closeness(answer: float, others: list[int]) -> float:
        if numbers is None:
            return float(np.mean([answer == other for other in others]))
        return -float(np.sqrt(np.mean([(answer - numbers[other]) ** 2 for other in others])))

    p_values, advantages = [], []
    for person in sorted(given):
        judge_best, person_best = [], []
        for text, label in given[person].items():
            others = [answers[text] for who, answers in given.items() if who != person and text in answers]
            own = float(label) if numbers is None else float(numbers[label])
            mine, theirs = closeness(own, others), closeness(float(judge[text]), others)
            judge_best.append(theirs >= mine - 1e-12)
            person_best.append(mine >= theirs - 1e-12)
        apart = np.array(person_best, float) - np.array(judge_best, float)
        p_values.append(float(ttest_1samp(apart, epsilon, alternative="less").pvalue))
        advantages.append(float(np.mean(judge_best)))
    return p_values, float(np.mean(advantages))


@pytest.mark.parametrize("numbers", [None, GRADES])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.2])
def test_it_is_the_test_of_its_definition(numbers: FloatArray | None, epsilon: float) -> None:
    votes, judge = study()
    answers = judge if numbers is None else numbers[judge.astype(int)]
    found = alternative_annotator_test(votes, answers, numbers=numbers, epsilon=epsilon)
    p_values, advantage = from_the_definition(votes, answers, numbers, epsilon)
    assert [one.p for one in found.tested] == pytest.approx(p_values)
    assert found.advantage == pytest.approx(advantage)
    assert [one.won for one in found.tested] == rejected(p_values, 0.05)
    assert found.interval is not None
    assert found.interval.low < advantage < found.interval.high


def test_benjamini_and_yekutieli_reject_up_to_the_last_p_below_its_line() -> None:
    # With three tests the lines are at 0.05 / (3 · 11/6) = 0.00909 times the rank.
    assert rejected([0.009, 0.5, 0.6], 0.05) == [True, False, False]
    assert rejected([0.0095, 0.018, 0.027], 0.05) == [True, True, True]
    assert rejected([0.0095, 0.019, 0.028], 0.05) == [False, False, False]
    assert rejected([], 0.05) == []


def test_a_judge_without_an_answer_loses_the_text() -> None:
    votes, judge = study()
    whole = alternative_annotator_test(votes, judge)
    judge[:45] = np.nan
    found = alternative_annotator_test(votes, judge)
    assert found.advantage < whole.advantage - 0.2
    assert all(one.person > 0.5 for one in found.tested)


def test_annotators_with_few_texts_are_not_tested() -> None:
    votes, judge = study(texts=60, people=40)
    found = alternative_annotator_test(votes, judge)
    assert not found.tested
    assert found.others == np.unique(votes.annotator).size
    assert not found.possible
    assert not found.passed
    assert found.interval is None
    busy = study(texts=60, people=4)
    texts = [one.texts for one in alternative_annotator_test(*busy).tested]
    assert len(texts) == 4
    assert min(texts) >= FEWEST_TEXTS


def test_clusters_weaken_the_evidence() -> None:
    votes, judge = study(texts=200, good=0.9)
    alone = alternative_annotator_test(votes, np.round(judge))
    cluster = np.repeat(np.arange(20, dtype=np.int32), 10)
    held = Votes(votes.item, votes.annotator, votes.label, 200, 5, 4, cluster)
    one = Votes(votes.item, votes.annotator, votes.label, 200, 5, 4, np.zeros(200, np.int32))
    assert [row.p for row in alternative_annotator_test(held, judge).tested] != [
        row.p for row in alone.tested
    ]
    assert all(row.p == 1 for row in alternative_annotator_test(one, judge).tested)


def test_agreement_by_chance_is_told_from_agreement() -> None:
    votes, _ = study(good=0.0)
    assert chance_agreement(votes) > 0.05
    assert chance_agreement(votes, GRADES) > 0.05
    votes, _ = study(good=0.5)
    assert chance_agreement(votes) < 1e-3
    assert chance_agreement(votes, GRADES) < 1e-2
    # A strict and a lenient annotator share the texts' labels by chance only.
    text, person = np.divmod(np.arange(200, dtype=np.int32), 2)
    label = (np.random.default_rng(1).random(200) < np.where(person, 0.9, 0.6)).astype(np.int32)
    assert chance_agreement(Votes(text, person, label, 100, 2, 2)) > 0.05
