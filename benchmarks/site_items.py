"""Measure the annotation site's allocation in a study of 1,000,000 items: registration, the next item, and the search for overdue tasks.

The times are those of one transaction each, with its commit: at the beginning; for a person who has answered 10,000 items; at the end, when 20 items are free and the
person has answered nearly all others; and when nothing is left for them. `--database postgresql://...` measures PostgreSQL; without it SQLite is
measured in a temporary folder. `--load` also reads a study of so many items from its files, as `merilo study serve` does.

Exit status 1: the next item takes 20 ms or longer in the median.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median

from sqlalchemy import Connection, Engine, text

from merilo.site.assignment import Allocation
from merilo.site.database import database_url, open_database, writing
from merilo.site.served_study import ServedStudy, load_study, register
from merilo.studies.study_folder import open_study

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from site_study import speed_study

ALLOWED = 0.020
OVERLAP = 3

PEOPLE = """INSERT INTO person (study, pseudonym, source, external, stage, language, seed, created)
VALUES (1, :name, 'link', :code, 'working', 'ru', :seed, 0)"""
ANSWERED = """INSERT INTO response (study, person, task, place, state, counts, given, due, answered, seconds, answer)
SELECT 1, :person, number, number + 1, 'answered', {true}, 0, 1800000, 5000, 5.0, '1' FROM task
WHERE study = 1 AND number >= :low AND number < :high"""
OPEN = """INSERT INTO response (study, person, task, place, state, counts, given, due)
SELECT 1, :person, number, number + 1, 'open', {true}, 0, 1800000 + number FROM task
WHERE study = 1 AND number >= :low AND number < :high"""


class Measured:
    """A registered study and its database."""

    def __init__(self, engine: Engine, items: int) -> None:
        self.engine = engine
        self.items = items
        self.true = "1" if engine.dialect.name == "sqlite" else "true"
        self.missed = False

    def run(self, statement: str, **values: object) -> None:
        with writing(self.engine) as connection:
            connection.execute(text(statement.format(true=self.true)), values)

    def timed(
        self, name: str, operation: Callable[[Connection, int], object], *, count: int, asked: bool = True
    ) -> None:
        """Time an operation, each in a transaction of its own."""
        walls, own = [], time.process_time()
        for number in range(count):
            start = time.perf_counter()
            with writing(self.engine) as connection:
                found = operation(connection, number)
            walls.append(time.perf_counter() - start)
        own = (time.process_time() - own) / count
        print(f"{name:60} median {1000 * median(walls):8.2f} ms, slowest {1000 * max(walls):8.2f} ms, processor {1000 * own:6.2f} ms   ({found})")  # fmt: skip
        if asked:
            self.missed |= median(walls) >= ALLOWED


def resident() -> float:
    """The largest memory of this process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


@contextmanager
def noted(name: str) -> Iterator[None]:
    """Print the time of a step; steps in brackets only prepare."""
    start, own = time.perf_counter(), time.process_time()
    yield
    print(f"{name:60} {time.perf_counter() - start:8.1f} s, processor {time.process_time() - own:.1f} s, memory at most {resident():.2f} GiB")  # fmt: skip


def measure(engine: Engine, folder: Path, items: int) -> bool:
    """Register a small study, enlarge it, and time the allocation."""
    study = load_study(open_study(folder), "people")
    with noted(f"register {items:,} items"), writing(engine) as connection:
        registered = register(connection, enlarged(study, items), 0)
    rules = registered.rules
    site = Measured(engine, items)
    with writing(engine) as connection:
        connection.execute(
            text(PEOPLE), [{"name": f"p{n}", "code": f"p{n}", "seed": 7919 * n} for n in range(1, 1101)]
        )

    def loop(person: int) -> Callable[[Connection, int], object]:
        def one(connection: Connection, number: int) -> object:
            allocation = Allocation(connection, rules, 10_000 + number)
            given = allocation.give(person, 7919 * person)
            if isinstance(given, str):
                return given
            return allocation.save(person, given.task, "1")

        return one

    def overdue(now: int) -> Callable[[Connection, int], object]:
        return lambda connection, _: Allocation(connection, rules, now).return_overdue()

    site.timed("next item and save, at the beginning", loop(1), count=300)
    with noted("(50 people answer 10,000 items each)"):
        for person in range(2, 52):
            low = (person * 7919 * 100) % (items - 10_000)
            site.run(ANSWERED, person=person, low=low, high=low + 10_000)
        site.run("UPDATE task SET open = open - 1 WHERE study = 1 AND number < :half", half=items // 2)
    site.timed("the same for a person who has answered 10,000", loop(2), count=300)
    with noted("(1,000 people have an item before them)"), writing(engine) as connection:
        opened = text(OPEN.format(true=site.true))
        connection.execute(opened, [{"person": n, "low": n, "high": n + 1} for n in range(100, 1100)])
    site.timed("search for overdue tasks, 1,000 open, none overdue", overdue(20_000), count=20)
    with noted("(a person answers all items but the first 40)"):
        site.run(ANSWERED, person=60, low=40, high=items)
    # Nobody answers a million items: this shows how the search grows with the free items that a person has answered.
    site.timed("next item for them, all items free for others", loop(60), count=5, asked=False)
    site.run("UPDATE task SET open = 0 WHERE study = 1 AND number >= 60")
    site.timed("next item for them, 60 items free", loop(60), count=30)
    site.timed("nothing left for them: wait or done", loop(60), count=30)
    site.timed("search that gives 1,000 overdue tasks back", overdue(1_802_000), count=1, asked=False)
    return site.missed


def enlarged(study: ServedStudy, items: int) -> ServedStudy:
    """The study with so many items of the test and nothing else."""
    rules = replace(study.rules, tests=items, controls=0, training=0, every=0, overlap=OVERLAP)
    return replace(study, tasks=study.tasks[:1] * items, rules=rules)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--database", help="an empty PostgreSQL database")
    parser.add_argument(
        "--load", action="store_true", help="also read a study of so many items from its files"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="merilo-bench-") as name:
        folder = Path(name)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        if options.load:
            with noted(f"(write and freeze a study of {options.items:,} items)"):
                large = speed_study(folder / "large", options.items, overlap=OVERLAP)
            with noted(f"read the study of {options.items:,} items"):
                load_study(open_study(large), "people")
        engine = open_database(database_url(folder, options.database))
        print(engine.dialect.name)
        try:
            missed = measure(engine, speed_study(folder / "small", 10), options.items)
        finally:
            engine.dispose()
        print(f"load at the end {os.getloadavg()[0]:.1f}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
