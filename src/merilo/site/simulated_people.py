"""Simulated people who come to the site one after the other and answer over HTTP until nothing is left to answer.

Simulated time passes from event to event, and the events happen in its order, so the same seed gives the same answers at the same times.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http.client import HTTPConnection
from itertools import count
from random import Random
from typing import Final

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
from merilo.site.simulated_browser import SimulatedBrowser

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
        end: "done"; "refused" after the training; "stopped" after control items; "left" with a task open; empty while the visit lasts.
        waits: whether no task is free for the person now.
    """

    name: str
    answered: int = 0
    end: str = ""
    waits: bool = False


class SimulatedCrowd:
    """People who answer a study on the site.

    Args:
        connection: the connection to the server.
        path: the path of the study's pages.
        items: a task's id -> the item.
        seed: the random seed.

    Attributes:
        visits: what became of the people, in the order in which they came.
    """

    def __init__(
        self, connection: HTTPConnection, path: str, items: Mapping[str, SimulatedItem], seed: int
    ) -> None:
        self.visits: list[SimulatedVisit] = []
        self._connection = connection
        self._path = path
        self._items = items
        self._seed = seed
        self._now = FIRST_DAY
        self._order = count()
        self._events: list[tuple[int, int, Iterator[float]]] = []
        self._nothing_left = False

    def answer_everything(self) -> None:
        """Let people come until a new one finds nothing to answer.

        Raises:
            InputError: the server answers with an error.
            OSError: the server cannot be reached.
        """
        characters = _characters(self._seed)
        while not self._nothing_left:
            self._later(0, self._arrivals(characters))
            while self._events:
                self._now, _, steps = heapq.heappop(self._events)
                seconds = next(steps, None)
                if seconds is not None:
                    self._later(seconds, steps)

    def _later(self, seconds: float, steps: Iterator[float]) -> None:
        heapq.heappush(self._events, (self._now + round(1000 * seconds), next(self._order), steps))

    def _arrivals(self, characters: Iterator[tuple[str, _Character]]) -> Iterator[float]:
        """Let the next person come from time to time, unless earlier ones wait for a task."""
        while not self._nothing_left:
            if not any(one.waits for one in self.visits):
                name, character = next(characters)
                self.visits.append(SimulatedVisit(name))
                self._later(0, self._steps(self.visits[-1], character))
            yield _ARRIVALS

    def _steps(self, visit: SimulatedVisit, character: _Character) -> Iterator[float]:
        """Do what one person does; between two steps, yield the seconds that pass."""
        browser, random = SimulatedBrowser(self._connection), Random(f"{self._seed} {visit.name}")
        page = browser.get(f"{self._path}?worker_id={visit.name}", self._now)
        for _ in range(_MOST_WAITS):
            while (form := page.form) is not None:
                training = form.action.endswith("/training")
                if not training and visit.answered == character.leaves_after:
                    visit.end = "left"
                    return
                if "task" not in form.hidden:
                    yield _READING
                    page = browser.send(form, {}, self._now)
                    continue
                item = self._items[form.hidden["task"]]
                kind = character.kind
                if training:  # nobody hurries, and there is feedback
                    kind, item = character.training, replace(item, difficulty=0.0)
                yield simulated_seconds(kind, random)
                answer = {"answer": simulated_answer(item, kind, random), "then": "next"}
                page = browser.send(form, answer, self._now)
                visit.answered += not training
                while page.form is None and page.link and not page.path.endswith("/task"):
                    page = browser.get(page.link, self._now)
            visit.waits = page.path.endswith("/task") and bool(page.link)
            if not visit.waits:
                break
            yield _TRY_AGAIN
            page = browser.get(page.link, self._now)
        visit.waits = False
        if page.path.endswith("/task"):
            visit.end = "done"
            self._nothing_left |= not visit.answered
        else:
            visit.end = "stopped" if visit.answered else "refused"
            self._nothing_left = False


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
