"""What an author does with a study's people and invitations, and the tables of what was said and done."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import polars as pl

from merilo.atomic_write import guarded_csv
from merilo.errors import DataError, UsageError, argument
from merilo.site.annotator_steps import tasks_that_count_again
from merilo.site.answer_export import moment
from merilo.site.journal import COMPUTER, LISTENS, SECRET, Event, Journal, ServerClock
from merilo.site.people_access import new_invitation
from merilo.site.served_study import ServedStudy
from merilo.site.state import Invitation, Person, State
from merilo.wording import listed, shortened

#: The most characters of a reason.
LONGEST_REASON: Final = 1000

#: The kinds of events that tell what authors and the server did; the others are what people did.
DEEDS: Final = (
    "paused", "resumed", "invited", "revoked", "stopped", "excluded", "reinstated", "erased", "downloaded",
    "estimate_shown",
)  # fmt: skip


class Change(NamedTuple):
    """What excluding, reinstating or erasing a person did.

    Attributes:
        changed: whether something changed.
        answers: answers that count again after a reinstatement, or that were erased.
        places: items that are given to others; after a reinstatement, answers that do not count again because
            their items have been given to others.
    """

    changed: bool
    answers: int = 0
    places: int = 0


@dataclass(frozen=True, slots=True)
class AuthorActions:
    """What an author does with a study.

    Attributes:
        state: the study.
        now: the time, in milliseconds since 1970.
        actor: who acts: "author" on the page, or "command line".
    """

    state: State
    now: int
    actor: str

    def set_paused(self, *, paused: bool) -> None:
        """Pause the study or resume it."""
        if paused != self.state.paused:
            self.record("paused" if paused else "resumed")

    def invite(
        self, names: Sequence[str | None], *, codes: Sequence[str] | None = None, domains: Sequence[str] = ()
    ) -> list[tuple[str, str]]:
        """Make invitations to the study.

        Args:
            names: an expert's name for each invitation; `None` for a link without a name.
            codes: the codes; default: random ones. Invitations that the study has stay as they are.
            domains: the domains whose items the named people get; by default, all.

        Returns:
            The name (or an empty text) and the code of each invitation.

        Raises:
            UsageError: the group consists of experts and a name or the domains are missing, or there is no such domain.
        """
        invitations = []
        for at, name in enumerate(names):
            code = codes[at] if codes else None
            code, _ = new_invitation(self.state, name, self.now, code, domains=domains, actor=self.actor)
            invitations.append((name or "", code))
        return invitations

    def revoke(self, hashed: str) -> bool:
        """Revoke an invitation that nobody has used: its link opens nothing, and the name is forgotten.

        Returns:
            Whether there was such an invitation.
        """
        invitation = self.state.invitations.get(hashed)
        if invitation is None or invitation.person is not None:
            return False
        if invitation.name is not None:
            self.state.forget(name=invitation.name)
        self.record("revoked", hash=None if invitation.name is not None else hashed)
        return True

    def exclude(self, pseudonym: str, reason: str) -> Change | None:
        """Exclude a person: they get no more tasks, their answers do not count, and their items are given to others.

        Args:
            pseudonym: the person.
            reason: why; it is shown in the log.

        Returns:
            What was done; `None` if there is no such person.

        Raises:
            UsageError: the reason is missing or too long.
        """
        reason = " ".join(reason.replace("\0", "").split())
        if not 0 < len(reason) <= LONGEST_REASON:
            raise UsageError(f"an exclusion needs a reason of at most {LONGEST_REASON:,} characters")
        person = self._person(pseudonym)
        if person is None:
            return None
        if person.stage == "excluded":
            return Change(changed=False)
        places = sum(assignment.counts for assignment in person.tasks.values())
        self.record("excluded", person.id, reason=reason, places=places)
        return Change(changed=True, places=places)

    def reinstate(self, pseudonym: str) -> Change | None:
        """Reinstate an excluded person.

        They continue from the same task if its place is still free, otherwise from the next one, as after a begun
        dialogue; their answers count where the items are still free. A person whom the server had stopped before is
        stopped again.

        Args:
            pseudonym: the person.

        Returns:
            What was done; `None` if there is no such person.
        """
        person = self._person(pseudonym)
        if person is None:
            return None
        if person.stage != "excluded":
            return Change(changed=False)
        stopped = person.before == "stopped"
        again, over = ([], 0) if stopped else tasks_that_count_again(self.state, person)
        rules, free = self.state.rules, self.state.open
        before = [
            task
            for task, assignment in person.tasks.items()
            if not stopped and assignment.state == "returned"
            and (not rules.is_test(task) or (free[task] and not rules.dialogues))
        ]  # fmt: skip
        self.record("reinstated", person.id, tasks=[*again, *before], again=len(again), over=over)
        return Change(changed=True, answers=len(again), places=over)

    def erase(self, pseudonym: str) -> Change | None:
        """Erase a person: id or name, links, answers, comments, completion code, and what the log says about them.

        The places of their answers are given to others. The log says that somebody was erased.

        Args:
            pseudonym: the person.

        Returns:
            What was erased; `None` if there is no such person.
        """
        person = self._person(pseudonym)
        if person is None:
            return None
        places = sum(assignment.counts for assignment in person.tasks.values())
        answers = sum(assignment.state == "answered" for assignment in person.tasks.values())
        name = person.external if person.source == "expert" else None
        self.state.forget(person.id, name)
        self.record("erased", answers=answers)
        return Change(changed=True, answers=answers, places=places)

    def record(self, kind: str, person: str = "", **facts: Any) -> None:  # noqa: ANN401 - see `State.record`
        """Record what the author does."""
        self.state.record(self.now, kind, person, actor=self.actor, **facts)

    def _person(self, pseudonym: str) -> Person | None:
        return next((person for person in self.state.people.values() if person.pseudonym == pseudonym), None)


def find_people(state: State, wanted: str) -> list[str]:
    """Return the pseudonyms of people by a pseudonym, a platform's id or an expert's name."""
    return [
        person.pseudonym
        for person in state.people.values()
        if person.pseudonym == wanted or (person.external == wanted and person.source != "link")
    ]


def open_invitations(state: State) -> list[Invitation]:
    """Return the invitations that nobody has used and that were not revoked, the newest first."""
    waiting = [each for each in state.invitations.values() if each.person is None and not each.revoked]
    return sorted(waiting, key=lambda each: (-each.created, each.name or "", each.hash))


def comments_table(state: State) -> str:
    """Return all comments as CSV, in the order in which they were sent.

    The columns are `study`, `task`, `item` (its id in the dataset), `kind` (test, control or training),
    `respondent` (a pseudonym), `submitted`, `answer` and `comment`. Text that a spreadsheet would run as a
    formula is prefixed with an apostrophe.
    """
    study = state.study
    commented = sorted(
        (
            (assignment.answered or 0, person.pseudonym, assignment)
            for person in state.people.values()
            for assignment in person.tasks.values()
            if assignment.comment is not None
        ),
        key=lambda comment: (comment[0], comment[1], comment[2].task),
    )  # fmt: skip
    rows = []
    for at, pseudonym, assignment in commented:
        task = study.tasks[assignment.task]
        rows.append((
            study.key, task.id, str(task.item.id), task.kind, pseudonym, moment(at), assignment.answer,
            assignment.comment,
        ))  # fmt: skip
    columns = ("study", "task", "item", "kind", "respondent", "submitted", "answer", "comment")
    table = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")
    return guarded_csv(table)


def log_table(state: State, events: Iterable[Event]) -> str:
    """Return what authors and the server did as CSV, in the order of the events.

    The columns are `time`, `actor`, `what`, `person` (a pseudonym; empty if it concerns nobody), `reason` and `facts`
    (counts and names as JSON). Text that a spreadsheet would run as a formula is prefixed with an apostrophe.

    Args:
        state: the study.
        events: the events of the kinds `DEEDS`.
    """
    rows = []
    for event in events:
        facts = {**event.facts}
        actor, reason = facts.pop("actor", "server"), facts.pop("reason", "")
        shown = {name: value for name, value in facts.items() if name not in {"hash", "tasks"}}
        person = state.people.get(event.person)
        text = json.dumps(shown, ensure_ascii=False) if shown else ""
        rows.append((moment(event.at), actor, event.kind, person.pseudonym if person else "", reason, text))
    columns = ("time", "actor", "what", "person", "reason", "facts")
    return guarded_csv(pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row"))


#: The path at which a server takes orders, and the header with the author's secret.
ORDERS: Final = "/author/orders"
SECRET_HEADER: Final = "X-Merilo-Secret"  # noqa: S105 - a name

#: Seconds that a server may take.
_PATIENCE: Final = 60

#: What a command asks for: `do`, and its arguments.
Order = Mapping[str, Any]


def carry_out(states: Sequence[State], order: Order, now: int) -> list[Any]:
    """Do what a command asks for.

    Args:
        states: the studies, of which the order names one or finds the person in one.
        order: `do`: "invite" with `study` (its key), `names` and `domains`; or "exclude" (with `reason`), "reinstate"
            or "erase" with `studies` (their keys) and `person`.
        now: the time, in milliseconds since 1970.

    Returns:
        The name and the code of each invitation; or the parts of `Change`.

    Raises:
        UsageError: there is no such study or person, or several, or an argument is missing.
    """
    keys = order.get("studies", [order.get("study")])
    asked = [state for state in states if state.study.key in keys]
    if not asked:
        raise UsageError("the server does not serve this study: start it again with the study")
    if order["do"] == "invite":
        author = AuthorActions(asked[0], now, "command line")
        return [*map(list, author.invite(order["names"], domains=order["domains"]))]
    person = order["person"]
    people = [(state, name) for state in asked for name in find_people(state, person)]
    if len(people) > 1:
        raise UsageError(
            f"is the id of {len(people)} people: give one of the pseudonyms "
            f"{listed([name for _, name in people])}",
            field=argument("person"),
        )
    if not people:
        raise UsageError(f"there is no '{shortened(person)}' in this study", field=argument("person"))
    state, name = people[0]
    author = AuthorActions(state, now, "command line")
    deeds: Mapping[str, Callable[[], Change | None]] = {
        "exclude": lambda: author.exclude(name, order["reason"]),
        "reinstate": lambda: author.reinstate(name),
        "erase": lambda: author.erase(name),
    }
    return [*(deeds[order["do"]]() or Change(changed=False))]


def give_order(journal: Journal, studies: Sequence[ServedStudy], order: Order) -> list[Any]:
    """Do what a command asks for; if a server writes the log at the moment, let it do so.

    Raises:
        UsageError: as `carry_out`.
        DataError: the log holds another version of a study, or another process writes the log and takes no orders.
    """
    writes = journal.take()
    states = [State.of(study, journal) for study in studies]  # after it, for then nobody else changes them
    if not writes:
        return _by_server(journal.settings(), order, journal.name)
    now = ServerClock(journal.latest()).now()
    for state in states:
        state.begin(now)
    result = carry_out(states, order, now)
    journal.append([entry for state in states for entry in state.unwritten()])
    return result


def _by_server(settings: Mapping[str, str], order: Order, database: str) -> list[Any]:
    address, secret = settings.get(LISTENS), settings.get(SECRET, "")
    if address is None or settings.get(COMPUTER) != socket.gethostname():  # elsewhere it is another's address
        raise DataError(
            "another process writes to this database: end it, or give the command on its computer",
            file=database,
        )
    request = urllib.request.Request(  # noqa: S310 - the address is this server's own, of http
        f"{address}{ORDERS}",
        data=json.dumps(order).encode(),
        headers={SECRET_HEADER: secret, "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE) as response:  # noqa: S310 - as above
            result: list[Any] = json.load(response)
            return result
    except urllib.error.HTTPError as error:
        if error.code == 422:
            raise UsageError(json.load(error)["error"]) from None
        reason = f"it answered with status {error.code}"
    except (OSError, ValueError) as error:
        reason = str(error)
    raise DataError(
        f"is written by another process, which does not take orders at {address} ({reason}): use the author's page, or "
        "end it first",
        file=database,
    )
