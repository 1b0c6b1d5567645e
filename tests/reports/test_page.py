"""The report in a real browser has its content in both languages and runs no script of the data."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import OUTSIDE, opened_browser
from command import merilo
from exports import row, small_pool, toloka, written

import merilo as merilo_library
from merilo.reports.page import page as render

HOSTILE = [
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "</style><script>document.title='owned'</script>",
    "{{ 7*7 }}{% for x in [] %}",
    "'\"><svg onload=alert(1)>",
    "javascript:alert(1)",
    "]]><!--",
]


@pytest.fixture(scope="module")
def page() -> Iterator:
    with opened_browser() as browser:
        context = browser.new_context(viewport={"width": 1000, "height": 900})
        page = context.new_page()
        page.requests = []
        page.troubles = []
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("console", lambda message: page.troubles.append(message.text))
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        page.on("dialog", lambda dialog: (page.troubles.append("a dialog"), dialog.dismiss()))
        yield page


def report(folder: Path, rows: list, *options: object) -> Path:
    merilo("baseline", written(folder / "p.tsv", toloka(rows)), *options, "--out", folder / "out")
    return folder / "out" / "report.html"


def opened(page, path: Path, *, unfolded: bool = True):
    page.requests.clear()
    page.troubles.clear()
    page.goto(path.as_uri())
    if unfolded:
        page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    assert page.requests == [path.as_uri()], "the report asks for something outside itself"
    return page


def russian(rows: list) -> list:
    """The rows with questions in Russian, so that the report speaks it too."""
    return [tuple(re.sub(r"^q(?=\d)", "вопрос ", cell) for cell in one) for one in rows]


def test_the_report_speaks_both_languages_of_russian_items(page, tmp_path: Path) -> None:
    gold = written(tmp_path / "gold.csv", "question,gold\nвопрос 0,A\nвопрос 1,B\n")
    opened(page, report(tmp_path, russian(small_pool()), "--gold", gold))
    text = page.inner_text("main:visible")
    assert "0.500" in text
    assert "A majority is at least 3 equal answers" in text
    assert "Большинством считается" not in text
    page.click("label[for=in-ru]")
    text = page.inner_text("main:visible")
    assert "0,500" in text
    assert "Большинством считается не менее 3 голосов" in text
    assert "A majority is" not in text
    assert page.troubles == []


def test_the_report_of_english_items_has_no_russian_and_the_command_that_makes_it(
    page, tmp_path: Path
) -> None:
    file = report(tmp_path, small_pool())
    assert not re.search("[а-яё]", file.read_text(encoding="utf-8"), re.IGNORECASE)
    assert opened(page, file).locator("nav label").count() == 0
    assert re.search(r"merilo baseline \S+ --out hb\n", page.inner_text("main:visible"))


def test_the_first_screen_answers_and_the_rest_is_folded(page, tmp_path: Path) -> None:
    gold = written(tmp_path / "gold.csv", "question,gold\nq0,A\nq1,A\nq2,A\nq3,B\n")
    opened(page, report(tmp_path, small_pool(people=12, items=4), "--gold", gold), unfolded=False)
    for text in (
        "accepted",
        "The accuracy of the consensus of 12 annotators is 0.750",
        "Accuracy, one person",
    ):
        place = page.locator("main").get_by_text(text).first.bounding_box()
        assert place["y"] + place["height"] < 900, text
    assert len(page.inner_text("main:visible").split()) < 300
    assert "The tasks included 1 control item" not in page.inner_text("main:visible")
    page.emulate_media(media="print")
    assert page.get_by_text("The tasks included 1 control item").first.is_visible(), "print shows all parts"
    assert not page.is_visible("nav")
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="screen")


#: Answers to a pool -> what its report says beside the status.
SPOILED = {
    "no controls": ([one for one in small_pool() if "control" not in one], ["no control items: annotators were not checked"]),
    "rejected": ([row(f"q{item}", f"{n}", f"w{n}") for item in range(3) for n in range(5)], ["rejected", "3 of 3 items (100%)"]),
    "simulated": ([row("q", "A", f"simulated-careful-{n}") for n in range(5)], ["simulated"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", SPOILED)
def test_what_spoils_a_result_stands_beside_its_status(page, kind: str, tmp_path: Path) -> None:
    rows, said = SPOILED[kind]
    opened(page, report(tmp_path, rows), unfolded=False)
    header = page.inner_text("header:visible")
    assert [text for text in said if text not in header] == []
    assert page.locator(".badge.good").count() == 0


def test_text_of_a_dataset_never_runs(page, tmp_path: Path) -> None:
    rows = [row(text, f"{text} {n}", f"{text}-{n}", page=text) for text in HOSTILE for n in range(5)]
    rows += [row("control", "wrong", f"{text}-4", golden=text) for text in HOSTILE]
    opened(page, report(tmp_path, rows))
    assert page.title() != "owned"
    assert page.troubles == []
    shown = page.inner_text("main:visible")
    for text in HOSTILE:
        assert text in shown
    assert page.locator("main script, main img").count() == 0


def test_russian_has_one_term_for_one_thing() -> None:
    """A gold answer is «эталонный ответ», a control item «контрольное задание», everywhere a reader meets them."""
    root = Path(merilo_library.__file__).parent
    for file in (root / "locale" / "ru.po", root.parents[1] / "README.ru.md"):
        text = file.read_text(encoding="utf-8")
        for other in (r"\bэталон(?!н)", r"золот", r"контрольн\w+ вопрос", r"\bничь"):
            assert not (found := re.search(other, text, flags=re.IGNORECASE)), (file.name, found)


def test_nothing_is_cut_off_on_a_telephone(page, tmp_path: Path) -> None:
    failing = [row("control", "B", f"{'w' * 40}{person}", golden="A") for person in range(3)]
    rows = [*small_pool(), *failing, row("x" * 300, "no label", "w1" * 40, reward="a lot of money")]
    folder = tmp_path / ("a_folder_of_a_long_name" * 8)
    opened(page, report(folder, rows, "--dataset", "ruworldtree", "--resolve", "none", "--by", "question"))
    page.set_viewport_size({"width": 360, "height": 700})
    for language in ("en", "ru"):
        page.click(f"label[for=in-{language}]")
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert page.evaluate(OUTSIDE) == []
    page.set_viewport_size({"width": 1000, "height": 900})


def rendered(folder: Path, **files: bytes) -> str:
    made = merilo_library.baseline(written(folder / "p.tsv", toloka(small_pool())))
    return render(made, attachments={name.replace("__", "."): data for name, data in files.items()})


def test_an_instruction_of_a_plan_is_shown_as_text(tmp_path: Path) -> None:
    text = "# Задание\n\n<script>alert(1)</script> [x](javascript:alert(1)) ![p](http://example.org/p.png)\n"
    shown = rendered(tmp_path, instruction__ru__md=text.encode())
    assert "<h1>Задание</h1>" in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "<script" not in shown
    assert 'href="javascript' not in shown
    assert "<img" not in shown


@pytest.mark.thorough
def test_the_report_names_every_difference_from_the_frozen_plan(tmp_path: Path) -> None:
    change = {"what": "baseline.min_votes", "frozen": "majority", "now": "<b>2", "decision": True}
    frozen = json.dumps({"date": "2026-01-02", "hash": "abc"}).encode()
    shown = rendered(tmp_path, frozen__json=frozen, changes__json=json.dumps([change]).encode())
    assert "2026-01-02" in shown
    assert "baseline.min_votes" in shown
    assert "&lt;b&gt;2" in shown
    assert "The frozen plan" not in rendered(tmp_path)
