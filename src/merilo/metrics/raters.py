"""The classifiers of the metric J, chosen by a folder, by name or as an object."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from merilo.errors import UsageError, argument
from merilo.metrics.detox import Rater

#: The value that means the published models, downloaded from the hub.
HUB: Final = "hub"


def rater_of(models: str | Path | Rater | None, curves: str | Path | None) -> Rater | None:
    """Return the rater that the arguments select, or `None` if they select none.

    Args:
        models: a folder with `sta`, `sim` and `fl`, "hub" for the published models, or a rater.
        curves: the file of calibration curves; by default, the identity.

    Raises:
        UsageError: curves are given without a folder of models or "hub".
        MissingPartError: the extra `hf` or a model is missing.
        InputError: the folder of models or the file of curves is invalid.
    """
    if not isinstance(models, str | Path):
        if curves is not None:
            raise UsageError(f"{argument('rudetox_curves')} needs {argument('rudetox_models')}")
        return models
    from merilo.metrics.calibration import IDENTITY  # noqa: PLC0415 - only J needs it
    from merilo.metrics.classifiers import Classifiers, quietly  # noqa: PLC0415 - only J needs it

    with quietly():
        return Classifiers(None if str(models) == HUB else Path(models), Path(curves) if curves else IDENTITY)
