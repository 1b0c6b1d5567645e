"""The answers of people to the items with gold and their consensus, as a dataset scores them; or the items alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.baselines.pool_items import fields_of, find_clusters
from merilo.datasets.declaration import Dataset
from merilo.errors import DataError, argument
from merilo.items import Item
from merilo.metrics.answers import Given, has_gold
from merilo.metrics.metric import Metric, Score
from merilo.metrics.registry import metric_of
from merilo.metrics.scoring import Part, Scores, parts, score
from merilo.metrics.worth import Worth, item_points, worth
from merilo.people.aggregation import NO_LABEL, Consensus
from merilo.people.decision import PoolVotes
from merilo.people.gold import Gold
from merilo.people.influence import consensus_influence, drawn_answer
from merilo.people.platforms.loading import json_text
from merilo.people.votes import IntArray, Votes
from merilo.statistics import FloatArray
from merilo.statistics.crossed import Influence
from merilo.wording import listed

if TYPE_CHECKING:
    from merilo.baselines.baseline import Baseline

#: Kinds of answers that are labels; gold answers are brought to the spelling of the study's answers.
_LABELS: Final = frozenset({"label", "choice", "integer"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """The items that have gold, and the answers to them: none in a comparison of models, or with closed gold.

    Attributes:
        declaration: the dataset as the scorer uses it.
        items: shape (items,), the items with their gold answers, identified by their numbers in the pool.
        votes: the answers that count; items are coded by their position in `items`.
        labels: the labels' texts by code, those too that nobody gave; see `PoolVotes`.
        consensus: shape (items,), the codes of the consensus labels, `NO_LABEL` for items without a consensus.
        needed: shape (items,), how many equal votes make a majority.
        codes: shape (items,), the codes of the items in the pool's votes.
        names: shape (items,), the items' ids as text, by which models' answers are matched.
        annotators: the annotators' ids by code.
        folder: the baseline's folder, with its name as given; without annotators, where the items come from.
        baseline: the baseline; `None` in a comparison of models.
    """

    declaration: Dataset
    items: tuple[Item, ...]
    votes: Votes
    labels: tuple[str, ...]
    consensus: IntArray
    needed: NDArray[np.int64]
    codes: NDArray[np.int64]
    names: tuple[str, ...] = ()
    annotators: tuple[str, ...] = ()
    folder: str = ""
    baseline: Baseline | None = None

    @property
    def sampled_from(self) -> int | None:
        """Return the number of items of the dataset that the people's items were drawn from; `None` if of none."""
        whole = self.baseline.sampled_from if self.baseline else None
        return whole if whole and len(self.items) < whole else None

    @property
    def gold(self) -> tuple[str, ...]:
        """Return the gold answers as text, shape (items,)."""
        return tuple(json_text(item.outputs) or "" for item in self.items)

    @property
    def metric(self) -> str:
        """Return the name of the baseline's main metric."""
        return self.declaration.metrics[0]

    @property
    def scored(self) -> Metric:
        """Return the main metric."""
        return metric_of(self.metric, self.declaration.answer.kind)

    @property
    def metric_name(self) -> str:
        """Return the name of the main metric in results: that of the correlation for a part of `by_criterion`."""
        group = self.declaration.extra
        return group if self.metric == "mcc" and group and "{" not in group else self.metric

    @property
    def whole(self) -> Part:
        """Return the main metric of all items."""
        return Part(self.metric, self.scored, tuple(range(len(self.items))))

    @property
    def answers(self) -> dict[int | str, Given]:
        """Return the consensus as answers by item; items without a label are left out."""
        form = self.declaration.answer
        texts = zip(self.items, self.consensus.tolist(), strict=True)
        decided = {item.id: self.labels[code] for item, code in texts if code != NO_LABEL}
        if form.kind != "criteria":
            return dict(decided)
        return {item: dict.fromkeys(form.criteria, label) for item, label in decided.items()}

    def scores(self) -> Scores:
        """Compute all metrics of the consensus."""
        return score(self.declaration, self.items, self.answers)

    def main_scores(self) -> dict[str, Score]:
        """Compute the declared metrics only; metrics that cannot be computed, as without a consensus, are left out."""
        if not (answers := self.answers):
            return {}
        if self.declaration.answer.kind == "criteria":
            return dict(self.scores().extra)
        only = replace(self.declaration, extra=None, cluster=None)
        return dict(score(only, self.items, answers).main)

    def parts(self) -> tuple[list[Part], list[Part]]:
        """Return the main and the extra scores with the places of their items."""
        return parts(self.declaration, self.items)

    def points(self, items: Sequence[Item], answers: Sequence[str]) -> FloatArray:
        """Return the points of answers from 0 to 1; see `item_points`."""
        return item_points(self.declaration, items, answers)

    def on(self, rows: Sequence[int]) -> Crowd:
        """Return the same annotators restricted to the items at these places."""
        rows = list(rows)
        return replace(
            self,
            items=tuple(self.items[row] for row in rows),
            votes=self.votes.on(rows),
            consensus=self.consensus[rows],
            needed=self.needed[rows],
            codes=self.codes[rows],
            names=tuple(self.names[row] for row in rows) if self.names else (),
        )

    def decided_as(self, consensus: Consensus) -> Crowd:
        """Return the crowd with another consensus of the pool."""
        return replace(self, consensus=consensus.label[self.codes])

    def of_part(self, part: Part) -> NDArray[np.bool_]:
        """Return which votes are on the items of a part, shape (n,)."""
        member = np.zeros(len(self.items), dtype=np.bool_)
        member[list(part.rows)] = True
        return np.asarray(member[self.votes.item])

    def distinct(self, votes: Votes) -> tuple[NDArray[np.int64], list[str], NDArray[np.int64]]:
        """Return the distinct answers among votes, as the items' places and texts, and which one each vote is."""
        width = max(votes.labels, 1)
        cells = votes.item.astype(np.int64) * width + votes.label
        distinct, of_vote = np.unique(cells, return_inverse=True)
        place, label = np.divmod(distinct, width)
        return place, [self.labels[code] for code in label.tolist()], of_vote

    def worth(
        self, part: Part, place: NDArray[np.int64], answers: Sequence[str], weight: FloatArray
    ) -> Worth:
        """Return what answers contribute to a score: the items' places, the answers and their weights, shape (n,)."""
        return worth(self.declaration, part, self.items, place=place, answers=answers, weight=weight)

    def by_consensus(
        self,
        part: Part,
        min_votes: int | NDArray[np.int64],
        share: FloatArray | None = None,
        *,
        blank: bool = False,
    ) -> ByConsensus:
        """Compute what the consensus and every answer contribute to a score.

        Args:
            part: the score.
            min_votes: how many votes a consensus needs, one number or shape (items,); 0 if most votes decide.
            share: shape (items,), the weight of each item; equal by default.
            blank: whether an item without consensus counts as a blank answer; otherwise it is left out.
        """
        votes, rows = self.votes.where(self.of_part(part)), np.array(part.rows, dtype=np.int64)
        rows = rows if blank else rows[self.consensus[rows] != NO_LABEL]
        place, texts, of_vote = self.distinct(votes)
        labels = [self.labels[code] if code != NO_LABEL else "" for code in self.consensus[rows].tolist()]
        weight = np.concatenate([np.zeros(len(place)), np.ones(len(rows)) if share is None else share[rows]])
        contributed = self.worth(part, np.concatenate([place, rows]), [*texts, *labels], weight)
        again = consensus_influence(
            votes, contributed.answer[of_vote], contributed.unseen, min_votes=min_votes, share=share
        )
        scores = contributed.answer[len(place) :]
        return ByConsensus(votes, contributed.value, contributed.alike, scores, again and again[1])

    def by_person(self, part: Part, inside: NDArray[np.bool_]) -> tuple[Votes, FloatArray]:
        """Return votes and their contributions to a score, shape (n,), if one answer is drawn for every item.

        Args:
            part: the score.
            inside: shape (n,), the votes.
        """
        votes = self.votes.where(inside)
        place, texts, of_vote = self.distinct(votes)
        drawn = np.bincount(of_vote, drawn_answer(votes) * len(np.unique(votes.item)), len(place))
        return votes, self.worth(part, place, texts, drawn.astype(np.float64)).answer[of_vote]


