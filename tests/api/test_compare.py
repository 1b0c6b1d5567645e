"""Which argument of a comparison is what, several datasets and totals, models without people, bad input."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from command import merilo as command
from compared_study import guesses, model, study
from exports import write_items, write_lines
from harness_files import items_of as items_of_harness
from harness_files import lm_eval_choice, written
from model_backends import LocalBackend, by_likelihood
from simulated_pool import RUN, answers, asked, items_of, pools
from study_people import bundled_study, collect, visits

import merilo
from merilo.baselines.baseline import Baseline
from merilo.baselines.published_folder import load
from merilo.datasets import dataset, names
from merilo.datasets.dataset_files import read_split
from merilo.errors import DataError, UsageError
from merilo.items import Item, Split, write_splits
from merilo.reports.comparison import Comparison
from merilo.statistics.crossed import holm

LABELS = "ABCD"


@pytest.fixture
def people(tmp_path: Path) -> tuple[Path, Path]:
    found = pools(tmp_path)
    return found / "bps" / "baseline", found / "lcs" / "baseline"


def told(found: Comparison) -> list[tuple[str, str, str]]:
    return [(row.dataset, row.model, row.beside) for row in found.rows]


def test_every_dataset_that_both_have_is_compared_whatever_the_order(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    run = asked(tmp_path, "most-frequent", "bps,lcs", "run")
    found = merilo.compare(run, *people)
    name = "most-frequent (built-in)"
    assert told(found) == [(key, name, kind) for key in ("bps", "lcs") for kind in ("consensus", "person")]
    for baseline, rows in zip(people, (found.rows[:2], found.rows[2:]), strict=True):
        for alone, row in zip(merilo.compare(baseline, run).rows[:2], rows, strict=True):
            assert (alone.difference, alone.score) == (row.difference, row.score)
            assert alone.p <= row.p, "one correction is over both datasets"
    done = command("compare", run, *people, "--json", "-")
    assert done.json == json.loads(json.dumps(found.to_json()))


def test_the_total_is_the_mean_over_counted_datasets_and_names_the_missing(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    parus = dataset("parus")
    fields = {"choice1": "a", "choice2": "b"}
    own = [
        Item(
            n,
            "{premise} {choice1} {choice2}",
            {"premise": f"p{n}", **fields},
            "1",
            {"id": n, "task": "cause"},
        )
        for n in range(1, 5)
    ]
    write_splits(tmp_path / "data" / "parus.json", [Split("test", tuple(own))])
    only = answers(tmp_path, "bps", tmp_path / "bps.only.jsonl")
    found = merilo.compare(*people, asked(tmp_path, "gold", "bps,lcs,parus", "run"), only)
    totals = {one.model: one for one in found.totals}
    lcs = next(row for row in found.rows if row.dataset == "lcs").people.value
    published = next(one for one in parus.human if one.metric == "acc")
    expected = pytest.approx((lcs + published.value) / 2, abs=1e-6)
    assert (totals[""].datasets, totals[""].value) == (("lcs", "parus"), expected), "BPS does not count"
    gold = totals["gold (built-in)"]
    assert (gold.value, gold.people, gold.datasets) == (1.0, expected, ("lcs", "parus"))
    assert "only" not in totals
    assert {*found.missing} == {name for name in names() if dataset(name).in_total} - {"lcs", "parus"}
    row = found.rows[-1]
    human = row.dataset, row.people.value, row.people.n, row.people.reason, row.p
    assert human == ("parus", published.value, published.n, published.provenance, None)
    assert "not tested" in row.sentence.en
    assert any("only: it has no answers to lcs" in one.sentence.en for one in found.findings)


@pytest.mark.parametrize("rejected", [False, True])
def test_a_rejected_baseline_is_not_peoples_total(
    rejected: bool, people: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judged(folder: Path, **options: object) -> Baseline:
        status = {"status": "rejected"} if rejected and folder == people[1] else {}
        return load(folder, **options).model_copy(update=status)

    monkeypatch.setattr("merilo.reports.comparison.load", judged)
    found = merilo.compare(*people, asked(tmp_path, "gold", "bps,lcs", "run"))
    record = json.loads((people[1] / "baseline.json").read_text(encoding="utf-8"))
    value = None if rejected else record["metrics"]["acc"]["value"]
    assert {(one.model, one.value, one.people) for one in found.totals} == {
        ("", value, value),
        ("gold (built-in)", 1.0, value),
    }
    assert [one.code for one in found.findings if one.rejects] == ["rejected"] * rejected


def test_a_dataset_with_two_main_metrics_counts_by_their_mean(tmp_path: Path) -> None:
    folder = bundled_study(tmp_path / "study", "rcb", overlap=5)
    collect(folder.path, tmp_path, "table", visits(folder, people=8))
    assert command("study", "baseline", folder.path, "--out", tmp_path / "people").status in {0, 1}
    done = command("run", "--model", "most-frequent", "--study", folder.path, "--out", tmp_path / "run")
    assert done.status == 0, done.err
    found = merilo.compare(tmp_path / "people", tmp_path / "run")
    scores = command("score", tmp_path / "run", "--json", "-").json["datasets"]["rcb"]["metrics"]
    expected = (scores["acc"]["value"] + scores["f1_macro"]["value"]) / 2
    assert found.rows[0].counted[0] == pytest.approx(expected, abs=1e-6)
    own = json.loads((tmp_path / "people" / "baseline.json").read_text(encoding="utf-8"))["metrics"]
    expected = (own["acc"]["value"] + own["f1_macro"]["value"]) / 2
    assert found.totals[0].value == pytest.approx(expected, abs=1e-6)


def test_one_model_in_several_prompts_is_several_models(people: tuple[Path, Path], tmp_path: Path) -> None:
    write_splits(tmp_path / "data" / "parus.json", [Split("test", tuple(items_of_harness("parus")))])
    runs = []
    for form, chosen in (
        ("harness", {"shots": 0}),
        ("merilo", {"prompts": "merilo", "shots": 0}),
        ("people", {"as_people": True}),
    ):
        runs.append(tmp_path / form)
        merilo.run(
            LocalBackend(by_likelihood, chat=False, modes=("generate", "loglikelihood"), model="scripted"),
            ["bps", "parus"],
            out=runs[-1],
            data=tmp_path / "data",
            **chosen,
        )
    record = json.loads((runs[0] / "run.json").read_text(encoding="utf-8"))
    record["datasets"]["bps"]["shots"] = 2
    (runs[0] / "run.json").write_text(json.dumps(record), encoding="utf-8")
    found = merilo.compare(*people, *runs)
    expected = ["scripted", "scripted (prompts: merilo)", "scripted (prompts: people)"]
    for name in ("bps", "parus"):  # with a baseline, and without one
        assert list(dict.fromkeys(row.model for row in found.rows if row.dataset == name)) == expected
    shots = [one.sentence.en for one in found.findings if one.code == "shots"]
    assert shots == ["scripted: asked with 2 solved examples, which people did not see"]


def test_a_file_belongs_to_the_dataset_of_its_name_or_its_folder(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    for to, name in (("a.lcs.jsonl", "a"), ("lcs_b.jsonl", "b"), ("lcs/c.jsonl", "c"), ("d/lcs.jsonl", "d")):
        found = merilo.compare(*people, answers(tmp_path, "lcs", tmp_path / "made" / to))
        assert told(found)[0] == ("lcs", name, "consensus")
    with pytest.raises(UsageError, match="could belong to several baselines"):
        merilo.compare(*people, answers(tmp_path, "lcs", tmp_path / "e.jsonl"))


def test_a_folder_of_logs_has_a_log_of_each_dataset(people: tuple[Path, Path], tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("bps", "lcs"):
        items = read_split(tmp_path / "data" / f"{name}.json").items
        rows = [lm_eval_choice(at, name, item, str(item.outputs)) for at, item in enumerate(items)]
        written(logs / f"samples_{name}.jsonl", rows)
    found = merilo.compare(*people, logs)
    assert told(found)[::2] == [("bps", "logs", "consensus"), ("lcs", "logs", "consensus")]
    assert {row.score.value for row in found.rows} == {1.0}
    shutil.copy(logs / "samples_bps.jsonl", logs / "samples_bps_again.jsonl")
    with pytest.raises(DataError, match="holds 2 logs with items of the dataset"):
        merilo.compare(*people, logs)
    rows = [lm_eval_choice(at, "parus", item, "1") for at, item in enumerate(items_of_harness("parus"))]
    with pytest.raises(DataError, match=r"has no items of the baselines \(bps, lcs\)"):
        merilo.compare(*people, written(tmp_path / "samples_parus.jsonl", rows))


def test_answers_are_files_tables_and_mappings(tmp_path: Path) -> None:
    folder, given = study(tmp_path), guesses(samples=2)
    rows = merilo.compare(folder, model(tmp_path / "m.csv", given)).rows
    write_lines(tmp_path / "m.jsonl", *({"id": item, "answer": one} for item, one in given.items()))
    write_items(tmp_path / "m.json", *({"outputs": one, "meta": {"id": item}} for item, one in given.items()))
    for source in ({"m": given}, {"m": tmp_path / "m.csv"}, tmp_path / "m.jsonl", tmp_path / "m.json"):
        assert merilo.compare(folder, source).rows == rows
    text = {**dict.fromkeys(given, "A"), "q1": '["A", "B"]'}
    assert merilo.compare(folder, {"m": text}).rows[0].score.n == 40


def gold(folder: Path) -> Path:
    entries = [
        {"instruction": "{question}", "inputs": {"question": f"question {at}"}, "outputs": LABELS[at % 4], "meta": {"id": at}}
        for at in range(60)
    ]  # fmt: skip
    return write_items(folder / "gold.json", *entries)


def replies(folder: Path, name: str, right: Sequence[Sequence[bool]]) -> Path:
    rows = [
        {"id": at, "answer": LABELS[(at + (not hit)) % 4], "sample": sample}
        for at, samples in enumerate(right)
        for sample, hit in enumerate(samples, start=1)
    ]
    return write_lines(folder / f"{name}.jsonl", *rows)


def drawn(seed: int, samples: int = 1, score: float = 0.7) -> np.ndarray:
    return np.random.default_rng(seed).random((60, samples)) < score


def test_models_without_people_are_compared_with_the_first_and_corrected_together(tmp_path: Path) -> None:
    data = gold(tmp_path)
    right = [drawn(0), drawn(1, score=0.95), drawn(2, samples=3)]
    paths = [replies(tmp_path, name, one) for name, one in zip("abc", right, strict=True)]
    found = merilo.compare(*paths, data=data, margin=0.4)
    assert [(row.model, row.beside, row.other) for row in found.rows] == [
        ("b", "model", "a"),
        ("c", "model", "a"),
    ]
    means = [one.mean(axis=1) for one in right]
    for row, mean in zip(found.rows, means[1:], strict=True):
        assert row.difference.value == pytest.approx((mean - means[0]).mean(), abs=1e-6)
        assert row.difference.people is None
        assert row.sentence.en.startswith(f"{row.model} is ")
    alone = [merilo.compare(paths[0], path, data=data).rows[0].p for path in paths[1:]]
    assert [row.p for row in found.rows] == pytest.approx(holm(alone), abs=1e-8)
    same = merilo.compare(paths[0], replies(tmp_path, "d", right[0]), data=data).rows[0]
    assert (same.difference.value, same.p, same.verdict) == (0.0, 1.0, "untold")


def test_runs_know_their_items(people: tuple[Path, Path], tmp_path: Path) -> None:
    runs = [asked(tmp_path, name, "bps,lcs", name) for name in ("gold", "most-frequent")]
    found = merilo.compare(*runs)
    name = "most-frequent (built-in)"
    assert told(found) == [("bps", name, "model"), ("lcs", name, "model")]
    assert all(row.verdict == "below" and "gold (built-in)" in row.sentence.en for row in found.rows)
    changed = items_of(tmp_path, "bps")
    changed[0]["inputs"] = ") ("
    write_items(tmp_path / "data" / "bps.json", *changed)
    refused = command("compare", runs[0], asked(tmp_path, "most-frequent", "bps", "second"))
    assert (refused.status, "differ" in refused.complaint) == (2, True), refused.complaint
    refused = command("compare", people[0], tmp_path / "second")
    assert "the run asked other items than the baseline" in refused.complaint


def test_an_unfinished_run_is_refused_and_force_compares_what_it_has(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    run = asked(tmp_path, "gold", "bps,lcs", "run")
    lines = (run / "bps.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "bps.jsonl").write_text("".join(lines[:30]), encoding="utf-8")
    refused = command("compare", *people, run)
    assert refused.status == 1
    assert "the run is unfinished" in refused.complaint
    assert "the same 'merilo run' asks them" in refused.complaint
    found = merilo.compare(*people, run, force=True)
    assert [row.score.n for row in found.rows] == [30, 30, 40, 40]
    assert {one.code for one in found.findings} == {"simulated", "not_answered", "outcomes"}
    (finding,) = [one for one in found.findings if one.code == "not_answered"]
    assert len(finding.items) == 10


def test_the_time_of_a_person_stands_beside_the_price_of_a_run(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    record = json.loads((people[0] / "baseline.json").read_text(encoding="utf-8"))
    seconds = record["cost"]["median_seconds_per_answer"]
    run = asked(tmp_path, "gold", "bps", "run")
    log = run / "log" / "bps.jsonl"
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    log.write_text("".join(f"{json.dumps({**line, 'cost': 0.002})}\n" for line in lines), encoding="utf-8")
    row = merilo.compare(people[0], run).rows[0]
    assert (row.seconds, row.usd) == (pytest.approx(seconds, abs=1e-6), pytest.approx(0.002))
    assert command("compare", people[0], run, "--out", tmp_path / "t.md").status == 0
    assert f"| {seconds:.1f} | $0.0020 |" in (tmp_path / "t.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "status", "complaint"),
    [
        ("a.jsonl", 2, "one model cannot be compared: give a second one, or a human baseline"),
        ("a.jsonl b.jsonl", 2, "without a baseline or a run, answers need --data FILE"),
        ("a.jsonl ./a.jsonl --data gold.json", 2, "is given twice"),
        ("a.jsonl few.jsonl --data gold.json", 1, "59 of the 60 items of gold.json have no answer here"),
        ("a.jsonl others.jsonl --data gold.json", 1, "there is no item in common"),
        ("a.jsonl nan.jsonl --data gold.json", 2, "nan.jsonl"),
        ("a.jsonl b.jsonl --data closed.json", 1, "no item has a gold answer"),
        ("a.jsonl b.jsonl --data gold.json --margin nan", 2, "--margin takes a difference between 0 and 1"),
        ("a.jsonl b.jsonl --data gold.json --margin 1", 2, "--margin takes a difference between 0 and 1"),
        ("a.jsonl b.jsonl --data gold.json --dataset rcb", 2, "is it a file of another dataset?"),
        ("a.jsonl b.jsonl --data gold.json --out c.gif", 2, "a file that ends in .html, .md, .tex, .csv"),
        ("run-bps a.jsonl --data gold.json", 2, "its items are not those that were asked"),
        ("run-bps run-lcs", 1, "nothing to compare: no dataset has answers of two models"),
        ("bps lcs again bps.m.jsonl", 2, "are both baselines of bps"),
        ("bps lcs run-parus", 1, "has no dataset in common with the baselines: it has parus"),
        ("bps lcs empty", 2, "is an empty folder"),
        ("bps lcs base.zip", 2, "is a ZIP archive: unpack it"),
        ("bps lcs nowhere", 2, "does not exist"),
        ("bps lcs other", 2, "no file of answers named after a dataset (bps, lcs)"),
        ("bps lcs", 2, "give a model too"),
        ("bps bps.m.jsonl --json bps/baseline.json", 2, "would be overwritten"),
        ("bps bps.m.jsonl --dataset lcs", 2, "is for models without a baseline"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    words: str, status: int, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = words.split()
    closed = json.loads(gold(tmp_path).read_text(encoding="utf-8"))
    for item in closed["data"]["test"]:
        item["outputs"] = ""
    (tmp_path / "closed.json").write_text(json.dumps(closed))
    for name in "ab":
        replies(tmp_path, name, drawn(ord(name)))
    for name, line in (("few", '{"id": 3, "answer": "A"}'), ("others", '{"id": "x", "answer": "A"}'), ("nan", '{"id": 1, "answer": NaN}')):  # fmt: skip
        (tmp_path / f"{name}.jsonl").write_text(f"{line}\n")
    for name in given:
        if name.startswith("run-"):
            command(*RUN, "--model", "gold", "--datasets", name.removeprefix("run-"), "--out", name)
    if "bps" in given:
        made = pools(tmp_path)
        answers(tmp_path, "bps", tmp_path / "bps.m.jsonl")
        for name, to in (("bps", "bps"), ("lcs", "lcs"), ("bps", "again")):
            shutil.copytree(made / name / "baseline", tmp_path / to)
        (tmp_path / "empty").mkdir()
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "notes.txt").write_text("x")
        with ZipFile(tmp_path / "base.zip", "w") as archive:
            archive.write(tmp_path / "bps" / "baseline.json", "baseline.json")
    done = command("compare", *given)
    assert (done.status, complaint in done.complaint) == (status, True), done.complaint


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("id,answer\nq0,A\nq0,B\n", "answered twice"),
        ("id,comment\nq0,A\n", "needs columns 'id' and 'answer'"),
        ("", ""),
        ("id,answer\n,A\n", "but no id"),
        ('{"id": "q0", "answer": []}', "row 1: the list of answers is empty"),
        ('{"id": "q0", "answer": [["A"]]}', "neither a text nor a list"),
        ('{"id": ', ""),
        ("\x00" * 100, ""),
    ],
)
def test_files_that_are_no_answers_are_refused(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / ("m.jsonl" if text.startswith("{") else "m.csv")
    file.write_text(text)
    done = command("compare", study(tmp_path), file)
    assert (done.status, complaint in done.complaint) == (2, True)
    assert "unexpected" not in done.complaint


def test_other_items_are_refused_unless_forced(tmp_path: Path) -> None:
    folder, given = study(tmp_path), guesses()
    del given["q3"], given["q7"]
    given["q99"] = ["A"]
    refused = command("compare", folder, model(tmp_path / "m.csv", given))
    assert refused.status == 1
    assert "2 of the 40 items" in refused.complaint
    assert "1 answer is to items outside the baseline" in refused.complaint
    forced = merilo.compare(folder, tmp_path / "m.csv", force=True)
    assert {row.score.n for row in forced.rows} == {38}
    assert [(one.code, one.items) for one in forced.findings] == [
        ("not_answered", ("q3", "q7")),
        ("other_items", ("q99",)),
    ]


def test_items_without_a_consensus_count_beside_one_person_alone(tmp_path: Path) -> None:
    folder = study(tmp_path, "--resolve", "none", "--min-votes", 3)
    found = merilo.compare(folder, model(tmp_path / "m.csv", guesses()))
    (undecided,) = [one for one in found.findings if one.code == "undecided"]
    assert [row.score.n for row in found.rows] == [40 - len(undecided.items), 40]


def test_a_baseline_without_gold_takes_it_from_the_items(tmp_path: Path) -> None:
    with_gold = study(tmp_path)
    command(
        "baseline", tmp_path / "answers.csv", "--platform", "table", "--item", "text", "--annotator", "annotator",
        "--answer", "answer", "--min-votes", "2", "--out", tmp_path / "blind",
    )  # fmt: skip
    file = model(tmp_path / "m.csv", guesses())
    with pytest.raises(DataError, match="add data"):
        merilo.compare(tmp_path / "blind", file)
    one, other = (
        merilo.compare(*sources) if len(sources) == 2 else merilo.compare(*sources[:2], data=sources[2])
        for sources in ((with_gold, file), (tmp_path / "blind", file, tmp_path / "items.csv"))
    )
    assert [(row.difference, row.p) for row in one.rows] == [(row.difference, row.p) for row in other.rows]
