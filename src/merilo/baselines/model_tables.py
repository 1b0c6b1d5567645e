"""The results of a fitted model of annotators as tables."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from merilo.people.aggregation import Fit
from merilo.people.decision import PoolVotes

#: A table with more rows keeps only probabilities of at least the next constant.
MOST_ROWS: Final = 5_000_000

#: The smallest probability kept in a table that is too long.
MATTERS: Final = 0.001


def posterior_table(pool: PoolVotes, fit: Fit, items: pl.Series) -> pl.DataFrame | None:
    """Return the calibrated probability of every label of every item.

    Args:
        pool: the votes that the model was fitted to.
        fit: the model.
        items: the numbers of the items to include (control items are not part of a baseline).

    Returns:
        Columns `item`, `label`, `probability`, the most probable first; `None` if the model has no such table. If there
        are more than five million rows, only probabilities of at least 0.001 are kept.
    """
    calibrated = fit.calibrated_posterior
    if calibrated is None:
        return None
    numbers = pool.everyone.items.cast(pl.UInt32)
    wanted = np.flatnonzero(numbers.is_in(items.cast(pl.UInt32).implode()).to_numpy())
    probability = calibrated[wanted]
    row, label = np.nonzero(probability >= (MATTERS if probability.size > MOST_ROWS else -1.0))
    return pl.DataFrame(
        {
            "item": numbers.gather(wanted[row]),
            "label": pool.everyone.labels.cast(pl.String).gather(label),
            "probability": probability[row, label],
        }
    ).sort(["item", "probability", "label"], descending=[False, True, False])


def confusion_table(pool: PoolVotes, fit: Fit) -> pl.DataFrame | None:
    """Return each annotator's confusion matrix as a table.

    Args:
        pool: the votes that the model was fitted to.
        fit: the model.

    Returns:
        Columns `annotator`, `true`, `given`, `probability`, without annotators who gave no answer; `None` if the model
        has no such table or the table has more than five million rows.
    """
    if fit.confusion is None or fit.confusion.size > MOST_ROWS:
        return None
    annotator, true, given = np.nonzero(~np.isnan(fit.confusion))
    labels = pool.everyone.labels.cast(pl.String)
    return pl.DataFrame(
        {
            "annotator": pool.everyone.annotators.gather(annotator),
            "true": labels.gather(true),
            "given": labels.gather(given),
            "probability": fit.confusion[annotator, true, given],
        }
    )
