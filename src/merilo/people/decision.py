"""Consensus of a pool: which answers count, which aggregator is used, and how unresolved items are treated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.metrics.pass_at_k import PASSED
from merilo.metrics.squad import token_f1
from merilo.people import aggregation
from merilo.people.aggregation import NO_LABEL, Consensus, Fit, MinVotes, Resolution, is_open
from merilo.people.agreement import places_on_scale
from merilo.people.votes import Encoding, Votes, encode
from merilo.responses import Responses
from merilo.settings import Aggregator, Resolve, Settings
from merilo.statistics import FloatArray
from merilo.statistics.intervals import exact_interval

#: If at least this share of items has the same overlap, the pool counts as having one overlap.
_EVEN: Final = 0.95


@dataclass(frozen=True, slots=True)
class PoolVotes:
    """All answers of a pool, with the annotators' skill.

    Attributes:
        everyone: all answers, including answers to control items and by excluded annotators.
        tests: shape (n,), true for answers to test items, including those by excluded annotators.
        counted: shape (n,), true for the answers that count: answers to test items by annotators who were not excluded.
        kept: shape (n,), true for answers by annotators who were not excluded, including those to control items.
        skill: shape (annotators,), the platform's skill if it gave any, else the accuracy on control items;
            NaN if unknown.
        in_order: code of an item whose answers are lists of numbers -> whether their order matters; empty if only
            whole answers are voted on.
        composed: answers that nobody gave and that a majority of each part may give; their codes follow those of
            `everyone.labels`.
    """

    everyone: Encoding
    tests: NDArray[np.bool_]
    counted: NDArray[np.bool_]
    kept: NDArray[np.bool_]
    skill: NDArray[np.float64]
    in_order: Mapping[int, bool] = field(default_factory=dict)
    composed: tuple[str, ...] = ()

    def where(self, mask: NDArray[np.bool_]) -> PoolVotes:
        """Return the pool with some of its answers; `mask` has shape (n,)."""
        return replace(
            self,
            everyone=replace(self.everyone, votes=self.everyone.votes.where(mask)),
            tests=self.tests[mask],
            counted=self.counted[mask],
            kept=self.kept[mask],
        )

    @property
    def labels(self) -> list[str]:
        """The texts of all labels by code, those of `composed` too."""
        return [*self.everyone.labels.cast(pl.String).to_list(), *self.composed]

    @property
    def votes(self) -> Votes:
        """The votes that count."""
        return self.everyone.votes.where(self.counted)

    def scale(self, settings: Settings) -> FloatArray | None:
        """Return the labels' places on an ordered scale, shape (labels,).

        `None` if labels are names, or are neither numbers nor all in the dataset's order of labels.
        """
        names = self.everyone.labels.cast(pl.String).to_list()
        return None if settings.level == "nominal" else places_on_scale(names, settings.labels)

    def needed(self, min_votes: int | Literal["majority"]) -> MinVotes:
        """Compute how many equal votes make a majority for each item.

        Args:
            min_votes: the number for every item, or "majority". If at least 95 % of the items had the same overlap
                before exclusion, "majority" means more than half of this overlap, also for an item that lost answers.
                Otherwise it means more than half of the item's own answers. It is at least 2.
        """
        if min_votes != "majority":
            return min_votes
        items = self.everyone.votes.items
        before = np.bincount(self.everyone.votes.item[self.tests], minlength=items)
        left = np.bincount(self.everyone.votes.item[self.counted], minlength=items)
        return votes_needed(before, left)


def votes_needed(before: NDArray[np.int64], left: NDArray[np.int64]) -> NDArray[np.int64]:
    """Compute how many equal votes make a majority: more than half.

    Args:
        before: shape (items,), the number of answers to an item; 0 for items outside the study.
        left: shape (items,), the number of these answers that count.

    Returns:
        Shape (items,), at least 2: an item with one answer has no majority.

    Example:
        >>> votes_needed(np.array([5, 5, 5]), np.array([5, 4, 3])).tolist()
        [3, 3, 3]
        >>> votes_needed(np.array([1, 3, 9]), np.array([1, 3, 8])).tolist()
        [2, 2, 5]
    """
    asked = before[before > 0]
    overlap = int(np.bincount(asked).argmax()) if asked.size else 0
    even = asked.size > 0 and float((asked == overlap).mean()) >= _EVEN
    own = np.where(even & (left <= overlap), overlap, left)
    return np.asarray(np.maximum(own // 2 + 1, 2), dtype=np.int64)


def pool_votes(responses: Responses, annotators: pl.DataFrame) -> PoolVotes:
    """Encode the answers of a pool for aggregation.

    Args:
        responses: the responses, including those to control items.
        annotators: one row for each annotator with `excluded`, `skill` and `control_accuracy`; see `judged_annotators`.
    """
    given = pl.all_horizontal(pl.col("item", "respondent", "answer").is_not_null())
    table = responses.table.filter(given)
    known = table["control"].drop_nulls().unique().to_list()
    everyone = encode(table["item"], table["respondent"], table["answer"], known_labels=known)
    people = everyone.annotators.to_frame("annotator").join(
        annotators, on="annotator", how="left", maintain_order="left"
    )
    stays = ~people["excluded"].fill_null(value=False).to_numpy()
    kept = stays[everyone.votes.annotator]
    column = "skill" if people["skill"].is_not_null().any() else "control_accuracy"
    tests = ~table["is_control"].to_numpy()
    return PoolVotes(
        everyone=everyone,
        tests=tests,
        counted=kept & tests,
        kept=kept,
        skill=people[column].cast(pl.Float64).fill_null(float("nan")).to_numpy(),
    )


def decide_by(settings: Settings, pool: PoolVotes, *, free_text: bool, fit: Fit | None = None) -> Consensus:
    """Compute the consensus on the items of a pool by the settings of a baseline; see `decide`."""
    return decide(
        pool,
        aggregator=settings.aggregator,
        resolve=settings.resolve,
        min_votes=settings.min_votes,
        open_answers=settings.open_answers,
        free_text=free_text,
        scale=pool.scale(settings),
        fit=fit,
    )


def decide(
    pool: PoolVotes,
    *,
    aggregator: Aggregator = "majority",
    resolve: Resolve = "cascade",
    min_votes: int | Literal["majority"] = 3,
    open_answers: bool | None = None,
    free_text: bool = False,
    scale: FloatArray | None = None,
    fit: Fit | None = None,
) -> Consensus:
    """Compute the consensus on the items of a pool.

    A model used as the aggregator is fitted to the answers of all annotators who were not excluded, including
    their answers to control items. GLAD used to resolve ties, in the cascade or alone, is fitted to all
    answers, including those of excluded annotators: they have no vote, but their answers are informative
    about the difficulty of items.

    Args:
        pool: the votes.
        aggregator: majority, or the most probable labels under a model.
        resolve: how items that the aggregator leaves unresolved are treated: not at all; by plurality and
            then skill; by plurality and then GLAD's abilities; or by all of these in turn.
        min_votes: how many equal votes make a majority; see `PoolVotes.needed`.
        open_answers: whether the answers are typed freely; if None, inferred from the number of labels in the pool (see
            `aggregation.is_open`).
        free_text: whether answers are free texts: a tie of votes is then broken by the answer with the
            largest token F1 to the item's answers, before skill and abilities are used. Not with `resolve="none"`.
        scale: shape (labels,), the places of labels on an ordered scale, for `auto`; `None` if labels are names.
        fit: GLAD's fit to all answers, by which ties are resolved; by default, it is computed.

    Returns:
        The consensus, in the codes of `pool.everyone`. Items used only as control items are not part of
        a baseline.

    Raises:
        UsageError: the aggregator is Dawid-Skene and the answers are open.
    """
    opened = is_open(pool.everyone.votes, open_answers)

    def by_votes() -> Consensus:
        needed = pool.needed(min_votes)
        decided = _by_votes(pool, resolve, needed, opened=opened, fit=fit)
        return decided if resolve == "none" else by_content(decided, pool, needed, free_text=free_text)

    if aggregator == "majority":
        return by_votes()
    model = partial(aggregation.auto, scale=scale) if aggregator == "auto" else _MODELS[aggregator]
    decided = model(pool.everyone.votes.where(pool.kept), open_answers=opened)
    left = decided.label == NO_LABEL
    if resolve == "none" or not left[pool.votes.item].any():
        return decided
    breaking = by_votes()
    return replace(
        decided,
        label=np.where(left, breaking.label, decided.label),
        how=np.where(left, breaking.how, decided.how),
        confidence=np.where(left, breaking.confidence, decided.confidence),
    )


class _Model(Protocol):
    """The interface of the models of annotators."""

    def __call__(self, votes: Votes, *, open_answers: bool | None) -> Consensus: ...


_MODELS: Final[Mapping[Aggregator, _Model]] = {
    "dawid-skene": aggregation.dawid_skene,
    "glad": aggregation.glad,
}


def by_content(decided: Consensus, pool: PoolVotes, min_votes: MinVotes, *, free_text: bool) -> Consensus:
    """Decide items without a majority by what their answers say, where this is possible.

    Ties between free texts go to the answer with the largest token F1 to the others. Lists of numbers are decided
    number by number, if each of them has a majority.
    """
    if free_text:
        texts = pool.everyone.labels.cast(pl.String).to_list()
        decided = aggregation.break_ties_by_medoid(decided, pool.votes, texts, token_f1)
    if not pool.in_order:
        return decided
    open_items = ~np.isin(decided.how, (Resolution.UNANIMOUS, Resolution.MAJORITY))
    codes = {text: code for code, text in enumerate(pool.labels)}
    label, how, confidence = decided.label.copy(), decided.how.copy(), decided.confidence.copy()
    for item, (answer, share) in _majorities_of_parts(pool, open_items, min_votes).items():
        if answer in codes:
            label[item], how[item], confidence[item] = codes[answer], Resolution.PARTS, share
    return replace(decided, label=label, how=how, confidence=confidence)


def with_parts(
    pool: PoolVotes, in_order: Mapping[int, bool], min_votes: int | Literal["majority"]
) -> PoolVotes:
    """Let the numbers of lists be voted on one by one.

    Args:
        pool: the votes.
        in_order: number of an item -> whether its answers are sequences; otherwise sets.
        min_votes: how many equal votes make a majority; see `PoolVotes.needed`.
    """
    numbers = map(int, pool.everyone.items)
    codes = {code: in_order[number] for code, number in enumerate(numbers) if number in in_order}
    pool = replace(pool, in_order=codes)
    every = np.ones(pool.everyone.votes.items, dtype=np.bool_)
    known = {*pool.labels}
    composed = {
        answer
        # With the answers of excluded annotators too, for the table of other thresholds.
        for one in (pool, replace(pool, counted=pool.tests))
        for answer, _ in _majorities_of_parts(one, every, one.needed(min_votes)).values()
        if answer not in known
    }
    return replace(pool, composed=tuple(sorted(composed)))


def _majorities_of_parts(
    pool: PoolVotes, open_items: NDArray[np.bool_], min_votes: MinVotes
) -> dict[int, tuple[str, float]]:
    """Return the answer that majorities of its parts give, with their smallest share of the votes, by item."""
    listed = np.zeros(pool.everyone.votes.items, dtype=np.bool_)
    listed[[*pool.in_order]] = True
    votes = pool.votes.where((listed & open_items)[pool.votes.item])
    if not len(votes):
        return {}
    needed = np.broadcast_to(min_votes, votes.items)
    texts, answers = pool.everyone.labels.cast(pl.String), defaultdict[int, dict[str, int]](dict)
    for item, label, n in zip(*(column.tolist() for column in votes.tally()), strict=True):
        answers[item][texts[label]] = n
    found = {
        item: aggregation.majority_of_parts(given, int(needed[item]), ordered=pool.in_order[item])
        for item, given in answers.items()
    }
    return {item: one for item, one in found.items() if one is not None}


def _by_votes(
    pool: PoolVotes,
    resolve: Resolve,
    min_votes: MinVotes,
    *,
    opened: bool,
    fit: Fit | None,
) -> Consensus:
    """Compute the consensus by counting votes and the given resolution of ties."""
    votes = pool.votes
    skill = None if np.isnan(pool.skill).all() else pool.skill
    if resolve == "none":
        return aggregation.majority(votes, min_votes)
    if resolve == "skill":
        return aggregation.resolve_by_skill(votes, pool.skill, min_votes)
    return aggregation.cascade(
        votes,
        everyone=pool.everyone.votes,
        skill=skill if resolve == "cascade" else None,
        open_answers=opened,
        min_votes=min_votes,
        fit=fit,
    )


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
    """Add each annotator's counted programs to a table.

    `programs`, `passed` and `pass@1` with its Clopper-Pearson interval.
    """
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
