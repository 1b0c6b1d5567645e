"""The probability that a gold is wrong, against brute force and on data generated from the model."""

from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from merilo.people.gold_model import (
    GUESSING,
    LURE,
    LURES,
    NODES,
    _expect,
    _Parameters,
    fit_gold_model,
    truth_cells,
)
from merilo.people.votes import Votes, encode


def votes_of(rows: list[tuple[int, int, int]], items: int, people: int, labels: int) -> Votes:
    table = np.array(rows, dtype=np.int32).reshape(-1, 3)
    return Votes(*table.T.copy(), items, people, labels)


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 2)),
        max_size=9,
        unique_by=lambda row: row[:2],
    ),
    gold=st.lists(st.integers(-1, 2), min_size=3, max_size=3),
    extra=st.integers(0, 3),
    ability=st.lists(st.floats(-2, 3), min_size=4, max_size=4),
    error=st.floats(0.01, 0.5),
    lures=st.lists(st.floats(0.1, 1), min_size=len(LURES), max_size=len(LURES)),
)
@settings(deadline=None)
def test_the_posterior_is_bayes_rule_summed_over_truths_lures_and_difficulties(
    rows: list[tuple[int, int, int]],
    gold: list[int],
    extra: int,
    ability: list[float],
    error: float,
    lures: list[float],
) -> None:
    options = 3 + extra
    votes = votes_of(rows, 3, 4, 3)
    golds = np.array(gold, np.int32)
    now = _Parameters(np.array(ability), error_rate=error, lures=np.array(lures) / sum(lures))
    cells = truth_cells(votes, golds, options)
    joint, _ = _expect(votes, cells, now)
    truth = joint.sum(axis=1)
    for item in range(3):
        answers = [(person, label) for i, person, label in rows if i == item]
        probability = np.zeros(options)
        shares = list(zip(LURES, now.lures, strict=True)) if gold[item] >= 0 else [(LURE, 1.0)]
        for t, (node, b), d, (lure, weight) in product(
            range(options), enumerate(NODES), range(options), shares
        ):
            if d == t:
                continue
            known = gold[item] >= 0
            prior = (1 - error if t == gold[item] else error / (options - 1)) if known else 1 / options
            chance = prior * now.difficulty[node] / (options - 1) * weight
            for person, label in answers:
                floor = GUESSING / options
                right = floor + (1 - floor) / (1 + np.exp(b - ability[person]))
                even = (1 - lure) / (options - 1)
                chance *= right if label == t else (1 - right) * (even + lure * (label == d))
            probability[t] += chance
        probability /= probability.sum()
        for place in np.flatnonzero(cells.item == item):
            label = int(cells.label[place])
            named = set(cells.label[cells.item == item].tolist()) - {-1}
            expected = (
                probability[label]
                if label >= 0
                else sum(probability[other] for other in range(options) if other not in named)
            )
            assert truth[place] == pytest.approx(expected, abs=1e-9)


