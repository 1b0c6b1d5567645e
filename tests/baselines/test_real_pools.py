"""Expected numbers for the benchmark's published annotation pools."""

import json
from pathlib import Path

import polars as pl
import pytest
from command import done, merilo, merilo_once
from exports import csv_rows

import merilo as package

#: pool -> people with control answers, excluded, items, overlap after exclusion, majorities
PUBLISHED = {
    "bps": (24, 3, 100, {"5": 91, "4": 8, "3": 1}, 100),
    "lcs": (29, 3, 100, {"5": 92, "4": 8}, 54),
    "rwsd": (155, 5, 260, {"5": 250, "4": 10}, 259),
    "ruworldtree": (191, 41, 525, {"5": 415, "4": 99, "3": 10, "2": 1}, 499),
}


def answer(pools: Path, pool: str, *options: str) -> dict:
    files = sorted((pools / pool).glob("*.tsv"))
    known = ["--dataset", pool] if pool in {"bps", "lcs"} else []
    return merilo_once("baseline", *files, *known, "--resolve", "none", *options, "--json", "-").json


@pytest.mark.parametrize("pool", PUBLISHED)
def test_people_items_and_majorities_are_those_of_the_published_analysis(pools: Path, pool: str) -> None:
    found = answer(pools, pool)
    people, excluded, items, overlap, majorities = PUBLISHED[pool]
    assert found["annotators"]["with_controls"] == people
    assert found["annotators"]["excluded"] == excluded
    assert found["items"]["total"] == items
    assert found["items"]["overlap"] == overlap
    assert found["items"]["overlap_before_exclusion"] == {"5": items}
    assert found["items"]["consensus"] == found["resolved_by"]["majority"] == majorities
    assert found["resolved_by"]["unresolved"] == items - majorities


def test_lcs_is_rejected_with_its_value(pools: Path) -> None:
    outcome = merilo_once(
        "baseline", *(pools / "lcs").glob("*.tsv"), "--dataset", "lcs", "--resolve", "none", "--json", "-"
    )
    assert outcome.status == 1
    found = outcome.json
    assert found["status"] == "rejected"
    assert "46 of 100 items" in found["reasons"][0]
    assert found["agreement"]["low_agreement_share"] == 0.46
    accuracy = found["metrics"]["acc"]
    assert (round(accuracy["value"], 4), accuracy["n"]) == (0.7037, 54)


def test_skill_breaks_ties_of_lcs(pools: Path) -> None:
    files = sorted((pools / "lcs").glob("*.tsv"))
    skills = pools / "lcs" / "workerSkills.csv"
    found = merilo(
        "baseline", *files, "--dataset", "lcs", "--resolve", "skill", "--skills", skills, "--json", "-"
    ).json
    ways = found["resolved_by"]
    assert (ways["unanimous"], ways["majority"] - ways["unanimous"], ways["skill"]) == (22, 58, 15)
    assert ways["unresolved"] == 5


def test_gold_labels_of_the_dataset_meet_the_true_and_false_of_the_platform(
    pools: Path, tmp_path: Path
) -> None:
    """RWSD's gold says Да and Нет, the pool true and false; under undeclared names of fields it is not joined."""
    first = min((pools / "rwsd").glob("*.tsv"))
    rows = [row for row in csv_rows(first) if not row["GOLDEN:result"]]
    shown = {(r["INPUT:text"], r["INPUT:word"], r["INPUT:pronoun"]) for r in rows}

    def gold_file(word_field: str, pronoun_field: str) -> Path:
        items = [
            {"instruction": "{text}", "inputs": {"text": text, word_field: word, pronoun_field: pronoun}, "outputs": "Да",
             "meta": {"id": number}}
            for number, (text, word, pronoun) in enumerate(sorted(shown))
        ]  # fmt: skip
        path = tmp_path / f"{word_field}.json"
        path.write_text(json.dumps({"data": {"test": items}}, ensure_ascii=False), encoding="utf-8")
        return path

    files = sorted((pools / "rwsd").glob("*.tsv"))
    refused = merilo("baseline", *files, "--gold", gold_file("span1_text", "span2_text"))
    assert refused.status in {1, 2}
    assert "differ in pronoun, which the file lacks" in refused.complaint
    declared = answer(
        pools, "rwsd", "--dataset", "rwsd", "--gold", str(gold_file("span1_text", "span2_text"))
    )
    assert declared["gold"]["matched"] == len(shown), "the dataset declares the names of its pools"
    found = answer(pools, "rwsd", "--gold", str(gold_file("word", "pronoun")))
    assert found["gold"]["matched"] == len(shown)
    assert len(found["gold"]["items_without_gold"]) == 260 - len(shown)
    assert 0.3 < found["metrics"]["acc"]["value"] < 0.7


