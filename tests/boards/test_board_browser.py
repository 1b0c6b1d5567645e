"""The board in a browser: from a disk, without a network, on a phone and a desk, dark and light, in both languages."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from accessibility import AccessibilityCheck
from board_runs import asked_run
from browser import opened_browser
from gold_sets import gold_split, write_gold, write_zip

import merilo
from merilo.datasets import dataset
from merilo.items import read_split


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("board")
    tests = {}
    for name in ("parus", "rcb", "rwsd"):
        gold = write_gold(folder / "gold", {dataset(name).title: gold_split(dataset(name), 60)})
        file = next(path for path in gold.iterdir() if path.stem.lower() == name)
        tests[name] = file, read_split(file)
    for at, level in enumerate((0.95, 0.8, 0.75, 0.5, 0.2)):
        right = dict.fromkeys(["parus", "rcb"] if at == 4 else tests, level)
        asked_run(
            folder / "runs" / f"r{at}", f"model-{at}", tests, right, seed=at, shots=at % 2, thought=at == 0
        )
    sent = folder / "sent"
    sent.mkdir()
    write_zip(sent / "team.zip", {"PARus": []})
    board = merilo.leaderboard([folder / "runs"], submissions=sent, gold=folder / "gold")
    board.save(folder / "site")
    return folder / "site"


def opened(browser: Any, site: Path, name: str = "index.html") -> tuple[Any, list[str]]:
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith("file://") else said.append(asked.url))
    page.goto(f"{site.as_uri()}/{name}")
    return page, said


def shown_rows(page: Any) -> list[str]:
    return page.eval_on_selector_all(
        "#board tbody tr:not([hidden]) th", "all => all.map(one => one.innerText.split('\\n')[0].trim())"
    )


@pytest.mark.thorough
def test_every_page_passes_axe_core_on_phone_and_desk_dark_and_light(browser: Any, site: Path) -> None:
    check = AccessibilityCheck()
    looks = ("phone light", "desktop dark", "phone dark", "desktop light")
    archive = next(site.glob("archive-*.html")).name
    for name in ("index.html", "dataset-parus.html", archive):
        for language in ("en", "ru"):
            page, said = opened(browser, site, f"{name}?{language}")
            check(page, f"{name} {language}", looks=looks)
            assert page.evaluate("document.documentElement.lang") == language
            assert not said
            page.close()
    check.passed(6)


def test_filters_choose_rows_and_groups_of_columns(browser: Any, site: Path) -> None:
    page, said = opened(browser, site)
    everyone = shown_rows(page)
    assert everyone[1:5] == [f"model-{one}" for one in range(4)]
    page.get_by_label("Solved examples").select_option("1")
    assert shown_rows(page) == ["model-1", "model-3"]
    page.get_by_label("Solved examples").select_option("")
    page.get_by_label("Thinking").select_option("yes")
    assert shown_rows(page) == ["model-0"]
    page.get_by_label("Thinking").select_option("")
    page.get_by_label("Rows").select_option("people")
    assert shown_rows(page) == everyone[:1]
    page.get_by_label("Rows").select_option("")
    page.get_by_label("Search").fill("MODEL-4")
    assert shown_rows(page) == ["model-4"]
    page.get_by_label("Search").fill("")
    assert shown_rows(page) == everyone
    heads = "#board thead th:not([hidden])"
    assert page.locator(heads).count() == 6
    page.get_by_label("Group of datasets").select_option("0")
    assert page.locator(heads).count() == 6  # the group's total takes the place of the total
    assert "Rank and total" in page.locator("#board thead").inner_text()
    assert not said


def test_the_language_goes_along_with_links_and_numbers_follow_it(browser: Any, site: Path) -> None:
    page, said = opened(browser, site)
    assert "0.9" in page.locator("#board").inner_text()
    page.get_by_text("Русский", exact=True).click()
    assert "0,9" in page.locator("#board").inner_text()
    assert "0.9" not in page.locator("#board td").all_inner_texts()[1]
    small = " ".join(page.locator("#board td small").all_inner_texts())
    assert re.search(r"0,\d{3}–0,\d{3}", small)
    assert page.locator("#board td b").count() > 3
    assert not re.search(r"\d\.\d", " ".join(page.locator("#board td").all_inner_texts()))
    page.get_by_role("link", name="PARus").first.click()
    assert "Имя" in page.locator("#board").inner_text()
    page.get_by_role("link", name="Люди и модели").click()
    assert page.locator("h1").inner_text() == "Люди и модели"
    page.get_by_text("English", exact=True).click()
    assert "0.9" in page.locator("#board").inner_text()
    assert not said


def test_without_scripts_the_tables_are_complete(browser: Any, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.as_uri()}/index.html")
    assert page.locator("#board tbody tr:visible").count() == 6
    assert not page.locator("#filters").is_visible()
    page.locator("label[for=in-ru]").click()
    assert page.locator("h1").inner_text() == "Люди и модели"
    context.close()
