"""`merilo audit`, from exports to a list that can be filled in and given back."""

import csv
import json
import random
from pathlib import Path

import pytest

from merilo.cli import main

PEOPLE = ["ann", "bob", "cat", "dan", "eve", "fay"]


@pytest.fixture
def study(tmp_path: Path) -> tuple[Path, Path]:
    """Thirty sums that six people answer; gold 7 is wrong, answer 12 holds a typing error, fay answers at random."""
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


def test_the_wrong_gold_comes_first_and_the_typing_error_is_named(
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
    assert {one["annotator"]: one["typing_error"] for one in twelfth["answers"]}["bob"] == "swapped_digits"
    assert twelfth["verdict"] == "annotator"  # the other wrong answer is fay's, who disagrees everywhere
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
        ("item,revised_gold\nsum 7,\n", "has no revised item"),
        ("item,revised_gold\nsum 99,1\n", "row 2: is an item that this study does not have"),
        ("item,revised_gold\nsum 7,1\nsum 7,2\n", "row 3: gives item 8 a different new gold answer"),
        ("what,revised_gold\nsum 7,1\n", "does not identify the items"),
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


def test_a_spreadsheet_runs_nothing_of_the_dataset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool, out = tmp_path / "pool.csv", tmp_path / "out"
    formula = "=cmd|' /C calc'!A0"
    with pool.open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(["item", "annotator", "answer", "control"])
        table.writerows([[formula, who, "-5" if i else "@x", "+7"] for i, who in enumerate(PEOPLE)])
        table.writerows([["sum", who, "-5" if i else "=1", ""] for i, who in enumerate(PEOPLE)])
    assert main(["audit", str(pool), "--min-control-accuracy", "0", "--out", str(out)]) == 0
    with (out / "audit.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    with (out / "contested.csv").open(encoding="utf-8", newline="") as lines:
        contested = list(csv.DictReader(lines))
    cells = [cell for row in [*rows, *contested] for cell in row.values() if cell]
    assert not any(cell[0] in "=@" for cell in cells)
    assert "'" + formula in cells
    assert [row["INPUT:item"] for row in contested] == ["sum"]
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


def test_the_text_of_an_item_has_the_width_of_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    width = 120
    monkeypatch.setenv("COLUMNS", str(width))
    pool, gold = tmp_path / "pool.csv", tmp_path / "gold.csv"
    text = "Ёжик съел яблоко: оно было спелым. " * 5
    gold.write_text("item,gold\n" + "".join(f"{text} {n},верно\n" for n in range(6)), encoding="utf-8")
    rows = "".join(f"{text} {n},{who},{'верно' if n else 'неверно'}\n" for n in range(6) for who in PEOPLE)
    pool.write_text(f"item,annotator,answer\n{rows}", encoding="utf-8")
    assert main(["audit", str(pool), "--gold", str(gold)]) == 0
    block = capsys.readouterr().out.split("1 of 6 items")[0].splitlines()
    assert max(map(len, block)) <= width
    texts = [line for line in block if "яблоко" in line or "спелым" in line]
    assert max(len(line.split(maxsplit=1)[-1].rstrip()) for line in texts) > width - 30
    assert any(line.startswith("   answers        неверно: 6") for line in block)


def written(tmp_path: Path, rows: list[tuple[str, str, str]], golds: dict[str, str]) -> tuple[Path, Path]:
    """A pool of (item, annotator, answer) and its gold file."""
    pool, gold = tmp_path / "pool.csv", tmp_path / "gold.csv"
    pool.write_text(
        "item,annotator,answer\n" + "".join(f"{','.join(row)}\n" for row in rows), encoding="utf-8"
    )
    gold.write_text(
        "item,gold\n" + "".join(f"{item},{answer}\n" for item, answer in golds.items()), encoding="utf-8"
    )
    return pool, gold


def test_items_without_gold_are_no_suspects_and_counts_are_over_items_with_gold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(f"q{n}", who, "AB"[n % 2]) for n in range(30) for who in PEOPLE]
    rows += [(f"open{n}", who, "AB"[place % 2]) for n in range(50) for place, who in enumerate(PEOPLE)]
    golds = {f"q{n}": "BA"[n % 2] if n < 4 else "AB"[n % 2] for n in range(30)}
    pool, gold = written(tmp_path, rows, golds)
    content = run_json(capsys, "audit", pool, "--gold", gold)
    assert (content["golds"], content["findings_total"], content["contested_total"]) == (30, 4, 50)
    assert all(one["gold"] for one in content["findings"])
    assert not any(one["gold"] for one in content["contested"])
    assert content["review_first"] <= 4
    assert main(["audit", str(pool), "--gold", str(gold)]) == 0
    said = capsys.readouterr().out
    assert "4 of 30 items with gold have an answer that differs from it." in said
    assert "50 items without gold; people disagree on 50 of them." in said
    assert "open" not in said.split("4 of 30 items")[0]


def test_where_all_golds_are_right_nothing_is_suspected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(f"q{n}", who, "ABC"[n % 3]) for n in range(30) for who in PEOPLE]
    golds = {f"q{n}": "ABC"[n % 3] for n in range(30)}
    pool, gold = written(tmp_path, rows, golds)
    assert main(["audit", str(pool), "--gold", str(gold)]) == 0
    assert capsys.readouterr().out == "0 of 30 items with gold have an answer that differs from it.\n"
    rows[5] = ("q0", "fay", "B")
    pool, gold = written(tmp_path, rows, golds)
    assert main(["audit", str(pool), "--gold", str(gold)]) == 0
    said = capsys.readouterr().out
    assert "1 of 30 items with gold has an answer that differs from it." in said
    assert "the audit recommends no list to read" in said


