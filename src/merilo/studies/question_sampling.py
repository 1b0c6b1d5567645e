"""Drawing questions for experts: as many of each domain, evenly over subdomains and difficulty."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from random import Random

from merilo.errors import DataError, UsageError
from merilo.items import Item
from merilo.wording import listed


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


def value_of(item: Item, field: str) -> object:
    """Return an item's value of a field; several values as one text. `None` if the item has none."""
    value = item.value(field)
    return ", ".join(map(str, value)) if isinstance(value, list) else value


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
