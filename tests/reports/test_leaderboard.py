"""The leaderboard: the numbers of the comparison, its order, hostile names, and the page in a browser."""

import json
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from accessibility import AccessibilityCheck
from browser import opened_browser
from command import merilo
from compared_pools import answers, asked, pools
from compared_study import guesses, model, study
from hostile_text import HOSTILE

from merilo import leaderboard
from merilo.errors import OutputError


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
def board(work: Path) -> Path:
    models = [work / "models" / name for name in ("partial", "middling", "best", "poor")]
    done = merilo("leaderboard", *models, "--baselines", work / "pools", "--out", work / "board")
    assert done.status == 0, done.err
    assert "4 models on 2 datasets" in done.out
    assert "not compared: lcs, partial" in done.err
    return work / "board"


def rows_of(board: Path) -> list[dict[str, Any]]:
    return json.loads((board / "leaderboard.json").read_text(encoding="utf-8"))["rows"]


def same_as_compared(rows: list[dict[str, Any]], compared: dict[str, Any], dataset: str) -> int:
    held = {(row["model"], row["beside"]): row for row in rows if row["dataset"] == dataset}
    matches = {
        (one["model"], kind): (one, match)
        for one in compared["models"]
        for kind, match in one["comparisons"].items()
    }
    assert held.keys() == matches.keys()
    for key, (one, match) in matches.items():
        row = held[key]
        assert row["score"]["value"] == one["score"]["value"]
        assert row["difference"]["value"] == match["difference"]
        assert row["difference"]["ci95"] == match["ci95_items_and_annotators"]
        assert row["difference"]["n"] == match["n"]
        assert [row[name] for name in ("p", "p_holm", "verdict")] == [
            match[name] for name in ("p", "p_holm", "verdict")
        ]
        assert row["sentence"] == match["verdict_sentence"]
    return len(matches)


def test_compare_and_the_leaderboard_give_one_verdict(work: Path, board: Path) -> None:
    baselines = [work / "pools" / name / "baseline" for name in ("bps", "lcs")]
    models = [work / "models" / name for name in ("partial", "middling", "best", "poor")]
    compared = merilo("compare", *baselines, *models, "--json", "-").json
    rows = rows_of(board)
    counts = [same_as_compared(rows, compared["datasets"][name], name) for name in ("bps", "lcs")]
    assert counts == [8, 6]
    assert {row["verdict"] for row in rows} >= {"below", "untold"}
    board_total = json.loads((board / "leaderboard.json").read_text(encoding="utf-8"))["total"]
    assert board_total == compared["total"]


def test_on_one_dataset_the_verdicts_are_those_of_compare_too(tmp_path: Path) -> None:
    people = study(tmp_path)
    models = [model(tmp_path / f"m{n}.csv", guesses(right=n / 4, seed=n)) for n in range(3)]
    compared = merilo("compare", people, *models, "--json", "-").json
    leaderboard(models, baselines=tmp_path, out=tmp_path / "board")
    assert same_as_compared(rows_of(tmp_path / "board"), compared, "people") == 6
    page = Page((tmp_path / "board" / "index.html").read_text(encoding="utf-8"))
    assert [row[0] for row in page.board if row[0].startswith("m")] == ["model", "m2", "m1", "m0"]
    assert "total" not in page.board[0], "no dataset counts in the benchmark's total"


