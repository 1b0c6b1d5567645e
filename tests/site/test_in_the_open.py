"""What strangers must not be able to do to a site in the open, one test a rule."""

import re
import socket
import sqlite3
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import httpx
import pytest
from command import merilo
from postgres_server import PostgresServer
from site_in_process import (
    form_in,
    from_elsewhere,
    hidden,
    only_state,
    opened_site,
    state_of,
    to_first_task,
    visiting,
)
from site_process import served_site
from starlette.testclient import TestClient
from study_people import frozen, study_of

from merilo.items import Item
from merilo.site.author_actions import AuthorActions
from merilo.site.journal import Event, LogEntry, ServerClock
from merilo.site.serving import back_up_site, erase_from_site, invite_to_site
from merilo.site.site_requests import VisitorCookies
from merilo.site.visitor_limits import VisitorLimits
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]


def planned(study: StudyFolder, *lines: tuple[str, str]) -> StudyFolder:
    """The study with changes in its plan, frozen again."""
    plan = study.path / "study.yaml"
    text = plan.read_text("utf-8")
    for old, new in lines:
        assert old in text
        text = text.replace(old, new, 1)
    plan.write_text(text, encoding="utf-8")
    return frozen(study)


def post(client: TestClient, address: str, page: str, **form: str) -> httpx.Response:
    sent = {"token": hidden(page, "token"), "task": hidden(page, "task"), **form}
    return client.post(address, data=sent, follow_redirects=False)


def test_places_that_new_ids_of_an_address_hold_are_few_until_they_answer(frozen: Frozen) -> None:
    with opened_site(frozen()) as site, visiting(site, "203.0.113.9") as client:
        site.limits = VisitorLimits(lambda: 1000.0)
        path = site.studies[0].path

        def comes(name: str) -> int:
            return (
                from_elsewhere(client, "203.0.113.9")
                .get(f"{path}?worker_id={name}", follow_redirects=False)
                .status_code
            )

        page = to_first_task(client, path, "acts")
        assert [comes(f"w{number}") for number in range(30)] == [303] * 29 + [429]
        while 'name="task"' in page and only_state(site).people:
            post(client, f"{path}task", page, answer="1")
            page = client.get(f"{path}task").text
        assert [comes("next"), comes("another")] == [303, 429], "who has answered is counted no more"
        assert comes("w7") == 303, "who came before goes on"
        other = from_elsewhere(client, "203.0.113.10")
        assert other.get(f"{path}?worker_id=w201", follow_redirects=False).status_code == 303


def test_a_closed_study_admits_listed_ids_and_invited_people_alone(frozen: Frozen) -> None:
    folder = planned(frozen(), ("    kind: basic\n", "    kind: basic\n    listed: true\n"))
    ((_, link),) = invite_to_site(folder.path)
    with opened_site(folder) as site, visiting(site) as client:
        path = site.studies[0].path
        refused = client.get(f"{path}?PROLIFIC_PID=made-up")
        assert 'name="code"' in refused.text
        (folder.path / "people.txt").write_text("5f3a\n77b1\n", encoding="utf-8-sig")
        assert client.get(f"{path}?PROLIFIC_PID=5f3a", follow_redirects=False).status_code == 303
        assert client.get(f"{path}?PROLIFIC_PID=5f3", follow_redirects=False).status_code == 200
        assert client.get(link, follow_redirects=False).status_code == 303
        assert [person.source for person in only_state(site).people.values()] == ["prolific", "link"]


