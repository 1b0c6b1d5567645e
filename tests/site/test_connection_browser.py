"""What becomes of an answer when the connection is lost, the server starts again, or two tabs show the same task."""

import signal
from collections.abc import Callable

import pytest
from site_process import running_site, served_site
from site_visitor import Visitor, stored

from merilo.site.serving import invite_to_site
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]


@pytest.mark.thorough
def test_an_answer_waits_while_the_server_is_away_and_is_taken_once_when_it_is_back(
    frozen: Frozen, browser
) -> None:
    folder = frozen()
    page = browser.new_context(locale="ru-RU").new_page()
    with running_site(folder.path) as (address, paths, process):
        person = Visitor(page, address)
        person.begin(paths["people"] + "?worker_id=1")
        page.clock.install()
        page.reload()
        process.send_signal(signal.SIGKILL)
        process.wait()
        person.choose("1")
        page.click("button.main")
        page.wait_for_selector("text=Нет связи с сервером")
        failed = []
        page.on("requestfailed", lambda request: failed.append(request.url))
        for _ in range(4):
            before = len(failed)
            page.clock.fast_forward(3_600_000)
            while len(failed) == before:
                page.wait_for_event("requestfailed")
        assert "Нет связи с сервером" in page.inner_text("#status"), "after hours the page still tries"
        assert page.is_checked("input[value='1']")
    with running_site(folder.path, "--port", address.rsplit(":", 1)[1]):
        before = page.evaluate("document.querySelector('h1').innerText")
        page.clock.fast_forward(3_600_000)
        page.wait_for_function("before => document.querySelector('h1')?.innerText !== before", arg=before)
        assert person.heading == "Задание 2"
    assert [row.answer for row in stored(folder)] == ["1"]


@pytest.mark.thorough
@pytest.mark.parametrize("foreign", [False, True], ids=["lost", "a page of a network that asks to sign in"])
def test_an_answer_whose_acknowledgement_did_not_come_is_sent_again_and_counted_once(
    foreign: bool, frozen: Frozen, browser
) -> None:
    folder = frozen()
    with served_site(folder.path) as (address, paths):
        person = Visitor(browser.new_context(locale="ru-RU").new_page(), address)
        person.begin(paths["people"] + "?worker_id=1")
        lost = []

        def lose_the_answer(route) -> None:
            if route.request.method != "POST" or len(lost) == 2:
                route.continue_()
            elif foreign:
                lost.append(200)
                route.fulfill(status=200, content_type="text/html", body="<h1>Wi-Fi</h1>")
            else:
                lost.append(route.fetch().status)
                route.abort()

        person.page.route("**/task", lose_the_answer)
        person.choose("0")
        person.send()
        assert person.heading == "Задание 2", "the same answer again is no second answer, and nothing is told"
        assert lost == [200, 200]
        assert person.page.title().startswith("Задание 2 – ")
        assert person.page.evaluate("document.activeElement.tagName") == "H1", (
            "a screen reader reads the new page"
        )
    assert [row.answer for row in stored(folder)] == ["0"]


@pytest.mark.thorough
def test_a_second_tab_is_told_that_the_task_was_answered_and_goes_on(frozen: Frozen, browser) -> None:
    folder = frozen()
    with served_site(folder.path) as (address, paths):
        context = browser.new_context(locale="ru-RU")
        first = Visitor(context.new_page(), address)
        first.begin(paths["people"] + "?worker_id=1")
        second = Visitor(context.new_page(), address)
        second.come(paths["people"] + "task")
        assert first.task == second.task
        first.choose("1")
        first.send()
        second.choose("0")
        second.send()
        assert second.heading == "Ответ уже сохранён"
        assert "Сохранён первый ответ, второй не принят" in second.page.inner_text("main")
        second.page.click("a.main")
        second.page.wait_for_selector("form#item")
        assert second.task == first.task, "both tabs show the next task"
    assert [row.answer for row in stored(folder)] == ["1"]


@pytest.mark.thorough
def test_a_draft_and_the_place_outlive_the_page_and_the_link_leads_there_on_another_device(
    frozen: Frozen, browser
) -> None:
    folder = frozen("chegeka")
    ((_, link),) = invite_to_site(folder.path)
    with served_site(folder.path) as (address, _):
        person = Visitor(browser.new_context(locale="ru-RU").new_page(), address)
        person.begin(link)
        person.page.fill("#answer", "Пушкин")
        person.send()
        task, prompt = person.task, person.prompt
        person.page.fill("#answer", "недописан")
        person.page.reload()
        assert person.page.input_value("#answer") == "недописан"
        phone = browser.new_context(
            locale="ru-RU", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True
        )
        person = Visitor(phone.new_page(), address)
        person.come(link)
        assert (person.heading, person.task, person.prompt) == ("Задание 2", task, prompt)
        assert not person.page.is_visible(".keys"), "a phone has no keys to tell of"
        person.page.fill("#answer", "Лермонтов")
        person.page.tap("button.main")
        person.page.wait_for_selector("h1:has-text('Задание 3')")
    assert [row.answer for row in stored(folder)] == ["Пушкин", "Лермонтов"]
