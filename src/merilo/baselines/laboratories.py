"""Baselines of several laboratories on the same items, as one: their raw answers together, and how they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl

from merilo.baselines.answer_table import answer_table
from merilo.baselines.pipeline import Baseline
from merilo.datasets.declaration import Dataset
from merilo.errors import DataError
from merilo.people.gold import Gold
from merilo.records import Span, rounded
from merilo.responses import Responses
from merilo.settings import Settings
from merilo.statistics.meta_analysis import FEWEST, Heterogeneity, Levels, group_levels, heterogeneity
from merilo.strict_json import Json
from merilo.text import Text
from merilo.wording import listed, shortened

#: What separates an annotator's id from the laboratory.
_AT: Final = "@"


@dataclass(frozen=True, slots=True, kw_only=True)
class Laboratory:
    """The raw state of one laboratory's baseline.

    Attributes:
        name: its name.
        responses: its responses.
        settings: the settings of its baseline.
        gold: its gold answers.
        skills: the platform's skills of its annotators.
        dataset: the dataset's declaration.
    """

    name: str
    responses: Responses
    settings: Settings
    gold: Gold | None = None
    skills: pl.DataFrame | None = None
    dataset: Dataset | None = None


@dataclass(frozen=True, slots=True)
class Merged:
    """Everything that the common baseline is computed from; the file of a response is its laboratory."""

    responses: Responses
    settings: Settings
    gold: Gold | None
    skills: pl.DataFrame | None
    dataset: Dataset | None
    notes: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class LaboratoryEffects:
    """How the laboratories differ.

    Attributes:
        names: their names.
        answers: their numbers of answers that count.
        levels: the mean points of a single person of each, on the same items.
        between: the difference between them; `None` if there are fewer than three.
        reason: why it is not estimated.
    """

    names: tuple[str, ...]
    answers: tuple[int, ...]
    levels: Levels
    between: Heterogeneity | None
    reason: Text | None = None

    def to_dict(self) -> dict[str, Json]:
        """Return the JSON."""
        rows: list[Json] = []
        for place, name in enumerate(self.names):
            interval = Span.of(self.levels.interval(place))
            rows.append(
                {
                    "laboratory": name,
                    "annotators": int(self.levels.people[place]),
                    "answers": self.answers[place],
                    "single_person": rounded(float(self.levels.value[place])),
                    "ci95": [*interval] if interval else None,
                }
            )
        found = self.between
        between: Json = {"reason": self.reason.en if self.reason else None}
        if found is not None:
            between = {
                "mean": rounded(found.mean),
                "ci95": [rounded(found.interval.low), rounded(found.interval.high)],
                "standard_deviation": rounded(found.spread),
                "share_of_variance": rounded(found.share),
                "p": rounded(found.p),
                "prediction95": [rounded(found.prediction.low), rounded(found.prediction.high)],
            }
        return {"laboratories": rows, "between": between}


def merged(laboratories: Sequence[Laboratory]) -> Merged:
    """Join the raw answers of laboratories.

    Items are the same if annotators saw the same fields. Annotators of different laboratories are different people.

    Raises:
        DataError: the laboratories differ in dataset, settings, fields of the items or gold answers, or share no item.
    """
    first = laboratories[0]
    notes: list[Text] = []
    for other in laboratories[1:]:
        _refuse_other(first, other)
        if other.responses.currency != first.responses.currency:
            notes.append(
                Text("the laboratories paid in different currencies, so the merged baseline has no currency")
            )
    fields = first.responses.fields
    numbers: dict[tuple[Any, ...], int] = {}
    renumbered = []
    for one in laboratories:
        own: dict[int, int] = {}
        for number, *values in one.responses.items.select("item", *fields).iter_rows():
            own[number] = numbers.setdefault(tuple(values), len(numbers) + 1)
        renumbered.append(own)
    shared = [set(own.values()) for own in renumbered]
    for one, place in zip(laboratories, shared, strict=True):
        if not any(place & other for other in shared if other is not place):
            raise DataError(f"{one.name} shares no item with the other laboratories")
    items = pl.DataFrame(
        [(number, *values) for values, number in numbers.items()],
        schema={"item": pl.UInt32, **dict.fromkeys(fields, pl.String)},
        orient="row",
    )
    tables = [_table(one, own) for one, own in zip(laboratories, renumbered, strict=True)]
    skills = [
        one.skills.with_columns(pl.col("annotator") + f"{_AT}{one.name}")
        for one in laboratories
        if one.skills is not None
    ]
    dropped: Counter[str] = Counter()
    for one in laboratories:
        dropped.update(one.responses.dropped)
    responses = Responses(
        table=pl.concat(tables),
        items=items,
        rows_read=sum(one.responses.rows_read for one in laboratories),
        dropped=dict(dropped),
        currency=None if notes else first.responses.currency,
        answer_field=first.responses.answer_field,
    )
    return Merged(
        responses,
        first.settings,
        _gold(laboratories, renumbered, items),
        pl.concat(skills) if skills else None,
        first.dataset,
        tuple(dict.fromkeys(notes)),
    )


def laboratory_effects(baseline: Baseline, *, seed: int = 0) -> LaboratoryEffects | None:
    """Estimate how laboratories differ in the points of a single person; `None` without points of single answers.

    Args:
        baseline: a baseline of merged responses, whose files are laboratories.
        seed: random seed of the bootstrap.

    Raises:
        DataError: a laboratory shares no items with the others.
    """
    table = answer_table(baseline).filter(pl.col("became") == "used", pl.col("points").is_not_null())
    if table.is_empty():
        return None
    homes = baseline.responses.table.select("respondent", "file").unique()
    lab = table.join(homes, on="respondent", maintain_order="left")["file"]
    names = lab.unique().sort().to_list()
    codes = {name: code for code, name in enumerate(names)}
    groups = np.array([codes[name] for name in lab], dtype=np.int64)
    levels = group_levels(
        table["points"].to_numpy(),
        table["item"].rank("dense").cast(pl.Int64).to_numpy() - 1,
        groups,
        table["respondent"].rank("dense").cast(pl.Int64).to_numpy() - 1,
        seed=seed,
    )
    counts = tuple(np.bincount(groups, minlength=len(names)).tolist())
    reason = None
    if len(names) < FEWEST:
        reason = Text("there are fewer than {least} laboratories", least=FEWEST)
    elif levels.people.min() < 2:
        reason = Text("a laboratory has a single annotator")
    between = None if reason else heterogeneity(levels)
    return LaboratoryEffects(tuple(names), counts, levels, between, reason)


def _refuse_other(first: Laboratory, other: Laboratory) -> None:
    """Refuse two laboratories whose baselines cannot be one."""
    both = f"{first.name} and {other.name}"
    named = [one.dataset.name if one.dataset else None for one in (first, other)]
    if named[0] != named[1]:
        raise DataError(f"{both} answered different datasets: {named[0] or 'none'} and {named[1] or 'none'}")
    if {*first.responses.fields} != {*other.responses.fields}:
        raise DataError(
            f"the items of {both} have different fields: {listed(first.responses.fields)}; "
            f"{listed(other.responses.fields)}"
        )
    own, theirs = first.settings.parameters(), other.settings.parameters()
    for name in own:
        if own[name] != theirs[name]:
            raise DataError(
                f"{both} used different settings: {name} is {own[name]} and {theirs[name]}; make their baselines again "
                "with the same settings"
            )
    if (first.gold is None) != (other.gold is None):
        raise DataError(f"one of {both} has gold answers, and the other has none")


def _table(one: Laboratory, own: Mapping[int, int]) -> pl.DataFrame:
    return one.responses.table.with_columns(
        pl.col("item").replace_strict(own, return_dtype=pl.UInt32),
        pl.col("respondent") + f"{_AT}{one.name}",
        pl.when(pl.col("page").is_not_null()).then(pl.col("page") + f"{_AT}{one.name}").alias("page"),
        pl.lit(one.name).alias("file"),
        pl.int_range(1, pl.len() + 1, dtype=pl.UInt32).alias("row"),
    )


def _gold(
    laboratories: Sequence[Laboratory], renumbered: Sequence[Mapping[int, int]], items: pl.DataFrame
) -> Gold | None:
    """Join the gold answers; the same item must have the same."""
    if laboratories[0].gold is None:
        return None
    answers: dict[int, tuple[str | None, str | None, str]] = {}
    known: dict[int, Any] = {}
    fields: list[pl.DataFrame] = []
    asked: set[int] = set()
    for one, own in zip(laboratories, renumbered, strict=True):
        gold = one.gold
        if gold is None:
            continue
        for number, answer, ident in gold.answers.select("item", "gold", "id").iter_rows():
            earlier = answers.setdefault(own[number], (answer, ident, one.name))
            if earlier[0] != answer:
                text = shortened(" ".join(map(str, items.row(own[number] - 1)[1:])))
                raise DataError(
                    f"{earlier[2]} and {one.name} have different gold answers of the item {text}: {earlier[0]} and "
                    f"{answer}"
                )
        known |= {
            own[number]: replace(item, id=own[number]) if item.id == number else item
            for number, item in gold.items.items()
        }
        asked |= {own[number] for number in gold.without_gold}
        if gold.fields is not None:
            fields.append(
                gold.fields.with_columns(pl.col("item").replace_strict(own, return_dtype=pl.UInt32))
            )
    first = laboratories[0].gold
    table = pl.DataFrame(
        [(number, answer, ident) for number, (answer, ident, _) in sorted(answers.items())],
        schema=first.answers.select("item", "gold", "id").schema,
        orient="row",
    )
    return replace(
        first,
        answers=table,
        without_gold=tuple(sorted(asked - set(answers))),
        unused=(),
        fields=pl.concat(fields, how="diagonal").unique("item", maintain_order=True) if fields else None,
        items=known,
        unsolved=(),
    )
