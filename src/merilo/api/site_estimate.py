"""The estimate so far of a study that is served: the same computation as `merilo study status --show-estimate` after an import."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from merilo.errors import DataError, for_library
from merilo.reports.study_baseline import read_answers_table
from merilo.reports.study_status import StudyStatus, status_of
from merilo.studies.collected import answers_table, input_columns, merged
from merilo.studies.platform_rows import file_replies
from merilo.studies.study_tasks import study_tasks

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from merilo.site.hidden_estimate import HiddenEstimate
    from merilo.site.served_study import ServedStudy


def estimate_so_far(engine: Engine, study: ServedStudy) -> StudyStatus:
    """Compute the status of a served study with its estimate. The answers are collected and read as by an import, but nothing is imported.

    Args:
        engine: the site's database.
        study: the registered study.

    Raises:
        DataError: there are no answers yet.
    """
    from merilo.site.answer_export import collect_answers  # noqa: PLC0415 - an extra
    from merilo.site.study_figures import snapshot  # noqa: PLC0415

    folder, arm = study.folder, study.arm_name
    with snapshot(engine) as connection:
        collected = collect_answers(connection, study)
    tasks = study_tasks(folder)
    with TemporaryDirectory() as own:
        exported, table = Path(own) / "collected.csv", Path(own) / "answers.jsonl"
        exported.write_text(collected.table, encoding="utf-8", newline="")
        held = file_replies(exported, tasks, {study.key: arm}, "csv")
        replies, _ = merged([held], arm)
        fields = input_columns(folder, tasks)
        text, planned = answers_table(folder, arm, tasks, replies, fields)
        table.write_text(text, encoding="utf-8")
        names = dict.fromkeys(name for reply in replies for name in fields[reply.task])
        responses = read_answers_table(folder, table, list(names))
        return status_of(folder, arm, responses, planned_pay=planned, estimate=True)


def shown_estimate(engine: Engine, study: ServedStudy) -> HiddenEstimate:
    """Return the estimate so far for the author's page; without one, why there is none.

    Args:
        engine: the site's database.
        study: the registered study.
    """
    from merilo.site.hidden_estimate import HiddenEstimate  # noqa: PLC0415 - an extra

    try:
        status = estimate_so_far(engine, study)
    except DataError as error:
        return HiddenEstimate(problem=for_library(error.marked))
    made = status.estimate
    if made is None:
        return HiddenEstimate(answers=status.counted, problem=status.problem)
    return HiddenEstimate(
        made.metric,
        made.value,
        made.low,
        made.high,
        made.n,
        status.counted,
        over_annotators=made.over_annotators,
    )
