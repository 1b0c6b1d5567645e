"""Folders in the form of MERA Multi are datasets: valid as published, their faults found, read by every command."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import merilo
from multi_folders import META, NAMES, multi_folder

from merilo.datasets import dataset
from merilo.datasets.own_items import read_splits
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
    assert {note.path.partition(".")[0] for note in report.notes} <= {"description", "dataset_size"}
    declared = dataset(str(folder))
    meta = json.loads((folder / META).read_text("utf-8"))
    metrics = tuple(one.replace(" ", "_").lower() for one in meta["metrics"])
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
    ("RealVQA", META, at("human_benchmark/Accuracy", 0.5), "human_benchmark.Accuracy", "is not one of the metrics Exact match"),
    ("RealVQA", "test.json", at("data/3/meta/id", 40), "data[3].meta.id", "4 is missing, 40 occurs instead"),
    ("WEIRD", "test.json", at("data/2/outputs", "C"), "data[2].outputs", "must be one of A, B, not 'C'"),
    ("WEIRD", META, at("task_type", 5), "task_type", "must be a text or texts"),
    ("ruCommonVQA", META, at("dataset_size", "many"), "dataset_size", "or the placeholder 'len(DATA)'"),
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
    found = [(problem.file, problem.path, problem.message) for problem in validate(folder).problems]
    assert [one for one in found if one[:2] == (file, path) and message in one[2]], found


@pytest.mark.parametrize("name", ["AQUARIA", "ruHHH-Video", "ruMathVQA"])
def test_a_folder_walks_the_whole_road(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = multi_folder(name, tmp_path, numbered=name == "ruMathVQA")
    field = {"AQUARIA": "task_type", "ruHHH-Video": "category", "ruMathVQA": "topic"}[name]
    before = (folder / META).read_bytes()
    assert f"merilo datasets new {name}" in merilo("datasets", "new", f"{name}/test.json").complaint
    study = create_studies(folder, tmp_path / "study", field=(f"meta.categories.{field}",), size=15)[""]
    assert study.subset.section.fields == (f"categories.{field}",)
    assert merilo("study", "validate", "study").status == 0
    assert "no item has the field 'colour'" in merilo("datasets", "new", name, "--group", "colour").complaint
    made = merilo("datasets", "new", name)
    assert (made.status, f"exact_match.{{{field}}}" in made.out) == (0, True), made.err
    assert merilo("datasets", "validate", name).status == 0
    assert merilo("run", "--model", "random", "--datasets", name, "--out", "run").status == 0
    rows = ["id,annotator,answer"]
    for item in json.loads((folder / "test.json").read_text("utf-8"))["data"]:
        rows += [f"{item['meta']['id']},p{person},{item['outputs']}" for person in range(5)]
    (tmp_path / "answers.csv").write_text("\n".join(rows), encoding="utf-8")
    for by in (field, f"meta.categories.{field}"):
        result = merilo(
            "baseline", "answers.csv", "--dataset", name, "--by", by, "--out", f"hb-{len(by)}", "--json", "-"
        ).json
        assert result["metrics"]["exact_match"]["value"] == 1.0
        exact = [group["name"] for group in result["groups"] if group["name"].endswith(": exact_match")]
        assert len(exact) == 3, result["groups"]
    assert (folder / META).read_bytes() == before


def test_models_are_asked_several_folders_in_one_run(tmp_path: Path) -> None:
    folders = [
        multi_folder(name, tmp_path / name, numbered=True) for name in ("LabTabVQA", "ruHHH-Video", "AQUARIA")
    ]
    datasets = ",".join(map(str, folders))
    ran = merilo(
        "run", "--model", "most-frequent", "--shots", 1, "--datasets", datasets, "--out", tmp_path / "run"
    )
    assert ran.status == 0, ran.err
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
    found = {(problem.path, problem.message) for problem in validate(yaml).problems}
    assert found == {
        ("extra", "no item has the field 'topic'"),
        ("cluster", "no item has the field 'passage'"),
    }
