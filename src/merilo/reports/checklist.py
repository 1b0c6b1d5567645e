"""The reporting checklist for human baselines (Wei et al., 2025), answered as far as the study and its plan answer it.

The questions and the templates of answers stand in `checklist.yaml`. Nothing is guessed: what neither data nor plan
says is left to the author.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from jinja2 import ChainableUndefined, Environment, TemplateError

from merilo.baselines.baseline import Baseline
from merilo.datasets.declaration import CATALOGUE
from merilo.errors import DataError
from merilo.reports.facts import PlannedBaseline
from merilo.reports.table import Section, Table, one_line, render
from merilo.strict_json import Json, count_at, dict_at, number_at
from merilo.text import LANGUAGES, Given, Money, Text, formatted

#: The source of the questions.
SOURCE: Final = (
    "Wei et al. (2025), Human Baselines in Model Evaluations Need Rigor and Transparency, ICML 2025, "
    "arXiv 2506.13776"
)

#: A pattern of rules that speak of AI tools, for each language.
_AI: Final = Text(r"chatgpt|gpt|neural|\bai\b|\bllms?\b|language model", context="pattern")

#: Kinds of people in a plan.
_KINDS: Final = {
    "basic": "adults without special training",
    "untrained": "people without training",
    "expert": "experts of the domain",
}


class ChecklistQuestion(NamedTuple):
    """A question: its part, its words, where an answer is from (`data` or `plan`), and the template of the answer."""

    part: str
    text: str
    source: str = ""
    template: str = ""


@cache
def questions() -> Mapping[str, ChecklistQuestion]:
    """Return the questions by number."""
    content = yaml.safe_load(Path(__file__).with_name("checklist.yaml").read_text(encoding="utf-8"))
    return {
        number: ChecklistQuestion(part, *entry)
        for part, entries in content.items()
        for number, entry in entries.items()
    }


class ChecklistAnswer(NamedTuple):
    """An answer and its source: `data`, `plan` or `author`."""

    text: str
    source: str


#: Who answers what neither data nor plan says.
_OPEN: Final = ChecklistAnswer("(the author answers)", "author")


def answers(
    baseline: Baseline, plan: Mapping[str, Json] | None = None, *, frozen: Mapping[str, Json] | None = None
) -> dict[str, ChecklistAnswer]:
    """Answer the checklist from a study; the author's answers in the plan's `checklist` take precedence.

    Args:
        baseline: the baseline.
        plan: the content of `study.yaml`.
        frozen: the date and hash of the frozen plan.

    Returns:
        number -> answer; questions without one are left to the author.

    Raises:
        DataError: the plan answers a question that does not exist.
    """
    environment = Environment(undefined=ChainableUndefined, autoescape=False)  # noqa: S701 - the answers are Markdown
    known = _known(baseline, plan, frozen)
    answered = {}
    for number, question in questions().items():
        if question.template and (plan is not None or question.source == "data"):
            try:
                text = one_line(environment.from_string(question.template).render(known))
            except (TemplateError, TypeError, ValueError):
                text = ""  # a value of the plan has another type
            if text:
                answered[number] = ChecklistAnswer(text, question.source)
    for number, answer in dict_at(plan, "checklist").items():
        if number not in questions():
            message = f"there is no question {number} in the reporting checklist (0.1 to 5.4)"
            raise DataError(message, file="study.yaml", field=f"checklist.{number}")
        if text := one_line("" if answer is None else str(answer)):
            study = f" (from the study: {answered[number].text})" if number in answered else ""
            answered[number] = ChecklistAnswer(text + study, "author")
    return answered


def _known(
    baseline: Baseline, plan: Mapping[str, Json] | None, frozen: Mapping[str, Json] | None
) -> dict[str, Any]:
    """Return what the templates use."""
    facts, cost, came = PlannedBaseline(baseline, plan or {}), baseline.cost, baseline.participation
    declared, drawn = CATALOGUE.get((baseline.dataset or "").lower()), facts.subset
    sizes = [*declared.sizes.values()] if declared else []
    arms = [arm for arm in dict_at(plan, "arms").values() if isinstance(arm, dict)]
    page_pay = number_at(plan, "arms", "people", "pay", "per_page")
    each = page_pay
    if each and cost.pages and cost.pages == cost.answers:  # paid by the answer, at the rate of a page
        each /= count_at(plan, "arms", "people", "items_per_page") or 1
    alike = False
    if each is not None and cost.total is not None and cost.pages is not None:
        alike = abs(cost.total - each * cost.pages) < 0.005 * max(cost.total, 1)
    overlap = baseline.item_counts.overlap_before_exclusion or baseline.item_counts.overlap
    dropped = [arm.response_counts.dropped for arm in baseline.by_arm.values()]
    answers = [(Given(personal.question).en, personal.texts) for personal in (came.personal if came else ())]
    return {
        "b": baseline.to_json(),
        "plan": plan or {},
        "frozen": frozen or {},
        "declared": declared,
        "drawn": drawn,
        "weights": f"weighted to {baseline.sampled_from} items of the dataset" if baseline.sampled else "",
        "dropouts": came.dropouts.en if came else "",
        "size": drawn.of if drawn else sizes[-1] if sizes else None,
        "overlap": dict(sorted(overlap.items(), reverse=True)),
        "platform": facts.platform_name,
        "paid": _money(cost.total, cost.currency),
        "hourly": _money(cost.hourly, cost.currency),
        "kinds": [_KINDS[kind] for arm in arms if (kind := str(arm.get("kind"))) in _KINDS],
        "own": any(counts.get(name) for counts in dropped for name in ("may_be_mine", "not_shown")),
        "page_pay": page_pay,
        "alike": alike,
        "rules": [rule.en for rule in facts.restrictions],
        "forbidden": any(map(_speaks_of_ai, facts.restrictions)),
        "personal": [
            f"{question} {'; '.join(f'{name.en}: {n}' for name, n in texts)}" for question, texts in answers
        ],
    }


def _money(amount: float | None, currency: str | None) -> str:
    return "" if amount is None else formatted(Money(amount, currency), "", "en")


def _speaks_of_ai(rule: Given) -> bool:
    """Return whether a rule speaks of AI tools, in any language."""
    return any(
        re.search(_AI.in_language(language), rule.in_language(language), re.IGNORECASE)
        for language in LANGUAGES
    )


def checklist_markdown(answered: Mapping[str, ChecklistAnswer]) -> str:
    """Write the checklist in Markdown: a table for each part, and the count of what is answered."""
    own, total = sum(answer.source == "author" for answer in answered.values()), len(questions())
    summary = (
        f"{len(answered)} of {total} questions are answered ({own} of them by the author); "
        f"{total - len(answered)} are left to the author."
    )
    source = f"Source: {SOURCE}. The questions are in our words, the numbers are theirs."
    sections = [Section("summary", sentences=(source, summary))]
    for part in dict.fromkeys(question.part for question in questions().values()):
        rows = tuple(
            (number, question.text, *answered.get(number, _OPEN))
            for number, question in questions().items()
            if question.part == part
        )
        table = Table("", ("no.", "question", "answer", "from"), rows)
        sections.append(Section(part, part, tables=(table,)))
    return f"# Reporting checklist\n\n{render(sections, 'markdown')}\n"
