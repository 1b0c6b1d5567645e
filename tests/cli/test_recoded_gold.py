"""`merilo baseline --recode-gold`: decisions about gold answers, from the file to the published folder."""

import csv
import json
from pathlib import Path

import pytest

from merilo import read_raw, verify
from merilo.cli import main

PEOPLE = ["ann", "bob", "cat", "dan", "eve"]
ITEMS = 24


@pytest.fixture
def study(tmp_path: Path) -> list[str]:
    """Answers of five people to items whose truth is A or B; the golds of items 4 and 8 (q3, q7) are wrong, q11 is ambiguous."""
    pool, gold = tmp_path / "pool.csv", tmp_path / "gold.csv"
    rows = []
    for n in range(ITEMS):
        for place, who in enumerate(PEOPLE):
            answer = "AB"[n % 2]
            if (n == 11 and place > 2) or (n % 5 == place):
                answer = "BA"[n % 2]
            rows.append([n, f"q{n}", who, answer])
    with pool.open("w", encoding="utf-8", newline="") as lines:
        csv.writer(lines).writerows([["id", "question", "annotator", "answer"], *rows])
    with gold.open("w", encoding="utf-8", newline="") as lines:
        golds = [[n, f"q{n}", "BA"[n % 2] if n in {3, 7} else "AB"[n % 2]] for n in range(ITEMS)]
        csv.writer(lines).writerows([["id", "question", "gold"], *golds])
    return [str(pool), "--item", "id", "--item", "question", "--gold", str(gold)]


def decisions(folder: Path, *rows: str, head: str = "id,question,decision,revised_gold") -> str:
    path = folder / "decisions.csv"
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return str(path)


def own_dataset(folder: Path) -> str:
    """The declaration of a dataset with the labels A and B, and closed gold."""
    path = folder / "own.yaml"
    path.write_text(
        "name: own\ntitle: Own\ngold: closed\nanswer:\n  kind: choice\n  labels: [A, B]\nmetrics: [acc]\n",
        encoding="utf-8",
    )
    return str(path)


GIVEN = ("3,q3,wrong,B", "7,q7,Wrong,B", "11,q11,ambiguous,", "2,q2,fine,", "5,q5,,", "13,q13,wrong,")


