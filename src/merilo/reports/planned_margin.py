"""The margin for equivalence from the frozen plan of a baseline's study."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from merilo.baselines.model_verdicts import Margin
from merilo.errors import InputError
from merilo.studies.freezing import read_frozen
from merilo.studies.plan_types import FROZEN_FILE

#: Where the record of the plan is, seen from a baseline: in its own folder, in `plan/` of a report, in its study.
_PLACES: Final = (".", "plan", "..")


def planned_margin(folder: Path) -> Margin | None:
    """Read the margin that was fixed before the data: the key `baseline.margin` of a frozen plan.

    Args:
        folder: the folder of a baseline.

    Returns:
        The margin with the date of the plan; `None` if the baseline has no frozen plan, or the plan has no margin.

    Raises:
        InputError: the record of the plan is damaged, or its margin is not a number between 0 and 1.
    """
    place = next((folder / name for name in _PLACES if (folder / name / FROZEN_FILE).is_file()), None)
    frozen = read_frozen(place) if place is not None else None
    if place is None or frozen is None:
        return None
    section = frozen.plan.get("baseline")
    value = section.get("margin") if isinstance(section, dict) else None
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise InputError(
            "must be a number between 0 and 1", file=place / FROZEN_FILE, field="plan.baseline.margin"
        )
    return Margin(float(value), frozen.date)


def chosen_margin(folder: Path | None, margin: float | None) -> Margin | None:
    """Return the margin of a comparison: the planned one, unless another one is given after the data.

    Args:
        folder: the folder of the baseline; `None` if it was not read from a folder.
        margin: the given margin; by default, the planned one.

    Raises:
        InputError: as for `planned_margin`.
    """
    planned = None if folder is None else planned_margin(folder)
    return planned if margin is None or (planned and planned.value == margin) else Margin(margin)
