"""Each annotator compared with the others on the same items, of this dataset and of others.

An annotator who answers other items like the others is not the likely cause of a disagreement on one item.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.errors import DataError, argument
from merilo.people.reading import read_responses
from merilo.people.votes import Votes
from merilo.statistics import FloatArray
from merilo.wording import listed, shown

#: An annotator is reliable if they agree with the majority of the others at least this share as often as the others
#: do on the same items, of which there must be this many.
SHARE_OF_OTHERS: Final = 0.9
FEWEST_ITEMS: Final = 3


def agreement_with_others(votes: Votes) -> FloatArray:
    """Compute how often the other annotators of an item give the same answer as each annotator.

    Args:
        votes: the answers, at most one per annotator and item.

    Returns:
        Shape (annotators,): the mean, over an annotator's items, of the share of the others who gave the same answer;
        NaN without an item that somebody else answered.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 0, 1], [0, 1, 2, 2], [0, 0, 1, 1]]), 2, 3, 2)
        >>> agreement_with_others(votes).tolist()
        [0.5, 0.5, 0.0]
    """
    others = np.bincount(votes.item, minlength=votes.items)[votes.item] - 1
    shared = others > 0
    share = (votes.agreeing()[shared] - 1) / others[shared]
    person = votes.annotator[shared]
    items = np.bincount(person, minlength=votes.annotators)
    total = np.bincount(person, share, votes.annotators)
    return np.where(items > 0, total / np.maximum(items, 1), np.nan)


def first_answers(votes: Votes) -> NDArray[np.bool_]:
    """Return which answers are an annotator's first to an item, shape (n,)."""
    first = np.zeros(len(votes), dtype=np.bool_)
    pair = votes.annotator.astype(np.int64) * max(votes.items, 1) + votes.item
    first[np.unique(pair, return_index=True)[1]] = True
    return first


def agreement_by_answer(item: pl.Series, annotator: pl.Series, answer: pl.Series) -> pl.DataFrame:
    """Compare every answer with the majority of the other annotators' answers to the same item.

    Args:
        item: shape (n,), ids of items.
        annotator: shape (n,), ids of annotators; of several answers to an item the first counts.
        answer: shape (n,), the answers.

    Returns:
        One row for each answer to an item that several annotators answered: `item`, `annotator`, `own` (1 if the
        answer is the most frequent one among the others, or one of these, else 0) and `others` (the mean of `own`
        over the other annotators of the item).

    Example:
        >>> item, annotator = pl.Series([1, 1, 1, 1]), pl.Series(["ann", "bob", "cat", "dan"])
        >>> agreeing = agreement_by_answer(item, annotator, pl.Series(["yes", "yes", "yes", "no"]))
        >>> agreeing["own"].to_list(), agreeing["others"].round(2).to_list()
        ([1.0, 1.0, 1.0, 0.0], [0.67, 0.67, 0.67, 1.0])
    """
    table = pl.DataFrame({"item": item, "annotator": annotator, "answer": answer}).drop_nulls()
    table = table.unique(["item", "annotator"], keep="first", maintain_order=True)
    counts = table.group_by("item", "answer").agg(pl.len().cast(pl.Int64).alias("n"))
    ranked = pl.col("n").sort(descending=True)
    tops = counts.group_by("item").agg(ranked.first().alias("top"), ranked.slice(1, 1).sum().alias("second"))
    table = table.join(counts, on=["item", "answer"], maintain_order="left").join(
        tops, on="item", maintain_order="left"
    )
    # Among the others, the annotator's own label has one vote less; the other labels keep all their votes.
    rival = pl.when(pl.col("n") == pl.col("top")).then("second").otherwise("top")
    people, own = pl.len().over("item"), pl.col("own")
    return (
        table.filter(people > 1)
        .select("item", pl.col("annotator").cast(pl.String), own=(pl.col("n") - 1 >= rival).cast(pl.Float64))
        .with_columns(others=(own.sum().over("item") - own) / (people - 1))
    )


def is_reliable() -> pl.Expr:
    """Return whether an annotator is reliable by the sums `own` and `others` over `items`; null with too few items."""
    enough = pl.col("items") >= FEWEST_ITEMS
    return pl.when(enough).then(pl.col("own") >= SHARE_OF_OTHERS * pl.col("others") - 1e-9)


@dataclass(frozen=True, slots=True)
class OtherAnswers:
    """Answers to other datasets, of the items that annotators of this study answered.

    Attributes:
        sources: the files, one for each dataset.
        table: columns `dataset`, `item`, `annotator`, `answer`. Annotators of this study have their ids, the others
            `other-` and a number. Datasets, items and answers are numbers; only equal answers matter.
    """

    sources: tuple[str, ...]
    table: pl.DataFrame

    def renamed(self, names: Mapping[str, str]) -> OtherAnswers:
        """Give the study's annotators these names, and the files their names without folders."""
        table = self.table.with_columns(pl.col("annotator").replace(names))
        return OtherAnswers(tuple(Path(source).name for source in self.sources), table)

    def reliability(self) -> pl.DataFrame:
        """Return one row for each annotator.

        Columns `annotator`, `other_items`, `other_agreement` (how often the annotator agrees with the majority of the
        others), `other_expected` (how often the other annotators of the same items do) and `reliable`.
        """
        item = self.table.select(pl.col("dataset") * (1 << 32) + pl.col("item")).to_series()
        compared = agreement_by_answer(item, self.table["annotator"], self.table["answer"])
        items = pl.len().cast(pl.Int64).alias("items")
        sums = compared.group_by("annotator").agg(items, pl.col("own", "others").sum())
        return sums.select(
            "annotator",
            other_items="items",
            other_agreement=pl.col("own") / pl.col("items"),
            other_expected=pl.col("others") / pl.col("items"),
            reliable=is_reliable(),
        )


def read_other_answers(files: Sequence[str | Path], annotators: Collection[str]) -> OtherAnswers:
    """Read the answers to other datasets.

    Args:
        files: exports, each of one dataset.
        annotators: the ids of this study's annotators.

    Raises:
        InputError: a file cannot be read.
        DataError: no annotator of this study is in the files.
    """
    known = pl.col("annotator").is_in([*annotators])
    table = pl.concat(
        read_responses(path)
        .table.filter(~pl.col("is_control"))
        .select(
            pl.lit(number, pl.Int64).alias("dataset"),
            pl.col("item").cast(pl.Int64),
            annotator="respondent",
            answer=pl.col("answer").rank("dense").cast(pl.Int64),
        )
        .filter(known.any().over("item"))
        for number, path in enumerate(files, start=1)
    )
    sources = tuple(shown(Path(path)) for path in files)
    if not table.height:
        raise DataError(
            f"no annotator of this study is in {listed(sources)}: {argument('other', 'FILE')} matches annotators by "
            "their ids"
        )
    stranger = pl.format("other-{}", pl.col("annotator").rank("dense"))
    return OtherAnswers(sources, table.with_columns(pl.when(known).then("annotator").otherwise(stranger)))
