"""Experts: sampling of questions, and the out-of-bag protocol."""

from random import Random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from merilo.errors import DataError, UsageError
from merilo.items import Item
from merilo.people.out_of_bag import OutOfBag, OutOfBagDesign, out_of_bag
from merilo.people.question_sampling import even_shares, plan, sample_questions
from merilo.people.spelling import NOT_SHOWN, may_be_mine
from merilo.responses import SCHEMA, Responses


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


def test_a_sample_is_even_over_subdomains_and_within_them_over_difficulty() -> None:
    items = dataset({("law", sub, hard): 40 for sub in "abc" for hard in (1, 2)} | {("art", "a", 1): 7})
    sample = sample_questions(items, 30, domain="domain", fields=("sub", "hard"), seed=3)
    taken = {stratum.values: stratum.taken for stratum in sample.strata}
    assert taken == {("art", "a", "1"): 7} | {("law", sub, str(hard)): 5 for sub in "abc" for hard in (1, 2)}
    assert sample.short == {"art": 7}
    assert len({item.id for item in sample.items}) == 37


def test_a_small_subdomain_gives_all_it_has_and_the_others_the_rest() -> None:
    items = dataset({("law", "a", 1): 2, ("law", "b", 1): 50, ("law", "c", 1): 50})
    sample = sample_questions(items, 20, domain="domain", fields=("sub",), seed=0)
    assert [stratum.taken for stratum in sample.strata] == [2, 9, 9]


@given(st.integers(), st.integers(1, 40))
def test_the_same_seed_draws_the_same_questions(seed: int, n: int) -> None:
    items = dataset({("law", sub, hard): 5 for sub in "ab" for hard in (1, 2, 3)})
    one, two = (
        sample_questions(items, n, domain="domain", fields=("sub", "hard"), seed=seed) for _ in range(2)
    )
    assert one == two
    assert len(one.items) == min(n, 30)


def test_a_field_that_no_item_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="domain, hard, sub"):
        sample_questions(dataset({("law", "a", 1): 2}), 1, domain="subject", seed=0)
    broken = [*dataset({("law", "a", 1): 2}), Item("x", "", "?", "", {"domain": "law"})]
    with pytest.raises(DataError, match="1 items have no 'sub'"):
        sample_questions(broken, 1, domain="domain", fields=("sub",), seed=0)


def experts(rows: list[tuple[int, str, str, float | None]], page: str | None = None) -> Responses:
    """Responses from (item, expert, answer, seconds)."""
    table = pl.DataFrame(
        [
            {
                "item": i,
                "respondent": who,
                "answer": answer,
                "is_control": False,
                "page_seconds": seconds,
                "page": page,
                "file": "answers.csv",
                "row": number,
            }
            for number, (i, who, answer, seconds) in enumerate(rows, start=2)
        ],
        schema_overrides={"item": pl.UInt32, "page_seconds": pl.Float64, "page": pl.String, "row": pl.UInt32},
    )
    table = table.with_columns(
        pl.lit(None, dtype).alias(name) for name, dtype in SCHEMA.items() if name not in table.columns
    ).select(list(SCHEMA))
    items = pl.DataFrame({"item": sorted({row[0] for row in rows})}, schema_overrides={"item": pl.UInt32})
    return Responses(table, items, len(rows), {})


def decided(rows: list[tuple[int, str, str, float | None]], **design: object) -> OutOfBag:
    return out_of_bag(experts(rows), OutOfBagDesign(mine=("mine",), **design))  # type: ignore[arg-type]


FIVE = ["ann", "bob", "cat", "dan", "eve"]


def test_an_item_keeps_n_less_k_answers_and_their_majority_decides() -> None:
    rows = [(1, who, "mine" if who in {"ann", "bob"} else "A", None) for who in FIVE]
    result = decided(rows)
    (item,) = result.items
    assert (item.experts, item.marks, item.left, item.label, item.outcome) == (5, 2, 3, "A", "majority")
    assert result.mine == {"mine": 2}


