"""A study on Amazon Mechanical Turk through its API: pages as HITs, assignments as rows of a batch's results.

Nothing is kept here that Mechanical Turk knows: every command asks for the HITs of the study again. A HIT names
its study, its page and the page's tasks in `RequesterAnnotation`. Importing boto3 needs the extra `mturk`.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import cached_property
from hashlib import blake2b
from math import ceil
from pathlib import Path
from typing import Any, Final, cast
from xml.etree import ElementTree

from pydantic_core import to_jsonable_python

from merilo.errors import BackendError, DataError, InputError, MissingPartError
from merilo.files import read_table
from merilo.strict_json import Json
from merilo.studies.collected import ImportedStudy, import_text
from merilo.studies.plan_file import plan_path
from merilo.studies.plan_types import Arm
from merilo.studies.platform_tasks import STUDY, TASK, Outgoing, mturk_pages
from merilo.studies.study_export import arm_of, outgoing_study
from merilo.studies.study_folder import StudyFolder, refuse_changed
from merilo.studies.study_tasks import StudyTask

#: The address for trials, where no money moves.
SANDBOX: Final = "https://mturk-requester-sandbox.us-east-1.amazonaws.com"
_REGION: Final = "us-east-1"

_SCHEMAS: Final = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
_QUESTION: Final = (
    f'<HTMLQuestion xmlns="{_SCHEMAS}/2011-11-11/HTMLQuestion.xsd"><HTMLContent><![CDATA[<!DOCTYPE html>'
    '<html><head><meta charset="utf-8"></head><body>{page}</body></html>'
    "]]></HTMLContent><FrameHeight>0</FrameHeight></HTMLQuestion>"
)
#: The most bytes of a question.
_LARGEST_QUESTION: Final = 65_535

#: Without a time limit in the plan, a page has this many times the seconds that the plan expects.
_SLOWER: Final = 4
_SECONDS: Final = (30, 365 * 24 * 3600)


@dataclass(frozen=True, slots=True)
class CreatedHits:
    """The HITs of a study after `create`.

    Attributes:
        hits: HITs, one for each page.
        made: those that this call made; in a trial run, those that it would make.
        extended: HITs whose time was over with missing answers and that people can take again.
        assignments: answers to each HIT.
        reward: the pay for a HIT, in dollars.
        cost: the pay for everything that was made, without the fee of the platform.
        balance: the money of the account.
        sent: whether anything was changed.
    """

    hits: int
    made: int
    extended: int
    assignments: int
    reward: Decimal
    cost: Decimal
    balance: Decimal
    sent: bool


@dataclass(frozen=True, slots=True)
class TurkStatus:
    """The state of a study on Mechanical Turk.

    Attributes:
        hits: HITs.
        expired: HITs whose time is over.
        places: assignments that were asked for.
        working: assignments that people are working on.
        submitted: assignments that wait for approval.
        approved: approved assignments.
        rejected: rejected assignments.
        workers: people with an assignment.
        balance: the money of the account.
    """

    hits: int
    expired: int
    places: int
    working: int
    submitted: int
    approved: int
    rejected: int
    workers: int
    balance: Decimal


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment to one person.

    Attributes:
        respondent: the person's id on the platform.
        assignment: the assignment that it is for.
        usd: the amount.
        before: whether it was paid by an earlier call.
    """

    respondent: str
    assignment: str
    usd: Decimal
    before: bool = False


@dataclass(frozen=True, slots=True)
class Payments:
    """The payments of one call.

    Attributes:
        payments: the payments, those of earlier calls included.
        sent: whether they were sent.
    """

    payments: tuple[Payment, ...]
    sent: bool

    @property
    def usd(self) -> Decimal:
        """The sum of the payments that earlier calls did not send."""
        return sum((one.usd for one in self.payments if not one.before), Decimal(0))

    def to_dict(self) -> dict[str, Json]:
        """Return the payments as JSON."""
        return {"sent": self.sent, "usd": float(self.usd), "payments": to_jsonable_python(self.payments)}


