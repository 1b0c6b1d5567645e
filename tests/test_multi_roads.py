"""Each published folder of MERA Multi from its files to the verified folder, with people and experts on the site.

The metadata, cards and prompts are those of the published datasets; items, pictures, sounds and films are our own. What
comes out is computed here again from what people answered.
"""

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command import done
from multi_folders import META, NAMES, multi_folder
from walked_road import AnsweredItem, Entry, experts_answer, walk

#: The folder that is always walked: films in pairs, with categories and two metrics.
QUICK = "ruHHH-Video"
#: An expert's arm is made for all of them, though the skills of one only ask for experts.
EXPERTS = ("--audience", "expert")


def answers(item: Entry, _: Sequence[str]) -> tuple[str, ...]:
    """What most people answer, and other answers, among the options of the item or numbers.

    Two items are answered wrong by all: a value of 1 would tell the closed gold answers and is withheld.
    """
    options = [name[-1].upper() for name in item["inputs"] if name.startswith("option_")]
    texts = [item["outputs"], *(text for text in options or "789" if text != item["outputs"])]
    return tuple(reversed(texts) if item["meta"]["id"] in {9, 25} else texts)


def expert(answered: AnsweredItem, *, right: bool) -> str:
    texts = sorted({*answers(answered.item, ())}, key=lambda text: text != answered.gold)
    return texts[not right]


def agreed(answered: AnsweredItem) -> bool:
    """Whether at least three of five people gave one answer: the plan's value for the metadata is that of such items."""
    return max(Counter(answered.answers).values()) >= 3


def figures(items: Sequence[AnsweredItem]) -> dict[str, float]:
    """The metrics as the datasets define them: right items, and groups of which every item is right."""
    right = [answered.consensus.upper() == answered.gold for answered in items]
    groups: dict[Any, list[bool]] = {}
    for answered, is_right in zip(items, right, strict=True):
        groups.setdefault(answered.item["meta"].get("group_id"), []).append(is_right)
    shares = {"Exact match": sum(right) / len(right)}
    if None not in groups:
        shares["Group Exact match"] = sum(map(all, groups.values())) / len(groups)
    return shares


@pytest.mark.parametrize(
    "name", [name if name == QUICK else pytest.param(name, marks=pytest.mark.thorough) for name in NAMES]
)
def test_a_folder_of_mera_multi_goes_from_its_files_to_the_verified_folder(name: str, tmp_path: Path) -> None:
    folder = multi_folder(name, tmp_path, numbered=True)
    before = (folder / META).read_bytes()
    done("datasets", "validate", folder)
    walked = walk(tmp_path, folder, answers, options=EXPERTS)
    people = figures(walked.items)
    ours = {
        shown.replace(" ", "_").lower(): pytest.approx(value, abs=1e-6) for shown, value in people.items()
    }
    assert {
        metric: told["value"] for metric, told in walked.baseline["metrics"].items() if "." not in metric
    } == ours
    assert walked.baseline["status"] == "accepted"
    assert walked.verified["verified"] is True

    # Experts are wrong about the last three items only.
    wrong = {answered.id for answered in walked.items[-3:]}
    items = [
        replace(answered, answers=5 * (expert(answered, right=answered.id not in wrong),))
        for answered in walked.items
    ]
    experts_answer(tmp_path, items)
    done("report", tmp_path / "study", "--out", tmp_path / "both", "--cards", folder)
    assert done("verify", tmp_path / "both", "--json", "-").json["verified"] is True
    cards = (META, "raw_readme_ru.json", "raw_readme_en.json")
    meta, *readmes = (json.loads((tmp_path / "both" / card).read_text("utf-8")) for card in cards)
    sure = [*filter(agreed, walked.items)]
    published = {"human_benchmark_expert": figures(items)}
    # The values of all items and of all but a few, side by side, would tell gold answers of the few.
    published |= {} if 0 < len(walked.items) - len(sure) < 5 else {"human_benchmark": figures(sure)}
    for key, values in published.items():
        assert meta[key] == {shown: pytest.approx(value, abs=5e-4) for shown, value in values.items()}, key
    for readme in readmes:
        assert f"{figures(items)['Exact match']:.3f}"[2:] in readme["Human baseline"]
    assert (folder / META).read_bytes() == before
    for card in cards:
        shutil.copyfile(tmp_path / "both" / card, folder / card)
    done("datasets", "validate", folder)
