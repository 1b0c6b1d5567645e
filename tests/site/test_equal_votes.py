"""The site and the baseline agree on which answers are equal votes."""

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from merilo.baselines.consensus_scorer import declared, settings_for
from merilo.baselines.steps import clean
from merilo.datasets import dataset
from merilo.items import Item
from merilo.people.reading import read_responses
from merilo.settings import Settings
from merilo.site.served_study import vote_keys
from merilo.studies.instruction import SKIP_OWN

NUMBERS = ["7", "007", "7.0", " 7", "+7", "8", "1 000", "1000", "-7", "1,5", "1.5"]
TEXTS = ["House", "the house", "house.", "House  ", "home", "a home", "Дом", "дом", "дом!", "ёж", "еж"]


def equal_in_a_baseline(name: str, answers: list[str], rules: tuple[str, ...]) -> list[tuple[int, int]]:
    """The pairs of answers that one spelling stands for after the baseline's cleaning."""
    declaration = dataset(name)
    frame = pl.DataFrame(
        {"task": ["1"] * len(answers), "worker": [f"w{n}" for n in range(len(answers))], "label": answers}
    )
    responses = read_responses(frame, dataset=declaration)
    chosen = settings_for(declaration, Settings(normalise=rules))
    table = clean(responses, None, declared(declaration, chosen), chosen).responses.table
    kept = dict(table.select("respondent", "answer").iter_rows())
    return [(a, b) for a in range(len(answers)) for b in range(a) if kept[f"w{a}"] == kept[f"w{b}"]]


def equal_on_the_site(name: str, answers: list[str], rules: tuple[str, ...]) -> list[tuple[int, int]]:
    key = vote_keys(dataset(name), rules, [])
    keys = [key(0, answer) for answer in answers]
    return [(a, b) for a in range(len(answers)) for b in range(a) if keys[a] == keys[b]]


@given(st.lists(st.sampled_from(NUMBERS), min_size=2, max_size=8))
@settings(deadline=None)
def test_numbers_are_compared_by_value(answers: list[str]) -> None:
    assert equal_on_the_site("rumodar", answers, ()) == equal_in_a_baseline("rumodar", answers, ())


@given(st.lists(st.sampled_from(TEXTS), min_size=2, max_size=8), st.sampled_from([(), ("words",), ("yo",)]))
@settings(deadline=None)
def test_texts_are_compared_as_the_metric_and_the_plan_s_rules_do(
    answers: list[str], rules: tuple[str, ...]
) -> None:
    assert equal_on_the_site("multiq", answers, rules) == equal_in_a_baseline("multiq", answers, rules)


@given(st.lists(st.sampled_from(["0", "1"]), min_size=2, max_size=5))
@settings(deadline=None)
def test_labels_are_compared_as_they_are(answers: list[str]) -> None:
    assert equal_on_the_site("bps", answers, ()) == equal_in_a_baseline("bps", answers, ())


def test_sets_of_an_exam_are_equal_in_any_order() -> None:
    item = Item(1, "", "", "1,3", {"type": "multiple_choice_options_within_text"})
    key = vote_keys(dataset("use"), (), [item])
    assert key(0, "3,1") == key(0, " 1, 3 ") != key(0, "1,2")


def test_a_skip_is_no_vote() -> None:
    key = vote_keys(dataset("bps"), (), [])
    assert [key(0, text) for text in SKIP_OWN.values()] == [None] * len(SKIP_OWN)