def made(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    assert main(["baseline", *words, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


def test_changed_and_dropped_golds_are_declared_with_the_metrics_before(
    study: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = made(capsys, *study)
    file = decisions(tmp_path, *GIVEN)
    after = made(capsys, *study, "--recode-gold", file)
    told = after["gold_review"]
    assert {name: told[name] for name in ("changed", "ambiguous", "unanswered", "dropped", "fine")} == {
        "changed": 2,
        "ambiguous": 1,
        "unanswered": 1,
        "dropped": 2,
        "fine": 1,
    }
    assert told["before"]["acc"]["value"] == before["metrics"]["acc"]["value"] == pytest.approx(21 / 24)
    assert told["before"]["acc"]["ci95"] == before["metrics"]["acc"]["ci95"]
    assert (after["metrics"]["acc"]["value"], after["metrics"]["acc"]["n"]) == (1.0, 22)
    assert file in [one["file"] for one in after["provenance"]["inputs"]]
    assert told["sha256"] in [one["sha256"] for one in after["provenance"]["inputs"]]
    assert "--recode-gold" in after["provenance"]["command"]
    kept = made(capsys, *study, "--recode-gold", file, "--keep-ambiguous")
    assert (kept["metrics"]["acc"]["n"], kept["gold_review"]["dropped"]) == (23, 1)
    assert main(["baseline", *study, "--recode-gold", file]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "2 gold answers were changed and 2 items were dropped" in said


def test_the_published_folder_follows_from_the_original_gold_and_the_decisions(
    study: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out, hb = decisions(tmp_path, *GIVEN), tmp_path / "out", tmp_path / "hb"
    model = tmp_path / "clever.csv"
    model.write_text("id,answer\n" + "".join(f"{n},{'AB'[n % 2]}\n" for n in range(ITEMS)), encoding="utf-8")
    words = [*study, "--recode-gold", file, "--model", str(model), "--common-items", "--out", str(out)]
    assert main(["baseline", *words]) == 0
    assert "2 gold answers were changed" in (out / "report.html").read_text("utf-8")
    assert main(["report", str(out), "--out", str(hb)]) == 0
    assert main(["report", "verify", str(hb)]) == 0
    capsys.readouterr()
    assert not verify(hb).moved
    raw = read_raw(hb / "raw")
    golds = dict(raw.gold.answers.select("id", "gold").iter_rows())
    assert (golds["3"], golds["11"]) == ("A", "B")  # the original ones
    assert raw.decisions is not None
    assert len(raw.decisions.revised) == 2
    applied = dict(raw.recoded().gold.answers.select("id", "gold").iter_rows())
    assert applied["3"] == "B"
    assert "11" not in applied
    assert "2 gold answers were changed" in (hb / "cards" / "human_baseline_en.md").read_text("utf-8")
    # The model that is always right is scored by the new gold answers, on the items that are left.
    assert main(["compare", str(out), str(model), "--force", "--json", "-"]) == 0
    (tested,) = json.loads(capsys.readouterr().out)["models"]
    assert (tested["score"]["value"], tested["n"]) == (1.0, 22)
    assert main(["compare", str(out), str(model), "--force", "--data", study[-1]]) == 2
    assert "--recode-gold" in capsys.readouterr().err


@pytest.mark.thorough
def test_the_notebook_recomputes_the_metrics_before_and_after(
    study: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    out, hb = tmp_path / "out", tmp_path / "hb"
    words = [*study, "--recode-gold", decisions(tmp_path, *GIVEN), "--keep-ambiguous", "--out", str(out)]
    assert main(["baseline", *words]) == 0
    assert main(["report", str(out), "--out", str(hb)]) == 0
    capsys.readouterr()
    book = nbformat.read(hb / "hb.ipynb", as_version=4)
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(hb)}}).execute()
    texts = [one.get("text", "") for cell in book.cells for one in cell.get("outputs", ())]
    assert any("gold_review" in text for text in texts)


@pytest.mark.thorough
def test_a_changed_row_in_the_decisions_of_the_folder_is_found(
    study: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, hb = tmp_path / "out", tmp_path / "hb"
    words = [*study, "--recode-gold", decisions(tmp_path, *GIVEN), "--out", str(out)]
    assert main(["baseline", *words]) == 0
    assert main(["report", str(out), "--out", str(hb)]) == 0
    kept = hb / "raw" / "decisions.csv"
    kept.write_text(kept.read_text("utf-8").replace("wrong,B", "fine,", 1), encoding="utf-8")
    assert main(["report", "verify", str(hb)]) == 1
    capsys.readouterr()


@pytest.mark.thorough
def test_closed_gold_publishes_no_decision_and_no_metric_before(
    study: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, hb = tmp_path / "out", tmp_path / "hb"
    words = [*study, "--dataset", own_dataset(tmp_path), "--recode-gold", decisions(tmp_path, *GIVEN)]
    assert main(["baseline", *words, "--out", str(out)]) == 0
    assert main(["report", str(out), "--out", str(hb)]) == 0
    assert main(["report", "verify", str(hb)]) == 0
    capsys.readouterr()
    told = json.loads((hb / "metrics.json").read_text("utf-8"))
    assert told["gold"]["withheld"]
    assert (told["gold_review"]["changed"], told["gold_review"]["dropped"]) == (2, 2)
    assert "before" not in told["gold_review"]
    assert not (hb / "raw" / "decisions.csv").exists()


def test_a_control_is_revised_or_dropped_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pool, gold = tmp_path / "pool.csv", tmp_path / "gold.csv"
    rows = ["question,annotator,answer,control"]
    rows += [f"q{n},{who},A," for n in range(6) for who in PEOPLE]
    rows += [f"c{n},{who},A,{'B' if n else 'A'}" for n in range(3) for who in PEOPLE]
    pool.write_text("\n".join(rows) + "\n", encoding="utf-8")
    gold.write_text("question,gold\n" + "".join(f"q{n},A\n" for n in range(6)), encoding="utf-8")
    words = [str(pool), "--gold", str(gold), "--control", "control", "--item", "question", "--json", "-"]
    assert main(["baseline", *words]) == 1  # everybody fails two of three controls
    capsys.readouterr()
    file = decisions(tmp_path, "c1,wrong,A", "c2,ambiguous,", head="question,decision,revised_gold")
    content = made(capsys, *words[:-2], "--recode-gold", file, "--min-control-accuracy", "0.9")
    assert content["annotators"]["excluded"] == 0
    assert content["responses"]["control"] == 10
    assert content["responses"]["dropped"]["dropped_control"] == 5


@pytest.mark.parametrize(
    ("head", "row", "message"),
    [
        ("", "3,q3,perhaps,", "row 2, decision: 'perhaps' is none of wrong, ambiguous, fine"),
        ("", "3,q3,fine,B", "is decided as fine and has a new gold answer"),
        ("", "3,q3,wrong,A", "row 2, revised_gold: is the old gold answer"),
        ("", "99,q99,wrong,B", "row 2: is an item that this study does not have"),
        ("", "3,q3,,", "has no revised item"),
        ("", "3,q3,wrong,B\n3,q3,wrong,C", "row 3: gives item 4 a different new gold answer"),
        ("", "3,q3,wrong,B\n3,q3,fine,", "row 3: decides item 4 differently"),
        (
            "id,question,gold,decision",
            "3,q3,B,wrong",
            "was decided about the gold answer 'B', and item 4 has 'A'",
        ),
        ("what,decision", "q3,wrong", "does not identify the items"),
        ("id,question", "3,q3", "there is no column revised_gold"),
    ],
)
def test_decisions_that_cannot_be_applied_say_why(
    study: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], head: str, row: str, message: str
) -> None:
    file = decisions(tmp_path, row, **({"head": head} if head else {}))
    assert main(["baseline", *study, "--recode-gold", file]) in {1, 2}
    said = capsys.readouterr().err
    assert message in said
    assert "unexpected" not in said


def test_decisions_need_gold_and_an_open_label_is_refused(
    study: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = decisions(tmp_path, "3,q3,wrong,C")
    assert main(["baseline", *study[:-2], "--recode-gold", file]) == 2
    assert "--recode-gold changes gold answers, and none are known" in capsys.readouterr().err
    assert main(["baseline", *study, "--keep-ambiguous"]) == 2
    assert "--keep-ambiguous needs --recode-gold FILE" in capsys.readouterr().err
    assert main(["baseline", *study, "--dataset", own_dataset(tmp_path), "--recode-gold", file]) == 1
    assert "'C' is not a label of the dataset (A, B)" in capsys.readouterr().err
    every = decisions(tmp_path, *(f"{n},q{n},ambiguous," for n in range(ITEMS)))
    assert main(["baseline", *study, "--recode-gold", every]) == 1
    assert "no gold answer is left" in capsys.readouterr().err
