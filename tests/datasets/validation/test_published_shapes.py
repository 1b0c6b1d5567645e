"""Metadata in the shapes of the published folders are valid, and faults in these shapes are found at their place."""

import json
from pathlib import Path
from typing import Any

import pytest
from published_metadata import item, published

from merilo.datasets.validation import validate
from merilo.reports.dataset_card import metadata_with_human_benchmark

META = "raw_dataset_meta.json"
SIZE = "must be the number of items, or the placeholder 'len(DATA)'"
DESCRIBED = "must be an object with texts in en and ru, or 'default'"
LISTS = "must be a list of texts, or an object of such lists by style"


def problems_of(root: Path, meta: dict[str, Any], items: list[dict[str, Any]]) -> dict[str, str]:
    (root / META).write_text(json.dumps(meta, ensure_ascii=False, indent=4), encoding="utf-8")
    (root / "test.json").write_text(json.dumps({"data": items, "access": "private"}), encoding="utf-8")
    (root / "samples").mkdir(exist_ok=True)
    (root / "samples" / "1.png").write_bytes(b"\x89PNG")
    return {problem.path: problem.message for problem in validate(root).problems}


ITEMS = [
    {**entry, "inputs": {**entry["inputs"], "image": "samples/1.png"}} for entry in map(item, range(1, 5))
]
FLAT = [f"{number}. {{question}} {{option_a}} {{image}}" for number in range(10)]
NUMBERED = [item(number) | {"instruction": number - 1} for number in range(1, 11)]

#: The path of a value, the value, and the faults.
SHAPES: list[tuple[str, Any, dict[str, str]]] = [
    ("dataset_size", "len(DATA)", {}),
    ("dataset_size", "len(data)", {}),
    ("dataset_size", 4, {}),
    *(("dataset_size", size, {"dataset_size": SIZE}) for size in ("many", "len()", "4", 0, True, None, 4.0)),
    ("data_field_descriptions/meta/image/type", {"en": "?"}, {"data_field_descriptions.meta.image.type.ru": "must be a text"}),
    ("data_field_descriptions/inputs/image/size/1/en", " ", {"data_field_descriptions.inputs.image.size[1].en": "must be a text"}),
    ("data_field_descriptions/inputs/option_a", "the option", {"data_field_descriptions.inputs.option_a": DESCRIBED}),
    ("prompts/task_context", {"formal": []}, {"prompts.task_context.formal": LISTS}),
    ("prompts/task_context", "Ответьте.", {"prompts.task_context": LISTS}),
    ("prompts/task_context", {"formal": [5]}, {"prompts.task_context.formal[0]": "must be a text"}),
    ("prompts/options", ["{option_z}"], {"prompts.options[0]": "names {option_z}, which the inputs do not have"}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "faults"), SHAPES)
def test_a_shape_is_valid_or_its_fault_is_found_at_its_path(
    path: str, value: Any, faults: dict[str, str], tmp_path: Path
) -> None:
    meta = published()
    target: Any = meta
    *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    for step in steps:
        target = target[step]
    target[last] = value
    assert problems_of(tmp_path, meta, ITEMS) == faults


def test_an_undescribed_field_is_noted(tmp_path: Path) -> None:
    meta = published()
    del meta["data_field_descriptions"]["inputs"]["question"]
    assert problems_of(tmp_path, meta, ITEMS) == {}
    notes = [note.path for note in validate(tmp_path).notes if "not described" in note.message]
    assert notes == ["data_field_descriptions.question"]


@pytest.mark.parametrize("excluded", [["option_b"], {"inputs": ["option_b"], "meta": {"image": ["type"]}}])
def test_a_prompt_may_leave_out_the_excluded_fields(excluded: Any, tmp_path: Path) -> None:
    meta = {**published(), "prompts": FLAT, "exclude_fields": excluded}
    assert problems_of(tmp_path, meta, NUMBERED) == {}
    found = problems_of(tmp_path, {**meta, "exclude_fields": {}}, NUMBERED)
    assert found["prompts[0]"] == "does not name {option_b}"


def test_a_template_of_an_item_is_checked_beside_prompts_in_parts(tmp_path: Path) -> None:
    items = [ITEMS[0], ITEMS[1] | {"instruction": "{question}"}, ITEMS[2] | {"instruction": -1}]
    assert problems_of(tmp_path, published(), items) == {
        "data[1].instruction": "does not name {image}, {option_a}",
        "data[2].instruction": "must be the number of a prompt, from 0 on",
    }


def test_a_folder_stays_valid_with_its_human_figures_and_its_built_card(tmp_path: Path) -> None:
    assert problems_of(tmp_path, published(), ITEMS) == {}
    raw = metadata_with_human_benchmark((tmp_path / META).read_bytes(), {"em": 0.91})
    (tmp_path / META).write_bytes(raw)
    (tmp_path / "dataset_meta.json").write_bytes(raw)
    (tmp_path / "README.md").write_text("# ruSigns\n", encoding="utf-8")
    report = validate(tmp_path)
    assert report.valid
    assert not [note for note in report.notes if note.file == "dataset_meta.json"]
    assert json.loads((tmp_path / META).read_text(encoding="utf-8"))["human_benchmark"] == {
        "Exact match": 0.91
    }
