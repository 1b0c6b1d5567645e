"""Answers that a model may have given in place of people, and what people would reach without them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.baselines.baseline_reader import StoredBaseline
from merilo.baselines.model_answers import Samples
from merilo.baselines.model_comparison import earned, people_scores
from merilo.errors import DataError
from merilo.people.quality.model_echo import NAMED, model_echo
from merilo.people.uncertainty.two_way import Ballots
from merilo.people.votes import MOST_CLOSED_LABELS, Votes
from merilo.statistics import FloatArray
from merilo.statistics.intervals import Interval
from merilo.text import Text

#: The shares of answers for which it is told what people would reach without them.
TRIED: Final = (0.0, 0.1, 0.2)
#: Random choices of the answers that are left out.
_DRAWS: Final = 50
#: With fewer annotators nobody stands out, and with fewer errors of the model an echo looks like skill.
_FEWEST: Final = 3
#: An interval from at most the first to at least the second share does not tell whether there are echoes.
_DOUBT: Final = (0.005, 0.1)


@dataclass(frozen=True, slots=True)
class Level:
    """What people reach if a share of the answers was the model's.

    Attributes:
        share: the share of the answers.
        single: the mean points of single answers of people without these answers.
        consensus: the mean points of the majority without these answers, ties shared.
    """

    share: float
    single: float
    consensus: float


@dataclass(frozen=True, slots=True)
class Assistance:
    """How many answers of people echo a model.

    Attributes:
        model: the model's name.
        share: the estimated share of answers that the model gave.
        interval: its interval.
        named: the annotators who agree with the model more than skill and shared errors explain.
        people: how many annotators were tested.
        missed: on how many of the people's items the model is wrong.
        most: the largest share that the answers allow: the others differ from the model's.
        levels: what people reach if a share of the answers was the model's; shares above `most` are left out.
    """

    model: str
    share: float
    interval: Interval
    named: tuple[str, ...]
    people: int
    missed: int
    most: float
    levels: tuple[Level, ...]

    def sentence(self) -> Text:
        """Return the result in one sentence."""
        return Text(
            "{share:.1%} [{low:.1%}, {high:.1%}] of people's answers echo {model}; {n} of {people} annotators agree "
            "with it more than skill and shared errors explain",
            share=self.share,
            low=self.interval.low,
            high=self.interval.high,
            model=self.model,
            n=len(self.named),
            people=self.people,
        )

    def doubt(self) -> Text | None:
        """Return a sentence if the answers do not tell whether there are echoes."""
        if self.interval.low > _DOUBT[0] or self.interval.high < _DOUBT[1]:
            return None
        return Text(
            "the answers do not tell whether people copied from {model}: it is wrong on only {n:# item|# items}",
            model=self.model,
            n=self.missed,
        )


def assistance(crowd: StoredBaseline, model: Samples, *, seed: int = 0) -> Assistance:
    """Estimate how many of people's answers a model gave.

    Args:
        crowd: the annotators of a baseline.
        model: the model's answers; of several to an item, the most frequent one counts.
        seed: random seed of the draws.

    Raises:
        DataError: it cannot be estimated: answers are neither right nor wrong, there are fewer than three annotators,
            or the model answered too few items or is wrong on fewer than three.
    """
    crowd = crowd.on([place for place, name in enumerate(crowd.names) if name in model.answers])
    votes = crowd.votes
    people = int(np.unique(votes.annotator).size)
    if people < _FEWEST:
        raise DataError(f"fewer than {_FEWEST} annotators answered the model's items")
    given = [Counter(model.answers[name]).most_common(1)[0][0] for name in crowd.names]
    own = people_scores(crowd)
    reached = earned(crowd, range(len(given)), given)
    if not np.isin(np.concatenate((own, reached)), (0.0, 1.0)).all():
        raise DataError("an answer earns a part of the points, so it is neither right nor wrong")
    right, model_right = own == 1, reached == 1
    missed = int((~model_right)[np.unique(votes.item)].sum())
    if missed < _FEWEST:
        raise DataError(
            f"the model is wrong on fewer than {_FEWEST} items, so an echo of it looks like skill"
        )
    code_of = {label: code for code, label in enumerate(crowd.labels)}
    label = np.array([code_of.get(answer, -1) for answer in given])
    echoes = (votes.label == label[votes.item]) | (right & model_right[votes.item])
    found = model_echo(
        votes.annotator,
        votes.item,
        right=right,
        echoes=echoes,
        model_right=model_right,
        labels=min(len(crowd.declaration.answer.labels) or len(crowd.labels), MOST_CLOSED_LABELS),
        seed=seed,
    )
    named = tuple(crowd.annotators[code] for code in np.flatnonzero(found.alone <= NAMED).tolist())
    accuracy = float(reached[votes.item].mean())
    groups = ((np.flatnonzero(echoes & right), accuracy), (np.flatnonzero(echoes & ~right), 1 - accuracy))
    # The model's answers are right as often as the model is, so neither group can hold more of them than it has.
    most = min(rows.size / len(votes) / part if part else 1.0 for rows, part in groups)
    levels = [
        _level(votes, own, groups, share, np.random.default_rng(seed)) for share in TRIED if share <= most
    ]
    return Assistance(model.model, found.share, found.interval, named, people, missed, most, tuple(levels))


def _level(
    votes: Votes,
    points: FloatArray,
    groups: Sequence[tuple[NDArray[np.intp], float]],
    share: float,
    rng: np.random.Generator,
) -> Level:
    """Leave out a share of the answers, and score the others.

    Args:
        votes: the answers.
        points: shape (n,), their points.
        groups: the answers that equal the model's, right ones and wrong ones, and how many of the model's are such.
        share: the share of all answers that is left out.
        rng: chooses them.
    """
    drawn = []
    left_out = sum(share * part * float(points[rows].mean()) for rows, part in groups if rows.size)
    for _ in range(_DRAWS if share else 1):
        kept = np.ones(len(votes), np.bool_)
        for rows, part in groups:
            kept[rng.choice(rows, min(round(share * part * len(votes)), rows.size), replace=False)] = False
        drawn.append(_majority(votes.where(kept), points[kept]))
    return Level(share, (float(points.mean()) - left_out) / (1 - share), float(np.mean(drawn)))


def _majority(votes: Votes, points: FloatArray) -> float:
    """Return the mean points of the labels with most votes; equal labels share an item."""
    ballots = Ballots.of(votes, points, np.ones(len(votes)), np.zeros(votes.items))
    scores, _ = ballots.outcome(ballots.totals, ballots.worth, None)
    return float(scores.mean())
