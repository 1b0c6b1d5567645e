"""Exclusion by control items, and the known answers of the controls themselves."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import merilo
from merilo.people.controls import ControlItem, ExclusionRule, control_items, judged_annotators
from merilo.responses import SCHEMA, Responses

counts = st.tuples(st.integers(0, 8), st.integers(0, 8)).map(lambda pair: (min(pair), max(pair)))


@given(st.lists(counts, max_size=6), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.integers(0, 4))
def test_an_annotator_below_the_threshold_with_enough_controls_is_excluded(
    people: list[tuple[int, int]], threshold: float, least: int
) -> None:
    rule = ExclusionRule(threshold, least)
    found = rule.excluded([right for right, _ in people], [n for _, n in people]).tolist()
    assert found == [n >= max(least, 1) and right / n < threshold for right, n in people]


def test_people_with_too_few_controls_are_told_apart_from_people_without(tmp_path: Path) -> None:
    asked = {"ann": 4, "bob": 4, "cat": 4, "dan": 2, "eve": 1, "fay": 0}
    rows = [f"c{n},{who},x,x" for who, many in asked.items() for n in range(many)]
    rows += [f"q{n},{who},x," for who in asked for n in range(3)]
    pool = tmp_path / "pool.csv"
    pool.write_text("\n".join(["item,annotator,answer,control", *rows]), encoding="utf-8")
    made = merilo.baseline(pool, min_controls=3)
    people = made.annotator_counts
    assert (people.total, people.excluded, people.unjudged, people.with_controls) == (6, 0, 3, 5)
    assert made.provenance.command == "merilo.baseline(responses, min_controls=3)"


def responses_of(rows: Sequence[tuple[int, str, str, str | None]]) -> Responses:
    """Responses of (item, annotator, answer, known answer of a control)."""
    item, who, answer, known = zip(*rows, strict=True)
    table = pl.DataFrame(
        {
            "item": item,
            "respondent": who,
            "answer": answer,
            "control": pl.Series(known, dtype=pl.String),
            "is_control": [one is not None for one in known],
        },
        schema_overrides={"item": pl.UInt32},
    )
    table = table.with_columns(
        pl.lit(None, dtype).alias(name) for name, dtype in SCHEMA.items() if name not in table.columns
    ).with_columns(pl.int_range(pl.len(), dtype=pl.UInt32).alias("row"), pl.lit("pool").alias("file"))
    numbers = sorted(set(item))
    items = pl.DataFrame(
        {"item": numbers, "q": [f"q{n}" for n in numbers]}, schema_overrides={"item": pl.UInt32}
    )
    return Responses(table.select(list(SCHEMA)), items, len(rows), {})


def suspects_of(controls: Sequence[ControlItem]) -> list[int]:
    return sorted(control.item for control in controls if control.suspect)


WRONG = set(range(1, 12))


@pytest.fixture(scope="module")
def pool() -> Responses:
    """Thirty controls, eleven with a wrong known answer; 229 annotators, of whom 77 answered one control and 152 answered ten; one
    annotator of eight guesses."""
    rng = np.random.default_rng(0)
    truth = {control: "123"[control % 3] for control in range(1, 31)}
    known = {control: "123"[(control + (control in WRONG)) % 3] for control in truth}
    rows: list[tuple[int, str, str, str | None]] = []
    for person in range(229):
        asked = rng.choice(30, 1 if person < 77 else 10, replace=False) + 1
        for control in asked.tolist():
            careful = person % 8 and rng.random() < 0.9
            answer = truth[control] if careful else "123"[rng.integers(3)]
            rows.append((control, f"p{person:03d}", answer, known[control]))
        rows.append((100 + person % 50, f"p{person:03d}", "1", None))
    return responses_of(rows)


def test_the_controls_with_a_wrong_known_answer_are_suspect(pool: Responses) -> None:
    controls = control_items(pool, ExclusionRule(0.5))
    assert suspects_of(controls) == sorted(WRONG)
    assert [one.suspect for one in controls] == [True] * 11 + [False] * 19
    for one in controls:
        truth = "123"[one.item % 3]
        assert one.most_common == truth
        assert one.good_annotators_answers <= one.answers
        assert (one.good_annotators_correct < 0.5 * one.good_annotators_answers) == one.suspect


def test_a_control_does_not_vouch_for_the_people_who_judge_it() -> None:
    # Three people fail both other controls; only the fourth, good elsewhere, counts, and one answer is too few.
    rows: list[tuple[int, str, str, str | None]] = [
        (control, who, "a" if who == "dan" else "b", "a") for control in (1, 2, 3) for who in ("ann", "bob", "cat", "dan")
    ]  # fmt: skip
    controls = control_items(responses_of([*rows, (9, "dan", "x", None)]), ExclusionRule(0.5))
    assert [(one.good_annotators_answers, one.share_correct, one.suspect) for one in controls] == [
        (1, 0.25, False)
    ] * 3


def test_a_control_answered_again_is_left_out_with_all_its_answers() -> None:
    rows: list[tuple[int, str, str, str | None]] = [
        (1, who, answer, "a") for who in ("ann", "bob", "cat") for answer in ("b", "b")
    ]
    controls = control_items(
        responses_of([*rows, (2, "ann", "a", "a"), (9, "dan", "x", None)]), ExclusionRule(0)
    )
    first = next(one for one in controls if one.item == 1)
    assert first.good_annotators_answers == 2  # ann alone has another control
    assert (first.answers, first.correct, first.most_common, first.most_common_answers) == (6, 0, "b", 6)


def suspects(known: str, answers: Sequence[str]) -> list[int]:
    """The suspects of a control with these answers, each of somebody who has two other controls right."""
    rows: list[tuple[int, str, str, str | None]] = [
        (control, f"p{n}", "a" if control < 3 else answer, "a" if control < 3 else known)
        for n, answer in enumerate(answers)
        for control in (1, 2, 3)
    ]
    return suspects_of(control_items(responses_of([*rows, (9, "dan", "x", None)]), ExclusionRule(0.5)))


@pytest.mark.parametrize(("answers", "found"), [
    ("bbb", [3]), ("bbbbaa", [3]), ("bbbcd", [3]),
    ("bcd", []), ("bbcc", []), ("bbb" "cde", []),  # they contradict the known answer, and each other
    ("bb", []), ("bba", []),  # two people may err alike
])  # fmt: skip
def test_those_who_contradict_a_suspect_control_agree_with_each_other(answers: str, found: list[int]) -> None:
    assert suspects("a", answers) == found


def test_a_known_answer_that_most_people_gave_is_not_suspect() -> None:
    rows: list[tuple[int, str, str, str | None]] = [
        *((control, f"good{n}", "a", "a") for n in range(3) for control in (1, 2)),
        *((control, f"new{n}", f"wrong {n}", "a") for n in range(4) for control in (1, 2)),
        *((3, f"good{n}", "b", "a") for n in range(3)),
        *((3, f"new{n}", "a", "a") for n in range(4)),
        (9, "dan", "x", None),
    ]
    controls = control_items(responses_of(rows), ExclusionRule(0.5))
    third = next(one for one in controls if one.item == 3)
    assert (third.good_annotators_answers, third.good_annotators_correct, third.most_common) == (3, 0, "a")
    assert suspects_of(controls) == []


def test_one_person_who_repeats_an_answer_is_one_person() -> None:
    rows: list[tuple[int, str, str, str | None]] = [
        *((control, "ann", "a", "a") for control in (1, 2)),
        *((3, "ann", "b", "a") for _ in range(3)),
        (9, "dan", "x", None),
    ]
    assert suspects_of(control_items(responses_of(rows), ExclusionRule(0.5))) == []


def test_without_controls_nothing_is_judged() -> None:
    responses = responses_of([(1, "ann", "a", None), (1, "bob", "b", None)])
    assert control_items(responses, ExclusionRule(0.5)) == ()
    assert not judged_annotators(responses, min_control_accuracy=0.5)["excluded"].any()
