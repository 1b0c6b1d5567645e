"""The estimate for the whole dataset: against the stratified estimator by hand, scikit-learn, and wrong populations."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import merilo as run
from sklearn.metrics import f1_score, matthews_corrcoef

import merilo
from merilo.baselines.baseline import Baseline
from merilo.errors import DataError, InputError, UsageError

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
    rng = np.random.default_rng(seed)
    items = [
        {"inputs": {"task": f"{domain} {n}"}, "outputs": labels[n % len(labels)], "meta": {"id": f"{domain}{n}", "domain": domain}}
        for domain, size in SIZES.items()
        for n in range(size)
    ]  # fmt: skip
    taken = drawn or dict.fromkeys(SIZES, 10)
    sample = [
        one for one in items if int(one["inputs"]["task"].split()[1]) < taken.get(one["meta"]["domain"], 0)
    ]
    with (folder / "answers.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "annotator", "answer"])
        for one in sample:
            for person in rng.permutation(people)[:5]:
                right = rng.random() < HARD[one["meta"]["domain"]]
                wrong = [label for label in labels if label != one["outputs"]]
                writer.writerow(
                    [one["inputs"]["task"], f"p{person}", one["outputs"] if right else rng.choice(wrong)]
                )
    for name, content in (("all.json", items), ("sample.json", sample)):
        entries = [{"instruction": "{task}", **one} for one in content]
        (folder / name).write_text(json.dumps({"data": {"test": entries}}))
    return folder / "answers.csv", folder / "sample.json", folder / "all.json"


def decided(found: Baseline) -> dict[str, list[float]]:
    """The points of each domain's items."""
    points: dict[str, list[float]] = {}
    for text, correct in found.consensus.select("task", "correct").iter_rows():
        points.setdefault(text.split()[0], []).append(float(correct))
    return points


def test_the_dataset_s_accuracy_is_the_stratified_estimator_by_hand(tmp_path: Path) -> None:
    answers, gold, everything = study(tmp_path)
    found = merilo.baseline(answers, gold=gold, population=everything, strata=["domain"])
    points = decided(found)
    by_hand = sum(SIZES[name] * float(np.mean(own)) for name, own in points.items()) / 100
    variance = sum(
        (SIZES[name] / 100) ** 2 * (1 - len(own) / SIZES[name]) * float(np.var(own, ddof=1)) / len(own)
        for name, own in points.items()
    )
    assert found.evidence.whole is not None
    one = found.evidence.whole.metrics["acc"].crowd
    assert one.value == pytest.approx(by_hand)
    assert one.item_error**2 >= variance
    assert found.metrics["acc"].value == pytest.approx(
        float(np.mean([one for own in points.values() for one in own]))
    )
    json_of = found.to_json()
    assert json_of["metrics"]["acc"]["dataset"]["value"] == pytest.approx(by_hand, abs=1e-6)
    assert json_of["population"]["largest_weight"] == 6.0
    assert json_of["population"]["smallest_weight"] == 1.5


def test_a_sample_with_the_dataset_s_shares_has_the_same_figure_and_a_narrower_interval(
    tmp_path: Path,
) -> None:
    answers, gold, everything = study(tmp_path, drawn={"law": 36, "art": 15, "bio": 9})
    found = merilo.baseline(answers, gold=gold, population=everything, strata=["domain"])
    assert found.evidence.whole is not None
    one, own = found.evidence.whole.metrics["acc"].crowd, found.metrics["acc"]
    assert one.value == pytest.approx(own.value)
    assert one.interval is not None
    assert own.interval is not None
    assert one.interval.high - one.interval.low < own.interval.high - own.interval.low
    assert found.evidence.whole.sample.design_effect == pytest.approx(1)


