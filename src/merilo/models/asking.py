"""Asking a model: a request, its reply, the backend that turns one into the other, and a run of many requests.

A request is complete: it holds the text, the sampling parameters and what ends an answer, so that a backend
needs nothing else and the log can tell whether a request was asked before.

Requests come from a generator, and as many are made at a time as the backend answers together, so memory does
not grow with their number. A dialogue is a generator too: it yields a request, receives the reply, and yields
the next request with it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import Media
from merilo.errors import BackendError, OutputError, argument
from merilo.items import ItemId
from merilo.metrics.answers import FINAL_CHANNEL, THOUGHT_MARKS

if TYPE_CHECKING:
    # Importing Polars takes half a second.
    import polars as pl

    from merilo.models.log_formats import Source
    from merilo.models.run_log import RunLog

Mode: TypeAlias = Literal["generate", "loglikelihood"]
Role: TypeAlias = Literal["system", "user", "assistant"]

#: Why a model stopped: at its end or a stop string; at the limit of tokens; because it (or a filter) refused;
#: the prompt is longer than the model's context; the request failed for good; anything else.
Finish: TypeAlias = Literal["stop", "length", "refusal", "too_long", "failed", "other"]

#: Why a model stopped, in the words of servers and harnesses; any other word means "other".
FINISHES: Final[Mapping[str, Finish]] = MappingProxyType(
    {
        **dict.fromkeys(("stop", "eos_token", "stop_sequence", "end_turn", "completed", "endoftext"), "stop"),
        **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length"), "length"),
        "model_context_window_exceeded": "length",
        **dict.fromkeys(("content_filter", "refusal"), "refusal"),
    }
)


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation.

    Attributes:
        role: who says it.
        parts: texts and media in the order in which they are shown.
    """

    role: Role
    parts: tuple[str | Media, ...]

    @property
    def text(self) -> str:
        """The message as one text; media are named in angle brackets."""
        return "".join(map(str, self.parts))


@dataclass(frozen=True)
class Request:
    """One request to a model.

    Attributes:
        dataset: the name of the dataset.
        item: the id of the item.
        sample: the number of this answer among several to the item, from 1.
        messages: the conversation, for backends that chat.
        prompt: the same as one text, for backends that continue a text and for log-likelihoods.
        choices: with `loglikelihood`, the continuations to compare, in the order of the dataset's labels; else empty.
        stop: the strings that end an answer.
        max_tokens: the most tokens of an answer, thought included; `None` leaves it to the backend.
        temperature: 0 is greedy decoding.
        seed: the seed of sampling, for backends that take one.
    """

    dataset: str
    item: ItemId
    sample: int
    messages: tuple[ChatMessage, ...]
    prompt: str
    choices: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None
    temperature: float = 0.0
    seed: int | None = None

    @property
    def mode(self) -> Mode:
        """Whether the model generates a text, or continuations are compared."""
        return "loglikelihood" if self.choices else "generate"

    @property
    def key(self) -> tuple[str, str, int]:
        """What identifies the request within a run: dataset, item and sample."""
        return self.dataset, str(self.item), self.sample

    @cached_property
    def sha256(self) -> str:
        """The hash of everything that the model is sent, without the names of dataset, item and sample."""
        messages = [
            [
                message.role,
                [part if isinstance(part, str) else [part.field, part.path] for part in message.parts],
            ]
            for message in self.messages
        ]
        asked = [self.prompt, self.choices, self.stop, self.max_tokens, self.temperature, self.seed]
        content = [messages, *asked]
        return sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A model's reply to a request.

    Attributes:
        text: the answer as generated, without thought; empty with `loglikelihood`.
        thought: the text that the model thought before it answered; `None` if it gives none.
        finish: why the model stopped.
        loglikelihoods: the natural logarithm of the probability of each choice; empty with `generate`.
        prompt_tokens: tokens of the request; `None` if the backend does not count them.
        completion_tokens: tokens of the answer with its thought.
        thought_tokens: tokens of the thought.
        seconds: how long the answer took, the attempts that failed included.
        attempts: how many times the request was sent.
        error: what went wrong, if `finish` is `too_long` or `failed`.
        model: the model's name as the backend states it, such as a dated version.
    """

    text: str = ""
    thought: str | None = None
    finish: Finish = "stop"
    loglikelihoods: tuple[float, ...] = ()
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    thought_tokens: int | None = None
    seconds: float = 0.0
    attempts: int = 1
    error: str | None = None
    model: str | None = None


class Replies(NamedTuple):
    """The replies of a model to the items of a dataset, whoever wrote the file.

    Attributes:
        dataset: the dataset.
        table: a row for each reply: `item`, `sample`, and the fields of `ModelReply` that its source states; `usd`;
            `row`, the row of a file; `choices`, the choices or letters as the model saw them, each with the text of its
            option and the label that it stands for, null if they are the item's own.
        source: how the rows of a log or a table were matched to items; `None` for a run.
    """

    dataset: Dataset
    table: pl.DataFrame
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a backend can do.

    Attributes:
        modes: generation, log-likelihood, or both.
        media: the kinds of media that it takes.
        chat: whether it takes a conversation; otherwise it continues `Request.prompt`.
        builtin: whether it is no model but a rule built into Merilo (`merilo.models.builtin_respondents`);
            tables mark it.
    """

    modes: frozenset[Mode]
    media: frozenset[Literal["image", "audio", "video"]] = frozenset()
    chat: bool = True
    builtin: bool = False


