"""The reporting checklist for human baselines (Wei et al., 2025), answered as far as the study and its plan answer it.

The questions have the numbers of the paper and our words. Nothing is guessed: what neither data nor plan says
is left to the author.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from merilo.baselines.baseline import Baseline, CostRecord
from merilo.baselines.signal_counts import signal_sentences
from merilo.datasets.declaration import CATALOGUE, Dataset
from merilo.errors import DataError
from merilo.participation import Participation
from merilo.records import count_at, list_at, mapping_at, number_at, text_at, value_at
from merilo.reports.baseline_facts import BaselineFacts, ConditionFacts, baseline_facts
from merilo.reports.estimates import counted
from merilo.reports.prose import seconds, weighting
from merilo.reports.table import latex, markdown, markdown_table, one_line
from merilo.strict_json import Json
from merilo.text import Given, Money, formatted, percent

#: The source of the questions.
SOURCE: Final = (
    "Wei et al. (2025), Human Baselines in Model Evaluations Need Rigor and Transparency, ICML 2025, "
    "arXiv 2506.13776"
)

#: The first number of a question -> its part.
PARTS: Final = {
    "0": "The evaluation",
    "1": "Design",
    "2": "Recruitment",
    "3": "Execution",
    "4": "Analysis",
    "5": "Documentation",
}

#: Number -> question.
QUESTIONS: Final = {
    "0.1": "Title of the paper",
    "0.2": "Link to the paper",
    "0.3": "Year of the paper",
    "0.4": "Venue of the paper",
    "0.5": "What is evaluated: knowledge, capability, propensity or an agent",
    "0.6": "Mode of the items: text, pictures, sound or other",
    "0.7": "Language of the items",
    "0.8": "Number of items in the dataset",
    "0.9": "Number of items on which models are tested",
    "0.10": "Number of samples of a model per item",
    "1.1": "Number of people",
    "1.2": "Number of items that people answered",
    "1.2.1": "How these items were drawn",
    "1.3": "Number of people's answers per item",
    "1.4": "Number of items per person",
    "1.5": "Does the design say how people and models are put on equal terms?",
    "1.6": "Was the setup piloted or validated?",
    "1.7": "Was the effort of people and models, in time or money, controlled or reported?",
    "1.8": "Was there a power analysis?",
    "1.8.1": "Smallest effect of interest, and power",
    "1.9": "Was there an ethics review?",
    "1.10": "Was the study pre-registered?",
    "2.1": "Is the population named for which the result speaks?",
    "2.1.1": "By what the population was narrowed: expertise, education, language, age or other",
    "2.2": "How people were sampled: crowd, convenience, random or stratified",
    "2.3": "Were people screened before the study?",
    "2.3.1": "Criteria of the screening",
    "2.3.2": "Number of people who were turned away",
    "2.4": "Did the authors answer items themselves?",
    "2.5": "Were people kept out who had seen the items before?",
    "2.6": "Were people trained?",
    "2.6.1": "Kind of training",
    "2.6.2": "Was the training paid?",
    "2.6.2.1": "Pay for the training",
    "2.7": "Were people paid?",
    "2.7.1": "Pay per hour",
    "2.7.2": "Was there a bonus?",
    "2.7.2.1": "Amount of the bonus, and for what it was paid",
    "2.7.3": "Were all people paid alike?",
    "2.7.3.1": "How pay was set if it was not alike",
    "3.1": "Number of items in one sitting",
    "3.1.1": "Was the order of the items random?",
    "3.2": "Was quality checked during the collection?",
    "3.2.1": "Kinds of quality checks",
    "3.2.2": "How much was excluded",
    "3.3": "Did people and models have the same interface?",
    "3.3.1": "Did people have a page and models an API?",
    "3.3.2": "Was the difference of interfaces adjusted for?",
    "3.4": "Did people and models receive the same instruction and prompt?",
    "3.4.1": "Was a difference of prompts adjusted for?",
    "3.5": "Did people and models have the same tools?",
    "3.5.1": "How a ban on tools was enforced",
    "3.6": "Were explanations collected from people?",
    "4.1": "Was the difference between people and models tested?",
    "4.1.1": "Which test",
    "4.2": "Is the uncertainty of people and models reported?",
    "4.2.1": "In which form: point, interval or distribution",
    "4.3": "Are people and models measured by the same metric?",
    "4.4": "Are people and models scored by the same rules?",
    "4.5": "Are people and models scored in the same way: by people, a program or a model?",
    "4.6": "Does the result hold under other exclusions?",
    "5.1.1": "Demographics of the people",
    "5.1.2": "Are the instructions to people reported?",
    "5.1.3": "Time that a person needs for an item",
    "5.1.4": "AI tools of the people, with versions, if they had any",
    "5.1.5": "Number of people who began and did not finish",
    "5.2": "Are the anonymised data public?",
    "5.2.1": "Are they public for each person?",
    "5.2.2": "If the data are not public, why",
    "5.3": "Are the materials of the study public?",
    "5.4": "Is the code of the analysis public?",
}

#: Why a question after another has no answer of its own.
_NONE: Final = "not applicable"


class ChecklistAnswer(NamedTuple):
    """An answer.

    Attributes:
        answer: `yes`, `partial`, `no`, `not applicable`, or the value that is asked for.
        detail: what the answer rests on; may be empty.
        source: `data`, `plan` or `author`.
    """

    answer: str
    detail: str
    source: str


#: Number -> answer and what it rests on; a question whose answer is `None` is left to the author.
_Answers: TypeAlias = dict[str, tuple[object, str]]

#: Answers that are the same for every study that was planned with Merilo.
_OF_EVERY_PLAN: Final[_Answers] = {
    "1.5": (
        "yes",
        "people see the prompt that models receive, rendered by the same code, without solved examples",
    ),
    "3.3": ("no", "people answered on a page"),
    "3.3.1": ("yes", ""),
    "3.3.2": ("yes", "the text of the prompt and the labels of answers are the same"),
    "3.4": (
        "partial",
        "the same prompt; people also read an instruction, models may get solved examples",
    ),
    "3.4.1": ("no", "the values of people are not adjusted for the instruction they read"),
    "3.6": ("no", "annotators are asked for the answer alone"),
}

#: Kinds of people in a plan.
_KINDS: Final = {
    "basic": "adults without special training",
    "untrained": "people without training",
    "expert": "experts of the domain",
}


def _study_answers(
    facts: BaselineFacts,
    plan: Mapping[str, Json] | None,
    frozen: Mapping[str, Json] | None,
) -> dict[str, ChecklistAnswer]:
    """Return the answers that a study gives, by number."""
    declared = _declared(facts.record, plan)
    parts = [
        ("plan", _of_dataset(declared)),
        ("data", _of_models(facts.record, plan, declared)),
        ("data", _of_people(facts)),
        ("data", _of_results(facts.record, plan)),
        (
            "plan",
            {} if plan is None else _of_plan(facts, plan, frozen or mapping_at(plan, "frozen")),
        ),
    ]
    return {
        number: ChecklistAnswer(str(answer), detail, source)
        for source, answers in parts
        for number, (answer, detail) in answers.items()
        if answer is not None
    }


def _declared(record: Baseline, plan: Mapping[str, Json] | None) -> Dataset | None:
    name = record.dataset or text_at(plan, "dataset")
    return CATALOGUE.get(name.lower()) if name else None


def _of_dataset(declared: Dataset | None) -> _Answers:
    if declared is None:
        return {}
    knowledge = any("knowledge" in skill.lower() for skill in declared.skills)
    media = f"text and media ({', '.join(declared.media)})" if declared.media else "text"
    return {
        "0.5": ("knowledge" if knowledge else None, f"skills: {', '.join(declared.skills)}"),
        "0.6": (media, "by the dataset's declaration"),
        "0.7": ("Russian", "by the dataset's declaration"),
    }


def _of_models(record: Baseline, plan: Mapping[str, Json] | None, declared: Dataset | None) -> _Answers:
    size = count_at(plan, "subset", "of") or record.sampled_from
    if size is None and declared is not None and declared.sizes:
        size = [*declared.sizes.values()][-1]
    tested = [row.score.n for row in record.models]
    tests = ["paired on the same items, over items and annotators"] if tested else []
    main = record.main_metrics.values()
    interval = next((one for one in main if one.ci95), None)
    over = "items and annotators" if interval and interval.people else "items alone"
    return {
        "0.8": (size, ""),
        "0.9": (max(tested, default=size), "" if tested else "all items of the dataset"),
        "0.10": (None, ""),
        "4.1": ("yes" if tests else "no", "" if tests else "no model is compared in this study"),
        "4.1.1": (", ".join(sorted(tests)) or _NONE, ""),
        "4.2": (
            interval and ("yes" if tests else "partial"),
            "" if tests else "the study has the uncertainty of people alone",
        ),
        "4.2.1": (interval and f"95 % interval over {over}", ""),
    }


def _of_people(facts: BaselineFacts) -> _Answers:
    record, cost, responses = facts.record, facts.record.cost, facts.record.response_counts
    counts = record.annotator_counts
    people, used, excluded = counts.total, counts.used, counts.excluded
    effort = [f"{cost.hours:.1f} hours" if cost.hours is not None else "", _money(cost)]
    mine = _own_items(record)
    checks = f"control items ({counted(responses.control, 'answer')})" if responses.control else None
    lost, unsubmitted = (responses.dropped.get(why, 0) for why in ("excluded_annotator", "not_submitted"))
    overlap = ", ".join(f"{size} on {counted(n, 'item')}" for size, n in facts.overlap_asked.items())
    when = "before exclusion" if record.item_counts.overlap_before_exclusion else ""
    found: _Answers = {
        "1.1": (used or people, f"whose answers count, of {people}" if used not in {None, people} else ""),
        "1.2": (record.item_counts.total, ""),
        "1.3": (overlap or None, when),
        "1.7": (
            "partial" if any(effort) else None,
            f"people: {', '.join(filter(None, effort))}; the effort of models is not in the study",
        ),
        "2.2": ("crowd" if facts.platform not in {None, "Label Studio"} else None, facts.platform or ""),
        "2.7": (None if cost.total is None else "yes" if cost.total > 0 else "no", _money(cost)),
        "3.2": ("yes" if checks else None, ""),
        "3.2.1": (checks, ""),
        "5.1.5": (
            None if responses.total is None else "unreported",
            f"the export has {counted(unsubmitted, 'answer')} that {'was' if unsubmitted == 1 else 'were'} not "
            "submitted; it does not count people",
        ),
    }
    if came := record.participation:
        found |= _of_participation(came)
    if record.sampled:
        found["1.2.1"] = "sample", weighting(record).en
    if responses.total and people:
        found["1.4"] = f"{responses.total / people:.1f} on average", "control items included"
    if mine:
        told = f"experts could be authors; they skipped {counted(mine, 'item')} that might be their own"
        found |= {"2.4": ("partial", told), "2.5": ("yes", "experts skipped items that might be their own")}
    if cost.hourly is not None:
        hourly = formatted(Money(cost.hourly, cost.currency), "", "en")
        least = number_at(record.parameters, "minimum_hourly")
        low = least is not None and cost.hourly < least
        found["2.7.1"] = (
            hourly,
            f"total pay by measured time{', below the minimum of the plan' if low else ''}",
        )
    if responses.total and cost.pages:
        each = f"{round(responses.total / cost.pages, 1):g} a page on average"
        found["3.1"] = each, "control items included"
    if excluded is not None and people is not None:
        found["3.2.2"] = f"{excluded} of {counted(people, 'annotator')}, {counted(lost, 'answer')}", ""
    if facts.platform:
        found |= {name: _OF_EVERY_PLAN[name] for name in ("3.3", "3.3.1")}
    if cost.median_seconds_per_answer is not None:
        found["5.1.3"] = seconds(cost.median_seconds_per_answer).en, "median time of an answer"
    return found


def _own_items(record: Baseline) -> int:
    """Count the items that annotators of any arm skipped because they may have written them."""
    dropped = [arm.response_counts.dropped for arm in record.by_arm.values()]
    return sum(one.get(name, 0) for one in dropped for name in ("may_be_mine", "not_shown"))


def _of_participation(came: Participation) -> _Answers:
    """Say who left, who was turned away, and what people said of themselves."""
    ends = f"{came.refusals.en} did not agree to take part, {came.failed_training} did not pass the training"
    where = came.where_people_left.en
    found: _Answers = {
        "5.1.5": (came.dropouts.en, f"of those who agreed{f': {where}' if where else ''}; {ends}")
    }
    if came.failed_training:
        found["2.3.2"] = came.failed_training, "did not pass the training"
    if came.personal:
        told = [
            f"{Given(one.question).en} {'; '.join(f'{name.en}: {n}' for name, n in one.texts)}"
            for one in came.personal
        ]
        found["5.1.1"] = " ".join(told), "people who answered a task; small counts are merged"
    return found


def _of_results(record: Baseline, plan: Mapping[str, Json] | None) -> _Answers:
    code = text_at(plan, "publication", "code") or text_at(plan, "publication", "data")
    notebook = "the notebook of hb/ recomputes every value; the plan does not state where it is published"
    found: _Answers = {"5.4": ("yes", code) if code else ("partial", notebook)}
    if record.main_metrics:
        single = record.single_person is not None and record.single_person.value is not None
        found |= {
            "4.3": ("yes", "a single person is given to be set beside single answers of a model")
            if single
            else ("partial", "the consensus of several people is not comparable with single answers"),
            "4.4": ("yes", "one scorer for people and models"),
            "4.5": ("yes", "a program, for people and models"),
        }
    return found


def _of_plan(
    facts: BaselineFacts,
    plan: Mapping[str, Json],
    frozen: Mapping[str, Json],
) -> _Answers:
    known, rules = facts.conditions, facts.conditions.restrictions
    arms = [one for one in mapping_at(plan, "arms").values() if isinstance(one, dict)]
    kinds = [kind for one in arms if (kind := text_at(one, "kind"))]
    languages = ", ".join(str(one) for one in list_at(plan, "languages"))
    narrowed = [
        f"language of the instruction ({languages})" if languages else "",
        "expertise (experts' arm)" if "expert" in kinds else "",
    ]
    power, margin = number_at(plan, "assumptions", "power"), number_at(plan, "baseline", "margin")
    day = text_at(frozen, "date") or text_at(frozen, "frozen")
    digest = text_at(frozen, "sha256") or text_at(frozen, "hash")
    limit = (
        f", and by a time limit of {counted(round(known.time_limit), 'second')} per item"
        if known.time_limit
        else ""
    )
    files = ", ".join(str(name) for name in mapping_at(plan, "instruction").values())
    data, materials = (text_at(plan, "publication", name) for name in ("data", "materials"))
    planned = " and ".join(_KINDS[one] for one in kinds if one in _KINDS)
    own = any(one.get("skip_own") is True for one in arms)
    asked = not _own_items(facts.record)
    found: _Answers = {
        **_OF_EVERY_PLAN,
        **_of_training(known, plan),
        **_of_drawing(facts, plan),
        **_of_pay(facts, plan),
        "1.9": (text_at(plan, "consent", "ethics", "en") or text_at(plan, "consent", "ethics", "ru"), ""),
        "1.10": ("yes" if day and digest else None, f"the plan was frozen on {day}, hash {digest}"),
        "2.1": ("yes" if planned else None, planned),
        "2.1.1": ("; ".join(filter(None, narrowed)) or None if kinds else None, ""),
        "3.1": (known.items_per_page and f"{known.items_per_page} a page", "control items included"),
        "5.1.2": ("yes" if files else None, files),
        "5.1.4": _of_help(facts.record, forbidden=known.ai_forbidden),
        "5.3": ("yes" if materials else None, materials or ""),
    }
    if asked and own:
        found["2.5"] = "yes", "people skip items that may be their own"
    elif asked and kinds:
        found["2.5"] = "no", "people were not asked whether they had seen the items"
    if mapping_at(plan, "assumptions"):
        found["1.8"] = "yes", "the computed plan: expected interval, power and margin for equivalence"
        if power is not None and margin is not None:
            found["1.8.1"] = f"{margin:g} (margin for equivalence); power {power:g}", ""
    if rules:
        found["3.5"] = "partial", f"rules for people: {'; '.join(rule.en for rule in rules)}"
        seen = ", and by signals of help by AI, without consequences" if facts.record.signals else ""
        found["3.5.1"] = f"by the instruction{limit}{seen}", ""
    if data:
        found |= {
            "5.2": ("yes", data),
            "5.2.1": ("yes", "every answer with the pseudonym of its annotator"),
            "5.2.2": (_NONE, ""),
        }
    if materials:
        found["5.3"] = "yes", materials
    return found


def _of_drawing(facts: BaselineFacts, plan: Mapping[str, Json]) -> _Answers:
    """Say how the items were drawn."""
    method, subset = text_at(plan, "subset", "method"), facts.conditions.subset
    if subset is None:
        return {"1.2.1": ("all items", "")} if method else {}
    fields, seed = ", ".join(subset[2]), count_at(plan, "seed")
    details = [
        f"the distribution of {fields} is kept" if fields else "",
        f"seed {seed}" if seed is not None else "",
        weighting(facts.record).en if facts.record.sampled else "",
    ]
    return {"1.2.1": (f"random sample ({method or 'random'})", "; ".join(filter(None, details)))}


def _of_training(known: ConditionFacts, plan: Mapping[str, Json]) -> _Answers:
    if not mapping_at(plan, "training"):
        # The platform may have screened people: the plan does not know.
        none: tuple[object, str] = (_NONE, "no training")
        return {"2.6": ("no", ""), "2.6.1": (_NONE, ""), "2.6.2": none, "2.6.2.1": none}
    feedback = value_at(plan, "training", "feedback") is not False
    found: _Answers = {
        "2.6": ("yes", ""),
        "2.6.1": (f"solved items{' with feedback' if feedback else ''}", ""),
    }
    if known.trained:
        rule = f"at least {percent(known.trained, 'en')} correct answers to training items"
        found |= {"2.3": ("yes", "by training items"), "2.3.1": (rule, "")}
    return found


def _of_pay(facts: BaselineFacts, plan: Mapping[str, Json]) -> _Answers:
    page = number_at(plan, "arms", "people", "pay", "per_page")
    if page is None:
        return {}
    found: _Answers = {
        "2.7.2": ("no", "the plan pays by the page alone"),
        "2.7.2.1": (_NONE, "no bonus"),
    }
    total, pages, each = facts.record.cost.total, facts.record.cost.pages, page
    if pages and pages == facts.record.cost.answers:  # paid by the answer, at the rate of a page
        each /= facts.conditions.items_per_page or 1
    if total is None or (pages and abs(total - each * pages) < 0.005 * max(total, 1)):
        found |= {"2.7.3": ("yes", f"{page:g} a page"), "2.7.3.1": (_NONE, "all were paid alike")}
    return found


def _of_help(record: Baseline, *, forbidden: bool) -> tuple[str | None, str]:
    """Answer whether people used AI tools, from the instruction, annotators who echo models, and recorded signals."""
    told = [one.sentence().en for one in record.echoes if not one.reason]
    told += [text.en for text in (signal_sentences(record.signals) if record.signals else ())]
    rule = ["the instruction forbids them"] if forbidden else []
    if told:
        return f"{'forbidden, ' if forbidden else ''}measured", "; ".join([*rule, *told])
    return "forbidden, not measured" if forbidden else None, "; ".join([*rule, "their use was not checked"])


def _money(cost: CostRecord) -> str:
    return "" if cost.total is None else f"{formatted(Money(cost.total, cost.currency), '', 'en')} in all"


#: Number of a question -> its answer; questions without one are left to the author.
Checklist: TypeAlias = Mapping[str, ChecklistAnswer]

_OPEN: Final = "(the author answers)"
_OPEN_LATEX: Final = rf"\emph{{{_OPEN}}}"


def reporting_checklist(
    record: Baseline,
    plan: Mapping[str, Json] | None = None,
    *,
    frozen: Mapping[str, Json] | None = None,
    platform: str | None = None,
) -> Checklist:
    """Answer the checklist from a study; the author's answers in the plan's `checklist` take precedence.

    Args:
        record: the baseline.
        plan: the content of `study.yaml`.
        frozen: the date and hash of the frozen plan.
        platform: the platform's code, if the baseline's command does not name it.

    Raises:
        DataError: the plan answers a question that does not exist.
    """
    found = _study_answers(baseline_facts(record, plan, platform=platform), plan, frozen)
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
        rows = (
            (number, QUESTIONS[number], answer or f"*{_OPEN}*", source)
            for number, answer, source in _answers(checklist, first, markdown)
        )
        lines += [f"## {title}", "", *markdown_table(("no.", "question", "answer", "from"), rows), ""]
    return "\n".join(lines).rstrip() + "\n"


def checklist_latex(checklist: Checklist) -> str:
    """Write the checklist as a LaTeX table that breaks over pages; it needs the packages `longtable` and `booktabs`."""
    lines = [
        "% needs \\usepackage{longtable,booktabs}",
        "\\begin{longtable}{lp{0.36\\linewidth}p{0.40\\linewidth}l}",
        f"\\caption{{Reporting checklist for the human baseline. {latex(_count(checklist))} "
        f"Source: {latex(SOURCE)}.}}\\\\",
        "\\toprule",
        "No. & Question & Answer & From \\\\",
        "\\midrule",
        "\\endhead",
    ]
    for first, title in PARTS.items():
        lines.append(f"\\multicolumn{{4}}{{l}}{{\\textbf{{{latex(title)}}}}} \\\\")
        lines += [
            f"{number} & {latex(QUESTIONS[number])} & {answer or _OPEN_LATEX} & {source} \\\\"
            for number, answer, source in _answers(checklist, first, latex)
        ]
    return "\n".join([*lines, "\\bottomrule", "\\end{longtable}"]) + "\n"


def _count(checklist: Checklist) -> str:
    given = sum(one.source == "author" for one in checklist.values())
    left = len(QUESTIONS) - len(checklist)
    return (
        f"{len(checklist)} of {len(QUESTIONS)} questions are answered ({given} of them by the author); "
        f"{left} are left to the author."
    )


def _answers(
    checklist: Checklist, first: str, escape: Callable[[str], str]
) -> Iterator[tuple[str, str, str]]:
    """Return the numbers of a part, their answers, empty for the author's, and who gives them."""
    for number in QUESTIONS:
        if number.split(".")[0] == first:
            own = checklist.get(number)
            answer = ": ".join(map(escape, filter(None, [own.answer, own.detail]))) if own else ""
            yield number, answer, own.source if own else "author"
