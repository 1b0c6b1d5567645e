"""The quality of people: one row an annotator, what it shows, and whether the answers count."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from merilo.people.quality.chance import holm_of_tested
from merilo.people.quality.controls import ControlAccuracy, control_accuracy
from merilo.people.quality.drift import Drift, PooledDrift, drift
from merilo.people.quality.exclusion import Rule
from merilo.people.quality.peers import PeerAgreement, peer_agreement
from merilo.people.quality.response_time import Pace, pace
from merilo.people.quality.straightlining import Repetition, repetition
from merilo.people.quality.work import Work
from merilo.statistics.arrays import FloatArray

#: The level at which the tests of people are read, after Holm's correction over all people tested.
LEVEL = 0.05

#: From these odds on a person's controls are taken for a guesser's.
GUESSING_ODDS = 3.0

#: What a flag says, in words for a report.
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
    """Everything known of one person's work.

    Attributes:
        annotator: the pseudonymous id.
        answers: answers given, controls included.
        controls: accuracy on controls.
        peers: agreement with the others.
        pace: speed against the others.
        repetition: one answer again and again.
        drift: learning and fatigue.
        ability: by the name of the model ("dawid-skene", "one-coin", "glad"), the ability that it fitted.
        flags: what calls for a look, keys of `FLAGS`; a flag excludes nobody by itself.
        excluded_by: the rule that leaves the person's answers out, in words; `None` for those who count.
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
    """One question put to every person, and what chance alone would have answered.

    Attributes:
        flag: the flag that it gives.
        tested: how many people could be tested.
        below_level: how many fall below the level one by one.
        expected_by_chance: how many of them chance alone would bring, were all people alike.
        flagged: how many are left, with their flag, after Holm's correction.
    """

    flag: str
    tested: int
    below_level: int
    expected_by_chance: float
    flagged: int


@dataclass(frozen=True, slots=True)
class PeopleQuality:
    """The quality of a study's people.

    Attributes:
        annotators: one row a person, in the order of their codes.
        tests: what was tested, how often, and what chance alone would have found.
        pooled_drift: learning or fatigue of all people together.
        guess: the chance of a guesser on a control that the tests used.
        level: the level at which they were read.
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
    rule: Rule | None = None,
    guess: float | None = None,
    abilities: Mapping[str, FloatArray] | None = None,
    level: float = LEVEL,
) -> PeopleQuality:
    """Look at the work of every annotator from all sides.

    Tests against the others and against chance are corrected by Holm over the people of one test, so that in a pool of
    honest people some flag of a kind stands in at most one study of twenty; how many would have stood out without the
    correction, and by chance alone, is said beside it.

    Args:
        work: the answers, controls included.
        names: shape (annotators,), the ids behind the codes.
        rule: who is left out; `Rule()` when not given.
        guess: chance of a guesser on a control; one over the number of labels when not given.
        abilities: name of a model -> shape (annotators,), the abilities that it fitted, NaN for people it did not see.
        level: the family-wise level of each test.

    Returns:
        The quality of all people.
    """
    rule = rule or Rule()
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
    """Who gets which flag, and the account of every test."""
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
    # One in 741 of normal people lies three deviations out.
    account.append(
        ScreeningTest(
            "too_fast", len(timed), sum(z <= -3 for z in timed), len(timed) * 0.00135, len(signs["too_fast"])
        )
    )
    return signs, tuple(account)
