"""The author's page in a real browser, without JavaScript and with it, and by axe-core in both languages."""

from collections.abc import Callable

import pytest
from accessibility import AccessibilityCheck
from author_session import author_link
from site_people import simulate
from site_process import served_site

from merilo.site.journal import Journal, database_url
from merilo.site.served_study import load_study
from merilo.site.state import State
from merilo.studies.study_folder import StudyFolder

pytestmark = [pytest.mark.thorough, pytest.mark.slow]

Frozen = Callable[..., StudyFolder]


def answered(frozen: Frozen) -> StudyFolder:
    """A study that three people have answered."""
    folder = frozen()
    journal = Journal(database_url(folder.path, None))
    assert journal.take()
    state = State(load_study(folder, "people"))
    state.begin(1)
    simulate(state, {"ann": 0.9, "bob": 0.9, "cid": 0.6})
    journal.append(state.unwritten())
    journal.close()
    return folder


def test_an_author_walks_through_the_page_without_javascript(frozen: Frozen, browser) -> None:
    folder = answered(frozen)
    with served_site(folder.path) as (address, _):
        page = browser.new_context(
            locale="ru-RU", viewport={"width": 360, "height": 740}, java_script_enabled=False
        ).new_page()

        def go(where: str) -> None:
            with page.expect_navigation():
                page.click(where)

        # A link on a page of another site leads to the page too.
        page.set_content(f'<a href="{address}{author_link(folder.path)}">link</a>')
        page.click("text=link")
        page.wait_for_selector("#progress")
        assert author_link(folder.path) not in page.url
        assert page.evaluate("document.referrer") == "", "the secret goes nowhere"
        assert page.inner_text("#f-answered").replace("\u00a0", " ") == "24 из 24 (100,0 %)"
        assert page.inner_text("#f-people") == "закончили: 3"
        headings = page.locator("h2").all_inner_texts()
        assert headings[:6] == [
            "Всё ли идёт по плану?", "Ход сбора", "Согласованность", "Оплата и время", "Участники", "Оценка уровня человека",
        ]  # fmt: skip
        go("table a[href*='person='] >> nth=0")
        person = page.inner_text("#person")
        page.fill("#reason", "Отвечает не глядя")
        go("button:has-text('Исключить')")
        assert "Отвечает не глядя" in page.inner_text(f"tr:has-text('{person}')")
        go("text=Вернуть, стереть")
        go("button:has-text('Вернуть')")
        assert "Отвечает не глядя" not in page.inner_text("table")
        go(f"tr:has-text('{person}') >> a")
        page.check("input[name=sure]")
        go("text=Стереть безвозвратно")
        assert person not in page.content()
        go("text=Создать или отозвать ссылки")
        page.fill("#count", "2")
        go("text=Создать ссылки")
        assert len(page.input_value("#links").split()) == 2
        go("main >> text=К обзору")
        go("text=Создать или отозвать ссылки")
        go("text=Отозвать >> nth=-1")
        go("main >> text=К обзору >> nth=-1")
        go("text=Показать оценку")
        assert 0 < float(page.inner_text("#f-estimate").replace(",", ".")) <= 1
        go("text=Приостановить")
        assert "приостановлено" in page.inner_text(".banner")
        go("text=English")
        assert page.inner_text("h1") == "Overview"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "no scrolling sideways"


def test_the_page_reloads_itself_and_links_are_copied(
    frozen: Frozen, browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("merilo.site.author.RELOAD", 4)
    folder = answered(frozen)
    with served_site(folder.path) as (address, paths):
        context = browser.new_context(locale="en-US", timezone_id="Asia/Tokyo")
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
        page = context.new_page()
        problems: list[str] = []
        page.on("console", lambda said: problems.append(said.text))
        page.goto(address + author_link(folder.path))
        page.wait_for_selector("#progress")
        page.evaluate("document.body.dataset.mark = 'old'")
        page.wait_for_selector("body:not([data-mark])")
        page.goto(f"{address}/author/{paths['people'].split('/')[2]}/?invite=1")
        page.fill("#count", "2")
        page.click("text=Make links >> visible=true")
        page.wait_for_selector("#links")
        page.click("text=Copy")
        page.wait_for_selector("text=Copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.split() == page.input_value("#links").split()
        shown = page.locator("tbody time").first
        utc = shown.get_attribute("title")
        assert utc is not None
        hours = int(utc.split()[1].split(":")[0])
        assert int(shown.inner_text().split(", ")[-1].split(":")[0]) % 12 == (hours + 9) % 12
        assert problems == []


def test_axe_core_finds_nothing(frozen: Frozen, browser) -> None:
    check = AccessibilityCheck()
    folder = answered(frozen)
    looks = ("phone light", "phone dark", "desktop light", "desktop dark")
    with served_site(folder.path) as (address, paths):
        study = f"{address}/author/{paths['people'].split('/')[2]}/"
        for locale in ("ru-RU", "en-US"):
            page = browser.new_context(locale=locale).new_page()
            page.goto(address + author_link(folder.path))
            page.wait_for_selector("#progress")
            page.goto(f"{study}?still=1")
            check(page, f"overview {locale}", looks=looks)
            page.goto(study + page.get_attribute("table a[href*='person=']", "href").rsplit("/", 1)[1])
            check(page, f"person {locale}", looks=looks)
            page.goto(f"{study}?invite=1")
            check(page, f"invite {locale}", looks=looks)
            page.click("form[action$=invitations] button")
            page.wait_for_selector("#links")
            check(page, f"links {locale}", looks=looks)
            page.click("button.danger")
            page.wait_for_selector("#f-estimate")
            check(page, f"estimate {locale}", looks=looks)
    check.passed(10)
