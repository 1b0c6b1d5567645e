"""One study shows one interval: over items and annotators, in every page, table, text and plot."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command import merilo as command

import merilo
from merilo.baselines.baseline import Baseline
from merilo.reports.page import page_charts

ITEMS, PEOPLE = 40, 7
#: Two numbers with a decimal point or comma and what stands between them in prose, cells and brackets.
SPAN = r"(\d[.,]\d{3})\s*(?:[–;,]|to|до)\s*(\d[.,]\d{3})"


def pool(people: int = PEOPLE) -> pl.DataFrame:
    """A pool whose annotators differ; items 3 and 10 are hard, and all others have a majority."""
    rows = []
    for item in range(ITEMS):
        right = "AB"[item % 2]
        for person in range(people):
            wrong = (item + 3 * person) % (3 + 2 * person) == 0 or (item in {3, 10} and person > 1)
            rows.append(
                {
                    "question": f"question {item}",
                    "domain": "sums" if item % 3 else "words",
                    "worker": f"person-{person}",
                    "label": "AB"[(right == "B") != wrong],
                    "gold": right,
                }
            )
    return pl.DataFrame(rows)


def baseline(folder: Path, table: pl.DataFrame, *options: str) -> tuple[Path, str]:
    """The folder of a baseline and what the terminal shows."""
    file, out = folder / "answers.csv", folder / "base"
    table.drop("gold").write_csv(file)
    golds = folder / "gold.csv"
    table.select("question", "domain", "gold").unique().sort("question").write_csv(golds)
    done = command(
        *("baseline", file, "--item", "question", "--annotator", "worker", "--answer", "label"),
        *("--gold", golds, "--by", "domain", "--details", "--out", out, *options),
    )
    assert done.status == 0, done.err
    return out, done.out


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str, dict[str, Any]]:
    """The baseline's folder, its folder hb/, what the terminal showed, and its JSON."""
    folder = tmp_path_factory.mktemp("one-interval")
    base, shown = baseline(folder, pool())
    merilo.report(base, folder / "hb")
    content = json.loads((base / "baseline.json").read_text(encoding="utf-8"))
    return base, folder / "hb", shown, content


def rounded(ends: list[float]) -> tuple[str, str]:
    return f"{ends[0]:.3f}", f"{ends[1]:.3f}"


def spans(text: str) -> list[tuple[str, str]]:
    found = re.findall(SPAN, text.replace("\u00a0", " "))
    return [(low.replace(",", "."), high.replace(",", ".")) for low, high in found]


def after(text: str, words: str) -> tuple[str, str]:
    """The first interval after some words."""
    assert words in text, words
    return spans(text.split(words, 1)[1])[0]


def read(page: Path, language: str = "en") -> str:
    """The text of a page in one language."""
    other = "ru" if language == "en" else "en"
    text = re.sub(rf'<(\w+) lang="{other}">.*?</\1>', "", page.read_text(encoding="utf-8"))
    return re.sub(r"\s+", " ", re.sub(r"<(?!title)[^>]*>", " ", text))


