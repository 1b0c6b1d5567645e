"""Exported tasks give the figures of `merilo run`."""

import json
import sys
from pathlib import Path
from subprocess import run as run_process

import pytest
from command import merilo
from harness_files import run_lm_eval
from scripted_respondent import ScriptedBackend, Writer, likelihood

import merilo as library
from merilo.datasets import dataset
from merilo.datasets.ready_items import examples
from merilo.items import Split, write_splits

COMPARED = ("parus", "rcb", "rummlu", "ruhhh", "bps", "ruethics")
WRITTEN = ("chegeka", "simplear", "use")


def exported(name: str, folder: Path, *options: object, form: str = "lm-eval"):
    done = merilo("datasets", "export", name, "--format", form, "--out", folder, *options)
    assert done.status == 0, done.err
    return done


def figures_of_run(
    name: str, folder: Path, backend: ScriptedBackend, shots: int | None = None
) -> dict[str, float]:
    result = library.run(backend, name, out=folder, shots=shots)
    held = result.datasets[name]
    answered = held.outcomes.counts.get("answered", 0) / len(held.record.hashes)
    return {"answered": answered, **{metric: one.value for metric, one in held.metrics.items()}}


@pytest.mark.parametrize("name", COMPARED)
def test_choices_by_loglikelihood_give_the_figures_of_a_run(name: str, tmp_path: Path, offline: None) -> None:
    shots = None if dataset(name).shots.count else 0
    exported(name, tmp_path / "task")
    found = run_lm_eval(
        tmp_path / "task",
        [f"merilo_{name}"],
        tmp_path / "out",
        lambda prompt, more: [likelihood(prompt, one) for one in more],
    )
    asked = figures_of_run(name, tmp_path / "run", ScriptedBackend(), shots)
    assert len(asked) > 1
    for metric, value in asked.items():
        assert found[f"merilo_{name}"][f"{metric},none"] == pytest.approx(value), metric
    assert found[f"merilo_{name}"]["answered,none"] == 1


@pytest.mark.parametrize(
    ("name", "chat"),
    [*((name, False) for name in WRITTEN), *((name, True) for name in (*WRITTEN, "ruethics", "parus"))],
)
def test_written_answers_give_the_figures_of_a_run(
    name: str, chat: bool, tmp_path: Path, offline: None
) -> None:
    writer = Writer([name], chat=chat)
    exported(name, tmp_path / "task", *(["--chat"] if chat else []))
    found = run_lm_eval(
        tmp_path / "task", [f"merilo_{name}"], tmp_path / "out", lambda prompt, _: writer.write(prompt)
    )
    asked = figures_of_run(name, tmp_path / "run", ScriptedBackend(writer, chat))
    for metric, value in asked.items():
        assert found[f"merilo_{name}"][f"{metric},none"] == pytest.approx(value), metric
    assert any(0 < value < 1 for value in asked.values())


def test_samples_of_an_exported_task_are_read_back_with_the_same_figures(
    tmp_path: Path, offline: None
) -> None:
    """The circle closes: an exported task, lm-eval's own log of it, and `merilo score` on that log."""
    exported("rcb", tmp_path / "task", "--shots", "1")
    found = run_lm_eval(
        tmp_path / "task",
        ["merilo_rcb"],
        tmp_path / "out",
        lambda prompt, more: [likelihood(prompt, one) for one in more],
    )
    write_splits(tmp_path / "rcb.json", [examples(dataset("rcb"))["test"]])
    scored = library.score(tmp_path / "out", dataset="rcb", data=tmp_path / "rcb.json")
    assert scored.metrics["f1_macro"].value == pytest.approx(found["merilo_rcb"]["f1_macro,none"])
    log = scored.answers.log
    assert (log.task, dict(log.matched), log.other_prompts, log.prompts_checked) == (
        "merilo_rcb",
        {"doc.id": 9},
        0,
        9,
    )