def test_the_authors_own_answer_never_counts() -> None:
    rows = [(1, who, answer, None) for who, answer in zip(FIVE, ["A", "A", "B", "B", "B"], strict=True)]
    design = OutOfBagDesign()
    marks = {("cat", 1), ("dan", 1)}
    (item,) = out_of_bag(experts(rows), design, marks=marks).items
    assert (item.label, item.answers) == ("A", {"A": 2, "B": 1})


@pytest.mark.parametrize(
    "option",
    [
        "пропустить вопрос, так как он, возможно, был придуман мной",
        "«Пропустить вопрос, так как он возможно был придуман мной».",
        "Возможно, придуман мной",
        "Skip: this may be mine",
        "skip, may be mine",
        "Skip this question, as it may have been written by me",
    ],
)
def test_the_guides_wording_is_a_mark_and_no_vote(option: str) -> None:
    rows = [(1, who, option if who in {"ann", "bob"} else "A", None) for who in FIVE]
    result = out_of_bag(experts(rows), OutOfBagDesign())
    assert (result.items[0].marks, result.items[0].answers) == (2, {"A": 3})
    assert result.mine == {option: 2}


@pytest.mark.parametrize(
    "answer", ["skip", "пропустить", "мой дядя", "maybe", "A", "написан", "возможно", ""]
)
def test_other_answers_are_no_marks(answer: str) -> None:
    assert not may_be_mine(answer)


@pytest.mark.parametrize("mine", ["Ещё не решён", "«еще не решен»", "ЕЩЁ  НЕ РЕШЁН."])
def test_case_yo_quotes_and_punctuation_of_a_mark_do_not_matter(mine: str) -> None:
    assert OutOfBagDesign(mine=("ещё не решён",)).marks(mine)
    assert not OutOfBagDesign(mine=("ещё не решён",)).marks("решён")


def test_an_item_with_too_few_answers_for_the_rule_is_named_and_decided_by_those_it_has() -> None:
    rows = [(1, who, "mine" if who < "d" else "A", None) for who in FIVE]
    rows += [(2, who, "A", None) for who in FIVE]
    result = decided(rows)
    assert result.named("too_few") == [1]
    assert [(one.label, one.fallback) for one in result.items] == [("A", "votes"), ("A", None)]


def test_late_answers_break_a_tie_before_skill_does() -> None:
    rows = [(1, who, answer, 10.0) for who, answer in zip(FIVE[:4], ["A", "A", "B", "B"], strict=True)]
    (item,) = decided([*rows, (1, "eve", "B", 61.0)], seconds=60).items
    assert (item.outcome, item.label, item.fallback, item.left) == ("no_majority", "B", "late", 4)
    assert item.deciding["eve"] == "B"
    (item,) = decided([(1, who, "C", 61.0) for who in FIVE], seconds=60).items
    assert (item.outcome, item.label, item.fallback) == ("too_few", "C", "late")


def test_the_more_accurate_experts_decide_a_tie() -> None:
    # Ann and Bob agree with the majority on items 2 to 6; Cat and Dan contradict it on two of them.
    tie = [(1, who, answer, None) for who, answer in zip(FIVE[:4], ["A", "A", "B", "B"], strict=True)]
    rest = [
        (n, who, "X" if n > 4 and who in {"cat", "dan"} else "A", None) for n in range(2, 7) for who in FIVE
    ]
    result = decided([*tie, (1, "eve", "mine", None), *rest])
    assert (result.items[0].outcome, result.items[0].label, result.items[0].fallback) == (
        "no_majority", "A", "skill",
    )  # fmt: skip
    assert result.skill == {"ann": 1.0, "bob": 1.0, "cat": 0.6, "dan": 0.6, "eve": 1.0}


def test_an_item_that_nothing_decides_has_no_label_and_stays_in_the_result() -> None:
    tie = [(1, who, answer, None) for who, answer in zip(FIVE[:4], ["A", "A", "B", "B"], strict=True)]
    nobody = [(2, who, "mine", None) for who in FIVE]
    result = decided([*tie, *nobody])
    assert [(one.label, one.fallback, one.by_rule) for one in result.items] == [(None, None, False)] * 2
    assert result.items[1].deciding == dict.fromkeys(FIVE, "")


