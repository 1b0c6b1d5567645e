"""The table of human baselines: published figures with their kind, and own studies beside them."""

from pathlib import Path

import pytest
import yaml
from command import done, merilo
from exports import row, toloka, written

from merilo.datasets import dataset
from merilo.errors import DataError
from merilo.reports.human_table import eval_yaml, group_figures, human_rows, read_study, table_text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of BPS: two items with a majority, one with most votes only."""
    work = tmp_path_factory.mktemp("bps_&_study")
    rows = [row("( )", "1", f"w{n}") for n in range(5)] + [row("( (", "0", f"w{n}") for n in range(5)]
    rows += [row("] [", "00123"[n], f"w{n}") for n in range(5)]
    pool, out = written(work / "p.tsv", toloka(rows)), work / "out"
    done("baseline", pool, "--dataset", "bps", "--max-low-agreement", "0.5", "--out", out)
    return out


def test_every_published_figure_of_the_catalogue_is_in_the_table_with_its_kind() -> None:
    rows = human_rows([])
    text = table_text(rows, "markdown")
    assert "| RCB | acc | 0.702 | from the literature | 438 | 438 |" in text
    assert "| USE | grade_norm | 0.701 | official statistics |" in text
    assert "| ruHumanEval | pass@1 | 1.000 | by definition |" in text
    by_group = [figure for figures in group_figures().values() for figure in figures]
    figures = [*by_group, *(figure for row in rows for figure in row.published)]
    expected = [figure for name in {row.dataset for row in rows} for figure in dataset(name).human]
    assert sorted(map(str, figures)) == sorted(map(str, expected))


def test_figures_by_group_have_a_table_of_their_own() -> None:
    text = table_text(human_rows([]), "markdown")
    assert "| virtue | 0.813 | 0.802 | 0.771 |" in text
    russian = table_text(human_rows([]), "markdown", "ru")
    assert "| добродетель | 0,813 | 0,802 | 0,771 |" in russian
    assert "| 400 (500 в версии 1.2) |" in russian


def test_an_own_study_stands_beside_the_published_figure(folder: Path) -> None:
    (row,) = [row for row in merilo("table", folder, "--json", "-").json["rows"] if row["own"]]
    own = row["own"]
    assert (row["dataset"], row["published"][0]["value"]) == ("bps", 1.0)
    assert (own["estimate"]["n"], own["people"]) == (3, 5)
    assert (own["by_majority_alone"]["value"], own["by_majority_alone"]["n"]) == (1.0, 2)
    low, high = own["estimate"]["ci95"]
    assert low <= own["estimate"]["value"] <= high


def test_links_lead_to_the_reports_from_where_the_table_is(folder: Path) -> None:
    rows = human_rows([read_study(folder)])
    assert "[out](<out/report.html>)" in table_text(rows, "markdown", beside=folder.parent)
    page = table_text(rows, "html", beside=folder.parent)
    assert '<a href="out/report.html">out</a>' in page
    assert "<script" not in page


def test_a_study_of_another_dataset_gets_a_row_of_its_own(tmp_path: Path) -> None:
    gold = written(tmp_path / "gold.csv", "question,gold\nq,A\n")
    pool = written(tmp_path / "p.tsv", toloka([row("q", "A", f"w{n}") for n in range(5)]))
    merilo("baseline", pool, "--gold", gold, "--out", tmp_path / "<b>my|set")
    rows = human_rows([read_study(tmp_path / "<b>my|set")])
    assert rows[-1].title == "<b>my|set"
    assert "\\<b\\>my\\|set" in table_text(rows, "markdown")
    assert "<b>my" not in table_text(rows, "html")


def test_the_columns_and_sizes_are_those_of_the_published_table() -> None:
    lines = merilo("table").out.split("\n\n")[1].splitlines()
    heads = [cell.strip() for cell in lines[0].strip("|").split("|")]
    assert heads[4:6] == ["Samples in human evaluation with MV", "Samples in test set"]
    assert len({*heads}) == len(heads)
    russian = merilo("table", "--language", "ru").out.split("\n\n")[1].splitlines()[0]
    assert len({cell.strip() for cell in russian.split("|")} - {""}) == len(heads)
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    sizes = {line[0]: (line[4], line[5]) for line in table if line[0]}
    published = {
        "PARus": ("400", "400 (500 in v1.2)"), "ruDetox": ("404", "1000 (800 in v1.2)"), "ruEthics": ("645", "645"),
        "ruHateSpeech": ("265", "268 (265 in v1.2)"), "ruMMLU": ("—", "961 (14012 in v1.2)"), "BPS": ("100", "1000"),
        "MaMuRAMu": ("—", "4248 (v1.2)"), "RWSD": ("259", "260"),
    }  # fmt: skip
    assert {name: sizes[name] for name in published} == published
    (ethics,) = [line for line in table if line[0] == "ruEthics"]
    assert ethics[1:4] == ["15 MCC", "\\*\\*\\*", "measured"]
    rows = merilo("table", "--json", "-").json["rows"]
    (ethics_json,) = [one for one in rows if one["dataset"] == "ruethics"]
    assert len(ethics_json["published_by_group"]) == 15
    assert ethics_json["test"] == {"1.0": 645, "1.2": 645}


@pytest.mark.thorough
def test_the_table_goes_to_a_file_and_a_published_folder_gives_the_same_row(
    folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "table.html"
    assert merilo("table", folder, "--format", "html", "--out", path).out == ""
    assert "Результаты людей по датасетам" in path.read_text(encoding="utf-8")
    again = merilo("table", folder, "--format", "html", "--out", path)
    assert (again.status, "--force" in again.complaint) == (2, True)
    assert merilo("report", folder, "--out", tmp_path / "hb").status == 0
    own, published = (
        next(row["own"] for row in merilo("table", place, "--json", "-").json["rows"] if row["own"])
        for place in (folder, tmp_path / "hb")
    )
    assert published == {**own, "folder": str(tmp_path / "hb")}
    refused = merilo("table", tmp_path)
    assert (refused.status, "is not a baseline folder" in refused.complaint) == (2, True)


def test_own_studies_in_the_form_of_inspect_evals(folder: Path) -> None:
    text = merilo("table", folder, "--format", "eval-yaml").out
    (figure,) = yaml.safe_load(text).values()
    record = read_study(folder).record
    assert figure == {"metric": "acc", "score": 1.0, "source": "out/report.html"}
    beside = yaml.safe_load("\n".join(line[2:] for line in text.splitlines()[1:] if line.startswith("# ")))
    estimate = record.metrics["acc"]
    assert beside["ci95"] == pytest.approx(estimate.ci95, abs=1e-4)
    assert (beside["items"], beside["annotators"]) == (3, 5)


def test_a_figure_that_must_not_be_published_is_refused(folder: Path) -> None:
    rejected = read_study(folder)
    rejected = rejected._replace(record=rejected.record.model_copy(update={"status": "rejected"}))
    with pytest.raises(DataError, match="no human figure"):
        eval_yaml([rejected])
    assert merilo("table", "--format", "eval-yaml").status == 1
