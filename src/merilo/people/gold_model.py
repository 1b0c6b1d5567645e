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
from numpy.typing import NDArray

from merilo.people.votes import IntArray, Votes, run_starts
from merilo.statistics import FloatArray

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
        log_posterior: the objective after each iteration.
        converged: whether the last iteration met the tolerance.
    """

    gold_wrong: FloatArray
    log_odds: FloatArray
    best: IntArray
    ability: FloatArray
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


class Ones:
    """A sparse matrix of ones, one for each vote; SciPy's takes longer to import than the model to fit.

    Args:
        row: shape (n,).
        column: shape (n,).
        shape: the numbers of rows and columns.
    """

    def __init__(
        self, row: NDArray[np.signedinteger], column: NDArray[np.signedinteger], shape: tuple[int, int]
    ) -> None:
        order = np.argsort(row, kind="stable")
        self.starts = run_starts(row[order])
        self.rows, self.column, self.height = row[order][self.starts], column[order], shape[0]

    def __matmul__(self, values: FloatArray) -> FloatArray:
        """Multiply by values of shape (columns, k)."""
        product = np.zeros((self.height, values.shape[1]))
        if self.starts.size:
            product[self.rows] = np.add.reduceat(values[self.column], self.starts, axis=0)
        return product


@dataclass(frozen=True, slots=True)
class TruthCells:
    """The candidate truths of every item: the labels given, the gold, and all others combined, item by item.

    Attributes:
        item: shape (m,), ascending.
        label: shape (m,), -1 for "any label that no annotator gave".
        is_gold: shape (m,).
        times: shape (m,), how many labels the cell stands for.
        lure: shape (m, shares), for each share of lures the log of the sum over lures, as far as it depends on
            the cell; on items without gold all are that of `LURE`.
        gold_known: shape (items,).
        votes_of_item: shape (items, annotators), 1 if the annotator answered the item.
        votes_of_cell: shape (m, annotators), 1 if the annotator gave the cell's label.
        items_of_person: the transposed matrix of `votes_of_item`.
        cells_of_person: the transposed matrix of `votes_of_cell`.
        starts: shape (items,), where each item's cells begin.
        options: how many labels an item offers.
    """

    item: NDArray[np.int64]
    label: NDArray[np.int64]
    is_gold: NDArray[np.bool_]
    times: FloatArray
    lure: FloatArray
    gold_known: NDArray[np.bool_]
    votes_of_item: Ones
    votes_of_cell: Ones
    items_of_person: Ones
    cells_of_person: Ones
    starts: NDArray[np.intp]
    options: int

    @property
    def floor(self) -> float:
        """The chance of the truth on the hardest item."""
        return GUESSING / self.options

    def sums(self, values: FloatArray) -> FloatArray:
        """Sum values of cells, shape (m,) or (m, nodes), over the cells of each item."""
        return np.add.reduceat(values, self.starts, axis=0) if self.starts.size else values


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
    known, width = gold >= 0, votes.labels + 1  # one label more stands for all that nobody gave
    golds = np.flatnonzero(known)
    of_answers = votes.item.astype(np.int64) * width + votes.label
    named = np.unique(np.concatenate((of_answers, golds * width + gold[golds])))
    others = np.maximum(0, options - np.bincount(named // width, minlength=votes.items))
    cells = np.sort(np.concatenate((named, np.flatnonzero(others) * width + votes.labels)))
    item, label = np.divmod(cells, width)
    unnamed = label == votes.labels
    of_vote = np.searchsorted(cells, of_answers)
    count = np.bincount(of_vote, minlength=cells.size)
    times = np.where(unnamed, others[item], 1).astype(np.float64)
    starts = np.searchsorted(item, np.arange(votes.items))
    # Every pair of a truth and a lure of one item; the truth itself is no lure.
    size = np.bincount(item, minlength=votes.items)[item]
    begin = np.cumsum(size) - size
    truth = np.repeat(np.arange(cells.size), size)
    lured = starts[item[truth]] + np.arange(truth.size) - begin[truth]
    with np.errstate(divide="ignore"):
        log_times = np.log(times[lured] - (truth == lured))
    wrong = np.bincount(item, count, votes.items)[item] - count
    by_share = {}
    for share in LURES:
        # P(lure | error) is `even` + share, P(any other wrong label | error) is `even`.
        even = (1 - share) / (options - 1)
        strength = count[lured] * np.log((share + even) / even) + log_times
        lures = np.logaddexp.reduceat(strength, begin) if cells.size else strength
        by_share[share] = wrong * np.log(even) + lures - np.log(options - 1)
    lure = np.stack([np.where(known[item], by_share[share], by_share[LURE]) for share in LURES], axis=1)
    return TruthCells(
        item,
        np.where(unnamed, -1, label),
        label == gold[item],
        times,
        lure,
        known,
        Ones(votes.item, votes.annotator, (votes.items, votes.annotators)),
        Ones(of_vote, votes.annotator, (cells.size, votes.annotators)),
        Ones(votes.annotator, votes.item, (votes.annotators, votes.items)),
        Ones(votes.annotator, of_vote, (votes.annotators, cells.size)),
        starts,
        options,
    )


def _expect(votes: Votes, cells: TruthCells, now: _Parameters) -> tuple[FloatArray, float]:
    """Compute the posterior of (truth, difficulty) of every item, shape (cells, nodes), and the objective."""
    right, wrong = _log_chances(now.ability, cells.floor)
    weight, error = np.log(now.difficulty), now.error_rate
    of_gold = np.where(cells.is_gold, np.log1p(-error), np.log(error / (cells.options - 1)))
    prior = np.where(cells.gold_known[cells.item], of_gold, -np.log(cells.options))
    joint = (cells.votes_of_item @ wrong)[cells.item] + cells.votes_of_cell @ (right - wrong) + weight
    joint += (prior + _lure(cells, now) + np.log(cells.times))[:, None]
    peak = np.maximum.reduceat(joint.max(axis=1), cells.starts) if votes.items else np.zeros(0)
    joint = np.exp(joint - peak[cells.item, None])
    total = cells.sums(joint.sum(axis=1))
    joint /= total[cells.item, None]
    active = np.bincount(votes.annotator, minlength=votes.annotators) > 0
    people = -0.5 * float(((now.ability[active] - now.mean) ** 2).sum()) / SPREAD**2
    golds = PRIOR_WRONG * np.log(error) + (PRIOR_ITEMS - PRIOR_WRONG) * np.log1p(-error)
    shares = PRIOR_LURES * float(np.log(now.lures).sum()) + float(PRIOR_DIFFICULTY @ weight)
    return joint, float((np.log(total) + peak).sum()) + people + float(golds) + shares


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
    of_item = cells.sums(joint)
    right, answers = cells.cells_of_person @ joint, cells.items_of_person @ of_item
    # A correct answer may be a guess: only the expected share of correct answers that are not guesses informs the
    # ability.
    solves = _logistic(now.ability[:, None] - NODES)
    ability = _abilities(now, right * solves / (cells.floor + (1 - cells.floor) * solves), answers)
    golds = int(cells.gold_known.sum())
    wrong = golds - float(joint[cells.is_gold].sum())
    shares = of_item.sum(axis=0) + PRIOR_DIFFICULTY
    active = answers.sum(axis=1) > 0
    of_cell = joint.sum(axis=1) * cells.gold_known[cells.item]
    lures = of_cell @ np.exp(cells.lure + np.log(now.lures) - _lure(cells, now)[:, None]) + PRIOR_LURES
    return _Parameters(
        ability=ability,
        mean=float(ability[active].mean()) if active.any() else now.mean,
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
    truth, known = joint.sum(axis=1), cells.gold_known
    # The probability of the others is not computed as 1 - P(gold), which would lose precision near 1.
    gold, others = cells.sums(truth * cells.is_gold), cells.sums(truth * ~cells.is_gold)
    with np.errstate(divide="ignore"):
        log_odds = np.log(others) - np.log(gold)
    # A gold that is probably wrong is never the best label, and "none of these" only if it is more probable than all
    # the answers together. The first label wins a tie.
    accused, unnamed = cells.is_gold & (others >= gold)[cells.item], cells.label < 0
    named = cells.sums(truth * ~(accused | unnamed))[cells.item]
    place = np.where(accused, 3, np.where(unnamed, np.where(truth > named, 0, 2), 1))
    ranked = np.lexsort((cells.label, -truth, place, cells.item))
    best = cells.label[ranked[cells.starts]] if ranked.size else cells.label
    silent = np.bincount(votes.annotator, minlength=votes.annotators) == 0
    return GoldModel(
        gold_wrong=np.where(known, np.clip(others, 0.0, 1.0), np.nan),
        log_odds=np.where(known, log_odds, np.nan),
        best=best.astype(np.int32),
        ability=np.where(silent, np.nan, now.ability),
        log_posterior=tuple(trace),
        converged=converged,
    )
