"""The application of the annotation site: its routes, the headers of every answer, and what runs while it serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from merilo.site.annotation_site import AnnotationSite
from merilo.site.annotator_pages import annotator_routes
from merilo.site.annotator_steps import return_overdue
from merilo.site.author import AuthorPages
from merilo.site.bounded_http import SECURITY_HEADERS, SecurityHeaders
from merilo.site.journal import Writer
from merilo.site.site_requests import RefusedRequestError
from merilo.site.visitor_limits import WaitingBodies

#: Seconds between two searches for tasks that were not answered in time.
_OVERDUE_EVERY: Final = 5.0


def make_app(site: AnnotationSite, *, overdue_every: float = _OVERDUE_EVERY) -> Starlette:
    """Return the application of a site.

    Args:
        site: the site.
        overdue_every: seconds between two searches for tasks that were not answered in time.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        site.writer = Writer(site.journal, site.read_again)
        overdue = asyncio.create_task(_look_for_overdue(site, overdue_every))
        try:
            yield
        finally:
            overdue.cancel()
            with suppress(asyncio.CancelledError):
                await overdue
            await site.writer.close()
            site.writer = None

    async def health(_: Request) -> Response:
        """For reverse proxies and containers: the server accepts requests."""
        return Response(status_code=204)

    async def static(request: Request) -> Response:
        return static_file(request, request.path_params["name"])

    app = Starlette(
        lifespan=lifespan,
        routes=[
            *annotator_routes(site),
            *AuthorPages(site).routes(),
            Route("/health", health),
            Route("/static/{name}", static),
        ],
        middleware=[Middleware(SecurityHeaders), Middleware(WaitingBodies)],
        exception_handlers=_error_pages(site),
    )
    app.router.redirect_slashes = False
    return app


def _error_pages(site: AnnotationSite) -> Mapping[Any, Callable[[Request, Any], Awaitable[Response]]]:
    """Return the pages of requests that are refused, and of requests that fail."""

    async def refused(request: Request, error: RefusedRequestError) -> Response:
        response = site.refused(request, error)
        if error.status == 413:
            response.headers["Connection"] = "close"  # a part of the form may be unread
        return response

    async def not_found(request: Request, error: HTTPException) -> Response:
        response = await refused(request, RefusedRequestError(error.status_code, "not_found"))
        response.headers.update(error.headers or {})  # which methods are allowed
        return response

    async def gone(_: Request, __: ClientDisconnect) -> Response:
        return Response(status_code=400)  # nobody reads it: the browser left while it sent its form

    async def failed(request: Request, _: Exception) -> Response:
        response = site.refused(request, RefusedRequestError(500, "failed"))
        response.headers.update({**SECURITY_HEADERS, "Cache-Control": "no-store"})
        return response

    return {RefusedRequestError: refused, HTTPException: not_found, ClientDisconnect: gone, Exception: failed}


async def _look_for_overdue(site: AnnotationSite, seconds: float) -> None:
    """Give tasks that were not answered in time back to others, as long as the server runs."""

    def look() -> None:
        for state in site.states.values():
            return_overdue(state, site.clock.now())

    while True:
        with suppress(RefusedRequestError):  # a full disk: the next search finds the same tasks
            await site.act(look)
        await asyncio.sleep(seconds)


_KINDS: Final = {
    "annotator.css": "text/css; charset=utf-8",
    "annotator.js": "text/javascript; charset=utf-8",
    "author.css": "text/css; charset=utf-8",
    "author.js": "text/javascript; charset=utf-8",
}


def static_file(request: Request, name: str) -> Response:
    """Return a script or style of the site.

    Args:
        request: the request; a browser names in it the version that it has.
        name: the file's name.

    Raises:
        RefusedRequestError: the site has no such file.
    """
    if name not in _KINDS:
        raise RefusedRequestError(404, "not_found")
    content, version = _read(name)
    headers = {"Cache-Control": "public, max-age=300", "ETag": version}
    if version in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_KINDS[name], headers=headers)


@cache  # at most the files of `_KINDS`
def _read(name: str) -> tuple[bytes, str]:
    content = (files("merilo.site") / "static" / name).read_bytes()
    return content, f'"{sha256(content).hexdigest()[:16]}"'
