"""The author's overview in a real browser, against a real server process."""

from collections.abc import Callable

import pytest
from author_session import PASSWORD
from collected_answers import Given, put_answers, simulate
from site_process import running_site, served_site

from merilo.site.database import database_url, open_database, writing
from merilo.site.served_study import ServedStudy, load_study, register
from merilo.site.serving import set_site_password
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]


def write(folder: StudyFolder, fill: Callable[..., None], *arguments: object) -> ServedStudy:
    """Write into the site's database from this process, which is not the server."""
    engine = open_database(database_url(folder.path, None))
    with writing(engine) as connection:
        study = register(connection, load_study(folder, "people"), 1)
        fill(connection, study, *arguments)
    engine.dispose()
    return study


def sign_in(page, address: str) -> None:
    page.goto(f"{address}/author/")
    page.fill("#password", PASSWORD)
    page.click("form[action='/author/sign-in'] button")
    page.wait_for_selector(".studies")


@pytest.mark.thorough
def test_an_answer_of_another_process_appears_on_the_open_dashboard_without_reloading(
    frozen: Frozen, browser
) -> None:
    folder = frozen()
    set_site_password(folder.path, PASSWORD)
    study = write(folder, put_answers, [Given("ann", 0, "1"), Given("ann", 1, "1")])
    with running_site(folder.path) as (address, _, process):
        page = browser.new_context(locale="ru-RU", viewport={"width": 1100, "height": 900}).new_page()
        problems = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        sign_in(page, address)
        page.goto(f"{address}/author/{study.key}/")
        assert page.inner_text("[data-figure=answered]").startswith("2 из 24")
        page.wait_for_selector("text=Числа обновляются сами.")
        page.evaluate("document.querySelector('h1').dataset.mark = 'the same page'")
        write(folder, put_answers, [Given("bob", 0, "1"), Given("bob", 1, "0"), Given("bob", 2, "1")])
        page.wait_for_selector("[data-figure=answered]:has-text('5 из 24')")
        assert page.get_attribute("h1", "data-mark") == "the same page"
        assert page.inner_text("[data-figure=people]") == "отвечают: 2"
        page.wait_for_selector("[data-figure=earned]:has-text('0,25 доллара США')")
        # Items 0 and 1: observed disagreement 2, expected (4 * 4 - 3 * 3 - 1) / 3 = 2.
        assert page.inner_text("[data-figure=alpha]") == "0,000"
        assert page.evaluate("document.querySelector('progress').value") == pytest.approx(5 / 24, abs=1e-4)
        live = page.eval_on_selector_all(
            "[aria-live], [role=status], [role=alert], [role=log]", "all => all.map(one => one.id)"
        )
        assert live == ["live-status"], "one short status is read aloud, not every number"
        process.send_signal(2)
        page.wait_for_selector("text=Связь с сервером потеряна")
        process.wait(30)
        assert not problems
    assert process.returncode == 0


@pytest.mark.thorough
def test_a_hidden_page_closes_its_connection_and_opens_it_again(frozen: Frozen, browser) -> None:
    folder = frozen()
    set_site_password(folder.path, PASSWORD)
    study = write(folder, put_answers, [Given("ann", 0, "1")])
    with served_site(folder.path) as (address, _):
        page = browser.new_context(locale="en-US").new_page()
        sign_in(page, address)
        page.goto(f"{address}/author/{study.key}/")
        page.wait_for_selector("text=The numbers update by themselves.")
        hide = "hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true}); document.dispatchEvent(new Event('visibilitychange')); }"
        with page.expect_event("requestfailed", lambda request: request.url.endswith("/live")):
            page.evaluate(hide, True)
        with page.expect_request(lambda request: request.url.endswith("/live")):
            page.evaluate(hide, False)


@pytest.mark.thorough
def test_without_javascript_the_overview_the_people_and_the_estimate_work(frozen: Frozen, browser) -> None:
    folder = frozen()
    set_site_password(folder.path, PASSWORD)
    study = write(folder, simulate, {"a": 0.9, "b": 0.9, "c": 0.6})
    with served_site(folder.path) as (address, _):
        page = browser.new_context(
            locale="en-US", java_script_enabled=False, viewport={"width": 360, "height": 740}
        ).new_page()
        sign_in(page, address)
        page.goto(f"{address}/author/{study.key}/")
        assert page.inner_text("[data-figure=answered]") == "24 of 24 (100.0%)"
        write(folder, put_answers, [Given("dan", 0, "1", counts=False)])
        for _ in range(500):  # the figures of a moment ago are shown again
            page.click("text=Reload the page")
            if page.inner_text("[data-figure=people]") == "answering: 1, finished: 3":
                break
        assert page.inner_text("[data-figure=people]") == "answering: 1, finished: 3"
        page.click("text=Table of people")
        by_seconds = page.get_attribute("th a:has-text('Median, s')", "href")
        page.goto(f"{address}{by_seconds}")
        assert page.get_attribute("th[aria-sort]", "aria-sort") == "ascending"
        page.click("nav >> text=Overview")
        page.click("text=See the estimate…")
        assert "recorded in the log" in page.inner_text("main")
        page.click("button.danger")
        assert 0 < float(page.inner_text("#estimate")) <= 1
