"""Serve frozen studies, invite people to them, collect their answers, and back up the database.

What `merilo study` does with the site.
"""

from __future__ import annotations

import gc
import logging
import os
import secrets
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_network
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlsplit

import uvicorn

from merilo.errors import DataError, InputError, UsageError, argument
from merilo.site.annotation_site import AnnotationSite
from merilo.site.app import make_app
from merilo.site.author import HOME, author_secret
from merilo.site.author_actions import Change, give_order
from merilo.site.bounded_http import BoundedHttp
from merilo.site.journal import (
    COMPUTER,
    DATABASE_VARIABLE,
    LISTENS,
    SECRET,
    Journal,
    ServerClock,
    back_up,
    database_file,
    database_url,
)  # fmt: skip
from merilo.site.served_study import ServedStudy, load_study
from merilo.site.state import State
from merilo.studies.study_folder import open_study

#: The settings with the key of the cookies, and with the address at which the site was served last.
_COOKIE_KEY, _ADDRESS = "cookie key", "address"


#: Seconds after which a thread lets another one go on. A commit waits for the interpreter several times, and at the
#: default of 0.005 s each time as long as ten requests take: people would get a third of the answers a second saved.
_SWITCH: Final = 0.0005

#: How the server runs.
SERVER: Final[dict[str, Any]] = {
    "ws": "none",
    "log_config": None,  # its own handlers would keep the present stream, and close the handlers of everybody else
    "log_level": "error",
    "access_log": False,
    "server_header": False,
    "timeout_graceful_shutdown": 5,
}


def serve_study(
    study: Path,
    *further: Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    proxy: str = "",
    address: str | None = None,
    database: str | None = None,
    preview: bool = False,
    started: Callable[[str, list[ServedStudy], str], None] = lambda _address, _studies, _author: None,
) -> None:
    """Serve all groups of annotators of frozen studies until the process is interrupted.

    Args:
        study: the study's folder.
        further: the folders of further studies, which are served beside it.
        host: the address to listen on.
        port: the port; 0 takes a free one.
        proxy: the addresses or networks of reverse proxies, separated by commas: they tell where a request
            comes from, and whether by HTTPS. Default: there is none.
        address: the public address of the site. Requests that name another host are refused, except by an address
            of IP, `localhost` and the computer's name.
        database: the database's address. Default: `site.db` in the folder of the only study.
        preview: whether the author looks at the study and nothing is kept; then it need not be frozen.
        started: called with the site's address, the groups and the secret path of the author's page when the
            server accepts connections and an interrupt stops it.

    Raises:
        UsageError: the port is in use, the address is not one of this computer, the public address is none, a proxy is
            neither an address nor a network, a study is given twice, there are several studies and no database, or
            the environment gives a secret of the author's link that could be guessed.
        DataError: a study is not frozen or was changed, the database belongs to another version of it, or another
            process writes to it.
        InputError: the database cannot be opened.
    """
    trusted, public_name = _proxies(proxy), _name_of(address)
    opened = opened_studies(study, database, *further, preview=preview)
    with opened as (journal, studies), _listening(host, port) as listener:
        site = opened_site(journal, studies, preview=preview)
        secret = site.author_secret
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # do not log malformed requests

        shown = f"[{host}]" if ":" in host else host
        listening = listener.getsockname()[1]
        own_address = f"http://{shown}:{listening}"
        everywhere = host in {"0.0.0.0", "::"}  # noqa: S104 - of all networks
        local = f"http://127.0.0.1:{listening}" if everywhere else own_address
        where = {_ADDRESS: address or own_address, LISTENS: local, COMPUTER: socket.gethostname()}
        journal.keep(where, site.clock.now())

        class Http(BoundedHttp):
            """A connection to this site."""

            names = frozenset({public_name, host.lower(), socket.gethostname().lower()}) - {""}
            proxies = tuple(map(ip_network, trusted))

        class Server(uvicorn.Server):
            """A server that says when it runs.

            An interrupt can be lost before its signal handlers are installed. If it arrives while a module is
            being imported, Python may raise KeyboardInterrupt in the callback of a weak reference, and
            ignores it there.
            """

            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                if not self.should_exit:
                    started(own_address, studies, f"{HOME}{secret}" if secret else "")

        settings = uvicorn.Config(
            make_app(site), http=Http, proxy_headers=bool(trusted), forwarded_allow_ips=trusted, **SERVER
        )
        # What is there now stays as long as the server runs. Searching it for garbage would stop everybody for
        # 0.1 s after every thousand answers.
        gc.collect()
        gc.freeze()
        sys.setswitchinterval(_SWITCH)
        with suppress(KeyboardInterrupt):  # the server has ended its requests and its writer before
            Server(settings).run(sockets=[listener])


