"""What the producers of a report's files start from: the baseline, its tables, its raw answers and the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import polars as pl

from merilo.datasets import Dataset
from merilo.items import Item
from merilo.strict_json import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSource:
    """A baseline with everything that a report is made from. Annotators are named by their pseudonyms.

    Attributes:
        folder: the folder that was given: a baseline's, or a study's.
        content: the baseline as JSON; docs/json.md explains its keys.
        responses: the raw responses, columns as in `responses.SCHEMA`.
        annotators: one row per annotator.
        consensus: one row per item that is not a control item.
        items: all items as people saw them: the number `item` and one text column per field.
        dataset: the dataset's declaration; `None` if the study names no dataset.
        plan: the content of `study.yaml`; `None` if the study was not planned with Merilo.
        attachments: the files of the plan by name: `study.yaml`, `frozen.json`, instructions.
        frozen: the record of the frozen plan, the content of `frozen.json`; `None` if the plan was not frozen.
        experts: the JSON of `merilo experts baseline`; `None` if experts were not asked.
        expert_raw: the experts' raw answers: the files of `RawStudy` by name; empty if they are not known.
        platform: the code of the platform that collected the answers; `None` if it is not known or there are several.
        cards: the dataset's own files by name: `raw_dataset_meta.json`, `raw_readme_ru.json`, `raw_readme_en.json`.
        test: the items of the dataset's own test, if it stands beside these files; `None` if it does not.
    """

    folder: Path
    content: Mapping[str, Json]
    responses: pl.DataFrame
    annotators: pl.DataFrame
    consensus: pl.DataFrame
    items: pl.DataFrame
    dataset: Dataset | None = None
    plan: Mapping[str, Json] | None = None
    attachments: Mapping[str, bytes] = field(default_factory=dict)
    frozen: Mapping[str, Json] | None = None
    experts: Mapping[str, Json] | None = None
    expert_raw: Mapping[str, bytes] = field(default_factory=dict)
    platform: str | None = None
    cards: Mapping[str, bytes] = field(default_factory=dict)
    test: tuple[Item, ...] | None = None


#: A function that makes files of a report: from the source to the files' names (below `hb/`) and contents.
Producer: TypeAlias = Callable[[ReportSource], Mapping[str, bytes]]