def test_without_any_gold_the_contested_items_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        (f"q{n}", who, "B" if n == 3 and place > 2 else "A")
        for n in range(5)
        for place, who in enumerate(PEOPLE)
    ]
    pool, _ = written(tmp_path, rows, {})
    assert main(["audit", str(pool)]) == 0
    said = capsys.readouterr()
    assert "no item has a gold" in said.err
    assert "1. item 4: disagreement" in said.out
    assert "5 items without gold; people disagree on 1 of them." in said.out


def test_one_person_against_a_gold_is_said_to_be_one_person(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(f"q{n}", "ann", "ABC"[n % 3]) for n in range(30)]
    rows[4] = ("q4", "ann", "C")
    pool, gold = written(tmp_path, rows, {f"q{n}": "ABC"[n % 3] for n in range(30)})
    assert main(["audit", str(pool), "--gold", str(gold)]) == 0
    said = capsys.readouterr().out
    assert "1 of 30 items with gold has an answer that differs" in said
    assert "the audit recommends no list to read" in said
    assert "Each of them has one answer" in said


@pytest.mark.parametrize("people", [2, 3])
def test_one_answer_of_few_accuses_no_gold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], people: int
) -> None:
    rows = [(f"q{n}", who, "ABC"[n % 3]) for n in range(30) for who in PEOPLE[:people]]
    rows[0] = ("q0", "ann", "C")
    pool, gold = written(tmp_path, rows, {f"q{n}": "ABC"[n % 3] for n in range(30)})
    content = run_json(capsys, "audit", pool, "--gold", gold)
    assert content["findings_total"] == 1
    assert content["findings"][0]["gold_wrong"] < 0.5
    assert content["expected_wrong_golds"] < 1


def test_guessers_accuse_no_gold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(f"q{n}", f"p{k}", "ABC"[(n * 7 + k * k * 5 + n * k) % 3]) for n in range(60) for k in range(6)]
    pool, gold = written(tmp_path, rows, {f"q{n}": "ABC"[n % 3] for n in range(60)})
    content = run_json(capsys, "audit", pool, "--gold", gold)
    assert content["findings_total"] > 40
    assert content["expected_wrong_golds"] < 6


