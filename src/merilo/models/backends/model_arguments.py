"""The arguments of a backend, as lm-eval writes them: `model=gpt-4o,num_concurrent=16`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal, NoReturn, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic import Json as JsonText

from merilo.errors import UsageError, argument, one_text
from merilo.strict_json import Json
from merilo.wording import listed, shortened

#: Arguments that would put a key into logs and shell histories; keys come from the environment only.
SECRETS: Final = frozenset({"api_key", "auth_token", "header", "token"})
#: Fields of a request's body that Merilo sets itself: another value would change the question, or what comes back.
_OWN_FIELDS: Final = frozenset({"model", "messages", "prompt", "stream", "n", "echo", "logprobs"})
#: Arguments of lm-eval's that change nothing here; they are taken, so that its command lines work as they are.
_IGNORED: Final = frozenset(
    {"pretrained", "batch_size", "eos_string", "max_length", "tokenized_requests", "tokenizer_backend"}
)
_NOT_GIVEN: Final = frozenset({"", "None", "none", "null"})


def parse_model_arguments(text: str) -> dict[str, str]:
    """Read arguments as lm-eval's `--model_args`: `K=V,K=V`, or a JSON object.

    Raises:
        UsageError: a part has no `=`, a name is empty or occurs twice, or the JSON is not an object of plain values.

    Example:
        >>> parse_model_arguments("model=gpt-4o, base_url=http://127.0.0.1:8000/v1")
        {'model': 'gpt-4o', 'base_url': 'http://127.0.0.1:8000/v1'}
        >>> parse_model_arguments('{"model": "a,b", "timeout": 60}')
        {'model': 'a,b', 'timeout': '60'}
    """
    if text.lstrip().startswith("{"):
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            _wrong(f"starts as a JSON object and is none: {shortened(str(error))}")
        return {
            name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()
        }
    arguments: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            _wrong(
                f"takes NAME=VALUE, separated by commas, not {shortened(part)!r}; values with commas need a JSON object"
            )
        if name.strip() in arguments:
            _wrong(f"names {name.strip()!r} twice")
        arguments[name.strip()] = value.strip()
    return arguments


def _wrong(message: str) -> NoReturn:
    raise UsageError(message, field=argument("model_args"))


def nearest(name: str, known: Collection[str]) -> str:
    """Return the names that are most like a mistyped one as the end of a sentence, or all names if none is.

    Example:
        >>> nearest("open-ai", ["openai", "hf"])
        'did you mean openai?'
        >>> nearest("x", ["openai", "hf"])
        'there are hf, openai'
    """
    near = get_close_matches(name.lower(), sorted(known), n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {listed(sorted(known), 40)}"


class BackendArguments(BaseModel):
    """The arguments of a backend; subclasses declare them with type, default and bounds."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @classmethod
    def read(
        cls, backend: str, arguments: Mapping[str, str], key: str | None = None, others: Collection[str] = ()
    ) -> Self:
        """Read the arguments of a backend.

        Args:
            backend: the backend's name, for messages.
            arguments: the arguments as written; empty ones and "None" count as not given.
            key: the environment variable with the backend's key, if it has one.
            others: names that the backend takes beside those declared.

        Raises:
            UsageError: an argument is missing, has the wrong value, or is not known; the message offers the
                nearest names.
        """
        known = {*cls.model_fields, *others, *_IGNORED}
        for name in arguments:
            if name in SECRETS:
                where = f"the environment variable {key}" if key else "the environment"
                _wrong(f"takes no {name}: keys are read from {where} only, so that no log holds them")
            if name not in known:
                _wrong(f"{backend} takes no argument {name!r}; {nearest(name, known)}")
        values = {name: value for name, value in arguments.items() if value not in _NOT_GIVEN}
        if "model" in cls.model_fields and "pretrained" in values:
            values.setdefault("model", values["pretrained"])
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            faults = error.errors(include_url=False)
            name = str(faults[0]["loc"][0])
            if name not in values:
                _wrong(f"{backend} needs {name}=...")
            reason = one_text(fault for fault in faults if fault["loc"][0] == name)
            _wrong(f"{name} {reason}, not {shortened(values[name])!r}")


def _is_free(fields: dict[str, object]) -> dict[str, object]:
    """Refuse fields of a request's body that Merilo sets itself."""
    if own := sorted(_OWN_FIELDS & fields.keys()):
        raise ValueError(f"must not set {listed(own)}")
    return fields


#: A JSON object, given as text.
JsonObject: TypeAlias = JsonText[dict[str, Any]]


class ServerArguments(BackendArguments):
    """The arguments of every backend that talks to a server.

    Attributes:
        model: the model's name.
        base_url: the server's address; by default, the vendor's.
        num_concurrent: requests at the same time.
        max_retries: how many times a request is sent again.
        timeout: the longest wait for a whole reply, in seconds.
        max_gen_toks: the most tokens of an answer for requests that name none; 0 leaves it to the server.
        verify_certificate: whether certificates are checked.
        ca_cert_path: the file of the authorities to check certificates with.
        top_k: the number of most likely tokens that are sampled from; no server of OpenAI's own takes it.
        extra_body: further fields of each request's body; they replace fields of the same name.
    """

    model: str
    base_url: str | None = None
    num_concurrent: int = Field(16, ge=1)
    max_retries: int = Field(5, ge=0)
    timeout: float = Field(300, gt=0, allow_inf_nan=False)
    max_gen_toks: int = Field(0, ge=0)
    verify_certificate: bool = True
    ca_cert_path: str | None = None
    top_k: int | None = Field(None, ge=-1)
    extra_body: Annotated[JsonObject, AfterValidator(_is_free)] | None = None

    @property
    def added(self) -> dict[str, Json]:
        """What the arguments add to the body of each request for a text."""
        named = self.model_dump(include={"top_k", "response_format"}, exclude_none=True)
        return named | (self.extra_body or {})


class ChatArguments(ServerArguments):
    """The arguments of a chat server of OpenAI's kind."""

    images: bool | None = None
    response_format: JsonObject | None = None
    reasoning_effort: str | None = None
    enable_thinking: bool | None = None
    think_end_token: str | None = None
    sampling: bool | None = None


class AnthropicArguments(ServerArguments):
    """The arguments of Anthropic's API, which needs a limit of tokens with every request."""

    max_gen_toks: int = Field(1024, ge=0)
    thinking: Literal["adaptive", "disabled"] | Annotated[int, Field(ge=0)] | None = None
    effort: str | None = None
    sampling: bool | None = None


class CompletionArguments(ServerArguments):
    """The arguments of a server that continues texts; those of the tokenizer are lm-eval's."""

    response_format: JsonObject | None = None
    max_gen_toks: int = Field(256, ge=0)
    tokenizer: str | None = None
    tokenizer_backend: Literal["auto", "huggingface", "tiktoken", "remote"] | None = None
    tokenized_requests: bool = False
    add_bos_token: bool = False
    revision: str = "main"
    trust_remote_code: bool = False
    use_fast_tokenizer: bool = True
    think_end_token: str | None = None
