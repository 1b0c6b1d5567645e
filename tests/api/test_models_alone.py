"""Models compared without people, and beside them: the test, the interval, the table, the picture, bad input."""

import json
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from command import merilo as command
from compared_pools import answers, asked, items_of, pools
from scipy import stats

import merilo
from merilo.errors import DataError, UsageError
from merilo.statistics.crossed_difference import NO_ANNOTATORS, crossed_difference
from merilo.statistics.paired_tests import compare_scores, holm

LABELS = "ABCD"


@pytest.fixture
def people(tmp_path: Path) -> tuple[Path, Path]:
    found = pools(tmp_path)
    return found / "bps" / "baseline", found / "lcs" / "baseline"


def gold(folder: Path, n: int = 60) -> Path:
    """Items with four labels; every three belong to one text."""
    entries = [
        {
            "instruction": "{text} {question}",
            "inputs": {"text": f"text {at // 3}", "question": f"question {at}"},
            "outputs": LABELS[at % 4],
            "meta": {"id": at},
        }
        for at in range(n)
    ]
    path = folder / "gold.json"
    path.write_text(json.dumps({"data": {"test": entries}}), encoding="utf-8")
    return path


def replies(folder: Path, name: str, right: Sequence[Sequence[bool]]) -> Path:
    """Answers to the items: for each item whether each sample is right."""
    rows = [
        {"id": at, "answer": LABELS[(at + (not hit)) % 4], "sample": sample}
        for at, samples in enumerate(right)
        for sample, hit in enumerate(samples, start=1)
    ]
    path = folder / f"{name}.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def drawn(seed: int, n: int = 60, samples: int = 1, score: float = 0.7) -> np.ndarray:
    return np.random.default_rng(seed).random((n, samples)) < score


