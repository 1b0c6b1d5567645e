"""An expert study in a real browser: a personal link, a clock that the server keeps, and the option to skip."""

from collections.abc import Callable

import pytest
from accessibility import AccessibilityCheck
from site_process import served_site

from merilo.site.serving import invite_to_site, read_site
from merilo.studies.study_folder import StudyFolder, freeze_plan, open_study

Frozen = Callable[..., StudyFolder]


def limited(folder: StudyFolder, seconds: float) -> StudyFolder:
    """The same study with another time limit for experts."""
    plan = folder.path / "study.yaml"
    plan.write_text(
        plan.read_text("utf-8").replace("time_limit: 60.0", f"time_limit: {seconds}"), encoding="utf-8"
    )
    opened = open_study(folder.path)
    freeze_plan(opened, day="2026-01-12", force=True)
    return opened


@pytest.mark.thorough
def test_an_expert_starts_the_clock_skips_an_item_and_is_not_charged_for_the_break(
    frozen: Frozen, browser
) -> None:
    folder, check = frozen(experts=True), AccessibilityCheck()
    ((_, path),) = invite_to_site(folder.path, experts=("Анна",))
    with served_site(folder.path) as (address, paths):
        page = browser.new_context(locale="ru-RU").new_page()
        page.goto(f"{address}{paths['experts']}?worker_id=1")
        assert "Вход по приглашению" in page.inner_text("h1"), "a platform's id does not open an expert study"
        page.goto(address + path)
        page.click("text=Согласиться и продолжить")
        page.click("text=Инструкция понятна")
        assert page.inner_text("h1") == "Начать", "the clock does not start before the person is ready"
        check(page, "before the clock starts")
        page.click("a.main")
        page.wait_for_selector("form#item")
        check(page, "clock and skip")
        check.passed(2)
        assert 55 <= int(page.inner_text("#left")) <= 60
        page.click("text=Пропустить вопрос, так как он, возможно, был придуман мной")
        page.wait_for_selector("h1:has-text('Задание 2')")
        page.click(".labels label:has-text('1')")
        with page.expect_navigation():
            page.click("text=Ответить и сделать перерыв")
        assert page.inner_text("h1") == "Перерыв"
        page.goto(address + path)
        assert page.inner_text("h1") == "Начать", "the link leads back to the same place"
    (person,) = read_site(folder.path, arm="experts").people.values()
    held = [person.tasks[task] for task in person.order]
    assert [(one.state, one.skipped, one.answer) for one in held[:2]] == [
        ("answered", True, ""),
        ("answered", False, "1"),
    ]


@pytest.mark.thorough
def test_an_item_whose_time_ran_out_is_taken_away_and_the_next_one_waits_for_the_person(
    frozen: Frozen, browser
) -> None:
    folder = limited(frozen(experts=True), 1.0)
    ((_, path),) = invite_to_site(folder.path, experts=("Анна",))
    with served_site(folder.path) as (address, _):
        page = browser.new_context(locale="ru-RU").new_page()
        page.goto(address + path)
        page.click("text=Согласиться и продолжить")
        page.click("text=Инструкция понятна")
        page.click("a.main")
        page.wait_for_selector("text=Время вышло")
        assert page.is_disabled("button.main")
        page.click("#status a")
        page.wait_for_selector("h1:has-text('Задание 2')")
    (person,) = read_site(folder.path, arm="experts").people.values()
    assert person.tasks[person.order[0]].state == "expired"


@pytest.mark.thorough
def test_every_item_has_its_own_clock(frozen: Frozen, browser) -> None:
    folder = frozen(experts=True)
    ((_, path),) = invite_to_site(folder.path, experts=("Анна",))
    with served_site(folder.path) as (address, _):
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
