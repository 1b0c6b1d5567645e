"""Simulated people who answer a study on the annotation site: a server on 127.0.0.1, and people who speak HTTP to it.

People come one after the other and answer until nothing is left to answer. Simulated time passes from event
to event, and the events happen in its order. The server's clock shows the simulated time, people's pseudonyms
are their ids, which say that they are simulated, and their orders are drawn from the seed. So the same study
and seed give the same answers at the same times.
"""

from __future__ import annotations

import heapq
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from random import Random
from typing import Final
from urllib.parse import urlencode

import uvicorn

from merilo.errors import InputError, UsageError
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
from merilo.site.annotation_site import AnnotationSite
from merilo.site.app import make_app, return_overdue
from merilo.site.database import cookie_key, database_url, open_database, writing
from merilo.site.people_access import NewPeople
from merilo.site.served_study import load_study, register
from merilo.site.server_clock import ServerClock
from merilo.studies.study_export import arm_of
from merilo.studies.study_folder import StudyFolder, open_study
from merilo.studies.study_tasks import study_tasks

#: Milliseconds of simulated time between two searches for tasks that were not answered in time.
_SEARCH_EVERY: Final = 60_000

#: The search by the real clock is not used; seconds.
_NEVER: Final = 1e6

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
        connection: the connection to the server.
        at: called with the simulated time before every request.
        path: the path of the study's pages.
        items: a task's id -> the item.
        seed: the random seed.

    Attributes:
        visits: what became of the people, in the order in which they came.
    """

    def __init__(
        self,
        connection: HTTPConnection,
        at: Callable[[int], None],
        path: str,
        items: Mapping[str, SimulatedItem],
        seed: int,
    ) -> None:
        self.visits: list[SimulatedVisit] = []
        self._connection = connection
        self._at = at
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
                self._at(self._now)
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
        browser, random = _Browser(self._connection), Random(f"{self._seed} {visit.name}")
        page = browser.get(f"{self._path}?worker_id={visit.name}")
        for _ in range(_MOST_WAITS):
            while (form := page.form) is not None:
                training = form.action.endswith("/training")
                if not training and visit.answered == character.leaves_after:
                    visit.end = "left"
                    return
                if "task" not in form.hidden:
                    yield _READING
                    page = browser.send(form, {})
                    continue
                item = self._items[form.hidden["task"]]
                kind = character.kind
                if training:  # nobody hurries, and there is feedback
                    kind, item = character.training, replace(item, difficulty=0.0)
                yield simulated_seconds(kind, random)
                answer = {"answer": simulated_answer(item, kind, random), "then": "next"}
                page = browser.send(form, answer)
                visit.answered += not training
                while page.form is None and page.link and not page.path.endswith("/task"):
                    page = browser.get(page.link)
            visit.waits = page.path.endswith("/task") and bool(page.link)
            if not visit.waits:
                break
            yield _TRY_AGAIN
            page = browser.get(page.link)
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


#: Pages that one click may lead over.
_MOST_REDIRECTS: Final = 8


@dataclass(frozen=True, slots=True)
class _Form:
    """A form of a page.

    Attributes:
        action: the address that it is sent to.
        hidden: its hidden fields.
    """

    action: str
    hidden: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Page:
    """A page as the simulation sees it.

    Attributes:
        path: its address.
        form: its form, beside the one that changes the language; `None` without one.
        link: the address of its main link; empty without one.
    """

    path: str
    form: _Form | None
    link: str


@dataclass
class _Browser:
    """A person's browser: its cookies, and the connection, which several browsers may share.

    Attributes:
        connection: the connection to the server.
        cookies: name -> value.
    """

    connection: HTTPConnection
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, address: str) -> _Page:
        """Open a page."""
        return self._request("GET", address, "")

    def send(self, form: _Form, values: Mapping[str, str]) -> _Page:
        """Send a form with its hidden fields and return the page that follows."""
        return self._request("POST", form.action, urlencode({**form.hidden, **values}))

    def _request(self, method: str, address: str, body: str) -> _Page:
        for _ in range(_MOST_REDIRECTS):
            headers = {"Accept": "text/html", "Accept-Language": "ru"}
            if self.cookies:
                headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            if method == "POST":
                headers["Content-Type"] = "application/x-www-form-urlencoded"
            self.connection.request(method, address, body or None, headers)
            answer = self.connection.getresponse()
            text = answer.read().decode()
            for name, value in answer.getheaders():
                if name.lower() == "set-cookie":
                    key, _, rest = value.partition("=")
                    self.cookies[key] = rest.partition(";")[0]
            if answer.status in {302, 303}:
                method, address, body = "GET", answer.getheader("location", "/"), ""
                continue
            if answer.status != 200:
                raise InputError(
                    f"the site answered a simulated person with the status {answer.status}", file=address
                )
            return _seen(address, text)
        raise InputError("the site sends a simulated person in a circle", file=address)


class _Reader(HTMLParser):
    """Collects the forms and the main link of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, dict[str, str]]] = []
        self.link = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append((given.get("action", ""), {}))
        elif tag == "input" and given.get("type") == "hidden" and self.forms:
            self.forms[-1][1][given.get("name", "")] = given.get("value", "")
        elif tag == "a" and given.get("class") == "main":
            self.link = given.get("href", "")


