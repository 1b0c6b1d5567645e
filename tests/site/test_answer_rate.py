"""The rate of recent answers and the expected end."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from merilo.site.status import answer_rate, progress_points

HOUR = 3_600_000
NOW = 1_790_000_000_000


@pytest.mark.parametrize(("times", "rate"), [
    (np.arange(NOW - 5 * HOUR, NOW, 60_000), (59, 60.0, 59.0)),  # those of the last hour
    (np.arange(NOW - HOUR // 2, NOW, 60_000), (29, 30.0, 58.0)),  # since the first answer
    (np.arange(NOW - 10 * HOUR, NOW - 5 * HOUR, 60_000), (299, 600.0, 29.9)),  # all, after a night without answers
], ids=["hour", "half an hour", "night"])  # fmt: skip
def test_recent_answers_give_the_rate(times: NDArray[np.int64], rate: tuple[int, float, float]) -> None:
    computed = answer_rate(times, NOW)
    assert computed is not None
    assert (computed.answers, computed.minutes, computed.per_hour) == rate
    if (
        rate[0] == 59
    ):  # 12 parts of about 5 answers vary less than a Poisson process: phi is 1, 59 * exp(2.201 / sqrt(59))
        assert computed.high == pytest.approx(59 * np.exp(2.201 / np.sqrt(59)), rel=1e-4)
        assert computed.low == pytest.approx(59**2 / computed.high)


def test_uneven_answers_give_a_wider_interval_than_even_ones() -> None:
    even = answer_rate(np.linspace(NOW - HOUR, NOW, 121).astype(np.int64), NOW)
    burst = answer_rate(np.append(np.linspace(NOW - 300_000, NOW, 120), NOW - HOUR).astype(np.int64), NOW)
    assert even is not None
    assert burst is not None
    assert burst.answers == even.answers == 120
    assert burst.high > 2 * even.high
    assert even.hours_for(240) is not None
    assert burst.hours_for(240) is None, "the bounds differ too much to tell an end"


@pytest.mark.parametrize(
    "times", [[], [NOW - HOUR], [NOW - 60_000] * 50], ids=["none", "one", "within ten minutes"],
)  # fmt: skip
def test_there_is_no_rate_from_too_few_answers(times: list[int]) -> None:
    assert answer_rate(np.array(times, dtype=np.int64), NOW) is None


@given(st.lists(st.integers(0, 2 * HOUR), max_size=200))
def test_the_bounds_enclose_the_rate(ago: list[int]) -> None:
    rate = answer_rate(NOW - np.array(ago, dtype=np.int64), NOW)
    if rate is not None:
        assert 0 < rate.low <= rate.per_hour <= rate.high
        end = rate.hours_for(100)
        assert end is None or end[1] <= end[0] <= end[2]


@given(st.lists(st.integers(0, 2 * HOUR), max_size=200))
def test_the_curve_of_progress_rises_to_the_number_of_answers(ago: list[int]) -> None:
    points = progress_points(NOW - np.array(ago, dtype=np.int64), NOW)
    counts = [n for _, n in points]
    assert counts == sorted(counts)
    assert (counts[-1] if counts else 0) == len(ago)
