"""What each person of a platform did and is owed: a table for the platform's own upload form."""

from __future__ import annotations

from typing import Final

import polars as pl

from merilo.atomic_write import guarded
from merilo.site.annotator_steps import most_tasks
from merilo.site.answer_export import answer_reward
from merilo.site.people_access import PLATFORM_IDS, PROLIFIC
from merilo.site.served_study import ServedStudy
from merilo.site.state import State

#: The columns of the table.
PAID_FIELDS: Final = (
    "platform", "id", "code", "stage", "answers", "seconds", "controls", "controls_right", "pay", "bonus",
)  # fmt: skip

#: Stages at which a part ended before it was complete.
_ENDED: Final = frozenset({"declined", "refused", "stopped", "excluded"})


def paid_people(state: State) -> str:
    """Return the people whom platforms sent as CSV, in the order in which they came.

    `answers` counts test and control items, `seconds` is the time of all answers, training included. `pay` is what
    the platform pays for a complete part. `bonus` is what the plan owes a person without one: the pay for a failed
    training, or the pay for the answers of somebody who was stopped. Both are empty while the pay is not decided.
    """
    study, platforms = state.study, set(PLATFORM_IDS.values())
    rows = []
    for person in sorted(state.people.values(), key=lambda person: person.created):
        if person.source not in platforms:
            continue
        answered = [assignment for assignment in person.tasks.values() if assignment.state == "answered"]
        answers = sum(not state.rules.is_training(assignment.task) for assignment in answered)
        tested = any(state.rules.is_test(assignment.task) for assignment in answered)
        codes, code = study.arm.prolific if person.source == PROLIFIC else None, person.completion
        is_complete = code is not None and (codes is None or code == codes.complete)
        owed = _owed(
            study, person.stage, answers, is_complete=is_complete and tested and person.stage not in _ENDED
        )
        rows.append((
            person.source, person.external, code or "", person.stage, str(answers),
            f"{sum(assignment.seconds or 0.0 for assignment in answered):.0f}", str(person.controls),
            str(person.controls_right), *owed,
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
