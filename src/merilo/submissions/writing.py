"""Write submissions from files of answers, and random sample submissions."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Final

from merilo.datasets import Dataset, dataset, names
from merilo.datasets.ready_items import BUNDLED
from merilo.errors import InputError, OutputError
from merilo.items import Item, Split
from merilo.metrics.answers import program_golds
from merilo.models.run_folder import is_run
from merilo.models.sheets import read_sheet
from merilo.strict_json import Json
from merilo.submissions.evaluation import GoldItems, read_gold

_LONGEST_NUMBER: Final = 19
#: The fixed date of archive members, so that the same answers give the same bytes.
_DATE: Final = (1980, 1, 1, 0, 0, 0)
_SUFFIXES: Final = (".jsonl", ".json", ".csv", ".tsv")
#: How many words a random free answer has.
_WORDS: Final = 2


def pack(run: Path, out: Path) -> list[str]:
    """Pack a folder of answers into a submission.

    Args:
        run: holds a file of answers for each dataset, `<name>.jsonl` (JSON, CSV and TSV too), in any letter
            case: records of `id` and `answer`, as `merilo.models.sheets` reads them. Files that match no
                dataset are ignored. Or it
            is the folder of a run, of which the first sample of each item is taken.
        out: the archive to write.

    Returns:
        The titles of the packed datasets.

    Raises:
        InputError: there is no such folder, no file of answers in it, or a file cannot be read.
        OutputError: the archive cannot be written.
    """
    if not run.is_dir():
        raise InputError("there is no such folder of answers", file=run)
    files: dict[str, Path] = {}
    for file in sorted(run.iterdir()):
        if file.suffix.lower() in _SUFFIXES and file.stem.lower() in names():
            if file.stem.lower() in files:
                other = files[file.stem.lower()].name
                raise InputError(f"has answers to the same dataset as {other}", file=file)
            files[file.stem.lower()] = file
    if not files:
        raise InputError(
            "has no file of answers, such as lcs.jsonl with lines of 'id' and 'answer'", file=run
        )
    members = {
        dataset(name).title: _documents(dataset(name), read_sheet(file, first_sample=is_run(run)).answers)
        for name, file in files.items()
    }
    write_archive(out, members)
    return list(members)


def sample(gold: Mapping[str, GoldItems], out: Path, seed: int) -> list[str]:
    """Write a random submission that is valid: it answers every item, in the right form.

    Args:
        gold: the datasets and their items; the gold answers are not used, except the results of programs, from
            which random results are drawn.
        out: the archive to write.
        seed: random seed; the same seed gives the same bytes.

    Returns:
        The titles of the datasets in the submission.

    Raises:
        OutputError: the archive cannot be written.
    """
    rng = random.Random(seed)  # noqa: S311 - nothing secret
    members = {title: _sample_documents(one.dataset, one.split, rng) for title, one in gold.items()}
    write_archive(out, members)
    return list(members)


def examples() -> dict[str, GoldItems]:
    """Return the bundled examples of every dataset, with their gold answers."""
    return read_gold(BUNDLED)


def write_archive(out: Path, members: Mapping[str, Json]) -> None:
    """Write a submission reproducibly: one `<title>.json` per dataset, `{"data": {"test": documents}}`.

    Raises:
        OutputError: the archive cannot be written.
    """
    try:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for title, documents in members.items():
                text = json.dumps({"data": {"test": documents}}, ensure_ascii=False, allow_nan=False)
                info = zipfile.ZipInfo(f"{title}.json", _DATE)
                info.external_attr = 0o644 << 16
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, text.encode())
    except OSError as error:
        raise OutputError(f"cannot be written ({error.strerror})", file=out) from error


def _documents(declared: Dataset, answers: Mapping[str, Json]) -> Json:
    """Return the documents of a dataset; turns of a dialogue are in one list."""
    documents = [_document(declared, name, answer) for name, answer in answers.items()]
    if not declared.shots.earlier_turns:
        return list(documents)
    return [list(turns) for _, turns in groupby(documents, key=_dialogue)]


def _document(declared: Dataset, name: str, answer: Json) -> dict[str, Json]:
    outputs = str(answer) if isinstance(answer, int) and not isinstance(answer, bool) else answer
    if declared.answer.kind == "criteria" and isinstance(outputs, str):
        outputs = dict.fromkeys(declared.answer.criteria, outputs)
    meta: dict[str, Json] = {"id": _number(name)}
    if declared.shots.earlier_turns and "/" in name:
        dialogue, _, question = name.partition("/")
        meta = {"dialog_id": _number(dialogue), "question_id": _number(question)}
    return {"outputs": outputs, "meta": meta}


def _number(name: str) -> Json:
    """Convert an id to the benchmark's form: an integer if possible."""
    plain = name.isascii() and name.isdecimal() and len(name) < _LONGEST_NUMBER and not name.startswith("0")
    return int(name) if plain or name == "0" else name


def _dialogue(document: Mapping[str, Json]) -> str:
    meta = document["meta"]
    return str(meta.get("dialog_id")) if isinstance(meta, dict) else ""


def _sample_documents(declared: Dataset, split: Split, rng: random.Random) -> Json:
    if not split.lengths:
        return [_sample_document(declared, item, rng) for item in split]
    return [[_sample_document(declared, item, rng) for item in turns] for turns in split.dialogues()]


def _sample_document(declared: Dataset, item: Item, rng: random.Random) -> Json:
    keys = ("dialog_id", "question_id") if {"dialog_id", "question_id"} <= item.meta.keys() else ()
    meta: dict[str, Json] = {key: item.meta[key] for key in keys} or {"id": item.id}
    return {"outputs": _sample_answer(declared, item, rng), "meta": meta}


def _sample_answer(declared: Dataset, item: Item, rng: random.Random) -> Json:
    form = declared.answer
    match form.kind:
        case "choice":
            return rng.choice(form.labels)
        case "criteria":
            return {name: rng.choice(form.labels) for name in form.criteria}
        case "integer":
            return str(rng.randint(-1000, 1000))
        case "program":
            return _sample_generations(declared, item, rng)
    if "grade_norm" in declared.metrics and item.meta.get("type") != "text":
        count = 4 if item.meta.get("type") == "matching" else rng.randint(1, 3)
        return ",".join(str(number) for number in rng.sample(range(1, 10), count))
    return " ".join(rng.choices(_words(item), k=_WORDS))


def _sample_generations(declared: Dataset, item: Item, rng: random.Random) -> Json:
    results = program_golds(item)
    most = max(int(metric.removeprefix("pass@")) for metric in declared.metrics)
    return [[rng.choice(results) for _ in results] for _ in range(most)]


def _words(item: Item) -> list[str]:
    texts: Iterable[Json] = [item.inputs] if isinstance(item.inputs, str) else item.inputs.values()
    return [word for text in texts if isinstance(text, str) for word in text.split()] or ["—"]
