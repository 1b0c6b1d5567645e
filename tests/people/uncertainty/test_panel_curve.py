"""What groups of people reach: against brute force over all groups, and the interval of record of a whole group."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merilo.errors import DataError
from merilo.people.uncertainty.annotator_accuracy import individuals
from merilo.people.uncertainty.panel_curve import group_influence, group_scores, panel_curve
from merilo.people.uncertainty.two_way import two_way, two_way_of
from merilo.people.votes import Votes


def study(
    items: int = 60, overlap: int = 5, people: int = 12, seed: int = 0, labels: int = 4, share: float = 0.7
) -> tuple[Votes, np.ndarray]:
    """A study with a fixed overlap; label 0 is right."""
    rng = np.random.default_rng(seed)
    person = np.argsort(rng.random((items, people)), axis=1)[:, :overlap].ravel()
    item = np.repeat(np.arange(items), overlap)
    chance = np.clip(share + rng.normal(0, 0.2, items)[item] + rng.normal(0, 0.1, people)[person], 0.02, 0.98)
    label = np.where(rng.random(item.size) < chance, 0, rng.integers(1, labels, item.size))
    columns = (column.astype(np.int32) for column in (item, person, label))
    return Votes(*columns, items, people, labels), (label == 0).astype(float)


def by_hand(labels: list[int], worth: dict[int, float], k: int) -> tuple[float, float]:
    """The majority and the best of every group of k answers, with ties shared."""
    majority, best = [], []
    for group in combinations(labels, k):
        counts = {label: group.count(label) for label in group}
        leaders = [label for label, n in counts.items() if n == max(counts.values())]
        majority.append(sum(worth[label] for label in leaders) / len(leaders))
        best.append(max(worth[label] for label in group))
    return float(np.mean(majority)), float(np.mean(best))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=8),
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=6, max_size=6),
    st.data(),
)
def test_a_group_scores_as_all_groups_do_by_hand(
    labels: list[int], points: list[float], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(labels)))
    worth = dict(enumerate(points))
    totals = np.bincount(labels, minlength=6).astype(float)
    majority, best = by_hand(labels, worth, k)
    assert group_scores(totals, np.array(points), k) == pytest.approx(majority, abs=1e-9)
    assert group_scores(totals, np.array(points), k, "any") == pytest.approx(best, abs=1e-9)


def test_many_items_score_as_each_alone() -> None:
    rng = np.random.default_rng(3)
    totals = rng.integers(0, 4, (300, 5)).astype(float)
    totals[:, 0] += 3  # also counts of which one is the sum of others
    worth = rng.integers(0, 2, (300, 5)).astype(float)
    together = group_scores(totals, worth, 3)
    alone = [float(group_scores(totals[row], worth[row], 3)) for row in range(300)]
    assert together.tolist() == pytest.approx(alone)


def test_any_of_k_is_one_minus_the_chance_that_all_are_wrong() -> None:
    # pass@k of five answers of which two are right: 1 - C(3, k) / C(5, k).
    totals, worth = np.array([2.0, 2.0, 1.0]), np.array([1.0, 0.0, 0.0])
    found = [float(group_scores(totals, worth, k, "any")) for k in range(1, 6)]
    assert found == pytest.approx([0.4, 0.7, 0.9, 1.0, 1.0])


def test_the_curve_begins_with_the_single_person_and_ends_with_everybody() -> None:
    votes, score = study()
    curve = panel_curve(votes, score)
    single = individuals(votes, score)
    assert curve.overlap == 5
    assert (curve.majority[0].value, curve.majority[0].interval) == (single.mean, single.interval)
    whole = curve.majority[4]
    assert whole.k == 5
    assert whole.value == pytest.approx(two_way(votes, score).value)
    measured = [one for one in curve.any if not one.extrapolated]
    assert all(one.value <= after.value for one, after in pairwise(measured))
    for one in curve.points():
        assert one.interval is not None
        assert 0 <= one.interval.low <= one.value <= one.interval.high <= 1


def test_only_points_beyond_the_overlap_are_extrapolated() -> None:
    curve = panel_curve(*study(overlap=3))
    assert [(one.k, one.extrapolated) for one in curve.majority] == [
        (1, False), (2, False), (3, False), (4, True), (5, True), (6, True),
    ]  # fmt: skip
    last, beyond = curve.majority[2].interval, curve.majority[5].interval
    assert last is not None
    assert beyond is not None
    assert beyond.high - beyond.low > last.high - last.low
    assert "extrapolated" in beyond.method


def test_nothing_is_extrapolated_from_two_answers_or_from_shares_of_points() -> None:
    assert not any(one.extrapolated for one in panel_curve(*study(overlap=2)).points())
    votes, score = study()
    assert not any(one.extrapolated for one in panel_curve(votes, np.where(score > 0, 0.7, 0.1)).points())


def test_the_extrapolated_majority_goes_where_more_people_go() -> None:
    many, many_score = study(items=400, overlap=9, people=40, seed=5)
    first = np.concatenate([np.arange(item * 9, item * 9 + 5) for item in range(400)])
    kept = np.isin(np.arange(len(many)), first)
    guessed = panel_curve(many.where(kept), many_score[kept])
    true = panel_curve(many, many_score)
    for k in (6, 7, 8, 9):
        assert guessed.majority[k - 1].value == pytest.approx(true.majority[k - 1].value, abs=0.03)
        assert guessed.any[k - 1].value == pytest.approx(true.any[k - 1].value, abs=0.02)


def test_items_with_fewer_answers_leave_only_the_points_that_need_more() -> None:
    votes, score = study(items=50, overlap=4)
    keep = np.ones(len(votes), dtype=bool)
    keep[[0, 4, 8]] = False  # three items lose an answer
    curve = panel_curve(votes.where(keep), score[keep])
    assert [one.n for one in curve.majority[:4]] == [50, 50, 50, 47]


def test_two_people_have_a_curve_without_an_interval() -> None:
    curve = panel_curve(*study(overlap=2, people=2))
    assert [one.interval for one in curve.points()] == [None] * 4


def test_items_of_one_cluster_are_refused_and_clusters_widen_the_interval() -> None:
    votes, score = study(items=60)
    hard = (votes.item // 6) % 2 == 0
    score = np.where(hard, 0.0, score)
    label = np.where(hard, 1, votes.label).astype(np.int32)
    columns = (votes.item, votes.annotator, label, 60, 12, 4)
    alone = panel_curve(Votes(*columns), score).majority[2].interval
    clustered = panel_curve(Votes(*columns, np.arange(60, dtype=np.int32) // 6), score).majority[2].interval
    assert alone is not None
    assert clustered is not None
    assert clustered.high - clustered.low > alone.high - alone.low
    with pytest.raises(DataError, match="one cluster"):
        panel_curve(Votes(*columns, np.zeros(60, dtype=np.int32)), score)


def test_the_influence_of_a_whole_group_is_that_of_the_consensus() -> None:
    votes, score = study(items=30, overlap=3)
    influence = group_influence(votes, score, 3)
    assert influence.answer.sum() == pytest.approx(0.0, abs=1e-9)
    assert influence.item.sum() == pytest.approx(0.0, abs=1e-9)
    assert influence.value == pytest.approx(two_way(votes, score).value)


def test_people_who_guess_take_from_any_of_k_on_items_that_nobody_solved() -> None:
    """Six people are always right and six guess: that items share them is seen at every k up to the overlap."""
    rng = np.random.default_rng(8)
    person = np.argsort(rng.random((150, 12)), axis=1)[:, :3].ravel()
    item = np.repeat(np.arange(150), 3)
    label = np.where((person < 6) | (rng.random(450) < 0.25), 0, rng.integers(1, 4, 450))
    votes = Votes(*(column.astype(np.int32) for column in (item, person, label)), 150, 12, 4)
    for k in (2, 3):
        influence = group_influence(votes, (label == 0).astype(float), k, "any")
        unsolved = influence.item[influence.place] < -influence.value / 2
        assert (influence.answer[unsolved] < 0).all()
        assert (influence.guess[unsolved] > 0).all()
        assert two_way_of(votes, influence, resamples=0).annotator_error > 0.01


def test_the_curve_does_not_depend_on_the_names_of_people_and_labels() -> None:
    votes, score = study(seed=4)
    other = Votes(
        votes.item,
        (11 - votes.annotator).astype(np.int32),
        ((votes.label + 2) % 4).astype(np.int32),
        60,
        12,
        4,
    )
    ends = [
        [
            (one.value, one.interval.low, one.interval.high)
            for one in panel_curve(v, score).points()
            if one.interval
        ]
        for v in (votes, other)
    ]
    assert ends[0] == [pytest.approx(one) for one in ends[1]]
