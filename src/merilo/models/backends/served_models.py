"""Models behind servers: chats of OpenAI's kind and of Anthropic's, and continuations of a text."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from functools import cached_property
from math import isfinite
from typing import Any, Final

from pydantic import AliasPath, BaseModel, Field

from merilo.errors import BackendError, missing_extra
from merilo.models.asking import FINISHES, Abilities, ModelReply, Request
from merilo.models.backends.model_arguments import AnthropicArguments, ChatArguments, CompletionArguments
from merilo.models.backends.servers import (
    ANTHROPIC,
    Count,
    OpenAIReply,
    OpenAIServer,
    ReplyText,
    ServerBackend,
    ServerReply,
    cut_at_stop,
)
from merilo.strict_json import Json
from merilo.wording import shortened

#: OpenAI's models that think take no stop strings and no sampling parameters.
_THINKS: Final = re.compile(r"^(?:o\d|gpt-5)")


class _Message(BaseModel):
    content: ReplyText | None = None
    refusal: ReplyText | None = None
    reasoning_content: ReplyText | None = None
    reasoning: ReplyText | None = None


class ChatReply(OpenAIReply):
    """A reply of OpenAI's chat completions."""

    message: _Message = Field(validation_alias=AliasPath("choices", 0, "message"))


class ChatCompletions(OpenAIServer):
    """A model behind a chat server of OpenAI's kind; a `ModelBackend`."""

    _args: ChatArguments
    _arguments, _form, _path = ChatArguments, ChatReply, "/chat/completions"

    def _configured(self) -> tuple[Abilities, dict[str, Json]]:
        args, of_openai = self._args, self._of_vendor
        thinks = of_openai and bool(_THINKS.match(args.model))
        self._stops = not thinks
        self._sampling = not thinks if args.sampling is None else args.sampling
        self._tokens_field = "max_completion_tokens" if of_openai else "max_tokens"
        extra: dict[str, Json] = {}
        if args.reasoning_effort:
            extra["reasoning_effort"] = args.reasoning_effort
        if args.enable_thinking is not None:
            extra["chat_template_kwargs"] = {"enable_thinking": args.enable_thinking}
        images = of_openai if args.images is None else args.images
        return Abilities(frozenset({"generate"}), frozenset({"image"} if images else ())), extra

    def _body(self, request: Request) -> dict[str, Json]:
        messages: list[Json] = [self._message(message, request.dataset) for message in request.messages]
        return {"model": self.model, "messages": messages, **self._extra, **self._settings(request)}

    def _picture(self, kind: str, content: str) -> Json:
        return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{content}"}}

    def _read(self, form: ChatReply, request: Request) -> ModelReply:
        message = form.message
        thought, text = message.reasoning_content or message.reasoning, message.content or ""
        if message.refusal:
            reply = self._finished(form, request, text or message.refusal, thought or "")
            return replace(reply, finish="refusal", thought=thought)
        return self._finished(form, request, text, thought)


class _Block(BaseModel):
    text: ReplyText = ""
    thinking: ReplyText = ""


class Message(ServerReply):
    """A reply of Anthropic's messages. Tokens read from the cache and written to it are counted apart."""

    content: list[_Block]
    stop_reason: str | None = None
    fresh: Count = Field(None, validation_alias=AliasPath("usage", "input_tokens"))
    cache_read: Count = Field(None, validation_alias=AliasPath("usage", "cache_read_input_tokens"))
    cache_creation: Count = Field(None, validation_alias=AliasPath("usage", "cache_creation_input_tokens"))
    completion_tokens: Count = Field(None, validation_alias=AliasPath("usage", "output_tokens"))
    thought_tokens: Count = Field(
        None, validation_alias=AliasPath("usage", "output_tokens_details", "thinking_tokens")
    )


class AnthropicChat(ServerBackend):
    """A model behind Anthropic's API; a `ModelBackend`. Models that think refuse a temperature."""

    _args: AnthropicArguments
    _arguments, _form, _path, _vendor = AnthropicArguments, Message, "/v1/messages", ANTHROPIC

    def _configured(self) -> tuple[Abilities, dict[str, Json]]:
        args = self._args
        extra: dict[str, Json] = {}
        self._budget = args.thinking if isinstance(args.thinking, int) else 0
        if isinstance(args.thinking, int):
            extra["thinking"] = {"type": "enabled", "budget_tokens": args.thinking}
        elif args.thinking is not None:
            extra["thinking"] = {"type": args.thinking}
        if args.effort:
            extra["output_config"] = {"effort": args.effort}
        self._sampling = args.thinking in {None, "disabled"} if args.sampling is None else args.sampling
        return Abilities(frozenset({"generate"}), frozenset({"image"})), extra

    def _body(self, request: Request) -> dict[str, Json]:
        system = "\n\n".join(message.text for message in request.messages if message.role == "system")
        most = request.max_tokens or self._args.max_gen_toks
        body: dict[str, Json] = {
            "model": self.model,
            "messages": [
                self._message(message, request.dataset)
                for message in request.messages
                if message.role != "system"
            ],
            # The API refuses a limit that the budget of thought would use up.
            "max_tokens": most if most > self._budget else most + self._budget,
            **self._extra,
        }
        if system:
            body["system"] = system
        if stops := [mark for mark in request.stop if mark.strip()]:
            body["stop_sequences"] = list(stops)
        if self._sampling:
            body["temperature"] = request.temperature
        return body | self._args.added

    def _picture(self, kind: str, content: str) -> Json:
        return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": content}}

    def _read(self, form: Message, request: Request) -> ModelReply:
        finish = FINISHES.get(form.stop_reason or "", "other")
        # The API refuses stop strings of white space alone; answers are cut at them here.
        stops = [mark for mark in request.stop if not mark.strip()]
        text, cut = cut_at_stop("".join(block.text for block in form.content), stops)
        cached = (form.cache_read or 0) + (form.cache_creation or 0)
        return ModelReply(
            text=text,
            thought="".join(block.thinking for block in form.content) or None,
            finish="stop" if cut and finish != "refusal" else finish,
            prompt_tokens=None if form.fresh is None else form.fresh + cached,
            completion_tokens=form.completion_tokens,
            thought_tokens=form.thought_tokens,
        )


class Continuation(OpenAIReply):
    """A reply of OpenAI's completions."""

    choices: list[dict[str, Any]] = Field(min_length=1)
    text: ReplyText | None = Field(None, validation_alias=AliasPath("choices", 0, "text"))


class Completions(OpenAIServer):
    """A model that continues texts behind a server; a `ModelBackend`.

    Log-likelihoods are asked and read by lm-eval's class `local-completions`, which needs the model's tokenizer.
    """

    _args: CompletionArguments
    _arguments, _form, _path = CompletionArguments, Continuation, "/completions"

    def _configured(self) -> tuple[Abilities, dict[str, Json]]:
        return Abilities(frozenset({"generate", "loglikelihood"}), chat=False), {}

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
        kind = self._args.tokenizer_backend or ("tiktoken" if self._of_vendor else "huggingface")
        passed = {"base_url": self._url, "tokenizer_backend": kind}
        try:
            from lm_eval.models.openai_completions import LocalCompletionsAPI  # noqa: PLC0415 - an extra

            return LocalCompletionsAPI(**passed, **self._args.model_dump(include=fields))
        except ImportError as error:
            raise missing_extra(f"the tokenizer {name!r}", "models", error) from error
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