@pytest.mark.parametrize("seed", range(6))
def test_the_tests_of_two_models_are_mcnemars(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = rng.random(80) < 0.7
    second = np.where(rng.random(80) < 0.4, rng.random(80) < 0.8, first)
    better, worse = int((second & ~first).sum()), int((first & ~second).sum())
    sides = first.astype(float), second.astype(float)
    # statsmodels' mcnemar has the same values: exact=True, and exact=False with correction=False.
    exact = stats.binomtest(better, better + worse).pvalue
    assert compare_scores(*sides).test.p == pytest.approx(exact, abs=1e-12)
    found = crossed_difference(*sides, NO_ANNOTATORS)
    assert found.p == pytest.approx(stats.chi2.sf((better - worse) ** 2 / (better + worse), 1), abs=1e-12)
    interval = found.interval()
    assert (interval.low > 0 or interval.high < 0) == (found.p < 0.05)


def test_models_are_compared_with_the_first_and_corrected_together(tmp_path: Path) -> None:
    data = gold(tmp_path)
    right = [drawn(0), drawn(1, score=0.95), drawn(2, samples=3)]
    paths = [replies(tmp_path, name, one) for name, one in zip("abc", right, strict=True)]
    found = command("compare", *paths, "--data", data, "--margin", "0.4", "--json", "-").json
    assert (found["baseline"], found["first_model"], found["annotators"]) == (None, "a", 0)
    first, *others = found["models"]
    assert first["beside_first_model"] is None
    assert {len(one["comparisons"]) for one in found["models"]} == {0}
    means = [one.mean(axis=1) for one in right]
    for at, one in enumerate(others, start=1):
        beside = one["beside_first_model"]
        assert beside["difference"] == pytest.approx((means[at] - means[0]).mean(), abs=1e-6)
        assert one["score"]["ci95"][0] < one["score"]["value"] == pytest.approx(means[at].mean(), abs=1e-6)
        low, high = beside["ci95"]
        assert low < beside["difference"] < high
        assert beside["equivalence"]["p_equivalent"] <= beside["equivalence"]["p_equivalent_holm"]
    pairs = [one["beside_first_model"] for one in others]
    assert [one["p_holm"] for one in pairs] == pytest.approx(holm([one["p"] for one in pairs]), abs=1e-8)
    assert [one["test"] for one in pairs] == ["Tango's score test over items", "Student's test over items"]
    assert pairs[0]["test_exact"] == "McNemar's exact test"
    # The library takes the same, also from memory.
    alone = merilo.compare(paths[0], paths[1:], data=data, margin=0.4)
    assert alone.to_dict() == {**found, "clusters": alone.to_dict()["clusters"]}
    given = {name: {str(at): LABELS[(at + (not hit)) % 4] for at, (hit,) in enumerate(one)}
             for name, one in zip("ab", right, strict=False)}  # fmt: skip
    (pair,) = [one for one in merilo.compare(None, given, data=data).comparisons.values() if one.first]
    assert pair.first is not None
    assert pair.first.difference.value == pytest.approx(pairs[0]["difference"], abs=1e-6)


def test_clusters_make_the_interval_of_two_models_wider(tmp_path: Path) -> None:
    data = gold(tmp_path, 120)
    texts = np.repeat(drawn(5, 40, score=0.5), 3, axis=0)
    paths = [replies(tmp_path, "a", drawn(4, 120)), replies(tmp_path, "b", texts)]

    def beside(*words: str) -> dict:
        done = command("compare", *paths, "--data", data, *words, "--json", "-").json
        return done["models"][1]["beside_first_model"]

    plain, clustered = beside(), beside("--cluster", "text")
    assert (plain["clusters"], clustered["clusters"]) == (None, 40)
    assert clustered["cluster_design_effect"] > 1.5
    widths = [one["ci95"][1] - one["ci95"][0] for one in (plain, clustered)]
    assert widths[1] > 1.2 * widths[0]
    assert clustered["test"] == "Tango's score test over 40 clusters of items"


def test_two_models_differ_alike_with_people_and_without(people: tuple[Path, Path], tmp_path: Path) -> None:
    for model, wrong in (("first", 3), ("second", 12)):
        for name in ("bps", "lcs"):
            answers(tmp_path, name, tmp_path / model / f"{name}.jsonl", wrong=wrong)
    models = [tmp_path / "first", tmp_path / "second"]
    with_people = merilo.compare_datasets(people, models)
    runs = [asked(tmp_path, model, "bps,lcs", model) for model in ("gold", "most-frequent")]
    alone = merilo.compare_datasets([], runs)
    beside = merilo.compare_datasets(people, runs)
    for found in (with_people, alone, beside):
        pairs = [result.models[1].tests.first for result in found.results.values()]
        assert all(pairs)
        assert [one.corrected for one in pairs if one] == holm([one.p for one in pairs if one])
    for key, result in alone.results.items():
        assert (
            result.to_dict()["models"][1]["beside_first_model"]
            == (beside.results[key].to_dict()["models"][1]["beside_first_model"])
        )
    shown = command("compare", *runs)
    assert shown.status == 0
    assert "minus the first" in shown.out
    assert "One correction (Holm) is over all 2 comparisons" in shown.out
    items = tmp_path / "items.jsonl"
    assert command("compare", *runs, "--items", items).status == 0
    rows = [json.loads(line) for line in items.read_text(encoding="utf-8").splitlines()]
    assert {row["right"] for row in rows} == {"gold (built-in)"}


def test_cost_and_time_of_a_model_stand_beside_peoples(people: tuple[Path, Path], tmp_path: Path) -> None:
    record = people[0] / "baseline.json"
    content = json.loads(record.read_text(encoding="utf-8"))
    content["cost"] |= {"total": 8.0, "hours": 1.0, "currency": "USD", "answers": 200}
    content["cost"]["median_seconds_per_answer"] = 12.5
    record.write_text(json.dumps(content), encoding="utf-8")
    run = asked(tmp_path, "gold", "bps", "run")
    log = next((run / "log").glob("bps.jsonl"))
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    log.write_text(
        "".join(f"{json.dumps({**line, 'cost': 0.002, 'seconds': 1.5})}\n" for line in lines),
        encoding="utf-8",
    )
    found = command("compare", people[0], run, "--json", "-").json
    assert found["people_per_item"] == {"cost": 0.2, "seconds": 90.0, "currency": "USD"}
    assert found["people_per_answer"] == {"cost": 0.04, "seconds": 12.5, "currency": "USD"}
    assert found["models"][0]["per_item"] == {"cost": 0.002, "seconds": 1.5, "currency": "USD"}
    shown = command("compare", people[0], run).out
    assert all(text in shown for text in ("$0.20", "$0.04", "$0.0020", "90.0", "12.5", "1.5"))


@pytest.mark.parametrize("what", ["people", "models"])
def test_the_picture_has_a_row_a_dataset_and_the_margin(
    what: str,
    people: tuple[Path, Path],
    tmp_path: Path,
) -> None:
    runs = [asked(tmp_path, model, "bps,lcs", model) for model in ("most-frequent", "gold")]
    words = [*(people if what == "people" else ()), *runs, "--margin", "0.1"]
    texts = {}
    for name in ("a", "b"):
        assert command("compare", *words, "--chart", tmp_path / f"{name}.svg").status == 0
        root = ElementTree.parse(tmp_path / f"{name}.svg").getroot()
        texts[name] = [one.text for one in root.iter() if one.tag.endswith("text")]
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert {"BPS", "LCS", "acc, n = 40", "margin ±0.1", "gold (built-in)", "most-frequent (built-in)"} <= {
        *texts["a"]
    }
    assert ("a single person" in texts["a"]) == (what == "people")
    page = tmp_path / "page.html"
    assert command("compare", *words, "--out", page).status == 0
    assert '<section class="forest">' in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        ("a.jsonl", 2, "one model cannot be compared: give a second one, or a human baseline"),
        ("a.jsonl b.jsonl", 2, "without a baseline or a run, answers need --data FILE"),
        ("a.jsonl a.jsonl --data gold.json", 2, "is given twice"),
        ("a.jsonl ./a.jsonl --data gold.json", 2, "is given twice"),
        ("a.jsonl few.jsonl --data gold.json", 1, "59 of the 60 items of gold.json have no answer here"),
        ("a.jsonl others.jsonl --data gold.json", 1, "there is no item in common"),
        ("a.jsonl nan.jsonl --data gold.json", 2, "nan.jsonl"),
        ("a.jsonl b.jsonl --data closed.json", 1, "no item has a gold answer"),
        ("a.jsonl b.jsonl --data gold.json --margin nan", 2, "--margin"),
        ("a.jsonl b.jsonl --data gold.json --cluster nowhere", 2, "there is no field 'nowhere'"),
        ("a.jsonl b.jsonl --data gold.json --dataset rcb", 2, "is it a file of another dataset?"),
        ("run-bps run-bps2 --margin 0.1", 1, "BPS: --margin needs at least 10 items (the study has 8)"),
        ("run-bps a.jsonl --data gold.json", 2, "its items are not those that were asked"),
        ("a.jsonl b.jsonl --data gold.json --metric grade_norm", 2, "does not fit answers of kind"),
        ("a.jsonl b.jsonl --data gold.json --chart c.gif", 2, "takes a file that ends in .svg, .pdf or .png"),
        ("run-bps run-lcs", 1, "nothing to compare: no dataset has answers of two models"),
    ],
)
def test_bad_input_is_told_in_one_sentence(
    words: str, status: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    closed = json.loads(gold(tmp_path).read_text(encoding="utf-8"))
    for item in closed["data"]["test"]:
        item["outputs"] = ""
    (tmp_path / "closed.json").write_text(json.dumps(closed), encoding="utf-8")
    for name in "ab":
        replies(tmp_path, name, drawn(ord(name)))
    (tmp_path / "few.jsonl").write_text('{"id": 3, "answer": "A"}\n', encoding="utf-8")
    (tmp_path / "others.jsonl").write_text('{"id": "x", "answer": "A"}\n', encoding="utf-8")
    (tmp_path / "nan.jsonl").write_text('{"id": 1, "answer": NaN}\n', encoding="utf-8")
    for name, dataset in (("bps", "bps"), ("lcs", "lcs"), ("bps2", "bps")):
        if f"run-{name}" in words.split():
            command("run", "--shots", "0", "--model", "gold", "--datasets", dataset, "--out", f"run-{name}")
    done = command("compare", *words.split())
    assert (done.status, told in done.complaint) == (status, True), done.complaint


def test_one_item_in_common_equal_answers_and_other_texts(tmp_path: Path, people: tuple[Path, Path]) -> None:
    data = gold(tmp_path)
    paths = [replies(tmp_path, name, drawn(0)) for name in "ab"]
    equal = merilo.compare(paths[0], paths[1], data=data).models[1].tests.first
    assert equal is not None
    assert (equal.difference.value, equal.p) == (0.0, 1.0)
    assert equal.interval.low < 0 < equal.interval.high
    paths[1].write_text('{"id": 0, "answer": "B"}\n', encoding="utf-8")
    one = merilo.compare(paths[0], paths[1], data=data, force=True).models[1].tests.first
    assert one is not None
    assert (one.difference.n, one.verdict and one.verdict.outcome) == (1, "untold")
    with pytest.raises(DataError, match="59 of the 60 items"):
        merilo.compare(paths[0], paths[1], data=data)
    with pytest.raises(UsageError, match="one model cannot be compared"):
        merilo.compare(paths[0], data=data)
    runs = [asked(tmp_path, "gold", "bps", "first")]
    changed = items_of(tmp_path, "bps")
    changed[0]["inputs"] = ") ("
    content = {"data": {"test": changed}}
    (tmp_path / "data" / "bps.json").write_text(json.dumps(content), encoding="utf-8")
    runs.append(asked(tmp_path, "most-frequent", "bps", "second"))
    refused = command("compare", *runs)
    assert (refused.status, "differ" in refused.complaint) == (2, True), refused.complaint
