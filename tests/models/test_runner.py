"""Requests are sent many at a time, and every reply is kept."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from merilo.errors import BackendError, OutputError
from merilo.models.asking import Abilities, ModelReply, Request
from merilo.models.runner import Dialogue, Price, RunBudget, ask_all


@dataclass
class Backend:
    """A backend in this process; it notes how many calls run at a time and which requests came together."""

    batch_size: int = 1
    concurrency: int = 4
    failing: frozenset[str] = frozenset()
    dead: frozenset[str] = frozenset()
    tokens: int | None = None
    name: str = "fake"
    model: str = "fake"
    abilities: Abilities = field(default_factory=lambda: Abilities(frozenset({"generate"})))
    batches: list[list[str]] = field(default_factory=list)
    running: int = 0
    most: int = 0

    async def ask(self, requests: Sequence[Request]) -> Sequence[ModelReply]:
        self.batches.append([str(one.item) for one in requests])
        self.running += 1
        self.most = max(self.most, self.running)
        # Requests with shorter names are answered first.
        for _ in range(len(str(requests[0].item))):
            await asyncio.sleep(0)
        self.running -= 1
        if self.dead & {str(one.item) for one in requests}:
            raise BackendError("nothing answers at this address")
        return [self.reply(one) for one in requests]

    def reply(self, request: Request) -> ModelReply:
        if str(request.item) in self.failing:
            return ModelReply(finish="failed", error="HTTP 500", attempts=3)
        return ModelReply(
            text=f"to {request.prompt}", prompt_tokens=self.tokens, completion_tokens=self.tokens
        )

    async def close(self) -> None:
        """Nothing is open."""


@dataclass
class Log:
    """A log in memory."""

    kept: list[tuple[str, str, float | None]] = field(default_factory=list)
    unsynced: int = 0
    synced: int = 0
    room: int = 10**9

    def append(self, request: Request, reply: ModelReply, cost: float | None = None) -> None:
        if len(self.kept) >= self.room:
            raise OutputError("the log cannot be written (No space left on device)")
        self.kept.append((str(request.item), reply.text, cost))
        self.unsynced += 1

    def sync(self) -> None:
        self.unsynced, self.synced = 0, len(self.kept)

    @property
    def items(self) -> list[str]:
        return [item for item, _, _ in self.kept]


def request(item: str, prompt: str = "?", **more: object) -> Request:
    return Request("lcs", item, 1, (), prompt, **more)  # type: ignore[arg-type]


def requests(count: int, **more: object) -> Iterator[Request]:
    return (request(str(number), **more) for number in range(count))


def test_every_request_is_answered_once_and_synced() -> None:
    log, backend = Log(), Backend()
    done = ask_all(backend, requests(300), log)
    assert sorted(log.items, key=int) == [str(number) for number in range(300)]
    assert (done.answered, done.failed, done.running, log.synced) == (300, 0, 0, 300)


def test_no_more_calls_run_at_a_time_than_the_backend_takes() -> None:
    backend = Backend(concurrency=7)
    ask_all(backend, requests(100), Log())
    assert backend.most == 7


def test_requests_are_made_only_when_they_can_be_sent() -> None:
    made: list[int] = []

    def source() -> Iterator[Request]:
        for number in range(1000):
            made.append(number)
            assert len(made) - len(log.kept) <= 2 * 4
            yield request(str(number))

    log = Log()
    ask_all(Backend(concurrency=4, batch_size=2), source(), log)
    assert len(made) == len(log.kept) == 1000


def test_a_backend_with_batches_is_given_full_batches() -> None:
    backend = Backend(concurrency=1, batch_size=8)
    ask_all(backend, requests(20), Log())
    assert [len(batch) for batch in backend.batches] == [8, 8, 4]


def dialogue(name: str, turns: int, heard: list[str]) -> Dialogue:
    before = ""
    for turn in range(turns):
        reply = yield request(f"{name}{turn}", prompt=before + str(turn))
        heard.append(f"{name}: {reply.text}")
        if reply.finish == "failed":
            return
        before += reply.text + ", "


def test_turns_of_a_dialogue_are_asked_in_order_with_the_earlier_answers_and_dialogues_in_parallel() -> None:
    heard: list[str] = []
    backend = Backend(concurrency=2)
    log = Log()
    ask_all(backend, iter([dialogue("a", 3, heard), dialogue("b", 3, heard), *requests(3)]), log)
    assert [text for text in heard if text.startswith("a")] == [
        "a: to 0",
        "a: to to 0, 1",
        "a: to to 0, to to 0, 1, 2",
    ]
    assert [item for item in log.items if item.startswith("b")] == ["b0", "b1", "b2"]
    assert backend.most == 2
    assert len(log.kept) == 9


def test_a_dialogue_ends_at_a_turn_that_fails_and_the_others_go_on() -> None:
    log = Log()
    done = ask_all(
        Backend(failing=frozenset({"a1"})), iter([dialogue("a", 4, []), dialogue("b", 4, [])]), log
    )
    assert [item for item in log.items if item.startswith("a")] == ["a0", "a1"]
    assert [item for item in log.items if item.startswith("b")] == ["b0", "b1", "b2", "b3"]
    assert (done.failed, done.answered, done.retried) == (1, 5, 2)


def test_a_backend_that_cannot_answer_ends_the_run_and_replies_on_their_way_are_kept() -> None:
    log = Log()
    with pytest.raises(BackendError, match="nothing answers"):
        ask_all(
            Backend(concurrency=3, dead=frozenset({"1"})),
            iter([request("0"), request("1"), request("2-is-slow"), *requests(9)]),
            log,
        )
    assert {"0", "2-is-slow"} <= set(log.items)
    assert log.synced == len(log.kept)


def test_the_limit_of_cost_is_not_passed_with_many_requests_running() -> None:
    log = Log()
    budget = RunBudget(Price(1.0, 10.0), max_usd=0.01)
    done = ask_all(Backend(concurrency=16, tokens=80), requests(1000, max_tokens=100), log, budget)
    spent = sum(cost or 0.0 for _, _, cost in log.kept)
    assert spent == pytest.approx(done.usd)
    assert 0.0075 < done.usd <= 0.01
    assert "max_usd" in done.stopped


def test_the_limit_of_cost_holds_for_the_first_requests_whose_tokens_nobody_knows() -> None:
    """Russian text of a byte-level tokenizer has two tokens a character, and a picture has tokens without characters."""

    class Tokens(Backend):
        async def ask(self, requests: Sequence[Request]) -> Sequence[ModelReply]:
            await asyncio.sleep(0)
            counts = [len(one.prompt.encode()) + (3000 if one.item == "picture" else 0) for one in requests]
            return [ModelReply(text="x", prompt_tokens=count, completion_tokens=1) for count in counts]

    for item in ("text", "picture"):
        asked = (Request("lcs", item, n, (), "Сколько " * 100, max_tokens=1) for n in range(100))
        budget = RunBudget(Price(1.0, 1.0), max_usd=0.0099)
        done = ask_all(Tokens(concurrency=16), asked, Log(), budget)
        assert 0.004 < done.usd <= 0.0099


def test_replies_without_counts_spend_what_was_reserved_for_them() -> None:
    log = Log()
    budget = RunBudget(Price(1.0, 10.0), max_usd=0.01)
    done = ask_all(Backend(), requests(1000, max_tokens=100), log, budget)
    assert {cost for _, _, cost in log.kept} == {None}
    assert len(log.kept) == 9
    assert done.usd <= 0.01


def test_a_batch_that_does_not_fit_the_budget_is_sent_as_far_as_it_fits() -> None:
    log = Log()
    budget = RunBudget(Price(0.0, 1.0), max_usd=19.5 * 100 / 1e6)
    ask_all(Backend(batch_size=8, concurrency=1), requests(30, max_tokens=100), log, budget)
    assert len(log.kept) == 19


def test_a_run_can_be_started_inside_a_running_loop_as_in_a_notebook() -> None:
    async def cell() -> int:
        return ask_all(Backend(), requests(10), Log()).answered

    assert asyncio.run(cell()) == 10
