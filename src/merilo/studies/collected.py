"""The answers that a study has collected: copies of the imported files, and one table of answers made of them.

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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from merilo.atomic_write import write_bytes, write_text
from merilo.errors import DataError, InputError, OutputError
from merilo.files import opened
from merilo.files import sha256 as file_sha256
from merilo.people import platforms
from merilo.people.platforms import Platform
from merilo.responses import INPUT_MARK
from merilo.strict_json import Json, indented, read_json
from merilo.studies.platform_rows import FileReplies, Reply, file_replies
from merilo.studies.study_folder import StudyFolder
from merilo.studies.study_tasks import StudyTasks, study_tasks
from merilo.wording import shown

IMPORTS: Final = "imports"
IMPORTS_FILE: Final = "imports.json"
ANSWERS: Final = "answers"

#: The columns of an answer beside the item's input fields.
COLUMNS: Final = (
    "id",
    "respondent",
    "answer",
    "control",
    "page",
    "started",
    "submitted",
    "seconds",
    "reward",
)


@dataclass(frozen=True, slots=True)
class ImportedFile:
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
    left_out: Mapping[str, int] = field(default_factory=dict)
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class AnswersTable:
    """The table of answers of one group.

    Attributes:
        sha256: its hash.
        answers: its rows.
        repeated: rows that occur in several imported files and are counted once.
        planned_pay: answers on pages whose pay no file states, so that they have the pay of the plan.
        fields: the columns that hold the items' input fields.
    """

    sha256: str
    answers: int
    repeated: int
    planned_pay: int
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Imports:
    """Everything that was imported into a study.

    Attributes:
        files: the files, in the order of their import.
        tables: the group of annotators -> its table of answers.
    """

    files: tuple[ImportedFile, ...] = ()
    tables: Mapping[str, AnswersTable] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportedStudy:
    """The result of an import.

    Attributes:
        added: the new files.
        known: names of files that had been imported before and were passed over.
        imports: everything that the study has collected.
    """

    added: tuple[ImportedFile, ...]
    known: tuple[str, ...]
    imports: Imports

    def to_dict(self) -> dict[str, Json]:
        """Return the result as JSON: the new files, those known before, and the tables of answers."""
        tables = self.imports.tables
        return {
            name: to_jsonable_python(value)
            for name, value in (("added", self.added), ("known", self.known), ("tables", tables))
        }


def read_imports(folder: StudyFolder) -> Imports:
    """Read the list of imported files; empty if nothing was imported.

    Raises:
        InputError: the list cannot be read.
    """
    path = folder.path / IMPORTS_FILE
    if not path.exists():
        return Imports()
    try:
        return TypeAdapter(Imports).validate_python(read_json(path))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"is not a list of imported files: {first['msg'].lower()}", file=path, field=where
        ) from None


def answers_file(folder: StudyFolder, arm: str) -> Path:
    """Return the path of the table of answers of a group of annotators."""
    return folder.path / ANSWERS / f"{arm}.jsonl"


def collected_table(folder: StudyFolder, arm: str) -> tuple[Path, AnswersTable]:
    """Return the table of answers of a group, after a check that it is the one that the imports made.

    Raises:
        DataError: nothing was imported for the group, or the table was changed since.
    """
    made = read_imports(folder).tables.get(arm)
    path = answers_file(folder, arm)
    if made is None:
        raise DataError(
            f"the study has no answers of the arm '{arm}' yet: import the platform's file with 'merilo study import'",
            file=shown(folder.path),
        )
    if not path.is_file() or file_sha256(path) != made.sha256:
        raise DataError(
            "is missing or was changed after the import; 'merilo study import "
            f"{shown(folder.path)}' computes it again from "
            f"{IMPORTS}/",
            file=shown(path),
        )
    return path, made


def import_files(
    folder: StudyFolder,
    paths: Sequence[Path],
    *,
    platform: Platform | None = None,
    encoding: str | None = None,
) -> ImportedStudy:
    """Import files of platforms into a study: all of them or none, and each of them once.

    Every file is read before anything is written. A file that was imported before changes nothing. Without
    files, the tables of answers are computed again from the copies of the imported files.

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
    tasks = study_tasks(folder)
    arms = {tasks.ids.study(arm): arm for arm in folder.plan.arms}
    with _importing(folder):
        read = [
            (one, file_replies(_copy_of(folder, one), tasks, arms, one.platform, one.encoding))
            for one in read_imports(folder).files
        ]
        seen = {one.sha256 for one, _ in read}
        fresh: list[tuple[Path, ImportedFile, FileReplies]] = []
        known = []
        for path in paths:
            digest = file_sha256(path)
            if digest in seen:
                known.append(shown(path))
                continue
            seen.add(digest)
            source = platform or platforms.recognise(path, encoding)
            held = file_replies(path, tasks, arms, source, encoding)
            described = ImportedFile(
                file=f"{digest[:16]}{path.suffix.lower()}",
                name=shown(path.name),
                sha256=digest,
                platform=source,
                arm=held.arm,
                rows=held.rows,
                answers=len(held.replies),
                left_out=held.left_out,
                encoding=encoding,
            )
            fresh.append((path, described, held))
        for path, described, _ in fresh:
            _keep_copy(folder, path, described)
        read += [(described, held) for _, described, held in fresh]
        added = tuple(described for _, described, _ in fresh)
        return ImportedStudy(added, tuple(known), _write_tables(folder, tasks, read))


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