class Page(HTMLParser):
    """The tags of a page, its attributes, and the English texts of the board's cells in rows."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.board: list[list[str]] = []
        self._russian = False
        self._in = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = dict(attrs)
        self.tags.add(tag)
        self.attributes |= held.keys()
        self._in = held.get("id") or self._in if tag == "table" else self._in
        self._russian = held.get("lang") == "ru"
        if self._in == "board" and tag == "tr":
            self.board.append([])
        elif self._in == "board" and tag in {"th", "td"}:
            self.board[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._russian = False
        self._in = "" if tag == "table" else self._in

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self.board and self.board[-1] and self._in == "board" and not self._russian:
            self.board[-1][-1] += data


def test_people_are_on_top_and_models_with_more_of_the_total_come_first(board: Path) -> None:
    page = Page((board / "index.html").read_text(encoding="utf-8"))
    assert [row[0] for row in page.board] == [
        *("model", "people, consensus", "people, single person"),
        *("best", "middling", "poor", "partial"),
    ]
    best, partial = page.board[3], page.board[6]
    assert best[1].startswith("0.975")
    assert "1 of 15 datasets" in best[1]
    assert partial[1].strip() == partial[3].strip() == "—"
    assert "−" in page.board[5][2]


def test_no_name_of_a_model_or_dataset_runs_as_script(work: Path, tmp_path: Path) -> None:
    texts = [one for one in HOSTILE if one.isprintable()]
    run = asked(work, "random", "bps,lcs", "run-hostile")
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    record["model"]["name"] = "".join(texts)
    (run / "run.json").write_text(json.dumps(record), encoding="utf-8")
    found = leaderboard([run], baselines=work / "pools", out=tmp_path / "models")
    assert [*found.table.models] == ["".join(texts)]
    name = "<img src=x onerror=alert(1)>\"'<script>"
    study(tmp_path)
    (tmp_path / "all").mkdir()
    shutil.move(tmp_path / "people", tmp_path / "all" / name)
    answered = model(tmp_path / "<b onclick=alert(1)>.csv", guesses())
    leaderboard([answered], baselines=tmp_path / "all", out=tmp_path / "datasets")
    known = Page((work / "board" / "index.html").read_text(encoding="utf-8"))
    for folder, shown in (("models", texts), ("datasets", [name, "<b onclick=alert(1)>"])):
        page = Page((tmp_path / folder / "index.html").read_text(encoding="utf-8"))
        assert page.tags <= known.tags
        assert page.attributes <= known.attributes
        assert all(text in "".join(page.texts) for text in shown)


def test_another_page_is_not_replaced_and_a_folder_without_baselines_is_refused(
    board: Path, work: Path, tmp_path: Path
) -> None:
    best = work / "models" / "best"
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match="is not a leaderboard"):
        leaderboard([best], baselines=work / "pools", out=tmp_path / "site")
    assert (tmp_path / "site" / "index.html").read_text(encoding="utf-8") == "mine"
    shutil.copytree(board, tmp_path / "old")
    leaderboard([best], baselines=work / "pools", out=tmp_path / "old")
    assert {row["model"] for row in rows_of(tmp_path / "old")} == {"best"}
    refused = merilo("leaderboard", best, "--baselines", work / "models", "--out", tmp_path / "none")
    assert refused.status == 2
    assert "holds no baseline" in refused.complaint
    assert not (tmp_path / "none").exists()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as opened:
        yield opened


def names(page: Any) -> list[str]:
    return page.locator("#board tbody:last-child th").all_inner_texts()


def test_columns_sort_people_stay_on_top_and_both_languages_are_accessible(browser: Any, board: Path) -> None:
    page, said, check = browser.new_page(), [], AccessibilityCheck()
    page.on("console", lambda one: said.append(one.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((board / "index.html").as_uri())
    assert names(page) == ["best", "middling", "poor", "partial"]
    check(page, "English")
    page.get_by_role("button", name="BPS").click()
    assert names(page) == ["partial", "best", "middling", "poor"]
    page.get_by_role("button", name="BPS").click()
    assert names(page) == ["poor", "middling", "best", "partial"]
    assert page.locator("th[aria-sort]").count() == 1
    page.get_by_role("button", name="total").click()
    assert names(page) == ["best", "middling", "poor", "partial"]
    page.locator("label[for=in-ru]").click()
    page.get_by_role("button", name="модель").click()
    assert names(page) == ["best", "middling", "partial", "poor"]
    assert page.locator("#board tbody").first.inner_text().startswith("люди, согласованный ответ")
    for summary in page.locator("summary").all():
        summary.click()
    check(page, "Russian")
    assert not said
    check.passed(2)


def test_without_scripts_the_page_is_complete(browser: Any, board: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((board / "index.html").as_uri())
    assert names(page) == ["best", "middling", "poor", "partial"]
    assert page.get_by_role("button").count() == 0
    page.locator("label[for=in-ru]").click()
    assert page.locator("h1").inner_text() == "Люди и модели"
    context.close()
