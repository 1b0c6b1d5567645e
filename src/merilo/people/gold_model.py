"""The probability that a gold answer is wrong: a joint model of annotators, items and gold answers.

Annotators differ in ability and items in difficulty, as in the Rasch model. The truth is latent; the gold is a
further, rarely wrong observation of it. On a hard item wrong answers tend to share one label (the lure), so five
annotators who agree against the gold may all be wrong; the answers of able annotators, who avoid lures on other
items, count most. No table over all labels is built: the candidates of an item are the answers it got, its gold, and
"none of these".
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy
from numpy.typing import NDArray

from merilo.people.votes import IntArray, Votes, run_starts
from merilo.statistics import FloatArray


def incidence(
    row: NDArray[np.integer], column: NDArray[np.integer], shape: tuple[int, int]
) -> scipy.sparse.csr_array:
    """Build the sparse matrix with ones at these positions."""
    return scipy.sparse.csr_array((np.ones(row.size), (row, column)), shape=shape)


def lure_sums(
    item: NDArray[np.int64], strength: FloatArray, others: NDArray[np.int64], rest: NDArray[np.intp]
) -> FloatArray:
    """Compute the log of the sum of exp(strength) over all labels that may be the lure if a cell's is the truth.

    The truth itself cannot be the lure. Its term is not subtracted from the full sum, because it may dominate the sum
    and cancel the other terms numerically (for example if fifty annotators agree).

    Args:
        item: shape (m,), the named cells' items, ascending.
        strength: shape (m,), the evidence that a cell is the lure; 0 for labels without votes.
        others: shape (items,), the number of labels without votes.
        rest: the items with at least one label without votes.

    Returns:
        Shape (m + len(rest),): for named cells, then for "any other label".
    """
    total = np.full(others.size, -np.inf)
    without_top = np.full(others.size, -np.inf)
    top = np.zeros(item.size, dtype=np.bool_)
    if item.size:
        starts = run_starts(item)
        named = item[starts]
        total[named] = np.logaddexp.reduceat(strength, starts)
        ranked = np.lexsort((strength, item))
        top[ranked[np.r_[starts[1:], item.size] - 1]] = True
        without_top[named] = np.logaddexp.reduceat(np.where(top, -np.inf, strength), starts)
    with np.errstate(divide="ignore"):
        unnamed, one_less = np.log(others), np.log(np.maximum(0, others - 1))
        below = np.where(top, -1.0, strength - total[item])
        left = np.where(top, without_top[item], total[item] + np.log1p(-np.exp(below)))
    return np.concatenate((np.logaddexp(left, unnamed[item]), np.logaddexp(total[rest], one_less[rest])))


#: The share of wrong answers to an item that are its lure; the others are spread evenly. Each item has one of
#: these shares;
#: how probable each share is, is estimated from the items with gold (Dirichlet prior, `PRIOR_LURES`). Items
#: without gold have the share
#: `LURE`: on them, a large share would make every unanimous answer of weak annotators look like a trap.
LURES = (0.2, 0.5, 0.95)
LURE = 0.5
PRIOR_LURES = 3.0

#: Even on the hardest item annotators give the truth this many times as often as by random guessing. Without this
#: floor, extreme difficulty explains any set of answers, and a label that none of forty annotators chose may be
#: inferred as the truth. Chosen on eight public crowd datasets with known truth and planted wrong golds: compared
#: with no floor the mean log loss falls from 0.33 to 0.20, and the mean average precision of the ranking rises from
#: 0.57 to 0.61.
GUESSING = 0.75

#: Prior on the gold error rate: equivalent to fifty checked golds, half of one wrong.
PRIOR_WRONG, PRIOR_ITEMS = 0.5, 50.0

#: The standard deviation of abilities around their mean, in log-odds. If it is fitted with the abilities, it shrinks
#: slowly towards 0 (hundreds of iterations); on eight public crowd datasets the fixed value 1.0 finds wrong golds as
#: well.
SPREAD = 1.0

#: The grid of difficulties for numerical integration, in log-odds like abilities.
NODES = np.arange(-6.0, 7.0)

#: Prior on difficulties: logistic with scale 1 (heavier tails than the normal, for a few very misleading items), with
#: a weight of twenty items.
_TAIL = 1.0 / np.cosh(NODES / 2.0) ** 2
PRIOR_DIFFICULTY = 20.0 * _TAIL / _TAIL.sum()

TOLERANCE, MOST_ITERATIONS = 1e-6, 1000


@dataclass(frozen=True, slots=True)
class GoldModel:
    """The model fitted to a study's answers and golds.

    An annotator with ability a answers an item of difficulty b with the truth with probability s = g + (1 - g) / (1 +
    exp(b - a)), where g = `GUESSING` / L for L labels. A wrong answer is, with the item's probability s of
    `LURES`, its lure d (uniform over the wrong labels), else uniform over the L - 1 wrong labels. The gold is
    wrong with probability e; the truth is then uniform over the other labels. With w(b) the distribution of
    difficulties, estimated from the data, and v(s) that of the shares of lures, the probability of truth t
    after answers l_1 .. l_k is

        P(t | answers) ~ P(t) * sum over b of w(b) * sum over s of v(s) * sum over d of P(d | t) * product
        over j of P(l_j | t, d, b, s, a_j), P(t = gold) = 1 - e,  P(t) = e / (L - 1) otherwise;  1 / L for
        every label if the gold is not known,

    and the gold is wrong with probability 1 - P(gold | answers). Abilities (normal prior, its mean from the
    data, standard deviation `SPREAD`), e (Beta prior worth `PRIOR_ITEMS` golds), w and v (Dirichlet priors,
    `PRIOR_DIFFICULTY` and `PRIOR_LURES`) are those of the largest posterior, found by expectation and
    maximisation in strides.

    Attributes:
        gold_wrong: shape (items,), the probability that the gold is wrong; NaN without a gold answer.
        log_odds: shape (items,), the natural logarithm of its odds, which distinguishes probabilities that round to
            1; NaN without a gold answer.
        best: shape (items,), the code of the most probable truth: the gold, unless that is probably wrong,
            else one of the answers given; -1 if the truth is more probably another label.
        ability: shape (annotators,), a; NaN for annotators without answers.
        lure_shares: shape (shares,), v, the estimated probability of each of `LURES`.
        log_posterior: the objective after each iteration.
        converged: whether the last iteration met the tolerance.
    """

    gold_wrong: FloatArray
    log_odds: FloatArray
    best: IntArray
    ability: FloatArray
    lure_shares: FloatArray
    log_posterior: tuple[float, ...]
    converged: bool


@dataclass(slots=True)
class _Parameters:
    ability: FloatArray
    mean: float = 1.5
    difficulty: FloatArray = field(default_factory=lambda: PRIOR_DIFFICULTY / PRIOR_DIFFICULTY.sum())
    error_rate: float = PRIOR_WRONG / PRIOR_ITEMS
    lures: FloatArray = field(default_factory=lambda: np.full(len(LURES), 1 / len(LURES)))

    def point(self) -> FloatArray:
        """Return the parameters as one unconstrained vector."""
        odds = np.log(self.error_rate / (1 - self.error_rate))
        return np.concatenate((self.ability, [self.mean, odds], np.log(self.difficulty), np.log(self.lures)))

    @staticmethod
    def at(point: FloatArray) -> _Parameters:
        """Build the parameters from an unconstrained vector."""
        people = point.size - 2 - NODES.size - len(LURES)
        mean, odds = point[people : people + 2]
        weight, lures = np.split(point[people + 2 :], [NODES.size])
        return _Parameters(
            ability=np.clip(point[:people], -6.0, 6.0),
            mean=float(mean),
            difficulty=_shares(weight),
            lures=_shares(lures),
            error_rate=float(1.0 / (1.0 + np.exp(-np.clip(odds, -30.0, 30.0)))),
        )


def _shares(logs: FloatArray) -> FloatArray:
    """Compute shares, of sum 1, from their logarithms up to a constant."""
    return np.asarray(np.exp(np.maximum(logs - np.logaddexp.reduce(logs), -100.0)))


@dataclass(frozen=True, slots=True)
class TruthCells:
    """The candidate truths of every item: the labels given, the gold, and all others combined.

    Attributes:
        item: shape (m,).
        label: shape (m,), -1 for "any label that no annotator gave".
        count: shape (m,), votes.
        is_gold: shape (m,).
        times: shape (m,), how many labels the cell stands for.
        lure: shape (m, shares), for each share of lures the log of the sum over lures, as far as it depends on
            the cell; on items without gold all are that of `LURE`.
        gold_known: shape (items,).
        votes_of_item: sparse, shape (items, annotators), 1 if the annotator answered the item.
        votes_of_cell: sparse, shape (m, annotators), 1 if the annotator gave the cell's label.
        cells_of_item: sparse, shape (items, m), 1 if the cell belongs to the item.
        starts: shape (items,), where each item's cells begin in `ordered`.
        ordered: shape (m,), the cells by item.
        options: how many labels an item offers.
        floor: the chance of the truth on the hardest item.
    """

    item: NDArray[np.int64]
    label: NDArray[np.int64]
    count: NDArray[np.int64]
    is_gold: NDArray[np.bool_]
    times: FloatArray
    lure: FloatArray
    gold_known: NDArray[np.bool_]
    votes_of_item: scipy.sparse.csr_array
    votes_of_cell: scipy.sparse.csr_array
    cells_of_item: scipy.sparse.csr_array
    starts: NDArray[np.intp]
    ordered: NDArray[np.intp]
    options: int
    floor: float


def fit_gold_model(votes: Votes, gold: IntArray, *, options: int | None = None) -> GoldModel:
    """Fit the model.

    Args:
        votes: the answers, at most one per annotator and item; controls may be among the items.
        gold: shape (items,), codes of the golds, -1 if the gold is not known.
        options: the number of possible labels of an item; by default, the number of labels in the study.

    Returns:
        The fitted model.

    Example:
        Five annotators agree with the gold on nine items and contradict it on the tenth:

        >>> item, annotator = np.divmod(np.arange(50, dtype=np.int32), 5)
        >>> votes = Votes(item, annotator, np.zeros(50, np.int32), 10, 5, 4)
        >>> gold = np.array([0] * 9 + [1], np.int32)
        >>> fit_gold_model(votes, gold).gold_wrong.round(2).tolist()[-2:]
        [0.0, 1.0]
    """
    options = max(2, votes.labels if options is None else options)
    cells = truth_cells(votes, gold, options)
    now = _Parameters(np.full(votes.annotators, 1.5))
    joint, objective = _expect(votes, cells, now)
    trace = [objective]
    converged = False
    while not converged and len(trace) < MOST_ITERATIONS:
        now, joint, objective = _stride(votes, cells, now, joint)
        trace.append(objective)
        converged = abs(trace[-1] - trace[-2]) <= TOLERANCE * (1 + abs(trace[-1]))
    return _answer(votes, cells, now, joint, trace, converged=converged)


def _stride(
    votes: Votes, cells: TruthCells, now: _Parameters, joint: FloatArray
) -> tuple[_Parameters, FloatArray, float]:
    """Run two EM steps and an extrapolation along them, kept if its objective exceeds that of the first step (SQUAREM).

    Varadhan and Roland (2008), Simple and globally convergent methods for accelerating the convergence of any
    EM algorithm.
    """
    first = _maximise(cells, now, joint)
    joint_first, objective_first = _expect(votes, cells, first)
    second = _maximise(cells, first, joint_first)
    start = now.point()
    step = first.point() - start
    bend = second.point() - first.point() - step
    length = float(np.linalg.norm(bend))
    if length > 0:
        stride = max(1.0, float(np.linalg.norm(step)) / length)
        leap = _Parameters.at(start + 2 * stride * step + stride**2 * bend)
        joint_leap, objective_leap = _expect(votes, cells, leap)
        if objective_leap > objective_first:
            return leap, joint_leap, objective_leap
    joint_second, objective_second = _expect(votes, cells, second)
    return second, joint_second, objective_second


def truth_cells(votes: Votes, gold: IntArray, options: int) -> TruthCells:
    """Build the candidate truths of every item, with the sums over lures for each of `LURES`."""
    known = gold >= 0
    golds = np.flatnonzero(known)
    codes = votes.item.astype(np.int64) * votes.labels + votes.label
    with_gold = np.concatenate((codes, golds * votes.labels + gold[golds]))
    cell, inverse = np.unique(with_gold, return_inverse=True)
    of_vote = inverse[: len(votes)].astype(np.int64)
    count = np.bincount(of_vote, minlength=cell.size)
    item, label = np.divmod(cell, max(1, votes.labels))
    distinct = np.bincount(item, minlength=votes.items)
    others = np.maximum(0, options - distinct)
    rest = np.flatnonzero(others > 0)
    item = np.concatenate((item, rest))
    label = np.concatenate((label, np.full(rest.size, -1)))
    count = np.concatenate((count, np.zeros(rest.size, count.dtype)))
    is_gold = (label == gold[item]) & (label >= 0)
    times = np.concatenate((np.ones(cell.size), others[rest].astype(np.float64)))
    wrong = np.bincount(item, count, votes.items)[item] - count
    by_share = {}
    for share in LURES:
        # P(lure | error) is `even` + share, P(any other wrong label | error) is `even`.
        even = (1 - share) / (options - 1)
        lures = lure_sums(item[: cell.size], count[: cell.size] * np.log((share + even) / even), others, rest)
        by_share[share] = wrong * np.log(even) + lures - np.log(options - 1)
    lure = np.stack([np.where(known[item], by_share[share], by_share[LURE]) for share in LURES], axis=1)
    people = votes.annotators
    ordered = np.argsort(item, kind="stable")
    return TruthCells(
        item,
        label,
        count,
        is_gold,
        times,
        lure,
        known,
        incidence(votes.item, votes.annotator, (votes.items, people)),
        incidence(of_vote, votes.annotator, (item.size, people)),
        incidence(item, np.arange(item.size), (votes.items, item.size)),
        np.searchsorted(item[ordered], np.arange(votes.items)),
        ordered,
        options,
        GUESSING / options,
    )


def _expect(votes: Votes, cells: TruthCells, now: _Parameters) -> tuple[FloatArray, float]:
    """Compute the posterior of (truth, difficulty) of every item, shape (cells, nodes), and the objective."""
    right, wrong = _log_chances(now.ability, cells.floor)
    base = cells.votes_of_item @ wrong
    weight = np.log(now.difficulty)
    error = now.error_rate
    prior = np.where(
        cells.gold_known[cells.item],
        np.where(cells.is_gold, np.log1p(-error), np.log(error / (cells.options - 1))),
        -np.log(cells.options),
    )
    joint = base[cells.item] + cells.votes_of_cell @ (right - wrong)
    joint += weight
    joint += (prior + _lure(cells, now) + np.log(cells.times))[:, None]
    peak = np.maximum.reduceat(joint.max(axis=1)[cells.ordered], cells.starts) if votes.items else np.zeros(0)
    joint -= peak[cells.item, None]
    np.exp(joint, out=joint)
    total = np.bincount(cells.item, joint.sum(axis=1), votes.items)
    joint /= total[cells.item, None]
    likelihood = float((np.log(total) + peak).sum())
    active = np.bincount(votes.annotator, minlength=votes.annotators) > 0
    people = -0.5 * float(((now.ability[active] - now.mean) ** 2).sum()) / SPREAD**2
    golds = PRIOR_WRONG * np.log(error) + (PRIOR_ITEMS - PRIOR_WRONG) * np.log1p(-error)
    shares = PRIOR_LURES * float(np.log(now.lures).sum())
    return joint, likelihood + people + float(golds) + float(PRIOR_DIFFICULTY @ weight) + shares


def _lure(cells: TruthCells, now: _Parameters) -> FloatArray:
    """Compute the log of the sum over lures and their shares, shape (m,)."""
    return np.asarray(np.logaddexp.reduce(cells.lure + np.log(now.lures), axis=1))


def _log_chances(ability: FloatArray, floor: float) -> tuple[FloatArray, FloatArray]:
    """Compute the log probabilities of a correct and of a wrong answer, shape (annotators, nodes) each."""
    distance = ability[:, None] - NODES
    right = np.log(floor + (1 - floor) * _logistic(distance))
    return right, np.log1p(-floor) - np.logaddexp(0.0, distance)


def _logistic(x: FloatArray) -> FloatArray:
    chance: FloatArray = 1.0 / (1.0 + np.exp(-x))
    return chance


def _maximise(cells: TruthCells, now: _Parameters, joint: FloatArray) -> _Parameters:
    """Compute the parameters with the largest expected log posterior."""
    of_item = cells.cells_of_item @ joint
    right, answers = cells.votes_of_cell.T @ joint, cells.votes_of_item.T @ of_item
    # A correct answer may be a guess: only the expected share of correct answers that are not guesses informs the
    # ability.
    solves = _logistic(now.ability[:, None] - NODES)
    ability = _abilities(now, right * solves / (cells.floor + (1 - cells.floor) * solves), answers)
    golds = int(cells.gold_known.sum())
    wrong = golds - float(joint[cells.is_gold].sum())
    shares = of_item.sum(axis=0) + PRIOR_DIFFICULTY
    active = answers.sum(axis=1) > 0
    mean = float(ability[active].mean()) if active.any() else now.mean
    of_cell = joint.sum(axis=1) * cells.gold_known[cells.item]
    lures = of_cell @ np.exp(cells.lure + np.log(now.lures) - _lure(cells, now)[:, None]) + PRIOR_LURES
    return _Parameters(
        ability=ability,
        mean=mean,
        difficulty=shares / shares.sum(),
        error_rate=(wrong + PRIOR_WRONG) / (golds + PRIOR_ITEMS),
        lures=lures / lures.sum(),
    )


def _abilities(now: _Parameters, right: FloatArray, answers: FloatArray) -> FloatArray:
    """Maximise over all abilities by Newton's method; the function is concave, and long steps are truncated."""
    ability = now.ability
    for _ in range(8):
        chance = _logistic(ability[:, None] - NODES)
        slope = (right - answers * chance).sum(axis=1) - (ability - now.mean) / SPREAD**2
        curve = (answers * chance * (1 - chance)).sum(axis=1) + 1.0 / SPREAD**2
        step = np.clip(slope / curve, -1.0, 1.0)
        ability = np.clip(ability + step, -6.0, 6.0)
        if float(np.abs(step).max(initial=0.0)) < 1e-8:
            break
    return ability


