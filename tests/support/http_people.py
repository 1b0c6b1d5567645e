"""Simulated people who answer on the annotation site over HTTP, and send again what was not acknowledged."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from urllib.parse import urlencode, urlsplit

#: What a lost connection looks like to a browser.
LOST = (OSError, asyncio.IncompleteReadError, ValueError)

#: Seconds before a person tries again, and how often they do.
AGAIN = 0.1
TRIES = 1500


@dataclass(frozen=True)
class Reply:
    """An answer of the server: its status, the address that it leads to, and its page."""

    status: int
    location: str
    text: str

    def hidden(self, name: str) -> str:
        """Return a hidden field of the page's form; an empty text if it has none."""
        found = re.search(rf'name="{name}" value="([^"]*)"', self.text)
        return html.unescape(found[1]) if found else ""


class Browser:
    """One browser: its connections and its cookies. A request goes to one of the servers, at random.

    Args:
        servers: the addresses; a server that does not answer is tried again, or another one.
        seed: of the choice between servers.
    """

    def __init__(self, servers: Sequence[str], seed: object) -> None:
        self._servers = servers
        self._random = Random(str(seed))
        self._cookies: dict[str, tuple[str, str]] = {}
        self._open: dict[str, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}

    async def get(self, path: str) -> Reply:
        """Fetch a page until a server sends it, and follow its redirects."""
        reply = await self._until_answered("GET", path, "")
        while reply.location:
            reply = await self._until_answered("GET", reply.location, "")
        return reply

    async def post(self, path: str, form: Mapping[str, str]) -> Reply:
        """Send a form until a server acknowledges it; a redirect is not followed."""
        return await self._until_answered("POST", path, urlencode(form))

    def close(self) -> None:
        """Close the connections."""
        for _, writer in self._open.values():
            writer.close()
        self._open.clear()

    async def _until_answered(self, method: str, path: str, body: str) -> Reply:
        for _ in range(TRIES):
            server = self._random.choice(self._servers)
            try:
                reply = await self._once(server, method, path, body)
            except LOST:
                if server in self._open:
                    self._open.pop(server)[1].close()
            else:
                if reply.status < 500:
                    return reply
            await asyncio.sleep(AGAIN)
        raise AssertionError(f"no server answers {method} {path}")

    async def _once(self, server: str, method: str, path: str, body: str) -> Reply:
        if server not in self._open:
            at = urlsplit(server)
            self._open[server] = await asyncio.open_connection(at.hostname, at.port)
        reader, writer = self._open[server]
        cookies = "; ".join(
            f"{name}={value}" for name, (value, where) in self._cookies.items() if path.startswith(where)
        )
        form = "Content-Type: application/x-www-form-urlencoded\r\n" if body else ""
        writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAccept-Language: ru\r\nCookie: {cookies}\r\n{form}"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        length, location = 0, ""
        for line in head[1:]:
            name, _, value = line.partition(": ")
            match name.lower():
                case "content-length":
                    length = int(value)
                case "location":
                    location = value
                case "set-cookie":
                    self._keep(value)
        page = await reader.readexactly(length)
        return Reply(int(head[0].split()[1]), location, page.decode())

    def _keep(self, cookie: str) -> None:
        pair, *more = cookie.split("; ")
        name, _, value = pair.partition("=")
        path = next((one.partition("=")[2] for one in more if one.lower().startswith("path=")), "/")
        self._cookies[name] = value, path


@dataclass
class HttpPerson:
    """A person who comes with a platform's id and answers until there is nothing left.

    Args:
        browser: the person's browser.
        path: the path of the study, `/s/KEY/`.
        number: the id that the platform hands over.
        answer: what the person answers, by the task's id.
        acknowledged: called after every answer that the server acknowledged.
        most: the person closes the browser with a task before them after so many answers.

    Attributes:
        seen: the tasks in the order in which they were shown.
        kept: task -> the answer that the server acknowledged.
    """

    browser: Browser
    path: str
    number: str
    answer: Callable[[str], str]
    acknowledged: Callable[[], None] = lambda: None
    most: int | None = None
    seen: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)

    async def take_part(self) -> None:
        """Answer every task that the server gives."""
        page = await self.browser.get(f"{self.path}?worker_id={self.number}")
        for step in ("consent", "instruction"):
            if f"{self.path}{step}" in page.text:
                await self.browser.post(f"{self.path}{step}", {"token": page.hidden("token")})
                page = await self.browser.get(self.path)
        for _ in range(100_000):
            task = page.hidden("task")
            if not task:
                if f'href="{self.path}task"' not in page.text:  # no "try again": there is nothing left
                    break
                await asyncio.sleep(AGAIN)
            else:
                if task not in self.seen[-1:]:
                    self.seen.append(task)
                if self.most is not None and len(self.kept) >= self.most:
                    break
                form = {"token": page.hidden("token"), "task": task, "answer": self.answer(task)}
                reply = await self.browser.post(f"{self.path}task", form)
                assert reply.status == 303, (reply.status, reply.text)
                if reply.location == f"{self.path}task":
                    self.kept[task] = form["answer"]
                    self.acknowledged()
            page = await self.browser.get(f"{self.path}task")
        self.browser.close()
