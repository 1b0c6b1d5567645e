"""The page for deciding about gold answers in a real browser: from the audit to the baseline that applies the file."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from accessibility import AccessibilityCheck
from browser import opened_browser
from command import merilo

HOSTILE = (
    "<script>document.title='owned'</script>",
    "</article></main><img src=x onerror=\"document.title='owned'\">",
    "\"' onmouseover=\"document.title='owned'",
    "</script><script>document.title='owned'</script>",
)
ITEMS = 40
#: Items whose gold is wrong; their questions are hostile.
WRONG = (3, 8, 13, 21)


@pytest.fixture(scope="module")
def browser() -> Iterator:
    with opened_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> list:
    """Forty items that five people answer, two models, and the audit in the folder `audit`."""
    work = tmp_path_factory.mktemp("study")
    questions = [HOSTILE[WRONG.index(n)] if n in WRONG else f"question {n}" for n in range(ITEMS)]
    truth = ["ABC"[n % 3] for n in range(ITEMS)]
    golds = ["BCA"[n % 3] if n in WRONG else truth[n] for n in range(ITEMS)]
    wrong = [HOSTILE[n % 4] if n == 5 else "=C" for n in range(ITEMS)]
    rows = [
        [questions[n], f"w{place}", wrong[n] if (n + place) % 9 == 0 else truth[n]]
        for n in range(ITEMS)
        for place in range(5)
    ]
    for name, head, lines in (
        ("pool.csv", ["question", "annotator", "answer"], rows),
        ("gold.csv", ["id", "question", "gold"], [[n, questions[n], golds[n]] for n in range(ITEMS)]),
        ("one.csv", ["id", "answer"], [[n, truth[n]] for n in range(ITEMS)]),
        ("two.csv", ["id", "answer"], [[n, truth[n] if n % 4 else "B"] for n in range(ITEMS)]),
    ):
        with (work / name).open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([head, *lines])
    given = [work / "pool.csv", "--item", "question", "--gold", work / "gold.csv"]
    models = ["--model", work / "one.csv", "--model", work / "two.csv"]
    made = merilo("audit", *given, *models, "--out", work / "audit")
    assert made.status == 0, made
    assert "review.html" in made.out
    return given


@pytest.fixture
def page(browser, words: list) -> Iterator:
    page = browser.new_context(accept_downloads=True).new_page()
    page.troubles = []
    page.on("console", lambda message: page.troubles.append(message.text))
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    page.goto((words[0].parent / "audit" / "review.html").as_uri())
    yield page
    assert page.troubles == []
    page.context.close()


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def decide_by_keys(page) -> None:
    """The first item is wrong and gets an answer, the second ambiguous, the third fine, the fourth wrong without one."""
    page.focus("#begin")
    page.keyboard.press("Enter")
    page.keyboard.press("1")
    page.keyboard.type("A")
    page.keyboard.press("Enter")
    page.keyboard.press("2")
    page.keyboard.press("3")
    page.keyboard.press("1")


def test_the_keyboard_decides_and_the_baseline_applies_the_saved_file(
    page, words: list, tmp_path: Path
) -> None:
    work = words[0].parent
    listed = table(work / "audit" / "audit.csv")
    assert page.locator("article").count() == len(listed)
    decide_by_keys(page)
    assert page.inner_text("#count") == f"4 / {len(listed)}"
    with page.expect_download() as waiting:
        page.keyboard.press("Escape")
        page.keyboard.press("s")
    file = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(file)
    saved = table(file)
    assert [row["decision"] for row in saved[:5]] == ["wrong", "ambiguous", "fine", "wrong", ""]
    assert [row["revised_gold"] for row in saved[:2]] == ["A", ""]
    for before, after in zip(listed, saved, strict=True):  # else the file is the audit's own list
        assert {**after, "decision": "", "revised_gold": ""} == before
    made = merilo("baseline", *words, "--recode-gold", file, "--out", tmp_path / "out", "--json", "-")
    assert made.status == 0, made
    review = json.loads(made.out)["gold_review"]
    assert (review["changed"], review["ambiguous"], review["unanswered"], review["fine"]) == (1, 1, 1, 1)
    assert json.loads(made.out)["metrics"]["acc"]["n"] == ITEMS - 2
    assert merilo("report", tmp_path / "out", "--out", tmp_path / "hb").status == 0
    assert merilo("report", "verify", tmp_path / "hb").status == 0
    again = merilo("audit", *words, "--revised", file, "--json", "-")
    assert json.loads(again.out)["rescored"]["dropped"] == 2


def test_decisions_outlive_the_page(page) -> None:
    decide_by_keys(page)
    page.reload()
    assert page.inner_text("#count").startswith("4 / ")
    assert page.input_value("article:nth-of-type(1) input[type=text]") == "A"
    page.focus("article:nth-of-type(1) input[type=radio]:checked")
    page.keyboard.press("0")
    page.reload()
    assert page.inner_text("#count").startswith("3 / ")
    page.keyboard.press("Tab")
    page.keyboard.press("1")  # outside an item the keys do nothing
    assert page.inner_text("#count").startswith("3 / ")


def test_text_of_a_dataset_never_runs_and_is_shown(page) -> None:
    assert page.title() != "owned"
    text = page.text_content("main")
    assert all(hostile in text for hostile in HOSTILE)
    assert page.locator("main script, main img").count() == 0


@pytest.mark.thorough
def test_the_page_speaks_russian_and_is_accessible(page) -> None:
    check = AccessibilityCheck()
    check(page, "undecided")
    decide_by_keys(page)
    check(page, "decided")
    page.click("label[for=in-ru]")
    assert "эталонный ответ неверен" in page.inner_text("main")
    assert "the gold answer is wrong" not in page.inner_text("main")
    check(page, "Russian")
    check.passed(3)


def test_without_scripts_the_items_can_be_read(browser, words: list) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto((words[0].parent / "audit" / "review.html").as_uri())
    assert "fill in audit.csv" in page.inner_text("header")
    assert not page.is_visible("fieldset >> nth=0")
    assert "question" in page.inner_text("main")