def test_pages_of_control_items_are_those_of_the_test_byte_by_byte(tmp_path: Path) -> None:
    def items(name: str, count: int) -> list[Item]:
        return [
            Item(f"{name}{n}", "Ответьте: {inputs}", "Столица Франции?", "Париж", {"id": f"{name}{n}"})
            for n in range(count)
        ]

    study = study_of(tmp_path / "study", items("t", 8), items("c", 4), dataset_name="chegeka")
    recorded = "assistance: {signals: true, hidden_text: true, declaration: true}\ninstruction: "
    folder = planned(
        study,
        ("instruction: ", recorded),
        ("languages: [ru]\n", "languages: [ru]\nseed: 8\n"),
        ("seed: 7\n", ""),
    )
    shapes: dict[bool, set[str]] = {True: set(), False: set()}
    with opened_site(folder) as site, visiting(site) as client:
        (served,) = site.studies
        page = to_first_task(client, served.path, "w1")
        for _ in range(9):
            task = served.tasks[served.numbers[hidden(page, "task")]]
            bare = re.sub(r"слово [a-z]{8}", "слово WORD", page.replace(task.id, "ID"))
            shapes[task.kind == "control"].add(re.sub(r'token" value="[^"]+"', "", re.sub(r"\d+", "N", bare)))
            page = client.post(
                f"{served.path}task",
                data={"token": hidden(page, "token"), "task": task.id, "answer": "Париж"},
            ).text
    assert len(shapes[True]) == 1
    assert shapes[True] == shapes[False]
    assert "WORD" in shapes[True].pop()


def test_a_restored_backup_gives_nobody_the_place_of_somebody_who_came_later(
    frozen: Frozen, tmp_path: Path
) -> None:
    folder = frozen()
    with opened_site(folder) as site, visiting(site) as client:
        path, key = site.studies[0].path, site.studies[0].key
        to_first_task(client, path, "before")
    back_up_site(folder.path, tmp_path / "copy.db")
    with opened_site(folder) as site, visiting(site) as later:
        to_first_task(later, path, "later")
        cookie = later.cookies[f"{VisitorCookies.PERSON}-{key}"]
    (tmp_path / "copy.db").replace(folder.path / "site.db")
    with opened_site(folder) as site, visiting(site) as client:
        to_first_task(client, path, "new")
        assert {person.external for person in only_state(site).people.values()} == {"before", "new"}
        old = from_elsewhere(client, "127.0.0.1")
        old.cookies.set(f"{VisitorCookies.PERSON}-{key}", cookie)
        assert 'name="task"' not in old.get(f"{path}task").text


def test_erased_text_is_in_no_file_also_while_a_reader_holds_the_log_and_in_no_backup(
    frozen: Frozen, tmp_path: Path
) -> None:
    folder, (secret, remark, reason) = frozen("chegeka"), ("тайна-9431", "замечание-9432", "причина-9433")
    with opened_site(folder) as site, visiting(site) as client:
        path = site.studies[0].path
        page = to_first_task(client, path, "w-secret-id")
        client.post(f"{path}task", data=form_in(page, secret, comment=remark))
        (person,) = only_state(site).people.values()
        AuthorActions(only_state(site), 8, "author").exclude(person.pseudonym, reason)
        site.journal.append(only_state(site).unwritten())
        with closing(sqlite3.connect(folder.path / "site.db")) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM event").fetchone()
            site.journal._connection.exec_driver_sql("PRAGMA busy_timeout=100")
            AuthorActions(only_state(site), 9, "author").erase(person.pseudonym)
            site.journal.append(only_state(site).unwritten())
        site.journal.append([LogEntry("", [Event(9, "setting", facts={"name": "x", "value": "y"})])])
        content = b"".join(file.read_bytes() for file in folder.path.glob("site.db*"))
    back_up_site(folder.path, tmp_path / "copy.db")
    for text in (secret, remark, reason, "w-secret-id", person.id, person.pseudonym):
        assert text.encode() not in content + (tmp_path / "copy.db").read_bytes()


def test_erased_text_is_in_no_table_file_of_postgresql(frozen: Frozen, postgres: PostgresServer) -> None:
    folder, database = frozen("chegeka"), postgres.new_database()
    with opened_site(folder, database=database) as site, visiting(site) as client:
        to_first_task(client, site.studies[0].path, "w-secret-4417")
    postgres.execute("CHECKPOINT")

    def stored() -> bool:
        return any(
            b"w-secret-4417" in file.read_bytes()
            for file in (postgres._data / "base").rglob("*")
            if file.is_file()
        )

    assert stored()
    erase_from_site(folder.path, "w-secret-4417", database=database)
    postgres.execute("CHECKPOINT")
    assert not stored()


