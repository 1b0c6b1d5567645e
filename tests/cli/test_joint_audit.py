"""`merilo audit --model`: people and models together, from the files to the list."""

import csv
import json
import random
from pathlib import Path

import pytest

from merilo.cli import main

ITEMS, WRONG = 60, {4, 17, 33}
PEOPLE = ["ann", "bob", "cat", "dan", "eve"]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Sixty items; the golds of three are wrong; people contradict two of them, and models all three."""
    rng = random.Random(3)
    pool, gold = ["question,annotator,answer"], ["id,question,gold"]
    truth = ["ABC"[n % 3] for n in range(ITEMS)]
    shifted = ["BCA"[n % 3] for n in range(ITEMS)]
    for n in range(ITEMS):
        for who in PEOPLE:
            believed = shifted[n] if n == 33 else truth[n]
            pool.append(f"q{n},{who},{believed if rng.random() < 0.9 else rng.choice('ABC')}")
        gold.append(f"{n},q{n},{shifted[n] if n in WRONG else truth[n]}")
    (tmp_path / "pool.csv").write_text("\n".join(pool) + "\n", encoding="utf-8")
    (tmp_path / "gold.csv").write_text("\n".join(gold) + "\n", encoding="utf-8")
    for name, seed in (("alpha", 1), ("beta", 2), ("gamma", 2)):
        own = random.Random(seed)
        rows = [f"{n},{truth[n] if own.random() < 0.85 else own.choice('ABC')}" for n in range(ITEMS)]
        (tmp_path / f"{name}.csv").write_text("id,answer\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path


def words(folder: Path, *models: str) -> list[str]:
    base = ["audit", str(folder / "pool.csv"), "--item", "question", "--gold", str(folder / "gold.csv")]
    return [*base, *(word for name in models for word in ("--model", str(folder / f"{name}.csv")))]


def test_people_and_models_are_weighed_together(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words(study), "--json", "-"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert main([*words(study, "alpha", "beta", "gamma"), "--json", "-"]) == 0
    joint = json.loads(capsys.readouterr().out)
    before = {one["id"]: one["gold_wrong"] for one in alone["findings"]}
    after = {one["id"]: one for one in joint["findings"]}
    assert {one["id"] for one in joint["findings"][:2]} == {"4", "17"}
    for name in ("4", "17"):
        assert after[name]["people_wrong"] == before[name]
        assert after[name]["gold_wrong"] > 0.5
    assert sum(after[name]["gold_wrong"] - before[name] for name in ("4", "17")) > 0.2
    assert after["4"]["models"]["alpha"] == "B"
    told = {one["model"]: one for one in joint["models"]}
    # beta and gamma give the same answers: together they count as little more than one model.
    assert told["beta"]["family"] == told["gamma"]["family"] != told["alpha"]["family"]
    assert told["beta"]["counts_as"] + told["gamma"]["counts_as"] < 1.2 < 3 * told["alpha"]["counts_as"]
    assert [one for one in joint["provenance"]["inputs"] if one["file"].endswith("alpha.csv")]
    assert "--model" in joint["provenance"]["command"]


def test_the_list_names_the_models_and_the_terminal_their_weights(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    family = ["--family", "one=alpha", "--family", f"one={study / 'beta.csv'}"]
    assert main([*words(study, "alpha", "beta"), *family, "--out", str(out)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "model alpha (family one): counts as 0." in said
    assert "model beta (family one): counts as 0." in said
    assert "without models P 0." in said
    with (out / "audit.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert 0.5 < float(rows[0]["people_wrong"]) < 1
    assert "alpha" in rows[0]["models"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--family", "one=alpha"], "--family needs --model FILE"),
        (["--model", "MODEL", "--family", "alpha"], "must be NAME=MODEL, not 'alpha'"),
        (["--model", "MODEL", "--family", "one=delta"], "there is no model 'delta' (alpha)"),
        (["--model", "MODEL", "--model", "MODEL"], "twice"),
        (["--model", "OTHER"], "answers no item of this study"),
        (["--model", "NOTHING"], "there is no such file"),
    ],
)
def test_models_that_cannot_be_weighed_say_why(
    study: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    (study / "other.csv").write_text("id,answer\nx1,A\n", encoding="utf-8")
    files = {"MODEL": "alpha.csv", "OTHER": "other.csv", "NOTHING": "nothing.csv"}
    given = [str(study / files[word]) if word in files else word for word in more]
    assert main([*words(study), *given]) in {1, 2}
    said = " ".join(capsys.readouterr().err.split())
    assert message in said
    assert "unexpected" not in said


def test_models_need_gold(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = ["--model", str(study / "alpha.csv")]
    assert main(["audit", str(study / "pool.csv"), "--item", "question", *model]) == 2
    assert "give --gold FILE" in capsys.readouterr().err
