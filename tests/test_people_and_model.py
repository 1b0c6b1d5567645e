"""A model is asked what people were asked: the prompts are theirs, and a refusal counts as a wrong answer beside them."""

from pathlib import Path

import pytest
from command import done
from scripted_server import MODEL, Answers, Asked, ScriptedServer
from study_people import NAMES, answered, bundled_study, of_kind, visits


def test_a_study_its_people_and_a_model_meet_in_one_comparison_and_one_page(tmp_path: Path) -> None:
    folder = bundled_study(tmp_path / "study", "parus", overlap=5)
    done("study", "export", folder.path, "--platform", "table", "--out", tmp_path / "export")
    answers = tmp_path / NAMES["table"]
    answers.write_text(answered("table", tmp_path / "export", visits(folder, people=8)), encoding="utf-8")
    done("study", "import", folder.path, answers)
    gold = {task.prompt: str(task.item.outputs) for task in of_kind(folder, "test")}
    refused = next(iter(gold))

    def script(asked: Asked) -> Answers:
        if asked.text == refused:
            return Answers(None, refusal="I can't help with that.")
        return Answers(f"Ответ: {gold[asked.text]}", usage=(60, 5, 0))

    run, people = tmp_path / "run", tmp_path / "people"
    with ScriptedServer(script) as server:
        arguments = f"model={MODEL},base_url={server.url},max_retries=0"
        words = "run", "--model", "local-chat-completions", "--model-args", arguments, "--study", folder.path
        made = done(*words, "--out", run, "--json", "-")
    assert sorted(asked.text for asked in server.asked) == sorted(gold), "the model reads what people read"
    accuracy = made.json["datasets"]["parus"]["metrics"]["acc"]["value"]
    assert accuracy == pytest.approx(1 - 1 / len(gold))
    done("study", "baseline", folder.path, "--out", people, "--model", run)
    assert MODEL in (people / "report.html").read_text(encoding="utf-8")
    compared = done("compare", people, run, "--json", "-")
    assert f"{MODEL}: 1 refused; these count as wrong" in compared.err
    (score,) = {row["score"]["value"] for row in compared.json["rows"] if row["beside"] == "consensus"}
    assert score == pytest.approx(accuracy, abs=1e-6), "the comparison uses the answers of the run"
