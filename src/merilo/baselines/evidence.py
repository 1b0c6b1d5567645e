"""What stands behind a baseline and not in its JSON: the answers, the votes, the consensus and the scorer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from merilo.datasets.declaration import Dataset
from merilo.estimate import Estimate, Finding
from merilo.people.aggregation import Consensus, Fit, Resolution
from merilo.people.agreement import Agreement
from merilo.people.controls import ControlItem
from merilo.people.cost import Cost
from merilo.people.decision import PoolVotes
from merilo.people.gold import Gold
from merilo.people.spelling import Merged
from merilo.responses import Responses
from merilo.settings import Settings

if TYPE_CHECKING:
    from merilo.baselines.baseline_tables import DoubtfulItems
    from merilo.baselines.consensus_scorer import ConsensusScorer
    from merilo.baselines.estimates import Estimates
    from merilo.baselines.findings import Status
    from merilo.baselines.pool_items import ItemClusters
    from merilo.baselines.study_input import StudyInput


@dataclass(frozen=True, slots=True)
class Decided:
    """The consensus of the annotators.

    Attributes:
        consensus: the consensus by the settings, in the codes of the pool.
        majority: the consensus by majority only.
        resolved_by: how many items were resolved in each way.
        low_agreement: how many items have no majority.
        votes_needed: mapping from the number of equal votes that make a majority to the number of items that need it.
    """

    consensus: Consensus
    majority: Consensus
    resolved_by: Mapping[Resolution, int]
    low_agreement: int
    votes_needed: Mapping[int, int]

    @property
    def model(self) -> Fit | None:
        """Return the model of annotators, if one was fitted."""
        return self.consensus.fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a baseline rests on.

    Attributes:
        study: the study as it was read.
        settings: the settings of the baseline.
        declaration: the dataset as the scorer uses it.
        responses: all responses, in one spelling, one answer per annotator and item.
        gold: the gold answers in the same spelling; `None` if they are not known.
        merged: which answers count as another spelling, and which texts are no answers.
        items: the items that are not control items, one row each: the number `item` and the fields.
        clusters: the clusters that the items form; `None` if no field is named.
        annotators: one row per annotator; see `controls.judged_annotators`.
        pool: all votes of the pool, and which of them count.
        decided: the consensus.
        consensus: the consensus as a table, one row per item; see `baseline_tables.COLUMNS`.
        scorer: scores a consensus of this study; `None` without gold.
        controls: the control items with their answers; see `controls.control_items`.
        estimates: every metric of the consensus and of single annotators; empty without gold.
        whole: the metrics on the whole dataset; empty if the items are no sample of it, or without gold.
        agreement: the agreement of the responses that count.
        groups: the metrics and the agreement of groups of items; see `estimates.group_estimates`.
        cost: money and time.
        findings: what the reader must know.
        status: the status; see `findings.STATUSES`.
        doubtful: the doubtful items; `None` if they were not checked.
    """

    study: StudyInput
    settings: Settings
    declaration: Dataset
    responses: Responses
    gold: Gold | None
    merged: Merged
    items: pl.DataFrame
    clusters: ItemClusters | None
    annotators: pl.DataFrame
    pool: PoolVotes
    decided: Decided
    consensus: pl.DataFrame
    scorer: ConsensusScorer | None
    controls: tuple[ControlItem, ...]
    estimates: Estimates
    whole: Mapping[str, Estimate]
    agreement: Agreement
    groups: tuple[Estimate, ...]
    cost: Cost
    findings: tuple[Finding, ...] = ()
    status: Status = "accepted"
    doubtful: DoubtfulItems | None = None

    @property
    def used(self) -> pl.DataFrame:
        """Return the responses that count: those to test items by annotators who were not excluded."""
        return self.with_fate.filter(pl.col("became") == "used").drop("became")

    @property
    def with_fate(self) -> pl.DataFrame:
        """Return all responses with their use in the column `became`: used, control, or excluded with its annotator."""
        out = pl.col("respondent").is_in(self.annotators.filter("excluded")["annotator"].implode())
        fate = pl.when("is_control").then(pl.lit("control")).when(out).then(pl.lit("excluded_annotator"))
        return self.responses.table.with_columns(fate.otherwise(pl.lit("used")).alias("became"))

    @property
    def programs(self) -> bool:
        """Return whether every answer counts by itself: the answers are verdicts, which have no consensus."""
        return self.declaration.judged
