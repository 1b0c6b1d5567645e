"""Suspicious speed: people who answer much faster than the others, or faster than anyone can read. For the author alone.

The pace is that of the annotators' table of a baseline (`people.quality.response_time`), of people with enough answers. That rule compares
with the spread between people, so it misses guessers if there are many of them: a second rule has a fixed bound. A flag has no
consequence: it tells the author whose answers to look at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, update

from merilo.people.quality.annotators import READING_LIMIT, pace
from merilo.people.quality.work import Work
from merilo.site.schema import PERSON

#: Answers that a person gives before their speed is judged.
ENOUGH_ANSWERS: Final = 10

#: People with enough answers, without whom nobody is compared with the others: the spread of fewer people is not known.
ENOUGH_PEOPLE: Final = 5

#: A median time below so many seconds, and so many times below that of a typical person, is suspicious whatever the spread.
HASTY_SECONDS: Final = 2.0
HASTY_FACTOR: Final = 3.0


@dataclass(frozen=True, slots=True)
class SpeedFlag:
    """Suspicious speed of one person.

    Attributes:
        times_faster: how many times faster than a typical person on texts of the same length.
        characters_per_second: the reading speed that the times imply, in characters a second, if it is faster than anyone can read;
            `None` otherwise.
        answers: the answers that were compared.
    """

    times_faster: float
    characters_per_second: float | None
    answers: int

    def __str__(self) -> str:
        """Return the flag as the database keeps it."""
        reading = "" if self.characters_per_second is None else f"{self.characters_per_second:.0f}"
        return f"{self.times_faster:.3g};{reading};{self.answers}"


def parsed_flag(text: str | None) -> SpeedFlag | None:
    """Read a flag from the database.

    Example:
        >>> parsed_flag("3.5;;40"), parsed_flag(None)
        (SpeedFlag(times_faster=3.5, characters_per_second=None, answers=40), None)
    """
    if not text:
        return None
    faster, reading, answers = text.split(";")
    return SpeedFlag(float(faster), float(reading) if reading else None, int(answers))


def speed_flags(work: Work) -> dict[int, SpeedFlag]:
    """Find people whose speed is suspicious.

    The logarithm of the seconds is regressed on the logarithm of the text's length; a person's pace is the median of their residuals.
    A person with at least `ENOUGH_ANSWERS` answers is flagged for any of these:

    * where at least `ENOUGH_PEOPLE` people can be compared: at least twice as fast as the median person, and at least 3 robust standard
      deviations below it (from the median absolute deviation of the people, and the error of the person's own median);
    * where they can be compared: a median time below 2 seconds, and at least 3 times as fast as the median person;
    * more than `READING_LIMIT` characters a second.

    Args:
        work: the answers with their seconds and, if known, the length of the texts; each answer is a page of its own.

    Returns:
        Code of a person -> flag.

    References:
        J. Huang, P. Curran, J. Keeney, E. Poposki, R. DeShon (2012), Detecting and deterring insufficient effort responding to surveys.
        Journal of Business and Psychology 27, 99-114: 2 seconds for an item.
    """
    if work.seconds is None:
        return {}
    timed = np.isfinite(work.seconds) & (work.seconds > 0)
    answers = np.bincount(work.votes.annotator[timed], minlength=work.votes.annotators)
    enough = answers >= ENOUGH_ANSWERS
    if not enough.any():
        return {}
    compared = int(enough.sum()) >= ENOUGH_PEOPLE
    flags = {}
    for code, found in enumerate(pace(_of_people(work, enough))):
        reads = found.characters_per_second
        impossible = found.pages > 0 and reads > READING_LIMIT
        hasty = found.seconds < HASTY_SECONDS and found.times_faster >= HASTY_FACTOR
        if impossible or (compared and (found.too_fast or hasty)):
            flags[code] = SpeedFlag(found.times_faster, reads if impossible else None, found.pages)
    return flags


def store_flags(connection: Connection, flags: Mapping[int, SpeedFlag | None]) -> None:
    """Write the flags of people into the database; repeated, it changes nothing.

    Args:
        connection: an open transaction that writes.
        flags: number of a person -> flag; `None` takes it away.
    """
    for person, flag in sorted(flags.items()):
        connection.execute(
            update(PERSON).where(PERSON.c.id == person).values(flagged=None if flag is None else str(flag))
        )


def _of_people(work: Work, wanted: NDArray[np.bool_]) -> Work:
    """The work of some people."""
    rows = wanted[work.votes.annotator]
    return replace(
        work,
        votes=work.votes.where(rows),
        control=work.control[rows],
        correct=work.correct[rows],
        order=work.order[rows],
        page=None if work.page is None else work.page[rows],
        seconds=None if work.seconds is None else work.seconds[rows],
        characters=None if work.characters is None else work.characters[rows],
    )
