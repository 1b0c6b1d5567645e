"""Aggregation of a table of `task`, `worker` and `label`: the public function `merilo.aggregate`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Literal, TypeAlias

import polars as pl

from merilo.errors import UsageError, argument
from merilo.people.aggregation import NO_LABEL, Consensus, Resolution
from merilo.people.aggregation.cascade import cascade
from merilo.people.aggregation.dawid_skene import auto, dawid_skene
from merilo.people.aggregation.glad import glad
from merilo.people.aggregation.majority import plurality
from merilo.people.frames import Frame, encoded, is_pandas, pandas_of
from merilo.people.votes import Votes
from merilo.responses import Responses

Method: TypeAlias = Literal["majority", "auto", "dawid-skene", "glad", "cascade"]

_METHODS: Final[dict[str, Callable[[Votes], Consensus]]] = {
    "majority": partial(plurality, min_votes=1),
    "auto": auto,
    "dawid-skene": dawid_skene,
    "glad": glad,
    "cascade": cascade,
}


def aggregate(data: Frame | Responses, method: Method = "majority", *, order: Sequence[Any] = ()) -> Any:  # noqa: ANN401 - a table of the library of the input
    """Compute one label for each task from the labels of several workers.

    Args:
        data: a table of pandas or Polars with the columns `task`, `worker` and `label`, or the result of
            `read_responses`: its answers to items, without those to control items, of all annotators.
        method: "majority" (most votes), "auto", "dawid-skene", "glad" or "cascade".
        order: the labels from the lowest to the highest, if they are ordered: "auto" then takes the weighted median.

    Returns:
        A table of the same library (Polars for responses), sorted by `task`: `task`, `label` (null if labels tie),
        `confidence` (the probability of the label under a model; its share of the votes for "majority" and
        "cascade") and `resolved_by`.

    Raises:
        UsageError: there is no such method, a column is missing, or the labels do not suit the method or the order.

    Example:
        >>> frame = pl.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "label": ["x", "x", "y"]})
        >>> aggregate(frame).select("task", "label", "resolved_by").rows()
        [(1, 'x', 'majority')]
    """
    if method not in _METHODS:
        raise UsageError(
            f"there is no method '{method}' (choose from: {', '.join(_METHODS)})", field=argument("method")
        )
    if len(order) and method != "auto":
        raise UsageError(f"the order of labels is for the method 'auto', not '{method}'", field="order")
    encoding = encoded(data)
    names = encoding.labels.to_list()
    if len(order):
        places = {label: place for place, label in enumerate(order)}
        if missing := [label for label in names if label not in places]:
            raise UsageError(f"order has no place for label '{missing[0]}'", field="order")
        consensus = auto(encoding.votes, scale=[places[label] for label in names])
    else:
        consensus = _METHODS[method](encoding.votes)
    labels = [None if code == NO_LABEL else names[code] for code in consensus.label.tolist()]
    ways = [Resolution(way).name.lower() for way in consensus.how.tolist()]
    columns = {
        "task": encoding.items,
        "label": pl.Series(labels, dtype=encoding.labels.dtype),
        "confidence": pl.Series(consensus.confidence).fill_nan(None),
        "resolved_by": ways,
    }
    table = pl.DataFrame(columns)
    return pandas_of(table) if is_pandas(data) else table
