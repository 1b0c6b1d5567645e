"""A study on Prolific: made there, followed, approved and paid, each person once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Final

import polars as pl
from sqlalchemy import ColumnElement, Connection, Engine, case, delete, func, insert, select

from merilo.atomic_write import guarded
from merilo.errors import BackendError, DataError, InputError, UsageError, argument
from merilo.site.annotator_steps import most_tasks
from merilo.site.answer_export import answer_reward
from merilo.site.audit_log import Deed
from merilo.site.author_actions import AuthorActions
from merilo.site.database import last_address, site_clock, snapshot, writing
from merilo.site.panel_codes import keep_panel, new_codes, study_codes
from merilo.site.people_access import PROLIFIC
from merilo.site.prolific_api import PAID_AT_ONCE, PanelRefusalError, PanelStudy, ProlificApi, Submission
from merilo.site.schema import ANSWERED, BONUS, ERASED, PANEL, PERSON, RESPONSE
from merilo.site.served_study import ServedStudy
from merilo.site.serving import opened_arm
from merilo.site.study_figures import read_counts
from merilo.strict_json import Json
from merilo.studies.mechanical_turk import read_bonuses
from merilo.studies.plan_figures import arm_figures
from merilo.studies.plan_types import PanelCodes
from merilo.text import Text
from merilo.wording import counted_noun, shortened

#: Where an author looks at a study on Prolific.
PAGE: Final = "https://app.prolific.com/researcher/studies/{study}"

#: The parameters that Prolific fills in.
_PARAMETERS: Final = "&".join(
    f"{name}={{{{%{name}%}}}}" for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
)

#: Statuses of people who gave their place up, and of those who have it.
_GONE: Final = frozenset({"RETURNED", "TIMED OUT", "REJECTED"})
_THERE: Final = frozenset({"RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED"})

#: Stages at which a part has ended here, whatever Prolific says of it.
_ENDED: Final = frozenset({"declined", "refused", "stopped", "excluded"})

#: Why the people of such a status are excluded here.
_REASON: Final = "{status} on Prolific"

#: The columns of the table of people.
PEOPLE_FIELDS: Final = (
    "id", "session", "status", "stage", "code", "answers", "minutes", "pay", "bonus",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PanelPerson:
    """A person whom Prolific sent, or who has a place there.

    Attributes:
        id: their id on Prolific.
        session: the id of their submission.
        status: its status; an empty text if Prolific does not know it.
        stage: their stage here; an empty text if they never came.
        code: the completion code that they were given here; an empty text without one.
        finished: whether they answered items and were given the code of a complete part.
        answers: answers to test and control items.
        minutes: the time of all their answers.
        pay: what they have earned by the plan, in cents.
        bonus: what Prolific does not pay of it by itself, in cents.
    """

    id: str
    session: str
    status: str
    stage: str
    code: str
    finished: bool
    answers: int
    minutes: float
    pay: int
    bonus: int


@dataclass(frozen=True, slots=True)
class PanelReport:
    """A study on Prolific at one moment.

    Attributes:
        study: the study there.
        people: its people.
        given_back: how many people's places were given to others.
        reinstated: how many people have a place again.
        missing: answers that the items still need.
        places: how many people Prolific has to send for them beyond those who have or can take a place.
        page: the address of the study for its author.
        currency: the currency of all amounts.
    """

    study: PanelStudy
    people: tuple[PanelPerson, ...]
    given_back: int
    reinstated: int
    missing: int
    places: int
    page: str
    currency: str

    @property
    def statuses(self) -> dict[str, int]:
        """Status on Prolific -> people."""
        return dict(sorted(Counter(one.status for one in self.people if one.status).items()))

    @property
    def waiting(self) -> tuple[PanelPerson, ...]:
        """The people whose submissions wait for a review."""
        return tuple(one for one in self.people if one.status == "AWAITING REVIEW")

    @property
    def approvable(self) -> tuple[PanelPerson, ...]:
        """Those of them who finished here."""
        return tuple(one for one in self.waiting if one.finished)

    def table(self) -> str:
        """Return the people as CSV, money in units of the currency."""
        rows = [
            (one.id, one.session, one.status, one.stage, one.code, str(one.answers), f"{one.minutes:.1f}",
             f"{one.pay / 100:.2f}", f"{one.bonus / 100:.2f}")
            for one in self.people
        ]  # fmt: skip
        return guarded(
            pl.DataFrame(rows, schema=dict.fromkeys(PEOPLE_FIELDS, pl.String), orient="row")
        ).write_csv()

    def to_dict(self) -> dict[str, Json]:
        """Return the report as JSON, without the people's ids."""
        return {
            "study": self.study.id,
            "status": self.study.status,
            "page": self.page,
            "places": self.study.places,
            "reward": self.study.reward / 100,
            "currency": self.currency,
            "people": {**self.statuses},
            "to_approve": len(self.approvable),
            "given_back": self.given_back,
            "reinstated": self.reinstated,
            "missing_answers": self.missing,
            "missing_places": self.places,
        }


