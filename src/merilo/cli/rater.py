"""Command-line options of J's classifiers, shared by several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from merilo.cli.output import say
from merilo.errors import UsageError
from merilo.metrics.detox import Rater

#: The option value that means the published models, downloaded from the hub.
HUB: Final = "hub"

ModelsOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--rudetox-models",
        metavar="DIR|hub",
        help="J's classifiers: a folder with sta, sim and fl, or 'hub' for the published ones; without it J is not computed.",
    ),
]
CurvesOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--rudetox-curves", help="J's calibration curves; the identity, named as such, when not given."
    ),
]


def rater_of(models: str | None, curves: Path | None) -> Rater | None:
    """Return the rater that the options select, or `None` if they select none.

    Raises:
        UsageError: curves are given without models.
        MissingPartError: the extra `hf` or a model is missing.
        InputError: the folder of models or the file of curves is invalid.
    """
    if models is None:
        if curves is not None:
            raise UsageError("--rudetox-curves needs --rudetox-models")
        return None
    from merilo.metrics.calibration import IDENTITY  # noqa: PLC0415 - only J needs it
    from merilo.metrics.classifiers import Classifiers, quietly  # noqa: PLC0415 - only J needs it

    with quietly():
        rater = Classifiers(None if models == HUB else Path(models), curves or IDENTITY)
    say(f"J is calibrated by '{rater.calibration.name}'. {rater.calibration.provenance}")
    return rater
