"""Every kind of item in a real browser, also under axe-core: dialogues, media, the questions of an exam, programs."""

from collections.abc import Callable
from pathlib import Path

import pytest
from accessibility import AccessibilityCheck
from site_process import served_site
from site_visitor import Visitor, refrozen, stored, with_samples
from small_media import png, wav, webm
from study_people import study_of

from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples
from merilo.items import Item
from merilo.site.item_form import asked_prompt
from merilo.site.served_study import load_study
from merilo.site.serving import invite_to_site
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]


@pytest.mark.thorough
def test_a_dialogue_goes_turn_by_turn_with_ones_own_answers_also_after_a_break_on_another_device(
    frozen: Frozen, browser
) -> None:
    folder, check = frozen("rutie"), AccessibilityCheck()
    study = load_study(folder, "people")
    ((_, link),) = invite_to_site(folder.path)
    with served_site(folder.path) as (address, _):
        person = Visitor(
            browser.new_context(locale="ru-RU", viewport={"width": 390, "height": 844}).new_page(), address
        )
        person.begin(link)
        given: list[tuple[str, str]] = []
        for answer in ("2", "1", "2"):
            own = person.page.locator(".turns .given").all_inner_texts()
            assert own == [one for _, one in given], (
                "the earlier turns have the person's own answers, right or wrong"
            )
            prompts = person.page.locator(".turns .prompt").all_inner_texts()
            assert prompts == [prompt for prompt, _ in given], "there the options stand in the text"
            task = study.tasks[study.numbers[person.task]]
            assert person.page.locator(".options label").all_inner_texts() == [
                f"{option.sign}\n{option.text}" for option in task.options
            ]
            assert not any(option.text in person.prompt for option in task.options if task.listed)
            assert task.turn == len(given) + 1, "the turns come in order"
            given.append((asked_prompt(task, with_options=True).text, answer))
            person.choose(answer)
            person.send("pause" if len(given) == 3 else "next")
        assert person.heading == "Перерыв"
        phone = Visitor(browser.new_context(locale="ru-RU").new_page(), address)
        phone.come(link)
        assert phone.heading == "Задание 4"
        assert phone.page.locator(".turns .given").all_inner_texts() == ["2", "1", "2"]
        check(phone.page, "dialogue")
        seen = phone.page.evaluate("(() => { const box = document.querySelector('.turns').getBoundingClientRect();"
                                   " const last = document.querySelector('.turns li:last-child .own').getBoundingClientRect();"
                                   " return last.bottom <= box.bottom + 1 && last.top >= box.top; })()")  # fmt: skip
        assert seen, "the box of earlier turns shows the latest one first"
        phone.page.keyboard.press("1")
        phone.press("Enter")
        assert phone.heading == "Задание 5"
    check.passed(1)
    assert [row.answer for row in stored(folder)] == ["2", "1", "2", "1"]


DECLARED = """\
name: sights
title: Sights
about: What is shown
fields: [question, image, sound, film]
media: [image, sound, film]
hidden: [image, sound, film]
answer: {kind: choice, labels: [A, B]}
metrics: [acc]
prompts: ["{question}"]
"""


@pytest.mark.thorough
def test_pictures_sounds_and_films_come_from_samples_under_names_that_tell_nothing(
    tmp_path: Path, browser
) -> None:
    folder = tmp_path / "study"
    with_samples(folder, {"secret-cat.png": png(), "secret-dog.wav": wav(), "secret-cow.webm": webm(browser)})
    (folder / "sights.yaml").write_text(DECLARED, encoding="utf-8")

    def shown(number: int, question: str, **media: str) -> Item:
        none = dict.fromkeys(("image", "sound", "film"), "samples/secret-cat.png")
        return Item(number, question, {"question": "?", **none, **media}, "A", {"id": number})

    items = [
        shown(1, "Что на картинке <image>? A или B", image="samples/secret-cat.png"),
        shown(2, "Кто это говорит <sound>? A или B", sound="samples/secret-dog.wav"),
        shown(3, "Что в фильме <film>? A или B", film="samples/secret-cow.webm"),
        shown(4, "Файла нет <image>. A или B", image="samples/gone.png"),
    ]
    made = refrozen(
        study_of(folder, items, [shown(9, "Ответьте A")], dataset_name=str(folder / "sights.yaml"))
    )
    with served_site(made.path) as (address, paths):
        page = browser.new_context(locale="ru-RU", viewport={"width": 360, "height": 740}).new_page()
        person = Visitor(page, address)
        person.begin(paths["people"] + "?worker_id=1")
        kinds, sources = set(), []
        while page.locator("form#item").count():
            assert "secret" not in page.content()
            for tag, ready in (
                ("img", "one.complete && one.naturalWidth === 48"),
                ("audio", "one.duration > 0.4 && one.duration < 0.6 && one.controls"),
                ("video", "one.readyState > 0 && one.videoWidth === 64 && one.controls"),
            ):
                medium = page.locator(f".prompt {tag}")
                if medium.count():
                    page.wait_for_function(
                        f"tag => {{ const one = document.querySelector(`.prompt ${{tag}}`); return {ready}; }}",
                        arg=tag,
                    )
                    assert medium.evaluate("one => one.getBoundingClientRect().right <= innerWidth")
                    sources.append(medium.get_attribute("src"))
                    kinds.add(tag)
                    assert tag != "img" or medium.get_attribute("alt") == "Изображение к заданию"
            if "Файла нет" in person.prompt:
                kinds.add("gone")
                assert "[Файл к заданию не найден]" in person.prompt
            person.choose("B")
            person.send()
        assert kinds == {"img", "audio", "video", "gone"}
        stranger = browser.new_context().new_page()
        assert stranger.goto(address + sources[0]).status == 404, "media are sent only to people of the study"
    assert {row.answer for row in stored(made)} == {"B"}