@dataclass(frozen=True, slots=True)
class BonusPlan:
    """The bonuses that are due.

    Attributes:
        cents: submission -> what is missing of its bonus.
        paid: the sum of what was paid or asked for before, in cents.
        unconfirmed: submissions for which a payment was asked that Prolific does not show.
        currency: the currency.
        asked: submission -> the sum of the bonuses that were asked for before, in cents.
    """

    cents: Mapping[str, int]
    paid: int
    unconfirmed: tuple[str, ...]
    currency: str
    asked: Mapping[str, int]

    @property
    def total(self) -> int:
        """The sum of the bonuses, in cents, without Prolific's fee."""
        return sum(self.cents.values())

    def to_dict(self, *, sent: bool) -> dict[str, Json]:
        """Return the bonuses as JSON, and whether they were sent."""
        return {
            "sent": sent,
            "bonuses": {session: cents / 100 for session, cents in self.cents.items()},
            "total": self.total / 100,
            "paid_before": self.paid / 100,
            "unconfirmed": len(self.unconfirmed),
            "currency": self.currency,
        }


@dataclass(frozen=True, slots=True)
class StudyWish:
    """What an author decides about a study on Prolific; the rest follows from the plan.

    Attributes:
        places: for how many people; `None` for the number of the plan.
        minutes: the time that a person needs; `None` for that of the plan.
        title: the name that people see; `None` for that of the study.
        description: the text that people see; `None` for a short one.
        address: the public address of the site; `None` for the one at which it was served last.
        project: the id of a project on Prolific; `None` for the account's own.
    """

    places: int | None = None
    minutes: int | None = None
    title: str | None = None
    description: str | None = None
    address: str | None = None
    project: str | None = None


