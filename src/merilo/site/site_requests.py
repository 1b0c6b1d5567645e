"""What every page of the site needs from a request.

Its form within a size limit, its language, and its signed cookies.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import parse_qs, urlsplit

from itsdangerous import BadSignature, Signer, TimestampSigner
from starlette.requests import Request
from starlette.responses import Response

from merilo.text import Language

#: A sent form: name of a field -> its values.
Form: TypeAlias = Mapping[str, Sequence[str]]

#: Seconds that a browser stays signed in.
LIFETIME: Final = 60 * 60 * 24 * 60

#: Cookies whose signatures are remembered, and the longest cookie of the site.
_REMEMBERED: Final = 4096
_LONGEST: Final = 250


def cookie_of(request: Request, name: str) -> str:
    """Return the value of a cookie; an empty text without it."""
    return request.cookies.get(_full_name(request, name), "")


def set_cookie(
    request: Request,
    response: Response,
    name: str,
    value: str,
    *,
    seconds: int = LIFETIME,
    samesite: Literal["lax", "strict"] = "lax",
) -> None:
    """Add a cookie that scripts cannot read and other sites do not send; no seconds delete it."""
    response.set_cookie(
        _full_name(request, name), value, max_age=seconds, path="/", secure=request.scope["scheme"] == "https",
        httponly=True, samesite=samesite,
    )  # fmt: skip


def _full_name(request: Request, name: str) -> str:
    """Over HTTPS, browsers take a cookie with this prefix from this very host alone, and not from a sibling of it."""
    return f"__Host-{name}" if request.scope["scheme"] == "https" else name


class VisitorCookies:
    """Signs and reads the site's cookies.

    `VISIT` names the browser, and every form carries a token made of it; `PERSON` and the key of a study names the
    person there.

    Args:
        key: the key of the signatures.
    """

    VISIT: Final = "merilo_visit"
    PERSON: Final = "merilo_person"

    def __init__(self, key: str) -> None:
        self._visit = Signer(**_derived(key, "visit"))
        self._person = TimestampSigner(**_derived(key, "person"))
        self._secret = Signer(**_derived(key, "secret"))
        self._form = Signer(**_derived(key, "form"))
        self._signed_person = lru_cache(_REMEMBERED)(
            self._person_in
        )  # a browser sends the same cookies each time
        self._token_of = lru_cache(_REMEMBERED)(lambda visit: self._form.get_signature(visit).decode())
        self._valid_visit = lru_cache(_REMEMBERED)(self._visit.validate)

    def new_visit(self) -> str:
        """Return the cookie of a browser that comes for the first time."""
        return self._visit.sign(secrets.token_urlsafe(16)).decode()

    def is_visit(self, cookie: str) -> bool:
        """Return whether a cookie of a browser was made by this site."""
        return len(cookie) <= _LONGEST and self._valid_visit(cookie)

    def form_token(self, visit: str) -> str:
        """Return the token of the forms that are sent to a browser."""
        return self._token_of(visit)

    def is_form_token(self, visit: str, token: str) -> bool:
        """Return whether a form was made for the browser that sends it; tokens are made for its own cookies alone."""
        return len(visit) <= _LONGEST and hmac.compare_digest(self.form_token(visit).encode(), token.encode())

    def person(self, person: str, link: str = "") -> str:
        """Return the cookie of a person, given by their random id and by the invitation that they opened."""
        return self._person.sign(f"{person}-{link}").decode()

    def person_of(self, cookie: str) -> tuple[str, str]:
        """Return the id of the person whom a cookie names, and the invitation that they opened; empty texts without.

        A cookie older than `LIFETIME` names nobody. It may come from the future: a clock was set right.
        """
        person, link, signed = self._signed_person(cookie) if 0 < len(cookie) <= _LONGEST else ("", "", 0.0)
        return ("", "") if time.time() - signed > LIFETIME else (person, link)

    def _person_in(self, cookie: str) -> tuple[str, str, float]:
        """Return the person, the invitation and the time in a cookie; empty texts if this site has not signed it."""
        try:
            text, signed = self._person.unsign(cookie, return_timestamp=True)
        except BadSignature:
            return "", "", 0.0
        person, _, link = text.decode().partition("-")
        return person, link, signed.timestamp()

    def secret_of(self, text: str) -> bytes:
        """Return a secret that follows from a text and the key of this site."""
        return self._secret.get_signature(text)


def _derived(key: str, salt: str) -> dict[str, Any]:
    """Return the settings of a signer whose key is derived once, and not again for every signature."""
    derived = Signer(key, salt=salt, digest_method=sha256).derive_key()
    return {"secret_key": derived, "key_derivation": "none", "digest_method": sha256}


#: The most bytes of a form.
LARGEST_FORM: Final = 1_000_000
#: The most bytes that are read of a form that is too large, so that the browser can show the answer to it.
_LARGEST_READ: Final = 16_000_000
_MOST_FIELDS: Final = 1000


#: Why a request is refused.
Refusal: TypeAlias = Literal[
    "not_given", "old_form", "too_big", "too_many", "not_found", "failed", "not_saved"
]


@dataclass(eq=False)
class RefusedRequestError(Exception):
    """A request that is answered with a sentence.

    Attributes:
        status: the status of HTTP.
        word: why.
        seconds: when the browser may try again, if it is known; a part of the sentence.
    """

    status: int
    word: Refusal
    seconds: int | None = None


async def form_of(request: Request, cookies: VisitorCookies) -> Form:
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
    visit = cookie_of(request, VisitorCookies.VISIT)
    if not (_is_own(request) and cookies.is_form_token(visit, field(form, "token"))):
        raise RefusedRequestError(403, "old_form")
    return form


def _is_own(request: Request) -> bool:
    """Whether a page of this site sent a form, as far as the browser tells; a proxy may hide the port."""
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site", "same-origin") in {"same-origin", "none"}
    try:
        page = urlsplit(origin)
    except ValueError:
        return False
    return page.hostname == request.url.hostname and page.scheme in {"https", request.url.scheme}


def field(form: Form, name: str) -> str:
    """Return the first value of a field of a form; an empty text if it is missing."""
    return next(iter(form.get(name, ())), "")


def browser_language(request: Request, offered: Sequence[Language]) -> Language:
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
