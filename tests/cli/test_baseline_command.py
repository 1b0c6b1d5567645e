"""`merilo baseline` on good input: what is read, what is counted, what is written."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
from command import merilo
from exports import HEADER, row, small_pool, toloka, written

import merilo as library


def test_one_item_is_enough(tmp_path: Path) -> None:
    rows = [row("q", "A", f"w{n}") for n in range(5)]
    found = merilo("baseline", written(tmp_path / "p.tsv", toloka(rows)), "--json", "-").json
    assert found["items"] == {
        "total": 1,
        "consensus": 1,
        "overlap": {"5": 1},
        "overlap_before_exclusion": {"5": 1},
    }
    assert found["metrics"] == {}


def test_without_control_items_everybody_is_kept_and_it_is_said(tmp_path: Path) -> None:
    rows = [row("q", "A", f"w{n}") for n in range(10)]
    outcome = merilo("baseline", written(tmp_path / "p.tsv", toloka(rows)), "--json", "-")
    assert outcome.status == 0
    assert "no control items" in outcome.complaint
    assert outcome.json["annotators"]["unjudged"] == 10


def test_an_annotator_below_half_on_controls_is_excluded_with_all_answers(tmp_path: Path) -> None:
    rows = [row("q", "A" if n else "B", f"w{n}") for n in range(5)]
    rows += [row("c", "A" if n else "B", f"w{n}", golden="A") for n in range(5)]
    found = merilo("baseline", written(tmp_path / "p.tsv", toloka(rows)), "--json", "-").json
    assert found["annotators"]["excluded"] == 1
    assert found["responses"] == {"total": 10, "control": 5, "used": 4, "dropped": {"excluded_annotator": 1}}
    assert found["resolved_by"]["unanimous"] == 1


def test_exactly_half_on_controls_is_not_below_half(tmp_path: Path) -> None:
    rows = [row("q", "A", f"w{n}") for n in range(5)]
    rows += [row(f"c{c}", "A" if c else "B", f"w{n}", golden="A") for n in range(5) for c in range(2)]
    found = merilo("baseline", written(tmp_path / "p.tsv", toloka(rows)), "--json", "-").json
    assert found["annotators"]["excluded"] == 0


def test_every_row_is_accounted_for(tmp_path: Path) -> None:
    rows = [
        *small_pool(),
        row("", "A", "w0", page="fault"),
        row("q0", "", "w9", page="empty"),
        row("q0", "B", "w8", page="bad", status="REJECTED"),
        row("q0", "A", "w0", page="again"),
        row("q1", "A", "w1"),
    ]
    found = merilo("baseline", written(tmp_path / "p.tsv", toloka(rows)), "--json", "-").json["responses"]
    assert found["dropped"] == {
        "empty_answer": 1,
        "empty_input": 1,
        "rejected": 1,
        "repeated": 1,
        "same_row_twice": 1,
    }
    assert found["total"] == 30 == found["used"] + found["control"] + sum(found["dropped"].values())


def test_one_label_typed_three_ways(tmp_path: Path) -> None:
    typed = ["1", "1.0", "True", "1", "0"]
    rows = [row("q", answer, f"w{n}") for n, answer in enumerate(typed)]
    found = merilo("baseline", written(tmp_path / "p.tsv", toloka(rows)), "--json", "-").json
    (spelling,) = (one["sentence"] for one in found["findings"] if one["code"] == "spelling")
    assert spelling == "spellings of one answer were merged: '1.0' (1) as '1', 'True' (1) as '1'"
    assert found["agreement"]["low_agreement"] == 0


def test_folded_white_space_joins_gold(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka([row("a  b\nc", "A", f"w{n}") for n in range(5)]))
    gold = written(
        tmp_path / "gold.jsonl", json.dumps({"inputs": "a b c", "outputs": "A", "meta": {"id": 7}})
    )
    found = merilo("baseline", pool, "--gold", gold, "--json", "-").json
    assert found["metrics"]["acc"]["value"] == 1.0


def test_several_files_make_one_study(tmp_path: Path) -> None:
    rows = small_pool()
    one, two = written(tmp_path / "1.tsv", toloka(rows[::2])), written(tmp_path / "2.tsv", toloka(rows[1::2]))
    whole = merilo("baseline", written(tmp_path / "all.tsv", toloka(rows)), "--json", "-").json
    parts = merilo("baseline", one, two, "--json", "-").json
    for key in ("responses", "annotators", "items", "resolved_by", "cost"):
        assert parts[key] == whole[key]


def test_a_plain_table_in_four_formats_gives_the_same(tmp_path: Path) -> None:
    rows = [
        {
            "task": f"q{item}",
            "person": f"w{person}",
            "said": "yes" if (item + person) % 4 else "no",
            "known": None,
        }
        for item in range(6)
        for person in range(5)
    ] + [{"task": "c", "person": f"w{person}", "said": "yes", "known": "yes"} for person in range(5)]
    table = pl.DataFrame(
        rows, schema={"task": pl.String, "person": pl.String, "said": pl.String, "known": pl.String}
    )
    table.write_csv(tmp_path / "p.csv")
    table.write_csv(tmp_path / "p.tsv", separator=";")
    table.write_parquet(tmp_path / "p.parquet")
    table.write_ndjson(tmp_path / "p.jsonl")
    reading = tmp_path / "reading.yaml"
    reading.write_text(
        "item: task\nannotator: person\nanswer: said\ncolumns: {control: known}\n", encoding="utf-8"
    )
    columns = ("--reading", reading)
    answers = []
    for name in ("p.csv", "p.tsv", "p.parquet", "p.jsonl"):
        outcome = merilo("baseline", tmp_path / name, *columns, "--json", "-")
        assert outcome.status == 0, outcome.err
        answers.append(
            {key: outcome.json[key] for key in ("responses", "items", "annotators", "resolved_by")}
        )
    assert answers[0]["responses"]["control"] == 5
    assert all(answer == answers[0] for answer in answers)


def test_label_studio(tmp_path: Path) -> None:
    tasks = [
        {
            "data": {"text": f"q{item}", **({"golden": "A"} if item == 0 else {})},
            "annotations": [
                {
                    "id": 10 * item + person,
                    "completed_by": {"id": person},
                    "lead_time": 4.5,
                    "result": [{"from_name": "label", "type": "choices", "value": {"choices": ["A"]}}],
                }
                for person in range(5)
            ],
        }
        for item in range(3)
    ]
    path = written(tmp_path / "p.json", json.dumps(tasks))
    found = merilo("baseline", path, "--json", "-").json
    assert found["responses"] == {"total": 15, "control": 5, "used": 10, "dropped": {}}
    assert found["cost"]["median_seconds_per_answer"] == 4.5


def test_a_page_across_midnight(tmp_path: Path) -> None:
    rows = [row("q", "A", f"w{n}", started="23:59:50", submitted="00:00:20") for n in range(5)]
    found = merilo("baseline", written(tmp_path / "p.tsv", toloka(rows)), "--json", "-").json
    assert found["cost"]["median_seconds_per_answer"] == 30.0


def test_the_folder_holds_what_other_tools_open(tmp_path: Path) -> None:
    out = tmp_path / "out"
    rows = [*small_pool(), row("=cmd|' /C calc'!A0", "A", "w1", page="x")]
    outcome = merilo("baseline", written(tmp_path / "p.tsv", toloka(rows)), "--out", out, "--json", "-")
    assert outcome.status == 0
    content = json.loads((out / "baseline.json").read_text())
    assert {**content, "provenance": None} == {**outcome.json, "provenance": None}
    assert pl.read_csv(out / "consensus.csv").height == outcome.json["items"]["total"]
    assert pl.read_csv(out / "raw" / "responses.csv").height == 26


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka(small_pool(people=7, items=30)))
    command = [sys.executable, "-m", "merilo", "baseline", str(pool), "--out", str(tmp_path / "one")]
    subprocess.run(command, check=True, capture_output=True)
    assert merilo("baseline", pool, "--out", tmp_path / "two").status == 0
    for path in (one for one in (tmp_path / "one").rglob("*") if one.is_file()):
        own = path.relative_to(tmp_path / "one")
        assert path.read_bytes() == (tmp_path / "two" / own).read_bytes(), own


def test_the_command_in_the_provenance_makes_it_again(tmp_path: Path) -> None:
    import shlex

    pool = written(tmp_path / "a pool.tsv", toloka(small_pool()))
    gold = written(tmp_path / "gold.csv", "question,gold\nq1,A\nq2,B\n")
    options = ("--gold", gold, "--min-votes", "2", "--resolve", "skill", "--min-control-accuracy", "0.25")
    first = merilo("baseline", pool, *options, "--json", "-")
    words = shlex.split(first.json["provenance"]["command"])
    assert words[0] == "merilo"
    assert merilo(*words[1:], "--json", "-").out == first.out


def test_standard_output_holds_the_json_and_nothing_else(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka([row("q", str(n), f"w{n}") for n in range(5)]))
    outcome = merilo("baseline", pool, "--json", "-", "--out", tmp_path / "out")
    assert outcome.status == 1
    assert json.loads(outcome.out)["status"] == "rejected"


def test_the_terminal_shows_the_figures_with_their_counts(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka(small_pool()))
    gold = written(tmp_path / "gold.csv", "question,gold\nq1,A\nq2,B\n")
    shown = merilo("baseline", pool, "--gold", gold, "--details").out
    told = " ".join(shown.replace("│", " ").split())
    assert "responses read 25 used for the consensus 20 to control items 5" in told
    short = merilo("baseline", pool, "--gold", gold).out
    assert len(short.splitlines()) <= 25
    assert "accuracy of the consensus of 5 annotators is 0.500 [0.002, 0.998] on 2 items" in " ".join(
        short.split()
    )
    assert "Accuracy, consensus 0.500 [0.002, 0.998] 2 5" in " ".join(short.replace("│", " ").split())


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
    outcome = merilo(
        "baseline", pool, "--gold", gold, "--model", model, "--out", tmp_path / "out", "--json", "-"
    )
    assert outcome.status == 0, outcome.err
    row = outcome.json["models"][0]
    assert (row["model"], row["beside"]) == ("tiny", "consensus")
    assert (row["people"]["value"], row["score"]["value"], row["score"]["n"]) == (1.0, 0.666667, 12)
    content = json.loads((tmp_path / "out" / "baseline.json").read_text(encoding="utf-8"))
    assert content["models"] == outcome.json["models"]
    assert "tiny" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert merilo("baseline", pool, "--gold", gold, "--model", model, "--json", "-").json["models"]
    shown = merilo("baseline", pool, "--gold", gold, "--model", model).out
    assert shown.index("Human baseline") < shown.index("People and models")
    assert "0.667" in shown


def test_the_words_by_which_all_tables_name_the_items_are_their_ids(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text(
        "task,worker,label\n"
        + "".join(f"q-{item},w{n},{'AB'[item % 2]}\n" for item in range(6) for n in range(3))
    )
    for name, header in (("gold.csv", "task,gold"), ("robot.csv", "id,answer")):
        (tmp_path / name).write_text(
            f"{header}\n" + "".join(f"q-{item},{'AB'[item % 2]}\n" for item in range(6))
        )
    found = merilo(
        "baseline", tmp_path / "answers.csv", "--gold", tmp_path / "gold.csv", "--model", tmp_path / "robot.csv",
        "--json", "-",
    ).json  # fmt: skip
    assert found["models"][0]["score"]["n"] == 6


def test_a_model_beside_a_rejected_baseline_carries_a_warning(tmp_path: Path) -> None:
    rows = [row(f"q{n}", "AB"[who % 2 and n > 1], f"w{who}") for n in range(4) for who in range(4)]
    pool = written(tmp_path / "p.tsv", toloka(rows))
    gold = written(tmp_path / "gold.csv", "id,question,gold\n" + "".join(f"i{n},q{n},A\n" for n in range(4)))
    model = written(tmp_path / "m.csv", "id,answer\n" + "".join(f"i{n},A\n" for n in range(4)))
    outcome = merilo("baseline", pool, "--gold", gold, "--model", model, "--json", "-")
    assert outcome.status == 1
    assert "the comparison with models is not valid" in outcome.err


def test_a_model_on_other_items_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka(small_pool()))
    gold = written(tmp_path / "gold.csv", "id,question,gold\n" + "".join(f"i{n},q{n},A\n" for n in range(4)))
    model = written(tmp_path / "tiny.jsonl", json.dumps({"id": "i1", "answer": "A"}))
    outcome = merilo("baseline", pool, "--gold", gold, "--model", model, "--out", tmp_path / "out")
    assert outcome.status == 1
    assert not (tmp_path / "out").exists()
    assert "3 of the 4 items of this baseline have no answer here" in outcome.complaint


def test_a_model_is_compared_once_and_on_right_answers(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka(small_pool()))
    gold = written(tmp_path / "gold.csv", "id,question,gold\n" + "".join(f"i{n},q{n},A\n" for n in range(4)))
    model = written(tmp_path / "m.csv", "id,answer\n" + "".join(f"i{n},A\n" for n in range(4)))
    blind = merilo("baseline", pool, "--model", model)
    assert blind.status == 2
    assert "give --gold" in blind.complaint
    twice = merilo("baseline", pool, "--gold", gold, "--model", model, "--model", model)
    assert twice.status == 2
    assert "is given twice" in twice.complaint


def test_an_item_that_stays_open_is_counted(tmp_path: Path) -> None:
    rows = [
        row("q0", "A", "w0"),
        row("q0", "B", "w1"),
        row("q1", "A", "w0"),
        row("q1", "A", "w1"),
        row("q2", "A", "w2"),
    ]
    rows += [row("c", "B" if who == 2 else "A", f"w{who}", golden="A") for who in range(3)]
    pool = written(tmp_path / "p.tsv", toloka(rows))
    options = (pool, "--max-low-agreement", "1")
    found = merilo("baseline", *options, "--json", "-").json
    assert found["resolved_by"]["unresolved"] == 2
    assert found["items"]["overlap"] == {"2": 2, "0": 1}  # w2 is excluded
    shown = " ".join(merilo("baseline", *options, "--details").out.replace("│", " ").split())
    assert "There is no consensus on 2 items" in shown


def test_a_cost_without_a_currency_says_so(tmp_path: Path) -> None:
    text = "item,annotator,answer,reward\n" + "".join(
        f"q{n},w{who},A,0.1\n" for n in range(2) for who in range(3)
    )
    pool = written(tmp_path / "p.csv", text)
    shown = " ".join(merilo("baseline", pool, "--out", tmp_path / "out").out.replace("│", " ").split())
    assert "currency unknown" in shown
    assert "the export does not name the currency" in (tmp_path / "out" / "report.html").read_text(
        encoding="utf-8"
    )
    named = repr(library.baseline(pool, currency="EUR"))
    assert "€0.60" in named
    assert "currency unknown" not in named


def test_one_item_is_counted_in_the_singular(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka(small_pool(items=1)))
    gold = written(tmp_path / "gold.csv", "question,gold\nq0,A\n")
    outcome = merilo("baseline", pool, "--gold", gold, "--by", "question")
    assert "on 1 item" in outcome.out
    assert "1 items" not in outcome.out + outcome.err
