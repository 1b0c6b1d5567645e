"""Estimates of programs that people wrote: pass@k, with every program as a sample.

The answers of such a study are verdicts of the sandbox: a program passed all tests of its problem, or failed.
Programs have no consensus, because no majority of programs can be formed: each person's program counts by
itself. pass@1 of an item is the share of its programs that pass, and pass@1 of people is its mean over items:
the expected score of one program by one person.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.baselines.consensus_scorer import ConsensusScorer
from merilo.baselines.estimates import Estimates
from merilo.errors import UsageError
from merilo.estimate import Estimate
from merilo.items import Item
from merilo.metrics.pass_at_k import FAILED, PASSED, pass_at_k
from merilo.people.decision import PoolVotes, counts_of, verdicts
from merilo.people.gold import Gold
from merilo.people.influence import by_cluster, person_influence
from merilo.people.votes import Votes
from merilo.responses import Responses
from merilo.statistics import FloatArray
from merilo.statistics.crossed import crossed


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
    items = responses.test_items
    only = responses.fields[0] if len(responses.fields) == 1 else None
    ids = items[only] if only else pl.Series([None] * items.height, dtype=pl.String)
    answers = pl.DataFrame({"item": items["item"], "gold": [PASSED] * items.height, "id": ids})
    items_of = {
        int(row["item"]): Item(row["item"], "", {name: row[name] or "" for name in responses.fields}, PASSED)
        for row in items.iter_rows(named=True)
    }
    return Gold(answers, "scores in the files", items=items_of)


def estimate_programs(scorer: ConsensusScorer, pool: PoolVotes, declared: tuple[str, ...]) -> Estimates:
    """Estimate pass@k of people for k from 1 to the smallest number of programs of an item.

    Every program counts as a single answer (`person_influence`). For k above 1 an answer's score is the item's pass@k
    plus its first-order effect (the change of pass@k if this program failed instead of passing, or the reverse).

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
    if not len(votes):
        return Estimates(missing=dict.fromkeys(declared, "no program counts"))
    written, passed = counts_of(votes, right)
    fewest = int(written[written > 0].min())
    scored = scorer.dataset.answer.kind == "verdict"
    scores = {
        ("acc" if scored else f"pass@{k}"): right
        if k == 1
        else _first_order(votes, right, written, passed, k)
        for k in range(1, (1 if scored else fewest) + 1)
    }
    estimates = {name: _estimate(name, votes, score) for name, score in scores.items()}
    missing = {
        name: f"needs {name.removeprefix('pass@')} programs for every problem; one has {fewest}"
        for name in declared
        if name not in estimates and not scored
    }
    return Estimates(estimates, single_person=next(iter(estimates.values())), missing=missing)


def _estimate(name: str, votes: Votes, score: FloatArray) -> Estimate:
    value, influence = person_influence(votes, score)
    return crossed(value, by_cluster(influence, votes)).estimate(name, len(influence.items))


def _first_order(
    votes: Votes, right: FloatArray, written: NDArray[np.int64], passed: NDArray[np.int64], k: int
) -> FloatArray:
    """Return a score for each answer whose mean over an item's answers is the item's pass@k, shape (n,)."""
    values, effects = np.zeros((2, len(votes)))
    for row, (item, own) in enumerate(zip(votes.item.tolist(), right.tolist(), strict=True)):
        n, c = int(written[item]), int(passed[item])
        others = c - int(own)
        values[row] = pass_at_k(n, c, k)
        effects[row] = n * (pass_at_k(n, others + 1, k) - pass_at_k(n, others, k)) * (own - c / n)
    sums = np.bincount(votes.item, weights=effects, minlength=votes.items)
    return np.asarray(values + effects - (sums / np.maximum(written, 1))[votes.item])
