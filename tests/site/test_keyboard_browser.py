"""The whole way by keyboard alone, in two languages; and the keys that choose an option."""

from collections.abc import Callable
from pathlib import Path

import pytest
from site_process import served_site
from site_visitor import Visitor, in_two_languages, refrozen, stored
from study_people import study_of

from merilo.items import Item
from merilo.site.serving import invite_to_site
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]
QUESTION = "Сбалансирована ли последовательность скобок: {inputs}? Ответ: 1 или 0."


def item(name: str, brackets: str, gold: str, **meta: str) -> Item:
    return Item(name, QUESTION, brackets, gold, {"id": name, **meta})


def test_from_the_code_to_the_thanks_by_keyboard_alone(tmp_path: Path, browser) -> None:
    training = [item("t1", "( )", "1", hint="Каждая скобка закрыта."), item("t2", "(", "0")]
    items = [item("a", "( ( ) )", "1"), item("b", ") (", "0")]
    made = study_of(tmp_path / "study", items, [item("c", "[ ]", "1")], training=training)
    folder = in_two_languages(refrozen(made, **{"training: {}": "training: {threshold: 0.5}"}))
    ((_, link),) = invite_to_site(folder.path)
    with served_site(folder.path) as (address, _):
        person = Visitor(
            browser.new_context(locale="ru-RU", viewport={"width": 360, "height": 740}).new_page(), address
        )
        page = person.page

        def press(selector: str) -> None:
            person.tab_to(selector)
            person.press("Enter")

        person.come("/")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        person.tab_to("#code")
        page.keyboard.type(link.removeprefix("/i/").lower())
        person.press("Enter")
        assert person.heading == "Согласие на участие"
        press("main button.main")
        assert person.heading == "Задание"
        press("main button.main")
        assert person.heading == "Тренировочное задание 1 из 2"
        page.keyboard.press("0")
        person.press("Enter")
        assert "Неверно" in person.heading
        assert "Правильный ответ: 1" in page.inner_text(".explained")
        press("a.main")
        page.keyboard.press("0")
        person.press("Enter")
        assert "Верно" in person.heading
        person.press("Enter")  # wherever the focus is
        assert person.heading == "Задание 1"
        press("nav button")
        assert person.heading == "Task 1", "the language changes in place"
        person.tab_to("summary")
        page.keyboard.press("Enter")
        person.tab_to("#comment")
        page.keyboard.type("1 is unclear")
        page.keyboard.press("Enter")
        page.keyboard.type("Is it?")
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("1")
        assert page.is_checked("input[value='1']")
        press("button[value=pause]")
        assert person.heading == "Break"
        press("a.main")
        assert person.heading == "Task 2"
        press("nav a[href$=instruction]")
        assert person.heading == "Task"
        press("a.main")
        while person.heading != "Thank you!":
            person.tab_to("input[type=radio]")
            page.keyboard.press("Space")
            page.keyboard.press("ArrowDown")
            assert page.is_checked("input[value='1']"), "the arrows choose too"
            person.press("Enter")
    rows = stored(folder)
    assert [row.answer for row in rows] == ["1"] * len(rows)
    assert rows[0].comment == "1 is unclear\nIs it?"


@pytest.mark.thorough
def test_the_keys_can_be_turned_off_for_people_who_speak_to_their_computer(frozen: Frozen, browser) -> None:
    with served_site(frozen().path) as (address, paths):
        person = Visitor(browser.new_context(locale="en-US").new_page(), address)
        page = person.page
        person.begin(paths["people"] + "?worker_id=1")
        person.tab_to("#keys")
        page.keyboard.press("Enter")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("1")
        assert page.locator("input:checked").count() == 0
        page.reload()
        assert page.inner_text("#keys") == "Включить клавиши"
        page.keyboard.press("1")
        assert page.locator("input:checked").count() == 0, "the browser remembers it"
        page.click("#keys")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("1")
        assert page.is_checked("input[value='1']")


LETTERS = """\
name: letters
title: Letters
about: Options that are letters
answer: {kind: choice, labels: [A, B, C, D]}
metrics: [acc]
prompts: ["{inputs}"]
"""


@pytest.mark.thorough
def test_options_that_are_letters_are_chosen_by_letter_in_any_layout_and_by_place(
    tmp_path: Path, browser
) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "letters.yaml").write_text(LETTERS, encoding="utf-8")
    items = [Item(n, "{inputs}", f"Вопрос {n}?", "A", {"id": n}) for n in (1, 2, 3)]
    made = refrozen(study_of(folder, items[:2], items[2:], dataset_name=str(folder / "letters.yaml")))
    with served_site(made.path) as (address, paths):
        person = Visitor(browser.new_context(locale="ru-RU").new_page(), address)
        person.begin(paths["people"] + "?worker_id=1")
        for key, chosen in (("d", "D"), ("2", "B"), ("A", "A")):
            person.page.keyboard.press(key)
            assert person.page.locator("input:checked").get_attribute("value") == chosen
        person.page.evaluate(
            "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'с', code: 'KeyC', bubbles: true}))"
        )
        assert person.page.is_checked("input[value=C]"), "the Russian letter on the key of the Latin one"
