"""What `merilo study create` and `merilo study validate` print."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from merilo.errors import for_command_line
from merilo.studies.creation import CreatedStudy
from merilo.studies.plan_figures import PlanFigures, plan_rows, plan_sentences
from merilo.studies.plan_types import Study


def show_created(made: CreatedStudy) -> None:
    """Print the created study and its computed plan."""
    console = Console(highlight=False)
    section = made.subset.section
    console.print(
        f"{made.source.declared.title}: {len(made.subset.items)} of {section.of} items; arms: "
        f"{' and '.join(made.folder.plan.arms)} ({escape(_reason(made))})",
        soft_wrap=True,
    )
    largest = made.subset.largest_deviation
    if not section.all and largest is not None:
        console.print(
            escape(
                f"Fields kept: {', '.join(field.name for field in made.subset.fields)}; the largest deviation is "
                f"{largest.deviation:+.2f} percentage points ({largest.field} = {largest.value})"
            ),
            soft_wrap=True,
        )
    if made.controls is not None and made.controls.check.checked:
        whole = made.controls.check.features[0]
        console.print(
            f"Controls: {len(made.controls.items)} items; a classifier distinguishes them from test items with AUC {whole.auc:.2f} "
            f"({whole.interval.low:.2f} to {whole.interval.high:.2f}; up to 0.5 is chance)",
            soft_wrap=True,
        )
    elif made.controls is not None:
        console.print(
            f"Controls: {len(made.controls.items)} of {made.controls.wanted} items; not checked whether they look like test items: "
            f"{escape(made.controls.check.why_unchecked)}",
            soft_wrap=True,
        )
    show_plan_figures(made.folder.plan, made.figures)
    console.print(
        escape(
            f"{made.folder.path} is ready: edit study.yaml and the instructions, then validate and freeze it"
        ),
        soft_wrap=True,
    )


def _reason(made: CreatedStudy) -> str:
    return for_command_line(f"{made.source.audience} test: {made.source.audience_from}")


def show_plan_figures(plan: Study, figures: PlanFigures) -> None:
    """Print the computed plan on standard output."""
    table = Table(title=f"Plan of the study {plan.study}", title_justify="left", title_style="bold")
    table.add_column("", style="bold")
    for name in figures.arms:
        table.add_column(name, justify="right")
    for name, cells in plan_rows(plan, figures):
        table.add_row(name, *map(escape, cells))
    console = Console(highlight=False)
    console.print(table)
    for sentence in plan_sentences(figures):
        console.print(escape(sentence), soft_wrap=True)
