"""What people reach: one person, the median person, the best tenth, and majorities of three and of five."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import ceil, comb
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from merilo.estimate import Estimate
from merilo.metrics.registry import metric_of
from merilo.people.influence import drawn_answer
from merilo.people.votes import Votes
from merilo.records import Record
from merilo.statistics import FloatArray
from merilo.text import Text

if TYPE_CHECKING:
    from merilo.baselines.baseline import Evidence

#: Annotators with fewer answers do not count for the median and the best.
MIN_ANSWERS: Final = 10
#: The sizes of the majorities.
MAJORITIES: Final = (3, 5)
#: The share of the items that must have at least k answers for a majority of k.
_COVERED: Final = 0.8


class PeopleTable(Record):
    """What people reach, or the `reason` why it is not computed; a value that the answers do not allow is left out.

    Attributes:
        metric: the metric.
        one: one answer drawn at random for every item.
        median: the median of people with at least ten answers.
        best_tenth: the mean of the best tenth of these people. Both are of values that are shrunk towards the mean of
            all people in proportion to their sampling error, because whoever scored best was partly lucky.
        majority_of_3: the majority of three answers drawn from those of each item that has three; tied labels share.
        majority_of_5: the same of five.
    """

    metric: str | None = None
    one: Estimate | None = None
    median: Estimate | None = None
    best_tenth: Estimate | None = None
    majority_of_3: Estimate | None = None
    majority_of_5: Estimate | None = None
    reason: str | None = None

    def rows(self) -> Mapping[str, Estimate]:
        """Return a mapping from the name of a row to its value, in the order of the table."""
        return {name: row for name in PEOPLE_ROWS if (row := getattr(self, name)) is not None}


#: Row of the table -> its name in sentences.
PEOPLE_ROWS: Final[Mapping[str, Text]] = {
    "one": Text("one person"),
    "median": Text("median person"),
    "best_tenth": Text("best tenth of people"),
    "majority_of_3": Text("majority of 3"),
    "majority_of_5": Text("majority of 5"),
}


def people_table(evidence: Evidence) -> PeopleTable:
    """Compute what people of a baseline reach by its main metric."""
    points = counted_points(evidence)
    if isinstance(points, Text):
        return PeopleTable(reason=points.en)
    votes, score = points
    mean = float(drawn_answer(votes) @ score)
    values: dict[str, Estimate] = {"one": Estimate(value=mean, n=len(np.unique(votes.item)))}
    if shrunk := sorted(shrunk_values(votes, score, mean), reverse=True):
        best = shrunk[: ceil(len(shrunk) / 10)]
        values["median"] = Estimate(value=float(np.median(shrunk)), people=len(shrunk))
        values["best_tenth"] = Estimate(value=float(np.mean(best)), people=len(best))
    for k in MAJORITIES:
        scores, covered = majority_scores(votes, score, k)
        if covered >= _COVERED:
            values[f"majority_of_{k}"] = Estimate(value=float(scores.mean()), n=scores.shape[0])
    return PeopleTable.model_validate({"metric": evidence.declaration.metrics[0], **values})


def _answered(votes: Votes, score: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the number of answers and the mean score of each annotator with at least `MIN_ANSWERS` answers."""
    answered = np.bincount(votes.annotator, minlength=votes.annotators).astype(np.float64)
    sums = np.bincount(votes.annotator, weights=score, minlength=votes.annotators)
    chosen = answered >= MIN_ANSWERS
    return answered[chosen], sums[chosen] / answered[chosen]


