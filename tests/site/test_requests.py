"""What single requests are answered: one table a kind of site."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from edited_plan import edit_plan
from markupsafe import escape
from site_in_process import (
    SetClock,
    form_in,
    from_elsewhere,
    hidden,
    only_state,
    opened_site,
    to_first_task,
    visiting,
)
from study_people import frozen as frozen_again
from study_people import study_of

from merilo.items import Item
from merilo.site.answer_export import collect_answers
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]
SCRIPT = {"Accept": "application/json"}


def english(study: StudyFolder) -> StudyFolder:
    """The study in English alone."""
    (study.path / "instruction.en.md").write_text("# Task\n\nAnswer.\n", encoding="utf-8")
    edit_plan(study.path, {"languages": ["en"], "instruction": {"en": "instruction.en.md"}})
    return frozen_again(study)


def test_a_site_in_one_language_speaks_it_whatever_the_browser_asks_for(frozen: Frozen) -> None:
    with opened_site(english(frozen())) as site, visiting(site) as client:
        (study,) = site.studies
        for path, status, heading in (
            ("/", 200, "Welcome"),
            ("/nothing", 404, "There is no such page"),
            ("/i/WRONG", 404, "Welcome"),
            (study.path, 200, "By invitation only"),
            (f"{study.path}media/x", 404, "There is no such page"),
            (f"/author/{site.author_secret}", 200, "Open the author"),
        ):
            for asked in ({}, {"Accept-Language": "ru"}, {"Accept-Language": "de, *;q=0.5"}):
                if asked.get("Accept-Language") == "ru" and path.startswith("/author"):
                    continue  # the author reads both languages
                answer = client.get(path, headers=asked)
                assert answer.status_code == status, path
                assert '<html lang="en">' in answer.text, path
                assert heading in answer.text
        told = client.get("/nothing", headers={"Accept": "application/json"}).json()
        assert told == {"error": "There is no such page"}


@pytest.mark.parametrize(("address", "said"), [
    ("?worker=1", "Вход по приглашению"), ("", "Вход по приглашению"),
    *((address, "в адресе не содержит идентификатора") for address in (
        "?worker_id=", "?PROLIFIC_PID=%20&STUDY_ID=1", "?PROLIFIC_PID={{%25PROLIFIC_PID%25}}", "?PROLIFIC_PID={{PROLIFIC_PID}}",
        "?worker_id=ID", "?worker_id=null", "?workerId=WORKER_ID&assignmentId=1", "?worker_id=${id}", "?worker_id=" + "a" * 201,
        "?worker_id=%ff", "?worker_id=a%0ab", "?worker_id=a%e2%80%8b", "?worker_id=%e2%80%aea", "?worker_id=a%00",
    )),
])  # fmt: skip
def test_an_id_that_many_people_would_have_is_refused_and_named(
    frozen: Frozen, address: str, said: str
) -> None:
    with opened_site(frozen()) as site, visiting(site) as client:
        page = client.get(site.studies[0].path + address).text
        assert said in page
        assert 'name="code"' in page
        assert not only_state(site).people


@pytest.mark.parametrize(("sent", "kept"), [
    ('{"pastes": 1, "away_seconds": 9.5, "first_seconds": 3}', {"pastes": 1, "away_seconds": 9.5, "first_seconds": 3}),
    ('{"pastes": 1, "away_seconds": 3600, "first_seconds": 1e300}', {"pastes": 1}),
    ('{"away_seconds": NaN, "first_seconds": -1, "keys": Infinity}', None),
    ('{"away_seconds": "9", "keys": true}', None), ("[" * 999, None), ("", None),
])  # fmt: skip
def test_a_page_cannot_tell_of_more_seconds_than_passed(frozen: Frozen, sent: str, kept: object) -> None:
    folder = frozen("chegeka")
    edit_plan(folder.path, {"assistance": {"signals": True}})
    clock = SetClock()
    with opened_site(frozen_again(folder), clock) as site, visiting(site) as client:
        path = site.studies[0].path
        page = to_first_task(client, path, "w")
        clock.milliseconds += 10_000
        client.post(f"{path}task", data=form_in(page, "ответ", signals=sent))
        (answer,) = [
            task
            for person in only_state(site).people.values()
            for task in person.tasks.values()
            if task.state == "answered"
        ]
        assert (json.loads(answer.signals) if answer.signals else None) == kept
        assert collect_answers(only_state(site)).answers == 1


def test_the_script_gets_the_next_page_with_the_acknowledgement(frozen: Frozen) -> None:
    with opened_site(frozen()) as site, visiting(site) as browser:
        path = site.studies[0].path
        page = to_first_task(browser, path, "a")
        told = browser.post(f"{path}task", data=form_in(page), headers=SCRIPT).json()
        assert told["next"] == f"{path}task"
        assert told["page"] == browser.get(f"{path}task").text, "the same page as after a reload"
        assert hidden(told["page"], "task") != hidden(page, "task")
        again = browser.post(f"{path}task", data=form_in(page), headers=SCRIPT).json()
        assert again == told, "a repeated request gets the same page"
        paused = browser.post(f"{path}task", data=form_in(told["page"], then="pause"), headers=SCRIPT).json()
        assert paused == {"next": f"{path}pause"}, "a break gives no next item"


def test_a_person_whom_the_answer_stops_gets_no_further_item(frozen: Frozen) -> None:
    with opened_site(frozen()) as site, visiting(site) as browser:
        path = site.studies[0].path
        state = only_state(site)
        study, state.rules = state.study, replace(state.rules, stop_after=2)
        page, told = to_first_task(browser, path, "a"), {}
        while "page" in told or not told:
            known = study.tasks[study.numbers[hidden(page, "task")]].known
            told = browser.post(
                f"{path}task", data=form_in(page, "1" if known != "1" else "0"), headers=SCRIPT
            ).json()
            page = told.get("page", "")
        assert told == {"next": path}
        assert "h1" in browser.get(path).text


def test_showing_an_item_again_a_break_and_the_instruction_do_not_write(frozen: Frozen) -> None:
    with opened_site(frozen()) as site, visiting(site) as browser:
        path = site.studies[0].path
        to_first_task(browser, path, "a")
        before = [*site.journal.events(site.studies[0].key)]
        for page in ("task", "pause", "instruction"):
            assert browser.get(f"{path}{page}").status_code == 200
        assert [*site.journal.events(site.studies[0].key)] == before


def test_scripts_and_styles_are_sent_once(frozen: Frozen) -> None:
    with opened_site(frozen()) as site, visiting(site) as browser:
        first = browser.get("/static/annotator.js")
        assert first.headers["content-type"].startswith("text/javascript")
        again = browser.get("/static/annotator.js", headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["content-security-policy"] == first.headers["content-security-policy"]
        assert browser.get("/static/other.js").status_code == 404


def test_a_kept_page_shows_the_texts_of_the_study_and_nothing_of_somebody_else(tmp_path: Path) -> None:
    text = "100 % <%(token)s> %s {form}"
    items = [Item(n, "{inputs}", text, "1", {"id": n}) for n in range(4)]
    study = study_of(tmp_path / "study", items[:3], items[3:], dataset_name="chegeka", name=json.dumps(text))
    with opened_site(frozen_again(study)) as site, visiting(site) as client:
        visitors = [client, from_elsewhere(client, "127.0.0.1")]
        path = site.studies[0].path
        pages = [to_first_task(browser, path, name) for browser, name in zip(visitors, "ab", strict=True)]
    assert all(page.count(str(escape(text))) == 3 for page in pages), "in the title, the header and the task"
    own = [(hidden(page, "token"), hidden(page, "task")) for page in pages]
    assert own[0][0] != own[1][0]
    assert (
        len(
            {
                page.replace(token, "").replace(task, "")
                for page, (token, task) in zip(pages, own, strict=True)
            }
        )
        == 1
    )
