"""Computation of a human baseline from responses.

The order of the steps is that of the published procedure: annotators who fail the control items are excluded with all
their answers; the others decide each item; items without a majority are counted; the consensus is scored against gold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from merilo.baselines.consensus_scorer import ConsensusScorer, consensus_scorer, declared, without_scorer
from merilo.baselines.dataset_estimates import DatasetEstimates, estimate_dataset
from merilo.baselines.decision_rule import DecisionRule, by_majority_alone, decision_rule
from merilo.baselines.estimates import Estimates, estimate_metrics
from merilo.baselines.groups import Group
from merilo.baselines.item_clusters import ItemClusters
from merilo.baselines.population import Population
from merilo.baselines.program_estimates import estimate_programs, refuse_programs, verdict_gold
from merilo.baselines.steps import (
    Cleaned,
    Decided,
    Diagnosis,
    Screened,
    SuspectControl,
    clean,
    decide_items,
    diagnose,
    screen,
    suspect_controls,
    tabulate,
    test_items,
    with_quality,
)
from merilo.baselines.warnings import BaselineWarning, Status, warnings_on_other_datasets
from merilo.datasets.declaration import Dataset, scored_elsewhere
from merilo.errors import UsageError
from merilo.metrics.score import Score
from merilo.people import cost
from merilo.people.aggregation import Fit, Resolution
from merilo.people.agreement import Agreement
from merilo.people.decision import PoolVotes
from merilo.people.gold import Gold
from merilo.people.other_datasets import OtherAnswers
from merilo.people.quality.controls import ControlHealth, ExclusionRule, control_health
from merilo.people.simulation import SIMULATED_PREFIX
from merilo.people.verdicts import with_passed
from merilo.responses import Responses
from merilo.settings import Resolve, Settings
from merilo.text import Text

__all__ = ["Baseline", "Resolve", "Settings", "baseline", "test_items"]


@dataclass(frozen=True, slots=True)
class Unresolved:
    """The items that are unresolved for one reason.

    Attributes:
        code: machine-readable code of the reason.
        items: the number of items.
        reason: the reason in words.
    """

    code: str
    items: int
    reason: Text


@dataclass(frozen=True, slots=True)
class Baseline:
    """The scored consensus of a study and the result of each step that led to it.

    Attributes:
        settings: the settings of the baseline.
        dataset: the dataset's declaration; `None` if labels are compared as texts.
        declaration: the dataset as the scorer uses it.
        cleaned: the responses ready for aggregation.
        screened: the annotators and responses that count; `annotators` includes the model's estimates.
        decided: the consensus.
        consensus: the consensus as a table, one row per item; see `consensus_table.COLUMNS`.
        scorer: scores a consensus of this study; `None` without gold.
        estimates: every metric of the consensus and of single annotators, with its uncertainty; empty without gold.
        whole: the metrics on the whole dataset, if the items are a sample of it; `None` otherwise, or without gold.
        control_health: the control items with their answers, and the annotators judged on few of them.
        diagnosis: status, warnings, agreement, groups and cost.
    """

    settings: Settings
    dataset: Dataset | None
    declaration: Dataset
    cleaned: Cleaned
    screened: Screened
    decided: Decided
    consensus: pl.DataFrame
    scorer: ConsensusScorer | None
    estimates: Estimates
    whole: DatasetEstimates | None
    control_health: ControlHealth
    diagnosis: Diagnosis

    @property
    def status(self) -> Status:
        """Return "accepted", or why not: "rejected", "check the controls" or "no estimate"."""
        return self.diagnosis.status

    @property
    def programs(self) -> bool:
        """Return whether the answers are verdicts, on programs or by others, which have no consensus or agreement."""
        return self.declaration.judged

    @property
    def reasons(self) -> tuple[BaselineWarning, ...]:
        """Return the reasons for rejection; empty if the baseline is accepted."""
        return self.diagnosis.reasons

    @property
    def warnings(self) -> tuple[BaselineWarning, ...]:
        """Return the warnings for the reader of the baseline."""
        return self.diagnosis.warnings

    @property
    def agreement(self) -> Agreement:
        """Return the agreement of the responses that count."""
        return self.diagnosis.agreement

    @property
    def by(self) -> dict[str, dict[str, Group]]:
        """Return the groups of items: field -> value -> group."""
        return self.diagnosis.by

    @property
    def cost(self) -> cost.Cost:
        """Return the cost in money and time."""
        return self.diagnosis.cost

    @property
    def responses(self) -> Responses:
        """Return all responses, including those to control items."""
        return self.cleaned.responses

    @property
    def gold(self) -> Gold | None:
        """Return the gold answers; `None` if they are not known."""
        return self.cleaned.gold

    @property
    def used(self) -> pl.DataFrame:
        """Return the responses that count."""
        return self.screened.used

    @property
    def annotators(self) -> pl.DataFrame:
        """Return the table of annotators, one row per annotator."""
        return self.screened.annotators

    @property
    def pool(self) -> PoolVotes:
        """Return all votes of the pool."""
        return self.screened.pool

    @property
    def model(self) -> Fit | None:
        """Return the model of annotators, if one was fitted."""
        return self.decided.model

    @property
    def resolved_by(self) -> dict[Resolution, int]:
        """Return how many items were resolved in each way."""
        return self.decided.resolved_by

    @property
    def low_agreement(self) -> int:
        """Return how many items have no majority."""
        return self.decided.low_agreement

    @property
    def suspects(self) -> list[SuspectControl]:
        """Return the suspect control items with the texts shown to annotators."""
        return suspect_controls(self.control_health, self.responses.items)

    @property
    def unresolved(self) -> list[Unresolved]:
        """Return the number of items without a consensus by reason; reasons that never occurred are left out."""
        left = self.consensus.filter(pl.col("label").is_null())
        empty = int((left["votes"] == 0).sum())
        equal = Unresolved("equal", left.height - empty, Text("equal at every step"))
        if by_majority_alone(self.settings):
            equal = Unresolved("no_majority", equal.items, Text("no majority"))
        no_answers = Unresolved("no_answers", empty, Text("no answer left after exclusion"))
        return [one for one in (no_answers, equal) if one.items]

    @property
    def scores(self) -> dict[str, Score]:
        """Return the metrics of the consensus by name, the main one first; empty without gold."""
        return {name: one.score for name, one in self.estimates.all().items()}

    @property
    def simulated(self) -> bool:
        """Return whether some of the annotators are simulated."""
        return any(name.startswith(SIMULATED_PREFIX) for name in self.annotators["annotator"])

    @property
    def clusters(self) -> ItemClusters | None:
        """Return the clusters that the items form; `None` if no field is named."""
        return self.cleaned.clusters

    @property
    def items(self) -> int:
        """Return how many items the study has."""
        return self.consensus.height

    @property
    def alpha(self) -> float:
        """Return Krippendorff's alpha of the responses that count; NaN if it is not defined."""
        return self.agreement.krippendorff_alpha

    @property
    def low_agreement_share(self) -> float:
        """Return the share of items without a majority."""
        return self.low_agreement / self.items