class ModelBackend(Protocol):
    """What answers requests.

    A reply that failed for good is a `ModelReply` with `finish` "failed"; `ask` raises only for what ends the
    whole run: a wrong key, an unknown model, a server that cannot be reached (`merilo.errors.BackendError`).
    """

    @property
    def name(self) -> str:
        """The backend's name, such as `openai-chat-completions`."""

    @property
    def model(self) -> str:
        """The model's name, as tables show it."""

    @property
    def abilities(self) -> Abilities:
        """What it can do."""

    @property
    def batch_size(self) -> int:
        """How many requests `ask` should be given at once: 1 for servers."""

    @property
    def concurrency(self) -> int:
        """How many calls of `ask` may run at the same time: 1 for local weights."""

    async def ask(self, requests: Sequence[Request]) -> Sequence[ModelReply]:
        """Answer requests, in their order."""

    async def close(self) -> None:
        """Release connections and memory."""


#: The mark before the thought of a model that thinks in a separate channel.
_ANALYSIS: Final = "<|channel|>analysis<|message|>"
#: The tokens at the end of a text, which some servers leave in the answer.
_END_MARK: Final = re.compile(
    r"<\|(?:endoftext|im_end|eot_id|eom_id|end|return|end_of_text)\|>|<end_of_turn>|<｜end▁of▁sentence｜>|</s>|<eos>"
)


class Thought(NamedTuple):
    """A text, separated.

    Attributes:
        thought: what the model thought; `None` if the text has no marks of thought.
        answer: what follows, without marks and white space at the ends.
    """

    thought: str | None
    answer: str


def split_thought(text: str) -> Thought:
    """Separate thought from the answer.

    The opening mark may be missing, because some chat templates end with it. If the closing mark is missing,
    the model did not come to an answer, and everything after the opening mark is thought.

    Example:
        >>> split_thought("<think>A or B? B.</think> B")
        Thought(thought='A or B? B.', answer='B')
        >>> split_thought("B") == split_thought(" B<|im_end|>") == Thought(None, "B")
        True
    """
    if FINAL_CHANNEL in text:
        before, _, after = text.rpartition(FINAL_CHANNEL)
        return Thought(before.removeprefix(_ANALYSIS).split("<|", 1)[0].strip(), _ended(after))
    if text.startswith(_ANALYSIS):
        return Thought(text.removeprefix(_ANALYSIS).strip(), "")
    thoughts = []
    for opening, closing in THOUGHT_MARKS:
        before, mark, after = text.rpartition(closing)
        if mark:
            first, opened, inside = before.partition(opening)
            # A text before the opening mark is neither thought nor, as a rule, the answer.
            thoughts.append((inside if opened else first).strip())
            text = after if after.strip() or not opened else first
        if opening in text:
            text, _, unfinished = text.partition(opening)
            thoughts.append(unfinished.strip())
    answer = _ended(text)
    return Thought("\n\n".join(filter(None, thoughts)), answer) if thoughts else Thought(None, answer)


def _ended(text: str) -> str:
    return _END_MARK.split(text, maxsplit=1)[0].strip()


_Result = TypeVar("_Result")


class RunInLoop(Protocol):
    """Runs coroutines to their end, one after another, in the same event loop."""

    def __call__(self, work: Coroutine[object, object, _Result], /) -> _Result:
        """Run a coroutine and return its result.

        On Ctrl-C the coroutine is cancelled and `KeyboardInterrupt` raised.
        """


