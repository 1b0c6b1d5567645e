"""`score`, `compare`, `baseline --model` and `run` read one dataset of one's own by its declaration."""

import contextlib
import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from command import merilo
from harness_files import written

ITEMS = 30
#: How many answers of the model are wrong.
WRONG = 3
DECLARATION = """\
name: sums
title: sums
fields: [question, option_a, option_b, option_c]
answer: {kind: choice, labels: [A, B, C]}
metrics: [acc]
prompts: ["{question}\\nA. {option_a}\\nB. {option_b}\\nC. {option_c}\\nAnswer:"]
skills: [Common domain knowledge]
items: {file: sums.jsonl, id: qid, options: choices, gold: answer, gold_is: letter}
"""


def question(at: int) -> str:
    return f"What is {at} plus {at + 7}, in the sum of number {at}?"


def right_place(at: int) -> int:
    return at // 3 % 3


def options(at: int) -> list[str]:
    wrong = [str(2 * at + 8), str(2 * at + 17)]
    return [*wrong[: right_place(at)], str(2 * at + 7), *wrong[right_place(at) :]]


def rotated(values: Sequence[str], at: int) -> list[str]:
    """Return values in the order in which the model saw them, another one for each item."""
    return [values[(at + place) % 3] for place in range(3)]


def log(path: Path, *, right: bool = False, texts: bool = False) -> Path:
    """Write log-likelihoods of letters, or of the options' texts, whose prompts show the options in another order."""
    rows = []
    for at in range(ITEMS):
        shown = rotated(options(at), at)
        place = shown.index(str(2 * at + 7))
        prompt = "\n".join(
            [question(at), *(f"{a}. {b}" for a, b in zip("ABC", shown, strict=True)), "Answer:"]
        )
        chosen = (place + (at < WRONG)) % 3
        asked = {
            f"gen_args_{n}": {"arg_0": prompt, "arg_1": f" {choice}"}
            for n, choice in enumerate(shown if texts else "ABC")
        }
        row = {
            "doc_id": at,
            "doc": {"question": question(at), "choices": shown},
            "arguments": asked,
            "resps": [[[str(-1.0 if n == chosen else -5.0), "False"]] for n in range(3)],
            "filter": "none",
            "doc_hash": "x",
        }
        rows.append(row | ({"target": str(place), "acc": float(chosen == place)} if right else {}))
    return written(path, rows)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working folder, with a dataset of one's own, people's answers to it, and their baselines with and without it."""
    folder = tmp_path_factory.mktemp("sums")
    (folder / "sums.yaml").write_text(DECLARATION, encoding="utf-8")
    items = (
        {"qid": f"Q{at}", "question": question(at), "choices": options(at), "answer": "ABC"[right_place(at)]}
        for at in range(ITEMS)
    )
    written(folder / "sums.jsonl", list(items))
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["question", "option_a", "option_b", "option_c", "worker", "judgement"])
        for at in range(ITEMS):
            for person in range(5):
                label = "ABC"[(right_place(at) + ((at + person) % 11 == 0)) % 3]
                rows.writerow([question(at), *options(at), f"w{person}", label])
    with (folder / "gold.csv").open("w", encoding="utf-8", newline="") as stream:
        gold = csv.writer(stream)
        gold.writerow(["id", "question", "gold"])
        gold.writerows([f"Q{at}", question(at), "ABC"[right_place(at)]] for at in range(ITEMS))
    with contextlib.chdir(folder):
        for source, out in ((("--dataset", "sums.yaml"), "declared"), (("--gold", "gold.csv"), "undeclared")):
            done = merilo("baseline", "people.csv", *source, "--out", out)
            assert done.status in {0, 1}, done.err
        log(folder / "silent.jsonl")
        log(folder / "right.jsonl", right=True)
        log(folder / "texts.jsonl", texts=True)
        yield folder


@pytest.mark.parametrize("name", ["silent", "right", "texts"])
def test_every_command_reads_a_log_in_another_order_by_the_declaration(place: Path, name: str) -> None:
    log_file = f"{name}.jsonl"
    scored = merilo("score", log_file, "--dataset", "sums.yaml", "--json", "-")
    value = scored.json["metrics"]["acc"]["value"]
    assert value == pytest.approx(1 - WRONG / ITEMS)
    other = "in 20 of 30 rows the prompt is not the dataset's"
    assert other in scored.err
    second = "right.jsonl" if name != "right" else "silent.jsonl"
    for words in (
        ("compare", "declared", log_file),
        ("compare", second, log_file, "--data", "sums.jsonl", "--dataset", "sums.yaml"),
        ("baseline", "people.csv", "--dataset", "sums.yaml", "--model", log_file),
    ):
        done = merilo(*words, "--json", "-")
        rows = done.json["rows" if words[0] == "compare" else "models"]
        assert [row["score"]["value"] for row in rows] == [pytest.approx(value, abs=1e-6)] * len(rows), words
        assert other in done.err, words


def test_an_order_that_nothing_shows_is_told_or_refused(place: Path) -> None:
    told = merilo("compare", "undeclared", "silent.jsonl")
    assert told.status == 0
    assert "in 30 rows no right answer confirms which label means which option" in told.err
    refused = merilo("compare", "undeclared", "right.jsonl")
    assert refused.status == 1
    assert "the items have no fields of options" in refused.err
    assert "do not show" not in refused.err


def test_choices_of_one_item_are_not_told_as_those_of_all(place: Path) -> None:
    rows = [json.loads(line) for line in (place / "texts.jsonl").read_text(encoding="utf-8").splitlines()]
    own_order = [row | {"target": str(right_place(at))} for at, row in enumerate(rows) if not at % 3]
    path = written(place / "words.jsonl", own_order)
    done = merilo("compare", "undeclared", path, "--force")
    assert done.status == 0, done.err
    assert "by their order, choice 1 is A, choice 2 is B" in done.err


def test_a_baseline_names_its_own_dataset_for_a_run(place: Path) -> None:
    asked = merilo("run", "--model", "gold", "--data", "declared", "--out", "run")
    assert asked.status == 0, asked.err
    compared = merilo("compare", "declared", "run", "--json", "-")
    assert compared.json["rows"][0]["score"]["value"] == 1.0


def test_a_comparison_names_a_cut_line_and_what_people_answered(place: Path) -> None:
    whole = (place / "silent.jsonl").read_bytes()
    (place / "cut.jsonl").write_bytes(whole[: len(whole) // 2])
    cut = merilo("compare", "declared", "cut.jsonl")
    assert (cut.status, "is cut off and left out" in cut.err) == (1, True)
    for beside in ("silent.jsonl", "declared"):
        people = merilo("compare", "people.csv", beside)
        assert people.status == 2
        assert "'merilo baseline people.csv' makes a baseline of them" in people.err
