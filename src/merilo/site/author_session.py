"""The author's session: the password, signing in, and what all pages of the author share."""

from __future__ import annotations

import asyncio
import secrets
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import Connection, and_, delete, insert, select, update

from merilo.errors import UsageError, argument
from merilo.site.annotation_site import NOT_FOUND, AnnotationSite
from merilo.site.audit_log import Actor, record, record_failed_sign_in
from merilo.site.author_actions import AuthorActions
from merilo.site.database import hold_settings, new_cookie_key
from merilo.site.overview_texts import SOURCES, STAGES, flag_text
from merilo.site.people_access import new_code
from merilo.site.schema import AUTHOR, SESSION, STUDY
from merilo.site.served_study import ServedStudy
from merilo.site.site_requests import (
    AUTHOR_LIFETIME,
    Refusal,
    RefusedRequestError,
    VisitorCookies,
    browser_language,
    field,
    form_of,
)
from merilo.text import Language, Text, formatted
from merilo.wording import shortened

#: The fewest and the most characters of a password.
SHORTEST_PASSWORD: Final = 10
LONGEST_PASSWORD: Final = 1000

#: What an author may do: everything, or look at the overview, the people, the invitations and the log.
Role: TypeAlias = Literal["author", "observer"]

#: The account without another name.
AUTHOR_NAME: Final = "author"

#: The most characters of an account's name.
LONGEST_NAME: Final = 60

#: Actors of the log that are no accounts.
_RESERVED: Final = frozenset({"server", "command line"})


class Account(NamedTuple):
    """An author who is signed in."""

    name: str
    role: Role


def set_password(
    connection: Connection,
    password: str,
    now: int,
    actor: Actor = "command line",
    *,
    name: str = AUTHOR_NAME,
    role: Role | None = None,
) -> bool:
    """Make an account, or change its password: then all sessions end and the key of all cookies changes.

    Args:
        connection: an open transaction that writes.
        password: the password.
        now: the time, in milliseconds since 1970.
        actor: who sets it.
        name: the account's name.
        role: what it may do. Default: what it did before, or everything.

    Returns:
        Whether the account is new.

    Raises:
        UsageError: the password or the name is too short or too long.
    """
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise UsageError(f"the password must have {SHORTEST_PASSWORD} to {LONGEST_PASSWORD:,} characters")
    if not 0 < len(name) <= LONGEST_NAME or name != plain_name(name) or name in _RESERVED:
        raise UsageError(
            f"takes a name of at most {LONGEST_NAME} characters (not {' or '.join(sorted(_RESERVED))})",
            field=argument("name"),
        )
    values = {"hash": hashed(password), **({"role": role} if role else {})}
    old = connection.execute(update(AUTHOR).where(AUTHOR.c.name == name).values(values)).rowcount
    if old:
        connection.execute(delete(SESSION))
        new_cookie_key(connection)
    else:
        connection.execute(insert(AUTHOR).values({"name": name, "role": "author", **values}))
    record(connection, None, now, actor, "password_set", name=name)
    return not old


def remove_author(connection: Connection, name: str, now: int) -> None:
    """Remove an account; its sessions end.

    Raises:
        UsageError: there is no such account.
    """
    connection.execute(delete(SESSION).where(SESSION.c.author == name))
    if not connection.execute(delete(AUTHOR).where(AUTHOR.c.name == name)).rowcount:
        raise UsageError(f"there is no account '{shortened(name)}'", field=argument("name"))
    record(connection, None, now, "command line", "author_removed", name=name)


def ensure_password(connection: Connection, now: int) -> str | None:
    """Make an account with a password if there is none.

    Args:
        connection: an open transaction that writes.
        now: the time, in milliseconds since 1970.

    Returns:
        The new password, which is not stored anywhere; `None` if there was an account already.
    """
    anybody = select(AUTHOR.c.name).limit(1)
    if connection.scalar(anybody) is None:
        hold_settings(connection)
    if connection.scalar(anybody) is not None:
        return None
    password = new_code(secrets.choice)
    set_password(connection, password, now, "server")
    return password


def stored_password(connection: Connection, name: str) -> str | None:
    """Read the hash of an account's password; `None` if there is no such account."""
    return connection.scalar(select(AUTHOR.c.hash).where(AUTHOR.c.name == name))


