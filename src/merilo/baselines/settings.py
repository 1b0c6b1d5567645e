"""What is decided before a figure is seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from merilo.datasets.declaration import METRICS, is_metric
from merilo.errors import UsageError, argument
from merilo.people.agreement import Level
from merilo.people.decision import Aggregator, Resolve
from merilo.people.duplicates import Repeats
from merilo.people.normalisation import rules_of


@dataclass(frozen=True, slots=True)
class Settings:
    """What was decided before the figure was seen.

    Attributes:
        dataset: the dataset's name, where it is one that Merilo knows.
        metric: the main metric's name; the dataset's own, or accuracy, when not given.
        alternatives: what divides several right answers inside a gold text, where no dataset says it.
        labels: the dataset's labels; answers outside them are reported.
        min_control_accuracy: annotators below it on control items are excluded.
        min_controls: with fewer control answers an annotator cannot be judged.
        min_votes: how many equal votes make a majority; "majority" is more than half (see `PoolVotes.needed`).
        max_low_agreement: the share of items without a majority above which the baseline is rejected.
        aggregator: what turns votes into labels.
        resolve: what happens to items that it leaves open; see `decision.decide`.
        anchor_controls: whether models know the labels of control items.
        normalise: names of the rules by which answers are one; see `normalisation.RULES` and `SETS`.
        by: fields of the items by which agreement and the figure are told apart.
        level: the level of measurement of Krippendorff's alpha.
        repeats: what happens to an annotator's second answer to an item.
        currency: the currency of rewards, where the platform does not say it.
        open_answers: whether answers are typed freely, where the dataset says; None: told by the number of labels in the pool.
    """

    dataset: str | None = None
    metric: str | None = None
    alternatives: str | None = None
    labels: tuple[str, ...] = ()
    min_control_accuracy: float = 0.5
    min_controls: int = 1
    min_votes: int | Literal["majority"] = "majority"
    max_low_agreement: float = 0.3
    aggregator: Aggregator = "majority"
    resolve: Resolve = "cascade"
    anchor_controls: bool = False
    normalise: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    level: Level = "nominal"
    repeats: Repeats = "refuse"
    currency: str | None = None
    open_answers: bool | None = None

    def __post_init__(self) -> None:
        for name in ("min_control_accuracy", "max_low_agreement"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{argument(name)} takes a share from 0 to 1")
        rules_of(self.normalise)
        if self.min_controls < 1:
            raise UsageError(f"{argument('min_controls')} takes a number from 1 on")
        if self.min_votes != "majority" and self.min_votes < 1:
            raise UsageError(f"{argument('min_votes')} takes 'majority' or a number from 1 on")
        if self.metric is not None and not is_metric(self.metric):
            raise UsageError(f"there is no metric '{self.metric}' (there are: {', '.join(METRICS)})")
        if self.alternatives == "":
            raise UsageError(
                f"{argument('alternatives')} takes the text that stands between right answers, such as ';'"
            )
