"""Metadata in the shapes of the published folders are valid, and faults in these shapes are found at their place."""

import json
from pathlib import Path
from typing import Any

import pytest
from published_metadata import item, published

from merilo.datasets.validation import validate
from merilo.items import read_splits
from merilo.reports.dataset_card import built_metadata, metadata_text, metadata_with_human_benchmark

META = "raw_dataset_meta.json"


def problems_of(
    root: Path, meta: dict[str, Any], items: list[dict[str, Any]] | None = None
) -> dict[str, str]:
    (root / META).write_text(json.dumps(meta, ensure_ascii=False, indent=4), encoding="utf-8")
    entries = items or [item(number) for number in range(1, 5)]
    (root / "test.json").write_text(json.dumps({"data": entries, "access": "private"}), encoding="utf-8")
    (root / "samples").mkdir(exist_ok=True)
    (root / "samples" / "1.png").write_bytes(b"\x89PNG")
    return {problem.path: problem.message for problem in validate(root).problems}


@pytest.fixture
def meta() -> dict[str, Any]:
    made = published()
    made["prompts"]["task_context"] = {"formal": ["Рассмотрите. {question}"]}
    return made


def with_image(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "inputs": {**entry["inputs"], "image": "samples/1.png"}}


def test_metadata_as_published_are_valid(tmp_path: Path) -> None:
    assert problems_of(tmp_path, published(), [with_image(item(number)) for number in range(1, 5)]) == {}


@pytest.mark.parametrize("size", ["len(DATA)", "len(data)", 4])
def test_the_size_is_a_number_or_the_placeholder(tmp_path: Path, meta: dict[str, Any], size: object) -> None:
    assert problems_of(tmp_path, {**meta, "dataset_size": size}) == {}


@pytest.mark.parametrize("size", ["many", "len()", "4", 0, True, None, 4.0])
def test_other_sizes_are_refused(tmp_path: Path, meta: dict[str, Any], size: object) -> None:
    found = problems_of(tmp_path, {**meta, "dataset_size": size})
    assert found == {"dataset_size": "must be the number of items, or the placeholder 'len(DATA)'"}


def test_a_nested_description_without_a_language_is_found_at_its_path(
    tmp_path: Path, meta: dict[str, Any]
) -> None:
    del meta["data_field_descriptions"]["meta"]["image"]["type"]["ru"]
    meta["data_field_descriptions"]["inputs"]["image"]["size"][1]["en"] = " "
    meta["data_field_descriptions"]["inputs"]["option_a"] = "the first option"
    assert problems_of(tmp_path, meta) == {
        "data_field_descriptions.meta.image.type.ru": "must be a text",
        "data_field_descriptions.inputs.image.size[1].en": "must be a text",
        "data_field_descriptions.inputs.option_a": "must be an object with texts in en and ru, or 'default'",
    }


def test_a_field_described_at_depth_is_described(tmp_path: Path, meta: dict[str, Any]) -> None:
    problems_of(tmp_path, meta)
    assert not [note for note in validate(tmp_path).notes if "not described" in note.message]
    del meta["data_field_descriptions"]["inputs"]["question"]
    problems_of(tmp_path, meta)
    assert [note.path for note in validate(tmp_path).notes if "not described" in note.message] == [
        "data_field_descriptions.question"
    ]


@pytest.mark.parametrize(
    ("part", "held", "path", "message"),
    [
        (
            "task_context",
            {"formal": []},
            "prompts.task_context.formal",
            "must be a list of texts, or an object",
        ),
        ("task_context", "Ответьте.", "prompts.task_context", "must be a list of texts, or an object"),
        ("task_context", {"formal": [5]}, "prompts.task_context.formal[0]", "must be a text"),
        ("options", ["{option_z}"], "prompts.options[0]", "names {option_z}, which the inputs do not have"),
    ],
)
def test_faults_in_parts_of_prompts_are_found(
    tmp_path: Path, meta: dict[str, Any], part: str, held: object, path: str, message: str
) -> None:
    meta["prompts"][part] = held
    found = problems_of(tmp_path, meta)
    assert list(found) == [path]
    assert message in found[path]


def test_a_prompt_may_leave_out_the_excluded_fields(tmp_path: Path, meta: dict[str, Any]) -> None:
    meta["prompts"] = [f"{number}. {{question}} {{option_a}} {{image}}" for number in range(10)]
    assert (
        problems_of(tmp_path, meta, [item(number) | {"instruction": number - 1} for number in range(1, 11)])
        == {}
    )
    meta["exclude_fields"] = []
    found = problems_of(
        tmp_path, meta, [item(number) | {"instruction": number - 1} for number in range(1, 11)]
    )
    assert found["prompts[0]"] == "does not name {option_b}"


def test_a_template_of_an_item_is_checked_beside_prompts_in_parts(
    tmp_path: Path, meta: dict[str, Any]
) -> None:
    found = problems_of(
        tmp_path, meta, [item(1), item(2) | {"instruction": "{question}"}, item(3) | {"instruction": -1}]
    )
    assert found == {
        "data[1].instruction": "does not name {image}, {option_a}",
        "data[2].instruction": "must be the number of a prompt, from 0 on",
    }


def test_a_folder_stays_valid_with_its_human_figures_and_its_built_card(
    tmp_path: Path, meta: dict[str, Any]
) -> None:
    assert problems_of(tmp_path, meta) == {}
    baseline: dict[str, Any] = {"status": "accepted", "metrics": {"em": {"value": 0.91, "n": 4}}}
    card = metadata_with_human_benchmark((tmp_path / META).read_bytes(), baseline)
    (tmp_path / META).write_bytes(card.content)
    items = read_splits(tmp_path / "test.json")["test"].items
    (tmp_path / "dataset_meta.json").write_text(metadata_text(built_metadata(meta, items)), encoding="utf-8")
    (tmp_path / "README.md").write_text("# ruSigns\n", encoding="utf-8")
    report = validate(tmp_path)
    assert report.valid
    assert not [note for note in report.notes if note.file == "dataset_meta.json"]
    assert json.loads((tmp_path / META).read_text(encoding="utf-8"))["human_benchmark"] == {
        "Exact match": 0.91
    }