def _answer(
    votes: Votes,
    cells: TruthCells,
    now: _Parameters,
    joint: FloatArray,
    trace: list[float],
    *,
    converged: bool,
) -> GoldModel:
    truth = joint.sum(axis=1)
    gold = np.bincount(cells.item, truth * cells.is_gold, votes.items)
    # Not computed as 1 - P(gold), which would lose precision for probabilities near 1.
    others = np.bincount(cells.item, truth * ~cells.is_gold, votes.items)
    with np.errstate(divide="ignore"):
        log_odds = np.log(others) - np.log(gold)
    # A gold that is probably wrong is never the best label, and "none of these" only if it is more probable than all
    # the answers together. The first label wins a tie.
    accused = cells.is_gold & (others >= gold)[cells.item]
    unnamed = cells.label < 0
    named = np.bincount(cells.item, truth * ~(accused | unnamed), votes.items)
    last = np.where(accused, 2, unnamed & (truth <= named[cells.item]))
    early = unnamed & (truth > named[cells.item])
    ranked = np.lexsort((cells.label, -truth, ~early, last, cells.item))
    first = ranked[cells.starts] if ranked.size else ranked
    silent = np.bincount(votes.annotator, minlength=votes.annotators) == 0
    ability = np.where(silent, np.nan, now.ability)
    return GoldModel(
        gold_wrong=np.where(cells.gold_known, np.clip(others, 0.0, 1.0), np.nan),
        log_odds=np.where(cells.gold_known, log_odds, np.nan),
        best=cells.label[first].astype(np.int32),
        ability=ability,
        lure_shares=now.lures,
        log_posterior=tuple(trace),
        converged=converged,
    )
