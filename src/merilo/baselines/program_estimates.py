"""Estimates of programs that people wrote: pass@k, with every program as a sample.

The answers of such a study are verdicts of the sandbox: a program passed all tests of its problem, or failed.
Programs have no consensus, because no majority of programs can be formed: each person's program counts by
itself. pass@1 of an item is the share of its programs that pass, and pass@1 of people is its mean over items:
the expected score of one program by one person.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.baselines.consensus_scorer import ConsensusScorer
from merilo.baselines.estimates import Estimates, MetricEstimate
from merilo.errors import UsageError
from merilo.items import Item
from merilo.metrics.pass_at_k import FAILED, PASSED, pass_at_k
from merilo.metrics.scoring import mean_score
from merilo.people.decision import PoolVotes
from merilo.people.gold import Gold
from merilo.people.uncertainty.annotator_accuracy import components, drawn_answer, individuals, mean_variance
from merilo.people.uncertainty.two_way import TwoWay
from merilo.people.verdicts import counts_of, verdicts
from merilo.people.votes import Votes
from merilo.responses import Responses
from merilo.statistics import FloatArray


def refuse_programs(responses: Responses, title: str) -> None:
    """Refuse answers that are not verdicts: the texts of programs must be run first.

    Raises:
        UsageError: an answer is neither `PASSED` nor `FAILED`.
    """
    if not responses.table["answer"].is_in([PASSED, FAILED]).all():
        raise UsageError(
            f"answers to {title} are programs, which must be run: 'merilo study baseline' runs those of a study in the "
            "sandbox, and 'merilo code score' a JSONL file with task_id, completion and annotator"
        )


def verdict_gold(responses: Responses) -> Gold:
    """Return the gold answers of a study whose answers were scored elsewhere: a right answer is `PASSED`."""
    numbers = responses.table.filter(~pl.col("is_control"))["item"].unique().sort()
    items = responses.items.join(numbers.to_frame(), on="item", how="semi", maintain_order="left")
    only = responses.fields[0] if len(responses.fields) == 1 else None
    ids = items[only] if only else pl.Series([None] * items.height, dtype=pl.String)
    answers = pl.DataFrame({"item": items["item"], "gold": [PASSED] * items.height, "id": ids})
    found = {
        int(row["item"]): Item(row["item"], "", {name: row[name] or "" for name in responses.fields}, PASSED)
        for row in items.iter_rows(named=True)
    }
    return Gold(answers, "scores in the files", items=found)


def estimate_programs(scorer: ConsensusScorer, pool: PoolVotes, declared: tuple[str, ...]) -> Estimates:
    """MetricEstimate pass@k of people for k from 1 to the smallest number of programs of an item.

    The interval is over items and annotators: the variance components of the answers' scores. For k above 1
    an answer's score is the item's pass@k plus its first-order effect (the change of pass@k if this program
    failed instead of passing, or the reverse).

    Args:
        scorer: has the items with gold.
        pool: the verdicts.
        declared: the metrics that the dataset declares; those with a larger k are missing, with the reason.

    References:
        W. Hoeffding (1948), A class of statistics with asymptotically normal distribution. Annals of
        Mathematical Statistics 19.
    """
    asked = np.isin(pool.votes.item, scorer.codes)
    votes, right = pool.votes.where(asked), verdicts(pool)[asked]
    programs = _Programs(votes, right, *counts_of(votes, right))
    if not len(votes):
        return Estimates(missing=dict.fromkeys(declared, "no program counts"))
    if scorer.dataset.answer.kind == "verdict":
        names = [int(pool.everyone.items[int(code)]) for code in programs.codes]
        found = programs.estimate(1, names)
        return Estimates(
            {"acc": replace(found, score=replace(found.score, name="acc"))}, {}, {}, pool.everyone.annotators
        )
    fewest = int(programs.written[programs.codes].min())
    names = [int(pool.everyone.items[int(code)]) for code in programs.codes]
    estimates = {f"pass@{k}": programs.estimate(k, names) for k in range(1, fewest + 1)}
    missing = {
        name: f"needs {name.removeprefix('pass@')} programs for every problem; one has {fewest}"
        for name in declared
        if name not in estimates
    }
    return Estimates(estimates, {}, missing, pool.everyone.annotators)


@dataclass(frozen=True, slots=True)
class _Programs:
    """Verdicts on programs, and the number of programs and of passed ones by the code of the item."""

    votes: Votes
    right: FloatArray
    written: NDArray[np.int64]
    passed: NDArray[np.int64]

    @property
    def codes(self) -> NDArray[np.int64]:
        """The codes of the items that have programs."""
        return np.flatnonzero(self.written)

    def estimate(self, k: int, names: list[int]) -> MetricEstimate:
        """MetricEstimate pass@k with its uncertainty; `names` are the numbers of the items that have programs."""
        votes, codes = self.votes, self.codes
        counts = zip(self.written[codes].tolist(), self.passed[codes].tolist(), strict=True)
        values = np.array([pass_at_k(n, c, k) for n, c in counts])
        clusters = None if votes.cluster is None else votes.cluster[codes].tolist()
        score = mean_score(f"pass@{k}", values, names, clusters)
        earned = self.right if k == 1 else self._first_order(k)
        people = individuals(votes, earned, own=self.right)
        by_items = float(values.var(ddof=1)) / codes.size if codes.size > 1 else 0.0
        variance, freedom = mean_variance(votes, drawn_answer(votes), components(votes, earned))
        crowd = TwoWay(
            value=score.value,
            n=codes.size,
            annotators=people.annotators,
            interval=people.interval,
            item_error=sqrt(by_items),
            annotator_error=sqrt(max(variance - by_items, 0.0)),
            design_effect=max(variance / by_items, 1.0) if by_items > 0 else 1.0,
            freedom=freedom,
            resamples=0,
            seed=0,
        )
        if k > 1:
            return MetricEstimate(score, crowd, no_single="a person writes one program for a problem")
        return MetricEstimate(score, crowd, single=people)

    def _first_order(self, k: int) -> FloatArray:
        """Return a score for each answer whose mean over an item's answers is the item's pass@k, shape (n,)."""
        items = self.votes.item
        values, effects = np.zeros(len(items)), np.zeros(len(items))
        for row, (item, own) in enumerate(zip(items.tolist(), self.right.tolist(), strict=True)):
            n, c = int(self.written[item]), int(self.passed[item])
            others = c - int(own)
            values[row] = pass_at_k(n, c, k)
            effects[row] = n * (pass_at_k(n, others + 1, k) - pass_at_k(n, others, k)) * (own - c / n)
        sums = np.bincount(items, weights=effects, minlength=self.votes.items)
        return np.asarray(values + effects - (sums / np.maximum(self.written, 1))[items])