def test_the_whole_dataset_asked_leaves_only_the_annotators_uncertainty(tmp_path: Path) -> None:
    answers, gold, everything = study(tmp_path, drawn=SIZES)
    found = merilo.baseline(answers, gold=gold, population=everything, strata=["domain"])
    assert found.evidence.whole is not None
    one = found.evidence.whole.metrics["acc"].crowd
    assert one.interval is not None
    assert one.interval.low == one.interval.high == one.value
    assert one.both.low < one.value < one.both.high


@pytest.mark.parametrize(("metric", "reference"), [("f1_macro", f1_score), ("mcc", matthews_corrcoef)])
def test_metrics_that_are_no_means_are_those_of_the_weighted_table(
    tmp_path: Path, metric: str, reference: object
) -> None:
    answers, gold, everything = study(tmp_path, labels="ABC", seed=3)
    found = merilo.baseline(
        answers, gold=gold, population=everything, strata=["domain"], metric=metric, min_votes=1
    )
    table = found.consensus.select("task", "label", "gold")
    weight = [SIZES[text.split()[0]] / 10 for text in table["task"]]
    more = {"average": "macro"} if metric == "f1_macro" else {}
    expected = reference(table["gold"].to_list(), table["label"].to_list(), sample_weight=weight, **more)  # type: ignore[operator]
    assert found.evidence.whole is not None
    one = found.evidence.whole.metrics[metric].crowd
    assert one.value == pytest.approx(expected)
    assert one.both.low < one.value < one.both.high


def test_single_persons_have_the_weights_of_their_items(tmp_path: Path) -> None:
    answers, gold, everything = study(tmp_path)
    found = merilo.baseline(answers, gold=gold, population=everything, strata=["domain"])
    rows = pl.read_csv(answers).with_columns(pl.col("task").str.split(" ").list.first().alias("domain"))
    known = {f"{name} {n}": "AB"[n % 2] for name, size in SIZES.items() for n in range(size)}
    right = [known[text] == answer for text, answer in rows.select("task", "answer").iter_rows()]
    shares = rows.with_columns(pl.Series("right", right)).group_by("domain").agg(pl.col("right").mean())
    by_hand = sum(SIZES[name] * share for name, share in shares.iter_rows()) / 100
    assert found.evidence.whole is not None
    single = found.evidence.whole.metrics["acc"].single
    assert single is not None
    assert single.value == pytest.approx(by_hand)


def test_a_table_of_strata_gives_what_the_items_give(tmp_path: Path) -> None:
    answers, gold, everything = study(tmp_path)
    table = tmp_path / "strata.csv"
    table.write_text("domain,count\n" + "".join(f"{name},{n}\n" for name, n in SIZES.items()))
    sources = (everything, table, SIZES, pl.DataFrame({"stratum": [*SIZES], "count": [*SIZES.values()]}))
    metrics = [
        merilo.baseline(answers, gold=gold, population=one, strata=["domain"]).to_json()["metrics"]
        for one in sources
    ]
    assert metrics[0]["acc"]["dataset"]["value"] < 1
    assert all(one == metrics[0] for one in metrics)


def test_a_stratum_without_responses_is_left_out(tmp_path: Path) -> None:
    answers, gold, everything = study(tmp_path, drawn={"law": 10, "art": 10})
    found = merilo.baseline(answers, gold=gold, population=everything, strata=["domain"])
    content = found.to_json()
    assert content["population"]["without_responses"] == ["domain=bio"]
    assert content["population"]["items_of_estimate"] == 85
    points = decided(found)
    by_hand = (60 * np.mean(points["law"]) + 25 * np.mean(points["art"])) / 85
    assert content["metrics"]["acc"]["dataset"]["value"] == pytest.approx(by_hand, abs=1e-6)


def refused(
    folder: Path, population: object, strata: Sequence[str], error: type[Exception], message: str
) -> None:
    answers, gold, _ = study(folder)
    with pytest.raises(error, match=message):
        merilo.baseline(answers, gold=gold, population=population, strata=strata)  # type: ignore[arg-type]


