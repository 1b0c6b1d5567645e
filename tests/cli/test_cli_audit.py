"""`merilo audit`, from exports to a list that can be filled in and given back."""

import csv
import json
from pathlib import Path

import pytest

from merilo.cli import main

PEOPLE = ["ann", "bob", "cat", "dan", "eve", "fay"]


@pytest.fixture
def study(tmp_path: Path) -> tuple[Path, Path]:
    """Thirty sums that six people answer; gold 7 is wrong, answer 12 holds a slip, fay answers at random."""
    pool, gold = tmp_path / "pool.csv", tmp_path / "gold.csv"
    with pool.open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(["item", "annotator", "answer"])
        for n in range(30):
            for person in PEOPLE:
                answer = str(100 + 31 * n)
                if person == "fay":
                    answer = str(3000 + 7 * n)
                if (n, person) == (12, "bob"):
                    answer = "427"  # 472
                table.writerow([f"sum {n}", person, answer])
    with gold.open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(["item", "gold"])
        for n in range(30):
            table.writerow([f"sum {n}", "5" if n == 7 else str(100 + 31 * n)])
    return pool, gold


def run_json(capsys: pytest.CaptureFixture[str], *words: object) -> dict:
    assert main([*map(str, words), "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_wrong_gold_comes_first_and_the_slip_is_named(
    study: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    pool, gold = study
    content = run_json(capsys, "audit", pool, "--gold", gold)
    first = content["findings"][0]
    assert (first["inputs"], first["gold"], first["best"], first["verdict"]) == (
        {"input_item": "sum 7"},
        "5",
        "317",
        "gold",
    )
    assert first["gold_wrong"] > 0.9
    twelfth = next(one for one in content["findings"] if one["inputs"] == {"input_item": "sum 12"})
    assert {one["annotator"]: one["slip"] for one in twelfth["answers"]}["bob"] == "swapped_digits"
    assert twelfth["verdict"] == "annotator"  # what is no slip is fay's, who disagrees everywhere
    fays = [one for finding in content["findings"] for one in finding["answers"] if one["annotator"] == "fay"]
    assert not any(one["agrees_elsewhere"] for one in fays)
    assert content["review_first"] == 1


def test_the_list_filled_in_and_given_back_scores_again(
    study: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool, gold = study
    assert main(["audit", str(pool), "--gold", str(gold), "--out", str(tmp_path / "out")]) == 0
    listed = tmp_path / "out" / "audit.csv"
    with listed.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    rows[0]["revised_gold"] = "317"
    with listed.open("w", encoding="utf-8", newline="") as lines:
        table = csv.DictWriter(lines, rows[0])
        table.writeheader()
        table.writerows(rows)
    capsys.readouterr()
    content = run_json(capsys, "audit", pool, "--gold", gold, "--revised", listed)
    rescored = content["rescored"]
    assert rescored["revised"] == 1
    assert rescored["before"]["acc"]["value"] == pytest.approx(29 / 30)
    assert rescored["after"]["acc"]["value"] == 1.0
    assert not any(one["verdict"] == "gold" for one in content["findings"])
    assert "--revised" in content["provenance"]["command"]


def test_a_revision_may_name_the_item_by_its_number_or_its_inputs(
    study: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool, gold = study
    by_input = tmp_path / "by_input.json"
    by_input.write_text('[{"item": "sum 7", "gold": "317"}]', encoding="utf-8")
    content = run_json(capsys, "audit", pool, "--gold", gold, "--revised", by_input)
    assert content["rescored"]["after"]["acc"]["value"] == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,revised_gold\nsum 7,\n", "marks no item as revised"),
        ("item,revised_gold\nsum 99,1\n", "row 2: names an item that this study does not have"),
        ("item,revised_gold\nsum 7,1\nsum 7,2\n", "row 3: gives item 8 another new gold"),
        ("what,revised_gold\nsum 7,1\n", "does not say which items"),
        ("item,other\nsum 7,1\n", "there is no column revised_gold"),
        ("", "the file is empty"),
    ],
)
def test_a_revision_that_cannot_be_read_says_why(
    study: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    pool, gold = study
    revised = tmp_path / "revised.csv"
    revised.write_text(text, encoding="utf-8")
    assert main(["audit", str(pool), "--gold", str(gold), "--revised", str(revised)]) in {1, 2}
    said = capsys.readouterr().err
    assert message in said
    assert "unexpected" not in said


def test_the_same_input_gives_the_same_bytes(
    study: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool, gold = study
    once, again = (run_json(capsys, "audit", pool, "--gold", gold) for _ in range(2))
    assert once == again


def test_text_of_the_dataset_is_no_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pool = tmp_path / "pool.csv"
    pool.write_text(
        "item,annotator,answer\n"
        + "".join(f"[bold]x[/],{who},[/red{i % 2}]\n" for i, who in enumerate(PEOPLE)),
        encoding="utf-8",
    )
    assert main(["audit", str(pool)]) == 0
    assert "[bold]x" in capsys.readouterr().out


def test_a_spreadsheet_runs_nothing_of_the_dataset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool, out = tmp_path / "pool.csv", tmp_path / "out"
    formula = "=cmd|' /C calc'!A0"
    with pool.open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(["item", "annotator", "answer", "control"])
        table.writerows([[formula, who, "-5" if i else "@x", ""] for i, who in enumerate(PEOPLE)])
        table.writerows([["sum", who, "-5", "+7"] for who in PEOPLE])
    assert main(["audit", str(pool), "--min-control-accuracy", "0", "--out", str(out)]) == 0
    with (out / "audit.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    cells = [cell for row in rows for cell in row.values() if cell]
    assert not any(cell[0] in "=@" for cell in cells)
    assert "'" + formula in cells
    for row in rows:
        row["revised_gold"] = "-5"
    with (out / "audit.csv").open("w", encoding="utf-8", newline="") as lines:
        table = csv.DictWriter(lines, rows[0])
        table.writeheader()
        table.writerows(rows)
    capsys.readouterr()
    content = run_json(capsys, "audit", pool, "--min-control-accuracy", "0", "--revised", out / "audit.csv")
    assert content["rescored"]["revised"] == len(rows)


@pytest.mark.parametrize("pool", ["lcs", "bps"])
def test_golds_that_a_solver_computed_are_not_suspected(
    pools: Path, pool: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content = run_json(capsys, "audit", *sorted((pools / pool).glob("*.tsv")), "--dataset", pool)
    assert content["golds"] == content["items"]
    assert content["model"]["converged"]
    assert max(one["gold_wrong"] for one in content["findings"]) < 0.5
    assert content["expected_wrong_golds"] < 1


def test_a_gold_broken_on_purpose_in_a_real_pool_is_found(
    pools: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from merilo.baselines.pipeline import test_items as items_of
    from merilo.datasets.solvers import solver
    from merilo.people import platforms

    files = sorted((pools / "bps").glob("*.tsv"))
    items = items_of(platforms.read(files))
    gold = tmp_path / "gold.csv"
    with gold.open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(["parentheses", "gold"])
        for place, (_, text) in enumerate(items.iter_rows()):
            right = solver("bps")([text])
            table.writerow([text, {"0": "1", "1": "0"}[right] if place % 20 == 3 else right])
    content = run_json(capsys, "audit", *files, "--gold", gold)
    broken = {text for place, (_, text) in enumerate(items.iter_rows()) if place % 20 == 3}
    ranked = [one["inputs"]["parentheses"] for one in content["findings"]]
    assert set(ranked[:6]) >= broken  # five were broken
    flagged = {one["inputs"]["parentheses"] for one in content["findings"] if one["verdict"] == "gold"}
    assert flagged <= broken


def test_a_narrow_terminal_leaves_verdicts_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    pool, gold = tmp_path / "pool.csv", tmp_path / "gold.csv"
    text = "a question of many words " * 5
    gold.write_text("item,gold\n" + "".join(f"{text} {n},right\n" for n in range(6)), encoding="utf-8")
    rows = "".join(
        f"{text} {n},{who},{['left', 'right', 'neither', 'both'][place % 4]}\n"
        for n in range(6)
        for place, who in enumerate(PEOPLE)
    )
    pool.write_text(f"item,annotator,answer\n{rows}", encoding="utf-8")
    assert main(["audit", str(pool), "--gold", str(gold)]) == 0
    said = capsys.readouterr().out
    assert "│ disagreement │" in said
    assert max(map(len, said.split("6 of 6 items")[0].splitlines())) <= 80
