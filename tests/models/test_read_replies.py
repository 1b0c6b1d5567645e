"""How many replies are read falsely, and how many are missed: our own, and real ones of models where they are at hand."""

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from merilo.datasets import Answer, Dataset, dataset
from merilo.datasets.rendering import spread
from merilo.items import Item
from merilo.models.asking import ModelReply
from merilo.models.reply_answers import read_reply
from merilo.models.reply_reader import Form, read

GUARD = Path(__file__).parent / "replies" / "guard.jsonl"
REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "replies" / "real.jsonl.gz"

#: Models whose replies were not read while the rules were made.
HELD = {f"model-{number:02}" for number in (1, 3, 15, 17, 19, 25, 27)}
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
    found = read_reply(
        declared, item, ModelReply(text=row["reply"], finish="length" if row["cut"] else "stop")
    )
    if found.outcome != "answered":
        return "right" if row["answer"] is None else "missed"
    return "right" if row["answer"] is not None and is_same(row, found.answer) else "false"


def rows(part: str, *, trap: bool, language: str) -> list[dict[str, Any]]:
    lines = GUARD.read_text(encoding="utf-8").splitlines()
    found = map(json.loads, lines)
    return [row for row in found if (row["part"], row["trap"], row["lang"]) == (part, trap, language)]


@pytest.mark.parametrize("language", ["ru", "en"])
@pytest.mark.parametrize("part", ["tuned", "unseen"])
@pytest.mark.parametrize(("trap", "most_false", "most_missed"), [(False, 0.005, 0.065), (True, 0.05, 0.26)])
def test_few_replies_of_the_guard_are_read_falsely_or_missed(
    part: str, trap: bool, language: str, most_false: float, most_missed: float
) -> None:
    of_part = rows(part, trap=trap, language=language)
    counts = Counter(map(outcome, of_part))
    assert len(of_part) >= 40
    assert counts["false"] / len(of_part) <= most_false, counts
    assert counts["missed"] / len(of_part) <= most_missed, counts


@pytest.fixture(scope="module")
def real() -> list[dict[str, Any]]:
    if not REAL.is_file():
        pytest.skip(f"the real replies of models are not here ({REAL})")
    with gzip.open(REAL, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


@pytest.mark.parametrize("bench", ["mmlu", "gpqa", "mgsm"])
@pytest.mark.parametrize("held", [True, False])
def test_real_replies_are_read_as_the_judge_read_them(
    real: list[dict[str, Any]], bench: str, held: bool
) -> None:
    """The judge errs in about one reply of two hundred, and rounds a fraction that is no whole number."""
    counts: Counter[str] = Counter()
    for row in real:
        if row["bench"] != bench or (row["model"] in HELD) != held or row["read"] == "?":
            continue
        options = {label: str(text) for label, text in (row["options"] or {}).items()}
        form = Form("label", tuple(options), options) if options else Form("integer")
        value = read(row["reply"], form).value
        counts["right" if value == row["read"] else "missed" if value is None else "otherwise"] += 1
    assert counts["right"] / counts.total() >= 0.985, counts


def test_small_labels_are_read_as_their_capitals_are(real: list[dict[str, Any]]) -> None:
    counts: Counter[bool] = Counter()
    for row in real:
        if row["bench"] != "mmlu" or row["read"] == "?":
            continue
        options = {label.lower(): str(text) for label, text in row["options"].items()}
        small = re.sub(r"(?<![\w'’])([A-J])(?![\w'’]| [a-z])", lambda letter: letter[1].lower(), row["reply"])
        for reply in (row["reply"], small):
            value = read(reply, Form("label", tuple(options), options)).value
            counts[value == row["read"].lower()] += 1
    assert counts[True] / counts.total() >= 0.985, counts
