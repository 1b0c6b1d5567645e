"""Signing in to the author's pages: the password, the session, and what is refused."""

import io
import re
import subprocess
import sys
import time
from collections.abc import Callable

import httpx
import pytest
from author_session import signed_in
from command import merilo
from ended_process import ended_process
from fastapi.testclient import TestClient
from site_in_process import hidden, opened_site, to_first_task
from site_process import served_site
from sqlalchemy import Connection, select, update

from merilo.errors import UsageError
from merilo.site.app import make_app
from merilo.site.author_session import (
    ensure_password,
    hashed,
    is_password,
    set_password,
    stored_password,
)
from merilo.site.database import cookie_key, database_url, open_database, site_clock, writing
from merilo.site.people_access import admit_from_platform
from merilo.site.schema import AUTHOR, EVENT, SESSION
from merilo.site.served_study import load_study, register
from merilo.site.serving import remove_site_author, set_site_password
from merilo.site.site_requests import VisitorCookies
from merilo.studies.study_folder import StudyFolder

pytestmark = pytest.mark.usefixtures("both_databases")

Frozen = Callable[..., StudyFolder]
PASSWORD = "correct horse battery"


def sign_in(client: httpx.Client, password: str = PASSWORD, to: str = "/author/") -> httpx.Response:
    sent = {"token": hidden(client.get("/author/").text, "token"), "password": password, "next": to}
    return client.post("/author/sign-in", data=sent)


def said(folder: StudyFolder) -> list[str]:
    engine = open_database(database_url(folder.path, None))
    with engine.connect() as opened:
        found = list(opened.scalars(select(EVENT.c.what).order_by(EVENT.c.id)))
    engine.dispose()
    return found


def test_a_server_makes_one_password_and_keeps_only_its_hash(connection: Connection) -> None:
    made = ensure_password(connection, 5)
    assert made is not None
    assert ensure_password(connection, 6) is None
    stored = stored_password(connection, "author")
    assert stored is not None
    assert stored.startswith("$argon2id$")
    assert is_password(stored, made)
    assert not is_password(stored, made.lower())
    assert made not in str(connection.execute(select(AUTHOR)).all())


def test_the_same_letters_are_the_same_password_however_they_are_composed() -> None:
    assert is_password(hashed("Ёлочная игрушка"), "Е\u0308лочная игрушка")


@pytest.mark.parametrize("password", ["", "short", "x" * 1001])
def test_passwords_that_are_too_short_or_too_long_are_refused(password: str, connection: Connection) -> None:
    with pytest.raises(UsageError, match="10 to 1,000 characters"):
        set_password(connection, password, 5)


def test_an_author_signs_in_and_out(frozen: Frozen) -> None:
    folder = frozen()
    set_site_password(folder.path, PASSWORD)
    with (
        served_site(folder.path) as (address, _),
        httpx.Client(base_url=address, timeout=30) as client,
    ):
        assert PASSWORD not in client.get("/author/").text
        assert sign_in(client, "wrong").status_code == 403
        answer = sign_in(client)
        cookie = answer.headers["set-cookie"]
        assert answer.headers["location"] == "/author/"
        for part in ("merilo_author=", "HttpOnly", "Max-Age=43200", "Path=/author", "SameSite=strict"):
            assert part in cookie
        assert folder.plan.study in client.get("/author/").text
        assert client.post("/author/sign-out", data={"token": "x"}).status_code == 403
        client.post("/author/sign-out", data={"token": hidden(client.get("/author/").text, "token")})
        assert folder.plan.study not in client.get("/author/").text
    assert said(folder) == ["password_set", "sign_in_failed", "signed_in", "signed_out"]


@pytest.mark.thorough
def test_a_new_password_or_twelve_hours_end_a_session(frozen: Frozen) -> None:
    folder = frozen()
    set_site_password(folder.path, PASSWORD)
    with (
        served_site(folder.path) as (address, _),
        httpx.Client(base_url=address, timeout=30) as client,
    ):
        sign_in(client)
        title = folder.plan.study
        assert title in client.get("/author/").text
        cookie = client.cookies[VisitorCookies.AUTHOR]
        set_site_password(folder.path, "another password")
        assert title not in client.get("/author/").text
        sign_in(client, "another password")
        assert title in client.get("/author/").text
        for other in (cookie, "x", client.cookies[VisitorCookies.AUTHOR][:-2] + "xx"):
            page = httpx.get(f"{address}/author/", cookies={VisitorCookies.AUTHOR: other})
            assert title not in page.text
        for seconds, open_still in ((43_000, True), (-3600, True), (43_300, False)):
            age(folder, seconds)
            assert (title in client.get("/author/").text) is open_still


