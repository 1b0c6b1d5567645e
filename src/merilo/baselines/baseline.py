"""The record of a baseline: everything that `baseline.json` holds, typed. All renderers take it.

`record_of` makes it from the pipeline's result, `to_json` writes it, and `read_record` reads a saved folder.
`docs/json.md` explains the keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final, Literal, cast, get_args

import polars as pl
from pydantic import ConfigDict, Field, PrivateAttr

from merilo.baselines.arms import PEOPLE, arm_differences
from merilo.baselines.dataset_estimates import DatasetEstimate, DatasetEstimates
from merilo.baselines.decision_rule import by_majority_alone
from merilo.baselines.doubtful_items import DoubtfulItems
from merilo.baselines.estimates import Estimates, MetricEstimate, why_items_alone
from merilo.baselines.evidence import Evidence
from merilo.baselines.findings import SIMULATED
from merilo.baselines.groups import Group
from merilo.baselines.item_clusters import ItemClusters
from merilo.baselines.people_table import PeopleTable, people_table
from merilo.baselines.provenance import Provenance, provenance
from merilo.baselines.signal_counts import SignalsRecord, count_signals
from merilo.baselines.steps import SuspectControl, overlap, suspect_controls
from merilo.baselines.study_input import ArmInput
from merilo.datasets.declaration import Dataset, declaration_json, read_declaration_json
from merilo.errors import InputError, UsageError
from merilo.estimate import Estimate, Finding
from merilo.metrics.metric import Score
from merilo.participation import Participation
from merilo.people.aggregation import Resolution
from merilo.people.agreement import Agreement
from merilo.people.cost import Cost
from merilo.people.gold import Gold
from merilo.people.uncertainty.annotator_accuracy import Person
from merilo.people.uncertainty.dataset_estimate import DatasetValue
from merilo.people.uncertainty.two_way import TwoWay
from merilo.records import Ends, Number, Object, Record, Span, rounded
from merilo.responses import Responses
from merilo.settings import Aggregator, Resolve, Settings
from merilo.strict_json import Json, read_json
from merilo.text import Text

if TYPE_CHECKING:
    from merilo.baselines.model_comparison import ModelComparison
    from merilo.reports.model_sections import ModelSections

#: How many doubtful items the record names.
MOST_DOUBTFUL: Final = 20

#: The record in a folder of `merilo baseline --out`.
BASELINE_FILE: Final = "baseline.json"
#: The record in a folder of `merilo report --out`, in two files.
METRICS_FILE: Final = "metrics.json"
COSTS_FILE: Final = "costs.json"


class WithIntervals(Record):
    """A record with an interval over items alone, and one over items and annotators."""

    @property
    def interval(self) -> Span | None:
        """Return the interval of record: over items and annotators, or over items alone if that is not defined."""
        over_both, over_items = (getattr(self, name, None) for name in ("over_both", "over_items"))
        return cast("Span | None", over_both or over_items)


class ResponseCounts(Record):
    """The rows of the exports: those read, those of control items, those that count, and the others by reason."""

    total: int | None = None
    control: int | None = None
    used: int | None = None
    dropped: dict[str, int] = {}


class AnnotatorCounts(Record):
    """How many annotators there are, and how many were checked and excluded by which threshold."""

    total: int | None = None
    used: int | None = None
    with_controls: int | None = None
    excluded: int | None = None
    unjudged: int | None = None

    @property
    def kept(self) -> int | None:
        """Return the number of annotators who were not excluded; `None` if it is not known."""
        return None if self.total is None else self.total - (self.excluded or 0)


class ItemCounts(Record):
    """How many items there are, how many have a consensus, and how many annotators answered them."""

    total: int | None = None
    consensus: int | None = None
    overlap: dict[int, int] = {}
    overlap_before_exclusion: dict[int, int] = {}


class ClusterRecord(Record):
    """The clusters that the items form."""

    field: str | None = None
    given_by: Literal["dataset", "option"] | None = None
    items: int | None = None
    clusters: int | None = None
    items_without_field: int | None = None
    block: int | None = None


class ResolvedBy(Record):
    """How many items each step decided; `majority` includes unanimous answers and most votes."""

    majority: int = 0
    skill: int = 0
    top_skill: int = 0
    glad: int = 0
    unresolved: int = 0
    unanimous: int = 0
    plurality: int = 0
    each_answer: int = 0
    dawid_skene: int = 0
    pooled: int = 0
    weighted_median: int = 0
    medoid: int = 0
    parts: int = 0


class StandardErrors(Record):
    """The two parts of a standard error."""

    items: Number = None
    annotators: Number = None


class PersonRecord(Record):
    """The metric of one annotator."""

    annotator: str
    value: Number
    n: int
    over_items: Ends = None
    ci95_chosen_among_all: Ends = None
    shrunk: Number = None


class SinglePerson(Record):
    """The metric if one answer is drawn at random for every item; only `reason` if it is not defined."""

    metric: str | None = None
    mean: Number = Field(default=None, alias="value")
    reason: str | None = None
    ci95: Ends = None
    method: str | None = None
    spread: Number = None
    spread_ci95: Ends = None
    annotators: int = 0
    answers: int = 0
    items: int = 0
    min_answers: int = 0
    with_min_answers: int = 0
    best: PersonRecord | None = None
    worst: PersonRecord | None = None


class DroppedItems(Record):
    """The metric if no item were left out: those without a majority count as wrong, or are decided by most votes."""

    n: int = 0
    dropped: int = 0
    dropped_counted_as_wrong: Number = None
    dropped_resolved_by_plurality: Number = None


class SingleOnDataset(Record):
    """The metric of single answers on the whole dataset."""

    mean: Number = None
    n: int = 0
    over_both: Ends = None
    method_over_both: str | None = None
    standard_error: StandardErrors = StandardErrors()


class OnDataset(WithIntervals):
    """A metric on the whole dataset, of which the items are a sample; only `reason` if it is not defined."""

    value: Number = None
    reason: str | None = None
    items: int = 0
    n: int = 0
    over_items: Ends = None
    method: str | None = None
    over_both: Ends = None
    method_over_both: str | None = None
    standard_error: StandardErrors = StandardErrors()
    single: SingleOnDataset | None = None


class MetricRecord(WithIntervals):
    """A metric of the consensus with its intervals, and of single annotators.

    Only `reason` if it could not be computed.
    """

    value: Number = None
    over_items: Ends = None
    n: int = 0
    clusters: int | None = None
    method: str | None = None
    over_both: Ends = None
    method_over_both: str | None = None
    annotators: int | None = None
    design_effect: Number = None
    cluster_design_effect: Number = None
    standard_error: StandardErrors | None = None
    by_majority: MetricRecord | None = None
    with_dropped: DroppedItems | None = None
    single: SinglePerson | None = None
    dataset: OnDataset | None = None
    reason: str | None = None

    @property
    def by_other_majority(self) -> MetricRecord | None:
        """Return the metric by majorities alone, if they leave items out."""
        other = self.by_majority
        return other if other and other.value is not None and other.n and other.n != self.n else None


class HumanBenchmark(Record):
    """The values for `human_benchmark` in a dataset's metadata.

    On items with a majority ("agreed") or all that are decided.
    """

    items: Literal["agreed", "all"] = "all"
    metrics: dict[str, MetricRecord] = {}


class StratumRecord(Record):
    """A stratum of the whole dataset; the weight is null without a used item."""

    stratum: str = ""
    items: int = 0
    sampled: int = 0
    used: int = 0
    weight: Number = None


class PopulationRecord(Record):
    """The whole dataset in strata, of which the items are a sample."""

    source: str = ""
    fields: tuple[str, ...] = ()
    items: int = 0
    items_of_estimate: int | None = None
    sampled: int = 0
    used: int = 0
    smallest_weight: Number = None
    largest_weight: Number = None
    design_effect_of_weights: Number = None
    effective_items: Number = None
    strata: tuple[StratumRecord, ...] = ()
    without_responses: tuple[str, ...] = ()


class AgreementRecord(Record):
    """Coefficients of agreement, alpha with its interval, and items by the size of their majority.

    The agreement of a whole study also counts items without a majority, and how many equal votes make one.
    """

    krippendorff_alpha: Number = None
    krippendorff_alpha_ci95: Ends = None
    fleiss_kappa: Number = None
    gwet_ac1: Number = None
    method: str | None = None
    majority_sizes: dict[int, int] = {}
    level: str | None = None
    low_agreement: int | None = None
    low_agreement_share: Number = None
    max_low_agreement: float | None = None
    min_votes: int | str | None = None
    votes_needed: dict[int, int] = {}
    n: int | None = None


class GroupRecord(Record):
    """The items with one value of a field, with a key for each metric."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, MetricRecord]

    items: int = 0
    answers: int | None = None
    agreement: AgreementRecord | None = None

    @property
    def metrics(self) -> Mapping[str, MetricRecord]:
        """Return the metrics by name, the main one first."""
        return self.__pydantic_extra__


