"""The next item comes in the answer to a sent form; showing an item again writes nothing."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from site_in_process import form_in, hidden, only_state, opened_site, to_first_task, visiting
from starlette.testclient import TestClient

from merilo.site.annotation_site import AnnotationSite
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]
SCRIPT = {"Accept": "application/json"}


@pytest.fixture
def site(frozen: Frozen) -> Iterator[AnnotationSite]:
    with opened_site(frozen()) as opened:
        yield opened


@pytest.fixture
def browser(site: AnnotationSite) -> Iterator[TestClient]:
    with visiting(site) as client:
        yield client


def path_of(site: AnnotationSite) -> str:
    return site.studies[0].path


def test_the_script_gets_the_next_page_with_the_acknowledgement(
    site: AnnotationSite, browser: TestClient
) -> None:
    path = path_of(site)
    page = to_first_task(browser, path, "a")
    told = browser.post(f"{path}task", data=form_in(page), headers=SCRIPT).json()
    assert told["next"] == f"{path}task"
    assert told["page"] == browser.get(f"{path}task").text, "the same page as after a reload"
    assert hidden(told["page"], "task") != hidden(page, "task")
    again = browser.post(f"{path}task", data=form_in(page), headers=SCRIPT).json()
    assert again == told, "a repeated request gets the same page"
    paused = browser.post(f"{path}task", data=form_in(told["page"], then="pause"), headers=SCRIPT).json()
    assert paused == {"next": f"{path}pause"}, "a break gives no next item"


def test_a_person_whom_the_answer_stops_gets_no_further_item(
    site: AnnotationSite, browser: TestClient
) -> None:
    path = path_of(site)
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


def test_showing_an_item_again_a_break_and_the_instruction_do_not_write(
    site: AnnotationSite, browser: TestClient
) -> None:
    path = path_of(site)
    to_first_task(browser, path, "a")
    before = [*site.journal.events(site.studies[0].key)]
    for page in ("task", "pause", "instruction"):
        assert browser.get(f"{path}{page}").status_code == 200
    assert [*site.journal.events(site.studies[0].key)] == before


def test_scripts_and_styles_are_sent_once(browser: TestClient) -> None:
    first = browser.get("/static/annotator.js")
    assert first.headers["content-type"].startswith("text/javascript")
    again = browser.get("/static/annotator.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["content-security-policy"] == first.headers["content-security-policy"]
    assert browser.get("/static/other.js").status_code == 404
