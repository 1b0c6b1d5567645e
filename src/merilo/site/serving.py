"""Serve frozen studies, invite people to them, collect their answers, and back up the database.

What `merilo study` does with the site.
"""

from __future__ import annotations

import gc
import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar
from urllib.parse import urlsplit

import uvicorn
from sqlalchemy import Engine

from merilo.errors import UsageError, argument
from merilo.site.annotation_site import AnnotationSite
from merilo.site.answer_export import CollectedAnswers, collect_answers
from merilo.site.app import make_app
from merilo.site.author import HOME, author_secret
from merilo.site.author_actions import AuthorActions, Change, find_people
from merilo.site.bounded_http import BoundedHttp
from merilo.site.database import (
    DATABASE_VARIABLE,
    back_up,
    cookie_key,
    database_url,
    drop_remnants,
    hold_settings,
    keep_setting,
    last_address,
    open_database,
    site_clock,
    snapshot,
    writing,
)
from merilo.site.paid_people import paid_people
from merilo.site.people_counts import count_people, people_table
from merilo.site.served_study import ServedStudy, load_study, register
from merilo.studies.study_export import arm_of
from merilo.studies.study_folder import open_study
from merilo.wording import listed, shortened

Done = TypeVar("Done")


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
        DataError: a study was changed, or the database belongs to another version of it.
        InputError: a study is not frozen, or the database cannot be opened.
    """
    trusted, public_name = _proxies(proxy), _name_of(address)
    opened = opened_studies(study, database, *further, preview=preview)
    with opened as (engine, studies), _listening(host, port) as listener:
        with writing(engine) as connection:
            clock, key = site_clock(connection), cookie_key(connection)
            secret = None if preview else author_secret(connection)
        site = AnnotationSite(engine, studies, clock, key, author_secret=secret)
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # do not log malformed requests

        shown = f"[{host}]" if ":" in host else host
        own_address = f"http://{shown}:{listener.getsockname()[1]}"
        with writing(engine) as connection:
            hold_settings(connection)
            keep_setting(connection, "address", address or own_address)

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
            make_app(site),
            http=Http,
            ws="none",
            log_level="error",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=5,
            proxy_headers=bool(trusted),
            forwarded_allow_ips=trusted,
        )
        # What is there now stays as long as the server runs. Searching it for garbage would stop everybody for
        # 0.1 s after every thousand answers.
        gc.collect()
        gc.freeze()
        try:
            Server(settings).run(sockets=[listener])
        except KeyboardInterrupt:  # the server has ended its requests and its writer before
            return


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
    plan = open_study(study).plan
    with opened_arm(study, arm or ("experts" if experts and "experts" in plan.arms else None), database) as (
        engine,
        served,
    ):
        with writing(engine) as connection:
            actions = AuthorActions(connection, served, site_clock(connection).now(), "command line")
            names: list[str | None] = [*dict.fromkeys(experts)] or [None] * count
            made = actions.invite(names, domains=[*dict.fromkeys(domains)])
        return [(one, f"/i/{code}") for one, code in made]


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
    return _with_person(study, person, database, lambda actions, name: actions.exclude(name, reason))


def reinstate_on_site(study: Path, person: str, *, database: str | None = None) -> Change:
    """Reinstate an excluded person: their answers count again where the items have not been given to others.

    Args:
        study: the study's folder.
        person: the pseudonym, or the platform's id, or the expert's name.
        database: the database's address. Default: `site.db` in the study's folder.

    Raises:
        UsageError: there is no such person, or several.
    """
    return _with_person(study, person, database, AuthorActions.reinstate)


def erase_from_site(study: Path, person: str, *, database: str | None = None) -> Change:
    """Erase everything that the site knows about a person; their items are given to others.

    Args:
        study: the study's folder.
        person: the pseudonym, or the platform's id, or the expert's name.
        database: the database's address. Default: `site.db` in the study's folder.

    Raises:
        UsageError: there is no such person, or several.
    """
    return _with_person(study, person, database, AuthorActions.erase)


def served_address(study: Path, database: str | None = None) -> str | None:
    """Return the address at which the study's site was served last; `None` if it never was.

    Args:
        study: the study's folder.
        database: the database's address. Default: `site.db` in the study's folder.
    """
    with opened_studies(study, database) as (engine, _), snapshot(engine) as connection:
        return last_address(connection)


def collect_site(study: Path, *, arm: str | None = None, database: str | None = None) -> CollectedAnswers:
    """Collect the answers of a group as the table that `merilo study import` reads.

    The study may be served at the same time.

    Args:
        study: the study's folder.
        arm: the group of annotators. Default: `people`, or the only group.
        database: the database's address. Default: `site.db` in the study's folder.

    Raises:
        UsageError: the plan has no such group.
    """
    with opened_arm(study, arm, database) as (engine, served), snapshot(engine) as connection:
        return collect_answers(connection, served)


def collect_people(study: Path, *, arm: str | None = None, database: str | None = None) -> str:
    """Collect what each person of a platform did and is owed, as a table for the platform's upload form.

    Args:
        study: the study's folder.
        arm: the group of annotators. Default: `people`, or the only group.
        database: the database's address. Default: `site.db` in the study's folder.

    Raises:
        UsageError: the plan has no such group.
    """
    with opened_arm(study, arm, database) as (engine, served), snapshot(engine) as connection:
        return paid_people(connection, served)


def collect_counts(study: Path, *, arm: str | None = None, database: str | None = None) -> str:
    """Collect the counts of a group's people as the table that `merilo study import` reads.

    Args:
        study: the study's folder.
        arm: the group of annotators. Default: `people`, or the only group.
        database: the database's address. Default: `site.db` in the study's folder.

    Raises:
        UsageError: the plan has no such group.
    """
    with opened_arm(study, arm, database) as (engine, served), snapshot(engine) as connection:
        return people_table(served, count_people(connection, served, site_clock(connection).now()))


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
    back_up(database_url(open_study(study).path, database), out)


@contextmanager
def opened_studies(
    study: Path, database: str | None, *further: Path, preview: bool = False
) -> Iterator[tuple[Engine, list[ServedStudy]]]:
    """Open the database, with all groups of frozen studies registered in it; for a preview, not frozen ones too."""
    if further and not (database or os.environ.get(DATABASE_VARIABLE)):
        raise UsageError(
            f"several studies need one database: give {argument('database')}, because site.db in a "
            "study's folder is for that study alone"
        )
    folders = [open_study(one) for one in (study, *further)]
    loaded = [load_study(folder, arm, preview=preview) for folder in folders for arm in folder.plan.arms]
    _refuse_repeated(loaded)
    engine = open_database(database_url(folders[0].path, database))
    try:
        with writing(engine) as connection:
            now = site_clock(connection).now()
            studies = [register(connection, one, now) for one in loaded]
        yield engine, studies
    finally:
        engine.dispose()


@contextmanager
def opened_arm(study: Path, arm: str | None, database: str | None) -> Iterator[tuple[Engine, ServedStudy]]:
    """Open the database of a study, and one of its groups: `people` by default, or the only one."""
    name, _ = arm_of(open_study(study), arm)
    with opened_studies(study, database) as (engine, studies):
        yield engine, next(one for one in studies if one.arm_name == name)


def _with_person(
    study: Path, person: str, database: str | None, act: Callable[[AuthorActions, str], Done | None]
) -> Done:
    """Do something with a person of any group of a study, in one transaction."""
    with opened_studies(study, database) as (engine, studies):
        with writing(engine) as connection:
            found = [(one, name) for one in studies for name in find_people(connection, one, person)]
            if len(found) > 1:
                raise UsageError(
                    f"is the id of {len(found)} people: give one of the pseudonyms "
                    f"{listed([name for _, name in found])}",
                    field=argument("person"),
                )
            now = site_clock(connection).now()
            done = next(
                (act(AuthorActions(connection, one, now, "command line"), name) for one, name in found), None
            )
            if done is None:
                raise UsageError(f"there is no '{shortened(person)}' in this study", field=argument("person"))
        drop_remnants(engine)
    return done


def _refuse_repeated(loaded: list[ServedStudy]) -> None:
    folders: dict[str, Path] = {}
    for one in loaded:
        here, earlier = one.folder.path, folders.get(one.key)
        if earlier is not None:
            said = "is given twice" if here == earlier else f"holds the same study as {earlier}"
            raise UsageError(f"{here} {said}: give each study once")
        folders[one.key] = here


def _proxies(given: str) -> list[str]:
    names = [one.strip() for one in given.split(",") if one.strip()]
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
    try:
        parts = urlsplit(address)
        if parts.scheme in {"http", "https"} and parts.hostname:
            return parts.hostname
    except ValueError:
        pass
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
