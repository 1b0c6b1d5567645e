"""Every answer of a baseline in one table: who answered what, whether it counts, and what it earns."""

from __future__ import annotations

from typing import Final

import polars as pl

from merilo.baselines.baseline_reader import responses_with_fate
from merilo.baselines.pipeline import Baseline
from merilo.datasets.rendering import render
from merilo.responses import answer_seconds

#: item        the number of the item
#: id          its id in the dataset, or its number
#: prompt      the question: the rendered prompt, or the fields that annotators saw
#: respondent  who answered
#: sample      which of the respondent's answers to this item, from 1
#: answer      the answer
#: became      used, control or excluded_annotator
#: gold        the gold answer, of a control item the known one; null if it is not known or withheld
#: points      the share of the item's points that the answer earns, 0 to 1; null without gold
#: consensus   the consensus of the item
#: started, submitted   when
#: seconds     for the answer, a page's time in equal parts
ANSWER_COLUMNS: Final = (
    "item", "id", "prompt", "respondent", "sample", "answer", "became", "gold", "points", "consensus", "started",
    "submitted", "seconds",
)  # fmt: skip


def answer_table(baseline: Baseline) -> pl.DataFrame:
    """Return every answer, columns as in `ANSWER_COLUMNS`."""
    table = responses_with_fate(baseline).with_columns(answer_seconds().alias("seconds"))
    table = table.join(_questions(baseline), on="item", how="left", maintain_order="left")
    decided = baseline.consensus.select("item", pl.col("label").alias("consensus"))
    table = table.join(decided, on="item", how="left", maintain_order="left")
    gold = baseline.gold
    if gold is None or gold.withheld:
        table = table.with_columns(pl.lit(None, pl.String).alias("gold"))
    else:
        right = gold.answers.select("item", "gold")
        table = table.join(right, on="item", how="left", maintain_order="left")
    table = table.with_columns(pl.coalesce("control", "gold").alias("gold"))
    return table.with_columns(_points(baseline, table)).select(ANSWER_COLUMNS)


def _questions(baseline: Baseline) -> pl.DataFrame:
    """Return `item`, `id` and `prompt` of every item."""
    known = baseline.gold.items if baseline.gold else {}
    fields = baseline.responses.fields
    rows = []
    for number, *values in baseline.responses.items.select("item", *fields).iter_rows():
        item = known.get(number)
        prompt = "\n".join(str(value) for value in values if value is not None)
        if item is not None and item.instruction:
            prompt = render(item, baseline.declaration)
        rows.append((number, str(item.id if item else number), prompt))
    return pl.DataFrame(rows, schema={"item": pl.UInt32, "id": pl.String, "prompt": pl.String}, orient="row")


def _points(baseline: Baseline, table: pl.DataFrame) -> pl.Series:
    """Return the points of every answer that counts; null where the item has no gold or no metric scores it alone."""
    scorer, earned = baseline.scorer, [None] * len(table)
    if scorer is not None and baseline.declaration.answer.kind not in {"criteria", "program"}:
        items = {int(item.id): item for item in scorer.items}
        rows = [
            (place, items[number], answer)
            for place, (number, answer, became) in enumerate(
                table.select("item", "answer", "became").iter_rows()
            )
            if became != "control" and answer is not None and number in items
        ]
        found = scorer.points([item for _, item, _ in rows], [answer for *_, answer in rows])
        for (place, *_), value in zip(rows, found.tolist(), strict=True):
            earned[place] = value
    return pl.Series("points", earned, dtype=pl.Float64)
