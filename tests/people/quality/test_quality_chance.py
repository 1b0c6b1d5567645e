"""Probabilities under chance, against complete enumeration."""

import tracemalloc
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from merilo.people.quality.annotators import longest_run, run_probability
from merilo.people.quality.peers import _doubled_ranks, _exact, holm_of_tested


def test_people_who_could_not_be_tested_do_not_count_into_holms_family() -> None:
    with_gaps = holm_of_tested(np.array([0.02, np.nan, 0.2, np.nan]))
    assert with_gaps[[0, 2]].tolist() == [0.04, 0.2]
    assert np.isnan(with_gaps[[1, 3]]).all()


@given(
    run=st.integers(1, 6),
    n=st.integers(0, 6),
    weights=st.lists(st.integers(0, 5), min_size=1, max_size=3).filter(any),
)
@settings(max_examples=60, deadline=None)
def test_chance_of_a_long_run_is_what_counting_all_sequences_gives(
    run: int, n: int, weights: list[int]
) -> None:
    chances = np.array(weights) / sum(weights)
    counted = 0.0
    for sequence in product(range(len(weights)), repeat=n):
        if longest_run(np.array(sequence, dtype=np.int32)) >= run:
            counted += float(np.prod(chances[list(sequence)]))
    assert run_probability(run, n, chances) == pytest.approx(counted, abs=1e-12)


def test_a_long_run_among_twenty_thousand_open_answers_takes_no_table_of_all_of_them() -> None:
    chances = np.full(20_000, 1 / 20_000)
    tracemalloc.start()
    found = run_probability(2, 3000, chances)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == pytest.approx(1 - (1 - 1 / 20_000) ** 2999)
    assert peak < 5_000_000


@given(
    times=st.lists(st.integers(0, 3), min_size=2, max_size=6),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_rank_sum_p_is_what_permuting_all_orders_gives(times: list[int], data: st.DataObject) -> None:
    good = np.array(data.draw(st.lists(st.booleans(), min_size=len(times), max_size=len(times))))
    ranks = stats.rankdata(times)
    middle = good.sum() * (len(times) + 1) / 2
    seen = abs(ranks[good].sum() - middle)
    shuffles = [abs(ranks[np.array(order)].sum() - middle) for order in set(permutations(good.tolist()))]
    doubled = _doubled_ranks(np.array(times, dtype=float))
    assert (doubled / 2).tolist() == ranks.tolist()
    p = _exact(tuple(doubled.tolist()), int(good.sum()), int(doubled[good].sum()))
    assert p == pytest.approx(np.mean([far >= seen - 1e-9 for far in shuffles]))