def test_an_author_to_whom_an_item_was_not_shown_is_one_of_k_and_not_missing() -> None:
    rows = [(1, who, NOT_SHOWN if who == "ann" else "A", None) for who in FIVE]
    rows += [(2, who, "A", None) for who in FIVE[:4]]
    result = decided(rows)
    first, second = result.items
    assert (first.marks, first.not_shown, first.missing, first.left) == (1, 1, 0, 4)
    assert (second.marks, second.missing) == (0, 1)
    assert (result.people, result.unanswered) == (5, {"eve": 1})


def test_an_expert_is_expected_to_answer_only_the_items_of_their_domains() -> None:
    rows = [(n, who, "A", None) for n in (1, 2) for who in FIVE[:3]]
    rows += [(n, who, "A", None) for n in (3, 4) for who in FIVE[2:] if (n, who) != (4, "eve")]
    result = out_of_bag(experts(rows), OutOfBagDesign(), domains={1: "law", 2: "law", 3: "art", 4: "art"})
    assert result.experts == {"art": ("cat", "dan", "eve"), "law": ("ann", "bob", "cat")}
    assert (result.people, result.unanswered) == (5, {"eve": 1})


def test_half_is_no_majority_and_most_votes_may_be_asked_for() -> None:
    rows = [(1, who, answer, None) for who, answer in zip(FIVE, ["A", "A", "B", "C", "D"], strict=True)]
    assert decided(rows).named("no_majority") == [1]
    (item,) = decided(rows, decision="plurality").items
    assert (item.label, item.outcome) == ("A", "plurality")
    tie = [(1, who, answer, None) for who, answer in zip(FIVE[:4], ["A", "A", "B", "B"], strict=True)]
    assert decided(tie, decision="plurality").named("no_majority") == [1]


@pytest.mark.parametrize(
    ("late", "left", "label", "outcome"),
    [("drop", 2, "A", "too_few"), ("keep", 5, "A", "majority"), ("wrong", 5, None, "late")],
)
def test_late_answers_are_handled_as_the_design_said(
    late: str, left: int, label: str | None, outcome: str
) -> None:
    rows = [(1, who, "A", 61.0 if who > "b" and who != "bob" else 60.0) for who in FIVE]
    (item,) = decided(rows, seconds=60, late=late).items
    assert (item.late, item.left, item.label, item.outcome) == (3, left, label, outcome)


def test_answers_of_one_page_share_its_time() -> None:
    rows = [(i, "ann", "A", 90.0) for i in (1, 2)]
    design = OutOfBagDesign(seconds=60, min_answers=1)
    assert [one.late for one in out_of_bag(experts(rows, page="p"), design).items] == [0, 0]
    assert [one.late for one in out_of_bag(experts(rows), design).items] == [1, 1]


def test_a_time_limit_without_times_is_refused() -> None:
    with pytest.raises(DataError, match="no response has a time"):
        decided([(1, "ann", "A", None)], seconds=60)


def test_only_the_people_of_a_domain_count_into_its_n() -> None:
    rows = [(1, who, "A", None) for who in FIVE[:3]] + [(2, who, "B", None) for who in FIVE[2:]]
    result = out_of_bag(experts(rows), OutOfBagDesign(), domains={1: "law", 2: "art"})
    assert {one.domain: (one.experts, one.missing) for one in result.items} == {"law": (3, 0), "art": (3, 0)}
    with pytest.raises(DataError, match="1 item has no domain"):
        out_of_bag(experts(rows), OutOfBagDesign(), domains={1: "law"})


def test_the_guides_figures_of_time() -> None:
    made = plan(100, 5, usd_an_hour=10)
    assert (made.answered, made.answers_an_item) == (80, 4)
    # The guide: 30 questions an hour, 3 to 4 hours for the full hundred.
    assert made.hours == pytest.approx(100 / 30)
    assert made.hours_without_own == pytest.approx(80 / 30)
    assert made.usd == pytest.approx(10 * 5 * 100 / 30)
    assert plan(100, 5, own=0).hours_without_own == made.hours
    with pytest.raises(UsageError):
        plan(100, 5, own=101)
