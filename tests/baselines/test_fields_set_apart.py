"""An input field may have the name of a column of Merilo's tables."""

from pathlib import Path

import pytest

from merilo.baselines.pipeline import compute
from merilo.baselines.study_input import StudyInput
from merilo.file_reading import Reading
from merilo.people.gold import read_gold
from merilo.people.reading import read_responses
from merilo.settings import Settings

ANSWERS = ["q1,a,1", "q1,b,1", "q1,c,1", "q2,a,0", "q2,b,1", "q2,c,0"]


@pytest.mark.parametrize("name", ["item", "row", "answer", "page", "gold", "label", "respondent", "dropped"])
def test_an_item_column_of_any_name_makes_a_baseline(tmp_path: Path, name: str) -> None:
    pool, key = tmp_path / "pool.csv", tmp_path / "gold.csv"
    pool.write_text(f"{name},who,what\n" + "\n".join(ANSWERS) + "\n")
    key.write_text(f"{name},right\nq1,1\nq2,1\n")
    responses = read_responses([pool], reading=Reading(item=(name,), annotator=("who",), answer=("what",)))
    gold = read_gold(key, responses.items, column="right")
    assert gold.answers["gold"].to_list() == ["1", "1"]
    made = compute(StudyInput(responses=responses, gold=gold), Settings(min_votes=2))
    assert made.metrics["acc"].value == 0.5
