"""Limits on what strangers try: codes, new people from platforms, and answers faster than a person gives.

What people do in the course of a study is not limited: the limits count failures and new people for each
address, and answers for each person. Requests from this computer itself are exempt, so a simulation or a
benchmark on 127.0.0.1 is not hindered.

Behind a reverse proxy, the address is the one in `X-Forwarded-For`, which the site believes only if the
connection comes from an address that `--proxy` names.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from math import ceil
from typing import Final, Generic, TypeVar

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from merilo.site.site_requests import LARGEST_FORM, Refusal, RefusedRequestError

Who = TypeVar("Who", bound=Hashable)

#: The most addresses or people that a limit remembers; the one that was seen longest ago is forgotten first.
LARGEST_TABLE: Final = 20_000

#: Sums of seconds are not exact.
_ROUNDING: Final = 1e-6


class SteadyLimit(Generic[Who]):
    """So many at once, and after that one in so many seconds (the generic cell rate algorithm, ITU-T I.371).

    Args:
        burst: how many are free at once.
        seconds: seconds until one more is free.
        clock: the time in seconds, which never runs backwards.
        largest: the most keys that are remembered.

    Example:
        >>> seconds = iter([0.0, 0.0, 0.0, 7.0])
        >>> limit = SteadyLimit[str](2, 10.0, clock=lambda: next(seconds))
        >>> limit.count("a"), limit.count("a"), limit.wait("a"), limit.wait("a")
        (None, None, 10.0, 3.0)
    """

    def __init__(
        self,
        burst: int,
        seconds: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        largest: int = LARGEST_TABLE,
    ) -> None:
        self._allowance = burst * seconds
        self._seconds = seconds
        self._clock = clock
        self._largest = largest
        self._empty: OrderedDict[Who, float] = OrderedDict()  # when nothing is counted any more

    def __len__(self) -> int:
        return len(self._empty)

    def wait(self, who: Who) -> float:
        """Return the seconds until one more is allowed; 0 if it is allowed now."""
        empty = self._empty.get(who)
        if empty is None:
            return 0.0
        seconds = empty + self._seconds - self._allowance - self._clock()
        return seconds if seconds > _ROUNDING else 0.0

    def count(self, who: Who, number: int = 1) -> None:
        """Count one, or take one back."""
        now = self._clock()
        self._empty[who] = max(self._empty.get(who, now), now) + number * self._seconds
        self._empty.move_to_end(who)
        while len(self._empty) > self._largest:
            self._empty.popitem(last=False)


@dataclass(eq=False)
class TooManyRequestsError(RefusedRequestError):
    """A request above a limit; it is answered with status 429.

    Attributes:
        seconds: seconds until the next one is allowed, for `Retry-After` and the sentence.
    """

    status: int = 429
    word: Refusal = "too_many"


class VisitorLimits:
    """The limits of one server process.

    Args:
        clock: the time in seconds, which never runs backwards.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        #: Wrong codes from one address. A code has 99 bits, so this limit is about load and not about guessing.
        self.codes: SteadyLimit[str] = SteadyLimit(60, 2.0, clock=clock)
        #: People of platforms from one address who have not answered: made-up ids would hold items that others could
        #: answer. A lease of half an hour gives their items back.
        self.people: SteadyLimit[str] = SteadyLimit(30, 60.0, clock=clock)
        #: Answers of one person.
        self.answers: SteadyLimit[str] = SteadyLimit(100, 0.1, clock=clock)

    def wrong_code(self, request: Request) -> None:
        """Count a wrong code; right ones are let in from any address.

        Raises:
            TooManyRequestsError: too many codes from the address were wrong.
        """
        address = address_of(request)
        _refuse(self.codes.wait(address))
        if not is_here(address):
            self.codes.count(address)

    def seconds_to_new_person(self, request: Request) -> int:
        """Return the seconds until an address may bring one more person; 0 if it may now."""
        return ceil(self.people.wait(address_of(request)))

    def new_person(self, request: Request) -> None:
        """Count a person whom a platform brought."""
        address = address_of(request)
        if not is_here(address):
            self.people.count(address)

    def first_answer(self, request: Request) -> None:
        """Count a person no more who has answered: the address may bring another one."""
        self.people.count(address_of(request), -1)

    def answer(self, request: Request, person: str) -> None:
        """Count an answer.

        Args:
            request: the request.
            person: the id of the person.

        Raises:
            TooManyRequestsError: the person sends answers faster than a human being can give them.
        """
        if is_here(address_of(request)):
            return
        _refuse(self.answers.wait(person))
        self.answers.count(person)


def address_of(request: Request) -> str:
    """Return the address that a request comes from.

    An IPv6 address counts as its network of 64 bits, which one customer has as a whole.
    """
    return network_of(request.client.host if request.client else "")


@lru_cache(LARGEST_TABLE)
def network_of(host: str) -> str:
    """Return an address without its zone; of an IPv6 address, its network of 64 bits."""
    try:
        address = ip_address(host.split("%", maxsplit=1)[0])
    except ValueError:
        return host[:64]
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        if not address.is_loopback:
            return str(IPv6Address(int(address) >> 64 << 64)) + "/64"
    return str(address)


@lru_cache(LARGEST_TABLE)
def is_here(address: str) -> bool:
    """Return whether an address is this computer's own."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _refuse(seconds: float) -> None:
    if seconds > 0:
        raise TooManyRequestsError(seconds=ceil(seconds))


#: The most bytes of all forms that are being read or saved, and of those from one address.
LARGEST_WAITING: Final = 128_000_000
LARGEST_OF_ADDRESS: Final = 16_000_000

#: Seconds after which a browser may send its form again.
_AGAIN: Final = 5


class WaitingBodies:
    """Refuses forms while too many others are waiting.

    Args:
        app: the application.
        largest: the most bytes of all forms together.
        of_address: the most bytes of all forms from one address that is not this computer's.
    """

    def __init__(
        self, app: ASGIApp, largest: int = LARGEST_WAITING, of_address: int = LARGEST_OF_ADDRESS
    ) -> None:
        self._app = app
        self._largest = largest
        self._of_address = of_address
        self._sizes: Counter[str] = Counter()
        self.size = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count what is kept of a form until its answer is sent."""
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD"}:
            await self._app(scope, receive, send)
            return
        waiting = 0
        address = network_of(scope["client"][0] if scope.get("client") else "")
        most = self._largest if is_here(address) else self._of_address

        async def counted() -> Message:
            nonlocal waiting
            message = await receive()
            more = max(0, min(len(message.get("body", b"")), LARGEST_FORM - waiting))
            if self.size + more > self._largest or self._sizes[address] + more > most:
                raise TooManyRequestsError(seconds=_AGAIN)
            waiting += more
            self.size += more
            self._sizes[address] += more
            return message

        try:
            await self._app(scope, counted, send)
        finally:
            self.size -= waiting
            self._sizes[address] -= waiting
            if not self._sizes[address]:
                del self._sizes[address]
