"""Simulated people answer a study as a whole."""

from pathlib import Path

import pytest
from study_people import bundled_study

from merilo.errors import InputError
from merilo.site.simulated_people import collect_from_simulated_people
from merilo.studies.study_folder import StudyFolder, freeze_plan


@pytest.fixture
def study(tmp_path: Path) -> StudyFolder:
    folder = bundled_study(tmp_path / "study")
    weights = "".join(f"{one.id},all,1\n" for one in folder.items())
    (folder.path / "weights.csv").write_text(f"id,stratum,weight\n{weights}", encoding="utf-8")
    freeze_plan(folder, day="2026-01-12", force=True)
    return folder


def test_the_people_answer_every_item_as_often_as_planned(study: StudyFolder) -> None:
    made = collect_from_simulated_people(study.path, seed=1)
    assert made.people["done"] >= study.plan.arms["people"].overlap
    assert made.answers > len(study.items()) * study.plan.arms["people"].overlap


def test_a_study_that_is_not_frozen_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not frozen"):
        collect_from_simulated_people(bundled_study(tmp_path / "study").path, seed=1)
