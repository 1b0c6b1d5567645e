"""Doubtful items of a baseline: which are listed, typing errors, and how reliable their annotators are."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl

import merilo
from merilo.baselines.baseline import Baseline
from merilo.datasets.solvers import SOLVERS

PEOPLE = [f"p{number}" for number in range(10)]


def found(rows: list[tuple[str, str, str]], gold: dict[str, str], **more: object) -> Baseline:
    """The baseline of (item, annotator, answer)."""
    frame = pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")
    return merilo.baseline(frame, gold=gold, **more)


def ten_people(special: dict[int, list[str]]) -> tuple[list[tuple[str, str, str]], dict[str, str]]:
    """Forty items to which five careful annotators of ten give the gold, except for the given answers."""
    gold = {f"sum {item}": str(1000 + 37 * item) for item in range(40)}
    rows = [
        (name, PEOPLE[(item + k) % 10], special.get(item, [right] * 5)[k])
        for item, (name, right) in enumerate(gold.items())
        for k in range(5)
    ]
    return rows, gold


def test_a_gold_that_all_deny_comes_first_and_nothing_else_is_doubtful() -> None:
    rows, gold = ten_people({3: ["1111", "1112", "1111", "1111", "1011"]})
    doubtful = found(rows, gold | {"sum 20": "5"})
    (row,) = doubtful.doubtful.to_dicts()
    assert (row["id"], row["gold"], row["consensus"], row["answers"]) == ("sum 20", "5", "1740", "1740: 5")
    assert row["gold_wrong"] > 0.95
    assert (row["typing_errors"], row["reliable"], row["unreliable"]) == (None, "p0, p1, p2, p3, p4", "")
    assert (doubtful.doubts.golds, doubtful.doubts.typing_errors) == (40, {"one_character": 2})


def test_no_item_is_doubtful_after_its_gold_is_corrected() -> None:
    rows, gold = ten_people({})
    assert found(rows, gold | {"sum 20": "5"}).doubtful["gold"].to_list() == ["5"]
    assert not found(rows, gold).doubtful.height


def test_typing_errors_are_told_from_errors_of_the_dataset() -> None:
    rows, gold = ten_people({3: ["1111", "1181", "1181", "1111", "11110"]})
    (row,) = found(rows, gold, resolve="none").doubtful.to_dicts()
    assert (row["consensus"], row["typing_errors"]) == (None, "one_character; power_of_ten")
    assert row["gold_wrong"] < 0.05


def test_who_disagrees_everywhere_is_named() -> None:
    rows, gold = ten_people({7: ["1259", "1259", "88", "88", "4"]})
    rows = [(item, who, f"31{item[4:]}" if who == "p8" else answer) for item, who, answer in rows]
    (row,) = (one for one in found(rows, gold, resolve="none").doubtful.to_dicts() if one["id"] == "sum 7")
    assert row["consensus"] is None
    assert (row["reliable"], row["unreliable"]) == ("p0, p1, p7, p9", "p8")


def test_input_fields_keep_their_texts_whatever_their_names() -> None:
    rows = [(item, f"{item}?", who, "B" if item == 2 else "A") for item in range(5) for who in PEOPLE[:4]]
    frame = pl.DataFrame(rows, schema=["truth", "reliable", "worker", "label"], orient="row")
    responses = merilo.read_responses(frame, item=["truth", "reliable"], annotator="worker", answer="label")
    gold = pl.DataFrame({"truth": range(5), "reliable": [f"{n}?" for n in range(5)], "gold": ["A"] * 5})
    (row,) = merilo.baseline(responses, gold=gold).doubtful.to_dicts()
    assert (row["truth"], row["input_reliable"], row["consensus"]) == ("2", "2?", "B")
    assert row["reliable"] == "p0, p1, p2, p3"


def test_letters_of_a_choice_are_never_each_others_typos() -> None:
    rows = [(f"q{item}", who, "A") for item in range(10) for who in PEOPLE[:5]]
    rows[0], rows[1] = ("q0", "p0", "B"), ("q0", "p1", "ａ")
    doubtful = found(rows, {f"q{item}": "A" for item in range(10)})
    assert set(doubtful.doubts.typing_errors) <= {"notation", "case", "alphabet"}
    assert not doubtful.doubtful.height


def test_golds_that_random_answers_contradict_are_not_called_wrong() -> None:
    rng = random.Random(1)
    rows = [(f"q{item}", who, rng.choice("ABC")) for item in range(60) for who in PEOPLE[:6]]
    doubtful = found(rows, {f"q{item}": "ABC"[item % 3] for item in range(60)})
    assert doubtful.doubtful.height > 30
    assert doubtful.doubtful["gold_wrong"].max() < 0.5


def test_two_people_are_too_few_and_several_right_answers_are_not_doubted() -> None:
    for people in (1, 2):
        rows = [(f"q{item}", who, "ABC"[item % 3]) for item in range(30) for who in PEOPLE[:people]]
        assert found(rows, {f"q{item}": "ABC"[item % 3] for item in range(30)}).doubts is None
    rows = [(f"q{item}", who, "yes") for item in range(5) for who in PEOPLE[:5]]
    assert (
        found(rows, {f"q{item}": "yes;no" for item in range(5)}, alternatives=";", metric="em").doubts is None
    )


def test_a_gold_broken_on_purpose_in_a_real_pool_is_found(pools: Path) -> None:
    responses = merilo.read_responses(sorted((pools / "bps").glob("*.tsv")))
    texts = merilo.baseline(responses, dataset="bps").items["parentheses"]
    right = {text: SOLVERS["bps"](text) for text in texts}
    broken = set(list(right)[3::20])
    gold = pl.DataFrame(
        [(text, {"0": "1", "1": "0"}[one] if text in broken else one) for text, one in right.items()],
        schema=["parentheses", "gold"],
        orient="row",
    )
    doubtful = merilo.baseline(responses, gold=gold).doubtful
    assert set(doubtful["parentheses"].head(len(broken))) == broken
    assert set(doubtful.filter(pl.col("gold_wrong") >= 0.5)["parentheses"]) <= broken
