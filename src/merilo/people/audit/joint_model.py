"""The probability that a gold answer is wrong, from people and models together.

People and models are two kinds of witnesses of the same truth, and neither is independent of the other: an item that
is hard, or has an attractive wrong answer (a lure), misleads both. So both share the item's difficulty and lure of
`gold_model`. Three things are particular to models. Models that make the same errors are one witness, not several:
each counts with a weight that falls with the errors it shares with the others, and models of one family never count
as independent. A model may have been trained on the gold answer: its agreement with the gold is then no evidence, its
disagreement is. And models may be weaker than guessing people; their abilities are estimated like those of people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from merilo.people.audit.gold_model import (
    GUESSING,
    LURES,
    NODES,
    PRIOR_DIFFICULTY,
    PRIOR_ITEMS,
    PRIOR_WRONG,
    GoldModel,
    fit_gold_model,
    incidence,
)
from merilo.people.votes import IntArray, Votes
from merilo.statistics import FloatArray

#: Prior on the share of a model's errors that another model repeats beyond chance, as so many errors of each kind:
#: of the same family, and of others.
PRIOR_ERRORS: Final = 8.0
SAME_FAMILY, OTHER_FAMILY = 0.9, 0.2

#: Siblings share at least this part of their errors, whatever the data say.
LEAST_SHARED: Final = 0.5

#: From this share on, models of unknown family are listed as one family.
ONE_FAMILY: Final = 0.5

#: Prior on the probability that a model repeats the gold answer whatever the truth: uniform, Beta with these weights.
#: With a mean of 0.25, in simulated studies models that repeat it on most items were taken for able ones.
PRIOR_COPIED, PRIOR_NOT_COPIED = 1.0, 1.0

#: The highest probability of the truth on the hardest item. With two labels `GUESSING` alone would allow no lure that
#: deceives most people, and take each for a wrong gold.
MOST_GUESSING: Final = 0.25

#: Prior on models' abilities: normal, in log-odds. A wider one takes a model that repeats the gold for a perfect one.
MEAN_ABILITY, SPREAD_OF_MODELS = 1.0, 1.0

#: Prior on how far an item's difficulty for people is one for models (slope): normal, cut to 0 to 1.5.
MEAN_SLOPE, SPREAD_OF_SLOPES, STEEPEST = 0.5, 0.25, 1.5

#: How far models follow people's lures, 0 to 1, and the logarithm of its prior, Beta(2, 2).
FOLLOWED: Final = np.linspace(0.0, 1.0, 21)
_PRIOR_FOLLOWED: Final = np.log(np.maximum(1e-3, FOLLOWED * (1 - FOLLOWED)))

#: Prior on the kinds of items, shape (nodes, shares of lures): the difficulty and the share of the lure depend on each
#: other, because the items on which people follow a lure are hard for them.
PRIOR_KINDS: Final = PRIOR_DIFFICULTY[:, None] * np.full(len(LURES), 1 / len(LURES))
#: Three items more on which nearly all errors of people are the lure. In simulated studies, without them too many
#: golds are expected to be wrong where people follow lures, and with eight the wrong golds are found later.
PRIOR_KINDS[NODES >= 2, -1] += 3.0 / (NODES >= 2).sum()

#: What a model's answer can be, see `_Block`.
CASES: Final = 6

_ITERATIONS, _TOLERANCE = 60, 1e-6
#: The largest number of labels of an item that are told apart; rarer answers are errors like any other.
MOST_NAMED: Final = 6

#: The largest number of cells of one block of items.
_MOST_CELLS: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class ModelVotes:
    """The answers of models to the items of a study.

    Attributes:
        names: shape (models,), the models' names.
        label: shape (models, items), codes of the answers in the labels of the study, -1 without an answer.
        family: shape (models,), the name of the declared family; empty if it is not declared.
    """

    names: tuple[str, ...]
    label: IntArray
    family: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JointModel:
    """The joint model of people and models, fitted to a study.

    Attributes:
        names: shape (models,), the models' names.
        gold: the model of people; `gold_wrong`, `log_odds`, `best` and `best_probability` are those of people and
            models together.
        people_wrong: shape (items,), the probability from people alone that the gold is wrong; NaN without gold.
        weight: shape (models,), as how many independent models each counts, at most 1.
        shared: shape (models, models), the share of the errors of one model that the other repeats beyond chance.
        family: shape (models,), each model's family: the name that was declared, or, if it was estimated from shared
            errors, the name of its first model.
        accuracy: shape (models,), the probability of a correct answer to an item of average difficulty.
        copied: shape (models,), the estimated probability that the model repeats the gold whatever the truth.
    """

    names: tuple[str, ...]
    gold: GoldModel
    people_wrong: FloatArray
    weight: FloatArray
    shared: FloatArray
    family: tuple[str, ...]
    accuracy: FloatArray
    copied: FloatArray


@dataclass(frozen=True, slots=True)
class _Block:
    """Items with the same number of named labels: those that people, models or the gold name, and all others.

    `people` is shape (items, truths, lures, nodes, shares), the log probability of people's answers and of the truth
    and lure among labels of equal probability; `cases` is sparse, shape (items * truths * lures, models * CASES), 1 at
    the case of each model's answer: it is the truth, the lure or neither, and not the gold; the same, and the gold.
    """

    items: NDArray[np.intp]
    is_gold: NDArray[np.bool_]
    label: IntArray
    people: FloatArray
    cases: scipy.sparse.csr_array


@dataclass(slots=True)
class _Parameters:
    ability: FloatArray
    slope: FloatArray
    copied: FloatArray
    followed: FloatArray
    kinds: FloatArray
    error_rate: float


def fit_joint_model(
    votes: Votes, gold: IntArray, models: ModelVotes, *, options: int | None = None
) -> JointModel:
    """Fit the model of people, then that of people and models together.

    Given the truth t, difficulty b, lure d and share s of an item, a model gives answer l with probability c [l = gold]
    + (1 - c) P(l | t, d, b, s, a), where P is that of people in `GoldModel`, a is the model's ability and c the
    probability that it repeats the gold. Its log-likelihood counts with weight 1 / (1 + sum over the other models of
    the share of errors they have in common), the design effect of answers with these correlations. The abilities of
    people are those fitted without models; a, c, the distributions of b and s, and the share of wrong golds are
    estimated by expectation and maximisation.

    Args:
        votes: people's answers, at most one per annotator and item; there may be none.
        gold: shape (items,), codes of the golds, -1 if the gold is not known.
        models: the models' answers.
        options: the number of possible labels of an item; by default, the number of labels in the study.

    Returns:
        The fitted model. Items without gold have the values of the model of people.
    """
    options = max(2, votes.labels if options is None else options)
    alone = fit_gold_model(votes, gold, options=options)
    shared = _shared_errors(votes, gold, models, alone, options)
    weight = 1.0 / shared.sum(axis=1)
    blocks = list(_blocks(votes, gold, models, alone, options))
    now = _Parameters(
        np.full(len(models.names), MEAN_ABILITY),
        np.full(len(models.names), MEAN_SLOPE),
        np.full(len(models.names), PRIOR_COPIED / (PRIOR_COPIED + PRIOR_NOT_COPIED)),
        np.full(len(models.names), 0.5),
        PRIOR_KINDS / PRIOR_KINDS.sum(),
        alone.gold_error_rate,
    )
    last = np.inf
    joint = alone
    for _ in range(_ITERATIONS):
        joint, now, objective = _step(blocks, weight, alone, now, options)
        if abs(objective - last) <= _TOLERANCE * (1 + abs(objective)):
            break
        last = objective
    floor = _floor(options)
    return JointModel(
        models.names,
        joint,
        alone.gold_wrong,
        weight,
        shared,
        _families(models, shared),
        floor + (1 - floor) * _logistic(now.ability),
        now.copied,
    )


def _floor(options: int) -> float:
    """Return the probability of the truth on the hardest item."""
    return min(GUESSING / options, MOST_GUESSING)


def _logistic(x: FloatArray) -> FloatArray:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


def _shared_errors(
    votes: Votes, gold: IntArray, models: ModelVotes, alone: GoldModel, options: int
) -> FloatArray:
    """Estimate the share of each model's errors that each other model repeats, beyond chance; 1 on the diagonal.

    An error is an answer that differs from the gold on an item whose gold people do not doubt.
    """
    trusted = np.where(gold >= 0, 1.0 - np.nan_to_num(alone.gold_wrong), 0.0)
    label = models.label
    given = label >= 0
    wrong = given & (label != gold)
    rate = (wrong * trusted).sum(axis=1) / np.maximum(1e-9, (given * trusted).sum(axis=1))
    n = len(models.names)
    shared = np.eye(n)
    for one in range(n):
        for other in range(one):
            both = given[one] & given[other]
            same = both & wrong[one] & (label[one] == label[other])
            repeated = float((same * trusted).sum())
            errors = [float(((both & wrong[m]) * trusted).sum()) for m in (one, other)]
            # Chance: the other errs at its usual rate, and on the same label.
            chance = [errors[0] * rate[other] / (options - 1), errors[1] * rate[one] / (options - 1)]
            excess = sum(max(0.0, repeated - part) for part in chance)
            room = sum(max(0.0, all_ - part) for all_, part in zip(errors, chance, strict=True))
            sibling = bool(models.family[one]) and models.family[one] == models.family[other]
            prior = SAME_FAMILY if sibling else OTHER_FAMILY
            share = (excess / 2 + PRIOR_ERRORS * prior) / (room / 2 + PRIOR_ERRORS)
            shared[one, other] = shared[other, one] = max(share, LEAST_SHARED) if sibling else share
    return shared


def _families(models: ModelVotes, shared: FloatArray) -> tuple[str, ...]:
    """Return the families: those declared, and models of unknown family that share at least half of their errors."""
    n = len(models.names)
    family = [*range(n)]
    for one in range(n):
        for other in range(one):
            names = models.family[one], models.family[other]
            together = names[0] == names[1] if all(names) else shared[one, other] >= ONE_FAMILY
            if together:
                family = [family[other] if code == family[one] else code for code in family]
    return tuple(
        models.family[place] or models.names[family.index(code)] for place, code in enumerate(family)
    )


def _blocks(
    votes: Votes, gold: IntArray, models: ModelVotes, alone: GoldModel, options: int
) -> Sequence[_Block]:
    """Build the items with gold in blocks of bounded size."""
    known = np.flatnonzero(gold >= 0)
    cells, named = _named(votes, gold, models, known)
    starts = np.concatenate(([0], np.cumsum(named)))
    ability = np.nan_to_num(alone.ability)
    floor = _floor(options)
    distance = ability[:, None] - NODES
    right = np.log(floor + (1 - floor) * _logistic(distance))
    wrong = np.log1p(-floor) - np.logaddexp(0.0, distance)
    base = np.zeros((gold.size, NODES.size))
    np.add.at(base, votes.item, wrong[votes.annotator])
    given = np.searchsorted(cells, _codes(votes.item, votes.label, votes.labels))
    use = given < len(cells)
    use[use] = cells[given[use]] == _codes(votes.item, votes.label, votes.labels)[use]
    gain = np.zeros((len(cells), NODES.size))
    np.add.at(gain, given[use], (right - wrong)[votes.annotator[use]])
    count = np.bincount(given[use], minlength=len(cells))
    answers = np.bincount(votes.item, minlength=gold.size)
    label = cells % max(1, votes.labels)
    blocks = []
    for k in np.unique(named[known]):
        items = known[named[known] == k]
        size = max(1, _MOST_CELLS // ((k + 1) ** 2 * NODES.size * len(LURES)))
        for start in range(0, items.size, size):
            chosen = items[start : start + size]
            at = starts[chosen][:, None] + np.arange(k)
            blocks.append(
                _block(
                    _Cells(label[at], base[chosen], gain[at], count[at], answers[chosen]),
                    chosen,
                    gold,
                    models,
                    options,
                )
            )
    return blocks


def _codes(item: NDArray[np.integer], label: NDArray[np.integer], labels: int) -> NDArray[np.int64]:
    return item.astype(np.int64) * max(1, labels) + label


def _named(
    votes: Votes, gold: IntArray, models: ModelVotes, known: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return the codes of the labels that each item with gold names, and their number for every item.

    They are the gold and the most frequent answers, at most `MOST_NAMED`.
    """
    has_gold = gold >= 0
    of_gold = _codes(known, gold[known], votes.labels)
    use = has_gold[votes.item]
    parts = [of_gold, _codes(votes.item[use], votes.label[use], votes.labels)]
    for labels in models.label:
        (items,) = np.nonzero(has_gold & (labels >= 0))
        parts.append(_codes(items, labels[items], votes.labels))
    cells, counts = np.unique(np.concatenate(parts), return_counts=True)
    item = cells // max(1, votes.labels)
    order = np.lexsort((-counts, ~np.isin(cells, of_gold), item))
    rank = np.arange(len(cells)) - np.searchsorted(item, item)
    kept = np.sort(order[rank < MOST_NAMED])
    return cells[kept], np.bincount(item[kept], minlength=gold.size)


