"""Verdicts of comparisons with people."""

import json
from pathlib import Path

import numpy as np
import pytest
from command import merilo
from compared_study import LABELS, guesses, model, study

import merilo as library
from merilo.baselines.model_verdicts import Compared, Margin, verdicts
from merilo.errors import DataError, UsageError
from merilo.statistics.crossed_difference import CrossedDifference, SharedPart, crossed_difference
from merilo.statistics.paired_tests import holm
from merilo.studies.study_folder import combined_hash

FEW, MANY = SharedPart(0.0, 0.0, 0.0, 2), SharedPart(0.0, 0.0, 0.0, 40)


def found(better: int, worse: int, n: int, part: SharedPart = MANY) -> CrossedDifference:
    first, second = np.ones(n), np.ones(n)
    first[:better] = 0
    second[better : better + worse] = 0
    return crossed_difference(first, second, part)


def outcomes(*ones: CrossedDifference, margin: float | None = 0.05) -> list[str]:
    allowed = None if margin is None else Margin(margin)
    told = verdicts([Compared(one.p, one.value, one, allowed, 40) for one in ones])
    return [verdict.outcome for _, verdict in told]


@pytest.mark.parametrize(
    ("better", "worse", "n", "outcome"),
    [
        (200, 100, 1000, "above"),
        (100, 200, 1000, "below"),
        (60, 55, 1000, "human_level"),
        # Significantly above people, but by less than the margin.
        (30, 10, 1000, "human_level"),
        (25, 15, 200, "not_worse"),
        (15, 15, 100, "untold"),
    ],
)
def test_each_verdict_follows_from_the_intervals(better: int, worse: int, n: int, outcome: str) -> None:
    one = found(better, worse, n)
    assert outcomes(one) == [outcome]
    inner, outer = one.interval(0.9), one.interval()
    equal = inner.low > -0.05 and inner.high < 0.05
    by_hand = (
        "human_level" if equal
        else "above" if outer.low > 0
        else "below" if outer.high < 0
        else "not_worse" if inner.low > -0.05
        else "untold"
    )  # fmt: skip
    assert by_hand == outcome


def test_without_a_margin_equality_is_never_claimed() -> None:
    ones = found(200, 100, 1000), found(100, 200, 1000), found(60, 55, 1000)
    assert [outcomes(one, margin=None)[0] for one in ones] == ["above", "below", "untold"]


def test_several_models_are_corrected_in_every_test() -> None:
    ones = [found(25, 11, 300), found(60, 55, 1000), found(15, 15, 400)]
    told = verdicts([Compared(one.p, one.value, one, Margin(0.05), 40) for one in ones])
    assert [p for p, _ in told] == holm([one.p for one in ones])
    assert [verdict.p_equivalent for _, verdict in told] == holm([one.p_within(0.05) for one in ones])
    assert [verdict.p_not_worse for _, verdict in told] == holm([one.p_above(-0.05) for one in ones])


def test_too_small_a_study_says_how_many_items_and_annotators_it_needs() -> None:
    with pytest.raises(
        DataError,
        match=r"at least 10 items \(the study has 5\) and at least 10 annotators \(the study has 2\)",
    ):
        outcomes(found(1, 1, 5, FEW))
    one = found(1, 1, 5, FEW)
    ((_, verdict),) = verdicts([Compared(one.p, one.value, one, Margin(0.05, "2026-01-02"), 2)])
    assert (verdict.outcome, verdict.margin) == ("untold", None)


@pytest.mark.parametrize(
    ("annotators", "outcome"), [(9, "untold"), (10, "above"), (2, "untold"), (1, "untold")]
)
@pytest.mark.parametrize("over_annotators", [True, False])
def test_above_and_below_need_as_many_annotators_as_equality(
    annotators: int, outcome: str, over_annotators: bool
) -> None:
    one = found(200, 10, 1000, SharedPart(0.0, 0.0, 0.0, annotators))
    given = Compared(1e-9, one.value, one if over_annotators else None, None, annotators)
    ((_, verdict),) = verdicts([given])
    assert verdict.outcome == outcome
    assert verdict.few_annotators == (annotators if annotators < 10 else None)


def test_a_significant_difference_within_the_margin_is_said_with_the_verdict(tmp_path: Path) -> None:
    people = study(tmp_path, items=300, people=12, overlap=5)
    right = {f"q{item}": [LABELS[(item + (item % 3 == 0)) % 3]] for item in range(300)}
    files = people, model(tmp_path / "m.csv", right), "--margin", 0.9
    match = merilo("compare", *files, "--json", "-").json["models"][0]["comparisons"]["consensus"]
    assert (match["verdict"], match["significant"]) == ("human_level", "below")
    difference = f"{-match['difference']:.3f}"
    assert match["verdict_sentence"]["en"].startswith(
        f"Below people by {difference}, and within the margin (±0.9): single answers of m scored 0.667"
    )
    russian = (
        f"Ниже людей на {difference.replace('.', ',')}, но в пределах допуска (±0,9): одиночные ответы m"
    )
    assert match["verdict_sentence"]["ru"].startswith(russian)
    table = merilo("compare", *files, "--format", "markdown").out
    assert "≡↓ consensus" in table
    assert "↓ below." in table


