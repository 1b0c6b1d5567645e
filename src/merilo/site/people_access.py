"""How people come in: personal links, codes of invitation, and ids that a platform hands over."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from merilo.errors import UsageError, argument
from merilo.site.annotator_steps import is_complete
from merilo.site.state import Person, State
from merilo.text import Language


class NewPeople:
    """Draws ids, pseudonyms and seeds that nobody can guess."""

    def id(self) -> str:
        """Return the id of a new person, which cookies carry."""
        return secrets.token_hex(10)

    def pseudonym(self, external: str) -> str:
        """Return a new person's pseudonym, at most 24 characters.

        Args:
            external: the person's id at the place that they come from.
        """
        return f"p{secrets.token_hex(5)}"

    def seed(self) -> int:
        """Return the seed of a new person's random order."""
        return secrets.randbits(62)


#: Prolific's name in the log.
PROLIFIC: Final = "prolific"

#: Parameters of an address that hand over a person's id -> the platform's name in the log.
PLATFORM_IDS: Final[Mapping[str, str]] = {
    "PROLIFIC_PID": PROLIFIC,
    "workerId": "mturk",
    "worker_id": "platform",
}

#: The longest id that a platform may hand over.
LONGEST_ID: Final = 200

#: What stands in an address whose platform has put no id there; so do braces and percent signs, as in `{{%ID%}}`.
_PLACEHOLDERS: Final = frozenset(
    {"id", "...", "null", "none", "undefined", *(name.lower() for name in PLATFORM_IDS)}
)

#: Mechanical Turk's assignment while somebody only looks at the task.
PREVIEW: Final = "ASSIGNMENT_ID_NOT_AVAILABLE"

#: Real people get random ids, pseudonyms and seeds.
DRAWN: Final = NewPeople()

#: Letters of codes that people type: none that look alike.
LETTERS: Final = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"


class Admission(NamedTuple):
    """Somebody who came in.

    Attributes:
        state: the study.
        person: the person.
        new: whether the person came in for the first time, with an id of a platform.
        link: the hash of the invitation that they opened; empty without one.
    """

    state: State
    person: Person
    new: bool = False
    link: str = ""


def new_invitation(
    state: State,
    name: str | None,
    now: int,
    code: str | None = None,
    *,
    domains: Sequence[str] = (),
    actor: str,
) -> tuple[str, bool]:
    """Make an invitation to a study.

    Args:
        state: the study.
        name: the expert whom it is for; experts do not get the items that they wrote.
        now: the time, in milliseconds since 1970.
        code: the code. Default: a random one. If the study has it, nothing changes.
        domains: the domains whose items they get; by default, all.
        actor: who makes it.

    Returns:
        The code of its link, of which the log keeps only the hash; and whether it is new.

    Raises:
        UsageError: the group consists of experts and the name or the domains are missing, or there is no such domain.
    """
    if (state.study.by_invitation or domains) and not name:
        raise UsageError(f"experts are invited by name: give {argument('expert', 'NAME')}")
    state.study.check_domains(domains)
    code = code or new_code(secrets.choice)
    if (hashed := _hash(code)) in state.invitations:
        return code, False
    state.record(now, "invited", actor=actor, hash=hashed, name=name, domains=[*domains] or None)
    return code, True


def new_code(choose: Callable[[str], str]) -> str:
    """Return a code of four groups of five letters that do not look alike.

    Args:
        choose: chooses one letter of a text at random.
    """
    return "-".join("".join(choose(LETTERS) for _ in range(5)) for _ in range(4))


def admit_invited(states: Sequence[State], code: str, language: Language, now: int) -> Admission | None:
    """Let somebody in who has a link or a code.

    The same link always leads to the same person, however often it is opened.

    Args:
        states: the studies of the server.
        code: the code, as it was typed.
        language: the language of the browser.
        now: the time, in milliseconds since 1970.

    Returns:
        The person; `None` if there is no such invitation or it was revoked.
    """
    hashed = _hash(code)
    state = next((each for each in states if hashed in each.invitations), None)
    if state is None or (invitation := state.invitations[hashed]).revoked:
        return None
    if invitation.person is not None:
        return Admission(state, state.people[invitation.person], link=hashed)
    source, external = ("link", hashed[:24]) if invitation.name is None else ("expert", invitation.name)
    person = _new_person(state, source, external, language, now, hashed=hashed)
    return Admission(state, person, link=hashed)


