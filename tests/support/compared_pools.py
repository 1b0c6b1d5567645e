"""Baselines of BPS and LCS with 40 items each, and answers of models to them."""

import json
import shutil
from pathlib import Path

from command import merilo
from made_once import made_once
from simulated_pool import simulated_pool

RUN = ("run", "--shots", "0")


@made_once
def pools(folder: Path) -> Path:
    """Baselines of BPS and LCS with 40 items each, and their items in one folder."""
    (folder / "data").mkdir()
    for name in ("bps", "lcs"):
        simulated_pool(folder / "pools", name, 40)
        shutil.copy(folder / "pools" / name / "test.json", folder / "data" / f"{name}.json")
    return folder / "pools"


def items_of(folder: Path, name: str) -> list[dict]:
    return json.loads((folder / "data" / f"{name}.json").read_text(encoding="utf-8"))["data"]["test"]


def answers(folder: Path, name: str, to: Path, samples: int = 1, wrong: int = 0) -> Path:
    """Answers to a dataset that are right except for the first items."""
    lines = [
        {
            "id": item["meta"]["id"],
            "answer": "10"[item["outputs"] != "0"] if at < wrong else item["outputs"],
            "sample": sample,
        }
        for at, item in enumerate(items_of(folder, name))
        for sample in range(1, samples + 1)
    ]
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return to


def asked(folder: Path, model: str, datasets: str, name: str) -> Path:
    done = merilo(
        *RUN, "--model", model, "--datasets", datasets, "--data", folder / "data", "--out", folder / name
    )
    assert done.status == 0, done.err
    return folder / name
