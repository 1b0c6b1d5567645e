"""The answers that the site collected, as the table that `merilo study import` reads."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import Connection, bindparam, select

from merilo.people.experts.out_of_bag import NOT_SHOWN
from merilo.site.schema import ANSWERED, OWN, PERSON, RESPONSE
from merilo.site.served_study import ServedStudy
from merilo.strict_json import Json

#: The columns of the table.
COLLECTED_FIELDS: Final = (
    "study", "task", "answer", "respondent", "page", "started", "submitted", "seconds", "reward",
)  # fmt: skip


#: The items that people were not shown because they wrote them.
_OWN_ITEMS: Final = (
    select(RESPONSE.c.task, PERSON.c.pseudonym)
    .join(PERSON, PERSON.c.id == RESPONSE.c.person)
    .where(RESPONSE.c.study == bindparam("of_study"), RESPONSE.c.state == OWN)
    .order_by(PERSON.c.pseudonym, RESPONSE.c.task)
)


@dataclass(frozen=True, slots=True)
class CollectedAnswers:
    """The answers of one group.

    Attributes:
        table: the answers as CSV, one row for each, in the order in which they came.
        answers: rows of the table.
        people: people who gave them.
        excluded: answers of people whom the author excluded, which are left out.
        stopped: answers of stopped people whom the rule of the baseline would keep, which are left out.
        surplus: answers beyond the overlap, which are left out.
    """

    table: str
    answers: int
    people: int
    excluded: int
    stopped: int
    surplus: int

    def to_dict(self) -> dict[str, Json]:
        """Return the counts as JSON."""
        return {
            "answers": self.answers,
            "people": self.people,
            "left_out": {
                "excluded": self.excluded,
                "stopped": self.stopped,
                "surplus": self.surplus,
            },
        }


def collect_answers(connection: Connection, study: ServedStudy) -> CollectedAnswers:
    """Collect the answers to test and control items.

    Each answer was sent separately, so each is a page of its own, with its exact time and its share of the
    pay for a page. People appear by their pseudonyms. A person who was stopped keeps their answers in the
    table if the rule of the baseline excludes them too: the baseline then reports them as excluded. Answers
    that another person has replaced are left out otherwise.

    Items that an expert was not shown, because they wrote them, have a mark in place of an answer, so that
    nobody waits for it.

    Args:
        connection: the site's database.
        study: the registered study.
    """
    query = (
        select(
            RESPONSE.c.task,
            RESPONSE.c.place,
            RESPONSE.c.counts,
            RESPONSE.c.given,
            RESPONSE.c.answered,
            RESPONSE.c.seconds,
            RESPONSE.c.answer,
            PERSON.c.pseudonym,
            PERSON.c.stage,
            PERSON.c.controls,
            PERSON.c.controls_right,
        )
        .join(PERSON, PERSON.c.id == RESPONSE.c.person)
        .where(
            RESPONSE.c.study == study.rules.study,
            RESPONSE.c.state == ANSWERED,
            RESPONSE.c.task < study.training.start,
        )
        .order_by(RESPONSE.c.answered, PERSON.c.pseudonym, RESPONSE.c.place)
    )
    text = io.StringIO()
    # Lines end by CR LF, so that an answer with either of them is put in quotation marks.
    writer = csv.writer(text)
    writer.writerow(COLLECTED_FIELDS)
    counts = {"": 0, "excluded": 0, "stopped": 0, "surplus": 0}
    people = set()
    pay = answer_reward(study)
    reward = "" if pay is None else repr(pay)
    for row in connection.execute(query):
        holds = row.counts or row.task >= study.rules.tests
        why = reason_left_out(study, row.stage, row.controls, row.controls_right, holds=holds)
        counts[why] += 1
        if not why:
            people.add(row.pseudonym)
            writer.writerow([
                study.key, study.tasks[row.task].id, row.answer, row.pseudonym, f"{row.pseudonym}-{row.place}",
                moment(row.given), moment(row.answered), f"{row.seconds:.3f}", reward,
            ])  # fmt: skip
    for task, pseudonym in connection.execute(_OWN_ITEMS, {"of_study": study.rules.study}):
        if pseudonym in people:
            writer.writerow(
                [
                    study.key,
                    study.tasks[task].id,
                    NOT_SHOWN,
                    pseudonym,
                    f"{pseudonym}-own-{task}",
                    "",
                    "",
                    "",
                    "0",
                ]
            )
    return CollectedAnswers(
        text.getvalue(),
        counts[""],
        len(people),
        counts["excluded"],
        counts["stopped"],
        counts["surplus"],
    )


def answer_reward(study: ServedStudy) -> float | None:
    """Return the pay for one answer: that of a page divided by its tasks; `None` while the pay is not decided."""
    pay = study.arm.pay.per_page
    return None if pay is None else round(pay / study.arm.items_per_page, 10)


def reason_left_out(study: ServedStudy, stage: str, controls: int, right: int, *, holds: bool) -> str:
    """Return why an answer is left out of the table of collected answers; an empty text if it is in it.

    Args:
        study: the study.
        stage: the stage of the person who gave it.
        controls: how many control items the person answered.
        right: how many of them rightly.
        holds: whether the answer holds a place of its task, or is one to a control item.

    Returns:
        "excluded", "stopped", "surplus" or an empty text.
    """
    if stage == "excluded":
        return "excluded"
    if stage == "stopped":
        plan = study.folder.plan.baseline
        excluded_too = controls >= plan.min_controls and right < plan.min_control_accuracy * controls
        return "" if excluded_too else "stopped"
    return "" if holds else "surplus"


def moment(milliseconds: int) -> str:
    """Return a time in milliseconds since 1970 as ISO 8601 in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
