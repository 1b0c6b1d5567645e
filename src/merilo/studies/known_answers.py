"""Choose items with known answers: examples for the instruction, control items and training items."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numpy as np

from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import render
from merilo.errors import UsageError, argument
from merilo.items import Item
from merilo.statistics import FloatArray
from merilo.statistics.intervals import Interval, student_quantile
from merilo.strict_json import Json
from merilo.studies.drawing import draw_balanced
from merilo.studies.item_fields import ANSWER, fields_of, grouping_fields
from merilo.studies.study_source import comparable
from merilo.studies.study_tasks import one_answer
from merilo.wording import listed

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Test = TypeVar("Test")

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
    items = _some(items, seed)
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


def _some(items: Sequence[Test], seed: int) -> Sequence[Test]:
    """Draw the test items that are compared."""
    if len(items) <= _MOST_TEST:
        return items
    rng = np.random.default_rng(seed)
    return [items[int(at)] for at in np.sort(rng.choice(len(items), _MOST_TEST, replace=False))]


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


#: An example is short enough to be read at a glance up to this number of characters.
_BRIEF: Final = 500
#: Examples of datasets without labels.
_FEWEST: Final = 2
#: Fields with more categories than this are not compared with the test when control items are drawn.
_MOST_FIELDS: Final = 6


@dataclass(frozen=True, slots=True)
class ScreenedAnswers:
    """Items with known answers that may be used, and how many could not.

    Attributes:
        items: the items that may be used.
        in_test: ids of items whose text is that of a test item.
        unanswered: the number of items without one gold answer: with none, or with criteria that differ.
        repeated: the number of items whose text another one has.
    """

    items: tuple[Item, ...]
    in_test: tuple[str, ...] = ()
    unanswered: int = 0
    repeated: int = 0

    @property
    def faults(self) -> list[str]:
        """Why items are not used, a phrase each."""
        repeats = f"items {listed(self.in_test, 5)} repeat questions of the test and are not used"
        counts = {
            repeats: len(self.in_test),
            f"{self.unanswered} without one gold answer are not used": self.unanswered,
            f"{self.repeated} repeat others and are not used": self.repeated,
        }
        return [fault for fault, count in counts.items() if count]


def screen_known(pool: Sequence[Item], test: Sequence[Item]) -> ScreenedAnswers:
    """Keep the items that have a gold answer, repeat no question of the test, and are not repeated.

    Args:
        pool: items with known answers.
        test: all items of the test, also those that are not drawn.
    """
    asked = set(comparable(test))
    kept: list[Item] = []
    in_test: list[str] = []
    unanswered = repeated = 0
    seen: set[str] = set()
    for item, text in zip(pool, comparable(pool), strict=True):
        if one_answer(item.outputs) is None:
            unanswered += 1
        elif text in asked:
            in_test.append(str(item.id))
        elif text in seen:
            repeated += 1
        else:
            seen.add(text)
            kept.append(item)
    return ScreenedAnswers(tuple(kept), tuple(in_test), unanswered, repeated)


@dataclass(frozen=True, slots=True)
class ChosenExamples:
    """Solved examples for the instruction.

    Attributes:
        items: the examples.
        uncovered: the domains and kinds of answer of the dataset that no example shows: `domain: law`, `answer: 0`.
    """

    items: tuple[Item, ...]
    uncovered: tuple[str, ...]


def choose_examples(
    solved: Sequence[Item],
    test: Sequence[Item],
    declared: Dataset,
    *,
    most: int,
    written: Sequence[Item] = (),
) -> ChosenExamples:
    """Choose few solved items that show every label, every form of prompt and every domain.

    In this order of importance.

    Each step takes the item that shows most of what is not shown yet: of equals a short one, then one of the
    dataset, then the first.

    Args:
        solved: the solved items of the dataset, not of the test.
        test: the items whose domains and kinds of answer are to be shown.
        declared: their dataset.
        most: the largest number of solved items of the dataset.
        written: examples written for Merilo, used where the dataset's own show too little.
    """
    wanted = dict.fromkeys(sign for item in test for sign in _signs(item, declared))
    wanted |= dict.fromkeys(f"{ANSWER}: {label}" for label in declared.answer.labels)
    forms = {sign for sign in wanted if sign.startswith((f"{ANSWER}: ", f"{declared.prompts_by}: "))}
    left = set(wanted)
    candidates = [(item, set(_signs(item, declared)), True) for item in solved]
    candidates += [(item, set(_signs(item, declared)), False) for item in written]
    brief = {id(item): len(render(item, declared)) <= _BRIEF for item, _, _ in candidates}
    chosen: list[Item] = []
    free = most

    def gain(candidate: tuple[Item, set[str], bool]) -> tuple[int, bool, bool, bool, int]:
        item, signs, own = candidate
        new = signs & left
        return len(new & forms), bool(new), brief[id(item)], own, len(new)

    while left or len(chosen) < _FEWEST:
        there = [one for one in candidates if free > 0 or not one[2]]
        if not there:
            break
        best = max(there, key=gain)
        if not best[1] & left and len(chosen) >= _FEWEST:
            break
        candidates.remove(best)
        chosen.append(best[0])
        free -= best[2]
        left -= best[1]
    return ChosenExamples(tuple(chosen), tuple(sign for sign in wanted if sign in left))


def opening_turns(turns: Sequence[Item], declared: Dataset, *, most: int) -> ChosenExamples:
    """Return the beginning of a solved dialogue, until every label was shown: a turn needs those before it.

    Args:
        turns: the turns of one dialogue.
        declared: its dataset.
        most: the largest number of turns.
    """
    left = dict.fromkeys(f"{ANSWER}: {label}" for label in declared.answer.labels)
    chosen: list[Item] = []
    for item in turns[:most]:
        if chosen and not left:
            break
        chosen.append(item)
        for sign in _signs(item, declared):
            left.pop(sign, None)
    return ChosenExamples(tuple(chosen), tuple(left))


def _signs(item: Item, declared: Dataset) -> list[str]:
    """Return what an example of this item shows: its groups, and its kind of answer."""
    found = []
    for name in grouping_fields(declared):
        own = item.inputs if not isinstance(item.inputs, str) else {}
        value = item.meta.get(name, own.get(name))
        if isinstance(value, str | int) and not isinstance(value, bool):
            found.append(f"{name}: {value}")
    if declared.answer.labels:
        given = item.outputs.values() if isinstance(item.outputs, dict) else [item.outputs]
        found += [
            f"{ANSWER}: {value}"
            for value in dict.fromkeys(map(str, given))
            if value in declared.answer.labels
        ]
    return found


@dataclass(frozen=True, slots=True)
class ChosenControls:
    """The control items of a study.

    Attributes:
        items: the control items.
        wanted: how many were wanted.
        check: how well they can be distinguished from test items.
    """

    items: tuple[Item, ...]
    wanted: int
    check: LookalikeCheck


def spacing(share: float) -> int:
    """Return one task in how many is a control item, for a share of control items.

    Example:
        >>> spacing(0.05), spacing(0.3), spacing(0.9)
        (20, 3, 2)
    """
    return max(round(1 / share), 2)


def wanted_controls(items: int, share: float) -> int:
    """Return the number of control items for a share of the tasks.

    So that an annotator who answers all items gets each once.

    Example:
        >>> wanted_controls(1000, 0.05), wanted_controls(8, 0.05)
        (53, 1)
    """
    return max(ceil(items / (spacing(share) - 1)), ceil(items * share - 1e-9), 1)


def choose_controls(
    pool: Sequence[Item], test: Sequence[Item], declared: Dataset, *, wanted: int, seed: int
) -> ChosenControls:
    """Choose control items that look like the test.

    Of a larger pool, those that have the test's distribution of fields.

    Args:
        pool: items that passed `screen_known`.
        test: the items that annotators answer.
        declared: their dataset.
        wanted: the number of control items; fewer if the pool is smaller.
        seed: the random seed.

    Raises:
        UsageError: the share of control items is not positive.
    """
    if wanted < 1:
        raise UsageError(f"{argument('control_share')} must give at least one control item")
    chosen = list(pool)
    if len(pool) > wanted:
        both = [*test, *pool]
        fields, _ = fields_of(both, declared, size=max(wanted, 25))
        fields = fields[:_MOST_FIELDS]
        own = [replace(field, codes=field.codes[len(test) :]) for field in fields]
        shares = [[count / len(test) for count in field.counts(range(len(test)))] for field in fields]
        if own:
            chosen = [pool[place] for place in draw_balanced(own, wanted, seed=seed, like=shares)]
        else:
            chosen = chosen[:wanted]
    return ChosenControls(tuple(chosen), wanted, compare_controls(chosen, test, declared, seed=seed))


def compare_controls(
    controls: Sequence[Item], test: Sequence[Item], declared: Dataset, *, seed: int
) -> LookalikeCheck:
    """Check whether control items can be distinguished from test items by length, domain, answer or words."""
    return check_lookalikes(
        [_looks(item, declared) for item in _some(test, seed)],
        [_looks(item, declared) for item in controls],
        seed=seed,
    )


def _looks(item: Item, declared: Dataset) -> LookalikeItem:
    groups = [sign for sign in _signs(item, declared) if not sign.startswith(f"{ANSWER}: ")]
    known = one_answer(item.outputs)
    answer = str(known) if declared.answer.labels and known is not None else ""
    # The fields of the item only: its template may be any of the dataset's prompts.
    shown = [item.inputs] if isinstance(item.inputs, str) else [str(value) for value in item.inputs.values()]
    return LookalikeItem("\n".join(shown), "; ".join(groups), answer)
