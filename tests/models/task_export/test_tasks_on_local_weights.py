"""lm-eval's own command on an exported task, and `merilo run`, with the same small model."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import merilo

import merilo as library
from merilo.datasets import dataset
from merilo.datasets.ready_items import examples
from merilo.items import write_splits


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    from tiny_language_models import save_tiny_language_model

    return save_tiny_language_model(tmp_path_factory.mktemp("model"), context=2048)


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("name", ["rcb", "simplear"])
def test_the_command_of_lm_eval_gives_the_figures_of_merilo_run(
    name: str, model: Path, tmp_path: Path, offline: None
) -> None:
    done = merilo(
        "datasets", "export", name, "--format", "lm-eval", "--shots", "1", "--out", tmp_path / "task"
    )
    assert done.status == 0, done.err
    arguments = f"pretrained={model}"
    words = [
        "--include_path",
        tmp_path / "task",
        "--tasks",
        f"merilo_{name}",
        "--model",
        "hf",
        "--model_args",
        arguments,
    ]
    words += ["--device", "cpu", "--batch_size", "4", "--log_samples", "--output_path", tmp_path / "out"]
    ran = subprocess.run(
        [sys.executable, "-m", "lm_eval", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    (results,) = (tmp_path / "out").rglob("results_*.json")
    found = json.loads(results.read_text(encoding="utf-8"))["results"][f"merilo_{name}"]
    asked = merilo(
        *("run", "--model", "hf", "--model-args", arguments, "--device", "cpu", "--datasets", name),
        *("--shots", "1", "--out", tmp_path / "run", "--json", "-"),
    )
    assert asked.status in {0, 1}, asked.err
    metrics = asked.json["datasets"][name]["metrics"]
    assert metrics
    for metric, one in metrics.items():
        assert found[f"{metric},none"] == pytest.approx(one["value"]), metric
    write_splits(tmp_path / f"{name}.json", [examples(dataset(name))["test"]])
    scored = library.score(tmp_path / "out", dataset=name, data=tmp_path / f"{name}.json")
    main = dataset(name).metrics[0]
    assert scored.metrics[main].value == pytest.approx(metrics[main]["value"])
    given = {str(item): answer for item, answer in scored.answers.matched.given.items()}
    lines = (tmp_path / "run" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    kept = [one for one in map(json.loads, lines) if one["outcome"] != "truncated"]
    # lm-eval does not log that an answer was cut off, and reads it as if it were complete.
    assert {str(one["id"]): one["answer"] for one in kept} == {
        str(one["id"]): given[str(one["id"])] for one in kept
    }
    assert len(kept) == len(given) or name != "rcb"
