"""What browsers receive tells neither gold answers nor which items are control items; exports do not tell who people are."""

import csv
import io
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
from author_session import TABLES, signed_in
from command import merilo
from site_in_process import agree, form_in, hidden, opened_site, to_first_task, visiting, with_rules
from starlette.testclient import TestClient
from study_people import frozen, study_of

from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples
from merilo.items import Item
from merilo.site.annotation_site import AnnotationSite
from merilo.site.answer_export import collect_answers
from merilo.site.item_form import field_of
from merilo.site.journal import Journal, database_url
from merilo.site.served_study import ServedStudy
from merilo.site.serving import back_up_site, invite_to_site, opened_studies, read_site
from merilo.site.serving import opened_site as served
from merilo.site.site_requests import VisitorCookies
from merilo.studies.study_folder import StudyFolder

#: Bundled datasets, one for each kind of answer.
KINDS = ("rudetox", "chegeka", "simplear", "use", "ruhumaneval", "bps", "rutie")


def secret(name: str, number: int) -> str:
    """A gold answer that occurs nowhere else; numbers where the dataset wants numbers."""
    chance = Random(f"{name} {number}")
    if name == "simplear":
        return str(chance.randrange(10**11, 10**12))
    if name == "use":
        return ",".join(str(chance.randrange(100, 1000)) for _ in range(4))
    return "".join(chance.choice("bcdfghjklmnpqrstvwxz") for _ in range(16))


def secret_study(path: Path, name: str) -> tuple[StudyFolder, set[str]]:
    """A study whose gold answers, and texts of `meta` that tell them, are unique; for labels the answers stay labels."""
    declared = dataset(name)
    splits = examples(declared)
    tests = list(splits["test"].items)
    shots = list(splits["shots"].items)[:4] or [replace(one, id=f"c{one.id}") for one in tests[-3:]]
    tests = tests[:8] if name != "rutie" else tests
    words: set[str] = set()

    def hidden_gold(items: list[Item], start: int) -> list[Item]:
        made = []
        for number, item in enumerate(items, start=start):
            gold = item.outputs if declared.answer.labels else secret(name, number)
            solution = f"solution{secret(name, number)}"
            meta = {
                key: solution if key == "canonical_solution" else value for key, value in item.meta.items()
            }
            if not declared.answer.labels:
                words.add(str(gold))
            if "canonical_solution" in meta:
                words.add(solution)
            made.append(replace(item, outputs=gold, meta=meta))
        return made

    study = study_of(
        path, hidden_gold(tests, 0), [] if name == "rutie" else hidden_gold(shots, 1000), dataset_name=name, name=f"secret {name}"
    )  # fmt: skip
    if name == "rutie":
        plan = study.path / "study.yaml"
        plan.write_text(plan.read_text("utf-8").replace("controls: {every: 5}\n", ""), encoding="utf-8")
    return frozen(study), words


