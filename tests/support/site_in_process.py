"""The annotation site in this process: its application, its database in a folder, and browsers that come from any address."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastapi.testclient import TestClient
from sqlalchemy import event

from merilo.site.annotation_site import AnnotationSite
from merilo.site.app import make_app
from merilo.site.author import author_secret
from merilo.site.database import ServerClock, cookie_key, database_url, open_database, writing
from merilo.site.served_study import load_study, register
from merilo.studies.study_folder import StudyFolder


@contextmanager
def opened_site(
    folder: StudyFolder, clock: ServerClock | None = None, database: str | None = None
) -> Iterator[AnnotationSite]:
    """All groups of annotators of a frozen study on one site; SQLite does not wait for the disk."""
    engine = open_database(database_url(Path(folder.path), database))
    if engine.dialect.name == "sqlite":
        engine.dispose()
        event.listen(engine, "connect", lambda opened, _: opened.execute("PRAGMA synchronous=OFF"))
    try:
        with writing(engine) as connection:
            studies = [register(connection, load_study(folder, arm), 1) for arm in folder.plan.arms]
            key, secret = cookie_key(connection), author_secret(connection)
        yield AnnotationSite(engine, studies, clock or ServerClock(), key, author_secret=secret)
    finally:
        engine.dispose()


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


def to_first_task(client: TestClient, path: str, person: str) -> str:
    """Come in with an id of a platform, agree, read the instruction; the page of the first task."""
    page = client.get(f"{path}?worker_id={person}").text
    for step in ("consent", "instruction"):
        page = client.post(f"{path}{step}", data={"token": hidden(page, "token")}).text
    return page
