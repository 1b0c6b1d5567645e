"""Print people's disagreement beside a model's on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from merilo.baselines.model_disagreement import ModelDisagreement
from merilo.people.disagreement import Disagreement
from merilo.reports.disagreement import MEASURES, measures
from merilo.reports.estimates import counted
from merilo.wording import listed


def show_disagreement(models: Sequence[ModelDisagreement]) -> None:
    """Print a table for each model that has one, and groups below it."""
    console = Console(highlight=False)
    for one in models:
        if one.found is None:
            continue
        title = f"Distribution of labels, people and {escape(one.model)}"
        console.print(_table(one.found, title))
        for name, groups in one.groups.items():
            table = Table(title=f"By {escape(name)}", title_justify="left", title_style="bold")
            for head in ("", "items", "agreement", "ceiling", "distance"):
                table.add_column(head, justify="right" if head else "left")
            for value, found in groups.items():
                table.add_row(
                    escape(value), str(found.items), f"{found.agreement.value:.3f}",
                    f"{found.agreement.ceiling or 0:.3f}", f"{found.distance.value:+.3f}",
                )  # fmt: skip
            console.print(table)
        if one.even:
            console.print(
                f"people split evenly on {counted(len(one.even), 'item')}, which are ambiguous: "
                f"{listed([name[:40] for name in one.even], 5)}",
                markup=False,
            )


def _table(found: Disagreement, title: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for head in ("", "model", "95 %", "people"):
        table.add_column(head, justify="right" if head else "left", no_wrap=True)
    for name, one in measures(found).items():
        if not isfinite(one.value):
            continue
        interval = f"[{one.interval.low:.3f}, {one.interval.high:.3f}]" if one.interval else "-"
        table.add_row(
            MEASURES[name],
            f"{one.value:.3f}",
            escape(interval),
            "-" if one.ceiling is None else f"{one.ceiling:.3f}",
        )
    table.add_row("items", str(found.items), "", "")
    return table
