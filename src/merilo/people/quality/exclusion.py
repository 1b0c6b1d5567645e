"""The exclusion rule for annotators, shared by the table of annotators, the report and the sensitivity analysis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merilo.people.quality.control_accuracy import ControlAccuracy


@dataclass(frozen=True, slots=True)
class ExclusionRule:
    """Excludes annotators below an accuracy on control items, if they answered enough of them.

    Attributes:
        min_control_accuracy: the threshold, 0 to 1; an annotator exactly at the threshold is kept.
        min_controls: annotators with fewer answers to controls are not judged by them, and are kept. Annotators
        without control answers are never judged, even if this is 0.

    Example:
        >>> rule = ExclusionRule(0.5, min_controls=2)
        >>> rule.excluded([0, 0, 1, 2], [1, 2, 2, 5]).tolist()
        [False, True, False, True]
    """

    min_control_accuracy: float = 0.5
    min_controls: int = 1

    def judged(self, answers: ArrayLike) -> NDArray[np.bool_]:
        """Return who has enough answers to controls to be judged.

        Args:
            answers: shape (annotators,), how many answers to controls each annotator gave.

        Returns:
            Shape (annotators,).
        """
        enough: NDArray[np.bool_] = np.asarray(answers, dtype=np.int64) >= max(1, self.min_controls)
        return enough

    def excluded(self, right: ArrayLike, answers: ArrayLike) -> NDArray[np.bool_]:
        """Return who is excluded.

        Args:
            right: shape (annotators,), how many answers to controls are correct.
            answers: shape (annotators,), how many answers to controls there are.

        Returns:
            Shape (people,).
        """
        total = np.asarray(answers, dtype=np.int64)
        accuracy = np.asarray(right, dtype=np.float64) / np.maximum(1, total)
        out: NDArray[np.bool_] = self.judged(total) & (accuracy < self.min_control_accuracy)
        return out

    def excludes(self, controls: ControlAccuracy) -> bool:
        """Check whether an annotator with these controls is excluded."""
        return bool(self.excluded([controls.right], [controls.answers])[0])

    def __str__(self) -> str:
        return f"below {self.min_control_accuracy:g} on {self.min_controls} or more controls"
