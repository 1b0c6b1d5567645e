"""Signing in to the author's pages: the password, the session, and what is refused."""

import io
import re
import subprocess
import sys
from collections.abc import Callable

import httpx
import pytest
from command import merilo
from ended_process import ended_process
from itsdangerous import TimestampSigner
from site_in_process import hidden
from site_process import served_site
from sqlalchemy import Connection, select

from merilo.errors import UsageError
from merilo.site.author_session import (
    ensure_password,
    hashed,
    is_password,
    set_password,
    stored_password,
)
from merilo.site.database import database_url, open_database, writing
from merilo.site.people_access import admit_from_platform
from merilo.site.schema import EVENT, SETTING
from merilo.site.served_study import load_study, register
from merilo.site.serving import set_site_password
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
    stored = stored_password(connection)
    assert stored is not None
    assert stored.hash.startswith("$argon2id$")
    assert is_password(stored.hash, made)
    assert not is_password(stored.hash, made.lower())
    assert made not in str(connection.execute(select(SETTING)).all())


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
        for other in (cookie, aged(folder, 43_300), "x", client.cookies[VisitorCookies.AUTHOR][:-2] + "xx"):
            page = httpx.get(f"{address}/author/", cookies={VisitorCookies.AUTHOR: other})
            assert title not in page.text
        fresh = httpx.get(f"{address}/author/", cookies={VisitorCookies.AUTHOR: aged(folder, 43_000)})
        assert title in fresh.text


def aged(folder: StudyFolder, seconds: int) -> str:
    """The cookie of a session that began some time ago."""
    engine = open_database(database_url(folder.path, None))
    with engine.connect() as opened:
        key = opened.scalar(select(SETTING.c.value).where(SETTING.c.name == "cookie key"))
        stored = stored_password(opened)
    engine.dispose()
    assert stored is not None

    class Earlier(TimestampSigner):
        def get_timestamp(self) -> int:
            return super().get_timestamp() - seconds

    from hashlib import sha256

    return Earlier(str(key), salt="author", digest_method=sha256).sign(stored.session).decode()


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
        stored = stored_password(opened)
    engine.dispose()
    assert stored is not None
    assert is_password(stored.hash, made[1])


@pytest.mark.parametrize(("given", "status", "says"), [
    ("correct horse battery\n", 0, "the password is set; all sessions of authors have ended"),
    ("correct horse battery", 0, "the password is set"), ("short\n", 2, "the password must have 10 to 1,000 characters"), ("", 2, "10 to 1,000"),
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
