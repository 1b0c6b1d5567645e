"""Send the requests of a run to a backend, many at a time, and log every reply as it arrives.

Requests come from a generator, and as many are made at a time as the backend answers together, so memory does not grow with their
number. A dialogue is a generator too: it yields a request, receives the reply, and yields the next request with it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from merilo.errors import BackendError, OutputError
from merilo.models.asking import ModelBackend, ModelReply, Request
from merilo.models.event_loop import RunInLoop, event_loop
from merilo.models.run_budget import RunBudget

#: A dialogue: it yields requests and receives the reply to each.
Dialogue: TypeAlias = "Generator[Request, ModelReply, None]"

#: What is asked: single requests, and dialogues.
Requests: TypeAlias = "Iterator[Request | Dialogue]"

#: Appended records, and seconds since the last sync, after which the log is synced to the disk.
BATCH: Final = 256
SECONDS: Final = 1.0

#: How long requests that are being answered may take after an error has ended the run.
GRACE_SECONDS: Final = 10.0


class ReplyLog(Protocol):
    """Where replies are kept: `merilo.models.run_log.RunLog`."""

    unsynced: int

    def append(self, request: Request, reply: ModelReply, cost: float | None = None) -> None:
        """Append a reply."""

    def sync(self) -> None:
        """Flush all replies to the disk."""


@dataclass(slots=True)
class Progress:
    """What a run has done so far.

    Attributes:
        answered: replies received, without those that failed.
        failed: requests that failed for good.
        retried: attempts beyond the first.
        running: requests that are being answered.
        prompt_tokens: tokens of the requests.
        completion_tokens: tokens of the answers.
        usd: the cost of the whole run in US dollars, earlier commands included.
        stopped: the limit of the budget that ended the run; empty if everything was asked.
    """

    answered: int = 0
    failed: int = 0
    retried: int = 0
    running: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0
    stopped: str = ""

    def add(self, reply: ModelReply) -> None:
        """Count a reply."""
        if reply.finish == "failed":
            self.failed += 1
        else:
            self.answered += 1
        # A request that could not be made, such as one with an unreadable picture, has no attempt.
        self.retried += max(0, reply.attempts - 1)
        self.prompt_tokens += reply.prompt_tokens or 0
        self.completion_tokens += reply.completion_tokens or 0


#: Called after each reply.
Watch: TypeAlias = Callable[[Progress], None]


def ask_all(
    backend: ModelBackend,
    requests: Requests,
    log: ReplyLog,
    budget: RunBudget | None = None,
    *,
    watch: Watch = lambda _: None,
    run: RunInLoop | None = None,
) -> Progress:
    """Ask everything and log every reply.

    Args:
        backend: what answers; its `batch_size` and `concurrency` say how many requests are sent together and at a time.
        requests: single requests and dialogues.
        log: where replies are kept.
        budget: the limits of cost and requests; by default, there are none.
        watch: called after each reply.
        run: runs coroutines in the event loop of the backend's connections; by default, a new loop.

    Returns:
        What was done. If the budget did not allow the next request, `Progress.stopped` says so.

    Raises:
        BackendError: the backend cannot answer at all. Requests that are being answered at that time get ten seconds.
        OutputError: the log cannot be written.
    """
    runner = _Runner(backend, requests, log, budget or RunBudget(), watch)
    if run is not None:
        return run(runner.run())
    with event_loop() as own:
        return own(runner.run())


@dataclass(frozen=True, slots=True)
class _Turn:
    """A request that is ready to be sent, with the dialogue that it belongs to."""

    request: Request
    dialogue: Dialogue | None = None


@dataclass(slots=True)
class _Runner:
    backend: ModelBackend
    requests: Requests
    log: ReplyLog
    budget: RunBudget
    watch: Watch
    progress: Progress = field(default_factory=Progress)
    ready: deque[_Turn] = field(default_factory=deque)
    #: Dialogues whose request is being answered.
    open_dialogues: int = 0
    stopping: bool = False
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    full: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> Progress:
        """Ask everything."""
        workers = [asyncio.create_task(self._work()) for _ in range(max(1, self.backend.concurrency))]
        working, syncing = asyncio.create_task(_all(workers)), asyncio.create_task(self._sync())
        try:
            await asyncio.wait([working, syncing], return_when=asyncio.FIRST_COMPLETED)
            # After an error, requests that are being answered may still end.
            self._stop()
            await asyncio.wait(workers, timeout=GRACE_SECONDS)
        finally:
            self._stop()
            for task in workers:
                task.cancel()
            ended = await asyncio.gather(working, *workers, syncing, return_exceptions=True)
        for error in ended:
            if isinstance(error, BaseException) and not isinstance(error, asyncio.CancelledError):
                with suppress(OutputError):
                    self.log.sync()
                raise error
        self.log.sync()
        return self.progress

    def _stop(self) -> None:
        self.stopping = True
        self.full.set()
        self.settled.set()

    async def _work(self) -> None:
        size = max(1, self.backend.batch_size)
        while turns := await self._take(size):
            await self._ask(turns)
        self.full.set()

    async def _take(self, size: int) -> list[_Turn]:
        """Return the next requests to send together; an empty list if nothing is left."""
        while not self.stopping:
            turns: list[_Turn] = []
            while len(turns) < size and (turn := self._next()):
                turns.append(turn)
            if turns or not self.open_dialogues:
                self.open_dialogues += sum(turn.dialogue is not None for turn in turns)
                return turns
            await self._next_reply()
        return []

    def _next(self) -> _Turn | None:
        """Return the next request that needs no earlier reply."""
        if self.ready:
            return self.ready.popleft()
        for one in self.requests:
            if isinstance(one, Request):
                return _Turn(one)
            first = next(one, None)
            if first is not None:
                return _Turn(first, one)
        return None

    async def _next_reply(self) -> None:
        self.settled.clear()
        await self.settled.wait()

    async def _reserve(self, requests: list[Request]) -> tuple[float, ...] | None:
        """Reserve the budget; while other requests are being answered, their true cost may make room."""
        while (estimates := self.budget.reserve(requests)) is None:
            if self.stopping or not self.budget.running:
                return None
            await self._next_reply()
        return estimates

    async def _ask(self, turns: list[_Turn]) -> None:
        requests = [turn.request for turn in turns]
        estimates = await self._reserve(requests)
        if estimates is None and len(turns) > 1:
            # The requests may fit one by one.
            self.ready.extend(turns[1:])
            self.open_dialogues -= sum(turn.dialogue is not None for turn in turns[1:])
            turns, requests = turns[:1], requests[:1]
            estimates = await self._reserve(requests)
        if estimates is None:
            self.progress.stopped = self.progress.stopped or self.budget.exhausted()
            self._stop()
            return
        self.progress.running = self.budget.running
        settled = 0
        try:
            replies = await self.backend.ask(requests)
            if len(replies) != len(requests):
                raise BackendError(
                    f"the backend {self.backend.name} returned {len(replies)} replies to {len(requests)} requests"
                )
            for turn, reply, estimate in zip(turns, replies, estimates, strict=True):
                settled += 1
                self._settle(turn, reply, estimate)
        finally:
            self.budget.release(estimates[settled:])
            self.settled.set()

    def _settle(self, turn: _Turn, reply: ModelReply, estimate: float) -> None:
        cost = self.budget.settle(turn.request, reply, estimate)
        self.log.append(turn.request, reply, cost)
        if self.log.unsynced >= BATCH:
            self.full.set()
        self.progress.add(reply)
        self.progress.usd, self.progress.running = self.budget.usd, self.budget.running
        if turn.dialogue is not None:
            self.open_dialogues -= 1
            with suppress(StopIteration):
                self.ready.append(_Turn(turn.dialogue.send(reply), turn.dialogue))
        self.watch(self.progress)

    async def _sync(self) -> None:
        """Flush the log to the disk after every `BATCH` records or `SECONDS`, beside the event loop."""
        while not self.stopping:
            with suppress(TimeoutError):
                async with asyncio.timeout(SECONDS):
                    await self.full.wait()
            self.full.clear()
            if self.log.unsynced:
                await asyncio.to_thread(self.log.sync)


async def _all(tasks: Sequence[asyncio.Task[None]]) -> None:
    await asyncio.gather(*tasks)
