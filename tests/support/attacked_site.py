"""A real server process under attack: what it prints goes into a file, and requests may be any bytes."""

import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from site_process import running_site

from merilo.site.bounded_http import SECURITY_HEADERS

#: What must not be in an answer or in what the server prints.
TRACES = ("Traceback", 'File "', '.py", line', "sqlalchemy", "sqlite3.", "psycopg")


@dataclass(frozen=True)
class AttackedSite:
    """A running server.

    Attributes:
        address: its address.
        paths: the path of each group's pages.
        process: the process.
        log: the file of what it prints.
    """

    address: str
    paths: dict[str, str]
    process: subprocess.Popen
    log: Path

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        parts = urlsplit(self.address)
        return str(parts.hostname), int(parts.port or 0)

    def send(self, request: bytes, *, then_close: bool = False) -> bytes:
        """Send any bytes and return everything that comes back until the server closes or is silent."""
        with socket.create_connection(self.place, timeout=30.0) as opened:
            try:
                opened.sendall(request)
                if then_close:
                    opened.shutdown(socket.SHUT_WR)
            except OSError:  # the server has closed the connection after its answer
                pass
            try:
                return read_answer(opened)
            except ConnectionResetError:
                return b""

    def complaints(self) -> str:
        """What the server has printed that a stranger must not be able to cause."""
        text = self.log.read_text("utf-8", "replace")
        return text if any(trace in text for trace in TRACES) or "Exception" in text else ""


def read_answer(opened: socket.socket) -> bytes:
    """Read one answer of HTTP; what was read so far if the connection ends."""
    got = b""
    waiting = b"HTTP/1.1 100 Continue\r\n\r\n"
    while b"\r\n\r\n" not in got:
        more = opened.recv(65536)
        if not more:
            return got
        got = (got + more).removeprefix(waiting)
    head, _, body = got.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    while length is not None and len(body) < int(length[1]):
        more = opened.recv(65536)
        if not more:
            break
        body += more
    return head + b"\r\n\r\n" + body


def status_of(answer: bytes) -> int:
    """The status of an answer; 0 if the connection was closed without one."""
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def check_answer(answer: bytes) -> None:
    """An answer has the headers of security and tells nothing about the server."""
    head = answer.partition(b"\r\n\r\n")[0].decode("latin-1").lower()
    for name, value in SECURITY_HEADERS.items():
        assert head.count(f"\r\n{name.lower()}: {value.lower()}") == 1, (name, head)
    assert "uvicorn" not in head
    assert "cache-control: " in head
    text = answer.decode("utf-8", "replace")
    assert not [trace for trace in TRACES if trace in text]


@contextmanager
def attacked_site(study: Path, log: Path, *options: str) -> Iterator[AttackedSite]:
    """A server process whose complaints go into a file."""
    with (
        log.open("wb") as printed,
        running_site(study, *options, errors=printed) as (address, paths, process),
    ):
        yield AttackedSite(address, paths, process, log)
