"""`merilo report table`: the table of human baselines, to a file and to the terminal."""

from pathlib import Path

import pytest
from command import merilo
from exports import row, toloka, written


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("study")
    rows = [row("( )", "1", f"w{n}") for n in range(5)] + [row("( (", "0", f"w{n}") for n in range(5)]
    made = merilo(
        "baseline", written(work / "p.tsv", toloka(rows)), "--dataset", "bps", "--out", work / "mine"
    )
    assert made.status == 0, made
    return work / "mine"


def test_the_table_goes_to_the_terminal_or_to_a_file(folder: Path, tmp_path: Path) -> None:
    shown = merilo("table", folder)
    assert shown.status == 0
    assert "| BPS | acc | 1.000 | measured | 100 | 1000 | 1.000 " in shown.out
    path = tmp_path / "table.html"
    assert merilo("table", folder, "--format", "html", "--out", path).out == ""
    assert "Результаты людей по датасетам" in path.read_text(encoding="utf-8")
    again = merilo("table", folder, "--format", "html", "--out", path)
    assert again.status == 2
    assert "--force" in again.complaint


@pytest.mark.thorough
def test_the_folder_of_a_report_gives_the_same_row_as_its_baseline(folder: Path, tmp_path: Path) -> None:
    assert merilo("report", folder, "--out", tmp_path / "hb").status == 0
    (own,) = [one for one in merilo("table", folder, "--json", "-").json["rows"] if one["own"]]
    (published,) = [one for one in merilo("table", tmp_path / "hb", "--json", "-").json["rows"] if one["own"]]
    assert published["own"].pop("folder") != own["own"].pop("folder")
    assert published == own


def test_a_folder_without_a_baseline_is_refused(tmp_path: Path) -> None:
    outcome = merilo("table", tmp_path)
    assert outcome.status == 2
    assert "is not a baseline folder" in outcome.complaint
