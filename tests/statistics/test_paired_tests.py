"""Paired comparisons against SciPy, brute force and the equations that define them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from merilo.statistics.paired_tests import (
    compare_scores,
    detectable_difference,
    holm,
    mcnemar,
    sign_flip,
    tango,
)

tables = st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 60)).filter(lambda t: sum(t) > 0)


@given(st.integers(0, 1500), st.integers(0, 1500))
def test_mcnemars_test_is_scipys_binomial_test(better: int, worse: int) -> None:
    expected = stats.binomtest(better, better + worse, 0.5).pvalue if better + worse else 1.0
    assert mcnemar(better, worse) == pytest.approx(expected, rel=1e-7)


@settings(deadline=None)
@given(st.lists(st.sampled_from([-1.0, -0.5, -0.2, 0.0, 0.25, 0.5, 1.0]), min_size=2, max_size=9))
def test_few_differences_are_tested_by_going_through_all_signs_as_scipy_does(values: list[float]) -> None:
    differences = np.array(values)
    theirs = stats.permutation_test(
        (differences,), lambda x, axis=-1: x.mean(axis=axis), permutation_type="samples", n_resamples=np.inf
    )
    assert sign_flip(differences).p == pytest.approx(theirs.pvalue)


def test_many_differences_are_tested_by_drawing_signs() -> None:
    differences = np.random.default_rng(1).normal(0.15, 1, 200)
    drawn = sign_flip(differences, permutations=20_000)
    assert drawn.p == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, abs=0.015)
    assert sign_flip(np.ones(40)).p == pytest.approx(1 / 10_001)


@settings(deadline=None)
@given(tables)
def test_tangos_interval_is_where_the_score_statistic_reaches_the_quantile(
    table: tuple[int, int, int],
) -> None:
    better, worse, same = table
    n = sum(table)
    z = stats.norm.ppf(0.975)

    def statistic(difference: float) -> float:
        """The score statistic with its nuisance parameter found by numerical maximisation."""

        def unlikely(q: float) -> float:
            parts = ((worse, q), (better, q + difference), (same, 1 - 2 * q - difference))
            return -sum(count * np.log(max(p, 1e-300)) for count, p in parts if count)

        low, high = max(0.0, -difference), (1 - difference) / 2
        q = optimize.minimize_scalar(
            unlikely, bounds=(low, high), method="bounded", options={"xatol": 1e-12}
        ).x
        q = min([low, q, high], key=unlikely)
        return (better - worse - n * difference) / np.sqrt(
            max(n * (2 * q + difference * (1 - difference)), 1e-300)
        )

    interval = tango(better, worse, n)
    assert -1 <= interval.low <= (better - worse) / n <= interval.high <= 1
    for bound, expected in ((interval.low, z), (interval.high, -z)):
        if abs(bound) < 0.999:
            assert statistic(bound) == pytest.approx(expected, abs=2e-3)


def test_tangos_interval_covers_as_often_as_it_says() -> None:
    n, only_first, only_second = 40, 0.15, 0.05
    covered = 0.0
    for better, worse in product(range(n + 1), repeat=2):
        if better + worse <= n:
            chance = stats.multinomial.pmf(
                [worse, better, n - better - worse],
                n,
                [only_first, only_second, 1 - only_first - only_second],
            )
            interval = tango(better, worse, n)
            covered += chance * (interval.low <= only_second - only_first <= interval.high)
    assert 0.93 <= covered <= 0.97


def test_right_and_wrong_answers_go_to_mcnemar_and_other_scores_to_permutation() -> None:
    rng = np.random.default_rng(0)
    first, second = (rng.random((2, 100)) < [[0.8], [0.6]]).astype(float)
    binary = compare_scores(first, second)
    better, worse = int((second > first).sum()), int((first > second).sum())
    assert (binary.better, binary.worse, binary.test.p) == (better, worse, mcnemar(better, worse))
    assert binary.value == pytest.approx(second.mean() - first.mean())
    partial = compare_scores(first * 0.9, second)
    assert partial.test.method.startswith("sign-flip")
    theirs = stats.ttest_rel(second, first * 0.9).confidence_interval(0.95)
    assert (partial.interval.low, partial.interval.high) == pytest.approx((theirs.low, theirs.high), abs=1e-6)


def test_nothing_differs_means_no_evidence_and_nothing_to_detect() -> None:
    same = compare_scores(np.ones(50), np.ones(50))
    assert (same.value, same.test.p, same.detectable) == (0, 1, None)
    assert same.interval.low < 0 < same.interval.high
    with pytest.raises(ValueError, match="at least one score"):
        compare_scores(np.zeros(0), np.zeros(0))


@pytest.mark.parametrize(("discordant", "n"), [(0.2, 300), (0.4, 300), (0.1, 1000)])
def test_the_detectable_difference_is_found_in_four_of_five_simulated_comparisons(
    discordant: float, n: int
) -> None:
    difference = detectable_difference(discordant, n)
    assert difference is not None
    rng = np.random.default_rng(3)
    shares = [(discordant + difference) / 2, (discordant - difference) / 2, 1 - discordant]
    drawn = rng.multinomial(n, shares, size=1500)
    found = np.mean([mcnemar(int(better), int(worse)) < 0.05 for better, worse, _ in drawn])
    # McNemar's exact test is a little conservative.
    assert 0.73 <= found <= 0.84


def test_too_few_items_detect_nothing() -> None:
    assert detectable_difference(0.1, 10) is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holms_correction_is_its_definition(p_values: list[float]) -> None:
    corrected = holm(p_values)
    ranked = sorted(p_values)
    for p, ours in zip(p_values, corrected, strict=True):
        place = ranked.index(p)
        expected = max(min(1.0, (len(ranked) - k) * ranked[k]) for k in range(place + 1))
        # Equal p-values share the largest of their corrections only when it is the first of them.
        assert ours == pytest.approx(expected, abs=1e-12)