class PublishedCost(Record):
    """Money as published tables compute it."""

    total: float | None = None
    hourly: float | None = None


class CostRecord(Record):
    """Money and time."""

    total: float | None = None
    pages: int | None = None
    answers: int | None = None
    hours: float | None = None
    hourly: float | None = None
    currency: str | None = None
    median_seconds_per_answer: float | None = None
    published_way: PublishedCost = PublishedCost()

    @property
    def per_answer(self) -> float | None:
        """Return the pay for an answer, those to control items and of excluded people included."""
        return self.total / self.answers if self.total is not None and self.answers else None


class GoldRecord(Record):
    """Where the gold answers come from, and the items and rows without their counterpart."""

    source: str = ""
    column: str | None = None
    matched: int = 0
    items_without_gold: tuple[int, ...] = ()
    unsolved: tuple[int, ...] = ()
    rows_without_item: tuple[int, ...] = ()
    withheld: bool = False


class SuspectRecord(Record):
    """A control item whose known answer may be wrong."""

    item: int
    inputs: dict[str, str] = {}
    known: str = ""
    answers: int = 0
    correct: int = 0
    most_common: str = ""
    most_common_answers: int = 0
    good_annotators_answers: int = 0
    good_annotators_correct: int = 0


class Controls(Record):
    """How many control items have a known answer, and those whose known answer may be wrong."""

    total: int = 0
    suspects: tuple[SuspectRecord, ...] = ()


