"""What is said of a human baseline: six sections, from which pages, cards, messages and the terminal select.

Each sentence about a baseline stands here once: result, people, items, agreement, doubtful items, cost.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from math import floor, log10
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

import polars as pl

from merilo.baselines.arms import EVERYBODY, EXPERTS, PEOPLE
from merilo.baselines.baseline import Baseline, Evidence
from merilo.baselines.baseline_tables import shown_fields
from merilo.baselines.estimates import ALPHA
from merilo.baselines.findings import SIMULATED, STATUSES
from merilo.baselines.people_table import PEOPLE_ROWS
from merilo.datasets import names
from merilo.datasets.declaration import CATALOGUE
from merilo.datasets.rendering import option_fields
from merilo.errors import InputError, UsageError
from merilo.estimate import Estimate
from merilo.metrics.registry import title_of
from merilo.people.cost import paid_work
from merilo.people.platforms import NAMES
from merilo.people.signals import signal_sentences
from merilo.people.typing_errors import TYPING_ERRORS
from merilo.records import Span
from merilo.reports.table import Bar, Cell, Percent, Section, Table, estimate_text, one_line
from merilo.statistics.intervals import wilson
from merilo.strict_json import Json, at, count_at, list_at, number_at, text_at
from merilo.text import LANGUAGES, Given, Language, Money, Text, joined
from merilo.wording import shortened

#: Who answered: people without training, or experts.
Role: TypeAlias = Literal["people", "experts"]

#: What the names of the projects begin with in which people judge the sentences of ruDetox.
_PROJECTS: Final = "rudetox-"

#: The maximum number of rows of a table; the files in the same folder hold all rows.
MOST_ROWS: Final = 12

#: How items are decided: the name of a count of the record -> its name after "a consensus was reached".
WAYS: Final = {
    "unanimous": Text("unanimously"),
    "majority": Text("by a majority"),
    "plurality": Text("by most votes without a majority"),
    "skill": Text("by the larger sum of skill after a tie"),
    "top_skill": Text("by the three most skilled after a tie"),
    "glad": Text("by the abilities that GLAD estimates"),
    "pooled": Text("by the Dawid–Skene model with a pooled confusion matrix"),
    "weighted_median": Text("by the median weighted by the annotators' accuracies"),
    "dawid_skene": Text("by the Dawid–Skene model"),
    "medoid": Text("by the answer closest to the others after a tie"),
    "parts": Text("by a majority for each number of the answer"),
    "unresolved": Text("without a consensus"),
}

#: Why a row of the export does not count.
REASONS: Final = {
    "empty_input": Text("empty input"),
    "header": Text("a repeated header"),
    "empty_answer": Text("empty answer"),
    "rejected": Text("rejected by the requester"),
    "not_submitted": Text("not submitted"),
    "same_row_twice": Text("the same row twice"),
    "repeated": Text("repeated by the same annotator"),
    "contradicted": Text("contradicts an answer of the same annotator"),
    "recoded_to_nothing": Text("recoded to nothing"),
    "missing": Text("missing"),
    "may_be_mine": Text("marked 'may be mine'"),
    "not_shown": Text("not shown to the author of the item"),
    "late": Text("after the time limit"),
    "without_annotator": Text("without an annotator"),
    "excluded_annotator": Text("by an excluded annotator"),
}


#: Groups of questions and criteria of the catalogue.
_GROUPS: Final = {
    "correct": Text("correct"),
    "good": Text("good"),
    "ethical": Text("ethical"),
    "virtue": Text("virtue"),
    "law": Text("law"),
    "moral": Text("moral"),
    "justice": Text("justice"),
    "utilitarianism": Text("utilitarianism"),
    "honest": Text("honest"),
    "helpful": Text("helpful"),
    "harmless": Text("harmless"),
}


class DrawnItems(NamedTuple):
    """A draw from a dataset: items, of how many, by which fields, and how they were drawn."""

    size: int
    of: int
    fields: tuple[str, ...]
    how: Text


@dataclass(frozen=True, slots=True)
class PlannedBaseline:
    """A baseline with what its study's plan says.

    Attributes:
        record: the baseline.
        plan: the content of `study.yaml`; empty if the study was not planned with Merilo.
        role: who answered; also the name of their arm in the plan.
        submitted: whether the dataset is meant for the benchmark.
    """

    record: Baseline
    plan: Mapping[str, Json] = field(default_factory=dict)
    role: Role = "people"
    submitted: bool = False

    @property
    def evidence(self) -> Evidence | None:
        """Return the tables behind the baseline; `None` if only its JSON is at hand."""
        try:
            return self.record.evidence
        except UsageError:
            return None

    @property
    def title(self) -> str | None:
        """Return the dataset's name as it is published."""
        record = self.record
        name = record.dataset or text_at(record.declaration, "name") or text_at(self.plan, "dataset")
        known = CATALOGUE.get(name.lower()) if name else None
        return known.title if known else (one_line(name) if name else None)

    @property
    def platform_name(self) -> str | None:
        """Return the name of the platform; `None` if it is not known."""
        code = text_at(self.record.parameters, "platform")
        return next((name for platform, name in NAMES.items() if platform == code != "table"), None)

    @property
    def of_benchmark(self) -> bool:
        """Return whether the dataset is one of the benchmark, whose metadata hold `human_benchmark`."""
        return self.submitted or self.record.dataset in names()

    @property
    def languages(self) -> tuple[Language, ...]:
        """Return the languages of what is published."""
        items = [] if self.evidence is None else self.evidence.consensus.head(20).rows()
        return languages_of(self.plan, self.of_benchmark, items)

    @property
    def restrictions(self) -> list[Given]:
        """Return the rules of the plan, without full stops."""
        return [*filter(None, map(_restriction, list_at(self.plan, "restrictions")))]

    @property
    def judged(self) -> bool:
        """Return whether people judged finished sentences, as in the three projects of ruDetox."""
        return text_at(self.record.declaration, "name").startswith(_PROJECTS)

    @property
    def subset(self) -> DrawnItems | None:
        """Return how items were drawn from the dataset; `None` if all were taken."""
        size, of = count_at(self.plan, "subset", "size"), count_at(self.plan, "subset", "of")
        if size is None or of is None or size >= of:
            return None
        fields = tuple(one_line(str(name)) for name in list_at(self.plan, "subset", "fields"))
        named: dict[str, Any] = {"n": len(fields), "fields": [Text("'{name}'", name=name) for name in fields]}
        if not fields:
            how = Text(" at random")
        elif text_at(self.plan, "subset", "method") == "even":
            how = Text(" evenly over the {n:field|fields} {fields}", **named)
        else:
            how = Text(" so that the distribution of the {n:field|fields} {fields} is kept", **named)
        return DrawnItems(size, of, fields, how)


