"""Export a study to a platform: the files of its tasks, for everybody or for each expert apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pydantic_core import to_jsonable_python

from merilo.atomic_write import new_folder, write_files
from merilo.errors import DataError, InputError, OutputError, UsageError, argument
from merilo.files import read_table, sha256
from merilo.people.platforms import NAMES
from merilo.settings import Platform
from merilo.strict_json import Json, indented
from merilo.studies.plan_file import plan_path
from merilo.studies.plan_types import Arm
from merilo.studies.platform_tasks import PLATFORM_FILES, Outgoing
from merilo.studies.study_folder import StudyFolder
from merilo.studies.study_tasks import author_field, expert_domains, in_domains, nothing_left, study_tasks
from merilo.text import Language
from merilo.wording import listed

#: What describes an exported folder.
EXPORT_FILE: Final = "export.json"


@dataclass(frozen=True, slots=True)
class ExportedSheet:
    """The files for everybody, or for one expert.

    Attributes:
        folder: their folder below the export; empty if they are for everybody.
        respondent: the expert; empty if anybody may answer.
        tests: items of the test.
        left_out: items of the test that the expert wrote.
        domains: the domains of the items; empty if they are not divided by domain.
        files: names of the files.
    """

    folder: str
    respondent: str
    tests: int
    left_out: int
    domains: tuple[str, ...]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExportedStudy:
    """The result of an export.

    Attributes:
        platform: the platform.
        arm: the group of annotators.
        overlap: how many people must answer a task.
        controls: control items in each sheet.
        training: training items in each sheet.
        sheets: the sheets.
        author_field: the field of `meta` by which experts' own items were left out; `None` if authorship is not known.
    """

    platform: Platform
    arm: str
    overlap: int
    controls: int
    training: int
    sheets: tuple[ExportedSheet, ...]
    author_field: str | None = None

    def to_dict(self) -> dict[str, Json]:
        """Return the description as JSON; it names no known answer and tells no author of an item."""
        content: dict[str, Json] = to_jsonable_python(self)
        return content


def arm_of(folder: StudyFolder, name: str | None) -> tuple[str, Arm]:
    """Find a group of annotators in the plan: by its name, else `people`, else the only one.

    Raises:
        UsageError: the plan has no such group, or several and none is called `people`.
    """
    arms = folder.plan.arms
    wanted = name or ("people" if "people" in arms or len(arms) != 1 else next(iter(arms)))
    if wanted not in arms:
        raise UsageError(f"the study has no arm '{wanted}', only {listed(list(arms))}", field=argument("arm"))
    return wanted, arms[wanted]


def export_study(
    folder: StudyFolder,
    platform: Platform,
    out: Path,
    *,
    arm: str | None = None,
    language: str | None = None,
    media_url: str = "",
    experts: Sequence[str] = (),
    domains: Sequence[str] = (),
    force: bool = False,
) -> ExportedStudy:
    """Write the files of a study for a platform into a new folder.

    Args:
        folder: the study.
        platform: the platform.
        out: the folder.
        arm: the group of annotators; `people` by default.
        language: the language of the instruction; by default, the first of the plan.
        media_url: the address of the folder `samples/`, for datasets with pictures and sounds.
        experts: experts who get a sheet; by default, all authors.
        domains: the domains whose items are written. By default, if the plan has domains, each expert gets
            those in which they wrote items; without known authors, each domain has a sheet.
        force: replace an existing folder.

    Returns:
        What was exported.

    Raises:
        UsageError: the plan has no such arm, language or domain, or experts are named in an arm that skips nothing.
        DataError: the platform cannot show the tasks, an item cannot be rendered, or
            an expert wrote all items.
        OutputError: the folder exists or cannot be written.
    """
    name, group = arm_of(folder, arm)
    if experts and not group.skip_own:
        raise UsageError(
            f"{argument('expert')} needs an arm with skip_own: true in study.yaml, and '{name}' has none"
        )
    field = author_field(folder.items()) if group.skip_own else None
    everybody = outgoing_study(folder, platform, name, language=language, media_url=media_url, authors=field)
    sheets: list[ExportedSheet] = []
    texts: dict[str, bytes] = {}
    cut = _cut(everybody, experts, domains, known=field is not None)
    for number, (outgoing, chosen, left_out) in enumerate(cut, start=1):
        place = _subfolder(number, outgoing.respondent or "-".join(chosen))
        files = PLATFORM_FILES[platform](outgoing)
        texts |= {Path(place, file).as_posix(): text.encode() for file, text in files.items()}
        whose, tests = outgoing.respondent, len(outgoing.tests)
        sheets.append(ExportedSheet(place, whose, tests, left_out, chosen, tuple(files)))
    controls = 0 if everybody.dialogue else len(everybody.controls)
    export = ExportedStudy(
        platform, name, group.overlap, controls, len(everybody.training), tuple(sheets), field
    )
    described = {"study": everybody.study, "plan_sha256": sha256(plan_path(folder.path)), **export.to_dict()}
    if force:
        _refuse_filled(out)
    with new_folder(out, force=force) as hidden:
        write_files(hidden, {**texts, EXPORT_FILE: (indented(described) + "\n").encode()})
    return export


def _refuse_filled(out: Path) -> None:
    """Refuse to replace tables that people have filled in.

    Raises:
        OutputError: a table below the folder has answers, or another program saved it in a form that cannot be read.
    """
    for path in sorted(out.rglob("tasks*.csv")):
        try:
            table = read_table(path, keep="answer".__eq__).data
        except InputError as error:
            raise OutputError(
                "was changed and cannot be read: export to another folder", file=path
            ) from error
        if "answer" in table.columns and (table["answer"].str.strip_chars() != "").any():
            raise OutputError("has answers: import it, or export to another folder", file=path)


def outgoing_study(
    folder: StudyFolder,
    platform: Platform,
    name: str,
    *,
    language: str | None = None,
    media_url: str = "",
    authors: str | None = None,
) -> Outgoing:
    """Return the tasks of a group of annotators as a platform shows them.

    Args:
        folder: the study.
        platform: the platform.
        name: the group of annotators.
        language: the language of the instruction; by default, the first of the plan.
        media_url: the address of the folder `samples/`.
        authors: the field of `meta` that names the authors of an item; by default, authors are not known.

    Raises:
        UsageError: the plan has no such language.
        DataError: the platform cannot show the tasks, or an item cannot be rendered.
    """
    arm = folder.plan.arms[name]
    tasks = study_tasks(folder, author_field=authors, arm=arm)
    chosen: Language = "en" if (language or folder.plan.languages[0]) == "en" else "ru"
    if language is not None and language not in folder.plan.instruction:
        raise UsageError(
            f"the study has no instruction in '{language}', only in {listed(list(folder.plan.instruction))}",
            field=argument("language"),
        )
    outgoing = Outgoing(
        study=tasks.ids.study(name),
        folder=folder,
        arm=arm,
        language=chosen,
        tests=tasks.tests,
        controls=tasks.controls,
        training=tasks.training,
        media_url=media_url,
    )
    _refuse_unfit(outgoing, platform)
    return outgoing


def _refuse_unfit(outgoing: Outgoing, platform: Platform) -> None:
    if not outgoing.tests:
        raise DataError("the study has no items to export")
    if outgoing.dialogue and platform not in {"abc", "table"}:
        raise DataError(
            f"the items are turns of dialogues, which one person must answer in order, and {NAMES[platform]} shows "
            f"tasks in any order; export to ABC Elementary ({argument('platform', 'abc', given='abc')}) or to tables "
            f"({argument('platform', 'csv', given='csv')})"
        )


def _cut(
    everybody: Outgoing, experts: Sequence[str], domains: Sequence[str], *, known: bool
) -> list[tuple[Outgoing, tuple[str, ...], int]]:
    """Return the tasks of each expert without their own items, else those of each domain, else all.

    With their domains, and the number of items that were left out.
    """
    there = tuple(sorted({task.domain for task in everybody.tests} - {""}))
    if strange := [name for name in domains if name not in there]:
        why = f"choose from: {listed(there)}" if there else "the plan names no field of domains"
        raise UsageError(f"there is no domain '{strange[0]}' ({why})", field=argument("domain"))
    authors = sorted({author for task in everybody.tests for author in task.authors})
    sheets = []
    for name in dict.fromkeys(experts) or (authors if known else []):
        chosen = expert_domains(everybody.tests, name, domains)
        scope = [task for task in everybody.tests if not chosen or task.domain in chosen]
        tests = tuple(task for task in scope if name not in task.authors)
        if tests:
            own = _known_of(replace(everybody, tests=tests, respondent=name), chosen)
            sheets.append((own, chosen, len(scope) - len(tests)))
        elif scope and (not domains or experts):
            raise nothing_left(everybody.tests, name, chosen)
    for domain in () if sheets else domains or there:
        tests = tuple(task for task in everybody.tests if task.domain == domain)
        sheets.append((_known_of(replace(everybody, tests=tests), (domain,)), (domain,), 0))
    return sheets or [(everybody, (), 0)]


def _known_of(sheet: Outgoing, domains: Sequence[str]) -> Outgoing:
    """Return a sheet with the control and training items of its domains, without control items of its expert."""
    controls, training = (in_domains(tasks, domains) for tasks in (sheet.controls, sheet.training))
    foreign = tuple(task for task in controls if sheet.respondent not in task.authors)
    return replace(sheet, controls=foreign, training=training)


def _subfolder(number: int, whose: str) -> str:
    """The folder of a sheet; a name of a person or a domain keeps only letters and digits."""
    name = re.sub(r"[^\w]+", "-", whose).strip("-")[:40]
    return f"{number:02d}-{name or 'expert'}" if whose else ""
