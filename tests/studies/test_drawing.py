import csv
import io
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from every import every
from hypothesis import given
from hypothesis import strategies as st

from merilo.datasets import dataset
from merilo.errors import DataError, UsageError
from merilo.items import Item, Split
from merilo.studies.drawing import (
    choose_subset,
    draw_balanced,
    draw_evenly,
    post_stratify,
    shares_csv,
    weights_csv,
)
from merilo.studies.item_fields import KeptField, fields_of
from merilo.studies.study_folder import StudyFolder


def field(name: str, values: list[str]) -> KeptField:
    known = sorted(set(values))
    return KeptField(name, tuple(known), tuple(known.index(value) for value in values))


def large_dataset(n: int = 10_000, seed: int = 3) -> list[Item]:
    """Items with 57 domains of very different sizes, a level that depends on the domain, a rare type and a number."""
    chance = random.Random(seed)
    items = []
    for number in range(1, n + 1):
        domain = min(int(chance.expovariate(0.08)), 56)
        items.append(
            Item(
                number,
                "{text} {option_a} {option_b} {option_c} {option_d} {subject}",
                {"text": "x" * chance.randint(10, 400), "subject": str(domain), **dict.fromkeys(("option_a", "option_b", "option_c", "option_d"), "y")},
                chance.choice("ABCD"),
                {
                    "domain": f"d{domain:02}",
                    "level": chance.choice("123" if domain < 10 else "12333"),
                    "categories": {"type": chance.choice(["plain"] * 500 + ["rare"])},
                    "year": chance.randint(1900, 2020),
                },
            )
        )  # fmt: skip
    return items


@pytest.fixture(scope="module")
def drawn() -> object:
    items = large_dataset()
    return choose_subset(Split("test", tuple(items)), dataset("rummlu"), seed=5)


def test_a_thousand_of_ten_thousand_items_keep_every_field_within_one_percentage_point(drawn) -> None:
    assert len(drawn.items) == 1000
    names = {share.field for share in drawn.shares}
    assert names == {"domain", "answer", "level", "categories.type", "year", "length"}
    assert max(abs(share.deviation) for share in drawn.shares) < 1.0
    # In a random draw, the largest of these deviations would be about 2 points.
    assert abs(drawn.largest_deviation.deviation) < 0.3


def test_two_fields_together_are_kept_too(drawn) -> None:
    before = Counter((item.meta["domain"], item.meta["level"]) for item in large_dataset())
    after = Counter((item.meta["domain"], item.meta["level"]) for item in drawn.items)
    assert max(abs(after[pair] / 1000 - before[pair] / 10_000) for pair in before) < 0.01


def test_rare_values_keep_at_least_one_item(drawn) -> None:
    assert all(share.chosen >= 1 for share in drawn.shares)
    rare = next(share for share in drawn.shares if share.value == "rare")
    assert 0 < rare.items < 40


@every("seed", range(12))
def test_every_value_of_every_field_is_drawn_where_the_sample_has_room(seed: int) -> None:
    chance = random.Random(seed)
    fields = [
        field(name, [str(min(int(chance.expovariate(rate)), 30)) for _ in range(1500)])
        for name, rate in (("one", 0.2), ("two", 0.3), ("three", 0.9))
    ]
    places = draw_balanced(fields, 100, seed=seed)
    assert len(set(places)) == 100
    assert all(min(one.counts(places)) >= 1 for one in fields)


def test_weights_add_up_to_the_dataset_and_restore_the_strata(drawn) -> None:
    assert sum(weight.weight for weight in drawn.weights) == pytest.approx(10_000)
    domains = Counter()
    for item, weight in zip(drawn.items, drawn.weights, strict=True):
        domains[item.meta["domain"]] += weight.weight
    whole = Counter(item.meta["domain"] for item in large_dataset())
    assert max(abs(domains[name] - whole[name]) for name in whole) < 100