class Doubts(Record):
    """How many gold answers were checked, how many items are doubtful, and kinds of typing errors.

    `gold_wrong` has the probability that the gold answer is wrong, of the first doubtful items by id.
    """

    golds: int = 0
    items: int = 0
    gold_wrong: dict[str, float] = {}
    typing_errors: dict[str, int] = {}


class AnnotatorEchoes(Record):
    """How often one annotator repeats a model's wrong answers.

    Attributes:
        annotator: the annotator.
        answers: their answers to items on which the model is wrong.
        repeated: how many of these are the model's wrong answer.
        others: the share of the other annotators' answers to these items that are, the mean over the items that others
            answered too.
        p: the p-value of the exact test.
        p_holm: the same after Holm's correction over the annotators.
    """

    annotator: str
    answers: int = 0
    repeated: int = 0
    others: Number = None
    p: float = 1.0
    p_holm: float = 1.0


class ModelEchoes(Record):
    """Who repeats a model's wrong answers, or the `reason` why this is not tested.

    Attributes:
        model: the model's name.
        missed: on how many of the people's items the model is wrong.
        annotators: how many annotators were tested: those who answered such an item.
        named: those who repeat its wrong answers more often than their own errors and those of the others explain.
    """

    model: str
    missed: int = 0
    annotators: int = 0
    named: tuple[AnnotatorEchoes, ...] = ()
    reason: str | None = None

    def sentence(self) -> Text:
        """Return the result in one sentence."""
        return Text(
            "{n} of {annotators:# annotator|# annotators} {n:repeats|repeat} the wrong answers of {model} more often "
            "than their own errors and those of the others explain (it is wrong on {missed:# item|# items})",
            n=len(self.named),
            annotators=self.annotators,
            model=self.model,
            missed=self.missed,
        )


