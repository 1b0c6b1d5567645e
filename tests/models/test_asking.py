"""Requests are sent many at a time, and every reply is kept."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from every import every

from merilo.errors import BackendError, OutputError, for_library
from merilo.models import asking
from merilo.models.asking import Abilities, Dialogue, ModelReply, Price, Request, RunBudget, ask_all


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


@every("batch_size", [1, 4])
def test_a_run_stops_after_its_limit_of_cost_by_the_requests_that_are_being_answered(
    batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "GRACE_SECONDS", 0.0)  # what is paid for is waited for
    log = Log()
    budget = RunBudget(Price(1.0, 10.0), max_usd=0.01)
    backend = Backend(concurrency=8, batch_size=batch_size, tokens=80)
    done = ask_all(backend, requests(1000), log, budget)
    cost = 80 * 11 / 1e6
    assert sum(cost or 0.0 for _, _, cost in log.kept) == pytest.approx(done.usd)
    assert 0.01 <= done.usd < 0.01 + 8 * batch_size * cost
    assert for_library(done.stopped) == f"max_usd=0.01 is reached: ${done.usd:.4f} is spent"
    assert sum(map(len, backend.batches)) == log.synced == len(log.kept)


def test_a_run_whose_last_reply_reaches_the_limit_is_not_stopped() -> None:
    done = ask_all(Backend(tokens=80), requests(10), Log(), RunBudget(Price(1.0, 0.0), max_usd=800 / 1e6))
    assert (done.answered, done.stopped) == (10, "")


def test_tokens_that_a_reply_does_not_state_are_estimated_for_the_limit() -> None:
    log = Log()
    asked = (request(str(number), "Сколько? " * 100) for number in range(1000))
    done = ask_all(Backend(), asked, log, RunBudget(Price(1.0, 10.0), max_usd=0.05))
    assert {cost for _, _, cost in log.kept} == {None}
    assert len(log.kept) < 30
    assert done.usd >= 0.05


def test_a_run_can_be_started_inside_a_running_loop_as_in_a_notebook() -> None:
    async def cell() -> int:
        return ask_all(Backend(), requests(10), Log()).answered

    assert asyncio.run(cell()) == 10
