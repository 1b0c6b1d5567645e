"""Measure how much time a chat backend and a run with its log add to a bare HTTP client, and whether memory grows.

A server on loopback, in a process of its own, answers after 50 ms. 4,000 requests, 64 at a time, go to it through a bare aiohttp loop and
through `local-chat-completions`, alone and in a run that logs every reply durably, by turns in the same run; the best of the rounds counts. Exit
status 1: the backend or the run takes more than 1.25 times as long, or (with `--all`) memory grows between the 10,000th and the 100,000th request.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from aiohttp import ClientSession, TCPConnector, web

from merilo.models.asking import ChatMessage, Progress, Request, ask_all, event_loop
from merilo.models.backends import open_backend
from merilo.models.run_log import log_path, open_log

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from scripted_server import CHAT, Answers, chat_body

AT_ONCE = 64
ALLOWED_TIMES = 1.25
ALLOWED_GROWTH = 8 << 20
QUESTION = "Вопрос: какое из этих чисел простое?\nA 15\nB 17\nC 21\nD 27\nОтвет:"

One = Callable[[int], Awaitable[None]]


def serve(told: Connection, seconds: float) -> None:
    """Answer every request after some seconds; tell the port."""
    body = json.dumps(chat_body(Answers("B"), "1")).encode()

    async def handle(request: web.Request) -> web.Response:
        await request.read()
        if seconds:
            await asyncio.sleep(seconds)
        return web.Response(body=body, content_type="application/json")

    async def run() -> None:
        application = web.Application()
        application.router.add_post(CHAT, handle)
        runner = web.AppRunner(application)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        told.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(run())


async def timed(one: One, count: int) -> tuple[float, float]:
    """Return the seconds of wall clock and of this process for some requests, 64 at a time."""
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            await one(number)

    wall, own = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return time.perf_counter() - wall, time.process_time() - own


async def bare(url: str, count: int) -> tuple[float, float]:
    """Ask with aiohttp alone: the body is sent, the reply parsed."""
    async with ClientSession(connector=TCPConnector(limit=AT_ONCE)) as session:

        async def one(number: int) -> None:
            content = f"{number} {QUESTION}"
            body = {
                "model": "m",
                "messages": [{"role": "user", "content": content}],
                "max_tokens": 8,
                "temperature": 0.0,
            }
            async with session.post(url + "/chat/completions", json=body) as reply:
                assert json.loads(await reply.read())["choices"][0]["message"]["content"] == "B"

        return await timed(one, count)


async def through_backend(url: str, count: int) -> tuple[float, float]:
    """Ask through the backend."""
    backend = open_backend(
        "local-chat-completions", {"model": "m", "base_url": url, "num_concurrent": str(AT_ONCE)}
    )

    async def one(number: int) -> None:
        content = f"{number} {QUESTION}"
        asked = Request("bps", number, 1, (ChatMessage("user", (content,)),), content, max_tokens=8)
        reply = (await backend.ask([asked]))[0]
        assert (reply.text, reply.finish, reply.prompt_tokens) == ("B", "stop", 7)

    try:
        return await timed(one, count)
    finally:
        await backend.close()


def requests_of(count: int) -> Iterator[Request]:
    """Make requests one at a time, as a run makes them."""
    for number in range(count):
        content = f"{number} {QUESTION}"
        yield Request("bps", number, 1, (ChatMessage("user", (content,)),), content, max_tokens=8)


def through_run(
    url: str, count: int, on_reply: Callable[[Progress], None] = lambda _: None
) -> tuple[float, float]:
    """Ask in a run: every reply is appended to the log and synced to the disk in batches."""
    args = {"model": "m", "base_url": url, "num_concurrent": str(AT_ONCE)}
    with (
        tempfile.TemporaryDirectory(prefix="merilo-bench-") as folder,
        event_loop() as loop,
        open_log(Path(folder)) as log,
    ):
        backend = open_backend("local-chat-completions", args)
        wall, own = time.perf_counter(), time.process_time()
        done = ask_all(backend, requests_of(count), log, watch=on_reply, run=loop)
        log.sync()
        spent = time.perf_counter() - wall, time.process_time() - own
        loop(backend.close())
        assert (done.answered, done.failed) == (count, 0)
        with log_path(Path(folder), "bps").open("rb") as stream:
            assert sum(1 for _ in stream) == count
    return spent


def run_growth(url: str) -> int:
    """Return by how many bytes memory grew between the 10,000th and the 100,000th request of a run."""
    held = 0

    def on_reply(progress: Progress) -> None:
        nonlocal held
        if progress.answered == 10_000:
            held = resident()

    through_run(url, 100_000, on_reply)
    return resident() - held


def resident() -> int:
    """Return the bytes of memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


async def growth(url: str) -> int:
    """Return by how many bytes memory grew between the 10,000th and the 100,000th request."""
    backend = open_backend(
        "local-chat-completions", {"model": "m", "base_url": url, "num_concurrent": str(AT_ONCE)}
    )
    held = 0

    async def one(number: int) -> None:
        nonlocal held
        asked = Request("bps", number, 1, (ChatMessage("user", (QUESTION,)),), QUESTION, max_tokens=8)
        await backend.ask([asked])
        if number == 10_000:
            held = resident()

    try:
        await timed(one, 100_000)
        return resident() - held
    finally:
        await backend.close()


def with_server(seconds: float, use: Callable[[str], int]) -> int:
    """Run something while a server answers after some seconds."""
    mine, its = multiprocessing.Pipe()
    process = multiprocessing.Process(target=serve, args=(its, seconds), daemon=True)
    process.start()
    try:
        return use(f"http://127.0.0.1:{mine.recv()}/v1")
    finally:
        process.terminate()
        process.join()


def compare(url: str, count: int, rounds: int) -> int:
    """Compare both clients, and return the exit status."""
    clients: dict[str, Callable[[], tuple[float, float]]] = {
        "bare aiohttp": lambda: asyncio.run(bare(url, count)),
        "local-chat-completions": lambda: asyncio.run(through_backend(url, count)),
        "a run with its log": lambda: through_run(url, count),
    }
    through_run(url, AT_ONCE)  # imports and first connections
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in clients}
    for _ in range(rounds):
        for name, client in clients.items():
            found[name].append(client())
    best = {name: min(each) for name, each in found.items()}
    for name, (wall, own) in best.items():
        print(f"{name:24} {wall:6.2f} s, {own / count * 1e6:5.0f} µs of processor time a request")
    print(f"ideal {count * 0.05 / AT_ONCE:.2f} s")
    (alone, _), *others = best.values()
    times = [wall / alone for wall, _ in others]
    for name, one in zip(list(best)[1:], times, strict=True):
        print(f"{name} takes {one:.2f} times as long as a bare client (allowed: {ALLOWED_TIMES})")
    return int(max(times) > ALLOWED_TIMES)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--all", action="store_true", help="also 100,000 requests, for the memory")
    options = parser.parse_args()
    status = with_server(0.05, lambda url: compare(url, options.requests, options.rounds))
    if options.all:
        for name, grow in (("the backend", lambda url: asyncio.run(growth(url))), ("a run", run_growth)):
            grown = with_server(0.0, grow)
            print(
                f"memory of {name} grew by {grown / 2**20:.1f} MiB between 10,000 and 100,000 requests (allowed: {ALLOWED_GROWTH >> 20})"
            )
            status |= int(grown > ALLOWED_GROWTH)
    return status


if __name__ == "__main__":
    sys.exit(main())