@dataclass(frozen=True, slots=True)
class _Cells:
    """The named labels of items: each item's labels, people's log-likelihoods and counts, and all of its answers."""

    label: NDArray[np.integer]
    base: FloatArray
    gain: FloatArray
    count: NDArray[np.integer]
    answers: NDArray[np.integer]


def _block(
    cells: _Cells, items: NDArray[np.intp], gold: IntArray, models: ModelVotes, options: int
) -> _Block:
    label, base, gain, count = cells.label, cells.base, cells.gain, cells.count
    n, k = label.shape
    rest = options - k
    # The last place stands for all labels that nobody named.
    label = np.concatenate((label, np.full((n, 1), -1)), axis=1)
    truth = base[:, None, :] + np.concatenate((gain, np.zeros((n, 1, NODES.size))), axis=1)
    count = np.concatenate((count, np.zeros((n, 1), count.dtype)), axis=1)
    errors = cells.answers[:, None] - count
    times = np.concatenate((np.ones(k), [max(rest, 0)]))
    same = np.eye(k + 1, dtype=np.bool_)
    lures = np.where(same, 0.0, times)
    lures[k, k] = max(rest - 1, 0)
    with np.errstate(divide="ignore"):
        ways = np.log(times)[:, None] + np.log(lures) - np.log(options - 1)
    share = np.array(LURES)
    even = (1 - share) / (options - 1)
    lure = errors[:, :, None, None] * np.log(even) + count[:, None, :, None] * np.log((share + even) / even)
    people = truth[:, :, None, :, None] + (lure + ways[:, :, None])[:, :, :, None, :]
    own = models.label[:, items][:, :, None, None]
    case = np.where(own == label[:, :, None], 0, np.where(own == label[:, None, :], 1, 2))
    case = case + 3 * (own == gold[items][:, None, None])
    place, cell = np.nonzero(np.broadcast_to(own >= 0, case.shape).reshape(len(own), -1))
    column = place * CASES + case.reshape(len(own), -1)[place, cell]
    cases = incidence(cell, column, (n * (k + 1) ** 2, len(own) * CASES))
    places: IntArray = label.astype(np.int32)
    return _Block(items, places == gold[items][:, None], places, people, cases)


