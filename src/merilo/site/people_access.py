"""How people come in: personal links, codes of invitation, and ids that a platform hands over."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from merilo.errors import UsageError, argument
from merilo.site.schema import FOREIGN, INVITATION, OWN, PERSON, RESPONSE, STUDY
from merilo.site.served_study import ServedStudy
from merilo.text import Language


class NewPeople:
    """Draws pseudonyms and seeds that nobody can guess."""

    def pseudonym(self, external: str) -> str:
        """Return a new person's pseudonym, at most 24 characters.

        Args:
            external: the person's id at the place that they come from.
        """
        return f"p{secrets.token_hex(5)}"

    def seed(self) -> int:
        """Return the seed of a new person's random order."""
        return secrets.randbits(62)


#: Prolific's name in the database.
PROLIFIC: Final = "prolific"

#: Parameters of an address that hand over a person's id -> the platform's name in the database.
PLATFORM_IDS: Final[Mapping[str, str]] = {
    "PROLIFIC_PID": PROLIFIC,
    "workerId": "mturk",
    "worker_id": "platform",
}

#: The longest id that a platform may hand over.
LONGEST_ID: Final = 200

#: Mechanical Turk's assignment while somebody only looks at the task.
PREVIEW: Final = "ASSIGNMENT_ID_NOT_AVAILABLE"

#: Real people get random pseudonyms and seeds.
_DRAWN: Final = NewPeople()

#: Letters of codes that people type: none that look alike.
LETTERS: Final = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Admission:
    """Somebody who came in.

    Attributes:
        study: the number of the study.
        person: the number of the person.
        new: whether the person came in for the first time, with an id of a platform.
    """

    study: int
    person: int
    new: bool = False


class Invitation(NamedTuple):
    """An invitation that was made.

    Attributes:
        code: the code of its link; the database keeps only its hash.
        person: the number of the expert whom it leads to, if they came in before.
        is_new: whether the code was not in the database.
    """

    code: str
    person: int | None
    is_new: bool


def new_invitation(
    connection: Connection,
    study: ServedStudy,
    name: str | None,
    now: int,
    code: str | None = None,
    *,
    domains: Sequence[str] = (),
) -> Invitation:
    """Make an invitation to a study.

    Args:
        connection: an open transaction that writes.
        study: the study.
        name: the expert whom it is for; experts do not get the items that they wrote.
        now: the time, in milliseconds since 1970.
        code: the code. Default: a random one. If it is in the database, nothing changes.
        domains: the domains whose items they get; by default, all.

    Raises:
        UsageError: the group consists of experts and the name or the domains are missing, or there is no such domain.
    """
    if (study.by_invitation or domains) and not name:
        raise UsageError(f"experts are invited by name: give {argument('expert', 'NAME')}")
    study.check_domains(domains)
    code = code or new_code(secrets.choice)
    known = select(INVITATION.c.person).where(INVITATION.c.hash == _hash(code))
    if (found := connection.execute(known).first()) is not None:
        return Invitation(code, found.person, is_new=False)
    if name is not None:
        used = select(INVITATION.c.hash).where(
            INVITATION.c.study == study.rules.study, INVITATION.c.name == name, ~INVITATION.c.revoked
        )
        # The earlier link of the same person is revoked: two links must not make two people of one.
        connection.execute(update(INVITATION).where(INVITATION.c.hash.in_(used)).values(revoked=True))
    person = _person_named(connection, study, name) if name is not None else None
    connection.execute(
        insert(INVITATION).values(
            hash=_hash(code), study=study.rules.study, name=name, person=person, created=now,
            domains=json.dumps([*domains], ensure_ascii=False) if domains else None,
        )
    )  # fmt: skip
    if name is not None and person is not None:
        _withhold(connection, study, person, name, domains)
    return Invitation(code, person, is_new=True)


def new_code(choose: Callable[[str], str]) -> str:
    """Return a code of four groups of five letters that do not look alike.

    Args:
        choose: chooses one letter of a text at random.
    """
    return "-".join("".join(choose(LETTERS) for _ in range(5)) for _ in range(4))


def admit_invited(
    connection: Connection,
    studies: Mapping[int, ServedStudy],
    code: str,
    language: Language,
    now: int,
    *,
    newcomers: NewPeople = _DRAWN,
) -> Admission | None:
    """Let somebody in who has a link or a code.

    The same link always leads to the same person, however often it is opened.

    Args:
        connection: an open transaction that writes.
        studies: the studies of the server by their numbers.
        code: the code, as it was typed.
        language: the language of the browser.
        now: the time, in milliseconds since 1970.
        newcomers: draws the pseudonym and the seed of a new person.

    Returns:
        The person; `None` if there is no such invitation or it was revoked.
    """
    hashed = _hash(code)
    query = select(INVITATION).where(INVITATION.c.hash == hashed).with_for_update()
    found = connection.execute(query).first()
    if found is None or found.revoked or found.study not in studies:
        return None
    if found.person is not None:
        return Admission(found.study, found.person)
    study = studies[found.study]
    source = "expert" if found.name is not None else "link"
    person = _new_person(
        connection, study, source, found.name or hashed[:24], language, newcomers=newcomers, now=now
    )
    connection.execute(update(INVITATION).where(INVITATION.c.hash == hashed).values(person=person))
    if found.name is not None:
        _withhold(connection, study, person, found.name, domains_of(found.domains))
    return Admission(found.study, person)


