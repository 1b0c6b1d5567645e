"""Databases of both kinds and frozen studies for the tests of the site."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser import opened_browser
from postgres_server import PostgresServer, postgres_server
from study_people import bundled_study
from study_people import frozen as frozen_now

from merilo.site.journal import DATABASE_VARIABLE, Journal, database_url
from merilo.studies.study_folder import StudyFolder

#: The database on a PostgreSQL server that has the site's tables and nothing in them.
EMPTY = "empty"


#: Modules about concurrency and storage, which run on PostgreSQL in every `make test`; others do so in `make test-all`.
ON_POSTGRESQL = {"test_journal"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        kind = getattr(item, "callspec", None) and item.callspec.params.get("database")
        if (
            kind == "postgresql"
            and item.path.parent == Path(__file__).parent
            and item.path.stem not in ON_POSTGRESQL
        ):
            item.add_marker(pytest.mark.thorough)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The author's page waits for its status, however busy the computer is."""
    monkeypatch.setattr("merilo.site.status.PATIENCE", 60.0)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server for all tests of a process."""
    with postgres_server() as server:
        server.execute(f"CREATE DATABASE {EMPTY}")
        Journal(database_url(Path(), server.address(EMPTY))).close()
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new database; a test with it runs on SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'site.db'}"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_database(EMPTY)


@pytest.fixture
def both_databases(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test's commands and sites use PostgreSQL by default in its second run; in the first, SQLite in the study's folder."""
    if database.startswith("postgresql"):
        monkeypatch.setenv(DATABASE_VARIABLE, database)


@pytest.fixture
def journal(database: str) -> Iterator[Journal]:
    """A new log, written by this process."""
    opened = Journal(database_url(Path(), database))
    assert opened.take()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """One real browser for all tests of a module; each test opens pages of its own in it."""
    with opened_browser() as opened:
        yield opened


@pytest.fixture
def frozen(tmp_path: Path) -> Callable[..., StudyFolder]:
    """A frozen study of a bundled dataset; its shots are the control items."""
    return lambda name="bps", folder="study", **more: frozen_now(
        bundled_study(tmp_path / folder, name, **more)
    )
