"""Clusters of items by a field of `inputs` or `meta`: items that share a text or a dialogue are not independent."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from merilo.items import Item, ItemId


def clusters_for(
    items: Sequence[Item], field: str | None, given: Mapping[ItemId, Hashable] | None = None
) -> list[Hashable] | None:
    """Return the cluster of each item; `None` if items are independent.

    Args:
        items: the items.
        field: the field that items of one cluster share.
        given: item id -> cluster; used in place of the field.
    """
    if given is not None:
        return [given[item.id] for item in items]
    return clusters_of(items, field) if field else None


def clusters_of(items: Sequence[Item], field: str) -> list[Hashable] | None:
    """Return the cluster of each item, its value of a field; `None` if no item has the field.

    Args:
        items: the items; one without the field is a cluster of its own.
        field: the name of a field of `inputs` or, if they do not have it, of `meta`.

    Example:
        >>> clusters_of([Item(1, "", {"text": "A"}), Item(2, "", {"text": "A"}), Item(3, "", {})], "text")
        ['A', 'A', ('without', 2)]
    """
    values = [_field(item, field) for item in items]
    if all(value is None for value in values):
        return None
    return [("without", place) if value is None else value for place, value in enumerate(values)]


def _field(item: Item, field: str) -> str | None:
    known = {**item.meta, **(item.inputs if isinstance(item.inputs, Mapping) else {})}
    value = known.get(field, item.meta.get(field.removeprefix("meta.")))
    return None if value is None else str(value)


def shared_clusters(clusters: Sequence[Hashable] | None) -> int | None:
    """Count the clusters; `None` if every item is a cluster of its own."""
    count = len(set(clusters or ()))
    return count if count and clusters is not None and count < len(clusters) else None
