"""Annotators compared with models on the same items; every number can be counted by hand."""

import csv
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import merilo
from compared_study import LABELS, guesses, model, study
from scipy import stats

from merilo.baselines.model_comparison import committee_score
from merilo.statistics.paired_tests import mcnemar


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def compared(*arguments: object) -> dict:
    return merilo("compare", *arguments, "--json", "-").json


def test_the_consensus_beside_single_answers_is_mcnemars_test_on_the_table_by_hand(tmp_path: Path) -> None:
    people, answers = study(tmp_path), guesses()
    found = compared(people, model(tmp_path / "m.csv", answers))["models"][0]
    table = rows(people / "consensus.csv")
    theirs = [row["label"] == row["gold"] for row in table]
    ours = [answers[row["id"]][0] == row["gold"] for row in table]
    better = sum(b and not a for a, b in zip(theirs, ours, strict=True))
    worse = sum(a and not b for a, b in zip(theirs, ours, strict=True))
    match = found["comparisons"]["consensus"]
    assert (match["model_better"], match["model_worse"], match["n"]) == (better, worse, 40)
    assert match["p_for_these_annotators"] == pytest.approx(mcnemar(better, worse), abs=1e-8)
    assert match["test_for_these_annotators"] == "McNemar's exact test"
    # Student's distribution with at most 7 degrees of freedom, one less than annotators, and their variance: p is larger.
    score = (better - worse) / np.sqrt(better + worse)
    assert match["p"] >= 2 * stats.t.sf(abs(score), 7) - 1e-9
    assert match["p"] == pytest.approx(2 * stats.t.sf(abs(score) / match["design_effect"] ** 0.5, 7), rel=0.5)
    assert match["test"] == "Tango's score test over items and annotators"
    assert match["like_beside_like"] is False
    assert match["difference"] == pytest.approx((better - worse) / 40, abs=1e-6)
    low, high = match["ci95_items_and_annotators"]
    assert low < match["difference"] < high


def test_a_single_person_stands_beside_a_single_answer(tmp_path: Path) -> None:
    people, answers = study(tmp_path), guesses(samples=2)
    match = compared(people, model(tmp_path / "m.csv", answers))["models"][0]["comparisons"]["single"]
    gold = {row["item"]: (row["id"], row["gold"]) for row in rows(people / "consensus.csv")}
    by_item: dict[str, list[float]] = {}
    for row in rows(people / "responses.csv"):
        by_item.setdefault(row["item"], []).append(float(row["answer"] == gold[row["item"]][1]))
    theirs = np.mean([np.mean(scores) for scores in by_item.values()])
    ours = np.mean(
        [np.mean([answer == gold[item][1] for answer in answers[gold[item][0]]]) for item in by_item]
    )
    assert match["people"] == pytest.approx(theirs, abs=1e-6)
    assert match["model"] == pytest.approx(ours, abs=1e-6)
    assert match["like_beside_like"] is True


