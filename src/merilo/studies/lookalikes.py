"""Check that control items look like test items: a classifier should not tell them apart better than chance."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from merilo.statistics.arrays import FloatArray
from merilo.statistics.distributions import student_quantile
from merilo.statistics.intervals import Interval

#: With fewer control items, a classifier cannot be trained and checked.
LEAST_CONTROLS: Final = 8
#: With fewer control items, an interval of the AUC without width shows that nothing was learned.
FEW_TO_LEARN: Final = 20
#: Words are counted in so many columns.
_COLUMNS: Final = 256
_FOLDS: Final = 5
_INNER_FOLDS: Final = 3
_ROUNDS: Final = 2
#: The penalty on the coefficients of standardised features.
_PENALTY: Final = 30.0
_MOST_TEST: Final = 600
_MOST_STEPS: Final = 25

_WORD: Final = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class LookalikeItem:
    """The visible part of an item, and its gold answer.

    Attributes:
        prompt: the text that annotators read, or the item's own part of it.
        domain: the values of its groups, such as its domain; empty if there are none.
        answer: the class of its right answer; empty if answers form no classes.
    """

    prompt: str
    domain: str = ""
    answer: str = ""


@dataclass(frozen=True, slots=True)
class TellingFeature:
    """A group of features by which control items may be recognised.

    Attributes:
        name: length, domain, answer, words, or all of them.
        auc: the probability that a random control item gets a higher score than a random test item, by cross-validation.
        interval: its confidence interval.
    """

    name: str
    auc: float
    interval: Interval

    @property
    def telling(self) -> bool:
        """Whether the feature tells control items from test items better than chance."""
        return self.interval.low > 0.5


@dataclass(frozen=True, slots=True)
class LookalikeCheck:
    """The result of the check how well control items can be distinguished from test items.

    Attributes:
        controls: the number of control items.
        items: the number of test items that they were compared with.
        features: the groups of features, all of them together first; empty with too few control items.
        words: the words that are most typical of control items, where words tell the two apart.
    """

    controls: int
    items: int
    features: tuple[TellingFeature, ...]
    words: tuple[str, ...] = ()

    @property
    def checked(self) -> bool:
        """Whether there were enough control items for a classifier.

        With few control items all folds may have the AUC 0.5, because no classifier was better than chance in training. An
        interval without width then says that nothing was learned, not that control items look like test items.
        """
        if not self.features:
            return False
        whole = self.features[0].interval
        return whole.low < whole.high or self.controls >= FEW_TO_LEARN or not self.alike

    @property
    def alike(self) -> bool:
        """Whether no group of features tells the two apart better than chance."""
        return not any(feature.telling for feature in self.features)


def not_checked(check: LookalikeCheck) -> str:
    """Say that control items were not compared with test items."""
    return f"whether control items look like test items was not checked: too few control items ({check.controls})"


def check_lookalikes(
    items: Sequence[LookalikeItem], controls: Sequence[LookalikeItem], *, seed: int, level: float = 0.95
) -> LookalikeCheck:
    """Train classifiers to tell control items from test items, and estimate their AUC on items not seen in training.

    The classifier is a logistic regression with a quadratic penalty on standardised features: characters, words, digits and
    lines; the domain; the answer; and words in hashed columns. Where cross-validation inside the training part finds it no better
    than chance, all items get the same score. The AUC is computed within each of five folds, whose items took
    no part in training, and averaged over the folds of two divisions. Its interval is Student's, with the variance corrected
    for folds that share training items. The levels of the single groups are corrected by Bonferroni's method.

    Args:
        items: the test items; of more than 600, a random 600 are compared.
        controls: the control items.
        seed: the random seed of the folds.
        level: the nominal coverage of the intervals, in (0, 1).

    Returns:
        The check; without features if there are fewer than `LEAST_CONTROLS` control items or test items.

    References:
        C. Nadeau, Y. Bengio (2003), Inference for the generalization error. Machine Learning 52, 239-281.
    """
    rng = np.random.default_rng(seed)
    if len(items) > _MOST_TEST:
        items = [items[int(at)] for at in np.sort(rng.choice(len(items), _MOST_TEST, replace=False))]
    if min(len(items), len(controls)) < LEAST_CONTROLS:
        return LookalikeCheck(len(controls), len(items), ())
    every = [*controls, *items]
    labels = np.concatenate([np.ones(len(controls)), np.zeros(len(items))])
    groups = {name: table for name, table in _features(every).items() if table.shape[1]}
    folds = [_folds(labels, rng) for _ in range(_ROUNDS)]
    found = []
    corrected = 1 - (1 - level) / len(groups)
    for name, table in {"all": np.hstack(list(groups.values())), **groups}.items():
        auc, interval = cross_validated_auc(table, labels, folds, level=level if name == "all" else corrected)
        found.append(TellingFeature(name, auc, interval))
    words: tuple[str, ...] = ()
    if any(feature.telling for feature in found if feature.name in {"all", "words"}):
        words = _typical_words(items, controls)
    return LookalikeCheck(len(controls), len(items), tuple(found), words)


def cross_validated_auc(
    table: FloatArray, labels: FloatArray, folds: Sequence[NDArray[np.int64]], *, level: float = 0.95
) -> tuple[float, Interval]:
    """Estimate the AUC of a classifier on items not seen in training.

    Args:
        table: features, shape (n, d).
        labels: 1 for control items and 0 for test items, shape (n,).
        folds: several divisions; each gives the fold of every item, shape (n,).
        level: the nominal coverage.

    Returns:
        The mean AUC of the folds, and its interval.
    """
    found = []
    for fold in folds:
        for number in np.unique(fold):
            inside = fold == number
            known, classes = table[~inside], labels[~inside]
            # Control items drawn to match the test make what a part of them lacks abundant in the rest: a classifier trained
            # on one part is then worse than chance on the other. Where it is so inside the training part, it is not used.
            useful = _auc_inside(known, classes) > 0.5
            scores = _scores(known, classes, table[inside]) if useful else np.zeros(int(inside.sum()))
            found.append(auc_of(scores[labels[inside] == 1], scores[labels[inside] == 0]))
    several = len(np.unique(folds[0]))
    variance = (1 / len(found) + 1 / (several - 1)) * float(np.var(found, ddof=1))
    half = student_quantile((1 + level) / 2, len(found) - 1) * variance**0.5
    auc = float(np.mean(found))
    bounds = Interval(max(auc - half, 0.0), min(auc + half, 1.0), level, "corrected resampled t over folds")
    return auc, bounds


def _auc_inside(table: FloatArray, labels: FloatArray) -> float:
    """Estimate the AUC by cross-validation inside a training part; the folds follow the order of the items."""
    fold = np.empty(len(labels), dtype=np.int64)
    for label in (0.0, 1.0):
        members = np.flatnonzero(labels == label)
        fold[members] = np.arange(len(members)) % _INNER_FOLDS
    found = []
    for number in range(_INNER_FOLDS):
        inside = fold == number
        scores = _scores(table[~inside], labels[~inside], table[inside])
        found.append(auc_of(scores[labels[inside] == 1], scores[labels[inside] == 0]))
    return float(np.mean(found))


def auc_of(positive: FloatArray, negative: FloatArray) -> float:
    """Compute the share of pairs in which the positive score is higher; equal scores count half.

    Example:
        >>> auc_of(np.array([3.0, 1.0]), np.array([1.0, 0.0]))
        0.875
    """
    others = np.sort(negative)
    below = np.searchsorted(others, positive, side="left") + np.searchsorted(others, positive, side="right")
    return float(below.mean() / (2 * len(others)))


def _folds(labels: FloatArray, rng: np.random.Generator) -> NDArray[np.int64]:
    """Divide the items into folds at random, with the same share of control items in each."""
    fold = np.empty(len(labels), dtype=np.int64)
    for label in (0.0, 1.0):
        members = rng.permutation(np.flatnonzero(labels == label))
        fold[members] = np.arange(len(members)) % min(_FOLDS, int((labels == 1).sum()))
    return fold


def _scores(known: FloatArray, labels: FloatArray, unknown: FloatArray) -> FloatArray:
    """Fit on the known items and score the unknown ones."""
    mean, spread = known.mean(axis=0), known.std(axis=0)
    kept = spread > 0
    if not kept.any():
        return np.zeros(len(unknown))
    weights = fit_logistic((known[:, kept] - mean[kept]) / spread[kept], labels, penalty=_PENALTY)
    return np.asarray(((unknown[:, kept] - mean[kept]) / spread[kept]) @ weights[1:], dtype=np.float64)


def fit_logistic(table: FloatArray, labels: FloatArray, *, penalty: float) -> FloatArray:
    """Fit a logistic regression with classes of equal total weight and a quadratic penalty.

    Minimises  Σ w log(1 + exp(-y (b + x β))) + penalty / 2 · |β|²  with y = ±1; the intercept is not penalised.

    Args:
        table: features, shape (n, d).
        labels: 0 or 1, shape (n,).
        penalty: the factor of the penalty; above 0.

    Returns:
        The intercept and the coefficients, shape (d + 1,).
    """
    share = labels.mean()
    weight = np.where(labels == 1, 0.5 / share, 0.5 / (1 - share))
    rows = np.hstack([np.ones((len(labels), 1)), table])
    ridge = np.full(rows.shape[1], penalty)
    ridge[0] = 0.0

    def loss(parameters: FloatArray) -> float:
        margins = np.where(labels == 1, 1.0, -1.0) * (rows @ parameters)
        return float((weight * np.logaddexp(0, -margins)).sum() + (ridge * parameters**2).sum() / 2)

    # Newton's method; a step is halved while it does not reduce the loss.
    parameters = np.zeros(rows.shape[1])
    current = loss(parameters)
    for _ in range(_MOST_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(rows @ parameters, -30, 30)))
        gradient = rows.T @ (weight * (chance - labels)) + ridge * parameters
        curved = (rows * (weight * chance * (1 - chance))[:, None]).T @ rows
        curved[np.diag_indices_from(curved)] += ridge + 1e-9
        step = np.linalg.solve(curved, gradient)
        size = 1.0
        while loss(parameters - size * step) > current and size > 1e-6:
            size /= 2
        parameters -= size * step
        previous, current = current, loss(parameters)
        if previous - current <= 1e-9 * max(abs(previous), 1.0):
            break
    return parameters


def _features(every: Sequence[LookalikeItem]) -> Mapping[str, FloatArray]:
    length = [
        [
            np.log1p(len(one.prompt)),
            np.log1p(len(one.prompt.split())),
            np.log1p(sum(letter.isdigit() for letter in one.prompt)),
            np.log1p(one.prompt.count("\n")),
        ]
        for one in every
    ]
    counts = np.zeros((len(every), _COLUMNS))
    for row, one in enumerate(every):
        for word, times in Counter(_words(one.prompt)).items():
            counts[row, crc32(word.encode()) % _COLUMNS] += np.log1p(times)
    return {
        "length": np.array(length),
        "domain": _indicators([one.domain for one in every]),
        "answer": _indicators([one.answer for one in every]),
        "words": counts,
    }


def _indicators(values: Sequence[str]) -> FloatArray:
    known = sorted(set(values))
    if len(known) < 2:
        return np.zeros((len(values), 0))
    return np.array([[float(value == one) for one in known] for value in values])


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _typical_words(
    items: Sequence[LookalikeItem], controls: Sequence[LookalikeItem], most: int = 5
) -> tuple[str, ...]:
    """Find the words whose share of items differs most between control items and test items."""
    shares = []
    for group in (controls, items):
        there = Counter(word for one in group for word in set(_words(one.prompt)))
        shares.append({word: count / len(group) for word, count in there.items()})
    ours, theirs = shares
    ranked = sorted(ours, key=lambda word: (theirs.get(word, 0.0) - ours[word], word))
    return tuple(word for word in ranked[:most] if ours[word] > theirs.get(word, 0.0) + 0.1)