def languages_of(plan: Mapping[str, Json] | None, of_benchmark: bool, items: object) -> tuple[Language, ...]:
    """Return the languages of a study: those of its plan; without one, Russian only for Russian items."""
    planned = list_at(plan, "languages")
    if planned or of_benchmark:
        return tuple(language for language in LANGUAGES if language in planned or not planned)
    return LANGUAGES if re.search("[а-яё]", str(items), re.IGNORECASE) else ("en",)


def plan_of(files: Mapping[str, bytes]) -> dict[str, Json] | None:
    """Return the content of `study.yaml`; `None` if the study was not planned with Merilo."""
    import yaml  # noqa: PLC0415 - the terminal needs no plan

    from merilo.strict_yaml import PlainLoader  # noqa: PLC0415 - as above
    from merilo.studies.plan import STUDY_FILE  # noqa: PLC0415 - as above

    if STUDY_FILE not in files:
        return None
    content: Any = yaml.load(files[STUDY_FILE].decode(), Loader=PlainLoader)  # noqa: S506 - a SafeLoader
    if not isinstance(content, dict):
        raise InputError("is not the plan of a study", file=STUDY_FILE)
    # Dates of YAML become texts.
    return dict(json.loads(json.dumps(content, ensure_ascii=False, default=str)))


def _restriction(rule: Json) -> Given | None:
    """Return a rule of the plan without its full stop; `None` if it has no text."""
    by_language = rule if isinstance(rule, dict) else {"ru": rule, "en": rule}
    texts: dict[Language, str] = {
        language: text.rstrip(".")
        for language in LANGUAGES
        if (text := one_line(text_at(by_language, language)))
    }
    return Given(texts) if texts else None


def facts(study: PlannedBaseline, *names: str) -> list[Section]:
    """Return what is known of a baseline: result, people, items, agreement, doubtful items, cost.

    A sentence whose values are missing is left out; missing gold, controls and pay are said to be missing.

    Args:
        study: the baseline.
        names: the sections that are wanted, in their order; all by default.
    """
    return [_SECTIONS[name](study) for name in names or _SECTIONS]


# Result


def group_title(name: str) -> Text:
    """Return what a group of items is called in prose; a group that is not of the catalogue keeps its name.

    Example:
        >>> group_title("correct.law").en, group_title("honest").en, group_title("anatomy").en
        ('correct: law', 'honest', 'anatomy')
    """
    parts = name.split(".")
    if _GROUPS.keys() >= set(parts):
        return joined((_GROUPS[part] for part in parts), ": ")
    return joined([name])


def metric_title(name: str) -> Text:
    """Return what a metric is called in prose, to stand before "of the consensus".

    The group of a metric stands behind it.

    Example:
        >>> metric_title("acc").en, metric_title("acc.science").en, metric_title("pass@1").en
        ('accuracy', 'accuracy (science)', 'pass@1')
    """
    base, _, group = name.partition(".")
    title = title_of(base)
    if title is None:
        return group_title(name)
    return Text("{metric} ({group})", metric=title, group=group_title(group)) if group else title


def result_title(study: PlannedBaseline) -> Text:
    """Return the title of the result: what it is of, and its status."""
    record = study.record
    return Text(
        "Human baseline{name}{simulated}: {status}",
        name=Text(" of {name}", name=study.title) if study.title else "",
        simulated=Text(" (simulated annotators)") if record.simulated else "",
        status=status(record.status),
    )


def status(name: str) -> Text | str:
    """Return a status in words."""
    return next((text for known, (text, *_) in STATUSES.items() if known == name), name)


def findings(study: PlannedBaseline, *, void: bool) -> tuple[Text, ...]:
    """Return what the reader must know, a sentence each: why the result says nothing if `void`, else the rest."""
    return tuple(
        Text("{text:capital}.", text=finding.sentence)
        for finding in study.record.findings
        if (finding.rejects or finding.code == SIMULATED) == void
    )


def headline(study: PlannedBaseline) -> list[Text]:
    """Return the result in one plain sentence: that of the main metric, or the range of metrics of groups alone."""
    record = study.record
    if record.main_metrics:
        name, estimate = next(iter(record.main_metrics.items()))
        return [_measured(study, name, estimate)]
    values = sorted(estimate.value for estimate in record.metrics.values() if estimate.value is not None)
    if not values:
        return []
    return [
        Text(
            "The consensus has {n:# value|# values}, one for each group, from {low:.3f} to {high:.3f}; none is of all "
            "items.",
            n=len(values),
            low=values[0],
            high=values[-1],
        )
    ]


def _result(study: PlannedBaseline) -> Iterator[Text]:
    record = study.record
    yield from findings(study, void=True)
    yield from headline(study)
    for place, (name, estimate) in enumerate(record.main_metrics.items()):
        if place:
            yield _measured(study, name, estimate)
        if alone := majority_alone(record, name):
            yield Text(
                "On the {n:# item|# items} with a majority, it is {estimate}.",
                n=alone.n,
                estimate=estimate_text(alone),
            )
        if whole := record.whole_dataset.get(name):
            yield Text(
                "Weighted to the whole dataset of {items:# item|# items}, it is {estimate}.",
                items=record.sampled_from or whole.n,
                estimate=estimate_text(whole),
            )
    if not any(metric.value is not None for metric in record.metrics.values()):
        if record.gold is not None or record.metrics:
            yield Text("No metric is given, because no metric could be computed.")
        else:
            yield Text("No metric is given, because the study has no gold answers.")
    yield from _brackets(record)
    benchmark = record.human_benchmark
    if (
        study.of_benchmark
        and benchmark
        and benchmark.metrics
        and record.item_counts.total
        and not record.programs
    ):
        yield Text(
            "The value of {key} in the dataset's metadata is that of "
            "{items:agreed=the items with a majority only|all items with a consensus}: {n} of {total}.",
            key="human_benchmark_expert" if study.role == "experts" else "human_benchmark",
            items=benchmark.items,
            n=next(iter(benchmark.metrics.values())).n,
            total=record.item_counts.total,
        )


