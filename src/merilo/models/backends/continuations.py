"""Continuations of a text over HTTP, with servers of OpenAI's older kind: generation, and log-likelihoods by `echo`."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from math import isfinite
from typing import Any

from merilo.errors import BackendError, MissingPartError
from merilo.models.asking import Abilities, Finish, ModelReply, Request
from merilo.models.backends.chats import (
    MOST_STOPS,
    clean,
    count_at,
    counted,
    cut_at_stop,
    first_choice,
    sampling_of,
    split_at_mark,
)
from merilo.models.backends.model_arguments import CompletionArguments
from merilo.models.backends.servers import (
    OPENAI,
    ServerBackend,
    TryAgain,
    missing_models_extra,
    server_address,
    too_long,
)
from merilo.strict_json import Json, Row, at
from merilo.wording import shortened


def open_tokenizer(args: CompletionArguments, url: str, default: str) -> Any:  # noqa: ANN401 - lm-eval publishes no types
    """Open the tokenizer that the arguments name.

    Args:
        args: the backend's arguments; the model's name is the tokenizer's unless one is given.
        url: the address that requests are sent to.
        default: the kind of tokenizer if the arguments name none and no tokenizer.

    Returns:
        An `LM` object of lm-eval's `local-completions`, which counts tokens and sends nothing itself; `None` if there
        is no tokenizer: the server's tokens then show where a continuation starts.

    Raises:
        MissingPartError: lm-eval or transformers is not installed.
        BackendError: the tokenizer cannot be read.
    """
    kind = args.tokenizer_backend or ("huggingface" if args.tokenizer else default)
    if kind == "none":
        return None
    try:
        from lm_eval.models.openai_completions import LocalCompletionsAPI  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise missing_models_extra(error, "a tokenizer for log-likelihoods") from error
    name = args.tokenizer or args.model
    passed = (
        "add_bos_token",
        "custom_prefix_token_id",
        "revision",
        "trust_remote_code",
        "use_fast_tokenizer",
    )
    try:
        lm = LocalCompletionsAPI(
            base_url=url,
            model=args.model,
            tokenizer=args.tokenizer,
            tokenizer_backend=kind,
            timeout=max(1, round(args.timeout)),
            **args.model_dump(include={*passed}),
        )
    except ImportError as error:
        package = f"pip install 'merilo[models]' transformers ({error})"
        raise MissingPartError(f"the tokenizer {name!r} needs a package: {package}") from error
    except Exception as error:
        what = shortened(str(error) or type(error).__name__, 200)
        raise BackendError(f"the tokenizer {name!r} cannot be read: {what}") from error
    return lm


class Completions(ServerBackend):
    """A model that continues texts behind a server; a `ModelBackend`.

    With the model's tokenizer, prompts that are too long are found before they are sent; without it, the
    server's tokens show where a continuation starts.

    Args:
        name: `local-completions` or `openai-completions`.
        given: the backend's arguments.

    Raises:
        UsageError: an argument has the wrong value.
        BackendError: the tokenizer cannot be read.
        MissingPartError: the extra `models` is not installed.
    """

    def __init__(self, name: str, given: Mapping[str, str]) -> None:
        of_openai = name == "openai-completions"
        args = self._args = CompletionArguments.read(name, given, OPENAI.key)
        url = server_address(args, OPENAI, "/completions", own=of_openai)
        self._tokenizer = open_tokenizer(args, url, "tiktoken" if of_openai else "none")
        abilities = Abilities(frozenset({"generate", "loglikelihood"}), chat=False)
        super().__init__(name, abilities, args, vendor=OPENAI, url=url)

    async def _ask(self, request: Request) -> ModelReply:
        if not request.choices:
            return await self._generate(request)
        replies = await asyncio.gather(*(self._score(request.prompt, choice) for choice in request.choices))
        return joined(replies)

    def _excess(self, length: int) -> ModelReply | None:
        """Return the reply to a request that is too long for the model's context; `None` if it fits."""
        limit = self._args.max_length
        if not limit or length <= limit:
            return None
        return ModelReply(finish="too_long", error=too_long(length, limit), attempts=0)

    async def _generate(self, request: Request) -> ModelReply:
        most = request.max_tokens or self._args.max_gen_toks
        if self._tokenizer is not None and self._args.max_length:
            tokens = await asyncio.to_thread(self._tokenizer.tok_encode, request.prompt)
            if excess := self._excess(len(tokens) + (most or 1)):
                return excess
        body: dict[str, Json] = {"model": self.model, "prompt": request.prompt, **sampling_of(request)}
        if most:
            body["max_tokens"] = most
        if request.stop:
            body["stop"] = list(request.stop[:MOST_STOPS])

        def read(body: dict[str, Json]) -> ModelReply:
            return self._read_text(body, request.stop[MOST_STOPS:])

        return await self._reply(body | self._args.added, read)

    def _read_text(self, body: Row, stop: Sequence[str]) -> ModelReply:
        choice = first_choice(body)
        text = choice.get("text") or ""
        if not isinstance(text, str):
            raise TryAgain("the reply's choice has no text")
        thought, answer = split_at_mark(clean(text), self._args.think_end_token)
        answer, cut = cut_at_stop(answer, stop)
        finish: Finish = "stop"
        if choice.get("finish_reason") == "content_filter":
            finish = "refusal"
        elif choice.get("finish_reason") == "length" and not cut:
            finish = "length"
        return counted(ModelReply(text=answer, thought=thought, finish=finish), body)

    def _pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        """Return the tokens of a context and of its continuation."""
        if not context:
            return [int(self._tokenizer.prefix_token_id)], [
                *map(int, self._tokenizer.tok_encode(continuation))
            ]
        before, after = self._tokenizer._encode_pair(context, continuation)
        return list(before), list(after)

    async def _score(self, context: str, continuation: str) -> ModelReply:
        """Ask for the log-likelihood of one continuation."""
        prompt: Json = context + continuation
        lengths: tuple[int, int] | None = None
        if self._tokenizer is not None:
            before, after = await asyncio.to_thread(self._pair, context, continuation)
            lengths = len(before), len(before) + len(after)
            # One more token than the prompt is generated, as lm-eval does, since servers refuse to generate none.
            if excess := self._excess(lengths[1] + 1):
                return excess
            if self._args.tokenized_requests:
                prompt = [*before, *after]
        body: dict[str, Json] = {"model": self.model, "prompt": prompt, "temperature": 0, "max_tokens": 1}
        body |= {"logprobs": 1, "echo": True} | (self._args.extra_body or {})

        def read(body: dict[str, Json]) -> ModelReply:
            asked = count_at(body, "usage", "prompt_tokens")
            try:
                value = loglikelihood(
                    first_choice(body), context, continuation, lengths=lengths, counted=asked
                )
                reply = ModelReply(loglikelihoods=(value,))
            except ValueError as error:
                reply = ModelReply(finish="failed", error=str(error))
            return replace(counted(reply, body), completion_tokens=None if asked is None else 0)

        return await self._reply(body, read)


def loglikelihood(
    choice: Row,
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
    values, tokens = at(choice, "logprobs", "token_logprobs"), at(choice, "logprobs", "tokens")
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
            "the server's tokens do not spell the text that was sent: it ignores echo, or its tokens are parts of "
            "letters; name the model's tokenizer by tokenizer=..."
        )
    ends = list(accumulate(map(len, texts)))
    begin = bisect_right(ends, offset + len(context.rstrip()))
    return begin, bisect_left(ends, offset + len(context) + len(continuation)) + 1


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
