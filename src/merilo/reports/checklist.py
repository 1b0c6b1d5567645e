"""The reporting checklist for human baselines (Wei et al., 2025), answered as far as the study and its plan answer it.

The questions have the numbers of the paper and our words. Nothing is guessed: what neither data nor plan says
is left to the author.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final, TypeAlias

from merilo.baselines.record import BaselineRecord
from merilo.datasets.catalogue import CATALOGUE
from merilo.datasets.declaration import Dataset
from merilo.errors import DataError
from merilo.reports.baseline_facts import BaselineFacts, baseline_facts
from merilo.reports.estimates import counted
from merilo.reports.json_record import count_at, list_at, mapping_at, number_at, text_at, value_at
from merilo.reports.prose import adaptive_design, seconds, weighting
from merilo.reports.text_escapes import latex, markdown, markdown_table, one_line
from merilo.strict_json import Json
from merilo.text import LANGUAGES, Money, Text, formatted, percent

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

#: A pattern of rules that speak of AI tools, for each language.
_AI: Final = Text(r"chatgpt|gpt|neural|\bai\b|\bllms?\b|language model", context="pattern")

#: Why a question after another has no answer of its own.
_NONE: Final = "not applicable"


@dataclass(frozen=True, slots=True)
class ChecklistAnswer:
    """An answer.

    Attributes:
        answer: `yes`, `partial`, `no`, `not applicable`, or the value that is asked for.
        detail: what the answer rests on; may be empty.
        source: `data`, `plan` or `author`.
    """

    answer: str
    detail: str
    source: str


class StudyAnswers:
    """The answers that a study gives, by number.

    Args:
        record: the baseline.
        plan: the content of `study.yaml`.
        frozen: the date and hash of the frozen plan: `date` and `sha256` or `hash`.
        experts: the JSON of `merilo experts baseline`.
        platform: the platform's code, if the baseline's command does not name it.
    """

    def __init__(
        self,
        record: BaselineRecord,
        plan: Mapping[str, Json] | None = None,
        *,
        frozen: Mapping[str, Json] | None = None,
        experts: Mapping[str, Json] | None = None,
        platform: str | None = None,
    ) -> None:
        self._record = record
        self._plan = plan
        self._frozen = frozen or mapping_at(plan, "frozen") or None
        self._experts = experts
        self._facts: BaselineFacts = baseline_facts(record, plan, platform=platform)
        self.found: dict[str, ChecklistAnswer] = {}
        self._evaluation()
        self._design()
        self._recruitment()
        self._training_and_pay()
        self._execution()
        self._analysis()
        self._documentation()

    def _add(self, number: str, answer: object, detail: str = "", source: str = "data") -> None:
        if answer is not None:
            self.found[number] = ChecklistAnswer(str(answer), detail, source)

    def _add_planned(self, number: str, answer: object, detail: str = "") -> None:
        if self._plan is not None:
            self._add(number, answer, detail, "plan")

    def _declared(self) -> Dataset | None:
        name = self._record.dataset or text_at(self._plan, "dataset")
        return CATALOGUE.get(name.lower()) if name else None

    def _evaluation(self) -> None:
        declared = self._declared()
        if declared is not None:
            knowledge = any("knowledge" in skill.lower() for skill in declared.skills)
            self._add(
                "0.5", "knowledge" if knowledge else None, f"skills: {', '.join(declared.skills)}", "plan"
            )
            media = f"text and media ({', '.join(declared.media)})" if declared.media else "text"
            self._add("0.6", media, "by the dataset's declaration", "plan")
            self._add("0.7", "Russian", "by the dataset's declaration", "plan")
        size = count_at(self._plan, "subset", "of") or (
            self._record.population.items if self._record.population else None
        )
        if size is None and declared is not None and declared.sizes:
            size = [*declared.sizes.values()][-1]
        self._add("0.8", size)
        models = [one for one in list_at(self._record.models, "models") if isinstance(one, dict)]
        tested = [n for one in models if (n := count_at(one, "n")) is not None]
        self._add("0.9", max(tested) if tested else size, "" if tested else "all items of the dataset")
        samples = [n for one in models if (n := count_at(one, "samples", "most")) is not None]
        self._add("0.10", max(samples) if samples else None)

    def _design(self) -> None:
        facts, planned = self._facts, self._facts.conditions
        used, people = self._record.annotators.used, self._record.annotators.total
        lost = used is not None and used != people
        self._add("1.1", used or people, f"whose answers count, of {people}" if lost else "")
        self._add("1.2", self._record.items.total)
        method, sample = text_at(self._plan, "subset", "method"), self._record.population
        weighted = weighting(sample).en if sample else ""
        if planned.subset is None and self._plan is not None and method is not None:
            self._add_planned("1.2.1", "all items")
        elif planned.subset is not None:
            fields = ", ".join(planned.subset[2])
            kept = f"the distribution of {fields} is kept" if fields else ""
            seed = count_at(self._plan, "seed")
            self._add_planned(
                "1.2.1",
                f"random sample ({method or 'random'})",
                "; ".join(filter(None, [kept, f"seed {seed}" if seed is not None else "", weighted])),
            )
        elif sample:
            self._add("1.2.1", "sample", weighted)
        overlap, adaptive = facts.overlap_asked, self._record.adaptive
        design = adaptive_design(adaptive).en if adaptive else ""
        if overlap:
            self._add(
                "1.3",
                ", ".join(f"{size} on {counted(n, 'item')}" for size, n in overlap.items()),
                "; ".join(
                    filter(
                        None,
                        [design, "before exclusion" if self._record.items.overlap_before_exclusion else ""],
                    )
                ),
            )
        self._per_person()
        self._add_planned(
            "1.5",
            "yes",
            "people see the prompt that models receive, rendered by the same code, without solved examples",
        )
        if facts.record.cost.total is not None or facts.record.cost.hours is not None:
            told = [
                f"{facts.record.cost.hours:.1f} hours" if facts.record.cost.hours is not None else "",
                _money(facts),
            ]
            self._add(
                "1.7",
                "partial",
                f"people: {', '.join(filter(None, told))}; the effort of models is not in the study",
            )
        power, margin = (
            number_at(self._plan, "assumptions", "power"),
            number_at(self._plan, "baseline", "margin"),
        )
        if mapping_at(self._plan, "assumptions"):
            self._add_planned(
                "1.8", "yes", "the computed plan: expected interval, power and margin for equivalence"
            )
            if power is not None and margin is not None:
                self._add_planned("1.8.1", f"{margin:g} (margin for equivalence); power {power:g}")
        if self._frozen is not None:
            day = text_at(self._frozen, "date") or text_at(self._frozen, "frozen")
            digest = text_at(self._frozen, "sha256") or text_at(self._frozen, "hash")
            if day and digest:
                self._add_planned("1.10", "yes", f"the plan was frozen on {day}, hash {digest}")

    def _per_person(self) -> None:
        quality = self._record.quality
        answers = [one.answers for one in quality.annotators if one.answers] if quality else []
        if answers:
            self._add(
                "1.4",
                f"median {median(answers):g} ({min(answers)} to {max(answers)})",
                "control items included",
            )

    def _recruitment(self) -> None:
        facts = self._facts
        kinds = {
            name: text_at(arm, "kind")
            for name, arm in mapping_at(self._plan, "arms").items()
            if isinstance(arm, dict)
        }
        if kinds:
            names = {
                "basic": "adults without special training",
                "untrained": "people without training",
                "expert": "experts of the domain",
            }
            known = [names[kind] for kind in kinds.values() if kind in names]
            if known:
                self._add_planned("2.1", "yes", " and ".join(known))
            languages = [str(one) for one in list_at(self._plan, "languages")]
            narrowed = [
                f"language of the instruction ({', '.join(languages)})" if languages else "",
                "expertise (experts' arm)" if "expert" in kinds.values() else "",
            ]
            self._add_planned("2.1.1", "; ".join(filter(None, narrowed)) or None)
        if facts.platform and facts.platform != "Label Studio":
            self._add("2.2", "crowd", facts.platform)
        may_be_mine = count_at(self._experts, "experts", "answers", "may_be_mine")
        if may_be_mine is not None:
            self._add(
                "2.4",
                "partial",
                f"experts could be authors; they skipped {counted(may_be_mine, 'item')} that might be their own",
            )
            self._add("2.5", "yes", "experts skipped items that might be their own")
        elif any(
            value_at(arm, "skip_own") is True
            for arm in mapping_at(self._plan, "arms").values()
            if isinstance(arm, dict)
        ):
            self._add_planned("2.5", "yes", "people skip items that may be their own")
        elif kinds:
            self._add_planned("2.5", "no", "people were not asked whether they had seen the items")

    def _training_and_pay(self) -> None:
        facts = self._facts
        if self._plan is not None:
            threshold = facts.conditions.trained
            trained = bool(mapping_at(self._plan, "training"))
            if (
                trained and threshold
            ):  # without training, the platform may have screened people: the plan does not know
                self._add_planned("2.3", "yes", "by training items")
                rule = f"at least {percent(threshold, 'en')} correct answers to training items"
                self._add_planned("2.3.1", rule)
            self._add_planned("2.6", "yes" if trained else "no")
            feedback = value_at(self._plan, "training", "feedback") is not False
            self._add_planned(
                "2.6.1", f"solved items{' with feedback' if feedback else ''}" if trained else _NONE
            )
            if not trained:
                for number in ("2.6.2", "2.6.2.1"):
                    self._add_planned(number, _NONE, "no training")
        if facts.record.cost.total is not None:
            self._add("2.7", "yes" if facts.record.cost.total > 0 else "no", _money(facts))
        if facts.record.cost.hourly is not None:
            self._add(
                "2.7.1",
                formatted(Money(facts.record.cost.hourly, facts.record.cost.currency), "", "en"),
                "total pay by measured time",
            )
        page = number_at(self._plan, "arms", "people", "pay", "per_page")
        if page is not None:
            self._add_planned("2.7.2", "no", "the plan pays by the page alone")
            self._add_planned("2.7.2.1", _NONE, "no bonus")
            total, pages = facts.record.cost.total, facts.record.cost.pages
            each = page
            if pages and pages == facts.record.cost.answers:  # paid by the answer, at the rate of a page
                each /= facts.conditions.items_per_page or 1
            if total is None or (pages and abs(total - each * pages) < 0.005 * max(total, 1)):
                self._add_planned("2.7.3", "yes", f"{page:g} a page")
                self._add_planned("2.7.3.1", _NONE, "all were paid alike")

    def _execution(self) -> None:
        facts = self._facts
        size, total, pages = (
            facts.conditions.items_per_page,
            self._record.responses.total,
            facts.record.cost.pages,
        )
        if size is not None:
            self._add_planned("3.1", f"{size} a page", "control items included")
        elif total and pages:
            self._add("3.1", f"{round(total / pages, 1):g} a page on average", "control items included")
        checks = []
        if self._record.responses.control:
            checks.append(f"control items ({counted(self._record.responses.control, 'answer')})")
        checks += [
            one.test.replace("_", " ") for one in (self._record.quality.tests if self._record.quality else ())
        ]
        if checks:
            during = bool(self._record.responses.control)
            self._add(
                "3.2", "yes" if during else "partial", "" if during else "checks after the collection alone"
            )
            self._add("3.2.1", ", ".join(checks))
        excluded, people = self._record.annotators.excluded, self._record.annotators.total
        if excluded is not None and people is not None:
            lost = self._record.responses.dropped.get("excluded_annotator", 0)
            self._add(
                "3.2.2",
                f"{excluded} of {counted(people, 'annotator')}, {counted(lost, 'answer')}",
            )
        if self._plan is not None or facts.platform:
            source = "plan" if self._plan is not None else "data"
            self._add("3.3", "no", "people answered on a page", source)
            self._add("3.3.1", "yes", "", source)
        self._add_planned("3.3.2", "yes", "the text of the prompt and the labels of answers are the same")
        self._add_planned(
            "3.4",
            "partial",
            "the same prompt; people also read an instruction, models may get solved examples",
        )
        self._add_planned(
            "3.4.1", "no", "the values of people are not adjusted for the instruction they read"
        )
        rules = facts.conditions.restrictions
        if rules:
            self._add_planned("3.5", "partial", f"rules for people: {'; '.join(rule.en for rule in rules)}")
            limit = facts.conditions.time_limit
            timed = f", and by a time limit of {counted(round(limit), 'second')} per item" if limit else ""
            self._add_planned("3.5.1", f"by the instruction{timed}")
        self._add_planned("3.6", "no", "annotators are asked for the answer alone")

    def _analysis(self) -> None:
        models = [one for one in list_at(self._record.models, "models") if isinstance(one, dict)]
        tests = {
            test
            for one in models
            for match in mapping_at(one, "comparisons").values()
            if isinstance(match, dict) and (test := text_at(match, "test"))
        }
        self._add("4.1", "yes" if tests else "no", "" if tests else "no model is compared in this study")
        self._add("4.1.1", ", ".join(sorted(tests)) if tests else _NONE)
        if intervals := [one for one in self._record.main_metrics.values() if one.interval]:
            self._add(
                "4.2",
                "yes" if tests else "partial",
                "" if tests else "the study has the uncertainty of people alone",
            )
            over = "items and annotators" if intervals[0].over_both else "items alone"
            self._add("4.2.1", f"95 % interval over {over}")
        if self._record.main_metrics:
            single = any(
                one.single and one.single.mean is not None for one in self._record.main_metrics.values()
            )
            self._add(
                "4.3",
                "yes" if single else "partial",
                "a single person is given to be set beside single answers of a model"
                if single
                else "the consensus of several people is not comparable with single answers",
            )
            self._add("4.4", "yes", "one scorer for people and models")
            self._add("4.5", "yes", "a program, for people and models")
        self._robustness()

    def _robustness(self) -> None:
        rows = self._record.sensitivity.rows if self._record.sensitivity else ()
        values = [one.value for one in rows if one.value is not None]
        if values:
            self._add(
                "4.6",
                "partial" if max(values) - min(values) > 0.02 else "yes",
                f"{min(values):.3f} to {max(values):.3f} over "
                f"{counted(len(values), 'combination')} of threshold and procedure",
            )

    def _documentation(self) -> None:
        facts = self._facts
        files = [str(name) for name in mapping_at(self._plan, "instruction").values()]
        self._add_planned("5.1.2", "yes" if files else None, ", ".join(files))
        if (median_time := self._record.cost.median_seconds_per_answer) is not None:
            self._add("5.1.3", seconds(median_time).en, "median time of an answer")
        if any(map(_is_about_ai, facts.conditions.restrictions)):
            self._add_planned(
                "5.1.4", "forbidden, not measured", "the instruction forbids them; their use was not checked"
            )
        unsubmitted = self._record.responses.dropped.get("not_submitted", 0)
        if self._record.responses.total is not None:
            self._add(
                "5.1.5",
                "unreported",
                f"the export has {counted(unsubmitted, 'answer')} that "
                f"{'was' if unsubmitted == 1 else 'were'} not submitted; "
                "it does not count people",
            )
        data = text_at(self._plan, "publication", "data")
        if data:
            self._add_planned("5.2", "yes", data)
            self._add_planned("5.2.1", "yes", "every answer with the pseudonym of its annotator")
            self._add_planned("5.2.2", _NONE)
        materials = text_at(self._plan, "publication", "materials")
        self._add_planned("5.3", "yes" if materials else None, materials or "")
        code = text_at(self._plan, "publication", "code") or data
        self._add(
            "5.4",
            "yes" if code else "partial",
            code
            or "the notebook of hb/ recomputes every value; the plan does not state where it is published",
        )


def _is_about_ai(rule: Text) -> bool:
    return any(
        re.search(_AI.in_language(language), rule.in_language(language), re.IGNORECASE)
        for language in LANGUAGES
    )


def _money(facts: BaselineFacts) -> str:
    return (
        ""
        if facts.record.cost.total is None
        else f"{formatted(Money(facts.record.cost.total, facts.record.cost.currency), '', 'en')} in all"
    )


#: Number of a question -> its answer; questions without one are left to the author.
Checklist: TypeAlias = Mapping[str, ChecklistAnswer]

_OPEN: Final = "(the author answers)"
_OPEN_LATEX: Final = rf"\emph{{{_OPEN}}}"


def reporting_checklist(
    record: BaselineRecord,
    plan: Mapping[str, Json] | None = None,
    *,
    frozen: Mapping[str, Json] | None = None,
    experts: Mapping[str, Json] | None = None,
    platform: str | None = None,
) -> Checklist:
    """Answer the checklist from a study; the author's answers in the plan's `checklist` take precedence.

    Args:
        record: the baseline.
        plan: the content of `study.yaml`.
        frozen: the date and hash of the frozen plan.
        experts: the JSON of `merilo experts baseline`.
        platform: the platform's code, if the baseline's command does not name it.

    Raises:
        DataError: the plan answers a question that does not exist.
    """
    found = StudyAnswers(record, plan, frozen=frozen, experts=experts, platform=platform).found
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