@contextmanager
def event_loop() -> Iterator[RunInLoop]:
    """Open an event loop; in a notebook, whose loop is already running, in a thread of its own.

    Example:
        >>> with event_loop() as run:
        ...     run(asyncio.sleep(0, "done"))
        'done'
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with asyncio.Runner() as runner:
            yield runner.run
        return
    with ThreadPoolExecutor(1) as thread:
        runner = asyncio.Runner()

        def run(work: Coroutine[object, object, _Result], /) -> _Result:
            result = thread.submit(runner.run, work)
            try:
                return result.result()
            except KeyboardInterrupt:
                loop = runner.get_loop()
                loop.call_soon_threadsafe(_cancel_all, loop)
                raise

        try:
            yield run
        finally:
            thread.submit(runner.close).result()


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()


#: Tokens a character of a text that no tokenizer has counted: Russian text takes about one token for two characters.
_TOKENS_A_CHARACTER: Final = 0.5

#: Tokens assumed for an answer without a limit.
UNLIMITED_TOKENS: Final = 4096

_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model in US dollars for a million tokens.

    Attributes:
        prompt: the price of tokens of requests.
        completion: the price of tokens of answers, thought included.
    """

    prompt: float
    completion: float

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Return the price of tokens in US dollars.

        Example:
            >>> Price(2.0, 8.0).of(1000, 500)
            0.006
        """
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / _MILLION


class RunBudget:
    """What a run may cost, and what it has cost so far.

    The limit is known to be passed only when a reply has come: requests that are being answered then still cost.

    Args:
        price: the price of tokens; `None` if it is not known.
        max_usd: the cost after which nothing more is asked.
        usd: what earlier commands of the run cost.

    Attributes:
        usd: what the run has cost; tokens that a reply does not state are estimated.
    """

    def __init__(self, price: Price | None = None, *, max_usd: float | None = None, usd: float = 0.0) -> None:
        self.usd = usd
        self._price = price
        self._max_usd = max_usd

    def add(self, request: Request, reply: ModelReply) -> float | None:
        """Count a reply and return its cost in US dollars; `None` if there is no price or it states no tokens."""
        if self._price is None:
            return None
        tokens = reply.prompt_tokens, reply.completion_tokens
        if tokens != (None, None):
            cost = self._price.of(tokens[0] or 0, tokens[1] or 0)
            self.usd += cost
            return cost
        if reply.finish not in {"failed", "too_long"}:
            prompt = estimated_tokens(request) * max(1, len(request.choices))
            self.usd += self._price.of(prompt, len(reply.text) * _TOKENS_A_CHARACTER)
        return None

    def spent(self) -> str:
        """Return why nothing more may be asked, as the end of a sentence; empty while something may be."""
        if self._max_usd is None or self.usd < self._max_usd:
            return ""
        limit = argument("max_usd", f"{self._max_usd:g}", given=self._max_usd)
        return f"{limit} is reached: ${self.usd:.4f} is spent"


def estimated_tokens(request: Request) -> int:
    """Return the number of tokens that the prompt of a request probably has, without asking a tokenizer."""
    characters = sum(len(message.text) for message in request.messages) or len(request.prompt)
    return round(characters * _TOKENS_A_CHARACTER) or 1


#: A dialogue: it yields requests and receives the reply to each.
Dialogue: TypeAlias = "Generator[Request, ModelReply, None]"

#: What is asked: single requests, and dialogues.
Requests: TypeAlias = "Iterator[Request | Dialogue]"

#: Appended records, and seconds since the last sync, after which the log is synced to the disk.
BATCH: Final = 256
SECONDS: Final = 1.0

#: How long requests that are being answered may take after an error has ended the run.
GRACE_SECONDS: Final = 10.0


@dataclass(slots=True)
class Progress:
    """What a run has done so far.

    Attributes:
        answered: replies received, without those that failed.
        failed: requests that failed for good.
        retried: attempts beyond the first.
        running: requests that are being answered.
        usd: the cost of the whole run in US dollars, earlier commands included.
        stopped: the limit of the budget that ended the run; empty if everything was asked.
    """

    answered: int = 0
    failed: int = 0
    retried: int = 0
    running: int = 0
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


#: Called after each reply.
Watch: TypeAlias = Callable[[Progress], None]


def ask_all(
    backend: ModelBackend,
    requests: Requests,
    log: RunLog,
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
        budget: the limit of cost; by default, there is none.
        watch: called after each reply.
        run: runs coroutines in the event loop of the backend's connections; by default, a new loop.

    Returns:
        What was done. If the budget is spent, `Progress.stopped` says so.

    Raises:
        BackendError: the backend cannot answer at all, or too many requests in a row failed for the same reason.
            Requests that are being answered at that time get ten seconds.
        OutputError: the log cannot be written.
    """
    runner = _Runner(backend, requests, log, budget or RunBudget(), watch, _Failures())
    if run is not None:
        return run(runner.run())
    with event_loop() as own:
        return own(runner.run())


#: A request that is ready to be sent, with the dialogue that it belongs to.
_Turn: TypeAlias = "tuple[Request, Dialogue | None]"

#: Requests in a row that may fail for the same reason.
MOST_FAILURES: Final = 20

#: What differs between equal failures: numbers, and the ids of requests.
_NUMBER: Final = re.compile(r"\w*\d\w*")


