"""F1 and exact match of free short answers over alternatives, by SQuAD's rule (CheGeKa, MultiQ)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Final

from merilo.items import ItemId
from merilo.metrics.score import Judgement, Score
from merilo.statistics.intervals import mean_interval

#: The separator between the alternatives of a gold answer.
ALTERNATIVES: Final = ";"

_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """Normalise a text: lower case, no ASCII punctuation, no English articles, single spaces.

    Only the 32 ASCII punctuation marks are removed, as in SQuAD; guillemets and dashes stay. Articles are removed after
    punctuation.

    Example:
        >>> normalised("  The  «War and peace», (novel)! ")
        '«war and peace» novel'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def alternatives(gold: str, separator: str | None = ALTERNATIVES) -> list[str]:
    """Split a gold answer into its alternatives.

    Example:
        >>> alternatives("Poe;E. A. Poe")
        ['Poe', 'E. A. Poe']
    """
    return [gold] if separator is None else gold.split(separator)


def token_f1(answer: str, alternative: str) -> float:
    """Compute F1 of the two bags of tokens after normalisation, for one alternative.

        F1 = 2 P R / (P + R),  P = common / answer's tokens,  R = common / alternative's tokens

    If either side has no tokens, F1 is 1 if neither has, else 0.

    Example:
        >>> token_f1("leo tolstoy", "Tolstoy")
        0.6666666666666666
    """
    return _token_f1(normalised(answer).split(), normalised(alternative).split())


def f1(
    answers: Sequence[str],
    gold: Sequence[str],
    ids: Sequence[ItemId] | None = None,
    clusters: Sequence[Hashable] | None = None,
    *,
    separator: str | None = ALTERNATIVES,
    seed: int = 0,
) -> Score:
    """Compute the mean over items of the best `token_f1` over the gold answer's alternatives.

    Args:
        answers: shape (n,).
        gold: shape (n,), the gold answers with their alternatives.
        ids: shape (n,), the items' ids; by default 0 .. n-1.
        clusters: shape (n,), equal for items that share a text.
        separator: the separator between alternatives; `None` if each gold is one answer.
        seed: random seed for the interval's bootstrap.

    Raises:
        ValueError: the sequences differ in length.

    References:
        P. Rajpurkar et al. (2016), SQuAD: 100,000+ questions for machine comprehension of text; the evaluation script
        of SQuAD 2.0 for empty answers.

    Example:
        >>> f1(["Leo Tolstoy", "unknown"], ["Tolstoy; L. N. Tolstoy", "Chekhov"]).value
        0.3333333333333333
    """
    return _mean("f1", f1_points(answers, gold, separator), ids, clusters, seed)


def em(
    answers: Sequence[str],
    gold: Sequence[str],
    ids: Sequence[ItemId] | None = None,
    clusters: Sequence[Hashable] | None = None,
    *,
    separator: str | None = ALTERNATIVES,
    seed: int = 0,
) -> Score:
    """Compute the share of items whose answer equals one of the gold answer's alternatives after normalisation.

    Arguments, errors and references are those of `f1`.

    Example:
        >>> em(["tolstoy!"], ["Tolstoy;Leo Tolstoy"]).value
        1.0
    """
    return _mean("em", em_points(answers, gold, separator), ids, clusters, seed)


def f1_points(
    answers: Sequence[str], gold: Sequence[str], separator: str | None = ALTERNATIVES
) -> list[float]:
    """Return the best `token_f1` of each answer over the gold answer's alternatives, shape (n,)."""
    return [_best_f1(answer, true, separator) for answer, true in zip(answers, gold, strict=True)]


def em_points(
    answers: Sequence[str], gold: Sequence[str], separator: str | None = ALTERNATIVES
) -> list[float]:
    """Return the exact match of each answer, shape (n,): 1 if it equals an alternative, else 0."""
    return [float(_matches(answer, true, separator)) for answer, true in zip(answers, gold, strict=True)]


def judge(answer: str, gold: str, separator: str | None = ALTERNATIVES) -> tuple[Judgement, Judgement]:
    """Explain how `f1` and `em` judge one answer: each alternative, and the best one.

    Example:
        >>> f1_judgement, em_judgement = judge("Leo Tolstoy", "Tolstoy;Leo Tolstoy")
        >>> f1_judgement.points, em_judgement.points
        (1.0, 1.0)
    """
    given = normalised(answer)
    steps = [f"answer {answer!r} normalised to {given!r} (lower-case, no punctuation, no English articles)"]
    for text in alternatives(gold, separator):
        shape = normalised(text)
        equal = ", equal" if shape == given else ""
        steps.append(
            f"alternative {text!r} normalised to {shape!r}: token F1 {token_f1(answer, text):.4g}{equal}"
        )
    f1_points, em_points = _best_f1(answer, gold, separator), float(_matches(answer, gold, separator))
    return (
        Judgement("f1", f1_points, 1.0, (*steps, f"the best alternative gives {f1_points:.4g} of 1")),
        Judgement(
            "em",
            em_points,
            1.0,
            (*steps, f"{'an' if em_points else 'no'} alternative is equal: {em_points:g} of 1"),
        ),
    )


def _best_f1(answer: str, gold: str, separator: str | None) -> float:
    tokens = normalised(answer).split()
    return max(_token_f1(tokens, normalised(text).split()) for text in alternatives(gold, separator))


def _matches(answer: str, gold: str, separator: str | None) -> bool:
    given = normalised(answer)
    return any(normalised(text) == given for text in alternatives(gold, separator))


def _token_f1(given: list[str], true: list[str]) -> float:
    if not given or not true:
        return float(given == true)
    common = (Counter(given) & Counter(true)).total()
    if not common:
        return 0.0
    precision, recall = common / len(given), common / len(true)
    return 2 * precision * recall / (precision + recall)


def _mean(
    name: str,
    values: list[float],
    ids: Sequence[ItemId] | None,
    clusters: Sequence[Hashable] | None,
    seed: int,
) -> Score:
    names: Sequence[ItemId] = range(len(values)) if ids is None else ids
    value = sum(values) / len(values) if values else 0.0
    interval = mean_interval(values, clusters, seed=seed)
    return Score(name, value, len(values), interval, dict(zip(names, values, strict=True)))
