"""A person's way through a study in a real browser, against a real server process."""

from collections.abc import Callable

import pytest
from site_process import running_site, served_site

from merilo.items import Item
from merilo.site.item_form import asked_prompt
from merilo.site.served_study import load_study
from merilo.site.serving import read_site
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]
QUESTION = "Сбалансирована ли последовательность скобок: {inputs}? Ответ: 1 или 0."
TRAINING = [
    Item("t1", QUESTION, "( )", "1", {"id": "t1", "hint": "Каждая скобка закрыта."}),
    Item("t2", QUESTION, "( ) ( )", "1", {"id": "t2"}),
    Item("t3", QUESTION, "[ ] ( )", "1", {"id": "t3"}),
    Item("t4", QUESTION, "( ( ) )", "1", {"id": "t4"}),
    Item("t5", QUESTION, "(", "0", {"id": "t5", "hint": "Скобка не закрыта."}),
]


def test_the_whole_way_by_mouse_with_training_and_the_completion_code(frozen: Frozen, browser) -> None:
    folder = frozen(training=TRAINING)
    study = load_study(folder, "people")
    with running_site(folder.path) as (address, paths, process):
        page = browser.new_context(locale="ru-RU", viewport={"width": 1100, "height": 900}).new_page()
        problems = []
        page.on("console", lambda said: problems.append(said.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"{address}{paths['people']}?PROLIFIC_PID=abc123")
        page.click("text=Согласиться и продолжить")
        page.click("text=Инструкция понятна, начать")
        for place, label in enumerate("11110", start=1):
            page.wait_for_selector(f"h1:has-text('Тренировочное задание {place} из 5')")
            page.click(f".labels label:has-text('{'0' if place == 1 else label}')")
            page.click("button.main")
            page.wait_for_selector("text=Дальше")
            said = page.inner_text("main")
            assert ("Правильный ответ: 1" in said and "Каждая скобка закрыта." in said) == (place == 1)
            page.click("text=Дальше")
        shown = []
        while True:
            page.wait_for_selector("h1")
            if page.inner_text("h1") == "Спасибо!":
                break
            most = page.get_attribute("progress", "max")
            assert page.inner_text(".progress") == f"Выполнено {len(shown)}, всего — не больше {most}"
            shown.append(page.inner_text(".prompt"))
            task = page.get_attribute("input[name=task]", "value")
            known = study.tasks[study.numbers[task]].known
            page.click(f".labels label:has-text('{known or 1}')")
            page.click("button.main")
            page.wait_for_function(
                "task => document.querySelector('input[name=task]')?.value !== task", arg=task
            )
        assert len(shown) <= int(most) <= len(shown) + 2, (
            "the number promised is close to the number of tasks"
        )
        code = page.inner_text(".code")
        assert not problems
    assert process.returncode == 0
    assert len(code) == 10
    assert set(shown) >= {asked_prompt(study.tasks[number]).text for number in range(study.rules.tests)}
    (person,) = read_site(folder.path).people.values()
    rows = [held for held in person.tasks.values() if held.state == "answered"]
    assert person.completion == code
    assert person.controls == person.controls_right > 0
    assert len(rows) == len(shown) + 5


@pytest.mark.thorough
def test_the_next_item_takes_the_place_of_the_answered_one(frozen: Frozen, browser) -> None:
    folder = frozen()
    with served_site(folder.path) as (address, paths):
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
