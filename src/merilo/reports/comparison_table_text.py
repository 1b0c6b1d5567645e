"""The table of people and models over all datasets as cells, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from merilo.baselines.model_comparison import Match
from merilo.baselines.model_verdicts import Outcome
from merilo.bilingual import Language
from merilo.datasets import dataset, names
from merilo.reports.comparison_table import (
    MARKS,
    THIS_BASELINE,
    ComparisonTable,
    ModelCell,
    PeopleValue,
    TableColumn,
    TableTotal,
)
from merilo.reports.estimates import OVER_ITEMS_ALONE
from merilo.reports.human_table_text import KINDS
from merilo.reports.text_escapes import latex, markdown
from merilo.wording import listed

_WORDS: Final = {
    "consensus": ("people, consensus", "люди, согласованный ответ"),
    "single": ("people, single person", "люди, один человек"),
    "majority": ("people, majority", "люди, большинство"),
    "answers": ("single answers", "отдельные ответы"),
    "total": ("total", "общий балл"),
    "rejected": ("rejected baseline", "оценка отклонена"),
    "simulated": ("simulated annotators", "разметчики смоделированы"),
    "this": ("measured by this baseline", "измерено в этом исследовании"),
    "of": ("{} of {} datasets", "датасетов: {} из {}"),
    "same": ("people on the same: {}", "люди на тех же: {}"),
    "none": ("no score", "нет оценки"),
    "alone": (OVER_ITEMS_ALONE.en, OVER_ITEMS_ALONE.ru),
}

#: Whom a model is compared with, after the mark.
_BESIDE: Final = {
    "consensus": ("consensus", "согласованный ответ"),
    "single": ("single person", "один человек"),
    "majority": ("majority of people", "большинство людей"),
}

_MARK_NAMES: Final[dict[Outcome, tuple[str, str]]] = {
    "human_level": ("equivalent to people within the margin", "на уровне людей в пределах допуска"),
    "untold": (
        "above or below people cannot be told by this study",
        "выше или ниже людей, по этим данным не сказать",
    ),
    "not_worse": ("not worse than people by the margin", "не хуже людей с учётом допуска"),
    "above": ("above people", "выше людей"),
    "below": ("below people", "ниже людей"),
}

_EMPTY: Final = "—"


@dataclass(frozen=True, slots=True)
class GridRow:
    """One row of the table: who, and the lines of each cell.

    Attributes:
        name: who it is about.
        cells: the lines of each cell, one cell a dataset and the total last.
        human: whether it is about people.
        ties: for each cell, whether a test did not distinguish the model from people.
    """

    name: str
    cells: tuple[tuple[str, ...], ...]
    human: bool
    ties: tuple[bool, ...]


def heads(table: ComparisonTable, language: Language = "en") -> list[tuple[str, str]]:
    """Return the title and the metric of each column; the total is last."""
    return [*((one.title, one.metric) for one in table.columns), *_total_head(table, language)]


def grid(table: ComparisonTable, language: Language = "en") -> list[GridRow]:
    """Return the rows of the table: people on top, then models.

    Args:
        table: the table.
        language: the language of words and decimal separators.
    """
    columns, total = table.columns, table.with_total
    rows = [
        [_people(one.people, language) for one in columns]
        + ([_total(table.people_total(), language)] if total else [])
    ]
    names = [_word("consensus", language)]
    if any(one.people and one.people.single for one in columns):
        rows.append([_single(one.people, language) for one in columns] + ([()] if total else []))
        names.append(_word("single", language))
    if table.has_majority():
        rows.append([_people_majority(table, one, language) for one in columns] + ([()] if total else []))
        names.append(_word("majority", language))
    found = [
        GridRow(name, tuple(cells), True, (False,) * len(cells))
        for name, cells in zip(names, rows, strict=True)
    ]
    for model, held in table.models.items():
        cells = [_answers(held.get(one.key), language) for one in columns]
        ties = [_is_tie(held.get(one.key), ("consensus", "single")) for one in columns]
        majorities = [_majority(held.get(one.key), language) for one in columns]
        last = [_total(table.model_total(model), language, table.people_total())] if total else []
        name = f"{model}, {_word('answers', language)}" if any(majorities) else model
        found.append(GridRow(name, (*cells, *last), False, (*ties, *(False for _ in last))))
        if any(majorities):
            tied = [_is_tie(held.get(one.key), ("majority",)) for one in columns]
            filler: list[tuple[str, ...]] = [()] if total else []
            found.append(
                GridRow(f"{model}, maj@k", (*majorities, *filler), False, (*tied, *(False for _ in last)))
            )
    return found


def notes(table: ComparisonTable, language: Language = "en") -> list[str]:
    """Return the sentences below the table: the marks, the kinds of human values, and the missing datasets of the total."""
    ru = language == "ru"
    used = {
        outcome
        for cells in table.models.values()
        for cell in cells.values()
        for match in (cell.comparison.matches if cell.comparison else ())
        if match.verdict
        for outcome in (match.verdict.outcome, match.verdict.significant)
    }
    marks = "; ".join(f"{mark} {_MARK_NAMES[name][ru]}" for name, mark in MARKS.items() if name in used)
    found = [f"{marks}."] if marks else []
    if used & {"human_level", "untold"}:
        found.append(
            "≡ и ≈ считаются равенством с людьми; ≈ не доказывает равенства."
            if ru
            else "≡ and ≈ count as ties with people; ≈ does not show that the two are equal."
        )
    if any(one.people and one.people.kind != THIS_BASELINE for one in table.columns):
        found.append(
            "Опубликованные результаты людей получены на других вопросах или другими разметчиками; с ними модели сопоставлены без проверки гипотез."
            if ru
            else "Published human values come from other items or annotators; models are beside them without a test."
        )
    if table.with_total:
        missing = [dataset(name).title for name in table.people_total().missing]
        rejected = [one.title for one in table.columns if one.in_total and one.people and one.people.rejected]
        if rejected:
            found.append(
                f"В общий балл вошли отклонённые оценки уровня людей: {listed(rejected)}."
                if ru
                else f"The total contains rejected baselines: {listed(rejected)}."
            )
        # A total of the benchmark means nothing beside a dataset that is not its own.
        if missing and {one.key for one in table.columns} <= set(names()):
            found.append(
                f"До полного общего балла не хватает датасетов: {len(missing)} ({listed(missing, 30)})."
                if ru
                else f"A complete total needs {len(missing)} more datasets: {listed(missing, 30)}."
            )
    return found


def comparison_markdown(table: ComparisonTable) -> str:
    """Render the table in Markdown."""
    titles = [
        f"{markdown(title)}<br>{markdown(metric)}" if metric else markdown(title)
        for title, metric in heads(table)
    ]
    lines = ["| | " + " | ".join(titles) + " |", "|" + " --- |" * (len(titles) + 1)]
    for row in grid(table):
        cells = ["<br>".join(map(markdown, cell)) for cell in row.cells]
        lines.append("| " + " | ".join([markdown(row.name), *cells]) + " |")
    return "\n".join([*lines, "", *(markdown(one) + "  " for one in notes(table))]).rstrip() + "\n"


_LATEX_MARKS: Final = {
    "≡": r"$\equiv$", "≈": r"$\approx$", "≥": r"$\geq$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "–": "--", "—": "---",
}  # fmt: skip


def comparison_latex(table: ComparisonTable) -> str:
    """Render the table in LaTeX, for the package `booktabs`."""
    titles = [_stacked([title, metric]) for title, metric in heads(table)]
    lines = [
        rf"\begin{{tabular}}{{l{'r' * len(titles)}}}",
        r"\toprule",
        " & ".join(["", *titles]) + r" \\",
        r"\midrule",
    ]
    human = True
    for row in grid(table):
        if human and not row.human:
            lines.append(r"\midrule")
        human = row.human
        lines.append(" & ".join([_latex(row.name), *map(_stacked, row.cells)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*lines, "", *map(_latex, notes(table))]) + "\n"


def _stacked(lines: Sequence[str]) -> str:
    told = [_latex(one) for one in lines if one]
    # An interval after a line break would be read as the break's optional argument without the braces.
    return r"\begin{tabular}[t]{@{}r@{}}" + r" \\ {}".join(told) + r"\end{tabular}" if told else ""


def _latex(text: str) -> str:
    found = latex(text)
    for sign, command in _LATEX_MARKS.items():
        found = found.replace(sign, command)
    return found


def _word(name: str, language: Language) -> str:
    return _WORDS[name][language == "ru"]


def _total_head(table: ComparisonTable, language: Language) -> list[tuple[str, str]]:
    return [(_word("total", language), "")] if table.with_total else []


def _number(value: float, language: Language) -> str:
    text = f"{value:.3f}".replace("-", "−")
    return text.replace(".", ",") if language == "ru" else text


def _n(count: int | None) -> list[str]:
    return [] if count is None else [f"n = {count}"]


def _people(people: PeopleValue | None, language: Language) -> tuple[str, ...]:
    if people is None:
        return (_EMPTY,)
    told = [_number(people.value, language)]
    if people.low is not None and people.high is not None:
        alone = "" if people.over_annotators else f" {_word('alone', language)}"
        told.append(f"[{_number(people.low, language)}–{_number(people.high, language)}]{alone}")
    kind = _word("this", language) if people.kind == THIS_BASELINE else KINDS[people.kind][language == "ru"]
    remarks = [
        *([_word("simulated", language)] if people.simulated else []),
        *([_word("rejected", language)] if people.rejected else []),
    ]
    return (*told, *_n(people.n), kind, *remarks)


def _single(people: PeopleValue | None, language: Language) -> tuple[str, ...]:
    single = people.single if people else None
    return (_EMPTY,) if single is None else (_number(single[0], language), *_n(single[1]))


def _people_majority(table: ComparisonTable, column: TableColumn, language: Language) -> tuple[str, ...]:
    for cells in table.models.values():
        cell = cells.get(column.key)
        match = cell.match("majority") if cell else None
        if match is not None:
            return (_number(match.difference.first, language), *_n(match.difference.n))
    return (_EMPTY,)


def _answers(cell: ModelCell | None, language: Language) -> tuple[str, ...]:
    if cell is None:
        return (_EMPTY,)
    if cell.value is None:
        return (_word("none", language),)
    beside = [_beside(cell.match(kind), language) for kind in ("consensus", "single")]
    return (_number(cell.value, language), *_n(cell.n), *filter(None, beside))


def _majority(cell: ModelCell | None, language: Language) -> tuple[str, ...]:
    match = cell.match("majority") if cell else None
    if cell is None or match is None:
        return ()
    low, high = cell.committee
    k = f"k = {low}" if low == high else f"k = {low}–{high}"
    told = (_number(match.difference.second, language), f"{k}, n = {match.difference.n}")
    return (*told, _beside(match, language))


def _beside(match: Match | None, language: Language) -> str:
    if match is None or match.verdict is None:
        return ""
    outcome, significant = match.verdict.outcome, match.verdict.significant
    mark = MARKS[outcome]
    if significant and outcome == "human_level":
        mark += MARKS[significant]
    return f"{mark} {_BESIDE[match.kind][language == 'ru']}"


def _is_tie(cell: ModelCell | None, kinds: Sequence[str]) -> bool:
    found = [cell.match(kind) for kind in kinds] if cell else []
    return any(one and one.verdict and one.verdict.outcome in {"human_level", "untold"} for one in found)


def _total(total: TableTotal, language: Language, people: TableTotal | None = None) -> tuple[str, ...]:
    if total.value is None:
        return (_EMPTY,)
    every = len(total.counted) + len(total.missing)
    told = [
        _number(total.value, language),
        _word("of", language).format(len(total.counted), every),
    ]
    if people is not None and people.counted != total.counted and total.people is not None:
        told.append(_word("same", language).format(_number(total.people, language)))
    return tuple(told)
