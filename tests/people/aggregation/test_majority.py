"""Majority, plurality and skill; ties of free answers."""

import collections
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from merilo.errors import UsageError
from merilo.metrics.squad import token_f1
from merilo.people.aggregation import Resolution
from merilo.people.aggregation.content import break_ties_by_medoid
from merilo.people.aggregation.majority import majority, plurality, resolve_by_skill
from merilo.people.votes import Votes


def votes_of(*answers: list[int], labels: int = 5) -> Votes:
    """Votes from one list of labels per item; annotator k gives the k-th label; -1 means no answer."""
    rows = [(i, a, label) for i, given in enumerate(answers) for a, label in enumerate(given) if label >= 0]
    item, annotator, label = np.array(rows, dtype=np.int32).reshape(-1, 3).T
    return Votes(item, annotator, label, len(answers), max(map(len, answers)), labels)


ITEMS = st.lists(
    st.lists(st.integers(-1, 3), min_size=6, max_size=6),
    min_size=1,
    max_size=8,
)


@given(answers=ITEMS, enough=st.integers(1, 4))
def test_the_majority_is_what_counting_by_hand_gives(answers: list[list[int]], enough: int) -> None:
    consensus = majority(votes_of(*answers), enough)
    for given_labels, label, how, confidence in zip(
        answers, consensus.label, consensus.how, consensus.confidence, strict=True
    ):
        count = collections.Counter(x for x in given_labels if x >= 0).most_common()
        if not count or count[0][1] < enough or (len(count) > 1 and count[0][1] == count[1][1]):
            assert (label, how) == (-1, Resolution.UNRESOLVED)
            assert np.isnan(confidence)
        else:
            assert label == count[0][0]
            assert how == (Resolution.UNANIMOUS if len(count) == 1 else Resolution.MAJORITY)
            assert confidence == count[0][1] / sum(votes for _, votes in count)


def test_only_the_first_two_labels_are_compared() -> None:
    # Three labels with one vote each: 90, 90 and 80. The first two are equal, so skill decides nothing.
    consensus = resolve_by_skill(votes_of([0, 1, 2]), [90, 90, 80])
    assert (consensus.how == Resolution.UNRESOLVED).sum() == 1


def test_the_three_most_skilled_decide_where_the_sums_are_equal() -> None:
    consensus = resolve_by_skill(votes_of([0, 0, 1, 1]), [100, 50, 80, 70])
    assert (consensus.label[0], consensus.how[0]) == (1, Resolution.TOP_SKILL)
    assert consensus.confidence[0] == 0.5


def test_the_order_of_the_rows_does_not_choose_the_three_most_skilled() -> None:
    votes = votes_of([0, 1, 0, 1, 2, 3])
    backwards = Votes(votes.item[::-1], votes.annotator[::-1], votes.label[::-1], 1, 6, 5)
    for direction in (votes, backwards):
        assert resolve_by_skill(direction, [70] * 6).how[0] == Resolution.UNRESOLVED


def test_of_people_equally_skilled_the_more_able_belong_to_the_three() -> None:
    consensus = resolve_by_skill(votes_of([0, 1, 0, 1]), [70] * 4, ability=np.array([0.1, 0.9, 0.5, 0.7]))
    assert (consensus.label[0], consensus.how[0]) == (1, Resolution.TOP_SKILL)


def test_an_unknown_skill_counts_as_the_mean_of_the_known_ones() -> None:
    votes = votes_of([0, 1])
    assert resolve_by_skill(votes, [np.nan, 80]).label[0] == -1
    three = votes_of([0, 1, -1])
    assert resolve_by_skill(three, [np.nan, 80, 100]).label[0] == 0
    assert resolve_by_skill(votes, [np.nan, np.nan]).label[0] == -1


def test_fractions_that_add_up_to_the_same_are_equal_in_any_order() -> None:
    skill = [0.1, 0.2, 0.3, 0.3, 0.2, 0.1]
    assert resolve_by_skill(votes_of([0, 0, 0, 1, 1, 1]), skill).how[0] == Resolution.UNRESOLVED


def test_fewer_votes_than_a_majority_are_a_plurality() -> None:
    votes = votes_of([0, 0, 1, 2, 3], [0, 0, 0, 1, 2])
    assert [Resolution(how) for how in plurality(votes).how] == [Resolution.PLURALITY, Resolution.MAJORITY]
    assert majority(votes).label.tolist() == [-1, 0]


def test_no_votes_at_all_leave_every_item_unresolved() -> None:
    empty = np.zeros(0, dtype=np.int32)
    for consensus in (
        majority(Votes(empty, empty, empty, 2, 0, 0)),
        resolve_by_skill(Votes(empty, empty, empty, 2, 1, 0), [1]),
    ):
        assert consensus.label.tolist() == [-1, -1]
        assert (consensus.how == Resolution.UNRESOLVED).sum() == 2


def test_wrong_parameters_are_refused() -> None:
    votes = votes_of([0, 1])
    with pytest.raises(UsageError, match="at least 1 vote"):
        majority(votes, 0)
    with pytest.raises(UsageError, match="each of the 2 annotators"):
        resolve_by_skill(votes, [1, 2, 3])
    with pytest.raises(UsageError, match="each of the 2 annotators"):
        resolve_by_skill(votes, [1, np.inf])


WORDS = ["лев", "толстой", "граф", "антон", "чехов"]
TEXTS = sorted({" ".join(pair).strip() for a in WORDS for b in ["", *WORDS] for pair in [(a, b)]})


@given(st.lists(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=5), min_size=1, max_size=6))
def test_the_medoid_is_found_by_trying_every_tied_answer(items: list[list[str]]) -> None:
    rows = [(i, j, TEXTS.index(text)) for i, given in enumerate(items) for j, text in enumerate(given)]
    votes = Votes(*np.array(rows, dtype=np.int32).T, len(items), 5, len(TEXTS))
    before = plurality(votes)
    found = break_ties_by_medoid(before, votes, TEXTS)
    for item, answers in enumerate(items):
        counts = Counter(answers)
        tied = [text for text, n in counts.items() if n == max(counts.values())]
        if len(tied) == 1:
            assert (found.label[item], found.how[item]) == (before.label[item], before.how[item])
            continue
        sums = {text: sum(token_f1(text, other) for other in answers) for text in tied}
        best = [text for text in tied if sums[text] > max(sums.values()) - 1e-9]
        if len(best) == 1:
            assert TEXTS[found.label[item]] == best[0]
            assert found.how[item] == Resolution.MEDOID
        else:
            assert found.how[item] == Resolution.UNRESOLVED
