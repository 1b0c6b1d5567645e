"""The annotator's pages on narrow screens, magnified, with difficult texts, with forced colours and without movement."""

from collections.abc import Callable
from pathlib import Path

import pytest
from site_process import served_site
from site_visitor import Visitor, refrozen
from study_people import study_of

from merilo.items import Item
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]

LABELS = [
    "Да", "Нет", "Не могу определить", "Скорее да, чем нет, но только если считать и косвенные признаки, названные в инструкции",
    "Рентгеноэлектрокардиографического" * 3, "אולי", "ربما", "👩‍👩‍👧‍👦 семья", "Other", "None of these", "Ещё вариант", "Последний",
]  # fmt: skip

DECLARED = (
    "name: hard\ntitle: Hard\nabout: Difficult texts\nanswer: {kind: choice, labels: ["
    + ", ".join(f'"{one}"' for one in LABELS)
    + ']}\nmetrics: [acc]\nprompts: ["{inputs}"]\n'
)

PROMPTS = [
    "Слово: " + "превысокомногорассмотрительствующий" * 8,
    "عربي: ما هو الجواب؟\nА это по-русски.\nעברית",
    "| город | население |\n|---|---|\n| Москва | 13 000 000 |\n| Тверь | 416 000 |\nhttps://example.org/"
    + "a/b" * 60,
    "def f(x):\n\treturn x\n\n    a   b   c   d\n    1   2   3   4",
    "😀 " * 40,
    "Абзац. " * 900,
]

INSTRUCTION = "\n".join([
    "Инструкция без заголовка первого уровня.", "", "| " + " | ".join(f"столбец {n}" for n in range(9)) + " |", "|" + "---|" * 9,
    "| " + " | ".join("значение" for _ in range(9)) + " |", "", "```", "x" * 200, "```", "", "Длинное" * 40,
])  # fmt: skip


def hard_study(folder: Path) -> StudyFolder:
    folder.mkdir()
    (folder / "hard.yaml").write_text(DECLARED, encoding="utf-8")
    items = [Item(n, "{inputs}", prompt, "Да", {"id": n}) for n, prompt in enumerate(PROMPTS)]
    name = '"' + "Исследование с очень длинным названием " * 3 + "о" * 60 + '"'
    made = study_of(
        folder, items, [Item("c", "{inputs}", "Да?", "Да", {"id": "c"})], dataset_name=str(folder / "hard.yaml"), instruction=INSTRUCTION
    )  # fmt: skip
    return refrozen(made, **{"study: trial": f"study: {name}"})


#: Elements that people press, with their sizes, without links inside sentences.
_TARGETS = """[...document.querySelectorAll('button, a, input, summary, textarea')].filter(one => one.offsetParent !== null && one.type !== 'hidden'
    && !one.classList.contains('skip'))
  .map(one => { const seen = (one.closest('.options label') ?? one).getBoundingClientRect();
    return [one.outerHTML.slice(0, 80), seen.width, seen.height, one.matches('button.main, a.main, .options input')]; })"""


def fits(page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "no scrolling sideways"
    for name, width, height, main in page.evaluate(_TARGETS):
        least = 44 if main else 24
        assert width >= least, name
        assert height >= least, name


@pytest.mark.thorough
def test_difficult_texts_fit_a_narrow_screen_and_a_magnified_one(tmp_path: Path, browser) -> None:
    folder = hard_study(tmp_path / "study")
    with served_site(folder.path) as (address, paths):
        narrow = browser.new_context(locale="ru-RU", viewport={"width": 320, "height": 256})
        person = Visitor(narrow.new_page(), address)
        page = person.page
        person.come(paths["people"] + "?worker_id=1")
        fits(page)
        page.click("button.main")
        page.wait_for_selector(".instruction")
        assert person.heading == "Инструкция"
        fits(page)
        table = page.locator(".instruction .table")
        assert table.evaluate("one => one.scrollWidth > one.clientWidth && one.tabIndex === 0"), (
            "a wide table scrolls in its own box"
        )
        page.click("main button.main")
        shown = set()
        while page.locator("form#item").count():
            fits(page)
            prompt = page.locator("form .prompt")
            shown.add(prompt.text_content())
            fixed = prompt.locator("pre").all()
            assert len(fixed) == any(sign in prompt.text_content() for sign in ("|---|", "def f"))
            for one in fixed:
                assert "monospace" in one.evaluate("one => getComputedStyle(one).fontFamily")
                assert one.evaluate("one => getComputedStyle(one).overflowX + one.tabIndex") == "auto0"
            if "עברית" in prompt.text_content():
                assert prompt.evaluate("one => getComputedStyle(one).unicodeBidi") == "plaintext"
                right = page.locator(".options span", has_text="אולי")
                assert right.evaluate("one => getComputedStyle(one).direction") == "rtl"
            page.set_viewport_size({"width": 640, "height": 512})  # 1280 pixels magnified to 200 %
            fits(page)
            page.set_viewport_size({"width": 320, "height": 256})
            assert page.locator(".options label").count() == len(LABELS)
            page.keyboard.press("9")
            assert page.is_checked("input[value=Other]"), "the ninth of twelve options has a key"
            person.send()
        assert {text.replace("\n", "") for text in shown} >= {text.replace("\n", "") for text in PROMPTS}
        fits(page)


@pytest.mark.thorough
def test_forced_colours_show_the_chosen_option_and_the_focus_and_nothing_moves_for_those_who_ask(
    frozen: Frozen, browser
) -> None:
    with served_site(frozen().path) as (address, paths):
        context = browser.new_context(locale="ru-RU", forced_colors="active", reduced_motion="reduce")
        person = Visitor(context.new_page(), address)
        page = person.page
        person.begin(paths["people"] + "?worker_id=1")
        style = (
            "one => (({outlineStyle, outlineWidth}) => [outlineStyle, outlineWidth])(getComputedStyle(one))"
        )
        label = page.locator(".options label").first
        assert label.evaluate(style)[0] == "none"
        label.click()
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        fits(page)
        cut = page.evaluate(
            "[...document.querySelectorAll('button, h1, .prompt, .options label, .progress')]"
            ".filter(one => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0).map(one => one.outerHTML.slice(0, 80))"
        )
        assert cut == [], "text of double size stays whole"
        page.evaluate("document.documentElement.style.fontSize = ''; document.activeElement.blur()")
        assert label.evaluate(style) == ["solid", "3px"], "the choice is not told by a colour alone"
        person.tab_to("button.main")
        assert page.locator("button.main").evaluate(style) == ["solid", "3px"]
        moving = "document.getAnimations().length + [...document.querySelectorAll('*')].filter(one => getComputedStyle(one).transitionDuration !== '0s').length"
        assert page.evaluate(moving) == 0