def _brackets(record: Baseline) -> Iterator[Text]:
    if any(metric.ci95 for metric in record.metrics.values()):
        yield Text("Brackets: 95% confidence intervals over items and annotators.")


def majority_alone(record: Baseline, name: str) -> Estimate | None:
    """Return a metric by majorities alone, if they leave items out."""
    alone, whole = record.by_majority_alone.get(name), record.metrics.get(name)
    return alone if alone and whole and alone.value is not None and alone.n != whole.n else None


def _measured(study: PlannedBaseline, name: str, estimate: Estimate) -> Text:
    """Say what the consensus and a single annotator score by a metric."""
    record, role = study.record, study.role
    n = estimate.people or record.annotator_counts.used or record.annotator_counts.kept
    people = Text("{n:# annotator|# annotators}", context="of", n=n)
    if role == "experts":
        people = Text("{n:# expert|# experts}", context="of", n=n)
    clusters = record.clusters.clusters if record.clusters else None
    values: dict[str, Any] = {
        "metric": metric_title(name),
        "people": people,
        "estimate": estimate_text(estimate),
        "n": estimate.n,
        "clusters": Text(" in {n:# cluster|# clusters}", n=clusters) if clusters else "",
    }
    if record.programs:
        return Text("The {metric} of {people} is {estimate} on {n:# item|# items}{clusters}.", **values)
    single, alone = record.single_person, joined([])
    if single and single.name == name and single.value is not None:
        alone = Text(
            "; a single {role:experts=expert|annotator} scores {estimate}",
            role=role,
            estimate=estimate_text(single),
        )
    return Text(
        "The {metric} of the consensus of {people} is {estimate} on {n:# item|# items}{clusters}{alone}.",
        alone=alone,
        **values,
    )


def _result_tables(study: PlannedBaseline) -> Iterator[Table]:
    record = study.record
    rows = list(_estimates(record))
    missing = [name for name, metric in record.metrics.items() if metric.value is None and "." not in name]
    notes = (Text("Not computed, or withheld: {metrics}.", metrics=missing),) if missing else ()
    axis, low = _axis([estimate for _, estimate in rows])
    head = (
        Text("who answers"), axis, Text("estimate"), Text("items", context="column"), Text("annotators", context="row"),
    )  # fmt: skip
    cells = tuple(
        (name, Bar.of(estimate, low), estimate, estimate.n or None, estimate.people)
        for name, estimate in rows
    )
    yield Table(Text("Estimates"), head if rows else (), cells, notes)
    yield Table(Text("In short"), (), tuple(overview(record)))
    yield from group_tables(record)


def _axis(estimates: Iterable[Estimate]) -> tuple[Text, float]:
    """Return the head of a column of bars and where their axis begins: at −1 if a value or an interval is below 0."""
    values = [value for estimate in estimates for value in (estimate.value, *(estimate.ci95 or ()))]
    low = -1.0 if any(value is not None and value < 0 for value in values) else 0.0
    return Text("from {low:g} to {high:g}", low=low, high=1), low


def _estimates(record: Baseline) -> Iterator[tuple[Text, Estimate]]:
    """Yield the estimates of the table: of the consensus, of majorities and of single people."""
    for name, estimate in record.main_metrics.items():
        single, people = record.single_person, record.people
        beside: list[tuple[Text, Estimate | None]] = [
            (Text("all answers") if record.programs else Text("consensus"), estimate),
            (Text("majority alone"), majority_alone(record, name)),
            (Text("consensus on the whole dataset"), record.whole_dataset.get(name)),
            (Text("one person"), single if single and single.name == name and not record.programs else None),
        ]
        if people and people.metric == name:
            beside += [(PEOPLE_ROWS[row], valued) for row, valued in people.rows().items() if row != "one"]
        for who, valued in beside:
            if valued and valued.value is not None:
                yield Text("{metric:capital}, {who}", metric=metric_title(name), who=who), valued


def overview(record: Baseline) -> Iterator[tuple[Cell, ...]]:
    """Yield people, items, agreement and cost: the name, the value and a detail of each."""
    people, agreement, cost = record.annotator_counts, record.agreement, record.cost
    excluded = Text("excluded: {n}", n=people.excluded or 0)
    if people.excluded and people.used:
        excluded = Text("excluded: {n}, counted: {used}", n=people.excluded, used=people.used)
    yield Text("annotators", context="row"), people.total, excluded
    detail: Text | str = Text("every answer counts by itself") if record.programs else ""
    if not record.programs and agreement.low_agreement_share is not None:
        low, share = agreement.low_agreement, agreement.low_agreement_share
        detail = Text("without a majority: {n} ({share:.1%})", n=low, share=share)
    yield Text("items", context="row"), record.item_counts.total, detail
    if agreement.krippendorff_alpha is not None:
        detail = Text("on {n:# response|# responses}", n=agreement.n or 0)
        if ends := agreement.ci95:
            detail = Text("[{low:.3f}, {high:.3f}] {detail}", low=ends.low, high=ends.high, detail=detail)
        yield Text("Krippendorff's alpha"), agreement.krippendorff_alpha, detail
    if cost.total is not None:
        hourly = (
            Text("{pay} per hour", pay=Money(cost.hourly, cost.currency)) if cost.hourly is not None else ""
        )
        unknown = "" if cost.currency else Text("currency unknown")
        yield Text("cost"), Money(cost.total, cost.currency), joined([hourly, unknown], ", ")


