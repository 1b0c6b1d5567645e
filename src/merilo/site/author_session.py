"""The author's session: the password, signing in, and what all pages of the author share."""

from __future__ import annotations

import asyncio
import secrets
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import quote

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import Connection, select

from merilo.errors import UsageError
from merilo.site.annotation_site import NOT_FOUND, AnnotationSite
from merilo.site.audit_log import Actor, record, record_failed_sign_in
from merilo.site.author_actions import AuthorActions
from merilo.site.database import hold_settings, keep_setting
from merilo.site.overview_texts import SOURCES, STAGES, flag_text
from merilo.site.people_access import new_code
from merilo.site.schema import SETTING, STUDY
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
}


class SignInNeededError(Exception):
    """A page of the author was asked for without a session."""


class AuthorViews:
    """The author's side of a server process.

    Args:
        site: the server process.
    """

    def __init__(self, site: AnnotationSite) -> None:
        self.site = site

    async def act(self, study: ServedStudy, action: Callable[[AuthorActions], Result]) -> Result:
        """Do something with a study in one transaction, in the author's name."""
        now = self.site.clock.now()
        return await self.site.write(
            lambda connection: action(AuthorActions(connection, study, now, "author"))
        )

    async def signed_in(self, request: Request) -> None:
        """Refuse a request that does not come from an author; a dependency of routes.

        Raises:
            SignInNeededError: there is no session, it is too old, or the password was changed.
        """
        if not await self.has_session(request):
            raise SignInNeededError

    async def has_session(self, request: Request) -> bool:
        """Return whether a request comes from an author who has signed in."""
        cookie = request.cookies.get(VisitorCookies.AUTHOR)
        if not cookie:
            return False
        stored = await self.site.read(stored_password)
        return stored is not None and self.site.cookies.is_author(cookie, stored.session)

    def begin_session(self, request: Request, response: Response, session: str) -> None:
        """Add the cookie of a session to a response."""
        response.set_cookie(
            VisitorCookies.AUTHOR, self.site.cookies.author(session), max_age=AUTHOR_LIFETIME, path="/author",
            secure=request.url.scheme == "https", httponly=True, samesite="strict",
        )  # fmt: skip

    def end_session(self, response: Response) -> None:
        """Take the cookie of a session away."""
        response.delete_cookie(VisitorCookies.AUTHOR, path="/author", httponly=True, samesite="strict")

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
        language = self.language(request)
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
            signed_in=await self.has_session(request),
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
        if not await views.has_session(request):
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
        if await views.has_session(request):
            now = site.clock.now()
            await site.write(lambda connection: record(connection, None, now, "author", "signed_out"))
        response = RedirectResponse(HOME, 303)
        views.end_session(response)
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
    stored = await views.site.read(stored_password)
    async with one_at_a_time:
        right = stored is not None and await asyncio.to_thread(
            is_password, stored.hash, field(form, "password")
        )
    now = site.clock.now()
    if stored is None or not right:
        await site.write(lambda connection: record_failed_sign_in(connection, now))
        return await sign_in_page(views, request, back, fault=Text("The password is wrong."), status=403)

    await site.write(lambda connection: record(connection, None, now, "author", "signed_in"))
    site.limits.signed_in(request)
    response = RedirectResponse(back, 303)
    views.begin_session(request, response, stored.session)
    return response


async def sign_in_page(
    views: AuthorViews, request: Request, back: str, *, fault: Text | None = None, status: int = 200
) -> Response:
    """Return the page of signing in.

    Args:
        views: the author's side of the server process.
        request: the request.
        back: the page to go to after signing in.
        fault: what was wrong.
        status: the status of HTTP.
    """
    return await views.page(
        request, "author_sign_in.html.j2", signed_in=False, status=status, back=back, fault=fault
    )