def baseline(
    responses: Responses,
    settings: Settings,
    *,
    dataset: Dataset | None = None,
    gold: Gold | None = None,
    skills: pl.DataFrame | None = None,
    population: Population | None = None,
    other: OtherAnswers | None = None,
) -> Baseline:
    """Compute a human baseline.

    Args:
        responses: the responses of one study.
        settings: the settings of the baseline.
        dataset: the dataset's declaration, which sets how answers are compared and scored; by default, labels are
            compared as texts.
        gold: the gold answers, if they are known.
        skills: the platform's skills of annotators, see `controls.read_skills`.
        population: the whole dataset in strata, if the items are a sample of it; the metrics are then also
            estimated for the whole dataset.
        other: the annotators' answers to other datasets, which tell who is reliable.

    Raises:
        UsageError: the metric does not fit the dataset's answers, or answers are programs, which must be run.
        DataError: there are no test items, an annotator gave two different answers to an item, or no
            annotator passes the control items, or no item for an estimate on the whole dataset is left.
    """
    if responses.reading and responses.reading.order:
        level = "ordinal" if settings.level == "nominal" else settings.level
        settings = replace(settings, labels=responses.reading.order, level=level)
    if responses.scored:
        if settings.metric not in {None, "acc"}:
            raise UsageError(f"answers that were scored elsewhere have the metric acc, not {settings.metric}")
        declaration, gold = scored_elsewhere(dataset), gold or verdict_gold(responses)
    else:
        declaration = declared(dataset, settings)
    programs = declaration.judged
    if declaration.answer.kind == "program":
        refuse_programs(responses, dataset.title if dataset else declaration.name)
    cleaned = clean(responses, gold, declaration, settings, dataset.cluster if dataset else None)
    screened = screen(cleaned, settings, skills)
    decided = decide_items(cleaned, screened, declaration, settings)
    screened = with_quality(screened, decided)
    if programs:
        screened = replace(screened, annotators=with_passed(screened.annotators, screened.pool))
    if other:
        judged = screened.annotators.join(
            other.reliability(), on="annotator", how="left", maintain_order="left"
        )
        screened = replace(screened, annotators=judged)
    scorer = consensus_scorer(declaration, screened.pool, cleaned.gold, cleaned.clusters)
    rule_of_exclusion = ExclusionRule(settings.min_control_accuracy, settings.min_controls)
    health = control_health(cleaned.responses, screened.annotators, rule_of_exclusion)
    pool = screened.pool
    rule = (
        decision_rule(pool, screened.annotators, decided.consensus, settings)
        if scorer
        else DecisionRule(pool.votes)
    )
    estimates = Estimates(missing=without_scorer(declaration, cleaned.gold))
    if scorer:
        estimates = (
            estimate_programs(scorer, pool, declaration.metrics)
            if programs
            else estimate_metrics(scorer, screened, decided, rule, settings)
        )
    table = tabulate(cleaned, screened, decided, scorer)
    diagnosis = diagnose(cleaned, screened, decided, settings, scorer=scorer, rule=rule, health=health)
    if other:
        more = warnings_on_other_datasets(screened.annotators)
        diagnosis = replace(diagnosis, warnings=(*diagnosis.warnings, *more))
    return Baseline(
        settings=settings,
        dataset=dataset,
        declaration=declaration,
        cleaned=cleaned,
        screened=screened,
        decided=decided,
        consensus=table,
        scorer=scorer,
        estimates=estimates,
        whole=estimate_dataset(scorer, screened, decided, settings, population)
        if scorer and population and not programs
        else None,
        control_health=health,
        diagnosis=diagnosis,
    )
