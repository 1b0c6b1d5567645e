"""Continuations of a text over HTTP, with servers of OpenAI's older kind: generation, and log-likelihoods by `echo`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, Final

from merilo.errors import BackendError, MissingPartError
from merilo.models.asking import Abilities, ModelReply, Request
from merilo.models.backends.chats import (
    MOST_STOPS,
    OPENAI_KEY,
    OPENAI_URL,
    clean,
    count_of,
    counted,
    cut_at_stop,
    first_choice,
    object_in,
    split_at_mark,
)
from merilo.models.backends.model_arguments import BackendArguments
from merilo.models.backends.servers import (
    SERVER_ARGUMENTS,
    RateLimits,
    ServerBackend,
    ServerSettings,
    missing_models_extra,
    too_long,
)
from merilo.strict_json import Json
from merilo.wording import shortened

_KINDS: Final = ("auto", "huggingface", "tiktoken", "remote", "none", "None")


class CompletionTokenizer:
    """Counts tokens by an `LM` object of lm-eval's `local-completions`, which sends nothing itself."""

    def __init__(self, lm: Any) -> None:  # noqa: ANN401 - lm-eval publishes no types
        self._lm = lm

    def pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        """Return the tokens of a context and of its continuation."""
        if context:
            before, after = self._lm._encode_pair(context, continuation)
            return list(before), list(after)
        return [int(self._lm.prefix_token_id)], self._tokens(continuation)

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(self._tokens(text))

    def _tokens(self, text: str) -> list[int]:
        return [int(token) for token in self._lm.tok_encode(text)]


def open_tokenizer(
    args: BackendArguments, server: ServerSettings, default: str
) -> CompletionTokenizer | None:
    """Open the tokenizer that the arguments name.

    Args:
        args: the backend's arguments: `tokenizer`, `tokenizer_backend` and others of lm-eval's.
        server: the server; the model's name is the tokenizer's unless one is given.
        default: the kind of tokenizer if the arguments name none and no tokenizer.

    Returns:
        `None` if there is none: the server's tokens then show where a continuation starts.

    Raises:
        MissingPartError: lm-eval or transformers is not installed.
        BackendError: the tokenizer cannot be read.
    """
    name = args.text("tokenizer")
    kind = args.one_of("tokenizer_backend", _KINDS) or ("huggingface" if name else default)
    if kind in {"none", "None"}:
        return None
    try:
        from lm_eval.models.openai_completions import LocalCompletionsAPI  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise missing_models_extra(error, "a tokenizer for log-likelihoods") from error
    prefix = args.text("custom_prefix_token_id")
    try:
        lm = LocalCompletionsAPI(
            base_url=f"{server.url}/completions",
            model=server.model,
            tokenizer=name,
            tokenizer_backend=kind,
            add_bos_token=args.flag("add_bos_token", False),
            custom_prefix_token_id=None if prefix is None else args.whole("custom_prefix_token_id", 0),
            revision=args.text("revision") or "main",
            trust_remote_code=args.flag("trust_remote_code", False),
            use_fast_tokenizer=args.flag("use_fast_tokenizer", True),
            timeout=max(1, round(server.timeout)),
        )
    except ImportError as error:
        raise MissingPartError(
            f"the tokenizer {name or server.model!r} needs a package: pip install 'merilo[models]' "
            f"transformers ({error})"
        ) from error
    except Exception as error:
        what = shortened(str(error) or type(error).__name__, 200)
        raise BackendError(f"the tokenizer {name or server.model!r} cannot be read: {what}") from error
    return CompletionTokenizer(lm)


COMPLETION_ARGUMENTS: Final = (
    *SERVER_ARGUMENTS,
    "tokenizer",
    "tokenizer_backend",
    "tokenized_requests",
    "add_bos_token",
    "custom_prefix_token_id",
    "max_length",
    "revision",
    "trust_remote_code",
    "use_fast_tokenizer",
    "think_end_token",
    "batch_size",
    "eos_string",
)


