"""Answers and metrics in the formats of other tools: their own readers take them, and they say what ours say."""

import json
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
import yaml
from command import merilo as command

import merilo

EVERY_EVAL_EVER = shutil.which("every_eval_ever")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A baseline of BPS with an excluded person and an item without a consensus, a closed one, and a run."""
    folder = tmp_path_factory.mktemp("people")
    for name, gold in (("bps", "01"), ("lcs", "37")):
        command("datasets", "generate", name, "--size", "8", "--seed", "1", "--out", folder / f"{name}.json")
        items = merilo.dataset(name), json.loads((folder / f"{name}.json").read_text())
        rows = []
        for place, item in enumerate(items[1]["data"]["test"]):
            for person in range(5):
                known = item["outputs"] if place > 5 else None
                wrong = person == 4 or (place + person) % 4 == 0
                answer = next(one for one in gold if one != item["outputs"]) if wrong else item["outputs"]
                rows.append((item["inputs"], f"person-{person}", answer, known, 4.0 + person))
        schema = ["inputs", "worker", "label", "golden", "seconds"]
        pool = pl.DataFrame(rows, schema=schema, orient="row")
        responses = merilo.read_responses(pool, item=["inputs"], control="golden", seconds="seconds")
        base = merilo.baseline(responses, dataset=name, gold=folder / f"{name}.json")
        base.save(folder / f"{name}-people")
        assert base.answers.filter(pl.col("became") == "used").height < len(rows)
    asked = merilo.run(
        "random",
        ["bps"],
        data=str(folder / "bps.json"),
        out=folder / "run",
        samples=2,
        temperature=1.0,
        shots=0,
    )
    assert asked.is_complete
    return folder


def exported(made: Path, source: str, form: str, tmp_path: Path, *more: str) -> Path:
    out = tmp_path / form / source
    done = command("report", "export", made / source, "--format", form, "--out", out, *more)
    assert done.status == 0, done.err
    return out


def points(made: Path) -> pl.DataFrame:
    record = json.loads((made / "bps-people" / "baseline.json").read_text())
    assert record["metrics"]["acc"]["n"] == 6
    used = pl.read_parquet(made / "bps-people" / "responses.parquet").filter(pl.col("became") == "used")
    gold = pl.read_parquet(made / "bps-people" / "consensus.parquet").select("item", "gold")
    return used.join(gold, on="item").with_columns(right=pl.col("answer") == pl.col("gold"))


def test_people_are_a_log_of_inspect_with_an_epoch_each(made: Path, tmp_path: Path) -> None:
    inspect_log = pytest.importorskip("inspect_ai.log")
    out = exported(made, "bps-people", "inspect", tmp_path, "--repo", "lab/bps")
    log = inspect_log.read_eval_log(str(out / "bps-human-single-person.json"))
    right = points(made)
    assert log.status == "success"
    assert len(log.samples) == right.height
    assert log.eval.config.epochs == right["respondent"].n_unique() == 4
    assert sum(one.scores["merilo"].value == "C" for one in log.samples) == right["right"].sum()
    assert len({one.metadata["annotator"] for one in log.samples}) == 4
    assert all(4 <= one.total_time <= 8 for one in log.samples)
    task = yaml.safe_load((out / "eval.yaml").read_text())["tasks"][0]
    record = json.loads((made / "bps-people" / "baseline.json").read_text())
    assert task["human_baseline"]["score"] == record["metrics"]["acc"]["value"]


def test_a_person_is_samples_of_lm_eval_that_score_as_the_person_does(made: Path, tmp_path: Path) -> None:
    out = exported(made, "bps-people", "lm-eval", tmp_path)
    scored = [
        merilo.score(log, dataset="bps", data=made / "bps.json").metrics["acc"].value
        for log in out.glob("annotator-*/samples_bps_*.jsonl")
    ]
    own = points(made).group_by("respondent").agg(pl.col("right").mean())["right"]
    assert sorted(scored) == pytest.approx(own.sort().to_list())


@pytest.mark.parametrize("source", ["bps-people", "lcs-people", "run"])
def test_records_of_every_eval_ever_are_whole_and_hide_closed_answers(
    made: Path, tmp_path: Path, source: str
) -> None:
    out = exported(made, source, "every-eval-ever", tmp_path, "--organisation", "a laboratory")
    files = sorted(path.relative_to(out).as_posix() for path in out.rglob("*.json*"))
    for path in (one for one in files if one.endswith(".json")):
        record = json.loads((out / path).read_text())
        samples = [json.loads(line) for line in (out / path).with_suffix("").parent.joinpath(
            record["detailed_evaluation_results"]["file_path"].rsplit("/")[-1]
        ).read_text().splitlines()]  # fmt: skip
        assert len(samples) == record["detailed_evaluation_results"]["total_rows"] > 0
        assert {one["evaluation_id"] for one in samples} == {record["evaluation_id"]}
        assert record["evaluation_results"][0]["score_details"]["uncertainty"]["confidence_interval"]
        details = record["model_info"]["additional_details"]
        assert all(isinstance(value, str) for value in details.values())
        assert ("proposed_fields" in details) == (source != "run")
        if source != "run":
            proposed = json.loads(details["proposed_fields"])
            kind = {"human/consensus": "consensus", "human/single-person": "person"}[
                record["model_info"]["id"]
            ]
            assert proposed["model_info.respondent_type"]["value"] == kind
            assert kind in proposed["model_info.respondent_type"]["enum"]
            people = proposed["model_info.respondents"]["value"]
            assert {
                name: str(value)
                for name, value in people.items()
                if isinstance(value, int) and name != "simulated"
            } == {name: details[name] for name in ("people", "people_excluded", "answers")}
            assert people["simulated"] == (details["simulated"] == "true")
            assert ("model_info.aggregation" in proposed) == (kind == "consensus")
        assert any(one["input"]["reference"] for one in samples) == (source != "lcs-people")
    if EVERY_EVAL_EVER:
        done = subprocess.run(
            [EVERY_EVAL_EVER, "validate", *files], cwd=out, capture_output=True, text=True, check=False
        )
        assert " 0 failed" in done.stdout, done.stdout


def test_a_run_is_evaluation_results_of_the_hub_and_a_table(made: Path, tmp_path: Path) -> None:
    out = exported(made, "run", "eval-results", tmp_path, "--repo", "lab/bps")
    (entry,) = yaml.safe_load((out / ".eval_results" / "bps.yaml").read_text())
    scored = merilo.score_run(made / "run").datasets["bps"].metrics["acc"]
    assert entry["dataset"] == {"id": "lab/bps", "task_id": "bps"}
    assert entry["value"] == scored.value
    (table,) = exported(made, "run", "parquet", tmp_path).glob("*.parquet")
    assert pl.read_parquet(table)["points"].mean() == pytest.approx(scored.value)


@pytest.mark.parametrize(
    ("source", "form", "told"),
    [
        ("bps-people", "eval-results", "there is nothing that eval-results could hold"),
        ("run", "eval-results", "--repo: is needed: the dataset's repository on the hub"),
        (".", "csv", "is neither a baseline, nor a published folder, nor a run of merilo run"),
    ],
)
def test_what_cannot_be_exported_is_told(
    made: Path, tmp_path: Path, source: str, form: str, told: str
) -> None:
    arguments = ["report", "export", made / source, "--format", form, "--out", tmp_path / "out"]
    done = command(*arguments)
    assert done.status != 0
    assert told in done.complaint
    assert not (tmp_path / "out").exists()
