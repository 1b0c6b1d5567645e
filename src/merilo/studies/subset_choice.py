"""Choose the items that annotators answer, and show that they look like the whole dataset."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from merilo.atomic_write import guarded_text
from merilo.datasets.declaration import Dataset
from merilo.errors import UsageError, argument
from merilo.items import Item, Split
from merilo.studies.drawing import draw_balanced, draw_evenly, post_stratify
from merilo.studies.item_fields import KeptField, fields_of, grouping_fields, value_of
from merilo.studies.plan_types import DrawnSubset
from merilo.studies.study_folder import ItemWeight

#: Datasets of up to so many items are asked whole.
LARGEST_WHOLE: Final = 3000
#: Otherwise so many items are drawn.
DEFAULT_SIZE: Final = 1000
#: Fields with more values are not shown where all items are asked.
_MOST_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class CategoryShare:
    """How well the share of a category of a field is kept.

    Attributes:
        field: the field.
        value: the category.
        items: items of the dataset.
        share: their share.
        drawn: drawn items.
        drawn_share: their share of the drawn items.
    """

    field: str
    value: str
    items: int
    share: float
    drawn: int
    drawn_share: float

    @property
    def deviation(self) -> float:
        """The difference of the shares in percentage points."""
        return 100 * (self.drawn_share - self.share)


@dataclass(frozen=True, slots=True)
class ChosenSubset:
    """The items that annotators answer.

    Attributes:
        items: the items, in the dataset's order.
        section: the section `subset` of the plan.
        fields: the fields whose distribution is compared.
        dropped: the fields that a sample cannot keep -> why, in a phrase.
        shares: the distribution of every field before and after.
        weights: the weight of each item, in the order of the items.
        short: with a fixed number of items of each domain, the domains that have fewer -> how many they have.
    """

    items: tuple[Item, ...]
    section: DrawnSubset
    fields: tuple[KeptField, ...]
    dropped: dict[str, str]
    shares: tuple[CategoryShare, ...]
    weights: tuple[ItemWeight, ...]
    short: dict[str, int]

    @property
    def largest_deviation(self) -> CategoryShare | None:
        """The category whose share changed most; `None` without fields."""
        return max(self.shares, key=lambda share: abs(share.deviation), default=None)


def choose_subset(
    split: Split,
    declared: Dataset,
    *,
    size: int | None = None,
    per_domain: int | None = None,
    fields: Sequence[str] = (),
    seed: int = 0,
) -> ChosenSubset:
    """Choose all items of a dataset of up to 3,000, otherwise a representative sample.

    Args:
        split: the dataset's test.
        declared: its declaration.
        size: the number of items; by default, all of up to `LARGEST_WHOLE`, otherwise `DEFAULT_SIZE`.
        per_domain: draw this number of items from each domain instead; the domain is the first of `fields`.
        fields: the fields whose distribution the items keep; by default, every field that can be kept.
        seed: the random seed.

    Raises:
        UsageError: the options contradict each other, no item has a field, or the size is larger than the dataset.
        DataError: an item lacks a field that the draw needs, or its prompt names a field that it does not have.
    """
    n, wanted = len(split.items), _wanted(split, declared, size, per_domain)
    draws = per_domain is not None or wanted < n
    # Where nothing is drawn, fields are only shown, so that they may have more values.
    room = wanted if draws else 5 * min(max(n // 2, 2), _MOST_SHOWN)
    fields_kept, dropped = fields_of(split.items, declared, size=room, wanted=fields)
    if lost := next((name for name in dropped if name in fields), None):
        raise UsageError(f"the field '{lost}' cannot be kept: it {dropped[lost]}")
    places = list(range(n))
    short: dict[str, int] = {}
    design: tuple[KeptField, ...] = ()
    if per_domain is not None:
        design = _domain_fields(split, declared, fields)
        places, short = draw_evenly(split.items, per_domain, [field.name for field in design], seed=seed)
    elif draws:
        places = draw_balanced(fields_kept or [KeptField("all", ("all",), (0,) * n)], wanted, seed=seed)
    section = DrawnSubset(
        size=len(places),
        of=n,
        fields=tuple(field.name for field in design or fields_kept),
        method="even" if per_domain is not None else "balanced" if len(places) < n else "all",
        per_domain=per_domain,
    )
    return ChosenSubset(
        items=tuple(split.items[place] for place in places),
        section=section,
        fields=tuple(fields_kept),
        dropped=dropped,
        shares=tuple(_shares(fields_kept, places)),
        weights=_weights(fields_kept, places, n, design),
        short=short,
    )


def _wanted(split: Split, declared: Dataset, size: int | None, per_domain: int | None) -> int:
    """Return how many items are wanted, unless they are drawn by domain.

    Raises:
        UsageError: both numbers are given, one is larger than the dataset, or its items are scored as a whole.
    """
    n = len(split.items)
    if size is not None and per_domain is not None:
        raise UsageError(f"give {argument('size')} or {argument('per_domain')}, not both")
    for name, count in (("size", size), ("per_domain", per_domain)):
        if count is not None and not 1 <= count <= n:
            raise UsageError(f"{argument(name)} takes a number from 1 to {n}, the items of the dataset")
    wanted = size or (n if n <= LARGEST_WHOLE else DEFAULT_SIZE)
    if (per_domain is not None or wanted < n) and (split.lengths or "grade_norm" in declared.metrics):
        what = "dialogues" if split.lengths else "complete variants of the exam"
        raise UsageError(
            f"items of {declared.title} cannot be drawn one by one, because {what} are scored as a whole: "
            f"give {argument('size', str(n))}"
        )
    return wanted


def _domain_fields(split: Split, declared: Dataset, fields: Sequence[str]) -> tuple[KeptField, ...]:
    """Return the field of the domains and those to balance within: the given ones, or the dataset's groups."""
    names = fields or [
        name for name in grouping_fields(declared) if any(value_of(item, name) for item in split)
    ]
    if not names:
        raise UsageError(
            f"{argument('per_domain')} needs the field of the domain: give {argument('field', 'NAME')}"
        )
    return tuple(_as_field(name, [str(value_of(item, name)) for item in split]) for name in names)


