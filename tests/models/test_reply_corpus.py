"""How many replies of chat models are read falsely, and how many are missed; `replies/README.md` explains the rows."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from merilo.datasets import Answer, Dataset, dataset
from merilo.datasets.rendering import render, spread
from merilo.items import Item
from merilo.models.answer_extraction import extract
from merilo.models.asking import ChatMessage, ModelReply, Request

FOLDER = Path(__file__).parent / "replies"
TEXTS = {"chegeka", "multiq", "rudetox"}
OPTIONS = "\n".join(f"{label}. {{option_{label.lower()}}}" for label in "ABCDE")
CUSTOM = Dataset(
    name="custom-ae",
    title="Custom",
    about="A choice in English",
    fields=("question", *(f"option_{label}" for label in "abcde")),
    answer=Answer(kind="choice", labels=tuple("ABCDE")),
    metrics=("acc",),
    prompts={"": (f"{{question}}\n{OPTIONS}\nAnswer with one letter, A, B, C, D or E.\nAnswer:",)},
)


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text.lower()).strip(" .!?«»\"„“*'\n")


def is_same(row: dict[str, Any], read: object) -> bool:
    """Whether the answer that was read is the one that a careful reader takes."""
    wanted = row["answer"]
    if isinstance(read, dict):
        own = {name: str(label) for name, label in read.items()}
        given = json.loads(wanted) if isinstance(wanted, str) and wanted.startswith("{") else wanted
        return given == own if isinstance(given, dict) else {*own.values()} == {str(given)}
    if row["dataset"] == "use" and row["item"]["meta"]["type"] == "text":
        own, given = (re.sub(r"[^a-zа-яё]", "", str(text).lower()) for text in (read, wanted))
        return own == given
    if row["dataset"] in TEXTS:
        return flat(str(read)) in {flat(text) for text in (wanted, *row.get("also", ()))}
    return str(read) == wanted


def outcome(row: dict[str, Any]) -> str:
    declared = CUSTOM if row["dataset"] == CUSTOM.name else dataset(row["dataset"])
    meta = row["item"]["meta"]
    (item,) = spread([Item(meta.get("id", 1), 0, row["item"]["inputs"], None, meta)], declared, seed=1)
    prompt = render(item, declared)
    request = Request(declared.name, item.id, 1, (ChatMessage("user", (prompt,)),), prompt)
    found = extract(
        declared, item, request, ModelReply(text=row["reply"], finish="length" if row["cut"] else "stop")
    )
    if found.outcome != "answered":
        return "right" if row["answer"] is None else "missed"
    return "right" if row["answer"] is not None and is_same(row, found.answer) else "false"


@pytest.mark.parametrize(
    ("part", "least", "most_false", "most_missed"),
    [
        ("seen", 1200, 0.002, 0.04),
        ("later", 1400, 0.002, 0.06),
        ("unseen", 300, 0.004, 0.06),
        ("blind", 300, 0.004, 0.08),
        ("blind-b", 300, 0.004, 0.07),
        ("blind-c", 300, 0.004, 0.09),
        ("blind-d", 300, 0.01, 0.075),
    ],
)
def test_few_replies_are_read_falsely_or_missed(
    part: str, least: int, most_false: float, most_missed: float
) -> None:
    rows = [json.loads(line) for line in (FOLDER / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()]
    counts = Counter(map(outcome, rows))
    assert len(rows) >= least
    assert counts["false"] / len(rows) <= most_false, counts
    assert counts["missed"] / len(rows) <= most_missed, counts
