"""Check that control items look like test items: a classifier should not tell them apart better than chance."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from merilo.statistics import FloatArray
from merilo.statistics.intervals import Interval, student_quantile
from merilo.strict_json import Json

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: With fewer control items, a classifier cannot be trained and checked.
LEAST_CONTROLS: Final = 8
#: Words are counted in so many columns.
_COLUMNS: Final = 256
_FOLDS: Final = 5
_ROUNDS: Final = 2
#: The penalty on the coefficients of standardised features.
_PENALTY: Final = 30.0
_MOST_TEST: Final = 600

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
        auc: the probability that a random control item gets a higher score than a random test item, by
            cross-validation.
        interval: its confidence interval.
    """

    name: str
    auc: float
    interval: Interval

    def as_json(self) -> dict[str, Json]:
        """Return the AUC and its interval."""
        low, high = round(self.interval.low, 4), round(self.interval.high, 4)
        return {"value": round(self.auc, 4), "interval": [low, high], "level": round(self.interval.level, 6)}

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
        features: the groups of features, all of them together first; empty if nothing was compared.
        words: the words that are most typical of control items, where words tell the two apart.
        installed: whether scikit-learn, which trains the classifiers, is installed.
    """

    controls: int
    items: int
    features: tuple[TellingFeature, ...]
    words: tuple[str, ...] = ()
    installed: bool = True

    @property
    def checked(self) -> bool:
        """Whether the two were compared."""
        return bool(self.features)

    @property
    def alike(self) -> bool:
        """Whether no group of features tells the two apart better than chance."""
        return not any(feature.telling for feature in self.features)

    @property
    def why_unchecked(self) -> str:
        """Why the two were not compared, in a phrase."""
        if not self.installed:
            return "scikit-learn is not installed (pip install 'merilo[studies]')"
        return f"too few control items ({self.controls})"

    @property
    def warnings(self) -> list[str]:
        """What the author should know, a sentence each."""
        if not self.checked:
            return [f"whether control items look like test items was not checked: {self.why_unchecked}"]
        found = []
        for feature in self.features:
            if feature.telling:
                what = "all features together" if feature.name == "all" else feature.name
                words = f" (typical words: {', '.join(self.words)})" if self.words and what == "words" else ""
                found.append(
                    f"control items can be distinguished from test items by {what}: AUC {feature.auc:.2f} "
                    f"[{feature.interval.low:.2f}, {feature.interval.high:.2f}] does not contain 0.5{words}"
                )
        return found


def check_lookalikes(
    items: Sequence[LookalikeItem], controls: Sequence[LookalikeItem], *, seed: int, level: float = 0.95
) -> LookalikeCheck:
    """Train classifiers to tell control items from test items, and estimate their AUC on items not seen in training.

    The classifier is scikit-learn's logistic regression with a quadratic penalty on standardised features: characters,
    words, digits and lines; the domain; the answer; and words in hashed columns. The AUC is computed within
    each of five folds, whose items took no part in training, and averaged over the folds of two divisions.
    Its interval is Student's, with the variance corrected for folds that share training items. The levels of
    the single groups are corrected by Bonferroni's method. The AUC may lie below 0.5: of control items drawn
    to match the test, one part is rich in what the other lacks.

    Args:
        items: the test items; of more than 600, a random 600 are compared.
        controls: the control items.
        seed: the random seed of the folds.
        level: the nominal coverage of the intervals, in (0, 1).

    Returns:
        The check; without features if there are fewer than `LEAST_CONTROLS` control items or test items, or
        if scikit-learn is not installed.

    References:
        C. Nadeau, Y. Bengio (2003), Inference for the generalization error. Machine Learning 52, 239-281.
    """
    rng = np.random.default_rng(seed)
    if len(items) > _MOST_TEST:
        items = [items[int(at)] for at in np.sort(rng.choice(len(items), _MOST_TEST, replace=False))]
    if min(len(items), len(controls)) < LEAST_CONTROLS:
        return LookalikeCheck(len(controls), len(items), ())
    try:
        groups = _features([*controls, *items])
    except ImportError:
        return LookalikeCheck(len(controls), len(items), (), installed=False)
    from scipy.sparse import hstack  # noqa: PLC0415 - slow to load

    labels = np.concatenate([np.ones(len(controls)), np.zeros(len(items))])
    corrected = 1 - (1 - level) / len(groups)
    found = []
    for name, table in {"all": hstack(list(groups.values()), format="csr"), **groups}.items():
        auc, interval = _cross_validated_auc(table, labels, seed, level if name == "all" else corrected)
        found.append(TellingFeature(name, auc, interval))
    words: tuple[str, ...] = ()
    if any(feature.telling for feature in found if feature.name in {"all", "words"}):
        words = _typical_words(items, controls)
    return LookalikeCheck(len(controls), len(items), tuple(found), words)


def _cross_validated_auc(
    table: csr_array, labels: FloatArray, seed: int, level: float
) -> tuple[float, Interval]:
    """Estimate the AUC of the classifier on items not seen in training: the mean of the folds, and its interval."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - an extra
    from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    logistic = LogisticRegression(C=1 / _PENALTY, class_weight="balanced", solver="newton-cg")
    model = make_pipeline(StandardScaler(with_mean=False), logistic)
    several = min(_FOLDS, int(labels.sum()), int((1 - labels).sum()))
    folds = RepeatedStratifiedKFold(n_splits=several, n_repeats=_ROUNDS, random_state=seed % 2**32)
    found = cross_val_score(model, table, labels, scoring="roc_auc", cv=folds)
    variance = (1 / len(found) + 1 / (several - 1)) * float(np.var(found, ddof=1))
    half = student_quantile((1 + level) / 2, len(found) - 1) * variance**0.5
    auc = float(np.mean(found))
    bounds = Interval(max(auc - half, 0.0), min(auc + half, 1.0), level, "corrected resampled t over folds")
    return auc, bounds


def _features(every: Sequence[LookalikeItem]) -> Mapping[str, csr_array]:
    """Return the groups of features, each with a row for an item; a group in which all items are equal is left out."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - slow to load
    from sklearn.feature_extraction import FeatureHasher  # noqa: PLC0415 - an extra
    from sklearn.preprocessing import OneHotEncoder  # noqa: PLC0415

    texts = [one.prompt for one in every]
    sizes = [[len(t), len(t.split()), sum(map(str.isdigit, t)), t.count("\n")] for t in texts]
    hashed = FeatureHasher(_COLUMNS, alternate_sign=False).transform(Counter(_words(text)) for text in texts)
    found: dict[str, Any] = {"length": np.log1p(sizes)}
    for name, values in (
        ("domain", [one.domain for one in every]),
        ("answer", [one.answer for one in every]),
    ):
        if len(set(values)) > 1:
            found[name] = OneHotEncoder().fit_transform(np.array(values).reshape(-1, 1))
    found["words"] = hashed.log1p()
    return {name: cast("csr_array", csr_array(table)) for name, table in found.items()}


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
