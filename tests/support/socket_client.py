"""A small HTTP client for measurements: one connection, one request at a time, and little processor time of its own."""

import asyncio
import re
from dataclasses import dataclass, field
from urllib.parse import urlencode

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_COOKIE = re.compile(rb"\r\nset-cookie: *([^=;\r]+)=([^;\r]*)", re.IGNORECASE)
_LOCATION = re.compile(rb"\r\nlocation: *([^\r]+)", re.IGNORECASE)
_CLOSES = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)
#: Statuses of answers without a body.
_EMPTY = {204, 304}


@dataclass
class Reply:
    """The answer to a request."""

    status: int
    head: bytes
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def location(self) -> str:
        found = _LOCATION.search(self.head)
        return found[1].decode() if found else ""


@dataclass
class Client:
    """A browser's connection to a server on this computer, with its cookies.

    A server that closes the connection after each answer gets a new one for the next request.
    """

    port: int
    cookies: dict[str, str] = field(default_factory=dict)
    _streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str) -> Reply:
        return await self._send("GET", path, b"", "")

    async def post(self, path: str, body: bytes, headers: str) -> Reply:
        return await self._send("POST", path, body, f"{headers}Content-Length: {len(body)}\r\n")

    async def post_form(self, path: str, form: dict[str, str], accept: str = "text/html") -> Reply:
        kind = f"Content-Type: application/x-www-form-urlencoded\r\nAccept: {accept}\r\n"
        return await self.post(path, urlencode(form).encode(), kind)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None

    async def _send(self, method: str, path: str, body: bytes, headers: str) -> Reply:
        if self._streams is None or self._streams[0].at_eof():  # the server closes connections that idle
            self._streams = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22)
        reader, writer = self._streams
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nCookie: {cookies}\r\n{headers}\r\n"
        )
        writer.write(head.encode() + body)
        told = await reader.readuntil(b"\r\n\r\n")
        status, length = int(told[9:12]), _LENGTH.search(told)
        size = 0 if status in _EMPTY else int(length[1]) if length else None
        content = await (reader.read() if size is None else reader.readexactly(size))
        for name, value in _COOKIE.findall(told):
            self.cookies[name.decode()] = value.decode()
        if size is None or _CLOSES.search(told):
            self.close()
        return Reply(status, told, content)


def hidden(page: str, name: str) -> str:
    """The value of a hidden field of a page."""
    found = re.search(rf'name="{name}"[^>]* value="([^"]*)"', page)
    assert found is not None, page
    return found[1]
