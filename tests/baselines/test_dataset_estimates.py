"""The estimate for the whole dataset: against the stratified estimator by hand, scikit-learn, and wrong weights."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import f1_score, matthews_corrcoef

import merilo
from merilo.baselines.baseline import Baseline
from merilo.errors import DataError, InputError, UsageError
from merilo.estimate import Estimate

SIZES = {"law": 60, "art": 25, "bio": 15}
HARD = {"law": 0.95, "art": 0.75, "bio": 0.5}


def study(
    folder: Path,
    *,
    drawn: Mapping[str, int] | None = None,
    people: int = 9,
    labels: str = "AB",
    seed: int = 0,
) -> tuple[Path, Path, Path]:
    """A dataset with a domain, a sample with ten items of each, and five answers to each of these."""
    rng, taken = np.random.default_rng(seed), drawn or dict.fromkeys(SIZES, 10)
    sample = [(name, n, labels[n % len(labels)]) for name in SIZES for n in range(taken[name])]
    answers = [
        (f"{name} {n}", f"p{who}", gold if rng.random() < HARD[name] else str(rng.choice([*labels.replace(gold, "")])))
        for name, n, gold in sample
        for who in rng.permutation(people)[:5]
    ]  # fmt: skip
    entries = [
        {"instruction": "{task}", "inputs": {"task": f"{name} {n}"}, "outputs": gold, "meta": {"id": f"{name}{n}", "domain": name}}
        for name, n, gold in sample
    ]  # fmt: skip
    weights = [(f"{name}{n}", f"domain={name}", SIZES[name] / taken[name]) for name, n, _ in sample]
    for file, columns, rows in (
        ("answers.csv", ["task", "annotator", "answer"], answers),
        ("weights.csv", ["id", "stratum", "weight"], weights),
    ):
        pl.DataFrame(rows, schema=columns, orient="row").write_csv(folder / file)
    (folder / "sample.json").write_text(json.dumps({"data": {"test": entries}}))
    return folder / "answers.csv", folder / "sample.json", folder / "weights.csv"


def decided(found: Baseline) -> dict[str, list[float]]:
    """The points of each domain's items."""
    points: dict[str, list[float]] = {}
    for text, correct in found.consensus.select("task", "correct").iter_rows():
        points.setdefault(text.split()[0], []).append(float(correct))
    return points


def width(one: Estimate) -> float:
    assert one.ci95 is not None
    return one.ci95.high - one.ci95.low


def test_the_dataset_s_accuracy_is_the_stratified_estimator_by_hand(tmp_path: Path) -> None:
    answers, gold, weights = study(tmp_path)
    found = merilo.baseline(answers, gold=gold, population=weights)
    points = decided(found)
    by_hand = sum(SIZES[name] * float(np.mean(own)) for name, own in points.items()) / 100
    one = found.whole_dataset["acc"]
    assert one.value == pytest.approx(by_hand, abs=1e-6)
    assert (one.n, one.people) == (30, 9)
    assert one.ci95 is not None
    assert one.ci95.low < by_hand < one.ci95.high
    assert found.sampled_from == 100
    assert found.to_json()["whole_dataset"]["acc"]["value"] == pytest.approx(by_hand, abs=1e-6)


def test_a_sample_with_the_dataset_s_shares_has_the_same_value_and_a_narrower_interval(
    tmp_path: Path,
) -> None:
    answers, gold, weights = study(tmp_path, drawn={"law": 36, "art": 15, "bio": 9})
    found = merilo.baseline(answers, gold=gold, population=weights)
    assert found.whole_dataset["acc"].value == pytest.approx(found.metrics["acc"].value)
    assert width(found.whole_dataset["acc"]) < width(found.metrics["acc"])


def test_the_whole_dataset_asked_leaves_the_uncertainty_of_answers(tmp_path: Path) -> None:
    answers, gold, weights = study(tmp_path, drawn=SIZES)
    found = merilo.baseline(answers, gold=gold, population=weights)
    assert 0 < width(found.whole_dataset["acc"]) < width(found.metrics["acc"])


@pytest.mark.parametrize(("metric", "reference"), [("f1_macro", f1_score), ("mcc", matthews_corrcoef)])
def test_metrics_that_are_no_means_are_those_of_the_weighted_table(
    tmp_path: Path, metric: str, reference: object
) -> None:
    answers, gold, weights = study(tmp_path, labels="ABC", seed=3)
    found = merilo.baseline(answers, gold=gold, population=weights, metric=metric, min_votes=1)
    table = found.consensus.select("task", "label", "gold")
    weight = [SIZES[text.split()[0]] / 10 for text in table["task"]]
    more = {"average": "macro"} if metric == "f1_macro" else {}
    expected = reference(table["gold"].to_list(), table["label"].to_list(), sample_weight=weight, **more)  # type: ignore[operator]
    one = found.whole_dataset[metric]
    assert one.value == pytest.approx(expected, abs=1e-6)
    assert one.ci95 is not None
    assert one.ci95.low < expected < one.ci95.high


def test_two_annotators_have_no_interval_for_the_dataset(tmp_path: Path) -> None:
    answers, gold, weights = study(tmp_path, people=2)
    one = merilo.baseline(answers, gold=gold, population=weights).whole_dataset["acc"]
    assert one.ci95 is None
    assert one.reason is not None
    assert "at least 3 annotators" in one.reason


def test_wrong_weights_are_refused_with_what_is_wrong(tmp_path: Path) -> None:
    answers, gold, weights = study(tmp_path)
    rows = weights.read_text().splitlines()
    with pytest.raises(UsageError, match="no gold answers are known"):
        merilo.baseline(answers, population=weights)
    for text, error, message in (
        ("\n".join(rows[:-1]), DataError, "no weight of 1 item"),
        ("\n".join([rows[0], rows[1].replace("6.0", "0"), *rows[2:]]), InputError, "a weight above 0"),
        ("item,part\n1,a\n", InputError, "has no column id"),
    ):
        weights.write_text(text)
        with pytest.raises(error, match=message):
            merilo.baseline(answers, gold=gold, population=weights)
