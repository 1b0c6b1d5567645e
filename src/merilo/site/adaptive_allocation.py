"""Adaptive overlap in the allocation of tasks: when an item is given to one more person."""

from __future__ import annotations

from sqlalchemy import Connection, and_, select, update

from merilo.site.schema import ANSWERED, RESPONSE, TASK
from merilo.site.study_rules import StudyRules


def widen(connection: Connection, rules: StudyRules, task: int) -> None:
    """Ask for one more person if the overlap is adaptive and all people of an item have answered and do not agree.

    A skip holds its place, as with fixed overlap, and is not an answer.

    Args:
        connection: the transaction in which an answer was saved or counts again.
        rules: the rules of the study.
        task: the number of the task.
    """
    adaptive = rules.adaptive
    if adaptive is None or task >= rules.tests or rules.in_fixed_slice(task):
        return
    place = and_(TASK.c.study == rules.study, TASK.c.number == task)
    needed = connection.execute(select(TASK.c.needed, TASK.c.open).where(place).with_for_update()).one()
    if needed.open or needed.needed >= adaptive.limit:
        return
    counted = select(RESPONSE.c.state, RESPONSE.c.answer).where(
        RESPONSE.c.study == rules.study, RESPONSE.c.task == task, RESPONSE.c.counts
    )
    rows = connection.execute(counted).all()
    answers = {rules.vote_key(task, row.answer or "") for row in rows} - {None}
    if len(answers) > 1 and all(row.state == ANSWERED for row in rows):
        connection.execute(update(TASK).where(place).values(needed=TASK.c.needed + 1, open=TASK.c.open + 1))
