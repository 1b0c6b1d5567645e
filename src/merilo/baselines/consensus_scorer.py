"""Scoring of a consensus against gold: its labels become answers by item for `merilo.metrics.scoring`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.datasets.declaration import Dataset, undeclared, with_metric
from merilo.errors import UsageError, argument
from merilo.items import Item
from merilo.metrics.answers import Given
from merilo.metrics.metric import Score
from merilo.metrics.registry import NAMES, is_metric
from merilo.metrics.scoring import Part, Scores, parts, score
from merilo.metrics.worth import Worth, item_points, worth
from merilo.people.aggregation import NO_LABEL, Consensus
from merilo.people.decision import PoolVotes
from merilo.people.gold import Gold
from merilo.people.votes import Votes
from merilo.responses import Responses
from merilo.settings import Settings
from merilo.statistics import FloatArray


@dataclass(frozen=True, slots=True)
class ConsensusScorer:
    """Scores a consensus by the metrics that a dataset declares.

    Attributes:
        dataset: the declaration.
        items: the items with gold, identified by their numbers in the pool.
        codes: shape (items,), the codes of these items in the pool's votes.
        labels: the labels' texts by code, those too that nobody gave; see `PoolVotes`.
    """

    dataset: Dataset
    items: tuple[Item, ...]
    codes: NDArray[np.int64]
    labels: tuple[str, ...]

    def answers(self, consensus: Consensus) -> dict[int | str, Given]:
        """Return the consensus as answers by item; items without a label are left out."""
        label = consensus.label[self.codes]
        answer_of_label = [self._answer_of(text) for text in self.labels]
        return {
            item.id: answer_of_label[code]
            for item, code in zip(self.items, label.tolist(), strict=True)
            if code != NO_LABEL
        }

    def scores(self, consensus: Consensus) -> Scores:
        """Compute all metrics of a consensus."""
        return score(self.dataset, self.items, self.answers(consensus))

    def main_scores(self, consensus: Consensus) -> dict[str, Score]:
        """Compute the declared metrics only; metrics that cannot be computed are left out.

        Empty if no item has a label.
        """
        answers = self.answers(consensus)
        if not answers:
            return {}
        if self.dataset.answer.kind == "criteria":
            return dict(self.scores(consensus).extra)
        only = replace(self.dataset, extra=None, cluster=None)
        return dict(score(only, self.items, answers).main)

    def on(self, numbers: Collection[int]) -> ConsensusScorer:
        """Return the scorer restricted to the items with these numbers."""
        wanted = set(numbers)
        rows = [row for row, item in enumerate(self.items) if item.id in wanted]
        return replace(self, items=tuple(self.items[row] for row in rows), codes=self.codes[rows])

    def parts(self) -> tuple[list[Part], list[Part]]:
        """Return the main and the extra scores with the places of their items."""
        return parts(self.dataset, self.items)

    def share_earned(self, consensus: Consensus) -> dict[int | str, float]:
        """Return the points of the consensus on each item, from 0 to 1; empty if no metric scores single items."""
        if self.dataset.answer.kind == "criteria" or self.dataset.judged:
            return {}
        decided = self.answers(consensus)
        answered = [item for item in self.items if item.id in decided]
        earned = self.points(answered, [str(decided[item.id]) for item in answered])
        return {item.id: share for item, share in zip(answered, earned.tolist(), strict=True)}

    def points(self, items: Sequence[Item], answers: Sequence[str]) -> FloatArray:
        """Return the points of answers from 0 to 1; see `item_points`."""
        return item_points(self.dataset, items, answers)

    def pairs(self, votes: Votes, *consensus: Consensus) -> Pairs:
        """Return the distinct pairs of an item with gold and one of its answers, from votes or from a consensus."""
        place = np.full(votes.items, -1, dtype=np.int64)
        place[self.codes] = np.arange(len(self.codes))
        width = max(votes.labels, len(self.labels), 1)
        asked_cells = place[votes.item] * width + votes.label
        decided = [decision.label[self.codes].astype(np.int64) for decision in consensus]
        reached = [np.flatnonzero(label != NO_LABEL) * width + label[label != NO_LABEL] for label in decided]
        inside = place[votes.item] >= 0
        cells = np.unique(np.concatenate([asked_cells[inside], *reached]))
        pair_of_vote = np.full(len(votes), -1, dtype=np.int64)
        pair_of_vote[inside] = np.searchsorted(cells, asked_cells[inside])
        return Pairs(cells // width, cells % width, pair_of_vote, self.codes)

    def worth(self, part: Part, pairs: Pairs, weight: FloatArray) -> Worth:
        """Compute each pair's contribution to a score, linearised at the answers that the weights choose.

        Args:
            part: the score.
            pairs: items and answers.
            weight: shape (pairs,); see `merilo.metrics.worth.worth`.

        Returns:
            The worth, `answer` of shape (pairs,) and `unseen` of shape (items,); 0 outside the part.
        """
        inside = np.flatnonzero(pairs.inside(part))
        part_worth = worth(
            self.dataset,
            part,
            self.items,
            place=pairs.place[inside],
            answers=[self.labels[code] for code in pairs.label[inside].tolist()],
            weight=weight[inside],
        )
        answer = np.zeros(len(pairs))
        answer[inside] = part_worth.answer
        return replace(part_worth, answer=answer)

    def _answer_of(self, label: str) -> Given:
        """Convert a label to an answer; for several criteria, the same label is used for each."""
        form = self.dataset.answer
        return dict.fromkeys(form.criteria, label) if form.kind == "criteria" else label


@dataclass(frozen=True, slots=True)
class Pairs:
    """Distinct pairs of an item with gold and an answer.

    Attributes:
        place: shape (pairs,), the item's position among the scorer's items, ascending.
        label: shape (pairs,), the answer's code.
        pair_of_vote: shape (n,), the pair of each vote; -1 if the item has no gold.
        codes: shape (items,), the codes of the scorer's items.
    """

    place: NDArray[np.int64]
    label: NDArray[np.int64]
    pair_of_vote: NDArray[np.int64]
    codes: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.place.shape[0])

    def inside(self, part: Part) -> NDArray[np.bool_]:
        """Return a mask of the pairs that belong to a part, shape (pairs,)."""
        member = np.zeros(len(self.codes), dtype=np.bool_)
        member[list(part.rows)] = True
        return np.asarray(member[self.place])

    def votes_of(self, part: Part) -> NDArray[np.bool_]:
        """Return a mask of the votes that belong to a part, shape (n,)."""
        if not len(self):
            return np.zeros(self.pair_of_vote.shape, dtype=np.bool_)
        return np.asarray((self.pair_of_vote >= 0) & self.inside(part)[self.pair_of_vote])

    def chosen(self, consensus: Consensus) -> FloatArray:
        """Return weights of 1 for the pairs that a consensus chose and 0 for others, shape (pairs,)."""
        return np.asarray(consensus.label[self.codes[self.place]] == self.label, dtype=np.float64)


#: Kinds of answers that are labels; gold answers are brought to the spelling of the study's answers.
_LABELS: Final = frozenset({"label", "choice", "integer"})


def refuse_unknown_metric(settings: Settings) -> None:
    """Refuse the name of a metric that does not exist.

    Raises:
        UsageError: there is no metric with the name in the settings.
    """
    if settings.metric is not None and not is_metric(settings.metric):
        raise UsageError(f"there is no metric '{settings.metric}' (choose from: {', '.join(NAMES)})")


def declared(dataset: Dataset | None, settings: Settings) -> Dataset:
    """Return the dataset as the scorer uses it, with the metric of the settings first.

    Args:
        dataset: the declaration; `None` if the study has no declared dataset.
        settings: the metric and the alternatives.

    Raises:
        UsageError: there is no such metric, it does not fit the answers, or separators of alternatives are given twice.
    """
    refuse_unknown_metric(settings)
    if dataset is None:
        return undeclared(settings.metric or "acc", settings.alternatives)
    if settings.alternatives is not None:
        raise UsageError(
            f"{argument('alternatives')} cannot be given: {dataset.title} declares the separator of its gold answers"
        )
    plain = replace(dataset, cluster=None)  # the clusters are those of the study
    return plain if settings.metric is None else with_metric(plain, settings.metric)


def consensus_scorer(dataset: Dataset, pool: PoolVotes, gold: Gold | None) -> ConsensusScorer | None:
    """Return the scorer of a study's consensus; `None` without gold, or if the metrics need more than the answers."""
    if gold is None or gold.withheld or dataset.rated:
        return None
    items: Mapping[int, Item] = gold.items
    if dataset.answer.kind in _LABELS:
        texts = gold.answers.select("item", "gold").iter_rows()
        items = {number: replace(items[number], outputs=text) for number, text in texts}
    known = {code: int(number) for code, number in enumerate(pool.everyone.items) if number in items}
    return ConsensusScorer(
        dataset,
        tuple(replace(items[number], id=number) for number in known.values()),
        np.array([*known], dtype=np.int64),
        tuple(pool.labels),
    )


def without_scorer(dataset: Dataset, gold: Gold | None) -> dict[str, str]:
    """Return the metrics that cannot be computed despite gold, as a mapping from metric to reason."""
    if gold is None or gold.withheld:
        return {}
    reason = "needs three questions about each pair of sentences: see docs/rudetox.md"
    return dict.fromkeys(dataset.metrics, reason)


def question_types(responses: Responses, gold: Gold | None) -> dict[int, str]:
    """Map item numbers to question types, if the gold file or the pool has them (the exam's questions)."""
    types = {}
    if "type" in responses.fields:
        types = {
            int(number): str(kind)
            for number, kind in responses.items.select("item", "type").drop_nulls().iter_rows()
        }
    for number, item in (gold.items if gold else {}).items():
        if isinstance(kind := item.meta.get("type"), str):
            types[number] = kind
    return types