class Recorder:
    """A browser that keeps everything it receives."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.received: list[str] = []

    def keep(self, answer: httpx.Response) -> httpx.Response:
        for one in (*answer.history, answer):
            head = "".join(f"{name}: {value}\n" for name, value in one.headers.multi_items())
            self.received.append(
                f"{one.url}\n{one.status_code}\n{head}\n{one.content.decode('utf-8', 'replace')}"
            )
        return answer

    def get(self, path: str, **more: object) -> httpx.Response:
        return self.keep(self.client.get(path, **more))  # type: ignore[arg-type]

    def post(self, path: str, **more: object) -> httpx.Response:
        return self.keep(self.client.post(path, **more))  # type: ignore[arg-type]


def given_answer(study: ServedStudy, number: int) -> list[str]:
    """An answer that the form takes and that is not the known one."""
    field = field_of(study.tasks[number])
    match field.kind:
        case "labels" | "choices":
            return [field.options[0]]
        case "letters":
            return ["1"] * len(field.options)
        case "number" | "list":
            return ["7"]
    return ["my answer"]


@contextmanager
def opened(tmp_path: Path, name: str) -> Iterator[tuple[AnnotationSite, ServedStudy, set[str], Recorder]]:
    folder, words = secret_study(tmp_path / "study", name)
    with opened_site(folder) as site, visiting(site) as client:
        (study,) = site.studies
        # Nobody is stopped for wrong answers to control items: every page is wanted.
        with_rules(site, min_accuracy=0.0)
        yield site, study, words, Recorder(client)


def walk(study: ServedStudy, seen: Recorder, person: str = "w1") -> Iterator[tuple[int, dict[str, object]]]:
    """Everything that a person can see; yields each task before it is answered."""
    path = f"/s/{study.key}/"
    page = seen.get(f"{path}?worker_id={person}").text
    page = agree(seen, path, page)
    while (found := re.search(r'name="task" value="(t[0-9a-f]{11})"', page)) is not None:
        number = study.numbers[found[1]]
        form: dict[str, object] = {"token": hidden(page, "token"), "task": found[1], "answer": given_answer(study, number)}  # fmt: skip
        yield number, form
        page = seen.get(f"{path}task").text


@pytest.mark.parametrize("name", KINDS)
def test_no_answer_that_a_browser_receives_has_gold_or_marks_of_control_items(
    tmp_path: Path, name: str
) -> None:
    with opened(tmp_path, name) as (_, study, words, seen):
        path = f"/s/{study.key}/"
        numbers = []
        for number, form in walk(study, seen):
            numbers.append(number)
            seen.post(f"{path}task", data={**form, "answer": ""})
            seen.post(f"{path}task", data={**form, "answer": ""}, headers={"Accept": "application/json"})
            seen.post(f"{path}training", data=form)
            seen.get(f"{path}training/{form['task']}")
            seen.get(f"{path}media/{form['task']}.png")
            seen.post(f"{path}task", data=form)
            seen.post(f"{path}task", data=form, headers={"Accept": "application/json"})
        for file in ("annotator.js", "annotator.css"):
            seen.get(f"/static/{file}")
        for page in ("instruction", "pause", "pause?note=late", "nothing", ""):
            seen.get(path + page)
        assert len(numbers) >= 8
        if name != "rutie":
            assert any(number >= study.rules.tests for number in numbers), "control items were among them"
        people = list(seen.received)
        signed_in(seen.client, study.folder.path)
        for page in ("", "?invite=1", *TABLES):
            assert seen.get(f"/author/{study.key}/{page}").status_code == 200
        href = re.search(r"/author/[^\"]+/\?person=p[0-9a-f]+", "".join(seen.received))
        assert href is not None
        assert seen.get(href[0]).status_code == 200
        everything = "".join(seen.received)
        assert not [word for word in words if word in everything]
        assert bool(words) == (name not in {"bps", "rutie"})
        for text in people:
            bare = re.sub(r"<div class=\"prompt.*?</div>", "", text, flags=re.DOTALL).lower()
            # ARIA and the style sheet have words with "controls"; marks would be values.
            assert not re.search(
                r"\b(gold|golden|is_control|control_item|known_answer|kind=|outputs)\b", bare
            )
            assert "контрольн" not in bare
            assert str(study.folder.path) not in text


def shape(text: str) -> str:
    """An answer without what differs between all tasks: ids, tokens, numbers, times, and the prompt with its last line."""
    text = re.sub(r'<div class="prompt.*?</div>|<label for="answer".*?</label>', "", text, flags=re.DOTALL)
    text = re.sub(r"t[0-9a-f]{11}", "ID", text)
    return re.sub(r"\d+", "N", text)


@pytest.mark.parametrize("kind", ["page", "script"])
@pytest.mark.parametrize("name", ["rudetox", "simplear", "bps"])
def test_control_items_are_answered_like_items_of_the_test_right_or_wrong(
    tmp_path: Path, name: str, kind: str
) -> None:
    headers = {"Accept": "application/json"} if kind == "script" else {}
    shapes: dict[str, set[str]] = {"test": set(), "right": set(), "wrong": set()}
    with opened(tmp_path, name) as (_, study, _, seen):
        for person in ("a", "b", "c"):
            for number, form in walk(study, seen, person):
                control = number >= study.rules.tests
                right = control and person != "a"
                sent = {**form, "answer": study.tasks[number].known} if right else form
                answer = seen.client.post(
                    f"/s/{study.key}/task", data=sent, headers=headers, follow_redirects=False
                )
                lines = sorted(f"{n}: {v}" for n, v in answer.headers.multi_items() if n != "content-length")
                told = answer.text
                if kind == "script":
                    read = answer.json()
                    told = f"{sorted(read)} {read.get('next')} {read.get('page')}"
                what = f"{answer.status_code} {lines} {told}"
                last = "Спасибо" in answer.text
                if not last:
                    shapes["right" if right else "wrong" if control else "test"].add(shape(what))
            seen.client.cookies.clear()
    assert all(shapes.values())
    assert shapes["right"] <= shapes["test"]
    assert shapes["wrong"] <= shapes["test"]


def test_an_answer_to_a_task_that_was_not_given_tells_nothing_about_the_task(tmp_path: Path) -> None:
    with opened(tmp_path, "simplear") as (_, study, _, seen):
        number, form = next(walk(study, seen))
        others = [task.id for task in study.tasks if task.id != study.tasks[number].id] + ["0" * 12, "x"]
        for page in ("task", "training"):
            for headers in ({}, {"Accept": "application/json"}):
                got = {
                    (answer.status_code, answer.text)
                    for one in others
                    if (answer := seen.client.post(f"/s/{study.key}/{page}", data={**form, "task": one}, headers=headers))
                }  # fmt: skip
                assert {status for status, _ in got} == {409}
                assert len({text for _, text in got}) == 1


def test_ids_of_control_items_look_like_the_others_and_lie_between_them(tmp_path: Path) -> None:
    items = [Item(n, "Сколько будет {inputs}?", f"{n} + 1", str(n + 1), {"id": n}) for n in range(300)]
    controls = [
        Item(f"c{n}", "Сколько будет {inputs}?", f"{n} + 2", str(n + 2), {"id": f"c{n}"}) for n in range(60)
    ]
    study = study_of(tmp_path / "study", items, controls, dataset_name="simplear")
    with opened_site(frozen(study)) as site:
        (served,) = site.studies
    ids = [task.id for task in served.tasks]
    assert all(re.fullmatch(r"t[0-9a-f]{11}", one) for one in ids)
    places = {one: place for place, one in enumerate(sorted(ids))}
    mine = sum(places[task.id] for task in served.tasks if task.kind == "control")
    # Wilcoxon's rank sum has this mean and variance if the order tells nothing.
    mean, variance = 60 * 359 / 2, 60 * 300 * 361 / 12
    assert abs(mine - mean) < 3 * variance**0.5


def test_exports_cannot_be_linked_to_ids_of_platforms_names_or_codes(
    tmp_path: Path, frozen: Callable[..., StudyFolder]
) -> None:
    pseudonyms = []
    for part in ("one", "two"):
        folder = frozen(folder=part, experts=True)
        links = invite_to_site(folder.path, arm="people", count=1)
        with opened_site(folder) as site, visiting(site) as client:
            study = next(one for one in site.studies if one.arm_name == "people")
            seen = Recorder(client)
            for person in ("SECRET-WORKER-17", links[0][1]):
                walked = walk(study, seen, person) if "/" not in person else None
                if walked is None:
                    client.cookies.clear()
                    page = client.get(person).text
                    for step in ("consent", "instruction"):
                        page = client.post(
                            f"/s/{study.key}/{step}", data={"token": hidden(page, "token")}
                        ).text
                    form = form_in(page)
                else:
                    _, form = next(walked)
                assert client.post(f"/s/{study.key}/task", data=form).status_code == 200
        state = read_site(folder.path, arm="people")
        rows, made = [*state.people.values()], collect_answers(state)
        assert made.people == 2
        code = links[0][1].rsplit("/", 1)[1]
        for word in ("SECRET", "WORKER", code, code.replace("-", ""), *(row.external for row in rows)):
            assert word not in made.table
        assert {row["respondent"] for row in csv.DictReader(io.StringIO(made.table))} == {
            row.pseudonym for row in rows
        }
        pseudonyms.append({row.pseudonym for row in rows if row.external == "SECRET-WORKER-17"})
    assert pseudonyms[0].isdisjoint(pseudonyms[1]), "the same id has another pseudonym in every database"


def test_a_cookie_tells_neither_the_number_of_its_person_nor_depends_on_the_computers_clock(
    frozen: Callable[..., StudyFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened_site(frozen()) as site, visiting(site) as client:
        (study,) = site.studies
        with monkeypatch.context() as ahead:
            now = time.time
            ahead.setattr("itsdangerous.timed.time.time", lambda: now() + 7200)
            to_first_task(client, study.path, "w1")
        assert 'name="task"' in client.get(f"{study.path}task").text
        name = f"{VisitorCookies.PERSON}-{study.key}"
        first = client.cookies[name]
        client.get(f"{study.path}?worker_id=w1")
        again = client.cookies[name]
        assert site.cookies.person_of(first) == site.cookies.person_of(again)
        assert re.fullmatch("[0-9a-f]{20}", site.cookies.person_of(again)[0]), "a random id"
        monkeypatch.setattr("time.time", lambda: now() + 61 * 24 * 3600)
        assert site.cookies.person_of(again) == ("", "")


def test_only_the_owner_reads_the_database_its_copies_and_the_answers(
    frozen: Callable[..., StudyFolder], tmp_path: Path
) -> None:
    folder = frozen().path
    old = os.umask(0)
    try:
        (folder / "site.db").touch(0o666)
        back_up_site(folder, tmp_path / "copy.db")
        assert merilo("study", "collect", folder, "--out", tmp_path / "answers.csv").status == 0
        with opened_studies(folder, None) as (journal, studies):
            served(journal, studies)
            modes = {path.name: path.stat().st_mode & 0o777 for path in folder.glob("site.db*")}
        modes |= {name: (tmp_path / name).stat().st_mode & 0o777 for name in ("copy.db", "answers.csv")}
    finally:
        os.umask(old)
    assert modes == dict.fromkeys(
        ["site.db", "site.db-wal", "site.db-shm", "site.db.lock", "copy.db", "answers.csv"], 0o600
    )


def test_what_is_erased_is_overwritten_where_sqlite_does_not_do_so_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect

    def without(*given: Any, **more: Any) -> sqlite3.Connection:
        opened = connect(*given, **more)
        opened.execute("PRAGMA secure_delete=OFF")
        return opened

    monkeypatch.setattr(sqlite3.dbapi2, "connect", without)
    engine = Journal(database_url(tmp_path, None)).engine
    with engine.connect() as one, engine.connect() as other:
        assert [opened.exec_driver_sql("PRAGMA secure_delete").scalar() for opened in (one, other)] == [1, 1]
    engine.dispose()
