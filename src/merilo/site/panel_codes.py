"""How people go back to Prolific: the study's completion codes, one for each way in which a part ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from merilo.site.annotator_steps import has_answered, is_complete
from merilo.site.people_access import PROLIFIC, completion_code
from merilo.site.state import Person, State

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
    if person.stage == "declined" or (person.answers_tasks and not has_answered(state, person)):
        return None
    if before is None:
        state.record(now, "code", person.id, code=completion_code())
    return Completion(str(person.completion), None)


def _fate(state: State, person: Person) -> str:
    """Return the name of the code with which a person goes back: a part is complete by answers alone."""
    return _CODE_AT.get(person.stage) or ("complete" if is_complete(state, person) else "stopped")
