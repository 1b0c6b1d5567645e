"""The total score."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merilo.metrics.metric import total_score


@settings(deadline=None)
@given(
    st.dictionaries(
        st.text(max_size=3), st.lists(st.floats(0, 1), min_size=1, max_size=3), min_size=1, max_size=6
    )
)
def test_every_dataset_weighs_the_same(main: dict[str, list[float]]) -> None:
    expected = 0.0
    for values in main.values():
        for value in values:
            expected += value / len(values) / len(main)
    assert total_score(main) == pytest.approx(expected)


def test_a_dataset_without_a_metric_is_refused() -> None:
    with pytest.raises(ValueError, match="main metric"):
        total_score({"RCB": []})
