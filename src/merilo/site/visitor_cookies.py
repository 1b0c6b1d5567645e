"""The site's signed cookies, and the tokens that show that a form was made by the site for this browser."""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256
from typing import Final

from itsdangerous import BadSignature, Signer, TimestampSigner

#: Seconds that a browser stays signed in.
LIFETIME: Final = 60 * 60 * 24 * 60

#: Seconds that an author stays signed in.
AUTHOR_LIFETIME: Final = 60 * 60 * 12


class VisitorCookies:
    """Signs and reads the site's cookies.

    `VISIT` names the browser, and every form carries a token made of it; `PERSON` names the person in one study; `AUTHOR` is the session of an
    author, who has the whole server.

    Args:
        key: the key of the signatures.
    """

    VISIT: Final = "merilo_visit"
    PERSON: Final = "merilo_person"
    AUTHOR: Final = "merilo_author"

    def __init__(self, key: str) -> None:
        self._visit = Signer(key, salt="visit", digest_method=sha256)
        self._person = TimestampSigner(key, salt="person", digest_method=sha256)
        self._author = TimestampSigner(key, salt="author", digest_method=sha256)
        self._secret = Signer(key, salt="secret", digest_method=sha256)
        self._form = Signer(key, salt="form", digest_method=sha256)

    def new_visit(self) -> str:
        """Return the cookie of a browser that comes for the first time."""
        return self._visit.sign(secrets.token_urlsafe(16)).decode()

    def is_visit(self, cookie: str) -> bool:
        """Return whether a cookie of a browser was made by this site."""
        return self._visit.validate(cookie)

    def form_token(self, visit: str) -> str:
        """Return the token of the forms that are sent to a browser."""
        return self._form.get_signature(visit).decode()

    def is_form_token(self, visit: str, token: str) -> bool:
        """Return whether a form was made for the browser that sends it."""
        return self.is_visit(visit) and hmac.compare_digest(self.form_token(visit).encode(), token.encode())

    def person(self, number: int) -> str:
        """Return the cookie of a person."""
        return self._person.sign(str(number)).decode()

    def person_of(self, cookie: str | None) -> int | None:
        """Return the number of the person whom a cookie names; `None` if it is missing, too old or not made by this site."""
        if not cookie:
            return None
        try:
            return int(self._person.unsign(cookie, max_age=LIFETIME))
        except (BadSignature, ValueError):
            return None

    def secret_of(self, text: str) -> bytes:
        """Return a secret that follows from a text and the key of this site."""
        return self._secret.get_signature(text)

    def author(self, session: str) -> str:
        """Return the cookie of an author who has given the password."""
        return self._author.sign(session).decode()

    def is_author(self, cookie: str | None, session: str) -> bool:
        """Return whether a cookie is the session of an author, is not too old, and was made for the present password.

        Args:
            cookie: the cookie.
            session: the text that changes with the password.
        """
        if not cookie:
            return False
        try:
            given = self._author.unsign(cookie, max_age=AUTHOR_LIFETIME)
        except BadSignature:
            return False
        return hmac.compare_digest(given, session.encode())
