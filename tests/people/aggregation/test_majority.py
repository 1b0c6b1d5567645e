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


@pytest.mark.parametrize(
    ("answers", "skill", "label"),
    [
        ([0, 1, -1], [np.nan, 80, 100], 0),  # an unknown skill is the mean of the known ones
        ([0, 1], [np.nan, 80], -1),
        ([0, 1], [np.nan, np.nan], -1),
        ([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.3, 0.2, 0.1], -1),  # sums of fractions are equal in any order
        ([3, 2, 1, 0, 1, 0], [70] * 6, -1),  # the order of rows does not choose the three most skilled
    ],
)
def test_unknown_and_equal_skills_resolve_no_tie_by_chance(
    answers: list[int], skill: list[float], label: int
) -> None:
    assert resolve_by_skill(votes_of(answers), skill).label.tolist() == [label]


def test_fewer_votes_than_a_majority_are_a_plurality() -> None:
    votes = votes_of([0, 0, 1, 2, 3], [0, 0, 0, 1, 2])
    assert [Resolution(how) for how in plurality(votes).how] == [Resolution.PLURALITY, Resolution.MAJORITY]
    assert majority(votes).label.tolist() == [-1, 0]


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
