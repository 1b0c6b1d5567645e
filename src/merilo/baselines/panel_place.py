"""Where a model stands beside the curve of a panel: like one person, or like a majority of how many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from merilo.people.uncertainty.annotator_accuracy import answer_difference
from merilo.people.uncertainty.panel_curve import ENOUGH_ITEMS, MOST_PEOPLE, group_influence
from merilo.people.uncertainty.two_way import LEAST_ANNOTATORS, shared_part
from merilo.people.votes import Votes
from merilo.statistics import FloatArray
from merilo.statistics.crossed_difference import CrossedDifference, crossed_difference
from merilo.text import Text

#: The level at which a size of the majority is rejected.
LEVEL: Final = 0.05


@dataclass(frozen=True, slots=True)
class PanelPlace:
    """A model beside majorities of k people on the same items.

    Attributes:
        sizes: the odd numbers of people, from 1 to the overlap; with an even number, ties share the item.
        differences: the difference of each, model minus people, over items and annotators.
    """

    sizes: tuple[int, ...]
    differences: tuple[CrossedDifference, ...]

    @property
    def like(self) -> tuple[int, ...]:
        """Return the sizes of which the model does not differ at the level of 5 %: a 95 % confidence set."""
        return tuple(size for size, one in zip(self.sizes, self.differences, strict=True) if one.p >= LEVEL)

    @property
    def nearest(self) -> int | None:
        """Return the size in `like` with the smallest difference; `None` if the model differs from all."""
        found = [
            (abs(one.value), size)
            for size, one in zip(self.sizes, self.differences, strict=True)
            if one.p >= LEVEL
        ]
        return min(found)[1] if found else None

    def mark(self) -> Text:
        """Return the place in a few words, for a table."""
        nearest, like = self.nearest, self.like
        if nearest is None:
            below = self.differences[0].value < 0
            size = self.sizes[0 if below else -1]
            return Text(
                "{side:below=below|above=above} {who}", side="below" if below else "above", who=_who(size)
            )
        if len(like) == 1:
            return Text("like {who}", who=_who(nearest))
        return Text("like {who} (k {low}–{high})", who=_who(nearest), low=like[0], high=like[-1])

    def sentence(self, model: str) -> Text:
        """Return the place in one sentence."""
        nearest, like = self.nearest, self.like
        if nearest is None or len(like) == 1:
            return Text("Beside the panel of people, {model} scores {mark}.", model=model, mark=self.mark())
        return Text(
            "Beside the panel of people, {model} scores like {who}; majorities of {low} to {high} cannot be told from "
            "it (95 %).",
            model=model,
            who=_who(nearest),
            low=like[0],
            high=like[-1],
        )


def _who(size: int) -> Text:
    return Text("one person", context="panel") if size == 1 else Text("a majority of {k}", k=size)


def panel_place(votes: Votes, score: FloatArray, model: FloatArray) -> PanelPlace | None:
    """Compare a model with majorities of 1, 3, 5 ... of the people of each item.

    Args:
        votes: the answers.
        score: shape (n,), the points of each answer, 0 to 1.
        model: shape (items,), the points of the model.

    Returns:
        The place; `None` with fewer than three annotators or two answers to most items.

    Raises:
        DataError: all items belong to one cluster.
    """
    answers = np.bincount(votes.item, minlength=votes.items)
    asked = answers[answers > 0]
    if np.unique(votes.annotator).shape[0] < LEAST_ANNOTATORS or (asked >= 2).mean() < ENOUGH_ITEMS:
        return None
    found = [(1, answer_difference(votes, score, model)), *_majorities(votes, score, model, answers)]
    sizes, differences = zip(*found, strict=True)
    return PanelPlace(sizes, differences)


def _majorities(
    votes: Votes, score: FloatArray, model: FloatArray, answers: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> Iterator[tuple[int, CrossedDifference]]:
    asked = answers[answers > 0]
    for k in range(3, MOST_PEOPLE + 1, 2):
        if (asked >= k).mean() < ENOUGH_ITEMS:
            return
        inside = (answers >= k)[votes.item]
        group = votes.where(inside)
        people = group_influence(group, score[inside], k)
        # The difference is the model's points minus theirs, so the influence of an answer has the other sign.
        apart = replace(people, answer=-people.answer, guess=-people.guess)
        items = np.flatnonzero(answers >= k)
        clusters = None if votes.cluster is None else votes.cluster[items]
        shared = shared_part(group, apart)
        yield k, crossed_difference(people.item + people.value, model[items], shared, clusters=clusters)
