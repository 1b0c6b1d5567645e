"""The metrics of the newer datasets: exact match but for case, groups of items, intents and slots."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scored import scored

from merilo.baselines.comparison import metric_value
from merilo.baselines.crowd import items_without_people
from merilo.baselines.model_answers import Samples
from merilo.datasets.declaration import Dataset, undeclared
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
    assert influence.alike == len(of_group)
    assert GROUPS.cluster == "group_id"
    assert found["exact_match"].clusters == (len(of_group) if len(of_group) < len(rows) else None)


def test_the_uncertainty_of_a_group_score_is_that_of_its_groups() -> None:
    """Groups all right and all wrong: each item has the influence of its share of the group."""
    items, texts = [item(number, 1 + number // 3) for number in range(12)], ["да"] * 6 + ["нет"] * 6
    part = Part("", metric_of("group_exact_match", "text"), tuple(range(12)))
    found = worth(GROUPS, part, items, place=np.arange(12), answers=texts, weight=np.ones(12))
    assert found.answer.tolist() == [1.0] * 6 + [0.0] * 6


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
    names = [*dict.fromkeys(name for each in samples for name in each)]
    rows = [
        (at, text, 1 / len(each), names.index(name))
        for at, each in answers.items()
        for name, text in each.items()
    ]
    place, texts, weight, sample = map(np.array, zip(*rows, strict=True))
    part = Part("", metric_of("group_exact_match", "text"), tuple(range(len(items))))
    compared = worth(GROUPS, part, items, place=place, answers=texts, weight=weight, sample=sample)
    assert compared.value == pytest.approx(value)
    assert compared.answer @ weight == pytest.approx(value * len(answers))
    assert (found.interval is None) == (len(samples) == 2 or not samples[0])


@pytest.mark.parametrize(
    ("samples", "value"),
    [
        ([(1, 0), (1, 0)], 0.5),
        ([(1, 0), (0, 1)], 0),
        ([(1, 1, 0), (1,)], 1 / 3),
        ([(1, 0), (0, 1), (1,)], 0.5),
    ],
)
def test_a_comparison_scores_a_model_s_samples_of_a_group_as_the_scorer_does(
    samples: list[tuple[int, ...]], value: float
) -> None:
    form, items = (
        Answer(kind="text"),
        [item(number, group) for number, group in enumerate("aab"[: len(samples)])],
    )
    declared = Dataset(name="g", title="g", answer=form, metrics=("group_exact_match",))
    texts = [tuple("да" if right else "нет" for right in each) for each in samples]
    model = Samples("m", "m.csv", {str(number): each for number, each in enumerate(texts)})
    people = items_without_people(items, declared, "g.json")
    by_sample = {number: {str(at): text for at, text in enumerate(each)} for number, each in enumerate(texts)}
    assert metric_value(people, model) == pytest.approx(value)
    assert score_samples(declared, items, by_sample).main["group_exact_match"].value == pytest.approx(value)


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
