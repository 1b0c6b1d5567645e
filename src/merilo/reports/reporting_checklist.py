"""The reporting checklist for human baselines (Wei et al., 2025), answered as far as the study answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from merilo.errors import DataError
from merilo.reports.checklist_answers import ChecklistAnswer, StudyAnswers
from merilo.reports.checklist_questions import PARTS, QUESTIONS, SOURCE
from merilo.reports.json_record import mapping_at
from merilo.reports.text_escapes import latex, markdown, one_line
from merilo.strict_json import Json

#: Number of a question -> its answer; questions without one are left to the author.
Checklist: TypeAlias = Mapping[str, ChecklistAnswer]

_OPEN: Final = "(the author answers)"


def reporting_checklist(
    content: Mapping[str, Json],
    plan: Mapping[str, Json] | None = None,
    *,
    frozen: Mapping[str, Json] | None = None,
    experts: Mapping[str, Json] | None = None,
    platform: str | None = None,
) -> Checklist:
    """Answer the checklist from a study; the author's answers in the plan's `checklist` take precedence.

    Args:
        content: the JSON of the baseline.
        plan: the content of `study.yaml`.
        frozen: the date and hash of the frozen plan.
        experts: the JSON of `merilo experts baseline`.
        platform: the platform's code, if the baseline's command does not name it.

    Raises:
        DataError: the plan answers a question that does not exist.
    """
    found = StudyAnswers(content, plan, frozen=frozen, experts=experts, platform=platform).found
    for number, given in mapping_at(plan, "checklist").items():
        if number not in QUESTIONS:
            raise DataError(
                f"there is no question {number} in the reporting checklist (0.1 to 5.4)",
                file="study.yaml",
                field=f"checklist.{number}",
            )
        text = one_line(given) if isinstance(given, str) else "" if given is None else str(given)
        if text:
            own = found.get(number)
            study = (
                " ".join(filter(None, [own.answer, f"({own.detail})" if own.detail else ""])) if own else ""
            )
            found[number] = ChecklistAnswer(text, f"from the study: {study}" if study else "", "author")
    return {number: found[number] for number in QUESTIONS if number in found}


def checklist_json(checklist: Checklist) -> dict[str, Json]:
    """Return the checklist as JSON: `source`, `total`, `answered`, `open` (numbers) and `items`."""
    items: list[Json] = []
    for number, question in QUESTIONS.items():
        own = checklist.get(number)
        items.append(
            {
                "number": number,
                "question": question,
                "answer": own.answer if own else None,
                "detail": own.detail if own else "",
                "from": own.source if own else "author",
            }
        )
    return {
        "source": SOURCE,
        "total": len(QUESTIONS),
        "answered": len(checklist),
        "open": [number for number in QUESTIONS if number not in checklist],
        "items": items,
    }


def checklist_markdown(checklist: Checklist) -> str:
    """Write the checklist in Markdown: a table for each part, and the count of what is answered."""
    lines = [
        "# Reporting checklist",
        "",
        f"Source: {SOURCE}. The questions are in our words, the numbers are theirs.",
        "",
        _count(checklist),
        "",
    ]
    for first, title in PARTS.items():
        lines += [f"## {title}", "", "| no. | question | answer | from |", "| --- | --- | --- | --- |"]
        for number in _numbers(first):
            own = checklist.get(number)
            answer = _answer(own, markdown) if own else f"*{_OPEN}*"
            lines.append(f"| {number} | {QUESTIONS[number]} | {answer} | {own.source if own else 'author'} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def checklist_latex(checklist: Checklist) -> str:
    """Write the checklist as a LaTeX table that breaks over pages; it needs the packages `longtable` and `booktabs`."""
    lines = [
        "% needs \\usepackage{longtable,booktabs}",
        "\\begin{longtable}{lp{0.36\\linewidth}p{0.40\\linewidth}l}",
        f"\\caption{{Reporting checklist for the human baseline. {latex(_count(checklist))} Source: {latex(SOURCE)}.}}\\\\",
        "\\toprule",
        "No. & Question & Answer & From \\\\",
        "\\midrule",
        "\\endhead",
    ]
    for first, title in PARTS.items():
        lines.append(f"\\multicolumn{{4}}{{l}}{{\\textbf{{{latex(title)}}}}} \\\\")
        for number in _numbers(first):
            own = checklist.get(number)
            answer = _answer(own, latex) if own else f"\\emph{{{latex(_OPEN)}}}"
            lines.append(
                f"{number} & {latex(QUESTIONS[number])} & {answer} & {own.source if own else 'author'} \\\\"
            )
    return "\n".join([*lines, "\\bottomrule", "\\end{longtable}"]) + "\n"


def _count(checklist: Checklist) -> str:
    given = sum(one.source == "author" for one in checklist.values())
    left = len(QUESTIONS) - len(checklist)
    return f"{len(checklist)} of {len(QUESTIONS)} questions are answered ({given} of them by the author); {left} are left to the author."


def _answer(own: ChecklistAnswer, escape: Callable[[str], str]) -> str:
    return f"{escape(own.answer)}: {escape(own.detail)}" if own.detail else escape(own.answer)


def _numbers(first: str) -> list[str]:
    return [number for number in QUESTIONS if number.split(".")[0] == first]
