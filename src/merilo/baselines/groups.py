"""Groups of items: agreement and metrics for each domain, or each value of another field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from merilo.baselines.consensus_scorer import ConsensusScorer
from merilo.baselines.decision_rule import DecisionRule, two_ways
from merilo.baselines.item_clusters import column_of, field_tables, unknown_field
from merilo.errors import UsageError, argument
from merilo.metrics.metric import Score
from merilo.people.aggregation import Consensus
from merilo.people.agreement import Agreement, agreement_by, on_scale
from merilo.people.decision import PoolVotes
from merilo.people.gold import Gold
from merilo.people.uncertainty.two_way import TwoWay, interval_of_record
from merilo.settings import Level
from merilo.statistics.intervals import Interval

#: A field with more values than this identifies single items and does not define groups.
MOST_GROUPS = 1000


@dataclass(frozen=True, slots=True)
class Group:
    """The items with the same value of a field.

    Attributes:
        items: how many items of the study are in the group.
        agreement: how far annotators agree on these items; `None` for a single item, or if no answer to them counts.
        scores: the metrics on the items with a label and gold; empty if there are none.
        two_ways: mapping from metric to its uncertainty over items and annotators; without metrics that fewer
            than three annotators answered.
    """

    items: int
    agreement: Agreement | None
    scores: Mapping[str, Score] = field(default_factory=dict)
    two_ways: Mapping[str, TwoWay] = field(default_factory=dict)

    @property
    def score(self) -> Score | None:
        """Return the main metric; `None` if there is none."""
        return next(iter(self.scores.values()), None)

    @property
    def two_way(self) -> TwoWay | None:
        """Return the uncertainty of the main metric over items and annotators; `None` if it is not defined."""
        return self.two_ways.get(next(iter(self.scores), ""))

    @property
    def interval(self) -> Interval | None:
        """Return the interval of record of the main metric; see `two_way.interval_of_record`."""
        return interval_of_record(self.score, self.two_way) if self.score else None


def groups_by(
    fields: Sequence[str],
    *,
    items: pl.DataFrame,
    gold: Gold | None,
    pool: PoolVotes,
    scorer: ConsensusScorer | None,
    decided: Consensus,
    rule: DecisionRule,
    level: Level = "nominal",
    order: Sequence[str] = (),
) -> dict[str, dict[str, Group]]:
    """Compute the groups of each field.

    Args:
        fields: names of input fields, or of fields of the gold file (`domain` finds `meta.domain` too).
        items: the study's items: `item` and the input fields.
        gold: the gold answers, with the other fields of their file.
        pool: the votes.
        scorer: scores a consensus; `None` without gold.
        decided: the consensus.
        rule: how items are decided again with other annotators.
        level: the level of measurement of alpha.
        order: the dataset's labels, from the lowest to the highest.

    Returns:
        Mapping from field to value to group, values sorted; items without a value are in no group.

    Raises:
        UsageError: there is no such field, or it has more than a thousand values.
    """
    votes, values = on_scale(pool.votes, pool.everyone.labels.cast(pl.String).to_list(), level, order)
    codes = pool.everyone.items.cast(pl.UInt32).to_frame("item")
    found: dict[str, dict[str, Group]] = {}
    for name in fields:
        column = field_values(name, items, gold)
        if column["value"].n_unique() > MOST_GROUPS:
            raise UsageError(
                f"{argument('by', name, given=name)}: the field has {column['value'].n_unique()} "
                f"different values, too many for groups (at most {MOST_GROUPS})",
                field=name,
            )
        per_code = codes.join(column, on="item", how="left", maintain_order="left")["value"].to_list()
        agreement = agreement_by(votes, per_code, level=level, values=values)
        found[name] = {
            str(value): Group(
                within.height,
                agreement.get(str(value))
                if within.height > 1
                else None,  # chance agreement takes several items
                *(_metrics(scorer.on(within["item"].to_list()), decided, rule) if scorer else ({}, {})),
            )
            for (value,), within in column.drop_nulls("value")
            .sort("value")
            .group_by("value", maintain_order=True)
        }
    return found


def _metrics(
    scorer: ConsensusScorer, decided: Consensus, rule: DecisionRule
) -> tuple[dict[str, Score], dict[str, TwoWay]]:
    """Compute the metrics of the scorer's items, and their uncertainty over items and annotators."""
    scores = scorer.main_scores(decided)
    return scores, two_ways(rule, scorer, decided, scores)


def field_values(name: str, items: pl.DataFrame, gold: Gold | None) -> pl.DataFrame:
    """Return the items with their values of a field, in the columns `item` and `value`.

    Raises:
        UsageError: there is no such field.
    """
    tables = field_tables(items, gold)
    column = column_of(name, tables)
    if column is None:
        raise unknown_field("by", name, tables)
    return column.join(items.select("item"), on="item", how="semi")
