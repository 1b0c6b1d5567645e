"""`merilo replay`: the published table, recomputed from the answers that were published with it."""

import json
import shutil
from pathlib import Path

from command import Outcome, merilo
from simulated_pool import simulated_pool

from merilo.datasets import CATALOGUE

BPS = "assignments_from_pool_41554142__29-09-2023.tsv"


def rows(outcome: Outcome) -> dict[str, dict]:
    return {row["dataset"]: row for row in outcome.json["rows"]}


def test_every_published_score_with_raw_answers_is_reproduced_or_explained(
    pools: Path, tmp_path: Path
) -> None:
    outcome = merilo("replay", pools, "--json", tmp_path / "replay.json")
    assert outcome.status == 0, outcome.out
    content = json.loads((tmp_path / "replay.json").read_text())
    found = {row["dataset"]: row for row in content["rows"]}
    assert content["reproduced"]
    assert found.keys() == CATALOGUE.keys()
    assert {name: row["verdict"] for name, row in found.items() if row["command"]} == {
        "bps": "reproduced",
        "lcs": "reproduced",
        "rwsd": "closed",
        "rutie": "closed",
        "rudetox": "closed",
        "ruworldtree": "differs",
    }
    unequal = {
        (name, one["name"]): one["value"]
        for name, row in found.items()
        for one in row["counts"]
        if row["command"] and one["verdict"] != "reproduced"
    }
    assert {key: round(value, 3) for key, value in unequal.items()} == {
        ("rwsd", "cost.published_way.hourly"): 1.472,
        ("ruworldtree", "n"): 499,
        ("ruworldtree", "cost.published_way.hourly"): 2.367,
    }
    assert all(row["verdict"] == "closed" for row in found.values() if not row["command"])
    assert all(row["because"] for row in found.values() if row["verdict"] != "reproduced")
    (acc,) = found["lcs"]["scores"]
    assert round(acc["value"], 4) == 0.7037
    assert acc["ci95"][0] < 0.704 < acc["ci95"][1]
    assert "46 of 100 items" in found["lcs"]["warnings"][0]
    # 216 and 217 right answers to 259 items.
    assert "0.8340 and 0.8378" in found["rwsd"]["warnings"][0]
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert len(outcome.out.splitlines()) <= 42
    assert "0.838; 0.837 on 525 — on 499" in outcome.out


def test_a_score_that_the_answers_do_not_give_fails(tmp_path: Path) -> None:
    pool = simulated_pool(tmp_path / "simulated", "bps", 20)
    (tmp_path / "pools" / "bps").mkdir(parents=True)
    shutil.copy(pool / "export.tsv", tmp_path / "pools" / "bps" / BPS)
    outcome = merilo("replay", tmp_path / "pools", "--json", "-")
    assert outcome.status == 1
    assert not outcome.json["reproduced"]
    bps = rows(outcome)["bps"]
    assert (bps["verdict"], bps["because"]) == ("differs", None)
    assert next(one["value"] for one in bps["counts"] if one["name"] == "items.total") == 20
    assert "not in" in rows(outcome)["lcs"]["because"]
    shown = merilo("replay", tmp_path / "pools")
    assert shown.status == 1
    assert "BPS, items.total: 20, published 100" in shown.out


def test_a_folder_without_published_answers_is_refused(tmp_path: Path) -> None:
    refused = merilo("replay", tmp_path)
    assert refused.status == 2
    assert "has none of the folders bps, lcs" in refused.complaint


def test_closed_gold_answers_of_their_owner_are_used(pools: Path, tmp_path: Path) -> None:
    (tmp_path / "pools").mkdir()
    (tmp_path / "pools" / "rutie").symlink_to(pools / "rutie")
    known = merilo(
        "baseline", pools / "rutie" / "pool1.tsv", "--dataset", "rutie", "--out", tmp_path / "people"
    )
    assert known.status == 0
    items = [json.loads(line) for line in (tmp_path / "people" / "items.jsonl").read_text().splitlines()]
    for item in items:
        item["outputs"] = "1"
    (tmp_path / "rutie.json").write_text(json.dumps({"data": {"test": [items]}}))
    outcome = merilo("replay", tmp_path / "pools", "--gold", tmp_path, "--json", "-")
    assert outcome.status == 1
    (acc,) = rows(outcome)["rutie"]["scores"]
    assert acc["verdict"] == "differs"
    assert acc["value"] < 0.9
