"""`merilo baseline` with every value of --resolve, on the benchmark's published pools."""

from pathlib import Path

import polars as pl
import pytest
from command import merilo, merilo_once

#: pool -> all agree, most votes, skill, the three most skilled, GLAD
WORKED_THROUGH = {
    "bps": (78, 22, 0, 0, 0),
    "lcs": (22, 58, 15, 0, 5),
    "rwsd": (137, 122, 1, 0, 0),
    "ruworldtree": (356, 155, 11, 2, 1),
}


def made(pools: Path, pool: str, *options: object):
    files = sorted((pools / pool).glob("*.tsv"))
    known = ["--dataset", pool] if pool in {"bps", "lcs"} else []
    run = merilo if "--out" in options else merilo_once
    return run(
        "baseline", *files, *known, "--skills", pools / pool / "workerSkills.csv", *options, "--json", "-"
    )


@pytest.mark.parametrize("pool", WORKED_THROUGH)
def test_the_cascade_is_the_default_and_leaves_no_item_out(pools: Path, pool: str) -> None:
    found = made(pools, pool).json
    ways = found["resolved_by"]
    most = ways["majority"] - ways["unanimous"]
    assert (ways["unanimous"], most, ways["skill"], ways["top_skill"], ways["glad"]) == WORKED_THROUGH[pool]
    assert ways["unresolved"] == 0
    assert found["items"]["consensus"] == found["items"]["total"]
    assert found["model"]["name"] == "glad"
    assert found["model"]["converged"] is True
    assert found["provenance"]["parameters"]["resolve"] == "cascade"


def test_the_figure_of_lcs_moves_from_070_to_056_and_both_are_said(pools: Path) -> None:
    outcome = made(pools, "lcs")
    assert outcome.status == 1, "46 of 100 items have no majority, however they were resolved"
    accuracy = outcome.json["metrics"]["acc"]
    assert (accuracy["value"], accuracy["n"]) == (0.56, 100)
    alone = accuracy["by_majority_alone"]
    assert (round(alone["value"], 4), alone["n"]) == (0.7037, 54)
    table = merilo("baseline", *sorted((pools / "lcs").glob("*.tsv")), "--dataset", "lcs").out
    assert "0.704" in table
    assert "published" in table, "the row names the procedure"


def test_without_a_file_of_skills_the_accuracy_on_controls_breaks_ties(pools: Path) -> None:
    found = merilo("baseline", *sorted((pools / "lcs").glob("*.tsv")), "--dataset", "lcs", "--json", "-").json
    ways = found["resolved_by"]
    assert ways["majority"] == 80
    assert ways["skill"] > 0
    assert ways["unresolved"] == 0


def test_ties_can_go_to_glad_at_once(pools: Path) -> None:
    ways = made(pools, "lcs", "--resolve", "glad").json["resolved_by"]
    assert (ways["majority"], ways["skill"], ways["glad"], ways["unresolved"]) == (80, 0, 20, 0)


@pytest.fixture(scope="module")
def by_votes(pools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of RuWorldTree's baseline with the default way of resolving items."""
    folder = tmp_path_factory.mktemp("votes") / "out"
    assert made(pools, "ruworldtree", "--out", folder).status == 0
    return folder


@pytest.mark.parametrize(("aggregator", "way"), [("dawid-skene", "dawid_skene"), ("glad", "glad")])
def test_a_model_may_decide_every_item(
    pools: Path, by_votes: Path, tmp_path: Path, aggregator: str, way: str
) -> None:
    outcome = made(pools, "ruworldtree", "--aggregator", aggregator, "--out", tmp_path / "out")
    found = outcome.json
    assert found["resolved_by"][way] == 525
    assert found["model"]["name"] == aggregator
    assert found["model"]["anchored_items"] == 0
    rising = found["model"]["log_likelihood"]
    assert rising == sorted(rising)
    tables = [pl.read_parquet(folder / "consensus.parquet") for folder in (tmp_path / "out", by_votes)]
    assert (tables[0]["label"] == tables[1]["label"]).mean() > 0.95
    posterior = pl.read_parquet(tmp_path / "out" / "posterior.parquet")
    assert posterior.height == 525 * 4
    sums = posterior.group_by("item").agg(pl.col("probability").sum(), pl.col("label").first().alias("best"))
    assert (sums["probability"] - 1).abs().max() < 1e-9
    assert sums.join(tables[0], on="item").filter(pl.col("best") != pl.col("label")).height == 0
    confusion = tmp_path / "out" / "confusion.csv"
    assert confusion.exists() == (aggregator == "dawid-skene")
    if confusion.exists():
        rows = pl.read_csv(confusion).group_by("annotator", "true").agg(pl.col("probability").sum())
        assert (rows["probability"] - 1).abs().max() < 1e-9
    people = pl.read_parquet(tmp_path / "out" / "annotators.parquet")
    column = "ability" if aggregator == "glad" else "expected_accuracy"
    judged = people.filter(~pl.col("excluded") & (pl.col("controls") >= 5))
    assert judged.select(pl.corr(column, "control_accuracy")).item() > 0.3


def test_control_items_anchor_the_model_when_asked_and_it_is_recorded(pools: Path) -> None:
    found = made(pools, "ruworldtree", "--aggregator", "dawid-skene", "--anchor-controls").json
    assert found["model"]["anchored_items"] > 10
    assert found["items"]["total"] == 525, "control items are no part of the baseline"
    assert "--anchor-controls" in found["provenance"]["command"].split()
    assert "True" not in found["provenance"]["command"]


def test_the_published_procedure_is_one_option_away(pools: Path) -> None:
    found = made(pools, "lcs", "--resolve", "none").json
    assert found["model"] is None
    assert "by_majority_alone" not in found["metrics"]["acc"]
    assert found["metrics"]["acc"]["n"] == 54


def test_the_report_says_how_the_model_ended_and_both_figures(pools: Path, tmp_path: Path) -> None:
    made(pools, "lcs", "--out", tmp_path / "out")
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "GLAD" in report
    assert "converged" in report
    assert "0.704" in report
    assert "0.560" in report
    consensus = pl.read_parquet(tmp_path / "out" / "consensus.parquet")
    assert consensus["difficulty"].null_count() == 0
    assert set(consensus["resolved_by"]) == {"unanimous", "majority", "plurality", "skill", "glad"}
