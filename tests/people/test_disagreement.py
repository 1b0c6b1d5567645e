"""People's label distributions against a model's; every number is counted by hand or known from a simulation."""

import numpy as np
import pytest
from every import every
from scipy.spatial.distance import jensenshannon

from merilo.errors import DataError
from merilo.people.disagreement import Disagreement, disagreement, entropy, jensen_shannon
from merilo.people.votes import Votes, encode


def votes_of(*items: str) -> Votes:
    """Each text is an item, each letter the label of one person: p0, p1, ..."""
    rows = [
        (f"q{place}", f"p{person}", label)
        for place, given in enumerate(items)
        for person, label in enumerate(given)
    ]
    return encode(*(list(column) for column in zip(*rows, strict=True)), known_labels=["a", "b", "c"]).votes


def codes(*items: str) -> list[list[int]]:
    return [["abc".index(letter) for letter in given] for given in items]


def world(
    seed: int, *, items: int = 100, people: int = 20, overlap: int = 5, samples: int = 5, alike: bool = True
) -> tuple[Votes, list[list[int]]]:
    """People of equal opinion, and a model that draws from the same distributions, or from others."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.ones(3), items)
    own = share if alike else rng.dirichlet(np.ones(3), items)
    item = np.repeat(np.arange(items), overlap)
    person = np.concatenate([rng.choice(people, overlap, replace=False) for _ in range(items)])
    label = np.array([rng.choice(3, p=share[place]) for place in item])
    given = [rng.choice(3, samples, p=own[place]).tolist() for place in range(items)]
    return Votes(
        item.astype(np.int32), person.astype(np.int32), label.astype(np.int32), items, people, 3
    ), given


def test_the_divergence_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.dirichlet(np.ones(4), 20), rng.dirichlet(np.full(4, 0.2), 20)
    expected = [jensenshannon(a, b, base=2) ** 2 for a, b in zip(first, second, strict=True)]
    assert jensen_shannon(first, second) == pytest.approx(expected)
    assert entropy(np.full((1, 4), 0.25)).tolist() == [2.0]


def test_agreement_and_spread_are_counted_over_pairs() -> None:
    # q0: people aab, samples ab; q1: people aaa, samples aa; q2: people abc, samples cc.
    found = disagreement(votes_of("aab", "aaa", "abc"), codes("ab", "aa", "cc"))
    assert found.agreement.value == pytest.approx((3 / 6 + 1 + 2 / 6) / 3)
    assert found.agreement.ceiling == pytest.approx((1 / 3 + 1 + 0) / 3)
    assert found.people_spread.value == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert found.model_spread.value == pytest.approx((1 + 0 + 0) / 3)
    assert found.distance.value == pytest.approx(
        2 * (1 - found.agreement.value) - found.people_spread.value - found.model_spread.value
    )


def test_a_model_like_people_reaches_the_ceiling_whatever_the_number_of_answers() -> None:
    by_samples: dict[int, list[Disagreement]] = {
        samples: [disagreement(*world(seed, samples=samples)) for seed in range(15)] for samples in (2, 20)
    }
    for samples, found in by_samples.items():
        assert np.mean([one.distance.value for one in found]) == pytest.approx(0, abs=0.02), samples
        gap = [one.agreement.value - (one.agreement.ceiling or 0) for one in found]
        assert np.mean(gap) == pytest.approx(0, abs=0.015)
        like = [one.like_people.value - (one.like_people.ceiling or 0) for one in found]
        assert np.mean(like) == pytest.approx(0, abs=0.015)
    # The plain divergence depends on the number of samples: this is why the others are there.
    plain = {
        samples: np.mean([one.divergence.value for one in found]) for samples, found in by_samples.items()
    }
    assert plain[2] > plain[20] + 0.05


@pytest.mark.thorough
def test_the_interval_of_the_distance_covers_the_true_distance() -> None:
    # Two independent uniform distributions of three labels lie 1/3 apart on average.
    found = [disagreement(*world(seed, alike=False)).distance.interval for seed in range(40)]
    assert sum(one is not None and one.low <= 1 / 3 <= one.high for one in found) >= 36


def test_a_model_that_always_gives_one_answer_has_no_spread_and_no_correlation_of_entropies() -> None:
    votes, _ = world(1)
    found = disagreement(votes, [[0] * 5 for _ in range(votes.items)])
    assert found.model_spread.value == 0
    assert np.isnan(found.entropy_correlation.value)
    assert found.entropy_correlation.interval is None
    assert [(one.items, one.model) for one in found.calibration] == [(votes.items, 0.0)]


def test_items_on_which_people_split_evenly_are_listed() -> None:
    found = disagreement(votes_of("aabb", "aaab", "aabbc", "aaaa"), codes("aa", "aa", "aa", "aa"))
    assert set(found.even) == {0, 2}


def test_labels_that_no_person_gave_count_as_the_models_own() -> None:
    found = disagreement(votes_of("aab", "aaa", "abb"), [[3, 3], [3, 4], [4, 4]])
    assert found.agreement.value == 0
    assert found.divergence.value == pytest.approx(1.0)


@every(
    "people, samples, said",
    [
        (["aab", "aaa", "abc"], ["a", "aa", "aa"], "at least 3 items .* there are 2"),
        (["ab", "aa", "bb"], ["aa", "aa", "aa"], "at least 3 people; there are 2"),
    ],
)
def test_too_few_people_or_samples_are_said(people: list[str], samples: list[str], said: str) -> None:
    with pytest.raises(DataError, match=said):
        disagreement(votes_of(*people), codes(*samples))
