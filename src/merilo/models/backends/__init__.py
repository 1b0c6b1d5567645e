"""The backends of `merilo run`: what turns a request into a reply."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from merilo.errors import UsageError, argument
from merilo.models.asking import ModelBackend
from merilo.models.backends.chats import AnthropicChat, ChatCompletions
from merilo.models.backends.continuations import Completions
from merilo.models.backends.lm_eval_models import LOCAL_BACKENDS, open_local_model
from merilo.models.backends.model_arguments import nearest
from merilo.models.backends.self_check import self_check
from merilo.models.builtin_respondents import BUILTIN_RESPONDENTS, BuiltinRespondent, RespondentMaterial
from merilo.settings import RunSettings

__all__ = ["backend_names", "open_backend", "self_check"]


_CHATS: Final = ("openai-chat-completions", "local-chat-completions")
_CONTINUATIONS: Final = ("openai-completions", "local-completions")
_NAMES: Final = (*_CHATS, *_CONTINUATIONS, "anthropic-chat", *LOCAL_BACKENDS)

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
    media_folder: Path | None = None,
) -> ModelBackend:
    """Open a backend.

    Use it in one event loop only: its connections belong to the loop of its first request.

    Args:
        name: a name of `backend_names`.
        args: its arguments, as in lm-eval's `--model_args`; see `model_arguments.parse_model_arguments`.
        media_folder: the folder that the paths of pictures are below; without it, items with pictures are refused.

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
    if known in LOCAL_BACKENDS:
        return open_local_model(known, args)
    if known in _CHATS:
        return ChatCompletions(known, args, media_folder)
    if known in _CONTINUATIONS:
        return Completions(known, args)
    return AnthropicChat(args, media_folder)


def open_model(
    name: str,
    args: Mapping[str, str],
    settings: RunSettings,
    materials: Sequence[RespondentMaterial],
    media_folder: Path | None,
) -> ModelBackend:
    """Open a built-in respondent or a backend.

    Args:
        name: the name.
        args: the backend's arguments; built-in respondents take none.
        settings: the settings of the run, for the random seed of the built-in respondent `random`.
        materials: the datasets with their items, which built-in respondents read.
        media_folder: the folder that paths of media are relative to.

    Raises:
        UsageError: there is no such backend, or it does not take an argument.
        MissingPartError: an extra is missing.
        BackendError: a key is missing.
    """
    if name in BUILTIN_RESPONDENTS:
        if args:
            raise UsageError(f"the built-in respondent {name} takes no arguments")
        return BuiltinRespondent(name, materials, seed=settings.seed)
    return open_backend(name, args, media_folder=media_folder)
