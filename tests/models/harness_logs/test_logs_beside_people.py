"""Logs of other harnesses in `merilo compare` and `merilo baseline --model`."""

import json
from pathlib import Path

import pytest
from command import merilo
from compared_study import LABELS, guesses, study
from compared_study import model as answers_file
from harness_files import inspect_log, inspect_sample, items_of, lm_eval_choice, lm_eval_text, written
from simulated_pool import simulated_pool

from merilo import compare
from merilo.errors import DataError


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated_pool(tmp_path_factory.mktemp("pool"), "bps", 20)


def bps_log(pool: Path, path: Path) -> Path:
    from merilo.datasets.dataset_files import read_split

    items = list(read_split(pool / "test.json"))
    return written(path, [lm_eval_choice(at, "bps", item, "1") for at, item in enumerate(items)])


def test_a_log_gives_the_comparison_of_the_same_answers_in_a_table(tmp_path: Path) -> None:
    people, given = study(tmp_path), guesses()
    rows = [inspect_sample(item, answers[0]) for item, answers in given.items()]
    log = compare(people, inspect_log(tmp_path / "log.json", rows))
    table = compare(people, answers_file(tmp_path / "t.csv", given, sample=False))
    for one, other in zip(log.rows, table.rows, strict=True):
        assert one.model == "org/m"
        assert (one.score, one.difference, one.p) == (other.score, other.difference, other.p)
    assert "40 of 40 rows belong to items (40 by id)" in repr(log)


def test_replies_give_the_comparison_of_their_answers(tmp_path: Path) -> None:
    people, given = study(tmp_path), guesses(samples=2)
    rows = [
        {"id": item, "reply": f"Проверю.\n\nОтвет: **{answer}**."}
        for item, answers in given.items()
        for answer in answers
    ]
    replies = compare(people, written(tmp_path / "t.jsonl", rows))
    assert replies.rows == compare(people, answers_file(tmp_path / "t.csv", given)).rows
    assert "80 of 80 rows belong to items" in repr(replies)


def test_answers_that_are_no_labels_are_told_and_most_of_them_refused(tmp_path: Path) -> None:
    people, given = study(tmp_path), guesses()
    raw = {item: [f"Ответ: {answer}"] for item, (answer,) in given.items()}
    done = merilo("compare", people, answers_file(tmp_path / "raw.csv", raw, sample=False))
    assert done.status == 2
    assert "raw.csv: 40 of 40 answers are no labels (A, B, C), such as 'Ответ: " in done.complaint
    some = given | {item: raw[item] for item in ("q1", "q2")}
    done = merilo("compare", people, answers_file(tmp_path / "some.csv", some, sample=False))
    assert done.status == 0
    assert "2 of 40 answers are no labels and count as wrong" in done.err
    assert "(items q1, q2)" in done.err


def test_failed_requests_leave_their_items_unanswered(tmp_path: Path) -> None:
    people = study(tmp_path)
    rows = [inspect_sample(item, LABELS[0], error="timeout" if item == "q3" else "") for item in guesses()]
    log = inspect_log(tmp_path / "log.json", rows)
    done = merilo("compare", people, log)
    assert done.status == 1
    assert "1 request of the log failed" in done.complaint
    assert merilo("compare", people, log, "--force").status == 0


def test_rows_of_items_outside_the_baseline_are_left_out(tmp_path: Path) -> None:
    """A log holds a whole dataset, and people answered a part of it."""
    people = study(tmp_path)
    rows = [inspect_sample(f"q{number}", "A") for number in range(60)]
    done = merilo("compare", people, inspect_log(tmp_path / "log.json", rows), "--json", "-")
    assert done.status == 0
    assert {row["score"]["n"] for row in done.json["rows"]} == {40}
    assert "20 rows belong to no item and are left out" in done.err


@pytest.mark.thorough
def test_a_baseline_takes_a_folder_of_logs_and_its_report_verifies(pool: Path, tmp_path: Path) -> None:
    out = tmp_path / "out" / "org__m"
    out.mkdir(parents=True)
    bps_log(pool, out / "samples_bps_2026-01-02T10-20-30.1.jsonl")
    written(
        out / "samples_parus_2026-01-02T10-20-30.1.jsonl",
        [lm_eval_text(0, "parus", items_of("parus")[0], "1")],
    )
    (out / "results_2026-01-02T10-20-30.1.json").write_text(
        json.dumps({"results": {}, "model_name": "org/m"})
    )
    words = ["--dataset", "bps", "--gold", pool / "test.json", "--model", tmp_path / "out"]
    done = merilo("baseline", pool / "export.tsv", *words, "--out", tmp_path / "baseline", "--json", "-")
    assert done.status in {0, 1}, done.err
    assert {row["model"] for row in done.json["models"]} == {"org/m"}
    assert merilo("report", tmp_path / "baseline", "--out", tmp_path / "hb").status == 0
    verified = merilo("verify", tmp_path / "hb")
    assert verified.status == 0, verified.out + verified.err


def test_a_log_without_a_readable_reply_is_refused_unless_forced(tmp_path: Path) -> None:
    people, given = study(tmp_path), guesses()
    rows = [inspect_sample(item, "I would rather not say.") for item in given]
    log = inspect_log(tmp_path / "log.json", rows)
    refused = merilo("compare", people, log)
    assert refused.status == 1
    assert f"not one of {len(given)} answers can be read" in refused.complaint
    assert "--force to count all as wrong" in refused.complaint
    with pytest.raises(DataError, match="or give force=True"):
        compare(people, log)
    forced = compare(people, log, force=True)
    assert f"org/m: {len(given)} of {len(given)} answers cannot be read" in repr(forced)
    assert merilo("compare", people, log, "--force").status == 0
