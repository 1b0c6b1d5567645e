"""What every page of the site needs from a request: its form within a size limit, its language, its cookies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

from fastapi import Request

from merilo.bilingual import Language
from merilo.site.visitor_cookies import VisitorCookies

#: The most bytes of a form.
LARGEST_FORM: Final = 1_000_000
#: The most bytes that are read of a form that is too large, so that the browser can show the answer to it.
_LARGEST_READ: Final = 16_000_000
_MOST_FIELDS: Final = 200


@dataclass(eq=False)
class RefusedRequestError(Exception):
    """A request that is answered with a sentence.

    Attributes:
        status: the status of HTTP.
        word: the name of the sentence in `site_words`.
        seconds: when the browser may try again, if it is known; a part of the sentence.
    """

    status: int
    word: str
    seconds: int | None = None


async def form_of(request: Request, cookies: VisitorCookies) -> Mapping[str, Sequence[str]]:
    """Read the form of a request that changes something.

    Args:
        request: the request.
        cookies: the site's cookies; the form must carry the token of the browser that sends it.

    Returns:
        Name of a field -> its values.

    Raises:
        RefusedRequestError: the form is too large, or it was not made by this site for this browser.
    """
    body, size = bytearray(), 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > _LARGEST_READ:
            break
        if size <= LARGEST_FORM:
            body += chunk
    if size > LARGEST_FORM:
        raise RefusedRequestError(413, "too_big")
    try:
        form = parse_qs(
            body.decode("utf-8", "replace"),
            keep_blank_values=True,
            max_num_fields=_MOST_FIELDS,
            errors="replace",
        )
    except ValueError:
        raise RefusedRequestError(400, "old_form") from None
    visit = request.cookies.get(VisitorCookies.VISIT, "")
    if not cookies.is_form_token(visit, field(form, "token")):
        raise RefusedRequestError(403, "old_form")
    return form


def field(form: Mapping[str, Sequence[str]], name: str) -> str:
    """Return the first value of a field of a form; an empty text if it is missing."""
    return next(iter(form.get(name, ())), "")


def browser_language(request: Request, offered: Sequence[Language] = ("ru", "en")) -> Language:
    """Return the first language of the browser that is offered; otherwise the first offered one."""
    for part in request.headers.get("accept-language", "").split(","):
        code = part.split(";")[0].strip().lower()[:2]
        for language in offered:
            if code == language:
                return language
    return offered[0]


def wants_json(request: Request) -> bool:
    """Return whether the request comes from the site's script, which reads JSON."""
    return "application/json" in request.headers.get("accept", "")