def test_no_number_of_wrong_golds_is_given_where_people_answer_at_random(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(1)
    rows = [(f"q{n}", f"p{k}", rng.choice("ABC")) for n in range(60) for k in range(6)]
    pool, gold = written(tmp_path, rows, {f"q{n}": "ABC"[n % 3] for n in range(60)})
    content = run_json(capsys, "audit", pool, "--gold", gold)
    assert content["expected_wrong_golds"] is None
    assert content["wrong_golds_range"] is None
    assert main(["audit", str(pool), "--gold", str(gold)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "the answers do not exclude that half of the 60 golds are wrong" in said


def test_golds_that_all_deny_may_be_items_with_lures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(f"q{n}", who, "ABC"[n % 3]) for n in range(60) for who in PEOPLE]
    pool, gold = written(tmp_path, rows, {f"q{n}": "ABC"[(n + (n % 20 == 0)) % 3] for n in range(60)})
    content = run_json(capsys, "audit", pool, "--gold", gold)
    low, high = content["wrong_golds_range"]
    assert low <= 3 <= high <= 6
    assert content["review_first"] == 3
    assert main(["audit", str(pool), "--gold", str(gold)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"Wrong golds: {low} to {high} of 60." in said
    assert "the first 3 items of the list hold 90 % of this" in said


def test_a_miscount_from_0_to_9_is_no_typing_error(pools: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = run_json(capsys, "audit", *sorted((pools / "lcs").glob("*.tsv")), "--dataset", "lcs")
    assert content["typing_errors"] == {}
    assert "typing_error" not in content["verdicts"]


def test_recoded_answers_count_as_what_they_became_and_the_recoding_is_an_input(
    study: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool, gold = study
    recoding = tmp_path / "recoding.csv"
    recoding.write_text("from,to\n427,472\n", encoding="utf-8")
    content = run_json(capsys, "audit", pool, "--gold", gold, "--recode", recoding)
    assert "427" in json.dumps(run_json(capsys, "audit", pool, "--gold", gold)["findings"])
    assert "427" not in json.dumps(content["findings"])
    assert str(recoding) in [one["file"] for one in content["provenance"]["inputs"]]
    assert "--recode" in content["provenance"]["command"]


def test_an_annotator_consistent_on_other_datasets_makes_the_dataset_suspect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four people answer two items of the dataset, too few to judge anybody; another dataset tells whom to trust."""

    def table(name: str, rows: list[tuple[str, str, str]]) -> Path:
        path = tmp_path / name
        path.write_text(
            "\n".join(["item,annotator,answer", *(",".join(row) for row in rows)]) + "\n", encoding="utf-8"
        )
        return path

    pool = table("pool.csv", [(f"sum {n}", who, "B" if who in {"dan", "eve"} and n == 1 else "A") for n in (1, 2) for who in PEOPLE[:5]])  # fmt: skip
    gold = table("gold.csv", [])
    gold.write_text("item,gold\nsum 1,A\nsum 2,A\n", encoding="utf-8")
    other = table("other.csv", [(f"word {n}", who, "wrong" if who == "eve" else "right") for n in range(8) for who in PEOPLE[:5]])  # fmt: skip
    third = table("third.csv", [(f"city {n}", who, "off" if who == "eve" else "on") for n in range(4) for who in PEOPLE[:5]])  # fmt: skip

    def judged(*words: object) -> dict[str, tuple[bool | None, float]]:
        (first,) = run_json(capsys, "audit", pool, "--gold", gold, *words)["findings"]
        return {
            one["annotator"]: (one["agrees_elsewhere"], one["agreement_elsewhere"])
            for one in first["answers"]
        }

    alone = judged()
    assert {verdict for verdict, _ in alone.values()} == {None}  # one other item judges nobody
    both = judged("--other", other, "--other", third)
    assert both["dan"][0] is True
    assert both["eve"][0] is False
    # dan agrees with 3 of 4 others on 12 items elsewhere, and with all 4 on the second item of the dataset.
    assert both["dan"][1] == pytest.approx((12 * 0.75 + 1) / 13, abs=1e-4)


def test_an_export_without_common_annotators_is_refused(
    study: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strangers = tmp_path / "strangers.csv"
    strangers.write_text("item,annotator,answer\nx,zoe,1\n", encoding="utf-8")
    assert main(["audit", str(study[0]), "--gold", str(study[1]), "--other", str(strangers)]) == 1
    assert "no annotator of this study stands in" in capsys.readouterr().err
