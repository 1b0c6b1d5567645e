"""The annotation site in this process: its application, its log in a folder, and browsers that come from any address."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sqlalchemy import event
from starlette.testclient import TestClient

from merilo.site import serving
from merilo.site.annotation_site import AnnotationSite
from merilo.site.app import make_app
from merilo.site.journal import Journal, ServerClock, database_url
from merilo.site.served_study import load_study
from merilo.site.state import State
from merilo.studies.study_folder import StudyFolder


class SetClock(ServerClock):
    """A clock that stands until a test moves it."""

    def __init__(self) -> None:
        super().__init__()
        self.milliseconds = super().now()

    def now(self) -> int:
        return self.milliseconds


@contextmanager
def opened_site(
    folder: StudyFolder, clock: ServerClock | None = None, database: str | None = None
) -> Iterator[AnnotationSite]:
    """All groups of annotators of a frozen study on one site; SQLite does not wait for the disk."""
    journal = Journal(database_url(Path(folder.path), database))
    if journal.is_sqlite:
        journal.engine.dispose()
        event.listen(journal.engine, "connect", lambda opened, _: opened.execute("PRAGMA synchronous=OFF"))
    try:
        site = serving.opened_site(journal, [load_study(folder, arm) for arm in folder.plan.arms])
        site.clock = clock or site.clock
        yield site
    finally:
        journal.close()


def only_state(site: AnnotationSite) -> State:
    """The state of the only study of a site."""
    (state,) = site.states.values()
    return state


def state_of(site: AnnotationSite, arm: str = "people") -> State:
    """The state of a group of annotators."""
    return next(state for state in site.states.values() if state.study.arm_name == arm)


def with_rules(site: AnnotationSite, **changes: object) -> None:
    """Give the tasks of the only study by other rules."""
    state = only_state(site)
    state.rules = replace(state.rules, **changes)  # type: ignore[arg-type]
    state.study.__dict__["rules"] = state.rules


@contextmanager
def visiting(site: AnnotationSite, address: str = "127.0.0.1") -> Iterator[TestClient]:
    """A browser at an address, while the site runs; `from_elsewhere` makes further ones."""
    with TestClient(make_app(site), client=(address, 50_000), raise_server_exceptions=True) as client:
        yield client


def from_elsewhere(client: TestClient, address: str) -> TestClient:
    """Another browser at another address, on the same running site."""
    other = TestClient(client.app, client=(address, 50_000))
    other.portal = client.portal  # the same event loop
    return other


def hidden(page: str, name: str) -> str:
    """The value of a hidden field."""
    found = re.search(rf'name="{name}" value="([^"]+)"', page)
    assert found is not None, page
    return found[1]


def form_in(page: str, answer: object = "1", **more: object) -> dict[str, object]:
    """The form of a page with a task, filled with an answer."""
    return {"token": hidden(page, "token"), "task": hidden(page, "task"), "answer": answer, **more}


def answer_on(client: TestClient, path: str, page: str, known: Mapping[str, str], most: int = 1000) -> str:
    """Answer until there is no task, or so many; the page that is then shown."""
    while 'name="task"' in page and most:
        page = client.post(f"{path}task", data=form_in(page, known.get(hidden(page, "task"), "1"))).text
        most -= 1
    return page


def to_first_task(client: TestClient, path: str, person: str) -> str:
    """Come in with an id of a platform, agree, read the instruction; the page of the first task."""
    return agree(client, path, client.get(f"{path}?worker_id={person}").text)


def agree(client: TestClient, path: str, page: str) -> str:
    """Agree, and read the instruction; the page of the first task."""
    for step in ("consent", "instruction"):
        page = client.post(f"{path}{step}", data={"token": hidden(page, "token")}).text
    return page
