"""Models in the report of a baseline: the verdict by a margin."""

import json
from pathlib import Path

import pytest
from command import merilo
from compared_study import guesses, model, study

import merilo as library
from merilo.studies.study_folder import combined_hash


def given(folder: Path, *, people: int = 12, samples: int = 3) -> list[object]:
    study(folder, people=people, overlap=5)
    model(folder / "robot.csv", guesses(samples=samples))
    return [
        "baseline", folder / "answers.csv", "--platform", "table", "--item", "text", "--annotator", "annotator", "--answer", "answer",
        "--gold", folder / "items.csv", "--gold-column", "gold", "--min-votes", 2, "--model", folder / "robot.csv",
    ]  # fmt: skip


def test_the_margin_of_a_frozen_plan_beside_the_gold_is_planned(tmp_path: Path) -> None:
    options = given(tmp_path)
    files = {"study.yaml": "0" * 64}
    plan = {"baseline": {"margin": 0.5}}
    record = {"date": "2026-01-02", "hash": combined_hash(files), "files": files, "plan": plan}
    (tmp_path / "frozen.json").write_text(json.dumps(record))
    for row in merilo(*options, "--json", "-").json["models"]:
        assert (row["margin"], row["verdict"]) == (0.5, "equal")
        assert "margin planned on 2026-01-02" in row["sentence"]


@pytest.mark.thorough
def test_the_folder_hb_has_the_same_verdict(tmp_path: Path) -> None:
    options = given(tmp_path)
    merilo(*options, "--out", tmp_path / "out")
    assert merilo("report", tmp_path / "out", "--out", tmp_path / "hb").status == 0
    assert library.verify(tmp_path / "hb") == []
    assert (tmp_path / "hb" / "baseline.json").read_bytes() == (
        tmp_path / "out" / "baseline.json"
    ).read_bytes()
    assert "the consensus of 12 people" in (tmp_path / "hb" / "report.html").read_text()
