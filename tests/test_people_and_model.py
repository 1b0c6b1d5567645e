"""The whole path: a study's items, people's answers, a model's run on the same items, one comparison, one page."""

from pathlib import Path

import pytest
from command import merilo
from scripted_server import MODEL, Answers, Asked, ScriptedServer
from study_people import NAMES, answered, bundled_study, visits

LOCAL = "local-chat-completions"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study of PARus, exported, answered by simulated people, and imported."""
    folder = bundled_study(tmp_path / "study", "parus", overlap=5)
    done = merilo("study", "export", folder.path, "--platform", "table", "--out", tmp_path / "export")
    assert done.status == 0, done.err
    answers = tmp_path / NAMES["table"]
    answers.write_text(answered("table", tmp_path / "export", visits(folder, people=8)), encoding="utf-8")
    done = merilo("study", "import", folder.path, answers)
    assert done.status == 0, done.err
    return folder.path


def test_a_study_its_people_and_a_model_meet_in_one_comparison_and_one_page(
    study: Path, tmp_path: Path
) -> None:
    from merilo.datasets.rendering import render
    from merilo.studies.study_folder import open_study

    folder = open_study(study)
    gold = {render(item, folder.declared()): str(item.outputs) for item in folder.items()}
    wrong = next(iter(gold))

    def script(asked: Asked) -> Answers:
        right = gold[asked.text]
        if asked.text == wrong:
            return Answers(None, refusal="I can't help with that.")
        return Answers(f"Ответ: {right}", usage=(60, 5, 0))

    with ScriptedServer(script) as server:
        args = f"model={MODEL},base_url={server.url},max_retries=0"
        done = merilo(
            *("run", "--model", LOCAL, "--model-args", args),
            *("--study", study, "--out", tmp_path / "run"),
            *("--json", "-"),
        )
    assert done.status == 0, done.err
    assert sorted(asked.text for asked in server.asked) == sorted(gold), "the model reads what people read"
    accuracy = done.json["datasets"]["parus"]["metrics"]["acc"]["value"]
    assert accuracy == pytest.approx(1 - 1 / len(gold))

    made = merilo("study", "baseline", study, "--out", tmp_path / "people", "--model", tmp_path / "run")
    assert made.status in {0, 1}, made.err
    page = (tmp_path / "people" / "report.html").read_text(encoding="utf-8")
    assert MODEL in page

    compared = merilo("compare", tmp_path / "people", tmp_path / "run", "--json", "-")
    assert compared.status == 0, compared.err
    assert f"{MODEL}: 1 refused; these count as wrong" in compared.err
    rows = compared.json["rows"]
    assert {row["model"] for row in rows} == {MODEL}
    assert any(row["score"]["value"] == pytest.approx(accuracy, abs=1e-6) for row in rows), (
        "the comparison uses the answers of the run"
    )


def test_a_run_on_other_items_is_not_compared(study: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    from merilo.datasets import dataset
    from merilo.datasets.ready_items import examples
    from merilo.items import write_splits

    made = merilo("study", "baseline", study, "--out", tmp_path / "people")
    assert made.status in {0, 1}, made.err
    split = examples(dataset("parus"))["test"]
    other = tuple(
        replace(item, inputs={**dict(item.inputs), "premise": f"Другое {item.id}"}) for item in split
    )
    (tmp_path / "data").mkdir()
    write_splits(tmp_path / "data" / "parus.json", [replace(split, items=other)])
    words = [
        *("run", "--model", "gold", "--datasets", "parus"),
        *("--data", tmp_path / "data", "--shots", "0", "--out", tmp_path / "run"),
    ]
    assert merilo(*words).status == 0
    refused = merilo("compare", tmp_path / "people", tmp_path / "run")
    assert refused.status == 2
    assert "the run asked other items than the baseline" in refused.complaint
    assert merilo("run", "--model", "gold", "--datasets", "bps", "--out", tmp_path / "bps").status == 0
    refused = merilo("compare", tmp_path / "people", tmp_path / "bps")
    assert "it has bps, and the baselines are of parus" in refused.complaint
