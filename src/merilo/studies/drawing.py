"""Draw a sample: one that keeps the joint distribution of several fields, or as many questions of each domain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Final

import numpy as np

from merilo.errors import DataError, UsageError
from merilo.items import Item
from merilo.statistics import FloatArray, IntArray
from merilo.studies.item_fields import KeptField, value_of
from merilo.wording import listed

#: Importance of a deviation: in one field, in two fields together, in all fields together.
_SINGLE, _PAIR, _ALL = 1.0, 0.2, 0.05
_MOST_PAIRS: Final = 28
#: An exchange must gain more than this, so that rounding errors cannot repeat it for ever.
_LEAST_GAIN: Final = 1e-9


@dataclass(frozen=True, slots=True)
class _Margin:
    """A field, or fields together: the code of each cell, the wanted count of each code, and the importance."""

    codes: IntArray
    wanted: FloatArray
    importance: float


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
    cell_of = cell_of.reshape(-1)
    margins = _margins(cells, available, fields, size, like)
    taken = np.zeros(len(available), dtype=np.int64)
    if like is None:
        taken += (available * size) // n
    balance = _Balance(margins, taken)
    _fill(balance, available, size, rng)
    _exchange(balance, available, rng)
    if like is None:
        _keep_rare(balance, [cells[:, number] for number in range(len(fields))], available)
    members = np.split(np.argsort(cell_of, kind="stable"), np.cumsum(available)[:-1])
    places: list[int] = []
    for cell in np.flatnonzero(taken):
        places += rng.choice(members[cell], size=int(taken[cell]), replace=False).tolist()
    return sorted(places)


class _Balance:
    """The counts taken from each cell, and how much each cell suffers from a surplus.

    One more item of a cell changes the objective by `base + pull`, one item less by `base - pull`.
    """

    def __init__(self, margins: Sequence[_Margin], taken: IntArray) -> None:
        self.taken = taken
        self.base = sum(margin.importance for margin in margins)
        self.pull = np.zeros(len(taken))
        self._sharing: list[tuple[_Margin, list[IntArray]]] = []
        for margin in margins:
            surplus = np.bincount(margin.codes, weights=taken, minlength=len(margin.wanted)) - margin.wanted
            self.pull += 2 * margin.importance * surplus[margin.codes]
            sizes = np.bincount(margin.codes, minlength=len(margin.wanted))
            order = np.argsort(margin.codes, kind="stable")
            self._sharing.append((margin, np.split(order, np.cumsum(sizes)[:-1])))

    def move(self, cell: int, step: int) -> None:
        """Take one more item (+1) or one less (-1) of a cell."""
        self.taken[cell] += step
        for margin, members in self._sharing:
            self.pull[members[margin.codes[cell]]] += 2 * margin.importance * step


def _margins(
    cells: IntArray,
    available: IntArray,
    fields: Sequence[KeptField],
    size: int,
    like: Sequence[Sequence[float]] | None,
) -> list[_Margin]:
    total = int(available.sum())
    margins = []
    for number, field in enumerate(fields):
        codes = cells[:, number]
        there = np.bincount(codes, weights=available, minlength=len(field.values)).astype(np.float64)
        shares = there / total if like is None else np.asarray(like[number], dtype=float)
        margins.append(_Margin(codes, _wanted(shares, there, size), _SINGLE))
    if like is None and len(fields) > 1:
        pairs = list(combinations(range(len(fields)), 2))[:_MOST_PAIRS]
        margins += [_together(cells[:, list(pair)], available, size, _PAIR) for pair in pairs]
        if len(fields) > 2:
            margins.append(_together(cells, available, size, _ALL))
    return margins


def _together(cells: IntArray, available: IntArray, size: int, importance: float) -> _Margin:
    _, codes = np.unique(cells, axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    return _Margin(codes, np.bincount(codes, weights=available) * size / available.sum(), importance)


def _wanted(shares: FloatArray, there: FloatArray, size: int) -> FloatArray:
    """Counts in proportion, at least one for each category with items, at most as many as there are."""
    wanted = np.minimum(shares * size, there)
    rare = (wanted < 1) & (there > 0) & (shares > 0)
    if 0 < rare.sum() <= size:
        rest = wanted.sum() - wanted[rare].sum()
        wanted[~rare] *= max(size - rare.sum(), 0) / rest if rest else 1.0
        wanted[rare] = 1.0
    return wanted


def _fill(balance: _Balance, available: IntArray, size: int, rng: np.random.Generator) -> None:
    """Add items one by one where they help most."""
    tie = rng.random(len(available)) * 1e-6
    for _ in range(size - int(balance.taken.sum())):
        best = int(np.argmin(np.where(balance.taken < available, balance.pull + tie, np.inf)))
        balance.move(best, +1)
        tie[best] = rng.random() * 1e-6


def _exchange(balance: _Balance, available: IntArray, rng: np.random.Generator) -> None:
    """Exchange items between cells while the sum of squared deviations falls."""
    tie = rng.random(len(available)) * 1e-6
    for _ in range(4 * int(balance.taken.sum())):
        leaves = int(np.argmax(np.where(balance.taken > 0, balance.pull + tie, -np.inf)))
        change = balance.base - float(balance.pull[leaves])
        balance.move(leaves, -1)
        comes = int(np.argmin(np.where(balance.taken < available, balance.pull + tie, np.inf)))
        change += balance.base + float(balance.pull[comes])
        if change >= -_LEAST_GAIN:
            balance.move(leaves, +1)
            return
        balance.move(comes, +1)


def _keep_rare(balance: _Balance, fields: Sequence[IntArray], available: IntArray) -> None:
    """Exchange items until every category of every field has an item, where the sample has room for it."""
    for codes in fields:
        for code in range(int(codes.max()) + 1):
            own = (codes == code) & (available > 0)
            if balance.taken[own].any():
                continue
            counts = [np.bincount(other, weights=balance.taken) for other in fields]
            # An item may leave if each of its categories keeps another one.
            free = (balance.taken > 0) & np.all(
                [count[other] > 1 for other, count in zip(fields, counts, strict=True)], axis=0
            )
            if own.any() and free.any():
                balance.move(int(np.argmax(np.where(free, balance.pull, -np.inf))), -1)
                balance.move(int(np.argmin(np.where(own, balance.pull, np.inf))), +1)


@dataclass(frozen=True, slots=True)
class DrawnStratum:
    """A group of items that the drawn ones among them represent.

    Attributes:
        name: the values of its fields: `domain=law, answer=A`.
        items: how many items of the dataset it has.
        drawn: how many of them were drawn.
    """

    name: str
    items: int
    drawn: int


def post_stratify(
    fields: Sequence[KeptField], places: Sequence[int], *, drawn_by: Sequence[KeptField] = ()
) -> tuple[list[DrawnStratum], dict[int, int]]:
    """Divide the dataset into strata with drawn items in each, as fine as the sample allows.

    Fields are added in their order while strata have five drawn items on average and at most 2 % of the items
    are in strata without a drawn item. Those strata are then joined to the one with the most equal values.

    Args:
        fields: the fields, the most important ones first.
        places: the places of the drawn items.
        drawn_by: fields by which items were drawn in other proportions than those of the dataset; they always divide.

    Returns:
        The strata; and for each drawn place, the position of its stratum. The weight of an item is `items / drawn`; the
        weights add up to the number of items.
    """
    n = len([*drawn_by, *fields][0].codes)
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
    known = np.unique(codes).tolist()
    strata = []
    for code in known:
        at = first[code]
        name = ", ".join(f"{field.name}={field.values[field.codes[at]]}" for field in used) or "all"
        strata.append(DrawnStratum(name, int((codes == code).sum()), int(sampled[code])))
    position = {code: number for number, code in enumerate(known)}
    return strata, {place: position[int(codes[place])] for place in places}


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
        there = {key: len(places) for key, places in sorted(cells.items()) if key[0] == domain}
        if sum(there.values()) < per_domain:
            short[domain] = sum(there.values())
        for key, n in _spread(per_domain, there, 1, random).items():
            drawn += random.sample(cells[key], n)
    return sorted(drawn), short


def even_shares(n: int, capacities: Sequence[int], random: Random) -> list[int]:
    """Divide `n` evenly among places of limited capacity.

    Args:
        n: the total to divide.
        capacities: the capacity of each place.
        random: chooses the places that get the remainder.

    Returns:
        The shares. Their sum is `n`, or the sum of the capacities if that is less; shares of places that are
        not full differ by at most one.

    Example:
        >>> even_shares(10, [2, 9, 9], Random(0))
        [2, 4, 4]
    """
    shares = [0] * len(capacities)
    left = min(n, sum(capacities))
    while left:
        # Full places are removed before the remainder is drawn, so that two places that are not full differ by at
        # most one.
        open_places = [i for i, capacity in enumerate(capacities) if shares[i] < capacity]
        each = min(left // len(open_places), *(capacities[i] - shares[i] for i in open_places))
        if each == 0:
            for i in random.sample(open_places, left):
                shares[i] += 1
            break
        for i in open_places:
            shares[i] += each
        left -= each * len(open_places)
    return shares


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


def _spread(
    n: int, own: Mapping[tuple[str, ...], int], depth: int, random: Random
) -> dict[tuple[str, ...], int]:
    """Divide `n` among the values at one depth of the keys, then each value's share among its own values."""
    if len(own) == 1:
        ((key, capacity),) = own.items()
        return {key: min(n, capacity)}
    groups: dict[str, dict[tuple[str, ...], int]] = defaultdict(dict)
    for key, capacity in own.items():
        groups[key[depth]][key] = capacity
    shares = even_shares(n, [sum(group.values()) for group in groups.values()], random)
    taken: dict[tuple[str, ...], int] = {}
    for share, group in zip(shares, groups.values(), strict=True):
        taken |= _spread(share, group, depth + 1, random)
    return taken
