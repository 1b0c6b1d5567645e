"""Inspect's model providers, for generation: `inspect/PROVIDER/MODEL`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from merilo.errors import BackendError, MissingPartError, UsageError, argument
from merilo.models.asking import FINISHES, Abilities, Finish, ModelReply, Request
from merilo.models.backends.chats import clean, estimated_tokens
from merilo.models.backends.model_arguments import SECRETS, BackendArguments, JsonObject, nearest
from merilo.models.backends.servers import Attempts, RateLimiter, RateLimits
from merilo.wording import shortened

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage as InspectMessage
    from inspect_ai.model import GenerateConfig, Model, ModelOutput

PREFIX: Final = "inspect/"


class InspectArguments(BackendArguments):
    """The arguments of Inspect's providers; all others go to the provider."""

    base_url: str | None = None
    num_concurrent: int = Field(16, ge=1)
    max_retries: int = Field(5, ge=0)
    timeout: float = Field(300, gt=0, allow_inf_nan=False)
    max_gen_toks: int = Field(0, ge=0)
    reasoning_effort: str | None = None
    top_k: int | None = Field(None, ge=-1)
    extra_body: JsonObject | None = None


class InspectProvider:
    """A model behind one of Inspect's providers; a `ModelBackend`.

    Inspect itself sends requests again; only its last failure is seen here, so `attempts` is 1.

    Args:
        name: the backend's name: `inspect/PROVIDER/MODEL`.
        model: Inspect's model.
        args: the backend's arguments.
        limits: its limits a minute.
    """

    abilities = Abilities(frozenset({"generate"}), structured=True)
    batch_size = 1

    def __init__(self, name: str, model: Model, args: InspectArguments, limits: RateLimits) -> None:
        self.name, self.model = name, name.removeprefix(PREFIX)
        self.concurrency = args.num_concurrent
        self._model = model
        self._args = args
        self._attempts = Attempts(RateLimiter(limits), name, 0, self.model, "the environment")

    async def ask(self, requests: Sequence[Request]) -> Sequence[ModelReply]:
        """Answer requests, in their order.

        Raises:
            BackendError: what ends the run.
        """
        return await asyncio.gather(*(self._ask(request) for request in requests))

    async def close(self) -> None:
        """Close the provider's connections."""
        await self._model.api.aclose()

    async def _ask(self, request: Request) -> ModelReply:
        if request.choices:
            return ModelReply(finish="failed", error=f"{self.name} gives no log-likelihoods")

        async def once() -> ModelReply:
            try:
                output = await self._model.generate(_messages(request), config=self._config(request))
            except Exception as error:
                return self._failure(error)
            return _read(output)

        return await self._attempts.reply(once, estimated_tokens(request))

    def _failure(self, error: BaseException) -> ModelReply:
        """Sort a provider's exception by the HTTP status that it names, if it names one."""
        cause: BaseException | None = error
        while cause is not None:
            status = getattr(cause, "status_code", None) or getattr(cause, "status", None)
            if isinstance(status, int) and 400 <= status < 500 and status not in {408, 409, 429}:
                return self._attempts.judge(status, str(cause), "", {})
            cause = (
                cause.__cause__ or getattr(getattr(cause, "last_attempt", None), "exception", lambda: None)()
            )
        return ModelReply(finish="failed", error=f"{type(error).__name__}: {shortened(str(error), 300)}")

    def _config(self, request: Request) -> GenerateConfig:
        from inspect_ai.model import GenerateConfig, ResponseSchema  # noqa: PLC0415 - installed by the user
        from inspect_ai.util import JSONSchema  # noqa: PLC0415 - installed by the user

        form = None
        if request.schema:
            schema = JSONSchema.model_validate_json(request.schema)
            form = ResponseSchema(name="answer", json_schema=schema, strict=True)
        return GenerateConfig(
            max_retries=self._args.max_retries,
            timeout=max(1, round(self._args.timeout * (self._args.max_retries + 1))),
            attempt_timeout=max(1, round(self._args.timeout)),
            max_connections=self.concurrency,
            max_tokens=request.max_tokens or self._args.max_gen_toks or None,
            temperature=request.temperature,
            top_p=request.top_p,
            top_k=self._args.top_k,
            extra_body=self._args.extra_body,
            seed=request.seed,
            response_schema=form,
            stop_seqs=list(request.stop) or None,
            reasoning_effort=self._args.reasoning_effort,  # type: ignore[arg-type] # Inspect checks the word
        )


