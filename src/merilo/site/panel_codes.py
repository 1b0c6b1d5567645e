"""How people go back to Prolific: the study's completion codes, one for each way in which a part ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from sqlalchemy import Connection, select, update

from merilo.site.people_access import PROLIFIC, completion_code
from merilo.site.schema import PERSON
from merilo.site.served_study import ServedStudy

#: Where a person's browser hands in a completion code.
RETURN_ADDRESS: Final = "https://app.prolific.com/submissions/complete?cc={code}"

#: A person's stage -> the code with which they go back; at other stages, that of a complete part.
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


def hand_out_completion(
    connection: Connection, study: ServedStudy, person: int, source: str
) -> Completion | None:
    """Return what a person gives to the platform at the end, and record it.

    Nothing without codes of the study if the person did not agree to take part: their own code is for work.

    Args:
        connection: an open transaction that writes.
        study: the study.
        person: the person's number.
        source: how they came in.
    """
    here = PERSON.c.id == person
    # Not as the request found it: the last task may have stopped the person.
    stage, before = connection.execute(select(PERSON.c.stage, PERSON.c.completion).where(here)).one()
    if source == PROLIFIC and (codes := study.arm.prolific) is not None:
        code: str = getattr(codes, _CODE_AT.get(stage, "complete"))
        if stage == "excluded" and before is not None:  # they may hand in later what they were given
            code = before
        connection.execute(update(PERSON).where(here).values(completion=code))
        return Completion(code, RETURN_ADDRESS.format(code=code))
    if stage == "declined":
        return None
    own = update(PERSON).where(here, PERSON.c.completion.is_(None)).values(completion=completion_code())
    connection.execute(own)
    return Completion(str(connection.scalar(select(PERSON.c.completion).where(here))), None)