def admit_from_platform(
    state: State,
    source: str,
    external: str,
    language: Language,
    now: int,
    *,
    new: bool = True,
    newcomers: NewPeople = DRAWN,
) -> Admission | None:
    """Let somebody in whose id a platform handed over; the same id is the same person.

    Args:
        state: the study.
        source: the platform's name.
        external: the person's id there.
        language: the language of the browser.
        now: the time, in milliseconds since 1970.
        new: whether somebody may come in for the first time.
        newcomers: draws the id, the pseudonym and the seed of a new person.

    Returns:
        The person; `None` if they are new and may not come in.
    """
    if (person := state.person_from(source, external)) is not None:
        return Admission(state, person)
    if not new:
        return None
    return Admission(
        state, _new_person(state, source, external, language, now, newcomers=newcomers), new=True
    )


def platform_id(parameters: Mapping[str, str]) -> tuple[str, str] | None:
    """Read the id that a platform hands over in the address.

    Args:
        parameters: the parameters of the address.

    Returns:
        The platform's name and the id; `None` without an id that tells people apart, or if somebody only looks at a
        task of Mechanical Turk.

    Example:
        >>> platform_id({"PROLIFIC_PID": "5f3a"}), platform_id({"PROLIFIC_PID": "{{%PROLIFIC_PID%}}"})
        (('prolific', '5f3a'), None)
    """
    if parameters.get("assignmentId") == PREVIEW:
        return None
    for name, platform in PLATFORM_IDS.items():
        value = parameters.get(name, "").strip()
        if 0 < len(value) <= LONGEST_ID and value.isprintable() and not _is_placeholder(value):
            return platform, value
    return None


def _is_placeholder(value: str) -> bool:
    """Whether an id is one that everybody would have: not filled in, or not readable."""
    return value.lower() in _PLACEHOLDERS or not set(value).isdisjoint("{}%\N{REPLACEMENT CHARACTER}")


def completion_code() -> str:
    """Return a code that a person gives to the platform at the end."""
    return "".join(secrets.choice(LETTERS) for _ in range(10))


def _hash(code: str) -> str:
    bare = "".join(letter for letter in code.upper() if letter.isalnum())
    return sha256(bare.encode()).hexdigest()


def _new_person(
    state: State,
    source: str,
    external: str,
    language: Language,
    now: int,
    *,
    newcomers: NewPeople = DRAWN,
    hashed: str = "",
) -> Person:
    person, languages = newcomers.id(), state.study.languages
    state.record(
        now, "came", person, pseudonym=newcomers.pseudonym(external), source=source, external=external,
        language=language if language in languages else languages[0], seed=newcomers.seed(), hash=hashed or None,
    )  # fmt: skip
    return state.people[person]


#: Where a person's browser hands in a completion code.
RETURN_ADDRESS: Final = "https://app.prolific.com/submissions/complete?cc={code}"

#: A person's stage -> the code with which they go back; at other stages, the plan's number of answers decides.
_CODE_AT: Final[Mapping[str, str]] = {
    "declined": "no_consent",
    "refused": "screened_out",
    "stopped": "stopped",
    "excluded": "stopped",
}


class Completion(NamedTuple):
    """What a person gives to the platform at the end.

    Attributes:
        code: the code.
        address: the address that leads back to the platform with the code; `None` if the person types the code.
    """

    code: str
    address: str | None


def hand_out_completion(state: State, person: Person, now: int) -> Completion | None:
    """Return what a person gives to the platform at the end, and record it.

    Nothing without codes of the study if the person did not agree to take part: their own code is for work.
    """
    before = person.completion
    if person.source == PROLIFIC and (codes := state.study.arm.prolific) is not None:
        code: str = getattr(codes, _fate(state, person))
        if person.stage == "excluded" and before is not None:  # they may hand in later what they were given
            code = before
        if code != before:
            state.record(now, "code", person.id, code=code)
        return Completion(code, RETURN_ADDRESS.format(code=code))
    if person.stage == "declined" or (person.answers_tasks and not person.answers):
        return None
    if before is None:
        state.record(now, "code", person.id, code=completion_code())
    return Completion(str(person.completion), None)


def _fate(state: State, person: Person) -> str:
    """Return the name of the code with which a person goes back: a part is complete by answers alone."""
    return _CODE_AT.get(person.stage) or ("complete" if is_complete(state, person) else "stopped")