def group_tables(record: Baseline) -> Iterator[Table]:
    """Yield a table of the metrics by group that the dataset declares, and one of the groups of each field."""
    fields: dict[str, dict[str, dict[str, Estimate]]] = {}
    for of_group in record.groups:
        group, _, metric = of_group.name.rpartition(": ")
        field, _, value = group.partition("=")
        fields.setdefault(field, {}).setdefault(value, {})[metric] = of_group
    shown = {
        (value, metric.value)
        for groups in fields.values()
        for value, of in groups.items()
        for metric in of.values()
    }
    declared: dict[Text, dict[str, Estimate]] = {}
    for name, estimate in record.metrics.items():
        base, _, group = name.partition(".")
        if group and estimate.value is not None and (group, estimate.value) not in shown:
            of_metric = title_of(base) is not None  # else a group of criteria: correct.law
            title = group_title(group if of_metric else name)
            declared.setdefault(title, {})[base if of_metric else ""] = estimate
    yield from _group_table(Text("By group"), declared)
    for field, groups in fields.items():
        whole = {
            group_title(value): {name: metric for name, metric in of_value.items() if "." not in name}
            for value, of_value in groups.items()
        }
        yield from _group_table(Text("By {field}", field=one_line(field)), whole)


def _group_table(title: Text, groups: Mapping[Text, Mapping[str, Estimate]]) -> Iterator[Table]:
    """Yield a table of groups with a column for each metric, and bars of the first one; none without groups."""
    names = [*dict.fromkeys(name for of_group in groups.values() for name in of_group)]
    if not names:
        return
    first = [of_group.get(names[0]) or Estimate() for of_group in groups.values()]
    axis, low = _axis(first)
    titles = {"": Text("estimate"), ALPHA: Text("Krippendorff's alpha")}
    rows = (
        (group, Bar.of(estimate, low), *(of_group.get(name) for name in names), estimate.n or None)
        for (group, of_group), estimate in zip(groups.items(), first, strict=True)
    )
    heads = (titles.get(name) or metric_title(name) for name in names)
    yield Table(title, (Text("group"), axis, *heads, Text("items", context="column")), tuple(rows))


# People


def _people(study: PlannedBaseline) -> Iterator[Text]:
    record, plan, role = study.record, study.plan, study.role
    people, dropped = record.annotator_counts.total, record.response_counts.dropped
    if people is not None:
        yield Text(
            "The items were answered by {people} {role:experts=expert|annotator}{people:|s}{who}.",
            people=people,
            role=role,
            who=_described(study),
        )
    if study.judged:
        yield Text(
            "The annotators judged rewritten sentences; models get another task, to rewrite sentences."
        )
    elif plan:
        yield Text(
            "The {role:experts=experts|annotators} saw every item in the form in which models receive it, without "
            "solved examples.",
            role=role,
        )
    yield from _trained(study)
    if rules := study.restrictions:
        yield Text(
            "The instruction set {number:this rule|these rules}: {rules}.",
            number=len(rules),
            rules=joined((Text("“{rule}”", rule=rule) for rule in rules), "; "),
        )
    if limit := number_at(plan, "arms", role, "time_limit"):
        yield Text("The time limit was {time_limit:# second|# seconds} per item.", time_limit=round(limit))
    if limits := at(plan, "arms", role, "time_limit", "seconds"):
        each = (
            Text("{value} — {seconds:# second|# seconds}", value=value, seconds=seconds)
            for value, seconds in cast("dict[str, float]", limits).items()
        )
        yield Text(
            "The time limit of an item depended on its field “{field}”: {limits}.",
            field=text_at(plan, "arms", role, "time_limit", "field"),
            limits=joined(each, "; "),
        )
    if late := dropped.get("late"):
        yield Text("Answers after the time limit ({late}) do not count.", late=late)
    mine, hidden = dropped.get("may_be_mine"), dropped.get("not_shown")
    if at(plan, "arms", role, "skip_own") is True or mine or hidden:
        counts = [
            Text("{n:# time|# times}", n=mine) if mine else "",
            Text("an item was not shown to its author {n:# time|# times}", n=hidden) if hidden else "",
        ]
        yield Text(
            "The {role:experts=experts|annotators} skipped items that they might have written themselves, for which "
            "there was an option{skipped}; the others decide these items.",
            role=role,
            skipped=Text(" ({details})", details=joined(counts, "; ")) if mine or hidden else "",
        )
    yield from _checked(study)


def _trained(study: PlannedBaseline) -> Iterator[Text]:
    trained = number_at(study.plan, "training", "threshold")
    if trained is not None:
        yield Text(
            "They first answered training items; those with at least {trained:%} correct answers were admitted.",
            trained=trained,
        )


def _described(study: PlannedBaseline) -> Text:
    """Return whence the annotators came, and whether they had no training."""
    platform, kind = study.platform_name, text_at(study.plan, "arms", study.role, "kind")
    parts = [Text(" of the crowdsourcing platform {platform}", platform=platform)] if platform else []
    if kind in {"basic", "untrained"} and number_at(study.plan, "training", "threshold") is None:
        parts.append(Text(" without special training"))
    return joined(parts, "")


def _checked(study: PlannedBaseline) -> Iterator[Text]:
    """Say how annotators were checked, and who was excluded."""
    record, role, annotators = study.record, study.role, study.record.annotator_counts
    answers, people, share = record.response_counts.control, annotators.total, record.min_control_accuracy
    if not answers:
        if people:
            yield Text(
                "There were no control items, so no {role:experts=expert|annotator} was excluded.", role=role
            )
        return
    if controls := record.controls.total:
        yield Text(
            "The tasks included {controls:# control item|# control items} with a known answer, which received "
            "{answers:# answer|# answers}.",
            controls=controls,
            answers=answers,
        )
    else:
        yield Text(
            "Control items with a known answer received {answers:# answer|# answers}.", answers=answers
        )
    if people is not None and share is not None and not annotators.excluded:
        yield Text(
            "No {role:experts=expert|annotator} was excluded: all reached an accuracy of at least {share:%} on the "
            "control items.",
            role=role,
            share=share,
        )
    elif excluded := _excluded(study):
        yield excluded
    if annotators.unjudged:
        yield Text(
            "Another {unchecked} {role:experts=expert|annotator}{unchecked:|s} had no or too few control answers "
            "and {unchecked:was|were} kept.",
            role=role,
            unchecked=annotators.unjudged,
        )


