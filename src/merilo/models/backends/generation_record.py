"""The number of tokens of a generated text, and whether it was truncated: lm-eval does not return them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any


class GenerationRecord:
    """Notes the tokens of every text that an `LM` object of lm-eval's generates.

    `generate_until` returns texts alone, so a truncated answer looks like a whole one. It decodes each text and then hands it to its cache
    hook; this object sees both. Backends that decode elsewhere (vLLM) leave no tokens, and their texts are tokenized again.

    Args:
        lm: the object; its `tok_decode` and its cache hook are replaced.
    """

    def __init__(self, lm: Any) -> None:  # noqa: ANN401 - lm-eval publishes no types
        self._lm = lm
        self._last: tuple[list[int], str] | None = None
        self._made: defaultdict[tuple[str, str], list[tuple[list[int], str]]] = defaultdict(list)
        decode = lm.tok_decode if hasattr(lm, "tok_decode") else None
        if decode is not None:

            def recorded(tokens: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - lm-eval's
                text = decode(tokens, *args, **kwargs)
                if isinstance(tokens, list):
                    self._last = (tokens, str(text))
                return text

            lm.tok_decode = recorded
        lm.cache_hook = self

    def add_partial(self, kind: str, request: tuple[str, Any], text: Any) -> None:  # noqa: ANN401 - lm-eval's
        """Take what lm-eval would cache: a request and its result."""
        if kind == "generate_until" and self._last is not None:
            self._made[request[0], str(text)].append(self._last)
        self._last = None

    def of(self, context: str, text: str) -> tuple[int, bool]:
        """Return the tokens that a text was generated as, and whether the model or a stop string ended it."""
        made = self._made[context, text]
        if not made:
            return len(self._lm.tok_encode(text)), False
        tokens, whole = made.pop(0)
        ends = {self._lm.eot_token_id, getattr(getattr(self._lm, "tokenizer", None), "pad_token_id", None)}
        length = next((place + 1 for place, token in enumerate(tokens) if token in ends), len(tokens))
        ended = bool(tokens) and tokens[length - 1] in ends
        return length, ended or len(whole) > len(text)

    def clear(self) -> None:
        """Forget a batch."""
        self._made.clear()
