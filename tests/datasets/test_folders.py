"""Folders in the form of MERA Multi are datasets: valid as published, their faults found, read by every command."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import done, merilo
from multi_folders import META, NAMES, multi_folder

from merilo.datasets import dataset
from merilo.datasets.dataset_files import read_splits
from merilo.datasets.rendering import parts, render
from merilo.datasets.validation import validate
from merilo.errors import DataError, InputError
from merilo.studies.creation import create_studies


@pytest.mark.parametrize("numbered", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_published_folder_is_valid_and_a_dataset(name: str, numbered: bool, tmp_path: Path) -> None:
    folder = multi_folder(name, tmp_path, numbered=numbered)
    report = validate(folder)
    assert report.problems == []
    assert {note.path.partition(".")[0] for note in report.notes} <= {"dataset_size"}
    declared = dataset(str(folder))
    meta = json.loads((folder / META).read_text("utf-8"))
    metrics = tuple(metric.replace(" ", "_").lower() for metric in meta["metrics"])
    assert (declared.title, declared.metrics, declared.gold) == (name, metrics, "closed")
    assert set(declared.fields) == set(meta["data_example"]["inputs"])
    assert declared.skills == tuple(meta["skills"])
    assert declared.human[0].value == meta["human_benchmark"]["Exact match"]
    experts = [*meta.get("human_benchmark_expert", {}).values()]
    assert [figure.value for figure in declared.human if figure.experts] == experts
    assert (declared.answer.kind == "choice") == (meta["task_type"] == "letter")
    splits = read_splits(folder / "test.json", declared)
    assert (len(splits["test"]), len(splits["shots"])) == (30, 3)
    for item in splits["test"]:
        prompt = render(item, declared)
        shown = {part.field for part in parts(item, declared) if not isinstance(part, str)}
        assert shown == {*declared.media} & {*item.inputs}
        assert all(
            str(value) in prompt for value in item.inputs.values() if not str(value).startswith("samples/")
        )
        assert not any(label in prompt for label in ("{", "D. \n", "D) \n"))


def at(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Set the value at a path; `None` deletes it."""

    def change(content: dict[str, Any]) -> None:
        *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
        for step in steps:
            content = content[step]
        if value is None:
            del content[last]
        else:
            content[last] = value

    return change