@every("size", [1, 2, 9, 50, 99, 100])
def test_any_size_is_drawn_without_repetition(size: int) -> None:
    chance = random.Random(size)
    fields = [field(name, [chance.choice("abc") for _ in range(100)]) for name in ("one", "two", "three")]
    places = draw_balanced(fields, size, seed=0)
    assert len(places) == size
    assert all(one < other for one, other in pairwise(places))


def test_every_item_of_a_cell_has_the_same_chance() -> None:
    fields = [field("domain", ["a"] * 5 + ["b"] * 5)]
    times = Counter(place for seed in range(600) for place in draw_balanced(fields, 4, seed=seed))
    # 600 draws of 4 of 10: 240 times each, standard deviation 12.
    assert all(abs(times[place] - 240) < 60 for place in range(10))


def test_a_sample_can_follow_another_distribution_than_that_of_its_pool() -> None:
    pool = [field("answer", ["A"] * 90 + ["B"] * 90)]
    places = draw_balanced(pool, 20, seed=0, like=[[0.8, 0.2]])
    assert pool[0].counts(places) == [16, 4]


def test_strata_without_a_drawn_item_join_the_most_similar_one() -> None:
    domain = field("domain", ["a"] * 50 + ["b"] * 50)
    rare = field("type", (["x"] * 49 + ["z"]) + ["x"] * 25 + ["y"] * 25)
    places = [*range(40), *range(50, 95)]
    weights = post_stratify([domain, rare], places, n=100)
    assert sum(weight.weight for weight in weights) == pytest.approx(100)
    assert weights[0] == ("domain=a, type=x", 50 / 40), "with the item of type z"


def test_numbers_are_divided_at_quantiles_and_absent_values_are_a_category() -> None:
    items = [
        Item(number, "{inputs}", "text", "1", {"id": number, "year": None if number % 10 == 0 else number})
        for number in range(1, 101)
    ]
    kept, dropped = fields_of(items, dataset("bps"), size=50)
    (year,) = [one for one in kept if one.name == "year"]
    assert year.values[-1] == "—"
    assert year.counts()[-1] == 10
    assert max(year.counts()[:-1]) - min(year.counts()[:-1]) <= 2
    assert dropped.keys() == {"answer", "length"}


def test_a_field_with_too_many_values_is_named_and_not_kept() -> None:
    items = [
        Item(number, "{inputs}", "a", "1", {"id": number, "author": f"n{number}"}) for number in range(100)
    ]
    kept, dropped = fields_of(items, dataset("bps"), size=50)
    assert not kept
    assert dropped["author"] == "has 100 different values, too many for a sample"


def test_an_unknown_field_names_the_nearest_one() -> None:
    items = [Item(1, "{inputs}", "a", "1", {"id": 1, "domain": "x"})]
    with pytest.raises(UsageError, match=r"no item has the field 'domian'; did you mean 'domain'\?"):
        fields_of(items, dataset("bps"), size=1, wanted=["domian"])


def test_small_datasets_are_asked_whole_and_exams_are_never_cut() -> None:
    items = tuple(large_dataset(300))
    chosen = choose_subset(Split("test", items), dataset("rummlu"))
    assert chosen.section.method == "all"
    assert [item.id for item in chosen.items] == [item.id for item in items]
    assert {weight.weight for weight in chosen.weights} == {1.0}
    with pytest.raises(UsageError, match="complete variants of the exam"):
        choose_subset(Split("test", items), dataset("use"), size=100)


def test_the_guides_draw_for_experts_takes_as_many_items_of_each_domain() -> None:
    items = tuple(large_dataset(600))
    chosen = choose_subset(Split("test", items), dataset("rummlu"), per_domain=2)
    counts = Counter(item.meta["domain"] for item in chosen.items)
    assert set(counts.values()) <= {1, 2}
    assert chosen.section.method == "even"
    assert set(chosen.short) == {name for name, count in counts.items() if count == 1}
    assert sum(weight.weight for weight in chosen.weights) == pytest.approx(600)


def test_the_table_shows_each_value_before_and_after(drawn) -> None:
    rows = shares_csv(drawn.shares).splitlines()
    assert rows[0] == "field,value,items,share,drawn,drawn_share,deviation_points"
    assert len(rows) == 1 + len(drawn.shares)


