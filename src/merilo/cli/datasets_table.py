"""Print the catalogue as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from merilo.datasets.declaration import Dataset, HumanFigure
from merilo.datasets.rendering import prompts

#: Width of the output, in columns, if it does not go to a terminal.
_WIDTH_OF_A_FILE: Final = 80

#: Columns with long texts, which may wrap.
_LONG: Final = ("", "Provenance")


def print_list(datasets: Sequence[Dataset]) -> None:
    """Print one line per dataset (the test of the newest version) on standard output, in 80 columns."""
    table = _table("Dataset", "Answer", "Human score", "of", "Provenance", "Test", "Total", "People")
    for declared in datasets:
        table.add_row(
            declared.title,
            _labels(declared),
            *_figures(declared),
            str([*declared.sizes.values()][-1]) if declared.sizes else "–",
            "yes" if declared.in_total else "no",
            "experts" if declared.expert else "anybody",
        )
    _print(table)
    _say("Details of one dataset: merilo datasets show NAME")


def _labels(declared: Dataset) -> str:
    """Return a short description of the answer: the labels, or the first and last label, or the kind."""
    labels = declared.answer.labels
    if declared.answer.kind != "choice":
        return declared.answer.kind
    return " ".join(labels) if len(labels) < 4 else f"{labels[0]}–{labels[-1]}"


def _figures(declared: Dataset) -> tuple[str, str, str]:
    """Return the cells of the human scores, their numbers of items and their provenance.

    Each metric has one line, or one line per score if it has several, with a dash if it has none. If groups have
    separate scores, the line shows their range.
    """
    figures = declared.human
    if not figures:
        return "\n".join(f"{metric} –" for metric in declared.metrics), "", ""
    values = {figure.metric: figure.value for figure in figures}
    count, provenance = _count(figures[0]), str(figures[0].provenance)
    if not values.keys() & set(declared.metrics):
        low, high = min(values.values()), max(values.values())
        return f"{declared.metrics[0]} {low}–{high}\n({len(values)} scores)", count, provenance
    if len(values) < len(figures):
        return (
            "\n".join(f"{figure.metric} {figure.value}" for figure in figures),
            "\n".join(map(_count, figures)),
            "\n".join(figure.provenance for figure in figures),
        )
    return "\n".join(f"{metric} {values.get(metric, '–')}" for metric in declared.metrics), count, provenance


def _count(figure: HumanFigure) -> str:
    return "–" if figure.n is None else str(figure.n)


def print_declaration(declared: Dataset) -> None:
    """Print a dataset's full declaration on standard output."""
    _say(f"{declared.title}: {declared.about}" if declared.about else declared.title)
    facts = _table("", "", header=False)
    for name, text in _facts(declared):
        facts.add_row(name, text)
    _print(facts)
    if declared.human:
        _print_figures(declared.human)
    for group, texts in prompts(declared).items():
        _say(f"Prompts{f' for {group}' if group else ''}: {len(texts)}, the first")
        shown = _table("", header=False)
        shown.add_row(texts[0])
        _print(shown)


def _print_figures(figures: Sequence[HumanFigure]) -> None:
    """Print the human scores as a table, and each source once below it."""
    _say("Published human scores")
    sources = list(dict.fromkeys(figure.source for figure in figures))
    several = len(sources) > 1
    table = _table("Metric", "Value", "Items", "Provenance", *(["Source"] if several else []))
    for figure in figures:
        source = [f"[{sources.index(figure.source) + 1}]"] if several else []
        table.add_row(figure.metric, str(figure.value), _count(figure), figure.provenance, *source)
    _print(table, end=False)
    for number, text in enumerate(sources, start=1):
        _print(f"[{number}] {text}" if several else f"Source: {text}", end=number == len(sources))


def _facts(declared: Dataset) -> Iterator[tuple[str, str]]:
    yield "inputs", ", ".join(declared.fields) or f"a text, in prompts {{{declared.placeholder}}}"
    if declared.media:
        yield "media", ", ".join(declared.media)
    yield "answer", _answer(declared)
    yield "metrics", ", ".join(declared.metrics)
    if declared.extra:
        yield "metric by group", declared.extra
    if declared.cluster:
        yield "clusters", f"items with the same {declared.cluster}"
    yield "shots", _shots(declared)
    yield "stops at", ", ".join(map(repr, declared.stop))
    if declared.prompts_by:
        yield "prompts by", f"meta.{declared.prompts_by}"
    yield "splits", ", ".join(declared.splits)
    for version, size in declared.sizes.items():
        yield f"test in v{version}", f"{size} {'item' if size == 1 else 'items'}"
    yield "test", declared.gold
    yield "in total score", "yes" if declared.in_total else "no"
    yield "skills", ", ".join(declared.skills)
    yield "people to ask", "experts, and untrained people separately" if declared.expert else "any adult"


def _answer(declared: Dataset) -> str:
    answer = declared.answer
    if answer.kind == "criteria":
        return f"{'/'.join(answer.labels)} for each of {', '.join(answer.criteria)}"
    if answer.kind == "choice":
        return f"one of {' '.join(answer.labels)}"
    if "grade_norm" in declared.metrics:
        return (
            f"text: words, alternatives by '{answer.alternatives}'\n"
            "multiple_choice: numbers by ',' in any order\n"
            "matching: four numbers by ',' in the order of the places"
        )
    return answer.kind + (f", alternatives by '{answer.alternatives}'" if answer.alternatives else "")


def _shots(declared: Dataset) -> str:
    if declared.shots.earlier_turns:
        return "the earlier turns of the dialogue"
    return f"{declared.shots.count}" + (f", of the same {declared.shots.same}" if declared.shots.same else "")


def _table(*columns: str, header: bool = True) -> Table:
    table = Table(box=SIMPLE, show_header=header, pad_edge=False, padding=0, show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column not in _LONG)
    return table


def _print(content: Table | str, *, end: bool = True) -> None:
    """Print a table or a text, and a blank line at the end. Markup is off, because brackets in texts are data."""
    console = _console()
    console.print(content)
    if end:
        console.print()


def _say(text: str) -> None:
    _console().print(text, style="bold")


def _console() -> Console:
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = _WIDTH_OF_A_FILE
    return console
