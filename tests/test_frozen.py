"""Values that no change of the code may move: real pools, the scores of every bundled dataset, and the demo's results.

They stand in `frozen.json`. `UPDATE_FROZEN=1 pytest tests/test_frozen.py` writes them anew; a commit that does so says why.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command import merilo
from made_once import made_demo
from programming import need_a_jail

FROZEN = Path(__file__).parent / "frozen.json"
VALUES: dict[str, Any] = json.loads(FROZEN.read_text(encoding="utf-8"))

#: Pool -> the pattern of its files, and the options of its baseline.
POOLS = {
    "bps": ("bps/*.tsv", ("--dataset", "bps", "--skills", "bps/workerSkills.csv")),
    "lcs": ("lcs/*.tsv", ("--dataset", "lcs", "--skills", "lcs/workerSkills.csv")),
    "rwsd": ("rwsd/*.tsv", ("--dataset", "rwsd", "--skills", "rwsd/workerSkills.csv")),
    "ruworldtree": (
        "ruworldtree/*.tsv",
        ("--dataset", "ruworldtree", "--skills", "ruworldtree/workerSkills.csv"),
    ),
    "rutie": ("rutie/pool1.tsv", ("--dataset", "rutie")),
    "rudetox toxicity": ("rudetox/*41793133*", ("--skills", "rudetox/workerSkills_toxic.csv")),
    "rudetox meaning": ("rudetox/*41793355*", ("--skills", "rudetox/workerSkills_meaning.csv")),
    "rudetox fluency": ("rudetox/*41793535*", ("--skills", "rudetox/workerSkills_fluency.csv")),
}

#: The ways in which each pool is decided.
WAYS = {
    "default": (),
    "published": ("--resolve", "none"),
    "dawid-skene": ("--aggregator", "dawid-skene"),
    "glad": ("--aggregator", "glad"),
    "auto": ("--aggregator", "auto"),
}

#: The parts of a baseline that stay to the digit where the pool is decided by default.
PARTS = {
    "status": None,
    "responses": ("total", "control", "used"),
    "annotators": ("total", "with_controls", "excluded"),
    "items": ("total", "consensus", "overlap"),
    "resolved_by": ("majority", "skill", "top_skill", "glad", "unresolved"),
    "agreement": ("krippendorff_alpha", "majority_sizes", "low_agreement", "low_agreement_share"),
    "cost": ("total", "pages", "hourly", "currency", "published_way"),
}


@pytest.mark.parametrize("pool", POOLS)
def test_pools_keep_their_values(pools: Path, tmp_path: Path, pool: str) -> None:
    files, options = POOLS[pool]
    words = [pools / word if "/" in word else word for word in options]
    values = {}
    for way, more in WAYS.items():
        done = merilo(
            "baseline",
            *sorted(pools.glob(files)),
            *words,
            *more,
            *("--out", tmp_path / way, "--json", "-"),
        )
        assert done.status in {0, 1}, done.err
        values[way] = {
            "metrics": metrics(done.json["metrics"]),
            "by_majority_alone": {
                name: metrics(done.json["by_majority_alone"].get(name)) for name in done.json["metrics"]
            },
            "labels": labels(tmp_path / way / "consensus.csv"),
        }
        if way == "default":
            values[way] |= {
                name: picked(done.json[name], keys) if keys else done.json[name]
                for name, keys in PARTS.items()
            }
            values[way]["single_person"] = picked(done.json["single_person"] or {}, ("value", "people"))
            values[way]["human_benchmark"] = done.json["human_benchmark"]
    hold(f"pool {pool}", values)


def test_bundled_datasets_keep_their_scores(tmp_path: Path) -> None:
    need_a_jail()
    listed = merilo("datasets", "list", "--json", "-").json
    names = sorted(entry["name"] for entry in (listed["datasets"] if isinstance(listed, dict) else listed))
    assert len(names) == 23
    for model in ("random", "most-frequent", "gold"):
        asked = [name for name in names if name != "rudetox"]
        done = merilo(
            *("run", "--model", model, "--datasets", ",".join(asked)),
            *("--samples", "1", "--out", tmp_path / model, "--json", "-"),
        )
        assert done.status in {0, 1}, done.err
        hold(
            f"scores of {model}",
            {name: metrics(one["metrics"]) for name, one in done.json["datasets"].items()},
        )


@pytest.mark.thorough
def test_the_demo_keeps_its_results(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = made_demo(tmp_path_factory) / "merilo-demo"
    values = {}
    for path in sorted(folder.rglob("baseline.json")):
        made = json.loads(path.read_text(encoding="utf-8"))
        values[path.parent.relative_to(folder).as_posix()] = {
            "status": made["status"],
            "metrics": metrics(made["metrics"]),
            "items": picked(made["items"], ("total", "consensus")),
            "resolved_by": picked(made["resolved_by"], PARTS["resolved_by"] or ()),
            "human_benchmark": made["human_benchmark"],
        }
    assert values
    hold("demo", values)


def metrics(found: Any) -> Any:
    """The value and number of items of each metric: intervals may move."""
    if not isinstance(found, dict):
        return found
    if "value" in found:
        return picked(found, ("value", "n"))
    return {name: metrics(one) for name, one in found.items()}


def picked(part: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: part.get(key) for key in keys}


def labels(path: Path) -> str:
    """A digest of the label of every item of a table of consensus."""
    table = pl.read_csv(path, infer_schema=False).select("item", "label").sort("item", "label")
    return sha256(repr(table.rows()).encode()).hexdigest()[:16]


def hold(name: str, values: dict[str, Any]) -> None:
    """Compare values with the frozen ones, floats to 9 digits."""
    values = json.loads(json.dumps(values), parse_float=lambda text: round(float(text), 9))
    if os.environ.get("UPDATE_FROZEN"):
        now = json.loads(FROZEN.read_text(encoding="utf-8"))
        now[name] = values
        FROZEN.write_text(json.dumps(now, ensure_ascii=False, indent=1, sort_keys=True) + "\n", "utf-8")
        return
    assert values == VALUES[name]
