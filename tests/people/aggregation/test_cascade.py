"""The cascade on the real pools, as worked through by hand, and its order of steps."""

import collections
import csv
from pathlib import Path

import numpy as np
import pytest

from merilo.people.aggregation import Consensus, Resolution, cascade
from merilo.people.votes import Encoding, Votes, encode


def longest_common_subsequence(first: str, second: str) -> int:
    row = [0] * (len(second) + 1)
    for a in first:
        diagonal = 0
        for j, b in enumerate(second, 1):
            row[j], diagonal = (diagonal + 1 if a == b else max(row[j], row[j - 1])), row[j]
    return row[-1]


def rows_of(folder: Path) -> list[tuple[str, str, str, str]]:
    """Item, annotator, answer, gold of every answer; control items are those with gold."""
    found = []
    for path in sorted(folder.glob("*.tsv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                inputs = [value for name, value in row.items() if name.startswith("INPUT:")]
                answer = next(value for name, value in row.items() if name.startswith("OUTPUT:"))
                gold = next(value for name, value in row.items() if name.startswith("GOLDEN:"))
                if any(inputs):
                    found.append(("\t".join(inputs), row["ASSIGNMENT:worker_id"], answer, gold))
    return found


def skills_of(folder: Path) -> dict[str, float]:
    with (folder / "workerSkills.csv").open(encoding="utf-8", newline="") as file:
        return {row["worker_id"]: float(row["skill_value"]) for row in csv.DictReader(file, delimiter="|")}


def resolved(folder: Path) -> tuple[Encoding, np.ndarray, Consensus]:
    """The pool's votes, which of its items are not controls, and the cascade over them."""
    rows = rows_of(folder)
    encoding = encode(*([row[k] for row in rows] for k in range(3)))
    right = collections.defaultdict(list)
    for _, annotator, answer, gold in rows:
        if gold:
            right[annotator].append(answer == gold)
    excluded = {annotator for annotator, answers in right.items() if sum(answers) < len(answers) / 2}
    test = np.array([not row[3] for row in rows])
    kept = test & np.array([row[1] not in excluded for row in rows])
    skills = skills_of(folder)
    consensus = cascade(
        encoding.votes.where(kept),
        everyone=encoding.votes,
        skill=[skills.get(annotator, np.nan) for annotator in encoding.annotators],
    )
    items = np.zeros(encoding.votes.items, dtype=bool)
    items[encoding.votes.item[test]] = True
    return encoding, items, consensus


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        ("bps", [78, 22, 0, 0, 0]),
        ("lcs", [22, 58, 15, 0, 5]),
        ("rwsd", [137, 122, 1, 0, 0]),
        ("ruworldtree", [356, 155, 11, 2, 1]),
    ],
)
def test_the_cascade_resolves_the_real_pools_as_worked_through_by_hand(
    pools: Path, pool: str, expected: list[int]
) -> None:
    _, items, consensus = resolved(pools / pool)
    ways = collections.Counter(Resolution(how) for how in consensus.how[items])
    most = ways[Resolution.MAJORITY] + ways[Resolution.PLURALITY]
    steps = [Resolution.UNANIMOUS, Resolution.SKILL, Resolution.TOP_SKILL, Resolution.GLAD]
    counts = [ways[step] for step in steps]
    assert [counts[0], most, *counts[1:]] == expected
    assert ways[Resolution.UNRESOLVED] == 0


def test_the_figure_of_lcs_is_056_when_no_item_is_left_out(pools: Path) -> None:
    encoding, items, consensus = resolved(pools / "lcs")
    right = [
        str(longest_common_subsequence(*encoding.items[int(item)].split("\t")))
        == encoding.labels[int(consensus.label[item])]
        for item in np.flatnonzero(items)
    ]
    assert len(right) == 100
    assert np.mean(right) == pytest.approx(0.56)


def test_without_skill_ties_go_to_glad_directly() -> None:
    item = np.repeat(np.arange(6), 3)
    annotator = np.tile(np.arange(3), 6)
    label = np.array([0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1, -1, 0])
    given = label >= 0
    votes = Votes(item[given], annotator[given], label[given], 6, 3, 2)
    consensus = cascade(votes)
    assert Resolution(consensus.how[5]) is Resolution.GLAD
    assert consensus.label[5] == 1, "annotator 0 has been with the majority, annotator 2 against it"


def test_a_tie_that_no_step_can_break_stays_unresolved() -> None:
    votes = Votes(*np.array([[0, 0], [0, 1], [0, 1]]), 1, 2, 2)
    consensus = cascade(votes, skill=[80, 80])
    assert consensus.label[0] == -1
    assert Resolution(consensus.how[0]) is Resolution.UNRESOLVED
    assert np.isnan(consensus.confidence[0])


def test_who_was_excluded_has_no_vote_but_glad_learns_from_them() -> None:
    everyone = Votes(*np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 1, 0, 0, 1, 0]]), 2, 3, 2)
    consensus = cascade(everyone.where(everyone.annotator != 2), everyone=everyone)
    assert consensus.label.tolist() == [0, 0]
    assert consensus.fit is not None
    assert consensus.fit.quality.shape == (3,)