@dataclass(frozen=True)
class TurkStudy:
    """One group of annotators of a frozen study, on the sandbox or the marketplace.

    Attributes:
        folder: the study.
        arm: the group of annotators in the plan.
        outgoing: its tasks.
        live: whether it is on the marketplace, where money moves.
        client: the client of boto3.
    """

    folder: StudyFolder
    arm: Arm
    outgoing: Outgoing
    live: bool
    client: Any

    def create(
        self, *, days: float, qualifications: Sequence[Mapping[str, Json]] = (), send: bool = True
    ) -> CreatedHits:
        """Make a HIT of each page that has none, and give more time to those that expired with missing answers.

        Args:
            days: how long people can take a HIT.
            qualifications: further `QualificationRequirements`, as boto3 takes them.
            send: whether anything is made; otherwise it is only computed.

        Raises:
            BackendError: Mechanical Turk refuses a request.
            DataError: the plan has no pay in whole cents, a page is too large, or the account has too little money.
        """
        reward = self._reward()
        questions = [self._question(number, page) for number, (_, page) in enumerate(self._pages, start=1)]
        until = datetime.now(UTC) + timedelta(days=days)
        with _asking():
            known = self._hits()
            over = [hit for _, hit in known if _expired(hit) and hit["NumberOfAssignmentsAvailable"]]
            missing = sorted({*range(len(questions))} - {number for number, _ in known})
            cost = reward * self.arm.overlap * len(missing)
            balance = Decimal(self.client.get_account_balance()["AvailableBalance"])
            if cost > balance:
                raise DataError(
                    f"{len(missing)} HITs cost ${cost} without the platform's fee, and the account has ${balance}"
                )
            made = CreatedHits(
                len(questions), len(missing), len(over), self.arm.overlap, reward, cost, balance, send
            )
            if not send:
                return made
            for hit in over:
                self.client.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=until)
            kind = self.client.create_hit_type(
                AssignmentDurationInSeconds=self._seconds(),
                Reward=str(reward),
                Title=self.outgoing.title,
                Description=self.outgoing.title,
                QualificationRequirements=[*qualifications, *self._share_required()],
            )
            for number in missing:
                self._create_hit(
                    number,
                    HITTypeId=kind["HITTypeId"],
                    MaxAssignments=self.arm.overlap,
                    LifetimeInSeconds=ceil(days * 24 * 3600),
                    Question=questions[number],
                )
        return made

    def _create_hit(self, number: int, **values: object) -> None:
        """Make the HIT of a page, unless an earlier request did that whose answer was lost."""
        from botocore.exceptions import ClientError  # noqa: PLC0415 - the extra mturk

        mark = self._marks[number]
        try:
            self.client.create_hit_with_hit_type(
                **values, RequesterAnnotation=mark, UniqueRequestToken=_token(mark)
            )
        except ClientError as error:
            if "alreadyexists" not in str(error).lower():
                raise

    def status(self) -> TurkStatus:
        """Count the assignments of all HITs.

        Raises:
            BackendError: Mechanical Turk refuses a request.
        """
        with _asking():
            hits = [hit for _, hit in self._hits()]
            assignments = [one for hit in hits for one in self._assignments(hit)]
            balance = Decimal(self.client.get_account_balance()["AvailableBalance"])
        states = Counter(one["AssignmentStatus"] for one in assignments)
        return TurkStatus(
            hits=len(hits),
            expired=sum(map(_expired, hits)),
            places=sum(hit["MaxAssignments"] for hit in hits),
            working=sum(hit["NumberOfAssignmentsPending"] for hit in hits),
            submitted=states["Submitted"],
            approved=states["Approved"],
            rejected=states["Rejected"],
            workers=len({one["WorkerId"] for one in assignments}),
            balance=balance,
        )

    def results(self) -> str:
        """Return all assignments as the platform's table of results, and mark the people who had their share.

        Raises:
            BackendError: Mechanical Turk refuses a request.
            DataError: nobody has answered yet.
        """
        with _asking():
            found = [(number, hit, self._assignments(hit)) for number, hit in self._hits()]
            self._mark_shares(one for *_, assignments in found for one in assignments)
        rows = [self._row(number, hit, one) for number, hit, assignments in found for one in assignments]
        if not rows:
            raise DataError("nobody has submitted an assignment yet")
        text = io.StringIO()
        names = dict.fromkeys(name for row in rows for name in row)
        writer = csv.DictWriter(text, [*names], lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def pull(self) -> ImportedStudy:
        """Import all assignments into the study.

        Raises:
            BackendError: Mechanical Turk refuses a request.
            DataError: nobody has answered yet.
        """
        return import_text(self.folder, self.results(), "mturk-results.csv")

    def approve(self, *, send: bool) -> Payments:
        """Approve all assignments that wait for it.

        Raises:
            BackendError: Mechanical Turk refuses a request.
        """
        with _asking():
            waiting = [
                Payment(one["WorkerId"], one["AssignmentId"], Decimal(hit["Reward"]))
                for _, hit in self._hits()
                for one in self._assignments(hit)
                if one["AssignmentStatus"] == "Submitted"
            ]
            for payment in waiting if send else ():
                self.client.approve_assignment(AssignmentId=payment.assignment)
        return Payments(tuple(waiting), send)

    def pay(self, bonuses: Mapping[str, Decimal], *, reason: str, send: bool) -> Payments:
        """Pay bonuses, each of them once: a bonus of the same amount and reason is not paid again.

        Args:
            bonuses: person -> dollars.
            reason: what the people read.
            send: whether anything is paid.

        Raises:
            BackendError: Mechanical Turk refuses a request.
            DataError: a person has no approved assignment in this study, or the account has too little money.
        """
        with _asking():
            hits = [hit for _, hit in self._hits()]
            approved = {
                one["WorkerId"]: one["AssignmentId"]
                for hit in hits
                for one in self._assignments(hit)
                if one["AssignmentStatus"] == "Approved"
            }
            for person in bonuses:
                if person not in approved:
                    raise DataError(f"{person} has no approved assignment in this study: approve it first")
            before = {bonus for hit in hits for bonus in self._bonuses(HITId=hit["HITId"])}
            made = Payments(
                tuple(
                    Payment(person, approved[person], usd, (person, usd, reason) in before)
                    for person, usd in bonuses.items()
                ),
                send,
            )
            balance = Decimal(self.client.get_account_balance()["AvailableBalance"])
            if made.usd > balance:
                raise DataError(f"the bonuses cost ${made.usd}, and the account has ${balance}")
            for payment in made.payments if send else ():
                if not payment.before:
                    self._send_bonus(payment, reason)
        return made

    def _bonuses(self, **where: str) -> Iterator[tuple[str, Decimal, str]]:
        """Yield the person, dollars and reason of every bonus of a HIT or an assignment."""
        for one in _all(self.client, "list_bonus_payments", "BonusPayments", **where):
            yield one["WorkerId"], Decimal(one["BonusAmount"]), one["Reason"]

    def _send_bonus(self, payment: Payment, reason: str) -> None:
        """Pay a bonus; an error after a lost answer is none if the platform lists the payment."""
        from botocore.exceptions import ClientError  # noqa: PLC0415 - the extra mturk

        try:
            self.client.send_bonus(
                WorkerId=payment.respondent,
                BonusAmount=str(payment.usd),
                AssignmentId=payment.assignment,
                Reason=reason,
                UniqueRequestToken=_token(
                    f"{self.outgoing.study} {payment.respondent} {payment.usd} {reason}"
                ),
            )
        except ClientError:
            sent = self._bonuses(AssignmentId=payment.assignment)
            if (payment.respondent, payment.usd, reason) not in sent:
                raise

    @cached_property
    def _pages(self) -> list[tuple[list[StudyTask], str]]:
        return mturk_pages(self.outgoing)

    @cached_property
    def _marks(self) -> list[str]:
        """The annotation of each page's HIT: the study, the page's number and a digest of its tasks."""
        return [
            f"{self.outgoing.study} {number} {_token(' '.join(task.id for task in tasks))}"
            for number, (tasks, _) in enumerate(self._pages, start=1)
        ]

    def _hits(self) -> list[tuple[int, dict[str, Any]]]:
        """The HITs of the study, each with the index of its page, in the order of the pages."""
        known = {mark: number for number, mark in enumerate(self._marks)}
        found = []
        for hit in _all(self.client, "list_hits", "HITs"):
            mark = hit.get("RequesterAnnotation", "")
            if mark.partition(" ")[0] != self.outgoing.study:
                continue
            if mark not in known:
                raise DataError(f"the HIT {hit['HITId']} was made of other pages: the plan was changed since")
            found.append((known[mark], hit))
        return sorted(found, key=lambda one: (one[0], one[1]["HITId"]))

    def _assignments(self, hit: Mapping[str, Any]) -> list[dict[str, Any]]:
        listed = _all(self.client, "list_assignments_for_hit", "Assignments", HITId=hit["HITId"])
        return sorted(listed, key=lambda one: (one["SubmitTime"], one["AssignmentId"]))

    def _row(self, number: int, hit: Mapping[str, Any], one: Mapping[str, Any]) -> dict[str, str]:
        tasks, _ = self._pages[number]
        return {
            "HITId": hit["HITId"],
            "Reward": f"${hit['Reward']}",
            "AssignmentId": one["AssignmentId"],
            "WorkerId": one["WorkerId"],
            "AssignmentStatus": one["AssignmentStatus"],
            "AcceptTime": _time(one["AcceptTime"]),
            "SubmitTime": _time(one["SubmitTime"]),
            "WorkTimeInSeconds": str(round((one["SubmitTime"] - one["AcceptTime"]).total_seconds())),
            f"Input.{STUDY}": self.outgoing.study,
            **{f"Input.{TASK}_{place}": task.id for place, task in enumerate(tasks, start=1)},
            **_answers(one["Answer"]),
        }

    def _reward(self) -> Decimal:
        pay = self.arm.pay
        reward = None if pay.per_page is None else Decimal(str(pay.per_page))
        if reward is None or pay.currency != "USD" or reward != round(reward, 2):
            raise DataError(
                "Mechanical Turk pays whole US cents for a page, and the plan has "
                f"{'no pay' if reward is None else f'{reward} {pay.currency}'} (arms.*.pay)",
                file=plan_path(self.folder.path),
            )
        return round(reward, 2)

    def _seconds(self) -> int:
        each = self.arm.time_limit or _SLOWER * 3600 / self.arm.items_per_hour
        least, most = _SECONDS
        return min(most, max(least, ceil(each * self.arm.items_per_page)))

    def _question(self, number: int, page: str) -> str:
        question = _QUESTION.replace("{page}", page.replace("]]>", "]]&gt;"))
        if (size := len(question.encode())) > _LARGEST_QUESTION:
            raise DataError(
                f"page {number} has {size:,} bytes, and Mechanical Turk takes {_LARGEST_QUESTION:,}: plan fewer tasks "
                "on a page",
                file=plan_path(self.folder.path),
                field="items_per_page",
            )
        return question

    @property
    def _share(self) -> int | None:
        """The most HITs of one person; `None` if they may take all."""
        share = ceil(self.arm.items_per_person / self.arm.items_per_page)
        return share if share < len(self._pages) else None

    @cached_property
    def _share_type(self) -> str | None:
        """The qualification of people who had their share; made by `create` only."""
        listed = _all(
            self.client,
            "list_qualification_types",
            "QualificationTypes",
            Query=self.outgoing.study,
            MustBeRequestable=False,
            MustBeOwnedByCaller=True,
        )
        return next((one["QualificationTypeId"] for one in listed if one["Name"] == self._share_name), None)

    @property
    def _share_name(self) -> str:
        return f"{self.outgoing.study}: had their share"

    def _share_required(self) -> list[dict[str, str]]:
        if self._share is None:
            return []
        known = self._share_type
        if known is None:
            made = self.client.create_qualification_type(
                Name=self._share_name,
                Description=self.outgoing.title,
                QualificationTypeStatus="Active",
            )
            known = made["QualificationType"]["QualificationTypeId"]
        guarded = "DiscoverPreviewAndAccept"
        return [{"QualificationTypeId": known, "Comparator": "DoesNotExist", "ActionsGuarded": guarded}]

    def _mark_shares(self, assignments: Iterator[Mapping[str, Any]]) -> None:
        """Give the qualification to everybody who had their share, so that they see no more HITs of the study."""
        taken = Counter(one["WorkerId"] for one in assignments)
        if self._share is None or self._share_type is None:
            return
        for person in sorted(person for person, hits in taken.items() if hits >= self._share):
            self.client.associate_qualification_with_worker(
                QualificationTypeId=self._share_type,
                WorkerId=person,
                IntegerValue=1,
                SendNotification=False,
            )


def turk_study(
    folder: StudyFolder,
    *,
    live: bool = False,
    arm: str | None = None,
    language: str | None = None,
    media_url: str = "",
) -> TurkStudy:
    """Open a frozen study on the sandbox of Mechanical Turk or, if `live`, on its marketplace.

    The credentials are those that boto3 finds: the environment, or its configuration files.

    Raises:
        MissingPartError: the extra `mturk` is not installed.
        InputError: the plan is not frozen.
        DataError: the plan was changed after the freeze, or the platform cannot show the tasks.
    """
    try:
        import boto3  # noqa: PLC0415 - the extra mturk
        from botocore.config import Config  # noqa: PLC0415
    except ModuleNotFoundError:
        raise MissingPartError(
            "Mechanical Turk needs the extra 'mturk': pip install 'merilo[mturk]'"
        ) from None
    refuse_changed(folder)
    name, group = arm_of(folder, arm)
    outgoing = outgoing_study(folder, "mturk", name, language=language, media_url=media_url)
    client = boto3.client(
        "mturk",
        region_name=_REGION,
        endpoint_url=None if live else SANDBOX,
        config=Config(retries={"max_attempts": 8, "mode": "standard"}),
    )
    return TurkStudy(folder, group, outgoing, live, client)


def read_bonuses(path: Path, who: str = "respondent") -> dict[str, Decimal]:
    """Read a table of bonuses with the column `bonus`, in the currency's units, and one that says whose they are.

    Rows whose bonus is 0 are left out.

    Args:
        path: the table.
        who: the name of the column that says whose a bonus is.

    Raises:
        InputError: a column is missing, a person stands twice, or an amount is negative or not in whole cents.
    """
    table = read_table(path)
    for name in (who, "bonus"):
        if name not in table.data.columns:
            raise InputError("there is no such column", file=path, field=name)
    bonuses: dict[str, Decimal] = {}
    for row, (person, text) in enumerate(table.data.select(who, "bonus").iter_rows(), start=table.first_row):
        try:
            amount = round(Decimal(text or ""), 2)
        except InvalidOperation:
            amount = Decimal(-1)
        if not person or amount < 0 or amount != Decimal(text):
            raise InputError(f"needs a {who} and an amount in whole cents, such as 0.50", file=path, row=row)
        if person in bonuses:
            raise InputError(f"the {who} {person} stands twice", file=path, row=row)
        bonuses[person] = amount
    return {person: amount for person, amount in bonuses.items() if amount}


@contextmanager
def _asking() -> Iterator[None]:
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - the extra mturk

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise BackendError(f"Mechanical Turk: {' '.join(str(error).split())}") from error


def _all(client: Any, operation: str, key: str, **values: object) -> list[dict[str, Any]]:  # noqa: ANN401 - boto3
    """Return all pages of a list."""
    pages = client.get_paginator(operation).paginate(**values, PaginationConfig={"PageSize": 100})
    return [one for page in pages for one in page.get(key, ())]


def _token(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _expired(hit: Mapping[str, Any]) -> bool:
    return cast("datetime", hit["Expiration"]) <= datetime.now(UTC)


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _answers(text: str) -> dict[str, str]:
    """Return the columns of an answer in XML: question -> text, or the chosen options."""
    found = {}
    try:
        answers = ElementTree.fromstring(text)  # noqa: S314 - expat refuses entities that grow without bound
    except ElementTree.ParseError as error:
        raise InputError(f"Mechanical Turk sent an answer that is not XML ({error})") from error
    for answer in answers:
        parts = {part.tag.rpartition("}")[2]: part.text or "" for part in answer}
        question = parts.pop("QuestionIdentifier", "")
        found[f"Answer.{question}"] = next(iter(parts.values()), "")
    return found