def opened_site(journal: Journal, studies: list[ServedStudy], *, preview: bool = False) -> AnnotationSite:
    """Return the site of studies in this process, which becomes the one that writes the log.

    Raises:
        DataError: another process writes to the log, or it holds another version of a study.
    """
    if not journal.take():
        where = journal.settings().get(LISTENS)
        raise DataError(
            f"another process writes to this database{f' (a server at {where})' if where else ''}: end it first",
            file=journal.name,
        )
    clock, stored = ServerClock(journal.latest()), journal.settings()
    settings = {_COOKIE_KEY: stored.get(_COOKIE_KEY) or secrets.token_urlsafe(32)}
    if not preview:
        settings[SECRET] = author_secret(stored.get(SECRET))
    journal.keep(settings, clock.now())
    site = AnnotationSite(journal, studies, clock, settings[_COOKIE_KEY], author_secret=settings.get(SECRET))
    for state in site.states.values():
        state.begin(clock.now())
        journal.append(state.unwritten())
    return site


def preview_study(
    study: Path,
    *,
    port: int = 0,
    started: Callable[[str, list[ServedStudy], str], None] = lambda _address, _studies, _author: None,
) -> None:
    """Let the author take part in a study, frozen or not, on a site whose database is deleted at the end.

    Args:
        study: the study's folder.
        port: the port; 0 takes a free one.
        started: called with the site's address, the groups and an empty text: a preview has no author's page.

    Raises:
        UsageError: the port is in use.
        InputError: a file of the study cannot be read.
        DataError: the study has no items, or one that cannot be rendered.
    """
    with TemporaryDirectory(prefix="merilo-preview-") as folder:
        database = f"sqlite:///{folder}/preview.db"
        serve_study(study, port=port, database=database, preview=True, started=started)


def invite_to_site(
    study: Path,
    *,
    arm: str | None = None,
    experts: tuple[str, ...] = (),
    domains: tuple[str, ...] = (),
    count: int = 1,
    database: str | None = None,
) -> list[tuple[str, str]]:
    """Make invitations to a study; it may be served at the same time.

    Args:
        study: the study's folder.
        arm: the group of annotators. Default: `experts` if there are names and the plan has that group,
            otherwise as for exports.
        experts: the experts' names; each gets an own invitation, and an earlier one for the same name is revoked.
        domains: the domains whose items these experts get. Default: all; a plan with domains needs them.
        count: how many invitations without names to make, if there are no experts.
        database: the database's address. Default: `site.db` in the study's folder.

    Returns:
        The name (or an empty text) and the path of each link.

    Raises:
        UsageError: the group consists of experts and there are no names or no domains, or the plan has no
            such group or domain.
    """
    folder = open_study(study)
    name, _ = folder.arm(arm or ("experts" if experts and "experts" in folder.plan.arms else None))
    with opened_studies(study, database) as (journal, studies):
        served = next(group for group in studies if group.arm_name == name)
        order = {
            "do": "invite", "study": served.key, "names": [*dict.fromkeys(experts)] if experts else [None] * count,
            "domains": [*dict.fromkeys(domains)],
        }  # fmt: skip
        invitations = give_order(journal, studies, order)
    return [(name, f"/i/{code}") for name, code in invitations]


def exclude_from_site(study: Path, person: str, *, reason: str, database: str | None = None) -> Change:
    """Exclude a person: their answers are not counted, and their items are given to others.

    Args:
        study: the study's folder.
        person: the pseudonym, or the platform's id, or the expert's name.
        reason: why; it is written into the audit log.
        database: the database's address. Default: `site.db` in the study's folder.

    Raises:
        UsageError: there is no such person, or several, or no reason.
    """
    return _with_person(study, database, {"do": "exclude", "person": person, "reason": reason})


def reinstate_on_site(study: Path, person: str, *, database: str | None = None) -> Change:
    """Reinstate an excluded person: their answers count again where the items have not been given to others.

    Args:
        study: the study's folder.
        person: the pseudonym, or the platform's id, or the expert's name.
        database: the database's address. Default: `site.db` in the study's folder.

    Raises:
        UsageError: there is no such person, or several.
    """
    return _with_person(study, database, {"do": "reinstate", "person": person})


