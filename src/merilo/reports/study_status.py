"""The progress of a study: answers, overlap, annotators and their control items, agreement, speed and pay.

The estimate is left out unless it is asked for: whoever sees it may stop the study when it looks right.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl
from pydantic_core import to_jsonable_python

from merilo.baselines.baseline import Baseline
from merilo.baselines.consensus_scorer import declared
from merilo.baselines.pipeline import agreement_of, clean, count_votes, judge
from merilo.baselines.study_input import StudyInput, gold_of
from merilo.errors import DataError, UsageError, for_library
from merilo.people.aggregation.majority import majority
from merilo.people.cost import Cost, cost
from merilo.people.quality.controls import judged_annotators
from merilo.people.reading import StudyResponses
from merilo.people.spelling import NOT_SHOWN, may_be_mine
from merilo.reports.study_baseline import frozen_plan, gold_file, study_baseline, study_responses
from merilo.responses import Responses, page_of
from merilo.strict_json import Json
from merilo.studies.collected import read_imports
from merilo.studies.plan_types import Arm
from merilo.studies.study_export import arm_of
from merilo.studies.study_folder import StudyFolder, open_study
from merilo.studies.study_tasks import author_field, authors_of, domain_of


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


@dataclass(frozen=True, slots=True)
class StudyEstimate:
    """The main metric so far.

    Attributes:
        metric: its name.
        value: the estimate.
        low: the lower bound of its interval.
        high: the upper bound.
        n: the number of items.
        over_annotators: whether the interval is over items and annotators; otherwise it is over items alone.
    """

    metric: str
    value: float
    low: float | None
    high: float | None
    n: int
    over_annotators: bool


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
    files: int
    items: int
    overlap: int
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
    estimate: StudyEstimate | None = None

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
    name, group = arm_of(folder, arm)
    imports = read_imports(folder)
    items = len(folder.items())
    begun = name in imports.tables
    if not begun:
        planned = items * group.overlap
        return StudyStatus(
            study=folder.plan.study,
            arm=name,
            frozen=folder.frozen,
            files=0,
            items=items,
            overlap=group.overlap,
            planned=planned,
            missing=planned,
            missing_by={group.overlap: items},
        )
    return status_of(
        folder,
        name,
        study_responses(folder, arm=name),
        files=sum(one.arm == name for one in imports.files),
        planned_pay=imports.tables[name].planned_pay,
        estimate=estimate,
    )


def status_of(
    folder: StudyFolder,
    name: str,
    responses: StudyResponses,
    *,
    files: int = 0,
    planned_pay: int = 0,
    estimate: bool = False,
) -> StudyStatus:
    """Tell how far a group of annotators is that gave these answers.

    Args:
        folder: the study.
        name: the group.
        responses: the group's answers.
        files: the number of files that they were imported from.
        planned_pay: answers whose pay is that of the plan.
        estimate: also compute the main metric so far.
    """
    group, ids = folder.plan.arms[name], [str(one.item.id) for one in folder.items()]
    screened, problem = _screened(folder, name, responses)
    made = None
    if estimate and not problem:
        made, problem = _baseline(folder, name, responses)
    tests = _tests(responses)
    excluded = set() if screened is None else set(screened.annotators.filter("excluded")["annotator"])
    counted = tests.filter(~pl.col("respondent").is_in(list(excluded)) & ~pl.col("skipped")).unique(
        ["item", "respondent"]
    )
    people = dict(counted.group_by("item").agg(pl.col("respondent").n_unique()).iter_rows())
    answered = responses.items.filter(pl.col("item").is_in(list(people))).select("item", ID)
    found = {str(one): people[item] for item, one in answered.iter_rows()}
    given = [found.get(one, 0) for one in ids]
    may_answer = _who_may_answer(folder, group, responses, tests) if group.skip_own else {}
    left = Counter(
        max(0, min(group.overlap, may_answer.get(one, group.overlap)) - n)
        for one, n in zip(ids, given, strict=True)
    )
    paid = cost(responses, group.pay.currency)
    seconds = paid.median_seconds
    missing = sum(lacking * number for lacking, number in left.items())
    return StudyStatus(
        study=folder.plan.study,
        arm=name,
        frozen=folder.frozen,
        files=files,
        items=len(ids),
        overlap=group.overlap,
        answers=tests.filter(~pl.col("skipped")).height,
        counted=counted.height,
        planned=len(ids) * group.overlap,
        missing=missing,
        missing_by=dict(sorted(left.items())),
        surplus=sum(n > group.overlap for n in given),
        annotators=_annotators(responses, tests, screened),
        repeated=tests.height - tests.select("item", "respondent").unique().height,
        alpha=screened.alpha if screened else None,
        low_agreement=screened.low_agreement if screened else None,
        per_hour=None if not paid.hours else responses.table.height / paid.hours,
        hours_left=None if seconds is None else missing * seconds / 3600,
        cost=paid,
        planned_pay=planned_pay,
        problem=problem,
        estimate=_estimate(made) if made else None,
    )


def _who_may_answer(
    folder: StudyFolder, group: Arm, responses: StudyResponses, tests: pl.DataFrame
) -> dict[str, int]:
    """Return N - k of every item by id: the experts of its domain without those who may have written it.

    N is the number of experts who have answered items of the domain, or the overlap if that is larger; k counts marks,
    and authors: those to whom the site did not show the item, or else those whom the item names.
    """
    items = {str(one.item.id): one.item for one in folder.items()}
    field = author_field(list(items.values()))
    domains = {name: domain_of(item, group.domain) for name, item in items.items()}
    named = tests.join(responses.items.select("item", pl.col(ID).cast(pl.String)), on="item")
    named = named.with_columns(pl.col(ID).replace_strict(domains, default="").alias("domain"))
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
    """The annotators as the baseline judges them, and the agreement of the answers that count.

    Attributes:
        annotators: one row for each annotator.
        alpha: Krippendorff's alpha; `None` if it is not defined.
        low_agreement: the share of answered items without a majority; `None` for programs.
    """

    annotators: pl.DataFrame
    alpha: float | None
    low_agreement: float | None


def _screened(folder: StudyFolder, arm: str, responses: StudyResponses) -> tuple[_Screened | None, str]:
    """The first steps of the baseline, or why they cannot be made yet."""
    try:
        plan = frozen_plan(folder)
        dataset = folder.declared()
        settings = plan.settings(plan.arms.get(arm, folder.plan.arms[arm]))
        declaration = declared(dataset, settings)
        if declaration.judged or dataset.answer.kind == "program":  # as texts, programs cannot be compared
            annotators = judged_annotators(
                responses,
                min_control_accuracy=settings.min_control_accuracy,
                min_controls=settings.min_controls,
            )
            return _Screened(annotators, None, None), ""
        gold = gold_of(responses, dataset, gold_file(folder), None, None)
        study = StudyInput(responses=responses, dataset=dataset, gold=gold)
        answers = clean(study, declaration, settings)
        annotators = judge(answers, study, settings)
        pool = count_votes(answers, annotators, declaration, settings)
    except (DataError, UsageError) as error:
        return None, for_library(error.marked)
    alpha = agreement_of(pool, settings).krippendorff_alpha
    by_majority = majority(pool.votes, pool.needed(settings.min_votes))
    decided = int((by_majority.label >= 0).sum())
    return _Screened(annotators, alpha, 1 - decided / answers.items.height), ""


def _baseline(folder: StudyFolder, arm: str, responses: StudyResponses) -> tuple[Baseline | None, str]:
    """The baseline so far, or why there is none yet."""
    try:
        return study_baseline(folder, arm=arm, responses=responses), ""
    except (DataError, UsageError) as error:
        return None, for_library(error.marked)


def _tests(responses: Responses) -> pl.DataFrame:
    """The answers to items of the test: `item`, `respondent`, `skipped`, and `hidden` if it was not shown."""
    mine = {text: may_be_mine(text) for text in responses.table["answer"].unique().to_list()}
    skipped = pl.col("answer").replace_strict(mine, return_dtype=pl.Boolean) if mine else pl.lit(value=False)
    return responses.table.filter(~pl.col("is_control")).select(
        "item", "respondent", skipped.alias("skipped"), hidden=pl.col("answer").eq_missing(NOT_SHOWN)
    )


def _annotators(
    responses: Responses, tests: pl.DataFrame, screened: _Screened | None
) -> tuple[AnnotatorProgress, ...]:
    judged = [] if screened is None else screened.annotators.iter_rows(named=True)
    known = {row["annotator"]: row for row in judged}
    skipped = dict(tests.group_by("respondent").agg(pl.col("skipped").sum()).iter_rows())
    pages = (
        responses.table.filter(pl.col("answer").ne_missing(NOT_SHOWN))
        .with_columns(page_of().alias("page"))
        .unique(["respondent", "page"], keep="first", maintain_order=True)
        .drop_nulls(["page_seconds", "page_reward"])
        .group_by("respondent")
        .agg(pl.col("page_seconds").sum(), pl.col("page_reward").sum())
    )
    hourly = {
        who: round(reward / seconds * 3600, 6) for who, seconds, reward in pages.iter_rows() if seconds > 0
    }
    controls = responses.table.group_by("respondent").agg(
        pl.col("is_control").sum().alias("controls"), (~pl.col("is_control")).sum().alias("tests")
    )
    found = []
    for who, asked, answered in controls.iter_rows():
        row = known.get(who, {})
        found.append(
            AnnotatorProgress(
                annotator=who,
                answers=answered - skipped.get(who, 0),
                skipped=skipped.get(who, 0),
                controls=asked,
                control_accuracy=row.get("control_accuracy"),
                excluded=bool(row.get("excluded", False)),
                median_seconds=row.get("median_seconds"),
                hourly=hourly.get(who),
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.answers, one.annotator)))


def _estimate(made: Baseline) -> StudyEstimate | None:
    main = made.evidence.estimates.headline
    if main is None:
        return None
    low, high = main.ci95 or (None, None)
    return StudyEstimate(main.name, main.value or 0.0, low, high, main.n, over_annotators=True)
