"""The estimates of `merilo baseline`: the consensus and the single person, each with its interval."""

import csv
from pathlib import Path

import numpy as np
import pytest
from command import merilo
from exports import csv_rows


def study(
    folder: Path, *, items: int = 60, people: int = 12, overlap: int = 5, seed: int = 0
) -> list[object]:
    """A plain study with gold, in which annotator p3 is always correct and p0 guesses."""
    rng = np.random.default_rng(seed)
    ability = np.r_[0.25, 0.7, 0.7, 1.0, np.full(people - 4, 0.75)]
    answers, gold = folder / "answers.csv", folder / "gold.csv"
    with answers.open("w", newline="") as file, gold.open("w", newline="") as right:
        writer, known = csv.writer(file), csv.writer(right)
        writer.writerow(["text", "annotator", "answer"])
        known.writerow(["text", "gold"])
        for item in range(items):
            known.writerow([f"question {item}", "A"])
            for person in rng.permutation(people)[:overlap]:
                label = "A" if rng.random() < ability[person] else rng.choice(["B", "C"])
                writer.writerow([f"question {item}", f"p{person}", label])
    words = "--platform table --item text --annotator annotator --answer answer --gold"
    return [answers, *words.split(), gold]


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--resolve", "none"),
        ("--resolve", "skill"),
        ("--resolve", "glad"),
        ("--aggregator", "dawid-skene"),
        ("--aggregator", "glad"),
    ],
    ids=" ".join,
)
def test_every_way_to_decide_has_an_interval_over_items_and_annotators(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    found = merilo("baseline", *study(tmp_path), *options, "--json", "-").json["metrics"]["acc"]
    low, high = found["ci95"]
    assert low < found["value"] < high
    assert high - low > 0.1
    assert (found["n"] <= 60, found["people"]) == (True, 12)


def test_the_single_person_can_be_counted_by_hand(tmp_path: Path) -> None:
    arguments = study(tmp_path)
    found = merilo("baseline", *arguments, "--json", "-").json
    single = found["single_person"]
    right = [row["answer"] == "A" for row in csv_rows(Path(str(arguments[0])))]
    # Every item has five answers.
    assert single["value"] == pytest.approx(sum(right) / len(right), abs=1e-6)
    assert single["value"] < found["metrics"]["acc"]["value"]
    assert single["ci95"][0] < single["value"] < single["ci95"][1]
    assert (single["name"], single["n"], single["people"]) == ("acc", 60, 12)


def test_the_published_procedure_is_the_same_whether_it_is_asked_for_or_stands_beside(tmp_path: Path) -> None:
    arguments = study(tmp_path)
    beside = merilo("baseline", *arguments, "--json", "-").json["by_majority_alone"]["acc"]
    asked = merilo("baseline", *arguments, "--resolve", "none", "--json", "-").json
    assert beside == asked["metrics"]["acc"]
    assert asked["by_majority_alone"] == {}