def shrunk_values(votes: Votes, score: FloatArray, mean: float) -> list[float]:
    """Return the annotators' mean scores, moved towards the mean of all by the share that chance explains.

    The variance between annotators is the mean product of two answers of one of them to different items, less that of
    two annotators' answers to different items.

    Args:
        votes: the answers.
        score: shape (n,), the points of each answer.
        mean: the mean of all.
    """
    n, centred = float(len(votes)), score - score.mean()
    answered, asked = (np.bincount(codes).astype(np.float64) for codes in (votes.annotator, votes.item))
    squares = float(centred @ centred)
    by_person, by_item = (
        float((np.bincount(codes, weights=centred) ** 2).sum()) for codes in (votes.annotator, votes.item)
    )
    same, pairs = float(answered @ answered) - n, float(asked @ asked) - n
    others = n * n - same - pairs - n
    apart = (squares - by_person - by_item) / others if others > 0 else 0.0
    between = max((by_person - squares) / same - apart, 0.0) if same > 0 else 0.0
    chance = max(squares / n - apart - between, 0.0)
    own, values = _answered(votes, score)
    pull = between / (between + chance / own) if between > 0 else np.zeros(len(own))
    return [float(value) for value in mean + pull * (values - mean)]


def majority_scores(votes: Votes, score: FloatArray, k: int) -> tuple[FloatArray, float]:
    """Compute the expected score of a majority of k of an item's answers, over all ways to draw them.

    Args:
        votes: the answers.
        score: shape (n,), the points of each answer.
        k: how many answers are drawn.

    Returns:
        The scores of the items with at least k answers, and their share of the items with answers.
    """
    table = pl.DataFrame({"item": votes.item, "label": votes.label, "points": score})
    labels = table.group_by("item", "label").agg(pl.len(), pl.col("points").first())
    items = labels.sort("item", "len", "points").group_by("item", maintain_order=True).agg("len", "points")
    # Items whose labels have the same numbers of answers and points have the same expectation.
    alike = items.group_by("len", "points", maintain_order=True).agg(pl.len().alias("items"))
    rows = [row for row in alike.iter_rows() if sum(row[0]) >= k]
    expected = [expected_majority(tuple(zip(counts, points, strict=True)), k) for counts, points, _ in rows]
    scores = np.repeat(np.array(expected), [n for *_, n in rows])
    return scores, len(scores) / items.height


@cache
def expected_majority(labels: tuple[tuple[int, float], ...], k: int) -> float:
    """Return the expected points of the majority of k answers drawn without replacement; tied labels share.

    The draws are counted label by label, for each number of votes of the leading labels.

    Args:
        labels: how many answers have each label, and its points.
        k: how many answers are drawn, at most all.

    Example:
        >>> round(expected_majority(((2, 1.0), (2, 0.0), (1, 0.0)), 3), 4)
        0.4333
    """
    total = 0.0
    for most in range(1, k + 1):
        # Answers drawn and labels that lead so far -> the number of draws, and the sum of their leaders' points.
        draws = {(0, 0): (1, 0.0)}
        for count, points in labels:
            more: dict[tuple[int, int], tuple[int, float]] = {}
            for (drawn, leaders), (ways, earned) in draws.items():
                for taken in range(min(count, most, k - drawn) + 1):
                    leads = taken == most
                    chosen = comb(count, taken)
                    key = drawn + taken, leaders + leads
                    others, sums = more.get(key, (0, 0.0))
                    gained = chosen * (earned + (points * ways if leads else 0.0))
                    more[key] = others + chosen * ways, sums + gained
            draws = more
        total += sum(
            earned / leaders for (drawn, leaders), (_, earned) in draws.items() if drawn == k and leaders
        )
    return total / comb(sum(count for count, _ in labels), k)


def counted_points(evidence: Evidence, *, scored: bool = False) -> tuple[Votes, FloatArray] | Text:
    """Return the answers that count to items with gold and their points, or the reason why they have none.

    Args:
        evidence: what the baseline rests on.
        scored: whether answers that were scored elsewhere have points, although no majority.
    """
    crowd = evidence.crowd
    if crowd is None:
        return Text("there are no gold answers, or people's answers are not scored against them")
    kind = evidence.declaration.answer.kind
    metric = metric_of(evidence.declaration.metrics[0], kind)
    judged = evidence.programs and not (scored and kind == "verdict")
    if judged or kind == "criteria" or not metric.points or metric.unit:
        return Text(
            "the metric is not a mean of the points of single answers, of which several make a majority"
        )
    main = crowd.parts()[0][0]
    votes, score = crowd.by_person(main, crowd.of_part(main))
    return (votes, score) if len(score) else Text("no answer that counts is to an item with gold")
