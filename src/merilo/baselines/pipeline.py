"""A human baseline: from responses to the figure, with everything that stands behind it.

The order of the steps is that of the published procedure: annotators who fail the control items are excluded with all
their answers; the rest decide each item; items on which they do not are counted; what was decided is scored against
gold.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
import polars as pl

from merilo.baselines.estimates import Figures, figures
from merilo.baselines.groups import Group, groups_by
from merilo.baselines.settings import Settings
from merilo.baselines.warnings import BaselineWarning, reasons_to_reject, warnings
from merilo.errors import DataError
from merilo.metrics.score import Score
from merilo.people import aggregation, controls, cost, duplicates
from merilo.people.aggregation import Consensus, Fit, Resolution
from merilo.people.agreement import Agreement, measure
from merilo.people.decision import PoolVotes, Resolve, decide, pool_votes
from merilo.people.gold import Gold
from merilo.people.normalisation import Normalisation, normalise, normalise_gold, rules_of
from merilo.people.scales import on_scale
from merilo.people.simulation import SIMULATED_PREFIX
from merilo.responses import Responses
from merilo.statistics.intervals import wilson

__all__ = ["Baseline", "Bounds", "Resolve", "Settings", "baseline", "test_items"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a metric would be, had no item been left out.

    Attributes:
        n: how many items that is.
        dropped: how many of them were left out of the metric.
        dropped_wrong: the metric with those items counted as wrong.
        plurality: the metric with those items decided by most votes; labels that tie share the item equally.
    """

    n: int
    dropped: int
    dropped_wrong: float
    plurality: float


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
            `confidence`, `difficulty` (GLAD's, where it was fitted), `gold`, `correct`.
        normalisation: what was done to the answers' spelling.
        pool: every vote of the pool, in the codes of the model.
        model: the model of annotators that was fitted on the way, if any.
        scores: the metrics, by name; empty without gold.
        published: the metric by the published procedure (majority of `min_votes`, other items left out), where the settings ask
            for another one and there is gold.
        bounds: what the metric would be had no item been left out; `None` without gold, or when none was.
        figures: the crowd's figure with its uncertainty over items and annotators, and the single person's; `None` without
            gold.
        resolved_by: how many items were resolved in each way.
        low_agreement: how many items have no majority.
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
    scores: dict[str, Score]
    bounds: Bounds | None
    published: Score | None
    figures: Figures | None
    resolved_by: dict[Resolution, int]
    low_agreement: int
    agreement: Agreement
    by: dict[str, dict[str, Group]]
    cost: cost.Cost
    gold: Gold | None = None
    overlap_before: dict[int, int] = field(default_factory=dict)
    overlap: dict[int, int] = field(default_factory=dict)

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
    responses: Responses, settings: Settings, *, gold: Gold | None = None, skills: pl.DataFrame | None = None
) -> Baseline:
    """Make a human baseline.

    Args:
        responses: the responses of one study.
        settings: what was decided beforehand.
        gold: the right answers, if they are known.
        skills: the platform's skills of annotators, see `controls.read_skills`.

    Raises:
        DataError: there are no test items, an annotator contradicts themselves, or nobody passes the control items.
    """
    responses, normalisation = normalise(responses, rules_of(settings.normalise))
    gold = normalise_gold(gold, normalisation) if gold else None
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
    )
    majority = aggregation.majority(pool.votes, settings.min_votes)
    consensus = _table(items, pool, decided, gold)
    low = items.height - int((majority.label >= 0).sum())
    scores, bounds = _score(consensus, pool, settings) if gold else ({}, None)
    published = _published(items, pool, majority, settings, gold)
    people = _with_quality(annotators, pool, decided.fit)
    on_level, values = on_scale(
        pool.votes, pool.everyone.labels.cast(pl.String).to_list(), settings.level, settings.labels
    )
    reasons = reasons_to_reject(low, items.height, settings)
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
        scores=scores,
        bounds=bounds,
        published=published,
        figures=figures(
            pool.everyone,
            pool.votes,
            consensus=consensus,
            annotators=people,
            score=scores[settings.metric],
            settings=settings,
        )
        if scores
        else None,
        resolved_by=_ways(consensus),
        low_agreement=low,
        agreement=measure(on_level, level=settings.level, values=values),
        by=groups_by(
            settings.by,
            items=items,
            gold=gold,
            pool=pool,
            consensus=consensus,
            metric=settings.metric,
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
    """The annotators with what the model thinks of them: GLAD's `ability`, Dawid and Skene's `expected_accuracy`."""
    columns = {"glad": "ability", "dawid-skene": "expected_accuracy"}
    found = pl.DataFrame({"annotator": pool.everyone.annotators})
    for model, name in columns.items():
        quality = fit.quality if fit and fit.model == model else np.full(found.height, np.nan)
        found = found.with_columns(pl.Series(name, quality).fill_nan(None))
    return annotators.join(found, on="annotator", how="left", maintain_order="left")


def _published(
    items: pl.DataFrame, pool: PoolVotes, majority: Consensus, settings: Settings, gold: Gold | None
) -> Score | None:
    """The metric by the published procedure (majority, the rest left out), where the settings are others."""
    if gold is None or (settings.aggregator, settings.resolve) == ("majority", "none"):
        return None
    scores, _ = _score(_table(items, pool, majority, gold), pool, settings)
    return scores[settings.metric]


def _table(items: pl.DataFrame, pool: PoolVotes, decided: Consensus, gold: Gold | None) -> pl.DataFrame:
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
    fields = [name for name in items.columns if name != "item"]
    shown = {name: name if name not in _CONSENSUS_COLUMNS else f"input_{name}" for name in fields}
    return (
        items.rename(shown)
        .join(resolved, on="item", how="left", maintain_order="left")
        .join(known, on="item", how="left", maintain_order="left")
        .with_columns(pl.col("resolved_by").fill_null("unresolved"), pl.col("votes").fill_null(0))
        .with_columns((pl.col("label") == pl.col("gold")).alias("correct"))
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
        )
    )


