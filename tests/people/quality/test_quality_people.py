"""The quality of annotators: every check against brute force and simulated people."""

import tracemalloc
from itertools import permutations, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from merilo.baselines.quality import sensitivity
from merilo.people import platforms
from merilo.people.aggregation import Consensus, majority
from merilo.people.decision import PoolVotes
from merilo.people.quality import StudyWork, Work, study_work, work_of
from merilo.people.quality.annotators import longest_run, pace, people_quality, repetition, run_probability
from merilo.people.quality.controls import control_accuracy, judged_annotators
from merilo.people.quality.peers import _doubled_ranks, _exact, drift, holm_of_tested, peer_agreement, sharing
from merilo.people.votes import Votes, encode
from merilo.responses import SCHEMA, Responses


def votes_of(rows: list[tuple[int, int, int]], labels: int | None = None) -> Votes:
    """Votes from (item, annotator, label)."""
    table = np.array(rows, dtype=np.int32).reshape(-1, 3)
    top = table.max(axis=0, initial=-1) + 1
    return Votes(*table.T.copy(), int(top[0]), int(top[1]), labels or int(top[2]))


tables = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(0, 2)),
    min_size=1,
    max_size=30,
    unique_by=lambda row: row[:2],
)


@given(tables)
def test_agreement_is_the_share_of_the_others_counted_one_by_one(rows: list[tuple[int, int, int]]) -> None:
    work = work_of(votes_of(rows))
    for code, one in enumerate(peer_agreement(work)):
        shares = []
        for item, person, label in rows:
            others = [other for i, p, other in rows if i == item and p != person]
            if person == code and others:
                shares.append(sum(other == label for other in others) / len(others))
        assert one.items == len(shares)
        if shares:
            assert one.agreement == pytest.approx(np.mean(shares))
        else:
            assert np.isnan(one.agreement)


@given(tables)
def test_with_most_means_no_label_has_more_votes_among_the_others(rows: list[tuple[int, int, int]]) -> None:
    work = work_of(votes_of(rows))
    beside = sharing(work)
    for row, with_most in zip(beside.row.tolist(), beside.with_most.tolist(), strict=True):
        item, person, label = rows[row]
        others = [other for i, p, other in rows if i == item and p != person]
        assert with_most == (others.count(label) == max(map(others.count, others)))


@given(tables)
@settings(deadline=None)
def test_agreement_p_is_what_every_assignment_of_answers_gives(rows: list[tuple[int, int, int]]) -> None:
    work = work_of(votes_of(rows))
    for code, one in enumerate(peer_agreement(work)):
        draws, own = [], 0.0
        for item, person, label in rows:
            answers = [other for i, _, other in rows if i == item]
            if person != code or len(answers) < 2:
                continue
            scores = [(answers.count(other) - 1) / (len(answers) - 1) for other in answers]
            draws.append(scores)
            own += (answers.count(label) - 1) / (len(answers) - 1)
        if len(draws) < 3:
            assert np.isnan(one.p)
            continue
        counted = np.mean([sum(pick) <= own + 1e-9 for pick in product(*draws)])
        assert one.p == pytest.approx(counted)


def test_a_second_answer_to_the_same_item_does_not_count() -> None:
    once = votes_of([(0, 0, 1), (0, 1, 1), (0, 2, 0)])
    twice = votes_of([(0, 0, 1), (0, 1, 1), (0, 2, 0), (0, 0, 0), (0, 0, 0)])
    assert repr(peer_agreement(work_of(once))) == repr(peer_agreement(work_of(twice)))


def test_controls_say_how_little_they_say() -> None:
    votes = votes_of([(0, 0, 0), (0, 1, 0), (1, 1, 0), (2, 1, 0), (3, 1, 0), (4, 1, 1), (0, 1, 0)], labels=2)
    work = work_of(votes, correct={0: True, 1: True, 2: True, 3: True, 4: True, 5: False, 6: True})
    single, six = control_accuracy(work, guess=0.5, wanted=0.9)
    assert (single.right, single.answers) == (1, 1)
    assert single.interval is not None
    assert single.interval.low < 0.25  # one correct answer does not rule out guessing
    assert not single.can_tell
    assert (six.right, six.answers, six.distinct) == (5, 6, 5)
    assert six.can_tell
    assert six.guessing_p == pytest.approx(stats.binomtest(5, 6, 0.5, alternative="greater").pvalue)
    assert six.below_p == pytest.approx(stats.binomtest(5, 6, 0.9, alternative="less").pvalue)


def with_pages(seconds: list[list[float]], characters: float = 60.0) -> Work:
    """Annotators who answer one item per page in the given seconds."""
    rows = [(i, person, 0) for person, times in enumerate(seconds) for i in range(len(times))]
    votes = votes_of(rows, labels=2)
    n = len(rows)
    return Work(
        votes,
        np.zeros(n, bool),
        np.zeros(n, bool),
        np.arange(n, dtype=float),
        np.arange(n),
        np.array([t for times in seconds for t in times]),
        np.full(n, characters),
    )


