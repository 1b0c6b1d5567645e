"""J, the metric of ruDetox: the product of inoffensiveness, preservation of meaning and fluency."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from merilo.errors import UsageError, argument

if TYPE_CHECKING:
    from merilo.statistics import FloatArray

#: Why J and its parts are missing.
NO_RATER: Final = f"needs the three classifiers of ruDetox: the extra 'hf', and {argument('rudetox_models')}"


class Ratings(NamedTuple):
    """Calibrated ratings of n rewritten sentences by the classifiers.

    Attributes:
        sta: shape (n,), confidence that the sentence is inoffensive (style transfer accuracy), in [0, 1].
        sim: shape (n,), confidence that it has the same meaning as the toxic sentence, in [0, 1].
        fl: shape (n,), confidence that it is fluent, in [0, 1].
    """

    sta: FloatArray
    sim: FloatArray
    fl: FloatArray


#: The parts of J in the order of its formula.
PARTS: Final = Ratings._fields


class Rater(Protocol):
    """Rates rewritten sentences: `merilo.metrics.classifiers.Classifiers`, or ratings computed elsewhere."""

    @property
    def making(self) -> dict[str, str]:
        """Describe how the ratings are computed: models, calibration and its provenance."""
        ...

    def rate(self, toxic: Sequence[str], rewritten: Sequence[str]) -> Ratings:
        """Rate n pairs of a toxic sentence and its rewritten version."""
        ...


def product(ratings: Ratings) -> FloatArray:
    """Compute J of each sentence: the product of its three ratings.

        J = mean of STA x SIM x FL

    The product is taken per sentence, so a polite sentence with a different meaning scores 0.

    References:
        D. Dementieva et al. (2022), RUSSE-2022: findings of the first Russian detoxification shared task.

    Example:
        >>> import numpy as np
        >>> product(Ratings(np.array([1.0, 0.5]), np.array([1.0, 1.0]), np.array([0.5, 0.0]))).tolist()
        [0.5, 0.0]
    """
    return ratings.sta * ratings.sim * ratings.fl


def rating_steps(toxic: str, rewritten: str, ratings: Ratings) -> list[str]:
    """Explain how J judges one sentence."""
    sta, sim, fl = float(ratings.sta[0]), float(ratings.sim[0]), float(ratings.fl[0])
    return [
        f"answer {rewritten!r} in place of {toxic!r}",
        f"STA {sta:.4f}: confidence that the sentence is inoffensive",
        f"SIM {sim:.4f}: confidence that the meaning is preserved",
        f"FL {fl:.4f}: confidence that the sentence is fluent",
        f"J = {sta:.4f} x {sim:.4f} x {fl:.4f} = {sta * sim * fl:.4f}",
    ]


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
    from merilo.metrics import classifiers  # noqa: PLC0415 - only J needs it

    with classifiers.quietly():
        folder = None if str(models) == HUB else Path(models)
        return classifiers.Classifiers(folder, Path(curves) if curves else classifiers.IDENTITY)
