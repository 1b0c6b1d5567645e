"""How a study's annotators answered other datasets: whether they agree with the majority of the others there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from merilo.errors import DataError, argument
from merilo.people.quality.peers import agreement_by_answer, is_reliable
from merilo.people.reading import read_responses
from merilo.wording import listed, shown


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
