"""Estimates of programs that people wrote: pass@k, with every program as a sample.

The answers of such a study are verdicts of the sandbox: a program passed all tests of its problem, or failed.
Programs have no consensus, because no majority of programs can be formed: each person's program counts by
itself. pass@1 of an item is the share of its programs that pass, and pass@1 of people is its mean over items:
the expected score of one program by one person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from merilo.baselines.consensus_scorer import ConsensusScorer
from merilo.baselines.estimates import Estimate, Estimates
from merilo.errors import UsageError
from merilo.metrics.pass_at_k import FAILED, PASSED, pass_at_k, pass_score
from merilo.people.decision import PoolVotes, counts_of, verdicts
from merilo.people.uncertainty.annotator_accuracy import (
    Individuals,
    components,
    drawn_answer,
    individuals,
    mean_variance,
)
from merilo.people.uncertainty.two_way import TwoWay
from merilo.people.votes import Votes
from merilo.responses import Responses
from merilo.sandbox.job import Entry
from merilo.sandbox.ledger import Ending, StoredVerdict
from merilo.statistics.arrays import FloatArray
from merilo.statistics.intervals import exact_interval
from merilo.strict_json import Json


def refuse_programs(responses: Responses, title: str) -> None:
    """Refuse answers that are not verdicts: the texts of programs must be run first.

    Raises:
        UsageError: an answer is neither `PASSED` nor `FAILED`.
    """
    if not responses.table["answer"].is_in([PASSED, FAILED]).all():
        raise UsageError(
            f"answers to {title} are programs, which must be run: 'merilo study baseline' runs "
            "those of a study in the sandbox, "
            "and 'merilo code score' a JSONL file with task_id, completion and annotator"
        )


def estimate_programs(scorer: ConsensusScorer, pool: PoolVotes, declared: tuple[str, ...]) -> Estimates:
    """Estimate pass@k of people for k from 1 to the smallest number of programs of an item.

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
    fewest = int(programs.written[programs.codes].min())
    names = [int(pool.everyone.items[int(code)]) for code in programs.codes]
    found = {f"pass@{k}": programs.estimate(k, names) for k in range(1, fewest + 1)}
    missing = {
        name: f"needs {name.removeprefix('pass@')} programs for every problem; one has {fewest}"
        for name in declared
        if name not in found
    }
    return Estimates(found, {}, missing, pool.everyone.annotators)


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

    def estimate(self, k: int, names: list[int]) -> Estimate:
        """Estimate pass@k with its uncertainty; `names` are the numbers of the items that have programs."""
        votes, codes = self.votes, self.codes
        counts = list(zip(self.written[codes].tolist(), self.passed[codes].tolist(), strict=True))
        score = pass_score(counts, k, names, None if votes.cluster is None else votes.cluster[codes].tolist())
        earned = self.right if k == 1 else self._first_order(k)
        people = individuals(votes, earned, own=self.right)
        values = np.array([pass_at_k(n, c, k) for n, c in counts])
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
            return Estimate(score, crowd, no_single="a person writes one program for a problem")
        return Estimate(score, crowd, single=people)

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


@dataclass(frozen=True, slots=True)
class Author:
    """One person.

    Attributes:
        annotator: the name in the file of completions.
        problems: how many problems they wrote a program for.
        solved: how many of these programs passed.
    """

    annotator: str
    problems: int
    solved: int

    @property
    def share(self) -> float:
        """The share of the person's problems that they solved."""
        return self.solved / self.problems

    def content(self) -> dict[str, Json]:
        """Return the person as JSON, with the Clopper-Pearson interval."""
        interval = exact_interval(self.solved, self.problems)
        return {
            "annotator": self.annotator,
            "problems": self.problems,
            "solved": self.solved,
            "share": round(self.share, 6),
            "ci95": [interval.low, interval.high],
        }


@dataclass(frozen=True, slots=True)
class Authors:
    """The people who wrote the programs of a job.

    Attributes:
        people: all people, by share from the highest to the lowest.
        single: the expected share of problems that a single person solves, with the interval over people and
            problems; the same estimate as "single person" of `merilo baseline`.
    """

    people: tuple[Author, ...]
    single: Individuals

    def content(self) -> dict[str, Json]:
        """Return the people as JSON."""
        return {
            "count": len(self.people),
            "single_person": {
                "mean": self.single.mean,
                "ci95": [self.single.interval.low, self.single.interval.high],
                "interval": self.single.interval.method,
                "spread": self.single.spread,
                "spread_ci95": [self.single.spread_interval.low, self.single.spread_interval.high],
            },
            "people": [author.content() for author in self.people],
        }


def authors(entries: Sequence[Entry], verdicts: Mapping[str, StoredVerdict]) -> Authors | None:
    """Group a job's programs by the people who wrote them.

    Args:
        entries: the generations.
        verdicts: the verdicts by the programs' keys.

    Returns:
        The people; `None` if the completions name no annotators.
    """
    named = [(entry.annotator, entry) for entry in entries if entry.annotator is not None]
    if not named:
        return None
    items: dict[str, int] = {}
    names: dict[str, int] = {}
    item = np.array([items.setdefault(entry.problem, len(items)) for _, entry in named], np.int32)
    annotator = np.array([names.setdefault(name, len(names)) for name, _ in named], np.int32)
    passed = np.array([_passed(entry, verdicts) for _, entry in named], np.int32)
    votes = Votes(item, annotator, passed, len(items), len(names), 2)
    problems = np.bincount(annotator, minlength=len(names)).tolist()
    solved = np.bincount(annotator, weights=passed, minlength=len(names)).astype(int).tolist()
    people = [Author(name, problems[code], solved[code]) for name, code in names.items()]
    people.sort(key=lambda author: (-author.share, -author.problems, author.annotator))
    return Authors(tuple(people), individuals(votes, passed.astype(np.float64)))


def _passed(entry: Entry, verdicts: Mapping[str, StoredVerdict]) -> bool:
    return entry.key is not None and verdicts[entry.key].result is Ending.PASSED
