"""What people and circumstances do wrong: bad databases, full disks, forms sent twice, stops in the middle of writes."""

import random
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from html import unescape
from pathlib import Path

import httpx
import pytest
from command import merilo
from every import every
from site_in_process import SetClock, agree, form_in, hidden, opened_site, to_first_task, visiting
from site_process import served_site
from sqlalchemy import text

from merilo.site.item_form import LONGEST_ANSWER, LONGEST_COMMENT
from merilo.site.journal import Journal
from merilo.site.serving import invite_to_site, read_site
from merilo.site.state import State
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]


def answered(folder: StudyFolder, database: str | None = None) -> list[tuple[str, int, str]]:
    """Person, task and answer of every saved answer to an item, in the order in which they were given."""
    held = [
        (one.answered or 0, person.id, one.task, one.answer or "")
        for arm in folder.plan.arms
        for person in read_site(folder.path, arm=arm, database=database).people.values()
        for one in person.tasks.values()
        if one.state == "answered"
    ]
    return [row[1:] for row in sorted(held)]


def refused(folder: StudyFolder, *options: str) -> str:
    """The one sentence of a command that does not start."""
    ended = merilo("study", "serve", folder.path, "--port", 0, *options)
    assert ended.status in {1, 2}, ended
    assert ended.err.strip().count("\n") == 0, ended.err
    return ended.err


def not_frozen(folder: StudyFolder) -> None:
    for path in folder.path.iterdir():
        if "frozen" in path.name:
            path.unlink()


def of_another_schema(folder: StudyFolder) -> None:
    with closing(sqlite3.connect(folder.path / "site.db")) as connection:
        connection.execute("CREATE TABLE event (id INTEGER PRIMARY KEY, note TEXT)")


def of_another_program(folder: StudyFolder) -> None:
    with closing(sqlite3.connect(folder.path / "site.db")) as connection:
        connection.execute("CREATE TABLE bookmarks (id INTEGER PRIMARY KEY, url TEXT)")


def ruined(change: Callable[[bytes], bytes]) -> Callable[[StudyFolder], None]:
    def ruin(folder: StudyFolder) -> None:
        with opened_site(folder) as site, visiting(site) as client:
            to_first_task(client, site.studies[0].path, "1")
        path = folder.path / "site.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
        path.write_bytes(change(path.read_bytes()))

    return ruin


