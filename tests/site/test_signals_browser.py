"""Signals of help by AI in a real browser: from the page of an item over the table of answers to the report."""

import csv
import io
from pathlib import Path

import polars as pl
import pytest
from accessibility import AccessibilityCheck
from site_process import served_site
from site_visitor import Visitor, in_two_languages, refrozen
from study_people import bundled_study, study_of

from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples
from merilo.items import Item
from merilo.people.signals import MEASURED
from merilo.reports.study_baseline import study_baseline
from merilo.site.answer_export import collect_answers
from merilo.site.item_form import hidden_word
from merilo.site.served_study import load_study
from merilo.site.serving import read_site
from merilo.studies.study_folder import StudyFolder
from merilo.studies.study_import import import_files

ON = "assistance: {signals: true, hidden_text: true, declaration: true}\n"


@pytest.fixture
def watched(tmp_path: Path) -> StudyFolder:
    """A frozen study of three free-text items whose plan asks for everything."""
    items = [
        Item(n, "Ответьте одним словом: {question}", {"question": f"вопрос {n}", "text": "Текст", "support_text": "."}, "дом", {"id": n})
        for n in range(3)
    ]  # fmt: skip
    study = study_of(tmp_path / "study", items, items[:1], dataset_name="multiq", overlap=2)
    plan = study.path / "study.yaml"
    text = plan.read_text("utf-8").replace("controls: {every: 5}", "controls: null")
    plan.write_text(text + ON, encoding="utf-8")
    return in_two_languages(study)


def copied(page: object) -> str:
    """Copy everything that the page shows, and return what the clipboard has then."""
    page.keyboard.press("Control+A")
    page.keyboard.press("Control+C")
    return page.evaluate("navigator.clipboard.readText()")


def asked_word(text: str) -> str:
    """The word after "word" or "слово" in the hidden text."""
    return (
        text.partition("the word ")[2].split()[0] if "the word " in text else text.partition("слово ")[2][:8]
    )


def test_only_tasks_with_free_answers_have_hidden_text(tmp_path: Path) -> None:
    def words(name: str, plan: str) -> list[str | None]:
        known = examples(dataset(name))["test"].items[:1]
        folder = bundled_study(tmp_path / f"{name}-{len(plan)}", name, controls=known)
        path = folder.path / "study.yaml"
        path.write_text(path.read_text("utf-8") + plan, encoding="utf-8")
        study = load_study(refrozen(folder), "people")
        return [hidden_word(study, task) for task in study.tasks]

    free = words("multiq", ON)
    assert all(free)
    assert len(set(free)) == len(free), "every task has a word of its own"
    assert set(words("multiq", "")) == set(words("bps", ON)) == {None}


@pytest.mark.parametrize("locale", ["ru-RU", "en-US"])
@pytest.mark.usefixtures("both_databases")
def test_counts_and_times_travel_with_the_answers_into_the_report(
    watched: StudyFolder, locale: str, browser, tmp_path: Path
) -> None:
    check = AccessibilityCheck()
    with served_site(watched.path) as (address, paths):
        context = browser.new_context(locale=locale, permissions=["clipboard-read", "clipboard-write"])
        person = Visitor(context.new_page(), address)
        person.come(paths["people"] + "?worker_id=1")
        consent = person.page.inner_text("main")
        assert any(word in consent for word in ("hidden text for AI", "скрытый текст для программ с ИИ"))
        person.begin(paths["people"] + "?worker_id=1")

        # One answer is a person's own: typed, with a correction, from beginning to end on the page.
        person.page.locator("#answer").press_sequentially("дпм", delay=20)
        person.page.keyboard.press("Backspace")
        person.page.keyboard.type("ом", delay=20)
        person.send()

        # One is a chatbot's: the page copied, the window left, the reply pasted.
        text = copied(person.page)
        word = asked_word(text)
        assert word.isalpha()
        assert word not in person.page.locator("main").aria_snapshot(), "a screen reader does not read it"
        box = person.page.locator(".prompt .unseen").bounding_box()
        assert box["width"] <= 1
        assert box["height"] <= 1
        check(person.page, "an item with hidden text")
        person.page.evaluate("window.dispatchEvent(new Event('blur'))")
        person.page.wait_for_timeout(50)
        person.page.evaluate("window.dispatchEvent(new Event('focus'))")
        person.page.evaluate("word => navigator.clipboard.writeText('дом ' + word)", word)
        person.page.locator("#answer").focus()
        person.page.keyboard.press("Control+V")
        person.page.reload()
        assert person.page.input_value("#answer").endswith(word)
        person.send()
        person.page.fill("#answer", "дом")
        person.send()

        # At the end the person says so; a second statement changes nothing.
        check(person.page, "the question at the end")
        person.page.check("input[value=some]")
        person.page.click("form.declaration button")
        person.page.wait_for_selector("p[role=status]")
        assert person.page.locator("form.declaration").count() == 0

        plain = browser.new_context(locale=locale, java_script_enabled=False).new_page()
        other = Visitor(plain, address)
        other.begin(paths["people"] + "?worker_id=2")
        for _ in range(3):
            plain.fill("#answer", "дом")
            plain.click("button[value=next]")
    check.passed(2)

    table = collect_answers(read_site(watched.path)).table
    rows = list(csv.DictReader(io.StringIO(table)))
    own, pasted, filled, *silent = sorted(
        rows, key=lambda row: (row["signal_pastes"] == "", row["submitted"])
    )
    assert (own["signal_keys"], own["signal_pastes"], own["signal_leaves"]) == ("6", "0", "0")
    assert 10 <= float(own["signal_key_median_ms"]) <= 500
    assert float(own["signal_first_seconds"]) >= 0
    assert (pasted["signal_pastes"], pasted["signal_copies"], pasted["signal_returns"]) == ("1", "1", "1")
    assert float(pasted["signal_away_seconds"]) >= 0.05
    assert [row["signal_hidden_word"] for row in (own, pasted, filled)] == ["0", "1", "0"]
    assert {row["signal_declared"] for row in (own, pasted, filled)} == {"some"}
    assert all(row[f"signal_{name}"] == "" for row in silent for name in MEASURED), "without JavaScript"

    answers = tmp_path / "answers.csv"
    answers.write_text(table, encoding="utf-8")
    import_files(watched, [answers])
    made = study_baseline(watched.path)
    signals = made.to_json()["signals"]
    (seen,) = (person for person in signals if person["measured"])
    assert {name: seen[name] for name in ("measured", "pastes", "copies", "returns", "hidden_word", "declared")} == {
        "measured": 3, "pastes": 1, "copies": 1, "returns": 1, "hidden_word": 1, "declared": "some",
    }  # fmt: skip
    assert sum(person["answers"] for person in signals) == 6
    made.save(tmp_path / "baseline")
    page = (tmp_path / "baseline" / "report.html").read_text("utf-8")
    assert "1 of 1 annotator pasted into an answer, 1 copied text of a page, 1 left the window" in page
    assert "3 answers have no signals" in page
    kept = pl.read_csv(tmp_path / "baseline" / "raw" / "responses.csv")["signals"]
    assert kept.str.contains('"pastes":1').sum() == 1
