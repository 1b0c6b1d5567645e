"""PostgreSQL stops while people answer: they are told, nothing acknowledged is lost, and the site goes on when it is back."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from postgres_server import PostgresServer, postgres_server
from site_in_process import hidden, opened_site, to_first_task, visiting
from sqlalchemy import Engine, create_engine, text

from merilo.errors import InputError
from merilo.site.database import database_url, open_database, writing
from merilo.site.schema import SETTING
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """A server that tests may stop."""
    with postgres_server() as server:
        yield server


@pytest.fixture
def own_engine(own_server: PostgresServer) -> Iterator[Engine]:
    engine = open_database(database_url(Path(), own_server.new_database()))
    yield engine
    engine.dispose()


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_people_are_told_while_postgresql_is_away_and_go_on_when_it_is_back(
    mode: str, own_server: PostgresServer, frozen: Frozen
) -> None:
    database = own_server.new_database()
    with opened_site(frozen(), database=database) as site, visiting(site) as client:
        path = f"/s/{next(iter(site.by_key))}/"
        page = to_first_task(client, path, "1")
        sent = {"token": hidden(page, "token"), "task": hidden(page, "task"), "answer": "1"}
        page = client.post(f"{path}task", data=sent).text
        following = {"token": hidden(page, "token"), "task": hidden(page, "task"), "answer": "0"}
        own_server.stop(mode)
        try:
            refused = client.post(f"{path}task", data=following)
            shown = client.get(f"{path}task")
        finally:
            own_server.start()
        assert refused.status_code == shown.status_code == 503
        assert "Этот ответ не сохранён" in refused.text
        saved = client.post(f"{path}task", data=following)
        assert saved.status_code == 200
        assert hidden(saved.text, "task") != following["task"]
        with site.engine.connect() as connection:
            rows = connection.execute(
                text("SELECT answer, place FROM response WHERE state = 'answered' ORDER BY place")
            )
            assert [tuple(row) for row in rows] == [("1", 1), ("0", 2)]


def test_a_site_does_not_start_without_its_database_and_says_why(own_server: PostgresServer) -> None:
    address = own_server.new_database()
    own_server.stop()
    try:
        with pytest.raises(InputError, match="cannot be opened"):
            open_database(database_url(Path(), address))
    finally:
        own_server.start()


def test_a_process_that_hangs_in_a_transaction_is_cut_off_by_the_server(own_engine: Engine) -> None:
    with own_engine.connect() as connection:
        assert connection.scalar(text("SHOW idle_in_transaction_session_timeout")) == "30s"


def test_a_commit_waits_for_the_disk_although_the_server_would_not(own_server: PostgresServer) -> None:
    address = own_server.new_database()
    name = database_url(Path(), address).database
    own_server.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    own_server.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    plain = create_engine(database_url(Path(), address))
    with plain.connect() as connection:
        assert connection.scalar(text("SHOW synchronous_commit")) == "off"
    plain.dispose()
    engine = open_database(database_url(Path(), address))
    with writing(engine) as connection:
        connection.execute(SETTING.insert().values(name="a", value="b"))
        assert connection.scalar(text("SHOW synchronous_commit")) == "on"
        assert connection.scalar(text("SHOW transaction_isolation")) == "read committed"
    engine.dispose()
