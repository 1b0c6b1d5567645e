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

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from merilo.errors import InputError
from merilo.metrics.detox import PARTS
from merilo.statistics.arrays import FloatArray

FORMAT: Final = "merilo-calibration/1"
IDENTITY: Final = Path(__file__).parent / "curves" / "identity.json"
_LARGEST_FILE: Final = 10_000_000


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve.

    Attributes:
        x: shape (points,), the classifier's probabilities, strictly increasing, in [0, 1].
        y: shape (points,), the ratings they stand for, never decreasing, in [0, 1].

    Raises:
        ValueError: the points do not form such a curve.
    """

    x: FloatArray
    y: FloatArray

    def __post_init__(self) -> None:
        if self.x.ndim != 1 or self.x.shape != self.y.shape or not len(self.x):
            raise ValueError("must have x and y of equal length, with at least one number each")
        if not (_in_unit(self.x) and _in_unit(self.y)):
            raise ValueError("has numbers outside [0, 1]")
        if (np.diff(self.x) <= 0).any() or (np.diff(self.y) < 0).any():
            raise ValueError("must have x increasing strictly and y never decreasing")

    def __call__(self, probabilities: FloatArray) -> FloatArray:
        """Return the ratings for probabilities, shape (n,).

        Example:
            >>> Curve(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.8, 1.0]))(np.array([0.25, 0.75])).tolist()
            [0.4, 0.9]
        """
        return np.asarray(np.interp(probabilities, self.x, self.y))


@dataclass(frozen=True, slots=True)
class Calibration:
    """The calibration curves of J's three parts, with their provenance.

    Attributes:
        name: the name used in reports.
        provenance: who fitted them, to what, and where they were published.
        sta: the curve for inoffensiveness.
        sim: the curve for preservation of meaning.
        fl: the curve for fluency.
    """

    name: str
    provenance: str
    sta: Curve
    sim: Curve
    fl: Curve


def read_calibration(path: Path = IDENTITY) -> Calibration:
    """Read a file of calibration curves.

    Args:
        path: the file; by default the identity calibration.

    Raises:
        InputError: the file cannot be read or has no valid curves.

    Example:
        >>> read_calibration().name
        'identity'
    """
    content = _json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"is not a file of calibration curves: 'format' must be '{FORMAT}'", file=path)
    name, provenance, curves = content.get("name"), content.get("provenance"), content.get("curves")
    if not (isinstance(name, str) and name and isinstance(provenance, str) and provenance):
        raise InputError(
            "must give a 'name' and a 'provenance' (who fitted the curves, and to what data)", file=path
        )
    if not isinstance(curves, dict):
        raise InputError("has no 'curves'", file=path)
    return Calibration(name, provenance, **{part: _curve(curves, part, path) for part in PARTS})


def _json(path: Path) -> object:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise InputError(
                f"is larger than {_LARGEST_FILE} bytes; a curve needs a few hundred points", file=path
            )
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot be read as JSON ({error})", file=path) from error


def _curve(curves: Mapping[str, object], part: str, path: Path) -> Curve:
    points = curves.get(part)
    try:
        if not isinstance(points, dict):
            raise ValueError("is missing")  # noqa: TRY301, TRY004 - reported below
        return Curve(np.array(points.get("x"), dtype=np.float64), np.array(points.get("y"), dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(str(error), file=path, field=f"curves.{part}") from error


def _in_unit(values: FloatArray) -> bool:
    return bool(((values >= 0) & (values <= 1)).all())
