"""One model beside people, or beside another model: numbers by hand, verdicts by their intervals, sentences."""

import re
from pathlib import Path

import numpy as np
import pytest
from compared_study import LABELS, guesses, model, study
from exports import csv_rows
from hypothesis import given
from hypothesis import strategies as st

import merilo
from merilo.baselines.comparison import Beside, Margin, Pair, Row, judged
from merilo.estimate import Estimate
from merilo.statistics.crossed import Crossed, Influence, crossed, holm


def compared(*sources: object, **options: object) -> dict[Beside, Row]:
    return {row.beside: row for row in merilo.compare(*sources, **options).rows}


def test_beside_the_consensus_stands_the_share_of_right_answers_of_each(tmp_path: Path) -> None:
    people, answers = study(tmp_path), guesses()
    row = compared(people, model(tmp_path / "m.csv", answers))["consensus"]
    table = csv_rows(people / "consensus.csv")
    theirs = np.mean([one["label"] == one["gold"] for one in table])
    ours = np.mean([answers[one["id"]][0] == one["gold"] for one in table])
    assert (row.people.value, row.people.people) == (pytest.approx(theirs, abs=1e-6), 8)
    assert (row.score.value, row.score.n, row.score.people) == (pytest.approx(ours, abs=1e-6), 40, None)
    assert row.difference.value == pytest.approx(ours - theirs, abs=1e-6)
    assert row.difference.ci95.low < row.difference.value < row.difference.ci95.high


def test_beside_one_person_stand_the_means_over_an_items_answers(tmp_path: Path) -> None:
    people, answers = study(tmp_path), guesses(samples=2)
    row = compared(people, model(tmp_path / "m.csv", answers))["person"]
    gold = {f"question {at}": LABELS[at % 3] for at in range(40)}
    by_item: dict[str, list[float]] = {}
    for one in csv_rows(tmp_path / "answers.csv"):
        by_item.setdefault(one["text"], []).append(float(one["answer"] == gold[one["text"]]))
    theirs = np.mean([np.mean(scores) for scores in by_item.values()])
    ours = np.mean(
        [answer == gold[f"question {name[1:]}"] for name, given in answers.items() for answer in given]
    )
    assert row.people.value == pytest.approx(theirs, abs=1e-6)
    assert row.score.value == pytest.approx(ours, abs=1e-6)


