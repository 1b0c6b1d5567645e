"""The requests that an annotator sends for every item, answered before FastAPI looks for a route.

FastAPI needs several times longer to find a route and to prepare its parameters than the site needs to save an answer. These routes are also
declared in FastAPI's way, which describes them; here the same functions are called with the same request.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from fastapi import Request
from fastapi.responses import Response
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from merilo.site.site_requests import RefusedRequestError

#: Answers a request for a page of the study whose key is given.
StudyPage: TypeAlias = Callable[[Request, str], Awaitable[Response]]

#: Answers a request that was refused.
Refusal: TypeAlias = Callable[[Request, RefusedRequestError], Awaitable[Response]]

#: The key of a study, and the page.
_ADDRESS: Final = re.compile(r"/s/([^/]+)/(\w+)")


class DirectRoutes:
    """Answers requests for "/s/KEY/PAGE".

    Args:
        app: the application that answers all other requests.
        pages: method and page -> the function that answers.
        refused: answers refused requests.
    """

    def __init__(self, app: ASGIApp, pages: Mapping[tuple[str, str], StudyPage], refused: Refusal) -> None:
        self._app = app
        self._pages = pages
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        found = _ADDRESS.fullmatch(scope["path"]) if scope["type"] == "http" else None
        page = self._pages.get((scope["method"], found[2])) if found else None
        if found is None or page is None:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            response = await page(request, found[1])
        except RefusedRequestError as error:
            response = await self._refused(request, error)
        except ClientDisconnect:
            return  # the browser left while it sent its form
        await response(scope, receive, send)