def test_who_answers_in_a_tenth_of_the_time_of_the_others_is_too_fast() -> None:
    rng = np.random.default_rng(1)
    people = [(40 * np.exp(rng.normal(0, 0.3, 20))).tolist() for _ in range(9)]
    hasty = (4 * np.exp(rng.normal(0, 0.3, 20))).tolist()
    speeds = pace(with_pages([*people, hasty]))
    assert [one.too_fast for one in speeds] == [False] * 9 + [True]
    assert speeds[9].times_faster == pytest.approx(10, rel=0.3)
    assert speeds[9].fast_pages > 0.9


def test_short_texts_are_no_haste() -> None:
    rng = np.random.default_rng(2)
    length = np.tile(np.geomspace(20, 2000, 20), 10)
    work = with_pages([(length[:20] / 20 * np.exp(rng.normal(0, 0.2, 20))).tolist() for _ in range(10)])
    work = Work(work.votes, work.control, work.correct, work.order, work.page, work.seconds, length)
    short = np.flatnonzero((work.votes.annotator > 0) | (length < 100))
    kept = Work(
        Votes(
            work.votes.item[short],
            work.votes.annotator[short],
            work.votes.label[short],
            work.votes.items,
            work.votes.annotators,
            2,
        ),
        *(
            getattr(work, name)[short]
            for name in ("control", "correct", "order", "page", "seconds", "characters")
        ),
    )
    assert not pace(kept)[0].too_fast


def test_nobody_reads_a_thousand_characters_a_second_however_fast_the_others_are() -> None:
    assert all(one.too_fast for one in pace(with_pages([[1.0] * 5, [1.1] * 5, [0.9] * 5], characters=1000)))


@pytest.mark.parametrize(("characters", "detected", "unreadable"), [(1000, 0, 3), (60, 0, 0)])
def test_no_test_of_speed_flags_more_people_than_it_detects(
    characters: float, detected: int, unreadable: int
) -> None:
    work = with_pages([[1.0] * 5, [1.1] * 5, [0.9] * 5], characters=characters)
    tests = {test.flag: test for test in people_quality(work, "abc").tests}
    assert (tests["too_fast"].below_level, tests["too_fast"].flagged) == (detected, 0)
    assert (tests["unreadable"].below_level, tests["unreadable"].flagged) == (unreadable, unreadable)
    assert all(test.flagged <= test.below_level <= test.tested for test in tests.values())


def test_without_times_nothing_is_said_about_speed() -> None:
    work = with_pages([[float("nan")] * 3, [float("nan")] * 2])
    assert [one.pages for one in pace(work)] == [0, 0]
    assert not any(one.too_fast for one in pace(work))


def test_three_items_on_a_page_share_its_seconds_once() -> None:
    work = with_pages([[30.0] * 6])
    work = Work(
        work.votes,
        work.control,
        work.correct,
        work.order,
        np.array([0, 0, 0, 1, 1, 1]),
        work.seconds,
        work.characters,
    )
    (one,) = pace(work)
    assert (one.pages, one.seconds, one.characters_per_second) == (2, 30.0, 6.0)


def test_the_same_answer_again_and_again_stands_out_in_a_mixed_pool() -> None:
    rng = np.random.default_rng(3)
    rows = [(i, person, int(rng.integers(4))) for person in range(10) for i in range(40)]
    rows += [(i, 10, 2) for i in range(40)]
    quality = people_quality(work_of(votes_of(rows)), [str(i) for i in range(11)])
    last = repetition(work_of(votes_of(rows)))[10]
    assert (last.label, last.share, last.run) == (2, 1.0, 40)
    assert last.run_p < 1e-6
    assert {"one_answer", "long_run"} <= set(quality.annotators[10].flags)
    assert not any({"one_answer", "long_run"} & set(one.flags) for one in quality.annotators[:10])


def test_who_tires_is_told_from_who_learns() -> None:
    items = 40
    rows = [(i, person, 0) for person in range(4) for i in range(items)]
    rows += [(i, 4, int(i >= 25)) for i in range(items)]
    rows += [(i, 5, int(i < 15)) for i in range(items)]
    quality = people_quality(work_of(votes_of(rows)), list("abcdef"))
    assert "fatigue" in quality.annotators[4].flags
    assert "learning" in quality.annotators[5].flags
    assert quality.annotators[4].drift.early > quality.annotators[4].drift.late


def test_a_pool_that_tires_a_little_shows_only_in_all_people_together() -> None:
    rng = np.random.default_rng(4)
    rows = [(i, person, int(rng.random() < 0.05 + 0.25 * i / 30)) for person in range(40) for i in range(30)]
    _, pooled = drift(work_of(votes_of(rows)))
    assert pooled.z < -3
    assert pooled.p < 0.01


def test_honest_people_are_rarely_flagged_by_chance() -> None:
    flagged = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows = [
            (i, person, int(rng.random() < 0.2) * int(rng.integers(1, 4)))
            for person in range(8)
            for i in range(24)
        ]
        quality = people_quality(work_of(votes_of(rows, labels=4)), [str(i) for i in range(8)])
        flagged += any(set(one.flags) & {"disagrees", "learning", "fatigue"} for one in quality.annotators)
    # Two families at 5 % each: beyond 14 of 60 studies the correction would be broken (chance below 1 in 1000).
    assert flagged <= 14