def begin_session(connection: Connection, name: str, now: int) -> str:
    """Sign an author in, and forget sessions that are too old.

    Returns:
        The cookie; the database has its hash.
    """
    cookie = secrets.token_urlsafe(32)
    connection.execute(delete(SESSION).where(SESSION.c.began < now - 1000 * AUTHOR_LIFETIME))
    connection.execute(insert(SESSION).values(hash=_hashed_cookie(cookie), author=name, began=now))
    record(connection, None, now, name, "signed_in")
    return cookie


def account_of(connection: Connection, cookie: str, now: int) -> Account | None:
    """Return whose session a cookie is; `None` if it has ended."""
    query = select(AUTHOR.c.name, AUTHOR.c.role).join(SESSION, SESSION.c.author == AUTHOR.c.name)
    alive = and_(SESSION.c.hash == _hashed_cookie(cookie), SESSION.c.began >= now - 1000 * AUTHOR_LIFETIME)
    found = connection.execute(query.where(alive)).first()
    return None if found is None else Account(*found)


def end_session(connection: Connection, cookie: str, author: Account, now: int) -> None:
    """Sign an author out: copies of the cookie are worth nothing any more."""
    connection.execute(delete(SESSION).where(SESSION.c.hash == _hashed_cookie(cookie)))
    record(connection, None, now, author.name, "signed_out")


def _hashed_cookie(cookie: str) -> str:
    return sha256(cookie.encode("utf-8", "replace")).hexdigest()


def hashed(password: str) -> str:
    """Return the hash of a password with argon2's present parameters; it takes about 0.1 s of a core and 64 MiB."""
    return _hasher().hash(_normal(password))


def is_password(stored: str, password: str) -> bool:
    """Return whether a password belongs to a hash; it takes as long as `hashed`."""
    if len(password) > LONGEST_PASSWORD:
        return False
    try:
        return _hasher().verify(stored, _normal(password))
    except (VerificationError, InvalidHashError):
        return False


@cache
def _nobody() -> str:
    """The hash of a password that nobody has."""
    return hashed(secrets.token_urlsafe(16))


@cache
def _hasher() -> PasswordHasher:
    return PasswordHasher()


def _normal(password: str) -> str:
    """The same text for the same characters, however a keyboard composes them."""
    return unicodedata.normalize("NFKC", password)


Result = TypeVar("Result")

#: The path of all pages of the author.
HOME: Final = "/author/"

#: The cookie with the language that the author chose.
LANGUAGE_COOKIE: Final = "merilo_author_language"


#: What an author whose request was refused is told: the heading of the page, and the sentence.
_REFUSALS: Final[Mapping[Refusal, tuple[Text, Text]]] = {
    "not_found": (NOT_FOUND, Text("This server has no such study, person or page.")),
    "not_saved": (
        Text("The change is not saved"),
        Text("The database accepts no changes now. Wait a minute and try again."),
    ),
    "old_form": (Text("The page is out of date"), Text("Go back, reload the page and try again.")),
    "too_big": (
        Text("The text is too long"),
        Text("More than 1 MB was sent. Shorten the text and send it again."),
    ),
    "too_many": (Text("Too many attempts"), Text("Wait {seconds} s and try again.")),
    "not_allowed": (
        Text("Only for authors"),
        Text("Observers see the study, but they change nothing and get neither tables nor the estimate."),
    ),
}


#: The ends of addresses that observers may not open.
_NOT_OF_OBSERVERS: Final = (".csv", "/export", "/estimate", "/erase")


class SignInNeededError(Exception):
    """A page of the author was asked for without a session."""


