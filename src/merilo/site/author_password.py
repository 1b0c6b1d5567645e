"""The password of the author's pages: kept as a hash of argon2, and the version that ends sessions when it changes."""

from __future__ import annotations

import secrets
import unicodedata
from functools import cache
from typing import Final, NamedTuple

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import Connection, select

from merilo.errors import UsageError
from merilo.site.audit_log import Actor, record
from merilo.site.people_access import new_code
from merilo.site.schema import SETTING
from merilo.site.study_registration import hold_settings, keep_setting

#: The fewest and the most characters of a password.
SHORTEST_PASSWORD: Final = 10
LONGEST_PASSWORD: Final = 1000

_HASH: Final = "author password"
_SESSION: Final = "author session"


class StoredPassword(NamedTuple):
    """What the database has of the password.

    Attributes:
        hash: its hash, with the parameters of argon2.
        session: a random text that changes with the password; sessions carry it.
    """

    hash: str
    session: str


class PasswordVerdict(NamedTuple):
    """What comparing a password with its hash tells.

    Attributes:
        right: whether it is the password.
        rehashed: its new hash, if the stored one was made with older parameters of argon2.
    """

    right: bool
    rehashed: str | None


def set_password(connection: Connection, password: str, now: int, actor: Actor = "command line") -> None:
    """Store a new password; all sessions end.

    Args:
        connection: an open transaction that writes.
        password: the password.
        now: the time, in milliseconds since 1970.
        actor: who sets it.

    Raises:
        UsageError: the password is too short or too long.
    """
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise UsageError(f"the password must have {SHORTEST_PASSWORD} to {LONGEST_PASSWORD:,} characters")
    keep_setting(connection, _HASH, hashed(password))
    keep_setting(connection, _SESSION, secrets.token_urlsafe(16))
    record(connection, None, now, actor, "password_set")


def ensure_password(connection: Connection, now: int) -> str | None:
    """Make a password if there is none.

    Args:
        connection: an open transaction that writes.
        now: the time, in milliseconds since 1970.

    Returns:
        The new password, which is not stored anywhere; `None` if there was one already.
    """
    if stored_password(connection) is None:
        hold_settings(connection)
    if stored_password(connection) is not None:
        return None
    password = new_code(secrets.choice)
    set_password(connection, password, now, "server")
    return password


def stored_password(connection: Connection) -> StoredPassword | None:
    """Read the hash of the password and the version of the sessions; `None` if no password was set."""
    rows = connection.execute(select(SETTING).where(SETTING.c.name.in_([_HASH, _SESSION]))).all()
    found = {row.name: row.value for row in rows}
    return StoredPassword(found[_HASH], found[_SESSION]) if len(found) == 2 else None


def keep_rehashed(connection: Connection, old: str, new: str) -> None:
    """Replace the hash of the same password; sessions go on. Nothing changes if the password was changed meanwhile."""
    stored = stored_password(connection)
    if stored is not None and stored.hash == old:
        keep_setting(connection, _HASH, new)


def hashed(password: str) -> str:
    """Return the hash of a password with argon2's present parameters; it takes about 0.1 s of a core and 64 MiB."""
    return _hasher().hash(_normal(password))


def compare(stored: str, password: str) -> PasswordVerdict:
    """Compare a password with its hash; it takes as long as `hashed`."""
    if len(password) > LONGEST_PASSWORD:
        return PasswordVerdict(right=False, rehashed=None)
    try:
        _hasher().verify(stored, _normal(password))
    except (VerificationError, InvalidHashError):
        return PasswordVerdict(right=False, rehashed=None)
    return PasswordVerdict(True, hashed(password) if _hasher().check_needs_rehash(stored) else None)


@cache
def _hasher() -> PasswordHasher:
    return PasswordHasher()


def _normal(password: str) -> str:
    """The same text for the same characters, however a keyboard composes them."""
    return unicodedata.normalize("NFKC", password)