def test_nobody_answered_anything() -> None:
    empty = Votes(*np.zeros((3, 0), np.int32), 3, 2, 2)
    quality = people_quality(work_of(empty), ["a", "b"])
    assert [one.answers for one in quality.annotators] == [0, 0]
    assert [one.flags for one in quality.annotators] == [(), ()]


def test_thresholds_that_keep_the_same_people_share_one_computation() -> None:
    rows = [(i, p, int(p > 0)) for i in range(2) for p in range(3)]
    encoding = encode(*zip(*rows, strict=True))
    n = len(rows)
    everything = np.ones(n, bool)
    pool = PoolVotes(encoding, everything, everything, everything, np.full(3, np.nan))
    checked = votes_of([(i, p, 0) for p in range(3) for i in range(10)], labels=2)
    right = {row: (row % 10) < [10, 6, 2][row // 10] for row in range(30)}
    controls = control_accuracy(work_of(checked, correct=right), guess=0.5)
    calls = []

    def spy(counted: PoolVotes) -> Consensus:
        calls.append(len(counted.votes))
        return majority(counted.votes, min_votes=1)

    table = sensitivity(pool, controls, {"majority": spy}, lambda _: None)
    assert [row.threshold for row in table] == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert [row.annotators for row in table] == [3, 3, 3, 2, 2, 2, 2, 1, 1, 1]
    assert [row.answers for row in table] == [6, 6, 6, 4, 4, 4, 4, 2, 2, 2]
    assert [row.consensus for row in table] == [2, 2, 2, 0, 0, 0, 0, 2, 2, 2]  # two people who disagree tie
    assert calls == [6, 4, 2]


def test_people_who_could_not_be_tested_do_not_count_into_holms_family() -> None:
    with_gaps = holm_of_tested(np.array([0.02, np.nan, 0.2, np.nan]))
    assert with_gaps[[0, 2]].tolist() == [0.04, 0.2]
    assert np.isnan(with_gaps[[1, 3]]).all()


@given(
    run=st.integers(1, 6),
    n=st.integers(0, 6),
    weights=st.lists(st.integers(0, 5), min_size=1, max_size=3).filter(any),
)
@settings(deadline=None)
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
@settings(deadline=None)
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


def study(pools: Path, pool: str) -> tuple[Responses, StudyWork]:
    responses = platforms.read(sorted((pools / pool).glob("*.tsv")))
    return responses, study_work(responses)


@pytest.mark.parametrize(
    ("pool", "people", "below_half"),
    [("bps", 24, 3), ("lcs", 29, 3), ("rwsd", 155, 5), ("ruworldtree", 191, 41)],
)
def test_the_published_numbers_of_people_are_found(
    pools: Path, pool: str, people: int, below_half: int
) -> None:
    responses, work = study(pools, pool)
    quality = people_quality(work.work, work.annotators)
    assert sum(one.controls.answers > 0 for one in quality.annotators) == people
    assert sum(one.excluded_by is not None for one in quality.annotators) == below_half
    judged = judged_annotators(responses, min_control_accuracy=0.5)
    by_name = {one.annotator: one for one in quality.annotators}
    for row in judged.iter_rows(named=True):
        one = by_name[row["annotator"]]
        assert (one.controls.right, one.controls.answers) == (row["controls_correct"], row["controls"])
        assert (one.excluded_by is not None) == row["excluded"]


def test_seconds_of_a_page_count_once_and_lengths_are_those_of_the_texts(pools: Path) -> None:
    responses, work = study(pools, "bps")
    assert work.work.page is not None
    assert work.work.characters is not None
    assert np.unique(work.work.page).size == 250
    first = responses.items.row(0, named=True)
    (text,) = (first[name] for name in responses.fields)
    place = responses.table["item"].to_list().index(first["item"])
    assert work.work.characters[place] == len(text)


def test_the_turns_of_a_dialogue_stand_in_their_order(pools: Path) -> None:
    _, work = study(pools, "rutie")
    one = work.work.votes.annotator == 0
    assert (np.diff(work.work.votes.item[one][np.argsort(work.work.order[one])]) > 0).all()


def test_answers_without_time_or_page_stand_in_the_order_of_their_rows() -> None:
    table = pl.DataFrame(
        {
            "item": [1, 2, 1],
            "respondent": ["ann", "ann", "bob"],
            "answer": ["x", "y", "x"],
            "is_control": [False] * 3,
        },
        schema_overrides={name: SCHEMA[name] for name in ("item",)},
    )
    table = table.with_columns(
        pl.lit(None, dtype).alias(name) for name, dtype in SCHEMA.items() if name not in table.columns
    ).select(list(SCHEMA))
    items = pl.DataFrame({"item": [1, 2], "question": ["?", None]}, schema_overrides={"item": pl.UInt32})
    work = study_work(Responses(table, items, 3, {})).work
    assert work.order.tolist() == [0, 1, 2]
    assert work.page is not None
    assert np.unique(work.page).size == 3
    assert work.seconds is not None
    assert np.isnan(work.seconds).all()
