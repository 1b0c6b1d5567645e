"""Command-line options of J's classifiers, shared by several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from merilo.cli.output import say
from merilo.metrics.detox import Rater
from merilo.metrics.detox import rater_of as select_rater

ModelsOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--rudetox-models",
        metavar="DIR|hub",
        help="J's classifiers: a folder with sta, sim and fl, or 'hub'. Without them J is not computed.",
    ),
]
CurvesOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--rudetox-curves", help="J's calibration curves. Default: no calibration, which the result states."
    ),
]


def rater_of(models: str | None, curves: Path | None) -> Rater | None:
    """Return the rater that the options select, or `None` if they select none; errors as for `j_raters.rater_of`."""
    rater = select_rater(models, curves)
    tell_calibration(rater)
    return rater


def tell_calibration(rater: Rater | None) -> None:
    """Say which calibration curves the classifiers use."""
    if rater is None:
        return
    from merilo.metrics.classifiers import Classifiers  # noqa: PLC0415 - only J needs it

    if isinstance(rater, Classifiers):
        say(f"J is calibrated by '{rater.calibration.name}'. {rater.calibration.provenance}")
