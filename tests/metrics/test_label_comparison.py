"""Comparisons by macro F1 and MCC against scikit-learn and every swap by hand."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from label_metrics import by_scikit_learn

from merilo.metrics import label_comparison
from merilo.metrics.label_comparison import compare_labels
from merilo.metrics.registry import metric_of


def label_figure(metric: str, answers, gold) -> float:
    return by_scikit_learn(metric, gold, answers)


def by_swapping(metric: str, first: list[str], second: list[str], gold: list[str]) -> float:
    observed = abs(label_figure(metric, second, gold) - label_figure(metric, first, gold))
    reached = []
    for swaps in product([0, 1], repeat=len(gold)):
        one = [b if s else a for a, b, s in zip(first, second, swaps, strict=True)]
        other = [a if s else b for a, b, s in zip(first, second, swaps, strict=True)]
        reached.append(
            abs(label_figure(metric, other, gold) - label_figure(metric, one, gold)) >= observed - 1e-9
        )
    return float(np.mean(reached))


@settings(deadline=None)
@given(
    st.lists(st.tuples(*[st.sampled_from("AB")] * 3), min_size=1, max_size=7),
    st.sampled_from(["f1_macro", "mcc"]),
)
def test_a_metric_of_labels_is_tested_by_swapping_answers_in_every_way(
    triples: list[tuple], metric: str
) -> None:
    gold, first, second = (list(column) for column in zip(*triples, strict=True))
    found = compare_labels(metric_of(metric, "label"), first, second, gold)
    assert found.test.p == pytest.approx(by_swapping(metric, first, second, gold))
    assert found.first == pytest.approx(label_figure(metric, first, gold))
    assert found.second == pytest.approx(label_figure(metric, second, gold))


def test_many_different_answers_are_tested_by_drawing_swaps(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    gold = list(rng.choice(list("ABC"), 9))
    first, second = list(gold), list(rng.choice(list("ABC"), 9))
    monkeypatch.setattr(label_comparison, "EXACT_SWAPS", 3)
    found = compare_labels(metric_of("f1_macro", "label"), first, second, gold)
    assert "10000 permutations" in found.test.method
    assert found.test.p == pytest.approx(by_swapping("f1_macro", first, second, gold), abs=0.012)


def test_the_interval_of_a_difference_of_labels_is_that_of_drawing_items_one_by_one() -> None:
    rng = np.random.default_rng(2)
    gold = list(rng.choice(list("AB"), 120))
    first, second = ([g if rng.random() < p else "A" for g in gold] for p in (0.9, 0.6))
    found = compare_labels(metric_of("f1_macro", "label"), first, second, gold)
    by_hand = []
    for _ in range(600):
        drawn = rng.integers(0, 120, 120)
        picked = [[labels[i] for i in drawn] for labels in (first, second, gold)]
        by_hand.append(
            label_figure("f1_macro", picked[1], picked[2]) - label_figure("f1_macro", picked[0], picked[2])
        )
    assert (found.interval.low, found.interval.high) == pytest.approx(
        tuple(np.quantile(by_hand, [0.025, 0.975])), abs=0.02
    )
    assert found.detectable == pytest.approx(2.8 * np.std(by_hand), rel=0.1)


def test_no_items_are_no_comparison_of_labels() -> None:
    with pytest.raises(ValueError, match="at least one item"):
        compare_labels(metric_of("mcc", "label"), [], [], [])


@given(
    st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from("ABCD")), min_size=1, max_size=30),
    st.sampled_from(["f1_macro", "mcc"]),
)
def test_figures_of_tables_are_scikit_learns(pairs: list[tuple[str, str]], metric: str) -> None:
    gold, answers = zip(*pairs, strict=True)
    ours = metric_of(metric, "label").statistic(gold, answers, np.ones((1, len(pairs))))
    assert ours[0] == pytest.approx(label_figure(metric, answers, gold))
