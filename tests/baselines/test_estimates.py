"""The estimates of `merilo baseline`: the consensus with its two intervals, and single annotators."""

import csv
from pathlib import Path

import numpy as np
import pytest
from command import merilo


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
def test_the_interval_over_items_and_annotators_holds_that_over_items(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    found = merilo("baseline", *study(tmp_path), *options, "--json", "-").json["metrics"]["acc"]
    low, high = found["ci95"]
    both_low, both_high = found["ci95_items_and_annotators"]
    assert both_low <= low <= found["value"] <= high <= both_high
    assert found["annotators"] == 12
    assert found["design_effect"] >= 1
    assert "items and annotators" in found["interval_items_and_annotators"]


def test_the_single_person_is_told_from_the_crowd(tmp_path: Path) -> None:
    found = merilo("baseline", *study(tmp_path), "--json", "-").json
    single = found["single_person"]
    assert single["value"] < found["metrics"]["acc"]["value"]
    assert single["ci95"][0] < single["value"] < single["ci95"][1]
    assert single["best"]["annotator"] == "p3"
    assert single["best"]["value"] == 1
    assert single["worst"]["annotator"] == "p0"
    assert single["spread_ci95"][0] <= single["spread"] <= single["spread_ci95"][1]
    assert (single["annotators"], single["answers"], single["items"]) == (12, 300, 60)


def test_a_single_persons_figure_can_be_counted_by_hand(tmp_path: Path) -> None:
    arguments = study(tmp_path)
    found = merilo("baseline", *arguments, "--json", "-").json["single_person"]
    with Path(str(arguments[0])).open() as file:
        rows = [row for row in csv.DictReader(file) if row["annotator"] == "p0"]
    right = sum(row["answer"] == "A" for row in rows)
    assert (found["worst"]["n"], found["worst"]["value"]) == (
        len(rows),
        pytest.approx(right / len(rows), abs=1e-6),
    )


def test_one_person_alone_has_a_figure_and_no_spread(tmp_path: Path) -> None:
    table = tmp_path / "one.csv"
    table.write_text(
        "text,annotator,answer,gold\n" + "".join(f"q{i},ann,{'AB'[i % 2]},A\n" for i in range(20))
    )
    found = merilo(
        "baseline", table, "--platform", "table", "--item", "text", "--annotator", "annotator", "--answer", "answer",
        "--gold", table, "--gold-column", "gold", "--min-votes", "1", "--json", "-",
    ).json  # fmt: skip
    assert found["single_person"]["value"] == 0.5
    assert found["single_person"]["spread"] == 0
    assert found["metrics"]["acc"]["ci95_items_and_annotators"] is None
    assert (
        found["metrics"]["acc"]["interval_items_and_annotators"]
        == "not defined: it takes at least 3 annotators, and 1 answered"
    )


def test_the_published_procedure_has_the_same_intervals_whether_it_is_asked_for_or_stands_beside(
    tmp_path: Path,
) -> None:
    arguments = study(tmp_path)
    beside = merilo("baseline", *arguments, "--json", "-").json["metrics"]["acc"]["by_majority_alone"]
    alone = merilo("baseline", *arguments, "--resolve", "none", "--json", "-").json["metrics"]["acc"]
    for name in ("value", "ci95", "ci95_items_and_annotators", "n"):
        assert beside[name] == alone[name]
