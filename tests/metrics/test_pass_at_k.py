"""pass@k, held against counting every choice of k generations."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scored import passed

from merilo.items import Item
from merilo.metrics.answers import Answer
from merilo.metrics.pass_at_k import pass_at_k
from merilo.metrics.registry import Scoring
from merilo.metrics.scoring import explain

small = st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))
large = st.integers(1, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))


@settings(deadline=None)
@given(small)
def test_it_is_the_share_of_choices_that_hold_a_right_program(numbers: tuple[int, int, int]) -> None:
    n, c, k = numbers
    choices = list(combinations(range(n), k))
    lucky = sum(any(program < c for program in choice) for choice in choices)
    assert pass_at_k(n, c, k) == lucky / len(choices)


@settings(deadline=None)
@given(large)
def test_it_is_the_product_of_the_paper(numbers: tuple[int, int, int]) -> None:
    n, c, k = numbers
    exact = Fraction(1)
    for i in range(n - c + 1, n + 1):
        exact *= 1 - Fraction(k, i)
    assert pass_at_k(n, c, k) == float(1 if n - c < k else 1 - exact)
    product = 1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1))
    assert pass_at_k(n, c, k) == pytest.approx(1.0 if n - c < k else product, abs=1e-9)


@pytest.mark.parametrize(
    ("n", "c", "k"), [(5, 6, 1), (5, -1, 1), (5, 0, 6), (5, 0, 0), (0, 0, 1), (2, 0, 10)]
)
def test_what_cannot_be_estimated_is_refused(n: int, c: int, k: int) -> None:
    """With fewer generations than k the short formula would call two failures a certain success."""
    with pytest.raises(ValueError, match=r"impossible counts|at least"):
        pass_at_k(n, c, k)


@settings(deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["1", "2", None]), min_size=1, max_size=3), min_size=1, max_size=8),
    st.data(),
)
def test_the_judgement_tells_the_score(generations: list[list[str | None]], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(generations)))
    gold = ["1", "2"]
    right = sum(generation == gold for generation in generations)
    scoring = Scoring(name="", answer=Answer(kind="program"), metrics=(f"pass@{k}",))
    (judgement,) = explain(scoring, Item(1, "", {}, gold), tuple(map(tuple, generations)))
    assert judgement.points == passed([(len(generations), right)], k).value
    assert sum(step.endswith(": right") for step in judgement.steps) == right
