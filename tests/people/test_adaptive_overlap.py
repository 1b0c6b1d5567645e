"""Adaptive overlap: what a plan may ask for, which items have fixed overlap, and which answers the design itself asked for."""

from itertools import product

import numpy as np
import pytest
from every import every

from merilo.errors import UsageError
from merilo.people.collection_design import answers_by_design
from merilo.settings import AdaptiveDesign, AdaptiveOverlap


@every("start, limit, share", [(1, 3, 0.1), (3, 3, 0.1), (5, 3, 0.1), (3, 5, -0.1), (3, 5, 1.1)])
def test_an_impossible_overlap_is_refused(start: int, limit: int, share: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        AdaptiveOverlap(start, limit, share)


@every("text", ["3", "3:5:0.1:4:2", "3:x", "5:3", "3:5:2", ""])
def test_a_text_that_is_no_design_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="takes START:LIMIT"):
        AdaptiveDesign.of(text)


def test_the_random_share_follows_the_seed_and_has_its_size() -> None:
    items = [str(number) for number in range(20_000)]
    one = AdaptiveDesign.of("3:5:0.1:1").fixed(items)
    assert one.tolist() == AdaptiveDesign.of("3:5:0.1:1").fixed(items).tolist()
    other = AdaptiveDesign.of("3:5:0.1:2").fixed(items)
    assert 0.09 < one.mean() < 0.11
    assert 0.005 < (one & other).mean() < 0.015, "another seed draws other items"
    assert not AdaptiveDesign.of("3:5").fixed(items).any()
    assert AdaptiveDesign.of("3:5:1:0").fixed(items).all()


def test_answers_are_expected_as_counted_over_all_answers_of_five_people() -> None:
    person = 0.7
    mean = 0.0
    for right in product([True, False], repeat=5):
        chance = float(np.prod([person if one else 1 - person for one in right]))
        mean += chance * (3 if len(set(right[:3])) == 1 else 5)
    assert AdaptiveOverlap(3, 5, 0.0).expected_answers(person) == pytest.approx(mean)
    assert AdaptiveOverlap(3, 5, 0.5).expected_answers(person) == pytest.approx((mean + 5) / 2)


@every("start, limit, early", [(3, 5, True), (2, 3, True), (3, 6, False), (3, 7, False), (4, 7, True)])
def test_a_majority_of_the_limit_is_decided_early_only_if_start_is_more_than_half(
    start: int, limit: int, early: bool
) -> None:
    assert AdaptiveOverlap(start, limit).decides_early is early


def test_the_first_answers_to_every_item_are_the_design_s() -> None:
    rng = np.random.default_rng(0)
    item = rng.integers(0, 30, 400)
    order = rng.permutation(400)
    fixed = rng.random(30) < 0.2
    chosen = answers_by_design(item, order, start=3, fixed=fixed)
    for code in range(30):
        own = np.flatnonzero(item == code)
        own = own[np.argsort(order[own])]
        expected = own if fixed[code] else own[:3]
        assert sorted(np.flatnonzero(chosen & (item == code))) == sorted(expected)
