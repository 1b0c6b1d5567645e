"""The quality of a baseline's annotators and dataset, and the sensitivity of its main metric to the settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from merilo.baselines.decision_rule import (
    DecisionRule,
    exclusion_variance,
    model_weights,
    tie_weights,
    two_ways,
)
from merilo.baselines.doubtful_items import DoubtfulItems, doubtful_items
from merilo.baselines.panel import Panel, panel
from merilo.baselines.pipeline import Baseline
from merilo.metrics.score import Score
from merilo.people.aggregation import (
    NO_LABEL,
    Consensus,
    Fit,
    auto,
    cascade,
    dawid_skene,
    glad,
    is_open,
    majority,
    wrong_answers,
)
from merilo.people.decision import PoolVotes, by_content
from merilo.people.quality import study_work
from merilo.people.quality.annotators import PeopleQuality, people_quality
from merilo.people.quality.controls import ControlAccuracy, ExclusionRule
from merilo.people.uncertainty.two_way import TwoWay, interval_of_record
from merilo.settings import Settings
from merilo.statistics.intervals import Interval
from merilo.text import Text

#: 0, 0.1 .. 0.9: from keeping all annotators to keeping those who almost never fail a control item.
THRESHOLDS = tuple(round(0.1 * step, 1) for step in range(10))

#: The thresholds that authors choose among, over which the range of an estimate is shown and a verdict is tried.
USUAL_THRESHOLDS: Final = (0.3, 0.4, 0.5, 0.6, 0.7)

#: Computes a consensus from a pool's votes.
Procedure: TypeAlias = Callable[[PoolVotes], Consensus]

#: Scores a consensus on the items that have a label; returns `None` without gold.
Scorer: TypeAlias = Callable[[Consensus], Score | None]

#: Computes the uncertainty of a score over items and annotators from the procedure's name, the pool, the
#: consensus and the score.
OverAnnotators: TypeAlias = Callable[[str, PoolVotes, Consensus, Score], TwoWay | None]


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """The baseline for one threshold and one aggregator.

    Attributes:
        threshold: the lowest accuracy on control items with which annotators are kept.
        aggregator: the aggregator's name.
        annotators: how many annotators count.
        answers: how many answers count.
        consensus: how many items have a consensus.
        score: the metric on the items with a consensus; `None` without gold or if there are no such items.
        two_way: its uncertainty over items and annotators; `None` if it is not defined.
    """

    threshold: float
    aggregator: str
    annotators: int
    answers: int
    consensus: int
    score: Score | None
    two_way: TwoWay | None = None

    @property
    def interval(self) -> Interval | None:
        """Return the interval of record; see `two_way.interval_of_record`."""
        return interval_of_record(self.score, self.two_way) if self.score else None


def sensitivity(
    pool: PoolVotes,
    controls: Sequence[ControlAccuracy],
    procedures: Mapping[str, Procedure],
    score: Scorer,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    min_controls: int = 1,
    over_annotators: OverAnnotators | None = None,
) -> tuple[SensitivityRow, ...]:
    """Compute the metric for every threshold and every aggregator.

    Args:
        pool: all answers of all annotators; this function selects again which of them count.
        controls: each annotator's accuracy on control items, indexed by the codes of `pool.everyone`.
        procedures: mapping from name to the function that computes a consensus.
        score: the function that scores a consensus.
        thresholds: accuracies on control items, each from 0 to 1.
        min_controls: annotators with fewer answers to control items are kept for every threshold.
        over_annotators: the function that computes the uncertainty of a score over items and annotators; by
            default it is left out.

    Returns:
        One row for each threshold and procedure, ordered by threshold first. Thresholds that keep the same annotators
        share one computation.
    """
    votes = pool.everyone.votes
    right, answered = [one.right for one in controls], [one.answers for one in controls]
    rows: list[SensitivityRow] = []
    seen: dict[tuple[bytes, str], SensitivityRow] = {}
    for threshold in thresholds:
        stays = ~ExclusionRule(threshold, min_controls).excluded(right, answered)
        kept = stays[votes.annotator]
        counted = replace(pool, kept=kept, counted=kept & pool.tests)
        people, answers = int(np.unique(votes.annotator[kept]).size), int(counted.counted.sum())
        for name, procedure in procedures.items():
            key = (stays.tobytes(), name)
            if key not in seen:
                seen[key] = _row(procedure(counted), counted, score, name, over_annotators)
            rows.append(replace(seen[key], threshold=threshold, annotators=people, answers=answers))
    return tuple(rows)


def _row(
    consensus: Consensus, pool: PoolVotes, score: Scorer, name: str, over_annotators: OverAnnotators | None
) -> SensitivityRow:
    """Build the row of one consensus without threshold and number of annotators; pure control items do not count."""
    votes = pool.votes
    asked = np.bincount(votes.item, minlength=votes.items) > 0
    label = np.where(asked, consensus.label, NO_LABEL).astype(np.int32)
    reached = int((label != NO_LABEL).sum())
    decided = replace(consensus, label=label)
    found = score(decided) if reached else None
    both = over_annotators(name, pool, decided, found) if found and over_annotators else None
    return SensitivityRow(float("nan"), name, 0, 0, reached, found, both)


#: With more answers than this, models of annotators are fitted only on request and not for every row of the table.
MOST_ANSWERS: Final = 50_000

Model: TypeAlias = Literal["auto", "dawid-skene", "glad"]
MODELS: Final[tuple[Model, ...]] = get_args(Model)


@dataclass(frozen=True, slots=True)
class StudyQuality:
    """The quality of a study's annotators and the sensitivity of its main metric.

    Attributes:
        people: one row per annotator, and the tests.
        sensitivity: the main metric for every threshold on control accuracy and every aggregator.
        left_out: mapping from each aggregator that could not be run to the reason.
        doubtful: the doubtful items; `None` without gold, or if there are too many answers.
        panel: single persons, groups and chosen people, or the reason why they are not computed.
    """

    people: PeopleQuality
    sensitivity: tuple[SensitivityRow, ...]
    left_out: Mapping[str, str]
    doubtful: DoubtfulItems | None = None
    panel: Panel | Text | None = None


#: Procedure -> its name in sentences.
PROCEDURES: Final[Mapping[str, Text]] = {
    "majority": Text("majority"),
    "cascade": Text("cascade"),
    "glad": Text("GLAD"),
    "dawid-skene": Text("dawid-skene"),
    "auto": Text("auto"),
}


def own_procedure(settings: Settings) -> str:
    """Return the name of the procedure of a baseline's settings; empty if the table of sensitivity has none."""
    if settings.aggregator != "majority":
        return settings.aggregator
    return {"none": "majority", "cascade": "cascade"}.get(settings.resolve, "")


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
    programs = baseline.programs
    everyone: Mapping[str, Consensus] = {}
    left_out: Mapping[str, str] = {}
    if len(pool.everyone.votes) > MOST_ANSWERS and not programs:
        left_out = dict.fromkeys(
            ("cascade", *MODELS), f"not fitted, because the study has more than {MOST_ANSWERS} answers"
        )
    elif not programs:
        # The cascade has already fitted GLAD to the answers of all annotators.
        made = baseline.model if (settings.aggregator, settings.resolve) == ("majority", "cascade") else None
        everyone = by_models(replace(pool, kept=np.ones_like(pool.kept)), settings, made)
    fits = {name: one.fit for name, one in everyone.items() if one.fit}
    people = people_quality(
        study.work,
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
            procedures_of(settings, everyone, free_text=baseline.declaration.answer.kind == "text"),
            scorer.headline if scorer else _no_gold,
            min_controls=settings.min_controls,
            over_annotators=_row_uncertainty(baseline, fits),
        )
    )
    few = len(pool.everyone.votes) <= MOST_ANSWERS
    doubtful = doubtful_items(baseline) if few else None
    which = panel(baseline) if few else Text("the study has more than {n:,} answers", n=MOST_ANSWERS)
    return StudyQuality(people, rows, left_out, doubtful, which)