def test_a_copied_cookie_opens_nothing_after_its_author_has_signed_out(frozen: Frozen) -> None:
    folder = frozen()
    with served_site(folder.path) as (address, _), httpx.Client(base_url=address, timeout=30) as client:
        signed_in(client, folder.path)
        copied = {VisitorCookies.AUTHOR: client.cookies[VisitorCookies.AUTHOR]}
        assert folder.plan.study in httpx.get(f"{address}/author/", cookies=copied).text
        client.post("/author/sign-out", data={"token": hidden(client.get("/author/").text, "token")})
        assert folder.plan.study not in httpx.get(f"{address}/author/", cookies=copied).text


def test_the_log_names_authors_and_observers_only_look(frozen: Frozen) -> None:
    folder = frozen()
    set_site_password(folder.path, PASSWORD, name="Анна")
    set_site_password(folder.path, PASSWORD, name="boris", role="observer")
    with served_site(folder.path) as (address, paths):
        base = paths["people"].replace("/s/", "/author/")
        for name, allowed in (("Анна", True), ("boris", False)):
            with httpx.Client(base_url=address, timeout=30, follow_redirects=True) as client:
                token = hidden(client.get("/author/").text, "token")
                client.post("/author/sign-in", data={"token": token, "username": name, "password": PASSWORD})
                page = client.get(base).text
                assert name in page
                assert ("/pause" in page, "/export" in page, "/estimate" in page) == (allowed,) * 3
                assert client.get(f"{base}people").status_code == 200
                sent = {"token": hidden(page, "token"), "next": base, "count": "1", "once": "x"}
                for path in ("pause", "estimate", "invitations"):
                    assert client.post(f"{base}{path}", data=sent).status_code == (200 if allowed else 403)
                for path in ("answers.csv", "comments.csv", "export", "estimate"):
                    assert client.get(f"{base}{path}").status_code == (200 if allowed else 403)
                log = client.get(f"{base}log").text
        assert log.count("Анна</td>") >= 4
    remove_site_author(folder.path, "boris")
    with pytest.raises(UsageError, match="there is no account 'boris'"):
        remove_site_author(folder.path, "boris")


@pytest.mark.parametrize("name", ["", "server", "x" * 61, " a "])
def test_names_that_say_nothing_or_something_else_are_refused(name: str, connection: Connection) -> None:
    with pytest.raises(UsageError, match="takes a name"):
        set_password(connection, PASSWORD, 5, name=name)


def test_a_new_password_changes_the_key_of_the_cookies_and_a_new_account_does_not(
    connection: Connection,
) -> None:
    key = cookie_key(connection)
    assert set_password(connection, PASSWORD, 5)
    assert set_password(connection, PASSWORD, 5, name="anna")
    assert cookie_key(connection) == key
    assert not set_password(connection, PASSWORD, 5)
    assert cookie_key(connection) != key


def test_a_running_server_takes_the_new_key(frozen: Frozen) -> None:
    folder = frozen()
    with opened_site(folder) as site:
        with writing(site.engine) as opened:
            set_password(opened, PASSWORD, 5)
        with TestClient(make_app(site, overdue_every=0.05)) as client:
            (path,) = (study.path for study in site.by_key.values())
            to_first_task(client, path, "w1")
            with writing(site.engine) as opened:
                set_password(opened, "another password", 6)
            until(lambda: 'name="task"' not in client.get(f"{path}task").text)


def until(true: Callable[[], bool]) -> None:
    """Wait until something is true, for 20 seconds at most."""
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def age(folder: StudyFolder, seconds: int) -> None:
    """Let all sessions have begun so many seconds ago."""
    engine = open_database(database_url(folder.path, None))
    with writing(engine) as opened:
        opened.execute(update(SESSION).values(began=site_clock(opened).now() - 1000 * seconds))
    engine.dispose()


