"""Backends in the test's own process, for runs without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from merilo.models.asking import Abilities, ModelReply, Request


@dataclass
class LocalBackend:
    """Answers by a function of the request, at once.

    Attributes:
        answer: makes the reply: a text or a whole reply.
        asked: the requests, in the order in which they came.
    """

    answer: Callable[[Request], str | ModelReply] = lambda request: request.sha256[:8]
    chat: bool = True
    modes: tuple[str, ...] = ("generate",)
    media: tuple[str, ...] = ()
    batch_size: int = 1
    concurrency: int = 4
    name: str = "local"
    model: str = "local-model"
    asked: list[Request] = field(default_factory=list)

    @property
    def abilities(self) -> Abilities:
        return Abilities(frozenset(self.modes), frozenset(self.media), self.chat)  # type: ignore[arg-type]

    async def ask(self, requests: Sequence[Request]) -> Sequence[ModelReply]:
        await asyncio.sleep(0)
        self.asked += requests
        found = [self.answer(request) for request in requests]
        return [ModelReply(text=one) if isinstance(one, str) else one for one in found]

    async def close(self) -> None:
        """Nothing is open."""


def label_by_hash(labels: Sequence[str]) -> Callable[[Request], str]:
    """Answer with a label that depends on the request alone."""

    def answer(request: Request) -> str:
        return labels[int(sha256(request.sha256.encode()).hexdigest(), 16) % len(labels)]

    return answer


def by_likelihood(request: Request) -> ModelReply:
    """Compare the choices by log-likelihoods that depend on the prompt and the choice alone."""
    texts = [f"{request.prompt}\0{choice}" for choice in request.choices]
    return ModelReply(loglikelihoods=tuple(-20 * sha256(text.encode()).digest()[0] / 256 for text in texts))
