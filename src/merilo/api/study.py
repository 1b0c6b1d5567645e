"""Create, check and freeze the plan of a study."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from merilo.atomic_write import write_text
from merilo.baselines.declared import settings_for
from merilo.errors import DataError, UsageError
from merilo.settings import AnalysisSettings
from merilo.strict_json import indented
from merilo.studies.creation import CreatedStudy, create_studies, create_study
from merilo.studies.freezing import FrozenPlan, freeze_plan
from merilo.studies.plan_checks import StudyCheck, check_study
from merilo.studies.plan_figures import plan_page
from merilo.studies.plan_types import Study, StudyWishes

__all__ = [
    "CreatedStudy",
    "FrozenPlan",
    "StudyCheck",
    "StudyWishes",
    "create_studies",
    "create_study",
    "freeze_study",
    "validate_study",
]


def validate_study(path: Path) -> StudyCheck:
    """Check a study: its plan, the files that the plan names, and the settings of its baseline.

    Args:
        path: the study's folder, or its `study.yaml`.

    Returns:
        All problems and warnings, and the computed plan.

    Raises:
        InputError: there is no study at the path, or its `study.yaml` is not YAML.
    """
    return check_study(path, further=_setting_faults)


def _setting_faults(plan: Study) -> Iterator[tuple[str, str]]:
    try:
        settings_for(None, plan.settings(next(iter(plan.arms.values()))))
    except UsageError as error:
        named = next((one.name for one in fields(AnalysisSettings) if one.name in error.message), "")
        yield f"baseline.{named}".rstrip("."), error.message


def freeze_study(path: Path, *, day: str | None = None, force: bool = False) -> tuple[FrozenPlan, StudyCheck]:
    """Check a study, update its computed plan, and record the date and the hashes in `frozen.json`.

    Args:
        path: the study's folder, or its `study.yaml`.
        day: the date, `YYYY-MM-DD`. Default: today.
        force: replace an earlier record.

    Raises:
        DataError: the study has problems; the message names the first one.
        OutputError: the plan is frozen already and `force` is not given.
        UsageError: the date is not a date.
        InputError: there is no study, or a file of it cannot be read.
    """
    check = validate_study(path)
    if not check.valid or check.study is None or check.figures is None:
        first, more = check.problems[0], len(check.problems) - 1
        rest = f" (and {more} more; 'merilo study validate' names all of them)" if more else ""
        raise DataError(f"{first.message}{rest}", file=first.file, row=first.row, field=first.field or None)
    frozen = freeze_plan(check.study, day=day, force=force)
    folder = check.study.path
    write_text(folder / "plan.json", indented(check.figures.as_json()) + "\n")
    write_text(folder / "plan.md", plan_page(check.study.plan, check.figures, check.warnings))
    return frozen, check
