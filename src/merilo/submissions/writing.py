"""Write submissions from files of answers."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from merilo.answer_tables import ItemAnswer
from merilo.datasets import Dataset, dataset, names
from merilo.errors import InputError, OutputError
from merilo.models.reply_answers import read_sheet
from merilo.models.run_folder import RECORD_FILE, is_run
from merilo.strict_json import Json

_LONGEST_NUMBER: Final = 19
#: The fixed date of archive members, so that the same answers give the same bytes.
_DATE: Final = (1980, 1, 1, 0, 0, 0)
_SUFFIXES: Final = (".jsonl", ".json", ".csv", ".tsv")


def pack(run: Path, out: Path) -> list[str]:
    """Pack a folder of answers into a submission.

    Args:
        run: holds a file of answers for each dataset, `<name>.jsonl` (JSON, CSV and TSV too), in any letter
            case: records of `id` and `answer`, as `merilo.answer_tables` reads them. Files that match no
                dataset are ignored. Or it
            is the folder of a run, of which the first sample of each item is taken.
        out: the archive to write.

    Returns:
        The titles of the packed datasets; `unknown_files` names the files that match none.

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
        dataset(name).title: _documents(dataset(name), read_sheet(file, first_sample=is_run(run)))
        for name, file in files.items()
    }
    write_archive(out, members)
    return list(members)


def unknown_files(run: Path) -> list[str]:
    """Return the names of files in a folder of answers that could hold answers, and match no dataset."""
    files = (file for file in sorted(run.iterdir()) if file.suffix.lower() in _SUFFIXES)
    return [file.name for file in files if file.stem.lower() not in names() and file.name != RECORD_FILE]


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