def erase_from_site(study: Path, person: str, *, database: str | None = None) -> Change:
    """Erase everything that the site knows about a person; their items are given to others.

    Args:
        study: the study's folder.
        person: the pseudonym, or the platform's id, or the expert's name.
        database: the database's address. Default: `site.db` in the study's folder.

    Raises:
        UsageError: there is no such person, or several.
    """
    return _with_person(study, database, {"do": "erase", "person": person})


def served_address(study: Path, database: str | None = None) -> str | None:
    """Return the address at which the study's site was served last; `None` if it never was.

    Args:
        study: the study's folder.
        database: the database's address. Default: `site.db` in the study's folder.
    """
    with opened_studies(study, database) as (journal, _):
        return journal.settings().get(_ADDRESS)


def read_site(study: Path, *, arm: str | None = None, database: str | None = None) -> State:
    """Read what happened in a group of a study; it may be served at the same time.

    Args:
        study: the study's folder.
        arm: the group of annotators. Default: `people`, or the only group.
        database: the database's address. Default: `site.db` in the study's folder.

    Raises:
        UsageError: the plan has no such group.
        DataError: the database holds another version of the study.
    """
    name, _ = open_study(study).arm(arm)
    with opened_studies(study, database, new=False) as (journal, studies):
        return State.of(next(group for group in studies if group.arm_name == name), journal)


def back_up_site(study: Path, out: Path, *, database: str | None = None) -> None:
    """Copy the site's SQLite database while it is in use.

    Args:
        study: the study's folder.
        out: the file of the copy.
        database: the database's address. Default: `site.db` in the study's folder.

    Raises:
        UsageError: the database is PostgreSQL.
        InputError: there is no such database.
        OutputError: the copy cannot be written.
    """
    back_up(database_file(open_study(study).path, database), out)


@contextmanager
def opened_studies(
    study: Path, database: str | None, *further: Path, preview: bool = False, new: bool = True
) -> Iterator[tuple[Journal, list[ServedStudy]]]:
    """Open the log of frozen studies, a new one too, and load all their groups; for a preview, not frozen ones too."""
    if further and not (database or os.environ.get(DATABASE_VARIABLE)):
        raise UsageError(
            f"several studies need one database: give {argument('database')}, because site.db in a "
            "study's folder is for that study alone"
        )
    folders = [open_study(path) for path in (study, *further)]
    loaded = [load_study(folder, arm, preview=preview) for folder in folders for arm in folder.plan.arms]
    _refuse_repeated(loaded)
    file = database_file(folders[0].path, database)
    if not (new or file is None or file.is_file()):
        raise InputError(f"there is no such database; give the site's {argument('database')}", file=file)
    journal = Journal(database_url(folders[0].path, database))
    try:
        yield journal, loaded
    finally:
        journal.close()


def _with_person(study: Path, database: str | None, order: dict[str, str]) -> Change:
    """Do something with a person of any group of a study."""
    with opened_studies(study, database, new=False) as (journal, studies):
        keys = [group.key for group in studies]
        return Change(*give_order(journal, studies, {**order, "studies": keys}))


def _refuse_repeated(loaded: list[ServedStudy]) -> None:
    folders: dict[str, Path] = {}
    for group in loaded:
        here, earlier = group.folder.path, folders.get(group.key)
        if earlier is not None:
            said = "is given twice" if here == earlier else f"holds the same study as {earlier}"
            raise UsageError(f"{here} {said}: give each study once")
        folders[group.key] = here


def _proxies(proxies: str) -> list[str]:
    names = [stripped for part in proxies.split(",") if (stripped := part.strip())]
    for name in names:
        try:
            ip_network(name)
        except ValueError as error:
            raise UsageError(
                f"takes addresses or networks such as 10.0.0.2 or 172.16.0.0/12, separated by commas: {error}",
                field=argument("proxy"),
            ) from None
    return names


def _name_of(address: str | None) -> str:
    """The host in the public address; an empty text without one."""
    if address is None:
        return ""
    with suppress(ValueError):
        parts = urlsplit(address)
        if parts.scheme in {"http", "https"} and parts.hostname:
            return parts.hostname
    raise UsageError("takes an address such as https://study.example.org", field=argument("address"))


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen(1024)  # people who come before the server is ready wait
        except (OSError, OverflowError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a port"
            raise UsageError(
                f"the site cannot listen on {host}:{port} ({reason}); give another "
                f"{argument('port')} or {argument('host')}"
            ) from None
        yield listener
    finally:
        listener.close()
