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
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
import polars as pl

from merilo.baselines.people_table import counted_points
from merilo.errors import DataError
from merilo.estimate import Estimate
from merilo.people.influence import as_many_each, by_cluster, consensus_influence, person_influence
from merilo.people.votes import IntArray, Votes
from merilo.responses import Responses
from merilo.statistics import FloatArray
from merilo.statistics.crossed import LEAST_ANNOTATORS, Influence, apart, crossed
from merilo.text import Text
from merilo.wording import listed

if TYPE_CHECKING:
    from merilo.baselines.baseline import Evidence

#: With more arms, the column rather names people.
MOST_ARMS: Final = 12
#: The names of arms in a study's plan; the value of experts is published apart from that of people.
PEOPLE: Final = "people"
EXPERTS: Final = "experts"
#: Everybody, beside arms of which none is called `people`.
EVERYBODY: Final = "everybody"
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
    arm_of: dict[str, str] = {}
    if by == FILES:
        for who, file in responses.table.select("respondent", "file").unique(maintain_order=True).iter_rows():
            arm = Path(str(file)).stem
            if arm_of.setdefault(who, arm) != arm:
                raise DataError(f"annotator {who} is in two arms: '{arm_of[who]}' and '{arm}'")
    else:
        named_arms = by if isinstance(by, Mapping) else responses.arms or {}
        arm_of = {who: named_arms[who] for who in people if named_arms.get(who)}
    if without := [who for who in people if who not in arm_of]:
        raise DataError(
            f"{len(without)} of {len(people)} annotators have no arm ({listed(sorted(without), 5)})"
        )
    arms = sorted(set(arm_of.values()))
    if not 2 <= len(arms) <= MOST_ARMS:
        raise DataError(f"takes 2 to {MOST_ARMS} arms, not {len(arms)} ({listed(arms, 5)})")
    return arm_of


def divided(responses: AnyResponses, arms: Mapping[str, str]) -> dict[str, AnyResponses]:
    """Return the responses of each arm, the main arm first: `people`, or else everybody.

    Rows and pages that reading dropped are counted in the main arm.

    Args:
        responses: the responses of all arms.
        arms: mapping from annotator to arm.
    """
    sizes = Counter(arms.values())
    names = sorted(sizes, key=lambda name: (name != PEOPLE, -sizes[name], name))
    arm = pl.col("respondent").replace_strict(dict(arms), default=None, return_dtype=pl.String)
    tables = {name: responses.table.filter(arm == name) for name in names}
    main, *others = names
    if main != PEOPLE:
        main, others = EVERYBODY, names
        tables[main] = responses.table
    there = responses.table.height - tables[main].height
    parts = {
        name: replace(responses, table=table, rows_read=table.height, dropped={}, lost_pages=None, arms=None)
        for name, table in tables.items()
    }
    rest = replace(responses, table=tables[main], rows_read=responses.rows_read - there, arms=None)
    return {main: rest, **{name: parts[name] for name in others}}


def arm_differences(arms: Mapping[str, Evidence]) -> tuple[Estimate, ...]:
    """Compare each two arms on the items that both answered: the second minus the first.

    The consensus is compared by a majority of as many answers of either arm, so that the difference is that of the
    people; one person is the expected score of one answer to each item.

    Args:
        arms: mapping from arm to what its baseline rests on; items are matched by id, or by their texts.
    """
    sides: dict[str, _Side] = {}
    for name, evidence in arms.items():
        if name == EVERYBODY:
            continue
        counted = counted_points(evidence, scored=True)
        if not isinstance(counted, Text):
            sides[name] = _Side(evidence, *counted)
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
        items = evidence.crowd.items if evidence.crowd else ()
        #: Key of an answered item -> its number and its code in the votes.
        self.items = {
            keys[int(items[code].id)]: (int(items[code].id), code) for code in np.unique(votes.item).tolist()
        }

    def on(self, keys: list[str], clusters: IntArray | None) -> tuple[Votes, FloatArray]:
        """Return the votes on some items, numbered in this order, and their points."""
        codes = [self.items[key][1] for key in keys]
        votes = replace(self.votes.on(codes), cluster=clusters)
        return votes, self.score[np.isin(self.votes.item, codes)]


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
    common = [key for key in first.items if key in second.items]
    if not common:
        return [Estimate(name=label, reason="the two arms have no common item") for label in names.values()]
    known = first.evidence.clusters
    clusters = known.codes([first.items[key][0] for key in common]) if known else None
    sides = [side.on(common, clusters) for side in (first, second)]
    masks = as_many_each(sides[0][0], sides[1][0])
    few = [(votes.where(mask), score[mask]) for (votes, score), mask in zip(sides, masks, strict=True)]
    enough = min(len(np.unique(votes.annotator)) for votes, _ in few) >= LEAST_ANNOTATORS
    estimates = []
    for what, title in names.items():
        (ours, first_pull), (theirs, second_pull) = (
            _influence(votes, score, what) for votes, score in (sides if what == "person" else few)
        )
        # The people of the two arms are different ones.
        second_pull = second_pull._replace(person=-1 - second_pull.person)
        estimate = crossed(theirs - ours, apart(first_pull, second_pull), (-1.0, 1.0)).estimate(
            title, len(common)
        )
        few_people = None if enough else f"an arm has fewer than {LEAST_ANNOTATORS} annotators"
        estimates.append(
            estimate if enough else estimate.model_copy(update={"ci95": None, "reason": few_people})
        )
    return estimates


def _influence(votes: Votes, score: FloatArray, what: str) -> tuple[float, Influence]:
    """Return the score of one person or of the consensus, and the influences on it."""
    scored = person_influence(votes, score)
    if what == "consensus":
        scored = consensus_influence(votes, score, np.zeros(votes.items)) or scored
    return scored[0], by_cluster(scored[1], votes)
