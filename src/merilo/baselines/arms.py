"""Groups of people as arms of one study, such as people without training and experts: a baseline each, and differences.

An expert's answers to items that they may have written are no votes, so that an item has N - k of them; otherwise an
arm is computed as any baseline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import polars as pl

from merilo.baselines.evidence import Evidence
from merilo.baselines.people_table import counted_points
from merilo.errors import DataError
from merilo.estimate import Estimate
from merilo.people.uncertainty.two_way import (
    LEAST_ANNOTATORS,
    Ballots,
    ItemInfluences,
    answer_influences,
    as_many_each,
    groups_apart,
    influences,
)
from merilo.people.votes import IntArray, Votes
from merilo.records import Span
from merilo.responses import Responses
from merilo.statistics import FloatArray
from merilo.text import Text
from merilo.wording import listed

#: With more arms, the column rather names people.
MOST_ARMS: Final = 12
#: The names of arms in a study's plan; the value of experts is published apart from that of people.
PEOPLE: Final = "people"
EXPERTS: Final = "experts"
#: In place of a column: every file is an arm.
FILES: Final = "files"

AnyResponses = TypeVar("AnyResponses", bound=Responses)


def arms_of(responses: Responses, by: str | Mapping[str, str]) -> dict[str, str]:
    """Return the arm of each annotator.

    Args:
        responses: the responses, read with the column of arms if `by` names it.
        by: `FILES`, the column that the responses were read with, or a mapping from annotator to arm.

    Raises:
        DataError: an annotator has no arm or several, or there are not 2 to `MOST_ARMS` arms.
    """
    people = responses.table["respondent"].unique(maintain_order=True).to_list()
    found: dict[str, str] = {}
    if by == FILES:
        for who, file in responses.table.select("respondent", "file").unique(maintain_order=True).iter_rows():
            arm = Path(str(file)).stem
            if found.setdefault(who, arm) != arm:
                raise DataError(f"annotator {who} is in two arms: '{found[who]}' and '{arm}'")
    else:
        given = by if isinstance(by, Mapping) else responses.arms or {}
        found = {who: given[who] for who in people if given.get(who)}
    if without := [who for who in people if who not in found]:
        raise DataError(
            f"{len(without)} of {len(people)} annotators have no arm ({listed(sorted(without), 5)})"
        )
    arms = sorted(set(found.values()))
    if not 2 <= len(arms) <= MOST_ARMS:
        raise DataError(f"takes 2 to {MOST_ARMS} arms, not {len(arms)} ({listed(arms, 5)})")
    return found


def divided(responses: AnyResponses, arms: Mapping[str, str]) -> dict[str, AnyResponses]:
    """Return the responses of each arm, the main arm first: `people`, or the one with most annotators.

    Rows and pages that reading dropped are counted in the main arm.

    Args:
        responses: the responses of all arms.
        arms: mapping from annotator to arm.
    """
    sizes = Counter(arms.values())
    main, *others = sorted(sizes, key=lambda name: (name != PEOPLE, -sizes[name], name))
    arm = pl.col("respondent").replace_strict(dict(arms), default=None, return_dtype=pl.String)
    tables = {name: responses.table.filter(arm == name) for name in (main, *others)}
    there = sum(tables[name].height for name in others)
    parts = {
        name: replace(responses, table=table, rows_read=table.height, dropped={}, lost_pages=None, arms=None)
        for name, table in tables.items()
    }
    rest = replace(responses, table=tables[main], rows_read=responses.rows_read - there, arms=None)
    return {**parts, main: rest}


def arm_differences(arms: Mapping[str, Evidence]) -> tuple[Estimate, ...]:
    """Compare each two arms on the items that both answered: the second minus the first.

    The consensus is compared by a majority of as many answers of either arm, so that the difference is that of the
    people; one person is the expected score of one answer to each item.

    Args:
        arms: mapping from arm to what its baseline rests on; items are matched by id, or by their texts.
    """
    sides: dict[str, _Side] = {}
    for name, one in arms.items():
        counted = counted_points(one, scored=True)
        if not isinstance(counted, Text):
            sides[name] = _Side(one, *counted)
    return tuple(
        estimate
        for first, second in combinations(sides, 2)
        for estimate in _apart(f"{second} minus {first}", sides[first], sides[second])
    )


class _Side:
    """The answers of one arm that count, with the keys of their items."""

    def __init__(self, evidence: Evidence, votes: Votes, score: FloatArray) -> None:
        self.evidence, self.votes, self.score = evidence, votes, score
        keys = _item_keys(evidence)
        self.number = {
            keys[int(number)]: code
            for code, number in enumerate(evidence.pool.everyone.items.to_list())
            if (votes.item == code).any()
        }

    def on(self, keys: list[str], clusters: IntArray | None) -> tuple[Votes, FloatArray]:
        """Return the votes on some items, numbered in this order, and their points."""
        place = np.full(self.votes.items, -1, dtype=np.int32)
        place[[self.number[key] for key in keys]] = np.arange(len(keys))
        inside = place[self.votes.item] >= 0
        votes = self.votes.where(inside)
        votes = replace(votes, item=place[votes.item], items=len(keys), cluster=clusters)
        return votes, self.score[inside]


def _item_keys(evidence: Evidence) -> dict[int, str]:
    """Return what identifies each item in another table of the same dataset: its id, or else its texts."""
    gold, items = evidence.gold, evidence.responses.items
    ids = dict(gold.answers.select("item", "id").iter_rows()) if gold else {}
    texts = items.select("item", pl.concat_str(pl.exclude("item").fill_null(""), separator="\x1f"))
    return {int(item): str(ids[item]) if ids.get(item) is not None else text for item, text in texts.rows()}


def _apart(name: str, first: _Side, second: _Side) -> list[Estimate]:
    """Return the difference of the consensus, unless answers have none, and that of one person."""
    metric = first.evidence.declaration.metrics[0]
    names = {"consensus": f"{name}: {metric}", "person": f"{name}: {metric} of one person"}
    if first.evidence.programs:
        del names["consensus"]
    common = [key for key in first.number if key in second.number]
    if not common:
        return [Estimate(name=one, reason="the two arms have no common item") for one in names.values()]
    known = first.evidence.clusters
    numbers = first.evidence.pool.everyone.items
    clusters = known.codes([int(numbers[first.number[key]]) for key in common]) if known else None
    sides = [side.on(common, clusters) for side in (first, second)]
    few = [(votes.where(mask), score[mask])
           for (votes, score), mask in zip(sides, as_many_each(sides[0][0], sides[1][0]), strict=True)]  # fmt: skip
    people = min(int(np.unique(votes.annotator).shape[0]) for votes, _ in few)
    made = []
    for what, title in names.items():
        of_person = what == "person"
        pairs = [
            (
                votes,
                _person_influence(votes, score)
                if of_person
                else influences(votes, score, unseen=np.zeros(votes.items)),
            )
            for votes, score in (sides if of_person else few)
        ]
        *_, found = groups_apart(pairs[0], pairs[1], clusters=clusters)
        enough = people >= LEAST_ANNOTATORS
        made.append(
            Estimate(
                name=title,
                value=found.value,
                ci95=Span.of(found.interval()) if enough else None,
                n=len(common),
                people=sum(int(np.unique(votes.annotator).shape[0]) for votes, _ in sides),
                reason=None if enough else f"an arm has fewer than {LEAST_ANNOTATORS} annotators",
            )
        )
    return made


def _person_influence(votes: Votes, score: FloatArray) -> ItemInfluences:
    """Return the influence of every answer on the expected score of one answer to each item."""
    ballots = Ballots.of(votes, score, np.ones(len(votes)), np.zeros(votes.items))
    of_item = (ballots.totals * ballots.worth).sum(axis=1) / ballots.totals.sum(axis=1)
    value = float(of_item.mean())

    def pulls(rows: slice) -> FloatArray:
        totals, worth = ballots.alternatives(rows)
        return np.asarray((totals * worth).sum(axis=-1) / totals.sum(axis=-1) - value)

    answer, guess = answer_influences(votes, ballots, of_item - value, pulls)
    none = np.zeros(len(votes))
    return ItemInfluences(value, of_item.shape[0], of_item - value, answer, ballots.place, guess, none)
