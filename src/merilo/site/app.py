"""The application of the annotation site: its routes, the headers of every answer, and what runs while it serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from fastapi import FastAPI, Request
from fastapi.responses import Response
from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from merilo.site.annotation_site import AnnotationSite
from merilo.site.annotator_pages import annotator_routes, item_pages
from merilo.site.assignment import Allocation
from merilo.site.author_entry import author_entry_routes
from merilo.site.author_overview import author_overview_routes
from merilo.site.author_people_pages import author_people_routes
from merilo.site.author_study_pages import author_study_routes
from merilo.site.author_views import HOME, AuthorViews, SignInNeededError
from merilo.site.described_requests import describe
from merilo.site.direct_routes import DirectRoutes, Refusal
from merilo.site.entry_pages import entry_routes, reading_routes
from merilo.site.security_headers import SECURITY_HEADERS, SecurityHeaders
from merilo.site.server_clock import follow_database
from merilo.site.site_requests import RefusedRequestError
from merilo.site.static_files import static_file
from merilo.site.waiting_bodies import WaitingBodies
from merilo.site.writer import Writer

#: Seconds between two searches for tasks that were not answered in time.
_OVERDUE_EVERY: Final = 5.0


def make_app(site: AnnotationSite, *, overdue_every: float = _OVERDUE_EVERY) -> FastAPI:
    """Return the application of a site.

    Args:
        site: the site.
        overdue_every: seconds between two searches for tasks that were not answered in time.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        site.writer = Writer(site.engine, asyncio.get_running_loop())
        overdue = asyncio.create_task(_look_for_overdue(site, overdue_every))
        try:
            yield
        finally:
            site.live.stop()
            overdue.cancel()
            with suppress(asyncio.CancelledError):
                await overdue
            site.writer.close()
            site.writer = None

    app = FastAPI(title="Merilo annotation site", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)  # fmt: skip
    app.include_router(entry_routes(site))
    app.include_router(reading_routes(site))
    app.include_router(annotator_routes(site))
    views = AuthorViews(site)
    app.include_router(author_entry_routes(views))
    app.include_router(author_people_routes(views))
    app.include_router(author_study_routes(views))
    app.include_router(author_overview_routes(views))

    @app.get("/health", response_class=Response)
    async def health() -> Response:
        """For reverse proxies and containers: the server accepts requests."""
        return Response(status_code=204)

    @app.get("/static/{name}", response_class=Response)
    async def static(request: Request, name: str) -> Response:
        return static_file(request, name)

    refused = _answer_errors(app, site, views)
    describe(app)
    app.add_middleware(DirectRoutes, pages=item_pages(site), refused=refused)
    app.add_middleware(WaitingBodies)
    app.add_middleware(SecurityHeaders)
    return app


def _answer_errors(app: FastAPI, site: AnnotationSite, views: AuthorViews) -> Refusal:
    """Answer requests that are refused, and requests that fail, with pages; return what answers refused ones."""

    @app.exception_handler(RefusedRequestError)
    async def refused(request: Request, error: RefusedRequestError) -> Response:
        of_author = request.url.path.startswith(HOME)
        response = await views.refused(request, error) if of_author else site.refused(request, error)
        if error.status == 413:
            response.headers["Connection"] = "close"  # a part of the form may be unread
        return response

    @app.exception_handler(HTTPException)
    async def not_found(request: Request, error: HTTPException) -> Response:
        response = await refused(request, RefusedRequestError(error.status_code, "not_found"))
        response.headers.update(error.headers or {})  # which methods are allowed
        return response

    @app.exception_handler(SignInNeededError)
    async def sign_in_needed(request: Request, _: SignInNeededError) -> Response:
        return await views.ask_to_sign_in(request)

    @app.exception_handler(ClientDisconnect)
    async def gone(request: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=400)  # nobody reads it: the browser left while it sent its form

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        response = site.refused(request, RefusedRequestError(500, "failed"))
        response.headers.update({**SECURITY_HEADERS, "Cache-Control": "no-store"})
        return response

    return refused


async def return_overdue(site: AnnotationSite) -> None:
    """Give tasks that were not answered in time back to others."""

    def look(connection: Connection) -> None:
        follow_database(site.clock, connection)
        for study in site.by_number.values():
            Allocation(connection, study.rules, site.clock.now()).return_overdue()

    await site.write(look)


async def _look_for_overdue(site: AnnotationSite, seconds: float) -> None:
    """Search for overdue tasks as long as the server runs."""
    while True:
        with suppress(RefusedRequestError):  # a full disk: the next search finds the same tasks
            await return_overdue(site)
        await asyncio.sleep(seconds)
