"""What commands ask of a site: done here, or by the server that writes the log at the moment."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from merilo.errors import DataError, InputError, UsageError, argument
from merilo.site.author_actions import AuthorActions, Change, find_people
from merilo.site.journal import Event, Journal, LogEntry, facts_text
from merilo.site.served_study import ServedStudy
from merilo.site.server_clock import ServerClock
from merilo.site.state import State
from merilo.wording import listed, shortened

#: The path at which a server takes orders, and the header with the author's secret.
ORDERS: Final = "/author/orders"
SECRET_HEADER: Final = "X-Merilo-Secret"  # noqa: S105 - a name

#: Seconds that a server may take.
_PATIENCE: Final = 60

#: The settings with the author's secret, and with the address at which the server of this computer listens.
SECRET, LISTENS = "author secret", "listens"

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
        DataError: the log holds another version of a study.
        InputError: another process writes the log and takes no orders.
    """
    writes = journal.take()
    states = read_states(journal, studies)  # after it, for then nobody else changes them
    if not writes:
        return _by_server(journal.settings(), order, journal.name)
    now = ServerClock(journal.latest()).now()
    register(states, now)
    result = carry_out(states, order, now)
    journal.append([entry for state in states for entry in state.unwritten()])
    return result


def read_states(journal: Journal, studies: Sequence[ServedStudy]) -> list[State]:
    """Read the states of studies from the log.

    Raises:
        DataError: the log holds another version of a study.
    """
    states = [State.of(study, journal) for study in studies]
    for state in states:
        check_version(state)
    return states


def register(states: Sequence[State], now: int) -> None:
    """Record the beginning of new studies.

    Raises:
        DataError: the log holds another version of a study.
    """
    for state in states:
        check_version(state)
        if not state.content:
            study = state.study
            state.record(now, "began", content=study.content, title=study.title, arm=study.arm_name)


def check_version(state: State) -> None:
    """Refuse a study whose items or rules are not those of its log.

    Raises:
        DataError: they differ.
    """
    if state.content and state.content != state.study.content:
        raise DataError(
            "the database holds this study with other items, overlap, time limit or controls: "
            "use another database, or restore the study",
            file=state.study.folder.path,
        )


def keep_settings(journal: Journal, values: Mapping[str, str], now: int) -> None:
    """Write settings of the server that have changed."""
    stored = journal.settings()
    events = [
        Event(now, "setting", data=facts_text({"name": name, "value": value}))
        for name, value in values.items()
        if stored.get(name) != value
    ]
    if events:
        journal.append([LogEntry("", events)])


def _by_server(settings: Mapping[str, str], order: Order, database: str) -> list[Any]:
    address, secret = settings.get(LISTENS), settings.get(SECRET, "")
    if address is None:
        raise InputError("another process writes to this database: end it first", file=database)
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
    raise InputError(
        f"is written by another process, which does not take orders at {address} ({reason}): use the author's page, or "
        "end it first",
        file=database,
    )