class Baseline(Record):
    """A baseline with everything that its JSON holds; `docs/json.md` explains each key.

    The comparisons with `models` are those of `merilo compare`; they and the `echoes` are given only with models.
    """

    dataset: str | None = None
    status: str = ""
    reasons: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    response_counts: ResponseCounts = Field(default=ResponseCounts(), alias="responses")
    annotator_counts: AnnotatorCounts = Field(default=AnnotatorCounts(), alias="annotators")
    controls: Controls = Controls()
    item_counts: ItemCounts = Field(default=ItemCounts(), alias="items")
    clusters: ClusterRecord | None = None
    resolved_by: ResolvedBy = ResolvedBy()
    metrics: dict[str, MetricRecord] = {}
    human_benchmark: HumanBenchmark | None = None
    population: PopulationRecord | None = None
    single_person: SinglePerson | None = None
    agreement: AgreementRecord = AgreementRecord()
    by: dict[str, dict[str, GroupRecord]] = {}
    cost: CostRecord = CostRecord()
    participation: Participation | None = None
    declaration: Object | None = None
    gold: GoldRecord | None = None
    doubts: Doubts | None = Field(default=None, alias="doubtful")
    people: PeopleTable | None = None
    arm: str | None = None
    arms: dict[str, Baseline] = {}
    differences: tuple[Estimate, ...] = ()
    provenance: Provenance | None = None
    models: Object | None = None
    echoes: tuple[ModelEchoes, ...] = ()
    signals: SignalsRecord | None = None

    _evidence: Evidence | None = PrivateAttr(default=None)
    _models: ModelSections | None = PrivateAttr(default=None)

    @property
    def evidence(self) -> Evidence:
        """Return the answers, the votes and the consensus behind the baseline.

        Raises:
            UsageError: the baseline was read from its JSON alone.
        """
        if self._evidence is None:
            raise UsageError("was read from baseline.json alone: load its folder", field="baseline")
        return self._evidence

    @property
    def settings(self) -> Settings:
        """Return the settings of the baseline."""
        return self.evidence.settings

    @property
    def responses(self) -> Responses:
        """Return all responses, in one spelling, one answer per annotator and item."""
        return self.evidence.responses

    @property
    def annotators(self) -> pl.DataFrame:
        """Return the annotators, one row each: answers, control items, accuracy, skill, exclusion."""
        return self.evidence.annotators

    @property
    def consensus(self) -> pl.DataFrame:
        """Return the consensus, one row per item; columns as in `consensus_table.COLUMNS`."""
        return self.evidence.consensus

    @property
    def items(self) -> pl.DataFrame:
        """Return the items that are not control items, one row each: the number `item` and the fields."""
        return self.evidence.items

    @property
    def answers(self) -> pl.DataFrame:
        """Return every answer of people and models; columns as in `answer_table.ANSWER_COLUMNS`."""
        from merilo.baselines.answer_table import answer_table  # noqa: PLC0415 - imports this module

        return answer_table(self.evidence, self.evidence.study.models)

    @property
    def doubtful(self) -> pl.DataFrame | None:
        """Return the doubtful items, the most probably wrong gold first; `None` if they were not checked."""
        found = self.evidence.doubtful
        return found.table if found else None

    @property
    def beside_models(self) -> ModelSections | None:
        """Return the models beside the people; `None` without models."""
        return self._models

    def with_models(self, found: ModelSections) -> Baseline:
        """Return the baseline with comparisons with models."""
        if not found.told:
            return self
        baseline = self.model_copy(update={"models": found.told, "echoes": found.echoes})
        baseline._models = found
        return baseline

    @property
    def comparisons(self) -> list[ModelComparison]:
        """Return the comparisons with models."""
        return self._models.comparisons if self._models else []

    def save(self, folder: str | Path, *, force: bool = False) -> dict[str, Json]:
        """Write the folder that `merilo baseline --out` writes: report, JSON and tables.

        Args:
            folder: a new folder.
            force: replace an existing one.

        Returns:
            The baseline as JSON.

        Raises:
            OutputError: the folder exists and `force` is not given, or it contains an input file of the baseline.
        """
        from merilo.reports.folder import save  # noqa: PLC0415 - slow to load; needed only to write files

        save(self, Path(folder), force=force)
        return self.to_json()

    def __repr__(self) -> str:
        from merilo.reports.baseline_table import baseline_text  # noqa: PLC0415 - needed only to print

        return baseline_text(self)

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        from merilo.reports.baseline_table import baseline_html  # noqa: PLC0415 - needed only in notebooks

        return baseline_html(self)

    @property
    def by_arm(self) -> dict[str, Baseline]:
        """Return the baseline of every arm by name, the main one first; without arms, the only one as `people`."""
        return {self.arm or PEOPLE: self, **self.arms}

    def beside(
        self, arm: str, others: Mapping[str, Baseline], differences: Sequence[Estimate] | None = None
    ) -> Baseline:
        """Return the baseline of an arm with those of the other arms.

        Args:
            arm: the name of this arm.
            others: the other arms by name; without any, the baseline is returned as it is.
            differences: the differences between the arms; computed if they are not given.
        """
        if not others:
            return self
        studies = {name: ArmInput(one.evidence.study, one.settings) for name, one in others.items()}
        if differences is None:
            arms = {arm: self, **others}
            differences = arm_differences({name: one.evidence for name, one in arms.items()})
        more = {"arm": arm, "arms": dict(others), "differences": tuple(differences)}
        baseline = self.model_copy(update=more)
        study = replace(self.evidence.study, arm=arm, arms=studies)
        baseline._evidence = replace(self.evidence, study=study)
        return baseline

    @property
    def simulated(self) -> bool:
        """Return whether some of the annotators are simulated."""
        return any(one.code == SIMULATED for one in self.findings)

    @property
    def main_metrics(self) -> dict[str, MetricRecord]:
        """Return the metrics that have a value, without those of groups of items."""
        return {name: one for name, one in self.metrics.items() if one.value is not None and "." not in name}

    @property
    def parameters(self) -> Object:
        """Return the parameters with which the baseline was computed; empty if they are not known."""
        return self.provenance.parameters if self.provenance else {}

    @property
    def min_control_accuracy(self) -> float | None:
        """Return the accuracy on control items below which annotators were excluded; `None` if it is not known."""
        given = self.parameters.get("min_control_accuracy")
        return given if isinstance(given, int | float) else None

    @property
    def programs(self) -> bool:
        """Return whether every answer counts by itself, as programs and scored answers do: there is no consensus."""
        return self.resolved_by.each_answer > 0

    @property
    def scored(self) -> bool:
        """Return whether the answers were scored elsewhere, so that each is right or wrong by itself."""
        return self.programs and "acc" in self.metrics

    @property
    def sampled(self) -> tuple[int, int] | None:
        """Return the number of items of the study and of the dataset from which they were sampled.

        If they are a sample.
        """
        return (self.population.sampled, self.population.items) if self.population else None

    def parsed_settings(self, file: Path | None = None) -> tuple[Settings, Dataset]:
        """Return the settings by which the items were decided, and the dataset's declaration.

        Args:
            file: the file of the record, for messages.

        Raises:
            InputError: one of them is missing or invalid.
        """
        given, field = self.parameters, "provenance.parameters"
        if not given:
            raise InputError("the settings of the baseline are missing", file=file, field=field)
        votes = given.get("min_votes")
        aggregator = next((name for name in get_args(Aggregator) if name == given.get("aggregator")), None)
        resolve = next((name for name in get_args(Resolve) if name == given.get("resolve")), None)
        if not (isinstance(votes, int) or votes == "majority") or aggregator is None or resolve is None:
            raise InputError("min_votes, aggregator or resolve is missing or invalid", file=file, field=field)
        declaration = read_declaration_json(self.declaration)
        if declaration is None:
            raise InputError(
                "the dataset's declaration is missing or invalid",
                file=file,
                field="declaration",
            )
        labels = declaration.answer.labels
        accuracy, controls = given.get("min_control_accuracy"), given.get("min_controls")
        return Settings(
            min_control_accuracy=accuracy
            if isinstance(accuracy, int | float)
            else Settings().min_control_accuracy,
            min_controls=controls if isinstance(controls, int) else Settings().min_controls,
            labels=labels,
            open_answers=not labels if given.get("dataset") else None,
            min_votes=votes if isinstance(votes, int) else "majority",
            aggregator=aggregator,
            resolve=resolve,
        ), declaration


