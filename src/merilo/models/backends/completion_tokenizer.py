"""The tokenizer of a model behind a completions server, split into context and continuation as lm-eval does."""

from __future__ import annotations

from typing import Any, Final

from merilo.errors import BackendError, MissingPartError
from merilo.models.backends.model_arguments import BackendArguments
from merilo.models.backends.vendor_clients import ServerSettings, missing_models_extra
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
            f"the tokenizer {name or server.model!r} needs a package: pip install 'merilo[models]' transformers ({error})"
        ) from error
    except Exception as error:
        what = shortened(str(error) or type(error).__name__, 200)
        raise BackendError(f"the tokenizer {name or server.model!r} cannot be read: {what}") from error
    return CompletionTokenizer(lm)