def _excluded(study: PlannedBaseline) -> Text | None:
    """Say how many annotators were excluded by control items; `None` if nobody was."""
    annotators, share = study.record.annotator_counts, study.record.min_control_accuracy
    if not annotators.excluded or share is None:
        return None
    return Text(
        "{role:experts=Experts|Annotators} with an accuracy below {share:%} on the control items were excluded "
        "with all their answers; this applied to {excluded} of {people} "
        "{role:experts=expert|annotator}{people:|s}.",
        role=study.role,
        share=share,
        excluded=annotators.excluded,
        people=annotators.total,
    )


def _signs(study: PlannedBaseline) -> Iterator[Text]:
    """Yield signs of help by AI."""
    record = study.record
    signs = [*signal_sentences(record.signals)]
    for echo in record.echoes:
        who = Text(" ({names})", names=[person.annotator for person in echo.named]) if echo.named else ""
        signs.append(Text("{sentence}{who}", sentence=echo.sentence(), who=who))
    yield from (Text("{text:capital}.", text=text) for text in signs)
    if signs:
        yield Text("A signal of help by AI is no proof, and nobody is excluded because of it.")


def _people_tables(study: PlannedBaseline) -> Iterator[Table]:
    record, evidence = study.record, study.evidence
    if evidence is not None:
        yield from _control_tables(evidence)
    if suspects := record.controls.suspects:
        rows = tuple(
            (
                shortened(" │ ".join(suspect.inputs.values()), 160),
                suspect.known,
                f"{suspect.most_common}: {suspect.most_common_answers}",
                _of(suspect.correct, suspect.answers),
                _of(suspect.good_annotators_correct, suspect.good_annotators_answers),
            )
            for suspect in suspects[:MOST_ROWS]
        )
        head = (
            Text("control item"),
            Text("known answer"),
            Text("most common answer"),
            Text("right"),
            Text("right among good annotators"),
        )
        note = Text(
            "Good annotators reach the threshold on the other control items. A control item is suspect if more than "
            "half of them give the same other answer."
        )
        yield Table(Text("Suspect control items"), head, rows, (note,))
    if came := record.participation:
        yield Table(Text("What became of the people"), (), tuple(came.texts))
        for answers in came.personal:
            yield Table(Given(answers.question), (), tuple(answers.texts))


def _of(part: int, whole: int) -> Text:
    return joined([f"{part}\N{NO-BREAK SPACE}/\N{NO-BREAK SPACE}{whole}"])


def _control_tables(evidence: Evidence) -> Iterator[Table]:
    """Yield the annotators with the lowest accuracy on control items, with their intervals and the threshold."""
    judged = evidence.annotators.filter(pl.col("controls") > 0).sort(
        ["control_accuracy", "responses", "annotator"], descending=[False, True, False]
    )
    if not judged.height:
        return
    threshold = evidence.settings.min_control_accuracy
    rows = []
    for row in judged.head(MOST_ROWS).iter_rows(named=True):
        ends = Span.of(wilson(row["controls_correct"], row["controls"]))
        estimate = Estimate(value=row["control_accuracy"], ci95=ends)
        excluded = Text("excluded", context="annotator") if row["excluded"] else ""
        right = _of(row["controls_correct"], row["controls"])
        rows.append(
            (
                shortened(row["annotator"], 16),
                Bar.of(estimate, line=threshold),
                estimate,
                right,
                row["responses"],
                excluded,
            )
        )
    head = (
        Text("annotator"), Text("from {low:g} to 1", low=0), Text("accuracy"), Text("correct on control items"),
        Text("answers", context="column"), "",
    )  # fmt: skip
    note = Text(
        "The line is the threshold of {threshold:.2f}, below which an annotator is excluded. Shown: the lowest {shown} "
        "of {total}; all are in annotators.csv.",
        threshold=threshold,
        shown=len(rows),
        total=judged.height,
    )
    yield Table(Text("Annotators on control items"), head, tuple(rows), (note,))


# Items


def _items(study: PlannedBaseline) -> Iterator[Text]:
    record = study.record
    items, title = record.item_counts.total, study.title
    of = Text(" of the dataset {title}", title=title) if title else ""
    drawn = study.subset
    if items is not None and drawn is None:
        yield Text(
            "{role:experts=Expert|Human} performance was measured on {items:# item|# items}{title}.",
            role=study.role,
            items=items,
            title=of,
        )
    elif items is not None and drawn is not None:
        yield Text(
            "Of the {of:# item|# items}{title}, {drawn} {drawn:was|were} drawn{how}.",
            of=drawn.of,
            title=of,
            drawn=drawn.size,
            how=drawn.how,
        )
        if drawn.size != items:
            yield Text("Answers were collected for {items:# item|# items}.", items=items)
    yield from _overlap(record, count_at(study.plan, "arms", study.role, "overlap"))
    yield from _decided(study)


def _overlap(record: Baseline, planned: int | None) -> Iterator[Text]:
    """Say how many answers an item received, and how many remain."""
    asked = record.item_counts.overlap_before_exclusion or record.item_counts.overlap
    overlap = {size: n for size, n in asked.items() if size}
    least, most, answers = (
        min(overlap, default=0),
        max(overlap, default=0),
        sum(size * n for size, n in overlap.items()),
    )
    if overlap and least == most:
        yield Text(
            "Each item received {each:# answer|# answers}, {answers:# answer|# answers} in all.",
            each=most,
            answers=answers,
        )
    elif overlap:
        yield Text(
            "Each item received {least} to {most} answers{planned}, {answers:# answer|# answers} in all.",
            least=least,
            most=most,
            planned=Text(" ({n} were planned)", n=planned) if planned else "",
            answers=answers,
        )
    left = sorted(record.item_counts.overlap.items(), reverse=True)
    if record.annotator_counts.excluded and record.response_counts.used is not None and left:
        counts = (
            Text("{size} on {n:# item|# items}", size=size, n=n)
            if size
            else Text("none on {n:# item|# items}", n=n)
            for size, n in left
        )
        yield Text(
            "After exclusion, {used:# answer remains|# answers remain}: {left}.",
            used=record.response_counts.used,
            left=joined(counts, ", "),
        )