def read_record(folder: Path) -> Baseline:
    """Read the record of a saved baseline.

    Args:
        folder: a folder of `merilo baseline --out` or `merilo report --out`.

    Raises:
        InputError: the folder holds no record of a baseline, or a key of it has a value of a wrong type.
    """
    path = next((folder / name for name in (BASELINE_FILE, METRICS_FILE) if (folder / name).is_file()), None)
    if path is None:
        raise InputError("is not a baseline folder: baseline.json is missing", file=folder)
    content, costs = read_json(path), folder / COSTS_FILE
    if not isinstance(content, dict):
        raise InputError("is not the summary of a baseline", file=path)
    if path.name == METRICS_FILE and costs.is_file():
        paid = read_json(costs)
        content = {**(paid if isinstance(paid, dict) else {}), **content}
    return Baseline.of_json(content, path)


def record_of(evidence: Evidence) -> Baseline:
    """Return the baseline that follows from the evidence."""
    annotators, estimates, decided = evidence.annotators, evidence.estimates, evidence.decided
    study, items = evidence.study, evidence.items.height
    made_by = study.provenance or provenance("merilo baseline", [], evidence.settings.parameters())
    baseline = Baseline(
        dataset=evidence.settings.dataset,
        status=evidence.status,
        reasons=tuple(one.sentence.en for one in evidence.findings if one.rejects),
        findings=evidence.findings,
        responses=_responses(evidence),
        annotators=AnnotatorCounts(
            total=annotators.height,
            used=evidence.used["respondent"].n_unique(),
            with_controls=int((annotators["controls"] > 0).sum()),
            excluded=int(annotators["excluded"].sum()),
            unjudged=int((~annotators["judged"]).sum()),
        ),
        controls=_controls(evidence),
        items=ItemCounts(
            total=items,
            consensus=0 if evidence.programs else items - decided.resolved_by[Resolution.UNRESOLVED],
            overlap=overlap(evidence.items, evidence.used),
            overlap_before_exclusion=overlap(
                evidence.items, evidence.responses.table.filter(~pl.col("is_control"))
            ),
        ),
        clusters=cluster_record(evidence.clusters),
        resolved_by=resolved_by(decided.resolved_by),
        metrics=_metrics(estimates, evidence.whole),
        human_benchmark=_human_benchmark(estimates, evidence.settings),
        population=None if evidence.whole is None else population_record(evidence.whole),
        single_person=_headline_person(estimates),
        agreement=_agreement(evidence),
        by={
            field: {value: _group(group) for value, group in groups.items()}
            for field, groups in evidence.groups.items()
        },
        cost=cost_record(evidence.cost),
        declaration=declaration_json(evidence.declaration),
        gold=None if evidence.gold is None else _gold(evidence.gold),
        doubtful=None if evidence.doubtful is None else _doubts(evidence.doubtful),
        people=people_table(evidence),
        provenance=made_by,
    )
    more: dict[str, object] = {}
    if signals := count_signals(evidence.responses):
        more["signals"] = signals
    if came := evidence.responses.participation:
        more["participation"] = came
    baseline = baseline.model_copy(update=more)
    baseline._evidence = evidence
    return baseline