#: Project -> its file, what annotators saw, the answer that accepts, people, excluded, majorities
JUDGED = {
    "meaning": ("assignments_from_pool_41793355__21-10-2023.tsv", 2, "true", 172, 37, 789),
    "fluent": ("assignments_from_pool_41793535__21-10-2023.tsv", 1, "fluent", 372, 201, 561),
    "inoffensive": ("assignments_from_pool_41793133__17-10-2023.tsv", 1, "false", 341, 158, 698),
}


def test_pairs_of_rudetox_that_all_three_projects_accept_are_the_published_ones(pools: Path) -> None:
    folder = pools / "rudetox"
    if not folder.is_dir():
        pytest.skip(f"the pools of ruDetox are not here ({folder})")
    pairs: set[tuple[str, str]] = set()
    accepted = {}
    for project, (file, sentences, accepts, people, excluded, majorities) in JUDGED.items():
        fields = ["toxic_comment", "neutral_comment"][-sentences:]
        found = package.baseline(package.read_responses(folder / file, item=fields), resolve="none")
        annotators = found.to_json()["annotators"]
        assert (annotators["with_controls"], annotators["excluded"]) == (people, excluded)
        assert (found.consensus.height, found.consensus["label"].count()) == (800, majorities)
        accepted[project] = set(found.consensus.filter(pl.col("label") == accepts).select(fields).iter_rows())
        if sentences == 2:
            pairs = set(found.consensus.select(fields).iter_rows())
    kept = [pair for pair in accepted["meaning"] if pair[1:] in accepted["fluent"] & accepted["inoffensive"]]
    assert len(kept) == 404
    published = {
        (" ".join(row["inputs"].split()), " ".join(row["outputs"].split()))
        for row in csv_rows(folder / "dataset.csv")
    }
    assert pairs == published


def test_people_who_saw_the_dialogue_of_rutie_and_gold_of_every_turn(pools: Path, tmp_path: Path) -> None:
    pool = pools / "rutie" / "pool1.tsv"
    done("baseline", pool, "--dataset", "rutie", "--out", tmp_path / "people")
    consensus = pl.read_csv(tmp_path / "people" / "consensus.csv", schema_overrides={"label": pl.String})
    assert consensus.height == 430
    equal = (consensus["confidence"] * consensus["votes"]).round().value_counts(sort=True)
    assert equal["count"].to_list() == [294, 93, 43]
    items = [
        json.loads(line) for line in (tmp_path / "people" / "raw" / "items.jsonl").read_text().splitlines()
    ]
    labels = dict(consensus.select("item", "label").iter_rows())
    for number, item in enumerate(items, start=1):
        item["outputs"] = labels[number] if number > 43 else str(3 - int(labels[number]))
    (tmp_path / "rutie.json").write_text(json.dumps({"data": {"test": [items]}}))
    scored = merilo("baseline", pool, "--dataset", "rutie", "--gold", tmp_path / "rutie.json", "--json", "-")
    acc = scored.json["metrics"]["acc"]
    assert (acc["value"], acc["n"]) == (0.9, 430)