def _decided(study: PlannedBaseline) -> Iterator[Text]:
    """Say how items were decided, how many had a majority, and what follows for the baseline."""
    record, needed = study.record, study.record.agreement.votes_needed
    if record.scored:
        yield Text(
            "The answers were scored elsewhere: each is right or wrong and counts by itself; there is no consensus."
        )
        return
    if record.programs:
        yield Text(
            "Every program was run in a sandbox and counts by itself, as right if it passes all tests of its "
            "problem; programs have no consensus."
        )
        return
    yield from _majority(record)
    if needed and (record.parameters.get("aggregator"), record.parameters.get("resolve")) == (
        "majority",
        "none",
    ):
        yield Text("Items without a majority are left out of the metric.")
    decided = {way: n for way, n in ways(record).items() if way != "unresolved"}
    if decided:
        (way, first), *others = decided.items()
        rest = joined((Text(", on {n} {way}", n=n, way=WAYS[name]) for name, n in others), "")
        yield Text(
            "A consensus was reached on {first:# item|# items} {way}{rest}.",
            first=first,
            way=WAYS[way],
            rest=rest,
        )
    if unresolved := record.resolved_by.unresolved:
        yield Text(
            "There is no consensus on {unresolved:# item|# items}, which {unresolved:was|were} left out of "
            "the metric.",
            unresolved=unresolved,
        )
    low, allowed = record.agreement.low_agreement, record.agreement.max_low_agreement
    if low is None or allowed is None or not record.item_counts.total:
        return
    if not low:
        yield Text("Every item has a majority.")
    elif record.status != "rejected":
        yield Text(
            "A majority is lacking on {low} of {items:# item|# items} ({share:%}); up to {allowed:%} were allowed.",
            low=low,
            items=record.item_counts.total,
            share=low / record.item_counts.total,
            allowed=allowed,
        )


def _majority(record: Baseline) -> Iterator[Text]:
    """Say how many equal answers are a majority."""
    needed = record.agreement.votes_needed
    if needed and min(needed) == max(needed):
        yield Text("A majority is at least {equal:# equal answer|# equal answers}.", equal=max(needed))
    elif needed:
        yield Text("A majority is more than half of the answers.")


def ways(record: Baseline) -> dict[str, int]:
    """Return how many items each way decided; `majority` is without unanimous answers and most votes."""
    counts: dict[str, int] = {name: getattr(record.resolved_by, name) for name in WAYS}
    counts["majority"] -= counts["unanimous"] + counts["plurality"]
    return {name: n for name, n in counts.items() if n > 0}


def _item_tables(record: Baseline) -> Iterator[Table]:
    responses = record.response_counts
    used = Text("used") if record.programs else Text("used for the consensus")
    rows = [
        (Text("responses read"), responses.total),
        (used, responses.used),
        (Text("to control items"), responses.control),
    ]
    rows += [(REASONS.get(why, joined([why.replace("_", " ")])), n) for why, n in responses.dropped.items()]
    yield Table(Text("How the rows were used"), (), tuple((name, n) for name, n in rows if n is not None))


# Agreement


def _agreement(study: PlannedBaseline) -> Iterator[Text]:
    agreement = study.record.agreement
    if agreement.krippendorff_alpha is not None and agreement.n:
        alpha = Estimate(value=agreement.krippendorff_alpha, ci95=agreement.ci95)
        yield Text(
            "Krippendorff's alpha is {estimate} on {n:# answer|# answers}.",
            estimate=estimate_text(alpha),
            n=agreement.n,
        )


def _agreement_tables(study: PlannedBaseline) -> Iterator[Table]:
    """Yield how many items have which share of equal answers, and how often their consensus is the gold answer."""
    evidence = study.evidence
    if evidence is None or study.record.programs:
        return
    votes = evidence.used.group_by("item", "answer").len()
    top = votes.group_by("item").agg((pl.col("len").max() / pl.col("len").sum()).alias("share"))
    shares = evidence.consensus.select("item", "correct").join(top, on="item", how="inner")
    outcomes = Counter(
        (min(int(share * 10 - 1e-9), 9), right)
        for share, right in shares.select("share", "correct").iter_rows()
    )
    tenths = sorted({tenth for tenth, _ in outcomes}, reverse=True)
    counts = {tenth: [outcomes[tenth, right] for right in (True, False, None)] for tenth in tenths}
    most = max(map(sum, counts.values()), default=1)
    rows: list[tuple[Cell, ...]] = []
    for tenth, parts in counts.items():
        ends = [place / most for place in accumulate(parts)]
        spans = zip([0.0, *ends], ends, ("good", "bad", "neutral"), strict=False)
        percents = Text("{low}–{high}%", low=tenth * 10, high=(tenth + 1) * 10)
        rows.append(
            (percents, Bar(tuple(span for span in spans if span[1] > span[0])), sum(parts), *parts[:2])
        )
    head = (
        Text("share of the most frequent answer"), Text("share"), Text("items", context="column"),
        Text("consensus correct"), Text("consensus wrong"),
    )  # fmt: skip
    yield Table(Text("Items by agreement"), head, tuple(rows))


# Methods


def methods(arms: Mapping[str, PlannedBaseline]) -> Section:
    """Return the methods and the result of each arm in one paragraph for a paper, at most 120 words."""
    paragraphs = tuple(joined(_methods(study)) for study in arms.values())
    return Section("methods", Text("Methods in one paragraph, for a paper"), remarks=paragraphs)


