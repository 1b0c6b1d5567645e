"""A backend that always compares the choices of a prompt in the same way."""

from collections.abc import Sequence
from hashlib import sha256

from merilo.models.asking import Abilities, ModelReply, Request


def chance(*texts: str) -> float:
    """A number in [0, 1) that depends only on the texts."""
    return int.from_bytes(sha256("\0".join(texts).encode()).digest()[:6]) / 2**48


def likelihood(prompt: str, continuation: str) -> float:
    return -20 * chance(prompt, continuation)


class ScriptedBackend:
    """Log-likelihoods that depend only on prompt and choice."""

    batch_size = 1
    concurrency = 4
    name = "scripted"
    model = "scripted"
    abilities = Abilities(frozenset({"generate", "loglikelihood"}), chat=False)

    async def ask(self, requests: Sequence[Request]) -> Sequence[ModelReply]:
        return [self._reply(one) for one in requests]

    def _reply(self, request: Request) -> ModelReply:
        return ModelReply(loglikelihoods=tuple(likelihood(request.prompt, one) for one in request.choices))

    async def close(self) -> None:
        """Nothing is open."""
