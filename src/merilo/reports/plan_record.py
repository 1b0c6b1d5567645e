"""The frozen plan of a study on its report: the date, the hash, and every later difference."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from merilo.studies.plan_types import FROZEN_FILE

#: The list of differences between a frozen plan and the present one, beside the plan in a published folder.
CHANGES_FILE: Final = "changes.json"


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """The record of a frozen plan.

    Attributes:
        date: the day on which the plan was frozen.
        hash: the SHA-256 of the plan and of the files that it names.
        changes: the later differences: the key or file, its frozen value, its present value (empty if there is none), and
            whether it is a decision that should not have changed.
    """

    date: str
    hash: str
    changes: tuple[tuple[str, str, str, bool], ...]


def plan_record(attachments: Mapping[str, bytes] | None) -> PlanRecord | None:
    """Read the record from the files of a plan; `None` if the plan was not frozen.

    Args:
        attachments: the files of the plan by name, as `merilo report` collects them.
    """
    files = attachments or {}
    if FROZEN_FILE not in files:
        return None
    frozen = json.loads(files[FROZEN_FILE])
    changes = json.loads(files.get(CHANGES_FILE, b"[]"))
    return PlanRecord(
        str(frozen.get("date", "")),
        str(frozen.get("hash", "")),
        tuple(
            (str(one["what"]), _text(one["frozen"]), _text(one["now"]), bool(one["decision"]))
            for one in changes
        ),
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)