def admit_from_platform(
    connection: Connection,
    study: ServedStudy,
    source: str,
    external: str,
    language: Language,
    *,
    now: int,
    new: bool = True,
    newcomers: NewPeople = _DRAWN,
) -> Admission | None:
    """Let somebody in whose id a platform handed over; the same id is the same person.

    Args:
        connection: an open transaction that writes.
        study: the study.
        source: the platform's name.
        external: the person's id there.
        language: the language of the browser.
        now: the time, in milliseconds since 1970.
        new: whether somebody may come in for the first time.
        newcomers: draws the pseudonym and the seed of a new person.

    Returns:
        The person; `None` if they are new and may not come in.
    """
    if connection.dialect.name == "postgresql":
        # Another server process may admit the same person at the same time.
        connection.execute(select(STUDY.c.id).where(STUDY.c.id == study.rules.study).with_for_update())
    query = select(PERSON.c.id).where(
        PERSON.c.study == study.rules.study, PERSON.c.source == source, PERSON.c.external == external
    )
    found = connection.scalar(query)
    if found is None and not new:
        return None
    person = found or _new_person(connection, study, source, external, language, newcomers=newcomers, now=now)
    return Admission(study.rules.study, person, new=found is None)


def platform_id(parameters: Mapping[str, str]) -> tuple[str, str] | None:
    """Read the id that a platform hands over in the address.

    Args:
        parameters: the parameters of the address.

    Returns:
        The platform's name and the id; `None` without an id, or if somebody only looks at a task of Mechanical Turk.

    Example:
        >>> platform_id({"PROLIFIC_PID": "5f3a"}), platform_id({"page": "2"})
        (('prolific', '5f3a'), None)
    """
    if parameters.get("assignmentId") == PREVIEW:
        return None
    for name, platform in PLATFORM_IDS.items():
        if value := parameters.get(name, "").replace("\0", "").strip():
            return platform, value[:LONGEST_ID]
    return None


def completion_code() -> str:
    """Return a code that a person gives to the platform at the end."""
    return "".join(secrets.choice(LETTERS) for _ in range(10))


def _hash(code: str) -> str:
    bare = "".join(letter for letter in code.upper() if letter.isalnum())
    return sha256(bare.encode()).hexdigest()


def _person_named(connection: Connection, study: ServedStudy, name: str) -> int | None:
    query = select(PERSON.c.id).where(
        PERSON.c.study == study.rules.study, PERSON.c.source == "expert", PERSON.c.external == name
    )
    return connection.scalar(query)


def _new_person(
    connection: Connection,
    study: ServedStudy,
    source: str,
    external: str,
    language: Language,
    *,
    newcomers: NewPeople,
    now: int,
) -> int:
    key = connection.execute(
        insert(PERSON).values(
            study=study.rules.study,
            pseudonym=newcomers.pseudonym(external),
            source=source,
            external=external,
            stage="consent",
            language=language if language in study.languages else study.languages[0],
            seed=newcomers.seed(),
            created=now,
        )
    ).inserted_primary_key
    assert key is not None  # noqa: S101 - SQLAlchemy's type allows it for statements with several rows
    return int(key[0])


def domains_of(text: str | None) -> tuple[str, ...]:
    """Read the column `domains` of an invitation; empty for all domains."""
    return tuple(json.loads(text)) if text else ()


def _withhold(
    connection: Connection, study: ServedStudy, person: int, name: str, domains: Sequence[str]
) -> None:
    """Mark the items that a person never gets: the allocation passes over tasks that a person has a row for.

    What they were given before stays.
    """
    mine = (RESPONSE.c.study == study.rules.study, RESPONSE.c.person == person)
    connection.execute(delete(RESPONSE).where(*mine, RESPONSE.c.state.in_([OWN, FOREIGN])))
    had = set(connection.scalars(select(RESPONSE.c.task).where(*mine)))
    rows = [
        {
            "study": study.rules.study,
            "person": person,
            "task": task,
            "place": -task - 1,
            "state": state,
            "counts": False,
        }
        for task, state in study.withheld(name, domains).items()
        if task not in had
    ]
    if rows:
        connection.execute(insert(RESPONSE), rows)