def procedures_of(
    settings: Settings, everyone: Mapping[str, Consensus], *, free_text: bool
) -> dict[str, Procedure]:
    """Return the procedures that are fast enough for this study: majority, the cascade, and the models.

    `everyone` holds the consensus of each model on the answers of all annotators.
    """
    min_votes = settings.min_votes
    #: The annotators whose answers count -> the consensus of each model.
    decided: dict[bytes, Mapping[str, Consensus]] = {}

    def by_majority(pool: PoolVotes) -> Consensus:
        return majority(pool.votes, pool.needed(min_votes))

    def by_cascade(pool: PoolVotes) -> Consensus:
        skill = None if np.isnan(pool.skill).all() else pool.skill
        needed = pool.needed(min_votes)
        by_votes = cascade(pool.votes, skill=skill, min_votes=needed, fit=everyone["glad"].fit)
        return by_content(by_votes, pool, needed, free_text=free_text)

    def by_model(pool: PoolVotes, model: str) -> Consensus:
        if pool.kept.all():
            return everyone[model]
        kept = pool.kept.tobytes()
        if kept not in decided:
            decided[kept] = by_models(pool, settings)
        return decided[kept][model]

    procedures: dict[str, Procedure] = {"majority": by_majority}
    if everyone:
        procedures["cascade"] = by_cascade
    return procedures | {model: partial(by_model, model=model) for model in MODELS if model in everyone}


