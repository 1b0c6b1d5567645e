"""What all pages of the author share: the session, reading from the database, and pages made of templates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeVar
from urllib.parse import quote

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from markupsafe import Markup
from sqlalchemy import Connection, select

from merilo.bilingual import Language
from merilo.site.annotation_site import AnnotationSite, page_templates
from merilo.site.author_password import stored_password
from merilo.site.author_words import author_words, event_text
from merilo.site.overview_texts import stored_flag_text
from merilo.site.schema import STUDY
from merilo.site.served_study import ServedStudy
from merilo.site.site_requests import RefusedRequestError, browser_language
from merilo.site.visitor_cookies import AUTHOR_LIFETIME, VisitorCookies

Result = TypeVar("Result")

#: The path of all pages of the author.
HOME: Final = "/author/"

#: The cookie with the language that the author chose.
LANGUAGE_COOKIE: Final = "merilo_author_language"


class SignInNeededError(Exception):
    """A page of the author was asked for without a session."""


class AuthorViews:
    """The author's side of a server process.

    Args:
        site: the server process.
    """

    def __init__(self, site: AnnotationSite) -> None:
        self.site = site
        self._pages = page_templates()
        self._pages.filters["moment"] = moment
        self._pages.filters["speed"] = stored_flag_text
        self._pages.filters["decimal"] = decimal
        self._pages.globals["event_text"] = event_text

    async def read(self, look: Callable[[Connection], Result]) -> Result:
        """Read from the database in a thread, beside the writer."""

        def run() -> Result:
            with self.site.engine.connect() as connection:
                return look(connection)

        return await self.in_thread(run)

    async def in_thread(self, call: Callable[[], Result]) -> Result:
        """Run something that takes long in a thread."""
        return await run_in_threadpool(call)

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
        stored = await self.read(stored_password)
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
            content: what the template shows besides `study`, `language`, `said` (the texts) and `token` (of forms).
        """
        language = self.language(request)
        visit = self.site.visit_of(request)
        paused = study is not None and await self.read(lambda connection: _is_paused(connection, study))
        text = self._pages.get_template(template).render(
            study=study, base="" if study is None else f"{HOME}{study.key}", current=current, paused=paused, signed_in=signed_in,
            here=_here(request, study), language=language, said=author_words(language), token=self.site.cookies.form_token(visit), **content,
        )  # fmt: skip
        response = HTMLResponse(text, status_code=status)
        self.site.keep_visit(request, response, visit)
        return response

    async def notice(
        self,
        request: Request,
        heading: str,
        texts: Sequence[str] = (),
        *,
        status: int = 200,
        signed_in: bool = True,
    ) -> Response:
        """Return a page with a heading and paragraphs, all of them names of texts in `author_words`."""
        said = author_words(self.language(request))
        return await self.page(
            request, "author_notice.html.j2", status=status, signed_in=signed_in,
            heading=said[heading], texts=[said[text] for text in texts],
        )  # fmt: skip

    async def refused(self, request: Request, error: RefusedRequestError) -> Response:
        """Return the answer to a request that was refused."""
        known = {"not_found", "not_saved", "old_form", "too_big", "too_many"}
        word = error.word if error.word in known else "not_found"
        said = author_words(self.language(request))
        response = await self.page(
            request, "author_notice.html.j2", status=error.status, signed_in=await self.has_session(request),
            heading=said[word], texts=[said[f"{word}_text"].format(error.seconds)],
        )  # fmt: skip
        if error.seconds is not None:
            response.headers["Retry-After"] = str(error.seconds)
        return response

    async def ask_to_sign_in(self, request: Request) -> Response:
        """Answer a request without a session: to the page of signing in, or 401 if it is not for a page."""
        path = request.url.path
        if path.endswith((".csv", "/live")):
            return await self.notice(
                request, "sign_in_needed", ["sign_in_needed_text"], status=401, signed_in=False
            )
        back = f"?next={quote(path)}" if request.method == "GET" and path != HOME else ""
        return RedirectResponse(f"{HOME}{back}", 302)


def moment(milliseconds: int) -> Markup:
    """Return a time as an element that the script shows in the browser's time zone."""
    at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return Markup('<time datetime="{}">{} UTC</time>').format(
        at.isoformat(timespec="seconds"), at.strftime("%Y-%m-%d %H:%M")
    )


def plain_name(text: str) -> str:
    r"""Return a name without NUL characters, which PostgreSQL takes in no text, and with single spaces.

    Example:
        >>> plain_name("  Anna\0  P. ")
        'Anna P.'
    """
    return " ".join(text.replace("\0", "").split())


def decimal(number: float, language: Language) -> str:
    """Return a number with one decimal place, with the language's decimal mark.

    Example:
        >>> decimal(2.46, "ru"), decimal(2.46, "en")
        ('2,5', '2.5')
    """
    text = f"{number:.1f}"
    return text.replace(".", ",") if language == "ru" else text


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