def test_text_of_the_dataset_stays_text_in_the_files(tmp_path: Path) -> None:
    """Values with markup, line breaks and formulas do not break the tables."""
    odd = ("=cmd()", "<script>x</script>", "two\nlines", "bell \x07", "a,b")
    items = tuple(
        Item(
            f"={number}",
            "{inputs}",
            "a" * (1 + number % 7),
            "01"[number % 2],
            {"id": f"={number}", "kind": odd[number % 5]},
        )
        for number in range(200)
    )
    chosen = choose_subset(Split("test", items), dataset("bps"), size=50)
    rows = list(csv.DictReader(io.StringIO(shares_csv(chosen.shares))))
    assert {row["value"] for row in rows if row["field"] == "kind"} == {"'=cmd()", *odd[1:]}
    (tmp_path / "weights.csv").write_text(weights_csv(chosen.items, chosen.weights), encoding="utf-8")
    weights = StudyFolder(tmp_path, None).weights()
    assert set(weights) == {item.id for item in chosen.items}
    assert sum(weights.values()) == pytest.approx(200)


# Questions for experts: as many of each domain, evenly over subdomains and difficulty.


def of_cells(cells: dict[tuple[str, str, int], int]) -> list[Item]:
    """Items by (domain, subdomain, difficulty) -> how many."""
    return [
        Item(f"{domain}-{sub}-{hard}-{n}", "", "?", "", {"domain": domain, "sub": sub, "hard": hard})
        for (domain, sub, hard), count in cells.items()
        for n in range(count)
    ]


def taken(items: list[Item], places: list[int]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(map(str, items[place].meta.values())) for place in places)


def test_a_sample_is_even_over_subdomains_and_within_them_over_difficulty() -> None:
    items = of_cells({("law", sub, hard): 40 for sub in "abc" for hard in (1, 2)} | {("art", "a", 1): 7})
    places, short = draw_evenly(items, 30, ["domain", "sub", "hard"], seed=3)
    assert taken(items, places) == {("art", "a", "1"): 7} | {
        ("law", sub, str(hard)): 5 for sub in "abc" for hard in (1, 2)
    }
    assert short == {"art": 7}


def test_a_small_subdomain_gives_all_it_has_and_the_others_the_rest() -> None:
    items = of_cells({("law", "a", 1): 2, ("law", "b", 1): 50, ("law", "c", 1): 50})
    places, _ = draw_evenly(items, 20, ["domain", "sub"], seed=0)
    assert sorted(taken(items, places).values()) == [2, 9, 9]


@given(st.integers(0, 200), st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers())
def test_even_shares_are_as_even_as_capacities_allow(n: int, capacities: list[int], seed: int) -> None:
    items = of_cells({("law", str(at), 1): count for at, count in enumerate(capacities)})
    places, _ = draw_evenly(items, n, ["domain", "sub"], seed=seed)
    drawn = Counter(items[place].meta["sub"] for place in places)
    shares = [drawn[str(at)] for at in range(len(capacities))]
    assert sum(shares) == min(n, sum(capacities))
    rest = [share for share, capacity in zip(shares, capacities, strict=True) if share < capacity]
    assert not rest or max(shares) - min(rest) <= 1


@given(st.integers(), st.integers(1, 40))
def test_the_same_seed_draws_the_same_questions(seed: int, n: int) -> None:
    items = of_cells({("law", sub, hard): 5 for sub in "ab" for hard in (1, 2, 3)})
    one, two = (draw_evenly(items, n, ["domain", "sub", "hard"], seed=seed) for _ in range(2))
    assert one == two
    assert len(set(one[0])) == min(n, 30)


def test_a_field_that_no_item_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="domain, hard, sub"):
        draw_evenly(of_cells({("law", "a", 1): 2}), 1, ["subject"], seed=0)
    broken = [*of_cells({("law", "a", 1): 2}), Item("x", "", "?", "", {"domain": "law"})]
    with pytest.raises(DataError, match="1 items have no 'sub'"):
        draw_evenly(broken, 1, ["domain", "sub"], seed=0)