def _shares(fields: Sequence[KeptField], places: Sequence[int]) -> list[CategoryShare]:
    shares = []
    for field in fields:
        n = len(field.codes)
        for value, items, drawn in zip(field.values, field.counts(), field.counts(places), strict=True):
            shares.append(
                CategoryShare(field.name, value, items, items / n, drawn, drawn / max(len(places), 1))
            )
    return shares


def _as_field(name: str, texts: Sequence[str]) -> KeptField:
    codes = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    return KeptField(name, tuple(codes), tuple(codes[text] for text in texts))


def _weights(
    fields: Sequence[KeptField], places: Sequence[int], n: int, drawn_by: Sequence[KeptField]
) -> tuple[ItemWeight, ...]:
    if len(places) == n or not (fields or drawn_by):
        return (ItemWeight("all", n / len(places)),) * len(places)
    strata, of = post_stratify(fields, places, drawn_by=drawn_by)
    return tuple(
        ItemWeight(strata[of[place]].name, strata[of[place]].items / strata[of[place]].drawn)
        for place in places
    )


def shares_csv(shares: Sequence[CategoryShare]) -> str:
    """Write the distribution of every field before and after as CSV; deviations are in percentage points."""
    columns = ("field", "value", "items", "share", "drawn", "drawn_share", "deviation_points")
    return _table(
        columns,
        [
            (
                share.field,
                guarded_text(share.value),
                share.items,
                f"{share.share:.6f}",
                share.drawn,
                f"{share.drawn_share:.6f}",
                f"{share.deviation:.4f}",
            )
            for share in shares
        ],
    )


def weights_csv(items: Sequence[Item], weights: Sequence[ItemWeight]) -> str:
    """Write the weights of items as CSV with the columns id, stratum and weight."""
    rows = [
        (guarded_text(str(item.id)), guarded_text(weight.stratum), repr(round(weight.weight, 9)))
        for item, weight in zip(items, weights, strict=True)
    ]
    return _table(("id", "stratum", "weight"), rows)


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([columns, *rows])
    return out.getvalue()
