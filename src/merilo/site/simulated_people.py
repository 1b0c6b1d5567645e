"""Simulated people who answer a study of the annotation site, step by step as real people do, without pages.

People come one after the other and answer until nothing is left to answer. Simulated time passes from event
to event, and the events happen in its order. People's pseudonyms are their ids, which
say that they are simulated, and their orders are drawn from the seed. So the same study and seed give the same
answers at the same times.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from random import Random
from typing import Final

from merilo.errors import DataError, UsageError
from merilo.items import Item
from merilo.people.simulation import (
    CAREFUL,
    GUESSING,
    HASTY,
    SIMULATED_PREFIX,
    Kind,
    SimulatedItem,
    simulated_answer,
    simulated_seconds,
)
from merilo.site import annotator_steps as steps
from merilo.site.annotator_steps import SentAnswer, ShownTask, return_overdue
from merilo.site.journal import Journal, database_url
from merilo.site.people_access import NewPeople, admit_from_platform
from merilo.site.served_study import load_study
from merilo.site.state import Person, State
from merilo.studies.study_folder import open_study

#: Milliseconds of simulated time between two searches for tasks that were not answered in time.
_SEARCH_EVERY: Final = 60_000

#: When the first person comes, in milliseconds since 1970.
FIRST_DAY: Final = round(datetime(2026, 1, 12, 9, 0, tzinfo=UTC).timestamp() * 1000)

#: Seconds between two arrivals, for reading a page, and before somebody tries again for whom there is no task now.
_ARRIVALS: Final = 240.0
_READING: Final = 40.0
_TRY_AGAIN: Final = 600.0

#: How often somebody waits for a task before they give up.
_MOST_WAITS: Final = 60


@dataclass(frozen=True, slots=True)
class _Character:
    """A simulated person's kind; how they answer the training; after how many answers they leave without a word."""

    kind: Kind
    training: Kind = CAREFUL
    leaves_after: int | None = None


#: The characters of eight people. All of them take care in the training; the guesser guesses afterwards.
_CROWD: Final = (*[_Character(CAREFUL)] * 5, *[_Character(HASTY)] * 2, _Character(GUESSING))

#: Somebody who leaves with a task open, and somebody who fails the training: place -> character.
_SPECIAL: Final = {
    3: _Character(Kind("leaving", care=1.0, skill=0.97, seconds=24.0), leaves_after=12),
    6: _Character(
        Kind("untrained", care=1.0, skill=0.9, seconds=24.0), Kind("", care=1.0, skill=0.0, seconds=5.0)
    ),
}


@dataclass
class SimulatedVisit:
    """What became of one person.

    Attributes:
        name: the person's id, which says that they are simulated.
        answered: answers to items and control items.
        end: "done"; "refused" after the training; "stopped" after control items; "left" with a task open;
            empty while the visit lasts.
        waits: whether no task is free for the person now.
    """

    name: str
    answered: int = 0
    end: str = ""
    waits: bool = False


class SimulatedCrowd:
    """People who answer a study on the site.

    Args:
        state: the study.
        items: what simulated people know of each task, by its number.
        seed: the random seed.

    Attributes:
        visits: what became of the people, in the order in which they came.
    """

    def __init__(self, state: State, items: Sequence[SimulatedItem], seed: int) -> None:
        self.visits: list[SimulatedVisit] = []
        self._state = state
        self._items = items
        self._seed = seed
        self._newcomers = _Newcomers(seed)
        self._now = FIRST_DAY
        self._searched = 0
        self._order = count()
        self._events: list[tuple[int, int, Iterator[float]]] = []
        self._nothing_left = False

    def answer_everything(self) -> None:
        """Let people come until a new one finds nothing to answer."""
        characters = _characters(self._seed)
        while not self._nothing_left:
            self._later(0, self._arrivals(characters))
            while self._events:
                self._now, _, moves = heapq.heappop(self._events)
                if self._now - self._searched >= _SEARCH_EVERY:
                    self._searched = self._now
                    return_overdue(self._state, self._now)
                seconds = next(moves, None)
                if seconds is not None:
                    self._later(seconds, moves)

    def _later(self, seconds: float, moves: Iterator[float]) -> None:
        heapq.heappush(self._events, (self._now + round(1000 * seconds), next(self._order), moves))

    def _arrivals(self, characters: Iterator[tuple[str, _Character]]) -> Iterator[float]:
        """Let the next person come from time to time, unless earlier ones wait for a task."""
        while not self._nothing_left:
            if not any(visit.waits for visit in self.visits):
                name, character = next(characters)
                self.visits.append(SimulatedVisit(name))
                self._later(0, self._visit(self.visits[-1], character))
            yield _ARRIVALS

    def _visit(self, visit: SimulatedVisit, character: _Character) -> Iterator[float]:
        """Do what one person does; between two steps, yield the seconds that pass."""
        state, random = self._state, Random(f"{self._seed} {visit.name}")
        language = state.study.folder.plan.languages[0]
        admitted = admit_from_platform(
            state, "platform", visit.name, language, self._now, newcomers=self._newcomers
        )
        assert admitted is not None  # noqa: S101 - new people are let in
        person = admitted.person
        yield _READING
        steps.consent(state, person, self._now)
        background = {
            question.name: random.randrange(len(question.choices))
            for question in state.study.folder.plan.demographics
        }
        steps.tell_background(state, person, background, self._now)
        yield _READING
        steps.read_instruction(state, person, self._now)
        yield from self._train(person, character, random)
        for _ in range(_MOST_WAITS):
            while person.answers_tasks:
                shown = steps.next_task(state, person, self._now)
                if not isinstance(shown, ShownTask):
                    visit.waits = shown == "wait"
                    break
                if visit.answered == character.leaves_after:
                    visit.end = "left"
                    return
                yield simulated_seconds(character.kind, random)
                answer = simulated_answer(self._items[shown.number], character.kind, random)
                steps.save_answers(state, person, [SentAnswer(number=shown.number, answer=answer)], self._now)
                visit.answered += 1
            if not visit.waits:
                break
            yield _TRY_AGAIN
            visit.waits = False
        if person.answers_tasks:
            visit.end = "done"
            self._nothing_left |= not visit.answered
        else:
            visit.end = "stopped" if visit.answered else "refused"
            self._nothing_left = False

    def _train(self, person: Person, character: _Character, random: Random) -> Iterator[float]:
        """Answer the training, if there is one."""
        while person.stage == "training":
            shown = steps.next_training(self._state, person, self._now)
            assert shown is not None  # noqa: S101 - otherwise the training is over
            item = replace(self._items[shown.number], difficulty=0.0)  # nobody hurries, and there is feedback
            yield simulated_seconds(character.training, random)
            answer = simulated_answer(item, character.training, random)
            steps.save_answers(
                self._state, person, [SentAnswer(number=shown.number, answer=answer)], self._now
            )