def _methods(study: PlannedBaseline) -> Iterator[Text]:
    record, people, drawn = study.record, study.record.annotator_counts.total, study.subset
    overlap = {*(record.item_counts.overlap_before_exclusion or record.item_counts.overlap)} - {0}
    if people is not None and record.item_counts.total is not None:
        yield Text(
            "{people} {role:experts=expert|annotator}{people:|s}{who} answered {items:# item|# items}"
            "{of}{drawn}{each}.",
            people=people,
            role=study.role,
            who=_described(study),
            items=record.item_counts.total,
            of=Text(" of the dataset {title}", title=study.title) if study.title else "",
            drawn=Text(", drawn from {of}{how}", of=drawn.of, how=drawn.how) if drawn else "",
            each=Text(", {n:# answer|# answers} to each", n=min(overlap)) if len(overlap) == 1 else "",
        )
    yield from _trained(study)
    void = findings(study, void=True)
    yield from void
    if void:
        return
    if excluded := _excluded(study):
        yield excluded
    yield from _majority(record)
    yield from headline(study)
    yield from _brackets(record)
    yield from _agreement(study)
    if record.cost.hourly is not None:
        pay = Money(record.cost.hourly, record.cost.currency)
        yield Text("Pay: {pay} per hour.", pay=pay)


# Doubtful items


def _doubtful(study: PlannedBaseline) -> Section:
    """Return the section on items whose gold answer or wording is in doubt."""
    section, evidence = Section("doubtful", Text("Doubtful items")), study.evidence
    if evidence is None:
        return section
    doubtful = study.record.doubtful
    if doubtful is None:
        return section._replace(**_undecided(evidence, study.record))
    if not doubtful.height:
        nothing = "Every consensus is the gold answer, and no gold answer is wrong with a probability of 5% or more."
        return section._replace(sentences=(Text(nothing),))
    sentence = Text(
        "On {n:# item|# items}, the consensus is not the gold answer, or the gold answer is probably wrong: the item "
        "is hard, there are typing errors, or the dataset has an error.",
        n=doubtful.height,
    )
    fields, letters = shown_fields(evidence.consensus), option_letters(evidence)
    rows = []
    for row in doubtful.head(MOST_ROWS).iter_rows(named=True):
        kinds = [TYPING_ERRORS[kind] for kind in (row["typing_errors"] or "").split("; ") if kind]
        reliable, unreliable = (
            len([*filter(None, (row[name] or "").split(", "))]) for name in ("reliable", "unreliable")
        )
        judged = Text("{n} of {judged}", n=reliable, judged=reliable + unreliable)
        more = (
            row["consensus"],
            row["gold"],
            Percent(row["gold_wrong"]),
            joined(kinds, "; ") if kinds else None,
            judged,
        )
        rows.append((*_item_cells(row, fields, letters), *more))
    head = (
        *_ITEM_HEAD, Text("consensus", context="column"), Text("gold", context="row"),
        Text("probability that the gold is wrong"), Text("typing errors"), Text("reliable annotators"),
    )  # fmt: skip
    notes = (
        Text(
            "The probability weights each answer by its annotator’s ability. A reliable annotator agrees with the "
            "majority of the others on other items, or on other datasets if these were given, at least 90% as often as "
            "the others do. Read an item before you change its gold answer: several people can make the same mistake."
        ),
        Text("Shown: {shown} of {total}; all are in doubtful.csv.", shown=len(rows), total=doubtful.height),
    )
    table = Table(Text("Items to read"), head, tuple(rows), notes)
    return section._replace(sentences=(sentence,), tables=(table,))


_ITEM_HEAD: Final = (Text("an item"), Text("question", context="column"), Text("answers", context="column"))


def option_letters(evidence: Evidence) -> dict[str, str]:
    """Return the labels of the fields that hold an item's options; empty if options have no fields."""
    return {field: label for label, field in option_fields(evidence.declaration).items()}


def _item_cells(row: Mapping[str, Any], fields: list[str], letters: Mapping[str, str]) -> tuple[Cell, ...]:
    """Return the id of an item, its texts with the letters of options, and the answers with their votes."""
    asked = " │ ".join(
        f"{letters[name]}) {row[name]}" if name in letters else str(row[name])
        for name in fields
        if row.get(name) not in {None, ""}
    )
    name = str(row["item"] if row["id"] is None else row["id"])
    return name, shortened(asked, 160), shortened(row["answers"] or "", 120)


def _undecided(evidence: Evidence, record: Baseline) -> dict[str, Any]:
    """Return what is said of items without a consensus; of programs and scored answers, of those nobody solved."""
    wanted = pl.col("points") == 0 if record.programs else pl.col("label").is_null()
    undecided = evidence.consensus.filter(wanted)
    if not undecided.height:
        return {}
    sentence = Text(
        "{n:# item has|# items have} no consensus: annotators disagree with each other.", n=undecided.height
    )
    if record.programs:
        sentence = Text(
            "Nobody solved {n:# item|# items}: the item is hard, or it is scored wrongly.", n=undecided.height
        )
    fields, letters = shown_fields(evidence.consensus), option_letters(evidence)
    rows = tuple(_item_cells(row, fields, letters) for row in undecided.head(MOST_ROWS).iter_rows(named=True))
    note = Text(
        "Shown: {shown} of {total}; all are in consensus.csv.", shown=len(rows), total=undecided.height
    )
    return {"sentences": (sentence,), "tables": (Table(Text("Items to read"), _ITEM_HEAD, rows, (note,)),)}


# Cost


def _measured_time(value: float) -> float:
    """Round a time, to a whole number from 10 on."""
    return round(value, 1) if value < 10 else round(value)