@pytest.mark.thorough
def test_many_wrong_passwords_are_refused_before_they_are_compared(frozen: Frozen) -> None:
    folder = frozen()
    set_site_password(folder.path, PASSWORD)
    with (
        served_site(folder.path) as (address, _),
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        statuses = [sign_in(client, f"wrong {number}").status_code for number in range(7)]
        assert statuses == [403] * 5 + [429] * 2
        answer = sign_in(client)
        assert answer.status_code == 429
        assert 0 < int(answer.headers["retry-after"]) <= 60
    assert said(folder) == ["password_set", "sign_in_failed"], "the log counts them in one event"


@pytest.mark.parametrize("to", ["//evil.example", "https://evil.example/author/", "/author//evil.example", "/s/x", "\\\\x"])  # fmt: skip
def test_signing_in_does_not_lead_to_other_sites(to: str) -> None:
    from merilo.site.author_session import local_path

    assert local_path(to) == "/author/"


@pytest.mark.thorough
def test_a_server_without_a_password_prints_the_one_it_made_and_only_once(frozen: Frozen) -> None:
    folder = frozen()
    command = [sys.executable, "-m", "merilo", "study", "serve", str(folder.path), "--port", "0"]
    printed = []
    for _ in range(2):
        with ended_process(command, stdout=subprocess.PIPE, text=True) as process:
            lines = []
            for line in process.stdout:
                lines.append(line)
                if line.startswith("The site is running"):
                    break
            process.send_signal(2)
            process.communicate(timeout=60)
        printed.append("".join(lines))
    made = re.search(
        r"the password of the author's pages is ((?:[2-9A-Z]{5}-){3}[2-9A-Z]{5}) \(shown only now", printed[0]
    )
    assert made is not None
    assert "the author's pages: http://127.0.0.1:" in printed[1]
    assert "password" not in printed[1]
    engine = open_database(database_url(folder.path, None))
    with engine.connect() as opened:
        stored = stored_password(opened, "author")
    engine.dispose()
    assert is_password(str(stored), made[1])


@pytest.mark.parametrize(("given", "status", "says"), [
    ("correct horse battery\n", 0, "the account author is made"), ("correct horse battery", 0, "the account author is made"), ("short\n", 2, "the password must have 10 to 1,000 characters"), ("", 2, "10 to 1,000"),
])  # fmt: skip
def test_the_command_reads_a_password_from_standard_input(
    given: str, status: int, says: str, frozen: Frozen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(given))
    done = merilo("study", "password", frozen().path)
    assert done.status == status
    assert says in (done.complaint if status else done.out)
    assert not given.strip() or given.strip() not in done.out + done.err


def test_people_are_excluded_reinstated_and_erased_on_the_command_line(
    frozen: Frozen, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = frozen()
    engine = open_database(database_url(folder.path, None))
    with writing(engine) as opened:
        study = register(opened, load_study(folder, "people"), 1)
        admit_from_platform(opened, study, "platform", "w7", "ru", now=2)
    engine.dispose()
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    for command, person, options, status, says in (
        ("exclude", "w7", ["--reason", "test"], 0, "excluded; 0 items are given to others"),
        ("exclude", "w7", ["--reason", "test"], 0, "nothing changed: the person was excluded before"),
        ("reinstate", "w7", [], 0, "reinstated; 0 answers count again, 0 do not"),
        ("reinstate", "w7", [], 0, "nothing changed: the person is not excluded"),
        ("exclude", "w7", ["--reason", " "], 2, "an exclusion needs a reason"),
        ("exclude", "nobody", ["--reason", "test"], 2, "there is no 'nobody' in this study"),
        ("erase", "w7", [], 2, "confirm it with --yes"),
        ("erase", "w7", ["--yes"], 0, "erased, with 0 answers; 0 items are given to others"),
        ("erase", "w7", ["--yes"], 2, "there is no 'w7' in this study"),
    ):
        done = merilo("study", command, folder.path, person, *options)
        assert done.status == status, done
        assert says in (done.complaint if status else done.out)
