"""Tests of every dataset, made up: items with gold answers in the benchmark's form, and submissions to them."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Mapping
from pathlib import Path

from merilo.datasets import Dataset, dataset, names
from merilo.items import Item, Split, write_splits
from merilo.strict_json import Json

TITLES = [dataset(name).title for name in names()]
WORDS = ["мост", "река", "туман", "ключ", "мастер", "Пётр", "осень", "письмо", "сосед", "окно"]
EXAM_TASKS = [*map(str, range(1, 8)), *(f"8_{part}" for part in range(5)), *map(str, range(9, 27))]
EXAM_TEXTS = {"2", "4", "5", "6", "7", "13", "14", "24"}
TURNS = 20


def gold_split(declared: Dataset, n: int, words: int = 12) -> Split:
    """`n` items of a dataset with random gold answers; USE in whole variants, ruTiE in dialogues."""
    rng = random.Random(f"{declared.name} 0")
    if declared.name == "use":
        items = [_exam_item(declared, number, rng, words) for number in range(max(1, n // 30) * 30)]
    else:
        items = [_item(declared, number, rng, words) for number in range(n)]
    lengths: tuple[int, ...] = ()
    if declared.shots.earlier_turns:
        whole, rest = divmod(n, TURNS)
        lengths = (TURNS,) * whole + ((rest,) if rest else ())
    return Split("test", tuple(items), lengths=lengths)


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(WORDS, k=words))


def _inputs(declared: Dataset, number: int, rng: random.Random, words: int) -> Json:
    if not declared.fields:
        return f"{number} {_text(rng, words)}"
    return {field: f"{number} {_text(rng, words)}" for field in declared.fields}


def _gold(declared: Dataset, number: int, rng: random.Random) -> Json:
    form = declared.answer
    match form.kind:
        case "choice":
            return rng.choice(form.labels)
        case "integer":
            return str(rng.randint(-1000, 1000))
        case "criteria":
            return {name: rng.choice(form.labels) for name in form.criteria}
        case "program":
            return [f"[{number}, {test}]" for test in range(5)]
    if declared.metrics[0] == "j":
        return _text(rng, 5)
    return ";".join(_text(rng, rng.randint(1, 3)) for _ in range(rng.randint(1, 3)))


def _item(declared: Dataset, number: int, rng: random.Random, words: int) -> Item:
    meta: dict[str, Json] = {"id": number + 1}
    if declared.shots.earlier_turns:
        meta = {"dialog_id": number // TURNS, "question_id": number % TURNS}
    for field, values in {
        "domain": ("anatomy", "law", "физика"),
        "question": ("correct", "good", "ethical"),
        "criteria": ("honest", "helpful", "harmless"),
        "task": ("cause", "effect"),
    }.items():
        meta[field] = values[number % len(values)]
    inputs = _inputs(declared, number, rng, words)
    if isinstance(inputs, dict) and "target_group" in inputs:
        inputs["target_group"] = ("women", "nationalities")[number % 2]
    number_or_turn = meta.get("id", f"{meta.get('dialog_id')}/{meta.get('question_id')}")
    assert isinstance(number_or_turn, int | str)
    return Item(number_or_turn, "{inputs}", inputs, _gold(declared, number, rng), meta)  # type: ignore[arg-type] - narrowed above


def _exam_item(declared: Dataset, number: int, rng: random.Random, words: int) -> Item:
    task = EXAM_TASKS[number % 30]
    kind, score = "multiple_choice_independent_options", 1
    gold = ",".join(map(str, sorted(rng.sample(range(1, 10), 3))))
    if task in EXAM_TEXTS:
        kind, gold = "text", ",".join(rng.sample(["слово", "былобы", "тоесть", "кругом"], 2))
    elif task == "26":
        kind, score, gold = "matching", 4, ",".join(map(str, rng.sample(range(1, 10), 4)))
    elif task == "16":
        score = 2
    meta: dict[str, Json] = {
        "id": number,
        "id_task": task,
        "variant": number // 30,
        "score": score,
        "type": kind,
    }
    return Item(number, "{task}", _inputs(declared, number, rng, words), gold, meta)  # type: ignore[arg-type] - a dictionary: USE has fields


def right_answer(declared: Dataset, item: Item) -> Json:
    """What a perfect respondent answers: one of the alternatives, ten right programs."""
    gold = item.outputs
    if declared.answer.kind == "program":
        return [gold] * 10
    if declared.name == "use" and item.meta["type"] != "text":
        return gold
    separator = declared.answer.alternatives
    return gold.split(separator)[-1] if separator and isinstance(gold, str) else gold


def wrong_answer(declared: Dataset, item: Item) -> Json:
    """What earns nothing under every metric: of the right form, and none of the gold's words."""
    if declared.answer.kind == "program":
        assert isinstance(item.outputs, list)
        return [[None] * len(item.outputs)] * 10
    if declared.answer.kind == "criteria":
        # The same answer to everything correlates with nothing.
        return dict.fromkeys(declared.answer.criteria, "0")
    return next((label for label in declared.answer.labels if label != item.outputs), "мимо")


def meta_of(item: Item) -> Json:
    turn = {key: item.meta[key] for key in ("dialog_id", "question_id") if key in item.meta}
    return turn or {"id": item.id}


def documents(declared: Dataset, split: Split, answer) -> list[Json]:
    """The documents of a submission: `answer(declared, item)` for each item, dialogues in lists."""
    rows = [
        [{"outputs": answer(declared, item), "meta": meta_of(item)} for item in turns]
        for turns in split.dialogues()
    ]
    return rows if split.lengths else [row[0] for row in rows]


def write_gold(folder: Path, splits: Mapping[str, Split]) -> Path:
    """`<name>.json` a dataset in a folder of tests."""
    folder.mkdir(parents=True, exist_ok=True)
    for title, split in splits.items():
        write_splits(folder / f"{title.lower()}.json", [split])
    return folder


def write_zip(path: Path, members: Mapping[str, Json | bytes | str]) -> Path:
    """An archive of `<title>.json` with the documents; bytes and texts go in as they are, under their own names."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            if isinstance(content, bytes | str):
                archive.writestr(name, content)
            else:
                text = json.dumps({"data": {"test": content}}, ensure_ascii=False)
                archive.writestr(f"{name}.json", text)
    return path
