"""The quality of a baseline's annotators and dataset, and the sensitivity of its main metric to the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal

import numpy as np

from merilo.baselines.decision_rule import DecisionRule, model_weights, tie_weights, two_ways
from merilo.baselines.pipeline import Baseline
from merilo.baselines.sensitivity import OverAnnotators, Procedure, SensitivityRow, sensitivity
from merilo.errors import UsageError
from merilo.metrics.score import Score
from merilo.people.aggregation import (
    Consensus,
    Fit,
    cascade,
    dawid_skene,
    fit_glad,
    glad,
    is_open,
    majority,
    one_coin,
)
from merilo.people.audit.findings import StudyAudit, audit_study
from merilo.people.decision import PoolVotes, decide, with_medoids
from merilo.people.quality.annotators import PeopleQuality, people_quality
from merilo.people.quality.controls import ExclusionRule
from merilo.people.quality.work import study_work
from merilo.people.uncertainty.two_way import TwoWay
from merilo.settings import Settings

#: With more answers than this, models of annotators are fitted only on request and not for every row of the table.
MOST_ANSWERS: Final = 50_000

MODELS: Final[tuple[Literal["dawid-skene", "one-coin", "glad"], ...]] = ("dawid-skene", "one-coin", "glad")


@dataclass(frozen=True, slots=True)
class StudyQuality:
    """The quality of a study's annotators and the sensitivity of its main metric.

    Attributes:
        people: one row per annotator, and the tests.
        sensitivity: the main metric for every threshold on control accuracy and every aggregator.
        left_out: mapping from each aggregator that could not be run to the reason.
        dataset: the audit of the dataset; `None` without gold, or if there are too many answers.
    """

    people: PeopleQuality
    sensitivity: tuple[SensitivityRow, ...]
    left_out: Mapping[str, str]
    dataset: StudyAudit | None = None


def study_quality(baseline: Baseline) -> StudyQuality:
    """Measure the quality of a baseline's annotators and the sensitivity of its main metric to excluding them.

    Abilities are fitted to all answers of the study, including those to control items and those of excluded annotators.

    Args:
        baseline: the baseline.

    Returns:
        The quality.
    """
    study = study_work(baseline.responses, encoding=baseline.pool.everyone)
    settings = baseline.settings
    pool = baseline.pool
    programs = baseline.declaration.answer.kind == "program"
    fits, left_out = ({}, {}) if programs else _fits(baseline, pool)
    people = people_quality(
        replace(study.work, by_design=pool.by_design),
        study.annotators,
        rule=ExclusionRule(settings.min_control_accuracy, settings.min_controls),
        guess=1.0 / len(settings.labels) if settings.labels else None,
        abilities={model: fit.quality for model, fit in fits.items()},
    )
    controls = {one.annotator: one.controls for one in people.annotators}
    scorer = baseline.scorer
    rows = (
        ()
        if programs
        else sensitivity(
            pool,
            [controls[str(name)] for name in pool.everyone.annotators],
            _procedures(settings, fits, free_text=baseline.declaration.answer.kind == "text"),
            scorer.headline if scorer else _no_gold,
            min_controls=settings.min_controls,
            over_annotators=_row_uncertainty(baseline, fits),
        )
    )
    few = len(pool.everyone.votes) <= MOST_ANSWERS
    closed = True if settings.labels else None
    dataset = (
        audit_study(baseline.responses, baseline.gold, choice=closed, encoding=baseline.pool.everyone)
        if baseline.gold and not baseline.gold.withheld and few and not programs
        else None
    )
    return StudyQuality(people, rows, left_out, dataset)


def _procedures(settings: Settings, fits: Mapping[str, Fit], *, free_text: bool) -> dict[str, Procedure]:
    """Return the procedures that are fast enough for this study: the published one, the cascade, and the fitted models."""
    min_votes = settings.min_votes

    def by_majority(pool: PoolVotes) -> Consensus:
        return majority(pool.votes, pool.needed(min_votes))

    def by_cascade(pool: PoolVotes) -> Consensus:
        skill = None if np.isnan(pool.skill).all() else pool.skill
        everyone = pool.everyone.votes
        decided = cascade(
            pool.votes, everyone=everyone, skill=skill, min_votes=pool.needed(min_votes), fit=fits["glad"]
        )
        return with_medoids(decided, pool) if free_text else decided

    procedures: dict[str, Procedure] = {"majority": by_majority}
    if "glad" in fits:
        procedures["cascade"] = by_cascade
    for model in MODELS:
        if model in fits:
            procedures[model] = partial(
                _by_model, model=model, settings=settings, everybody=fits["glad"] if model == "glad" else None
            )
    return procedures


def _by_model(
    pool: PoolVotes,
    *,
    model: Literal["dawid-skene", "one-coin", "glad"],
    settings: Settings,
    everybody: Fit | None,
) -> Consensus:
    """Decide items by a model only; if no annotator is excluded, the existing fit to all answers is reused."""
    if everybody and pool.kept.all():
        anchors = pool.anchors if settings.anchor_controls else None
        return glad(pool.everyone.votes, anchors=anchors, open_answers=settings.open_answers, fit=everybody)
    return decide(
        pool,
        aggregator=model,
        resolve="none",
        anchor_controls=settings.anchor_controls,
        min_votes=settings.min_votes,
        open_answers=settings.open_answers,
    )


def _row_uncertainty(baseline: Baseline, fits: Mapping[str, Fit]) -> OverAnnotators:
    """Return the function that computes the uncertainty of a row's metric, with items decided again by its procedure."""
    settings = baseline.settings

    def over_annotators(name: str, pool: PoolVotes, consensus: Consensus, found: Score) -> TwoWay | None:
        votes = pool.votes
        if name == "majority":
            rule = DecisionRule(votes, needed=pool.needed(settings.min_votes))
        elif consensus.fit and name in MODELS:
            weight = model_weights(votes, consensus.fit, open_answers=settings.open_answers)
            rule = DecisionRule(votes, weight=weight)
        else:
            rule = DecisionRule(votes, weight=tie_weights(votes, pool.skill, fits["glad"].quality))
        scorer = baseline.scorer
        return two_ways(rule, scorer, consensus, {found.name: found}).get(found.name) if scorer else None

    return over_annotators


def _fits(baseline: Baseline, pool: PoolVotes) -> tuple[dict[str, Fit], dict[str, str]]:
    """Fit each model to the answers of all annotators; also return the models that could not be fitted, with reasons."""
    settings, votes = baseline.settings, pool.everyone.votes
    fits: dict[str, Fit] = {}
    left_out: dict[str, str] = {}
    if len(votes) > MOST_ANSWERS:
        reason = f"not fitted, because the study has more than {MOST_ANSWERS} answers"
        return fits, {"cascade": reason, **dict.fromkeys(MODELS, reason)}
    anchors = pool.anchors if settings.anchor_controls else None
    opened = is_open(votes, settings.open_answers)
    try:
        fit = dawid_skene(votes, anchors=anchors, open_answers=opened).fit
    except UsageError as error:
        left_out["dawid-skene"] = error.marked
    else:
        if fit:
            fits["dawid-skene"] = fit
    if coin := one_coin(votes, anchors=anchors, open_answers=opened).fit:
        fits["one-coin"] = coin
    # The cascade has already fitted GLAD to the answers of all annotators.
    made = baseline.model if (settings.aggregator, settings.resolve) == ("majority", "cascade") else None
    fits["glad"] = made or fit_glad(votes, anchors=anchors, open_answers=opened)
    return fits, left_out


def _no_gold(_: Consensus) -> Score | None:
    return None
