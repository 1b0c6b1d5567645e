"""What each person of a platform did and is owed: a table for the platform's own upload form."""

from __future__ import annotations

from typing import Final

import polars as pl
from sqlalchemy import Connection, and_, case, func, select

from merilo.atomic_write import guarded
from merilo.site.annotator_steps import most_tasks
from merilo.site.answer_export import answer_reward
from merilo.site.people_access import PLATFORM_IDS, PROLIFIC
from merilo.site.schema import ANSWERED, PERSON, RESPONSE
from merilo.site.served_study import ServedStudy

#: The columns of the table.
PAID_FIELDS: Final = (
    "platform", "id", "code", "stage", "answers", "seconds", "controls", "controls_right", "pay", "bonus",
)  # fmt: skip

#: Stages at which a part ended before it was complete.
_ENDED: Final = frozenset({"declined", "refused", "stopped", "excluded"})


def paid_people(connection: Connection, study: ServedStudy) -> str:
    """Return the people whom platforms sent as CSV, in the order in which they came.

    `answers` counts test and control items, `seconds` is the time of all answers, training included. `pay` is what
    the platform pays for a complete part. `bonus` is what the plan owes a person without one: the pay for a failed
    training, or the pay for the answers of somebody who was stopped. Both are empty while the pay is not decided.

    Args:
        connection: a transaction that reads.
        study: the registered study.
    """
    tests, asked = RESPONSE.c.task < study.rules.tests, RESPONSE.c.task < study.training.start
    query = (
        select(
            PERSON.c.source, PERSON.c.external, PERSON.c.completion, PERSON.c.stage,
            func.sum(case((asked, 1), else_=0)).label("answers"),
            func.coalesce(func.sum(RESPONSE.c.seconds), 0.0).label("seconds"),
            PERSON.c.controls, PERSON.c.controls_right,
            func.sum(case((tests, 1), else_=0)).label("tests"),
        )
        .join(
            RESPONSE,
            and_(RESPONSE.c.person == PERSON.c.id, RESPONSE.c.study == PERSON.c.study, RESPONSE.c.state == ANSWERED),
            isouter=True,
        )
        .where(PERSON.c.study == study.rules.study, PERSON.c.source.in_(set(PLATFORM_IDS.values())))
        .group_by(PERSON.c.id)
        .order_by(PERSON.c.created, PERSON.c.id)
    )  # fmt: skip
    rows = []
    for source, person, code, stage, answers, seconds, controls, right, tested in connection.execute(query):
        codes = study.arm.prolific if source == PROLIFIC else None
        is_complete = code is not None and (codes is None or code == codes.complete)
        owed = _owed(study, stage, answers, is_complete=is_complete and tested > 0 and stage not in _ENDED)
        rows.append((
            source, person, code or "", stage, str(answers), f"{seconds:.0f}", str(controls), str(right), *owed
        ))  # fmt: skip
    return guarded(pl.DataFrame(rows, schema=dict.fromkeys(PAID_FIELDS, pl.String), orient="row")).write_csv()


def _owed(study: ServedStudy, stage: str, answers: int, *, is_complete: bool) -> tuple[str, str]:
    """Return the pay and the bonus of a person; empty while the pay is not decided."""
    each = answer_reward(study)
    if each is None:
        return "", ""
    complete = each * most_tasks(study)
    bonus = {"refused": study.arm.pay.screening or 0.0, "stopped": min(complete, each * answers)}.get(
        stage, 0.0
    )
    return f"{complete if is_complete else 0.0:.2f}", f"{bonus:.2f}"