FAULTS = [
    ("AQUARIA", META, at("exclude_fields/meta/audio", "genre"), "exclude_fields", "an object of parts with lists"),
    ("AQUARIA", META, at("description/en", " "), "description.en", "must be a text"),
    ("CommonVideoQA", META, at("prompts/task_context/default", []), "prompts.task_context.default", "must be a list of texts"),
    ("CommonVideoQA", META, at("modalities", ["text"]), "modalities", "must name 'video'"),
    ("LabTabVQA", META, at("data_field_descriptions/inputs/option_f/ru", None), "data_field_descriptions.inputs.option_f.ru", "must be a text"),
    ("LabTabVQA", "test.json", at("data/4/inputs/option_c", None), "data[4].inputs", "must be an object with option_a"),
    ("CommonVideoQA", META, at("prompts/task_context", "Ответьте."), "prompts.task_context", "or an object of such lists by style"),
    ("CommonVideoQA", META, at("prompts/task_context/default/0", "{option_z}"), "prompts.task_context.default[0]", "names {option_z}"),
    ("CommonVideoQA", "test.json", at("data/2/instruction", -1), "data[2].instruction", "must be the number of a prompt, from 0 on"),
    ("RealVQA", META, at("human_benchmark/Accuracy", 0.5), "human_benchmark.Accuracy", "is not one of the metrics Exact match"),
    ("RealVQA", "test.json", at("data/3/meta/id", 40), "data[3].meta.id", "4 is missing, 40 occurs instead"),
    ("WEIRD", "test.json", at("data/2/outputs", "C"), "data[2].outputs", "must be one of A, B, not 'C'"),
    ("WEIRD", META, at("task_type", 5), "task_type", "must be a text or texts"),
    *(("ruCommonVQA", META, at("dataset_size", size), "dataset_size", "or the placeholder 'len(DATA)'") for size in ("many", "len()", "4", 0, True, 4.0)),
    ("ruCommonVQA", META, at("prompts/answer_format/none/0", 5), "prompts.answer_format.none[0]", "must be a text"),
    ("ruHHH-Video", META, at("metrics/Group Exact match", {"ru": "default"}), "metrics.Group Exact match.en", "must be a text"),
    ("ruHHH-Video", "test.json", at("data/1/inputs/video", "film.mp4"), "data[1].inputs.video", "must be a path below samples/"),
    ("ruMathVQA", META, at("human_benchmark_expert/Exact match", "high"), "human_benchmark_expert.Exact match", "must be a number"),
    ("ruMathVQA", "test.json", at("data/0/instruction", "<image>"), "data[0].instruction", "does not name {annotation}"),
    ("ruTiE-Audio", META, at("synt_source_models", "all"), "synt_source_models", "or the placeholder 'list(set(...))'"),
    ("ruTiE-Audio", "raw_readme_en.json", at("Motivation", None), "Motivation", "is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "file", "change", "path", "message"), FAULTS)
def test_a_planted_fault_is_named_with_its_path(
    name: str, file: str, change: Callable[[Any], None], path: str, message: str, tmp_path: Path
) -> None:
    folder = multi_folder(name, tmp_path)
    content = json.loads((folder / file).read_text("utf-8"))
    change(content)
    (folder / file).write_text(json.dumps(content, ensure_ascii=False, indent=4), encoding="utf-8")
    problems = validate(folder).problems
    assert any((fault.file, fault.path) == (file, path) and message in fault.message for fault in problems), (
        problems
    )


def test_a_field_of_categories_is_named_by_its_path_or_its_last_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = multi_folder("AQUARIA", tmp_path)
    assert "merilo datasets new AQUARIA" in merilo("datasets", "new", "AQUARIA/test.json").complaint
    study = create_studies(folder, tmp_path / "study", field=("meta.categories.task_type",), size=15)[""]
    assert study.subset.section.fields == ("categories.task_type",)
    assert (
        "no item has the field 'colour'"
        in merilo("datasets", "new", "AQUARIA", "--group", "colour").complaint
    )
    written = merilo("datasets", "new", "AQUARIA")
    assert (written.status, "exact_match.{task_type}" in written.out) == (0, True), written.err
    assert merilo("datasets", "validate", "AQUARIA").status == 0
    rows = ["id,annotator,answer"]
    for item in json.loads((folder / "test.json").read_text("utf-8"))["data"]:
        rows += [f"{item['meta']['id']},p{person},{item['outputs']}" for person in range(5)]
    (tmp_path / "answers.csv").write_text("\n".join(rows), encoding="utf-8")
    for by in ("task_type", "meta.categories.task_type"):
        result = merilo("baseline", "answers.csv", "--dataset", "AQUARIA", "--by", by, "--json", "-").json
        exact = [group["name"] for group in result["groups"] if group["name"].endswith(": exact_match")]
        assert (result["metrics"]["exact_match"]["value"], len(exact)) == (1.0, 3)


def test_models_are_asked_several_folders_in_one_run(tmp_path: Path) -> None:
    folders = [
        multi_folder(name, tmp_path / name, numbered=True) for name in ("LabTabVQA", "ruHHH-Video", "AQUARIA")
    ]
    datasets = ",".join(map(str, folders))
    done("run", "--model", "most-frequent", "--shots", 1, "--datasets", datasets, "--out", tmp_path / "run")
    logs = [tmp_path / "run" / f"{folder.name.casefold()}.jsonl" for folder in folders]
    assert [len(log.read_text("utf-8").splitlines()) for log in logs] == [30, 30, 30]


def test_what_is_no_dataset_is_told_in_one_sentence(tmp_path: Path) -> None:
    folder = multi_folder("ruMathVQA", tmp_path)
    meta = json.loads((folder / META).read_text("utf-8"))
    (folder / META).write_text(json.dumps({**meta, "metrics": {"chrf": "default"}}), encoding="utf-8")
    with pytest.raises(DataError, match=r"no metric can be computed \(chrf\)"):
        dataset(str(folder))
    (folder / META).write_text(json.dumps({**meta, "dataset_name": 5}), encoding="utf-8")
    with pytest.raises(InputError, match="dataset_name"):
        dataset(str(folder))
    (folder / "test.json").unlink()
    (folder / META).write_text(json.dumps(meta), encoding="utf-8")
    with pytest.raises(InputError, match=r"expected test\.json"):
        dataset(str(folder))


def test_a_group_that_no_item_has_is_invalid(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"question": "?", "answer": "a"}\n{"question": "!", "answer": "b"}')
    merilo("datasets", "new", tmp_path / "q.jsonl")
    yaml = tmp_path / "q.yaml"
    yaml.write_text(f"{yaml.read_text('utf-8')}extra: em.{{topic}}\ncluster: passage\n", encoding="utf-8")
    assert {(problem.path, problem.message) for problem in validate(yaml).problems} == {
        ("extra", "no item has the field 'topic'"),
        ("cluster", "no item has the field 'passage'"),
    }
