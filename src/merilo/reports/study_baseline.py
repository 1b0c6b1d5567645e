"""The baseline of a study: its collected answers, its plan and its gold answers put together.

Experts who wrote the questions themselves have a baseline beside people without training.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Final

import polars as pl
from pydantic import TypeAdapter

from merilo.baselines.baseline import Baseline
from merilo.baselines.raw_files import CHANGES_FILE, PLAN_FILES
from merilo.errors import DataError, MeriloError, renamed
from merilo.reports.baseline import baseline
from merilo.responses import Responses, answer_seconds
from merilo.settings import AnalysisSettings
from merilo.strict_json import Json, indented
from merilo.studies.plan import CONTROLS_FILE, FROZEN_FILE, ITEMS_FILE, STUDY_FILE, WEIGHTS_FILE, Plan
from merilo.studies.study_folder import StudyFolder, changes_since_freeze, open_study, read_frozen
from merilo.studies.study_import import imported_table, read_imported, read_imports
from merilo.wording import shown


def study_responses(study: str | Path | StudyFolder, *, arm: str | None = None) -> Responses:
    """Read the answers that a study has collected from one group of annotators.

    Programs are run, and their verdicts read. Experts' answers after the time limit of their arm are left out; the time
    of a page is divided equally among its answers.

    Args:
        study: the study's folder.
        arm: the group; `people` by default.

    Raises:
        InputError: the plan or a file of the study cannot be read.
        UsageError: the plan has no such group.
        DataError: nothing was imported for the group, or the imported answers were changed.
    """
    folder = study if isinstance(study, StudyFolder) else open_study(Path(study))
    name, group = folder.arm(arm)
    path, table = imported_table(folder, name)
    if folder.declared().answer.kind == "program":
        from merilo.reports.study_programs import write_verdicts  # noqa: PLC0415 - only programs need a sandbox

        path = write_verdicts(folder, name, path)
    read = read_imported(path, folder.declared(), ("id", *table.fields))
    if group.kind == "expert" and group.limits:
        limits = {str(item.id): group.seconds_for(item) for item in (*folder.items(), *folder.controls())}
        seconds = [limits[str(name)] for name in read.items["id"]]
        limit = pl.col("item").replace_strict(read.items["item"], seconds, return_dtype=pl.Float64)
        read = read.without(answer_seconds() > limit, "late")
    return replace(read, participation=read_imports(folder).people.get(name))


def frozen_plan(folder: StudyFolder) -> Plan:
    """Return the plan as it was frozen; the plan as it is if it was not frozen.

    Raises:
        InputError: the record of the frozen plan is damaged.
        DataError: the items or control items were changed after the plan was frozen.
    """
    frozen = read_frozen(folder.path)
    if frozen is None:
        return folder.plan
    plan = TypeAdapter(Plan).validate_python(dict(frozen.plan))
    asked = {ITEMS_FILE, *([CONTROLS_FILE] if plan.controls else [])}
    for change in changes_since_freeze(folder.path):
        if change.what in asked:
            raise DataError(
                f"was changed after the plan was frozen on {frozen.date}, so the answers are not "
                "to these items; restore it",
                file=shown(folder.path / change.what),
            )
    return plan


def gold_file(folder: StudyFolder) -> Path | None:
    """Return the file of the study's gold answers; `None` if the test is closed."""
    return folder.path / ITEMS_FILE if any(item.outputs is not None for item in folder.items()) else None


def weights_file(folder: StudyFolder, plan: Plan) -> Path | None:
    """Return the file of the items' weights if the study's items were drawn from a larger dataset; else `None`.

    Items that are scored as a whole, such as turns of a dialogue, are never drawn.
    """
    path = folder.path / WEIGHTS_FILE
    return path if plan.subset.size < plan.subset.of and path.is_file() else None


#: The names of the plan's keys for arguments, in errors about values that the plan gives.
PLAN_KEYS: Final = {setting.name: f"baseline.{setting.name}" for setting in fields(AnalysisSettings)}


@contextmanager
def _keys_of_the_plan(folder: StudyFolder) -> Iterator[None]:
    """Name the plan's keys, not arguments, in errors about values that the plan gives."""
    try:
        yield
    except MeriloError as error:
        marked, place = renamed(error.marked, PLAN_KEYS), error.place
        if marked == error.marked:
            raise
        file = place.file or shown(folder.path / (FROZEN_FILE if folder.frozen else STUDY_FILE))
        raise type(error)(marked, file=file, row=place.row, field=place.field) from error


def study_baseline(
    study: str | Path | StudyFolder,
    *,
    arm: str | None = None,
    responses: Responses | None = None,
    models: Sequence[str | Path] = (),
) -> Baseline:
    """Compute the baseline of a study with the settings of its frozen plan, or of its plan if it is not frozen.

    Args:
        study: the study's folder.
        arm: the group of annotators; by default `people`, or the first, with the others that have answers beside it.
        responses: the group's answers, if `study_responses` has read them already.
        models: files of models' answers to compare with the annotators.

    Returns:
        The baseline.

    Raises:
        InputError: the plan or a file of the study cannot be read.
        UsageError: the plan has no such group, or its settings do not fit the answers.
        DataError: nothing was imported for the group, the imported answers or the frozen items were changed,
            or no item is left.
    """
    folder = study if isinstance(study, StudyFolder) else open_study(Path(study))
    name, group = folder.arm(arm)
    frozen = frozen_plan(folder)
    planned = frozen.arms.get(name, group)
    gold = gold_file(folder)
    own = folder.path / folder.plan.dataset
    imports = read_imports(folder)
    # Of an item that its author skips, fewer people may answer than planned.
    asked = (len(folder.items()), 1 if planned.skip_own else planned.overlap)
    others = [other for other in folder.plan.arms if other in imports.tables.keys() - {name} and arm is None]
    with _keys_of_the_plan(folder):
        result = baseline(
            replace(responses or study_responses(folder, arm=name), planned=asked),
            dataset=shown(own) if own.exists() else folder.plan.dataset,
            gold=gold,
            models=models,
            population=weights_file(folder, frozen) if gold else None,
            settings=replace(
                frozen.settings(planned),
                currency=group.pay.currency,
                minimum_hourly=group.pay.minimum_per_hour,
            ),
        )
    platforms = {file.platform for file in imports.files if file.arm == name}
    beside = {other: study_baseline(folder, arm=other) for other in others}
    words = ["merilo", "study", "baseline", shown(folder.path), *(["--arm", name] if arm else [])]
    platform = platforms.pop() if len(platforms) == 1 else None
    return result.with_plan(plan_files(folder), platform, shlex.join(words)).beside(name, beside)


def plan_files(folder: StudyFolder) -> dict[str, bytes]:
    """Return the files of a study's plan that are published, and what was changed since it was frozen."""
    files = {
        path.name: path.read_bytes() for pattern in PLAN_FILES for path in sorted(folder.path.glob(pattern))
    }
    if FROZEN_FILE in files:
        changes: list[Json] = [change.to_json() for change in changes_since_freeze(folder.path)]
        files[CHANGES_FILE] = f"{indented(changes)}\n".encode()
    return files
