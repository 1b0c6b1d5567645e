"""Reading what a report is made of: the folder of a baseline, or of a study with its plan."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from merilo.datasets.custom import read_yaml
from merilo.errors import DataError, InputError
from merilo.items import Item, read_split
from merilo.records import list_at, mapping_at
from merilo.reports.dataset_card import META_FILE
from merilo.reports.hb.figures import compare_figures, figures_of
from merilo.reports.hb.raw_study import RAW, RawStudy, read_raw
from merilo.reports.hb.recomputation import Recomputed, recompute
from merilo.reports.hb.withholding import gold_is_closed, withheld
from merilo.reports.page import CHANGES_FILE
from merilo.strict_json import Json, indented, read_json
from merilo.studies.collected import IMPORTS_FILE
from merilo.studies.plan_types import FROZEN_FILE, STUDY_FILE, WEIGHTS_FILE
from merilo.studies.study_folder import changes_since_freeze
from merilo.wording import counted_noun, shown

#: Files of a plan that a report includes, where they exist.
_ATTACHED: Final = (
    STUDY_FILE, FROZEN_FILE, "instruction*", "plan.json", "plan.md", "subset.csv", "subset.svg", WEIGHTS_FILE,
)  # fmt: skip

#: The files of a dataset that a report completes.
CARD_FILES: Final = (META_FILE, "raw_readme_ru.json", "raw_readme_en.json")

#: The items of a dataset, in its folder.
TEST_FILE: Final = "test.json"

#: The subfolder of a study that holds its baseline.
_BASELINE: Final = "baseline"

#: The parts of a baseline's JSON that do not name annotators: equal with ids and with pseudonyms.
_COMPARED: Final = (
    "status", "metrics", "agreement", "by", "items", "responses", "annotators", "resolved_by", "cost", "differences",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSource:
    """A baseline with everything that a report is made from. Annotators are named by their pseudonyms.

    Attributes:
        folder: the folder that was given: a baseline's, or a study's.
        made: the baseline, computed again from its raw answers.
        plan: the content of `study.yaml`; `None` if the study was not planned with Merilo.
        attachments: the files of the plan by name: `study.yaml`, `frozen.json`, instructions.
        frozen: the record of the frozen plan, the content of `frozen.json`; `None` if the plan was not frozen.
        platform: the code of the platform that collected the answers; `None` if it is not known or there are several.
        cards: the dataset's own files by name: `raw_dataset_meta.json`, `raw_readme_ru.json`, `raw_readme_en.json`.
        test: the items of the dataset's own test, if it stands beside these files; `None` if it does not.
    """

    folder: Path
    made: Recomputed
    plan: Mapping[str, Json] | None = None
    attachments: Mapping[str, bytes] = field(default_factory=dict)
    frozen: Mapping[str, Json] | None = None
    platform: str | None = None
    cards: Mapping[str, bytes] = field(default_factory=dict)
    test: tuple[Item, ...] | None = None

    @property
    def content(self) -> Mapping[str, Json]:
        """Return the baseline as JSON; docs/json.md explains its keys."""
        return self.made.content


def read_source(folder: Path, *, cards: Path | None = None, with_gold: bool = False) -> ReportSource:
    """Read the folder of a baseline, or of a study whose baseline was made, and compute the baseline again.

    Args:
        folder: a folder that `merilo baseline --out` wrote; or the folder of a study: `study.yaml`, and the baseline in
            the subfolder `baseline` or in the same folder.
        cards: the folder of the dataset with `raw_dataset_meta.json` and `raw_readme_*.json`.
        with_gold: keep gold answers that the dataset declares closed; see `withholding`.

    Raises:
        InputError: the folder is neither, or its files are damaged.
        DataError: values in `baseline.json` differ from those recomputed from the raw answers.
    """
    dataset_files = _cards(cards)
    planned = (folder / STUDY_FILE).is_file()
    place = _baseline_folder(folder, studied=planned)
    made = recompute(_raw(place))
    _refuse_other_figures(place / "baseline.json", made)
    attachments = _attachments(folder) if planned else {}
    if gold_is_closed(made.raw) and not with_gold:
        strata = made.raw.population
        made = withheld(made)
        if strata is not None and made.raw.population is None:
            attachments.pop(WEIGHTS_FILE, None)
    return ReportSource(
        folder=folder,
        made=made,
        plan=_plan(folder / STUDY_FILE) if planned else None,
        attachments=attachments,
        frozen=object_of(folder / FROZEN_FILE) if planned and (folder / FROZEN_FILE).is_file() else None,
        platform=(_platform(folder) if planned else None) or made.raw.platform,
        cards=dataset_files,
        test=_test(cards),
    )


def _baseline_folder(folder: Path, *, studied: bool) -> Path:
    if not folder.is_dir():
        raise InputError(
            "is not a folder: give the folder that merilo baseline wrote"
            if folder.exists()
            else "there is no such folder",
            file=folder,
        )
    for place in (folder / _BASELINE, folder) if studied else (folder,):
        if (place / "baseline.json").is_file():
            return place
    if studied:
        raise InputError(
            f"this study has no baseline yet: {_BASELINE}/baseline.json is missing (make it with merilo study "
            f"baseline {shown(folder)}, in the folder {shown(folder / _BASELINE)})",
            file=folder,
        )
    raise InputError(
        "is not the folder of a baseline: baseline.json is missing (results of other commands, such as code score, "
        "are not reported)",
        file=folder,
    )


def _raw(place: Path) -> RawStudy:
    if not (place / RAW).is_dir():
        raise InputError(
            f"has no raw answers ({RAW}/ is missing): make the baseline again",
            file=place,
        )
    return read_raw(place / RAW)


def _refuse_other_figures(path: Path, made: Recomputed) -> None:
    """Refuse a baseline whose JSON was changed, or whose raw answers were."""
    content = object_of(path)
    published, recomputed = (
        {
            name: value
            for name, value in figures_of(_compared(whole)).items()
            if not name.endswith(".annotator")
        }
        for whole in (content, made.content)
    )
    moved = [figure for figure in compare_figures(published, recomputed) if not figure.follows]
    if moved:
        first = moved[0]
        raise DataError(
            f"{counted_noun(len(moved), 'value differs', 'values differ')} from the answers in "
            f"{RAW}: {first.published} is "
            f"published, {first.recomputed} recomputed; make the baseline again",
            file=path,
            field=first.name,
        )


def _compared(content: Mapping[str, Json]) -> dict[str, Json]:
    """Return the parts of a baseline's JSON, and of those of its arms, that name no annotator and no folder."""
    arms = {
        name: _compared(one) for name, one in mapping_at(content, "arms").items() if isinstance(one, dict)
    }
    return {**{key: content[key] for key in _COMPARED if key in content}, "arms": {**arms}}


