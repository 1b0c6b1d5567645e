"""axe-core finds nothing on any page of the annotator's side, in any state, in both languages, light and dark, on a phone and a desktop."""

from collections.abc import Callable

import pytest
from accessibility import AccessibilityCheck
from site_people import START, come
from site_process import live_state, served_site
from site_visitor import Visitor, in_two_languages

from merilo.items import Item
from merilo.site.serving import invite_to_site
from merilo.studies.study_folder import StudyFolder

pytestmark = pytest.mark.slow

Frozen = Callable[..., StudyFolder]
QUESTION = "Сбалансирована ли последовательность скобок: {inputs}? Ответ: 1 или 0."
TRAINING = [
    Item("t1", QUESTION, "( )", "1", {"id": "t1", "hint": "Каждая скобка закрыта."}),
    Item("t2", QUESTION, "( ) ( )", "1", {"id": "t2"}),
]
INSTRUCTION = "# Скобки\n\nОтветьте.\n\n| пример | ответ |\n| --- | --- |\n| `( )` | 1 |\n\n- раз\n- два\n"


def at_stage(folder: StudyFolder, stage: str) -> None:
    for person in live_state(folder.path).people.values():
        person.stage = stage  # type: ignore[assignment]


def taken_by_others(folder: StudyFolder) -> None:
    """Every item has its people, and all that are not answered are with others."""
    state = live_state(folder.path)
    come(state, "other", START)
    for task in range(state.rules.tests):
        if state.open[task]:
            state.record(START, "given", "other", task, place=task + 1, due=2**60)


def test_the_way_from_the_code_to_the_thanks(frozen: Frozen, browser) -> None:
    check = AccessibilityCheck()
    folder = in_two_languages(frozen(training=TRAINING, instruction=INSTRUCTION, overlap=1))
    with served_site(folder.path) as (address, paths):
        for locale in ("ru-RU", "en-US"):
            looks = ("phone light", "desktop dark") if locale == "ru-RU" else ("phone dark",)
            person = Visitor(browser.new_context(locale=locale).new_page(), address)
            page = person.page
            person.come("/")
            check(page, f"entry {locale}", looks=looks)
            page.fill("#code", "ABC")
            page.click("button.main")
            page.wait_for_selector(".error")
            check(page, f"wrong code {locale}", looks=looks)
            person.come("/nothing")
            check(page, f"not found {locale}")
            person.come(paths["people"])
            check(page, f"no invitation {locale}")
            person.come(paths["people"] + f"?worker_id={locale}")
            for state in ("consent", "instruction"):
                check(page, f"{state} {locale}", looks=looks)
                page.click("main button.main")
                page.wait_for_selector(".instruction" if state == "consent" else "form#item")
            check(page, f"training {locale}", looks=looks)
            for label in "01":
                person.choose(label)
                person.send()
                check(page, f"feedback to {label} {locale}", looks=looks)
                page.click("a.main")
                page.wait_for_selector("h1:not(.verdict)")
            check(page, f"training not passed {locale}")
        at_stage(folder, "working")
        person.come(paths["people"] + "task")
        check(page, "labels")
        person.choose("1")
        page.click("summary")
        check(page, "labels chosen, comment open")
        page.evaluate("document.querySelectorAll('input[name=answer]').forEach(one => one.remove())")
        page.click("button.main")
        page.wait_for_selector("#status:not(:empty)")
        check(page, "an answer that the server refused")
        page.goto(address + paths["people"] + "instruction")
        check(page, "instruction again")
        for note in ("", "start", "late", "passed_on", "answered_before"):
            person.come(f"{paths['people']}pause?note={note}")
            check(page, f"break {note}")
        live_state(folder.path).paused = True
        person.come(paths["people"] + "task")
        check(page, "study paused")
        live_state(folder.path).paused = False
        taken_by_others(folder)
        for name in "abcdefgh":  # the first task of a person now and then is a control item
            other = Visitor(browser.new_context(locale="ru-RU").new_page(), address)
            other.come(f"{paths['people']}?worker_id={name}")
            at_stage(folder, "working")
            other.come(paths["people"] + "task")
            if other.heading == "Пока свободных заданий нет":
                break
        assert other.heading == "Пока свободных заданий нет"
        check(other.page, "nothing to do until others answer")
        for stage in ("stopped", "excluded", "refused"):
            at_stage(folder, stage)
            person.come(paths["people"])
            assert page.locator(".code").count() == 1
            check(page, f"{stage} with the completion code")
    check.passed(30)


@pytest.mark.thorough
def test_pages_without_javascript(frozen: Frozen, browser) -> None:
    check = AccessibilityCheck()
    folder = frozen("simplear", experts=True)
    ((_, link),) = invite_to_site(folder.path, experts=("Анна",))
    with served_site(folder.path) as (address, _):
        script_free = browser.new_context(locale="ru-RU")
        script_free.route("**/annotator.js", lambda route: route.abort())
        person = Visitor(script_free.new_page(), address)
        page = person.page
        person.begin(link)
        page.click("a.main")
        page.fill("#answer", "двенадцать")
        page.evaluate("document.querySelector('#item').noValidate = true")
        page.click("button.main")
        page.wait_for_selector(".error")
        assert page.input_value("#answer") == "двенадцать", "what was typed is still there"
        check(page, "an answer that is refused")
    check.passed(1)
