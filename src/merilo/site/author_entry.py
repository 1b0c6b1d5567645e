"""The pages on which an author signs in and chooses a study."""

from __future__ import annotations

import asyncio
from typing import Final

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import Connection, select

from merilo.site.audit_log import record, record_failed_sign_in
from merilo.site.author_password import PasswordVerdict, compare, keep_rehashed, stored_password
from merilo.site.author_views import HOME, LANGUAGE_COOKIE, AuthorViews, local_path
from merilo.site.schema import STUDY
from merilo.site.site_requests import field, form_of
from merilo.site.visitor_limits import TooManyRequestsError

#: Comparisons of passwords that wait for their turn; each takes 64 MiB, so only one runs at a time.
_MOST_WAITING: Final = 20


class _Comparisons:
    """Compares passwords in a thread, one at a time."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(1)
        self._waiting = 0

    async def compare(self, stored: str, password: str) -> PasswordVerdict | None:
        """Compare a password with its hash; `None` if too many others wait."""
        if self._waiting >= _MOST_WAITING:
            return None
        self._waiting += 1
        try:
            async with self._turn:
                return await run_in_threadpool(compare, stored, password)
        finally:
            self._waiting -= 1


def author_entry_routes(views: AuthorViews) -> APIRouter:
    """Return the routes that an author needs before they have a session, and the list of studies."""
    router = APIRouter(default_response_class=HTMLResponse)
    site = views.site
    comparisons = _Comparisons()

    @router.get(HOME)
    async def home(request: Request) -> Response:
        if not await views.has_session(request):
            return await sign_in_page(views, request, local_path(request.query_params.get("next", "")))

        def look(connection: Connection) -> set[int]:
            return set(connection.scalars(select(STUDY.c.id).where(STUDY.c.paused)))

        paused = await views.read(look)
        studies = [(study, number in paused) for number, study in site.by_number.items()]
        return await views.page(request, "author_studies.html.j2", studies=studies)

    @router.post(f"{HOME}sign-in")
    async def sign_in(request: Request) -> Response:
        return await _sign_in(views, request, comparisons)

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


async def _sign_in(views: AuthorViews, request: Request, comparisons: _Comparisons) -> Response:
    site, form = views.site, await form_of(request, views.site.cookies)
    back = local_path(field(form, "next"))
    site.limits.before_sign_in(request)
    stored = await views.read(stored_password)
    verdict = stored and await comparisons.compare(stored.hash, field(form, "password"))
    if stored is None or verdict is None:
        raise TooManyRequestsError(seconds=5)
    now, rehashed = site.clock.now(), verdict.rehashed
    if not verdict.right:
        await site.write(lambda connection: record_failed_sign_in(connection, now))
        return await sign_in_page(views, request, back, fault="wrong_password", status=403)

    def remember(connection: Connection) -> None:
        if rehashed is not None:
            keep_rehashed(connection, stored.hash, rehashed)
        record(connection, None, now, "author", "signed_in")

    await site.write(remember)
    site.limits.signed_in(request)
    response = RedirectResponse(back, 303)
    views.begin_session(request, response, stored.session)
    return response


async def sign_in_page(
    views: AuthorViews, request: Request, back: str, *, fault: str = "", status: int = 200
) -> Response:
    """Return the page of signing in.

    Args:
        views: the author's side of the server process.
        request: the request.
        back: the page to go to after signing in.
        fault: the name of the sentence that tells what was wrong.
        status: the status of HTTP.
    """
    return await views.page(
        request, "author_sign_in.html.j2", signed_in=False, status=status, back=back, fault=fault
    )