@given(st.integers(0, 10**6))
@settings(deadline=None)
def test_every_iteration_improves_the_objective(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [(i, int(p), int(rng.integers(3))) for i in range(20) for p in rng.choice(6, 4, replace=False)]
    gold = rng.integers(-1, 3, 20).astype(np.int32)
    trace = fit_gold_model(votes_of(rows, 20, 6, 3), gold).log_posterior
    assert (np.diff(trace) > -1e-6 * abs(trace[-1])).all()


def test_items_without_gold_or_answers_say_nothing() -> None:
    silent = fit_gold_model(votes_of([(0, 0, 0), (0, 1, 0)], 2, 3, 2), np.array([-1, 0], np.int32))
    assert np.isnan(silent.gold_wrong[0])
    assert np.isnan(silent.ability[2])
    assert silent.best.tolist() == [0, 0]
    assert silent.gold_wrong[1] == pytest.approx(0.01, abs=0.003)
    assert fit_gold_model(votes_of([], 0, 0, 0), np.zeros(0, np.int32)).gold_wrong.size == 0


def controls_of_three_labels() -> tuple[Votes, np.ndarray]:
    """Thirty controls that forty-two annotators answer; the first gets 34 "1" and 8 "3" with gold "3", the second 7 of 41 for its
    gold, on the third no annotator gives the gold and the answers are split, and on two more no annotator gives the gold."""
    rng = np.random.default_rng(4)
    truth = rng.integers(3, size=30)
    told = {0: [34, 0, 8], 1: [34, 0, 7], 2: [22, 20, 0], 3: [41, 1, 0], 4: [3, 38, 0]}
    rows = []
    for item in range(30):
        if item in told:
            answers = np.repeat(np.arange(3), told[item])
        else:
            answers = np.where(rng.random(42) < 0.7, truth[item], rng.integers(3, size=42))
        rows += [(item, person, int(label)) for person, label in enumerate(rng.permutation(answers))]
    gold = truth.astype(np.int32)
    gold[:5] = 2
    return votes_of(rows, 30, 42, 3), gold


def test_the_suggested_truth_is_an_answer_that_was_given() -> None:
    model = fit_gold_model(*controls_of_three_labels())
    assert model.best[[0, 1, 3, 4]].tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("people", [40, 400, 2000])
def test_the_ranking_still_tells_apart_probabilities_that_round_to_one(people: int) -> None:
    rows = [(item, person, 0) for item in range(20) for person in range(people)]
    for item, share in ((3, 0.1), (7, 0.0), (11, 0.05)):
        for person in range(round(share * people)):
            rows[item * people + person] = (item, person, 1)
    gold = np.zeros(20, np.int32)
    gold[[3, 7, 11]] = 1
    model = fit_gold_model(votes_of(rows, 20, people, 3), gold)
    assert np.argsort(-model.log_odds)[:3].tolist() == [7, 11, 3]


def test_none_of_these_is_said_where_it_is_more_probable_than_all_answers_together() -> None:
    # Twelve people who never give anybody else's answer: typed at random. On the last item they all agree.
    rows = [(item, person, item * 12 + person) for item in range(40) for person in range(12)]
    rows += [(40, person, 480) for person in range(12)]
    model = fit_gold_model(votes_of(rows, 41, 12, 481), np.full(41, -1, np.int32))
    assert (model.best[:40] == -1).all()
    assert model.best[40] == 480


def test_planted_wrong_golds_of_public_crowds_come_first() -> None:
    """Five of a hundred golds are made wrong; the mean average precision of the ranking over eight crowds."""
    tables = sorted((Path(__file__).parents[3] / "shared" / "data" / "crowds").glob("*.csv.gz"))
    if not tables:
        pytest.skip("the public crowds are not there")
    precision = [planted_precision(path) for path in tables]
    assert len(precision) == 8
    assert np.mean(precision) == pytest.approx(0.655, abs=0.002)


def planted_precision(path: Path) -> float:
    table = pl.read_csv(path, infer_schema=False).unique(
        ["task", "worker"], keep="first", maintain_order=True
    )
    truth = dict(table.drop_nulls("truth").select("task", "truth").iter_rows())
    coded = encode(table["task"], table["worker"], table["label"], known_labels=sorted(set(truth.values())))
    code = {label: place for place, label in enumerate(coded.labels)}
    gold = np.array([code[truth[one]] if one in truth else -1 for one in coded.items], np.int32)
    known = np.flatnonzero(gold >= 0)
    rng = np.random.default_rng(0)
    bad = rng.choice(known, n := max(3, round(0.05 * len(known))), replace=False)
    gold[bad] = (gold[bad] + rng.integers(1, coded.votes.labels, n)) % coded.votes.labels
    return average_precision_score(np.isin(known, bad), fit_gold_model(coded.votes, gold).log_odds[known])