def _plan(path: Path) -> Mapping[str, Json]:
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise InputError("is not the plan of a study", file=path)
    # Dates of YAML become texts.
    return cast("dict[str, Json]", json.loads(json.dumps(content, ensure_ascii=False, default=str)))


def object_of(path: Path) -> dict[str, Json]:
    """Read a JSON file that holds an object."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputError("is not an object", file=path)
    return content


def _platform(folder: Path) -> str | None:
    """Return the platform from which a study's answers were imported, if it is only one."""
    if not (folder / IMPORTS_FILE).is_file():
        return None
    files = list_at(object_of(folder / IMPORTS_FILE), "files")
    found = {one.get("platform") for one in files if isinstance(one, dict) and one.get("arm") == "people"}
    (name,) = found if len(found) == 1 else (None,)
    return name if isinstance(name, str) else None


def _test(folder: Path | None) -> tuple[Item, ...] | None:
    """Read the items of the dataset's test, if its folder has them."""
    return (
        None
        if folder is None or not (folder / TEST_FILE).is_file()
        else read_split(folder / TEST_FILE, "test").items
    )


def _cards(folder: Path | None) -> dict[str, bytes]:
    if folder is None:
        return {}
    found = {name: (folder / name).read_bytes() for name in CARD_FILES if (folder / name).is_file()}
    if not found:
        raise InputError(f"has none of {', '.join(CARD_FILES)}", file=folder)
    return found


def _attachments(folder: Path) -> dict[str, bytes]:
    """Return the files of the plan, and what was changed since it was frozen."""
    found = {}
    for pattern in _ATTACHED:
        for path in sorted(folder.glob(pattern)):
            if path.is_file():
                found[path.name] = path.read_bytes()
    if FROZEN_FILE in found:
        changes: list[Json] = [
            {"what": one.what, "frozen": one.frozen, "now": one.now, "decision": one.decision}
            for one in changes_since_freeze(folder)
        ]
        found[CHANGES_FILE] = f"{indented(changes)}\n".encode()
    return found
