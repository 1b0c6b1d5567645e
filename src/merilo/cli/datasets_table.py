"""Print the catalogue as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from merilo.cli.output import number, show, show_table
from merilo.datasets.declaration import Dataset, HumanFigure
from merilo.datasets.rendering import prompts
from merilo.text import Text


def print_list(datasets: Sequence[Dataset]) -> None:
    """Print one line per dataset (the test of the newest version) on standard output, in 80 columns."""
    rows = [
        (
            declared.title,
            _labels(declared),
            *_figures(declared),
            [*declared.sizes.values()][-1] if declared.sizes else "–",
            Text("yes") if declared.in_total else Text("no"),
            Text("experts", context="column") if declared.expert else Text("anybody"),
        )
        for declared in datasets
    ]
    heads = [
        *(Text("Dataset"), Text("Answer"), Text("Human score"), Text("of", context="column")),
        *(Text("Provenance"), Text("Test"), Text("Total"), Text("People", context="column")),
    ]
    show_table(rows, heads, left=range(len(heads)), dense=True)
    show("", Text("Details of one dataset: {command}", command="merilo datasets show NAME"), "")


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
    show(f"{declared.title}: {declared.about}" if declared.about else declared.title, wrap=True)
    show_table(_facts(declared), dense=True)
    if declared.human:
        _print_figures(declared.human)
    for group, texts in prompts(declared).items():
        of_group = Text(" for {group}", group=group) if group else ""
        show("", Text("Prompts{group}: {n}, the first", group=of_group, n=len(texts)), texts[0], wrap=True)


def _print_figures(figures: Sequence[HumanFigure]) -> None:
    """Print the human scores as a table, and each source once below it."""
    sources = list(dict.fromkeys(figure.source for figure in figures))
    several = len(sources) > 1
    rows = [
        (
            *(figure.metric, number(figure.value), _count(figure), figure.provenance),
            *([f"[{sources.index(figure.source) + 1}]"] if several else []),
        )
        for figure in figures
    ]
    heads = [Text("Metric"), Text("Value"), Text("Items", context="column"), Text("Provenance")]
    heads += [Text("Source")] if several else []
    show("", Text("Published human scores"))
    show_table(rows, heads, left=range(len(heads)), dense=True)
    for place, text in enumerate(sources, start=1):
        show(f"[{place}] {text}" if several else Text("Source: {text}", text=text), wrap=True)


def _facts(declared: Dataset) -> Iterator[tuple[Text, object]]:
    text = Text("a text, in prompts {field}", field=f"{{{declared.placeholder}}}")
    yield Text("inputs"), ", ".join(declared.fields) or text
    if declared.media:
        yield Text("media"), ", ".join(declared.media)
    yield Text("answer", context="row"), _answer(declared)
    yield Text("metrics"), ", ".join(declared.metrics)
    if declared.extra:
        yield Text("metric by group"), declared.extra
    if declared.cluster:
        yield Text("clusters"), Text("items with the same {field}", field=declared.cluster)
    yield Text("shots"), _shots(declared)
    yield Text("stops at"), ", ".join(map(repr, declared.stop))
    if declared.prompts_by:
        yield Text("prompts by"), f"meta.{declared.prompts_by}"
    yield Text("splits"), ", ".join(declared.splits)
    for version, size in declared.sizes.items():
        yield Text("test in v{version}", version=version), Text("{n:# item|# items}", n=size)
    yield Text("test", context="row"), declared.gold
    yield Text("in total score"), Text("yes") if declared.in_total else Text("no")
    yield Text("skills"), ", ".join(declared.skills)
    people = Text("experts, and untrained people separately") if declared.expert else Text("any adult")
    yield Text("people to ask"), people


def _answer(declared: Dataset) -> object:
    answer = declared.answer
    if answer.kind == "criteria":
        return Text(
            "{labels} for each of {criteria}", labels="/".join(answer.labels), criteria=[*answer.criteria]
        )
    if answer.kind == "choice":
        return Text("one of {labels}", labels=" ".join(answer.labels))
    if "grade_norm" in declared.metrics:
        return Text(
            "text: words, alternatives by '{separator}'\nmultiple_choice: numbers by ',' in any order\n"
            "matching: four numbers by ',' in the order of the places",
            separator=answer.alternatives,
        )
    separator = Text(", alternatives by '{separator}'", separator=answer.alternatives)
    return f"{answer.kind}{separator if answer.alternatives else ''}"


def _shots(declared: Dataset) -> object:
    if declared.shots.earlier_turns:
        return Text("the earlier turns of the dialogue")
    same = Text(", of the same {field}", field=declared.shots.same) if declared.shots.same else ""
    return f"{declared.shots.count}{same}"
