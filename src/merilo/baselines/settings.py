"""The settings of a baseline, to be decided before its metrics are seen."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final, Literal

from merilo.datasets.declaration import METRICS, Dataset, is_metric
from merilo.errors import UsageError, argument
from merilo.people.adaptive_overlap import AdaptiveDesign
from merilo.people.agreement import Level
from merilo.people.decision import Aggregator, Resolve
from merilo.people.duplicates import Repeats
from merilo.people.normalisation import rules_of
from merilo.strict_json import Json

#: The settings that follow from the dataset's declaration; the user does not choose them.
OF_DATASET: Final = frozenset({"dataset", "labels", "open_answers"})


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a baseline, decided before its metrics are seen.

    Attributes:
        dataset: the dataset's name, if Merilo has its declaration.
        metric: the main metric's name; by default, the dataset's main metric, or accuracy without a dataset.
        alternatives: the separator of several gold answers in one text, if no dataset declares it.
        labels: the dataset's labels; answers outside them are reported.
        min_control_accuracy: annotators with a lower accuracy on control items are excluded.
        min_controls: annotators with fewer control answers are not judged and are kept.
        min_control_score: a free-text answer to a control item is right if it scores at least this much: the F1 of its words
            with a known answer, whatever the dataset's metric. Other answers must equal the known answer.
        min_votes: how many equal votes make a majority; "majority" is more than half (see `PoolVotes.needed`).
        max_low_agreement: the share of items without a majority above which the baseline is rejected.
        aggregator: the aggregation method.
        resolve: what happens to items that the aggregator leaves undecided; see `decision.decide`.
        anchor_controls: whether models of annotators are given the labels of control items.
        normalise: names of the rules by which spellings count as the same answer; see `normalisation.RULES` and `SETS`.
        by: fields of the items; agreement and metrics are also computed for each of their values.
        cluster: the field of the items that form a cluster if they have the same value: a text, a dialogue; by default, the field
            that the dataset declares.
        level: the level of measurement of Krippendorff's alpha.
        repeats: what happens to an annotator's second answer to an item.
        adaptive: the adaptive overlap with which answers were collected, as START:LIMIT[:SHARE[:SEED]]; see
            `AdaptiveDesign`. `None` for a fixed overlap.
        currency: the currency of rewards, if the export does not state it.
        open_answers: whether answers are free text, if the dataset declares it; `None`: derived from the number of labels
            in the pool.
    """

    dataset: str | None = None
    metric: str | None = None
    alternatives: str | None = None
    labels: tuple[str, ...] = ()
    min_control_accuracy: float = 0.5
    min_controls: int = 1
    min_control_score: float = 0.5
    min_votes: int | Literal["majority"] = "majority"
    max_low_agreement: float = 0.3
    aggregator: Aggregator = "majority"
    resolve: Resolve = "cascade"
    anchor_controls: bool = False
    normalise: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    cluster: str | None = None
    level: Level = "nominal"
    repeats: Repeats = "refuse"
    adaptive: str | None = None
    currency: str | None = None
    open_answers: bool | None = None

    def __post_init__(self) -> None:
        for name in ("min_control_accuracy", "max_low_agreement"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{argument(name)} takes a share from 0 to 1")
        if not 0 < self.min_control_score <= 1:
            raise UsageError(f"{argument('min_control_score')} takes a score above 0 and up to 1")
        rules_of(self.normalise)
        if self.adaptive is not None:
            AdaptiveDesign.of(self.adaptive)
        if self.min_controls < 1:
            raise UsageError(f"{argument('min_controls')} takes a number of at least 1")
        if self.min_votes != "majority" and self.min_votes < 1:
            raise UsageError(f"{argument('min_votes')} takes 'majority' or a number of at least 1")
        if self.metric is not None and not is_metric(self.metric):
            raise UsageError(f"there is no metric '{self.metric}' (choose from: {', '.join(METRICS)})")
        if self.alternatives == "":
            raise UsageError(f"{argument('alternatives')} takes the separator of gold answers, such as ';'")

    @property
    def design(self) -> AdaptiveDesign | None:
        """Return the adaptive overlap; `None` for a fixed one."""
        return None if self.adaptive is None else AdaptiveDesign.of(self.adaptive)

    def for_dataset(self, declared: Dataset | None) -> Settings:
        """Return the settings with the dataset's name, its labels and whether its answers are free text."""
        if declared is None:
            return self
        labels = declared.answer.labels
        return replace(self, dataset=declared.name, labels=labels, open_answers=not labels)

    def parameters(self) -> dict[str, Json]:
        """Return the settings that a user chooses, as the parameters of a result; the dataset's are left out."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in OF_DATASET}
        return {name: [*value] if isinstance(value, tuple) else value for name, value in values.items()}
