"""Answers on the annotation site, without browsers: put straight into the database, or given by simulated people step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from sqlalchemy import Connection, insert, update

from merilo.site.annotator_steps import (
    ShownTask,
    consent,
    next_task,
    person_of,
    read_instruction,
    save_answer,
)
from merilo.site.people_access import admit_from_platform
from merilo.site.schema import ANSWERED, PERSON, RESPONSE, TASK
from merilo.site.served_study import ServedStudy
from merilo.studies.instruction import SKIP_OWN

#: The time of the first answer, in milliseconds since 1970.
START = 1_790_000_000_000


@dataclass(frozen=True)
class Given:
    """An answer: who gave it to which task, in how many seconds, and how many milliseconds after the first."""

    person: str
    task: int
    answer: str
    seconds: float = 5.0
    after: int = 0
    counts: bool = True


def put_answers(
    connection: Connection,
    study: ServedStudy,
    answers: Sequence[Given],
    stages: Mapping[str, str] | None = None,
) -> None:
    """Write answers as the site stores them; people work unless another stage is given."""
    number, tests = study.rules.study, study.rules.tests
    places: Counter[str] = Counter()
    people: dict[str, int] = {}
    for name in dict.fromkeys(one.person for one in answers):
        controls = [one for one in answers if one.person == name and one.task >= tests]
        values = {
            "study": number, "pseudonym": name, "source": "platform", "external": name, "language": "ru", "seed": 1, "created": START,
            "stage": (stages or {}).get(name, "working"), "controls": len(controls),
            "controls_right": sum(study.is_right(one.task, one.answer) for one in controls),
        }  # fmt: skip
        people[name] = connection.execute(insert(PERSON).values(values)).inserted_primary_key[0]
    for one in answers:
        places[one.person] += 1
        test = one.task < tests
        at = START + one.after
        connection.execute(
            insert(RESPONSE).values(
                study=number, person=people[one.person], task=one.task, place=places[one.person], state=ANSWERED, counts=test and one.counts,
                given=at - round(1000 * one.seconds), due=at, answered=at, seconds=one.seconds, answer=one.answer,
                right=None if test else study.is_right(one.task, one.answer),
            )
        )  # fmt: skip
        if test and one.counts:
            place = (TASK.c.study == number) & (TASK.c.number == one.task)
            connection.execute(update(TASK).where(place).values(open=TASK.c.open - 1))


def simulate(
    connection: Connection,
    study: ServedStudy,
    people: Mapping[str, float],
    *,
    seed: int = 1,
    most: int = 10_000,
    skips: float = 0.0,
) -> None:
    """Let people answer until nothing is left for them.

    Args:
        connection: a transaction that writes.
        study: the registered study.
        people: name -> the probability that an answer is the gold or known one; other answers are drawn from those of other items.
        seed: the seed of the answers and times.
        most: the most tasks of a person.
        skips: the probability of "may be mine".
    """
    random = Random(seed)
    items = [*study.folder.items(), *study.folder.controls()]
    gold = [str(shown.item.outputs) for shown in items]
    labels = list(study.declared.answer.labels) or gold
    now = START
    for name, skill in people.items():
        admitted = admit_from_platform(connection, study, "platform", name, "ru", now=now)
        connection.execute(
            update(PERSON).where(PERSON.c.id == admitted.person).values(seed=random.getrandbits(60))
        )
        person = person_of(connection, study, admitted.person)
        assert person is not None
        consent(connection, study, person)
        read_instruction(connection, study, person)
        for _ in range(most):
            person = person_of(connection, study, admitted.person)
            assert person is not None
            if person.stage != "working":
                break
            shown = next_task(connection, study, person, now)
            if not isinstance(shown, ShownTask):
                break
            skipped = random.random() < skips
            right = random.random() < skill
            given = (
                gold[shown.number]
                if right
                else random.choice([one for one in labels if one != gold[shown.number]])
            )
            now += random.randrange(500, 20_000)
            save_answer(
                connection, study, person, shown.number, SKIP_OWN["ru"] if skipped else given, now=now, skipped=skipped
            )  # fmt: skip
            now += 100
