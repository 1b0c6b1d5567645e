"""One page for a comparison and a leaderboard: the same rows, hostile names, a real browser; Markdown and LaTeX."""

import json
import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from accessibility import AccessibilityCheck
from browser import OUTSIDE, opened_browser
from command import merilo
from compared_study import guesses, model, study
from hostile_text import HOSTILE
from parsed_page import ParsedPage
from simulated_pool import answers, asked, pools

from merilo import compare, leaderboard
from merilo.errors import OutputError
from merilo.items import Item, Split, write_splits
from merilo.studies.study_folder import combined_hash


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Baselines of BPS, which does not count in the total, and LCS; four models, one of which has BPS alone."""
    folder = tmp_path_factory.mktemp("board")
    pools(folder)
    for name, wrong in (("middling", 20), ("best", 1), ("poor", 30)):
        for dataset in ("bps", "lcs"):
            answers(folder, dataset, folder / "models" / name / f"{dataset}.jsonl", wrong=wrong)
    answers(folder, "bps", folder / "models" / "partial" / "bps.jsonl")
    return folder


@pytest.fixture(scope="module")
def sources(work: Path) -> list[Path]:
    baselines = [work / "pools" / name / "baseline" for name in ("bps", "lcs")]
    return [*baselines, *(work / "models" / name for name in ("partial", "middling", "best", "poor"))]


@pytest.fixture(scope="module")
def board(work: Path, sources: list[Path]) -> Path:
    done = merilo("leaderboard", *sources[2:], "--baselines", work / "pools", "--out", work / "board")
    assert done.status == 0, done.err
    assert "4 models on 2 datasets" in done.out
    assert '<p class="kicker">Leaderboard</p>' in (work / "board" / "index.html").read_text(encoding="utf-8")
    assert "partial: it has no answers to lcs" in done.err
    return work / "board"


def test_comparison_page_board_report_and_terminal_say_one_sentence(
    sources: list[Path], board: Path, tmp_path: Path
) -> None:
    found = compare(*sources)
    rows = json.loads((board / "leaderboard.json").read_text(encoding="utf-8"))["rows"]
    assert rows == json.loads(json.dumps(found.to_json()))["rows"]
    merilo("compare", *sources, "--out", tmp_path / "page.html")
    pages = [
        (folder).read_text(encoding="utf-8") for folder in (tmp_path / "page.html", board / "index.html")
    ]
    shown = " ".join(merilo("compare", *sources).out.split())
    for row in found.rows:
        for sentence in (row.sentence.en, row.sentence.ru):
            assert all(sentence in unescape(page) for page in pages)
        assert row.sentence.en in shown
    merilo("compare", *sources, "--json", tmp_path / "c.json")
    assert json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["rows"] == rows


def options(folder: Path) -> list[object]:
    return [
        "baseline", folder / "answers.csv", "--platform", "table", "--item", "text", "--annotator", "annotator", "--answer",
        "answer", "--gold", folder / "items.csv", "--gold-column", "gold", "--min-votes", 2,
    ]  # fmt: skip


def test_the_report_of_a_baseline_has_the_rows_of_compare(tmp_path: Path) -> None:
    folder = study(tmp_path, people=12)
    file = model(tmp_path / "robot.csv", guesses())
    done = merilo(*options(tmp_path), "--model", file, "--out", tmp_path / "again", "--json", "-")
    assert done.status == 0, done.err
    page = unescape((tmp_path / "again" / "report.html").read_text(encoding="utf-8"))
    for ours, row in zip(done.json["models"], compare(folder, file).rows, strict=True):
        theirs = json.loads(json.dumps(row.to_json()))
        del theirs["counted"]
        assert {**ours, "dataset": ""} == {**theirs, "dataset": ""}
        assert row.sentence.en in page
    merilo("compare", folder, file, "--out", tmp_path / "page.html")
    assert not re.search("[а-яё]", (tmp_path / "page.html").read_text(encoding="utf-8"), re.IGNORECASE)


def test_the_margin_of_a_frozen_plan_beside_the_gold_is_planned(tmp_path: Path) -> None:
    study(tmp_path, people=12, overlap=5)
    file = model(tmp_path / "robot.csv", guesses(samples=3))
    files = {"study.yaml": "0" * 64}
    record = {
        "date": "2026-01-02",
        "hash": combined_hash(files),
        "files": files,
        "plan": {"baseline": {"margin": 0.5}},
    }
    (tmp_path / "frozen.json").write_text(json.dumps(record))
    for row in merilo(*options(tmp_path), "--model", file, "--json", "-").json["models"]:
        assert (row["margin"], row["verdict"]) == (0.5, "equal")
        assert "margin planned on 2026-01-02" in row["sentence"]


def test_no_name_of_a_model_or_dataset_runs_as_script(work: Path, board: Path, tmp_path: Path) -> None:
    texts = [one for one in HOSTILE if one.isprintable()]
    run = asked(work, "random", "bps,lcs", "run-hostile")
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    record["model"]["name"] = "".join(texts)
    (run / "run.json").write_text(json.dumps(record), encoding="utf-8")
    found = leaderboard(run, baselines=work / "pools", out=tmp_path / "models")
    assert found.models == ["".join(texts)]
    boards = ("--baselines", work / "pools", "--out", tmp_path / "builtin")
    said = merilo(
        "leaderboard", work / "models" / "best", asked(work, "random", "bps", "run-built-in"), *boards
    ).out
    assert "1 model and 1 built-in respondent on 2 datasets" in said
    name = "<img src=x onerror=alert(1)>\"'<script>"
    study(tmp_path)
    (tmp_path / "all").mkdir()
    shutil.move(tmp_path / "people", tmp_path / "all" / name)
    answered = model(tmp_path / "<b onclick=alert(1)>.csv", guesses())
    leaderboard(answered, baselines=tmp_path / "all", out=tmp_path / "datasets")
    plain = (board / "index.html").read_text(encoding="utf-8")
    assert "http" not in plain.replace("http-equiv", "")
    known = ParsedPage(plain)
    for folder, shown in (("models", texts), ("datasets", [name, "<b onclick=alert(1)>"])):
        html = (tmp_path / folder / "index.html").read_text(encoding="utf-8")
        page = ParsedPage(html)
        assert page.tags <= known.tags | {"svg", "line", "circle", "rect"}
        assert page.attributes <= known.attributes
        assert all(text in page.text for text in shown)


def test_another_page_is_not_replaced_and_a_folder_without_baselines_is_refused(
    board: Path, work: Path, tmp_path: Path
) -> None:
    best = work / "models" / "best"
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match="is not a leaderboard"):
        leaderboard(best, baselines=work / "pools", out=tmp_path / "site")
    assert (tmp_path / "site" / "index.html").read_text(encoding="utf-8") == "mine"
    shutil.copytree(board, tmp_path / "old")
    leaderboard(best, baselines=work / "pools", out=tmp_path / "old")
    rows = json.loads((tmp_path / "old" / "leaderboard.json").read_text(encoding="utf-8"))["rows"]
    assert {row["model"] for row in rows} == {"best"}
    refused = merilo("leaderboard", best, "--baselines", work / "models", "--out", tmp_path / "none")
    assert refused.status == 2
    assert "holds no baseline" in refused.complaint
    assert not (tmp_path / "none").exists()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as opened:
        yield opened


def names(page: Any) -> list[str]:
    return page.locator(".board:visible tbody:last-child th").all_inner_texts()


def test_columns_sort_people_stay_on_top_and_both_languages_are_accessible(browser: Any, board: Path) -> None:
    page, said, check = browser.new_page(viewport={"width": 390, "height": 900}), [], AccessibilityCheck()
    page.on("console", lambda one: said.append(one.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((board / "index.html").as_uri())
    by_value = ["partial", "best", "middling", "poor"]
    assert names(page) == by_value, "one dataset has no total"
    check(page, "English")
    page.get_by_role("button", name="LCS").click()
    assert names(page) == ["best", "middling", "poor", "partial"]
    page.get_by_role("button", name="BPS").click()
    assert names(page) == by_value
    page.get_by_role("button", name="BPS").click()
    assert names(page) == by_value[::-1]
    assert page.locator("th[aria-sort]:visible").count() == 1
    page.locator("label[for=in-ru]").click()
    page.get_by_role("button", name="модель").click()
    assert names(page) == ["best", "middling", "partial", "poor"]
    assert page.locator(".board:visible tbody").first.inner_text().startswith("люди, согласованный ответ")
    assert "is below" not in page.locator("main:visible").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate(OUTSIDE) == []
    check(page, "Russian")
    assert not said
    check.passed(2)
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto((board / "index.html").as_uri())
    assert (names(plain), plain.get_by_role("button").count()) == (by_value, 0), "complete without scripts"


def test_models_with_more_of_the_total_come_first(work: Path, sources: list[Path], tmp_path: Path) -> None:
    parus = [Item(1, "{premise} {choice1} {choice2}", {"premise": "p", "choice1": "a", "choice2": "b"}, "1", {"id": 1, "task": "cause"})]  # fmt: skip
    shutil.copytree(work / "data", tmp_path / "data")
    write_splits(tmp_path / "data" / "parus.json", [Split("test", tuple(parus))])
    run = asked(tmp_path, "random", "lcs,parus", "run")
    found = compare(*sources, run)
    assert found.models[:2] == ["random (built-in)", "best"]
    out = tmp_path / "page.html"
    assert merilo("compare", *sources, run, "--out", out).status == 0
    html = out.read_text(encoding="utf-8")
    assert "PARus" in html
    shown = merilo("compare", *sources, run).out
    assert "Total score" in shown
    assert "A complete total needs 13 more datasets" in " ".join(shown.split())


def test_the_comparison_is_markdown_latex_and_csv(sources: list[Path], work: Path, tmp_path: Path) -> None:
    file = answers(work, "bps", tmp_path / "under_score%.bps.jsonl")
    texts = {}
    for suffix in ("md", "tex", "csv"):
        done = merilo("compare", sources[0], file, "--out", tmp_path / f"t.{suffix}")
        assert done.status == 0
        assert "beside" not in done.out, "the sentences without the table, which is in the file"
        assert done.out.startswith("under_score% cannot be told")
        assert f"the comparison: {tmp_path / f't.{suffix}'}" in done.err
        texts[suffix] = (tmp_path / f"t.{suffix}").read_text(encoding="utf-8")
    sentence = compare(sources[0], file).rows[0].sentence.en
    assert texts["md"].startswith(sentence[:40])
    assert "| under_score% | consensus | 0.975 [" in texts["md"]
    assert r"under\_score\%" in texts["tex"]
    assert texts["csv"].splitlines()[0].startswith('model,beside,people,"people, low","people, high",score')
