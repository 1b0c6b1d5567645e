"""What the commands of a study print: the created study, its plan, exports and imports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from merilo.people.platforms import NAMES
from merilo.reports.table import Percent, Table
from merilo.studies.creation import CreatedStudy
from merilo.studies.plan import Plan
from merilo.studies.plan_checks import StudyCheck
from merilo.studies.plan_figures import PlanFigures, plan_rows, plan_sentences
from merilo.studies.platform_files import ExportedStudy
from merilo.studies.study_import import ImportedStudy
from merilo.wording import counted_noun

if TYPE_CHECKING:
    from merilo.cli.output import Part
    from merilo.site.offline_pages import ExportedPages

#: How many differences between control items and the test are printed; the JSON has all shares.
_SHARES: Final = 6


def created_parts(created: CreatedStudy) -> Iterator[Part]:
    """Yield a created study and its computed plan."""
    subset, source = created.subset, created.source
    yield (
        f"{source.declared.title}: {len(subset.items)} of {subset.section.of} items; arms: "
        f"{', '.join(created.folder.plan.arms)} ({source.audience} test: {source.audience_from})"
    )
    if subset.section.method != "all" and (largest := subset.largest_deviation):
        yield (
            f"Fields kept: {', '.join(field.name for field in subset.fields)}; the largest deviation is "
            f"{largest.deviation:+.2f} percentage points ({largest.field} = {largest.value})"
        )
    if created.shares:
        largest_first = sorted(created.shares, key=lambda share: -abs(share.deviation))[:_SHARES]
        rows = (
            (f"{share.field}: {share.value}", Percent(share.share), Percent(share.chosen_share))
            for share in largest_first
        )
        title = "Largest differences between the test and its control items"
        yield Table(title, ("", "of the test", "of the controls"), tuple(rows))
    yield from _plan(created.folder.plan, created.figures)
    yield f"{created.folder.path} is ready: edit study.yaml and the instructions, then validate and freeze it"


def _plan(plan: Plan, figures: PlanFigures) -> Iterator[Part]:
    rows = tuple((name, *cells) for name, cells in plan_rows(plan, figures))
    yield Table(f"Plan of the study {plan.study}", ("", *figures.arms), rows)
    yield from plan_sentences(figures)


def check_parts(check: StudyCheck, folder: Path) -> Iterator[Part]:
    """Yield the computed plan of a valid study, and the problems of another one."""
    if check.valid and check.study is not None and check.figures is not None:
        yield from _plan(check.study.plan, check.figures)
    yield from (f"warning: {warning}" for warning in check.warnings)
    yield from (problem.on_command_line for problem in check.problems)
    invalid = f"invalid: {counted_noun(len(check.problems), 'problem', 'problems')}"
    yield f"{folder}: {'valid' if check.valid else invalid}"


def export_parts(export: ExportedStudy, out: Path) -> Iterator[Part]:
    """Yield what was exported, a line a sheet."""
    beside = (
        f"{counted_noun(export.controls, 'control item', 'control items')}, "
        f"{counted_noun(export.training, 'training item', 'training items')}"
    )
    for sheet in export.sheets:
        whom, own = "", ""
        if sheet.respondent:
            whom = f" for {sheet.respondent}"
            own = f", without {counted_noun(sheet.left_out, 'item', 'items')} of their own"
        items = counted_noun(sheet.tests, "item", "items")
        yield f"{NAMES[export.platform]}{whom}: {items}{own}, {beside}; files: {', '.join(sheet.files)}"
    if any(sheet.respondent for sheet in export.sheets):
        yield f"Each file is for the person whom it names. The files: {out}"
    else:
        people = counted_noun(export.overlap, "person answers", "people answer")
        yield f"Set the overlap to {export.overlap}: {people} each task. The files: {out}"


def page_parts(pages: ExportedPages, out: Path) -> Iterator[Part]:
    """Yield how many places a study without a server has, and what to do with their pages."""
    tests = sorted(place.tests for place in pages.places)
    every = "" if pages.named else f", every item on {counted_noun(pages.overlap, 'page', 'pages')}"
    least = "" if tests[0] == tests[-1] else f"{tests[0]} to "
    items = counted_noun(tests[-1], "item", "items")
    yield f"{counted_noun(len(tests), 'page', 'pages')} in {out}, each for one person: {least}{items}{every}"
    yield "Send each person one page. They send back one file, which 'merilo study import' reads."


def import_parts(imported: ImportedStudy) -> Iterator[Part]:
    """Yield what was imported, a line a file, and what the study has now."""
    for file in imported.added:
        left = "".join(f", {n} {reason.replace('_', ' ')}" for reason, n in file.left_out.items())
        answers = counted_noun(file.answers, "answer", "answers")
        yield f"{file.name} ({NAMES[file.platform]}, {file.arm}): {answers}{left}"
    for arm, table in imported.imports.tables.items():
        rows = counted_noun(table.repeated, "repeated row counts once", "repeated rows count once")
        repeated = f" ({rows})" * bool(table.repeated)
        answers = counted_noun(table.answers, "answer", "answers")
        yield f"The study now has {answers} of {arm}{repeated}."
    for arm, came in imported.imports.people.items():
        yield f"The study knows what became of {counted_noun(came.came, 'person', 'people')} of {arm}."
    if not imported.imports.tables:
        yield "The study has no answers yet."
