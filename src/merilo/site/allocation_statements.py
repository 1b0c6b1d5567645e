"""The statements of the allocation.

Constants are written into the text where a partial index names them: a bound parameter would hide the index from the database.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, and_, bindparam, exists, func, insert, literal_column, select, update

from merilo.site.hot_statements import HotStatement
from merilo.site.schema import ANSWERED, EXPIRED, OPEN, PERSON, RESPONSE, TASK

OWN: Final = and_(RESPONSE.c.study == bindparam("of_study"), RESPONSE.c.person == bindparam("of_person"))
ONE: Final = and_(OWN, RESPONSE.c.task == bindparam("of_task"))

HAS_OPEN: Final = TASK.c.open > literal_column("0")
IS_OPEN: Final = RESPONSE.c.state == literal_column(f"'{OPEN}'")

#: The task that a person has before them, or else their latest one.
LATEST: Final = HotStatement(
    select(
        RESPONSE.c.task, RESPONSE.c.place, RESPONSE.c.state, RESPONSE.c.given, RESPONSE.c.due, RESPONSE.c.late
    )
    .where(OWN, RESPONSE.c.place > literal_column("0"))
    .order_by(RESPONSE.c.place.desc())
    .limit(literal_column("1"))
)
NEXT_TURN: Final = HotStatement(
    select(
        RESPONSE.c.task, RESPONSE.c.place, RESPONSE.c.state, RESPONSE.c.given, RESPONSE.c.due, RESPONSE.c.late
    )
    .where(OWN, RESPONSE.c.place > literal_column("0"), IS_OPEN)
    .order_by(RESPONSE.c.place)
    .limit(literal_column("1"))
)
SEEN: Final = exists().where(OWN, RESPONSE.c.task == TASK.c.number)
FREE: Final = HotStatement(
    select(TASK.c.number, TASK.c.dialogue)
    .where(
        TASK.c.study == bindparam("of_study"), HAS_OPEN, TASK.c.rank >= bindparam("low"), TASK.c.rank < bindparam("high"), ~SEEN
    )
    .order_by(TASK.c.rank)
    .limit(literal_column("1"))
    .with_for_update(skip_locked=True, of=TASK)
)  # fmt: skip
_THEIRS: Final = RESPONSE.alias("theirs")
#: A task that a person has not had and that somebody else holds without an answer.
HELD_BY_OTHERS: Final = HotStatement(
    select(_THEIRS.c.task)
    .where(
        _THEIRS.c.study == bindparam("of_study"), _THEIRS.c.state == literal_column(f"'{OPEN}'"), _THEIRS.c.counts,
        _THEIRS.c.person != bindparam("of_person"), ~exists().where(OWN, RESPONSE.c.task == _THEIRS.c.task),
    )
    .limit(literal_column("1"))
)  # fmt: skip
OVERDUE: Final = HotStatement(
    select(RESPONSE.c.person, RESPONSE.c.task)
    .where(RESPONSE.c.study == bindparam("of_study"), IS_OPEN, RESPONSE.c.due < bindparam("at", type_=BigInteger))
    .order_by(RESPONSE.c.task)
)  # fmt: skip
TAKE: Final = HotStatement(
    update(TASK)
    .where(TASK.c.study == bindparam("of_study"), TASK.c.number == bindparam("of_task"), HAS_OPEN)
    .values(open=TASK.c.open - literal_column("1"))
)
GIVE_BACK: Final = HotStatement(
    update(TASK)
    .where(TASK.c.study == bindparam("of_study"), TASK.c.number == bindparam("of_task"))
    .values(open=TASK.c.open + literal_column("1"))
)
EXPIRE: Final = HotStatement(
    update(RESPONSE)
    .where(ONE, IS_OPEN)
    .values(state=literal_column(f"'{EXPIRED}'"), counts=literal_column("false"))
)
SEND: Final = HotStatement(
    insert(RESPONSE).values(
        study=bindparam("b_study"), person=bindparam("b_person"), task=bindparam("b_task"), place=bindparam("b_place"),
        state=literal_column(f"'{OPEN}'"), counts=bindparam("b_counts"), given=bindparam("b_given"), due=bindparam("b_due"),
        late=bindparam("b_late"),
    )
)  # fmt: skip
ANSWER: Final = HotStatement(
    update(RESPONSE)
    .where(
        ONE, IS_OPEN, RESPONSE.c.given.is_not(None),
        func.coalesce(RESPONSE.c.late, bindparam("at", type_=BigInteger)) >= bindparam("at", type_=BigInteger),
    )
    .values(
        state=literal_column(f"'{ANSWERED}'"), answered=bindparam("at", type_=BigInteger),
        seconds=(bindparam("at", type_=BigInteger) - RESPONSE.c.given) / literal_column("1000.0"),
        answer=bindparam("text"), right=bindparam("is_right"), comment=bindparam("remark"),
    )
)  # fmt: skip
COUNT_CONTROL: Final = HotStatement(
    update(PERSON)
    .where(PERSON.c.id == bindparam("number"))
    .values(
        controls=PERSON.c.controls + literal_column("1"),
        controls_right=PERSON.c.controls_right + bindparam("points"),
    )
)
