"""Questions for experts: as many of each domain, evenly over subdomains and difficulty."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merilo.errors import DataError, UsageError
from merilo.items import Item
from merilo.studies.question_sampling import draw_evenly, even_shares


@given(st.integers(0, 200), st.lists(st.integers(0, 30), max_size=8), st.integers())
def test_even_shares_are_as_even_as_capacities_allow(n: int, capacities: list[int], seed: int) -> None:
    shares = even_shares(n, capacities, Random(seed))
    assert sum(shares) == min(n, sum(capacities))
    assert all(0 <= share <= capacity for share, capacity in zip(shares, capacities, strict=True))
    not_full = [share for share, capacity in zip(shares, capacities, strict=True) if share < capacity]
    if not_full:
        assert max(shares) - min(not_full) <= 1


def dataset(cells: dict[tuple[str, str, int], int]) -> list[Item]:
    """Items by (domain, subdomain, difficulty) -> how many."""
    return [
        Item(f"{domain}-{sub}-{hard}-{n}", "", "?", "", {"domain": domain, "sub": sub, "hard": hard})
        for (domain, sub, hard), count in cells.items()
        for n in range(count)
    ]


def taken(items: list[Item], places: list[int]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(map(str, items[place].meta.values())) for place in places)


def test_a_sample_is_even_over_subdomains_and_within_them_over_difficulty() -> None:
    items = dataset({("law", sub, hard): 40 for sub in "abc" for hard in (1, 2)} | {("art", "a", 1): 7})
    places, short = draw_evenly(items, 30, ["domain", "sub", "hard"], seed=3)
    assert taken(items, places) == {("art", "a", "1"): 7} | {
        ("law", sub, str(hard)): 5 for sub in "abc" for hard in (1, 2)
    }
    assert short == {"art": 7}


def test_a_small_subdomain_gives_all_it_has_and_the_others_the_rest() -> None:
    items = dataset({("law", "a", 1): 2, ("law", "b", 1): 50, ("law", "c", 1): 50})
    places, _ = draw_evenly(items, 20, ["domain", "sub"], seed=0)
    assert sorted(taken(items, places).values()) == [2, 9, 9]


@given(st.integers(), st.integers(1, 40))
def test_the_same_seed_draws_the_same_questions(seed: int, n: int) -> None:
    items = dataset({("law", sub, hard): 5 for sub in "ab" for hard in (1, 2, 3)})
    one, two = (draw_evenly(items, n, ["domain", "sub", "hard"], seed=seed) for _ in range(2))
    assert one == two
    assert len(set(one[0])) == min(n, 30)


def test_a_field_that_no_item_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="domain, hard, sub"):
        draw_evenly(dataset({("law", "a", 1): 2}), 1, ["subject"], seed=0)
    broken = [*dataset({("law", "a", 1): 2}), Item("x", "", "?", "", {"domain": "law"})]
    with pytest.raises(DataError, match="1 items have no 'sub'"):
        draw_evenly(broken, 1, ["domain", "sub"], seed=0)
