"""A human baseline: from responses to the figure, with everything that stands behind it.

The order of the steps is that of the published procedure: annotators who fail the control items are excluded with all
their answers; the rest decide each item; items on which they do not are counted; what was decided is scored against
gold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
import polars as pl

from merilo.baselines.declared import consensus_scorer, declared, question_types, without_scorer
from merilo.baselines.estimates import Estimates, estimate_metrics
from merilo.baselines.groups import Group, groups_by
from merilo.baselines.settings import Settings
from merilo.baselines.warnings import BaselineWarning, reasons_to_reject, warnings
from merilo.datasets.declaration import Dataset
from merilo.errors import DataError
from merilo.metrics.plain_dataset import PlainDataset
from merilo.metrics.score import Score
from merilo.people import aggregation, controls, cost, duplicates
from merilo.people.aggregation import Consensus, Fit, Resolution
from merilo.people.agreement import Agreement, measure
from merilo.people.decision import PoolVotes, Resolve, decide, pool_votes
from merilo.people.gold import Gold
from merilo.people.normalisation import Normalisation, normalise, normalise_gold, rules_of
from merilo.people.scales import on_scale
from merilo.people.simulation import SIMULATED_PREFIX
from merilo.people.spelling import spelled_as_compared
from merilo.responses import Responses

__all__ = ["Baseline", "Resolve", "Settings", "baseline", "test_items"]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The scored consensus of a study, and how it came about.

    Attributes:
        settings: what was decided beforehand.
        status: "accepted", or "rejected" when too many items found no majority.
        reasons: why it was rejected; empty when it was not.
        warnings: what the reader should know besides.
        responses: all responses that were read, repeats settled.
        used: the responses that the consensus rests on: those to test items by annotators who were not excluded.
        annotators: a row an annotator, as `controls.annotators` makes it.
        consensus: a row an item: `item`, `id`, the input fields, `answers`, `votes`, `label`, `resolved_by`,
            `confidence`, `difficulty` (GLAD's, where it was fitted), `gold`, `correct`, `points` (the share of the item's
            points that the label earns).
        normalisation: what was done to the answers' spelling.
        pool: every vote of the pool, in the codes of the model.
        model: the model of annotators that was fitted on the way, if any.
        declaration: the dataset as the scorer knows it.
        estimates: every metric of the consensus and of the single person, with their uncertainty; empty without gold.
        resolved_by: how many items were resolved in each way.
        low_agreement: how many items have no majority.
        votes_needed: equal votes that make a majority -> how many items need so many.
        agreement: how far people agree, on the responses used.
        by: field -> value -> the items that share it, for the fields that the settings name.
        cost: money and time.
        gold: the right answers and what did not match; `None` without gold.
    """

    settings: Settings
    status: Literal["accepted", "rejected"]
    reasons: tuple[BaselineWarning, ...]
    warnings: tuple[BaselineWarning, ...]
    responses: Responses
    used: pl.DataFrame
    annotators: pl.DataFrame
    consensus: pl.DataFrame
    normalisation: Normalisation
    pool: PoolVotes
    model: Fit | None
    declaration: PlainDataset
    estimates: Estimates
    resolved_by: dict[Resolution, int]
    low_agreement: int
    votes_needed: dict[int, int]
    agreement: Agreement
    by: dict[str, dict[str, Group]]
    cost: cost.Cost
    gold: Gold | None = None
    overlap_before: dict[int, int] = field(default_factory=dict)
    overlap: dict[int, int] = field(default_factory=dict)

    @property
    def scores(self) -> dict[str, Score]:
        """The metrics of the consensus by name, the headline first; empty without gold."""
        return {name: one.score for name, one in self.estimates.all().items()}

    @property
    def simulated(self) -> bool:
        """Whether simulated annotators are among those who answered."""
        return any(name.startswith(SIMULATED_PREFIX) for name in self.annotators["annotator"])

    @property
    def items(self) -> int:
        """How many items the study has."""
        return self.consensus.height

    @property
    def alpha(self) -> float:
        """Krippendorff's alpha of the responses used; NaN where it is not defined."""
        return self.agreement.krippendorff_alpha

    @property
    def low_agreement_share(self) -> float:
        """The share of items without a majority."""
        return self.low_agreement / self.items


