"""The argument that describes the whole dataset from which a study's items were sampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import polars as pl

from merilo.api.study_input import IN_MEMORY
from merilo.baselines.population import (
    COUNTS,
    Population,
    is_weights,
    population_of_table,
    population_of_weights,
)
from merilo.errors import UsageError, argument
from merilo.people.frames import Frame, is_frame, polars_of
from merilo.people.gold import Gold
from merilo.people.gold_file import records
from merilo.responses import Responses
from merilo.wording import shown

PopulationSource: TypeAlias = str | Path | Frame | Mapping[str, int] | Population | None


def find_population(
    given: PopulationSource,
    strata: Sequence[str],
    *,
    responses: Responses,
    gold: Gold | None,
    encoding: str | None = None,
) -> Population | None:
    """Return the whole dataset in strata; `None` if it is not given.

    Args:
        given: the file of the dataset's items, of its strata with their numbers of items, or of a study's weights
            (`weights.csv`, which needs no `strata`); a table of any of these; a mapping from the value of one field to the number of items; or what `read_raw` gives.
        strata: the fields whose values define the strata.
        responses: the responses of the study.
        gold: the gold answers, with the other fields of their file.
        encoding: the file's encoding.

    Raises:
        UsageError: strata are named without a population or a population without strata, there are no gold answers, or the
            study's items lack a field.
        InputError: the file cannot be read, or lacks a field.
        DataError: the study's items were not sampled from this dataset.
    """
    if given is None:
        if strata:
            raise UsageError(
                f"{argument('strata')} needs the whole dataset: {argument('population', 'FILE')}"
            )
        return None
    if isinstance(given, Population):
        return given
    if gold is None:
        raise UsageError(
            f"{argument('population')} is for metrics, and no gold answers are known: give {argument('gold', 'FILE')}"
        )
    tests = responses.table.filter(~pl.col("is_control")).select("item").unique()
    items = responses.items.join(tests, on="item", how="semi", maintain_order="left")
    if isinstance(given, str | Path):
        table, source = records(Path(given), encoding), shown(Path(given))
    elif isinstance(given, Mapping):
        if len(strata) > 1:
            raise UsageError("takes a mapping for one field of strata only", field=argument("population"))
        rows = [(str(value), count) for value, count in given.items()]
        table = pl.DataFrame(rows, schema={"stratum": pl.String, COUNTS[0]: pl.Int64}, orient="row")
        source = "population"
    elif is_frame(given):
        table, source = polars_of(given).select(pl.all().cast(pl.String)), "population"
    else:
        raise UsageError("takes a file, a table or a mapping", field=argument("population"))
    if is_weights(table) and not strata:
        return population_of_weights(table, source=source, items=_ids(items, gold))
    return population_of_table(table, strata, source=source, items=items, gold=gold)


def _ids(items: pl.DataFrame, gold: Gold) -> dict[int, str]:
    """Return the ids of the study's items: those that annotators were shown, else those of the gold answers."""
    table = items if "id" in items.columns else gold.answers.join(items, on="item", how="semi")
    found = {int(item): name for item, name in table.select("item", "id").iter_rows()}
    return {item: str(found[item]) for item in items["item"] if found.get(item) is not None}


def population_name(given: PopulationSource) -> str | None:
    """Return the file's name, `IN_MEMORY`, or `None`."""
    if isinstance(given, str | Path):
        return shown(Path(given))
    return None if given is None else IN_MEMORY


def population_files(given: PopulationSource) -> list[Path]:
    """Return the file of the population, if it is one."""
    return [Path(given)] if isinstance(given, str | Path) else []