def by_models(pool: PoolVotes, settings: Settings, ability: Fit | None = None) -> dict[str, Consensus]:
    """Decide items by each model alone, fitted to the answers that are kept.

    `ability` is GLAD's fit to these answers, if it is known.
    """
    votes = pool.everyone.votes.where(pool.kept)
    opened = is_open(pool.everyone.votes, settings.open_answers)
    decided = {"auto": auto(votes, open_answers=opened, scale=pool.scale(settings))}
    if settings.aggregator == "dawid-skene":
        decided["dawid-skene"] = dawid_skene(votes, open_answers=opened)
    return {**decided, "glad": glad(votes, open_answers=opened, fit=ability)}


def _row_uncertainty(baseline: Baseline, fits: Mapping[str, Fit]) -> OverAnnotators:
    """Return the function that computes the uncertainty of a row's metric.

    The items are decided again by the row's procedure.
    """
    glad_fit = fits.get("glad")

    def over_annotators(name: str, pool: PoolVotes, consensus: Consensus, found: Score) -> TwoWay | None:
        rule = rule_of(name, pool, consensus, baseline.settings, glad_fit)
        scorer = baseline.scorer
        return two_ways(rule, scorer, consensus, {found.name: found}).get(found.name) if scorer else None

    return over_annotators


def rule_of(
    name: str, pool: PoolVotes, consensus: Consensus, settings: Settings, ability: Fit | None
) -> DecisionRule:
    """Return the rule by which a procedure decides the items again with other annotators.

    Args:
        name: the procedure.
        pool: the votes.
        consensus: the consensus by this procedure.
        settings: the settings of the baseline.
        ability: GLAD's fit to the answers of all annotators, for the cascade.
    """
    votes = pool.votes
    rule = DecisionRule(votes, exclusion=exclusion_variance(pool))
    if name == "majority":
        return replace(rule, needed=pool.needed(settings.min_votes))
    if consensus.fit and name in MODELS:
        wrong = wrong_answers(votes, open_answers=settings.open_answers)
        return replace(rule, weight=model_weights(votes, consensus.fit, wrong))
    return replace(rule, weight=tie_weights(votes, pool.skill, ability.quality if ability else None))


def _no_gold(_: Consensus) -> Score | None:
    return None
