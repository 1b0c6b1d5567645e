"""The estimate so far of a study that is served, computed only when its author asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TypeVar

from sqlalchemy import Engine

from merilo.reports.study_baseline import read_answers_table
from merilo.reports.study_status import StudyStatus, status_of
from merilo.site.answer_export import collect_answers
from merilo.site.database import snapshot
from merilo.site.served_study import ServedStudy
from merilo.studies.collected import answers_table
from merilo.studies.platform_rows import file_replies
from merilo.studies.study_tasks import study_tasks

Result = TypeVar("Result")


def estimate_so_far(engine: Engine, study: ServedStudy) -> StudyStatus:
    """Compute the status of a served study with its estimate.

    The same computation as `merilo study status --show-estimate` after an import.

    The answers are collected and read as by an import, but nothing is imported.

    Args:
        engine: the site's database.
        study: the registered study.

    Raises:
        DataError: there are no answers yet.
    """
    folder, arm = study.folder, study.arm_name
    with snapshot(engine) as connection:
        collected = collect_answers(connection, study)
    tasks = study_tasks(folder)
    with TemporaryDirectory() as own:
        exported, table = Path(own) / "collected.csv", Path(own) / "answers.jsonl"
        exported.write_text(collected.table, encoding="utf-8", newline="")
        held = file_replies(exported, tasks, {study.key: arm}, "csv")
        text, made = answers_table(folder, arm, tasks, [held])
        table.write_text(text, encoding="utf-8")
        responses = read_answers_table(folder, table, made.fields)
        return status_of(folder, arm, responses, planned_pay=made.planned_pay, estimate=True)


class AskedEstimates:
    """Computes estimates when an author asks, in a thread; who asks while one is computed waits for it.

    Args:
        engine: the site's database.
        compute: computes the status of a study with its estimate.
    """

    def __init__(
        self, engine: Engine, compute: Callable[[Engine, ServedStudy], StudyStatus] = estimate_so_far
    ) -> None:
        self._engine = engine
        self._compute = compute
        self._running: dict[int, asyncio.Task[StudyStatus]] = {}

    async def of(self, study: ServedStudy) -> StudyStatus:
        """Return the status of a study with its estimate.

        Raises:
            DataError: there are no answers yet.
        """
        number = study.rules.study
        running = self._running.get(number)
        if running is None:
            running = asyncio.create_task(in_thread(lambda: self._compute(self._engine, study)))
            self._running[number] = running
            running.add_done_callback(lambda _: self._running.pop(number, None))
        # An author who goes away does not end the computation for another one.
        return await asyncio.shield(running)


async def in_thread(work: Callable[[], Result]) -> Result:
    """Run work beside the event loop. The server does not wait for it when it stops.

    Args:
        work: what to do.

    Raises:
        Exception: what the work raised.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def tell(result: Result | None, error: Exception | None) -> None:
        if future.done():  # nobody waits any more
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]  # without an error there is a result

    def run() -> None:
        result, failed = None, None
        try:
            result = work()
        except Exception as error:
            failed = error
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(tell, result, failed)

    Thread(target=run, name="site figures", daemon=True).start()
    return await future
