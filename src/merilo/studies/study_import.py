"""The import of answers into a study: copies of the files, and one table of answers made of them.

    STUDY/imports/          the files as the platforms exported them, under names that begin with their hash
    STUDY/imports.json      the list of the imported files, and the hash of every table of answers
    STUDY/answers/ARM.jsonl the answers of one group of annotators, a line an answer

The tables follow from the copies and the study's own files, in an order that does not depend on the order of
imports. The list is written last, so an interrupted import leaves the study as it was before, and the next
import writes the tables again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import polars as pl
from pydantic import Field

from merilo.atomic_write import write_bytes, write_text
from merilo.datasets.declaration import Dataset
from merilo.errors import DataError, InputError, OutputError
from merilo.files import opened
from merilo.files import sha256 as file_sha256
from merilo.participation import Participation
from merilo.people.reading import read_responses, recognise
from merilo.people.signals import SIGNAL_COLUMNS, unfolded
from merilo.records import Record
from merilo.responses import INPUT_MARK, SIGNALS, Responses
from merilo.settings import Platform
from merilo.strict_json import Json, indented, read_json
from merilo.studies.platform_rows import FileReplies, file_replies
from merilo.studies.study_folder import StudyFolder
from merilo.studies.study_tasks import ANSWER, ANSWER_FIELDS, PAGE_FIELDS, StudyTask
from merilo.wording import shown

IMPORTS: Final = "imports"
IMPORTS_FILE: Final = "imports.json"
ANSWERS: Final = "answers"

#: The columns of an answer beside the item's input fields; answers with signals have `SIGNAL_COLUMNS` too.
COLUMNS: Final = ("id", "control", *ANSWER_FIELDS)


class ImportedFile(Record):
    """A file that was imported.

    Attributes:
        file: its copy in `imports/`.
        name: the name that it was imported under, without folders.
        sha256: its hash.
        platform: the platform.
        arm: the group of annotators.
        rows: its rows with a task.
        answers: answers to test and control items.
        left_out: reason -> rows that are no answers.
        encoding: its encoding, if it was given.
    """

    file: str
    name: str
    sha256: str
    platform: Platform
    arm: str
    rows: int
    answers: int
    left_out: dict[str, int] = Field(default_factory=dict)
    encoding: str | None = None


class AnswersTable(Record):
    """The table of answers of one group.

    Attributes:
        sha256: its hash.
        answers: how many answers it has; a page that was sent without one has a row too.
        repeated: rows that occur more than once and are counted once, or not if the last takes them back.
        planned_pay: answers on pages whose pay no file states, so that they have the pay of the plan.
        fields: the columns that hold the items' input fields.
    """

    sha256: str
    answers: int
    repeated: int
    planned_pay: int
    fields: tuple[str, ...] = ()


class Imports(Record):
    """Everything that was imported into a study.

    Attributes:
        files: the files, in the order of their import.
        tables: the group of annotators -> its table of answers.
        people: the group of annotators -> how many people came and stayed.
    """

    files: tuple[ImportedFile, ...] = ()
    tables: dict[str, AnswersTable] = Field(default_factory=dict)
    people: dict[str, Participation] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportedStudy:
    """The result of an import.

    Attributes:
        added: the new files.
        known: names of files that had been imported before and were passed over.
        warnings: what the author should know of the new answers, a sentence each.
        imports: everything that was imported.
    """

    added: tuple[ImportedFile, ...]
    known: tuple[str, ...]
    warnings: tuple[str, ...]
    imports: Imports

    def to_dict(self) -> dict[str, Json]:
        """Return the result as JSON: the new files, those known before, and the tables of answers."""
        return {
            "added": [file.to_json() for file in self.added],
            "known": [*self.known],
            "warnings": [*self.warnings],
            "tables": {arm: table.to_json() for arm, table in self.imports.tables.items()},
            "people": {arm: came.came for arm, came in self.imports.people.items()},
        }


def read_imports(folder: StudyFolder) -> Imports:
    """Read the list of imported files; empty if nothing was imported.

    Raises:
        InputError: the list cannot be read.
    """
    path = folder.path / IMPORTS_FILE
    return Imports.read(path) if path.exists() else Imports()


def answers_file(folder: StudyFolder, arm: str) -> Path:
    """Return the path of the table of answers of a group of annotators."""
    return folder.path / ANSWERS / f"{arm}.jsonl"


def imported_table(folder: StudyFolder, arm: str) -> tuple[Path, AnswersTable]:
    """Return the table of answers of a group, after a check that it is the one that the imports made.

    Raises:
        DataError: nothing was imported for the group, or the table was changed since.
    """
    table = read_imports(folder).tables.get(arm)
    path = answers_file(folder, arm)
    if table is None or not table.answers:
        raise DataError(
            f"the study has no answers of the arm '{arm}' yet: import the platform's file with 'merilo study import'",
            file=shown(folder.path),
        )
    if not path.is_file() or file_sha256(path) != table.sha256:
        raise DataError(
            f"is missing or was changed after the import; 'merilo study import {shown(folder.path)}' computes it "
            f"again from {IMPORTS}/",
            file=shown(path),
        )
    return path, table


def import_files(
    folder: StudyFolder,
    paths: Sequence[Path],
    *,
    platform: Platform | None = None,
    encoding: str | None = None,
) -> ImportedStudy:
    """Import files of platforms into a study: all of them or none, and each of them once.

    A file of counts of people, as the site makes it, takes the place of the one imported before. Every file is
    read before anything is written. A file that was imported before changes nothing. Without files, the tables
    of answers are computed again from the copies of the imported files.

    Args:
        folder: the study.
        paths: the files; each is recognised by its header.
        platform: the platform of all files, if it cannot be recognised.
        encoding: the files' encoding, if it is not UTF-8 and not marked.

    Raises:
        InputError: a file cannot be read or is incomplete, or was changed while it was read.
        DataError: a file belongs to another study, or a copy of an imported file was changed.
        OutputError: the study's folder cannot be written.
    """
    tasks = folder.tasks()
    with _importing(folder):
        before = read_imports(folder)
        read = [
            (file, file_replies(folder, tasks, _copy_of(folder, file), file.platform, file.encoding))
            for file in before.files
        ]
        people, seen = dict(before.people), {file.sha256: file.name for file in before.files}
        fresh: list[Path] = []
        known = []
        for path in paths:
            if (counts := _counts_in(folder, path)) is not None:
                people |= counts
                continue
            digest = file_sha256(path)
            if digest in seen:
                known.append(shown(path))
                continue
            seen[digest] = path.name
            source = platform or recognise(path, encoding)
            replies = file_replies(folder, tasks, path, source, encoding)
            described = ImportedFile(
                file=f"{digest[:16]}{path.suffix.lower()}",
                name=shown(path.name),
                sha256=digest,
                platform=source,
                arm=replies.arm,
                rows=replies.rows,
                answers=replies.replies.filter(~pl.col("withdrawn"))["answer"].count(),
                left_out=dict(replies.left_out),
                encoding=encoding,
            )
            fresh.append(path)
            read.append((described, replies))
        _refuse_second_copies(read)
        added = read[len(before.files) :]
        for path, (described, _) in zip(fresh, added, strict=True):
            _keep_copy(folder, path, described)
        return ImportedStudy(
            added=tuple(described for described, _ in added),
            known=tuple(known),
            warnings=tuple(warning for _, replies in added for warning in replies.warnings),
            imports=_write_tables(folder, tasks, read, people),
        )


def _refuse_second_copies(files: Sequence[tuple[ImportedFile, FileReplies]]) -> None:
    """Refuse a page without a server that was answered in two browsers: it is the place of one person."""
    first: dict[str, tuple[str, str]] = {}
    for described, replies in files:
        for respondent, copy in replies.copies.items():
            known, name = first.setdefault(respondent, (copy, described.name))
            if known != copy:
                raise DataError(
                    f"answers {respondent}, which {name} answered in another browser: a page is for one person, so "
                    "import one of the two files only",
                    file=described.name,
                )


def _counts_in(folder: StudyFolder, path: Path) -> dict[str, Participation] | None:
    """Read a file of counts of people: the group of annotators and its counts; `None` for any other file."""
    content = read_json(path) if path.suffix.lower() == ".json" else None
    if not isinstance(content, dict) or content.keys() != {"study", "people"}:
        return None
    arm = next((arm for arm in folder.plan.arms if content["study"] == folder.arm_id(arm)), None)
    if arm is None:
        raise DataError("has counts of people of another study", file=shown(path))
    return {arm: Participation.of_json(content["people"], path)}


@contextmanager
def _importing(folder: StudyFolder) -> Iterator[None]:
    """Hold the study's folder for one import at a time; another import waits."""
    try:
        handle = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise OutputError(f"cannot be opened ({error.strerror})", file=folder.path) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _keep_copy(folder: StudyFolder, path: Path, described: ImportedFile) -> None:
    """Copy a file into the study's `imports/`, unless it was changed after its answers were read."""
    with opened(path) as stream:
        content = stream.read()
    if sha256(content).hexdigest() != described.sha256:
        raise InputError("was changed while it was imported; import it again", file=shown(path))
    write_bytes(folder.path / IMPORTS / described.file, content)


