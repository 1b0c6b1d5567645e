"""Correlations, against SciPy, and their influences on estimates."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr
from scored import scored

from merilo.datasets.declaration import undeclared
from merilo.errors import DataError
from merilo.items import Item
from merilo.metrics.registry import metric_of
from merilo.metrics.scoring import Part
from merilo.metrics.worth import worth

numbers = st.integers(-5, 5)
pairs = st.lists(st.tuples(numbers, numbers), min_size=3, max_size=30)
THEIRS = {"pearson": pearsonr, "spearman": spearmanr}


@pytest.mark.parametrize("metric", THEIRS)
@given(rows=pairs)
def test_the_correlation_is_scipys(metric: str, rows: list[tuple[int, int]]) -> None:
    gold, answers = zip(*rows, strict=True)
    assume(len(set(gold)) > 1 and len(set(answers)) > 1)
    found = scored(metric, [str(answer) for answer in answers], [str(true) for true in gold])
    assert found.value == pytest.approx(THEIRS[metric](gold, answers).statistic, abs=1e-12)
    assert found.n == len(rows)


@pytest.mark.parametrize("metric", THEIRS)
def test_without_variation_the_correlation_is_0_and_without_numbers_it_is_refused(metric: str) -> None:
    assert scored(metric, ["1", "1", "1"], ["1", "2", "3"]).value == 0.0
    assert scored(metric, ["many", "1,5", "2"], ["2", "1", "3"]).value == pytest.approx(0.5, abs=0.51)
    with pytest.raises(DataError, match="needs numbers, but a gold answer is 'B'"):
        scored(metric, ["1", "2"], ["1", "B"])


@pytest.mark.parametrize("metric", THEIRS)
def test_an_interval_covers_the_value_and_influences_predict_a_changed_answer(metric: str) -> None:
    rng = np.random.default_rng(3)
    gold = rng.integers(0, 9, 200)
    given_answers = [str(one) for one in np.clip(gold + rng.integers(-2, 3, 200), 0, 9)]
    found = scored(metric, given_answers, [str(one) for one in gold])
    assert found.interval is not None
    assert found.interval.low < found.value < found.interval.high < 1
    items = [Item(row, "", "", str(true)) for row, true in enumerate(gold)]
    part = Part(metric, metric_of(metric, "label"), tuple(range(200)))
    whole = worth(
        undeclared(metric), part, items, place=np.arange(200), answers=given_answers, weight=np.ones(200)
    )
    assert whole.value == pytest.approx(found.value)
    assert whole.answer.mean() == pytest.approx(found.value)
    for row in range(0, 200, 20):
        rest = [place for place in range(200) if place != row]
        without = scored(
            metric, [given_answers[place] for place in rest], [str(gold[place]) for place in rest]
        )
        assert found.value - without.value == pytest.approx((whole.answer[row] - found.value) / 199, abs=2e-4)
