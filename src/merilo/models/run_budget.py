"""The budget of a run: money and requests, counted before a request is sent so that a limit is never passed.

The cost of a request is known only after its reply. Until then the budget reserves an upper estimate: the tokens of the prompt by
the highest ratio of tokens to characters met so far, and as many tokens of the answer as the request allows. Before the first reply a
byte of the prompt counts as a token, which is the most that tokenizers make; if the cost is limited, the first request is sent alone,
because the tokens of pictures are known only from a reply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from merilo.errors import UsageError, argument
from merilo.models.asking import ModelReply, Request

#: Tokens a character before any reply has been counted: Russian text takes about one token for two or three characters.
TOKENS_A_CHARACTER: Final = 0.75

#: How much higher the ratio is assumed than the highest that was met.
_RESERVE: Final = 1.25

#: Tokens that a chat's template adds to the prompt.
TEMPLATE_TOKENS: Final = 64

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

    Args:
        price: the price of tokens; `None` if it is not known.
        max_usd: the most that the run may cost.
        max_requests: the most requests that the run may send; the attempts of one request count once.
        usd: what earlier commands of the run cost.
        requests: how many requests earlier commands of the run sent.

    Attributes:
        usd: what the run has cost, as far as replies state their tokens.
        requests: how many requests were answered.
        running: how many requests are being answered.

    Raises:
        UsageError: the cost is limited and the price is not known.

    Example:
        >>> budget = RunBudget(max_requests=1)
        >>> request = Request("lcs", 1, 1, (), "2 + 2 =")
        >>> budget.reserve([request]), budget.reserve([request])
        ((0.0,), None)
    """

    def __init__(
        self,
        price: Price | None = None,
        *,
        max_usd: float | None = None,
        max_requests: int | None = None,
        usd: float = 0.0,
        requests: int = 0,
    ) -> None:
        if max_usd is not None and price is None:
            raise UsageError(
                f"needs the price of a million tokens: {argument('price_in')} and {argument('price_out')}",
                field=argument("max_usd"),
            )
        self.price = price
        self.usd = usd
        self.requests = requests
        self.running = 0
        self._max_usd = max_usd
        self._max_requests = max_requests
        self._reserved = 0.0
        self._ratio = 0.0
        self._has_reply = False

    def reserve(self, requests: Sequence[Request]) -> tuple[float, ...] | None:
        """Reserve the cost of requests that are about to be sent together.

        Returns:
            The estimated cost of each, for `settle` and `release`; `None` if they do not fit into what is left of the budget, or if
            the cost is limited and the first reply has not come yet.
        """
        if self._max_usd is not None and self.running and not self._has_reply:
            return None
        if (
            self._max_requests is not None
            and self.requests + self.running + len(requests) > self._max_requests
        ):
            return None
        estimates = tuple(map(self.estimate, requests))
        if self._max_usd is not None and self.usd + self._reserved + sum(estimates) > self._max_usd:
            return None
        self._reserved += sum(estimates)
        self.running += len(requests)
        return estimates

    def settle(self, request: Request, reply: ModelReply, estimate: float) -> float | None:
        """Replace a reservation by the true cost.

        Args:
            request: the request.
            reply: its reply.
            estimate: the cost that `reserve` returned for it.

        Returns:
            The cost in US dollars; `None` if there is no price or the reply states no tokens.
        """
        self.requests += 1
        self._has_reply = self._has_reply or reply.finish != "failed"
        self.release((estimate,))
        if self.price is None:
            return None
        if reply.prompt_tokens is None and reply.completion_tokens is None:
            # A reply without counts may have cost as much as was reserved; a request that failed has cost nothing.
            self.usd += 0.0 if reply.finish in {"failed", "too_long"} else estimate
            return None
        tokens = reply.prompt_tokens or 0
        self._ratio = max(self._ratio, (tokens - TEMPLATE_TOKENS) / max(1, characters(request)))
        cost = self.price.of(tokens, reply.completion_tokens or 0)
        self.usd += cost
        return cost

    def release(self, estimates: Sequence[float]) -> None:
        """Give back the reservations of requests that will not be answered."""
        self.running -= len(estimates)
        self._reserved = max(0.0, self._reserved - sum(estimates))

    def estimate(self, request: Request) -> float:
        """Return the most that a request is expected to cost in US dollars; 0 without a price."""
        if self.price is None:
            return 0.0
        if self._ratio:
            tokens = characters(request) * max(self._ratio * _RESERVE, TOKENS_A_CHARACTER / 3)
        else:
            tokens = _bytes(request)
        prompt = tokens + TEMPLATE_TOKENS
        if request.choices:
            return self.price.of(prompt * len(request.choices), len(request.choices))
        return self.price.of(prompt, request.max_tokens or UNLIMITED_TOKENS)

    def exhausted(self) -> str:
        """Return which limit ends the run, as the end of a sentence."""
        if self._max_requests is not None and self.requests + 1 > self._max_requests:
            return f"{argument('max_requests', str(self._max_requests), given=self._max_requests)} is reached"
        return (
            f"the next request may exceed {argument('max_usd', f'{self._max_usd:g}', given=self._max_usd)}: "
            f"${self.usd:.4f} is spent"
        )


def characters(request: Request) -> int:
    """Return the number of characters that a request sends."""
    return sum(len(message.text) for message in request.messages) or len(request.prompt)


def _bytes(request: Request) -> int:
    """Return the number of bytes that a request sends as UTF-8: no tokenizer makes more tokens of a text."""
    texts = [message.text for message in request.messages] or [request.prompt]
    return sum(len(text.encode("utf-8", "replace")) for text in texts)


def estimated_tokens(request: Request) -> int:
    """Return the number of tokens that the prompt of a request probably has, without asking a tokenizer."""
    return round(characters(request) * TOKENS_A_CHARACTER / 1.5) or 1
