"""Local weights through lm-eval's `LM` classes: `hf`, `vllm`, `sglang` and others, in batches run in a thread."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, cast

from pydantic import Field, PositiveInt

from merilo.errors import BackendError, MissingPartError, missing_extra
from merilo.models.asking import Abilities, ModelReply, Request
from merilo.models.backends.model_arguments import BackendArguments
from merilo.models.backends.servers import split_at_mark
from merilo.wording import shortened


class GenerationRecord:
    """Notes the tokens of every text that an `LM` object of lm-eval's generates.

    `generate_until` returns texts alone, so a truncated answer looks like a whole one. It decodes each text
    and then hands it to its cache hook; this object sees both. Backends that decode elsewhere (vLLM) leave no
    tokens, and their texts are tokenized again.

    Args:
        lm: the object; its `tok_decode` and its cache hook are replaced.
    """

    def __init__(self, lm: Any) -> None:  # noqa: ANN401 - lm-eval publishes no types
        self._lm = lm
        self._last: tuple[list[int], str] | None = None
        self._made: defaultdict[tuple[str, str], list[tuple[list[int], str]]] = defaultdict(list)
        decode, lm.cache_hook = getattr(lm, "tok_decode", None), self
        if decode is None:
            return

        def recorded(tokens: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - lm-eval's
            text = decode(tokens, *args, **kwargs)
            if isinstance(tokens, list):
                self._last = (tokens, str(text))
            return text

        lm.tok_decode = recorded

    def add_partial(self, kind: str, request: tuple[str, Any], text: Any) -> None:  # noqa: ANN401 - lm-eval's
        """Take what lm-eval would cache: a request and its result."""
        if kind == "generate_until" and self._last is not None:
            self._made[request[0], str(text)].append(self._last)
        self._last = None

    def of(self, context: str, text: str) -> tuple[int, bool]:
        """Return the tokens that a text was generated as, and whether the model or a stop string ended it."""
        texts = self._made[context, text]
        if not texts:
            return len(self._lm.tok_encode(text)), False
        tokens, whole = texts.pop(0)
        ends = {self._lm.eot_token_id, getattr(getattr(self._lm, "tokenizer", None), "pad_token_id", None)}
        length = next((place + 1 for place, token in enumerate(tokens) if token in ends), len(tokens))
        ended = bool(tokens) and tokens[length - 1] in ends
        return length, ended or len(whole) > len(text)

    def clear(self) -> None:
        """Forget a batch."""
        self._made.clear()


#: lm-eval's names of backends with local weights, and the extras of each; all but `hf` need their own package too.
LOCAL_BACKENDS: Final[Mapping[str, str]] = {
    "hf": "models,hf",
    "vllm": "models",
    "sglang": "models",
}
#: Names and paths, which stay texts even if they look like numbers.
_TEXTS: Final = frozenset({"pretrained", "tokenizer", "revision", "subfolder", "peft", "delta", "gguf_file"})
#: Requests in a batch, and in what lm-eval divides into batches itself.
_BATCH, _AUTO_BATCH = 8, 64


class LocalArguments(BackendArguments):
    """Merilo's own arguments of local weights; all others are those of lm-eval's class.

    Attributes:
        pretrained: the model's name or folder.
        apply_chat_template: whether conversations are written by the model's chat template.
        batch_size: requests in a batch; with "auto", lm-eval chooses the size of its own batches and prints them to
            standard output.
        think_end_token: the mark that ends a thought, if the user names one.
        max_gen_toks: the most tokens of an answer for requests that name none.
    """

    pretrained: str
    apply_chat_template: bool = False
    batch_size: PositiveInt | Literal["auto"] = _BATCH
    think_end_token: str | None = None
    max_gen_toks: int = Field(256, ge=1)


class LocalModel:
    """A model on this machine behind an `LM` object of lm-eval's; a `ModelBackend`.

    A batch runs in a thread, one batch at a time. Prompts that do not fit into the model's context are not
    cut, as lm-eval would, but answered `too_long`.

    Args:
        lm: the object; a `TemplateLM` of lm-eval's.
        name: the backend's name.
        args: how it is asked.
    """

    concurrency = 1

    def __init__(self, lm: Any, name: str, args: LocalArguments) -> None:  # noqa: ANN401 - lm-eval publishes no types
        self.name, self.model = name, args.pretrained
        self.batch_size = args.batch_size if isinstance(args.batch_size, int) else _AUTO_BATCH
        self.abilities = Abilities(frozenset({"generate", "loglikelihood"}), chat=args.apply_chat_template)
        self._lm = lm
        self._args = args
        self._record = GenerationRecord(lm)

    async def ask(self, requests: Sequence[Request]) -> Sequence[ModelReply]:
        """Answer requests, in their order.

        A batch that fails is tried again in halves; a request that fails alone gets a failed reply.
        """
        return await asyncio.to_thread(self._answer, list(requests))

    async def close(self) -> None:
        """Release the weights."""
        self._lm = None

    def _answer(self, requests: list[Request]) -> list[ModelReply]:
        replies = [self._excess(request) for request in requests]
        for method, scored in ((self._score, True), (self._generate, False)):
            places = [
                place
                for place, request in enumerate(requests)
                if replies[place] is None and bool(request.choices) is scored
            ]
            answered = self._in_halves(method, [requests[place] for place in places])
            for place, reply in zip(places, answered, strict=True):
                replies[place] = reply
        return [reply for reply in replies if reply is not None]

    def _in_halves(
        self, method: Callable[[list[Request]], list[ModelReply]], requests: list[Request]
    ) -> list[ModelReply]:
        """Run a batch; if it fails, such as for want of memory, run its halves."""
        if not requests:
            return []
        started = time.monotonic()
        try:
            with contextlib.redirect_stdout(sys.stderr):  # lm-eval prints the sizes of its batches
                replies = method(requests)
        except Exception as error:
            if len(requests) == 1:
                what = f"{type(error).__name__}: {shortened(str(error), 200)}"
                return [ModelReply(finish="failed", error=what, seconds=time.monotonic() - started)]
            middle = len(requests) // 2
            return [
                *self._in_halves(method, requests[:middle]),
                *self._in_halves(method, requests[middle:]),
            ]
        seconds = (time.monotonic() - started) / len(requests)
        return [replace(reply, seconds=seconds, model=self.model) for reply in replies]

    def _context(self, request: Request) -> str:
        """Return the text that the model continues; a request without messages is a plain text."""
        if not self._args.apply_chat_template or not request.messages:
            return request.prompt
        history = [{"role": message.role, "content": message.text} for message in request.messages]
        return str(self._lm.apply_chat_template(history))

    def _encoded(self, context: str, choice: str) -> tuple[list[int], list[int]]:
        if not context:
            return [0], list(self._lm.tok_encode(choice, add_special_tokens=False))
        before, after = self._lm._encode_pair(context, choice)
        return list(before), list(after)

    def _excess(self, request: Request) -> ModelReply | None:
        """Return the reply to a request that is too long for the model's context, `None` if it fits."""
        context, limit = self._context(request), int(self._lm.max_length)
        if request.choices:
            # The last token of a continuation is predicted and not read.
            longest = max(sum(map(len, self._encoded(context, choice))) - 1 for choice in request.choices)
        else:
            longest = len(self._lm.tok_encode(context)) + self._most(request)
        if longest <= limit:
            return None
        excess = f"{longest} tokens are {longest - limit} too many for the model's context of {limit}"
        return ModelReply(finish="too_long", error=excess, attempts=0)

    def _most(self, request: Request) -> int:
        return request.max_tokens or self._args.max_gen_toks

    def _score(self, requests: list[Request]) -> list[ModelReply]:
        contexts = [self._context(request) for request in requests]
        pairs = [
            (context, choice)
            for context, request in zip(contexts, requests, strict=True)
            for choice in request.choices
        ]
        encoded = [self._encoded(*pair) for pair in pairs]
        values: dict[int, float] = {}
        for places in passes_without_collisions(encoded):
            instances = _instances("loglikelihood", [pairs[place] for place in places])
            scores = self._lm.loglikelihood(instances, disable_tqdm=True)
            values.update((place, float(value)) for place, (value, _) in zip(places, scores, strict=True))
        replies, first = [], 0
        for request in requests:
            own = range(first, first + len(request.choices))
            first += len(request.choices)
            tokens = sum(sum(map(len, encoded[place])) for place in own)
            likelihoods = tuple(values[place] for place in own)
            replies.append(ModelReply(loglikelihoods=likelihoods, prompt_tokens=tokens, completion_tokens=0))
        return replies

    def _generate(self, requests: list[Request]) -> list[ModelReply]:
        self._seed(requests)
        contexts = [self._context(request) for request in requests]
        settings = [
            {
                "until": list(request.stop),
                "max_gen_toks": self._most(request),
                "do_sample": request.temperature > 0,
                "temperature": request.temperature,
            }
            for request in requests
        ]
        pairs = list(zip(contexts, settings, strict=True))
        texts = self._lm.generate_until(_instances("generate_until", pairs), disable_tqdm=True)
        replies = [
            self._read(request, context, str(text))
            for request, context, text in zip(requests, contexts, texts, strict=True)
        ]
        self._record.clear()
        return replies

    def _seed(self, requests: Sequence[Request]) -> None:
        """Seed the sampling of a batch by its first request; a batch is the unit that can be repeated."""
        seed = requests[0].seed
        if seed is not None and requests[0].temperature > 0 and "torch" in sys.modules:
            sys.modules["torch"].manual_seed(seed + requests[0].sample - 1)

    def _read(self, request: Request, context: str, text: str) -> ModelReply:
        length, ended = self._record.of(context, text)
        thought, answer = split_at_mark(text, self._args.think_end_token)
        return ModelReply(
            text=answer,
            thought=thought,
            finish="length" if not ended and length >= self._most(request) else "stop",
            prompt_tokens=len(self._lm.tok_encode(context)),
            completion_tokens=length,
            thought_tokens=None if thought is None else len(self._lm.tok_encode(thought)),
        )