def _logit(ability: FloatArray, slope: FloatArray) -> FloatArray:
    """Return the log-odds of knowing an item, shape (models, nodes)."""
    return np.asarray(ability[:, None] - slope[:, None] * NODES)


def _chances(now: _Parameters, options: int) -> FloatArray:
    """Return the probability of a model's answer, shape (models, `CASES`, nodes, shares)."""
    floor = _floor(options)
    share = now.followed[:, None, None] * np.array(LURES)
    even = (1 - share) / (options - 1)
    right = (floor + (1 - floor) * _logistic(_logit(now.ability, now.slope)))[:, :, None]
    cases = [right + 0 * even, (1 - right) * (share + even), (1 - right) * even]
    own = np.stack(cases, axis=1) * (1 - now.copied)[:, None, None, None]
    return np.concatenate((own, own + now.copied[:, None, None, None]), axis=1)


def _step(
    blocks: Sequence[_Block],
    weight: FloatArray,
    alone: GoldModel,
    now: _Parameters,
    options: int,
) -> tuple[GoldModel, _Parameters, float]:
    """Compute the posterior of every item and the next parameters; also return the objective."""
    chances = _chances(now, options)
    n, places = weight.size, NODES.size * len(LURES)
    logs = (np.log(chances) * weight[:, None, None, None]).reshape(n * CASES, places)
    prior = np.log(now.kinds)
    gold_wrong, log_odds = alone.gold_wrong.copy(), alone.log_odds.copy()
    best, best_probability = alone.best.copy(), alone.best_probability.copy()
    sums = np.zeros((n * CASES, places))
    kinds = PRIOR_KINDS.copy()
    objective = wrong = total = 0.0
    for block in blocks:
        joint = block.people + prior
        right_gold, wrong_gold = np.log1p(-now.error_rate), np.log(now.error_rate / (options - 1))
        joint += np.where(block.is_gold[:, :, None, None, None], right_gold, wrong_gold)
        joint += (block.cases @ logs).reshape(joint.shape)
        peak = joint.max(axis=(1, 2, 3, 4), keepdims=True)
        joint = np.exp(joint - peak)
        mass = joint.sum(axis=(1, 2, 3, 4), keepdims=True)
        objective += float((np.log(mass) + peak).sum())
        joint /= mass
        truth = joint.sum(axis=(2, 3, 4))
        gold = (truth * block.is_gold).sum(axis=1)
        others = (truth * ~block.is_gold).sum(axis=1)
        gold_wrong[block.items] = np.clip(others, 0.0, 1.0)
        with np.errstate(divide="ignore"):
            log_odds[block.items] = np.log(others) - np.log(gold)
        place, chance = _best(block, truth, gold, others)
        best[block.items], best_probability[block.items] = place, chance
        wrong, total = wrong + float(others.sum()), total + len(block.items)
        kinds += joint.sum(axis=(0, 1, 2))
        sums += block.cases.T @ joint.reshape(-1, places)
    of_case = sums.reshape(chances.shape)
    # An answer that repeats the gold whatever the truth tells nothing about the ability.
    copied = now.copied[:, None, None, None] / chances[:, 3:] * of_case[:, 3:]
    own = of_case[:, :3] + of_case[:, 3:] - copied
    repeated, given = copied.sum(axis=(1, 2, 3)), of_case.sum(axis=(1, 2, 3))
    following = _Parameters(
        *_abilities(now, own[:, 0].sum(axis=2), own.sum(axis=(1, 3)), _floor(options)),
        (repeated + PRIOR_COPIED) / (given + PRIOR_COPIED + PRIOR_NOT_COPIED),
        _followed(own[:, 1:].sum(axis=2), options),
        kinds / kinds.sum(),
        (wrong + PRIOR_WRONG) / (total + PRIOR_ITEMS),
    )
    found = replace(
        alone, gold_wrong=gold_wrong, log_odds=log_odds, best=best, best_probability=best_probability
    )
    return replace(found, gold_error_rate=following.error_rate), following, objective