class AuthorViews:
    """The author's side of a server process.

    Args:
        site: the server process.
    """

    def __init__(self, site: AnnotationSite) -> None:
        self.site = site

    async def act(
        self, request: Request, study: ServedStudy, action: Callable[[AuthorActions], Result]
    ) -> Result:
        """Do something with a study in one transaction, in the author's name."""
        now, name = self.site.clock.now(), request.state.author.name
        return await self.site.write(lambda connection: action(AuthorActions(connection, study, now, name)))

    async def signed_in(self, request: Request) -> None:
        """Refuse a request that does not come from an author; a dependency of routes.

        Raises:
            SignInNeededError: there is no session, it is too old, or the password was changed.
            RefusedRequestError: the author is an observer and wants to change or to download something.
        """
        author = await self.account(request)
        if author is None:
            raise SignInNeededError
        only_read = request.method == "GET" and not request.url.path.endswith(_NOT_OF_OBSERVERS)
        if author.role == "observer" and not only_read:
            raise RefusedRequestError(403, "not_allowed")

    async def account(self, request: Request) -> Account | None:
        """Return the author who sends a request; `None` if they have not signed in."""
        cookie, now = request.cookies.get(VisitorCookies.AUTHOR), self.site.clock.now()
        if not cookie:
            return None
        found = await self.site.read(lambda connection: account_of(connection, cookie, now))
        request.state.author = found
        return found

    def keep_session(self, request: Request, response: Response, cookie: str) -> None:
        """Add the cookie of a session to a response."""
        response.set_cookie(
            VisitorCookies.AUTHOR, cookie, max_age=AUTHOR_LIFETIME, path="/author",
            secure=request.url.scheme == "https", httponly=True, samesite="strict",
        )  # fmt: skip

    def language(self, request: Request) -> Language:
        """Return the language that the author chose, or the browser's."""
        chosen = request.cookies.get(LANGUAGE_COOKIE)
        if chosen == "en":
            return "en"
        return "ru" if chosen == "ru" else browser_language(request)

    async def page(
        self,
        request: Request,
        template: str,
        *,
        study: ServedStudy | None = None,
        current: str = "",
        signed_in: bool = True,
        status: int = 200,
        **content: Any,  # noqa: ANN401 - whatever the template shows
    ) -> Response:
        """Return a page of the author.

        Args:
            request: the request.
            template: the template, which extends `author_base.html.j2` and fills its blocks `title` and `main`.
            study: the group of annotators that the page is about.
            current: which entry of the navigation the page is: overview, people, invitations, log or export.
            signed_in: whether the page has the navigation.
            status: the status of HTTP.
            content: what the template shows besides `study`, `language`, `_` (which makes its sentences) and
                `token` (of forms).
        """
        language, author = self.language(request), getattr(request.state, "author", None)
        paused = study is not None and await self.site.read(lambda connection: _is_paused(connection, study))

        def number(value: float | None, digits: int = 0) -> str:
            return "–" if value is None else formatted(float(value), f",.{digits}f", language)

        return self.site.rendered(
            request,
            template,
            language,
            status=status,
            study=study,
            base="" if study is None else f"{HOME}{study.key}",
            current=current,
            paused=paused,
            signed_in=signed_in,
            author=author,
            observes=author is not None and author.role == "observer",
            here=_here(request, study),
            number=number,
            stages=STAGES,
            sources=SOURCES,
            flag_text=flag_text,
            **content,
        )

    async def notice(
        self,
        request: Request,
        heading: Text,
        text: Text,
        *,
        status: int = 200,
        signed_in: bool = True,
    ) -> Response:
        """Return a page with a heading and a sentence."""
        return await self.page(
            request, "author_notice.html.j2", status=status, signed_in=signed_in, heading=heading, text=text
        )

    async def refused(self, request: Request, error: RefusedRequestError) -> Response:
        """Return the answer to a request that was refused."""
        heading, text = _REFUSALS.get(error.word, _REFUSALS["not_found"])
        response = await self.notice(
            request,
            heading,
            Text(text.english, seconds=error.seconds),
            status=error.status,
            signed_in=await self.account(request) is not None,
        )
        if error.seconds is not None:
            response.headers["Retry-After"] = str(error.seconds)
        return response

    async def ask_to_sign_in(self, request: Request) -> Response:
        """Answer a request without a session: to the page of signing in, or 401 if it is not for a page."""
        path = request.url.path
        if path.endswith((".csv", "/live")):
            heading = Text("Sign in first")
            text = Text("Your session has ended, or you have not signed in. Sign in and try again.")
            return await self.notice(request, heading, text, status=401, signed_in=False)
        back = f"?next={quote(path)}" if request.method == "GET" and path != HOME else ""
        return RedirectResponse(f"{HOME}{back}", 302)


def plain_name(text: str) -> str:
    r"""Return a name without NUL characters, which PostgreSQL takes in no text, and with single spaces.

    Example:
        >>> plain_name("  Anna\0  P. ")
        'Anna P.'
    """
    return " ".join(text.replace("\0", "").split())