def test_wrong_populations_are_refused_with_what_is_wrong(tmp_path: Path) -> None:
    refused(
        tmp_path,
        tmp_path / "all.json",
        ["level"],
        InputError,
        r"all\.json, strata: has no field 'level' \(its fields: ",
    )
    refused(
        tmp_path,
        {"law": 60, "art": 25},
        ["domain"],
        DataError,
        "has no items in the stratum 'domain=bio', in which the study has 10",
    )
    refused(
        tmp_path,
        {**SIZES, "bio": 9},
        ["domain"],
        DataError,
        "has 9 items in the stratum 'domain=bio', but the study has 10",
    )
    refused(
        tmp_path,
        {**SIZES, "bio": 0},
        ["domain"],
        InputError,
        "must be the number of items of the stratum, not '0'",
    )
    refused(tmp_path, tmp_path / "all.json", [], UsageError, "needs the fields that define strata: strata")
    refused(tmp_path, None, ["domain"], UsageError, "strata needs the whole dataset: population")
    refused(tmp_path, {"x": 10, "y": 100}, ["task", "domain"], UsageError, "takes a mapping for one field of strata only")  # fmt: skip


def test_a_population_needs_gold(tmp_path: Path) -> None:
    answers, _, everything = study(tmp_path)
    with pytest.raises(UsageError, match="is for metrics, and no gold answers are known"):
        merilo.baseline(answers, population=everything, strata=["domain"])


def test_the_exam_is_not_divided_into_strata(tmp_path: Path) -> None:
    points = {"16": 2, "26": 4}
    rows = [
        {"instruction": "", "inputs": {"task": task}, "outputs": "x", "meta": {"id": task, "id_task": task, "variant": 1, "score": points.get(task, 1), "type": "text", "half": "1"}}
        for task in [*map(str, range(1, 27)), *(f"8_{part}" for part in range(1, 5))]
    ]  # fmt: skip
    (tmp_path / "gold.json").write_text(json.dumps({"data": {"test": rows}}))
    tasks = [str(row["inputs"]["task"]) for row in rows]  # type: ignore[index]
    answers = pl.DataFrame({"task": tasks * 2, "worker": ["a"] * 30 + ["b"] * 30, "label": ["x"] * 60})
    found = merilo.baseline(
        answers, gold=tmp_path / "gold.json", dataset="use", population={"1": 60}, strata=["half"]
    )
    whole = found.evidence.whole
    assert whole is not None
    assert not whole.metrics
    assert "complete variants of the exam" in whole.missing["grade_norm"]


def test_the_command_shows_both_figures_and_the_report_says_which_is_which(tmp_path: Path) -> None:
    answers, gold, everything = study(tmp_path)
    out = tmp_path / "out"
    given = [
        "baseline",
        answers,
        "--item",
        "task",
        "--gold",
        gold,
        "--population",
        everything,
        "--strata",
        "domain",
    ]
    made = run(*given, "--details", "--out", out)
    assert made.status == 0, made.err
    told = "On the whole dataset, to which the 30 sampled items were weighted by domain, the accuracy of the consensus"
    assert told in " ".join(made.out.split())
    assert "consensus on the whole" in made.out
    assert told in (out / "report.html").read_text()
    recorded = json.loads((out / "baseline.json").read_text())["provenance"]["command"]
    assert f"--population {everything} --strata domain" in recorded


@pytest.mark.thorough
def test_the_folder_hb_computes_the_dataset_s_figure_again(tmp_path: Path) -> None:
    answers, gold, everything = study(tmp_path)
    merilo.baseline(answers, gold=gold, population=everything, strata=["domain"]).save(tmp_path / "base")
    merilo.report(tmp_path / "base", tmp_path / "hb")
    verified = merilo.verify(tmp_path / "hb")
    assert verified.ok
    assert "metrics.acc.dataset.value" in {one.name for one in verified.figures}
    assert "population.strata.domain=law.weight" in {one.name for one in verified.figures}
    assert "population=raw.population" in (tmp_path / "hb" / "hb.ipynb").read_text()
    counts = tmp_path / "hb" / "raw" / "population.csv"
    counts.write_text(counts.read_text().replace("60", "600"))
    moved = {one.name for one in merilo.verify(tmp_path / "hb").moved}
    assert "metrics.acc.dataset.value" in moved


