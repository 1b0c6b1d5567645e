"""A study of numbers alone, for tests of the allocation, and the invariant that the allocation keeps."""

import random

from sqlalchemy import Connection, func, insert, select

from merilo.site.assignment import RANKS, StudyRules, tasks_of_rules
from merilo.site.schema import PERSON, RESPONSE, STUDY, TASK


def begin(
    connection: Connection, rules: StudyRules, people: int, turns: list[tuple[int, int]] | None = None
) -> None:
    connection.execute(
        insert(STUDY).values(
            id=rules.study, key="k", name="s", arm="people", folder=".", content="", created=0
        )
    )
    chance = random.Random(7)
    total = rules.tests + rules.controls + rules.training
    ranks = [chance.randrange(RANKS) for _ in range(total)]
    connection.execute(insert(TASK), list(tasks_of_rules(rules, ranks, turns or [(0, 0)] * rules.tests)))
    for number in range(1, people + 1):
        connection.execute(
            insert(PERSON).values(
                id=number, study=rules.study, pseudonym=f"p{number}", source="code", external=str(number), stage="working",
                language="ru", seed=number, created=0,
            )
        )  # fmt: skip


def held(connection: Connection) -> None:
    """The invariant of the allocation."""
    counts = dict(
        connection.execute(
            select(RESPONSE.c.task, func.count()).where(RESPONSE.c.counts).group_by(RESPONSE.c.task)
        ).all()
    )
    for task in connection.execute(select(TASK)).all():
        assert task.open >= 0
        assert task.open == task.needed - counts.get(task.number, 0), f"task {task.number}"
