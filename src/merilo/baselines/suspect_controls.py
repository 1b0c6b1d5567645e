"""Suspect control items of a baseline, and its main metric without them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from merilo.baselines.decision_rule import decision_rule, two_ways
from merilo.baselines.declared import consensus_scorer
from merilo.baselines.steps import Cleaned, Screened, decide_items, screen, with_quality
from merilo.datasets.declaration import Dataset
from merilo.errors import DataError
from merilo.metrics.score import Score
from merilo.people.quality.controls import (
    ControlHealth,
    ControlItem,
    ExclusionRule,
    control_health,
    without_controls,
)
from merilo.people.uncertainty.two_way import TwoWay, interval_of_record
from merilo.settings import Settings
from merilo.statistics.intervals import Interval


@dataclass(frozen=True, slots=True)
class SuspectControl:
    """A suspect control item as people saw it.

    Attributes:
        control: the control item and its answers.
        inputs: the texts shown to annotators, by field.
    """

    control: ControlItem
    inputs: dict[str, str]


@dataclass(frozen=True, slots=True)
class ControlCheck:
    """The check of control items against the annotators' answers.

    Attributes:
        health: each control item's known answer with the annotators' answers, and the annotators judged on
            few control items.
        without_suspects: the main metric if suspect control items are not used for exclusion; `None` if there are none,
            or without gold.
        two_way: the uncertainty of `without_suspects` over items and annotators; `None` if it is not defined.
    """

    health: ControlHealth
    without_suspects: Score | None
    two_way: TwoWay | None = None

    @property
    def interval(self) -> Interval | None:
        """Return the interval of record of `without_suspects`; see `two_way.interval_of_record`."""
        return interval_of_record(self.without_suspects, self.two_way) if self.without_suspects else None

    def shown(self, items: pl.DataFrame) -> list[SuspectControl]:
        """Return the suspect control items with the texts shown to annotators.

        Args:
            items: all items: the number `item` and one text column per field.
        """
        inputs = {
            int(row["item"]): {name: str(text) for name, text in row.items() if name != "item" and text}
            for row in items.iter_rows(named=True)
            if row["item"] in self.health.suspects
        }
        return [SuspectControl(one, inputs[one.item]) for one in self.health.controls if one.suspect]


def check_controls(
    cleaned: Cleaned,
    screened: Screened,
    declaration: Dataset,
    settings: Settings,
    skills: pl.DataFrame | None,
) -> ControlCheck:
    """Find control items whose known answer may be wrong, and score the study again without them.

    Args:
        cleaned: the responses after cleaning.
        screened: the annotators and responses that count.
        declaration: the dataset as the scorer uses it.
        settings: the settings of the baseline.
        skills: the platform's skills of annotators, if they were given.
    """
    rule = ExclusionRule(settings.min_control_accuracy, settings.min_controls)
    health = control_health(cleaned.responses, screened.annotators, rule)
    if not health.suspects or cleaned.gold is None:
        return ControlCheck(health, None)
    without = replace(cleaned, responses=without_controls(cleaned.responses, health.suspects))
    try:
        others = screen(without, settings, skills)
    except DataError:
        # The other control items exclude all annotators.
        return ControlCheck(health, None)
    scorer = consensus_scorer(declaration, others.pool, cleaned.gold, cleaned.clusters)
    decided = decide_items(without, others, declaration, settings)
    found = scorer.headline(decided.consensus) if scorer else None
    if scorer is None or found is None:
        return ControlCheck(health, None)
    others = with_quality(others, decided)
    deciding = decision_rule(others.pool, others.annotators, settings)
    over_both = two_ways(deciding, scorer, decided.consensus, {found.name: found})
    return ControlCheck(health, found, over_both.get(found.name))
