"""Metrics of closed answers, held against scikit-learn, and of numbers, held against SciPy."""

from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr
from scored import acc, em, f1_macro, mcc, scored
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from merilo.datasets.declaration import undeclared
from merilo.errors import DataError
from merilo.items import Item
from merilo.metrics.answers import Answer
from merilo.metrics.registry import Scoring, metric_of
from merilo.metrics.scoring import Part, explain
from merilo.metrics.worth import worth


def judge_equal(answer: str, gold: str):
    (judgement,) = explain(
        Scoring(name="", answer=Answer(kind="label"), metrics=("acc",)), Item(1, "", "", gold), answer
    )
    return judgement


labels = st.sampled_from(["1", "2", "3", "A", "", " 1", "не знаю"])
pairs = st.lists(st.tuples(labels, labels), min_size=1, max_size=60)


@pytest.mark.filterwarnings("ignore:A single label")
@pytest.mark.parametrize(("ours", "theirs"), [
    (acc, accuracy_score), (f1_macro, partial(f1_score, average="macro")), (mcc, matthews_corrcoef)
])  # fmt: skip
@settings(deadline=None)
@given(pairs=pairs)
def test_the_metric_is_scikit_learns(ours, theirs, pairs: list[tuple[str, str]]) -> None:
    answers, gold = map(list, zip(*pairs, strict=True))
    assert ours(answers, gold).value == pytest.approx(theirs(gold, answers), abs=1e-12)


def test_items_of_one_text_widen_the_interval() -> None:
    gold = ["1", "2"] * 100
    answers = ["1", "2"] * 70 + ["2", "1"] * 30
    texts = [number // 10 for number in range(200)]
    for metric in (f1_macro, mcc, acc):
        alone, shared = metric(answers, gold).interval, metric(answers, gold, texts).interval
        assert alone is not None
        assert shared is not None
        assert shared.high - shared.low > 1.5 * (alone.high - alone.low)
        assert "clusters" in shared.method


def test_all_right_is_not_called_certain() -> None:
    gold = ["1", "2"] * 50
    score = f1_macro(gold, gold)
    assert score.value == 1.0
    assert score.interval is not None
    assert score.interval.low == pytest.approx(0.962, abs=5e-4)
    correlation = mcc(gold, gold).interval
    assert correlation is not None
    assert -1 < correlation.low < score.interval.low
    assert correlation.high == 1


@pytest.mark.parametrize("metric", [acc, em, f1_macro, mcc])
def test_of_no_items_nothing_is_claimed(metric) -> None:
    score = metric([], [])
    assert (score.value, score.n, score.interval) == (0.0, 0, None)


def test_a_thousand_sorts_of_nonsense_stay_cheap() -> None:
    gold = ["1", "2", "3", "4"] * 500
    nonsense = [f"nonsense {number}" for number in range(2000)]
    assert f1_macro(nonsense, gold).value == 0.0
    assert mcc(nonsense, gold).value == pytest.approx(matthews_corrcoef(gold, nonsense), abs=1e-9)


def test_space_is_not_forgiven_and_the_judgement_says_so() -> None:
    judgement = judge_equal("a ", "A")
    assert judgement.points == 0.0
    assert "case or surrounding white space" in judgement.steps[0]


NUMBERS = st.tuples(st.integers(-5, 5), st.integers(-5, 5))
THEIRS = {"pearson": pearsonr, "spearman": spearmanr}


@pytest.mark.parametrize("metric", THEIRS)
@given(rows=st.lists(NUMBERS, min_size=3, max_size=30))
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
