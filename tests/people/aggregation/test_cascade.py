"""The cascade of rules, on small cases and on the published pools."""

from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
from command import merilo, merilo_once
from hypothesis import given
from hypothesis import strategies as st

from merilo.people.aggregation import Resolution
from merilo.people.aggregation.glad import glad
from merilo.people.aggregation.majority import cascade
from merilo.people.votes import Votes


def test_who_was_excluded_has_no_vote_but_glad_learns_from_them() -> None:
    everyone = Votes(*np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 1, 0, 0, 1, 0]]), 2, 3, 2)
    consensus = cascade(everyone.where(everyone.annotator != 2), everyone=everyone)
    assert consensus.label.tolist() == [0, 0]
    assert consensus.fit is not None
    assert consensus.fit.quality.shape == (3,)


def by_hand(labels: list[int], skill: np.ndarray, ability: np.ndarray) -> tuple[int, str]:
    """The whole cascade for one item, step by step as documented. `labels[k]` is annotator k's answer, -1 for none."""
    given_labels = [(label, k) for k, label in enumerate(labels) if label >= 0]

    def first_two(
        voters: list[tuple[int, int]], weight: np.ndarray
    ) -> tuple[list[tuple[int, float, int]], bool]:
        ranked = sorted(
            (
                (sum(x == label for x, _ in voters), sum(weight[k] for x, k in voters if x == label), label)
                for label in {x for x, _ in voters}
            ),
            reverse=True,
        )
        return ranked, len(ranked) == 1 or ranked[0][:2] > ranked[1][:2]

    if not given_labels:
        return -1, "UNRESOLVED"
    ranked, _ = first_two(given_labels, skill)
    if len(ranked) == 1:
        return ranked[0][2], "UNANIMOUS"
    if ranked[0][0] > ranked[1][0]:
        return ranked[0][2], "MOST"
    order = sorted(((skill[k], ability[k]) for _, k in given_labels), reverse=True)
    three = [(label, k) for label, k in given_labels if (skill[k], ability[k]) >= order[:3][-1]]
    for voters, weight, way in (
        (given_labels, skill, "SKILL"),
        (three, skill, "TOP_SKILL"),
        (given_labels, ability, "GLAD"),
    ):
        ranked, leads = first_two(voters, weight)
        if leads:
            return ranked[0][2], way
    return -1, "UNRESOLVED"


@given(
    answers=st.lists(st.lists(st.integers(-1, 3), min_size=6, max_size=6), min_size=1, max_size=6),
    skill=st.lists(st.sampled_from([50.0, 70.0, 90.0]), min_size=6, max_size=6),
    ability=st.lists(st.sampled_from([-0.5, 0.25, 1.0, 1.5]), min_size=6, max_size=6),
)
def test_the_cascade_is_what_its_words_say(
    answers: list[list[int]], skill: list[float], ability: list[float]
) -> None:
    rows = [(i, k, label) for i, labels in enumerate(answers) for k, label in enumerate(labels) if label >= 0]
    votes = Votes(*np.array(rows, dtype=np.int32).reshape(-1, 3).T, len(answers), 6, 4)
    fitted = glad(votes)
    known = replace(fitted, fit=replace(fitted.fit, quality=np.array(ability)))
    with patch("merilo.people.aggregation.majority.glad", return_value=known):
        consensus = cascade(votes, skill=skill)
    for labels, label, how in zip(answers, consensus.label, consensus.how, strict=True):
        expected, way = by_hand(labels, np.array(skill), np.array(ability))
        name = Resolution(how).name
        assert (label, "MOST" if name in {"MAJORITY", "PLURALITY"} else name) == (expected, way)


def made(pools: Path, pool: str, *options: object):
    files = sorted((pools / pool).glob("*.tsv"))
    known = ["--dataset", pool] if pool in {"bps", "lcs"} else []
    run = merilo if "--out" in options else merilo_once
    return run(
        "baseline", *files, *known, "--skills", pools / pool / "workerSkills.csv", *options, "--json", "-"
    )


def test_without_a_file_of_skills_the_accuracy_on_controls_breaks_ties(pools: Path) -> None:
    found = merilo("baseline", *sorted((pools / "lcs").glob("*.tsv")), "--dataset", "lcs", "--json", "-").json
    ways = found["resolved_by"]
    assert ways["majority"] == 80
    assert ways["skill"] > 0
    assert ways["unresolved"] == 0


def test_ties_can_go_to_glad_at_once_and_the_published_procedure_is_one_option_away(pools: Path) -> None:
    ways = made(pools, "lcs", "--resolve", "glad").json["resolved_by"]
    assert (ways["majority"], ways["skill"], ways["glad"], ways["unresolved"]) == (80, 0, 20, 0)
    found = made(pools, "lcs", "--resolve", "none").json
    assert not found.get("by_majority_alone")
    assert found["metrics"]["acc"]["n"] == 54