def _seen(path: str, text: str) -> _Page:
    reader = _Reader()
    reader.feed(text)
    forms = (_Form(action, hidden) for action, hidden in reader.forms if not action.endswith("/language"))
    return _Page(path.partition("?")[0], next(forms, None), reader.link)


class _Clock(ServerClock):
    """A clock that shows the time that it was set to, and never runs backwards."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0

    def set(self, milliseconds: int) -> None:
        """Set the clock."""
        self._now = max(self._now, milliseconds)

    def now(self) -> int:
        """Return the time, in milliseconds since 1970."""
        return self._now


class _Newcomers(NewPeople):
    """Admits only simulated people, under their own ids and with seeds that can be drawn again.

    Args:
        seed: the seed of the simulation.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(f"newcomers {seed}")

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
        address: the address of the server.
        answers: answers to items and control items.
        people: how the visit ended -> people; see `SimulatedVisit.end`.
    """

    address: str
    answers: int
    people: dict[str, int]


def collect_from_simulated_people(
    study: Path, *, seed: int, difficulty: Callable[[Item], float] = lambda _item: 0.0
) -> SimulatedCollection:
    """Serve a frozen study on this computer and let simulated people answer it, until every item has its answers.

    The same study and seed give the same answers at the same (simulated) times.

    Args:
        study: the study's folder; the answers are stored in its database.
        seed: the random seed.
        difficulty: returns the difficulty of an item, from 0 to 1.

    Raises:
        InputError: the study is not frozen.
    """
    folder = open_study(study)
    name, _ = arm_of(folder, None)
    tasks = study_tasks(folder)
    both = (
        *zip(tasks.tests, folder.items(), strict=True),
        *zip(tasks.controls, folder.controls(), strict=True),
        *zip(tasks.training, folder.training(), strict=True),
    )
    items = {
        task.id: SimulatedItem(task.first_known or str(one.item.outputs), task.labels, difficulty(one.item))
        for task, one in both
    }
    with _server(folder, seed) as (port, at):
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        crowd = SimulatedCrowd(connection, at, f"/s/{tasks.ids.study(name)}/", items, seed)
        try:
            crowd.answer_everything()
        finally:
            connection.close()
    visits = crowd.visits
    return SimulatedCollection(
        f"http://127.0.0.1:{port}",
        sum(one.answered for one in visits),
        dict(Counter(one.end for one in visits if one.answered or one.end == "refused")),
    )


@contextmanager
def _server(folder: StudyFolder, seed: int) -> Iterator[tuple[int, Callable[[int], None]]]:
    """Serve a study in a thread; yield the port, and the function that sets the server's clock."""
    loaded = [load_study(folder, arm) for arm in folder.plan.arms]
    engine = open_database(database_url(folder.path, None))
    clock, searched = _Clock(), 0

    def at(now: int) -> None:
        nonlocal searched
        clock.set(now)
        if clock.now() - searched >= _SEARCH_EVERY:
            searched = clock.now()
            with writing(engine) as connection:
                return_overdue(site, connection)

    try:
        with writing(engine) as connection:
            studies = [register(connection, one, 0) for one in loaded]
            key = cookie_key(connection)
        site = AnnotationSite(engine, studies, clock, key, newcomers=_Newcomers(seed))
        settings = uvicorn.Config(
            make_app(site, overdue_every=_NEVER), log_level="warning", access_log=False, timeout_graceful_shutdown=1
        )  # fmt: skip
        server = uvicorn.Server(settings)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            running = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
            running.start()
            try:
                yield listener.getsockname()[1], at
            finally:
                server.should_exit = True
                running.join()
    finally:
        engine.dispose()
