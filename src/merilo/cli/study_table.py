"""Print what the commands of a study made: the created study, its plan, exports, imports and the status."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from merilo.errors import for_command_line
from merilo.people.cost import paid_work
from merilo.people.platforms import NAMES
from merilo.reports.study_status import StudyStatus
from merilo.studies.collected import ImportedStudy
from merilo.studies.creation import CreatedStudy
from merilo.studies.plan_figures import PlanFigures, plan_rows, plan_sentences
from merilo.studies.plan_types import Study
from merilo.studies.study_export import ExportedStudy


def _say(shown: str | Table) -> None:
    """Print a sentence on one line, or a table that fits the terminal."""
    sentence = isinstance(shown, str)
    Console(highlight=False).print(shown, soft_wrap=sentence, markup=not sentence)


def show_created(made: CreatedStudy) -> None:
    """Print the created study and its computed plan."""
    section = made.subset.section
    _say(
        f"{made.source.declared.title}: {len(made.subset.items)} of {section.of} items; arms: "
        f"{' and '.join(made.folder.plan.arms)} "
        f"({for_command_line(f'{made.source.audience} test: {made.source.audience_from}')})"
    )
    largest = made.subset.largest_deviation
    if not section.all and largest is not None:
        _say(
            f"Fields kept: {', '.join(field.name for field in made.subset.fields)}; the largest deviation is "
            f"{largest.deviation:+.2f} percentage points ({largest.field} = {largest.value})"
        )
    if made.controls is not None and made.controls.check.checked:
        whole = made.controls.check.features[0]
        _say(
            f"Controls: {len(made.controls.items)} items; a classifier distinguishes them from "
            f"test items with AUC {whole.auc:.2f} "
            f"({whole.interval.low:.2f} to {whole.interval.high:.2f}; up to 0.5 is chance)"
        )
    elif made.controls is not None:
        _say(
            f"Controls: {len(made.controls.items)} of {made.controls.wanted} items; not checked "
            "whether they look like test items: "
            f"{made.controls.check.why_unchecked}"
        )
    show_plan_figures(made.folder.plan, made.figures)
    _say(f"{made.folder.path} is ready: edit study.yaml and the instructions, then validate and freeze it")


def show_plan_figures(plan: Study, figures: PlanFigures) -> None:
    """Print the computed plan on standard output."""
    table = Table(title=f"Plan of the study {escape(plan.study)}", title_justify="left", title_style="bold")
    table.add_column("", style="bold")
    for name in figures.arms:
        table.add_column(name, justify="right")
    for name, cells in plan_rows(plan, figures):
        table.add_row(name, *map(escape, cells))
    _say(table)
    for sentence in plan_sentences(figures):
        _say(sentence)


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def show_export(made: ExportedStudy, out: Path) -> None:
    """Print what was exported, a line a sheet."""
    for sheet in made.sheets:
        whom = f" for {sheet.respondent}" if sheet.respondent else ""
        own = f", without {_count(sheet.left_out, 'item')} of their own" if sheet.respondent else ""
        _say(
            f"{NAMES[made.platform]}{whom}: {_count(sheet.tests, 'item')}{own}, "
            f"{_count(made.controls, 'control item')}, {_count(made.training, 'training item')}; "
            f"files: {', '.join(sheet.files)}"
        )
    people = "1 person answers" if made.overlap == 1 else f"{made.overlap} people answer"
    _say(f"Set the overlap to {made.overlap}: {people} each task. The files: {out}")


def show_import(made: ImportedStudy) -> None:
    """Print what was imported, a line a file, and what the study has now."""
    for one in made.added:
        left = "".join(f", {n} {reason.replace('_', ' ')}" for reason, n in one.left_out.items())
        _say(f"{one.name} ({NAMES[one.platform]}, {one.arm}): {_count(one.answers, 'answer')}{left}")
    for arm, table in made.imports.tables.items():
        repeated = f" ({_count(table.repeated, 'row')} in several files)" if table.repeated else ""
        _say(f"The study now has {_count(table.answers, 'answer')} of {arm}{repeated}.")
    if not made.imports.tables:
        _say("The study has no answers yet.")


def show_status(found: StudyStatus) -> None:
    """Print the status of one group of annotators."""
    table = Table(
        show_header=False, title=f"{escape(found.study)}, {escape(found.arm)}", title_justify="left"
    )
    table.add_column(style="bold")
    table.add_column()
    for name, text in _lines(found):
        table.add_row(name, escape(text))
    _say(table)
    if found.annotators:
        _say(_annotators(found))
    if found.problem:
        _say(f"No agreement yet: {found.problem}")


def _lines(found: StudyStatus) -> list[tuple[str, str]]:
    share = found.counted / found.planned if found.planned else 0.0
    lines = [
        ("plan", "frozen" if found.frozen else "not frozen"),
        *([("adaptive overlap", _adaptive(found.adaptive))] if found.adaptive else []),
        ("answers that count", f"{found.counted:,} of {found.planned:,} ({share:.0%})"),
        ("items with full overlap", f"{found.missing_by.get(0, 0):,} of {found.items:,}"),
        ("answers missing", f"{found.missing:,}{_missing(found)}"),
    ]
    if found.surplus:
        lines.append(("items with more answers", f"{found.surplus:,}"))
    if found.repeated:
        lines.append(("second answers of one person", f"{found.repeated:,}"))
    if found.annotators:
        excluded = sum(one.excluded for one in found.annotators)
        lines.append(
            ("annotators", f"{len(found.annotators)}, {excluded} below the threshold on control items")
        )
    if found.alpha is not None:
        lines.append(("Krippendorff's alpha", f"{found.alpha:.3f}"))
    if found.low_agreement is not None:
        lines.append(("items without a majority", f"{found.low_agreement:.0%}"))
    if found.per_hour is not None:
        left = "" if found.hours_left is None else f"; {found.hours_left:.1f} hours of work left"
        lines.append(("answers an hour", f"{found.per_hour:.0f}{left}"))
    lines += _pay(found)
    if found.estimate:
        one = found.estimate
        alone = "" if one.over_annotators else " over items alone"
        sure = "" if one.low is None or one.high is None else f" [{one.low:.3f}, {one.high:.3f}]{alone}"
        lines.append((f"{one.metric} so far", f"{one.value:.3f}{sure} on {_count(one.n, 'item')}"))
    return lines


def _adaptive(design: str) -> str:
    start, limit, share, _ = design.split(":")
    return f"{start} to {limit}, fixed for {float(share):.0%} of the items; more answers are missing if people disagree"


def _missing(found: StudyStatus) -> str:
    by = [f"{left} on {_count(n, 'item')}" for left, n in found.missing_by.items() if left]
    return f" ({', '.join(by)})" if by else ""


def _pay(found: StudyStatus) -> list[tuple[str, str]]:
    if found.cost is None or found.cost.total is None:
        return []
    hourly = "" if found.cost.hourly is None else f", {found.cost.hourly:.2f} an hour"
    planned = " (as planned: the platform's files do not state it)" if found.planned_pay else ""
    return [
        (
            "pay so far",
            f"{found.cost.total:.2f} {found.cost.currency} for "
            f"{paid_work(found.cost.pages, found.cost.answers).en}{hourly}{planned}",
        )
    ]


def _annotators(found: StudyStatus) -> Table:
    table = Table(title="Annotators", title_justify="left")
    table.add_column("annotator", overflow="fold")
    columns = {
        "answers": [str(one.answers) for one in found.annotators],
        "skipped": [str(one.skipped or "") for one in found.annotators],
        "controls": [str(one.controls) for one in found.annotators],
        "correct": [
            "" if one.control_accuracy is None else f"{one.control_accuracy:.0%}" for one in found.annotators
        ],
        "seconds": [
            "" if one.median_seconds is None else f"{one.median_seconds:.0f}" for one in found.annotators
        ],
        "hourly pay": ["" if one.hourly is None else f"{one.hourly:.2f}" for one in found.annotators],
        "excluded": ["yes" if one.excluded else "" for one in found.annotators],
    }
    filled = {name: texts for name, texts in columns.items() if any(texts)}
    for name in filled:
        table.add_column(name, justify="right")
    for one, *texts in zip(found.annotators, *filled.values(), strict=True):
        table.add_row(escape(one.annotator), *texts)
    return table
