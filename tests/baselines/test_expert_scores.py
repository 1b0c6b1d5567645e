"""Experts and non-experts are scored with the dataset's metrics, by the same scorer as models."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import f1_score

from merilo.baselines.expert_scores import LabelScores, compare, score_experts, score_labels
from merilo.datasets import dataset
from merilo.errors import UsageError
from merilo.items import Item
from merilo.metrics import scoring
from merilo.people.gold import Gold
from merilo.people.out_of_bag import OutOfBagDesign, out_of_bag
from merilo.people.uncertainty.two_way import group_difference
from merilo.people.votes import Votes
from merilo.responses import SCHEMA, Responses
from merilo.statistics.crossed_difference import CrossedDifference

FIVE = ["ann", "bob", "cat", "dan", "eve"]


def study(rows: list[tuple[int, str, str, float | None]]) -> Responses:
    """Responses from (item, expert, answer, seconds); every item shows its number."""
    table = pl.DataFrame(
        [
            {"item": n, "respondent": who, "answer": answer, "is_control": False, "page_seconds": seconds}
            for n, who, answer, seconds in rows
        ],
        schema_overrides={"item": pl.UInt32, "page_seconds": pl.Float64},
    )
    table = table.with_columns(
        pl.lit(None, dtype).alias(name) for name, dtype in SCHEMA.items() if name not in table.columns
    ).select(list(SCHEMA))
    numbers = sorted({row[0] for row in rows})
    items = pl.DataFrame(
        {"item": numbers, "question": [f"question {n}" for n in numbers]},
        schema_overrides={"item": pl.UInt32},
    )
    return Responses(table, items, len(rows), {})


def right(golds: dict[int, str], **meta: list[str]) -> Gold:
    schema = {"item": pl.UInt32, "gold": pl.String, "id": pl.String}
    answers = pl.DataFrame([(n, text, None) for n, text in golds.items()], schema=schema, orient="row")
    fields = pl.DataFrame(
        {"item": list(golds), **{f"meta.{name}": values for name, values in meta.items()}},
        schema_overrides={"item": pl.UInt32},
    )
    return Gold(answers, "gold.csv", fields=fields)


def unanimous(labels: dict[int, str]) -> Responses:
    return study([(n, who, label, None) for n, label in labels.items() for who in FIVE])


def decided(
    labels: dict[int, str], golds: dict[int, str], name: str | None = None, **meta: list[str]
) -> LabelScores:
    responses = unanimous(labels)
    result = out_of_bag(responses, OutOfBagDesign())
    return score_experts(result, responses, right(golds, **meta), dataset(name) if name else None)


def test_a_dataset_that_declares_macro_f1_gets_it() -> None:
    labels = dict(enumerate("AABBCDDA", start=1))
    golds = dict(enumerate("ABBBCCDA", start=1))
    scores = decided(labels, golds, "ruworldtree").scores.main
    assert list(scores) == ["acc", "f1_macro"]
    expected = f1_score(list(golds.values()), list(labels.values()), average="macro")
    assert scores["f1_macro"].value == pytest.approx(expected)


@given(st.lists(st.tuples(st.sampled_from("ABCD"), st.sampled_from("ABCD")), min_size=1, max_size=30))
def test_experts_get_what_a_model_with_the_same_answers_gets(pairs: list[tuple[str, str]]) -> None:
    labels = {n: given_label for n, (given_label, _) in enumerate(pairs, start=1)}
    golds = {n: gold for n, (_, gold) in enumerate(pairs, start=1)}
    domains = ["law" if n % 2 else "art" for n in golds]
    made = decided(labels, golds, "rummlu", domain=domains).scores
    items = [
        Item(n, "", {"question": f"question {n}"}, gold, {"domain": domain})
        for (n, gold), domain in zip(golds.items(), domains, strict=True)
    ]
    assert made == scoring.score(dataset("rummlu"), items, labels)


def test_a_right_alternative_is_right_for_people_too() -> None:
    made = decided({1: "Ёлка!", 2: "дуб"}, {1: "сосна;ёлка", 2: "берёза"}, "chegeka")
    assert {name: one.value for name, one in made.scores.main.items()} == {"f1": 0.5, "em": 0.5}
    assert made.points == {1: 1.0, 2: 0.0}


def test_points_of_the_exam_are_those_of_each_questions_type() -> None:
    made = decided(
        {1: "Чёрный", 2: "3,1", 3: "2,3"}, {1: "белый,чёрный", 2: "1,3", 3: "2,4"}, "use",
        id_task=["4", "9", "16"], variant=["1"] * 3, score=["1", "1", "2"],
        type=["text", "multiple_choice", "multiple_choice"],
    )  # fmt: skip
    assert "no complete variant" in made.scores.missing["grade_norm"]
    assert made.points == {1: 1.0, 2: 1.0, 3: 0.5}


def test_no_item_is_left_out_of_the_score() -> None:
    rows = [(1, who, "A", None) for who in FIVE]
    rows += [(2, who, answer, None) for who, answer in zip(FIVE, "AABBC", strict=True)]
    rows += [(3, who, "may be mine", None) for who in FIVE]
    responses = study(rows)
    result = out_of_bag(responses, OutOfBagDesign())
    made = score_experts(result, responses, right(dict.fromkeys((1, 2, 3), "A")), None)
    assert (made.scores.main["acc"].value, made.scores.main["acc"].n) == (pytest.approx(1 / 3), 3)
    assert made.by_rule is not None
    assert (made.by_rule.value, made.by_rule.n) == (1.0, 1)
    assert made.points == {1: 1.0, 2: 0.0, 3: 0.0}
    assert (made.two_ways["acc"].value, made.two_ways["acc"].n) == (pytest.approx(1 / 3), 3)


def test_an_item_that_late_answers_decide_is_wrong() -> None:
    responses = study([(1, who, "A", 61.0 if who > "b" else 60.0) for who in FIVE])
    result = out_of_bag(responses, OutOfBagDesign(seconds=60, late="wrong"))
    made = score_experts(result, responses, right({1: "A"}), None)
    assert (made.scores.main["acc"].value, made.points) == (0.0, {1: 0.0})


def test_every_domain_gets_its_own_score() -> None:
    responses = unanimous({1: "A", 2: "B"})
    result = out_of_bag(responses, OutOfBagDesign(), domains={1: "law", 2: "art"})
    made = score_experts(result, responses, right({1: "A", 2: "A"}), None)
    assert {name: one.value for name, one in made.by_domain.items()} == {"art": 0.0, "law": 1.0}


def test_without_right_answers_nothing_is_scored() -> None:
    assert score_labels({1: "A"}, unanimous({1: "A"}), None, None).scores.main == {}


@pytest.mark.parametrize("name", ["ruethics", "rudetox", "rucodeeval"])
def test_datasets_of_other_answers_than_labels_are_refused(name: str) -> None:
    with pytest.raises(
        UsageError, match="are not one label per item: score the experts' answers with 'merilo"
    ):
        score_labels({1: "A"}, unanimous({1: "A"}), right({1: "A"}), dataset(name))


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_the_comparison_is_mcnemars_exact_test_on_the_items_of_both(pairs: list[tuple[bool, bool]]) -> None:
    people = {str(i): one for i, (one, _) in enumerate(pairs)} | {"people only": True}
    result = compare(people, {str(i): two for i, (_, two) in enumerate(pairs)} | {"experts only": True})
    assert result is not None
    assert result.n == len(pairs)
    differing = result.better + result.worse
    expected = stats.binomtest(result.better, differing, 0.5).pvalue if differing else 1.0
    assert result.test.p == pytest.approx(expected)
    assert compare({"a": True}, {"b": True}) is None


def test_points_in_parts_are_compared_by_a_permutation_test() -> None:
    found = compare({1: 0.5, 2: 0.25, 3: 1.0}, {1: 1.0, 2: 0.5, 4: 0.0})
    assert found is not None
    assert (found.n, found.first, found.second) == (2, 0.375, 0.75)
    assert "permutation" in found.test.method


def test_questions_about_one_text_widen_both_intervals() -> None:
    # Eight texts with five questions each; the experts know all answers about half of the texts.
    labels = {n: "A" if (n - 1) // 5 % 2 else "B" for n in range(1, 41)}
    responses = unanimous(labels)
    gold = right(dict.fromkeys(labels, "A"), text=[f"text {(n - 1) // 5}" for n in labels])
    result = out_of_bag(responses, OutOfBagDesign())
    alone, together = (score_experts(result, responses, gold, None, field) for field in (None, "text"))
    assert alone.clusters is None
    assert together.clusters is not None
    assert together.clusters.clusters == together.scores.main["acc"].clusters == 8
    for made in (
        lambda one: one.scores.main["acc"].interval,
        lambda one: one.two_ways["acc"].interval,
    ):
        narrow, wide = made(alone), made(together)
        assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


def test_a_field_of_clusters_that_no_question_has_is_refused() -> None:
    responses = unanimous({1: "A", 2: "B"})
    with pytest.raises(UsageError, match="there is no field 'text'"):
        score_experts(
            out_of_bag(responses, OutOfBagDesign()), responses, right({1: "A", 2: "A"}), None, "text"
        )


def test_two_groups_from_one_population_differ_no_more_often_than_chance() -> None:
    """McNemar's test, which takes people as fixed, finds a difference in about three of ten such studies."""
    found = [_null_study(seed) for seed in range(60)]
    assert sum(one.p <= 0.05 for one in found) <= 7
    assert abs(sum(one.value for one in found) / len(found)) < 0.03


def _null_study(seed: int) -> CrossedDifference:
    rng = np.random.default_rng(seed)
    difficulty = rng.standard_normal(100)
    sides = []
    for overlap, people in ((5, 20), (9, 10)):
        item = np.repeat(np.arange(100, dtype=np.int32), overlap)
        person = rng.permuted(np.tile(np.arange(people, dtype=np.int32), (100, 1)), axis=1)[
            :, :overlap
        ].ravel()
        ability = 1.2 + 0.8 * rng.standard_normal(people)
        right = rng.random(item.size) < 1 / (1 + np.exp(difficulty[item] - ability[person]))
        label = np.where(right, 0, rng.integers(1, 4, item.size)).astype(np.int32)
        sides.append((Votes(item, person, label, 100, people, 4), right.astype(np.float64)))
    return group_difference(sides[0], sides[1])[2]
