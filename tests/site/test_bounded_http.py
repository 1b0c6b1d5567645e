"""Clients that send or read slowly, or without end, do not hold the server's connections and memory."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import httpx
import pytest
import uvicorn
from attacked_site import check_answer, read_answer, status_of
from site_in_process import hidden, opened_site
from site_process import served_site
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from merilo.site.app import make_app
from merilo.site.bounded_http import LARGEST_REQUEST, BoundedHttp
from merilo.site.serving import SERVER, invite_to_site
from merilo.site.visitor_limits import WaitingBodies
from merilo.studies.study_folder import StudyFolder


class Impatient(BoundedHttp):
    most_connections = 8
    head_seconds = 0.3
    request_seconds = 0.6
    read_seconds = 0.3


LEFT = threading.Event()


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers after the whole request, with its size; at /endless it sends until the client is gone."""
    size, more, gone = 0, True, False
    while more:
        message = await receive()
        gone = message["type"] == "http.disconnect"
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    if gone:
        return
    headers = [(b"content-length", b"%d" % len(str(size)))] if scope["path"] == "/" else []
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    while scope["path"] == "/endless" and not LEFT.is_set():
        await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
        if (await _peek(receive)) == "http.disconnect":
            LEFT.set()
            return
    await send({"type": "http.response.body", "body": str(size).encode()})


async def _peek(receive: Receive) -> str:
    import asyncio

    try:
        return str((await asyncio.wait_for(receive(), 0.001))["type"])
    except TimeoutError:
        return ""


@pytest.fixture(scope="module")
def place() -> Iterator[tuple[str, int]]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        server = uvicorn.Server(uvicorn.Config(app, http=Impatient, lifespan="off", **SERVER))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield listener.getsockname()
        server.should_exit = True
        thread.join(timeout=30)
        assert not thread.is_alive()


def trickle(opened: socket.socket, byte: bytes) -> bytes:
    """Send a byte now and then until the server answers or closes."""
    opened.settimeout(0.05)
    while True:
        try:
            opened.sendall(byte)
            return read_answer(opened)
        except TimeoutError:
            continue
        except (BrokenPipeError, ConnectionResetError):
            return b""


@pytest.mark.parametrize("begin", [b"", b"GET / HTTP/1.1\r\nX: ", b"GET /"])
def test_a_head_that_never_ends_is_not_waited_for(place: tuple[str, int], begin: bytes) -> None:
    with socket.create_connection(place, timeout=30) as opened:
        opened.sendall(begin)
        answer = read_answer(opened)
        if begin:
            assert status_of(answer) == 408
            check_answer(answer)
        else:
            assert answer == b""


def test_a_head_that_comes_byte_by_byte_is_refused(place: tuple[str, int]) -> None:
    with socket.create_connection(place, timeout=30) as opened:
        opened.sendall(b"GET / HTTP/1.1\r\nX: ")
        assert status_of(trickle(opened, b"a")) in {0, 408}


def test_a_body_that_comes_byte_by_byte_is_refused(place: tuple[str, int]) -> None:
    with socket.create_connection(place, timeout=30) as opened:
        opened.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n")
        assert status_of(trickle(opened, b"a")) in {0, 408}


def test_a_body_may_take_longer_than_a_head_and_the_connection_is_used_again(place: tuple[str, int]) -> None:
    with socket.create_connection(place, timeout=30) as opened:
        for _ in range(2):
            opened.settimeout(0.4)
            opened.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
            with pytest.raises(TimeoutError):
                opened.recv(1)
            opened.settimeout(30)
            opened.sendall(b"def")
            assert read_answer(opened).endswith(b"\r\n\r\n6")


def test_trailers_without_end_are_dropped_and_limited(place: tuple[str, int]) -> None:
    with socket.create_connection(place, timeout=30) as opened:
        opened.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n")
        sent = 0
        try:
            while sent < 2 * LARGEST_REQUEST:
                opened.sendall(b"a:b\r\n" * 20_000)
                sent += 100_000
        except OSError:
            pass
        assert sent < 2 * LARGEST_REQUEST


def test_a_client_that_does_not_read_is_left(place: tuple[str, int]) -> None:
    with socket.create_connection(place, timeout=30) as opened:
        opened.sendall(b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n")
        assert LEFT.wait(30)


def test_forms_are_refused_while_too_many_others_wait(frozen: Callable[..., StudyFolder]) -> None:
    with opened_site(frozen()) as site:
        waiting = WaitingBodies(make_app(site), largest=1000)
        with TestClient(waiting) as client:
            token = hidden(client.get("/").text, "token")
            assert client.post("/enter", data={"token": token, "code": "a"}).status_code == 404
            refused = client.post("/enter", data={"token": token, "code": "a" * 1000})
            assert (refused.status_code, refused.headers["Retry-After"]) == (429, "5")
            assert "<h1>" in refused.text
            assert waiting.size == 0
            waiting.size = 990
            assert client.post("/enter", data={"token": token, "code": "a"}).status_code == 429
            assert client.get("/").status_code == 200
            waiting.size = 0
            assert client.post("/enter", data={"token": token, "code": "a"}).status_code == 404


def test_unfinished_forms_of_one_address_do_not_block_others(frozen: Callable[..., StudyFolder]) -> None:
    folder = frozen().path
    ((_, link),) = invite_to_site(folder)
    with served_site(folder) as (address, _), ExitStack() as attack:
        host, port = address.removeprefix("http://").split(":")
        head = "POST /enter HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.9\r\nContent-Length: 1000001\r\n\r\n"
        for _ in range(136):
            opened = attack.enter_context(socket.create_connection((host, int(port)), timeout=30))
            with suppress(OSError):  # refused
                opened.sendall(head.encode() + b"a" * 1_000_000)
        with httpx.Client(base_url=address, headers={"X-Forwarded-For": "203.0.113.10"}, timeout=30) as other:
            form = {"token": hidden(other.get("/").text, "token"), "code": link.rsplit("/", 1)[1]}
            # While the server reads what was sent, and afterwards.
            statuses = {other.post("/enter", data=form).status_code for _ in range(300)}
        assert statuses == {303}


def test_one_address_has_so_many_connections_and_not_more(
    place: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Impatient, "_may_have_more", lambda _: False)
    with ExitStack() as attack:
        for _ in range(8):
            attack.enter_context(socket.create_connection(place, timeout=30)).sendall(b"GET")
        with socket.create_connection(place, timeout=30) as one:
            assert status_of(read_answer(one)) == 429
    monkeypatch.undo()
    with socket.create_connection(place, timeout=30) as one:
        one.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert status_of(read_answer(one)) == 200
