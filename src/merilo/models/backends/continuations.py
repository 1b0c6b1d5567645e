"""Continuations of a text over HTTP, with servers of OpenAI's older kind: generation, and log-likelihoods by `echo`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from math import isfinite
from typing import Any

from pydantic import AliasPath, Field

from merilo.errors import BackendError
from merilo.models.asking import Abilities, ModelReply, Request
from merilo.models.backends.model_arguments import CompletionArguments
from merilo.models.backends.servers import (
    OPENAI,
    OpenAIReply,
    OpenAIServer,
    ReplyText,
    missing_models_extra,
    server_address,
)
from merilo.strict_json import Json
from merilo.wording import shortened


class Continuation(OpenAIReply):
    """A reply of OpenAI's completions."""

    choices: list[dict[str, Any]] = Field(min_length=1)
    text: ReplyText | None = Field(None, validation_alias=AliasPath("choices", 0, "text"))


class Completions(OpenAIServer):
    """A model that continues texts behind a server; a `ModelBackend`.

    Log-likelihoods are asked and read by lm-eval's class `local-completions`, which needs the model's tokenizer.

    Args:
        name: `local-completions` or `openai-completions`.
        arguments: the backend's arguments.

    Raises:
        UsageError: an argument has the wrong value.
        MissingPartError: the extra `models` is not installed.
    """

    _args: CompletionArguments
    _form = Continuation

    def __init__(self, name: str, arguments: Mapping[str, str]) -> None:
        of_openai = name == "openai-completions"
        args = self._args = CompletionArguments.read(name, arguments, OPENAI.key)
        self._tokenizer_kind = args.tokenizer_backend or ("tiktoken" if of_openai else "huggingface")
        url = server_address(args, OPENAI, "/completions", own=of_openai)
        abilities = Abilities(frozenset({"generate", "loglikelihood"}), chat=False)
        super().__init__(name, abilities, args, vendor=OPENAI, url=url)

    async def _ask(self, request: Request) -> ModelReply:
        if not request.choices:
            return await super()._ask(request)
        scored = [
            await asyncio.to_thread(self._payload, request.prompt, choice) for choice in request.choices
        ]
        replies = await asyncio.gather(*(self._score(body, *lengths) for body, *lengths in scored))
        for reply in replies:
            if reply.finish != "stop":
                return reply
        prompts = [reply.prompt_tokens for reply in replies]
        return replace(
            replies[0],
            loglikelihoods=tuple(value for reply in replies for value in reply.loglikelihoods),
            prompt_tokens=None if None in prompts else sum(number or 0 for number in prompts),
            seconds=max(reply.seconds for reply in replies),
            attempts=max(reply.attempts for reply in replies),
        )

    def _body(self, request: Request) -> dict[str, Json]:
        return {"model": self.model, "prompt": request.prompt, **self._settings(request)}

    def _read(self, form: Continuation, request: Request) -> ModelReply:
        return self._finished(form, request, form.text or "", None)

    @cached_property
    def _lm(self) -> Any:  # noqa: ANN401 - lm-eval publishes no types
        """An object of lm-eval's, which makes and reads requests and sends nothing itself.

        Raises:
            MissingPartError: lm-eval or a package of the tokenizer is not installed.
            BackendError: the tokenizer cannot be read.
        """
        name = self._args.tokenizer or self._args.model
        fields = {
            "model",
            "tokenizer",
            "add_bos_token",
            "revision",
            "trust_remote_code",
            "use_fast_tokenizer",
        }
        passed = {"base_url": self._url, "tokenizer_backend": self._tokenizer_kind}
        try:
            from lm_eval.models.openai_completions import LocalCompletionsAPI  # noqa: PLC0415 - an extra

            return LocalCompletionsAPI(**passed, **self._args.model_dump(include=fields))
        except ImportError as error:
            raise missing_models_extra(error, f"the tokenizer {name!r}") from error
        except Exception as error:
            what = (
                f"{shortened(str(error) or type(error).__name__, 200)}; name the model's own by tokenizer=..."
            )
            raise BackendError(f"the tokenizer {name!r} cannot be read: {what}") from error

    def _payload(self, context: str, choice: str) -> tuple[dict[str, Json], int, int]:
        """Return what asks for the log-likelihood of a choice, and its tokens: of the context, and all."""
        before, after = self._lm._encode_pair(context, choice)
        prompt = [*before, *after] if self._args.tokenized_requests else context + choice
        body = self._lm._create_payload(prompt) | (self._args.extra_body or {})
        return body, len(before), len(before) + len(after)

    async def _score(self, body: dict[str, Json], start: int, length: int) -> ModelReply:
        """Ask for the log-likelihood of one choice."""

        def read(form: Continuation) -> ModelReply:
            try:
                # lm-eval sums from a place in the list: another number of tokens would shift it.
                scored_tokens = len(form.choices[0]["logprobs"]["token_logprobs"]) - 1
                (value, _), *_ = self._lm.parse_logprobs({"choices": form.choices[:1]}, ctxlens=[start])
            except (KeyError, TypeError, ValueError, AssertionError):
                what = "the server gives no log-probabilities of the prompt (it ignores echo or logprobs)"
                return ModelReply(finish="failed", error=what)
            if scored_tokens != length:
                what = (
                    f"the server gives log-probabilities of {scored_tokens} tokens and the tokenizer makes {length} of "
                    "the text; name the model's own tokenizer by tokenizer=..., or add_bos_token=True"
                )
                return ModelReply(finish="failed", error=what)
            if not isfinite(value):
                return ModelReply(
                    finish="failed", error="the server gives log-probabilities that are no numbers"
                )
            return ModelReply(loglikelihoods=(value,), prompt_tokens=form.prompt_tokens, completion_tokens=0)

        return await self._reply(body, read)
