"""The record of a baseline: everything that `baseline.json` holds, typed. All renderers take it.

`pipeline.compute` makes it, `to_json` writes it, and `read_record` reads a saved folder.
`docs/json.md` explains the keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import polars as pl
from pydantic import Field, PrivateAttr

from merilo.baselines.arms import PEOPLE, arm_differences
from merilo.baselines.crowd import Crowd
from merilo.baselines.findings import SIMULATED
from merilo.baselines.people_table import PeopleTable
from merilo.baselines.pool_items import ItemClusters
from merilo.baselines.provenance import Provenance
from merilo.baselines.row import Row
from merilo.baselines.study_input import ArmInput, StudyInput
from merilo.datasets.declaration import Dataset
from merilo.errors import InputError, UsageError
from merilo.estimate import Estimate, Finding
from merilo.participation import Participation
from merilo.people.aggregation import Consensus, Resolution
from merilo.people.agreement import Agreement
from merilo.people.controls import ControlItem
from merilo.people.cost import Cost
from merilo.people.decision import PoolVotes
from merilo.people.gold import Gold, GoldRecord
from merilo.people.signals import PersonSignals
from merilo.people.spelling import Merged
from merilo.records import Number, Object, Record
from merilo.responses import Responses
from merilo.settings import Settings
from merilo.strict_json import Json
from merilo.text import Text

if TYPE_CHECKING:
    from merilo.reports.comparison import ModelSections
    from merilo.reports.table import Form

#: The record in a published folder.
BASELINE_FILE: Final = "baseline.json"


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


class HumanBenchmark(Record):
    """The values for `human_benchmark` in a dataset's metadata.

    On items with a majority ("agreed") or all that are decided.
    """

    items: Literal["agreed", "all"] = "all"
    metrics: dict[str, Estimate] = {}


class AgreementRecord(Agreement):
    """The agreement of a study, items without a majority, and how many equal votes make one."""

    level: str | None = None
    low_agreement: int | None = None
    low_agreement_share: Number = None
    max_low_agreement: float | None = None
    min_votes: int | str | None = None
    votes_needed: dict[int, int] = {}


class Controls(Record):
    """How many control items have a known answer, and those whose known answer may be wrong."""

    total: int = 0
    suspects: tuple[ControlItem, ...] = ()


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """Responses ready for aggregation.

    Attributes:
        responses: all responses, with one spelling for equal answers and at most one answer per annotator and item.
        gold: the gold answers in the same spelling; `None` if they are not known.
        merged: which answers count as another spelling, and which texts are no answers.
        items: the items that are not control items, one row each: the number `item` and the fields.
        clusters: the clusters that these items form; `None` if no field is named.
        in_order: number of an item whose answers are lists of numbers -> whether their order matters; empty if only
            whole answers are voted on.
    """

    responses: Responses
    gold: Gold | None
    merged: Merged
    items: pl.DataFrame
    clusters: ItemClusters | None
    in_order: Mapping[int, bool]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Cleaned):
    """What a baseline rests on and its JSON does not hold.

    Attributes:
        study: the study as it was read.
        settings: the settings of the baseline.
        declaration: the dataset as the scorer uses it.
        annotators: one row per annotator; see `controls.judged_annotators`.
        pool: all votes of the pool, and which of them count.
        decided: the consensus.
        consensus: the consensus as a table, one row per item; see `baseline_tables.COLUMNS`.
        crowd: the answers and the consensus as they are scored; `None` without gold.
        controls: the control items with their answers; see `controls.control_items`.
        cost: money and time.
        doubtful: the doubtful items, see `baseline_tables.doubtful_items`; `None` if they were not checked.
    """

    study: StudyInput
    settings: Settings
    declaration: Dataset
    annotators: pl.DataFrame
    pool: PoolVotes
    decided: Decided
    consensus: pl.DataFrame
    crowd: Crowd | None
    controls: tuple[ControlItem, ...]
    cost: Cost
    doubtful: pl.DataFrame | None = None

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
    clusters: ItemClusters | None = None
    resolved_by: ResolvedBy = ResolvedBy()
    metrics: dict[str, Estimate] = {}
    by_majority_alone: dict[str, Estimate] = {}
    human_benchmark: HumanBenchmark | None = None
    whole_dataset: dict[str, Estimate] = {}
    sampled_from: int | None = None
    single_person: Estimate | None = None
    agreement: AgreementRecord = AgreementRecord()
    groups: tuple[Estimate, ...] = ()
    cost: Cost = Cost()
    participation: Participation | None = None
    declaration: Object | None = None
    gold: GoldRecord | None = None
    doubts: Doubts | None = Field(default=None, alias="doubtful")
    people: PeopleTable | None = None
    arm: str | None = None
    arms: dict[str, Baseline] = {}
    differences: tuple[Estimate, ...] = ()
    provenance: Provenance | None = None
    models: tuple[Row, ...] = ()
    echoes: tuple[ModelEchoes, ...] = ()
    signals: tuple[PersonSignals, ...] = ()

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
        """Return the consensus, one row per item; columns as in `baseline_tables.COLUMNS`."""
        return self.evidence.consensus

    @property
    def items(self) -> pl.DataFrame:
        """Return the items that are not control items, one row each: the number `item` and the fields."""
        return self.evidence.items

    @property
    def answers(self) -> pl.DataFrame:
        """Return every answer of people and models; columns as in `baseline_tables.ANSWER_COLUMNS`."""
        from merilo.baselines.baseline_tables import answer_table  # noqa: PLC0415 - imports this module

        return answer_table(self)

    @property
    def doubtful(self) -> pl.DataFrame | None:
        """Return the doubtful items, the most probably wrong gold first; `None` if they were not checked."""
        return self.evidence.doubtful

    @property
    def beside_models(self) -> ModelSections | None:
        """Return the models beside the people; `None` without models."""
        return self._models

    def with_models(self, sections: ModelSections) -> Baseline:
        """Return the baseline with comparisons with models."""
        if not sections.rows:
            return self
        baseline = self.model_copy(update={"models": sections.rows, "echoes": sections.echoes})
        baseline._models = sections
        return baseline

    def with_plan(self, files: Mapping[str, bytes], platform: str | None, command: str) -> Baseline:
        """Return the baseline with its plan's files, the platform of its answers, the command that repeats it."""
        record = self.provenance or Provenance()
        parameters = {**record.parameters, **({"platform": platform} if platform else {})}
        record = record.model_copy(update={"parameters": parameters, "command": command})
        study = replace(self.evidence.study, plan=files, provenance=record)
        return self._changed({"provenance": record}, study)

    def _changed(self, fields: Mapping[str, object], study: StudyInput) -> Baseline:
        """Return the baseline with other fields, and with the study that has the same."""
        baseline = self.model_copy(update=dict(fields))
        baseline._evidence = replace(self.evidence, study=study)
        return baseline

    def with_values(self, other: Baseline, names: Iterable[str]) -> Baseline:
        """Return the baseline with some values of another one."""
        return self.model_copy(
            update={name: getattr(other, name) for name in names if name in other.model_fields_set}
        )

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
        return self._rendered("terminal").rstrip("\n")

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        return self._rendered("html")

    def _rendered(self, form: Form) -> str:
        from merilo.reports.facts import PlannedBaseline, facts  # noqa: PLC0415 - needed only to print
        from merilo.reports.table import render  # noqa: PLC0415 - as above

        return render(facts(PlannedBaseline(self), "result"), form)

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
        studies = {name: ArmInput(other.evidence.study, other.settings) for name, other in others.items()}
        if differences is None:
            arms = {arm: self, **others}
            differences = arm_differences({name: evidence_of.evidence for name, evidence_of in arms.items()})
        fields = {"arm": arm, "arms": dict(others), "differences": tuple(differences)}
        return self._changed(fields, replace(self.evidence.study, arm=arm, arms=studies))

    @property
    def simulated(self) -> bool:
        """Return whether some of the annotators are simulated."""
        return any(finding.code == SIMULATED for finding in self.findings)

    @property
    def main_metrics(self) -> dict[str, Estimate]:
        """Return the metrics that have a value, without those of groups of items."""
        return {name: estimate for name, estimate in self.headlines.items() if "." not in name}

    @property
    def headlines(self) -> dict[str, Estimate]:
        """Return the metrics of all items that have a value; of groups of items, if no metric is of all."""
        known = {name: metric for name, metric in self.metrics.items() if metric.value is not None}
        return {name: metric for name, metric in known.items() if "." not in name} or known

    @property
    def parameters(self) -> Object:
        """Return the parameters with which the baseline was computed; empty if they are not known."""
        return self.provenance.parameters if self.provenance else {}

    @property
    def min_control_accuracy(self) -> float | None:
        """Return the accuracy on control items below which annotators were excluded; `None` if it is not known."""
        accuracy = self.parameters.get("min_control_accuracy")
        return accuracy if isinstance(accuracy, int | float) else None

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
        """Return the number of items of the study and of the dataset from which they were sampled, if they were."""
        return (self.item_counts.total or 0, self.sampled_from) if self.sampled_from else None


def read_record(folder: Path) -> Baseline:
    """Read the record of a saved baseline.

    Args:
        folder: a folder of `merilo baseline --out` or `merilo report --out`.

    Raises:
        InputError: the folder holds no record of a baseline, or a key of it has a value of a wrong type.
    """
    path = folder / BASELINE_FILE
    if not path.is_file():
        raise InputError(f"is not a baseline folder: {BASELINE_FILE} is missing", file=folder)
    return Baseline.read(path)
