"""`merilo horizon`: from the answers of people with their times to the table, the JSON and the picture."""

import csv
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from accessibility import AccessibilityCheck
from browser import opened_browser
from command import merilo
from every import every
from scipy.special import expit

import merilo as library
from merilo.reports.time_and_price import duration

ITEMS, PEOPLE, OVERLAP = 80, 12, 3
#: The models: the median person's seconds of items of which each solves half.
MODELS = {"quick": 30.0, "<b>slow</b>": 180.0, "perfect": 1e9, "hopeless": 1e-9}


def study(
    folder: Path,
    *,
    overlap: int = OVERLAP,
    items: int = ITEMS,
    constant: bool = False,
    wrong: float = 0.1,
    guesser: int | None = None,
) -> Path:
    """Make a baseline of answers with times, and the answers of models; return the baseline's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(3)
    log_time, person = np.log(60) + random.normal(size=items), 0.4 * random.normal(size=PEOPLE)
    with (folder / "answers.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["question", "worker", "answer", "seconds"])
        for item in range(items):
            for who in random.permutation(PEOPLE)[:overlap]:
                taken = np.exp(log_time[item] + person[who] + 0.5 * random.normal())
                if who == guesser:
                    taken = 5 * np.exp(0.3 * random.normal())
                right = random.random() > wrong
                rows.writerow(
                    [f"q{item}", f"p{who}", "A" if right else "B", 30 if constant else round(taken, 2)]
                )
    (folder / "gold.csv").write_text("id,question,answer\n" + "".join(f"{n},q{n},A\n" for n in range(items)))
    for number, (name, at) in enumerate(MODELS.items()):
        solved = random.random(items) < expit(1.5 * (np.log(at) - log_time))
        table = "".join(f"{n},{'A' if right else 'B'}\n" for n, right in enumerate(solved))
        (folder / f"{number}").mkdir(exist_ok=True)
        (folder / f"{name.replace('/', '')}.csv").write_text("id,answer\n" + table)
    done = merilo(
        "baseline", folder / "answers.csv", "--item", "question", "--gold", folder / "gold.csv", "--out", folder / "hb",
        *(["--min-votes", "1"] if overlap < 3 else []),
    )  # fmt: skip
    assert done.status in {0, 1}, done.err
    return folder / "hb"


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return study(tmp_path_factory.mktemp("horizon"))


def files(people: Path, *names: str) -> list[Path]:
    return [people.parent / f"{name.replace('/', '')}.csv" for name in names]


def test_horizons_of_several_models_from_the_answers_to_the_table(people: Path) -> None:
    done = merilo("horizon", people, *files(people, *MODELS), "--json", people.parent / "found.json")
    assert done.status == 0, done.err
    found = json.loads((people.parent / "found.json").read_text())
    quick, slow, perfect, hopeless = found["models"]
    for one, truth in ((quick, 30), (slow, 180)):
        low, high = one["ci95"]
        assert low < truth < high
        assert low < one["horizon_seconds"] < high
        assert one["slope"] > 0
    assert perfect["bound"]["above"] > 60
    assert perfect["horizon_seconds"] is None
    assert hopeless["bound"]["below"] < 60
    assert hopeless["ci95"] is None
    assert "longer than" in done.out
    assert "shorter than" in done.out
    times = found["times"]
    assert (times["items"], times["people"], times["pages"]) == (ITEMS, PEOPLE, ITEMS * OVERLAP)
    assert 0.3 < times["noise"] < 0.7
    assert 0.8 < times["reliability"] < 1
    assert len(found["items"]) == ITEMS
    answers = (
        pl.read_csv(people.parent / "answers.csv").group_by("question").agg(pl.col("seconds").log().mean())
    )
    mean = dict(answers.iter_rows())
    estimated = {f"q{one['id']}": np.log(one["seconds"]) for one in found["items"]}
    assert np.corrcoef([mean[name] for name in estimated], [*estimated.values()])[0, 1] > 0.95


def test_times_of_a_person_who_guesses_are_left_out(tmp_path: Path) -> None:
    people = study(tmp_path, guesser=4)
    done = merilo("horizon", people, *files(people, "quick"), "--json", "-")
    assert done.status == 0, done.err
    times = done.json["times"]
    assert (times["people"], times["people_guessing"]) == (PEOPLE - 1, 1)
    assert "1 annotator answers in less than half the time of others" in done.err
    assert done.json["models"][0]["horizon_seconds"] == pytest.approx(MODELS["quick"], rel=0.5)


def test_the_library_gives_what_the_command_gives(people: Path) -> None:
    (file,) = files(people, "quick")
    found = library.horizon(people, {"quick": file})
    (one,) = merilo("horizon", people, file, "--json", "-").json["models"]
    assert found.to_dict()["models"] == [one]
    assert repr(found).startswith("quick: ")
    stricter = library.horizon(people, {"quick": file}, share=0.8).to_dict()["models"][0]
    assert stricter["horizon_seconds"] < one["horizon_seconds"]
    right = library.horizon(people, {"quick": file}, times="correct").to_dict()
    assert right["times"]["pages"] < ITEMS * OVERLAP
    cut = library.horizon(people, {"quick": file}, time_limit=100)
    assert cut.to_dict()["times"]["pages_cut_off"] > 10
    assert any("cut off at 100 seconds" in warning for warning in cut.warnings)


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_picture_is_drawn_in_both_languages(
    people: Path, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", f"{language}_{language.upper()}.UTF-8")
    out = people.parent / f"{language}.svg"
    done = merilo("horizon", people, *files(people, "<b>slow</b>"), "--out", out)
    assert done.status == 0, done.err
    text = " ".join(ET.parse(out).getroot().itertext())
    assert ("Доля решённых" if language == "ru" else "Solved items") in text
    assert "<b>slow<b>" in text
    again = merilo("horizon", people, *files(people, "<b>slow</b>"), "--out", out)
    assert again.status == 2
    assert "exists" in again.err


@pytest.fixture(scope="module")
def browser() -> Iterator:
    with opened_browser() as browser:
        yield browser


@pytest.mark.thorough
def test_the_page_is_accessible_and_fits_a_phone(people: Path, browser) -> None:
    out = people.parent / "page.html"
    done = merilo("horizon", people, *files(people, *MODELS), "--out", out)
    assert done.status == 0, done.err
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(out.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.locator("main script, main b b").count() == 0
    check = AccessibilityCheck()
    check(page, "English")
    page.click("label[for=in-ru]")
    assert "Временной горизонт" in page.inner_text("h1")
    check(page, "Russian")
    # The radio buttons of the languages stand before the landmarks, as on every page of a report.
    check.found = [one for one in check.found if "region, All page content" not in one]
    check.passed(2)
    page.close()


def test_times_that_tell_nothing_are_refused(tmp_path: Path) -> None:
    constant = study(tmp_path / "constant", constant=True)
    done = merilo("horizon", constant, *files(constant, "quick"))
    assert done.status == 1
    assert "all times are equal" in done.err
    few = study(tmp_path / "few", items=8)
    done = merilo("horizon", few, *files(few, "quick"))
    assert "8 items with gold answers have times of people" in done.err
    single = study(tmp_path / "single", overlap=1)
    done = merilo("horizon", single, *files(single, "quick"))
    assert "no item has times of two people" in done.err
    assert "--noise SD" in done.err
    assert merilo("horizon", single, *files(single, "quick"), "--noise", "0.5").status == 0


def test_a_baseline_without_times_is_refused(tmp_path: Path) -> None:
    people = study(tmp_path)
    table = pl.read_csv(tmp_path / "answers.csv").drop("seconds")
    table.write_csv(tmp_path / "plain.csv")
    done = merilo(
        "baseline",
        tmp_path / "plain.csv",
        "--item",
        "question",
        "--gold",
        tmp_path / "gold.csv",
        "--out",
        tmp_path / "plain",
    )
    assert done.status == 0, done.err
    done = merilo("horizon", tmp_path / "plain", *files(people, "quick"))
    assert done.status == 1
    assert "have no times" in done.err


def test_success_that_grows_with_time_gives_no_horizon(people: Path) -> None:
    found = library.horizon(people, files(people, "quick")).to_dict()
    order = sorted(found["items"], key=lambda one: one["seconds"])
    answers = {one["id"]: "A" if place > ITEMS / 2 else "B" for place, one in enumerate(order)}
    file = people.parent / "reversed.csv"
    file.write_text("id,answer\n" + "".join(f"{name},{answer}\n" for name, answer in answers.items()))
    done = merilo("horizon", people, file)
    assert done.status == 1
    assert "at least as often as quick ones" in " ".join(done.out.split())


@every(
    ("words", "complaint"),
    [
        (("--share", "1"), "--share"),
        (("--share", "nan"), "--share"),
        (("--noise", "-1"), "--noise"),
        (("--time-limit", "0"), "--time-limit"),
        (("--out", "x.txt"), "--out"),
        (("--cluster", "nothing"), "--cluster"),
    ],
)
def test_impossible_options_are_refused(people: Path, words: tuple[str, str], complaint: str) -> None:
    done = merilo("horizon", people, *files(people, "quick"), *words)
    assert done.status == 2
    assert complaint in done.err


@every(
    ("seconds", "text"),
    [(0.04, "0.04 s"), (12.34, "12.3 s"), (89, "89 s"), (90, "1.5 min"), (7200, "2 h"), (1e9, "277778 h")],
)
def test_durations_have_the_unit_that_a_person_would_choose(seconds: float, text: str) -> None:
    assert duration(seconds).en == text


@pytest.mark.parametrize("pool", ["bps", "lcs"])
def test_real_pools_have_pages_of_three_items_and_reliabilities_to_warn_of(
    pools: Path, pool: str, tmp_path: Path
) -> None:
    done = merilo(
        "baseline", *sorted((pools / pool).glob("*.tsv")), "--dataset", pool, "--out", tmp_path / "hb"
    )
    assert done.status in {0, 1}, done.err
    table = pl.read_parquet(tmp_path / "hb" / "consensus.parquet").drop_nulls("gold")
    gold = table["gold"].cast(pl.String).to_list()
    answers = {
        str(name): label if place % 3 else "x"
        for place, (name, label) in enumerate(zip(table["item"].to_list(), gold, strict=True))
    }
    found = library.horizon(tmp_path / "hb", {"fake": answers})
    content = found.to_dict()
    assert content["times"]["items"] == 100
    assert any("several items" in warning for warning in found.warnings)
    assert 0.05 < content["times"]["reliability"] < 0.7