def _characters(seed: int) -> Iterator[tuple[str, _Character]]:
    """Yield the id and the character of one person after the other."""
    random, numbers = Random(f"crowd {seed}"), Counter[str]()
    for round_ in count():
        crowd = random.sample(_CROWD, len(_CROWD))
        if not round_:
            for place, character in _SPECIAL.items():
                crowd.insert(place, character)
        for character in crowd:
            numbers[character.kind.name] += 1
            yield f"{SIMULATED_PREFIX}{character.kind.name}-{numbers[character.kind.name]:02d}", character


class _Newcomers(NewPeople):
    """Admits only simulated people, under their own ids and with seeds that can be drawn again.

    Args:
        seed: the seed of the simulation.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(f"newcomers {seed}")
        self._ids = Random(f"ids {seed}")

    def id(self) -> str:
        """Return the id of a new person."""
        return f"{self._ids.getrandbits(80):020x}"

    def pseudonym(self, external: str) -> str:
        """Return the id of a simulated person as their pseudonym.

        Raises:
            UsageError: the id does not say that the person is simulated.
        """
        if not external.startswith(SIMULATED_PREFIX):
            raise UsageError(f"only simulated people are admitted here, not '{external}'")
        return external

    def seed(self) -> int:
        """Return the seed of a new person's order."""
        return self._random.getrandbits(62)


@dataclass(frozen=True, slots=True)
class SimulatedCollection:
    """What simulated people did.

    Attributes:
        answers: answers to items and control items.
        people: how the visit ended -> people; see `SimulatedVisit.end`.
    """

    answers: int
    people: dict[str, int]


def collect_from_simulated_people(
    study: Path, *, seed: int, difficulty: Callable[[Item], float] = lambda _item: 0.0
) -> SimulatedCollection:
    """Let simulated people answer a frozen study, until every item has its answers.

    The same study and seed give the same answers at the same (simulated) times.

    Args:
        study: the study's folder; the answers are stored in its database.
        seed: the random seed.
        difficulty: returns the difficulty of an item, from 0 to 1.

    Raises:
        DataError: the study is not frozen, or another process writes to its database.
    """
    folder = open_study(study)
    name, _ = folder.arm(None)
    loaded = load_study(folder, name)
    asked = [*folder.items(), *folder.controls(), *folder.training()]
    items = [
        SimulatedItem(task.first_known or str(item.outputs), task.labels, difficulty(item))
        for task, item in zip(loaded.tasks, asked, strict=True)
    ]
    journal = Journal(database_url(folder.path, None))
    try:
        if not journal.take():
            raise DataError("another process writes to this study's database: end it first")
        state = State.of(loaded, journal)
        state.begin(0)
        crowd = SimulatedCrowd(state, items, seed)
        crowd.answer_everything()
        journal.append(state.unwritten())
    finally:
        journal.close()
    visits = crowd.visits
    return SimulatedCollection(
        sum(visit.answered for visit in visits),
        dict(Counter(visit.end for visit in visits if visit.answered or visit.end == "refused")),
    )
