"""Calibration curves: map a classifier's probability to the rating used in J.

A curve is a non-decreasing, piecewise linear function on [0, 1], as isotonic regression gives it, kept in a JSON file:

    {"format": "merilo-calibration/1",
     "name": "a name for reports",
     "provenance": "who fitted it, to what, when; where it was published",
     "curves": {"sta": {"x": [0.0, ...], "y": [0.0, ...]}, "sim": {...}, "fl": {...}}}

`x` increases strictly, `y` never decreases; both lie in [0, 1]. Below the first x the curve is constant at its first
y, above the last x at its last y, as in scikit-learn's `IsotonicRegression(out_of_bounds="clip")`, whose
`X_thresholds_` and `y_thresholds_` are x and y.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal, Self, TypeAlias

import numpy as np
from pydantic import Field, model_validator

from merilo.records import Record
from merilo.statistics import FloatArray

IDENTITY: Final = Path(__file__).parent / "curves" / "identity.json"

_Unit: TypeAlias = Annotated[float, Field(ge=0, le=1)]
_Text: TypeAlias = Annotated[str, Field(min_length=1)]


class Curve(Record):
    """One curve.

    Attributes:
        x: the classifier's probabilities, strictly increasing, in [0, 1].
        y: the ratings they stand for, never decreasing, in [0, 1].
    """

    x: Annotated[tuple[_Unit, ...], Field(min_length=1)]
    y: tuple[_Unit, ...]

    @model_validator(mode="after")
    def _is_curve(self) -> Self:
        if len(self.x) != len(self.y):
            raise ValueError("must have x and y of equal length")
        if (np.diff(self.x) <= 0).any() or (np.diff(self.y) < 0).any():
            raise ValueError("must have x increasing strictly and y never decreasing")
        return self

    def __call__(self, probabilities: FloatArray) -> FloatArray:
        """Return the ratings for probabilities, shape (n,).

        Example:
            >>> Curve(x=(0.0, 0.5, 1.0), y=(0.0, 0.8, 1.0))(np.array([0.25, 0.75])).tolist()
            [0.4, 0.9]
        """
        return np.asarray(np.interp(probabilities, self.x, self.y))


class Curves(Record):
    """The curves of J's parts: inoffensiveness, preservation of meaning, fluency."""

    sta: Curve
    sim: Curve
    fl: Curve


class Calibration(Record):
    """A file of calibration curves.

    Attributes:
        name: the name used in reports.
        provenance: who fitted them, to what, and where they were published.
        curves: the curves.
    """

    format: Literal["merilo-calibration/1"]
    name: _Text
    provenance: _Text
    curves: Curves
