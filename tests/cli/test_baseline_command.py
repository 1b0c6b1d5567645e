"""`merilo baseline` on good input: what is read, what is counted, what is written."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from command import Outcome, merilo
from exports import HEADER, row, small_pool, toloka, written

import merilo as library


def of_rows(folder: Path, rows: list[dict[str, str]], *words: object) -> Outcome:
    return merilo("baseline", written(folder / "p.tsv", toloka(rows)), *words, "--json", "-")


def test_without_control_items_everybody_is_kept_and_it_is_said(tmp_path: Path) -> None:
    outcome = of_rows(tmp_path, [row("q", "A", f"w{n}") for n in range(10)])
    assert outcome.status == 0
    assert "no control items" in outcome.complaint
    assert outcome.json["annotators"]["unjudged"] == 10
    overlap = {"overlap": {"10": 1}, "overlap_before_exclusion": {"10": 1}}
    assert (outcome.json["items"], outcome.json["metrics"]) == ({"total": 1, "consensus": 1, **overlap}, {})


def test_an_annotator_below_half_on_controls_is_excluded_with_all_answers(tmp_path: Path) -> None:
    rows = [row("q", "A" if n else "B", f"w{n}") for n in range(5)]
    rows += [row("c", "A" if n else "B", f"w{n}", golden="A") for n in range(5)]
    baseline = of_rows(tmp_path, rows).json
    assert baseline["annotators"]["excluded"] == 1
    assert baseline["responses"] == {
        "total": 10,
        "control": 5,
        "used": 4,
        "dropped": {"excluded_annotator": 1},
    }
    assert baseline["resolved_by"]["unanimous"] == 1


def test_every_row_is_accounted_for(tmp_path: Path) -> None:
    rows = [
        *(*small_pool(), row("", "A", "w0", page="fault"), row("q0", "", "w9", page="empty")),
        *(row("q0", "B", "w8", page="bad", status="REJECTED"), row("q0", "A", "w0", page="again")),
        row("q1", "A", "w1"),
    ]
    responses = of_rows(tmp_path, rows).json["responses"]
    reasons = ("empty_answer", "empty_input", "rejected", "repeated", "same_row_twice")
    assert responses["dropped"] == dict.fromkeys(reasons, 1)
    assert (
        responses["total"]
        == 30
        == responses["used"] + responses["control"] + sum(responses["dropped"].values())
    )


def test_white_space_is_folded_and_spellings_are_merged(tmp_path: Path) -> None:
    rows = [row("a  b\nc", answer, f"w{n}") for n, answer in enumerate(["1", "1.0", "True", "1", "0"])]
    gold = written(tmp_path / "g.jsonl", json.dumps({"inputs": "a b c", "outputs": "1", "meta": {"id": 7}}))
    baseline = of_rows(tmp_path, rows, "--gold", gold).json
    (spelling,) = (finding["sentence"] for finding in baseline["findings"] if finding["code"] == "spelling")
    assert spelling == "spellings of one answer were merged: '1.0' (1) as '1', 'True' (1) as '1'"
    assert baseline["agreement"]["low_agreement"] == 0
    assert baseline["metrics"]["acc"]["value"] == 1.0


def test_several_files_make_one_study(tmp_path: Path) -> None:
    rows = small_pool()
    files = [written(tmp_path / f"{n}.tsv", toloka(rows[n::2])) for n in range(2)]
    whole, parts = of_rows(tmp_path, rows).json, merilo("baseline", *files, "--json", "-").json
    for key in ("responses", "annotators", "items", "resolved_by", "cost"):
        assert parts[key] == whole[key]


def test_a_plain_table_in_four_formats_gives_the_same(tmp_path: Path) -> None:
    rows = [
        (f"q{item}", f"w{n}", "yes" if (item + n) % 4 else "no", None) for item in range(6) for n in range(5)
    ]
    rows += [("c", f"w{n}", "yes", "yes") for n in range(5)]
    table = pl.DataFrame(
        rows, schema=dict.fromkeys(("task", "person", "said", "known"), pl.String), orient="row"
    )
    table.write_csv(tmp_path / "p.csv")
    table.write_csv(tmp_path / "p.tsv", separator=";")
    table.write_parquet(tmp_path / "p.parquet")
    table.write_ndjson(tmp_path / "p.jsonl")
    text = "item: task\nannotator: person\nanswer: said\ncolumns: {control: known}\n"
    reading = written(tmp_path / "reading.yaml", text)
    answers = []
    for suffix in ("csv", "tsv", "parquet", "jsonl"):
        outcome = merilo("baseline", tmp_path / f"p.{suffix}", "--reading", reading, "--json", "-")
        assert outcome.status == 0, outcome.err
        answers.append([outcome.json[key] for key in ("responses", "items", "annotators", "resolved_by")])
    assert answers[0][0]["control"] == 5
    assert all(answer == answers[0] for answer in answers)


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka(small_pool(people=7, items=30)))
    command = [sys.executable, "-m", "merilo", "baseline", str(pool), "--out", str(tmp_path / "one")]
    subprocess.run(command, check=True, capture_output=True)
    assert merilo("baseline", pool, "--out", tmp_path / "two").status == 0
    for path in (one for one in (tmp_path / "one").rglob("*") if one.is_file()):
        own = path.relative_to(tmp_path / "one")
        assert path.read_bytes() == (tmp_path / "two" / own).read_bytes(), own


def test_the_command_in_the_provenance_makes_it_again(tmp_path: Path) -> None:
    pool = written(tmp_path / "a pool.tsv", toloka(small_pool()))
    gold = written(tmp_path / "gold.csv", "question,gold\nq1,A\nq2,B\n")
    options = ("--gold", gold, "--min-votes", "2", "--resolve", "skill", "--min-control-accuracy", "0.25")
    first = merilo("baseline", pool, *options, "--json", "-")
    words = shlex.split(first.json["provenance"]["command"])
    assert words[0] == "merilo"
    assert merilo(*words[1:], "--json", "-").out == first.out


def test_the_terminal_shows_the_figures_with_their_counts(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka(small_pool()))
    gold = written(tmp_path / "gold.csv", "question,gold\nq1,A\nq2,B\n")
    shown = merilo("baseline", pool, "--gold", gold, "--details").out
    told = " ".join(shown.split())
    assert "responses read 25 used for the consensus 20 to control items 5" in told
    short = merilo("baseline", pool, "--gold", gold).out
    assert len(short.splitlines()) <= 25
    assert "accuracy of the consensus of 5 annotators is 0.500 [0.002, 0.998] on 2 items" in " ".join(
        short.split()
    )
    assert "Accuracy, consensus 0.500 [0.002, 0.998] 2 5" in " ".join(short.split())


def test_answers_outside_the_labels_are_votes_and_are_mentioned(tmp_path: Path) -> None:
    rows = [row("( )", answer, f"w{n}") for n, answer in enumerate(["1", "1", "1", "yes!", "0"])]
    names = [name.replace("answer", "correct") for name in HEADER]
    pool = written(tmp_path / "p.tsv", toloka(rows, names))
    outcome = merilo("baseline", pool, "--dataset", "bps", "--json", "-")
    assert outcome.status == 0
    assert "1 answer is not among the dataset's labels" in outcome.err
    assert "p.tsv, row 5" in outcome.err
    assert outcome.json["responses"]["used"] == 5


def test_a_model_stands_beside_the_people_in_the_same_report(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka(small_pool(people=6, items=12)))
    gold = written(tmp_path / "gold.csv", "id,question,gold\n" + "".join(f"i{n},q{n},A\n" for n in range(12)))
    answers = "".join(json.dumps({"id": f"i{n}", "answer": "A" if n % 3 else "B"}) + "\n" for n in range(12))
    model = written(tmp_path / "tiny.jsonl", answers)
    outcome = merilo("baseline", pool, "--gold", gold, "--model", model, "--json", "-")
    assert outcome.status == 0, outcome.err
    row = outcome.json["models"][0]
    assert (row["model"], row["beside"]) == ("tiny", "consensus")
    assert (row["people"]["value"], row["score"]["value"], row["score"]["n"]) == (1.0, 0.666667, 12)
    shown = merilo("baseline", pool, "--gold", gold, "--model", model).out
    assert shown.index("Human baseline") < shown.index("People and models")


#: The items of the pool with gold answers "A", the answers of a model to them, options, the status, and what is said.
MODELS = [
    (4, {0: "A", 1: "A", 2: "A", 3: "A"}, "--model m.csv", 2, "give --gold"),
    (4, {0: "A", 1: "A", 2: "A", 3: "A"}, "--gold gold.csv --model m.csv --model m.csv", 2, "is given twice"),
    (4, {1: "A"}, "--gold gold.csv --model m.csv --out out", 1, "3 of the 4 items of this baseline have no answer here"),
    (4, {0: "A", 1: "A", 2: "A", 3: "A"}, "--gold gold.csv --model m.csv --max-low-agreement 0 --min-votes 6", 1, "the comparison with models is not valid"),
]  # fmt: skip


@pytest.mark.parametrize(("items", "answers", "words", "status", "says"), MODELS)
def test_a_model_that_cannot_be_compared_is_told(
    items: int,
    answers: dict[int, str],
    words: str,
    status: int,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "gold.csv", "id,question,gold\n" + "".join(f"i{n},q{n},A\n" for n in range(items)))
    written(tmp_path / "m.csv", "id,answer\n" + "".join(f"i{n},{text}\n" for n, text in answers.items()))
    outcome = merilo(
        "baseline", written(tmp_path / "p.tsv", toloka(small_pool(items=items))), *words.split(" ")
    )
    assert outcome.status == status
    assert says in outcome.err
    assert not (tmp_path / "out").exists()


def test_an_item_that_stays_open_is_counted(tmp_path: Path) -> None:
    answered = [("q0", "A", "w0"), ("q0", "B", "w1"), ("q1", "A", "w0"), ("q1", "A", "w1"), ("q2", "A", "w2")]
    rows = [row(*answer) for answer in answered]
    rows += [row("c", "B" if who == 2 else "A", f"w{who}", golden="A") for who in range(3)]
    found = of_rows(tmp_path, rows, "--max-low-agreement", "1").json
    assert found["resolved_by"]["unresolved"] == 2
    assert found["items"]["overlap"] == {"2": 2, "0": 1}  # w2 is excluded


def test_a_cost_without_a_currency_says_so(tmp_path: Path) -> None:
    rows = "".join(f"q{n},w{who},A,0.1\n" for n in range(2) for who in range(3))
    pool = written(tmp_path / "p.csv", f"item,annotator,answer,reward\n{rows}")
    assert "currency unknown" in merilo("baseline", pool).out
    named = repr(library.baseline(pool, currency="EUR"))
    assert "€0.60" in named
    assert "currency unknown" not in named
