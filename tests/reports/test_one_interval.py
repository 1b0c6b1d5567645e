"""One study shows one interval in every page, table and text."""

import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from command import merilo as command

import merilo

ITEMS, PEOPLE = 40, 7
#: Two numbers with a decimal point or comma and what stands between them in prose, cells and brackets.
SPAN = r"(\d[.,]\d{3})\s*(?:[–;,]|to|до)\s*(\d[.,]\d{3})"


def pool() -> pl.DataFrame:
    """A pool whose annotators differ; items 3 and 10 are hard, and all others have a majority."""
    rows = []
    for item in range(ITEMS):
        right = "AB"[item % 2]
        for person in range(PEOPLE):
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


def spans(text: str) -> list[tuple[str, str]]:
    found = re.findall(SPAN, text.replace("\u00a0", " "))
    return [(low.replace(",", "."), high.replace(",", ".")) for low, high in found]


def after(text: str, words: str) -> tuple[str, str]:
    """The first interval after some words."""
    assert words in text, words
    return spans(text.split(words, 1)[1])[0]


def places(hb: Path, shown: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Every place that shows the interval of the main metric, with the interval that it shows."""
    for name in ("report.html", "README.md", "human_baseline_en.md", "cost_en.md"):
        yield name, after((hb / name).read_text(encoding="utf-8"), "of the consensus of")
    yield "terminal", after(shown, "of the consensus of")
    yield "table of the terminal", after(shown, "Accuracy, consensus")
    table = command("table", hb)
    yield "table of human baselines", spans(next(one for one in table.out.splitlines() if "[hb]" in one))[0]


def test_every_place_shows_the_interval_of_record(tmp_path: Path) -> None:
    table = pool()
    table.drop("gold").write_csv(tmp_path / "answers.csv")
    table.select("question", "domain", "gold").unique().sort("question").write_csv(tmp_path / "gold.csv")
    done = command(
        *(
            "baseline",
            tmp_path / "answers.csv",
            "--item",
            "question",
            "--annotator",
            "worker",
            "--answer",
            "label",
        ),
        *("--gold", tmp_path / "gold.csv", "--by", "domain", "--details", "--out", tmp_path / "hb"),
    )
    assert done.status == 0, done.err
    interval = merilo.load(tmp_path / "hb").metrics["acc"].ci95
    assert interval is not None
    found = dict(places(tmp_path / "hb", done.out))
    assert {
        place: span for place, span in found.items() if span != tuple(f"{end:.3f}" for end in interval)
    } == {}