def merged(read: Sequence[FileReplies], arm: str) -> tuple[list[Reply], int]:
    """Merge the answers of several files of one group of annotators.

    Platforms export a whole pool each time, so later files repeat earlier rows. An answer is known by its
    person, task and page; a later file's version replaces an earlier one. Without pages, equal answers of one
    person to one task are one.

    Returns:
        The answers, and how many rows were repeated.
    """
    found: dict[tuple[str, ...], Reply] = {}
    rows = 0
    for one in read:
        if one.arm != arm:
            continue
        for reply in one.replies:
            rows += 1
            page = ("page", reply.page) if reply.page is not None else ("answer", reply.answer or "")
            found[reply.respondent, reply.task, *page] = reply
    return list(found.values()), rows - len(found)


def _write_tables(
    folder: StudyFolder, tasks: StudyTasks, files: Sequence[tuple[ImportedFile, FileReplies]]
) -> Imports:
    """Write the tables of answers, and then the list of imported files.

    The files are given in the order of their import.
    """
    tables = {}
    fields = input_columns(folder, tasks)
    for arm in sorted({known.arm for known, _ in files}):
        replies, repeated = merged([held for _, held in files], arm)
        text, planned = answers_table(folder, arm, tasks, replies, fields)
        write_text(answers_file(folder, arm), text)
        names = dict.fromkeys(name for reply in replies for name in fields[reply.task])
        tables[arm] = AnswersTable(
            sha256(text.encode()).hexdigest(), len(replies), repeated, planned, tuple(names)
        )
    made = Imports(tuple(known for known, _ in files), tables)
    write_text(folder.path / IMPORTS_FILE, indented(to_jsonable_python(made)) + "\n")
    return made


def answers_table(
    folder: StudyFolder,
    arm: str,
    tasks: StudyTasks,
    replies: Sequence[Reply],
    fields: Mapping[str, Mapping[str, Json]],
) -> tuple[str, int]:
    """Make the table of answers of a group of annotators.

    Args:
        folder: the study.
        arm: the group.
        tasks: the study's tasks.
        replies: the group's answers, each once.
        fields: the input fields of every task, from `input_columns`.

    Returns:
        The table as JSON Lines, and how many answers have the pay of the plan.
    """
    order = {task.id: number for number, task in enumerate((*tasks.tests, *tasks.controls))}
    known = {task.id: task for task in (*tasks.tests, *tasks.controls)}
    rewards, planned = _rewards(folder, arm, replies)
    lines = []
    for place in sorted(
        range(len(replies)), key=lambda place: (order[replies[place].task], *_when(replies[place]))
    ):
        reply = replies[place]
        task = known[reply.task]
        lines.append({
            "id": task.item,
            **fields[reply.task],
            "respondent": reply.respondent,
            "answer": reply.answer,
            "control": task.known,
            "page": reply.page,
            "started": None if reply.started is None else reply.started.isoformat(timespec="milliseconds"),
            "submitted": None if reply.submitted is None else reply.submitted.isoformat(timespec="milliseconds"),
            "seconds": reply.seconds,
            "reward": rewards[place],
        })  # fmt: skip
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), planned


def _when(reply: Reply) -> tuple[str, str, str]:
    submitted = "" if reply.submitted is None else reply.submitted.isoformat()
    return submitted, reply.respondent, reply.page or ""


def input_columns(folder: StudyFolder, tasks: StudyTasks) -> dict[str, dict[str, Json]]:
    """Return the input fields of every task by its id.

    A field that is called like a column of the answers is marked as an input.
    """
    found: dict[str, dict[str, Json]] = {}
    both = ((tasks.tests, folder.items()), (tasks.controls, folder.controls()))
    for asked, items in both:
        for task, shown_item in zip(asked, items, strict=True):
            inputs = shown_item.item.inputs
            own = {"inputs": inputs} if isinstance(inputs, str) else dict(inputs)
            found[task.id] = {
                f"{INPUT_MARK}{name}" if name in COLUMNS else name: value for name, value in own.items()
            }
    return found


def _rewards(folder: StudyFolder, arm: str, replies: Sequence[Reply]) -> tuple[list[float | None], int]:
    """The pay of each answer's page.

    Where no file states it, the pay of the plan, by the number of tasks on the page.
    """
    group = folder.plan.arms[arm]
    pay = group.pay.per_page
    on_page: dict[tuple[str, str], int] = {}
    for reply in replies:
        if reply.page is not None:
            on_page[reply.respondent, reply.page] = on_page.get((reply.respondent, reply.page), 0) + 1
    rewards, planned = [], 0
    for reply in replies:
        reward = reply.reward
        if reward is None and pay is not None:
            tasks = 1 if reply.page is None else on_page[reply.respondent, reply.page]
            reward = round(pay * tasks / group.items_per_page, 10)
            planned += 1
        rewards.append(reward)
    return rewards, planned
