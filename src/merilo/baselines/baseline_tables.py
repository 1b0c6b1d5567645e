"""The tables of a baseline: the consensus of each item, the doubtful items, and every answer with its points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from merilo.baselines.baseline import Baseline, Cleaned, Doubts, Evidence
from merilo.baselines.crowd import Crowd, crowd_of
from merilo.datasets.rendering import render
from merilo.people.aggregation import Consensus, Resolution
from merilo.people.decision import PoolVotes, passed_shares
from merilo.people.gold_model import fit_gold_model
from merilo.people.peers import agreement_by_answer, first_answers, is_reliable
from merilo.people.typing_errors import typing_error
from merilo.people.votes import encode
from merilo.responses import answer_cost, answer_seconds
from merilo.statistics.crossed import LEAST_ANNOTATORS

if TYPE_CHECKING:
    from merilo.baselines.model_answers import RunDataset

#: The columns of the table; the item's input fields follow `id`.
#:
#: ===========  ==============================================================================
#: item         the item's number in the study
#: id           the dataset's id of the item; its number if the gold answers have no ids
#: answers      every answer with its votes, most votes first
#: votes        how many answers count
#: label        the consensus, or null
#: resolved_by  how the label was reached: the name of an `aggregation.Resolution` in lower case
#: confidence   the model's probability of the label; without a model its share of the votes
#: difficulty   GLAD's difficulty of the item, if GLAD was fitted
#: gold         the gold answer as text, or null
#: correct      whether the label earns all points of the item
#: points       the share of the item's points that the label earns, 0 to 1
#: ===========  ==============================================================================
COLUMNS: Final = (
    "item", "id", "answers", "votes", "label", "resolved_by", "confidence", "difficulty", "gold", "correct", "points",
)  # fmt: skip

#: The columns that only the table of doubtful items has; see `doubtful_items`.
DOUBTS: Final = ("consensus", "gold_wrong", "typing_errors", "reliable", "unreliable")

#: Names reserved for this table and that of doubtful items; an input field with one of them is renamed.
_TAKEN: Final = frozenset({*COLUMNS, *DOUBTS, "code", "has_label"})


def shown_fields(consensus: pl.DataFrame) -> list[str]:
    """Return the input fields of a consensus table that a page shows; a field that repeats the column `id` is left out.

    Example:
        >>> shown_fields(pl.DataFrame({"item": [1], "id": ["a"], "input_id": ["a"], "question": ["?"]}))
        ['question']
    """
    names = [name for name in consensus.columns if name not in COLUMNS]
    own = consensus["id"].cast(pl.String) if "id" in consensus.columns else None
    return [
        name
        for name in names
        if own is None or name != "input_id" or not consensus[name].cast(pl.String).eq_missing(own).all()
    ]


def consensus_table(
    answers: Cleaned, pool: PoolVotes, consensus: Consensus, crowd: Crowd | None
) -> pl.DataFrame:
    """Build the table of the consensus, with the points of each label.

    Returns:
        One row per item: `COLUMNS` with the input fields after `id`. An input field with the name of one of the columns
        gets the prefix `input_`.
    """
    items, gold, encoding, tally = answers.items, answers.gold, pool.everyone, pool.votes.tally()
    earned = _earned(crowd, pool)
    fit = consensus.fit
    difficulty = (
        fit.difficulty if fit and fit.difficulty is not None else np.full(len(encoding.items), np.nan)
    )
    labels = pl.Series(pool.labels, dtype=pl.String)
    counted = (
        pl.DataFrame({"code": tally.item, "label": labels.gather(tally.label), "count": tally.votes})
        .sort(["code", "count", "label"], descending=[False, True, False])
        .group_by("code", maintain_order=True)
        .agg(
            pl.concat_str("label", pl.lit(": "), "count").str.join("; ").alias("answers"),
            pl.col("count").sum().alias("votes"),
        )
    )
    ways = np.array([way.name.lower() for way in Resolution])
    resolved = pl.DataFrame(
        {
            "item": encoding.items.cast(pl.UInt32),
            "code": np.arange(len(encoding.items)),
            "label": labels.gather(pl.Series(np.maximum(consensus.label, 0))),
            "has_label": consensus.label >= 0,
            "resolved_by": ways[consensus.how],
            "confidence": consensus.confidence,
            "difficulty": difficulty,
        }
    ).with_columns(
        pl.col("difficulty").fill_nan(None),
        pl.when("has_label").then("label").alias("label"),
        pl.when("has_label").then("confidence").alias("confidence"),
    )
    resolved = resolved.join(counted.with_columns(pl.col("code").cast(pl.Int64)), on="code", how="left")
    known = (
        gold.answers if gold else pl.DataFrame(schema={"item": pl.UInt32, "gold": pl.String, "id": pl.String})
    )
    if gold and not known["id"].drop_nulls().len():
        known = known.with_columns(pl.col("item").cast(pl.String).alias("id"))
    points = pl.DataFrame(
        list(earned.items()), schema={"item": pl.UInt32, "points": pl.Float64}, orient="row"
    )
    fields = [name for name in items.columns if name != "item"]
    shown = {name: name if name not in _TAKEN else f"input_{name}" for name in fields}
    return (
        items.rename(shown)
        .join(resolved, on="item", how="left", maintain_order="left")
        .join(known, on="item", how="left", maintain_order="left")
        .join(points, on="item", how="left", maintain_order="left")
        .with_columns(pl.col("resolved_by").fill_null("unresolved"), pl.col("votes").fill_null(0))
        .with_columns((pl.col("points") >= 1).alias("correct"))
        .select(*COLUMNS[:2], *shown.values(), *COLUMNS[2:])
    )


def _earned(crowd: Crowd | None, pool: PoolVotes) -> dict[int | str, float]:
    """Return the points of the consensus on each item, from 0 to 1; empty if no metric scores single items."""
    if crowd is None or crowd.declaration.answer.kind == "criteria":
        return {}
    if crowd.declaration.judged:
        return passed_shares(pool)
    decided = crowd.answers
    answered = [item for item in crowd.items if item.id in decided]
    earned = crowd.points(answered, [str(decided[item.id]) for item in answered])
    return {item.id: share for item, share in zip(answered, earned.tolist(), strict=True)}


#: With more answers than this, gold answers are not checked.
MOST_ANSWERS: Final = 50_000

#: A gold answer that is wrong with at least this probability is doubtful, whatever the consensus is.
LEAST_PROBABLE: Final = 0.05

#: From this probability on, an answer is a typing error of the most probable truth, not of the gold.
_PROBABLY: Final = 0.5

#: Up to this number of labels, one label is never a typing error of another, except for these kinds.
_MOST_CHOICES: Final = 5
_OF_CHOICES: Final = frozenset({"notation", "case", "layout", "alphabet"})


#: How many doubtful items the record names.
MOST_DOUBTFUL: Final = 20


def doubtful_items(evidence: Evidence) -> tuple[pl.DataFrame, Doubts] | None:
    """Find the items whose consensus is not the gold answer, or whose gold answer is probably wrong.

    The probability is from all answers to items and control items, weighted by the annotators' abilities. Consensus,
    typing errors and reliability are of the answers that count. Whether an annotator is reliable follows from their
    answers to other items or, if these are known, to other datasets.

    Returns:
        One row for each item, the most probably wrong gold first: `item`, `id`, the input fields, `gold`, `consensus`,
        `gold_wrong` (the probability), `answers` (counted), `typing_errors` (the kinds among them, keys of
        `TYPING_ERRORS`), and the item's annotators who agree with the others elsewhere (`reliable`) or do not
        (`unreliable`); and their record. `None` without gold, with fewer than three annotators or very many answers,
        for programs, and if a gold answer is not one text that an answer can be compared with.
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
    doubts = Doubts(
        golds=golds.height,
        items=table.height,
        gold_wrong=dict(table.head(MOST_DOUBTFUL).select("id", "gold_wrong").iter_rows()),
        typing_errors=dict(counts.iter_rows()),
    )
    return table, doubts


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
    table = evidence.responses.table.drop_nulls(["item", "respondent", "answer"])
    texts = [*table["control"].drop_nulls().unique(), *known.values()]
    coded = encode(table["item"], table["respondent"], table["answer"], known_labels=texts)
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


