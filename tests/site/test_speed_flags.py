"""Suspicious speed: crowds of honest people of differing speeds have few flags, guessers are found."""

import math

import numpy as np
import pytest

from merilo.people.quality import Work
from merilo.people.votes import Votes
from merilo.site.collected_figures import (
    ENOUGH_ANSWERS,
    ENOUGH_PEOPLE,
    speed_flags,
)


def crowd(
    seed: int,
    *,
    people: int = 20,
    answers: int = 30,
    guessers: int = 0,
    middle: float = 10.0,
    characters: float | None = None,
) -> Work:
    """Simulated answers: people differ by a factor of 1.5, items by 1.4, single answers by 1.8; guessers need about 1 s."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), answers)
    item = np.concatenate([rng.choice(4 * answers, answers, replace=False) for _ in range(people)])
    own, hard = rng.normal(0, math.log(1.5), people), rng.normal(0, math.log(1.4), 4 * answers)
    seconds = middle * np.exp(own[person] + hard[item] + rng.normal(0, math.log(1.8), person.size))
    guess = person < guessers
    seconds[guess] = np.exp(rng.normal(0, 0.3, int(guess.sum())))
    n, kind = person.size, np.int32
    return Work(
        Votes(item.astype(kind), person.astype(kind), np.zeros(n, kind), 4 * answers, people, 1),
        control=np.zeros(n, bool), order=np.arange(n, dtype=float),
        seconds=seconds, characters=None if characters is None else np.full(n, characters),
    )  # fmt: skip


@pytest.mark.parametrize("people", [5, 10, 20, 60])
def test_at_most_one_honest_person_in_forty_is_flagged(people: int) -> None:
    crowds = 900 // people
    flagged = sum(len(speed_flags(crowd(seed, people=people, middle=5.0))) for seed in range(crowds))
    assert flagged / (crowds * people) < 0.025


@pytest.mark.parametrize(("people", "guessers"), [(10, 1), (20, 4), (20, 8), (60, 15)])
def test_people_who_guess_within_a_second_are_found_up_to_two_fifths_of_the_crowd(
    people: int, guessers: int
) -> None:
    flags = [speed_flags(crowd(seed, people=people, guessers=guessers)) for seed in range(20)]
    found = sum(code < guessers for one in flags for code in one)
    assert found >= 0.95 * 20 * guessers


def test_slow_people_are_not_flagged() -> None:
    work = crowd(1)
    assert work.seconds is not None
    work.seconds[work.votes.annotator == 3] *= 50
    assert 3 not in speed_flags(work)


def test_a_person_with_few_answers_is_not_judged() -> None:
    assert set(speed_flags(crowd(2, guessers=1))) >= {0}
    few = crowd(2, guessers=1)
    assert few.seconds is not None
    mine = np.flatnonzero(few.votes.annotator == 0)
    few.seconds[mine[ENOUGH_ANSWERS - 1 :]] = np.nan
    assert 0 not in speed_flags(few)


def test_fewer_than_five_people_are_not_compared_but_nobody_reads_a_thousand_characters_in_a_second() -> None:
    people = ENOUGH_PEOPLE - 1
    assert speed_flags(crowd(3, people=people, guessers=1)) == {}
    flags = speed_flags(crowd(3, people=people, guessers=1, middle=60.0, characters=1000.0))
    assert list(flags) == [0]
    assert flags[0].characters_per_second == pytest.approx(1000, rel=0.3)


def test_answers_without_times_have_no_flags() -> None:
    work = crowd(4, guessers=3)
    assert work.seconds is not None
    work.seconds[:] = np.nan
    assert speed_flags(work) == {}