def test_the_single_person_is_one_number_in_baseline_and_compare(tmp_path: Path) -> None:
    people = study(tmp_path)
    table = rows(tmp_path / "answers.csv")
    # p0 keeps two answers: the mean over people is then another number than the mean over items.
    kept = [one for n, one in enumerate(table) if one["annotator"] != "p0" or n < 12]
    with (tmp_path / "answers.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, table[0])
        writer.writeheader()
        writer.writerows(kept)
    outcome = merilo(
        "baseline", tmp_path / "answers.csv", "--item", "text", "--gold", tmp_path / "items.csv", "--gold-column", "gold",
        "--out", people, "--force", "--json", "-",
    )  # fmt: skip
    gold = {f"question {item}": LABELS[item % 3] for item in range(40)}
    of_item: dict[str, list[bool]] = {}
    of_person: dict[str, list[bool]] = {}
    for one in kept:
        right = one["answer"] == gold[one["text"]]
        of_item.setdefault(one["text"], []).append(right)
        of_person.setdefault(one["annotator"], []).append(right)
    expected = float(np.mean([np.mean(answers) for answers in of_item.values()]))
    assert abs(expected - float(np.mean([np.mean(answers) for answers in of_person.values()]))) > 0.001
    found = compared(people, model(tmp_path / "m.csv", guesses()))["models"][0]["comparisons"]["single"]
    assert outcome.json["single_person"]["value"] == pytest.approx(expected, abs=1e-6)
    assert found["people"] == outcome.json["single_person"]["value"]


def test_a_majority_of_people_stands_beside_a_majority_of_as_many_answers(tmp_path: Path) -> None:
    people, answers = study(tmp_path), guesses(samples=5)
    found = compared(people, model(tmp_path / "m.csv", answers))["models"][0]
    match = found["comparisons"]["majority"]
    expected = np.mean([by_hand(given, LABELS[int(item[1:]) % 3], 3) for item, given in answers.items()])
    assert match["model"] == pytest.approx(expected, abs=1e-6)
    assert found["samples"] == {"fewest": 5, "most": 5}


def by_hand(answers: list[str], gold: str, size: int) -> float:
    shares = []
    for chosen in combinations(answers, size):
        most = max(chosen.count(label) for label in chosen)
        leaders = {label for label in chosen if chosen.count(label) == most}
        shares.append((gold in leaders) / len(leaders))
    return float(np.mean(shares))


def test_committees_of_many_answers_are_drawn_and_come_near_those_gone_through() -> None:
    answers = ["A"] * 9 + ["B"] * 6 + ["C"] * 5
    drawn = committee_score(answers, [answer == "A" for answer in answers], 5, np.random.default_rng(0))
    assert drawn == pytest.approx(by_hand(answers, "A", 5), abs=0.06)
    assert committee_score(["B"] * 30, [0.0] * 30, 5, np.random.default_rng(0)) == 0


def test_too_few_answers_make_no_majority_and_it_is_said(tmp_path: Path) -> None:
    outcome = merilo("compare", study(tmp_path), model(tmp_path / "m.csv", guesses(samples=2)))
    assert outcome.status == 0
    assert "needs as many samples of an item as it has annotators" in outcome.err
    assert "majority beside majority" not in outcome.out


def test_other_items_are_refused_unless_forced(tmp_path: Path) -> None:
    people, answers = study(tmp_path), guesses()
    del answers["q3"], answers["q7"]
    answers["q99"] = ["A"]
    file = model(tmp_path / "m.csv", answers)
    refused = merilo("compare", people, file)
    assert refused.status == 1
    assert "2 of the 40 items" in refused.complaint
    assert "1 answer is to items outside the baseline" in refused.complaint
    forced = merilo("compare", people, file, "--force", "--json", "-")
    assert forced.status == 0
    assert forced.json["models"][0]["n"] == 38
    left = forced.json["models"][0]["left_out"]
    assert left["without_answer_of_the_model"] == ["q3", "q7"]
    assert left["not_in_the_baseline"] == ["q99"]
    assert "left out" in forced.err


def test_items_without_consensus_are_left_out_of_that_comparison_and_counted(tmp_path: Path) -> None:
    people = study(tmp_path, "--resolve", "none", "--min-votes", 3)
    undecided = sum(not row["label"] for row in rows(people / "consensus.csv"))
    assert undecided > 0
    found = compared(people, model(tmp_path / "m.csv", guesses()))["models"][0]
    assert found["left_out"]["without_consensus"] == undecided
    assert found["comparisons"]["consensus"]["n"] == 40 - undecided
    assert found["comparisons"]["single"]["n"] == 40


def test_a_rejected_baseline_is_compared_with_a_warning(tmp_path: Path) -> None:
    people = study(tmp_path, "--min-votes", 3, "--max-low-agreement", "0")
    assert json.loads((people / "baseline.json").read_text(encoding="utf-8"))["status"] == "rejected"
    outcome = merilo("compare", people, model(tmp_path / "m.csv", guesses()), "--json", "-")
    assert outcome.status == 0
    (warning,) = outcome.json["warnings"]
    assert "is rejected, so a comparison with it is not valid" in warning
    assert "have no majority" in warning
    assert warning in outcome.err


@pytest.mark.parametrize("metric", ["f1_macro", "mcc"])
def test_metrics_of_labels_are_compared_by_swapping_and_resampling(tmp_path: Path, metric: str) -> None:
    found = compared(study(tmp_path), model(tmp_path / "m.csv", guesses()), "--metric", metric)["models"][0]
    match = found["comparisons"]["consensus"]
    assert "swap permutation test" in match["test"]
    assert match["ci95"][0] < match["difference"] < match["ci95"][1]
    assert set(found["not_compared"]) == {"single", "majority"}


def test_a_baseline_without_gold_takes_it_from_the_items(tmp_path: Path) -> None:
    with_gold = study(tmp_path)
    merilo(
        "baseline", tmp_path / "answers.csv", "--platform", "table", "--item", "text", "--annotator", "annotator",
        "--answer", "answer", "--min-votes", "2", "--out", tmp_path / "blind",
    )  # fmt: skip
    file = model(tmp_path / "m.csv", guesses())
    refused = merilo("compare", tmp_path / "blind", file)
    assert refused.status == 1
    assert "--data" in refused.complaint
    one = compared(with_gold, file)["models"]
    other = compared(tmp_path / "blind", file, "--data", tmp_path / "items.csv")["models"]
    assert one == other


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,answer\nq0,A\nq0,B\n", "answered twice"),
        ("id,comment\nq0,A\n", "needs columns 'id' and 'answer'"),
        ("", ""),
        ("id,answer\n,A\n", "but no id"),
        ('{"id": "q0", "answer": []}', "row 1: the list of answers is empty"),
    ],
    ids=["an item twice", "no answers", "empty", "no id", "an empty list"],
)
def test_answers_that_cannot_be_read_are_told_apart(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / ("m.jsonl" if text.startswith("{") else "m.csv")
    file.write_text(text)
    outcome = merilo("compare", study(tmp_path), file)
    assert outcome.status == 2
    assert said in outcome.complaint
    assert "Traceback" not in outcome.complaint


def test_a_folder_that_is_no_baseline_is_refused(tmp_path: Path) -> None:
    file = model(tmp_path / "m.csv", guesses())
    empty = merilo("compare", tmp_path / "nothing", file)
    assert empty.status == 2
    assert "does not exist" in empty.complaint
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "baseline.json").write_text('{"provenance": {"parameters": {"metric": 3}}}')
    assert merilo("compare", broken, file).status == 2
    assert merilo("compare", study(tmp_path), file, "--metric", "bleu").status == 2