def cluster_record(clusters: ItemClusters | None) -> ClusterRecord | None:
    """Return the field of the items' clusters and their number; `None` if no field is named."""
    if clusters is None:
        return None
    return ClusterRecord(
        field=clusters.field,
        given_by="dataset" if clusters.declared else "option",
        items=clusters.items,
        clusters=clusters.clusters,
        items_without_field=clusters.without,
        block=clusters.block,
    )


def resolved_by(ways: Mapping[Resolution, int]) -> ResolvedBy:
    """Return how many items were resolved in each way.

    Ways that are not of every baseline are given only if they occur.

    Example:
        >>> counts = resolved_by({Resolution.UNANIMOUS: 22, Resolution.PLURALITY: 58, Resolution.SKILL: 15})
        >>> counts.majority, counts.unanimous, counts.skill, counts.glad
        (80, 22, 15, 0)
    """

    def count(*names: Resolution) -> int:
        return sum(ways.get(name, 0) for name in names)

    rare = (
        Resolution.EACH_ANSWER,
        Resolution.POOLED,
        Resolution.WEIGHTED_MEDIAN,
        Resolution.DAWID_SKENE,
        Resolution.MEDOID,
        Resolution.PARTS,
    )
    return ResolvedBy(
        majority=count(Resolution.UNANIMOUS, Resolution.MAJORITY, Resolution.PLURALITY),
        skill=count(Resolution.SKILL),
        top_skill=count(Resolution.TOP_SKILL),
        glad=count(Resolution.GLAD),
        unresolved=count(Resolution.UNRESOLVED),
        unanimous=count(Resolution.UNANIMOUS),
        plurality=count(Resolution.PLURALITY),
        **{one.name.lower(): count(one) for one in rare if count(one)},
    )


def population_record(whole: DatasetEstimates) -> PopulationRecord:
    """Return the dataset, its strata and the weights of their items."""
    weights = [one.weight for one in whole.strata if one.weight is not None]
    return PopulationRecord.of(
        whole.population,
        source=PurePath(whole.population.source).name,
        items_of_estimate=whole.items,
        sampled=len(whole.population.of),
        used=int(whole.sample.stratum.shape[0]),
        smallest_weight=min(weights),
        largest_weight=max(weights),
        design_effect_of_weights=whole.sample.design_effect,
        effective_items=whole.sample.effective_items,
        strata=tuple(StratumRecord.of(one, stratum=one.name, sampled=one.asked) for one in whole.strata),
        without_responses=tuple(one.name for one in whole.empty),
    )