@dataclass(frozen=True, slots=True)
class OnProlific:
    """One group of annotators, which Prolific sends or will send.

    Attributes:
        api: the account.
        engine: the site's database.
        served: the group.
    """

    api: ProlificApi
    engine: Engine
    served: ServedStudy

    def create(self, wish: StudyWish) -> PanelStudy:
        """Make the study on Prolific as a draft, or return the one that was made before.

        Raises:
            UsageError: it was made before and something is wished for now, the group consists of experts, the plan
                states no pay, a failed training is paid like a complete part, or the site's address is not known.
        """
        if (external := self._external()) is not None:
            if wish != StudyWish():
                raise UsageError(
                    f"this study is on Prolific already, as {external}: change it on Prolific's pages"
                )
            return self.api.study(external)
        with snapshot(self.engine) as connection:
            codes = study_codes(connection, self.served) or new_codes()
            address = wish.address or last_address(connection)
        if address is None:
            raise UsageError(f"the address of the site is not known: give {argument('address', 'URL')}")
        made = self.api.create(self._draft(wish, address, codes))
        self._keep(made.id, codes)
        return made

    def adopt(self, external: str) -> PanelStudy:
        """Record a study that was made on Prolific's pages.

        Raises:
            UsageError: the plan does not declare the completion codes, or another study was recorded before.
        """
        before, codes = self._external(), self.served.arm.prolific
        if before not in {None, external}:
            raise UsageError(f"this study is on Prolific already, as {before}")
        if codes is None:
            raise UsageError(
                f"a study that was made on Prolific's pages needs its completion codes in the plan before the freeze "
                f"(arms.{self.served.arm_name}.prolific)"
            )
        found = self.api.study(external)
        if before is None:
            self._keep(found.id or external, codes)
        return found

    def publish(self, study: PanelStudy) -> PanelStudy:
        """Publish a draft; a study that is published stays as it is.

        Raises:
            DataError: Prolific pays in another currency than the plan says.
        """
        self._check_currency(study)
        if study.status != "UNPUBLISHED":
            return study
        self.api.publish(study.id)
        self._record("panel_published")
        return self.api.study(study.id)

    def report(self) -> PanelReport:
        """Read the study and its submissions, and bring the people here in line with them.

        The places of people who returned their submission, timed out or were rejected go to others. Whoever has
        a place again gets back what is still free.

        Raises:
            UsageError: the study is not on Prolific.
        """
        external = self._external()
        if external is None:
            raise UsageError("this study is not on Prolific: run 'merilo study prolific create' first")
        there, submissions = self.api.study(external), self.api.submissions(external)
        latest = {one.participant: one for one in sorted(submissions, key=lambda one: one.started)}
        with writing(self.engine) as connection:
            given_back, reinstated = self._follow(connection, latest)
        with snapshot(self.engine) as connection:
            people = tuple(_people(connection, self.served, there, latest))
            missing = read_counts(connection, self.served).missing
        taken = Counter(one.status for one in latest.values())
        free = (
            max(0, there.places - sum(taken[status] for status in _THERE))
            + taken["RESERVED"]
            + taken["ACTIVE"]
        )
        more = max(0, ceil(missing / self.served.arm.items_per_person) - free)
        page = PAGE.format(study=external)
        currency = there.currency or self.served.arm.pay.currency
        return PanelReport(there, people, given_back, reinstated, missing, more, page, currency)

    def approve(self, report: PanelReport) -> int:
        """Approve the submissions of everyone who finished here; Prolific then pays their reward.

        Raises:
            DataError: Prolific pays in another currency than the plan says.
        """
        self._check_currency(report.study)
        sessions = [one.session for one in report.approvable]
        if sessions:
            self.api.approve(sessions)
            self._record("approved", n=len(sessions))
        return len(sessions)

    def due(
        self, report: PanelReport, wanted: Mapping[str, int] | None = None, *, again: bool = False
    ) -> BonusPlan:
        """Return the bonuses that were not paid yet.

        What was paid is the larger one of what Prolific shows and of what was asked for before.

        Args:
            report: the study.
            wanted: submission -> the sum of its bonuses, in cents. Default: what the plan owes.
            again: whether payments that Prolific does not show count as not made.
        """
        targets = wanted if wanted is not None else {one.session: one.bonus for one in report.people}
        with snapshot(self.engine) as connection:
            asked = self._asked(connection)
        cents, unconfirmed, before = {}, [], 0
        for session, target in targets.items():
            if target <= 0:
                continue
            shown, own = self.api.paid_bonus(session), asked.get(session, 0)
            if own > shown:
                unconfirmed.append(session)
            paid = shown if again else max(shown, own)
            before += paid
            if target > paid:
                cents[session] = target - paid
        return BonusPlan(cents, before, tuple(unconfirmed), report.currency, asked)

    def pay(self, report: PanelReport, plan: BonusPlan, *, again: bool = False) -> int:
        """Pay the bonuses that are due. Each payment is recorded before Prolific is asked for it.

        Args:
            report: the study.
            plan: what is due.
            again: whether the records of payments that Prolific does not show are forgotten.

        Returns:
            What the payments cost with Prolific's fees, in cents.

        Raises:
            DataError: Prolific pays in another currency than the plan says, or another command asked for these bonuses
                meanwhile.
            PanelRefusalError: Prolific refused a payment; the earlier ones of this call were made.
            BackendError: Prolific did not answer, so that nobody knows whether it pays.
        """
        self._check_currency(report.study)
        cost, sessions = 0, [*plan.cents]
        for first in range(0, len(sessions), PAID_AT_ONCE):
            part = {one: plan.cents[one] for one in sessions[first : first + PAID_AT_ONCE]}
            payment, with_fees = self.api.set_up_bonuses(report.study.id, part)
            self._write_down(payment, part, plan, again=again)
            try:
                self.api.pay_bonuses(payment)
            except PanelRefusalError:
                with writing(self.engine) as connection:
                    connection.execute(delete(BONUS).where(BONUS.c.payment == payment))
                raise
            except BackendError as error:
                bonuses = counted_noun(len(part), "bonus", "bonuses")
                raise BackendError(
                    f"{error.marked}; whether Prolific pays {bonuses} is not known: look at its pages, and give "
                    f"{argument('again')} only if it does not"
                ) from None
            self._record("bonuses_paid", n=len(part), cents=sum(part.values()))
            cost += with_fees
        return cost

    def _write_down(self, payment: str, part: Mapping[str, int], plan: BonusPlan, *, again: bool) -> None:
        """Record a payment before it is asked for, if nobody else has asked for these bonuses meanwhile."""
        with writing(self.engine) as connection:
            asked = self._asked(connection)
            if any(asked.get(session) != plan.asked.get(session) for session in part):
                raise DataError("another command asked for these bonuses meanwhile: look at what is due now")
            here = BONUS.c.study == self.served.rules.study
            forgotten = set(plan.unconfirmed) & set(part) if again else set()
            connection.execute(delete(BONUS).where(here, BONUS.c.session.in_(forgotten)))
            now = site_clock(connection).now()
            rows = [
                {
                    "study": self.served.rules.study,
                    "session": session,
                    "cents": cents,
                    "payment": payment,
                    "asked": now,
                }
                for session, cents in part.items()
            ]
            connection.execute(insert(BONUS), rows)

    def _external(self) -> str | None:
        with snapshot(self.engine) as connection:
            return connection.scalar(select(PANEL.c.external).where(PANEL.c.study == self.served.rules.study))

    def _keep(self, external: str, codes: PanelCodes) -> None:
        with writing(self.engine) as connection:
            now = site_clock(connection).now()
            keep_panel(connection, self.served, external, codes, now)
            AuthorActions(connection, self.served, now, "command line").record("panel_made", name=external)

    def _record(self, what: Deed, **facts: str | int) -> None:
        with writing(self.engine) as connection:
            AuthorActions(connection, self.served, site_clock(connection).now(), "command line").record(
                what, None, **facts
            )

    def _check_currency(self, study: PanelStudy) -> None:
        planned = self.served.arm.pay.currency
        if study.currency and study.currency != planned:
            raise DataError(
                f"Prolific pays this study in {study.currency}, and the plan says {planned} "
                f"(arms.{self.served.arm_name}.pay.currency)"
            )

    def _draft(self, wish: StudyWish, address: str, codes: PanelCodes) -> dict[str, Json]:
        """Return the body of the request that makes the study."""
        served, arm = self.served, self.served.arm
        each, training = answer_reward(served), len(served.training)
        where = f"arms.{served.arm_name}.pay"
        if served.by_invitation:
            raise UsageError("experts come by invitation, not from Prolific")
        if not each:
            raise UsageError(f"the plan does not state the pay ({where}.per_page), which Prolific needs")
        tasks = most_tasks(served)
        reward, screening = round(100 * each * tasks), round(100 * (arm.pay.screening or 0))
        if training and screening >= reward:
            raise UsageError(
                f"{where}.screening must be less than the pay of a complete part ({reward / 100:.2f})"
            )
        places = wish.places or arm_figures(arm, served.folder.plan).people
        minutes = wish.minutes or max(1, ceil(60 * (tasks + training) / arm.items_per_hour))
        described = Text(
            "You answer up to {tasks:# question|# questions} on a web page, about {minutes} min. People's answers are "
            "compared with those of language models.",
            tasks=tasks,
            minutes=minutes,
        )
        draft: dict[str, Json] = {
            "name": wish.title or served.title,
            "internal_name": f"{served.title} {served.arm_name} {served.key}"[:250],
            "description": wish.description or described.in_language(served.languages[0]),
            "external_study_url": f"{address.rstrip('/')}{served.path}?{_PARAMETERS}",
            "prolific_id_option": "url_parameters",
            "completion_codes": [*_codes(codes, screening if training else None, places)],
            "total_available_places": places,
            "estimated_completion_time": minutes,
            "reward": reward,
            "device_compatibility": ["desktop", "tablet", "mobile"],
            "filters": [],
        }
        return {**draft, **({"project": wish.project} if wish.project else {})}

    def _follow(self, connection: Connection, latest: Mapping[str, Submission]) -> tuple[int, int]:
        """Exclude people who gave their place up on Prolific, and reinstate those who have it again."""
        here = [
            PERSON.c.study == self.served.rules.study,
            PERSON.c.source == PROLIFIC,
            PERSON.c.stage != ERASED,
        ]
        actions = AuthorActions(connection, self.served, site_clock(connection).now(), "command line")
        gone = back = 0
        for person in connection.execute(select(PERSON).where(*here).order_by(PERSON.c.id)).all():
            there = latest.get(person.external)
            if there is None:
                continue
            if there.status in _GONE and person.stage not in _ENDED:
                actions.exclude(person.pseudonym, _REASON.format(status=there.status))
                gone += 1
            elif there.status in _THERE and person.reason in {_REASON.format(status=one) for one in _GONE}:
                actions.reinstate(person.pseudonym)
                back += 1
        return gone, back

    def _asked(self, connection: Connection) -> dict[str, int]:
        """Session -> the bonuses that Prolific was asked to pay, in cents."""
        here = BONUS.c.study == self.served.rules.study
        rows = connection.execute(
            select(BONUS.c.session, func.sum(BONUS.c.cents)).where(here).group_by(BONUS.c.session)
        )
        return {session: int(cents) for session, cents in rows}


