"""No more requests or tokens a minute than allowed, by a clock that the test turns."""

import asyncio

import pytest
from every import every

from merilo.models.backends.servers import RateLimiter, RateLimits


class Clock:
    """A clock that moves by what is slept."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def admitted(limits: RateLimits, tokens: list[int]) -> list[float]:
    """When each request is let through, from 0."""
    clock = Clock()
    limiter = RateLimiter(limits, clock=clock, sleep=clock.sleep)

    async def run() -> list[float]:
        times = []
        for count in tokens:
            await limiter.admit(count)
            times.append(clock.now - 1000.0)
        return times

    return asyncio.run(run())


@every("most", [1, 7, 60, 600, 5000])
def test_no_minute_has_more_requests_than_the_limit(most: int) -> None:
    times = admitted(RateLimits(requests_per_minute=most), [1] * (3 * most + 3))
    assert all(later - first >= 60 - 1e-6 for first, later in zip(times, times[most:], strict=False))
    assert times[-1] <= 60 * len(times) / most + 60, "the limit is used, too"


def test_no_minute_has_more_tokens_than_the_limit_and_one_request() -> None:
    times = admitted(RateLimits(tokens_per_minute=6000), [500] * 60)
    for start in times:
        assert sum(500 for time in times if start <= time < start + 60 - 1e-6) <= 6000 + 500
    assert times[-1] <= 60 * 500 * 60 / 6000


def test_a_correction_gives_back_what_was_not_used() -> None:
    clock = Clock()
    limiter = RateLimiter(RateLimits(tokens_per_minute=600), clock=clock, sleep=clock.sleep)

    async def run() -> None:
        await limiter.admit(600)
        limiter.correct(600, 60)
        await limiter.admit(1)

    asyncio.run(run())
    assert clock.now - 1000 == pytest.approx(6, abs=0.2)


def test_a_pause_holds_every_request_until_it_ends() -> None:
    clock = Clock()
    limiter = RateLimiter(RateLimits(), clock=clock, sleep=clock.sleep)

    async def run() -> None:
        limiter.pause(30)
        limiter.pause(10)
        await asyncio.gather(limiter.admit(1), limiter.admit(1))

    asyncio.run(run())
    assert clock.now == 1030.0
