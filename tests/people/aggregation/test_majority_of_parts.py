"""Lists of numbers are decided number by number, as counting each part by hand decides them."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merilo.people.aggregation.content import majority_of_parts

SETS = st.sets(st.integers(1, 4), min_size=1).map(lambda one: ",".join(map(str, sorted(one))))
SEQUENCES = st.lists(st.integers(1, 3), min_size=2, max_size=3).map(lambda one: ",".join(map(str, one)))


@pytest.mark.parametrize(
    ("answers", "needed", "ordered", "expected"),
    [
        ({"1,2": 1, "2,3": 1, "1,3": 1}, 2, False, ("1,2,3", 2 / 3)),
        ({"1,2": 2, "2,3": 1, "2,4": 1, "2": 1}, 3, False, ("2", 3 / 5)),
        ({"10,9": 1, "9,10,11": 1, "9,10": 1}, 2, False, ("9,10", 2 / 3)),
        ({"1": 2, "2": 2}, 2, False, None),  # each number is as often in as out
        ({"1": 1, "2": 1, "3": 1}, 2, False, None),  # every number is out
        ({"1,2": 1, "1,3": 1, "не знаю": 1}, 3, False, None),  # two lists are not three equal votes
        ({"5,1,3": 1, "5,2,3": 1, "5,2,4": 1}, 2, True, ("5,2,3", 2 / 3)),
        (
            {"5,1,3": 2, "5,2,3": 1, "5,2": 2},
            3,
            True,
            None,
        ),  # three answers of three numbers, two agree on the second
        ({"1,2": 2, "1,2,3": 2}, 2, True, None),  # no length has a majority
        ({"слово": 3}, 2, True, None),
        ({}, 2, False, None),
    ],
)
def test_each_number_needs_a_majority(
    answers: dict[str, int], needed: int, ordered: bool, expected: tuple[str, float] | None
) -> None:
    found = majority_of_parts(answers, needed, ordered=ordered)
    assert found == (expected and (expected[0], pytest.approx(expected[1])))


@given(st.lists(SETS, min_size=1, max_size=7))
def test_a_set_holds_the_numbers_that_more_than_half_chose(votes: list[str]) -> None:
    needed = len(votes) // 2 + 1
    chosen = [one for one in "1234" if sum(one in vote.split(",") for vote in votes) >= needed]
    equal = [one for one in "1234" if 2 * sum(one in vote.split(",") for vote in votes) == len(votes)]
    found = majority_of_parts(Counter(votes), needed, ordered=False)
    assert (found and found[0]) == (None if equal or not chosen else ",".join(chosen))


@given(st.lists(st.one_of(SETS, SEQUENCES), min_size=1, max_size=7), st.booleans())
def test_a_whole_answer_with_a_majority_wins_in_parts_too(votes: list[str], ordered: bool) -> None:
    if not ordered:
        votes = [",".join(sorted(set(vote.split(",")))) for vote in votes]
    needed = len(votes) // 2 + 1
    answer, n = Counter(votes).most_common(1)[0]
    found = majority_of_parts(Counter(votes), needed, ordered=ordered)
    if n >= needed:
        assert found is not None
        assert found[0] == answer
        assert found[1] >= n / len(votes)