def _copy_of(folder: StudyFolder, known: ImportedFile) -> Path:
    """Return the copy of an imported file, after a check of its hash."""
    path = folder.path / IMPORTS / known.file
    if not path.is_file() or file_sha256(path) != known.sha256:
        raise DataError(
            f"is missing or is not the file that was imported ({known.name}); restore it", file=shown(path)
        )
    return path


def _write_tables(
    folder: StudyFolder,
    tasks: Sequence[StudyTask],
    files: Sequence[tuple[ImportedFile, FileReplies]],
    people: dict[str, Participation],
) -> Imports:
    """Write the tables of answers, and then the list of imported files.

    The files are given in the order of their import.
    """
    tables = {}
    for arm in sorted({known.arm for known, _ in files}):
        text, tables[arm] = _answers_table(folder, arm, tasks, [replies for _, replies in files])
        write_text(answers_file(folder, arm), text)
    imports = Imports(
        files=tuple(known for known, _ in files), tables=tables, **({"people": people} if people else {})
    )
    write_text(folder.path / IMPORTS_FILE, indented(imports.to_json()) + "\n")
    return imports


def _answers_table(
    folder: StudyFolder, arm: str, tasks: Sequence[StudyTask], files: Sequence[FileReplies]
) -> tuple[str, AnswersTable]:
    """Make the table of answers of a group of annotators from the answers of several files.

    Platforms export a whole pool each time, so later files repeat earlier rows. An answer is known by its
    person, task and page; a later file's version replaces an earlier one, and is no answer if the page was rejected
    or skipped. Without pages, equal answers of one person to one task are one.

    Args:
        folder: the study.
        arm: the group.
        tasks: the study's tasks.
        files: the answers of the files, in the order of their import; those of other groups are left out.

    Returns:
        The table as JSON Lines, and its description.
    """
    known = {task.id: task for task in tasks if task.kind != "training"}
    order = pl.Series(list(known), dtype=pl.String)
    every = pl.concat([file.replies for file in files if file.arm == arm], how="vertical_relaxed")
    without_page = pl.when(pl.col("page").is_null()).then(pl.col("answer").fill_null(""))
    group = folder.plan.arms[arm]
    pay = pl.lit(group.pay.per_page, dtype=pl.Float64)
    # Where no file states the pay of a page, it is that of the plan, by the number of tasks on the page.
    on_page = pl.when(pl.col("page").is_null()).then(1).otherwise(pl.len().over("respondent", "page"))
    replies = (
        every.with_columns(without_page.alias("without_page"))
        .unique(["respondent", "task", "page", "without_page"], keep="last", maintain_order=True)
        .filter(~pl.col("withdrawn"))
        .with_columns(
            pl.coalesce("reward", (pay * on_page / group.items_per_page).round(10)),
            planned=pl.col("reward").is_null() & pay.is_not_null(),
            order=pl.col("task").replace_strict(order, pl.int_range(len(order), eager=True)),
        )
        .sort("order", "submitted", "respondent", "page", nulls_last=False, maintain_order=True)
    )
    fields = input_columns(tasks)
    signals = replies[SIGNALS].is_not_null().any()
    lines = []
    for row in replies.iter_rows(named=True):
        task = known[row["task"]]
        lines.append({
            "id": task.item.id,
            **fields[task.id],
            "respondent": row["respondent"],
            "answer": row["answer"],
            "control": task.known,
            "page": row["page"],
            "started": row["started"] and row["started"].isoformat(timespec="milliseconds"),
            "submitted": row["submitted"] and row["submitted"].isoformat(timespec="milliseconds"),
            "seconds": None if row["seconds"] is None else round(row["seconds"], 3),
            "reward": row["reward"],
            **(unfolded(row[SIGNALS]) if signals else {}),
        })  # fmt: skip
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    return text, AnswersTable(
        sha256=sha256(text.encode()).hexdigest(),
        answers=replies["answer"].count(),
        repeated=every.height - int(every["withdrawn"].sum()) - replies.height,
        planned_pay=int(replies["planned"].sum()),
        fields=tuple(dict.fromkeys(name for task in replies["task"] for name in fields[task])),
    )


def read_imported(source: Path | pl.DataFrame, declared: Dataset, item: Sequence[str]) -> Responses:
    """Read imported answers, whose columns are `COLUMNS` and those of the items.

    Args:
        source: a file, or its rows.
        declared: the dataset.
        item: the columns that identify an item.
    """
    same: Any = {name: name for name in (ANSWER, "control", *PAGE_FIELDS)}
    return read_responses(source, platform="table", missing=(), item=item, annotator="respondent", **same)


def input_columns(tasks: Iterable[StudyTask]) -> dict[str, dict[str, Json]]:
    """Return the input fields of every task by its id.

    A field that is called like a column of the answers is marked as an input.
    """
    taken = {*COLUMNS, *SIGNAL_COLUMNS}
    return {
        task.id: {"inputs": inputs}
        if isinstance(inputs := task.item.inputs, str)
        else {f"{INPUT_MARK}{name}" if name in taken else name: value for name, value in inputs.items()}
        for task in tasks
    }