def test_a_folder_with_a_damaged_table_is_told_apart(tmp_path: Path) -> None:
    file = model(tmp_path / "m.csv", guesses())
    people = study(tmp_path)
    table = people / "responses.parquet"
    whole = table.read_bytes()
    table.write_bytes(whole[: len(whole) // 2])
    cut = merilo("compare", people, file)
    assert cut.status == 2
    assert "responses.parquet" in cut.complaint
    pl.read_parquet(people / "annotators.parquet").drop("skill").write_parquet(people / "annotators.parquet")
    table.write_bytes(whole)
    other = merilo("compare", people, file)
    assert other.status == 2
    assert "no column skill" in other.complaint


def test_files_that_are_no_answers_are_refused_in_one_sentence(tmp_path: Path) -> None:
    people = study(tmp_path, items=6)
    for content in (b"\xff\xfe\x00\x01", b'{"id": ', b"\x00" * 100, "id,answer\nq0,Д".encode("cp1251")):
        for suffix in ("csv", "jsonl", "json"):
            file = tmp_path / f"m.{suffix}"
            file.write_bytes(content)
            outcome = merilo("compare", people, file)
            assert outcome.status == 2, (content, suffix)
            assert "unexpected" not in outcome.complaint


def test_json_lines_and_a_submissions_file_say_the_same_as_a_table(tmp_path: Path) -> None:
    people, answers = study(tmp_path), guesses()
    table = model(tmp_path / "m.csv", answers, sample=False)
    lines = tmp_path / "m.jsonl"
    lines.write_text(
        "".join(json.dumps({"id": item, "answer": given[0]}) + "\n" for item, given in answers.items())
    )
    sheet = tmp_path / "m.json"
    entries = [{"outputs": given[0], "meta": {"id": item}} for item, given in answers.items()]
    sheet.write_text(json.dumps({"data": {"test": entries}}))
    first = compared(people, table)["models"]
    assert compared(people, lines)["models"] == first
    assert compared(people, sheet)["models"] == first


def test_a_models_spelling_is_brought_to_the_peoples(tmp_path: Path) -> None:
    people = study(tmp_path)
    answers = guesses()
    plain = compared(people, model(tmp_path / "m.csv", answers))["models"]
    shouted = {item: [f"{answer.lower()}." for answer in given] for item, given in answers.items()}
    assert compared(people, model(tmp_path / "m.csv", shouted))["models"] == plain


def test_a_list_of_answers_is_a_list_of_samples(tmp_path: Path) -> None:
    people, answers = study(tmp_path), guesses(samples=4)
    lines = tmp_path / "m.jsonl"
    lines.write_text(
        "".join(json.dumps({"id": item, "answer": given}) + "\n" for item, given in answers.items())
    )
    assert compared(people, lines)["models"] == compared(people, model(tmp_path / "m.csv", answers))["models"]
    lines.write_text('{"id": "q0", "answer": [["A"]]}\n')
    refused = merilo("compare", people, lines)
    assert refused.status == 2
    assert "neither a text nor a list" in refused.complaint


def test_ids_that_stand_for_several_items_are_refused(tmp_path: Path) -> None:
    people = study(tmp_path)
    table = people / "consensus.parquet"
    pl.read_parquet(table).with_columns(pl.lit("q0").alias("id")).write_parquet(table)
    refused = merilo("compare", people, model(tmp_path / "m.csv", guesses()))
    assert refused.status == 1
    assert "several items" in refused.complaint


def test_what_is_compared_is_neither_replaced_nor_counted_twice(tmp_path: Path) -> None:
    people, file = study(tmp_path), model(tmp_path / "m.csv", guesses())
    refused = merilo("compare", people, file, "--json", people / "baseline.json")
    assert refused.status == 2
    assert "would be overwritten" in refused.complaint
    twice = merilo("compare", people, file, file)
    assert twice.status == 2
    assert "is given twice" in twice.complaint


def test_a_text_that_begins_like_a_list_is_one_answer(tmp_path: Path) -> None:
    lines = tmp_path / "m.jsonl"
    texts = {**dict.fromkeys(guesses(), "A"), "q1": '["A", "B"]'}
    lines.write_text("".join(json.dumps({"id": item, "answer": text}) + "\n" for item, text in texts.items()))
    assert compared(study(tmp_path), lines)["models"][0]["samples"] == {"fewest": 1, "most": 1}


def test_the_consensus_of_another_study_is_compared_like_a_models_answers(tmp_path: Path) -> None:
    people = study(tmp_path)
    itself = compared(people, people / "consensus.csv")["models"][0]["comparisons"]["consensus"]
    assert itself["difference"] == 0
