"""An author in a real browser, without JavaScript: signing in, excluding somebody, the log, reinstating, erasing, invitations."""

from collections.abc import Callable

import httpx
import pytest
from site_in_process import hidden
from site_process import served_site

from merilo.site.serving import set_site_password
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]
PASSWORD = "correct horse battery"
ID = "5f3a9c77"


def answered(address: str, path: str, times: int) -> None:
    """Somebody comes from Prolific and answers some tasks."""
    with httpx.Client(base_url=address, follow_redirects=True, timeout=60) as client:
        page = client.get(f"{path}?PROLIFIC_PID={ID}").text
        for step in ("consent", "instruction"):
            page = client.post(f"{path}{step}", data={"token": hidden(page, "token")}).text
        for _ in range(times):
            sent = {"token": hidden(page, "token"), "task": hidden(page, "task"), "answer": "1"}
            page = client.post(f"{path}task", data=sent).text


@pytest.mark.thorough
@pytest.mark.slow
def test_an_author_excludes_reinstates_and_erases_somebody(frozen: Frozen, browser) -> None:
    folder = frozen()
    set_site_password(folder.path, PASSWORD)
    with served_site(folder.path) as (address, paths):
        answered(address, paths["people"], 3)
        page = browser.new_context(
            locale="ru-RU", viewport={"width": 360, "height": 740}, java_script_enabled=False
        ).new_page()
        problems: list[str] = []
        page.on("console", lambda said: problems.append(said.text))
        home = f"{address}/author/{paths['people'].split('/')[2]}"

        def go(where: str) -> None:
            with page.expect_navigation():
                page.click(where)

        page.goto(f"{home}/people")
        assert page.inner_text("h1") == "Вход для автора"
        page.fill("#password", PASSWORD)
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert page.url == f"{home}/people"
        go("table a[href*='/people/p']")
        assert ID in page.inner_text("main")
        person = page.url
        page.click("button:has-text('Исключить')")
        assert page.evaluate("document.querySelector('#reason:invalid') !== null"), "a reason is needed"
        page.fill("#reason", "Отвечает не глядя")
        page.keyboard.press("Tab")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert page.inner_text(".stage") == "исключён: Отвечает не глядя"
        go("nav >> text=Журнал")
        row = page.inner_text("tbody tr >> nth=0")
        parts = ("автор", "Участник исключён", "Отвечает не глядя", person.split("/")[-1])
        assert all(part in row for part in parts)
        go("tbody tr >> nth=0 >> a")
        go("button:has-text('Вернуть')")
        assert page.inner_text(".stage") == "отвечает на задания"
        assert "ответов снова учитывается: " in page.inner_text("table")
        go("text=Стереть данные участника")
        assert "Повторный импорт не удаляет прежние строки" in page.inner_text("main")
        go("text=Не стирать")
        assert page.url == person
        go("text=Стереть данные участника")
        go("text=Стереть безвозвратно")
        assert "Данные участника стёрты" in page.inner_text("tbody tr >> nth=0")
        assert person.split("/")[-1] not in page.content()
        assert "Отвечает не глядя" not in page.content()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "no scrolling sideways"
        page.goto(person)
        assert page.inner_text("h1") == "Такой страницы нет"
        go("text=Выйти")
        page.goto(home + "/log")
        assert page.inner_text("h1") == "Вход для автора"
        assert [one for one in problems if "404" not in one] == []


@pytest.mark.thorough
@pytest.mark.slow
def test_links_are_copied_and_times_are_shown_in_the_browsers_zone(frozen: Frozen, browser) -> None:
    folder = frozen()
    set_site_password(folder.path, PASSWORD)
    with served_site(folder.path) as (address, paths):
        context = browser.new_context(locale="en-US", timezone_id="Asia/Tokyo")
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
        page = context.new_page()
        problems: list[str] = []
        page.on("console", lambda said: problems.append(said.text))
        page.goto(f"{address}/author/{paths['people'].split('/')[2]}/invitations")
        page.fill("#password", PASSWORD)
        page.keyboard.press("Enter")
        page.fill("#count", "2")
        page.click("text=Make links")
        page.wait_for_selector("#links")
        page.click("text=Copy")
        page.wait_for_selector("text=Copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.split() == page.input_value("#links").split()
        assert all(link.startswith(f"{address}/i/") for link in copied.split())
        assert len(copied.split()) == 2
        page.click("text=To the invitations")
        shown = page.locator("tbody time").first
        utc = shown.get_attribute("title")
        assert utc is not None
        hours = int(utc.split()[1].split(":")[0])
        assert int(shown.inner_text().split(", ")[-1].split(":")[0]) % 12 == (hours + 9) % 12
        assert problems == []
