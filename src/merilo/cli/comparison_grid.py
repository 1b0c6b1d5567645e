"""The table of people and models over all datasets on the terminal."""

from __future__ import annotations

import io
import shutil
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from merilo.reports.comparison_table import ComparisonTable
from merilo.reports.comparison_table_text import grid, heads, notes

#: The width of the column of names and of each other column, in characters.
_NAMES: Final = 20
_COLUMN: Final = 19


def rendered_grid(table: ComparisonTable) -> str:
    """Return the table as text; columns that do not fit beside each other continue in another table below."""
    width = shutil.get_terminal_size().columns
    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False)
    titles, rows = heads(table), grid(table)
    at_once = max(1, (width - _NAMES) // _COLUMN)
    for start in range(0, len(titles), at_once):
        part = slice(start, start + at_once)
        drawn = Table(
            title="People and models" if not start else None,
            title_justify="left",
            title_style="bold",
            show_lines=True,
        )
        drawn.add_column("", overflow="fold")
        for title, metric in titles[part]:
            drawn.add_column(escape(f"{title}\n{metric}" if metric else title), justify="right")
        for row in rows:
            drawn.add_row(escape(row.name), *(escape("\n".join(cell)) for cell in row.cells[part]))
        console.print(drawn)
    console.print("\n".join(notes(table)), markup=False)
    return stream.getvalue()
