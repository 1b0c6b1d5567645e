"""The page's script puts the next item in the place of the answered one."""

from collections.abc import Callable

import pytest
from browser import opened_browser
from site_process import running_site

from merilo.site.serving import invite_to_site
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]


@pytest.mark.thorough
def test_the_next_item_takes_the_place_of_the_answered_one(frozen: Frozen) -> None:
    folder = frozen()
    with running_site(folder.path) as (address, paths, _), opened_browser() as browser:
        page = browser.new_context(locale="ru-RU").new_page()
        problems, sent = [], []
        page.on("console", lambda said: problems.append(said.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"{address}{paths['people']}?worker_id=7")
        page.click("button.main")
        page.click("text=Инструкция понятна")
        page.wait_for_selector("h1:has-text('Задание 1')")
        page.on("request", lambda request: sent.append((request.method, request.url.split("/")[-1])))
        page.evaluate("window.stays = true")
        for place in (2, 3):
            page.click(".labels label:has-text('1')")
            page.keyboard.press("Enter")
            page.wait_for_selector(f"h1:has-text('Задание {place}')")
            assert page.title().startswith(f"Задание {place}")
            assert page.evaluate("document.activeElement.tagName") == "H1", "a screen reader goes on here"
        assert page.evaluate("window.stays"), "the page was not loaded again"
        assert sent == [("POST", "task")] * 2
        task = page.get_attribute("input[name=task]", "value")
        page.keyboard.press("0")
        assert page.is_checked("input[value='0']")
        page.reload()
        assert page.get_attribute("input[name=task]", "value") == task
        assert page.is_checked("input[value='0']"), "the draft is restored"
        page.go_back()
        page.go_forward()
        page.wait_for_selector("h1:has-text('Задание 3')")
        assert not problems


@pytest.mark.thorough
def test_every_item_has_its_own_clock(frozen: Frozen) -> None:
    folder = frozen(experts=True)
    ((_, path),) = invite_to_site(folder.path, experts=("Анна",))
    with running_site(folder.path) as (address, _, _), opened_browser() as browser:
        context = browser.new_context(locale="ru-RU")
        context.add_init_script("performance.now = () => Date.now() + (window.later || 0)")
        page = context.new_page()
        page.goto(address + path)
        page.click("button.main")
        page.click("text=Инструкция понятна")
        page.click("a.main")
        page.wait_for_selector("h1:has-text('Задание 1')")
        page.evaluate("window.later = 53000")
        page.wait_for_selector(".clock.soon")
        page.click(".labels label:has-text('1')")
        page.click("button.main")
        page.wait_for_selector("h1:has-text('Задание 2')")
        assert int(page.inner_text("#left")) > 50
        page.evaluate("window.later = 53000 + 53000")
        page.wait_for_selector(".clock.soon")
        assert page.is_enabled("button.main"), "the clock of the first item has stopped"
