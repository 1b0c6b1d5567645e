"""From a dataset to the report that the guide asks for, by the commands that a user types."""

import json
from pathlib import Path

import pytest
from command import merilo
from study_people import NAMES, answered, visits

from merilo.studies.study_folder import open_study


@pytest.mark.usefixtures("without_matplotlib")
def test_from_study_create_through_a_platform_to_report_verify(lcs_file: Path, tmp_path: Path) -> None:
    platform = "label-studio"
    study = tmp_path / "study"
    done = merilo("study", "create", lcs_file, "--dataset", "lcs", "--out", study, "--pay-per-page", 0.05)
    assert done.status == 0, done.err
    assert merilo("study", "freeze", study, "--date", "2026-11-22").status == 0
    out = tmp_path / "out"
    assert merilo("study", "export", study, "--platform", platform, "--out", out).status == 0
    answers = tmp_path / NAMES[platform]
    answers.write_text(answered(platform, out, visits(open_study(study), people=8)), encoding="utf-8")
    done = merilo("study", "import", study, answers)
    assert done.status == 0, done.err
    done = merilo("study", "baseline", study, "--out", study / "baseline")
    assert (done.status, "Traceback" in done.err) == (0, False), done.err

    done = merilo("report", study, "--out", tmp_path / "hb", "--with-gold")
    assert done.status == 0, done.err
    found = merilo("report", "verify", tmp_path / "hb", "--json", "-")
    assert found.status == 0, found.json
    assert found.json["follows"]["metrics.acc.value"]
    plan = tmp_path / "hb" / "plan"
    assert (plan / "study.yaml").read_bytes() == (study / "study.yaml").read_bytes()
    assert (plan / "frozen.json").read_bytes() == (study / "frozen.json").read_bytes()
    assert json.loads((plan / "changes.json").read_text()) == []
    assert list(plan.glob("instruction*"))
    checklist = json.loads((tmp_path / "hb" / "checklist" / "checklist.json").read_text())
    # The other questions are left to the author; test_reporting_checklist.py says which.
    assert checklist["answered"] >= 50
