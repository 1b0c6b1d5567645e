"""The progress of a study: answers, overlap, annotators and their control items, agreement, speed and pay.

The estimate is left out unless it is asked for: whoever sees it may stop the study when it looks right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl
from pydantic_core import to_jsonable_python

from merilo.baselines.pipeline import agreement_of, clean, count_votes, judge
from merilo.baselines.study_input import StudyInput, declared, find_gold
from merilo.errors import DataError, UsageError, for_library, renamed
from merilo.estimate import Estimate
from merilo.people.aggregation.majority import majority
from merilo.people.controls import judged_annotators
from merilo.people.cost import Cost, cost, paid_work
from merilo.people.spelling import NOT_SHOWN, may_be_mine
from merilo.reports.study_baseline import PLAN_KEYS, frozen_plan, gold_file, study_baseline, study_responses
from merilo.reports.table import Cell, Percent, Table, estimate_text
from merilo.responses import Responses, page_of
from merilo.strict_json import Json
from merilo.studies.plan import Arm
from merilo.studies.study_folder import StudyFolder, open_study
from merilo.studies.study_import import read_imports
from merilo.studies.study_tasks import author_field, authors_of, domain_of
from merilo.text import Money
from merilo.wording import counted_noun


@dataclass(frozen=True, slots=True)
class AnnotatorProgress:
    """The work of one annotator.

    Attributes:
        annotator: the id on the platform.
        answers: answers to items of the test.
        skipped: items of the test that the annotator skipped, because they may be the annotator's own.
        controls: answers to control items.
        control_accuracy: the accuracy on them; `None` without any.
        excluded: whether the accuracy is below the threshold of the plan.
        median_seconds: the median time for an answer; `None` if it is not known.
        hourly: the pay for an hour; `None` if times or pay are not known.
    """

    annotator: str
    answers: int
    skipped: int
    controls: int
    control_accuracy: float | None
    excluded: bool
    median_seconds: float | None
    hourly: float | None


#: The field of an item's id in the answers of a study.
ID: Final = "id"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyStatus:
    """The progress of one group of annotators.

    Attributes:
        study: the study's name.
        arm: the group.
        frozen: whether the plan was frozen.
        files: the number of imported files.
        items: items of the test.
        overlap: how many annotators must answer an item.
        answers: answers to items of the test; without skipped items.
        counted: those of annotators who are not excluded.
        planned: the answers that the overlap asks for: `items` times `overlap`.
        missing: counted answers that are missing for the overlap, all items together.
        missing_by: missing answers of an item -> items.
        surplus: items with more counted answers than the overlap.
        annotators: the annotators, those with most answers first.
        repeated: answers of an annotator to an item that the same annotator had answered on another page.
        alpha: Krippendorff's alpha; `None` if it is not defined yet.
        low_agreement: the share of answered items without a majority; `None` before any answer.
        per_hour: answers to all items in an hour of work; `None` if times are not known.
        hours_left: hours of work until the overlap is reached, at this speed.
        cost: pay and time so far; `None` before any answer.
        planned_pay: answers whose pay is that of the plan, because the platform's file does not state it.
        problem: why there is no agreement yet; empty if there is.
        estimate: the main metric so far, if it was asked for and is defined.
    """

    study: str
    arm: str
    frozen: bool
    items: int
    overlap: int
    files: int = 0
    answers: int = 0
    counted: int = 0
    planned: int
    missing: int
    missing_by: dict[int, int] = field(default_factory=dict)
    surplus: int = 0
    annotators: tuple[AnnotatorProgress, ...] = ()
    repeated: int = 0
    alpha: float | None = None
    low_agreement: float | None = None
    per_hour: float | None = None
    hours_left: float | None = None
    cost: Cost | None = None
    planned_pay: int = 0
    problem: str = ""
    estimate: Estimate | None = None

    def parts(self) -> Iterator[Table | str]:
        """Yield what a terminal shows: the counts, the annotators, and why there is no agreement yet."""
        yield Table(f"{self.study}, {self.arm}", (), (*self._counts(), *self._work()))
        if self.annotators:
            head = (
                "annotator", "answers", "skipped", "controls", "correct", "seconds", "hourly pay", "excluded",
            )  # fmt: skip
            rows = (
                (
                    person.annotator, person.answers, person.skipped or None, person.controls,
                    None if person.control_accuracy is None else Percent(person.control_accuracy),
                    None if person.median_seconds is None else round(person.median_seconds),
                    None if person.hourly is None else Money(person.hourly, None),
                    "yes" if person.excluded else "",
                )
                for person in self.annotators
            )  # fmt: skip
            yield Table("Annotators", head, tuple(rows))
        if self.problem:
            yield f"No agreement yet: {self.problem}"

    def _counts(self) -> Iterator[tuple[Cell, ...]]:
        yield "plan", "frozen" if self.frozen else "not frozen"
        share = self.counted / self.planned if self.planned else 0.0
        yield "answers that count", f"{self.counted:,} of {self.planned:,} ({share:.0%})"
        yield "items with full overlap", f"{self.missing_by.get(0, 0):,} of {self.items:,}"
        by = [f"{left} on {counted_noun(n, 'item', 'items')}" for left, n in self.missing_by.items() if left]
        yield "answers missing", f"{self.missing:,} ({', '.join(by)})" if by else self.missing
        if self.surplus:
            yield "items with more answers", self.surplus
        if self.repeated:
            yield "second answers of one person", self.repeated
        if self.annotators:
            excluded = sum(annotator.excluded for annotator in self.annotators)
            yield "annotators", f"{len(self.annotators)}, {excluded} below the threshold on control items"
        if self.alpha is not None:
            yield "Krippendorff's alpha", self.alpha
        if self.low_agreement is not None:
            yield "items without a majority", Percent(self.low_agreement)

    def _work(self) -> Iterator[tuple[Cell, ...]]:
        """Yield the speed, the pay, and the estimate so far."""
        if self.per_hour is not None:
            left = "" if self.hours_left is None else f"; {self.hours_left:.1f} hours of work left"
            yield "answers an hour", f"{self.per_hour:.0f}{left}"
        if (cost := self.cost) is not None and cost.total is not None:
            hourly = "" if cost.hourly is None else f", {cost.hourly:.2f} an hour"
            planned = " (as planned: the platform's files do not state it)" if self.planned_pay else ""
            work = paid_work(cost.pages, cost.answers)
            yield "pay so far", f"{cost.total:.2f} {cost.currency} for {work}{hourly}{planned}"
        if (main := self.estimate) is not None:
            yield f"{main.name} so far", f"{estimate_text(main)} on {counted_noun(main.n, 'item', 'items')}"

    def to_dict(self) -> dict[str, Json]:
        """Return the status as JSON; without `estimate` unless it was asked for."""
        content: dict[str, Json] = to_jsonable_python(self)
        if self.cost is not None:
            shown = ("total", "pages", "hours", "hourly", "currency")
            content["cost"] = {name: getattr(self.cost, name) for name in shown}
        if self.estimate is None:
            del content["estimate"]
        return content


def study_status(
    study: str | Path | StudyFolder, *, arm: str | None = None, estimate: bool = False
) -> StudyStatus:
    """Tell how far one group of annotators of a study is.

    Args:
        study: the study's folder.
        arm: the group; `people` by default.
        estimate: also compute the main metric so far.

    Raises:
        InputError: the plan or a file of the study cannot be read.
        UsageError: the plan has no such group.
        DataError: the imported answers were changed.
    """
    folder = study if isinstance(study, StudyFolder) else open_study(Path(study))
    name, _ = folder.arm(arm)
    imports = read_imports(folder)
    if name not in imports.tables:
        return _unanswered(folder, name)
    status = status_of(folder, name, study_responses(folder, arm=name), estimate=estimate)
    files = sum(file.arm == name for file in imports.files)
    return replace(status, files=files, planned_pay=imports.tables[name].planned_pay)


def _unanswered(folder: StudyFolder, arm: str) -> StudyStatus:
    """Return the status of a group of annotators before its first answer."""
    overlap, items = folder.plan.arms[arm].overlap, len(folder.items())
    return StudyStatus(
        study=folder.plan.study,
        arm=arm,
        frozen=folder.frozen,
        items=items,
        overlap=overlap,
        planned=items * overlap,
        missing=items * overlap,
        missing_by={overlap: items},
    )


def status_of(folder: StudyFolder, name: str, responses: Responses, *, estimate: bool = False) -> StudyStatus:
    """Tell how far a group of annotators is that gave these answers.

    Args:
        folder: the study.
        name: the group.
        responses: the group's answers.
        estimate: also compute the main metric so far.
    """
    group, tests = folder.plan.arms[name], _tests(responses)
    main, screened = None, _screened(folder, name, responses)
    if estimate and not screened.problem:
        try:
            so_far = study_baseline(folder, arm=name, responses=responses)
            main = next(iter(so_far.headlines.values()), None)
        except (DataError, UsageError) as error:
            screened = screened._replace(problem=for_library(error.marked))
    excluded = screened.annotators.filter("excluded")["annotator"].to_list()
    counted = tests.filter(~pl.col("respondent").is_in(excluded) & ~pl.col("skipped"))
    counted = counted.unique(["item", "respondent"])
    answered = dict(counted.group_by(ID).len().iter_rows())
    may_answer = _who_may_answer(folder, group, tests) if group.skip_own else {}
    have = {str(item.id): answered.get(str(item.id), 0) for item in folder.items()}
    left = Counter(
        max(0, min(group.overlap, may_answer.get(item, group.overlap)) - n) for item, n in have.items()
    )
    missing, paid = sum(lacking * n for lacking, n in left.items()), cost(responses, group.pay.currency)
    return replace(
        _unanswered(folder, name),
        answers=tests.filter(~pl.col("skipped")).height,
        counted=counted.height,
        missing=missing,
        missing_by=dict(sorted(left.items())),
        surplus=sum(n > group.overlap for n in have.values()),
        annotators=_annotators(responses, tests, screened.annotators),
        repeated=tests.height - tests.select("item", "respondent").unique().height,
        alpha=screened.alpha,
        low_agreement=screened.low_agreement,
        per_hour=responses.table.height / paid.hours if paid.hours else None,
        hours_left=None
        if paid.median_seconds_per_answer is None
        else missing * paid.median_seconds_per_answer / 3600,
        cost=paid,
        problem=screened.problem,
        estimate=main,
    )


def _who_may_answer(folder: StudyFolder, group: Arm, tests: pl.DataFrame) -> dict[str, int]:
    """Return N - k of every item by id: the experts of its domain without those who may have written it.

    N is the number of experts who have answered items of the domain, or the overlap if that is larger; k counts marks,
    and authors: those to whom the site did not show the item, or else those whom the item names.
    """
    items = {str(item.id): item for item in folder.items()}
    field = author_field(list(items.values()))
    domains = {name: domain_of(item, group.domain) for name, item in items.items()}
    named = tests.with_columns(pl.col(ID).replace_strict(domains, default="").alias("domain"))
    experts = dict(named.group_by("domain").agg(pl.col("respondent").n_unique()).iter_rows())
    hidden, marks = (
        Counter(named.filter(rows)[ID].to_list())
        for rows in (pl.col("hidden"), pl.col("skipped") & ~pl.col("hidden"))
    )
    wrote = hidden or {name: len(authors_of(item, field)) for name, item in items.items()}
    return {
        name: max(group.overlap, experts.get(domain, 0)) - wrote.get(name, 0) - marks[name]
        for name, domain in domains.items()
    }


class _Screened(NamedTuple):
    """The annotators as the baseline judges them, the agreement of the answers that count, or why there is none yet."""

    annotators: pl.DataFrame
    alpha: float | None = None
    low_agreement: float | None = None
    problem: str = ""


#: The judgement of an annotator: columns of the baseline's table.
_JUDGED: Final = {
    "annotator": pl.String, "control_accuracy": pl.Float64, "excluded": pl.Boolean, "median_seconds": pl.Float64
}  # fmt: skip


def _screened(folder: StudyFolder, arm: str, responses: Responses) -> _Screened:
    """Return what the first steps of the baseline give; no agreement of programs, which texts cannot tell apart."""
    annotators = pl.DataFrame(schema=_JUDGED)
    try:
        plan = frozen_plan(folder)
        dataset = folder.declared()
        settings = plan.settings(plan.arms.get(arm, folder.plan.arms[arm]))
        declaration = declared(dataset, settings)
        if declaration.judged or dataset.answer.kind == "program":
            thresholds = settings.min_control_accuracy, settings.min_controls
            return _Screened(
                judged_annotators(responses, min_control_accuracy=thresholds[0], min_controls=thresholds[1])
            )
        gold = find_gold(responses, dataset, gold_file(folder), None, None)
        study = StudyInput(responses=responses, dataset=dataset, gold=gold)
        answers = clean(study, declaration, settings)
        annotators = judge(answers, study, settings)
        pool = count_votes(answers, annotators, declaration, settings)
    except (DataError, UsageError) as error:
        return _Screened(annotators, problem=for_library(renamed(error.marked, PLAN_KEYS)))
    decided = int((majority(pool.votes, pool.needed(settings.min_votes)).label >= 0).sum())
    alpha = agreement_of(pool, settings).krippendorff_alpha
    return _Screened(annotators, alpha, 1 - decided / answers.items.height)


def _tests(responses: Responses) -> pl.DataFrame:
    """Return the answers to items of the test: item, `id`, respondent, and whether it was skipped or not shown."""
    mine = {text: may_be_mine(text) for text in responses.table["answer"].unique().to_list()}
    skipped = pl.col("answer").replace_strict(mine, return_dtype=pl.Boolean) if mine else pl.lit(value=False)
    answers = responses.table.filter(~pl.col("is_control")).select(
        "item", "respondent", skipped.alias("skipped"), hidden=pl.col("answer").eq_missing(NOT_SHOWN)
    )
    return answers.join(responses.items.select("item", pl.col(ID).cast(pl.String)), on="item", how="left")


def _annotators(
    responses: Responses, tests: pl.DataFrame, judged: pl.DataFrame
) -> tuple[AnnotatorProgress, ...]:
    """Return the work of each annotator, those with most answers first."""
    hourly = (
        responses.table.filter(pl.col("answer").ne_missing(NOT_SHOWN))
        .with_columns(page_of().alias("page"))
        .unique(["respondent", "page"], keep="first", maintain_order=True)
        .drop_nulls(["page_seconds", "page_reward"])
        .group_by(annotator="respondent")
        .agg(pl.col("page_seconds").sum(), pl.col("page_reward").sum())
        .filter(pl.col("page_seconds") > 0)
        .select("annotator", hourly=(pl.col("page_reward") / pl.col("page_seconds") * 3600).round(6))
    )
    work = tests.group_by(annotator="respondent").agg(
        pl.col("skipped").sum(), answers=(~pl.col("skipped")).sum()
    )
    people = responses.table.group_by(annotator="respondent").agg(controls=pl.col("is_control").sum())
    for table in (work, judged.select(list(_JUDGED)), hourly):
        people = people.join(table, on="annotator", how="left")
    filled = people.with_columns(
        pl.col("answers", "skipped").fill_null(0), pl.col("excluded").fill_null(value=False)
    )
    rows = filled.sort(["answers", "annotator"], descending=[True, False]).iter_rows(named=True)
    return tuple(AnnotatorProgress(**row) for row in rows)