def test_over_https_cookies_belong_to_this_host_and_posts_to_this_origin(frozen: Frozen) -> None:
    with opened_site(frozen()) as site, visiting(site) as client:
        client.base_url = "https://testserver"
        path = site.studies[0].path
        arrived = client.get(f"{path}?worker_id=w1", follow_redirects=False)
        page = client.get(path)
        entered = client.get(f"/author/{site.author_secret}")
        cookies = [
            line for answer in (arrived, page, entered) for line in answer.headers.get_list("set-cookie")
        ]
        assert len(cookies) == 3
        for cookie in cookies:
            name, *rest = (part.strip().lower() for part in cookie.split(";"))
            assert name.startswith("__host-")
            assert {"path=/", "secure", "httponly"} <= set(rest)
            assert not [part for part in rest if part.startswith("domain")]
        assert page.headers["referrer-policy"] == "same-origin", (
            "with no-referrer, browsers send the origin 'null'"
        )
        token = hidden(page.text, "token")
        foreign = ("https://evil.testserver", "http://testserver", "null", "https://[")
        headers = [{"Origin": origin} for origin in foreign] + [{"Sec-Fetch-Site": "same-site"}]
        for header in headers:
            assert client.post(f"{path}consent", data={"token": token}, headers=header).status_code == 403
        own = client.post(
            f"{path}consent",
            data={"token": token},
            headers={"Origin": "https://testserver:8443"},
            follow_redirects=False,
        )
        assert own.status_code == 303


def test_requests_that_wait_on_a_connection_are_bounded(frozen: Frozen) -> None:
    with served_site(frozen().path) as (address, _), ExitStack() as opened:
        host, port = address.removeprefix("http://").split(":")
        one = b"GET /static/annotator.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for _ in range(50):
            connection = opened.enter_context(socket.create_connection((host, int(port)), timeout=30))
            connection.sendall(one * 2_000)
        begun = time.monotonic()
        assert httpx.get(f"{address}/health", timeout=20).status_code == 204
        assert time.monotonic() - begun < 10
        received = b""
        with closing(connection), suppress(ConnectionResetError):  # closed with requests unread
            while more := connection.recv(1 << 20):
                received += more
        assert received.count(b"HTTP/1.1 200") <= 10


@pytest.mark.parametrize(("typed", "status"), [
    ("не показан: вопрос придуман этим экспертом", 422), ("This may be mine.", 422),
    ("Не показан: вопрос придуман этим экспертом", 303),  # another spelling of the mark is no mark
])  # fmt: skip
def test_no_typed_text_marks_a_task_as_skipped(typed: str, status: int, frozen: Frozen) -> None:
    with opened_site(frozen("chegeka")) as site, visiting(site) as client:
        path = site.studies[0].path
        page = to_first_task(client, path, "w1")
        assert post(client, f"{path}task", page, answer=typed).status_code == status
        (person,) = only_state(site).people.values()
        assert [task.answer for task in person.tasks.values() if task.answer] == [typed] * (status == 303)


def test_a_replaced_link_ends_the_sessions_that_it_opened(frozen: Frozen) -> None:
    folder = frozen(experts=True)
    ((_, link),) = invite_to_site(folder.path, experts=("Anna",))
    with opened_site(folder) as site, visiting(site) as client:
        state = state_of(site, "experts")
        page = client.get(link).text
        form = {"token": hidden(page, "token")}
        assert client.post(f"{state.study.path}consent", data=form).status_code == 200
        ((_, code),) = AuthorActions(state, site.clock.now(), "author").invite(["Anna"])
        assert "action" in client.get(state.study.path).text
        assert "code" in client.get(f"{state.study.path}instruction").text, "the person is asked for a code"
        assert client.get(f"/i/{code}", follow_redirects=False).status_code == 303
        assert "instruction" in str(client.get(state.study.path).url)
        assert len(state.people) == 1
        log = str([*site.journal.events(state.study.key)])
        assert "invited" in log
        assert not [text for text in (code, link[3:], code.replace("-", "")) if text in log], (
            "hashes alone are kept"
        )


