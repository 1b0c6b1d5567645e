"""The whole dataset from which a study's items were sampled, in strata (`weights.csv`), and estimates for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.atomic_write import unguarded
from merilo.baselines.crowd import Crowd
from merilo.baselines.estimates import needed_when_redecided
from merilo.errors import DataError, InputError
from merilo.estimate import Estimate
from merilo.metrics.scoring import Part
from merilo.people.aggregation import NO_LABEL
from merilo.people.influence import by_cluster
from merilo.statistics import FloatArray
from merilo.statistics.crossed import Influence, crossed
from merilo.wording import listed

if TYPE_CHECKING:
    from merilo.baselines.baseline import Evidence

#: The columns of the file of weights that `merilo study create` writes.
WEIGHTS: Final = ("id", "stratum", "weight")


@dataclass(frozen=True, slots=True)
class Population:
    """The whole dataset in strata, and the strata of a study's items.

    Strata have numbers, because their names may hold values that are not published, such as names of authors.

    Attributes:
        source: the name of the file.
        sizes: mapping from stratum to the number of its items in the dataset.
        of: mapping from item number in the study to its stratum; control items have none.
    """

    source: str
    sizes: Mapping[int, int]
    of: Mapping[int, int]

    @property
    def items(self) -> int:
        """Return the number of items of the dataset."""
        return sum(self.sizes.values())


def population_of_weights(table: pl.DataFrame, *, source: str, items: Mapping[int, str]) -> Population:
    """Build the population from the weights of a study's items, which add up to the dataset's items in every stratum.

    Args:
        table: the columns `id`, `stratum` ("domain=law, answer=A") and `weight` as texts.
        source: the name of the file.
        items: mapping from item number to the item's id.

    Raises:
        InputError: a column is missing, or a weight is not a number above 0.
        DataError: an item has no weight.
    """
    if without := [name for name in WEIGHTS if name not in table.columns]:
        raise InputError(f"has no column {listed(without)}", file=source)
    sums: dict[str, float] = {}
    strata: dict[str, str] = {}
    for row, (name, stratum, weight) in enumerate(unguarded(table).select(WEIGHTS).iter_rows(), start=2):
        try:
            value = float(weight)
        except (TypeError, ValueError):
            value = 0.0
        if stratum is None or name is None or not 0 < value < float("inf"):
            raise InputError("must have an id, a stratum and a weight above 0", file=source, row=row)
        strata[str(name)] = str(stratum)
        sums[str(stratum)] = sums.get(str(stratum), 0.0) + value
    if unweighted := sorted(name for name in items.values() if name not in strata):
        several = "item" if len(unweighted) == 1 else "items"
        raise DataError(
            f"has no weight of {len(unweighted)} {several} ({listed(unweighted, 5)})", file=source
        )
    numbers = {name: number for number, name in enumerate(sorted(sums), start=1)}
    sizes = {number: round(sums[name]) for name, number in numbers.items()}
    return Population(source, sizes, {item: numbers[strata[name]] for item, name in items.items()})


OF_EXAM: Final = "it is scored by complete variants of the exam, which strata of questions would divide"
NO_CONSENSUS: Final = "no item of the sample has a consensus"


def estimate_dataset(evidence: Evidence, crowd: Crowd, population: Population) -> dict[str, Estimate]:
    """Estimate every metric of the consensus on the whole dataset.

    Each item with gold and an answer that counts has the weight of the items of its stratum (post-stratification). The
    metric is computed at these weights. The variance over items is that within strata, with a finite-population
    correction; the part that answers cause has none, because other annotators would answer.

    References:
        W. Cochran (1977), Sampling techniques, sections 5A.9 (post-stratification) and 2.8 (domains and ratios).
    """
    main, extra = crowd.parts()
    return {part.name: _estimate(part, evidence, crowd, population) for part in (*main, *extra)}


def _estimate(part: Part, evidence: Evidence, crowd: Crowd, population: Population) -> Estimate:
    if part.metric.unit:
        return Estimate(name=part.name, reason=OF_EXAM)
    stratum, weight, unsampled = _strata(crowd, part, population)
    rows = np.array(part.rows, dtype=np.int64)
    n = int((weight[rows[crowd.consensus[rows] != NO_LABEL]] > 0).sum())
    decided = crowd.by_consensus(part, needed_when_redecided(crowd, evidence.settings), weight)
    if not n or decided.influence is None:
        return Estimate(name=part.name, reason=NO_CONSENSUS)
    items = np.unique(decided.votes.item)
    influence = of_sample(decided.influence, stratum[items], unsampled[items], weight[items])
    estimate = crossed(decided.value, by_cluster(influence, decided.votes), part.metric.bounds)
    return estimate.estimate(part.name, n)


def _strata(
    crowd: Crowd, part: Part, population: Population
) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
    """Return the stratum, the weight and the share of its stratum that was not sampled of each item.

    Items outside the part, without answers or which the population does not know have the weight 0.
    """
    stratum = np.full(len(crowd.items), -1, dtype=np.int64)
    names = {name: code for code, name in enumerate(population.sizes)}
    for place in np.unique(crowd.votes.item[crowd.of_part(part)]).tolist():
        if (number := int(crowd.items[place].id)) in population.of:
            stratum[place] = names[population.of[number]]
    sizes = np.array([*population.sizes.values()], dtype=np.float64)
    drawn = np.bincount(stratum[stratum >= 0], minlength=len(sizes))
    known = stratum >= 0
    weight = np.where(known, (sizes / np.maximum(drawn, 1))[stratum], 0.0)
    return stratum, weight, np.where(known, np.maximum(1 - drawn / sizes, 0.0)[stratum], 1.0)


def of_sample(
    influence: Influence, stratum: NDArray[np.integer], unsampled: FloatArray, weight: FloatArray
) -> Influence:
    """Return the influence if items are a stratified sample of a finite population.

    Args:
        influence: with the weights of items; its `items` have the codes of `unit` in their order.
        stratum: shape (items,), the stratum of each item.
        unsampled: shape (items,), the share of the item's stratum that was not sampled.
        weight: shape (items,), the weight of each item.
    """
    _, code, sizes = np.unique(stratum, return_inverse=True, return_counts=True)
    mean = np.bincount(code, influence.items) / sizes
    several = sizes[code] > 1
    within = np.where(several, influence.items - mean[code], influence.items)
    within *= np.sqrt(sizes / np.maximum(sizes - 1, 1))[code]
    by_answers = np.bincount(np.unique(influence.unit, return_inverse=True)[1], influence.answers**2)
    square = unsampled * within**2 + (1 - unsampled) * np.minimum(by_answers, within**2)
    return influence._replace(
        items=np.sign(within) * np.sqrt(square), alike=float(weight.sum()) ** 2 / float(weight @ weight)
    )