def test_items(responses: Responses) -> pl.DataFrame:
    """The items that are not control items: `item` and the input fields, by number."""
    numbers = responses.table.filter(~pl.col("is_control")).select("item").unique()
    return responses.items.join(numbers, on="item", how="semi", maintain_order="left")


def baseline(
    responses: Responses,
    settings: Settings,
    *,
    dataset: Dataset | None = None,
    gold: Gold | None = None,
    skills: pl.DataFrame | None = None,
) -> Baseline:
    """Make a human baseline.

    Args:
        responses: the responses of one study.
        settings: what was decided beforehand.
        dataset: the dataset's declaration: how answers are compared and scored; labels compared as texts when not given.
        gold: the right answers, if they are known.
        skills: the platform's skills of annotators, see `controls.read_skills`.

    Raises:
        UsageError: the metric does not fit the dataset's answers, or answers are programs, which have to be run.
        DataError: there are no test items, an annotator contradicts themselves, or nobody passes the control items.
    """
    declaration = declared(dataset, settings)
    responses, normalisation = normalise(responses, rules_of(settings.normalise))
    gold = normalise_gold(gold, normalisation) if gold else None
    responses = spelled_as_compared(responses, declaration, question_types(responses, gold))
    responses = duplicates.settle(responses, settings.repeats)
    items = test_items(responses)
    if not items.height:
        raise DataError(
            f"every one of the {responses.table.height} responses is to a control item: no item is left"
        )
    annotators = controls.annotators(
        responses,
        min_control_accuracy=settings.min_control_accuracy,
        min_controls=settings.min_controls,
        skills=skills,
    )
    tests = responses.table.filter(~pl.col("is_control"))
    out = annotators.filter("excluded").select(pl.col("annotator").alias("respondent"))
    used = tests.join(out, on="respondent", how="anti", maintain_order="left")
    pool = pool_votes(responses, annotators)
    decided = decide(
        pool,
        aggregator=settings.aggregator,
        resolve=settings.resolve,
        anchor_controls=settings.anchor_controls,
        min_votes=settings.min_votes,
        open_answers=settings.open_answers,
    )
    majority = aggregation.majority(pool.votes, pool.needed(settings.min_votes))
    scorer = consensus_scorer(declaration, pool, gold)
    consensus = _table(items, pool, decided, gold, scorer.share_earned(decided) if scorer else {})
    low = items.height - int((majority.label >= 0).sum())
    people = _with_quality(annotators, pool, decided.fit)
    on_level, values = on_scale(
        pool.votes, pool.everyone.labels.cast(pl.String).to_list(), settings.level, settings.labels
    )
    needed = _votes_needed(pool, settings)
    reasons = reasons_to_reject(low, items.height, needed, settings)
    return Baseline(
        settings=settings,
        status="rejected" if reasons else "accepted",
        reasons=reasons,
        warnings=warnings(responses, annotators, settings, gold=gold, skills=skills, fit=decided.fit),
        responses=responses,
        used=used,
        annotators=people,
        consensus=consensus,
        normalisation=normalisation,
        pool=pool,
        model=decided.fit,
        declaration=declaration,
        estimates=estimate_metrics(
            scorer, pool, decided=decided, majority=majority, annotators=people, settings=settings
        )
        if scorer
        else Estimates(missing=without_scorer(declaration, gold)),
        resolved_by=_ways(consensus),
        low_agreement=low,
        votes_needed=needed,
        agreement=measure(on_level, level=settings.level, values=values),
        by=groups_by(
            settings.by,
            items=items,
            gold=gold,
            pool=pool,
            scorer=scorer,
            decided=decided,
            level=settings.level,
            order=settings.labels,
        ),
        cost=cost.cost(responses, settings.currency),
        gold=gold,
        overlap_before=_overlap(items, tests),
        overlap=_overlap(items, used),
    )


def _ways(consensus: pl.DataFrame) -> dict[Resolution, int]:
    """How many items were resolved in each way; ways that never happened stand with 0."""
    found = dict(consensus["resolved_by"].value_counts().iter_rows())
    return {way: int(found.get(way.name.lower(), 0)) for way in Resolution}


