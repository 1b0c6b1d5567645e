"""The quality of annotators: one row per annotator with all checks, flags and the exclusion."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from merilo.people.quality.chance import holm_of_tested
from merilo.people.quality.control_accuracy import ControlAccuracy, control_accuracy
from merilo.people.quality.drift import Drift, PooledDrift, drift
from merilo.people.quality.exclusion import ExclusionRule
from merilo.people.quality.peers import PeerAgreement, peer_agreement
from merilo.people.quality.response_time import Pace, pace
from merilo.people.quality.straightlining import Repetition, repetition
from merilo.people.quality.work import Work
from merilo.statistics.arrays import FloatArray

#: The significance level of the tests, after Holm's correction over all annotators tested.
LEVEL = 0.05

#: From these odds on, an annotator's controls count as guessed.
GUESSING_ODDS = 3.0

#: Flag -> its description for reports.
FLAGS: Mapping[str, str] = {
    "guessing": "accuracy on controls is closer to random guessing than to the accuracy of the others",
    "disagrees": "agreement with the others is lower than chance explains",
    "too_fast": "much faster than the others on pages of the same length, or faster than anyone can read",
    "one_answer": "gives one answer more often than chance explains",
    "long_run": "repeats one answer in a row for longer than chance explains",
    "fatigue": "answers get worse over time",
    "learning": "answers get better over time",
}


@dataclass(frozen=True, slots=True)
class AnnotatorQuality:
    """The quality of one annotator's work.

    Attributes:
        annotator: the pseudonymous id.
        answers: answers given, controls included.
        controls: accuracy on controls.
        peers: agreement with the others.
        pace: speed compared with the others.
        repetition: how much one answer is repeated.
        drift: learning and fatigue.
        ability: by the name of the model ("dawid-skene", "one-coin", "glad"), the ability that it fitted.
        flags: reasons for a review, keys of `FLAGS`; a flag alone does not exclude the annotator.
        excluded_by: the rule that excludes the annotator's answers, in words; `None` if they are kept.
    """

    annotator: str
    answers: int
    controls: ControlAccuracy
    peers: PeerAgreement
    pace: Pace
    repetition: Repetition
    drift: Drift
    ability: Mapping[str, float] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    excluded_by: str | None = None


@dataclass(frozen=True, slots=True)
class ScreeningTest:
    """One test applied to every annotator, with the number of hits expected by chance.

    Attributes:
        flag: the flag that the test sets; the test `unreadable` (nobody can read so fast) sets `too_fast` as well.
        tested: how many annotators could be tested.
        below_level: how many p-values are below the level without correction; of the speeds, how many are 3 robust
            deviations above the others, or above what anyone can read.
        expected_by_chance: how many of these are expected by chance under the null hypothesis.
        flagged: how many of these are flagged: after Holm's correction, or if they are also twice as fast as the others.
    """

    flag: str
    tested: int
    below_level: int
    expected_by_chance: float
    flagged: int


@dataclass(frozen=True, slots=True)
class PeopleQuality:
    """The quality of a study's annotators.

    Attributes:
        annotators: one row per annotator, in the order of their codes.
        tests: the tests, with the number of annotators tested, found and expected by chance.
        pooled_drift: learning or fatigue of all annotators together.
        guess: the probability of guessing a control correctly that the tests used.
        level: the significance level of the tests.
    """

    annotators: tuple[AnnotatorQuality, ...]
    tests: tuple[ScreeningTest, ...]
    pooled_drift: PooledDrift
    guess: float
    level: float = LEVEL


def people_quality(
    work: Work,
    names: Sequence[str],
    *,
    rule: ExclusionRule | None = None,
    guess: float | None = None,
    abilities: Mapping[str, FloatArray] | None = None,
    level: float = LEVEL,
) -> PeopleQuality:
    """Compute all quality measures of every annotator.

    The p-values of each test are corrected by Holm's method over the annotators, so that in a study of honest
    annotators the test sets any flag in at most one study of twenty. The number of p-values below the level without
    the correction, and the number expected by chance, are reported too.

    Args:
        work: the answers, controls included.
        names: shape (annotators,), the ids behind the codes.
        rule: the exclusion rule; by default `ExclusionRule()`.
        guess: the probability of guessing a control correctly; by default one over the number of labels.
        abilities: name of a model -> shape (annotators,), the abilities that it fitted, NaN for annotators without
            answers.
        level: the family-wise level of each test.

    Returns:
        The quality of all annotators.
    """
    rule = rule or ExclusionRule()
    guess = 1.0 / max(1, work.votes.labels) if guess is None else guess
    controls = control_accuracy(work, guess=guess, wanted=rule.min_control_accuracy)
    peers, speeds, repeats = peer_agreement(work), pace(work), repetition(work)
    drifts, pooled = drift(work)
    signs, tests = _screen(
        controls=controls, peers=peers, speeds=speeds, repeats=repeats, drifts=drifts, level=level
    )
    answers = np.bincount(work.votes.annotator, minlength=work.votes.annotators).tolist()
    rows = tuple(
        AnnotatorQuality(
            annotator=name,
            answers=answers[code],
            controls=controls[code],
            peers=peers[code],
            pace=speeds[code],
            repetition=repeats[code],
            drift=drifts[code],
            ability={model: float(values[code]) for model, values in (abilities or {}).items()},
            flags=tuple(flag for flag in FLAGS if code in signs[flag]),
            excluded_by=str(rule) if rule.excludes(controls[code]) else None,
        )
        for code, name in enumerate(names)
    )
    return PeopleQuality(rows, tests, pooled, guess, level)


def _screen(
    *,
    controls: list[ControlAccuracy],
    peers: list[PeerAgreement],
    speeds: list[Pace],
    repeats: list[Repetition],
    drifts: list[Drift],
    level: float,
) -> tuple[dict[str, set[int]], tuple[ScreeningTest, ...]]:
    """Return the flags of every annotator, and the summary of every test."""
    tested = {
        "disagrees": [row.p for row in peers],
        "one_answer": [row.share_p for row in repeats],
        "long_run": [row.run_p for row in repeats],
        "drift": [row.p for row in drifts],
    }
    signs: dict[str, set[int]] = {flag: set() for flag in FLAGS}
    signs["guessing"] = {
        code for code, row in enumerate(controls) if row.can_tell and row.guessing_odds >= GUESSING_ODDS
    }
    signs["too_fast"] = {code for code, row in enumerate(speeds) if row.too_fast}
    account = []
    for name, values in tested.items():
        p = np.array(values, dtype=np.float64)
        hit = set(np.flatnonzero(holm_of_tested(p) < level).tolist())
        if name == "drift":
            signs["learning"] = {code for code in hit if drifts[code].z > 0}
            signs["fatigue"] = hit - signs["learning"]
        else:
            signs[name] = hit
        known = int((~np.isnan(p)).sum())
        account.append(ScreeningTest(name, known, int((p < level).sum()), known * level, len(hit)))
    timed = [row.z for row in speeds if not math.isnan(row.z)]
    # One in 741 normal values lies below three standard deviations.
    fast = sum(z <= -3 for z in timed)
    account.append(
        ScreeningTest("too_fast", len(timed), fast, len(timed) * 0.00135, sum(row.hasty for row in speeds))
    )
    read = sum(not math.isnan(row.characters_per_second) for row in speeds)
    unreadable = sum(row.unreadable for row in speeds)
    account.append(ScreeningTest("unreadable", read, unreadable, 0.0, unreadable))
    return signs, tuple(account)