def places(hb: Path, base: Path, shown: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Every place that shows the interval of the main metric, with the interval that it shows."""
    page, russian = read(hb / "report.html"), read(hb / "report.html", "ru")
    yield "headline", after(page, "95% interval over items and annotators")
    yield "headline in Russian", after(russian, "доверительный интервал по вопросам и разметчикам")
    yield "title of the chart", after(page, "<title>0.")
    yield "table of the report", after(page, "consensus ( accuracy ")
    yield "methods", after(page, "The accuracy of the consensus is")
    for name, words in (
        ("README.md", "interval over items and annotators"),
        ("README_ru.md", "вопросов и разметчиков"),
    ):
        yield name, after((hb / name).read_text(encoding="utf-8"), words)
    for language in ("en", "ru"):
        plot = (hb / "plots" / language / "estimate-acc.svg").read_text(encoding="utf-8")
        yield f"plot in {language}", after(plot, "[" if language == "en" else "разметчикам")
        card = (hb / "cards" / f"human_baseline_{language}.md").read_text(encoding="utf-8")
        yield (
            f"card in {language}",
            after(card, "of the consensus is" if language == "en" else "согласованных ответов на"),
        )
    for name in ("csv/metrics.csv", "markdown/metrics.md", "latex/metrics.tex"):
        row = (hb / "paper" / name).read_text(encoding="utf-8").split("consensus", 1)[1].split("\n")[0]
        assert "items and annotators" in row, name
        ends = re.findall(r"\d\.\d{3}", row)
        yield name, (ends[1], ends[2])
    for name in ("methods.txt", "methods.md"):
        for file in (hb / "paper").glob(f"*/{name}"):
            yield file.name, after(file.read_text(encoding="utf-8"), "of the consensus is")
    yield "terminal", spans(next(line for line in shown.splitlines() if re.match(r"│ acc +│", line)))[0]
    table = command("report", "table", base)
    yield "table of human baselines", spans(next(one for one in table.out.splitlines() if "[base]" in one))[0]


def test_every_place_shows_the_interval_over_items_and_annotators(
    study: tuple[Path, Path, str, dict[str, Any]],
) -> None:
    base, hb, shown, content = study
    acc = content["metrics"]["acc"]
    wanted, alone = rounded(acc["ci95_items_and_annotators"]), rounded(acc["ci95"])
    assert wanted != alone
    found = dict(places(hb, base, shown))
    assert {place: span for place, span in found.items() if span != wanted} == {}
    assert len(found) == 18


def test_the_interval_over_items_alone_has_one_named_row(
    study: tuple[Path, Path, str, dict[str, Any]],
) -> None:
    _, hb, shown, content = study
    alone = rounded(content["metrics"]["acc"]["ci95"])
    row = next(line for line in shown.splitlines() if "over items alone" in line)
    assert spans(row) == [alone]
    page = read(hb / "report.html")
    assert after(page, "the same over items alone") == alone
    assert spans(page).count(alone) == 1
    for file in (*hb.glob("README*"), *hb.glob("cards/*"), *hb.glob("paper/*/*"), *hb.glob("plots/*/*.svg")):
        assert alone not in spans(file.read_text(encoding="utf-8")), file


def test_the_bar_of_the_chart_is_as_long_as_the_interval(
    study: tuple[Path, Path, str, dict[str, Any]],
) -> None:
    _, _, _, content = study
    table = pool()
    responses = merilo.read_responses(
        table.drop("gold"), item=["question"], annotator="worker", answer="label"
    )
    gold = dict(table.select("question", "gold").unique().iter_rows())
    made = merilo.baseline(responses, gold=gold)
    chart = page_charts(made)["estimate acc"].__html__()
    band = re.search(r'<rect x="([\d.]+)" y="\d+" width="([\d.]+)"[^>]*class="band"', chart)
    assert band is not None
    left, width = float(band[1]), float(band[2])
    scale = 720 - 2 * 16
    low, high = content["metrics"]["acc"]["ci95_items_and_annotators"]
    assert ((left - 16) / scale, (left + width - 16) / scale) == pytest.approx((low, high), abs=1e-3)


def test_groups_have_their_own_interval_and_their_own_answers(
    study: tuple[Path, Path, str, dict[str, Any]],
) -> None:
    _, hb, shown, content = study
    rows = list(csv.DictReader(io.StringIO((hb / "paper" / "csv" / "groups.csv").read_text())))
    page = read(hb / "report.html").split("By domain", 1)[1]
    assert {row["value"] for row in rows} == {"sums", "words"}
    for row in rows:
        group = content["by"]["domain"][row["value"]]
        wanted = rounded(group["acc"]["ci95_items_and_annotators"])
        assert (row["low"], row["high"], row["interval over"]) == (*wanted, "items and annotators")
        assert int(row["answers"]) == group["items"] * PEOPLE
        assert after(page, f" {row['value']} ") == wanted
        line = next(one for one in shown.splitlines() if f"domain: {row['value']}" in one)
        assert spans(line)[0] == wanted


def test_a_group_of_the_metrics_table_has_its_own_number_of_answers() -> None:
    from merilo.reports.paper import metric_table

    whole = {
        "value": 0.9,
        "n": 30,
        "single_person": {"value": 0.8, "annotators": 7, "answers": 210, "items": 30},
    }
    law = {
        "value": 0.5,
        "n": 10,
        "single_person": {"value": 0.4, "annotators": 5, "answers": 50, "items": 10},
    }
    content: Any = {"responses": {"used": 210}, "metrics": {"acc": whole, "acc.law": law}}
    table = metric_table(Baseline.of_json(content))
    column = table.columns.index("answers")
    assert [row[column] for row in table.rows if row[1] == "consensus"] == ["210", "50"]


@pytest.mark.thorough
def test_two_annotators_show_the_interval_over_items_by_its_name_with_the_reason(tmp_path: Path) -> None:
    base, shown = baseline(tmp_path, pool(people=2), "--max-low-agreement", "0.9")
    merilo.report(base, tmp_path / "hb")
    acc = next(line for line in shown.splitlines() if re.match(r"│ acc +│", line))
    assert "] over items alone" in acc
    reason = "not defined: it takes at least 3 annotators, and 2 answered"
    assert reason in " ".join(re.sub(r"[│\s]+", " ", shown).split())
    page = read(tmp_path / "hb" / "report.html")
    assert "95% interval over items alone" in page
    assert f"over items and annotators it is {reason}" in page
    russian = read(tmp_path / "hb" / "report.html", "ru")
    assert "нужно не меньше 3 разметчиков, а ответили 2" in russian
    english = (tmp_path / "hb" / "README.md").read_text(encoding="utf-8")
    assert re.search(r"95% confidence interval over items alone 0\.\d{3} to \d\.\d{3}", english)
    plot = (tmp_path / "hb" / "plots" / "en" / "estimate-acc.svg").read_text(encoding="utf-8")
    assert "95% interval over items alone" in plot
    assert "items alone" in (tmp_path / "hb" / "paper" / "csv" / "metrics.csv").read_text(encoding="utf-8")
    assert "over items alone" in command("report", "table", base).out
