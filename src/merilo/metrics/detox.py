"""J, the metric of ruDetox: the product of inoffensiveness, preservation of meaning and fluency."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from merilo.errors import UsageError, argument
from merilo.items import ItemId
from merilo.metrics.score import Judgement, Score
from merilo.statistics import FloatArray
from merilo.statistics.intervals import mean_interval

#: The parts of J in the order of its formula.
PARTS: Final = ("sta", "sim", "fl")


@dataclass(frozen=True, slots=True)
class Ratings:
    """Calibrated ratings of n rewritten sentences by the classifiers.

    Attributes:
        sta: shape (n,), confidence that the sentence is inoffensive (style transfer accuracy), in [0, 1].
        sim: shape (n,), confidence that it has the same meaning as the toxic sentence, in [0, 1].
        fl: shape (n,), confidence that it is fluent, in [0, 1].
    """

    sta: FloatArray
    sim: FloatArray
    fl: FloatArray


class Rater(Protocol):
    """Rates rewritten sentences: `merilo.metrics.classifiers.Classifiers`, or ratings computed elsewhere."""

    @property
    def making(self) -> dict[str, str]:
        """Describe how the ratings are computed: models, calibration and its provenance."""
        ...

    def rate(self, toxic: Sequence[str], rewritten: Sequence[str]) -> Ratings:
        """Rate n pairs of a toxic sentence and its rewritten version."""
        ...


def j_scores(
    ratings: Ratings,
    ids: Sequence[ItemId] | None = None,
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int = 0,
) -> dict[str, Score]:
    """Compute J and its parts: the mean over sentences of the product of the three ratings.

        J = mean of STA x SIM x FL

    The product is taken per sentence, so a polite sentence with a different meaning scores 0.

    Args:
        ratings: of n sentences.
        ids: shape (n,), the items' ids; by default 0 .. n-1.
        clusters: shape (n,), equal for sentences of one cluster; by default, they are independent.
        seed: random seed for the intervals (bootstrap over items).

    Returns:
        The scores "j", "sta", "sim", "fl".

    References:
        D. Dementieva et al. (2022), RUSSE-2022: findings of the first Russian detoxification shared task.

    Example:
        >>> import numpy as np
        >>> ratings = Ratings(np.array([1.0, 0.5]), np.array([1.0, 1.0]), np.array([0.5, 0.0]))
        >>> {name: score.value for name, score in j_scores(ratings).items()}
        {'j': 0.25, 'sta': 0.75, 'sim': 1.0, 'fl': 0.25}
    """
    columns = {
        "j": ratings.sta * ratings.sim * ratings.fl,
        "sta": ratings.sta,
        "sim": ratings.sim,
        "fl": ratings.fl,
    }
    names: Sequence[ItemId] = range(len(ratings.sta)) if ids is None else ids
    return {name: _mean(name, column, names, clusters, seed) for name, column in columns.items()}


def judge(toxic: str, rewritten: str, rater: Rater) -> Judgement:
    """Explain how J judges one sentence."""
    ratings = rater.rate([toxic], [rewritten])
    sta, sim, fl = float(ratings.sta[0]), float(ratings.sim[0]), float(ratings.fl[0])
    steps = (
        f"answer {rewritten!r} in place of {toxic!r}",
        f"STA {sta:.4f}: confidence that the sentence is inoffensive",
        f"SIM {sim:.4f}: confidence that the meaning is preserved",
        f"FL {fl:.4f}: confidence that the sentence is fluent",
        f"J = {sta:.4f} x {sim:.4f} x {fl:.4f} = {sta * sim * fl:.4f}",
    )
    return Judgement("j", sta * sim * fl, 1.0, steps)


def _mean(
    name: str, column: FloatArray, ids: Sequence[ItemId], clusters: Sequence[Hashable] | None, seed: int
) -> Score:
    value = float(column.mean()) if len(column) else 0.0
    per_item = dict(zip(ids, map(float, column), strict=True))
    return Score(name, value, len(column), mean_interval(column, clusters, seed=seed), per_item)


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
    from merilo.metrics.classifiers import (  # noqa: PLC0415 - only J needs it
        IDENTITY,
        Classifiers,
        quietly,
    )

    with quietly():
        return Classifiers(None if str(models) == HUB else Path(models), Path(curves) if curves else IDENTITY)
