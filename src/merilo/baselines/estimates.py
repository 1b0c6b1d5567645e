"""The estimates of a study: each metric of the consensus, of groups, of one person and of programs, with its interval.

Every interval is that of `merilo.statistics.crossed`; here are the influences that it takes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.baselines.crowd import Crowd
from merilo.baselines.pool_items import column_of, field_tables, unknown_field
from merilo.errors import UsageError, argument
from merilo.estimate import Estimate
from merilo.items import Item
from merilo.metrics.metric import Score
from merilo.metrics.pass_at_k import FAILED, PASSED, pass_at_k
from merilo.metrics.scoring import Part
from merilo.people.agreement import alpha_estimate, on_scale
from merilo.people.decision import PoolVotes, counts_of, verdicts
from merilo.people.gold import Gold, GoldRecord
from merilo.people.influence import by_cluster, person_influence
from merilo.people.votes import Votes
from merilo.responses import Responses
from merilo.settings import Settings
from merilo.statistics import FloatArray
from merilo.statistics.crossed import Influence, crossed

if TYPE_CHECKING:
    from merilo.baselines.baseline import Evidence

NO_WHOLE_VARIANT: Final = "no annotator answered all 30 questions of a variant"
NO_ANSWERS: Final = "there are no answers to items with gold"
NOT_OF_ITEMS: Final = "no interval: the metric is not computed from the answers to single items"


#: The number of equal votes that a consensus needs, one number or one for each item; 0 if most votes decide.
Needed: TypeAlias = int | NDArray[np.int64]


def by_majority_alone(settings: Settings) -> bool:
    """Return whether a majority of equal votes decides and other items are left out."""
    return (settings.aggregator, settings.resolve) == ("majority", "none")


class Estimates(NamedTuple):
    """All estimates of a study with gold.

    Attributes:
        metrics: the metrics of the consensus: the declared ones, the main one first; those of groups of the dataset's
            own items ("acc.anatomy", "correct.virtue"); and without a value, those that could not be computed.
        by_majority_alone: the metrics by the published procedure (a majority decides, other items are left out); empty
            if the settings are this procedure.
        single_person: the main metric of one answer drawn at random for every item; `None` without metrics.
    """

    metrics: dict[str, Estimate]
    by_majority_alone: dict[str, Estimate]
    single_person: Estimate | None = None


def not_computed(reasons: Mapping[str, str]) -> dict[str, Estimate]:
    """Return metrics without a value, from a mapping from metric to reason."""
    return {name: Estimate(name=name, value=None, n=0, reason=why) for name, why in reasons.items()}


def needed_when_redecided(crowd: Crowd, settings: Settings) -> Needed:
    """Return the votes that a consensus needs where items are decided again for an answer's influence.

    Skills and models of annotators do not weigh votes there: most votes decide, and tied labels share the item. With
    the weights of one study intervals were too narrow where ties are many, because another study has other weights.
    """
    return crowd.needed if by_majority_alone(settings) else 0


def estimate_metrics(evidence: Evidence, crowd: Crowd) -> Estimates:
    """Estimate every metric of a study with gold answers: that of `merilo.metrics.scoring.score` on the consensus."""
    settings, scored = evidence.settings, crowd.scores()
    needed = needed_when_redecided(crowd, settings)
    main, extra = (consensus_estimates(crowd, needed, scores) for scores in (scored.main, scored.extra))
    alone: dict[str, Estimate] = {}
    if not by_majority_alone(settings):
        majority = crowd.decided_as(evidence.decided.majority)
        alone = consensus_estimates(majority, majority.needed, majority.scores().all())
    parts, more = crowd.parts()
    headline = next(iter((*parts, *more)), None)
    single = None if headline is None else person_estimate(crowd, headline)
    return Estimates({**main, **extra, **not_computed(scored.missing)}, alone, single)


def consensus_estimates(crowd: Crowd, needed: Needed, scores: Mapping[str, Score]) -> dict[str, Estimate]:
    """Return estimates of metrics of the consensus.

    Args:
        crowd: the answers and the consensus.
        needed: the votes that a consensus needs.
        scores: the metrics of the consensus by name.
    """
    parts = {part.name: part for named in crowd.parts() for part in named}
    estimates = {}
    for name, score in scores.items():
        influence = influence_of(crowd, parts[name], needed) if name in parts else None
        if influence:
            bounds = parts[name].metric.bounds
            estimates[name] = crossed(score.value, influence, bounds).estimate(name, score.n)
        else:
            estimates[name] = Estimate(name=name, value=score.value, n=score.n, reason=NOT_OF_ITEMS)
    return estimates


def influence_of(crowd: Crowd, part: Part, needed: Needed) -> Influence | None:
    """Compute the influences on a metric of the consensus; `None` if no item has one."""
    decided = crowd.by_consensus(part, needed)
    if decided.influence is None:
        return None
    influence = decided.influence if part.metric.is_mean else decided.influence._replace(alike=decided.alike)
    return by_cluster(influence, decided.votes)


def person_estimate(crowd: Crowd, part: Part) -> Estimate:
    """Estimate a metric of one person: the expected metric of one answer drawn at random for every item.

    For the exam, only annotators count who answered a whole variant.
    """
    inside = crowd.of_part(part)
    if part.metric.unit == "variant" and part.metric.name == part.name:
        inside &= _whole_variants(crowd, part)
        if not inside.any():
            return Estimate(name=part.name, reason=NO_WHOLE_VARIANT)
    if not inside.any():
        return Estimate(name=part.name, reason=NO_ANSWERS)
    votes, score = crowd.by_person(part, inside)
    value, influence = person_influence(votes, score, bounds=part.metric.bounds)
    estimate = crossed(value, by_cluster(influence, votes), part.metric.bounds)
    return estimate.estimate(part.name, len(influence.items))


def _whole_variants(crowd: Crowd, part: Part) -> NDArray[np.bool_]:
    """Mark the answers of annotators to exam variants that they answered completely, shape (n,)."""
    votes, rows = crowd.votes, list(part.rows)
    if not rows:
        return np.zeros(len(votes), dtype=np.bool_)
    names = [str(crowd.items[row].meta.get("variant")) for row in rows]
    _, code, asked = np.unique(names, return_inverse=True, return_counts=True)
    of_item = np.full(votes.items, -1, dtype=np.int64)
    of_item[rows] = code
    variant = of_item[votes.item]
    sitting = votes.annotator.astype(np.int64) * (len(asked) + 1) + variant
    _, inverse, answered = np.unique(sitting, return_inverse=True, return_counts=True)
    whole: NDArray[np.bool_] = (variant >= 0) & (answered[inverse] == asked[np.maximum(variant, 0)])
    return whole


#: A field with more values than this identifies single items and does not define groups.
MOST_GROUPS = 1000
#: The name of a group's agreement among its estimates.
ALPHA = "krippendorff_alpha"


def group_estimates(evidence: Evidence) -> tuple[Estimate, ...]:
    """Estimate the metrics and the agreement of each group of the fields in the settings.

    Returns:
        For each group, in the order of fields and values, its metrics and its agreement, named "domain=law: acc" and
        "domain=law: krippendorff_alpha"; items without a value are in no group.

    Raises:
        UsageError: there is no such field, or it has more than a thousand values.
    """
    estimates: list[Estimate] = []
    for name in evidence.settings.by:
        column = field_values(name, evidence.items, evidence.gold).drop_nulls("value").sort("value")
        if (values := column["value"].n_unique()) > MOST_GROUPS:
            raise UsageError(
                f"{argument('by', name, given=name)}: the field has {values} different values, too many for groups "
                f"(at most {MOST_GROUPS})",
                field=name,
            )
        for (value,), within in column.group_by("value", maintain_order=True):
            estimates += [
                estimate.model_copy(update={"name": f"{name}={value}: {estimate.name}"})
                for estimate in _of_group(evidence, within["item"].to_list())
            ]
    return tuple(estimates)


def _of_group(evidence: Evidence, numbers: Collection[int]) -> Iterator[Estimate]:
    """Generate the metrics of the items with these numbers, and their agreement."""
    pool, settings, crowd, wanted = evidence.pool, evidence.settings, evidence.crowd, set(numbers)
    if crowd:
        within = crowd.on([row for row, item in enumerate(crowd.items) if item.id in wanted])
        needed = needed_when_redecided(within, settings)
        yield from consensus_estimates(within, needed, within.main_scores()).values()
    votes, values = scaled_votes(pool, settings)
    inside = np.isin(pool.everyone.items.cast(pl.UInt32).to_numpy(), list(numbers))
    votes = votes.where(inside[votes.item])
    # Chance agreement takes several items.
    if len(numbers) > 1 and len(votes):
        yield alpha_estimate(votes, settings.level, values).model_copy(update={"name": ALPHA})


def scaled_votes(pool: PoolVotes, settings: Settings) -> tuple[Votes, FloatArray | None]:
    """Return the votes that count on the scale of the settings, see `on_scale`."""
    return on_scale(pool.votes, pool.everyone.labels.cast(pl.String).to_list(), settings.level, pool.order)


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


def refuse_programs(responses: Responses, title: str) -> None:
    """Refuse answers that are not verdicts: the texts of programs must be run first.

    Raises:
        UsageError: an answer is neither `PASSED` nor `FAILED`.
    """
    if not responses.table["answer"].is_in([PASSED, FAILED]).all():
        raise UsageError(
            f"answers to {title} are programs, which must be run: 'merilo study baseline' runs those of a study in the "
            "sandbox, and 'merilo code score' a JSONL file with task_id, completion and annotator"
        )


def verdict_gold(responses: Responses) -> Gold:
    """Return the gold answers of a study whose answers were scored elsewhere: a right answer is `PASSED`."""
    items = responses.test_items
    only = responses.fields[0] if len(responses.fields) == 1 else None
    ids = items[only] if only else pl.Series([None] * items.height, dtype=pl.String)
    answers = pl.DataFrame({"item": items["item"], "gold": [PASSED] * items.height, "id": ids})
    items_of = {
        int(row["item"]): Item(row["item"], "", {name: row[name] or "" for name in responses.fields}, PASSED)
        for row in items.iter_rows(named=True)
    }
    facts = GoldRecord(source="scores in the files", column=None, matched=answers.height)
    return Gold(answers, facts, items=items_of)


def estimate_programs(crowd: Crowd) -> Estimates:
    """Estimate pass@k of people for k from 1 to the smallest number of programs of an item.

    Every program counts as a single answer (`person_influence`). For k above 1 an answer's score is the item's pass@k
    plus its first-order effect (the change of pass@k if this program failed instead of passing, or the reverse).
    Declared metrics with a larger k have no value.

    References:
        W. Hoeffding (1948), A class of statistics with asymptotically normal distribution. Annals of
        Mathematical Statistics 19.
    """
    declared, votes = crowd.declaration.metrics, crowd.votes
    right = verdicts(votes, crowd.labels)
    if not len(votes):
        return Estimates(not_computed(dict.fromkeys(declared, "no program counts")), {})
    written, passed = counts_of(votes.item, votes.items, right)
    fewest = int(written[written > 0].min())
    scored = crowd.declaration.answer.kind == "verdict"
    scores = {
        ("acc" if scored else f"pass@{k}"): right
        if k == 1
        else _first_order(votes, right, written, passed, k)
        for k in range(1, (1 if scored else fewest) + 1)
    }
    estimates = {name: _estimate(name, votes, score) for name, score in scores.items()}
    missing = {
        name: f"needs {name.removeprefix('pass@')} programs for every problem; one has {fewest}"
        for name in declared
        if name not in estimates and not scored
    }
    return Estimates({**estimates, **not_computed(missing)}, {}, next(iter(estimates.values())))


def _estimate(name: str, votes: Votes, score: FloatArray) -> Estimate:
    value, influence = person_influence(votes, score)
    return crossed(value, by_cluster(influence, votes)).estimate(name, len(influence.items))


def _first_order(
    votes: Votes, right: FloatArray, written: NDArray[np.int64], passed: NDArray[np.int64], k: int
) -> FloatArray:
    """Return a score for each answer whose mean over an item's answers is the item's pass@k, shape (n,)."""
    values, effects = np.zeros((2, len(votes)))
    for row, (item, own) in enumerate(zip(votes.item.tolist(), right.tolist(), strict=True)):
        n, c = int(written[item]), int(passed[item])
        others = c - int(own)
        values[row] = pass_at_k(n, c, k)
        effects[row] = n * (pass_at_k(n, others + 1, k) - pass_at_k(n, others, k)) * (own - c / n)
    sums = np.bincount(votes.item, weights=effects, minlength=votes.items)
    return np.asarray(values + effects - (sums / np.maximum(written, 1))[votes.item])
