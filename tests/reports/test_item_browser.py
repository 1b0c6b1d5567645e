"""The item browser in a real browser: every item with its answers, filters, links, no scripts of others."""

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from browser import opened_browser
from command import merilo
from exports import row, toloka, written

import merilo as library

HOSTILE = (
    "<script>document.title='owned'</script>",
    "</article></main><img src=x onerror=\"document.title='owned'\">",
    "\" onmouseover=\"document.title='owned'",
    "</script><script>document.title='owned'</script>",
)


@pytest.fixture(scope="module")
def browser() -> Iterator:
    with opened_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three items: one answered correctly, one wrongly, one evenly split; a model that is right where people are wrong."""
    work = tmp_path_factory.mktemp("study")
    rows = [row("easy", "A", f"w{n}") for n in range(5)]
    rows += [row("hard", "B", f"w{n}") for n in range(3)] + [row("hard", "A", f"w{n}") for n in (3, 4)]
    rows += [row("поровну", "AB"[n % 2], f"w{n}") for n in range(4)]
    items = [
        {"inputs": {"question": name}, "outputs": "A", "meta": {"id": at, "domain": domain}}
        for at, (name, domain) in enumerate([("easy", "law"), ("hard", "art"), ("поровну", "art")], start=1)
    ]
    written(work / "gold.json", json.dumps({"data": items}))
    written(work / "p.tsv", toloka(rows))
    return baseline(work, model(work / "clever.jsonl", "BAA"))


def model(path: Path, answers: str) -> Path:
    return written(path, "".join(f'{{"id": {n}, "answer": "{a}"}}\n' for n, a in enumerate(answers, start=1)))


def baseline(work: Path, *models: Path) -> Path:
    """The folder of a baseline of the three items with models."""
    out = models[0].parent / "out"
    made = merilo(
        "baseline", work / "p.tsv", "--gold", work / "gold.json", *(word for path in models for word in ("--model", path)),
        "--max-low-agreement", "0.5", "--resolve", "none", "--out", out,
    )  # fmt: skip
    assert made.status == 0, made
    return out


def shown(page) -> list[str]:
    return page.eval_on_selector_all("article:not([hidden])", "all => all.map(one => one.id)")


@pytest.fixture
def page(browser, folder: Path) -> Iterator:
    page = browser.new_page()
    page.troubles = []
    page.on("console", lambda message: page.troubles.append(message.text))
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    page.goto((folder / "items.html").as_uri())
    yield page
    assert page.troubles == []
    page.close()


def test_an_item_shows_everybodys_answers_and_the_models(page) -> None:
    text = page.text_content("#item-2")
    assert text.count("annotator-") == 5
    assert "consensus wrong" in text
    assert "clever" in text
    assert page.locator("#item-2 .answers .wrong").count() == 3
    assert page.locator("#item-2 .model + .answers .right").count() == 1


def test_items_are_filtered_by_outcome_domain_agreement_and_words(page) -> None:
    assert shown(page) == ["item-1", "item-2", "item-3"]
    page.select_option("[data-filter=outcome]", "undecided")
    assert shown(page) == ["item-3"]
    page.select_option("[data-filter=outcome]", "")
    page.select_option("[data-filter=facet0]", "art")
    assert shown(page) == ["item-2", "item-3"]
    page.select_option("#agreement", "0-0.5")
    assert shown(page) == ["item-3"]
    page.select_option("#agreement", "")
    page.fill("#search", "HARD")
    assert shown(page) == ["item-2"]
    page.fill("#search", "nowhere")
    assert shown(page) == []
    assert page.is_visible("#none")

    page.fill("#search", "")
    page.select_option("[data-filter=facet0]", "")
    page.select_option("#order", "low")
    assert shown(page) == ["item-3", "item-2", "item-1"]


def test_items_are_filtered_by_one_of_several_models(browser, folder: Path, tmp_path: Path) -> None:
    models = [
        model(tmp_path / name, answers) for name, answers in (("poor.jsonl", "BBB"), ("good.jsonl", "AAA"))
    ]
    page = browser.new_page()
    page.goto((baseline(folder.parent, *models) / "items.html").as_uri())
    expected = {
        "people 0": ["item-1"], "model 0": [], "people 1": [], "model 1": ["item-2"], "people": ["item-1"], "model": ["item-2"],
    }  # fmt: skip
    for value, items in expected.items():
        page.select_option("#against", value)
        assert shown(page) == items, value


def test_options_carry_their_letters_and_the_right_one_is_marked(browser, tmp_path: Path) -> None:
    declaration = "name: mine\ntitle: Mine\nfields: [question, option_a, option_b]\n"
    (tmp_path / "mine.yaml").write_text(
        declaration + "answer: {kind: choice, labels: [A, B]}\nmetrics: [acc]\n"
    )
    items = [
        (f"question {n}", f"first {n}", f"second {n}", worker, "A", "AB"[n % 2])
        for n in range(4)
        for worker in "vwxyz"
    ]
    table = pl.DataFrame(items, ["question", "option_a", "option_b", "worker", "label", "gold"], orient="row")
    read = library.read_responses(table.drop("gold"), item=["question", "option_a", "option_b"])
    gold = table.select("question", "option_a", "option_b", "gold").unique()
    library.baseline(read, dataset=str(tmp_path / "mine.yaml"), gold=gold).save(tmp_path / "out")
    page = browser.new_page()
    page.goto((tmp_path / "out" / "items.html").as_uri())
    assert page.locator("#item-1 .inputs dt").all_inner_texts() == ["question", "A", "B"]
    assert page.locator("#item-1 .inputs .right").inner_text() == "first 0 ✓ gold answer"
    assert page.locator("#item-2 .inputs .right").inner_text() == "second 1 ✓ gold answer"
    page.goto((tmp_path / "out" / "report.html").as_uri())
    assert "question 1 │ A) first 1 │ B) second 1" in page.text_content("main")


def test_the_page_speaks_russian(page) -> None:
    page.click("label[for=in-ru]")
    text = page.inner_text("main")
    assert "согласованный ответ неверен" in text
    assert "consensus wrong" not in text
    assert page.inner_text("#agreement option >> nth=3") == "все разметчики"


def test_without_scripts_the_page_is_the_whole_list(browser, folder: Path) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto((folder / "items.html").as_uri())
    assert page.locator("article").count() == 3
    assert page.text_content("#item-1").count("annotator-") == 5
    assert not page.is_visible("#filters")
    assert "complete without it" in page.inner_text("header")


def test_text_of_a_dataset_never_runs(browser, tmp_path: Path) -> None:
    rows = [row(text, f"{text} {n}", f"{text}-{n}") for text in HOSTILE for n in range(5)]
    merilo("baseline", written(tmp_path / "p.tsv", toloka(rows)), "--out", tmp_path / "out")
    page = browser.new_page()
    page.goto((tmp_path / "out" / "items.html").as_uri())
    assert page.title() != "owned"
    text = page.text_content("main")
    assert all(hostile in text for hostile in HOSTILE)
    assert page.locator("article").count() == len(HOSTILE)
    assert page.locator("main script, main img").count() == 0
