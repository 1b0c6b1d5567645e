"""Answers that were given on a page without a server: a JSON list, whose seals tell whether it was changed.

Every answer has a seal that is made of its fields, of the seal before it and of a key that only the page of its place
has for its task. The keys stand in the page, so a seal shows a file that was edited, shortened in the middle or put
together, and a task of another place; it cannot stop somebody who writes a program for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from merilo.errors import DataError
from merilo.strict_json import read_json
from merilo.wording import shortened, shown

#: The fields of an answer that its seal is made of, in their order; all are texts.
SEALED: Final = ("study", "task", "answer", "mine", "respondent", "page", "started", "submitted")
SEAL: Final = "seal"

_OFFSET, _PRIME, _RANGE = 0xCBF29CE484222325, 0x100000001B3, 2**64


def page_key(secret: bytes, respondent: str, task: str) -> str:
    """Return the key of a task on the page of a respondent.

    Args:
        secret: the key of the study's ids.
        respondent: the place, or the expert whom the page is for.
        task: the task's id.
    """
    words = f"{respondent}\x1f{task}".encode()
    return blake2b(words, key=secret, digest_size=12, person=b"merilo page").hexdigest()


def seal(key: str, fields: Sequence[str], before: str) -> str:
    """Return the seal of an answer, as the page computes it: FNV-1a with 64 bits.

    Args:
        key: the key of its task.
        fields: the values of `SEALED`.
        before: the seal of the answer before it; empty for the first one.

    Example:
        >>> seal("", [], "")
        'af63d24c8601db8e'
    """
    value = _OFFSET
    for byte in "\x1f".join((key, *fields, before)).encode("utf-8", "surrogatepass"):
        value = (value ^ byte) * _PRIME % _RANGE
    return f"{value:016x}"


def page_copies(path: Path, secret: bytes) -> dict[str, str]:
    """Check the seals of a file of a page; a file of anything else is not looked at.

    Returns:
        Respondent -> the browser's copy of the page. Empty if the file is not of a page.

    Raises:
        InputError: the file is no JSON.
        DataError: an answer was changed, taken out or moved, or is of a task that the page does not have.
    """
    if path.suffix.lower() != ".json":
        return {}
    answers: Any = read_json(path)
    if not (isinstance(answers, list) and all(isinstance(answer, dict) for answer in answers)):
        return {}
    if not any(SEAL in answer for answer in answers):
        return {}
    copies: dict[str, str] = {}
    before = ""
    for row, answer in enumerate(answers, start=1):
        fields = [answer[name] for name in SEALED if isinstance(answer.get(name), str)]
        if len(fields) < len(SEALED):
            raise DataError("is no answer of a page", file=shown(path), row=row)
        expected = seal(page_key(secret, answer["respondent"], answer["task"]), fields, before)
        if answer.get(SEAL) != expected:
            raise DataError(
                f"the answer to task {shortened(answer['task'])}, or the one before it, was changed after the page "
                "wrote it, or is of another page: ask for the file again",
                file=shown(path),
                row=row,
                field=SEAL,
            )
        before = expected
        copies[answer["respondent"]] = answer["page"].rpartition("-")[0]
    return copies