class Completions(ServerBackend):
    """A model that continues texts behind a server; a `ModelBackend`.

    With the model's tokenizer, prompts that are too long are found before they are sent; without it, the
    server's tokens show where a continuation starts.

    Args:
        name: `local-completions` or `openai-completions`.
        args: the backend's arguments.
        limits: its limits a minute.

    Raises:
        UsageError: an argument has the wrong value.
        BackendError: the key is missing, or the tokenizer cannot be read.
        MissingPartError: the extra `models` is not installed.
    """

    def __init__(self, name: str, args: BackendArguments, limits: RateLimits) -> None:
        of_openai = name == "openai-completions"
        server = ServerSettings.of(args, OPENAI_KEY, OPENAI_URL if of_openai else None, 256)
        self._tokenizer = open_tokenizer(args, server, "tiktoken" if of_openai else "none")
        self._tokenized = args.flag("tokenized_requests", False)
        self._max_length = args.whole("max_length", 0) or None
        self._think_end = args.text("think_end_token")
        abilities = Abilities(frozenset({"generate", "loglikelihood"}), chat=False)
        super().__init__(name, abilities, server, limits, vendor="openai", path="/completions")

    async def _ask(self, request: Request) -> ModelReply:
        if not request.choices:
            return await self._generate(request)
        replies = await asyncio.gather(*(self._score(request.prompt, choice) for choice in request.choices))
        return joined(replies)

    async def _generate(self, request: Request) -> ModelReply:
        most = request.max_tokens or self._server.max_tokens
        if self._tokenizer is not None and self._max_length is not None:
            length = await asyncio.to_thread(self._tokenizer.count, request.prompt)
            if length + (most or 1) > self._max_length:
                return ModelReply(
                    finish="too_long", error=too_long(length + (most or 1), self._max_length), attempts=0
                )
        body: dict[str, Json] = {
            "model": self._server.model,
            "prompt": request.prompt,
            "temperature": request.temperature,
        }
        if most is not None:
            body["max_tokens"] = most
        if request.stop:
            body["stop"] = list(request.stop[:MOST_STOPS])
        if request.top_p is not None:
            body["top_p"] = request.top_p
        if request.seed is not None:
            body["seed"] = request.seed

        def read(body: dict[str, Json]) -> ModelReply:
            return self._read_text(body, request.stop[MOST_STOPS:])

        return await self._reply(body, read, _estimated(request.prompt, most or 256))

    def _read_text(self, body: Mapping[str, Json], stop: Sequence[str]) -> ModelReply:
        choice = first_choice(body)
        text = choice.get("text")
        if not isinstance(text, str):
            return counted(ModelReply(finish="failed", error="the reply has no text"), body)
        thought, answer = split_at_mark(clean(text), self._think_end)
        answer, cut = cut_at_stop(answer, stop)
        stated = choice.get("finish_reason")
        finish = {"length": "length", "content_filter": "refusal"}.get(str(stated), "stop")
        reply = ModelReply(text=answer, thought=thought)
        if finish == "refusal":
            reply = replace(reply, finish="refusal")
        elif finish == "length" and not cut:
            reply = replace(reply, finish="length")
        return counted(reply, body)

    async def _score(self, context: str, continuation: str) -> ModelReply:
        """Ask for the log-likelihood of one continuation."""
        prompt: Json = context + continuation
        lengths: tuple[int, int] | None = None
        if self._tokenizer is not None:
            before, after = await asyncio.to_thread(self._tokenizer.pair, context, continuation)
            lengths = len(before), len(before) + len(after)
            # One more token than the prompt is generated, as lm-eval does, since servers refuse to generate none.
            if self._max_length is not None and lengths[1] + 1 > self._max_length:
                return ModelReply(
                    finish="too_long", error=too_long(lengths[1] + 1, self._max_length), attempts=0
                )
            if self._tokenized:
                prompt = [*before, *after]
        body: dict[str, Json] = {
            "model": self._server.model,
            "prompt": prompt,
            "temperature": 0,
            "max_tokens": 1,
            "logprobs": 1,
            "echo": True,
        }

        def read(body: dict[str, Json]) -> ModelReply:
            choice = first_choice(body)
            reply = ModelReply()
            try:
                value = loglikelihood(
                    choice, context, continuation, lengths=lengths, counted=_prompt_tokens(body)
                )
            except ValueError as error:
                reply = ModelReply(finish="failed", error=str(error))
            else:
                reply = ModelReply(loglikelihoods=(value,))
            return replace(
                counted(reply, body), completion_tokens=0 if _prompt_tokens(body) is not None else None
            )

        return await self._reply(body, read, _estimated(context + continuation, 1))


