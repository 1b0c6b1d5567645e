"""Let simulated people answer a study on the annotation site: a real server process, and people who speak HTTP to it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from merilo.api.site import require_site
from merilo.errors import InputError
from merilo.items import Item
from merilo.people.simulation import SimulatedItem
from merilo.studies.study_export import arm_of
from merilo.studies.study_folder import open_study
from merilo.studies.study_tasks import study_tasks

__all__ = ["SimulatedCollection", "collect_from_simulated_people"]

#: Seconds that the server may take to stop.
_PATIENCE = 20


@dataclass(frozen=True, slots=True)
class SimulatedCollection:
    """What simulated people did.

    Attributes:
        address: the address of the server.
        answers: answers to items and control items.
        people: how the visit ended -> people; see `SimulatedVisit.end`.
    """

    address: str
    answers: int
    people: dict[str, int]


def collect_from_simulated_people(
    study: Path, *, seed: int, difficulty: Callable[[Item], float] = lambda _item: 0.0
) -> SimulatedCollection:
    """Serve a frozen study in an own process and let simulated people answer it, until every item has its answers.

    The same study and seed give the same answers at the same (simulated) times.

    Args:
        study: the study's folder; the answers are stored in its database.
        seed: the random seed.
        difficulty: returns the difficulty of an item, from 0 to 1.

    Raises:
        MissingPartError: the extra `site` is missing.
        InputError: the study is not frozen, or the server does not start.
    """
    require_site()
    from merilo.site.served_study import load_study  # noqa: PLC0415 - an extra
    from merilo.site.simulated_people import SimulatedCrowd  # noqa: PLC0415

    folder = open_study(study)
    name, _ = arm_of(folder, None)
    load_study(folder, name)  # refuses a study that is not frozen
    tasks = study_tasks(folder)
    both = (
        *zip(tasks.tests, folder.items(), strict=True),
        *zip(tasks.controls, folder.controls(), strict=True),
        *zip(tasks.training, folder.training(), strict=True),
    )
    items = {
        task.id: SimulatedItem(task.first_known or str(one.item.outputs), task.labels, difficulty(one.item))
        for task, one in both
    }
    with _server(folder.path, seed) as port:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        crowd = SimulatedCrowd(connection, f"/s/{tasks.ids.study(name)}/", items, seed)
        try:
            crowd.answer_everything()
        finally:
            connection.close()
    visits = crowd.visits
    return SimulatedCollection(
        f"http://127.0.0.1:{port}",
        sum(one.answered for one in visits),
        dict(Counter(one.end for one in visits if one.answered or one.end == "refused")),
    )


@contextmanager
def _server(folder: Path, seed: int) -> Iterator[int]:
    """Run the server process; it ends when its standard input is closed, also if this process is killed."""
    command = [sys.executable, "-m", "merilo.site.simulated_server", str(folder), str(seed)]
    process = subprocess.Popen(  # noqa: S603 - this package
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ), start_new_session=True
    )
    assert process.stdin is not None  # noqa: S101 - made by PIPE
    assert process.stdout is not None  # noqa: S101 - made by PIPE
    try:
        port = process.stdout.readline().strip()
        if not port:
            raise InputError("the server of the simulated people did not start", file=folder)
        yield int(port)
    finally:
        process.stdin.close()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
