"""Checking a backend's log-likelihoods before they are trusted: some servers return wrong ones without any error.

The true values of the model are not known, but they obey laws that wrong values break:

- the probability of two words is that of the first times that of the second after it (servers that shift
log-probabilities by one token,
  such as llama-cpp-python's, break this);
- no text is more probable than the token that greedy decoding takes;
- the probabilities of texts of which none begins another sum up to at most 1, and none is above 1;
- different words have different probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, isfinite
from typing import Final, NoReturn

from merilo.errors import BackendError, argument
from merilo.models.asking import ModelBackend, ModelReply, Request
from merilo.text import Text

#: Contexts and words after them, divided by "|".
_FRANCE: Final = Text("The capital of France is| Paris| blue| seven| the")
_COUNTING: Final = "One, two, three, four,| five| blue| Paris| the"

#: How far values may be from the law: a share of the values and of the spread between words, for half
#: precision, and a little more.
_OF_VALUES, _OF_SPREAD, _ALWAYS = 0.001, 0.05, 0.001


@dataclass(frozen=True, slots=True)
class _Scores:
    """Log-likelihoods after one context.

    They are those of words, of pairs of words, and of the second word after context and first.
    """

    words: Sequence[float]
    pairs: Sequence[float]
    seconds: Sequence[float]

    @property
    def spread(self) -> float:
        return max(self.words) - min(self.words)

    @property
    def difference(self) -> float:
        """The largest difference from the law of pairs."""
        return max(
            abs(pair - word - second)
            for pair, word, second in zip(self.pairs, self.words, self.seconds, strict=True)
        )

    @property
    def tolerance(self) -> float:
        return _ALWAYS + _OF_VALUES * max(map(abs, self.pairs)) + _OF_SPREAD * self.spread


async def self_check(backend: ModelBackend) -> None:
    """Check a backend's log-likelihoods; 36 continuations are scored and three tokens generated.

    Args:
        backend: a backend with log-likelihoods.

    Raises:
        BackendError: it gives no log-likelihoods, or wrong ones.
    """
    if "loglikelihood" not in backend.abilities.modes:
        raise BackendError(f"{backend.name} gives no log-likelihoods of continuations")
    # The Russian context shows whether a server that names its tokens can spell Cyrillic letters.
    contexts = (text.split("|") for text in (_FRANCE.en, _COUNTING, _FRANCE.ru))
    found = {context: await _scores(backend, context, tuple(words)) for context, *words in contexts}
    for scores in found.values():
        _refuse_impossible(backend, scores)
    worst = max(found.values(), key=lambda scores: scores.difference / scores.tolerance)
    if worst.difference > worst.tolerance:
        law = "the log-likelihood of two words is not the sum of the first word's and the second's after it"
        shift = "servers that shift log-probabilities by one token do this"
        _refuse(backend, f"{law} (it differs by {worst.difference:.3g}); {shift}")
    greedy = await _greedy(backend, found)
    if greedy and sum(not holds for holds in greedy) * 2 > len(greedy):
        _refuse(
            backend, "other words are more likely than the token that the model itself takes at temperature 0"
        )


async def _scores(backend: ModelBackend, context: str, words: tuple[str, ...]) -> _Scores:
    after = (*words[1:], words[0])
    both = tuple(first + second for first, second in zip(words, after, strict=True))
    whole = _request(context, (*words, *both))
    parts = [_request(context + first, (second,)) for first, second in zip(words, after, strict=True)]
    first, *others = await _asked(backend, [whole, *parts])
    return _Scores(first[: len(words)], first[len(words) :], [values[0] for values in others])


async def _asked(backend: ModelBackend, requests: Sequence[Request]) -> list[Sequence[float]]:
    found: list[Sequence[float]] = []
    for start in range(0, len(requests), backend.batch_size):
        chosen = requests[start : start + backend.batch_size]
        for request, reply in zip(chosen, await backend.ask(chosen), strict=True):
            _refuse_missing(backend, request, reply)
            found.append(reply.loglikelihoods)
    return found


async def _greedy(backend: ModelBackend, found: Mapping[str, _Scores]) -> list[bool]:
    """Return for each context whether the token that the model generates is at least as likely as every word."""
    holds = []
    for context, scores in found.items():
        reply = (await backend.ask([_request(context)]))[0]
        token = reply.text
        # Part of a letter, or a text that joins the context's last word, would be split into other tokens.
        if reply.finish == "failed" or not token[:1].isspace() or not token.strip() or "\ufffd" in token:
            continue
        value = (await _asked(backend, [_request(context, (token,))]))[0][0]
        holds.append(value >= max(scores.words) - scores.tolerance)
    return holds


def _request(text: str, choices: tuple[str, ...] = ()) -> Request:
    # Without messages, a backend with a chat template takes the prompt as it is.
    return Request("self-check", 1, 1, (), text, choices=choices, max_tokens=1)


def _refuse_missing(backend: ModelBackend, request: Request, reply: ModelReply) -> None:
    if reply.finish != "stop" or len(reply.loglikelihoods) != len(request.choices):
        _refuse(backend, reply.error or "they are missing")
    if not all(map(isfinite, reply.loglikelihoods)):
        _refuse(backend, "they are not finite numbers")


def _refuse_impossible(backend: ModelBackend, scores: _Scores) -> None:
    if max((*scores.words, *scores.pairs, *scores.seconds)) > _ALWAYS:
        _refuse(backend, "a text has a probability above 1 (a positive logarithm)")
    if scores.spread <= 1e-6:
        _refuse(backend, "different words have the same log-likelihood")
    if sum(map(exp, scores.words)) > 1 + _ALWAYS + _OF_SPREAD:
        _refuse(backend, "the probabilities of different words sum up to more than 1")


def _refuse(backend: ModelBackend, what: str) -> NoReturn:
    raise BackendError(
        f"the log-likelihoods of {backend.name} for {backend.model} cannot be trusted: {what}; "
        f"use another server, or let the model generate its answers ({argument('mode', 'generate', given='generate')})"
    )
