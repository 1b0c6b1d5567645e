"""Gold answers and columns whose names differ from the pool's: what is joined, what is read, and what is said."""

import json
import re
import shlex
from pathlib import Path

import pytest
from command import done, merilo
from exports import written

ITEMS = [f"Q{n}" for n in range(1, 7)]
KEYS = dict(zip(ITEMS, "ABCABC", strict=True))


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers of six people, a row an answer and a row a person."""
    monkeypatch.chdir(tmp_path)
    people = [f"W{n}" for n in range(6)]
    long = [f"Which is {item}?,{who},{KEYS[item]},{item},9" for item in ITEMS for who in people]
    written(tmp_path / "long.csv", "\n".join(["task_text,worker,judgement,qid,time_sec", *long]) + "\n")
    shifts = (0, 0, 0, 0, 1, 2)
    wide = [
        f"{who},30,FR,{','.join('ABC'[(at + n) % 3] for at in range(6))}"
        for who, n in zip(people, shifts, strict=True)
    ]
    written(tmp_path / "wide.csv", "\n".join([f"person,age,country,{','.join(ITEMS)}", *wide]) + "\n")


def gold(header: str, keys: dict[str, str]) -> Path:
    return written(Path("gold.csv"), "\n".join([header, *(f"{k},{v}" for k, v in keys.items())]) + "\n")


def declared(**columns: str) -> None:
    """Declare a dataset whose file has ids in `qid`."""
    rows = [{"qid": item, "question": f"{item}?", "answer": key} for item, key in KEYS.items()]
    written(Path("own.jsonl"), "".join(json.dumps(row) + "\n" for row in rows))
    answer = {"kind": "choice", "labels": ["A", "B", "C"]}
    items = {"file": "own.jsonl", "gold": "answer", **columns}
    content = {"name": "own", "title": "own", "fields": ["question"], "answer": answer, "metrics": ["acc"]}
    more = {"prompts": ["{question} Answer:"], "splits": ["test"], "items": items}
    written(Path("own.yaml"), json.dumps({**content, **more}))


def test_a_pool_with_the_declared_id_is_joined_by_it() -> None:
    declared(id="qid")
    outcome = done("baseline", "long.csv", "--item", "qid", "--dataset", "own.yaml", "--json", "-")
    assert outcome.json["metrics"]["acc"]["n"] == 6
    assert "gold_joined" not in {finding["code"] for finding in outcome.json["findings"]}
    refused = merilo("baseline", "long.csv", "--item", "task_text", "--dataset", "own.yaml").complaint
    assert "items have task_text, the file has qid, question, answer; rename" in refused


@pytest.mark.parametrize("name", ["id", "item", "item_id", "question", "number", "qid", "Question ID"])
def test_the_commands_that_inspect_prints_for_a_wide_file_with_gold_work(name: str) -> None:
    gold(f"{name},key", KEYS)
    written(Path("reading.yaml"), "rows: answer\n")  # the name is taken
    shown = merilo("inspect", "wide.csv", "--gold", "gold.csv").out.splitlines()
    inspecting, scoring = (shlex.split(line)[1:] for line in shown[-2:])
    assert inspecting == ["inspect", "wide.csv", "--out", "reading2.yaml"]
    assert merilo(*inspecting).status == 0
    outcome = done(*scoring, "--json", "-")
    assert outcome.json["metrics"]["acc"]["n"] == 6


def test_no_command_is_printed_under_an_error_of_the_gold_answers() -> None:
    gold("item,key", {"elsewhere": "A"})
    outcome = merilo("inspect", "wide.csv", "--gold", "gold.csv")
    assert (outcome.status, "merilo baseline" in outcome.out) == (1, False)


def test_gold_answers_beside_the_same_texts_are_joined_and_the_finding_says_so() -> None:
    gold("prompt,right_option", {f"Which is {item}?": key for item, key in KEYS.items()})
    words = ("baseline", "long.csv", "--item", "task_text", "--gold", "gold.csv")
    outcome = merilo(*words, "--json", "-", "--out", "saved")
    (finding,) = [each for each in outcome.json["findings"] if each["code"] == "gold_joined"]
    assert "the column prompt of gold.csv" in str(finding)
    assert "those of task_text in the pool" in str(finding)
    assert merilo("verify", "saved").status == 0
    assert merilo("datasets", "new", "gold.csv", "--question", "prompt", "--gold", "right_option").status == 0
    Path("numbers.csv").write_text(
        "number,worker,answer\n"
        + "".join(f"{at},w{w},{KEYS[item]}\n" for at, item in enumerate(ITEMS, 1) for w in range(3))
    )
    words_of_own = ("numbers.csv", "--item", "number", "--dataset", "gold.yaml", "--json", "-")
    (finding,) = [f for f in merilo("baseline", *words_of_own).json["findings"] if f["code"] == "gold_joined"]
    assert "joined by the numbers of the rows of gold.csv" in str(finding)
    gold("prompt,right_option", {f"Which is {item}?": KEYS[item] for item in ITEMS[:3]})
    refused = merilo(*words).complaint
    assert "name it with --gold-column (columns: prompt, right_option)" in refused
    assert "items have task_text, the file has prompt, right_option; rename its columns" in refused


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        *((name, 9) for name in ("time_sec", "duration_s", "Duration (seconds)", "timeSpentSec", "secs")),
        *((name, None) for name in ("time_µs", "timesec_ms", "times", "start_time_s", "time_limit_sec")),
    ],
)
def test_a_plain_duration_in_seconds_is_read_and_other_columns_are_named(
    name: str, seconds: int | None
) -> None:
    path = Path("long.csv")
    path.write_text(path.read_text(encoding="utf-8").replace("time_sec", name), encoding="utf-8")
    outcome = merilo("inspect", path, "--item", "qid", "--json", "-").json
    assert outcome["summary"]["timed"] == (36 if seconds else 0)
    assert outcome["not_read"] == ["task_text", *([] if seconds else [name])]
    assert merilo("inspect", "wide.csv", "--json", "-").json["not_read"] == ["age", "country"]
    assert re.search("not read +age, country", merilo("inspect", "wide.csv").out)
