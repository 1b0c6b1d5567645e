"""The quality of people in a baseline's JSON, tables and report, on the real pools."""

import csv
import json
from pathlib import Path

import pytest
from simulated_pool import simulated_pool

from merilo.cli import main
from merilo.reports.page import TESTS


@pytest.fixture(scope="module")
def lcs(pools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("quality") / "lcs"
    main(["baseline", *map(str, (pools / "lcs").glob("*.tsv")), "--dataset", "lcs", "--out", str(out)])
    return out


def test_every_person_has_a_row_with_all_that_is_known(lcs: Path) -> None:
    content = json.loads((lcs / "baseline.json").read_text(encoding="utf-8"))
    people = content["quality"]["annotators"]
    assert len(people) == content["annotators"]["total"] == 29
    assert sum(one["excluded_by"] is not None for one in people) == content["annotators"]["excluded"] == 3
    assert sum(one["answers"] for one in people) == content["responses"]["total"]
    assert sum(one["controls"]["answers"] for one in people) == content["responses"]["control"]
    assert {name for one in people for name in one["ability"]} == {"auto", "glad"}
    with (lcs / "quality.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["annotator"] for row in rows] == [one["annotator"] for one in people]
    assert {row["excluded_by"] for row in rows} == {"", "below 0.5 on 1 or more controls"}


def test_the_figures_of_the_baseline_stand_in_the_sensitivity_table(lcs: Path) -> None:
    content = json.loads((lcs / "baseline.json").read_text(encoding="utf-8"))
    rows = {(row["min_control_accuracy"], row["aggregator"]): row for row in content["sensitivity"]["rows"]}
    assert len(rows) == 10 * 5
    own = rows[0.5, "cascade"]
    figure = content["metrics"]["acc"]
    assert (own["value"], own["n"]) == (figure["value"], figure["n"])
    published = rows[0.5, "majority"]
    assert (round(published["value"], 4), published["n"], published["annotators"]) == (0.7037, 54, 26)
    assert rows[0.0, "majority"]["annotators"] == 29
    assert rows[0.9, "majority"]["annotators"] < rows[0.0, "majority"]["annotators"]


#: Every procedure, both pools and every threshold.
CELLS = [
    ("lcs", "0", "majority"), ("lcs", "0.7", "cascade"), ("bps", "0.9", "auto"), ("lcs", "0.7", "glad"),
]  # fmt: skip


@pytest.mark.parametrize(("pool", "threshold", "procedure"), CELLS)
def test_a_cell_is_what_a_baseline_with_those_settings_says(
    pools: Path, pool: str, threshold: str, procedure: str, capsys: pytest.CaptureFixture[str]
) -> None:
    aggregator = "majority" if procedure == "cascade" else procedure
    resolve = "cascade" if procedure == "cascade" else "none"
    main([
        "baseline", *map(str, (pools / pool).glob("*.tsv")), "--dataset", pool, "--json", "-",
        "--min-control-accuracy", threshold, "--aggregator", aggregator, "--resolve", resolve,
    ])  # fmt: skip
    content = json.loads(capsys.readouterr().out)
    figure = content["metrics"]["acc"]
    (cell,) = (
        row
        for row in content["sensitivity"]["rows"]
        if (row["min_control_accuracy"], row["aggregator"]) == (float(threshold), procedure)
    )
    assert (cell["value"], cell["n"], cell["consensus"]) == (
        figure["value"],
        figure["n"],
        content["items"]["consensus"],
    )


def test_the_report_says_what_was_tested_and_what_chance_would_have_found(lcs: Path) -> None:
    page = (lcs / "report.html").read_text(encoding="utf-8")
    for name in TESTS.values():
        assert name.en in page
        assert name.ru in page
    assert "expected by chance" in page
    assert "auto" in page


def test_a_baseline_with_gold_says_whether_the_gold_is_right(lcs: Path) -> None:
    content = json.loads((lcs / "baseline.json").read_text(encoding="utf-8"))
    found = content["dataset_quality"]
    assert found["golds"] == 119  # a hundred items and the controls
    assert max(found["gold_wrong"].values()) < 0.05  # a solver made them
    assert found["typing_errors"] == {}  # a miscount from 0 to 9 is no typing error
    with (lcs / "doubtful.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == found["doubtful"] == sum(row["gold"] != row["consensus"] for row in rows)
    assert [row["id"] for row in rows[:20]] == list(found["gold_wrong"])
    page = (lcs / "report.html").read_text(encoding="utf-8")
    assert "Doubtful items" in page
    assert "doubtful.csv" in page


def test_a_baseline_without_doubtful_items_says_so(pools: Path, tmp_path: Path) -> None:
    files = map(str, (pools / "bps").glob("*.tsv"))
    main(["baseline", *files, "--dataset", "bps", "--out", str(tmp_path / "bps")])
    page = (tmp_path / "bps" / "report.html").read_text(encoding="utf-8")
    assert (
        "Every consensus is the gold answer, and no gold answer is wrong with a probability of 5% or more."
        in page
    )


def test_without_gold_nothing_is_said_of_it(pools: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["baseline", *map(str, (pools / "bps").glob("*.tsv")), "--json", "-"])
    assert json.loads(capsys.readouterr().out)["dataset_quality"] is None


def test_guessers_are_flagged_where_the_published_rule_keeps_them(tmp_path: Path) -> None:
    pool = simulated_pool(tmp_path, "bps", 200)
    content = json.loads((pool / "baseline" / "baseline.json").read_text(encoding="utf-8"))
    people = {one["annotator"]: one for one in content["quality"]["annotators"]}
    guessing = [one for name, one in people.items() if "guessing" in name]
    # With two labels, guessing is correct half of the time, so the threshold of 0.5 does not exclude all of the three.
    assert 0 < sum(one["excluded_by"] is not None for one in guessing) < len(guessing) == 3
    assert all({"disagrees", "too_fast"} <= set(one["flags"]) for one in guessing)
    assert all("too_fast" in one["flags"] for name, one in people.items() if "hasty" in name)
    assert not any(one["flags"] for name, one in people.items() if "careful" in name)