_CONSENSUS_COLUMNS: Final = frozenset({
    "item", "id", "answers", "votes", "label", "resolved_by", "confidence", "difficulty", "gold", "correct",
    "code", "has_label",
})  # fmt: skip


def _score(
    consensus: pl.DataFrame, pool: PoolVotes, settings: Settings
) -> tuple[dict[str, Score], Bounds | None]:
    """The metric on the items that have a label and gold, and what it would be on all that have gold."""
    asked = consensus.filter(pl.col("gold").is_not_null())
    scored = asked.filter(pl.col("label").is_not_null())
    right, n = int(scored["correct"].sum()), scored.height
    per_item = dict(zip(scored["item"].to_list(), scored["correct"].cast(pl.Float64).to_list(), strict=True))
    value = right / n if n else float("nan")
    score = Score(settings.metric, value, n, wilson(right, n) if n else None, per_item)
    dropped = asked.height - n
    if not dropped:
        return {settings.metric: score}, None
    bounds = Bounds(
        n=asked.height,
        dropped=dropped,
        dropped_wrong=right / asked.height,
        plurality=(right + _plurality_share(asked, pool)) / asked.height,
    )
    return {settings.metric: score}, bounds


def _plurality_share(asked: pl.DataFrame, pool: PoolVotes) -> float:
    """How many of the dropped items most votes would get right; labels that tie share an item equally."""
    encoding, tally = pool.everyone, pool.votes.tally()
    votes = pl.DataFrame(
        {
            "item": encoding.items.cast(pl.UInt32).gather(tally.item),
            "candidate": encoding.labels.cast(pl.String).gather(tally.label),
            "count": tally.votes,
        }
    )
    dropped = asked.filter(pl.col("label").is_null()).select("item", "gold")
    first = (
        dropped.join(votes, on="item")
        .filter(pl.col("count") == pl.col("count").max().over("item"))
        .group_by("item")
        .agg((pl.col("candidate") == pl.col("gold")).mean().alias("share"))
    )
    return float(first["share"].sum())


def _overlap(items: pl.DataFrame, answered: pl.DataFrame) -> dict[int, int]:
    """How many items were answered by how many people, the largest overlap first."""
    people = answered.group_by("item").agg(pl.col("respondent").n_unique().alias("people"))
    counts = items.select("item").join(people, on="item", how="left")["people"].fill_null(0).value_counts()
    return {int(people): int(n) for people, n in sorted(counts.iter_rows(), reverse=True)}