class ByConsensus(NamedTuple):
    """What the consensus and every answer contribute to a score.

    Attributes:
        votes: the answers to the items of the score.
        value: the score.
        alike: as in `Worth`.
        scores: the contribution of each item's consensus.
        influence: the influence of each answer; `None` if no item has a consensus.
    """

    votes: Votes
    value: float
    alike: float
    scores: FloatArray
    influence: Influence | None


def scored_crowd(
    dataset: Dataset,
    pool: PoolVotes,
    gold: Gold | None,
    consensus: Consensus,
    needed: NDArray[np.int64] | int,
) -> Crowd | None:
    """Return the answers of a pool that are scored; `None` without gold, or if the metrics need more than the answers.

    Args:
        dataset: the dataset as the scorer uses it.
        pool: the votes.
        gold: the gold answers.
        consensus: the consensus of the pool.
        needed: how many equal votes make a majority, one number or one for each item of the pool.
    """
    if gold is None or gold.withheld or dataset.rated:
        return None
    items = dict(gold.items)
    if dataset.answer.kind in _LABELS:
        texts = gold.answers.select("item", "gold").iter_rows()
        items = {number: replace(items[number], outputs=text) for number, text in texts}
    known = {code: int(number) for code, number in enumerate(pool.everyone.items) if number in items}
    codes = np.array([*known], dtype=np.int64)
    return Crowd(
        declaration=dataset,
        items=tuple(replace(items[number], id=number) for number in known.values()),
        votes=pool.votes.on(codes),
        labels=tuple(pool.labels),
        consensus=consensus.label[codes],
        needed=np.broadcast_to(needed, pool.everyone.votes.items)[codes],
        codes=codes,
    )


