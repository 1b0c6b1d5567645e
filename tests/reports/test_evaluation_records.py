"""Records of Every Eval Ever and the human value for an `eval.yaml` say what the baseline and the run say."""

import json
from pathlib import Path

import polars as pl
import pytest
import yaml
from command import merilo as command

import merilo


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A baseline of BPS with an excluded person and an item without a consensus, and a run."""
    folder = tmp_path_factory.mktemp("people")
    command("datasets", "generate", "bps", "--size", "8", "--seed", "1", "--out", folder / "bps.json")
    rows = []
    for place, item in enumerate(json.loads((folder / "bps.json").read_text())["data"]["test"]):
        for person in range(5):
            wrong = person == 4 or (place + person) % 4 == 0
            answer = str(1 - int(item["outputs"])) if wrong else item["outputs"]
            rows.append((item["inputs"], f"person-{person}", answer, item["outputs"] if place > 5 else None))
    pool = pl.DataFrame(rows, schema=["inputs", "worker", "label", "golden"], orient="row")
    responses = merilo.read_responses(pool, item=["inputs"], control="golden")
    merilo.baseline(responses, dataset="bps", gold=folder / "bps.json").save(folder / "people")
    merilo.run(
        "random", ["bps"], data=folder / "bps.json", out=folder / "run", samples=2, temperature=1.0, shots=0
    )
    return folder


def records(made: Path, source: str, out: Path) -> dict[str, dict]:
    done = command(
        "report", "export", made / source, "--out", out, "--organisation", "a lab", "--repo", "lab/bps"
    )
    assert done.status == 0, done.err
    files = list(out.rglob("*.json"))
    return {
        path.parent.relative_to(out / "data" / "bps").as_posix(): json.loads(path.read_text())
        for path in files
    }


def test_people_are_a_consensus_and_a_single_person(made: Path, tmp_path: Path) -> None:
    found = records(made, "people", tmp_path / "out")
    metric = json.loads((made / "people" / "baseline.json").read_text())["metrics"]["acc"]
    told = {name: one["evaluation_results"][0]["score_details"] for name, one in found.items()}
    assert told["human/consensus"]["score"] == metric["value"]
    assert told["human/consensus"]["uncertainty"]["num_samples"] == metric["n"] == 6
    assert told["human/single-person"]["score"] == metric["single_person"]["value"]
    limits = told["human/single-person"]["uncertainty"]["confidence_interval"]
    assert [limits["lower"], limits["upper"]] == metric["single_person"]["ci95"]
    details = found["human/consensus"]["model_info"]["additional_details"]
    assert (details["people"], details["people_excluded"]) == ("4", "1")
    text = (tmp_path / "out" / "eval.yaml").read_text()
    block = yaml.safe_load(text)["tasks"][0]["human_baseline"]
    source = "https://huggingface.co/datasets/lab/bps"
    assert block == {"metric": "acc", "score": metric["value"], "source": source}
    assert "# 95 % interval" in text
    assert ", n = 6" in text


def test_a_model_is_a_record_for_each_dataset(made: Path, tmp_path: Path) -> None:
    found = records(made, "run", tmp_path / "out")["unknown/random-built-in"]
    scored = merilo.score_run(made / "run").datasets["bps"].metrics["acc"]
    assert found["evaluation_results"][0]["score_details"]["score"] == scored.value
    assert found["model_info"]["additional_details"]["respondent"] == "built-in"
    assert not (tmp_path / "out" / "eval.yaml").exists()


def test_a_folder_without_metrics_is_refused(made: Path, tmp_path: Path) -> None:
    done = command("report", "export", made, "--out", tmp_path / "out")
    assert done.status == 2
    assert "baseline.json is missing" in done.complaint
    assert not (tmp_path / "out").exists()
