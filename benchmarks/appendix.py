"""Markdown tables: what the benchmarks of coverage print, and results/coverage.md holds."""

from __future__ import annotations


def heading(title: str, size: str, *columns: str) -> None:
    """Print the title of a table, the number of studies and its columns."""
    print(f"\n## {title}\n\n{size}:\n\n| {' | '.join(columns)} |\n|{' --- |' * len(columns)}", flush=True)


def line(*cells: object) -> None:
    """Print a row of a table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def percent(share: float, *, marked: bool = False) -> str:
    """Return a share in per cent, `!` if it misses its target, empty if it is not known.

    >>> percent(0.9149, marked=True)
    '91.5!'
    """
    return "" if share != share else f"{100 * share:.1f}{'!' if marked else ''}"