def estimate_on_dataset(one: DatasetEstimate, whole: DatasetEstimates) -> OnDataset:
    """Return a metric on the whole dataset."""
    crowd, single = one.crowd, one.single
    return OnDataset.of(
        crowd,
        items=whole.items,
        over_items=Span.of(crowd.interval),
        method=crowd.interval.method if crowd.interval else None,
        over_both=Span.of(crowd.both),
        method_over_both=crowd.both.method if crowd.both else None,
        standard_error=_errors(crowd),
        single=None
        if single is None
        else SingleOnDataset(
            mean=single.value,
            n=single.n,
            over_both=Span.of(single.both),
            method_over_both=single.both.method if single.both else None,
            standard_error=_errors(single),
        ),
    )


def score_record(score: Score, **more: object) -> MetricRecord:
    """Return the value of a score, its 95 % interval, its number of items, and more fields."""
    return MetricRecord.model_validate(
        {"value": score.value, "over_items": Span.of(score.interval), "n": score.n, **more}
    )


def ends_over_both(crowd: TwoWay | None) -> Span | None:
    """Return the interval over items and annotators; `None` if it is not defined."""
    return Span.of(crowd.interval if crowd else None)


def cost_record(cost: Cost) -> CostRecord:
    """Return the cost of a group of annotators."""
    return CostRecord.of(
        cost,
        median_seconds_per_answer=cost.median_seconds,
        published_way=PublishedCost(total=cost.published_total, hourly=cost.published_hourly),
    )


def _responses(evidence: Evidence) -> ResponseCounts:
    responses = evidence.responses
    control = int(responses.table["is_control"].sum())
    left = responses.table.height - control - evidence.used.height
    return ResponseCounts(
        total=responses.rows_read,
        control=control,
        used=evidence.used.height,
        dropped={**responses.dropped, **({"excluded_annotator": left} if left > 0 else {})},
    )


def _controls(evidence: Evidence) -> Controls:
    suspects = suspect_controls(evidence.health, evidence.responses.items)
    return Controls(total=len(evidence.health.controls), suspects=tuple(map(_suspect, suspects)))


def _suspect(one: SuspectControl) -> SuspectRecord:
    control = one.control
    return SuspectRecord.of(
        control,
        inputs=one.inputs,
        good_annotators_answers=control.good_answers,
        good_annotators_correct=control.good_correct,
    )


def _metrics(estimates: Estimates, whole: DatasetEstimates | None) -> dict[str, MetricRecord]:
    """Return every metric by name, main metrics first; metrics that could not be computed have the reason."""
    metrics = {name: _metric(one, estimates) for name, one in estimates.all().items()} | {
        name: MetricRecord(value=None, over_items=None, n=0, reason=reason)
        for name, reason in estimates.missing.items()
    }
    if whole is None:
        return metrics
    on_dataset = {name: estimate_on_dataset(one, whole) for name, one in whole.metrics.items()}
    on_dataset |= {name: OnDataset(value=None, reason=reason) for name, reason in whole.missing.items()}
    return {
        name: one.model_copy(update={"dataset": on_dataset[name]}) if name in on_dataset else one
        for name, one in metrics.items()
    }


def _metric(estimate: MetricEstimate, estimates: Estimates) -> MetricRecord:
    more: dict[str, object] = {}
    crowd, published, bounds, single = (
        estimate.two_way,
        estimate.published,
        estimate.bounds,
        estimate.single,
    )
    if crowd:
        more = {
            "over_both": Span.of(crowd.interval),
            "method_over_both": crowd.interval.method,
            "annotators": crowd.annotators,
            "design_effect": crowd.design_effect,
            "cluster_design_effect": crowd.cluster_effect,
            "standard_error": StandardErrors(items=crowd.item_error, annotators=crowd.annotator_error),
        }
    elif reason := why_items_alone(estimate):
        more = {"over_both": None, "method_over_both": reason.en}
    if published:
        other = estimate.published_two_way
        more["by_majority"] = _scored(published, over_both=ends_over_both(other))
    if bounds:
        more["with_dropped"] = DroppedItems.of(
            bounds,
            dropped_counted_as_wrong=bounds.dropped_wrong,
            dropped_resolved_by_plurality=bounds.plurality,
        )
    if single or estimate.no_single:
        more["single"] = _single(estimate, estimates)
    return _scored(estimate.score, **more)


