"""Answers that are verdicts: programs that pass their tests, and answers that were scored elsewhere."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.metrics.pass_at_k import PASSED
from merilo.people.decision import PoolVotes
from merilo.people.votes import Votes
from merilo.statistics import FloatArray
from merilo.statistics.intervals import exact_interval


def passed_shares(pool: PoolVotes) -> dict[int | str, float]:
    """Return the share of an item's programs that pass, by item number; items without a counted answer are left out."""
    written, passed = counts_of(pool.votes, verdicts(pool))
    numbers = enumerate(pool.everyone.items)
    return {int(number): float(passed[code] / written[code]) for code, number in numbers if written[code]}


def with_passed(annotators: pl.DataFrame, pool: PoolVotes) -> pl.DataFrame:
    """Add each annotator's counted programs: `programs`, `passed`, `pass@1` with its Clopper-Pearson interval."""
    votes = pool.votes
    written, passed = (
        _counts(votes.annotator, weight, votes.annotators) for weight in (None, verdicts(pool))
    )
    rows = []
    people = zip(pool.everyone.annotators, written.tolist(), passed.tolist(), strict=True)
    for name, n, c in people:
        interval = exact_interval(c, n) if n else None
        ends = (interval.low, interval.high) if interval else (None, None)
        rows.append((str(name), n, c, c / n if n else None, *ends))
    schema = {
        "annotator": pl.String, "programs": pl.Int64, "passed": pl.Int64,
        "pass@1": pl.Float64, "pass@1_low": pl.Float64, "pass@1_high": pl.Float64,
    }  # fmt: skip
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return annotators.join(table, on="annotator", how="left", maintain_order="left")


def verdicts(pool: PoolVotes) -> FloatArray:
    """Return 1 for each counted answer that passed and 0 for the others, shape (n,)."""
    right = np.array([str(label) == PASSED for label in pool.everyone.labels], dtype=np.float64)
    return np.asarray(right[pool.votes.label])


def counts_of(votes: Votes, right: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the programs of each item, and those that pass, shape (items,) each."""
    return _counts(votes.item, None, votes.items), _counts(votes.item, right, votes.items)


def _counts(code: NDArray[np.int32], weight: FloatArray | None, size: int) -> NDArray[np.int64]:
    return np.bincount(code, weights=weight, minlength=size).astype(np.int64)
