"""How many people came, stayed and left, and what they said of themselves, in counts that identify nobody."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import polars as pl

from merilo.atomic_write import guarded
from merilo.participation import COUNT_FIELDS, Participation
from merilo.site.served_study import ServedStudy
from merilo.site.state import Person, State

#: Somebody who has done nothing for so many milliseconds has left.
AWAY: Final = 1_800_000

#: Stage -> what is counted.
_ENDS: Final = {
    "declined": "declined",
    "refused": "failed_training",
    "stopped": "stopped",
    "excluded": "excluded",
    "finished": "finished",
}
_BEFORE_CONSENT: Final = frozenset({"consent", "declined"})


def participation(people: Iterable[Person], now: int) -> Participation:
    """Count what became of people.

    Whoever is in the middle and has done nothing for 30 minutes has left.

    Args:
        people: the people.
        now: the time, in milliseconds since 1970.
    """
    counts, left, after = Counter[str](), Counter[str](), Counter[int]()
    for person in people:
        counts["came"] += 1
        counts["agreed"] += (person.before or person.stage) not in _BEFORE_CONSENT
        if person.stage in _ENDS:
            counts[_ENDS[person.stage]] += 1
        elif person.completion is not None:
            counts["finished"] += 1
        elif now - person.last_seen < AWAY:
            counts["under_way"] += 1
        else:
            left[person.stage] += 1
            if person.stage == "working":
                after[_answered(person)] += 1
    return Participation(
        **counts, left=dict(sorted(left.items())), left_after=dict(sorted(after.items())), personal=()
    )


def count_people(state: State, now: int) -> Participation:
    """Count the people of a study, and what those who answered a task said of themselves.

    Args:
        state: the study.
        now: the time, in milliseconds since 1970.
    """
    came = participation(state.people.values(), now)
    chosen: defaultdict[str, Counter[int]] = defaultdict(Counter)
    declined = Counter[str]()
    for person in state.people.values():
        if person.stage == "excluded" or not _answered(person):
            continue
        for question, answer in person.background.items():
            if answer is None:
                declined[question] += 1
            else:
                chosen[question][answer] += 1
    asked = [demographic.words for demographic in state.study.folder.plan.demographics]
    personal = tuple(words.counted(chosen[words.name], declined[words.name]) for words in asked)
    return replace(came, personal=personal)


def _answered(person: Person) -> int:
    """Return how many test and control items a person answered."""
    return sum(person.tasks[task].state == "answered" for task in person.order)


def people_table(study: ServedStudy, came: Participation) -> str:
    """Return the counts as CSV for `merilo study import`, columns as in `COUNT_FIELDS`."""
    table = pl.DataFrame(list(came.rows(study.key)), schema=list(COUNT_FIELDS), orient="row")
    return guarded(table).write_csv()