def _scored(score: Score, **more: object) -> MetricRecord:
    method = score.interval.method if score.interval else None
    return score_record(score, clusters=score.clusters, method=method, **more)


def _headline_person(estimates: Estimates) -> SinglePerson | None:
    """Return the main metric of single annotators; `None` if there is none."""
    headline = estimates.headline
    if headline is None or headline.single is None:
        return None
    return _single(headline, estimates).model_copy(update={"metric": headline.score.name})


def _single(estimate: MetricEstimate, estimates: Estimates) -> SinglePerson:
    single = estimate.single
    if single is None:
        return SinglePerson(value=None, reason=estimate.no_single)
    return SinglePerson.of(
        single,
        ci95=Span.of(single.interval),
        method=single.interval.method,
        spread_ci95=Span.of(single.spread_interval),
        with_min_answers=len(single.people),
        best=_person(estimates, single.best),
        worst=_person(estimates, single.worst),
    )


def _person(estimates: Estimates, person: Person | None) -> PersonRecord | None:
    if person is None:
        return None
    return PersonRecord.of(
        person,
        annotator=estimates.name(person.annotator),
        over_items=Span.of(person.interval),
        ci95_chosen_among_all=Span.of(person.simultaneous),
    )


def _human_benchmark(estimates: Estimates, settings: Settings) -> HumanBenchmark | None:
    """Return the values for a dataset's metadata; `None` without metrics.

    The items are those with a majority ("agreed"), or all that are decided ("all"): also if the value on
    those with a majority is withheld from a folder without gold answers.
    """
    main = estimates.main
    chosen = {
        name: one.published if settings.human_benchmark == "agreed" and one.published else one.score
        for name, one in main.items()
    }
    if not chosen:
        return None
    agreed = settings.human_benchmark == "agreed" and (
        by_majority_alone(settings) or all(one.published for one in main.values())
    )
    return HumanBenchmark(
        items="agreed" if agreed else "all",
        metrics={name: MetricRecord(value=one.value, n=one.n) for name, one in chosen.items()},
    )


def _agreement(evidence: Evidence) -> AgreementRecord:
    decided, settings = evidence.decided, evidence.settings
    return _coefficients(evidence.agreement).model_copy(
        update={
            "level": settings.level,
            "low_agreement": decided.low_agreement,
            "low_agreement_share": rounded(decided.low_agreement / evidence.items.height),
            "max_low_agreement": settings.max_low_agreement,
            "min_votes": settings.min_votes,
            "votes_needed": dict(decided.votes_needed),
            "n": evidence.agreement.answers,
        }
    )


def _coefficients(agreement: Agreement) -> AgreementRecord:
    alpha = agreement.interval
    return AgreementRecord.of(
        agreement,
        krippendorff_alpha_ci95=Span.of(alpha),
        method=alpha.method if alpha else None,
    )


def _group(group: Group) -> GroupRecord:
    metrics = {
        score.name: score_record(
            score, clusters=score.clusters, over_both=ends_over_both(group.two_ways.get(score.name))
        )
        for score in group.scores.values()
    }
    if group.agreement is None:
        return GroupRecord.model_validate({"items": group.items, **metrics})
    agreement = _coefficients(group.agreement)
    return GroupRecord.model_validate(
        {"items": group.items, "answers": group.agreement.answers, "agreement": agreement, **metrics}
    )


def _gold(gold: Gold) -> GoldRecord:
    return GoldRecord(
        source=gold.source,
        column=gold.column,
        matched=gold.answers.height,
        items_without_gold=gold.without_gold,
        unsolved=gold.unsolved,
        rows_without_item=gold.unused,
        **({"withheld": True} if gold.withheld else {}),
    )


def _doubts(found: DoubtfulItems) -> Doubts:
    first = found.table.head(MOST_DOUBTFUL).select("id", "gold_wrong")
    return Doubts(
        golds=found.golds,
        items=found.table.height,
        gold_wrong=dict(first.iter_rows()),
        typing_errors=dict(found.typing_errors),
    )


def _errors(value: DatasetValue) -> StandardErrors:
    return StandardErrors(items=value.item_error, annotators=value.annotator_error)
