"""Import the files of platforms into a study: all of them or none, and each of them once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from merilo.files import sha256
from merilo.people import platforms
from merilo.people.platforms import Platform
from merilo.strict_json import Json
from merilo.studies.collected import (
    ImportedFile,
    Imports,
    copy_of,
    importing,
    keep_copy,
    read_imports,
    write_tables,
)
from merilo.studies.platform_rows import FileReplies, file_replies
from merilo.studies.study_folder import StudyFolder
from merilo.studies.study_tasks import StudyTasks, study_tasks
from merilo.wording import shown


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
        return {
            "added": [{**asdict(one), "left_out": dict(one.left_out)} for one in self.added],
            "known": list(self.known),
            "tables": {
                arm: {**asdict(table), "fields": [*table.fields]}
                for arm, table in self.imports.tables.items()
            },
        }


def import_files(
    folder: StudyFolder,
    paths: Sequence[Path],
    *,
    platform: Platform | None = None,
    encoding: str | None = None,
) -> ImportedStudy:
    """Import files of platforms into a study.

    Every file is read before anything is written. A file that was imported before changes nothing. Without files, the tables
    of answers are computed again from the copies of the imported files.

    Args:
        folder: the study.
        paths: the files; each is recognised by its header.
        platform: the platform of all files, if it cannot be recognised.
        encoding: the files' encoding, if it is not UTF-8 and not marked.

    Raises:
        InputError: a file cannot be read or is incomplete.
        DataError: a file belongs to another study, or a copy of an imported file was changed.
        OutputError: the study's folder cannot be written.
    """
    tasks = study_tasks(folder)
    arms = {tasks.ids.study(arm): arm for arm in folder.plan.arms}
    with importing(folder):
        before = read_imports(folder)
        read = [(known, _read_again(folder, known, tasks, arms)) for known in before.files]
        seen = {known.sha256 for known in before.files}
        fresh: list[tuple[Path, ImportedFile, FileReplies]] = []
        known = []
        for path in paths:
            digest = sha256(path)
            if digest in seen:
                known.append(shown(path))
                continue
            seen.add(digest)
            source = platform or platforms.recognise(path, encoding)
            held = file_replies(path, tasks, arms, source, encoding)
            fresh.append((path, _described(path, digest, source, held, encoding), held))
        added = []
        for path, described, held in fresh:
            kept = replace(described, file=keep_copy(folder, path, described.sha256))
            added.append(kept)
            read.append((kept, held))
        return ImportedStudy(tuple(added), tuple(known), write_tables(folder, tasks, read))


def _read_again(
    folder: StudyFolder, known: ImportedFile, tasks: StudyTasks, arms: dict[str, str]
) -> FileReplies:
    return file_replies(copy_of(folder, known), tasks, arms, known.platform, known.encoding)


def _described(
    path: Path, digest: str, platform: Platform, held: FileReplies, encoding: str | None
) -> ImportedFile:
    return ImportedFile(
        file="",
        name=shown(path.name),
        sha256=digest,
        platform=platform,
        arm=held.arm,
        rows=held.rows,
        answers=len(held.replies),
        left_out=held.left_out,
        encoding=encoding,
    )
