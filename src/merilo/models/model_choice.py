"""The model of a run: a built-in respondent or a backend, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from merilo.datasets.declaration import Dataset
from merilo.errors import UsageError
from merilo.items import Item
from merilo.models.asking import ModelBackend
from merilo.models.backends import RateLimits

#: The built-in respondents, which are no models.
BUILTIN: Final = ("random", "most-frequent", "longest", "gold")


def open_model(
    name: str,
    args: Mapping[str, str],
    limits: RateLimits,
    items: Mapping[str, tuple[Dataset, Sequence[Item]]],
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
        items: the datasets by name with their items, which built-in respondents read.
        seed: random seed of the built-in respondent `random`.
        device: where local weights are put.
        media_folder: the folder that paths of media are relative to.

    Raises:
        UsageError: there is no such backend, or it does not take an argument.
        MissingPartError: an extra is missing.
        BackendError: a key is missing.
    """
    if name in BUILTIN:
        if args:
            raise UsageError(f"the built-in respondent {name} takes no arguments")
        from merilo.models.builtin_respondents import BuiltinRespondent  # noqa: PLC0415 - only tests of scorers use it

        return BuiltinRespondent(name, items, seed=seed)
    from merilo.models.backends import open_backend  # noqa: PLC0415 - imports the backends

    return open_backend(name, args, limits, device=device, media_folder=media_folder)