def passes_without_collisions(encoded: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[list[int]]:
    """Divide pairs of context and continuation into calls of `loglikelihood` that lm-eval answers rightly.

    lm-eval's `hf` runs the model once for all pairs of a call that are equal up to the last token. If they
    are split at different places, such as "a b" + " c d" and "a b c" + " d", it gives the shorter
    continuation the probability of another token (0.4.13).

    Args:
        encoded: the tokens of each pair.

    Returns:
        The numbers of the pairs, call by call; one call if nothing collides.

    Example:
        >>> passes_without_collisions([([1], [2, 3]), ([1, 2], [3]), ([1], [4])])
        [[0, 2], [1]]
    """
    passes: list[tuple[list[int], dict[tuple[int, ...], int]]] = []
    for place, (before, after) in enumerate(encoded):
        whole = (*before, *after[:-1])
        for places, lengths in passes:
            if lengths.setdefault(whole, len(before)) == len(before):
                places.append(place)
                break
        else:
            passes.append(([place], {whole: len(before)}))
    return [places for places, _ in passes]


def _instances(kind: str, pairs: Sequence[tuple[str, Any]]) -> list[Any]:
    from lm_eval.api.instance import Instance  # noqa: PLC0415 - an extra

    return [Instance(kind, {}, pair, place) for place, pair in enumerate(pairs)]


def open_local_model(name: str, arguments: Mapping[str, str]) -> LocalModel:
    """Load local weights.

    Args:
        name: a name of `LOCAL_BACKENDS`.
        arguments: the arguments of lm-eval's class, and `apply_chat_template`, `think_end_token`, `max_gen_toks`.

    Raises:
        UsageError: an argument is unknown or has the wrong value.
        MissingPartError: a package is missing.
        BackendError: the weights cannot be loaded.
    """
    try:
        import lm_eval.models  # noqa: F401, PLC0415 - fills the registry
        from lm_eval.api.registry import get_model  # noqa: PLC0415 - an extra
        from lm_eval.utils import handle_arg_string  # noqa: PLC0415 - an extra

        kind = cast("type[Any]", get_model(name))
    except ImportError as error:
        raise _missing(name, error) from error
    parameters = inspect.signature(kind.__init__).parameters
    # lm-eval's classes pass arguments that they do not name to the library below them.
    passes_on = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    args = LocalArguments.read(name, arguments, others={*parameters, *(arguments if passes_on else ())})
    own = LocalArguments.model_fields.keys() - {"pretrained"}
    passed = {
        key: value if key in _TEXTS else handle_arg_string(value)
        for key, value in arguments.items()
        if key not in own
    }
    try:
        with contextlib.redirect_stdout(sys.stderr):
            lm = kind(**passed, batch_size=args.batch_size)
    except ImportError as error:
        raise _missing(name, error) from error
    except Exception as error:
        what = f"{type(error).__name__}: {shortened(str(error), 300)}"
        raise BackendError(f"the model {args.pretrained!r} cannot be loaded by {name}: {what}") from error
    return LocalModel(lm, name, args)


def _missing(name: str, error: ImportError) -> MissingPartError:
    also = "" if name == "hf" else f"; it also needs pip install {name}"
    return missing_extra(f"the backend {name}", LOCAL_BACKENDS[name], f"{error}{also}")
