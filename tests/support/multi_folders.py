"""Folders in the form of MERA Multi: the published metadata, with items and media of our own."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from small_media import png, wav

NAMES = (
    *("AQUARIA", "CommonVideoQA", "LabTabVQA", "RealVQA", "WEIRD", "ruCommonVQA", "ruHHH-Video"),
    *("ruMathVQA", "ruTiE-Audio"),
)
POOLS = Path(os.environ.get("MERILO_POOLS") or Path(__file__).parents[3] / "shared" / "data" / "pools")
META = "raw_dataset_meta.json"
#: The number of test items.
COUNT = 30


def multi_folder(name: str, root: Path, *, numbered: bool = False) -> Path:
    """Copy the texts of a published folder, and add a test, three shots and their media.

    Args:
        name: the dataset.
        root: where to make it.
        numbered: whether items name their prompt by number, as the authors' files do.
    """
    source = POOLS.parent / "multi" / name
    if not source.is_dir():
        pytest.skip(f"the published metadata are not here ({source})")
    folder = root / name
    (folder / "samples").mkdir(parents=True)
    for file in source.iterdir():
        shutil.copyfile(file, folder / file.name)
    example = json.loads((source / META).read_text("utf-8"))["data_example"]
    items = [_item(n, example, folder, numbered=numbered) for n in range(1, COUNT + 4)]
    for split, entries, access in (("test", items[:COUNT], "private"), ("shots", items[COUNT:], "public")):
        content = {"data": entries, "access": access}
        (folder / f"{split}.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return folder


def _item(number: int, example: dict[str, Any], folder: Path, *, numbered: bool) -> dict[str, Any]:
    item: dict[str, Any] = json.loads(json.dumps(example))
    template, inputs = item["instruction"], item["inputs"]
    options = sorted(field for field in inputs if field.startswith("option_"))
    left_out = [
        *(options[3:] if number % 3 == 0 else ()),
        *(["audio_2"] if number % 2 and "audio_2" in inputs else ()),
    ]
    for field in left_out:  # an item may have fewer options, and fewer media
        del inputs[field]
        template = re.sub(rf"(?:\\n|\n)?[A-G][.)] {{{field}}}|, <{field}>", "", template)
    for field, value in inputs.items():
        if value.startswith("samples/"):
            kind = field.partition("_")[0]
            inputs[field] = (
                f"samples/{field}{number:04}{ {'image': '.png', 'audio': '.wav', 'video': '.mp4'}[kind] }"
            )
            content = {"image": png(colour=(number, 40, 90)), "audio": wav(0.1) + bytes([number])}
            film = b"\0\0\0\x18ftypmp42" + bytes([number])
            (folder / inputs[field]).write_bytes(content.get(kind, film) + field.encode())
        else:
            inputs[field] = f"{value} ({number})"
    offered = [field for field in options if field in inputs]
    item["outputs"] = "ABCDEFG"[number % len(offered)] if offered else f"{number % 7}"
    item["instruction"] = number % 10 if numbered else template
    for name, value in item["meta"].get("categories", {}).items():
        item["meta"]["categories"][name] = (
            [f"{name} {number % 3}"] if isinstance(value, list) else f"{name} {number % 3}"
        )
    if "group_id" in item["meta"]:
        item["meta"]["group_id"] = (number + 1) // 2
    item["meta"]["id"] = number
    return item
