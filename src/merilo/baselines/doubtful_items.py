"""Doubtful items: those whose consensus is not the gold answer, or whose gold answer may be wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from merilo.baselines.consensus_table import COLUMNS
from merilo.baselines.evidence import Evidence
from merilo.people.gold_model import fit_gold_model
from merilo.people.peers import agreement_by_answer, first_answers, is_reliable
from merilo.people.typing_errors import typing_error
from merilo.statistics.crossed import LEAST_ANNOTATORS

#: With more answers than this, gold answers are not checked.
MOST_ANSWERS: Final = 50_000

#: A gold answer that is wrong with at least this probability is doubtful, whatever the consensus is.
LEAST_PROBABLE: Final = 0.05

#: From this probability on, an answer is a typing error of the most probable truth, not of the gold.
_PROBABLY: Final = 0.5

#: Up to this number of labels, one label is never a typing error of another, except for these kinds.
_MOST_CHOICES: Final = 5
_OF_CHOICES: Final = frozenset({"notation", "case", "layout", "alphabet"})


@dataclass(frozen=True, slots=True)
class DoubtfulItems:
    """The doubtful items of a baseline.

    Attributes:
        table: one row for each item, the most probably wrong gold first: `item`, `id`, the input fields, `gold`,
            `consensus`, `gold_wrong` (the probability), `answers` (counted), `typing_errors` (the kinds among
            them, keys of `TYPING_ERRORS`), and the item's annotators who agree with the others elsewhere
            (`reliable`) or do not (`unreliable`).
        golds: how many gold answers were checked, those of control items among them.
        typing_errors: kind of typing error -> how many answers to items with gold.
    """

    table: pl.DataFrame
    golds: int
    typing_errors: Mapping[str, int]


def doubtful_items(evidence: Evidence) -> DoubtfulItems | None:
    """Find the items whose consensus is not the gold answer, or whose gold answer is probably wrong.

    The probability is from all answers to items and control items, weighted by the annotators' abilities. Consensus,
    typing errors and reliability are of the answers that count. Whether an annotator is reliable follows from their
    answers to other items or, if these are known, to other datasets.

    Returns:
        The items; `None` without gold, with fewer than three annotators or very many answers, for programs, and if a
        gold answer is not one text that an answer can be compared with.
    """
    used = evidence.used.select("item", pl.col("respondent").alias("annotator"), "answer")
    gold, form = evidence.gold, evidence.declaration.answer
    if gold is None or gold.withheld or evidence.programs or form.kind == "criteria" or form.alternatives:
        return None
    if used["annotator"].n_unique() < LEAST_ANNOTATORS or len(evidence.pool.everyone.votes) > MOST_ANSWERS:
        return None
    golds = _golds(evidence)
    labels = evidence.consensus.select("item", "id", "gold", "label", "correct", "answers")
    known = labels.join(golds, on="item", how="inner", maintain_order="left")
    mistyped = _typing_errors(used, known, few=golds["few_labels"].any())
    by_item = mistyped.group_by("item", maintain_order=True).agg(
        pl.col("kind").unique(maintain_order=True).str.join("; ").alias("typing_errors")
    )
    counts = (
        mistyped.group_by("kind").agg(pl.col("people").sum()).sort("people", "kind", descending=[True, False])
    )
    doubtful = (
        pl.col("label").is_null()
        | ~pl.col("correct").fill_null(value=True)
        | (pl.col("gold_wrong") >= LEAST_PROBABLE)
    )
    table = (
        known.filter(doubtful)
        .sort(["log_odds", "for_gold", "item"], descending=[True, False, False])
        .join(by_item, on="item", how="left", maintain_order="left")
        .join(_reliable(evidence, used), on="item", how="left", maintain_order="left")
    )
    fields = [name for name in evidence.consensus.columns if name not in COLUMNS]
    asked = evidence.consensus.select("item", *fields)
    table = table.select(
        *("item", "id", "gold", pl.col("label").alias("consensus"), pl.col("gold_wrong").round(6)),
        *("answers", "typing_errors", "reliable", "unreliable"),
    ).join(asked, on="item", how="left", maintain_order="left")
    table = table.select("item", "id", *fields, pl.exclude("item", "id", *fields))
    return DoubtfulItems(table, golds.height, dict(counts.iter_rows()))


def _golds(evidence: Evidence) -> pl.DataFrame:
    """Return one row for each item and control item with gold.

    Columns `item`, `gold_wrong`, `log_odds`, `for_gold` (the share of the answers), `truth` (the gold, or the most
    probable truth if the gold is probably wrong) and `few_labels`.
    """
    controls = evidence.responses.table.filter("is_control").drop_nulls("control")
    known = dict(
        controls.unique("item", keep="first", maintain_order=True).select("item", "control").iter_rows()
    )
    if evidence.gold:
        known |= dict(evidence.gold.answers.drop_nulls("gold").select("item", "gold").iter_rows())
    coded = evidence.pool.everyone.with_labels(known.values())
    labels = coded.labels.cast(pl.String)
    code = {label: place for place, label in enumerate(labels)}
    gold = np.array(
        [code[known[number]] if number in known else -1 for number in coded.items], dtype=np.int32
    )
    votes = coded.votes.where(first_answers(coded.votes))
    model = fit_gold_model(votes, gold)
    truth = np.where(model.gold_wrong >= _PROBABLY, model.best, gold)
    agreeing, answers = (
        np.bincount(item, minlength=votes.items)
        for item in (votes.item[votes.label == gold[votes.item]], votes.item)
    )
    golds = pl.DataFrame(
        {
            "item": coded.items.cast(pl.UInt32),
            "gold_wrong": model.gold_wrong,
            "log_odds": model.log_odds,
            "for_gold": agreeing / np.maximum(1, answers),
            "truth": labels.gather(pl.Series(truth).replace(-1, None)),
            "few_labels": bool(evidence.pool.order) or len(labels) <= _MOST_CHOICES,
        }
    )
    return golds.filter(pl.Series(gold >= 0))


def _typing_errors(used: pl.DataFrame, known: pl.DataFrame, *, few: bool) -> pl.DataFrame:
    """Return the answers that are typing errors of the truth: `item`, `answer`, `kind` and the number of `people`."""
    different = (
        used.join(known.select("item", "truth"), on="item", how="inner", maintain_order="left")
        .filter(pl.col("answer") != pl.col("truth"))
        .group_by("item", "answer", "truth", maintain_order=True)
        .agg(pl.len().alias("people"))
    )
    kinds = [typing_error(answer, truth) for answer, truth in different.select("answer", "truth").iter_rows()]
    kinds = [kind if kind in _OF_CHOICES or not few else None for kind in kinds]
    return different.with_columns(pl.Series("kind", kinds, dtype=pl.String)).drop_nulls("kind")


def _reliable(evidence: Evidence, used: pl.DataFrame) -> pl.DataFrame:
    """Return the names of every item's `reliable` and `unreliable` annotators; the others are not judged."""
    if "reliable" in evidence.annotators.columns:
        by_name = evidence.annotators.select("annotator", "reliable")
        judged = used.join(by_name, on="annotator", how="left")
    else:
        compared = agreement_by_answer(used["item"], used["annotator"], used["answer"])
        elsewhere = compared.with_columns(
            pl.len().over("annotator").alias("items") - 1,
            *(pl.col(name).sum().over("annotator") - pl.col(name) for name in ("own", "others")),
        )
        judged = elsewhere.select(
            pl.col("item").cast(pl.UInt32), "annotator", is_reliable().alias("reliable")
        )
    return judged.group_by("item").agg(
        pl.col("annotator").filter("reliable").sort().str.join(", ").alias("reliable"),
        pl.col("annotator").filter(~pl.col("reliable")).sort().str.join(", ").alias("unreliable"),
    )