@pytest.mark.parametrize("margin", [0, 1, -0.1, float("nan"), float("inf")])
def test_a_margin_is_between_0_and_1(margin: float) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        Margin(margin)


def frozen(folder: Path, margin: object) -> None:
    files = {"study.yaml": "0" * 64}
    record = {"date": "2026-01-02", "hash": combined_hash(files), "files": files, "plan": {"baseline": {"margin": margin}}}  # fmt: skip
    (folder / "frozen.json").write_text(json.dumps(record))


def test_a_margin_given_after_the_data_is_marked(tmp_path: Path) -> None:
    people, file = study(tmp_path, people=12), model(tmp_path / "m.csv", guesses())
    outcome = merilo("compare", people, file, "--margin", 0.3, "--json", "-")
    for match in outcome.json["models"][0]["comparisons"].values():
        assert match["equivalence"]["margin"] == 0.3
        assert match["equivalence"]["margin_given"] == "after_the_data"
        assert "[margin given after the data]" in match["verdict_sentence"]["en"]
        assert "[допуск задан после получения данных]" in match["verdict_sentence"]["ru"]
    said = merilo("compare", people, file, "--margin", 0.3).out
    assert " ".join(said.split()).count("margin given after the data") == 2, (
        "once for each kind of comparison"
    )


def test_the_margin_of_the_frozen_plan_is_used_and_said_to_be_planned(tmp_path: Path) -> None:
    people, file = study(tmp_path, people=12), model(tmp_path / "m.csv", guesses())
    frozen(tmp_path, 0.25)
    match = merilo("compare", people, file, "--json", "-").json["models"][0]["comparisons"]["consensus"]
    assert (match["equivalence"]["margin"], match["equivalence"]["margin_given"]) == (
        0.25,
        "in_the_frozen_plan",
    )
    assert "[margin planned on 2026-01-02]" in match["verdict_sentence"]["en"]
    other = library.compare(people, [file], margin=0.1).models[0].tests.matches[0].verdict
    assert other is not None
    assert other.margin == Margin(0.1)
    same = library.compare(people, [file], margin=0.25).models[0].tests.matches[0].verdict
    assert same is not None
    assert same.margin == Margin(0.25, "2026-01-02")


@pytest.mark.parametrize("margin", ["0.02", 0, 1.5, True])
def test_a_frozen_margin_that_is_none_is_refused(tmp_path: Path, margin: object) -> None:
    people, file = study(tmp_path, people=12), model(tmp_path / "m.csv", guesses())
    frozen(tmp_path, margin)
    outcome = merilo("compare", people, file)
    assert outcome.status == 2
    assert "plan.baseline.margin" in outcome.complaint


def test_an_untold_verdict_names_the_study_that_would_tell(tmp_path: Path) -> None:
    people, file = study(tmp_path, people=12), model(tmp_path / "m.csv", guesses(right=0.6))
    match = merilo("compare", people, file, "--margin", 0.05, "--json", "-").json["models"][0]["comparisons"][
        "consensus"
    ]
    assert match["verdict"] == "untold"
    needed = match["equivalence"]["items_needed"], match["equivalence"]["annotators_needed"]
    assert needed[0] > 40
    assert f"it would take about {needed[0]} items and {needed[1]} people" in match["verdict_sentence"]["en"]


def test_one_annotator_does_not_place_a_model_above_people(tmp_path: Path) -> None:
    people = study(tmp_path, items=100, people=1)
    right = {f"q{item}": [LABELS[item % 3]] for item in range(100)}
    outcome = merilo("compare", people, model(tmp_path / "m.csv", right), "--json", "-")
    for match in outcome.json["models"][0]["comparisons"].values():
        assert match["ci95_items_and_annotators"] == [-1.0, 1.0]
        assert (match["verdict"], match["p"], match["detectable_difference"]) == ("untold", 1.0, None)
        assert "the answers of 1 annotator do not" in match["verdict_sentence"]["en"]
        assert "по ответам 1 разметчика нельзя" in match["verdict_sentence"]["ru"]


def test_a_metric_without_annotators_in_its_interval_says_so(tmp_path: Path) -> None:
    people, file = study(tmp_path, people=12), model(tmp_path / "m.csv", guesses(right=0.1))
    outcome = merilo("compare", people, file, "--metric", "f1_macro", "--json", "-")
    match = outcome.json["models"][0]["comparisons"]["consensus"]
    assert match["verdict"] == "below"
    assert "other people" in match["verdict_sentence"]["en"]
    assert "items and people" not in match["verdict_sentence"]["en"]
