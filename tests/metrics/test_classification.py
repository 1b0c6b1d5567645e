"""Metrics of closed answers, held against scikit-learn."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scored import acc, em, f1_macro, mcc
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from merilo.items import Item
from merilo.metrics.answers import Answer
from merilo.metrics.registry import Scoring
from merilo.metrics.scoring import explain


def judge_equal(answer: str, gold: str):
    (judgement,) = explain(
        Scoring(name="", answer=Answer(kind="label"), metrics=("acc",)), Item(1, "", "", gold), answer
    )
    return judgement


labels = st.sampled_from(["1", "2", "3", "A", "", " 1", "не знаю"])
pairs = st.lists(st.tuples(labels, labels), min_size=1, max_size=60)


@pytest.mark.filterwarnings("ignore:A single label")
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(acc, accuracy_score), (f1_macro, partial(f1_score, average="macro")), (mcc, matthews_corrcoef)],
)
@settings(deadline=None)
@given(pairs=pairs)
def test_the_metric_is_scikit_learns(ours, theirs, pairs: list[tuple[str, str]]) -> None:
    answers, gold = map(list, zip(*pairs, strict=True))
    assert ours(answers, gold).value == pytest.approx(theirs(gold, answers), abs=1e-12)


@settings(deadline=None)
@given(pairs)
def test_every_item_says_what_it_earned(pairs: list[tuple[str, str]]) -> None:
    answers, gold = map(list, zip(*pairs, strict=True))
    score = acc(answers, gold)
    assert sum(score.per_item.values()) / score.n == pytest.approx(score.value)
    for number, (answer, true) in enumerate(pairs):
        assert judge_equal(answer, true).points == score.per_item[number]


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


def test_faultless_answers_to_a_rare_label_leave_the_metric_less_certain() -> None:
    even, rare = ["1", "2"] * 50, ["1"] * 97 + ["2"] * 3
    for metric in (f1_macro, mcc):
        sure, unsure = metric(even, even).interval, metric(rare, rare).interval
        assert sure is not None
        assert unsure is not None
        assert unsure.low < sure.low - 0.1


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