def test_equal_loglikelihoods_count_as_wrong_and_not_as_the_first_choice(
    tmp_path: Path, offline: None
) -> None:
    exported("parus", tmp_path / "task")
    found = run_lm_eval(
        tmp_path / "task", ["merilo_parus"], tmp_path / "out", lambda _, more: [-1.0 for _ in more]
    )
    assert (found["merilo_parus"]["acc,none"], found["merilo_parus"]["answered,none"]) == (0, 0)


def test_closed_tests_are_exported_without_metrics(tmp_path: Path, offline: None) -> None:
    from dataclasses import replace

    items = [replace(item, outputs=None) for item in examples(dataset("parus"))["test"]]
    write_splits(tmp_path / "parus.json", [Split("test", tuple(items)), examples(dataset("parus"))["shots"]])
    done = exported("parus", tmp_path / "task", "--data", tmp_path / "parus.json")
    assert "no gold answers" in done.err
    found = run_lm_eval(
        tmp_path / "task",
        ["merilo_parus"],
        tmp_path / "out",
        lambda prompt, more: [likelihood(prompt, one) for one in more],
    )
    assert found["merilo_parus"]["answered,none"] == 1
    assert "acc,none" not in found["merilo_parus"]


def test_a_task_of_compared_choices_needs_no_merilo(tmp_path: Path) -> None:
    exported("parus", tmp_path / "task")
    code = "import sys; sys.modules['merilo'] = None; import merilo_parus as task; print(task.process_results({'choices': ['1', '2'], 'scored': '[[\"acc\", \"2\"]]'}, [(-2.0, False), (-1.0, False)]))"
    done = run_process(
        [sys.executable, "-c", code], cwd=tmp_path / "task", capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "{'answered': 1.0, 'acc': ('2', '2')}", done.stderr
    assert "needs no Merilo" in (tmp_path / "task" / "README.md").read_text(encoding="utf-8")


def test_the_prompts_of_a_task_are_those_of_runs(tmp_path: Path) -> None:
    from merilo.models.prompter import Prompter
    from merilo.settings import RunSettings

    exported("rummlu", tmp_path / "task", "--shots", "1", "--seed", "7", "--prompts", "merilo")
    declared, splits = dataset("rummlu"), examples(dataset("rummlu"))
    settings = RunSettings(prompts="merilo", shots=1, seed=7)
    prompter = Prompter(declared, splits["shots"].items, settings, chat=False)
    lines = (tmp_path / "task" / "merilo_rummlu.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["prompt"] for line in lines] == [
        prompter.request(item).prompt for item in splits["test"]
    ]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("rutie", "the model's own answers"),
        ("ruhumaneval", "must run in the sandbox"),
        ("rudetox", "three classifiers"),
    ],
)
def test_what_a_task_cannot_express_is_refused_in_a_sentence(name: str, reason: str, tmp_path: Path) -> None:
    done = merilo("datasets", "export", name, "--format", "lm-eval", "--out", tmp_path / "task")
    assert done.status == 2
    assert reason in done.complaint
    assert not (tmp_path / "task").exists()


def test_an_existing_folder_is_kept_unless_forced(tmp_path: Path) -> None:
    exported("parus", tmp_path / "task")
    assert (
        merilo("datasets", "export", "parus", "--format", "lm-eval", "--out", tmp_path / "task").status == 2
    )
    exported("parus", tmp_path / "task", "--force")


def test_a_dataset_of_ones_own_takes_its_declaration_along(tmp_path: Path, offline: None) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "dataset.yaml").write_text(
        'name: capi/tals 1\ntitle: Capitals\nfields: [country]\nanswer: {kind: text}\nmetrics: [em]\nstop: ["\\n"]\n',
        encoding="utf-8",
    )
    item = {
        "instruction": "The capital of {country}?",
        "inputs": {"country": "France"},
        "outputs": "Paris",
        "meta": {"id": 1},
    }
    (own / "test.json").write_text(json.dumps({"data": {"test": [item]}}), encoding="utf-8")
    exported(str(own), tmp_path / "task", "--data", own / "test.json")
    found = run_lm_eval(tmp_path / "task", ["merilo_capi_tals_1"], tmp_path / "out", lambda *_: "Paris")
    assert found["merilo_capi_tals_1"]["em,none"] == 1
