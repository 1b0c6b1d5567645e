"""A request to a model, its reply, and the backend that turns one into the other.

A request is complete: it holds the text, the sampling parameters and what ends an answer, so that a backend
needs nothing else and the log can tell whether a request was asked before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from types import MappingProxyType
from typing import Final, Literal, Protocol, TypeAlias

from merilo.datasets.rendering import Media
from merilo.items import ItemId

Mode: TypeAlias = Literal["generate", "loglikelihood"]
Role: TypeAlias = Literal["system", "user", "assistant"]

#: Why a model stopped: at its end or a stop string; at the limit of tokens; because it (or a filter) refused;
#: the prompt is longer
#: than the model's context; the request failed for good; anything else.
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
