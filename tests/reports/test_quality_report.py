"""The quality of people in a baseline's JSON, tables and report, on the real pools."""

import csv
import json
from pathlib import Path

import pytest

from merilo.cli import main


@pytest.fixture(scope="module")
def lcs(pools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("quality") / "lcs"
    main(["baseline", *map(str, (pools / "lcs").glob("*.tsv")), "--dataset", "lcs", "--out", str(out)])
    return out


def test_a_baseline_with_gold_says_whether_the_gold_is_right(lcs: Path) -> None:
    content = json.loads((lcs / "baseline.json").read_text(encoding="utf-8"))
    found = content["doubtful"]
    assert found["golds"] == 119  # a hundred items and the controls
    assert max(found["gold_wrong"].values()) < 0.05  # a solver made them
    assert found["typing_errors"] == {}  # a miscount from 0 to 9 is no typing error
    with (lcs / "doubtful.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == found["items"] == sum(row["gold"] != row["consensus"] for row in rows)
    assert [row["id"] for row in rows[:20]] == list(found["gold_wrong"])
    page = (lcs / "report.html").read_text(encoding="utf-8")
    assert "Doubtful items" in page
    assert "doubtful.csv" in page