def _followed(errors: FloatArray, options: int) -> FloatArray:
    """Return how far each model follows people's lures, by its errors on the lure and elsewhere per share."""
    share = FOLLOWED[:, None] * np.array(LURES)
    even = (1 - share) / (options - 1)
    fit = errors[:, 0] @ np.log(share + even).T + errors[:, 1] @ np.log(even).T + _PRIOR_FOLLOWED
    return np.asarray(FOLLOWED[fit.argmax(axis=1)])


def _best(
    block: _Block, truth: FloatArray, gold: FloatArray, others: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the most probable truth: the gold unless that is probably wrong, else a named label, else -1."""
    accused = others >= gold
    held = np.where(block.is_gold & accused[:, None], -1.0, truth)
    held[:, -1] = np.where(truth[:, -1] > held[:, :-1].clip(0).sum(axis=1), 2.0, -2.0)
    held = np.where(block.is_gold & ~accused[:, None], 3.0, held)
    place = held.argmax(axis=1)
    rows = np.arange(len(place))
    return block.label[rows, place], truth[rows, place]


def _abilities(
    now: _Parameters, right: FloatArray, answers: FloatArray, floor: float
) -> tuple[FloatArray, FloatArray]:
    """Maximise over abilities and slopes by Newton's method; long steps are cut."""
    ability, slope = now.ability, now.slope
    solves = _logistic(_logit(ability, slope))
    right = right * solves / (floor + (1 - floor) * solves)
    for _ in range(8):
        chance = _logistic(_logit(ability, slope))
        left = right - answers * chance
        spread = answers * chance * (1 - chance)
        first = left.sum(axis=1) - (ability - MEAN_ABILITY) / SPREAD_OF_MODELS**2
        second = -(left @ NODES) - (slope - MEAN_SLOPE) / SPREAD_OF_SLOPES**2
        a = spread.sum(axis=1) + 1 / SPREAD_OF_MODELS**2
        b = -(spread @ NODES)
        c = spread @ NODES**2 + 1 / SPREAD_OF_SLOPES**2
        determinant = a * c - b * b
        ability = ability + np.clip((c * first - b * second) / determinant, -1.0, 1.0)
        slope = slope + np.clip((a * second - b * first) / determinant, -0.3, 0.3)
        ability, slope = np.clip(ability, -6.0, 6.0), np.clip(slope, 0.0, STEEPEST)
    return ability, slope