def exam(folder: Path, kinds: dict[str, str]) -> StudyFolder:
    """A study of the exam's bundled items: for each kind of answer, the first item whose prompt holds a text."""
    splits = examples(dataset("use"))
    chosen = {
        name: next(one for one in splits["test"].items if str(one.meta["type"]).startswith(kind))
        for name, kind in kinds.items()
    }
    return refrozen(
        study_of(folder, list(chosen.values()), splits["shots"].items[:1], dataset_name="use", name="exam")
    )


@pytest.mark.thorough
def test_an_exam_takes_ticks_numbers_for_letters_and_text_by_keyboard(tmp_path: Path, browser) -> None:
    folder = exam(
        tmp_path / "study",
        {
            "ticks": "multiple_choice_independent",
            "line": "multiple_choice_options_within",
            "letters": "matching",
            "text": "text",
        },
    )
    with served_site(folder.path) as (address, paths):
        person = Visitor(
            browser.new_context(locale="ru-RU", viewport={"width": 390, "height": 844}).new_page(), address
        )
        page = person.page
        person.begin(paths["people"] + "?worker_id=1")
        given, kinds, check = {}, set(), AccessibilityCheck()
        while page.locator("form#item").count():
            task = person.task
            check(page, "a question of the exam")
            if page.locator("input[type=checkbox]").count():
                kinds.add("ticks")
                page.keyboard.press("3")
                page.keyboard.press("1")
                page.keyboard.press("2")
                page.keyboard.press("2")
                assert page.locator("input:checked").evaluate_all("all => all.map(one => one.value)") == [
                    "1",
                    "3",
                ]
                given[task] = "1,3"
                person.press("Enter")
            elif page.locator(".letters").count():
                kinds.add("letters")
                fields = page.locator(".letters input")
                numbers = [str(1 + at % 3) for at in range(fields.count())]
                person.tab_to(".letters input")
                page.keyboard.type("x")
                page.keyboard.press("Enter")
                assert fields.first.evaluate("one => !one.validity.valid"), "a letter is no number"
                page.keyboard.press("Backspace")
                for number in numbers:
                    page.keyboard.type(number)
                    page.keyboard.press("Tab")
                given[task] = ",".join(numbers)
                person.tab_to("button.main")
                person.press("Enter")
            elif page.get_attribute("#answer", "pattern"):
                kinds.add("line")
                page.keyboard.press("2")
                page.keyboard.type(", 3")
                given[task] = "2, 3"
                person.press("Enter")
            else:
                kinds.add("text")
                page.keyboard.press("h")
                page.keyboard.insert_text("ёж")
                assert page.input_value("#answer") == "hёж", "typing begins in the field"
                given[task] = "hёж"
                person.press("Enter")
        assert kinds == {"ticks", "line", "letters", "text"}
        check(page, "thanks with the completion code")
        check.passed(5)
    study = load_study(folder, "people")
    assert {study.tasks[row.task].id: row.answer for row in stored(folder)} == given


PROGRAM = "\n\n    имя = 'Ёлка'\n\tif имя:\n        return  имя\n    return \"\""


@pytest.mark.thorough
def test_a_program_is_kept_as_typed_and_the_tab_key_leaves_the_field(frozen: Frozen, browser) -> None:
    folder = frozen("ruhumaneval")
    with served_site(folder.path) as (address, paths):
        person = Visitor(browser.new_context(locale="ru-RU").new_page(), address)
        page = person.page
        person.begin(paths["people"] + "?worker_id=1")
        check = AccessibilityCheck()
        check(page, "program")
        check.passed(1)
        assert "monospace" in page.evaluate(
            "getComputedStyle(document.querySelector('.prompt pre')).fontFamily"
        )
        assert "\n    " in page.locator(".prompt").text_content(), "the prompt keeps its indentation"
        person.tab_to("textarea#answer")
        page.keyboard.insert_text(PROGRAM)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.tagName") == "BUTTON", "Tab goes on"
        page.keyboard.press("Shift+Tab")
        assert page.evaluate("document.activeElement.id") == "answer", "and back"
        page.reload()
        assert page.input_value("#answer") == PROGRAM, "the draft is kept as it was"
        page.focus("#answer")
        page.keyboard.press("Enter")
        assert page.input_value("#answer").count("\n") == PROGRAM.count("\n") + 1, (
            "Enter is a new line in a program"
        )
        page.keyboard.press("Backspace")
        person.press("Control+Enter")
        assert person.heading == "Задание 2"
    assert [row.answer for row in stored(folder)] == [PROGRAM]
