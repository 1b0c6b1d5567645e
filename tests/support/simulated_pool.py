"""Pools of simulated annotators as Toloka exports them, with gold answers, a model's answers and a baseline.

A page has two items and a control item; five of 24 annotators answer each page, and nobody gets an item twice.
"""

import json
import shutil
from pathlib import Path
from random import Random

from command import done, merilo
from exports import HEADER, row, toloka, write_lines
from made_once import made_once

from merilo.datasets import dataset
from merilo.datasets.generators import generate
from merilo.items import Split, write_splits

#: Dataset -> input columns, answer column.
COLUMNS = {"bps": (("parentheses",), "correct"), "lcs": (("string1", "string2"), "length")}
PEOPLE, OVERLAP = 24, 5
RUN = ("run", "--shots", "0")
#: The annotators from this number on guess; others are right nine times out of ten.
GUESSING = 21


@made_once
def simulated_pool(folder: Path, name: str, items: int) -> Path:
    """Write `export.tsv`, `test.json`, `rule.jsonl` and `baseline/` of one dataset into a folder of its name."""
    pool, random, (inputs, answer) = folder / name, Random(1), COLUMNS[name]
    pool.mkdir(parents=True)
    labels, count = dataset(name).answer.labels, max(4, round(items * 0.15))
    controls, tests = (generated := generate(name, items + count, 1))[:count], generated[count:]
    rows = []
    for visit in range(len(tests) // 2 * OVERLAP):
        page, person = visit // OVERLAP, visit % PEOPLE
        control = controls[visit // PEOPLE]
        for item in (*tests[2 * page : 2 * page + 2], control):
            knows = random.random() < (0 if person >= GUESSING else 0.9)
            said = str(item.outputs) if knows else random.choice(labels)
            golden = str(item.outputs) if item is control else ""
            shown = str(item.inputs).split() if len(inputs) > 1 else [str(item.inputs)]
            rows.append(
                [*shown, *row("", said, f"simulated-{person}", golden=golden, page=f"page-{visit}")[1:]]
            )
    header = [*(f"INPUT:{column}" for column in inputs), f"OUTPUT:{answer}", f"GOLDEN:{answer}", *HEADER[3:]]
    (pool / "export.tsv").write_text(toloka(rows, header), encoding="utf-8")
    write_splits(pool / "test.json", [Split("test", tuple(tests))])
    rule = ({"id": item.id, "answer": item.outputs if at % 4 else labels[0]} for at, item in enumerate(tests))
    outcome = merilo(
        *("baseline", pool / "export.tsv", "--dataset", name, "--gold", pool / "test.json"),
        *("--model", write_lines(pool / "rule.jsonl", *rule), "--out", pool / "baseline"),
    )
    assert outcome.status in {0, 1}, outcome.err
    return pool


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
    return write_lines(to, *lines)


def asked(folder: Path, model: str, datasets: str, name: str) -> Path:
    done(*RUN, "--model", model, "--datasets", datasets, "--data", folder / "data", "--out", folder / name)
    return folder / name
