"""The metrics of the newer datasets: exact match but for case, groups of items, intents and slots."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scored import scored

from merilo.datasets.declaration import undeclared
from merilo.items import Item
from merilo.metrics.answers import Answer, read_answer
from merilo.metrics.registry import Scoring, displayed, metric_of
from merilo.metrics.scoring import Part, score, score_samples
from merilo.metrics.worth import worth
from merilo.people.spelling import key_of

GROUPS = Scoring(name="", answer=Answer(kind="text"), metrics=("exact_match", "group_exact_match"))


def item(number: int, group: object) -> Item:
    return Item(number, "", "", "да", {"id": number, "group_id": group} if group else {"id": number})


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [(" Нева ", "нева", 1), ("3.5", "35", 0), ("the Neva", "Neva", 0), ("нева", "Нева.", 0)],
)
def test_exact_match_ignores_case_and_outer_space_and_nothing_else(
    answer: str, gold: str, right: int
) -> None:
    assert scored("exact_match", [answer], [gold], kind="text").value == right


def test_people_answer_alike_where_the_metric_says_so() -> None:
    key = key_of(undeclared("exact_match", ";"))
    assert key(" Нева", "") == key("нева ", "")
    assert key("3.5", "") != key("35", "")
    assert key_of(undeclared("em", ";"))("3.5", "") == "35"


@given(st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=20))
def test_a_group_counts_once_and_is_right_if_all_its_items_are(rows: list[tuple[int, bool]]) -> None:
    items = [item(number, group) for number, (group, _) in enumerate(rows)]
    answers = {number: "ДА" if right else "нет" for number, (_, right) in enumerate(rows)}
    found = score(GROUPS, items, answers).main
    of_group = {group: all(right for other, right in rows if other == group) for group, _ in rows}
    assert found["exact_match"].value == pytest.approx(np.mean([right for _, right in rows]))
    assert found["group_exact_match"].value == pytest.approx(np.mean([*of_group.values()]))
    assert found["group_exact_match"].n == len(rows)
    part = Part("", metric_of("group_exact_match", "text"), tuple(range(len(rows))))
    place, texts, weight = np.arange(len(rows)), [*answers.values()], np.ones(len(rows))
    influence = worth(GROUPS, part, items, place=place, answers=texts, weight=weight)
    assert influence.value == pytest.approx(found["group_exact_match"].value)
    assert influence.answer.mean() == pytest.approx(influence.value)


def test_an_item_without_an_answer_spoils_its_group_and_one_without_a_group_is_its_own() -> None:
    items = [item(1, "a"), item(2, "a"), item(3, None), item(4, "b")]
    found = score(GROUPS, items, {1: "да", 3: "да"}).main
    assert (found["exact_match"].value, found["exact_match"].n) == (1.0, 2)
    assert (found["group_exact_match"].value, found["group_exact_match"].n) == (0.5, 3)


@pytest.mark.parametrize(
    ("samples", "value", "n"),
    [
        ([{"1": 1, "2": 1}, {"1": 1, "2": 0}], 0.5, 2),
        ([{"1": 1, "2": 0}, {"1": 0, "2": 1}], 0.0, 2),
        ([{"1": 1, "2": 0}, {"1": 1, "2": 0}], 0.5, 2),
        ([{"1": 1, "2": 1}, {}], 0.0, 2),
        ([{"a": 1, "b": 1}, {"b": 1, "c": 1}], 1 / 3, 2),
        ([{"a": 1, "b": 1}, {"b": 1, "a": 0}, {}, {"x": 1}], 0.75, 3),
        ([{}, {}, {}, {"x": 1, "y": 0, "z": 0}], 1 / 3, 1),
    ],
)
def test_a_group_is_the_mean_of_its_samples_in_which_a_missing_answer_is_wrong(
    samples: list[dict[str, int]], value: float, n: int
) -> None:
    items = [item(number, group) for number, group in enumerate("aacb")]
    answers = {
        number: {name: "да" if right else "нет" for name, right in each.items()}
        for number, each in enumerate(samples)
        if each
    }
    found = score_samples(GROUPS, items, answers).main["group_exact_match"]
    assert (found.value, found.n) == (pytest.approx(value), n)
    assert (found.interval is None) == (len(samples) == 2 or not samples[0])


SLOTS = Answer(kind="slots")
GOLD = {"intent": "alarm", "slots": {"time": "7:00", "day": ["Monday", "Friday"]}}


@pytest.mark.parametrize(
    ("answer", "intent", "f1"),
    [
        (GOLD, 1, 1),
        ({"intent": " Alarm", "slots": {"TIME": "7:00", "day": "friday"}}, 1, 0.8),
        ({"intent": "timer", "slots": [["time", "7:00"], {"type": "day", "value": "Sunday"}]}, 0, 0.4),
        ({"intent": "alarm"}, 1, 0),
        ("no idea", 0, 0),
        ("[[[", 0, 0),
    ],
)
def test_an_intent_is_right_or_wrong_and_slots_have_an_f1(answer: object, intent: int, f1: float) -> None:
    given_answer = read_answer(SLOTS, answer)
    assert isinstance(given_answer, str)
    for gold in (GOLD, json.dumps(GOLD)):
        assert scored("intent_exact_match", [given_answer], [gold], kind="slots").value == intent
        assert scored("slots_f1", [given_answer], [gold], kind="slots").value == pytest.approx(f1)


def test_metadata_name_the_metrics_as_people_do() -> None:
    names = {"Exact match": "text", "Group Exact match": "choice", "Slots F1": "slots", "accuracy": "choice"}
    assert [displayed(name, kind) for name, kind in names.items()] == [
        "exact_match",
        "group_exact_match",
        "slots_f1",
        "acc",
    ]
