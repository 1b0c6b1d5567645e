"""The page of a comparison over datasets in a real browser: both languages, no scripts, every text harmless, narrow screens."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import opened_browser
from command import merilo
from exports import row, toloka, written

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


@pytest.fixture(scope="module")
def browser() -> Iterator:
    with opened_browser() as browser:
        yield browser


def baseline(work: Path, name: str) -> Path:
    """A study of four items of two domains; people miss the last item."""
    texts = [HOSTILE if n == 0 else f"{name} {n}" for n in range(4)]
    rows = [row(text, "B" if n == 3 else "A", f"w{w}") for n, text in enumerate(texts) for w in range(5)]
    items = [
        {"inputs": {"question": text}, "outputs": "A", "meta": {"id": n, "domain": "law" if n < 2 else "art"}}
        for n, text in enumerate(texts)
    ]
    gold = written(work / f"{name}.json", json.dumps({"data": items}))
    done = merilo(
        "baseline", written(work / f"{name}.tsv", toloka(rows)), "--gold", gold, "--out", work / name
    )
    assert done.status == 0, done.err
    return work / name


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("comparison")
    people = [baseline(work, name) for name in ("first", "second")]
    (work / "<b>model").mkdir()
    for name, given in (("first", "BAAA"), ("second", "AAAA")):
        lines = "".join(f'{{"id": {n}, "answer": "{answer}"}}\n' for n, answer in enumerate(given))
        written(work / "<b>model" / f"{name}.jsonl", lines)
    done = merilo("compare", *people, work / "<b>model", "--format", "html", "--out", work / "c.html")
    assert done.status == 0, done.err
    return work / "c.html"


@pytest.fixture
def page(browser, page_file: Path) -> Iterator:
    page = browser.new_page(viewport={"width": 380, "height": 900})
    page.troubles = []
    page.on("console", lambda message: page.troubles.append(message.text))
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    page.goto(page_file.as_uri())
    yield page
    assert page.troubles == []
    page.close()


def test_people_are_on_top_and_every_dataset_has_a_column(page) -> None:
    rows = page.locator("table.over tr")
    assert rows.nth(0).inner_text().split() == ["first", "acc", "second", "acc", "total"]
    assert "people, consensus" in rows.nth(1).inner_text()
    assert "measured by this baseline" in rows.nth(1).inner_text()
    assert "<b>model" in rows.last.inner_text()


def test_ties_with_people_are_marked(page) -> None:
    tied = page.locator("table.over td.tie")
    assert tied.count() == 2, "four items tell nothing"
    assert "≈ consensus" in tied.first.inner_text()


def test_the_items_are_listed_and_counted_by_domain(page) -> None:
    section = page.locator("#first")
    details = section.locator("details").nth(1)
    assert "people right, model wrong: 1; model right, people wrong: 1 (of 4 items)" in details.inner_text()
    details.locator("summary").click()
    assert [line.split() for line in details.locator("table").first.inner_text().splitlines()[1:]] == [
        ["art", "2", "0", "1"],
        ["law", "2", "1", "0"],
    ]
    assert HOSTILE[:40] in details.inner_text()


def test_texts_are_harmless_and_nothing_is_loaded(page, page_file: Path) -> None:
    assert page.title() == "People and models · Люди и модели"
    assert page.locator("main script, main img").count() == 0
    html = page_file.read_text(encoding="utf-8")
    assert "http" not in html.replace("http-equiv", "")


@pytest.mark.thorough
def test_the_page_speaks_russian_and_fits_a_phone(page) -> None:
    page.click("label[for=in-ru]")
    text = page.inner_text("main")
    assert "люди, согласованный ответ" in text
    assert "people, consensus" not in text
    assert page.evaluate("document.documentElement.scrollWidth") == 380