def difference(value: float, items: int, people: int | None, deviation: float = 0.4) -> Crossed:
    """A difference of items that are `deviation` apart, and of answers without influence."""
    signs = np.tile([deviation, -deviation], items // 2 + 1)[:items]
    influence = Influence((signs - signs.mean()) / items)
    if people is not None:
        person = np.arange(items * 3) % people
        zeros = np.zeros(items * 3)
        influence = influence._replace(
            answers=zeros, unit=np.arange(items * 3) // 3, person=person, guess=zeros
        )
    return crossed(value, influence, (-1.0, 1.0))


def pair(found: Crossed, items: int, margin: float | None, beside: Beside = "consensus") -> Pair:
    score, people = Estimate(value=0.5 + found.value, n=items), Estimate(value=0.5, n=items)
    row = Row(
        dataset="d", model="big", beside=beside, score=score, people=people, difference=found.estimate("acc", items)
    )  # fmt: skip
    return Pair(row, found, None if margin is None else Margin(margin))


@given(
    st.lists(
        st.tuples(
            st.floats(-0.5, 0.5),
            st.integers(12, 400),
            st.one_of(st.none(), st.integers(3, 40)),
            st.one_of(st.none(), st.floats(0.01, 0.3)),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_the_verdict_never_contradicts_the_interval(
    studies: list[tuple[float, int, int | None, float | None]],
) -> None:
    found = [
        pair(difference(value, items, people), items, margin, "model" if people is None else "consensus")
        for value, items, people, margin in studies
    ]
    for kind in ("consensus", "model"):
        of_kind = [one for one in found if one.row.beside == kind]
        told = [row for row in judged(found) if row.beside == kind]
        corrected = holm([one.crossed.p() for one in of_kind])
        for one, row, p in zip(of_kind, told, corrected, strict=True):
            low, high = row.difference.ci95
            assert row.p == pytest.approx(p, abs=1e-8)
            if row.verdict in {"above", "below"}:
                assert p <= 0.05
                assert low > 0 if row.verdict == "above" else high < 0
            apart = low > 0 or high < 0
            assert apart == (one.crossed.p() < 0.05)
            if apart and row.verdict == "untold" and (one.crossed.people or 10) >= 10:
                # The correction alone keeps them from being told apart, and the sentence says so.
                assert "Holm’s correction" in row.sentence.en
            if row.verdict == "equal":
                inner = one.crossed.interval(0.9)
                assert -one.margin.value < inner[0] <= inner[1] < one.margin.value
            if (one.crossed.people or 10) < 10:
                assert row.verdict == "untold"
            assert row.verdict in {"above", "below", "untold"} or one.margin


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_difference_shown_is_that_of_the_values_shown_or_said_to_be_otherwise(
    ours: float, theirs: float
) -> None:
    one = pair(difference(ours - theirs, 60, 12), 60, None)
    sides = {"score": Estimate(value=ours, n=60), "people": Estimate(value=theirs, n=60)}
    (row,) = judged([one._replace(row=one.row.model_copy(update=sides))])
    said = row.sentence.en.replace("−", "-")
    mine, people, before, apart = re.search(
        r"([\d.]+) against ([\d.]+), difference( before rounding)? (\S+)", said
    ).groups()
    if not before:
        assert float(apart) == pytest.approx(float(mine) - float(people), abs=1e-9)


@pytest.mark.parametrize(
    ("found", "margin", "verdict", "sentence"),
    [
        (difference(-0.12, 60, 11, 0.36), None, "below",
         r"big is below the consensus of 11 people \(0.380 against 0.500, difference −0.120 \[−0.2\d+, −0.0\d+\]\); "
         r"narrowly: p = 0.0\d+\."),
        (difference(0.3, 100, 12), None, "above",
         r"big is above the consensus of 12 people \(0.800 against 0.500, difference \+0.300 \[.*\]\); p < 0.001\."),
        (difference(0.01, 400, 30), 0.1, "equal",
         r"big is level with the consensus of 30 people within ±0.1 \(0.510 against 0.500, difference \+0.010 \[.*\]\)\."),
        (difference(0.06, 400, 30), 0.15, "equal", r".*; the difference is significant, p = .*, and smaller than the margin\."),
        (difference(0.05, 60, 12), 0.1, "not_worse",
         r"big is not worse than the consensus of 12 people by 0.1 or more \(.*\); whether it is level or above cannot be "
         r"told; p = .*\."),
        (difference(0.05, 60, 12), None, "untold",
         r"big cannot be told from the consensus of 12 people \(.*\); p = 0.\d+; it would take about \d+ items and \d+ "
         r"people to tell\."),
        (difference(0.4, 60, 3), None, "untold", r"big cannot be told from .* 3 people \(.*\); a verdict needs at least 10 people\."),
        (difference(0.05, 60, None), None, "untold", r".*; it would take about \d+ items to tell\."),
    ],
)  # fmt: skip
def test_each_verdict_has_its_sentence(
    found: Crossed, margin: float | None, verdict: str, sentence: str
) -> None:
    one = pair(found, 60, margin)
    if found.people is None:
        one = one._replace(row=one.row.model_copy(update={"other": "small", "beside": "model"}))
    (row,) = judged([one])
    assert row.verdict == verdict
    assert re.fullmatch(sentence, row.sentence.en), row.sentence.en
    assert not re.search("[a-z]{4}", row.sentence.ru.replace("big", "").replace("small", "")), row.sentence.ru


def test_only_a_planned_margin_is_called_planned() -> None:
    found = pair(difference(0.01, 400, 30), 400, 0.1)
    assert "planned" not in judged([found])[0].sentence.en
    planned = found._replace(margin=Margin(0.1, "2026-01-02"))
    assert judged([planned])[0].sentence.en.endswith("; margin planned on 2026-01-02.")


def test_an_end_that_is_not_0_is_not_shown_as_0() -> None:
    (row,) = judged([pair(difference(-0.12, 60, 11), 60, None)])
    assert row.verdict == "below"
    assert "0.00]" not in row.sentence.en


def test_a_consensus_beside_itself_differs_by_0(tmp_path: Path) -> None:
    people = study(tmp_path)
    row = compared(people, people / "consensus.csv")["consensus"]
    assert (row.difference.value, row.p) == (0, 1)


@pytest.mark.parametrize("metric", ["f1_macro", "mcc"])
def test_metrics_of_labels_have_one_interval_over_items_and_annotators(tmp_path: Path, metric: str) -> None:
    people = study(tmp_path, "--metric", metric, people=12)
    (row,) = merilo.compare(people, model(tmp_path / "m.csv", guesses())).rows
    assert (row.beside, row.score.name, row.verdict) == ("consensus", metric, "below")
    assert row.difference.people == 12
    assert row.difference.ci95.high < 0


def test_gold_labels_and_models_are_spelled_as_the_people_spell(tmp_path: Path) -> None:
    people, answers = study(tmp_path), guesses()
    plain = merilo.compare(people, model(tmp_path / "m.csv", answers)).rows
    shouted = {item: [f"{answer.lower()}." for answer in given] for item, given in answers.items()}
    assert set(LABELS) >= {answer for given in answers.values() for answer in given}
    assert merilo.compare(people, model(tmp_path / "m.csv", shouted)).rows == plain
