"""What one person, the median person, the best tenth and majorities reach, from files to the published folder."""

from itertools import combinations
from math import ceil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import merilo as command
from hypothesis import given
from hypothesis import strategies as st

import merilo
from merilo.baselines.baseline import Baseline
from merilo.baselines.people_table import expected_majority

GOLD = {f"q{item}": "ABCD"[item % 4] for item in range(60)}
OPTIONS = {"item": ["task"], "annotator": "worker", "answer": "label"}


def answers(people: int = 12, overlap: int = 5) -> pl.DataFrame:
    """Answers to 60 items; the last quarter of the people guesses."""
    rng = np.random.default_rng(1)
    rows = []
    for item in range(60):
        for person in rng.permutation(people)[:overlap].tolist():
            right = rng.random() < (0.25 if person >= people * 3 // 4 else 0.85)
            rows.append(
                (f"q{item}", f"p{person:02d}", "ABCD"[(item + (0 if right else int(rng.integers(1, 4)))) % 4])
            )
    return pl.DataFrame(rows, schema=dict.fromkeys(["task", "worker", "label"], pl.String), orient="row")


def made(**more: int) -> Baseline:
    return merilo.baseline(merilo.read_responses(answers(**more), **OPTIONS), gold=GOLD)


@given(
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=4),
    st.data(),
)
def test_the_majority_is_the_mean_over_all_draws(
    labels: list[tuple[int, float]], data: st.DataObject
) -> None:
    every = [label for label, (count, _) in enumerate(labels) for _ in range(count)]
    k = data.draw(st.integers(1, len(every)))
    scores = []
    for drawn in combinations(every, k):
        votes = [drawn.count(label) for label in range(len(labels))]
        scores.append(np.mean([labels[at][1] for at, n in enumerate(votes) if n == max(votes)]))
    assert expected_majority(tuple(labels), k) == pytest.approx(np.mean(scores))


def test_the_table_goes_from_one_person_to_a_majority_of_five() -> None:
    result = made()
    table, single = result.to_json()["people"], result.to_json()["single_person"]
    assert list(table) == ["metric", "one", "median", "best_tenth", "majority_of_3", "majority_of_5"]
    assert table["one"] == {"value": single["value"], "n": 60}
    assert table["best_tenth"]["people"] == ceil(table["median"]["people"] / 10)
    assert single["value"] < table["majority_of_3"]["value"] < table["majority_of_5"]["value"]
    assert table["median"]["value"] < table["best_tenth"]["value"]


def test_a_majority_of_more_people_than_answered_is_left_out() -> None:
    assert "majority_of_5" not in made(overlap=4).to_json()["people"]
    assert made(overlap=4).to_json()["people"]["majority_of_3"]["n"] == 60


@pytest.mark.parametrize(
    ("more", "reason"),
    [({}, "no gold answers"), ({"gold": GOLD, "metric": "f1_macro"}, "not a mean of the points")],
)
def test_without_points_of_single_answers_the_reason_is_told(more: dict[str, object], reason: str) -> None:
    table = merilo.baseline(merilo.read_responses(answers(), **OPTIONS), **more).to_json()["people"]
    assert [*table] == ["reason"]
    assert reason in table["reason"]


def test_the_page_and_the_terminal_have_the_table_and_the_folder_verifies(tmp_path: Path) -> None:
    answers().write_csv(tmp_path / "answers.csv")
    pl.DataFrame({"task": [*GOLD], "gold": [*GOLD.values()]}).write_csv(tmp_path / "gold.csv")
    done = command(
        "baseline", tmp_path / "answers.csv", "--gold", tmp_path / "gold.csv", "--item", "task",
        "--annotator", "worker", "--answer", "label", "--out", tmp_path / "out", "--details",
    )  # fmt: skip
    assert done.status == 0, done.err
    for told in ("median person", "best tenth of people", "majority of 3", "majority of 5"):
        assert told in " ".join(done.out.split()), told
    assert "majority of 5" in (tmp_path / "out" / "report.html").read_text()
    merilo.report(tmp_path / "out", tmp_path / "hb")
    assert merilo.verify(tmp_path / "hb") == []