def crowd_of(baseline: Baseline, folder: str = "this baseline") -> Crowd:
    """Return the annotators of a baseline, with the ids of the items.

    Args:
        baseline: the baseline.
        folder: where it is.

    Raises:
        DataError: no item has a gold answer, or no answer to an item with gold counts.
    """
    evidence = baseline.evidence
    if evidence.declaration.answer.kind == "verdict":
        raise DataError(
            "the answers of people were scored elsewhere: the right answers are not known, so no model can be scored",
            file=folder,
        )
    place = {int(item.id): at for at, item in enumerate(evidence.crowd.items if evidence.crowd else ())}
    known = _named(evidence.consensus.filter(pl.col("gold").is_not_null()), folder)
    known = known.filter(pl.col("item").is_in(list(place)))
    if not known.height or evidence.crowd is None:
        raise DataError(
            f"no item of this baseline has a gold answer: add {argument('data', 'FILE')}", file=folder
        )
    crowd = evidence.crowd.on([place[number] for number in known["item"]])
    if not len(crowd.votes):
        raise DataError("no counted answer is to an item with a gold answer", file=folder)
    annotators = tuple(evidence.pool.everyone.annotators.cast(pl.String))
    return replace(crowd, names=tuple(known["name"]), annotators=annotators, folder=folder, baseline=baseline)


def items_without_people(items: Sequence[Item], declaration: Dataset, source: str) -> Crowd:
    """Return the items of a dataset that have gold answers, without annotators, for a comparison of models alone.

    Args:
        items: the items.
        declaration: the dataset.
        source: where the items come from, for messages.

    Raises:
        DataError: no item has a gold answer, or all items belong to one cluster.
    """
    known = tuple(item for item in items if has_gold(item))
    if not known:
        raise DataError(f"no item has a gold answer: add {argument('data', 'FILE')}", file=source)
    numbers = range(len(known))
    fields = fields_of(dict(enumerate(known)))
    clusters = find_clusters(None, declaration.cluster, numbers, [fields])
    none = np.empty(0, dtype=np.int32)
    return Crowd(
        declaration=declaration,
        items=known,
        votes=Votes(none, none, none, len(known), 0, 0, clusters.codes(numbers) if clusters else None),
        labels=(),
        consensus=np.full(len(known), NO_LABEL, dtype=np.int32),
        needed=np.zeros(len(known), dtype=np.int64),
        codes=np.arange(len(known)),
        names=tuple(str(item.id) for item in known),
        folder=source,
    )


def _named(known: pl.DataFrame, folder: str) -> pl.DataFrame:
    """Add the items' ids as `name`, or their numbers if the gold answers have no ids."""
    number = pl.col("item").cast(pl.String)
    ids = known["id"].null_count() < known.height
    name = pl.col("id").cast(pl.String).fill_null("item " + number) if ids else number
    named = known.with_columns(name.alias("name"))
    if twice := [name for name, n in Counter(named["name"]).items() if n > 1]:
        raise DataError(
            f"{len(twice)} ids belong to several items each ({listed(twice, 5)}): model answers "
            "cannot be matched to items",
            file=folder,
        )
    return named
