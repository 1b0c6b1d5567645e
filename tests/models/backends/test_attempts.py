"""When a request is sent again, after how long, and what ends a run."""

import asyncio
from collections.abc import Sequence

import pytest

from merilo.errors import BackendError
from merilo.models.asking import ModelReply
from merilo.models.backends import servers as attempts
from merilo.models.backends.servers import Attempts, TryAgain, Unreachable

RIGHT = ModelReply(text="A", prompt_tokens=1, completion_tokens=1)


class Sender:
    """What a server answers, in order, and a clock that its sleeps turn."""

    def __init__(
        self, outcomes: Sequence[ModelReply | TryAgain], max_retries: int = 5, chance: float = 1.0
    ) -> None:
        self.outcomes = list(outcomes)
        self.now = 0.0
        self.slept: list[float] = []
        self.attempts = Attempts(
            "http://host",
            max_retries,
            clock=lambda: self.now,
            sleep=self.sleep,
            chance=lambda: chance,
        )

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def send(self) -> ModelReply:
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, TryAgain):
            raise outcome
        return outcome

    def reply(self) -> ModelReply:
        return asyncio.run(self.attempts.reply(self.send))


@pytest.fixture(autouse=True)
def _real_back_off(monkeypatch: pytest.MonkeyPatch, _no_back_off: None) -> None:
    monkeypatch.setattr(attempts, "FIRST_WAIT", 0.5)


def test_waits_double_up_to_a_minute() -> None:
    sender = Sender([TryAgain("busy")] * 9 + [RIGHT], max_retries=9)
    reply = sender.reply()
    assert sender.slept == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    assert (reply.text, reply.attempts, reply.seconds) == ("A", 10, sum(sender.slept))


def test_the_servers_wait_holds_other_requests_too() -> None:
    sender = Sender([TryAgain("busy", 7.5), RIGHT, RIGHT])

    async def both() -> None:
        await asyncio.gather(*(sender.attempts.reply(sender.send) for _ in range(2)))

    asyncio.run(both())
    assert sender.now == 7.5


def test_a_very_long_wait_ends_the_run() -> None:
    with pytest.raises(
        BackendError, match=r"http://host asks to wait 86400 seconds .* run the same command again then"
    ):
        Sender([TryAgain("quota of the day", 86400)]).reply()


def test_a_request_that_fails_every_time_is_a_failed_reply_with_the_reason() -> None:
    reply = Sender([TryAgain("status 500: internal error")] * 3, max_retries=2).reply()
    assert (reply.finish, reply.error, reply.attempts) == (
        "failed",
        "status 500: internal error (3 attempts)",
        3,
    )


def test_nothing_at_the_address_ends_the_run_at_once() -> None:
    sender = Sender([Unreachable("refused")])
    with pytest.raises(BackendError, match="http://host cannot be reached: refused"):
        sender.reply()
    assert sender.slept == []


def test_a_server_that_answered_before_gets_time_to_come_back() -> None:
    sender = Sender([RIGHT, Unreachable("refused"), RIGHT])
    sender.reply()
    assert sender.reply().attempts == 2


def test_a_server_that_does_not_come_back_ends_the_run() -> None:
    sender = Sender([RIGHT, *[Unreachable("refused")] * 3], max_retries=2)
    sender.reply()
    with pytest.raises(BackendError, match="cannot be reached"):
        sender.reply()
