"""Pools of simulated annotators as a crowd platform exports them, with gold answers, a simple model and a baseline.

A page has two items and a control item; five annotators answer each item, and nobody gets an item twice.
"""

import csv
import io
import json
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from command import merilo
from made_once import made_once

from merilo.datasets import dataset
from merilo.datasets.generators import generate
from merilo.items import Item, Split, write_splits
from merilo.people.simulation import (
    CAREFUL,
    GUESSING,
    HASTY,
    SimulatedItem,
    simulated_answer,
    simulated_seconds,
)


def brackets_in_equal_number(brackets: str) -> str:
    count = Counter(brackets)
    return str(int(all(count[opened] == count[closed] for opened, closed in ("()", "[]", "{}"))))


def letters_in_common(text: str) -> str:
    first, second = map(Counter, text.split())
    return str((first & second).total())


#: dataset -> a rule that only guesses its answers, as a model: its name and its answer to a text.
RULES = {
    "bps": ("brackets-in-equal-number", brackets_in_equal_number),
    "lcs": ("letters-in-common", letters_in_common),
}

#: dataset -> input columns, answer column, how hard an item is
COLUMNS = {"bps": (("parentheses",), "correct", 0.16), "lcs": (("string1", "string2"), "length", 0.76)}

CROWD = [
    (kind, number)
    for kind, many in ((CAREFUL, 14), (HASTY, 7), (GUESSING, 3))
    for number in range(1, many + 1)
]
OVERLAP = 5


@made_once
def simulated_pool(folder: Path, name: str, items: int) -> Path:
    """Write `export.tsv`, `test.json`, `rule-*.jsonl` and `baseline/` of one dataset into a folder of its name."""
    pool = folder / name
    pool.mkdir(parents=True)
    controls = max(4, round(items * 0.15))
    made = generate(name, items + controls, 1)
    (pool / "export.tsv").write_text(_export(name, made[controls:], made[:controls]), encoding="utf-8")
    write_splits(pool / "test.json", [Split("test", tuple(made[controls:]))])
    rule, answer = RULES[name]
    model = pool / f"rule-{rule}.jsonl"
    answers = [{"id": item.id, "answer": answer(str(item.inputs))} for item in made[controls:]]
    model.write_text("".join(f"{json.dumps(one)}\n" for one in answers), encoding="utf-8")
    done = merilo(
        *("baseline", pool / "export.tsv", "--dataset", name, "--gold", pool / "test.json", "--model", model),
        *("--out", pool / "baseline"),
    )
    assert done.status in {0, 1}, done.err
    return pool


def _export(name: str, tests: list[Item], controls: list[Item]) -> str:
    random, (columns, answer, hardest) = Random(1), COLUMNS[name]
    longest = max(len(str(item.inputs)) for item in (*tests, *controls))
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow([
        *(f"INPUT:{column}" for column in columns), f"OUTPUT:{answer}", f"GOLDEN:{answer}", "HINT:text", "ASSIGNMENT:assignment_id",
        "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "ASSIGNMENT:started", "ASSIGNMENT:submitted", "ASSIGNMENT:reward",
    ])  # fmt: skip
    clock, met, load = (
        dict.fromkeys(CROWD, datetime(2026, 1, 12, 9)),
        dict.fromkeys(CROWD, 0),
        dict.fromkeys(CROWD, 0),
    )
    page = 0
    for first in range(0, len(tests), 2):
        for person in sorted(CROWD, key=lambda one: (load[one], random.random()))[:OVERLAP]:
            load[person] += 1
            kind, number = person
            control = controls[(CROWD.index(person) * 7 + met[person]) % len(controls)]
            met[person] += 1
            page += 1
            shown = [*tests[first : first + 2], control]
            started = clock[person]
            seconds = sum(simulated_seconds(kind, random) for _ in shown)
            clock[person] = submitted = started + timedelta(seconds=round(seconds, 3))
            for item in shown:
                inputs = str(item.inputs)
                asked = SimulatedItem(
                    str(item.outputs), dataset(name).answer.labels, min(hardest * len(inputs) / longest, 1.0)
                )
                writer.writerow([
                    *(inputs.split() if len(columns) > 1 else [inputs]), simulated_answer(asked, kind, random),
                    item.outputs if item is control else "", "", f"page-{page:05d}", f"simulated-{kind.name}-{number:02d}", "APPROVED",
                    started.isoformat(timespec="milliseconds"), submitted.isoformat(timespec="milliseconds"), "0.0300000000",
                ])  # fmt: skip
    return text.getvalue()
