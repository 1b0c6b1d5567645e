"""Write submissions from files of answers."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from merilo.answer_tables import ItemAnswer, read_sheet
from merilo.datasets import CATALOGUE, Dataset, dataset
from merilo.errors import InputError, OutputError, argument
from merilo.models.run_folder import is_run, read_run
from merilo.strict_json import Json
from merilo.submissions.evaluation import stem_of

_LONGEST_NUMBER: Final = 19
#: The fixed date of archive members, so that the same answers give the same bytes.
_DATE: Final = (1980, 1, 1, 0, 0, 0)
_SUFFIXES: Final = (".jsonl", ".json", ".csv", ".tsv")


def pack(run: Path, out: Path, own: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Pack a folder of answers into a submission.

    Args:
        run: holds a file of answers for each dataset, `<name>.jsonl` (JSON, CSV and TSV too), in any letter case:
            records of `id` and `answer`, as `merilo.answer_tables` reads them. Or it is the folder of a run, of which
            the first sample of each item is taken.
        out: the archive to write.
        own: the declarations of one's own datasets; those of a run are known.

    Returns:
        The titles of the packed datasets, and the names of the files that match none; a run has files of its own.

    Raises:
        InputError: there is no such folder, no file of answers in it, or a file cannot be read.
        OutputError: the archive cannot be written.
    """
    if not run.is_dir():
        raise InputError("there is no such folder of answers", file=run)
    asked = read_run(run).record.datasets.values() if is_run(run) else ()
    declared = map(dataset, [*(record.declaration for record in asked), *own])
    known = {**CATALOGUE, **{entry.name.lower(): entry for entry in declared}}
    files: dict[str, Path] = {}
    unknown = []
    for file in sorted(path for path in run.iterdir() if path.suffix.lower() in _SUFFIXES):
        if (name := file.stem.lower()) in known:
            if (other := files.setdefault(name, file)) != file:
                raise InputError(f"has answers to the same dataset as {other.name}", file=file)
        elif not is_run(run):
            unknown.append(file.name)
    if not files:
        raise InputError(
            "has no file of answers, such as lcs.jsonl with lines of 'id' and 'answer'; the declaration of your own "
            f"dataset is named with {argument('datasets', 'FILE')}",
            file=run,
        )
    packed = [(known[name], _first_samples(read_sheet(file))) for name, file in files.items()]
    write_archive(out, {stem_of(entry): _documents(entry, answers) for entry, answers in packed})
    return [entry.title for entry, _ in packed], unknown


def _first_samples(answers: Sequence[ItemAnswer]) -> list[ItemAnswer]:
    first: dict[str, ItemAnswer] = {}
    for answer in answers:
        first.setdefault(answer.item, answer)
    return [*first.values()]


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


def _documents(declared: Dataset, answers: Sequence[ItemAnswer]) -> Json:
    """Return the documents of a dataset; turns of a dialogue are in one list."""
    documents = [_document(declared, record.item, record.answer) for record in answers]
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
