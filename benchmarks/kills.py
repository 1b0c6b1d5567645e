"""Kill the annotation site at random moments, and count what it has lost.

People answer over HTTP and note every acknowledgement. Meanwhile the server is killed (SIGKILL), finds its disk full for a second, starts again with a
clock that is hours or days off, or (`--postgres`) loses its database for a moment. At the end of a round, what was acknowledged is compared with the log:

    lost      acknowledged answers that the log does not have
    doubled   answers that it has twice
    over      answers beyond an item's overlap

The counts are added to FOLDER/history.json, so that the history goes on where it was: run it again with the same folder. Exit status 1: a count is not 0.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import resource
import shutil
import socket
import sys
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from postgres_server import PostgresServer, postgres_server
from study_people import frozen, study_of
from support.site_client import Client, PatientPerson

from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples
from merilo.site.journal import Journal, database_url
from merilo.site.serving import read_site, serve_study
from merilo.studies.study_folder import open_study

ITEMS, PEOPLE = 300, 40
COUNTS = (
    "kills",
    "full disks",
    "clock jumps",
    "database restarts",
    "acknowledged",
    "lost",
    "doubled",
    "over",
)

#: Seconds of a full disk and without a database; hours by which a clock is off; answers between two faults.
MOMENT, HOURS, BETWEEN = 1.0, 80, 40


def serve(study: str, port: int, database: str, hours: float) -> None:
    """Serve in a process of its own, whose clock is off."""
    seconds, nanoseconds = time.time, time.time_ns
    time.time = lambda: seconds() + 3600 * hours
    time.time_ns = lambda: nanoseconds() + round(3600e9 * hours)
    serve_study(Path(study), port=port, database=database)


def study_in(folder: Path) -> Path:
    """A frozen study with answers in free text, so that each answer differs from every other."""
    bundled = examples(dataset("chegeka"))
    item = bundled["test"].items[0]
    questions = [
        replace(item, inputs={**item.inputs, "text": f"Вопрос {n}"}, meta={**item.meta, "id": n})  # type: ignore[dict-item]
        for n in range(ITEMS)
    ]
    study = study_of(folder, questions, bundled["shots"].items, dataset_name="chegeka", overlap=5)
    return frozen(study).path


class Round:
    """People who answer one study while its server meets faults.

    Args:
        study: the study's folder.
        database: its database.
        random: draws the faults.
        most: the most faults.
        postgres: the database server, if it is PostgreSQL.
    """

    def __init__(
        self, study: Path, database: str, random: Random, most: int, postgres: PostgresServer | None
    ) -> None:
        self.study, self.database, self.random, self.most, self.postgres = (
            study, database, random, most, postgres,
        )  # fmt: skip
        self.counts = Counter[str]()
        self.answers = 0
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["kills", "merilo.site.serving"])
        self.process = self.started()

    def started(self, hours: float = 0.0) -> BaseProcess:
        arguments = (str(self.study), self.port, self.database, hours)
        process = self.context.Process(target=serve, args=arguments, daemon=True)
        process.start()
        return process

    def kill(self) -> None:
        """Kill the server as the system does when memory runs out."""
        self.process.kill()
        self.process.join()
        self.counts["kills"] += 1

    async def fault(self) -> None:
        """Let one thing go wrong."""
        kind = self.random.choices(
            ["kill", "clock", "disk" if self.postgres is None else "database"], [8, 1, 1]
        )[0]
        if kind == "kill":
            self.kill()
            self.process = self.started()
        elif kind == "clock":
            self.kill()
            self.process = self.started(self.random.uniform(-HOURS, HOURS))
            self.counts["clock jumps"] += 1
        elif kind == "disk":
            _, hard = resource.prlimit(
                self.process.pid or 0, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY)
            )
            await asyncio.sleep(MOMENT)
            if self.process.is_alive():
                resource.prlimit(self.process.pid or 0, resource.RLIMIT_FSIZE, (hard, hard))
            else:  # it was starting, and a server that finds a full disk ends with a sentence
                self.process = self.started()
            self.counts["full disks"] += 1
        elif self.postgres is not None:
            await asyncio.to_thread(self.postgres.stop, "immediate")
            await asyncio.sleep(self.random.uniform(0, MOMENT))
            await asyncio.to_thread(self.postgres.start)
            self.counts["database restarts"] += 1

    async def faults(self) -> None:
        for _ in range(self.most):
            until = self.answers + self.random.randrange(1, BETWEEN)
            while self.answers < until:
                await asyncio.sleep(0.01)
            await self.fault()

    async def run(self) -> list[PatientPerson]:
        """Let everybody answer; return the people with what was acknowledged to them."""
        folder = open_study(self.study)
        known = {task.id: str(task.known) for task in folder.tasks() if task.kind == "control"}
        path = f"/s/{folder.arm_id('people')}/"

        def acknowledged() -> None:
            self.answers += 1

        def person(number: int) -> PatientPerson:
            answers = iter(range(10**9))
            return PatientPerson(
                Client(self.port),
                path,
                str(number),
                lambda task: known.get(task, f"{number} {task} {next(answers)}"),
                acknowledged,
            )

        everyone = [person(number) for number in range(PEOPLE)]
        faults = asyncio.create_task(self.faults())
        try:
            await asyncio.gather(*(one.take_part() for one in everyone))
        finally:
            faults.cancel()
            self.process.kill()
            self.process.join()
            await asyncio.gather(faults, return_exceptions=True)
        return everyone

    def compare(self, everyone: list[PatientPerson]) -> None:
        """Count what the log lacks, has twice, or has beyond the overlap."""
        state = read_site(self.study, database=self.database)
        names = {person.id: person.external for person in state.people.values()}
        journal = Journal(database_url(self.study, self.database))
        events = list(journal.events(state.study.key, ["answered"]))
        journal.close()
        times = Counter((names[event.person], event.task) for event in events)
        stored = {
            (names[event.person], state.study.tasks[event.task or 0].id): event.facts["answer"]
            for event in events
        }
        for one in everyone:
            self.counts["lost"] += sum(
                stored.get((one.number, task)) != answer for task, answer in one.kept.items()
            )
        places = Counter(
            task
            for person in state.people.values()
            for task, row in person.tasks.items()
            if row.counts and row.state == "answered"
        )
        self.counts["doubled"] += sum(number - 1 for number in times.values())
        self.counts["over"] += sum(max(0, number - state.rules.overlap) for number in places.values())
        self.counts["acknowledged"] += sum(len(one.kept) for one in everyone)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("build/kills"), help="of the history")
    parser.add_argument("--faults", type=int, default=100, help="how many more (default: 100)")
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL, which is also restarted")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    history = options.folder / "history.json"
    place = "postgresql" if options.postgres else "sqlite"
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_server()) if options.postgres else None
        made = 0
        while made < options.faults:
            counts = Counter(json.loads(history.read_text())[place] if history.exists() else {})
            seed = counts["acknowledged"]
            folder = options.folder / f"{place}-{seed}"
            shutil.rmtree(folder, ignore_errors=True)
            study = study_in(folder)
            database = postgres.new_database() if postgres else f"sqlite:///{folder / 'site.db'}"
            one = Round(study, database, Random(seed), options.faults - made, postgres)
            one.compare(asyncio.run(one.run()))
            made += sum(one.counts[name] for name in ("kills", "full disks", "database restarts"))
            whole = json.loads(history.read_text()) if history.exists() else {}
            whole[place] = counts + one.counts
            history.write_text(json.dumps(whole, indent=1))
            print(f"{place}: " + ", ".join(f"{whole[place][name]:,} {name}" for name in COUNTS), flush=True)
            shutil.rmtree(folder)
    return int(any(whole[place][name] for name in ("lost", "doubled", "over")))


if __name__ == "__main__":
    raise SystemExit(main())
