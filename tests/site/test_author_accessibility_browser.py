"""axe-core finds nothing on the author's pages: one line for each page."""

from collections.abc import Callable

import pytest
from accessibility import AccessibilityCheck
from collected_answers import simulate
from site_in_process import opened_site
from site_process import served_site

from merilo.site.database import writing
from merilo.site.serving import set_site_password
from merilo.studies.study_folder import StudyFolder

pytestmark = pytest.mark.slow

Frozen = Callable[..., StudyFolder]
PASSWORD = "a long enough password"
ALL = ("phone light", "phone dark", "desktop light", "desktop dark")

#: The pages of a study, below its address; `{person}` stands for somebody's pseudonym.
PAGES = {
    "overview": "",
    "people": "people",
    "person": "people/{person}",
    "erase": "people/{person}/erase",
    "invitations": "invitations",
    "log": "log",
    "export": "export",
    "estimate": "estimate",
}


@pytest.mark.thorough
def test_the_authors_pages_in_both_languages(frozen: Frozen, browser) -> None:
    check = AccessibilityCheck()
    folder = frozen()
    set_site_password(folder.path, PASSWORD)
    with opened_site(folder) as site, writing(site.engine) as connection:
        simulate(connection, site.by_number[1], {"a": 0.9, "b": 0.8, "c": 0.5}, most=12)
    with served_site(folder.path) as (address, paths):
        study = f"{address}/author/{paths['people'].split('/')[2]}/"
        for locale in ("ru-RU", "en-US"):
            looks = ALL if locale == "ru-RU" else ("phone light", "desktop dark")
            page = browser.new_context(locale=locale).new_page()
            page.goto(f"{address}/author/")
            check(page, f"sign-in {locale}", looks=looks)
            page.fill("#password", "wrong")
            page.click("button.main")
            page.wait_for_selector(".error")
            check(page, f"wrong password {locale}", looks=looks)
            page.fill("#password", PASSWORD)
            page.click("button.main")
            page.wait_for_selector(f"a[href*='{paths['people'].split('/')[2]}']")
            check(page, f"studies {locale}", looks=looks)
            page.goto(f"{study}people")
            person = page.locator("table a[href*='/people/']").first.get_attribute("href").rsplit("/", 1)[1]
            for name, path in PAGES.items():
                page.goto(study + path.format(person=person))
                assert page.locator("h1").count() == 1
                check(page, f"{name} {locale}", looks=looks)
        page.goto(study)
        page.locator("form[action$=pause] button").first.click()
        page.wait_for_selector(".banner")
        check(page, "a paused study", looks=ALL)
    check.passed(20)