def _with_quality(annotators: pl.DataFrame, pool: PoolVotes, fit: Fit | None) -> pl.DataFrame:
    """The annotators with what the model thinks of them: GLAD's `ability`, the other models' `expected_accuracy`."""
    columns = {"ability": {"glad"}, "expected_accuracy": {"dawid-skene", "one-coin"}}
    found = pl.DataFrame({"annotator": pool.everyone.annotators})
    for name, models in columns.items():
        quality = fit.quality if fit and fit.model in models else np.full(found.height, np.nan)
        found = found.with_columns(pl.Series(name, quality).fill_nan(None))
    return annotators.join(found, on="annotator", how="left", maintain_order="left")


def _table(
    items: pl.DataFrame,
    pool: PoolVotes,
    decided: Consensus,
    gold: Gold | None,
    earned: Mapping[int | str, float],
) -> pl.DataFrame:
    """The consensus, a row an item."""
    encoding, tally = pool.everyone, pool.votes.tally()
    fit = decided.fit
    difficulty = (
        fit.difficulty if fit and fit.difficulty is not None else np.full(len(encoding.items), np.nan)
    )
    labels = encoding.labels.cast(pl.String)
    answers = (
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
            "label": labels.gather(pl.Series(np.maximum(decided.label, 0))),
            "has_label": decided.label >= 0,
            "resolved_by": ways[decided.how],
            "confidence": decided.confidence,
            "difficulty": difficulty,
        }
    ).with_columns(
        pl.col("difficulty").fill_nan(None),
        pl.when("has_label").then("label").alias("label"),
        pl.when("has_label").then("confidence").alias("confidence"),
    )
    resolved = resolved.join(answers.with_columns(pl.col("code").cast(pl.Int64)), on="code", how="left")
    known = (
        gold.answers if gold else pl.DataFrame(schema={"item": pl.UInt32, "gold": pl.String, "id": pl.String})
    )
    if gold and not known["id"].drop_nulls().len():
        known = known.with_columns(pl.col("item").cast(pl.String).alias("id"))
    points = pl.DataFrame(
        list(earned.items()), schema={"item": pl.UInt32, "points": pl.Float64}, orient="row"
    )
    fields = [name for name in items.columns if name != "item"]
    shown = {name: name if name not in _CONSENSUS_COLUMNS else f"input_{name}" for name in fields}
    return (
        items.rename(shown)
        .join(resolved, on="item", how="left", maintain_order="left")
        .join(known, on="item", how="left", maintain_order="left")
        .join(points, on="item", how="left", maintain_order="left")
        .with_columns(pl.col("resolved_by").fill_null("unresolved"), pl.col("votes").fill_null(0))
        .with_columns((pl.col("points") >= 1).alias("correct"))
        .select(
            "item",
            "id",
            *shown.values(),
            "answers",
            "votes",
            "label",
            "resolved_by",
            "confidence",
            "difficulty",
            "gold",
            "correct",
            "points",
        )
    )


_CONSENSUS_COLUMNS: Final = frozenset({
    "item", "id", "answers", "votes", "label", "resolved_by", "confidence", "difficulty", "gold", "correct", "points",
    "code", "has_label",
})  # fmt: skip


def _votes_needed(pool: PoolVotes, settings: Settings) -> dict[int, int]:
    """How many items need how many equal votes for a majority."""
    items = pool.everyone.votes.items
    tested = np.bincount(pool.everyone.votes.item[pool.tests], minlength=items) > 0
    needed = np.broadcast_to(pool.needed(settings.min_votes), items)[tested]
    return {int(votes): int(n) for votes, n in zip(*np.unique(needed, return_counts=True), strict=True)}


def _overlap(items: pl.DataFrame, answered: pl.DataFrame) -> dict[int, int]:
    """How many items were answered by how many people, the largest overlap first."""
    people = answered.group_by("item").agg(pl.col("respondent").n_unique().alias("people"))
    counts = items.select("item").join(people, on="item", how="left")["people"].fill_null(0).value_counts()
    return {int(people): int(n) for people, n in sorted(counts.iter_rows(), reverse=True)}
