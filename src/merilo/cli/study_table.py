"""Print what the commands of a study made: the created study, its plan, exports, imports and the status."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from merilo.cli.output import number, show, show_table
from merilo.people.cost import paid_work
from merilo.people.platforms import NAMES
from merilo.reports.study_status import StudyStatus
from merilo.reports.table import estimate_text
from merilo.studies.collected import ImportedStudy
from merilo.studies.creation import CreatedStudy
from merilo.studies.plan_checks import StudyCheck
from merilo.studies.plan_figures import PlanFigures, plan_rows, plan_sentences
from merilo.studies.plan_types import Study
from merilo.studies.study_export import ExportedStudy
from merilo.text import Text, joined

if TYPE_CHECKING:
    from merilo.site.offline_pages import ExportedPages

#: How many differences between control items and the test are printed; the JSON has all shares.
_SHARES: Final = 6


def show_created(created: CreatedStudy) -> None:
    """Print the created study and its computed plan."""
    section = created.subset.section
    show(
        Text(
            "{title}: {n} of {of} items; arms: {arms} ({audience} test: {why})",
            title=created.source.declared.title,
            n=len(created.subset.items),
            of=section.of,
            arms=[*created.folder.plan.arms],
            audience=created.source.audience,
            why=created.source.audience_from,
        )
    )
    largest = created.subset.largest_deviation
    if section.method != "all" and largest is not None:
        show(
            Text(
                "Fields kept: {fields}; the largest deviation is {deviation:+.2f} percentage points "
                "({field} = {value})",
                fields=[field.name for field in created.subset.fields],
                deviation=largest.deviation,
                field=largest.field,
                value=largest.value,
            )
        )
    if created.shares:
        largest_first = sorted(created.shares, key=lambda share: -share.difference)[:_SHARES]
        show_table(
            [
                (f"{share.field}: {share.value}", number(share.test, ".0%"), number(share.controls, ".0%"))
                for share in largest_first
            ],
            ["", Text("of the test"), Text("of the controls")],
            title=Text("Largest differences between the test and its control items"),
        )
    show_plan_figures(created.folder.plan, created.figures)
    show(
        Text(
            "{folder} is ready: edit study.yaml and the instructions, then validate and freeze it",
            folder=created.folder.path,
        )
    )


def show_plan_figures(plan: Study, figures: PlanFigures) -> None:
    """Print the computed plan on standard output."""
    show_table(
        [(name, *cells) for name, cells in plan_rows(plan, figures)],
        ["", *figures.arms],
        title=Text("Plan of the study {study}", study=plan.study),
    )
    show(*plan_sentences(figures))


def show_check(check: StudyCheck, folder: Path) -> None:
    """Print the computed plan of a valid study, and the problems of another one."""
    if check.valid and check.study is not None and check.figures is not None:
        show_plan_figures(check.study.plan, check.figures)
    show(
        *(Text("warning: {text}", text=warning) for warning in check.warnings),
        *(problem.on_command_line for problem in check.problems),
    )
    verdict = Text("invalid: {n:# problem|# problems}", n=len(check.problems))
    show(f"{folder}: {Text('valid', context='files') if check.valid else verdict}")


def show_export(export: ExportedStudy, out: Path) -> None:
    """Print what was exported, a line a sheet."""
    for sheet in export.sheets:
        own = Text(", without {n:# item|# items} of their own", n=sheet.left_out)
        show(
            Text(
                "{platform}{whom}: {n:# item|# items}{own}, {controls:# control item|# control items}, "
                "{training:# training item|# training items}; files: {files}",
                platform=NAMES[export.platform],
                whom=Text(" for {name}", name=sheet.respondent) if sheet.respondent else "",
                n=sheet.tests,
                own=own if sheet.respondent else "",
                controls=export.controls,
                training=export.training,
                files=[*sheet.files],
            )
        )
    if any(sheet.respondent for sheet in export.sheets):
        show(Text("Each file is for the person whom it names. The files: {folder}", folder=out))
    else:
        show(
            Text(
                "Set the overlap to {n}: {n:# person answers|# people answer} each task. The files: {folder}",
                n=export.overlap,
                folder=out,
            )
        )


def show_pages(pages: ExportedPages, out: Path) -> None:
    """Print how many places a study without a server has, and what to do with their pages."""
    tests = [place.tests for place in pages.places]
    every = "" if pages.named else Text(", every item on {n:# page|# pages}", n=pages.overlap)
    show(
        Text(
            "{n:# page|# pages} in {folder}, each for one person: {fewest} to {most} items{every}",
            n=len(tests),
            folder=out,
            fewest=min(tests),
            most=max(tests),
            every=every,
        )
    )
    show(Text("Send each person one page. They send back one file, which 'merilo study import' reads."))


def show_import(imported: ImportedStudy) -> None:
    """Print what was imported, a line a file, and what the study has now."""
    for file in imported.added:
        left = "".join(f", {n} {reason.replace('_', ' ')}" for reason, n in file.left_out.items())
        answers = Text("{n:# answer|# answers}", n=file.answers)
        show(f"{file.name} ({NAMES[file.platform]}, {file.arm}): {answers}{left}")
    for arm, table in imported.imports.tables.items():
        repeated = Text(" ({n:# row|# rows} in several files)", n=table.repeated)
        show(
            Text(
                "The study now has {n:# answer|# answers} of {arm}{repeated}.",
                n=table.answers,
                arm=arm,
                repeated=repeated if table.repeated else "",
            )
        )
    for arm, came in imported.imports.people.items():
        show(Text("The study knows what became of {n:# person|# people} of {arm}.", n=came.came, arm=arm))
    if not imported.imports.tables:
        show(Text("The study has no answers yet."))


def show_status(progress: StudyStatus) -> None:
    """Print the status of one group of annotators."""
    show_table(_rows(progress), title=f"{progress.study}, {progress.arm}")
    if progress.annotators:
        _show_annotators(progress)
    if progress.problem:
        show(Text("No agreement yet: {why}", why=progress.problem))


def _rows(progress: StudyStatus) -> Iterator[tuple[Text, object]]:
    yield Text("plan"), Text("frozen", context="plan") if progress.frozen else Text("not frozen")
    yield (
        Text("answers that count"),
        Text(
            "{n:,} of {planned:,} ({share:.0%})",
            n=progress.counted,
            planned=progress.planned,
            share=progress.counted / progress.planned if progress.planned else 0.0,
        ),
    )
    yield (
        Text("items with full overlap"),
        Text("{n:,} of {of:,}", n=progress.missing_by.get(0, 0), of=progress.items),
    )
    by = [
        Text("{left} on {n:# item|# items}", left=left, n=n)
        for left, n in progress.missing_by.items()
        if left
    ]
    missing = number(progress.missing, ",")
    yield Text("answers missing"), Text("{n} ({by})", n=missing, by=by) if by else missing
    for name, n in (
        (Text("items with more answers"), progress.surplus),
        (Text("second answers of one person"), progress.repeated),
    ):
        if n:
            yield name, number(n, ",")
    if progress.annotators:
        yield (
            Text("annotators", context="row"),
            Text(
                "{n}, {excluded} below the threshold on control items",
                n=len(progress.annotators),
                excluded=sum(annotator.excluded for annotator in progress.annotators),
            ),
        )
    if progress.alpha is not None:
        yield Text("Krippendorff's alpha"), number(progress.alpha, ".3f")
    if progress.low_agreement is not None:
        yield Text("items without a majority"), number(progress.low_agreement, ".0%")
    yield from _work_rows(progress)


def _work_rows(progress: StudyStatus) -> Iterator[tuple[Text, object]]:
    """Yield the speed, the pay, and the estimate so far."""
    if progress.per_hour is not None:
        left = (
            "" if progress.hours_left is None else Text("{n:.1f} hours of work left", n=progress.hours_left)
        )
        yield Text("answers an hour"), joined([number(progress.per_hour, ".0f"), left], "; ")
    if progress.cost is not None and progress.cost.total is not None:
        cost = progress.cost
        yield (
            Text("pay so far"),
            Text(
                "{total:.2f} {currency} for {work}{hourly}{planned}",
                total=cost.total,
                currency=cost.currency,
                work=paid_work(cost.pages, cost.answers),
                hourly="" if cost.hourly is None else Text(", {pay:.2f} an hour", pay=cost.hourly),
                planned=Text(" (as planned: the platform's files do not state it)")
                if progress.planned_pay
                else "",
            ),
        )
    if progress.estimate:
        so_far = Text(
            "{estimate} on {n:# item|# items}",
            estimate=estimate_text(progress.estimate),
            n=progress.estimate.n,
        )
        yield Text("{metric} so far", metric=progress.estimate.name), so_far


def _show_annotators(progress: StudyStatus) -> None:
    def shown(value: float | None, spec: str) -> str:
        return "" if value is None else number(value, spec)

    columns = {
        Text("answers", context="column"): [str(annotator.answers) for annotator in progress.annotators],
        Text("skipped"): [str(annotator.skipped or "") for annotator in progress.annotators],
        Text("controls", context="column"): [str(annotator.controls) for annotator in progress.annotators],
        Text("correct", context="column"): [
            shown(annotator.control_accuracy, ".0%") for annotator in progress.annotators
        ],
        Text("seconds", context="column"): [
            shown(annotator.median_seconds, ".0f") for annotator in progress.annotators
        ],
        Text("hourly pay"): [shown(annotator.hourly, ".2f") for annotator in progress.annotators],
        Text("excluded", context="column"): [
            str(Text("yes")) * annotator.excluded for annotator in progress.annotators
        ],
    }
    filled = {name: texts for name, texts in columns.items() if any(texts)}
    show_table(
        zip((annotator.annotator for annotator in progress.annotators), *filled.values(), strict=True),
        [Text("annotator", context="column"), *filled],
        title=Text("Annotators", context="heading"),
    )
