"""The allocation of tasks: nobody gets a task twice, and no task gets more people than it needs, in whatever order things happen."""

import itertools
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from allocation_study import begin, held
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import Engine, func, select

from merilo.site.assignment import Allocation, GivenTask, StudyRules, below_threshold
from merilo.site.database import writing
from merilo.site.schema import ANSWERED, RESPONSE


class Orders(RuleBasedStateMachine):
    """People, clocks and authors in any order, in one transaction that is undone at the end."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self.engine = engine

    @initialize(
        overlap=st.integers(1, 3),
        controls=st.integers(0, 2),
        limited=st.booleans(),
        dialogues=st.booleans(),
        on_screen=st.integers(1, 3),
    )
    def start(self, overlap: int, controls: int, limited: bool, dialogues: bool, on_screen: int) -> None:
        turns = [(1 + at // 2, at % 2 + 1) for at in range(6)] if dialogues else None
        self.rules = StudyRules(
            study=1, seed=3, overlap=overlap, tests=6, controls=controls, every=3 if controls else 0,
            time_limit=5 if limited else None, lease=10, dialogues=dialogues, on_screen=1 if dialogues else on_screen,
        )  # fmt: skip
        self.connection = self.engine.connect()
        if self.engine.dialect.name == "sqlite":
            self.connection.exec_driver_sql("BEGIN IMMEDIATE")  # undone at the end
        begin(self.connection, self.rules, 5, turns)
        self.now = 1_000_000
        self.seen: dict[int, list[int]] = {}
        self.before: dict[int, list[int]] = {}

    @property
    def allocation(self) -> Allocation:
        return Allocation(self.connection, self.rules, self.now)

    @rule(person=st.integers(1, 5))
    def asks(self, person: int) -> None:
        given = self.allocation.give(person, person)
        if isinstance(given, GivenTask):
            again = self.allocation.give(person, person)
            assert again == given, "two tabs show the same page"
            page = [given.task, *(one.task for one in given.beside)]
            assert len(page) <= self.rules.on_screen
            mine = self.seen.setdefault(person, [])
            new = [task for task in page if task not in self.before.get(person, [])]
            assert not set(new) & set(mine), "a task comes twice"
            mine += new
            self.before[person] = page

    @rule(
        person=st.integers(1, 5),
        answer=st.sampled_from(["A", "a", "B", "skip"]),
        repeats=st.integers(1, 3),
        place=st.integers(0, 2),
    )
    def answers(self, person: int, answer: str, repeats: int, place: int) -> None:
        if person not in self.before:
            return
        task = self.before[person][place % len(self.before[person])]
        first = self.allocation.save(person, task, answer, right=True)
        for _ in range(repeats):
            assert self.allocation.save(person, task, "C") != "saved"
        kept = select(RESPONSE.c.answer).where(RESPONSE.c.person == person, RESPONSE.c.task == task)
        assert first != "saved" or self.connection.scalar(kept) == answer

    @rule(seconds=st.sampled_from([1, 4, 9, 30]))
    def time_passes(self, seconds: int) -> None:
        self.now += 1000 * seconds

    @rule()
    def overdue_tasks_return(self) -> None:
        self.allocation.return_overdue()

    @rule(person=st.integers(1, 5))
    def is_excluded(self, person: int) -> None:
        self.allocation.release(person)

    @rule(person=st.integers(1, 5))
    def is_reinstated(self, person: int) -> None:
        self.allocation.reinstate(person)

    @rule(person=st.integers(1, 5), task=st.integers(0, 7))
    def sends_something_not_given(self, person: int, task: int) -> None:
        if task not in self.seen.get(person, []):
            assert self.allocation.save(person, task, "A") == "not_given"

    @invariant()
    def no_place_is_lost_or_doubled(self) -> None:
        if hasattr(self, "connection"):
            held(self.connection)

    def teardown(self) -> None:
        if hasattr(self, "connection"):
            self.connection.close()


@pytest.mark.thorough
def test_people_clocks_and_authors_in_any_order(engine: Engine) -> None:
    run_state_machine_as_test(
        lambda: Orders(engine),
        settings=settings(stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)),
    )


@contextmanager
def study(engine: Engine, rules: StudyRules, people: int) -> Iterator[StudyRules]:
    with writing(engine) as connection:
        begin(connection, rules, people)
    yield rules


def all_answer(engine: Engine, rules: StudyRules, person: int) -> None:
    """A person who asks and answers until there is nothing left, each time in a transaction of its own."""
    while True:
        with writing(engine) as connection:
            given = Allocation(connection, rules, 1000).give(person, person)
        if not isinstance(given, GivenTask):
            return
        with writing(engine) as connection:
            Allocation(connection, rules, 2000).save(person, given.task, "A", right=True)


def test_people_at_once_fill_the_overlap_exactly(engine: Engine) -> None:
    rules = StudyRules(study=1, seed=1, overlap=3, tests=30, controls=4, every=10)
    with study(engine, rules, 8):
        threads = [
            threading.Thread(target=all_answer, args=(engine, rules, person)) for person in range(1, 9)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with engine.connect() as connection:
        held(connection)
        counts = connection.execute(
            select(RESPONSE.c.task, func.count())
            .where(RESPONSE.c.state == ANSWERED)
            .group_by(RESPONSE.c.task)
        )
        of_tests = {task: n for task, n in counts if task < 30}
    assert of_tests == dict.fromkeys(range(30), 3)


def test_one_control_comes_in_every_so_many_tasks_and_nobody_can_tell_where(engine: Engine) -> None:
    rules = StudyRules(study=1, seed=1, overlap=1, tests=95, controls=5, every=20)
    with study(engine, rules, 1):
        all_answer(engine, rules, 1)
    with engine.connect() as connection:
        order = connection.scalars(select(RESPONSE.c.task).order_by(RESPONSE.c.place)).all()
    places = [place for place, task in enumerate(order) if task >= 95]
    assert sorted(task for task in order if task >= 95) == [95, 96, 97, 98, 99]
    assert [place // 20 for place in places] == [0, 1, 2, 3, 4]
    gaps = Counter(
        late - early
        for seed in range(200)
        for early, late in itertools.pairwise(
            place for place in range(1, 101) if rules.control_at(seed, place)
        )
    )
    assert max(gaps.values()) < 0.1 * gaps.total()


def test_orders_differ_between_people(engine: Engine) -> None:
    rules = StudyRules(study=1, seed=1, overlap=2, tests=50)
    with engine.connect() as connection:
        begin(connection, rules, 2)
        orders = []
        for person in (1, 2):
            order: list[int] = []
            while isinstance(given := Allocation(connection, rules, 0).give(person, person), GivenTask):
                order.append(given.task)
                Allocation(connection, rules, 0).save(person, given.task, "A")
            orders.append(order)
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(50))
    assert orders[0] != orders[1]
    assert sum(a == b for a, b in zip(*orders, strict=True)) < 10


def test_a_threshold_needs_enough_control_items() -> None:
    rules = StudyRules(study=1, seed=1, overlap=1, tests=1, min_accuracy=0.5, stop_after=5)
    assert not below_threshold(rules, controls=4, right=0)
    assert below_threshold(rules, controls=5, right=2)
    assert not below_threshold(rules, controls=6, right=3)
