"""Groups of items: metrics and agreement for each value of a field, such as a domain."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import polars as pl

from merilo.baselines.consensus_scorer import ConsensusScorer
from merilo.baselines.estimates import consensus_estimates, needed_when_redecided
from merilo.baselines.item_clusters import column_of, field_tables, unknown_field
from merilo.errors import UsageError, argument
from merilo.estimate import Estimate
from merilo.people.aggregation import Consensus
from merilo.people.agreement import alpha_estimate, on_scale
from merilo.people.decision import PoolVotes
from merilo.people.gold import Gold
from merilo.settings import Settings

#: A field with more values than this identifies single items and does not define groups.
MOST_GROUPS = 1000
#: The name of a group's agreement among its estimates.
ALPHA = "krippendorff_alpha"


def group_estimates(
    settings: Settings,
    *,
    items: pl.DataFrame,
    gold: Gold | None,
    pool: PoolVotes,
    scorer: ConsensusScorer | None,
    decided: Consensus,
) -> tuple[Estimate, ...]:
    """Estimate the metrics and the agreement of each group of the fields in the settings.

    Args:
        settings: the fields (`by`), the level of measurement of alpha and the labels' order.
        items: the study's items: `item` and the input fields.
        gold: the gold answers, with the other fields of their file.
        pool: the votes.
        scorer: scores a consensus; `None` without gold.
        decided: the consensus.

    Returns:
        For each group, in the order of fields and values, its metrics and its agreement, named "domain=law: acc" and
        "domain=law: krippendorff_alpha"; items without a value are in no group.

    Raises:
        UsageError: there is no such field, or it has more than a thousand values.
    """
    estimates_found: list[Estimate] = []
    for name in settings.by:
        column = field_values(name, items, gold)
        if (values := column["value"].n_unique()) > MOST_GROUPS:
            raise UsageError(
                f"{argument('by', name, given=name)}: the field has {values} different values, too many for groups "
                f"(at most {MOST_GROUPS})",
                field=name,
            )
        for (value,), within in (
            column.drop_nulls("value").sort("value").group_by("value", maintain_order=True)
        ):
            numbers = within["item"].to_list()
            estimates = _of_group(numbers, settings, pool=pool, scorer=scorer, decided=decided)
            estimates_found += [
                estimate.model_copy(update={"name": f"{name}={value}: {estimate.name}"})
                for estimate in estimates
            ]
    return tuple(estimates_found)


def _of_group(
    numbers: Collection[int],
    settings: Settings,
    *,
    pool: PoolVotes,
    scorer: ConsensusScorer | None,
    decided: Consensus,
) -> Iterator[Estimate]:
    """Generate the metrics of the items with these numbers, and their agreement."""
    if scorer:
        within = scorer.on(numbers)
        needed, scores = needed_when_redecided(pool, settings), within.main_scores(decided)
        yield from consensus_estimates(pool.votes, needed, within, decided, scores).values()
    votes, values = on_scale(
        pool.votes, pool.everyone.labels.cast(pl.String).to_list(), settings.level, pool.order
    )
    inside = np.isin(pool.everyone.items.cast(pl.UInt32).to_numpy(), list(numbers))
    votes = votes.where(inside[votes.item])
    # Chance agreement takes several items.
    if len(numbers) > 1 and len(votes):
        yield alpha_estimate(votes, settings.level, values).model_copy(update={"name": ALPHA})


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
