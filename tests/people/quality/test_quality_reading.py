"""The quality of the annotators in the real pools."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from merilo.people import platforms
from merilo.people.quality.annotators import people_quality
from merilo.people.quality.controls import judged_annotators
from merilo.people.quality.work import StudyWork, study_work
from merilo.responses import SCHEMA, Responses


def study(pools: Path, pool: str) -> tuple[Responses, StudyWork]:
    responses = platforms.read(sorted((pools / pool).glob("*.tsv")))
    return responses, study_work(responses)


@pytest.mark.parametrize(
    ("pool", "people", "below_half"),
    [("bps", 24, 3), ("lcs", 29, 3), ("rwsd", 155, 5), ("ruworldtree", 191, 41)],
)
def test_the_published_numbers_of_people_are_found(
    pools: Path, pool: str, people: int, below_half: int
) -> None:
    responses, work = study(pools, pool)
    quality = people_quality(work.work, work.annotators)
    assert sum(one.controls.answers > 0 for one in quality.annotators) == people
    assert sum(one.excluded_by is not None for one in quality.annotators) == below_half
    judged = judged_annotators(responses, min_control_accuracy=0.5)
    by_name = {one.annotator: one for one in quality.annotators}
    for row in judged.iter_rows(named=True):
        one = by_name[row["annotator"]]
        assert (one.controls.right, one.controls.answers) == (row["controls_correct"], row["controls"])
        assert (one.excluded_by is not None) == row["excluded"]


def test_seconds_of_a_page_count_once_and_lengths_are_those_of_the_texts(pools: Path) -> None:
    responses, work = study(pools, "bps")
    assert work.work.page is not None
    assert work.work.characters is not None
    assert np.unique(work.work.page).size == 250
    first = responses.items.row(0, named=True)
    (text,) = (first[name] for name in responses.fields)
    place = responses.table["item"].to_list().index(first["item"])
    assert work.work.characters[place] == len(text)


def test_the_turns_of_a_dialogue_stand_in_their_order(pools: Path) -> None:
    _, work = study(pools, "rutie")
    one = work.work.votes.annotator == 0
    assert (np.diff(work.work.votes.item[one][np.argsort(work.work.order[one])]) > 0).all()


def test_answers_without_time_or_page_stand_in_the_order_of_their_rows() -> None:
    table = pl.DataFrame(
        {
            "item": [1, 2, 1],
            "respondent": ["ann", "ann", "bob"],
            "answer": ["x", "y", "x"],
            "is_control": [False] * 3,
        },
        schema_overrides={name: SCHEMA[name] for name in ("item",)},
    )
    table = table.with_columns(
        pl.lit(None, dtype).alias(name) for name, dtype in SCHEMA.items() if name not in table.columns
    ).select(list(SCHEMA))
    items = pl.DataFrame({"item": [1, 2], "question": ["?", None]}, schema_overrides={"item": pl.UInt32})
    work = study_work(Responses(table, items, 3, {})).work
    assert work.order.tolist() == [0, 1, 2]
    assert work.page is not None
    assert np.unique(work.page).size == 3
    assert work.seconds is not None
    assert np.isnan(work.seconds).all()
