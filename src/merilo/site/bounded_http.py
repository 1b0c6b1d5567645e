"""HTTP with bounds: how large the head of a request may be, how long a client may take to send or to read.

And the headers of every answer.

uvicorn reads a head of any length and waits for the end of a request as long as the connection is open, so
one stranger could fill the memory or all connections by sending a byte now and then. A reverse proxy usually
has such limits; the site has them too, because it can be used without one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from merilo.site.visitor_limits import is_here, network_of

#: Only files of the site itself, no inline scripts or styles, no frames.
POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; media-src "
    "'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

_ENCODED: Final = [
    (name.lower().encode(), value.encode())
    for name, value in {**SECURITY_HEADERS, "Cache-Control": "no-store"}.items()
]


_ENCODED_HTTPS: Final = [*_ENCODED, (b"strict-transport-security", b"max-age=31536000")]


class SecurityHeaders:
    """Adds the headers to every answer of an application, and answers HEAD as GET without the body.

    Args:
        app: the application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        head, ended = scope["method"] == "HEAD", False

        async def with_headers(message: Message) -> None:
            nonlocal ended
            if message["type"] == "http.response.start":
                own = message["headers"]
                named = {name.lower() for name, _ in own}
                more = _ENCODED_HTTPS if scope["scheme"] == "https" else _ENCODED
                message["headers"] = [*own, *(header for header in more if header[0] not in named)]
            elif head:
                if ended:
                    return
                message, ended = {"type": "http.response.body", "body": b""}, True
            await send(message)

        await self._app({**scope, "method": "GET"} if head else scope, receive, with_headers)


#: The most bytes of a request's line and headers, and the most headers.
LARGEST_HEAD: Final = 64 * 1024
MOST_HEADERS: Final = 100

#: The most bytes of a request; forms are limited to less by the pages.
LARGEST_REQUEST: Final = 17_000_000

#: The most requests of a connection that wait for the one before them; browsers let none wait.
MOST_WAITING: Final = 8

#: Seconds for the head of a request, and for a request as a whole: 1 MB at 10 kB/s.
HEAD_SECONDS: Final = 20.0
REQUEST_SECONDS: Final = 100.0

#: Seconds that the site waits for a client which does not read what was sent to it.
READ_SECONDS: Final = 60.0

#: The most connections of one address at a time.
MOST_CONNECTIONS: Final = 500


class JoinedWrites:
    """A connection on which the head and the body of an answer leave together.

    Args:
        transport: the connection.
        loop: the event loop, which writes at its next turn.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - everything else is the connection's own
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write at the next turn of the loop."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        """Write what waits, and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))


class BoundedHttp(HttpToolsProtocol):
    """One connection of a client. The limits are attributes of the class.

    Attributes:
        names: the names of the site; a request that names another host is refused. `None`: any name. An address
            in place of a name is always right: no page of a stranger's site can have it.
        proxies: the networks of reverse proxies, which may have any number of connections, as this computer.
    """

    names: ClassVar[frozenset[str] | None] = None
    proxies: ClassVar[Sequence[IPv4Network | IPv6Network]] = ()
    most_connections: ClassVar[int] = MOST_CONNECTIONS
    of_address: ClassVar[Counter[str]] = Counter()

    head_seconds = HEAD_SECONDS
    request_seconds = REQUEST_SECONDS
    read_seconds = READ_SECONDS

    _begun = False  # a request has begun and is not complete
    _head = True  # its headers are not complete
    _size = 0
    _warned = False  # the time for a head is over, the time for the request is not
    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _address = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request, but not for ever."""
        super().connection_made(JoinedWrites(transport, self.loop))  # type: ignore[arg-type]  # it does what one does
        self._address = network_of(self.client[0]) if self.client else ""
        self.of_address[self._address] += 1
        if self.of_address[self._address] > self.most_connections and not self._may_have_more():
            self._refuse(429)
            return
        self._deadline = self.loop.call_later(self.head_seconds, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the timers."""
        self.of_address[self._address] -= 1
        if not self.of_address[self._address]:
            del self.of_address[self._address]
        self._end_deadline()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a part of a request and check the limits."""
        self._size += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if (self._begun and self._head and self._size > LARGEST_HEAD) or self._size > LARGEST_REQUEST:
            self._refuse(431 if self._head else 413)
        elif not self._begun:
            self._end_deadline()
            self._size = 0
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.head_seconds, self._too_slow)

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        self._begun = self._head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; what follows a body in chunks is dropped."""
        if self._head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Check the head and begin to answer."""
        self._head = False
        if self.transport.is_closing():
            return
        if len(self.pipeline) >= MOST_WAITING:
            self.transport.close()
            return
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > LARGEST_HEAD or len(self.headers) > MOST_HEADERS:
            self._refuse(431)
            return
        hosts = [value for name, value in self.headers if name == b"host"]
        if len(hosts) > 1 or (not hosts and self.parser.get_http_version() == "1.1"):
            self._refuse(400)
            return
        if hosts and self.names is not None and not _is_served(hosts[0], self.names):
            self._refuse(421)
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body, unless the request was refused."""
        if self.cycle is not None and not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that a request is complete."""
        self._begun, self._size = False, 0
        if self.cycle is not None and not self.transport.is_closing():
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request of HTTP."""
        del msg
        self._refuse(400)

    def pause_writing(self) -> None:
        """Wait for a client that does not read, but not for ever."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(self.read_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on after the client has read."""
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()

    def _may_have_more(self) -> bool:
        """Whether the connections of an address are not limited: those of this computer and of reverse proxies."""
        host = self.client[0] if self.client else ""
        return is_here(self._address) or any(ip_address(host) in network for network in self.proxies)

    def _too_slow(self) -> None:
        self._deadline = None
        if self.transport.is_closing():
            return
        if self._begun and not self._head:
            more = self.request_seconds - self.head_seconds
            if more > 0 and not self._warned:
                self._warned = True
                self._deadline = self.loop.call_later(more, self._too_slow)
                return
        if self._begun:
            self._refuse(408)
        else:
            self.transport.close()

    def _end_deadline(self) -> None:
        self._warned = False
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: int) -> None:
        """Answer a request that is refused before the application sees its end, and close the connection."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            said = HTTPStatus(status).phrase.encode()
            headers = {
                "content-type": "text/plain; charset=utf-8",
                "content-length": str(len(said)),
                "connection": "close",
                "cache-control": "no-store",
                **SECURITY_HEADERS,
            }
            head = "".join(f"{name.lower()}: {value}\r\n" for name, value in headers.items())
            self.transport.write(f"HTTP/1.1 {status} {said.decode()}\r\n{head}\r\n".encode("latin-1") + said)
        self.transport.close()


@lru_cache(256)
def _is_served(host: bytes, names: frozenset[str]) -> bool:
    """Whether the header `Host` names this site."""
    try:
        name = urlsplit(f"//{host.decode('ascii')}").hostname or ""
        return name in names or name == "localhost" or bool(ip_address(name))
    except ValueError:
        return False
