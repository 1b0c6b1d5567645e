"""What each person of a platform did and is owed: a table for the platform's own upload form."""

from __future__ import annotations

from typing import Final

import polars as pl

from merilo.atomic_write import guarded_csv
from merilo.site.annotator_steps import is_complete, most_tasks
from merilo.site.answer_export import answer_reward
from merilo.site.people_access import PLATFORM_IDS
from merilo.site.served_study import ServedStudy
from merilo.site.state import Person, State

#: The columns of the table.
PAID_FIELDS: Final = (
    "platform", "id", "code", "stage", "answers", "seconds", "controls", "controls_right", "pay", "bonus",
)  # fmt: skip

#: Stages at which a part ended before it was complete.
_ENDED: Final = frozenset({"declined", "refused", "stopped", "excluded"})


def paid_people(state: State) -> str:
    """Return the people whom platforms sent as CSV, in the order in which they came.

    `answers` counts answers to test and control items, `seconds` is the time of all answers, training included.
    `pay` is what the platform pays for a complete part: only such a part is to be approved. `bonus` is what the plan
    owes a person without one: the pay for a failed training, or for the answers of somebody who was stopped or whose
    part ended early. Both are empty while the pay is not decided.
    """
    study, platforms = state.study, set(PLATFORM_IDS.values())
    rows = []
    for person in sorted(state.people.values(), key=lambda person: person.created):
        if person.source not in platforms:
            continue
        answered = [assignment for assignment in person.tasks.values() if assignment.is_answer]
        answers = sum(not state.rules.is_training(assignment.task) for assignment in answered)
        code, ended = person.completion, person.stage in _ENDED
        owed = _owed(
            study, person, answers, complete=code is not None and not ended and is_complete(state, person)
        )
        rows.append((
            person.source, person.external, code or "", person.stage, str(answers),
            f"{sum(assignment.seconds or 0.0 for assignment in answered):.0f}", str(person.controls),
            str(person.controls_right), *owed,
        ))  # fmt: skip
    return guarded_csv(pl.DataFrame(rows, schema=dict.fromkeys(PAID_FIELDS, pl.String), orient="row"))


def _owed(study: ServedStudy, person: Person, answers: int, *, complete: bool) -> tuple[str, str]:
    """Return the pay and the bonus of a person; empty while the pay is not decided."""
    each = answer_reward(study)
    if each is None:
        return "", ""
    pay, bonus = each * most_tasks(study), 0.0
    if person.stage == "refused":
        bonus = study.arm.pay.screening or 0.0
    elif person.stage == "stopped" or (
        person.completion is not None and person.stage not in _ENDED and not complete
    ):
        bonus = min(pay, each * answers)
    return f"{pay if complete else 0.0:.2f}", f"{bonus:.2f}"
