"""Print comparisons of people with models on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from merilo.baselines.model_comparison import Match, ModelComparison
from merilo.reports.estimates import OVER_BOTH, OVER_ITEMS_ALONE, counted
from merilo.reports.verdict_prose import verdict_sentence
from merilo.statistics.intervals import Interval

_HEADS: Final = {
    "consensus": "consensus vs answers",
    "single": "annotator vs answer",
    "majority": "majority vs majority",
}


def show(comparisons: Sequence[ModelComparison], metric: str) -> None:
    """Print the comparisons on standard output."""
    console = Console(highlight=False)
    for comparison in comparisons:
        title = f"People and {escape(comparison.model)}: {metric}, with 95 % intervals"
        table = Table(title=title, title_justify="left", title_style="bold")
        table.add_column("")
        columns = [_column(match) for match in comparison.matches]
        for match in comparison.matches:
            table.add_column(_HEADS[match.kind], justify="right")
        for name, *cells in zip(_ROWS, *columns, strict=True):
            table.add_row(name, *cells)
        for match in comparison.matches:
            if match.verdict:
                console.print(verdict_sentence(match, comparison.model, "en"), markup=False, soft_wrap=True)
        console.print(table)
        console.print("\n".join(_lines(comparison)), markup=False)


_ROWS: Final = (
    "people",
    "model",
    "difference",
    f"  {OVER_BOTH.en}",
    "p",
    "p, Holm",
    "detectable",
    "for these annotators",
    f"  {OVER_ITEMS_ALONE.en}",
    "  p",
    "items",
)


def _column(match: Match) -> tuple[str, ...]:
    difference = match.difference
    return (
        f"{difference.first:.3f}",
        f"{difference.second:.3f}",
        f"{difference.value:+.3f}",
        _text(match.both) if match.both else "-",
        f"{match.p:.3g}" if match.crossed else "-",
        f"{match.corrected:.3g}",
        "-" if match.detectable is None else f"{match.detectable:.3f}",
        "",
        _text(difference.interval),
        f"{difference.test.p:.3g}",
        str(difference.n)
        + (f" in {match.crossed.clusters} clusters" if match.crossed and match.crossed.clusters else ""),
    )


def _lines(comparison: ModelComparison) -> list[str]:
    lines = [
        f"{_HEADS[match.kind]}: {_tests(match)}; the model is better on "
        f"{counted(match.difference.better, 'item')}, worse on {match.difference.worse}"
        for match in comparison.matches
    ]
    if comparison.rank:
        share, interval = comparison.rank
        lines.append(
            f"the model is above {share:.0%} [{interval.low:.0%}, {interval.high:.0%}] of "
            f"{counted(comparison.people, 'annotator')} by their true scores (chance removed)"
        )
    return lines


def _tests(match: Match) -> str:
    conditional = f"{match.difference.test.method} for these annotators"
    return f"{match.crossed.method}, {conditional}" if match.crossed else conditional


def _text(interval: Interval) -> str:
    return escape(f"[{interval.low:+.3f}, {interval.high:+.3f}]")
