"""Which human: the curve, the best people, screenings and the ceiling of a baseline, from files to the published folder."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import merilo as command

import merilo
from merilo.baselines.record import panel_record
from merilo.reports.baseline import BaselineResult
from merilo.text import Text

GOLD = {f"q{item}": "ABCD"[item % 4] for item in range(60)}


def answers(people: int = 12, wrong: int = 0, overlap: int = 5, seed: int = 1) -> pl.DataFrame:
    """A pool with control items; the last quarter of the people guesses, the gold of `wrong` items is another label than the truth."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(60):
        for person in rng.permutation(people)[:overlap].tolist():
            chance = 0.25 if person >= people * 3 // 4 else 0.85
            right = rng.random() < chance
            shift = (item < wrong) + (0 if right else int(rng.integers(1, 4)))
            rows.append((f"q{item}", f"p{person:02d}", "ABCD"[(item + shift) % 4], None))
    for control in range(8):
        for person in range(people):
            right = person < people * 3 // 4 or rng.random() < 0.6
            rows.append((f"control {control}", f"p{person:02d}", "A" if right else "B", "A"))
    return pl.DataFrame(
        rows, schema=dict.fromkeys(["task", "worker", "label", "golden"], pl.String), orient="row"
    )


OPTIONS = {"item": ["task"], "annotator": "worker", "answer": "label", "control": "golden"}


@pytest.fixture(scope="module")
def made() -> BaselineResult:
    return merilo.baseline(merilo.read_responses(answers(wrong=4), **OPTIONS), gold=GOLD)


def test_the_record_holds_the_curve_and_its_first_point_is_the_single_person(
    made: BaselineResult,
) -> None:
    found = made.to_dict()
    panel, single = found["panel"], found["single_person"]
    first = panel["curve"][0]
    assert (first["rule"], first["k"], first["value"]) == ("majority", 1, single["mean"])
    assert first["ci95_items_and_annotators"] == single["ci95"]
    measured = [one for one in panel["curve"] if not one["extrapolated"]]
    assert {one["k"] for one in measured} == set(range(1, panel["overlap"] + 1))
    assert max(one["k"] for one in panel["curve"]) == 2 * panel["overlap"]


def test_the_best_people_lose_what_was_luck(made: BaselineResult) -> None:
    best, tenth = (made.to_dict()["panel"][name] for name in ("best", "tenth"))
    assert best["value"] < best["observed"]
    assert best["annotator"].startswith("p")
    assert (best["people"], tenth["people"]) == (1, -(-tenth["among"] // 10))
    low, high = best["ci95_other_items"]
    assert low < best["value"] < high


def test_people_who_passed_a_stricter_screening_do_better(made: BaselineResult) -> None:
    rows = made.to_dict()["panel"]["screenings"]
    assert [one["min_control_accuracy"] for one in rows] == [0.0, 0.5, 0.7, 0.9]
    assert [one["own"] for one in rows] == [False, True, False, False]
    assert rows[0]["annotators"] == 12
    assert rows[1]["value"] == made.to_dict()["single_person"]["mean"]
    assert rows[3]["annotators"] < rows[0]["annotators"]
    assert rows[3]["value"] > rows[0]["value"] + 0.05


def test_the_ceiling_is_below_1_if_everybody_contradicts_gold_answers() -> None:
    clean = merilo.baseline(merilo.read_responses(answers(people=16), **OPTIONS), gold=GOLD)
    spoilt = merilo.baseline(
        merilo.read_responses(answers(people=16, wrong=12, overlap=8), **OPTIONS), gold=GOLD
    )
    high = clean.to_dict()["panel"]["ceiling"]
    low = spoilt.to_dict()["panel"]["ceiling"]
    assert high["high"] == 1.0
    # Lures may explain what contradicts the gold answers, so the range begins at none.
    assert low["low"] <= 1 - 12 / low["golds"] <= low["high"]
    assert low["low"] < high["low"]


def test_a_study_without_controls_has_no_screenings() -> None:
    table = answers().filter(pl.col("golden").is_null()).drop("golden")
    made = merilo.baseline(merilo.read_responses(table, **{**OPTIONS, "control": None}), gold=GOLD)
    assert made.to_dict()["panel"]["screenings"] == []


@pytest.mark.parametrize(
    ("given", "reason"),
    [({}, "no gold answers"), ({"gold": GOLD, "metric": "f1_macro"}, "not a mean of the points")],
)
def test_without_points_of_single_answers_the_reason_is_told(given: dict[str, object], reason: str) -> None:
    made = merilo.baseline(merilo.read_responses(answers(), **OPTIONS), **given)
    panel = made.to_dict()["panel"]
    assert [*panel] == ["reason"]
    assert reason in panel["reason"]


def test_a_reason_is_a_record_of_its_own() -> None:
    assert panel_record(Text("not computed")).to_json() == {"reason": "not computed"}


def test_files_become_a_page_with_the_chart_and_a_folder_that_verifies(tmp_path: Path) -> None:
    answers().write_csv(tmp_path / "answers.csv")
    pl.DataFrame({"task": [*GOLD], "gold": [*GOLD.values()]}).write_csv(tmp_path / "gold.csv")
    done = command(
        "baseline", tmp_path / "answers.csv", "--gold", tmp_path / "gold.csv", "--item", "task",
        "--annotator", "worker", "--answer", "label", "--control", "golden", "--out", tmp_path / "out", "--details",
    )  # fmt: skip
    assert done.status == 0, done.err
    for told in ("majority of 3", "any of 3", "extrapolated", "best tenth", "nobody excluded"):
        assert told in " ".join(done.out.replace("│", " ").split()), told
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<title>Which human: one person and groups of people / Какой именно человек" in page
    assert "хотя бы один из 3" in page
    merilo.report(tmp_path / "out", tmp_path / "hb")
    found = merilo.verify(tmp_path / "hb")
    assert found.ok
    assert any(one.name.startswith("panel.curve") for one in found.figures)
    assert "line crowd" not in (tmp_path / "hb" / "plots" / "ru" / "panel.svg").read_text()
    assert "большинство из k" in (tmp_path / "hb" / "plots" / "ru" / "panel.svg").read_text()
    again = json.loads((tmp_path / "out" / "baseline.json").read_text())
    assert again["panel"]["overlap"] in {4, 5}