@dataclass(slots=True)
class _Failures:
    """Ends a run in which nothing but the same failure comes back, before all its requests are spent on it.

    Replies without a text beside thought are failures as long as no other reply came.
    """

    reason: str = ""
    count: int = 0
    has_text: bool = False

    def add(self, reply: ModelReply) -> None:
        """Count a reply.

        Raises:
            BackendError: it is the last failure that is allowed.
        """
        fault = self._fault(reply)
        if not fault:
            self.count = 0
            return
        reason = _NUMBER.sub("", fault)
        self.count = self.count + 1 if reason == self.reason else 1
        self.reason = reason
        if self.count == MOST_FAILURES:
            if reply.finish == "failed":
                cause = f"{self.count} requests in a row failed for the same reason: {fault}"
                raise BackendError(f"{cause}; the same command resumes the run")
            raise BackendError(f"the first {self.count} replies have no text: {fault}")

    def _fault(self, reply: ModelReply) -> str:
        if reply.finish == "failed":
            return reply.error or "no reason given"
        self.has_text = self.has_text or bool(
            reply.loglikelihoods or split_thought(reply.text).answer.strip()
        )
        if self.has_text or reply.finish not in {"stop", "length"}:
            return ""
        if reply.finish == "stop":
            other = argument("prompts", "merilo", given="merilo")
            return f"they are empty; check the stop strings and the prompt ({other} lets a chat model end its answer)"
        more = f"{argument('max_tokens')}, or with {argument('prompts', 'merilo', given='merilo')}"
        return f"the limit of tokens cut them before an answer; ask with a larger {more}, in another folder"


@dataclass(slots=True)
class _Runner:
    backend: ModelBackend
    requests: Requests
    log: RunLog
    budget: RunBudget
    watch: Watch
    failures: _Failures
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
        working: asyncio.Future[Any] = asyncio.gather(*workers)
        syncing: asyncio.Future[Any] = asyncio.create_task(self._sync())
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
        # Replies that were on their way when the limit was passed have cost more since.
        self.progress.stopped = self.progress.stopped and self.budget.spent()
        return self.progress

    def _stop(self) -> None:
        self.stopping = True
        self.full.set()
        self.settled.set()

    async def _work(self) -> None:
        try:
            while turns := await self._take(max(1, self.backend.batch_size)):
                await self._ask(turns)
        except Exception:
            self._stop()  # at once: the other workers must not send more
            raise
        self.full.set()

    async def _take(self, size: int) -> list[_Turn]:
        """Return the next requests to send together; an empty list if nothing is left or may be asked."""
        while not self.stopping:
            turns: list[_Turn] = []
            while len(turns) < size and (turn := self._next()):
                turns.append(turn)
            if turns and (spent := self.budget.spent()):
                self.progress.stopped = spent
                return []
            if turns or not self.open_dialogues:
                self.open_dialogues += sum(dialogue is not None for _, dialogue in turns)
                return turns
            self.settled.clear()
            await self.settled.wait()
        return []

    def _next(self) -> _Turn | None:
        """Return the next request that needs no earlier reply."""
        if self.ready:
            return self.ready.popleft()
        for asked in self.requests:
            if isinstance(asked, Request):
                return asked, None
            first = next(asked, None)
            if first is not None:
                return first, asked
        return None

    async def _ask(self, turns: list[_Turn]) -> None:
        requests = [request for request, _ in turns]
        self.progress.running += len(turns)
        try:
            replies = await self.backend.ask(requests)
        finally:
            self.progress.running -= len(turns)
        if len(replies) != len(requests):
            count = f"{len(replies)} replies to {len(requests)} requests"
            raise BackendError(f"the backend {self.backend.name} returned {count}")
        try:
            for turn, reply in zip(turns, replies, strict=True):
                self._settle(*turn, reply)
        finally:
            self.settled.set()

    def _settle(self, request: Request, dialogue: Dialogue | None, reply: ModelReply) -> None:
        self.log.append(request, reply, self.budget.add(request, reply))
        if self.log.unsynced >= BATCH:
            self.full.set()
        self.progress.add(reply)
        self.progress.usd = self.budget.usd
        if dialogue is not None:
            self.open_dialogues -= 1
            with suppress(StopIteration):
                self.ready.append((dialogue.send(reply), dialogue))
        self.watch(self.progress)
        # A request that was never sent, such as one with an unreadable picture, says nothing about the backend.
        if reply.attempts:
            self.failures.add(reply)

    async def _sync(self) -> None:
        """Flush the log to the disk after every `BATCH` records or `SECONDS`, beside the event loop."""
        while not self.stopping:
            with suppress(TimeoutError):
                async with asyncio.timeout(SECONDS):
                    await self.full.wait()
            self.full.clear()
            if self.log.unsynced:
                await asyncio.to_thread(self.log.sync)
