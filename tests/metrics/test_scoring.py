"""The scorer: its requirements on a dataset's declaration, and its messages if a metric cannot be computed."""

import json
import re
from pathlib import Path

import pytest
from gold_sets import TITLES, gold_split, right_answer
from hypothesis import given, settings
from hypothesis import strategies as st

from merilo.datasets import dataset
from merilo.errors import DataError
from merilo.items import Item
from merilo.metrics.answers import read_answer
from merilo.metrics.classifiers import Calibration
from merilo.metrics.metric import total_score
from merilo.metrics.registry import NAMES
from merilo.metrics.scoring import explain, parts, score

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("metric", NAMES)
def test_every_metric_is_explained_in_the_documentation(metric: str) -> None:
    assert f"`{metric}`" in PAGE


def test_the_file_of_curves_in_the_documentation_is_one(tmp_path: Path) -> None:
    (found,) = [
        block for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL) if "calibration" in block
    ]
    (tmp_path / "curves.json").write_text(found, encoding="utf-8")
    assert Calibration.read(tmp_path / "curves.json").name == json.loads(found)["name"]


@pytest.mark.parametrize("title", TITLES)
def test_names_of_metrics_are_known_before_anybody_answers(title: str) -> None:
    """A dataset with errors scores 0 on the same metrics that a whole set of answers would get."""
    declared, split = dataset(title), gold_split(dataset(title), 60)
    answers = {item.id: read_answer(declared.answer, right_answer(declared, item)) for item in split}
    scores = score(declared, split.items, answers)
    main, extra = ([part.name for part in group] for group in parts(declared, split.items))
    assert set(main) == {*scores.main, *scores.missing}
    assert list(extra) == list(scores.extra)


@pytest.mark.parametrize(
    ("title", "item", "answer", "told"),
    [
        ("LCS", Item(1, "", "a b", None, {"id": 1}), "1", "the test is closed"),
        ("LCS", Item(1, "", "a b", ["1"], {"id": 1}), "1", "not of the dataset's type"),
        ("ruEthics", Item(1, "", {}, {"virtue": "1"}, {"id": 1}), None, "lacks 'law'"),
        ("USE", Item(1, "", {}, "1", {"id": 1}), "1", "needs id_task, variant and score"),
        ("USE", Item(1, "", {}, "1", {"id": 1, "id_task": "1", "variant": 1, "score": 1, "type": "essay"}), "1", "essay"),
    ],
)  # fmt: skip
def test_gold_that_no_metric_can_use_is_one_sentence(
    title: str, item: Item, answer: str | None, told: str
) -> None:
    declared = dataset(title)
    said = answer if answer is not None else dict.fromkeys(declared.answer.criteria, "1")
    with pytest.raises(DataError, match=told):
        score(declared, [item], {1: said})


def test_one_answer_of_criteria_is_explained_criterion_by_criterion() -> None:
    (item,) = gold_split(dataset("ruEthics"), 1).items
    judgements = explain(dataset("ruEthics"), item, item.outputs)
    assert [judgement.points for judgement in judgements] == [1.0] * 5
    assert judgements[0].metric == "mcc, virtue"


@settings(deadline=None)
@given(
    st.dictionaries(
        st.text(max_size=3), st.lists(st.floats(0, 1), min_size=1, max_size=3), min_size=1, max_size=6
    )
)
def test_every_dataset_weighs_the_same(main: dict[str, list[float]]) -> None:
    expected = 0.0
    for values in main.values():
        for value in values:
            expected += value / len(values) / len(main)
    assert total_score(main) == pytest.approx(expected)
