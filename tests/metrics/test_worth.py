"""Contributions of answers to a metric, against numerical derivatives of scikit-learn's metrics, and against the scorer."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, matthews_corrcoef

from merilo.datasets import Answer, Dataset
from merilo.datasets.declaration import undeclared
from merilo.items import Item
from merilo.metrics import scoring
from merilo.metrics.exam import VARIANT_ITEMS
from merilo.metrics.registry import metric_of
from merilo.metrics.scoring import Part, parts
from merilo.metrics.worth import Worth, worth

STEP = 1e-6
UNSEEN = "a label that nobody gave"

#: Gold and answer of each item, and how far the answer stands in its place.
sheets = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"), st.sampled_from([0.25, 0.5, 1.0])),
    min_size=2,
    max_size=25,
)


def items_of(gold: list[str]) -> list[Item]:
    return [Item(row, "", "", label) for row, label in enumerate(gold)]


def found(metric: str, gold: list[str], answers: list[str], weight: np.ndarray, place=None) -> Worth:
    dataset, items = undeclared(metric), items_of(gold)
    part = Part(metric, metric_of(metric, dataset.answer.kind), tuple(range(len(gold))))
    place = np.arange(len(gold)) if place is None else place
    return worth(dataset, part, items, place=place, answers=answers, weight=weight)


def of_part(dataset: Dataset, part: Part, items: list[Item], answers: list[str]) -> Worth:
    rows = list(part.rows)
    given = [answers[row] for row in rows]
    return worth(dataset, part, items, place=np.array(rows), answers=given, weight=np.ones(len(rows)))


def has_the_scorers_values(
    dataset: Dataset, items: list[Item], answers: list[str], given_answers: object
) -> None:
    """Check names, items and values of the scores, main and by group, and that contributions average to the value."""
    scores = scoring.score(dataset, items, given_answers)  # type: ignore[arg-type]
    main, extra = parts(dataset, items)
    assert [part.name for part in main] == [*scores.main]
    assert {part.name for part in extra} == set(scores.extra)
    for part in (*main, *extra):
        result = of_part(dataset, part, items, answers)
        assert len(part.rows) == scores.all()[part.name].n
        assert result.value == pytest.approx(scores.all()[part.name].value, abs=1e-12)
        assert float(result.answer.mean()) == pytest.approx(result.value, abs=1e-12)


def theirs(metric: str, gold: list[str], answers: list[str], weight: np.ndarray, labels: list[str]) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if metric == "mcc":
            return float(matthews_corrcoef(gold, answers, sample_weight=weight))
        return float(
            f1_score(gold, answers, average="macro", labels=labels, sample_weight=weight, zero_division=0)
        )


def slopes(
    metric: str, gold: list[str], answers: list[str], weight: np.ndarray, pairs: set[tuple[str, str]]
) -> dict[tuple[str, str], float]:
    """The change of the metric, by scikit-learn, if one more item gets a small weight taken from all items.

    For each pair of a gold label and an answer of that item.
    """
    labels = sorted({*gold, *answers})
    added = np.append(weight, STEP * weight.sum())
    here = theirs(metric, gold, answers, weight, labels)
    return {
        (true, given): (theirs(metric, [*gold, true], [*answers, given], added, labels) - here) / STEP
        for true, given in pairs
    }


@pytest.mark.parametrize("metric", ["f1_macro", "mcc"])
@settings(deadline=None)
@given(sheet=sheets)
def test_influences_are_the_derivatives_of_scikit_learns_metric(
    metric: str, sheet: list[tuple[str, str, float]]
) -> None:
    gold, answers = [row[0] for row in sheet], [row[1] for row in sheet]
    weight = np.array([row[2] for row in sheet])
    assume(metric == "f1_macro" or (len(set(gold)) > 1 and len(set(answers)) > 1))
    result = found(metric, gold, answers, weight)
    assert result.value == pytest.approx(
        theirs(metric, gold, answers, weight, sorted({*gold, *answers})), abs=1e-12
    )
    pairs = set(zip(gold, answers, strict=True)) | {(true, UNSEEN) for true in gold}
    expected = slopes(metric, gold, answers, weight, pairs)
    for row, (true, given_label) in enumerate(zip(gold, answers, strict=True)):
        change = expected[true, given_label]
        assert result.answer[row] - result.value == pytest.approx(change, rel=1e-3, abs=1e-3)
        assert result.unseen[row] - result.value == pytest.approx(expected[true, UNSEEN], rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("metric", ["acc", "f1_macro", "mcc", "f1"])
@settings(deadline=None)
@given(sheet=sheets, seed=st.integers(0, 99))
def test_the_weighted_mean_of_several_answers_an_item_is_the_metric_at_these_weights(
    metric: str, sheet: list[tuple[str, str, float]], seed: int
) -> None:
    gold = [row[0] for row in sheet]
    place = np.repeat(np.arange(len(gold)), 3)
    answers = np.random.default_rng(seed).choice(list("abcd"), place.size).tolist()
    weight = np.full(place.size, 1 / 3)
    result = found(metric, gold, answers, weight, place)
    every_answer = [gold[item] for item in place]
    alone = found(metric, every_answer, answers, np.ones(place.size))
    assert result.value == pytest.approx(alone.value, abs=1e-12)
    assert result.answer == pytest.approx(alone.answer, abs=1e-6)


def test_the_correlation_of_one_label_is_worth_nothing_anywhere() -> None:
    result = found("mcc", ["a", "a"], ["a", "b"], np.ones(2))
    assert (result.value, result.answer.tolist(), result.unseen.tolist()) == (0.0, [0.0, 0.0], [0.0, 0.0])


EXAM = Dataset(
    name="", title="", metrics=("grade_norm",), answer=Answer(kind="text"), extra="grade_norm.task{id_task}"
)
#: Task -> the points of a correct answer, its type, a correct answer, a partly correct answer, a wrong answer.
RULES = {
    "16": (2, "multiple_choice_options_within_text", "1,2", "1,3", "4,5"),
    "26": (4, "matching", "1,2,3,4", "1,2,3,9", "9,9,9,9"),
}
PLAIN = (1, "text", "word", "sword", "ward")
TASKS = [str(task) for task in range(1, 27)] + [f"8_{part}" for part in range(1, 5)]


def exam_items(variants: int) -> list[Item]:
    rows = [(variant, task, RULES.get(task, PLAIN)) for variant in range(variants) for task in TASKS]
    return [
        Item(row, "", "", rule[2], {"id_task": task, "variant": variant, "score": rule[0], "type": rule[1]})
        for row, (variant, task, rule) in enumerate(rows)
    ]


def exam_answer(item: Item, quality: int) -> str:
    return RULES.get(str(item.meta["id_task"]), PLAIN)[2 + quality]


@settings(deadline=None)
@given(st.lists(st.sampled_from([0, 0, 1, 2]), min_size=60, max_size=60))
def test_the_worth_of_answers_to_the_exam_averages_to_the_scores(quality: list[int]) -> None:
    items = exam_items(2)
    answers = [exam_answer(item, one) for item, one in zip(items, quality, strict=True)]
    has_the_scorers_values(
        EXAM, items, answers, {item.id: text for item, text in zip(items, answers, strict=True)}
    )


@settings(deadline=None)
@given(st.lists(st.sampled_from([0, 1, 2]), min_size=30, max_size=30))
def test_the_worth_of_an_exam_answer_is_the_derivative_of_points_earned_to_points_possible(
    quality: list[int],
) -> None:
    items = exam_items(1)
    answers = [exam_answer(item, one) for item, one in zip(items, quality, strict=True)]
    earned = np.array(
        [{0: 1.0, 1: {1: 0.0, 2: 0.5, 4: 0.75}[item.meta["score"]], 2: 0.0}[one] * item.meta["score"]
         for item, one in zip(items, quality, strict=True)]
    )  # fmt: skip
    most = np.array([float(item.meta["score"]) for item in items])
    result = of_part(
        EXAM, Part("grade_norm", metric_of("grade_norm", "text"), tuple(range(30))), items, answers
    )
    value = earned.sum() / most.sum()
    assert result.value == pytest.approx(value)
    added = STEP * VARIANT_ITEMS
    for row in range(30):
        slope = ((earned.sum() + added * earned[row]) / (most.sum() + added * most[row]) - value) / STEP
        assert result.answer[row] - value == pytest.approx(slope, rel=1e-3, abs=1e-3)
        nothing = (earned.sum() / (most.sum() + added * most[row]) - value) / STEP
        assert result.unseen[row] - value == pytest.approx(nothing, rel=1e-3, abs=1e-3)


def test_an_incomplete_variant_is_no_part_of_the_exams_score() -> None:
    items = exam_items(2)[:-1]
    main, extra = parts(EXAM, items)
    assert main[0].rows == tuple(range(30))
    assert {row for part in extra for row in part.rows} == set(range(30))
    assert all(part.metric.is_mean for part in extra)


criteria_sheets = st.lists(
    st.tuples(st.sampled_from("01"), st.sampled_from("01"), st.sampled_from("01"), st.sampled_from("xy")),
    min_size=4,
    max_size=20,
)


@settings(deadline=None)
@given(criteria_sheets)
def test_every_criterion_of_every_question_has_the_scorers_value(
    rows: list[tuple[str, str, str, str]],
) -> None:
    dataset = Dataset(
        name="",
        title="",
        metrics=("mcc",),
        answer=Answer(kind="criteria", labels=("0", "1"), criteria=("virtue", "law")),
        extra="{question}.{criterion}",
    )
    items = [
        Item(row, "", "", {"virtue": virtue, "law": law}, {"question": question})
        for row, (_, virtue, law, question) in enumerate(rows)
    ]
    answers = [row[0] for row in rows]
    given_answers = {row: {"virtue": one, "law": one} for row, one in enumerate(answers)}
    has_the_scorers_values(dataset, items, answers, given_answers)
    assert {part.metric.bounds for part in parts(dataset, items)[1]} == {(-1.0, 1.0)}


@pytest.mark.parametrize("metric", ["acc", "em", "f1_macro", "mcc", "f1"])
@settings(deadline=None)
@given(sheet=sheets)
def test_all_items_and_groups_have_the_scorers_names_and_values(
    metric: str, sheet: list[tuple[str, str, float]]
) -> None:
    dataset = replace(undeclared(metric), extra=metric + ".{domain}")
    items = [
        Item(row, "", "", true, {"domain": "odd" if row % 2 else "even"})
        for row, (true, _, _) in enumerate(sheet)
    ]
    answers = [row[1] for row in sheet]
    has_the_scorers_values(dataset, items, answers, dict(enumerate(answers)))
    assert sorted(row for part in parts(dataset, items)[1] for row in part.rows) == list(range(len(items)))
