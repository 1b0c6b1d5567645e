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
from sqlalchemy import Connection, Engine, func, insert, select

from merilo.settings import AdaptiveOverlap
from merilo.site.assignment import Allocation, GivenTask, StudyRules, below_threshold
from merilo.site.database import writing
from merilo.site.schema import ANSWERED, RESPONSE, TASK


def vote_key(_: int, answer: str) -> str | None:
    """Votes of these tests: a skip is no answer, and case does not matter."""
    return None if answer == "skip" else answer.lower()


def follows_adaptive_overlap(connection: Connection, rules: StudyRules) -> None:
    """The invariant of adaptive overlap."""
    adaptive = rules.adaptive
    if adaptive is None:
        return
    counted: dict[int, list[tuple[str, str | None]]] = {}
    rows = select(RESPONSE.c.task, RESPONSE.c.state, RESPONSE.c.answer).where(RESPONSE.c.counts)
    for task, state, answer in connection.execute(rows):
        counted.setdefault(task, []).append((state, answer))
    for task in connection.execute(select(TASK).where(TASK.c.number < rules.tests)).all():
        mine = counted.get(task.number, [])
        assert adaptive.start <= task.needed <= adaptive.limit
        assert len(mine) <= adaptive.limit
        if task.number in rules.fixed:
            assert task.needed == adaptive.limit
        elif not task.open and all(state == ANSWERED for state, _ in mine):
            votes = {rules.vote_key(task.number, answer or "") for _, answer in mine} - {None}
            assert len(votes) <= 1 or len(mine) == adaptive.limit, f"task {task.number}: {mine}"


class Orders(RuleBasedStateMachine):
    """People, clocks and authors in any order, in one transaction that is undone at the end."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self.engine = engine

    @initialize(
        overlap=st.integers(1, 3),
        controls=st.integers(0, 2),
        limited=st.booleans(),
        adaptive=st.booleans(),
        dialogues=st.booleans(),
        on_screen=st.integers(1, 3),
    )
    def start(
        self, overlap: int, controls: int, limited: bool, adaptive: bool, dialogues: bool, on_screen: int
    ) -> None:
        turns = [(1 + at // 2, at % 2 + 1) for at in range(6)] if dialogues else None
        self.rules = StudyRules(
            study=1, seed=3, overlap=overlap, tests=6, controls=controls, every=3 if controls else 0,
            time_limit=5 if limited else None, lease=10, dialogues=dialogues, on_screen=1 if dialogues else on_screen,
            adaptive=AdaptiveOverlap(2, 4) if adaptive and not dialogues else None, fixed=frozenset({0, 3}), vote_key=vote_key,
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

    @invariant()
    def complete_items_agree_or_have_the_most_answers(self) -> None:
        if hasattr(self, "connection"):
            follows_adaptive_overlap(self.connection, self.rules)

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
            place for place in range(1, 101) if rules.control_at(seed, place) is not None
        )
    )
    assert max(gaps.values()) < 0.1 * gaps.total()


def test_a_person_of_an_earlier_version_does_not_get_a_control_item_again(engine: Engine) -> None:
    rules = StudyRules(study=1, seed=1, overlap=1, tests=8, controls=1, every=2)
    with writing(engine) as connection:
        begin(connection, rules, 1)
        given = {"study": 1, "person": 1, "task": 8, "place": -1, "state": ANSWERED, "counts": False}
        connection.execute(insert(RESPONSE).values(given))
    all_answer(engine, rules, 1)
    with engine.connect() as connection:
        assert sorted(connection.scalars(select(RESPONSE.c.task))) == [*range(9)]


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


def test_disagreement_asks_more_people_up_to_the_limit(engine: Engine) -> None:
    rules = StudyRules(
        study=1, seed=1, overlap=5, tests=40, adaptive=AdaptiveOverlap(3, 5), fixed=frozenset(range(0, 40, 4))
    )
    with engine.connect() as connection:
        begin(connection, rules, 9)
        for person in range(1, 10):
            while isinstance(given := Allocation(connection, rules, 0).give(person, person), GivenTask):
                agreed = given.task % 2 == 0
                Allocation(connection, rules, 0).save(person, given.task, "A" if agreed else str(person))
        answers = Counter(connection.scalars(select(RESPONSE.c.task)).all())
    for task in range(40):
        assert answers[task] == (5 if rules.in_fixed_slice(task) or task % 2 else 3)


def given_to(connection: Connection, rules: StudyRules, person: int, answer: str) -> bool:
    """Give the only task of a study to a person, who answers; whether they got it."""
    allocation = Allocation(connection, rules, 0)
    given = allocation.give(person, person)
    return isinstance(given, GivenTask) and allocation.save(person, given.task, answer) == "saved"


def one_item() -> StudyRules:
    return StudyRules(study=1, seed=1, overlap=5, tests=1, adaptive=AdaptiveOverlap(3, 5), vote_key=vote_key)


def test_equal_votes_in_other_spellings_and_skips_ask_nobody_else(engine: Engine) -> None:
    with engine.connect() as connection:
        begin(connection, one_item(), 4)
        assert [given_to(connection, one_item(), n, answer) for n, answer in enumerate(["A", "a", "skip", "B"], 1)] == [
            True, True, True, False,
        ]  # fmt: skip


def test_the_disagreement_of_a_reinstated_person_asks_more_people(engine: Engine) -> None:
    rules = one_item()
    with engine.connect() as connection:
        begin(connection, rules, 6)
        assert given_to(connection, rules, 1, "B")
        Allocation(connection, rules, 0).release(1)
        assert given_to(connection, rules, 2, "A")
        assert given_to(connection, rules, 3, "A")
        assert Allocation(connection, rules, 0).reinstate(1) == (1, 0)
        assert [given_to(connection, rules, person, "A") for person in (4, 5, 6)] == [True, True, False]
        follows_adaptive_overlap(connection, rules)


def test_a_threshold_needs_enough_control_items() -> None:
    rules = StudyRules(study=1, seed=1, overlap=1, tests=1, min_accuracy=0.5, stop_after=5)
    assert not below_threshold(rules, controls=4, right=0)
    assert below_threshold(rules, controls=5, right=2)
    assert not below_threshold(rules, controls=6, right=3)