def spoilt(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def cut(path: Path, _: str) -> None:
    spoilt(path, "PRAGMA journal_mode=DELETE")
    path.write_bytes(path.read_bytes()[:5000])


@pytest.mark.parametrize(("harm", "statement"), [
    (cut, ""),
    (spoilt, "DELETE FROM event WHERE id = 4"),
    (spoilt, "UPDATE event SET data = '{\"a\":' WHERE kind = 'came'"),
    (spoilt, "UPDATE event SET kind = 'answered', task = 3, data = '{}' WHERE kind = 'moved'"),
])  # fmt: skip
def test_a_damaged_database_is_named_by_every_command(
    harm: Callable[[Path, str], None], statement: str, frozen: Frozen, tmp_path: Path
) -> None:
    folder = frozen()
    with opened_site(folder) as site, visiting(site) as client:
        to_first_task(client, site.studies[0].path, "w1")
    harm(folder.path / "site.db", statement)
    commands = [
        ("serve", folder.path, "--port", 0), ("invite", folder.path), ("collect", folder.path, "--out", tmp_path / "a.csv"),
        ("exclude", folder.path, "w1", "--reason", "x"), ("reinstate", folder.path, "w1"), ("erase", folder.path, "w1", "--yes"),
    ]  # fmt: skip
    if not statement or "DELETE" in statement:
        commands.append(("backup", folder.path, "--out", tmp_path / "copy.db"))
    for command in commands:
        ended = merilo("study", *command)
        assert ended.status in {1, 2}
        assert "is damaged" in ended.err, command
    assert not (tmp_path / "copy.db").exists()


def test_a_clock_that_was_wrong_spoils_no_later_time(frozen: Frozen) -> None:
    folder = frozen(overlap=1)
    future, path = ServerClock(), ""
    future._start += 10 * 365 * 24 * 3_600_000
    with opened_site(folder, future) as site, visiting(site) as client:
        path = site.studies[0].path
        first = hidden(to_first_task(client, path, "w1"), "task")
    with opened_site(folder) as site, visiting(site) as client:
        assert site.clock.now() < future.now() - 1_000_000, "the log's wrong end moves no clock"
        from merilo.site.annotator_steps import return_overdue

        return_overdue(only_state(site), site.clock.now())
        (person,) = only_state(site).people.values()
        assert [one.state for one in person.tasks.values()] == ["expired"], f"{first} is given to others"


def test_a_forged_page_with_one_foreign_task_stores_nothing(frozen: Frozen) -> None:
    folder = planned(frozen(), ("    items_per_page: 1\n", "    items_per_page: 4\n    items_on_screen: 4\n"))
    with opened_site(folder) as site, visiting(site) as client:
        (study,) = site.studies
        page = to_first_task(client, study.path, "w1")
        tasks = re.findall(r'name="task" value="(t[0-9a-f]{11})"', page)
        (person,) = only_state(site).people.values()
        foreign = next(
            task.id for n, task in enumerate(study.tasks[: study.training.start]) if n not in person.tasks
        )
        sent = [*tasks[:3], foreign]
        form = {"token": hidden(page, "token"), "task": sent, **{f"answer-{task}": "1" for task in sent}}
        assert client.post(f"{study.path}task", data=form).status_code == 409
        assert not [one for one in person.tasks.values() if one.state == "answered"]


def test_every_requirement_of_the_security_page_has_a_test_or_a_reason() -> None:
    root = Path(__file__).parents[2]
    rows = re.findall(
        r"^\| (V[\d.]+) \| (1|2) \| (.+?) \| (.+?) \|$",
        (root / "docs" / "security.md").read_text("utf-8"),
        re.MULTILINE,
    )
    assert len({number for number, level, *_ in rows if level == "1"}) == 70, (
        "ASVS 5.0 has 70 requirements of level 1"
    )
    assert len({number for number, *_ in rows}) == len(rows)
    tests = set(
        re.findall(
            r"^def (test_\w+)",
            "".join(path.read_text("utf-8") for path in (root / "tests").rglob("test_*.py")),
            re.MULTILINE,
        )
    )
    named = {name for *_, how in rows for name in re.findall(r"`(test_\w+)`", how)}
    assert len(named) > 40
    assert named <= tests
