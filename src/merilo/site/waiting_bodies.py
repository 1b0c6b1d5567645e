"""The total size of the forms that the server holds in memory at one moment."""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from merilo.site.site_requests import LARGEST_FORM
from merilo.site.visitor_limits import TooManyRequestsError

#: The most bytes of all forms that are being read or saved.
LARGEST_WAITING: Final = 128_000_000

#: Seconds after which a browser may send its form again.
_AGAIN: Final = 5


class WaitingBodies:
    """Refuses forms while too many others are waiting.

    Args:
        app: the application.
        largest: the most bytes of all forms together.
    """

    def __init__(self, app: ASGIApp, largest: int = LARGEST_WAITING) -> None:
        self._app = app
        self._largest = largest
        self.size = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count what is kept of a form until its answer is sent."""
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD"}:
            await self._app(scope, receive, send)
            return
        held = 0

        async def counted() -> Message:
            nonlocal held
            message = await receive()
            more = max(0, min(len(message.get("body", b"")), LARGEST_FORM - held))
            if self.size + more > self._largest:
                raise TooManyRequestsError(seconds=_AGAIN)
            held += more
            self.size += more
            return message

        try:
            await self._app(scope, counted, send)
        finally:
            self.size -= held