def _messages(request: Request) -> list[InspectMessage]:
    from inspect_ai.model import (  # noqa: PLC0415 - installed by the user
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
    )

    kinds: dict[str, Any] = {
        "system": ChatMessageSystem,
        "user": ChatMessageUser,
        "assistant": ChatMessageAssistant,
    }
    return [kinds[message.role](content=message.text) for message in request.messages]


def _read(output: ModelOutput) -> ModelReply:
    if output.empty:
        return ModelReply(finish="failed", error=output.error or "the reply has no choices")
    content = output.message.content
    thoughts = [
        part.reasoning or part.summary or ""
        for part in (() if isinstance(content, str) else content)
        if part.type == "reasoning"
    ]
    too_long = output.stop_reason == "model_length"
    finish: Finish = "too_long" if too_long else FINISHES.get(output.stop_reason, "other")
    usage = output.usage
    cached = (usage.input_tokens_cache_read, usage.input_tokens_cache_write) if usage else ()
    return ModelReply(
        text=clean(output.completion),
        thought=clean("".join(thoughts)) or None,
        finish=finish,
        error=(output.error or "the prompt does not fit into the model's context") if too_long else None,
        prompt_tokens=usage.input_tokens + sum(count or 0 for count in cached) if usage else None,
        completion_tokens=usage.output_tokens if usage else None,
        thought_tokens=usage.reasoning_tokens if usage else None,
        model=output.model or None,
    )


def open_inspect(name: str, given: Mapping[str, str], limits: RateLimits) -> InspectProvider:
    """Open one of Inspect's providers.

    Args:
        name: `inspect/PROVIDER/MODEL`.
        given: `base_url`, `num_concurrent`, `max_retries`, `timeout`, `max_gen_toks`, `reasoning_effort`, `top_k`,
            `extra_body`; all others go to the provider.
        limits: the limits a minute.

    Raises:
        UsageError: Inspect has no such provider, or it does not take an argument.
        MissingPartError: Inspect, or a package that the provider needs, is not installed.
        BackendError: the provider cannot be opened, such as for want of a key.
    """
    try:
        from inspect_ai._util.error import PrerequisiteError  # noqa: PLC0415 - installed by the user
        from inspect_ai._util.registry import registry_find, registry_info  # noqa: PLC0415 - installed by the user
        from inspect_ai.model import get_model  # noqa: PLC0415 - installed by the user
    except ImportError as error:
        raise MissingPartError(f"{name} needs Inspect: pip install inspect-ai ({error})") from error
    provider, slash, model = name.removeprefix(PREFIX).partition("/")
    if not slash or not provider or not model:
        raise UsageError(f"{name!r} is not of the form inspect/PROVIDER/MODEL", field=argument("model"))
    found = registry_find(lambda info: info.type == "modelapi")
    known = {registry_info(provider).name.rpartition("/")[2] for provider in found}
    if provider not in known:
        missing = f"Inspect has no provider {provider!r}; {nearest(provider, known)}"
        raise UsageError(missing, field=argument("model"))
    args = InspectArguments.read(name, given, others={*given} - SECRETS)
    passed: dict[str, Any] = {
        key: value for key, value in given.items() if key not in InspectArguments.model_fields
    }
    try:
        opened = get_model(f"{provider}/{model}", base_url=args.base_url, memoize=False, **passed)
    except TypeError as error:
        wrong = f"{name} does not take these arguments: {shortened(str(error), 200)}"
        raise UsageError(wrong, field=argument("model_args")) from error
    except Exception as error:
        kind = "" if isinstance(error, PrerequisiteError | ImportError) else f"{type(error).__name__}: "
        raise BackendError(f"{name} cannot be opened: {kind}{shortened(str(error), 300)}") from error
    return InspectProvider(name, opened, args, limits)
