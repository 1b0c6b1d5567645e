"""The rule by which a consensus is decided again if annotators change.

And the interval of any metric of any items by it.

The interval over items and annotators of a whole study, of a group of items and of a study of experts
is computed by the same function, `over_annotators`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.baselines.consensus_scorer import ConsensusScorer, Pairs
from merilo.errors import DataError
from merilo.metrics.metric import Score
from merilo.metrics.scoring import Part
from merilo.metrics.worth import Worth
from merilo.people.aggregation import NO_LABEL, Consensus, Resolution, is_open
from merilo.people.aggregation.candidates import log_odds, wrong_answers
from merilo.people.aggregation.dawid_skene import auto, dawid_skene
from merilo.people.aggregation.glad import fitted_nearby
from merilo.people.decision import PoolVotes, decide
from merilo.people.uncertainty.two_way import (
    LEAST_ANNOTATORS,
    RefittedVariance,
    TwoWay,
    annotator_groups,
    refitted_variance,
    two_way,
)
from merilo.people.votes import IntArray, Votes
from merilo.settings import Settings
from merilo.statistics import FloatArray
from merilo.statistics.intervals import RESAMPLES

#: If estimated abilities decide a larger share of the items, they are estimated again for intervals.
MANY_TIES: Final = 0.1

#: Scale of the weights that break ties; small, so that they never outweigh a vote.
_BREAKS_TIES: Final = 1e-3
_LEAST_WEIGHT: Final = 1e-6
#: With more answers than this, a model is not fitted again without groups of annotators.
MOST_REFITTED: Final = 50_000
#: Refits stop when an iteration gains less than this in log-likelihood per answer; labels hardly change after that.
_TOLERANCE: Final = 1e-5


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """How items are decided again with other annotators: by equal votes, or by weighted votes.

    Attributes:
        votes: the answers that count.
        needed: the number of equal votes that a consensus needs, one number or shape (items,); 0 if the leading label
            decides.
        weight: shape (n,), the weight of each answer; `None` if votes count equally.
        refits: shape (groups, items), the labels by the model without each group of annotators; `None` if no
            model decides.
        exclusion: the variance of the logarithm of the number of answers because of excluded annotators.
    """

    votes: Votes
    needed: int | NDArray[np.int64] = 0
    weight: FloatArray | None = None
    refits: IntArray | None = None
    exclusion: float = 0.0


def by_majority_alone(settings: Settings) -> bool:
    """Return whether a majority of equal votes decides and other items are left out."""
    return (settings.aggregator, settings.resolve) == ("majority", "none")


def decision_rule(
    pool: PoolVotes, annotators: pl.DataFrame, consensus: Consensus, settings: Settings
) -> DecisionRule:
    """Return the rule of a baseline's settings.

    Args:
        pool: the votes.
        annotators: one row per annotator, see `vote_weights`.
        consensus: the consensus by this rule.
        settings: how the consensus is reached.
    """
    if by_majority_alone(settings):
        return DecisionRule(
            pool.votes, needed=pool.needed(settings.min_votes), exclusion=exclusion_variance(pool)
        )
    weight = vote_weights(pool.votes, pool.everyone.annotators, annotators, settings)
    refits = _refits(pool, consensus, settings)
    return DecisionRule(pool.votes, weight=weight, refits=refits, exclusion=exclusion_variance(pool))


def exclusion_variance(pool: PoolVotes) -> float:
    """Compute the variance of the logarithm of the number of answers that count, by the share of people excluded."""
    votes = pool.everyone.votes
    given, counted = (
        np.bincount(votes.annotator[mask], minlength=votes.annotators).astype(np.float64)
        for mask in (pool.tests, pool.counted)
    )
    excluded = float((counted[given > 0] == 0).mean()) if given.any() else 0.0
    return excluded * (1 - excluded) * float(given @ given) / max(float(counted.sum()), 1.0) ** 2


def _refits(pool: PoolVotes, consensus: Consensus, settings: Settings) -> IntArray | None:
    """Decide again without each group of annotators, with the model fitted again.

    `None` if no model decides, or hardly any item, or if the fits take too long.
    """
    votes = pool.everyone.votes
    group = annotator_groups(votes.where(pool.kept))
    decided = _fitted_again(pool, consensus, settings)
    if decided is None or group.max(initial=-1) < 1 or int(pool.kept.sum()) > MOST_REFITTED:
        return None
    return np.stack([decided(group[votes.annotator] != left_out) for left_out in range(int(group.max()) + 1)])


def _fitted_again(
    pool: PoolVotes, consensus: Consensus, settings: Settings
) -> Callable[[NDArray[np.bool_]], IntArray] | None:
    """Return the function from a mask of `pool.everyone` to the labels that the settings give with these answers."""
    votes = pool.everyone.votes
    opened = is_open(votes, settings.open_answers)
    if settings.aggregator == "majority":
        tied, decided = consensus.decided_by(Resolution.GLAD)
        if consensus.fit is None or tied <= MANY_TIES * decided:
            return None
        own, free_text = consensus.fit, Resolution.MEDOID in consensus.how

        def by_cascade(mask: NDArray[np.bool_]) -> IntArray:
            some = pool.where(mask)
            fit = fitted_nearby(some.everyone.votes, own, open_answers=opened)
            return decide(some, settings, free_text=free_text, fit=fit).label

        return by_cascade
    models: Mapping[str, Callable[..., Consensus]] = {"auto": auto, "dawid-skene": dawid_skene}
    fitted = models.get(settings.aggregator)
    if fitted is None:
        return None
    # The pooled model has a tolerance of another kind, which is wide enough.
    limits = {"scale": pool.scale(settings)} if settings.aggregator == "auto" else {"tolerance": _TOLERANCE}
    return lambda mask: fitted(votes.where(pool.kept & mask), open_answers=opened, **limits).label


def over_annotators(
    rule: DecisionRule,
    scorer: ConsensusScorer,
    part: Part,
    consensus: Consensus,
    value: float,
    *,
    pairs: Pairs | None = None,
    resamples: int = RESAMPLES,
) -> TwoWay | None:
    """Compute the uncertainty of a metric over items and annotators.

    Args:
        rule: how items are decided again.
        scorer: scores a consensus; it may be restricted to some of the items.
        part: the metric and its items.
        consensus: the consensus.
        value: the metric of the consensus.
        pairs: the pairs of items and answers of the scorer, the votes and the consensus; by default they are computed.
        resamples: the number of bootstrap resamples; with 0, the bootstrap variances are computed exactly.

    Returns:
        The uncertainty; `None` if fewer than three annotators answered, because they cannot show how much annotators
        differ, or if no item has a consensus.
    """
    if pairs is None:
        rule = _on_items(rule, scorer)
        pairs = scorer.pairs(rule.votes, consensus)
    inside = pairs.votes_of(part)
    votes = rule.votes.where(inside)
    annotators = int(np.unique(votes.annotator).shape[0])
    if annotators < LEAST_ANNOTATORS:
        return None
    worth = scorer.worth(part, pairs, pairs.chosen(consensus))
    unseen = np.zeros(votes.items)
    unseen[scorer.codes] = worth.unseen
    try:
        return two_way(
            votes,
            worth.answer[pairs.pair_of_vote[inside]],
            min_votes=rule.needed,
            weight=None if rule.weight is None else rule.weight[inside],
            unseen=unseen,
            value=value,
            alike=worth.alike if not part.is_mean else None,
            refitted=_refitted(
                rule.refits, scorer, part, consensus, pairs=pairs, worth=worth, annotators=annotators
            ),
            exclusion=rule.exclusion,
            bounds=part.bounds,
            resamples=resamples,
        )
    except DataError:
        return None


def _refitted(
    refits: IntArray | None,
    scorer: ConsensusScorer,
    part: Part,
    consensus: Consensus,
    *,
    pairs: Pairs,
    worth: Worth,
    annotators: int,
) -> RefittedVariance | None:
    """Compute the variance over annotators from the labels without each group of annotators.

    An item that a fit leaves undecided keeps its score.
    """
    rows = np.array(part.rows, dtype=np.int64)
    own = consensus.label[scorer.codes[rows]]
    rows, own = rows[own != NO_LABEL], own[own != NO_LABEL]
    if refits is None or not rows.size:
        return None
    width = int(max(pairs.label.max(initial=0), refits.max(initial=0), own.max(initial=0))) + 1
    cells = pairs.place * width + pairs.label

    def scores(label: IntArray) -> FloatArray:
        wanted = rows * width + label
        at = np.minimum(np.searchsorted(cells, wanted), cells.shape[0] - 1)
        return np.asarray(np.where(cells[at] == wanted, worth.answer[at], worth.unseen[rows]))

    others = refits[:, scorer.codes[rows]]
    kept = scores(own)
    change = np.stack([np.where(label == NO_LABEL, 0.0, kept - scores(label)) for label in others])
    return refitted_variance(change, annotators)


def two_ways(
    rule: DecisionRule, scorer: ConsensusScorer, consensus: Consensus, scores: Mapping[str, Score]
) -> dict[str, TwoWay]:
    """Compute the uncertainty of several metrics over items and annotators, with exact variances.

    Args:
        rule: how items are decided again.
        scorer: the scorer, which may be restricted to some of the items.
        consensus: the consensus.
        scores: the metrics of the consensus by name.

    Returns:
        Mapping from name to uncertainty, without metrics that it is not defined for (see `over_annotators`).
    """
    if not scores:
        return {}
    rule = _on_items(rule, scorer)
    pairs = scorer.pairs(rule.votes, consensus)
    main, extra = scorer.parts()
    found = {
        part.name: over_annotators(
            rule, scorer, part, consensus, scores[part.name].value, pairs=pairs, resamples=0
        )
        for part in (*main, *extra)
        if part.name in scores
    }
    return {name: one for name, one in found.items() if one is not None}


def _on_items(rule: DecisionRule, scorer: ConsensusScorer) -> DecisionRule:
    """Leave out the votes on items that the scorer does not score."""
    inside = np.isin(rule.votes.item, scorer.codes)
    weight = None if rule.weight is None else rule.weight[inside]
    return replace(rule, votes=rule.votes.where(inside), weight=weight)


def vote_weights(votes: Votes, names: pl.Series, annotators: pl.DataFrame, settings: Settings) -> FloatArray:
    """Return the weight of each answer when items are decided again in a resample.

    Under a model of annotators the weight is the log odds of the correct answer against one particular wrong
    answer: with accuracy p and m wrong answers log(p m / (1 - p)).

    Args:
        votes: the answers.
        names: the annotators' ids by code, shape (annotators,).
        annotators: one row per annotator with `annotator`, `skill`, `control_accuracy`, `ability`, `expected_accuracy`.
        settings: how the consensus is reached.

    Returns:
        Positive weights, shape (n,).
    """
    people = (
        names.cast(pl.String)
        .to_frame("annotator")
        .join(annotators, on="annotator", how="left", maintain_order="left")
    )
    if settings.aggregator != "majority":
        wrong = wrong_answers(votes, open_answers=settings.open_answers)
    by_ability = people["ability"].is_not_null().any()
    if settings.aggregator != "majority" and not by_ability:
        quality = _column(people, "expected_accuracy", 0.5)
        return _log_odds(votes, quality, wrong, by_ability=False)
    if settings.aggregator != "majority":
        quality = _column(people, "ability", 1.0)
        return _log_odds(votes, quality, wrong, by_ability=True)
    column = "skill" if people["skill"].is_not_null().any() else "control_accuracy"
    skill = _column(people, column, np.nan) if settings.resolve in {"skill", "cascade"} else None
    ability = _column(people, "ability", np.nan) if settings.resolve in {"glad", "cascade"} else None
    return tie_weights(votes, skill, ability)


def tie_weights(votes: Votes, skill: FloatArray | None, ability: FloatArray | None) -> FloatArray:
    """Return weights of about 1 that break ties by the sum of skills, and then of abilities, shape (n,).

    Args:
        votes: the answers.
        skill: shape (annotators,), NaN if unknown; `None` if skill does not break ties.
        ability: the same for GLAD's abilities.
    """
    weight = np.ones(votes.annotators)
    if skill is not None:
        weight += _BREAKS_TIES * _ranked(skill)
    if ability is not None:
        weight += _BREAKS_TIES**2 * _ranked(ability)
    return np.asarray(weight[votes.annotator])


def _log_odds(votes: Votes, quality: FloatArray, wrong: float, *, by_ability: bool) -> FloatArray:
    """Return the log odds of each answer from the annotators' accuracies, or from their abilities in GLAD."""
    odds = np.maximum(quality + np.log(wrong), _LEAST_WEIGHT) if by_ability else log_odds(quality, wrong)
    return np.asarray(odds[votes.annotator])


def _column(people: pl.DataFrame, name: str, unknown: float) -> FloatArray:
    values: FloatArray = people[name].cast(pl.Float64).fill_null(unknown).fill_nan(unknown).to_numpy()
    return values


def _ranked(values: FloatArray) -> FloatArray:
    """Scale values to the range from 0 to 1; annotators without a value get the mean."""
    known = np.isfinite(values)
    if not known.any():
        return np.zeros(values.shape[0])
    filled = np.where(known, values, values[known].mean())
    reach = float(filled.max() - filled.min())
    return np.asarray((filled - filled.min()) / reach if reach > 0 else np.zeros(values.shape[0]))
