"""The backends of `merilo run`: what turns a request into a reply."""

from collections.abc import Mapping, Sequence
from math import exp, isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Final, NoReturn

from merilo.errors import BackendError, UsageError, argument
from merilo.models.asking import ModelBackend, Request
from merilo.models.backends.lm_eval_models import LOCAL_BACKENDS, open_local_model
from merilo.models.backends.model_arguments import nearest
from merilo.models.backends.served_models import AnthropicChat, ChatCompletions, Completions
from merilo.models.backends.servers import ServerBackend
from merilo.models.builtin_respondents import BUILTIN_RESPONDENTS, BuiltinRespondent, RespondentMaterial
from merilo.settings import RunSettings

__all__ = ["backend_names", "open_backend", "self_check"]


_SERVED: Final[Mapping[str, type[ServerBackend]]] = {
    **dict.fromkeys(("openai-chat-completions", "local-chat-completions"), ChatCompletions),
    **dict.fromkeys(("openai-completions", "local-completions"), Completions),
    "anthropic-chat": AnthropicChat,
}
_NAMES: Final = (*_SERVED, *LOCAL_BACKENDS)

#: lm-eval's other names.
ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {"anthropic-chat-completions": "anthropic-chat", "hf-auto": "hf", "huggingface": "hf"}
)


def backend_names() -> tuple[str, ...]:
    """Return the names of all backends, aliases included."""
    return tuple(sorted({*_NAMES, *ALIASES}))


def open_backend(
    name: str,
    args: Mapping[str, str],
    *,
    media: Mapping[str, Path] = MappingProxyType({}),
) -> ModelBackend:
    """Open a backend.

    Use it in one event loop only: its connections belong to the loop of its first request.

    Args:
        name: a name of `backend_names`.
        args: its arguments, as in lm-eval's `--model_args`; see `model_arguments.parse_model_arguments`.
        media: dataset -> the folder that the paths of its pictures are below; items of other datasets with pictures
            are refused.

    Raises:
        UsageError: no backend of this name, or it does not take such an argument; the message offers the nearest names.
        MissingPartError: an extra that it needs is not installed.
        BackendError: local weights cannot be loaded.
    """
    known = ALIASES.get(name, name)
    if known not in _NAMES:
        # `merilo run` takes built-in respondents by the same option.
        ends = nearest(name, [*backend_names(), *BUILTIN_RESPONDENTS])
        raise UsageError(f"there is no backend {name!r}; {ends}", field=argument("model"))
    served = _SERVED.get(known)
    return open_local_model(known, args) if served is None else served(known, args, media)


def open_model(
    name: str,
    args: Mapping[str, str],
    settings: RunSettings,
    materials: Sequence[RespondentMaterial],
    media: Mapping[str, Path],
) -> ModelBackend:
    """Open a built-in respondent or a backend.

    Args:
        name: the name.
        args: the backend's arguments; built-in respondents take none.
        settings: the settings of the run, for the random seed of the built-in respondent `random`.
        materials: the datasets with their items, which built-in respondents read.
        media: dataset -> the folder that paths of its media are relative to.

    Raises:
        UsageError: there is no such backend, or it does not take an argument.
        MissingPartError: an extra is missing.
        BackendError: a key is missing.
    """
    if name in BUILTIN_RESPONDENTS:
        if args:
            raise UsageError(f"the built-in respondent {name} takes no arguments")
        return BuiltinRespondent(name, materials, seed=settings.seed)
    return open_backend(name, args, media=media)


#: Contexts and words after them.
_TEXTS: Final = (
    ("The capital of France is", " Paris", " blue", " seven", " the"),
    ("One, two, three, four,", " five", " blue", " Paris", " the"),
    ("Столица Франции — город", " Париж", " синий", " семь", " и"),
)

#: How far values may be from a law: a share of the values and of the spread between words, for half precision,
#: and a little more.
_OF_VALUES, _OF_SPREAD, _ALWAYS = 0.001, 0.05, 0.001


async def self_check(backend: ModelBackend) -> None:
    """Check a backend's log-likelihoods before they are trusted: some servers return wrong ones without any error.

    The true values of the model are not known, but they obey laws that wrong values break: the probability of two
    words is that of the first times that of the second after it (servers that shift log-probabilities by one token,
    such as llama-cpp-python's, break this); the probabilities of texts of which none begins another sum up to at most
    1, and none is above 1; different words have different probabilities. 36 continuations are scored.

    Args:
        backend: a backend with log-likelihoods.

    Raises:
        BackendError: it gives no log-likelihoods, or wrong ones.
    """
    if "loglikelihood" not in backend.abilities.modes:
        raise BackendError(f"{backend.name} gives no log-likelihoods of continuations")
    for context, *firsts in _TEXTS:
        seconds = [*firsts[1:], firsts[0]]
        both = [first + second for first, second in zip(firsts, seconds, strict=True)]
        asked = [_request(context, *firsts, *both)]
        asked += [_request(context + first, second) for first, second in zip(firsts, seconds, strict=True)]
        values, *after = await _scores(backend, asked)
        words, pairs = values[: len(firsts)], values[len(firsts) :]
        spread = max(words) - min(words)
        if max(*values, *(value for (value,) in after)) > _ALWAYS:
            _refuse(backend, "a text has a probability above 1 (a positive logarithm)")
        if spread <= 1e-6:
            _refuse(backend, "different words have the same log-likelihood")
        if sum(map(exp, words)) > 1 + _ALWAYS + _OF_SPREAD:
            _refuse(backend, "the probabilities of different words sum up to more than 1")
        most = max(abs(pair - word - value) for pair, word, (value,) in zip(pairs, words, after, strict=True))
        if most > _ALWAYS + _OF_VALUES * max(map(abs, pairs)) + _OF_SPREAD * spread:
            law = (
                "the log-likelihood of two words is not the sum of the first word's and the second's after it"
            )
            shift = "servers that shift log-probabilities by one token do this"
            _refuse(backend, f"{law} (it differs by {most:.3g}); {shift}")


def _request(text: str, *choices: str) -> Request:
    # Without messages, a backend with a chat template takes the prompt as it is.
    return Request("self-check", 1, 1, (), text, choices=choices, max_tokens=1)


async def _scores(backend: ModelBackend, requests: Sequence[Request]) -> list[Sequence[float]]:
    scores: list[Sequence[float]] = []
    for start in range(0, len(requests), backend.batch_size):
        chosen = requests[start : start + backend.batch_size]
        for request, reply in zip(chosen, await backend.ask(chosen), strict=True):
            if reply.finish != "stop" or len(reply.loglikelihoods) != len(request.choices):
                _refuse(backend, reply.error or "they are missing")
            if not all(map(isfinite, reply.loglikelihoods)):
                _refuse(backend, "they are not finite numbers")
            scores.append(reply.loglikelihoods)
    return scores


def _refuse(backend: ModelBackend, what: str) -> NoReturn:
    raise BackendError(
        f"the log-likelihoods of {backend.name} for {backend.model} cannot be trusted: {what}; "
        f"use another server, or let the model generate its answers ({argument('mode', 'generate', given='generate')})"
    )
