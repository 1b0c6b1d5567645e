"""People and models compared over several datasets: which argument is what, the table, the totals, bad input."""

import csv
import json
import shutil
from pathlib import Path
from zipfile import ZipFile

import pytest
from command import merilo
from compared_pools import RUN, answers, asked, pools
from harness_files import items_of as items_of_harness
from harness_files import lm_eval_choice, written
from scripted_respondent import ScriptedBackend
from study_people import NAMES, answered, bundled_study, visits

from merilo.datasets import dataset, names
from merilo.items import Item, Split, read_split, write_splits

#: What follows from the correction for several comparisons.
CORRECTED = {"p_holm", "verdict", "verdict_sentence"}


@pytest.fixture
def people(tmp_path: Path) -> tuple[Path, Path]:
    found = pools(tmp_path)
    return found / "bps" / "baseline", found / "lcs" / "baseline"


def compared(*words: object) -> dict:
    done = merilo("compare", *words, "--json", "-")
    assert done.status == 0, done.err
    return done.json


def test_every_dataset_that_both_have_is_compared_as_by_itself(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    run = asked(tmp_path, "most-frequent", "bps,lcs", "run")
    found = compared(run, *people)
    assert [*found["datasets"]] == ["bps", "lcs"]
    for key, baseline in zip(("bps", "lcs"), people, strict=True):
        alone, beside = compared(baseline, run), found["datasets"][key]
        # One correction is over all datasets, the other over one.
        assert all("Holm" in one.pop("correction") for one in (alone, beside))
        for one in (alone, beside):
            for match in one["models"][0]["comparisons"].values():
                for corrected in [name for name in match if name in CORRECTED]:
                    del match[corrected]
        assert beside == alone, "the order of arguments does not matter"


def test_the_table_has_people_on_top_and_the_verdicts_of_the_tests(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    for name in ("bps", "lcs"):
        answers(tmp_path, name, tmp_path / "careful" / f"{name}.jsonl", samples=5, wrong=2)
    found = compared(*people, tmp_path / "careful")
    table = found["table"]
    assert [column["dataset"] for column in table["columns"]] == ["bps", "lcs"]
    own = json.loads((people[0] / "baseline.json").read_text(encoding="utf-8"))["metrics"]["acc"]
    bps = table["people"]["bps"]
    assert (bps["value"], bps["ci95"], bps["n"]) == (own["value"], own["ci95_items_and_annotators"], own["n"])
    assert (bps["kind"], bps["simulated"]) == ("this baseline", True)
    (model,) = table["models"]
    assert model["model"] == "careful"
    for key, cell in model["datasets"].items():
        tests = found["datasets"][key]["models"][0]["comparisons"]
        assert cell["value"] == tests["consensus"]["model"] == 0.95
        for name, kind in (("beside_consensus", "consensus"), ("beside_single_person", "single")):
            assert cell[name]["verdict"] == tests[kind]["verdict"]
            assert cell[name]["tie"] == (tests[kind]["verdict"] in {"untold", "human_level"})
        assert cell["maj_at_k"]["value"] == tests["majority"]["model"]
        assert cell["maj_at_k"]["beside_majority"]["verdict"] == tests["majority"]["verdict"]


def test_equivalence_within_the_margin_is_a_tie_and_is_marked(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    model = answers(tmp_path, "bps", tmp_path / "careful" / "bps.jsonl", wrong=1)
    found = compared(*people, model, "--margin", "0.3")
    cell = found["table"]["models"][0]["datasets"]["bps"]
    assert cell["beside_consensus"]["verdict"] == "human_level"
    assert cell["beside_consensus"]["tie"] is True
    shown = merilo("compare", *people, model, "--margin", "0.3").out
    assert "0.975 [0.871–0.996] ≡" in shown
    assert "≡ equivalent within the margin" in shown


def test_the_total_is_the_mean_over_counted_datasets_and_names_the_missing(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    parus = dataset("parus")
    own = [
        Item(
            n,
            "{premise} {choice1} {choice2}",
            {"premise": f"p{n}", "choice1": "a", "choice2": "b"},
            "1",
            {"id": n, "task": "cause"},
        )
        for n in range(1, 5)
    ]
    write_splits(tmp_path / "data" / "parus.json", [Split("test", tuple(own))])
    found = compared(*people, asked(tmp_path, "gold", "bps,lcs,parus", "run"))
    total = found["total"]
    lcs = found["table"]["people"]["lcs"]["value"]
    published = next(one for one in parus.human if one.metric == "acc")
    assert total["people"]["datasets"] == ["lcs", "parus"], "BPS does not count in the total"
    assert total["people"]["value"] == pytest.approx((lcs + published.value) / 2, abs=1e-6)
    (model,) = total["models"].values()
    assert (model["value"], model["datasets"]) == (1.0, ["lcs", "parus"])
    counting = {name for name in names() if dataset(name).in_total}
    assert set(model["missing"]) == counting - {"lcs", "parus"}
    assert found["table"]["people"]["parus"]["kind"] == published.provenance
    assert found["table"]["people"]["parus"]["n"] == published.n
    assert found["not_compared"] == [
        {"dataset": "parus", "model": "gold (built-in)", "reason": "there is no baseline of this dataset"}
    ]


def test_one_model_in_several_prompts_is_several_models(people: tuple[Path, Path], tmp_path: Path) -> None:
    import merilo as library

    write_splits(tmp_path / "data" / "parus.json", [Split("test", tuple(items_of_harness("parus")))])
    runs = []
    for form, chosen in (
        ("harness", {"shots": 0}),
        ("merilo", {"prompts": "merilo", "shots": 0}),
        ("people", {"as_people": True}),
    ):
        runs.append(tmp_path / form)
        library.run(ScriptedBackend(), ["bps", "parus"], out=runs[-1], data=tmp_path / "data", **chosen)
    models = compared(*people, *runs)["table"]["models"]
    for name in ("bps", "parus"):  # with a baseline, and without one
        assert [one["model"] for one in models if name in one["datasets"]] == [
            "scripted",
            "scripted (prompts: merilo)",
            "scripted (prompts: people)",
        ]


def test_people_have_a_total_on_the_datasets_that_a_model_has(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    only = answers(tmp_path, "bps", tmp_path / "bps.only.jsonl")
    both = asked(tmp_path, "gold", "bps,lcs", "run")
    found = compared(*people, only, both)
    assert found["total"]["models"]["only"]["value"] is None
    assert found["total"]["models"]["only"]["people_on_the_same"] is None
    assert (
        found["total"]["models"]["gold (built-in)"]["people_on_the_same"]
        == found["table"]["people"]["lcs"]["value"]
    )
    assert {"dataset": "lcs", "model": "only", "reason": "it has no answers to this dataset"} in found[
        "not_compared"
    ]


def test_another_metric_has_no_total(people: tuple[Path, Path], tmp_path: Path) -> None:
    run = asked(tmp_path, "most-frequent", "bps,lcs", "run")
    found = compared(*people, run, "--metric", "f1_macro")
    assert found["total"] is None
    assert {column["metric"] for column in found["table"]["columns"]} == {"f1_macro"}
    refused = merilo("compare", *people, run, "--metric", "grade_norm")
    assert (refused.status, "does not fit answers of kind" in refused.complaint) == (2, True)


def test_a_file_belongs_to_the_dataset_of_its_name_or_its_folder(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    for to, model in (
        ("a.lcs.jsonl", "a"),
        ("lcs_b.jsonl", "b"),
        ("lcs/c.jsonl", "c"),
        ("d/lcs.jsonl", "d"),
    ):
        found = compared(*people, answers(tmp_path, "lcs", tmp_path / "made" / to))
        assert [*found["datasets"]] == ["lcs"]
        assert found["datasets"]["lcs"]["models"][0]["model"] == model
    refused = merilo("compare", *people, answers(tmp_path, "lcs", tmp_path / "e.jsonl"))
    assert refused.status == 2
    assert (
        "could belong to several baselines (bps, lcs): begin its name with its dataset" in refused.complaint
    )


def test_a_folder_of_logs_has_a_log_of_each_dataset(people: tuple[Path, Path], tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("bps", "lcs"):
        items = read_split(tmp_path / "data" / f"{name}.json").items
        written(
            logs / f"samples_{name}.jsonl",
            [lm_eval_choice(at, name, item, str(item.outputs)) for at, item in enumerate(items)],
        )
    found = compared(*people, logs)
    assert [*found["datasets"]] == ["bps", "lcs"]
    (model,) = found["table"]["models"]
    assert model["model"] == "logs", "lm-eval's samples do not name the model"
    assert {cell["value"] for cell in model["datasets"].values()} == {1.0}
    written(
        logs / "samples_bps_again.jsonl", [json.loads(line) for line in (logs / "samples_bps.jsonl").open()]
    )
    refused = merilo("compare", *people, logs)
    assert (refused.status, "holds 2 logs with items of the dataset" in refused.complaint) == (1, True)


def test_a_log_of_another_dataset_is_refused(people: tuple[Path, Path], tmp_path: Path) -> None:
    rows = [lm_eval_choice(at, "parus", item, "1") for at, item in enumerate(items_of_harness("parus"))]
    refused = merilo("compare", *people, written(tmp_path / "samples_parus.jsonl", rows))
    assert (refused.status, "has no items of the baselines (bps, lcs)" in refused.complaint) == (1, True)


def test_a_dataset_with_two_main_metrics_counts_by_their_mean(tmp_path: Path) -> None:
    folder = bundled_study(tmp_path / "study", "rcb", overlap=5)
    assert (
        merilo("study", "export", folder.path, "--platform", "table", "--out", tmp_path / "export").status
        == 0
    )
    file = tmp_path / NAMES["table"]
    file.write_text(answered("table", tmp_path / "export", visits(folder, people=8)), encoding="utf-8")
    assert merilo("study", "import", folder.path, file).status == 0
    assert merilo("study", "baseline", folder.path, "--out", tmp_path / "people").status in {0, 1}
    done = merilo("run", "--model", "most-frequent", "--study", folder.path, "--out", tmp_path / "run")
    assert done.status == 0, done.err
    found = compared(tmp_path / "people", tmp_path / "run", "--format", "table")
    scores = merilo("score", tmp_path / "run", "--json", "-").json["datasets"]["rcb"]["metrics"]
    cell = found["table"]["models"][0]["datasets"]["rcb"]["main_metrics"]
    assert cell == {name: pytest.approx(scores[name]["value"], abs=1e-6) for name in ("acc", "f1_macro")}
    (total,) = found["total"]["models"].values()
    assert total["value"] == pytest.approx((cell["acc"] + cell["f1_macro"]) / 2, abs=1e-6)
    own = json.loads((tmp_path / "people" / "baseline.json").read_text(encoding="utf-8"))["metrics"]
    expected = (own["acc"]["value"] + own["f1_macro"]["value"]) / 2
    assert found["total"]["people"]["value"] == pytest.approx(expected, abs=1e-6)


def test_the_items_are_written_as_csv_json_and_jsonl(people: tuple[Path, Path], tmp_path: Path) -> None:
    model = answers(tmp_path, "bps", tmp_path / "m.bps.jsonl", wrong=4)
    opposite = compared(*people, model)["datasets"]["bps"]["models"][0]["opposite_outcomes"]
    wanted = [("people", name) for name in opposite["only_people"]] + [
        ("model", name) for name in opposite["only_model"]
    ]
    assert wanted
    for suffix in ("csv", "json", "jsonl"):
        file = tmp_path / f"items.{suffix}"
        assert merilo("compare", *people, model, "--items", file).status == 0
        text = file.read_text(encoding="utf-8")
        rows = (
            [*csv.DictReader(text.splitlines())]
            if suffix == "csv"
            else json.loads(text)["items"]
            if suffix == "json"
            else [json.loads(line) for line in text.splitlines()]
        )
        assert [(row["right"], row["id"]) for row in rows] == wanted
    again = merilo("compare", *people, model, "--items", tmp_path / "items.csv")
    assert (again.status, "items.csv" in again.complaint) == (2, True)
    assert merilo("compare", *people, model, "--items", tmp_path / "items.txt").status == 2


def test_the_table_is_markdown_and_latex_with_every_number_of_items(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    model = answers(tmp_path, "bps", tmp_path / "under_score%.bps.jsonl")
    text = merilo("compare", *people, model, "--format", "markdown").out
    assert text.startswith("|  | BPS<br>acc | LCS<br>acc | total |")
    assert "n = 40" in text
    assert "under\\_score%" in text
    latex = merilo("compare", *people, model, "--format", "latex").out
    assert r"under\_score\%" in latex
    assert r"$\uparrow$" in latex or r"$\approx$" in latex
    assert "≈" not in latex
    assert r"\\ {}[0." in latex
    assert r"\\ [" not in latex, "LaTeX reads a bracket after a line break as its argument"
    table = merilo("compare", people[0], model, "--format", "markdown", "--out", tmp_path / "t.md")
    assert table.out == ""
    assert "| people, consensus |" in (tmp_path / "t.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("what", ["twice", "common", "empty", "zip", "nothing", "folder", "no model"])
def test_bad_input_is_refused_in_one_sentence(what: str, people: tuple[Path, Path], tmp_path: Path) -> None:
    good = answers(tmp_path, "bps", tmp_path / "m.bps.jsonl")
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("x")
    with ZipFile(tmp_path / "base.zip", "w") as archive:
        archive.write(people[0] / "baseline.json", "baseline.json")
    if what == "twice":
        shutil.copytree(people[0], tmp_path / "again")
    words, status, told = {
        "twice": ([*people, tmp_path / "again", good], 2, "are both baselines of bps"),
        "common": (
            [people[0], people[1], "RUN"],
            1,
            "has no dataset in common with the baselines: it has parus",
        ),
        "empty": ([*people, tmp_path / "empty"], 2, "is an empty folder"),
        "zip": ([*people, tmp_path / "base.zip"], 2, "is a ZIP archive: unpack it"),
        "nothing": ([*people, tmp_path / "nowhere"], 2, "does not exist"),
        "folder": ([*people, tmp_path / "other"], 2, "no file of answers named after a dataset (bps, lcs)"),
        "no model": ([*people], 2, "give a model too"),
    }[what]
    if "RUN" in words:
        done = merilo(*RUN, "--model", "gold", "--datasets", "parus", "--out", tmp_path / "run")
        assert done.status == 0, done.err
        words = [*people, tmp_path / "run"]
    refused = merilo("compare", *words)
    assert (refused.status, told in refused.complaint) == (status, True), refused.complaint


def test_the_terminal_shows_the_table_first_each_warning_once_and_the_tests_as_details(
    people: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    models = [tmp_path / model for model in ("careful", "hasty", "third-model-with-a-longer-name", "fourth")]
    for place, model in enumerate(models):
        for name in ("bps", "lcs"):
            answers(tmp_path, name, model / f"{name}.jsonl", wrong=2 + place)
    # A file that leaves out two items gives a warning with two numbers in it for each of its datasets.
    for name in ("bps", "lcs"):
        lines = (models[0] / f"{name}.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        (models[0] / f"{name}.jsonl").write_text(
            "".join(lines[: -1 if name == "bps" else -2]), encoding="utf-8"
        )
    done = merilo("compare", *people, *models, "--force")
    lines = done.out.splitlines()
    assert lines[0].strip() == "People and models"
    assert len(lines) + len(done.err.splitlines()) < 40
    assert max(map(len, lines)) <= 110
    assert "for these annotators" not in done.out
    assert done.err.splitlines() == [
        "merilo: bps, careful: 1 item of the baseline without an answer of careful: left out (and 1 more like this)",
        "merilo: 4 models: the first comparison sets a consensus of several people beside single answers of the "
        "model, which favours the people",
    ]
    detailed = merilo("compare", *people, *models, "--force", "--details")
    assert detailed.out.count("p 2 by McNemar's exact test for these annotators") == 2, (
        "once for each dataset"
    )
    assert detailed.out.count("first model 0.9") == 6, "a row for each other model and dataset"
    assert detailed.err.count("without an answer of careful") == 2


@pytest.mark.parametrize("rejected", [False, True])
def test_a_rejected_baseline_is_not_peoples_total(
    rejected: bool, people: tuple[Path, Path], tmp_path: Path
) -> None:
    record = people[1] / "baseline.json"
    content = json.loads(record.read_text(encoding="utf-8"))
    content["status"] = "rejected" if rejected else "accepted"
    record.write_text(json.dumps(content), encoding="utf-8")
    run = asked(tmp_path, "gold", "bps,lcs", "run")
    found = compared(*people, run)["total"]
    value = None if rejected else content["metrics"]["acc"]["value"]
    assert found["people"]["value"] == value, "BPS does not count in the total"
    assert found["models"]["gold (built-in)"]["people_on_the_same"] == value
    assert found["models"]["gold (built-in)"]["value"] == 1.0
    shown = merilo("compare", *people, run).out
    assert ("Rejected baselines do not count in people’s total: LCS." in shown) == rejected


def test_a_run_of_other_items_is_refused(people: tuple[Path, Path], tmp_path: Path) -> None:
    content = json.loads((tmp_path / "data" / "lcs.json").read_text(encoding="utf-8"))
    content["data"]["test"][3]["inputs"] = "ABC CBA"
    (tmp_path / "data" / "lcs.json").write_text(json.dumps(content), encoding="utf-8")
    refused = merilo("compare", *people, asked(tmp_path, "gold", "bps,lcs", "run"))
    assert refused.status == 2
    assert "the run asked other items than the baseline" in refused.complaint


def test_an_unfinished_run_is_refused_and_force_compares_what_it_has(
    people: tuple[Path, Path], tmp_path: Path
) -> None:
    run = asked(tmp_path, "gold", "bps,lcs", "run")
    lines = (run / "bps.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "bps.jsonl").write_text("".join(lines[:30]), encoding="utf-8")
    refused = merilo("compare", *people, run)
    assert refused.status == 1
    assert "the run is unfinished" in refused.complaint
    assert "the same 'merilo run' asks them" in refused.complaint
    forced = compared(*people, run, "--force")
    cell = forced["table"]["models"][0]["datasets"]["bps"]
    assert cell["n"] == 30
    assert forced["table"]["people"]["bps"]["n"] == 40
