"""Choose the items that annotators answer: a sample that looks like the dataset, or as many of each domain."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from scipy.sparse import csr_array, vstack

from merilo.atomic_write import guarded
from merilo.datasets.declaration import Dataset
from merilo.errors import DataError, UsageError, argument
from merilo.items import Item, Split
from merilo.statistics import FloatArray, IntArray
from merilo.studies.item_fields import ComparedShare, KeptField, fields_of, grouping_fields, value_of
from merilo.studies.plan import DrawnSubset
from merilo.wording import listed

#: Datasets of up to so many items are asked whole.
LARGEST_WHOLE: Final = 3000
#: Otherwise so many items are drawn.
DEFAULT_SIZE: Final = 1000
#: Fields with more values are not shown where all items are asked.
_MOST_SHOWN: Final = 200
#: Importance of a deviation: in one field, in two fields together, in all fields together.
_SINGLE, _PAIR, _ALL = 1.0, 0.2, 0.05
_MOST_PAIRS: Final = 28
#: An exchange must gain more than this, so that rounding errors cannot repeat it for ever.
_LEAST_GAIN: Final = 1e-9


class ItemWeight(NamedTuple):
    """The weight of a drawn item in an estimate for the whole dataset.

    Attributes:
        stratum: the group of items that it represents.
        weight: the number of items of the dataset that it represents.
    """

    stratum: str
    weight: float


@dataclass(frozen=True, slots=True)
class ChosenSubset:
    """The items that annotators answer.

    Attributes:
        items: the items, in the dataset's order.
        section: the section `subset` of the plan.
        fields: the fields whose distribution is compared.
        dropped: the fields that a sample cannot keep -> why, in a phrase.
        shares: the distribution of every field in the dataset and in the sample.
        weights: the weight of each item, in the order of the items.
        short: with a fixed number of items of each domain, the domains that have fewer -> how many they have.
    """

    items: tuple[Item, ...]
    section: DrawnSubset
    fields: tuple[KeptField, ...]
    dropped: dict[str, str]
    shares: tuple[ComparedShare, ...]
    weights: tuple[ItemWeight, ...]
    short: dict[str, int]

    @property
    def largest_deviation(self) -> ComparedShare | None:
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
        shares=tuple(
            ComparedShare(field.name, value, items, n, drawn, len(places))
            for field in fields_kept
            for value, items, drawn in zip(field.values, field.counts(), field.counts(places), strict=True)
        ),
        weights=tuple(post_stratify(fields_kept, places, n=n, drawn_by=design)),
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


def _as_field(name: str, texts: Sequence[str]) -> KeptField:
    codes = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    return KeptField(name, tuple(codes), tuple(codes[text] for text in texts))


def shares_csv(shares: Sequence[ComparedShare]) -> str:
    """Write the distribution of every field before and after as CSV; deviations are in percentage points."""
    rows = {
        "field": [share.field for share in shares],
        "value": [share.value for share in shares],
        "items": [share.items for share in shares],
        "share": [round(share.share, 6) for share in shares],
        "drawn": [share.chosen for share in shares],
        "drawn_share": [round(share.chosen_share, 6) for share in shares],
        "deviation_points": [round(share.deviation, 4) for share in shares],
    }
    return guarded(pl.DataFrame(rows)).write_csv()


def weights_csv(items: Sequence[Item], weights: Sequence[ItemWeight]) -> str:
    """Write the weights of items as CSV with the columns id, stratum and weight."""
    rows = {
        "id": [str(item.id) for item in items],
        "stratum": [weight.stratum for weight in weights],
        "weight": [round(weight.weight, 9) for weight in weights],
    }
    return guarded(pl.DataFrame(rows)).write_csv()


def draw_balanced(
    fields: Sequence[KeptField], size: int, *, seed: int, like: Sequence[Sequence[float]] | None = None
) -> list[int]:
    """Draw items so that each field keeps its distribution, and the fields together theirs as far as counts allow.

    The items are divided into cells by all fields together. Each cell first gives its share rounded down.
    Single items are then added where they reduce the sum of squared deviations of counts most, over every
    field, every two fields and all fields together, and exchanged until no exchange of two items reduces it.
    A category with items in the pool gets at least one item of the sample, if the sample has room. Items of a
    cell, and equal gains, are drawn at random.

    Args:
        fields: the fields, each with a code for every item.
        size: the size of the sample.
        seed: the random seed.
        like: for each field, the shares of its categories that the sample should have; by default, those of the items.

    Returns:
        The places of the drawn items, in order.

    Raises:
        UsageError: the sample would be larger than the pool of items, or there are no fields.

    References:
        Controlled rounding: L. H. Cox (1987), A constructive procedure for unbiased controlled rounding. JASA
        82, 520-524. Balanced samples: J.-C. Deville, Y. Tillé (2004), Efficient balanced sampling: the cube
        method. Biometrika 91, 893-912.

    Example:
        >>> parity = KeptField("parity", ("even", "odd"), tuple(number % 2 for number in range(100)))
        >>> parity.counts(draw_balanced([parity], 10, seed=1))
        [5, 5]
    """
    if not fields:
        raise UsageError("a balanced sample needs at least one field")
    table = np.array([field.codes for field in fields], dtype=np.int64).T
    n = len(table)
    if not 1 <= size <= n:
        raise UsageError(f"a sample of {size} cannot be drawn from {n} items")
    rng = np.random.default_rng(seed)
    cells, cell_of, available = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    balance = _Balance(cells, available, fields, size, like)
    if like is None:
        balance.take(available * size // n)
    balance.fill(size, rng)
    balance.exchange(rng)
    if like is None:
        balance.keep_rare()
    members = np.split(np.argsort(cell_of.reshape(-1), kind="stable"), np.cumsum(available)[:-1])
    places: list[int] = []
    for cell in np.flatnonzero(balance.taken):
        places += rng.choice(members[cell], size=int(balance.taken[cell]), replace=False).tolist()
    return sorted(places)


class _Balance:
    """The items taken from each cell, and the surplus or lack of every category that follows.

    A category is a value of a field, or values of fields together; `has[c, k]` tells whether the items of cell k are of
    category c. One more item of a cell changes the sum of squared deviations by `base + pull`, one less by
    `base - pull`.
    """

    def __init__(
        self,
        cells: IntArray,
        available: IntArray,
        fields: Sequence[KeptField],
        size: int,
        like: Sequence[Sequence[float]] | None,
    ) -> None:
        self.available, self.taken = available, np.zeros(len(available), dtype=np.int64)
        places = np.arange(len(fields))
        margins = [(places[[at]], _SINGLE) for at in places]
        if like is None and len(fields) > 1:
            margins += [(np.array(pair), _PAIR) for pair in [*combinations(places, 2)][:_MOST_PAIRS]]
            margins += [(places, _ALL)] if len(fields) > 2 else []
        has, wanted, importance = [], [], []
        for number, (together, weight) in enumerate(margins):
            _, codes = np.unique(cells[:, together], axis=0, return_inverse=True)
            codes = cells[:, number] if weight == _SINGLE else codes.reshape(-1)
            categories = len(fields[number].values) if weight == _SINGLE else int(codes.max()) + 1
            has.append(
                csr_array(
                    (np.ones(len(codes)), (codes, np.arange(len(codes)))), shape=(categories, len(codes))
                )
            )
            there = has[-1] @ available
            shares = there / available.sum() if like is None else np.asarray(like[number], dtype=float)
            wanted.append(_counts_wanted(shares, there, size) if weight == _SINGLE else shares * size)
            importance.append(np.full(categories, weight))
        self._has = vstack(has, format="csr")
        self._of = self._has.T.tocsr()
        self._singles = sum(len(field.values) for field in fields)
        self._importance = np.concatenate(importance)
        self.base = sum(weight for _, weight in margins)
        self.pull = -2 * (self._of @ (self._importance * np.concatenate(wanted)))

    def take(self, items: IntArray) -> None:
        """Take some items of each cell."""
        self.taken += items
        self.pull += 2 * (self._of @ (self._importance * (self._has @ items)))

    def move(self, cell: int, step: int) -> None:
        """Take one more item (+1) or one less (-1) of a cell."""
        self.taken[cell] += step
        own = self._of.indices[self._of.indptr[cell] : self._of.indptr[cell + 1]]
        self.pull += 2 * step * (self._importance[own] @ self._has[own])

    def _best(self, tie: FloatArray) -> int:
        """The cell of which one more item helps most."""
        return int(np.argmin(np.where(self.taken < self.available, self.pull + tie, np.inf)))

    def fill(self, size: int, rng: np.random.Generator) -> None:
        """Add items one by one where they help most."""
        tie = rng.random(len(self.taken)) * 1e-6
        for _ in range(size - int(self.taken.sum())):
            best = self._best(tie)
            self.move(best, +1)
            tie[best] = rng.random() * 1e-6

    def exchange(self, rng: np.random.Generator) -> None:
        """Exchange items between cells while the sum of squared deviations falls."""
        tie = rng.random(len(self.taken)) * 1e-6
        for _ in range(4 * int(self.taken.sum())):
            leaves = int(np.argmax(np.where(self.taken > 0, self.pull + tie, -np.inf)))
            change = self.base - float(self.pull[leaves])
            self.move(leaves, -1)
            comes = self._best(tie)
            if change + self.base + float(self.pull[comes]) >= -_LEAST_GAIN:
                self.move(leaves, +1)
                return
            self.move(comes, +1)

    def keep_rare(self) -> None:
        """Exchange items until every value of every field has an item, where the sample has room for it."""
        has = self._has[: self._singles]
        for category in np.flatnonzero((has @ self.available > 0) & (has @ self.taken == 0)):
            counts = has @ self.taken
            # An item may leave if each of its values keeps another one.
            free = (self.taken > 0) & (has.T @ (counts <= 1).astype(float) == 0)
            if counts[category] == 0 and free.any():
                own = has[[category]].toarray()[0] > 0
                self.move(int(np.argmax(np.where(free, self.pull, -np.inf))), -1)
                self.move(int(np.argmin(np.where(own, self.pull, np.inf))), +1)


def _counts_wanted(shares: FloatArray, there: FloatArray, size: int) -> FloatArray:
    """Counts in proportion, at least one for each category with items, at most as many as there are."""
    wanted = np.minimum(shares * size, there)
    rare = (wanted < 1) & (there > 0) & (shares > 0)
    if 0 < rare.sum() <= size:
        rest = wanted.sum() - wanted[rare].sum()
        wanted[~rare] *= max(size - rare.sum(), 0) / rest if rest else 1.0
        wanted[rare] = 1.0
    return wanted


def post_stratify(
    fields: Sequence[KeptField], places: Sequence[int], *, n: int, drawn_by: Sequence[KeptField] = ()
) -> list[ItemWeight]:
    """Weigh the drawn items by strata of the dataset with drawn items in each, as fine as the sample allows.

    Fields are added in their order while strata have five drawn items on average and at most 2 % of the items
    are in strata without a drawn item. Those strata are then joined to the one with the most equal values.

    Args:
        fields: the fields, the most important ones first.
        places: the places of the drawn items.
        n: the number of items of the dataset.
        drawn_by: fields by which items were drawn in other proportions than those of the dataset; they always divide.

    Returns:
        The stratum and the weight of each drawn item; the weights add up to the number of items.
    """
    if len(places) == n:
        fields = drawn_by = ()
    drawn = np.zeros(n, dtype=bool)
    drawn[list(places)] = True
    used: list[KeptField] = [*drawn_by]
    for field in fields:
        if any(field.name == earlier.name for earlier in used):
            continue
        codes = _crossed([*used, field], n)
        sampled = np.bincount(codes, weights=drawn)
        empty = float(np.isin(codes, np.flatnonzero(sampled == 0)).mean())
        if len(places) >= 5 * len(sampled) and empty <= 0.02:
            used.append(field)
    codes = _crossed(used, n)
    table = np.array([field.codes for field in used], dtype=np.int64).reshape(len(used), n).T
    first = {int(code): place for place, code in reversed(list(enumerate(codes.tolist())))}
    sampled = np.bincount(codes, weights=drawn)
    for code in np.flatnonzero(sampled == 0).tolist():
        alike = {
            other: (int((table[first[other]] == table[first[code]]).sum()), float(sampled[other]), -other)
            for other in np.flatnonzero(sampled).tolist()
        }
        codes[codes == code] = max(alike, key=lambda other: alike[other])
    items = np.bincount(codes)
    weights = []
    for code in codes[list(places)].tolist():
        values = (f"{field.name}={field.values[field.codes[first[code]]]}" for field in used)
        weights.append(ItemWeight(", ".join(values) or "all", items[code] / sampled[code]))
    return weights


def _crossed(fields: Sequence[KeptField], n: int) -> IntArray:
    if not fields:
        return np.zeros(n, dtype=np.int64)
    _, codes = np.unique(np.array([field.codes for field in fields]).T, axis=0, return_inverse=True)
    return codes.reshape(-1).astype(np.int64)


def draw_evenly(
    items: Sequence[Item], per_domain: int, fields: Sequence[str], *, seed: int
) -> tuple[list[int], dict[str, int]]:
    """Draw N questions per domain, balanced over the values of further fields, such as difficulty within subdomain.

    Each value gets an equal share. If a value has fewer questions than its share, all of them are taken and
    the remaining share is divided among the other values. A remainder goes to values drawn at random.

    Args:
        items: the dataset.
        per_domain: N, the number of questions per domain.
        fields: the field of the domain, then those to balance, the coarsest first; in `meta` or `inputs`.
        seed: the random seed.

    Returns:
        The places of the drawn questions, in order; and the domains with fewer questions than N with their number.

    Raises:
        UsageError: no item has one of the fields.
        DataError: some items lack a field that others have.
    """
    for name in fields:
        _require(items, name)
    cells: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, item in enumerate(items):
        cells[tuple(str(value_of(item, name)) for name in fields)].append(place)
    random = Random(seed)  # noqa: S311 - a reproducible sample, not a secret
    drawn: list[int] = []
    short = {}
    for domain in sorted({key[0] for key in cells}):
        left = {key: random.sample(cells[key], len(cells[key])) for key in sorted(cells) if key[0] == domain}
        there = sum(map(len, left.values()))
        if there < per_domain:
            short[domain] = there
        # The next question is of the value with the fewest so far at every depth; draws decide between equal ones.
        taken: Counter[tuple[str, ...]] = Counter()
        tie: dict[tuple[str, ...], float] = defaultdict(random.random)
        for _ in range(min(per_domain, there)):
            heads = {key: [key[:depth] for depth in range(2, len(key) + 1)] for key in left}
            key = min(left, key=lambda key: [(taken[head], tie[head]) for head in heads[key]])
            drawn.append(left[key].pop())
            taken.update(heads[key])
            if not left[key]:
                del left[key]
    return sorted(drawn), short


def _require(items: Sequence[Item], field: str) -> None:
    without = [item.id for item in items if value_of(item, field) in {None, ""}]
    if len(without) == len(items):
        known = sorted({name for item in items for name in item.meta} - {"id"})
        raise UsageError(f"no item has a field '{field}' (fields of meta: {listed(known) or 'only ids'})")
    if without:
        raise DataError(
            f"{len(without)} items have no '{field}' (ids "
            f"{listed([str(name) for name in without], 5)}), so the sample cannot "
            "be balanced by it"
        )