@contextmanager
def on_prolific(study: Path, *, arm: str | None = None, database: str | None = None) -> Iterator[OnProlific]:
    """Open a group of annotators and the account on Prolific whose token is in the environment.

    Args:
        study: the study's folder.
        arm: the group of annotators. Default: `people`, or the only group.
        database: the database's address. Default: `site.db` in the study's folder.

    Raises:
        UsageError: there is no token, or the plan has no such group.
    """
    api = ProlificApi.from_environment()
    with opened_arm(study, arm, database) as (engine, served):
        yield OnProlific(api, engine, served)


def wanted_bonuses(path: Path, report: PanelReport) -> dict[str, int]:
    """Read the bonuses of a table of people: submission -> the sum of its bonuses, in cents.

    Raises:
        InputError: the file cannot be read, an amount is wrong, or a session is unknown or stands twice.
    """
    bonuses = read_bonuses(path, "session")
    if strange := bonuses.keys() - {one.session for one in report.people}:
        raise InputError(f"there is no '{shortened(min(strange))}' in this study", file=path, field="session")
    return {session: round(100 * amount) for session, amount in bonuses.items()}


def _codes(codes: PanelCodes, screening: int | None, places: int) -> Iterator[dict[str, Json]]:
    """Return the completion codes with what Prolific does when a person hands one in.

    Args:
        codes: the codes.
        screening: the pay of a failed training, in cents; `None` without a training.
        places: at most so many people are paid for a failed training before Prolific pauses the study.
    """
    review: dict[str, Json] = {"action": "MANUALLY_REVIEW"}
    yield _code(codes.complete, "COMPLETED", review)
    yield _code(codes.no_consent, "NO_CONSENT", {"action": "REQUEST_RETURN", "return_reason": "No consent"})
    yield _code(codes.stopped, "FAILED_ATTENTION_CHECK", review)
    if screening:
        paid: dict[str, Json] = {
            "action": "FIXED_SCREEN_OUT_PAYMENT",
            "fixed_screen_out_reward": screening,
            "slots": places,
        }
        yield _code(codes.screened_out, "FIXED_SCREENOUT", paid)
    elif screening is not None:
        reason = "The training was not passed"
        yield _code(codes.screened_out, "OTHER", {"action": "REQUEST_RETURN", "return_reason": reason})


