"""Command-line options of J's classifiers, shared by several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from merilo.api.j_raters import classifiers_of
from merilo.api.j_raters import rater_of as select_rater
from merilo.cli.output import say
from merilo.metrics.detox import Rater

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
    """Return the rater that the options select, or `None` if they select none; errors as for `j_raters.rater_of`."""
    if models is None:
        return select_rater(None, curves)
    rater = classifiers_of(models, curves)
    say(f"J is calibrated by '{rater.calibration.name}'. {rater.calibration.provenance}")
    return rater