def local_path(path: str) -> str:
    """Return a path of the author's pages that a form names; the home page if it is anything else.

    Example:
        >>> local_path("/author/3f/log"), local_path("//evil.example/author/"), local_path("/author//evil.example")
        ('/author/3f/log', '/author/', '/author/')
    """
    plain = path.startswith(HOME) and "//" not in path and "\\" not in path and path.isprintable()
    return path if plain else HOME


def _here(request: Request, study: ServedStudy | None) -> str:
    """The page to come back to from a form in the header; a page that answers a form cannot be opened again."""
    if request.method != "GET":
        return HOME if study is None else f"{HOME}{study.key}/"
    query = request.url.query
    return f"{request.url.path}?{query}" if query else request.url.path


def _is_paused(connection: Connection, study: ServedStudy) -> bool:
    return bool(connection.scalar(select(STUDY.c.paused).where(STUDY.c.id == study.rules.study)))


def author_entry_routes(views: AuthorViews) -> APIRouter:
    """Return the routes that an author needs before they have a session, and the list of studies."""
    router = APIRouter(default_response_class=HTMLResponse)
    site = views.site
    one_at_a_time = asyncio.Lock()  # comparing passwords takes 64 MiB

    @router.get(HOME)
    async def home(request: Request) -> Response:
        if await views.account(request) is None:
            return await sign_in_page(views, request, local_path(request.query_params.get("next", "")))

        def look(connection: Connection) -> set[int]:
            return set(connection.scalars(select(STUDY.c.id).where(STUDY.c.paused)))

        paused = await views.site.read(look)
        studies = [(study, number in paused) for number, study in site.by_number.items()]
        return await views.page(request, "author_studies.html.j2", studies=studies)

    @router.post(f"{HOME}sign-in")
    async def sign_in(request: Request) -> Response:
        return await _sign_in(views, request, one_at_a_time)

    @router.post(f"{HOME}sign-out")
    async def sign_out(request: Request) -> Response:
        await form_of(request, site.cookies)
        author, now = await views.account(request), site.clock.now()
        if author is not None:
            cookie = request.cookies[VisitorCookies.AUTHOR]
            await site.write(lambda connection: end_session(connection, cookie, author, now))
        response = RedirectResponse(HOME, 303)
        response.delete_cookie(VisitorCookies.AUTHOR, path="/author", httponly=True, samesite="strict")
        return response

    @router.post(f"{HOME}language")
    async def language(request: Request) -> Response:
        form = await form_of(request, site.cookies)
        response = RedirectResponse(local_path(field(form, "next")), 303)
        chosen = "en" if field(form, "language") == "en" else "ru"
        site.set_cookie(request, response, LANGUAGE_COOKIE, chosen, "/author")
        return response

    return router


async def _sign_in(views: AuthorViews, request: Request, one_at_a_time: asyncio.Lock) -> Response:
    site, form = views.site, await form_of(request, views.site.cookies)
    back = local_path(field(form, "next"))
    site.limits.before_sign_in(request)
    name = plain_name(field(form, "username")) or AUTHOR_NAME
    stored = await views.site.read(lambda connection: stored_password(connection, name))
    async with one_at_a_time:  # an unknown name takes as long as a wrong password
        right = await asyncio.to_thread(is_password, stored or _nobody(), field(form, "password"))
    now = site.clock.now()
    if stored is None or not right:
        await site.write(lambda connection: record_failed_sign_in(connection, now))
        fault = Text("The name or the password is wrong.")
        return await sign_in_page(views, request, back, fault=fault, typed=name, status=403)

    cookie = await site.write(lambda connection: begin_session(connection, name, now))
    site.limits.signed_in(request)
    response = RedirectResponse(back, 303)
    views.keep_session(request, response, cookie)
    return response


async def sign_in_page(
    views: AuthorViews,
    request: Request,
    back: str,
    *,
    fault: Text | None = None,
    typed: str = AUTHOR_NAME,
    status: int = 200,
) -> Response:
    """Return the page of signing in.

    Args:
        views: the author's side of the server process.
        request: the request.
        back: the page to go to after signing in.
        fault: what was wrong.
        typed: the name of the account.
        status: the status of HTTP.
    """
    return await views.page(
        request, "author_sign_in.html.j2", signed_in=False, status=status, back=back, fault=fault,
        typed=typed[:LONGEST_NAME], longest=LONGEST_NAME,
    )  # fmt: skip