@every("harm, said", [
    (not_frozen, "not frozen"),
    (of_another_schema, "belongs to another program or version"),
    (of_another_program, "belongs to another program (it has the table 'bookmarks')"),
    (ruined(lambda _: b"this is a text\n" * 100), "site.db"),
    (ruined(lambda content: content[: len(content) // 3]), "site.db"),
    (ruined(lambda content: content[:100] + random.Random(1).randbytes(len(content) - 100)), "site.db"),
    (lambda folder: (folder.path / "site.db").mkdir(), "cannot be read"),
], ids=["not frozen", "newer", "another program", "no database", "cut", "noise", "a folder"])  # fmt: skip
def test_a_study_or_database_that_cannot_be_served_is_refused_and_not_changed(
    harm: Callable[[StudyFolder], None], said: str, frozen: Frozen, tmp_path: Path
) -> None:
    folder = frozen(folder=f"study{len(list(tmp_path.iterdir()))}")
    harm(folder)
    path = folder.path / "site.db"
    before = path.read_bytes() if path.is_file() else None
    assert said in refused(folder)
    if harm in {of_another_program, of_another_schema}:
        with closing(sqlite3.connect(path)) as connection:
            tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
        assert tables == [("bookmarks" if harm is of_another_program else "event",)]
    else:
        assert before == (path.read_bytes() if path.is_file() else None)


def test_a_place_where_no_file_can_be_written_is_refused(frozen: Frozen) -> None:
    assert "cannot be read" in refused(frozen(), "--database", "sqlite:////proc/site.db")


def test_an_answer_after_the_limit_is_not_taken_and_the_person_is_told(frozen: Frozen) -> None:
    folder = frozen(experts=True)
    clock = SetClock()
    ((_, link),) = invite_to_site(folder.path, experts=("Анна",))
    with opened_site(folder, clock) as site, visiting(site) as client:
        study = next(one for one in site.studies if one.arm_name == "experts")
        path = f"/s/{study.key}/"
        page = client.get(link).text
        page = agree(client, path, page)
        for late, place in ((59_000, "Задание 2"), (62_900, "Задание 3"), (63_001, "Ответ не принят")):
            page = client.get(f"{path}task").text
            form = form_in(page)
            clock.milliseconds += late
            answer = client.post(f"{path}task", data=form)
            assert re.search(rf"<h1[^>]*>\s*{place}", answer.text)
        assert "Ответ пришёл после окончания времени" in answer.text
        again = client.post(f"{path}task", data=form)
        assert "Ответ не принят" in again.text, "the answer is not taken later either"
        clock.milliseconds -= 10_000_000
        assert client.get(f"{path}task").status_code == 200, "a clock that jumps back breaks nothing"
    assert len(answered(folder)) == 2


@contextmanager
def full_disk(journal: Journal) -> Iterator[None]:
    """SQLite behaves as on a full disk: its file cannot grow by a page."""
    writing = journal._writing()
    free = writing.exec_driver_sql("PRAGMA freelist_count").scalar()
    assert free == 0
    writing.exec_driver_sql("PRAGMA max_page_count = 1")  # SQLite raises it to the present size
    writing.rollback()
    try:
        yield
    finally:
        writing.exec_driver_sql("PRAGMA max_page_count = 1073741823")
        writing.rollback()


@pytest.mark.parametrize("comment", ["<b>Замечание</b>\nвторая строка", ""])
def test_people_are_told_of_a_full_disk_with_what_they_typed_and_go_on_afterwards(
    frozen: Frozen, comment: str
) -> None:
    folder = frozen("rudetox")
    with opened_site(folder) as site, visiting(site) as client:
        path = site.studies[0].path
        page = to_first_task(client, path, "1")
        first = form_in(page, "первый")
        page = client.post(f"{path}task", data=first).text
        typed = '"><script>alert(1)</script>' + "длинный ответ " * 3000
        form = form_in(page, typed, comment=comment, then="next")  # fmt: skip
        with full_disk(site.journal):
            told = client.post(f"{path}task", data=form)
            scripted = client.post(f"{path}task", data=form, headers={"Accept": "application/json"})
        assert (told.status_code, scripted.status_code) == (503, 503)
        assert "Этот ответ не сохранён" in told.text
        assert "Этот ответ не сохранён" in scripted.json()["error"]
        assert "content-security-policy" in told.headers
        assert "<script>alert" not in told.text

        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', told.text))
        kept = {name: unescape(value) for name, value in fields.items()}
        assert {name: kept[name] for name in ("task", "answer", "then")} == {
            name: form[name] for name in ("task", "answer", "then")
        }
        assert kept["comment"] == comment
        saved = client.post(f"{path}task", data=kept)
        assert saved.status_code == 200
        assert re.search(r"<h1[^>]*>\s*Задание 3", saved.text)
    assert [answer for _, _, answer in answered(folder)] == ["первый", typed.strip()]


@pytest.mark.thorough
def test_files_of_a_study_that_change_while_it_is_served_change_nothing_until_the_next_start(
    frozen: Frozen,
) -> None:
    folder = frozen()
    with (
        served_site(folder.path) as (address, paths),
        httpx.Client(base_url=address, follow_redirects=True, timeout=60) as client,
    ):
        page = to_first_task(client, paths["people"], "1")  # type: ignore[arg-type]
        items = folder.path / "items.jsonl"
        kept = items.read_text("utf-8")
        items.write_text(kept.replace("(", "["), encoding="utf-8")
        (folder.path / "study.yaml").write_text("nothing: here\n", encoding="utf-8")
        form = form_in(page)
        following = client.post(f"{paths['people']}task", data=form).text
        assert hidden(following, "task") != form["task"]
        assert client.get(f"{paths['people']}instruction").status_code == 200
    with closing(sqlite3.connect(folder.path / "site.db")) as connection:
        assert connection.execute("SELECT count(*) FROM event WHERE kind = 'answered'").fetchone() == (1,)
    refused(folder)


def test_a_damaged_page_of_a_database_in_use_is_told_as_not_saved(frozen: Frozen) -> None:
    folder = frozen()
    with opened_site(folder) as site, visiting(site) as client:
        path = site.studies[0].path
        page = to_first_task(client, path, "1")
        form = form_in(page)
        with site.journal.engine.begin() as connection:
            connection.execute(text("ALTER TABLE event RENAME TO gone"))
        assert client.post(f"{path}task", data=form).status_code == 503
        assert client.get(f"{path}task").status_code == 503
        with site.journal.engine.begin() as connection:
            connection.execute(text("ALTER TABLE gone RENAME TO event"))
        assert client.post(f"{path}task", data=form).status_code == 200


#: Zero characters, halves of surrogate pairs, and the longest answer.
SENT_AND_KEPT = {
    "%00a%00": "a",
    "%ED%A0%80": "\ufffd\ufffd\ufffd",
    "%F0%9F%98%80" * LONGEST_ANSWER: "😀" * LONGEST_ANSWER,
    "e%CC%81 %E2%80%AE%EF%BB%BFx": "e\u0301 \u202e\ufeffx",
    "%5C%27%22%3B--%25s+%25%28a%29s": "\\'\";--%s %(a)s",
}


def test_a_text_is_stored_as_it_was_sent(frozen: Frozen, database: str) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    remark = "%00" + "%D1%8F" * LONGEST_COMMENT
    with opened_site(frozen("chegeka"), database=database) as site, visiting(site) as client:
        path = site.studies[0].path
        for number, sent in enumerate(SENT_AND_KEPT):
            page = to_first_task(client, path, str(number))
            fields = (
                f"token={hidden(page, 'token')}&task={hidden(page, 'task')}&answer={sent}&comment={remark}"
            )
            done = client.post(f"{path}task", content=fields, headers=headers, follow_redirects=False)
            assert done.status_code == 303, sent[:40]
        (study,) = site.studies
        state = State(study, site.journal.events(study.key))  # as another process reads it
        people = sorted(state.people.values(), key=lambda person: person.created)
        stored = [
            (held.answer, held.comment)
            for person in people
            for held in person.tasks.values()
            if held.state == "answered"
        ]
    assert stored == [(kept, "я" * LONGEST_COMMENT) for kept in SENT_AND_KEPT.values()]
