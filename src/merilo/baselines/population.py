"""The whole dataset from which a study's items were sampled, divided into strata: the study's `weights.csv`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from merilo.atomic_write import unguarded
from merilo.errors import DataError, InputError
from merilo.wording import listed

#: The columns of the file of weights that `merilo study create` writes.
WEIGHTS: Final = ("id", "stratum", "weight")


@dataclass(frozen=True, slots=True)
class Population:
    """The whole dataset in strata, and the strata of a study's items.

    Attributes:
        source: the name of the file.
        sizes: mapping from stratum to the number of its items in the dataset.
        of: mapping from item number in the study to its stratum; control items have none.
    """

    source: str
    sizes: Mapping[str, int]
    of: Mapping[int, str]

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
    sizes = {name: round(total) for name, total in sorted(sums.items())}
    return Population(source, sizes, {item: strata[name] for item, name in items.items()})
