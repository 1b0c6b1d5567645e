"""Programs that people wrote, as verdicts of the sandbox: each counts by itself, and there is no consensus."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.metrics.pass_at_k import PASSED
from merilo.people.aggregation import NO_LABEL, Consensus, Resolution
from merilo.people.decision import PoolVotes
from merilo.people.votes import Votes
from merilo.statistics.arrays import FloatArray
from merilo.statistics.intervals import exact_interval


def each_answer(pool: PoolVotes) -> Consensus:
    """Return the consensus of programs: no label for any item, because every answer counts by itself."""
    items = pool.everyone.votes.items
    how = np.full(items, Resolution.EACH_ANSWER, dtype=np.int8)
    return Consensus(np.full(items, NO_LABEL, dtype=np.int32), how, np.full(items, np.nan))


def passed_shares(pool: PoolVotes) -> dict[int | str, float]:
    """Return the share of an item's programs that pass, by item number; items without a counted answer are left out."""
    written, passed = counts_of(pool.votes, verdicts(pool))
    return {
        int(number): float(passed[code] / written[code])
        for code, number in enumerate(pool.everyone.items)
        if written[code]
    }


def with_passed(annotators: pl.DataFrame, pool: PoolVotes) -> pl.DataFrame:
    """Add each annotator's counted programs to a table: `programs`, `passed` and `pass@1` with its Clopper-Pearson interval."""
    votes, right = pool.votes, verdicts(pool)
    written = np.bincount(votes.annotator, minlength=votes.annotators).tolist()
    passed = np.bincount(votes.annotator, weights=right, minlength=votes.annotators).astype(int).tolist()
    rows = []
    for name, n, c in zip(pool.everyone.annotators, written, passed, strict=True):
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
    written = np.bincount(votes.item, minlength=votes.items)
    return written, np.bincount(votes.item, weights=right, minlength=votes.items).astype(np.int64)
