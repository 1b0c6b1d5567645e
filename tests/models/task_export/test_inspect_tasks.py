"""Inspect runs an exported task, and its log is read back."""

import contextlib
from pathlib import Path

import pytest
from command import merilo
from scripted_respondent import ScriptedBackend, Writer

import merilo as library
from merilo.datasets import dataset
from merilo.datasets.ready_items import examples
from merilo.items import write_splits

NAMES = ("rcb", "chegeka", "use", "ruethics")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Inspect's logs of the exported tasks of several datasets, run once."""
    pytest.importorskip("inspect_ai")
    from inspect_ai import eval as evaluate
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    folder, found = tmp_path_factory.mktemp("tasks"), {}
    for name in NAMES:
        writer = Writer([name], chat=True, shots=None if dataset(name).shots.count else 0)
        done = merilo("datasets", "export", name, "--format", "inspect", "--out", folder / name)
        assert done.status == 0, done.err

        def answer(messages, *_, writer=writer):
            output = ModelOutput.from_content("mockllm/model", writer.write(messages[-1].text))
            # Without usage, Inspect counts tokens with a vocabulary from the network.
            output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
            return output

        with contextlib.chdir(folder / name):
            (found[name],) = evaluate(
                "task.py",
                model=get_model("mockllm/model", custom_outputs=answer),
                log_dir=str(folder / "logs" / name),
                log_format="eval" if name != "chegeka" else "json",
                display="none",
            )
    return found


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_inspect_gives_the_figures_of_a_run(name: str, logs: dict, tmp_path: Path) -> None:
    assert logs[name].status == "success", logs[name].error
    (scores,) = logs[name].results.scores
    shots = None if dataset(name).shots.count else 0
    result = library.run(
        ScriptedBackend(Writer([name], chat=True, shots=shots), chat=True),
        name,
        out=tmp_path / "run",
        shots=shots,
    )
    metrics = result.datasets[name].metrics
    assert metrics
    for metric, one in metrics.items():
        assert scores.metrics[metric].value == pytest.approx(one.value), metric


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_log_of_inspect_is_read_back_with_the_same_figures(name: str, logs: dict, tmp_path: Path) -> None:
    declared = dataset(name)
    write_splits(tmp_path / f"{name}.json", [examples(declared)["test"]])
    scored = library.score(Path(logs[name].location), dataset=name, data=tmp_path / f"{name}.json")
    (scores,) = logs[name].results.scores
    for metric, one in scored.metrics.items():
        assert scores.metrics[metric].value == pytest.approx(one.value), metric
    told = scored.answers.log
    assert (told.harness, told.task, told.model) == ("Inspect", f"merilo_{name}", "mockllm/model")
    assert dict(told.matched) == {"id": scored.items}
    assert told.other_prompts == 0
