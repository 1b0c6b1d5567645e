"""The backends by name, and the arguments that each takes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from merilo.errors import UsageError
from merilo.models.asking import ModelBackend
from merilo.models.backends.rate_limits import RateLimits


def backend_names() -> tuple[str, ...]:
    """Return the names of all backends, aliases included."""
    return ()


def open_backend(
    name: str,
    args: Mapping[str, str],
    limits: RateLimits = RateLimits(),  # noqa: B008 - immutable
    *,
    device: str | None = None,
    media_folder: Path | None = None,
) -> ModelBackend:
    """Open a backend.

    Args:
        name: a name of `backend_names`, or `inspect/PROVIDER/MODEL`.
        args: its arguments, as in lm-eval's `--model_args`; see `model_arguments.parse_model_arguments`.
        limits: the limits of requests and tokens a minute; only servers have them.
        device: where local weights are put, such as "cpu" or "cuda:0"; only backends with local weights take it.
        media_folder: the folder that the paths of pictures are below; without it, items with pictures are refused.

    Raises:
        UsageError: no backend of this name, or it does not take such an argument; the message offers the nearest names.
        MissingPartError: an extra that it needs is not installed.
        BackendError: the key is missing.
    """
    raise UsageError(f"there is no backend {name!r}")
