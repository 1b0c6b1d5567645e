"""Exclude, reinstate and erase people on the annotation site without its pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from merilo.api.site import opened_studies, require_site
from merilo.errors import UsageError, argument
from merilo.wording import listed, shortened

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from merilo.site.author_actions import Erasure, Exclusion, Reinstatement
    from merilo.site.served_study import ServedStudy

__all__ = ["erase_from_site", "exclude_from_site", "reinstate_on_site"]

Done = TypeVar("Done")


def exclude_from_site(study: Path, person: str, *, reason: str, database: str | None = None) -> Exclusion:
    """Exclude a person: their answers are not counted, and their items are given to others.

    Args:
        study: the study's folder.
        person: the pseudonym, or the platform's id, or the expert's name.
        reason: why; it is written into the audit log.
        database: the database's address. Default: `site.db` in the study's folder.

    Raises:
        UsageError: there is no such person, or several, or no reason.
    """

    def act(connection: Connection, served: ServedStudy, pseudonym: str, now: int) -> Exclusion | None:
        from merilo.site.author_actions import exclude  # noqa: PLC0415 - an extra

        return exclude(connection, served, pseudonym, reason, now=now, actor="command line")

    return _with_person(study, person, database, act)


def reinstate_on_site(study: Path, person: str, *, database: str | None = None) -> Reinstatement:
    """Reinstate an excluded person: their answers count again where the items have not been given to others.

    Args:
        study: the study's folder.
        person: the pseudonym, or the platform's id, or the expert's name.
        database: the database's address. Default: `site.db` in the study's folder.

    Raises:
        UsageError: there is no such person, or several.
    """

    def act(connection: Connection, served: ServedStudy, pseudonym: str, now: int) -> Reinstatement | None:
        from merilo.site.author_actions import reinstate  # noqa: PLC0415 - an extra

        return reinstate(connection, served, pseudonym, now=now, actor="command line")

    return _with_person(study, person, database, act)


def erase_from_site(study: Path, person: str, *, database: str | None = None) -> Erasure:
    """Erase everything that the site knows about a person; their items are given to others.

    Args:
        study: the study's folder.
        person: the pseudonym, or the platform's id, or the expert's name.
        database: the database's address. Default: `site.db` in the study's folder.

    Raises:
        UsageError: there is no such person, or several.
    """

    def act(connection: Connection, served: ServedStudy, pseudonym: str, now: int) -> Erasure | None:
        from merilo.site.author_actions import erase  # noqa: PLC0415 - an extra

        return erase(connection, served, pseudonym, now=now, actor="command line")

    return _with_person(study, person, database, act)


def _with_person(
    study: Path,
    person: str,
    database: str | None,
    act: Callable[[Connection, ServedStudy, str, int], Done | None],
) -> Done:
    """Do something with a person of any group of a study, in one transaction."""
    require_site()
    from merilo.site.author_reads import find_people  # noqa: PLC0415 - an extra
    from merilo.site.database import drop_remnants, writing  # noqa: PLC0415
    from merilo.site.server_clock import site_clock  # noqa: PLC0415

    with opened_studies(study, database) as (engine, studies):
        with writing(engine) as connection:
            found = [
                (one, pseudonym) for one in studies for pseudonym in find_people(connection, one, person)
            ]
            if len(found) > 1:
                raise UsageError(
                    f"is the id of {len(found)} people: give one of the pseudonyms {listed([name for _, name in found])}",
                    field=argument("person"),
                )
            now = site_clock(connection).now()
            done = act(connection, *found[0], now) if found else None
            if done is None:
                raise UsageError(f"there is no '{shortened(person)}' in this study", field=argument("person"))
        drop_remnants(engine)
    return done
