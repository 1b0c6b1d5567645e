"""Accuracy on control items, with its interval and a test against guessing."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from merilo.people.quality.work import Work
from merilo.statistics.distributions import at_least, at_most
from merilo.statistics.intervals import Interval, wilson


@dataclass(frozen=True, slots=True)
class ControlAccuracy:
    """One annotator's accuracy on control items.

    Attributes:
        answers: answers to controls.
        distinct: the number of distinct controls among them.
        right: the number of correct answers.
        accuracy: the share of correct answers, NaN without controls.
        interval: Wilson's 95 % interval; `None` without controls.
        guessing_odds: likelihood ratio of these answers under random guessing and under the pool's accuracy
            on controls; NaN without controls.
        guessing_p: p-value of the null hypothesis of random guessing: a small value means "better than guessing".
        below_p: probability of as few correct answers or fewer at exactly the wanted accuracy: a small value means
            "below it".
        can_tell: whether answering all controls correctly would be significantly better than guessing at 5 %.
    """

    answers: int
    distinct: int
    right: int
    accuracy: float
    interval: Interval | None
    guessing_odds: float
    guessing_p: float
    below_p: float
    can_tell: bool


def control_accuracy(work: Work, *, guess: float, wanted: float = 0.5) -> list[ControlAccuracy]:
    """Compute the accuracy on controls of every annotator.

    Args:
        work: the answers, controls among them.
        guess: the probability that a random guess is correct, 0 to 1: one over the number of options.
        wanted: the accuracy below which an annotator is excluded.

    Returns:
        One `ControlAccuracy` per annotator, in the order of their codes.
    """
    rows = np.flatnonzero(work.control)
    person = work.votes.annotator[rows]
    people = work.votes.annotators
    answers = np.bincount(person, minlength=people).tolist()
    right = np.bincount(person, work.correct[rows], people).astype(np.int64).tolist()
    pairs = np.unique(np.stack((person, work.votes.item[rows])), axis=1)
    distinct = np.bincount(pairs[0], minlength=people).tolist()
    # One correct and one wrong answer are added, so that in a perfect pool a single wrong answer does not look like
    # guessing.
    typical = (sum(right) + 1) / (sum(answers) + 2)
    return [
        _of_one(n, different, k, guess=guess, typical=typical, wanted=wanted)
        for n, different, k in zip(answers, distinct, right, strict=True)
    ]


def _of_one(
    n: int, distinct: int, right: int, *, guess: float, typical: float, wanted: float
) -> ControlAccuracy:
    nan = float("nan")
    if n == 0:
        return ControlAccuracy(0, 0, 0, nan, None, nan, nan, nan, can_tell=False)
    return ControlAccuracy(
        answers=n,
        distinct=distinct,
        right=right,
        accuracy=right / n,
        interval=wilson(right, n),
        guessing_odds=_odds(right, n, guess, typical),
        guessing_p=at_least(right, n, guess),
        below_p=at_most(right, n, wanted),
        can_tell=guess**n < 0.05,
    )


def _odds(right: int, n: int, guess: float, typical: float) -> float:
    """Compute the likelihood ratio of these answers under random guessing and under the pool's accuracy."""
    least = 1e-12
    guess = min(1.0 - least, max(least, guess))
    log_ratio = right * math.log(guess / typical) + (n - right) * math.log((1 - guess) / (1 - typical))
    return math.exp(min(700.0, log_ratio))