def test_clusters_of_items_widen_the_intervals_for_the_dataset(tmp_path: Path) -> None:
    answers, gold, everything = study(tmp_path)
    # Both items of a text are right, or both are wrong.
    items = json.loads(gold.read_text())["data"]["test"]
    known, text = {}, {}
    for one in items:
        domain, number = one["inputs"]["task"].split()
        text[one["inputs"]["task"]] = f"{domain} text {int(number) // 2}"
        one["meta"]["text"] = text[one["inputs"]["task"]]
        known[one["inputs"]["task"]] = (
            one["outputs"] if int(number) % 4 < 2 else {"A": "B", "B": "A"}[one["outputs"]]
        )
    gold.write_text(json.dumps({"data": {"test": items}}))
    table = pl.read_csv(answers)
    table.with_columns(answer=pl.col("task").replace_strict(known)).write_csv(answers)
    alone = merilo.baseline(answers, gold=gold, population=everything, strata=["domain"])
    together = merilo.baseline(answers, gold=gold, population=everything, strata=["domain"], cluster="text")
    assert alone.evidence.whole is not None
    assert together.evidence.whole is not None
    one, other = (found.evidence.whole.metrics["acc"].crowd for found in (alone, together))
    assert other.value == one.value
    assert other.item_error > 1.3 * one.item_error
    assert one.interval is not None
    assert other.interval is not None
    assert other.interval.high - other.interval.low > one.interval.high - one.interval.low
    assert other.both.high - other.both.low > one.both.high - one.both.low


def test_a_comparison_on_a_sample_says_that_it_is_on_the_sample_only(tmp_path: Path) -> None:
    answers, gold, everything = study(tmp_path)
    made = merilo.baseline(answers, gold=gold, population=everything, strata=["domain"])
    made.save(tmp_path / "people")
    items = json.loads(gold.read_text())["data"]["test"]
    model = {one["meta"]["id"]: one["outputs"] for one in items}
    for people in (made, tmp_path / "people"):
        (finding,) = merilo.compare(people, {"robot": model}).findings
        assert "on a sample, 30 of 100 items of the dataset" in finding.sentence.en
    (tmp_path / "robot.json").write_text(
        json.dumps([{"id": name, "answer": one} for name, one in model.items()])
    )
    assert "on a sample, 30 of 100 items" in run("compare", tmp_path / "people", tmp_path / "robot.json").err


def test_two_annotators_have_no_interval_over_annotators_for_the_dataset(tmp_path: Path) -> None:
    answers, gold, everything = study(tmp_path, people=2)
    found = merilo.baseline(answers, gold=gold, population=everything, strata=["domain"], min_votes=2)
    one = found.to_json()["metrics"]["acc"]["dataset"]
    assert one["ci95"] is not None
    assert one["ci95_items_and_annotators"] is None
    assert one["interval_items_and_annotators"] is None


def test_a_few_annotators_have_a_wide_interval_for_the_dataset_too(tmp_path: Path) -> None:
    """All items of the dataset were asked: the two estimates, and about their intervals, are the same."""
    answers, gold, everything = study(tmp_path, people=3, drawn=SIZES)
    found = merilo.baseline(answers, gold=gold, population=everything, strata=["domain"], min_votes=2)
    one = found.to_json()["metrics"]["acc"]
    sample, whole = one["ci95_items_and_annotators"], one["dataset"]["ci95_items_and_annotators"]
    assert one["dataset"]["value"] == pytest.approx(one["value"], abs=1e-6)
    assert whole[1] - whole[0] > 0.6 * (sample[1] - sample[0])
    assert whole[1] - whole[0] > 2 * 0.1
