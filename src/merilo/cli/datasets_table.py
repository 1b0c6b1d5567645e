"""The catalogue as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from merilo.datasets.declaration import Dataset, HumanFigure
from merilo.datasets.rendering import prompts

#: How wide a table may be where no terminal says it.
_WIDTH_OF_A_FILE: Final = 200


def print_list(datasets: Sequence[Dataset]) -> None:
    """Print a line a dataset on standard output."""
    table = _table(
        "Dataset", "Answer", "Metrics", "Test", "Total", "People", "Human figure", "of", "Provenance"
    )
    for declared in datasets:
        table.add_row(
            declared.title,
            _answer(declared),
            " ".join(declared.metrics) + (f"\n{declared.extra}" if declared.extra else ""),
            _sizes(declared),
            "yes" if declared.in_total else "no",
            "experts" if declared.expert else "anybody",
            *_figures(declared),
        )
    _print(table)


def _sizes(declared: Dataset) -> str:
    """The size of the test; of each version where it changed."""
    if len(set(declared.sizes.values())) == 1:
        return str(next(iter(declared.sizes.values())))
    return "\n".join(f"v{version}: {size}" for version, size in declared.sizes.items())


def _figures(declared: Dataset) -> tuple[str, str, str]:
    """The figures, the items behind them and their provenance, a line each where they are few."""
    figures = declared.human
    if len(figures) > 3:
        low, high = min(figure.value for figure in figures), max(figure.value for figure in figures)
        return f"{len(figures)} figures, {low} to {high}", _count(figures[0]), figures[0].provenance
    return (
        "\n".join(f"{figure.metric} {figure.value}" for figure in figures),
        _count(figures[0]) if figures else "",
        figures[0].provenance if figures else "",
    )


def _count(figure: HumanFigure) -> str:
    return "–" if figure.n is None else str(figure.n)


def print_declaration(declared: Dataset) -> None:
    """Print all that is known of a dataset on standard output."""
    facts = _table(
        "",
        "",
        title=f"{declared.title}: {declared.about}" if declared.about else declared.title,
        header=False,
    )
    for name, text in _facts(declared):
        facts.add_row(name, text)
    _print(facts)
    figures = _table("Metric", "Value", "Items", "Provenance", "Source", title="Published human figures")
    for figure in declared.human:
        figures.add_row(figure.metric, str(figure.value), _count(figure), figure.provenance, figure.source)
    if declared.human:
        _print(figures)
    for group, texts in prompts(declared).items():
        shown = _table(
            "", title=f"Prompts{f' for {group}' if group else ''}: {len(texts)}, the first", header=False
        )
        shown.add_row(texts[0])
        _print(shown)


def _facts(declared: Dataset) -> Iterator[tuple[str, str]]:
    yield "inputs", ", ".join(declared.fields) or f"a text, in prompts {{{declared.placeholder}}}"
    if declared.media:
        yield "media", ", ".join(declared.media)
    yield "answer", _answer(declared)
    yield "metrics", ", ".join(declared.metrics)
    if declared.extra:
        yield "metric by group", declared.extra
    yield "shots", _shots(declared)
    yield "stops at", ", ".join(map(repr, declared.stop))
    if declared.prompts_by:
        yield "prompts by", f"meta.{declared.prompts_by}"
    yield "splits", ", ".join(declared.splits)
    for version, size in declared.sizes.items():
        yield f"test in v{version}", f"{size} items"
    yield "test", "open" if declared.open_test else "closed"
    yield "in total score", "yes" if declared.in_total else "no"
    yield "skills", ", ".join(declared.skills)
    yield "people to ask", "experts, and untrained people apart" if declared.expert else "any adult"


def _answer(declared: Dataset) -> str:
    answer = declared.answer
    if answer.kind == "criteria":
        return f"{'/'.join(answer.labels)} for each of {', '.join(answer.criteria)}"
    if answer.kind == "choice":
        return f"one of {' '.join(answer.labels)}"
    return answer.kind + (f", alternatives by '{answer.alternatives}'" if answer.alternatives else "")


def _shots(declared: Dataset) -> str:
    if declared.shots.earlier_turns:
        return "the earlier turns of the dialogue"
    return f"{declared.shots.count}" + (f", of the same {declared.shots.same}" if declared.shots.same else "")


def _table(*columns: str, title: str | None = None, header: bool = True) -> Table:
    table = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE, show_header=header, pad_edge=False
    )
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _print(table: Table) -> None:
    """Print a table without reading marks in its texts: braces and brackets are data."""
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = _WIDTH_OF_A_FILE
    console.print(table)