#: item        the number of the item
#: id          its id in the dataset, or its number
#: prompt      the question: the rendered prompt, or the fields that annotators saw
#: respondent  who answered: an annotator, or a model
#: kind        person or model
#: sample      which of the respondent's answers to this item, from 1
#: answer      the answer; null of a model's reply without one, which earns no points
#: became      used, control or excluded_annotator; null of a model
#: gold        the gold answer, of a control item the known one; null if it is not known or withheld
#: points      the share of the item's points that the answer earns, 0 to 1; null without gold
#: consensus   the consensus of the item
#: started, submitted   when
#: seconds     for the answer: a page's time in equal parts; of a run of merilo run, the time of the request
#: cost        of the answer: a page's reward in equal parts, in the study's currency; of a run, US dollars
ANSWER_COLUMNS: Final = (
    "item", "id", "prompt", "respondent", "kind", "sample", "answer", "became", "gold", "points", "consensus",
    "started", "submitted", "seconds", "cost",
)  # fmt: skip


def answer_table(baseline: Baseline) -> pl.DataFrame:
    """Return every answer, columns as in `ANSWER_COLUMNS`; the answers of models follow those of people.

    Raises:
        UsageError: a run has no answers to the baseline's dataset.
        InputError: a file cannot be read, or a run asked other items.
    """
    evidence, table = baseline.evidence, scored_answers(baseline)
    table = table.join(_questions(evidence), on="item", how="left", maintain_order="left")
    decided = evidence.consensus.select("item", pl.col("label").alias("consensus"))
    table = table.join(decided, on="item", how="left", maintain_order="left")
    gold = evidence.gold
    if gold is None or gold.withheld:
        table = table.with_columns(pl.lit(None, pl.String).alias("gold"))
    else:
        right = gold.answers.select("item", "gold")
        table = table.join(right, on="item", how="left", maintain_order="left")
    table = table.with_columns(pl.coalesce("control", "gold").alias("gold"))
    return table.select(ANSWER_COLUMNS)