def _cost(study: PlannedBaseline) -> Iterator[Text]:
    record, cost = study.record, study.record.cost
    published = cost.published_way
    if cost.median_seconds_per_answer is not None:
        each = Text("{n:# second|# seconds}", n=_measured_time(cost.median_seconds_per_answer))
        yield Text("The median time of an answer is {seconds}.", seconds=each)
    if cost.total is None:
        yield Text("There are no data on pay.")
        return
    overlap = record.item_counts.overlap_before_exclusion
    answers = sum(size * n for size, n in overlap.items()) or record.response_counts.used
    yield Text(
        "The annotation cost {total}{pages}{answers}.",
        total=amount(cost.total, cost.currency),
        pages=Text(" for {pages}", pages=paid_work(cost.pages, cost.answers)) if cost.pages else "",
        answers=Text(
            "; with {n:# answer|# answers} to test items, an answer cost {each} on average",
            n=answers,
            each=Money(cost.total / answers, cost.currency, _digits(cost.total / answers)),
        )
        if answers
        else "",
    )
    if cost.hourly is None or cost.hours is None:
        yield Text("Times were not measured, so the hourly pay is not known.")
    else:
        yield Text(
            "The hourly pay by measured time ({hours}) was {hourly}.",
            hours=Text("{n:# hour|# hours}", n=_measured_time(cost.hours)),
            hourly=Money(cost.hourly, cost.currency),
        )
    if study.of_benchmark and published.total is not None:
        hourly = Text(" and {hourly} per hour", hourly=Money(published.hourly or 0.0, cost.currency))
        yield Text(
            "The way of the published tables, which adds the pay of a page for every test item on it, gives "
            "{total}{hourly}.",
            total=Money(published.total, cost.currency),
            hourly="" if published.hourly is None else hourly,
        )


def amount(money: float, currency: str | None) -> Text:
    """Return an amount of money in words; one without a currency says so."""
    if currency is None:
        return Text("{amount} (currency not known)", amount=Money(money, currency))
    return joined([Money(money, currency)])


def _digits(money: float) -> int:
    """Return so many digits of a fraction that two of a small amount are significant."""
    return min(6, max(2, 1 - floor(log10(money)))) if money else 2


# Arms


def arm_name(name: str) -> Text | str:
    """Return what an arm is called in tables: that of a plan in words, others as they are."""
    names = {PEOPLE: Text("people", context="arm"), EXPERTS: Text("experts"), EVERYBODY: Text("everybody")}
    return names.get(name, name)


def arm_sections(baseline: Baseline) -> Iterator[Section]:
    """Yield the section on the arms; none if the study has one group of annotators."""
    if not baseline.arms:
        return
    arms = baseline.by_arm
    columns = [[value for _, value in _arm_facts(arm)] for arm in arms.values()]
    names = [name for name, _ in _arm_facts(baseline)]
    rows = tuple((name, *cells) for name, *cells in zip(names, *columns, strict=True))
    title = Text("Arms of the study")
    tables = (Table(title, ("", *map(arm_name, arms)), rows), *difference_tables(baseline))
    yield Section("arms", title, tables=tables)


def difference_tables(baseline: Baseline) -> Iterator[Table]:
    """Yield the table of differences between the arms; none without differences."""
    if not baseline.differences:
        return
    heads = ("", Text("from {low:g} to {high:g}", low=-1, high=1), Text("difference", context="column"))
    names = [_difference_name(difference.name) for difference in baseline.differences]
    rows = tuple(
        (name, Bar.of(difference, -1, 1, line=0), difference, difference.n)
        for name, difference in zip(names, baseline.differences, strict=True)
    )
    reasons = tuple(
        Text("{name}: {reason}.", name=name, reason=difference.reason)
        for name, difference in zip(names, baseline.differences, strict=True)
        if difference.reason
    )
    yield Table(
        Text("Differences between the arms"), (*heads, Text("items", context="column")), rows, reasons
    )


#: What the name of a difference of single persons ends with.
_ALONE: Final = " of one person"


def _difference_name(name: str) -> Text:
    """Return what a difference between arms is of: their names, and the metric."""
    arms, _, metric = name.rpartition(": ")
    known = {"experts minus people": Text("experts minus people")}
    values: dict[str, Any] = {
        "arms": known.get(arms, arms),
        "metric": metric_title(metric.removesuffix(_ALONE)),
    }
    if metric.endswith(_ALONE):
        return Text("{arms}: {metric} of one person", **values)
    return Text("{arms}: {metric}", **values)


def _arm_facts(arm: Baseline) -> Iterator[tuple[Text, Cell]]:
    """Yield what is known of an arm: names and values."""
    counts, people, responses = arm.item_counts, arm.annotator_counts, arm.response_counts
    metric, single = next(iter(arm.main_metrics.values()), None), arm.single_person
    alpha, cost = arm.agreement.krippendorff_alpha, arm.cost
    yield Text("status"), status(arm.status)
    yield Text("consensus", context="column"), metric
    yield Text("single person"), single
    yield Text("items with a consensus"), f"{counts.consensus or 0} / {counts.total or 0}"
    yield Text("annotators used"), f"{people.used or 0} / {people.total or 0}"
    yield Text("answers", context="column"), responses.used
    skipped = sum(responses.dropped.get(why, 0) for why in ("may_be_mine", "not_shown"))
    yield Text("own items skipped"), skipped
    ends = arm.agreement.ci95
    yield Text("Krippendorff's alpha"), Estimate(value=alpha, ci95=ends) if alpha is not None else None
    yield Text("cost"), None if cost.total is None else Money(cost.total, cost.currency)


_SECTIONS: Final[Mapping[str, Callable[[PlannedBaseline], Section]]] = {
    "result": lambda study: Section(
        "result",
        result_title(study),
        (*_result(study),),
        findings(study, void=False),
        (*_result_tables(study),),
    ),
    "people": lambda study: Section(
        "people", Text("People"), (*_people(study),), (*_signs(study),), (*_people_tables(study),)
    ),
    "items": lambda study: Section(
        "items", Text("Items"), (*_items(study),), tables=(*_item_tables(study.record),)
    ),
    "agreement": lambda study: Section(
        "agreement", Text("Agreement"), (*_agreement(study),), tables=(*_agreement_tables(study),)
    ),
    "doubtful": _doubtful,
    "cost": lambda study: Section("cost", Text("Cost"), (*_cost(study),)),
}
