"""A small HTTP client for measurements, and people who answer with it and send again what was not acknowledged."""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
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
    """A browser's connection to a server on this computer, with its cookies: one request at a time, little processor time of its own.

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


def processor_seconds(pid: int) -> float:
    """The processor time of a process so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


#: What a lost connection looks like to a browser, and the seconds before a person tries again and how often they do.
LOST = (OSError, asyncio.IncompleteReadError)
AGAIN, TRIES = 0.1, 1500


@dataclass
class PatientPerson:
    """A person who comes with a platform's id and answers until there is nothing left.

    Attributes:
        client: the person's browser.
        path: the path of the study, `/s/KEY/`.
        number: the id that the platform hands over.
        answer: what the person answers, by the task's id.
        acknowledged: called after every answer that the server acknowledged.
        kept: task -> the answer that the server acknowledged.
    """

    client: Client
    path: str
    number: str
    answer: Callable[[str], str]
    acknowledged: Callable[[], None]
    kept: dict[str, str] = field(default_factory=dict)

    async def take_part(self) -> None:
        """Answer every task that the server gives."""
        page = await self._page(f"{self.path}?worker_id={self.number}")
        for step in ("consent", "instruction"):
            if f"{self.path}{step}" in page:
                await self._sent(step, {"token": hidden(page, "token")})
                page = await self._page(self.path)
        while 'name="task"' in page or f'href="{self.path}task"' in page:  # the link says "try again"
            if 'name="task"' in page:
                task = hidden(page, "task")
                form = {"token": hidden(page, "token"), "task": task, "answer": self.answer(task)}
                reply = await self._sent("task", form)
                assert reply.status == 303, (reply.status, reply.text)
                if reply.location == f"{self.path}task":
                    self.kept[task] = form["answer"]
                    self.acknowledged()
            else:
                await asyncio.sleep(AGAIN)
            page = await self._page(f"{self.path}task")
        self.client.close()

    async def _page(self, path: str) -> str:
        """A page, after its redirects."""
        reply = await self._answered(lambda: self.client.get(path))
        return await self._page(reply.location) if reply.location else reply.text

    async def _sent(self, step: str, form: dict[str, str]) -> Reply:
        return await self._answered(lambda: self.client.post_form(f"{self.path}{step}", form))

    async def _answered(self, send: Callable[[], Awaitable[Reply]]) -> Reply:
        for _ in range(TRIES):
            try:
                reply = await send()
                if reply.status < 500:
                    return reply
            except LOST:
                self.client.close()
            await asyncio.sleep(AGAIN)
        raise AssertionError("the server does not answer")
