"""`merilo baseline --other`: who agrees with the others on other datasets, by name, and what follows for doubtful items."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest
from command import merilo as run

import merilo

PEOPLE = ["ann", "bob", "cat", "dan", "eve"]


def table(path: Path, rows: list[tuple[str, str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as lines:
        csv.writer(lines).writerows([("item", "annotator", "answer"), *rows])
    return path


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Ten items, of which the majority denies two golds; eve differs from everybody on two other datasets, cat has
    answered only two of their items, and a stranger is among the others."""
    pool = [(f"sum {n}", who, "B" if n < 2 and who != "eve" else "A") for n in range(10) for who in PEOPLE]
    words = [
        (f"word {n}", who, "wrong" if who == "eve" else "right") for n in range(8) for who in [*PEOPLE, "zoe"]
    ]
    cities = [(f"city {n}", who, "off" if who == "eve" else "on") for n in range(4) for who in PEOPLE]
    gold = tmp_path / "gold.csv"
    gold.write_text("item,gold\n" + "".join(f"sum {n},A\n" for n in range(10)), encoding="utf-8")
    return {
        "pool": table(tmp_path / "pool.csv", pool),
        "gold": gold,
        "words": table(
            tmp_path / "words.csv", [row for row in words if row[1] != "cat" or row[0] < "word 2"]
        ),
        "cities": table(tmp_path / "cities.csv", [row for row in cities if row[1] != "cat"]),
    }


def test_annotators_are_judged_by_the_majority_of_the_others_on_other_datasets(
    files: dict[str, Path],
) -> None:
    made = merilo.baseline(files["pool"], gold=files["gold"], other=[files["words"], files["cities"]])
    rows = {row["annotator"]: row for row in made.annotators.to_dicts()}
    judged = {
        name: (row["other_items"], row["other_agreement"], row["reliable"]) for name, row in rows.items()
    }
    assert judged["ann"] == (12, 1.0, True)
    assert judged["cat"] == (2, 1.0, None)
    assert judged["eve"] == (12, 0.0, False)
    assert rows["eve"]["other_expected"] == 1.0
    # On a word, ann's fellow annotators are two or three who agree and eve.
    assert rows["ann"]["other_expected"] == pytest.approx((2 * 4 / 5 + 6 * 3 / 4 + 4 * 2 / 3) / 12)
    assert [one.people for one in made.findings if one.code == "other_datasets"] == [("eve",)]
    first = made.doubtful.row(0, named=True)
    assert (first["gold"], first["consensus"]) == ("A", "B")
    assert (first["reliable"], first["unreliable"]) == ("ann, bob, dan", "eve")


def test_the_command_names_them_and_its_folder_verifies(files: dict[str, Path], tmp_path: Path) -> None:
    other = ("--other", files["words"], "--other", files["cities"])
    done = run(
        "baseline", files["pool"], "--gold", files["gold"], *other, "--out", tmp_path / "out", "--json", "-"
    )
    assert done.status == 0, done.err
    assert "1 annotator agrees with the majority on other datasets less than 90 %" in done.err
    assert "(eve)" in done.err
    assert done.json["provenance"]["command"].count("--other") == 2
    assert {Path(one["file"]).name for one in done.json["provenance"]["inputs"]} >= {
        "words.csv",
        "cities.csv",
    }
    raw = pl.read_csv(tmp_path / "out" / "raw" / "other.csv")
    assert raw.columns == ["dataset", "item", "annotator", "answer"]
    assert not {*PEOPLE, "zoe"} & set(raw["annotator"])
    assert raw.schema["answer"] == pl.Int64
    assert run("report", tmp_path / "out", "--out", tmp_path / "hb").status == 0
    assert (tmp_path / "hb" / "doubtful.csv").read_text("utf-8").count("\n") == 3
    assert run("verify", tmp_path / "hb").status == 0
    damaged = (tmp_path / "hb" / "raw" / "other.csv").read_text("utf-8").replace(",2\n", ",1\n")
    (tmp_path / "hb" / "raw" / "other.csv").write_text(damaged, encoding="utf-8")
    moved = run("verify", tmp_path / "hb", "--json", "-").json["differences"]
    assert any(one["name"].endswith("reliable") for one in moved)


def test_strangers_are_refused_and_without_gold_the_annotators_are_named_too(
    files: dict[str, Path], tmp_path: Path
) -> None:
    refused = run(
        "baseline", files["pool"], "--other", table(tmp_path / "strangers.csv", [("x", "zoe", "1")])
    )
    assert refused.status == 1
    assert "no annotator of this study is in" in refused.err
    assert "--other FILE matches annotators by their ids" in refused.err
    done = run("baseline", files["pool"], "--other", files["words"], "--out", tmp_path / "out")
    assert done.status == 0, done.err
    assert "less than 90 % as often as the others do" in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "doubt their answers first (eve)" in " ".join(done.out.split())
    assert not (tmp_path / "out" / "doubtful.csv").exists()
