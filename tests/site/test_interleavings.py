"""Two server processes at the same moment: every order of the statements of their transactions leaves the allocation right."""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest
from allocation_study import begin, held
from hypothesis import given, settings
from hypothesis import strategies as st
from interleaving import every_order, run_interleaved
from postgres_server import PostgresServer
from sqlalchemy import Connection, Engine, func, select, text

from merilo.site.assignment import Allocation, GivenTask, StudyRules
from merilo.site.database import database_url, open_database, writing
from merilo.site.schema import OPEN, RESPONSE

Step = Callable[[Connection, StudyRules], object]


class Processes:
    """A database on PostgreSQL, and server processes that write to it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.engine = open_database(database_url(Path(), address))

    def at_once(
        self,
        rules: StudyRules,
        before: Sequence[Step],
        steps: Sequence[Sequence[Step]],
        choose: Callable[[int], int],
    ) -> list[object]:
        """Begin a study with four people, take steps one after another, and then the groups of steps at the same time."""
        with writing(self.engine) as connection:
            connection.execute(text("TRUNCATE response, task, person, study RESTART IDENTITY CASCADE"))
            turns = [(1 + at // 2, at % 2 + 1) for at in range(rules.tests)] if rules.dialogues else None
            begin(connection, rules, 4, turns)
            for step in before:
                step(connection, rules)

        def group(of: Sequence[Step]) -> Callable[[Engine], object]:
            def write(engine: Engine) -> object:
                with writing(engine) as connection:
                    return [step(connection, rules) for step in of]

            return write

        results = run_interleaved(self.address, [group(of) for of in steps], choose)
        assert not [one for one in results if isinstance(one, BaseException)], results
        with self.engine.connect() as connection:
            held(connection)
        return [done for one in results for done in one]  # type: ignore[attr-defined]

    def count(self, state: str) -> int:
        with self.engine.connect() as connection:
            query = (
                select(func.count()).select_from(RESPONSE).where(RESPONSE.c.state == state, RESPONSE.c.counts)
            )
            return int(connection.scalar(query) or 0)


@pytest.fixture(scope="module")
def processes(postgres: PostgresServer):
    made = Processes(postgres.new_database())
    yield made
    made.engine.dispose()


def asks(person: int, now: int = 1000) -> Step:
    return lambda connection, rules: Allocation(connection, rules, now).give(person, person)


def answers(person: int, text: str = "A", now: int = 2000) -> Step:
    """The person answers the first task that they got."""

    def step(connection: Connection, rules: StudyRules) -> object:
        task = connection.scalar(
            select(RESPONSE.c.task).where(RESPONSE.c.person == person).order_by(RESPONSE.c.place).limit(1)
        )
        return None if task is None else Allocation(connection, rules, now).save(person, task, text)

    return step


def leaves(person: int) -> Step:
    return lambda connection, rules: Allocation(connection, rules, 2000).release(person)


def returns_overdue(now: int) -> Step:
    return lambda connection, rules: Allocation(connection, rules, now).return_overdue()


def test_one_person_who_asks_two_servers_gets_one_task(processes: Processes) -> None:
    rules = StudyRules(study=1, seed=1, overlap=1, tests=3)

    def run(choose: Callable[[int], int]) -> None:
        first, second = processes.at_once(rules, [], [[asks(1)], [asks(1)]], choose)
        assert first == second
        assert isinstance(first, GivenTask)

    assert every_order(run) > 5


def test_pages_of_several_tasks_take_each_place_once_and_are_the_same_on_two_servers(
    processes: Processes,
) -> None:
    rules = StudyRules(study=1, seed=1, overlap=1, tests=3, on_screen=2)

    def tasks(given: object) -> list[int]:
        return [one.task for one in (given, *given.beside)] if isinstance(given, GivenTask) else []

    def one_person(choose: Callable[[int], int]) -> None:
        first, second = processes.at_once(rules, [], [[asks(1)], [asks(1)]], choose)
        assert len(tasks(first)) == 2
        assert tasks(first) == tasks(second)

    def two_people(choose: Callable[[int], int]) -> None:
        pages = processes.at_once(rules, [], [[asks(1)], [asks(2)]], choose)
        given = [task for one in pages for task in tasks(one)]
        assert len(given) == len(set(given)) >= 2

    def answers_at_once(choose: Callable[[int], int]) -> None:
        every = StudyRules(study=1, seed=1, overlap=2, tests=2, on_screen=2)

        def answers_page(person: int) -> Step:
            def step(connection: Connection, rules: StudyRules) -> object:
                allocation = Allocation(connection, rules, 2000)
                return [allocation.save(person, task, str(person), among=2) for task in (0, 1)]

            return step

        taken = processes.at_once(every, [asks(1), asks(2)], [[answers_page(1)], [answers_page(2)]], choose)
        assert taken == [["saved", "saved"]] * 2

    for seed in range(20):  # there are too many orders to try all
        for run in (one_person, two_people, answers_at_once):
            run(Random(seed).randrange)


def test_the_last_place_goes_to_one_of_two_people_and_the_other_one_waits(processes: Processes) -> None:
    rules = StudyRules(study=1, seed=1, overlap=1, tests=1)

    def run(choose: Callable[[int], int]) -> None:
        given = processes.at_once(rules, [], [[asks(1)], [asks(2)]], choose)
        assert sum(isinstance(one, GivenTask) for one in given) == 1
        assert "wait" in given

    every_order(run)


def test_two_places_of_one_item_go_to_two_people_at_once(processes: Processes) -> None:
    rules = StudyRules(study=1, seed=1, overlap=2, tests=1)

    def run(choose: Callable[[int], int]) -> None:
        given = processes.at_once(rules, [], [[asks(1)], [asks(2)]], choose)
        assert all(isinstance(one, GivenTask) for one in given), "nobody is sent away while a place is free"

    every_order(run)


def test_an_answer_that_is_sent_to_two_servers_is_taken_once(processes: Processes) -> None:
    rules = StudyRules(study=1, seed=1, overlap=1, tests=2)

    def run(choose: Callable[[int], int]) -> None:
        taken = processes.at_once(rules, [asks(1)], [[answers(1, "A")], [answers(1, "B")]], choose)
        assert sorted(map(str, taken)) == ["repeated", "saved"]
        with processes.engine.connect() as connection:
            kept = connection.scalars(select(RESPONSE.c.answer)).all()
        assert kept == ["A" if taken[0] == "saved" else "B"]

    every_order(run)


def test_an_answer_and_the_return_of_its_task_at_the_same_moment(processes: Processes) -> None:
    rules = StudyRules(study=1, seed=1, overlap=1, tests=1, lease=10)
    late = 1000 + 11_000

    def run(choose: Callable[[int], int]) -> None:
        steps = [[answers(1, now=late)], [returns_overdue(late), asks(2, late)]]
        taken, _, other = processes.at_once(rules, [asks(1)], steps, choose)
        assert (taken == "saved") != isinstance(other, GivenTask), "one of them has the only place"

    every_order(run)


def test_two_servers_return_overdue_tasks_once(processes: Processes) -> None:
    rules = StudyRules(study=1, seed=1, overlap=2, tests=2, lease=10)

    def run(choose: Callable[[int], int]) -> None:
        steps = [[returns_overdue(50_000)], [returns_overdue(50_000)]]
        assert sorted(processes.at_once(rules, [asks(1), asks(2)], steps, choose)) == [0, 2]  # type: ignore[type-var]

    every_order(run)


def test_the_places_of_somebody_who_leaves_go_to_those_who_ask(processes: Processes) -> None:
    rules = StudyRules(study=1, seed=1, overlap=1, tests=2)

    def run(choose: Callable[[int], int]) -> None:
        before = [asks(1), answers(1), asks(1)]
        released, other = processes.at_once(rules, before, [[leaves(1)], [asks(2)]], choose)
        assert released == 2
        assert isinstance(other, GivenTask) or other == "wait"

    every_order(run)


def test_a_dialogue_is_given_to_one_person_as_a_whole(processes: Processes) -> None:
    rules = StudyRules(study=1, seed=1, overlap=1, tests=4, dialogues=True)

    def run(choose: Callable[[int], int]) -> None:
        given = processes.at_once(rules, [], [[asks(1)], [asks(2)]], choose)
        assert {one.task for one in given if isinstance(one, GivenTask)} == {0, 2}
        assert processes.count(OPEN) == 4

    every_order(run)


STEPS = st.one_of(
    st.builds(asks, st.integers(1, 4)),
    st.builds(answers, st.integers(1, 4), st.sampled_from("AB")),
    st.builds(leaves, st.integers(1, 4)),
    st.just(returns_overdue(20_000)),
)


@pytest.mark.thorough
@settings(deadline=None)
@given(
    dialogues=st.booleans(),
    overlap=st.integers(1, 2),
    on_screen=st.integers(1, 2),
    before=st.lists(STEPS, max_size=4),
    groups=st.lists(st.lists(STEPS, min_size=1, max_size=4), min_size=2, max_size=3),
    order=st.lists(st.integers(0, 2), max_size=40),
)
def test_groups_of_steps_in_any_order_keep_the_invariant_and_wait_for_each_other_in_turn(
    processes: Processes,
    dialogues: bool,
    overlap: int,
    on_screen: int,
    before: list[Step],
    groups: list[list[Step]],
    order: list[int],
) -> None:
    rules = StudyRules(
        study=1, seed=1, overlap=overlap, tests=4, lease=10, dialogues=dialogues,
        on_screen=1 if dialogues else on_screen,
    )  # fmt: skip
    following = iter(order)
    processes.at_once(rules, before, groups, lambda of: next(following, 0) % of)
