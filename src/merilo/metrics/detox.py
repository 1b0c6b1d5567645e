"""J, the metric of ruDetox: is a sentence inoffensive, does it still mean the same, is it written well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from merilo.items import ItemId
from merilo.metrics.judgement import Judgement
from merilo.metrics.score import Score
from merilo.statistics.arrays import FloatArray
from merilo.statistics.intervals import mean_interval

#: The parts of J in the order of its formula.
PARTS: Final = ("sta", "sim", "fl")


@dataclass(frozen=True, slots=True)
class Ratings:
    """What the classifiers say of n rewritten sentences, after calibration.

    Attributes:
        sta: shape (n,), how sure it is that the sentence is inoffensive (style transfer accuracy), in [0, 1].
        sim: shape (n,), how sure it is that it means what the toxic one meant, in [0, 1].
        fl: shape (n,), how sure it is that it is written well (fluency), in [0, 1].
    """

    sta: FloatArray
    sim: FloatArray
    fl: FloatArray


class Rater(Protocol):
    """Who rates rewritten sentences: `merilo.metrics.classifiers.Classifiers`, or ratings made elsewhere."""

    @property
    def making(self) -> dict[str, str]:
        """What the ratings are made with, in words: models, calibration and its provenance."""
        ...

    def rate(self, toxic: Sequence[str], rewritten: Sequence[str]) -> Ratings:
        """Rate n pairs of a toxic sentence and what was made of it."""
        ...


def j_scores(ratings: Ratings, ids: Sequence[ItemId] | None = None, *, seed: int = 0) -> dict[str, Score]:
    """J and its parts: the product of the three ratings sentence by sentence, then the mean.

        J = mean of STA x SIM x FL

    The product comes before the mean: a sentence that is polite and says something else counts for nothing.

    Args:
        ratings: of n sentences.
        ids: shape (n,), the items' ids; 0 .. n-1 when not given.
        seed: of the intervals' resampling (bootstrap over items).

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
    return {name: _mean(name, column, names, seed) for name, column in columns.items()}


def judge(toxic: str, rewritten: str, rater: Rater) -> Judgement:
    """How J judges one sentence."""
    ratings = rater.rate([toxic], [rewritten])
    sta, sim, fl = float(ratings.sta[0]), float(ratings.sim[0]), float(ratings.fl[0])
    steps = (
        f"answer {rewritten!r} in place of {toxic!r}",
        f"STA {sta:.4f}: how sure it is that the sentence is inoffensive",
        f"SIM {sim:.4f}: how sure it is that it means the same",
        f"FL {fl:.4f}: how sure it is that it is written well",
        f"J = {sta:.4f} x {sim:.4f} x {fl:.4f} = {sta * sim * fl:.4f}",
    )
    return Judgement("j", sta * sim * fl, 1.0, steps)


def _mean(name: str, column: FloatArray, ids: Sequence[ItemId], seed: int) -> Score:
    value = float(column.mean()) if len(column) else 0.0
    per_item = dict(zip(ids, map(float, column), strict=True))
    return Score(name, value, len(column), mean_interval(column, seed=seed), per_item)