def scored_answers(baseline: Baseline, items: pl.Series | None = None) -> pl.DataFrame:
    """Return every answer of people and models with its points.

    Args:
        baseline: the baseline.
        items: the numbers of the items; all by default.

    Returns:
        The columns of `responses.SCHEMA`, and `became`, `seconds`, `cost`, `kind`, `points` as in `ANSWER_COLUMNS`.
    """
    table = baseline.evidence.with_fate.with_columns(
        answer_seconds().alias("seconds"), answer_cost().alias("cost"), pl.lit("person").alias("kind")
    )
    if baseline.evidence.study.models:
        table = pl.concat([table, _of_models(baseline)], how="diagonal")
    if items is not None:
        table = table.filter(pl.col("item").is_in(items.implode()))
    return table.with_columns(_points(baseline.evidence, table))


def _of_models(baseline: Baseline) -> pl.DataFrame:
    """Return the models' answers to items with gold, with the seconds and costs that runs have logged."""
    from merilo.baselines.model_answers import read_model  # noqa: PLC0415 - needed only for models

    crowd, beside = crowd_of(baseline), baseline.beside_models
    models = (
        beside.samples if beside else [read_model(path, crowd) for path in baseline.evidence.study.models]
    )
    numbers = {name: int(item.id) for name, item in zip(crowd.names, crowd.items, strict=True)}
    rows: list[tuple[int, str, str, int, str | None, float | None, float | None]] = []
    for model in models:
        logged = _logged(model.run)
        for name in (item_name for item_name in model.answers if item_name in numbers):
            answers = model.answers[name]
            # A log without every answer does not tell which of them it has.
            known = logged.get(name, [])
            spent = known if len(known) == len(answers) else [(None, None)] * len(answers)
            rows += (
                (numbers[name], model.model, "model", sample, answer or None, *of_answer)
                for sample, (answer, of_answer) in enumerate(zip(answers, spent, strict=True), start=1)
            )
    kinds = {"respondent": pl.String, "kind": pl.String, "sample": pl.UInt32, "answer": pl.String}
    times = {"seconds": pl.Float64, "cost": pl.Float64}
    return pl.DataFrame(rows, schema={"item": pl.UInt32, **kinds, **times}, orient="row")


def _logged(run: RunDataset | None) -> dict[str, list[tuple[float | None, float | None]]]:
    """Return the seconds and costs of the answers to each item of a run, in the order of the samples."""
    table = run.logged("item", "sample", "seconds", "cost") if run else None
    logged: dict[str, list[tuple[float | None, float | None]]] = {}
    for item, _, seconds, cost in () if table is None else table.sort("item", "sample").iter_rows():
        logged.setdefault(" ".join(str(item).split()), []).append((seconds, cost))
    return logged


def _questions(evidence: Evidence) -> pl.DataFrame:
    """Return `item`, `id` and `prompt` of every item."""
    known = evidence.gold.items if evidence.gold else {}
    fields = evidence.responses.fields
    rows = []
    for number, *values in evidence.responses.items.select("item", *fields).iter_rows():
        item = known.get(number)
        prompt = "\n".join(str(value) for value in values if value is not None)
        if item is not None and item.instruction:
            prompt = render(item, evidence.declaration)
        rows.append((number, str(item.id if item else number), prompt))
    return pl.DataFrame(rows, schema={"item": pl.UInt32, "id": pl.String, "prompt": pl.String}, orient="row")


def _points(evidence: Evidence, table: pl.DataFrame) -> pl.Series:
    """Return the points of every answer that counts; null where the item has no gold or no metric scores it alone."""
    crowd, answered = evidence.crowd, pl.col("answer").is_not_null() | (pl.col("kind") == "model")
    if crowd is None or evidence.declaration.answer.kind in {"criteria", "program"}:
        return pl.Series("points", [None] * table.height, dtype=pl.Float64)
    items = {int(item.id): item for item in crowd.items}
    scored = (pl.col("became").fill_null("") != "control") & answered & pl.col("item").is_in([*items])
    columns = table.select(pl.when(scored).then("item").alias("item"), pl.col("answer").fill_null(""))
    pairs = columns.drop_nulls("item").unique(maintain_order=True)
    earned = crowd.points([items[number] for number in pairs["item"]], pairs["answer"].to_list())
    points = pairs.with_columns(pl.Series("points", earned, dtype=pl.Float64))
    return columns.join(points, on=["item", "answer"], how="left", maintain_order="left")["points"]