def loglikelihood(
    choice: Mapping[str, Json],
    context: str,
    continuation: str,
    *,
    lengths: tuple[int, int] | None,
    counted: int | None,
) -> float:
    """Add up the log-probabilities of a continuation's tokens in an echoed reply.

    As in lm-eval, white space at the end of the context counts as the continuation's.

    Args:
        choice: the reply's choice.
        context: the text before the continuation.
        continuation: the continuation.
        lengths: the tokens of the context, and of context and continuation, by the model's tokenizer; `None`
            without one.
        counted: the tokens of the request as the server counts them.

    Raises:
        ValueError: the reply gives no log-probabilities, or not those of the text that was sent.
    """
    given = object_in(choice, "logprobs")
    values, tokens = given.get("token_logprobs"), given.get("tokens")
    if not isinstance(values, list) or len(values) < 2:
        raise ValueError("the server gives no log-probabilities of the prompt (it ignores echo or logprobs)")
    if lengths is not None:
        begin, end = _by_count(len(values), *lengths, counted)
    else:
        begin, end = _by_text(tokens, len(values), context, continuation)
    wanted = values[begin:end]
    numbers = [
        float(value) for value in wanted if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    if not wanted or len(numbers) < len(wanted) or not all(map(isfinite, numbers)):
        raise ValueError("the server leaves out log-probabilities of the continuation")
    return sum(numbers)


def _by_count(given: int, start: int, length: int, counted: int | None) -> tuple[int, int]:
    """Find the continuation by numbers of tokens.

    The server may put one token before the text (a mark of its beginning), and one generated token follows it.
    """
    of_prompt = counted if counted in {given, given - 1} else given - 1
    before = of_prompt - length
    if before not in {0, 1}:
        raise ValueError(
            f"the server gives log-probabilities of {of_prompt} tokens and the tokenizer makes {length} of the text; "
            "name the model's own tokenizer by tokenizer=..."
        )
    return start + before, of_prompt


def _by_text(tokens: Json, given: int, context: str, continuation: str) -> tuple[int, int]:
    """Find the continuation by the texts of the server's tokens."""
    if not isinstance(tokens, list) or len(tokens) != given:
        raise ValueError("the server does not name the tokens of its log-probabilities")
    texts = [str(token) for token in tokens]
    offset = "".join(texts).find(context + continuation)
    if offset < 0:
        raise ValueError(
            "the server's tokens do not spell the text that was sent: it ignores echo, or its "
            "tokens are parts of letters; "
            "name the model's tokenizer by tokenizer=..."
        )
    boundary = offset + len(context.rstrip())
    stop = offset + len(context) + len(continuation)
    begin = end = None
    place = 0
    for number, text in enumerate(texts):
        if begin is None and place + len(text) > boundary:
            begin = number
        if place < stop:
            end = number + 1
        place += len(text)
    return begin or 0, end or 0


def joined(replies: Sequence[ModelReply]) -> ModelReply:
    """Join the replies to the choices of one request; the first that is no log-likelihood stands for all."""
    for reply in replies:
        if reply.finish != "stop":
            return reply
    prompts = [reply.prompt_tokens for reply in replies]
    known = None not in prompts
    return replace(
        replies[0],
        loglikelihoods=tuple(value for reply in replies for value in reply.loglikelihoods),
        prompt_tokens=sum(number or 0 for number in prompts) if known else None,
        completion_tokens=0 if known else None,
        seconds=max(reply.seconds for reply in replies),
        attempts=max(reply.attempts for reply in replies),
    )


def _prompt_tokens(body: Mapping[str, Json]) -> int | None:
    return count_of(object_in(body, "usage").get("prompt_tokens"))


def _estimated(text: str, most: int) -> int:
    return round(len(text) / 2.5) + most