def _code(code: str, kind: str, action: dict[str, Json]) -> dict[str, Json]:
    return {"code": code, "code_type": kind, "actions": [action], "actor": "participant"}


def _people(
    connection: Connection, study: ServedStudy, there: PanelStudy, latest: Mapping[str, Submission]
) -> Iterator[PanelPerson]:
    """Return the people whom Prolific sent, and those who have a place there and never came."""
    codes, each = study_codes(connection, study), answer_reward(study) or 0.0
    screening = round(100 * (study.arm.pay.screening or 0))

    def answers(end: int) -> ColumnElement[int]:
        return func.sum(case((RESPONSE.c.task < end, 1), else_=0))

    work = (
        select(
            RESPONSE.c.person,
            answers(study.rules.tests).label("tests"),
            answers(study.training.start).label("answers"),
            func.sum(RESPONSE.c.seconds).label("seconds"),
        )
        .where(RESPONSE.c.study == study.rules.study, RESPONSE.c.state == ANSWERED)
        .group_by(RESPONSE.c.person)
        .subquery()
    )
    query = (
        select(PERSON, work.c.tests, work.c.answers, work.c.seconds)
        .join(work, work.c.person == PERSON.c.id, isouter=True)
        .where(PERSON.c.study == study.rules.study, PERSON.c.source == PROLIFIC, PERSON.c.stage != ERASED)
        .order_by(PERSON.c.created, PERSON.c.id)
    )
    missed = dict(latest)
    for row in connection.execute(query):
        visit = missed.pop(row.external, None)
        status, answered = visit.status if visit else "", int(row.answers or 0)
        complete = codes is not None and row.completion == codes.complete
        finished = complete and bool(row.tests) and row.stage not in _ENDED
        earned = {"refused": screening, "stopped": min(there.reward, round(100 * each * answered))}
        pay = there.reward if finished else earned.get(row.stage, 0)
        given = {
            "APPROVED": there.reward,
            "SCREENED OUT": there.screening,
            "RETURNED": 0,
            "TIMED OUT": 0,
        }.get(status)
        yield PanelPerson(
            row.external, visit.id if visit else row.session or "", status, row.stage, row.completion or "",
            finished, answered, float(row.seconds or 0) / 60, pay, 0 if given is None else max(0, pay - given),
        )  # fmt: skip
    for one in missed.values():
        yield PanelPerson(
            one.participant,
            one.id,
            one.status,
            "",
            "",
            finished=False,
            answers=0,
            minutes=0.0,
            pay=0,
            bonus=0,
        )
