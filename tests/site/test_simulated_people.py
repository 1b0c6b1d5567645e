"""Simulated people answer a study as a whole."""

from pathlib import Path

import pytest
from study_people import bundled_study, frozen

from merilo.errors import DataError
from merilo.site.simulated_people import collect_from_simulated_people


def test_the_people_answer_every_item_as_often_as_planned(tmp_path: Path) -> None:
    study = frozen(bundled_study(tmp_path / "study"))
    made = collect_from_simulated_people(study.path, seed=1)
    assert made.people["done"] >= study.plan.arms["people"].overlap
    assert made.answers > len(study.items()) * study.plan.arms["people"].overlap


def test_a_study_that_is_not_frozen_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not frozen"):
        collect_from_simulated_people(bundled_study(tmp_path / "study").path, seed=1)
