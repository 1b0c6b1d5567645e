"""The model of a run: a built-in respondent or a backend, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from merilo.errors import UsageError, argument
from merilo.models.asking import ModelBackend
from merilo.models.backends import RateLimits
from merilo.models.builtin_respondents import BUILTIN_RESPONDENTS, BuiltinRespondent, RespondentMaterial


def open_model(
    name: str,
    args: Mapping[str, str],
    limits: RateLimits,
    materials: Sequence[RespondentMaterial],
    *,
    seed: int = 0,
    device: str | None = None,
    media_folder: Path | None = None,
) -> ModelBackend:
    """Open a built-in respondent or a backend.

    Args:
        name: the name.
        args: the backend's arguments; built-in respondents take none.
        limits: the limits of requests and tokens a minute.
        materials: the datasets with their items, which built-in respondents read.
        seed: random seed of the built-in respondent `random`.
        device: where local weights are put.
        media_folder: the folder that paths of media are relative to.

    Raises:
        UsageError: there is no such backend, or it does not take an argument.
        MissingPartError: an extra is missing.
        BackendError: a key is missing.
    """
    if name in BUILTIN_RESPONDENTS:
        if args:
            raise UsageError(f"the built-in respondent {name} takes no arguments")
        return BuiltinRespondent(name, materials, seed=seed)
    if near := get_close_matches(name, BUILTIN_RESPONDENTS, n=1, cutoff=0.8):
        raise UsageError(f"there is no backend '{name}'; did you mean {near[0]}?", field=argument("model"))
    from merilo.models.backends import open_backend  # noqa: PLC0415 - imports the backends

    return open_backend(name, args, limits, device=device, media_folder=media_folder)
