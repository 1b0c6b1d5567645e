"""A warning about people who are less independent than the intervals assume."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from merilo.estimate import Finding
from merilo.people.aggregation import NO_LABEL
from merilo.people.votes import IntArray, Votes
from merilo.text import Text

#: The busiest annotators are those who together gave this share of the answers.
_BUSY: Final = 1 / 4
#: What makes them a cause of concern: so many points less agreement with the consensus, in so many standard errors.
_WORSE, _STANDARD_ERRORS = 0.1, 3.0
#: A single annotator with a larger share of the answers is named.
_MOST_BY_ONE: Final = 1 / 3


def finding_on_busy_annotators(votes: Votes, consensus: IntArray, names: Sequence[str]) -> Finding | None:
    """Return a warning if the people who do most of the work make intervals too short.

    Args:
        votes: the answers that count.
        consensus: shape (items,), the consensus labels.
        names: shape (annotators,), the annotators' ids by code.
    """
    answered = np.bincount(votes.annotator, minlength=votes.annotators)
    share = float(answered.max(initial=0)) / max(len(votes), 1)
    people = int((answered > 0).sum())
    if people > 2 and share > max(_MOST_BY_ONE, 2 / people):
        text = Text(
            "one annotator ({name}) gave {share:.0%} of the answers: the estimate is to a large part theirs",
            name=names[int(answered.argmax())],
            share=share,
        )
        return Finding(code="busy_annotator", sentence=text)
    worse = worse_busy_annotators(votes, consensus)
    if worse is None:
        return None
    busy, part_of_answers, own, others = worse
    text = Text(
        "the {n:# annotator|# annotators} with the most work gave {share:.0%} of the answers and {n:agrees|agree} "
        "with the consensus on {own:.0%} of them, the others on {others:.0%}: intervals may be too short, because "
        "they cannot know how many such people another sample has",
        n=busy,
        share=part_of_answers,
        own=own,
        others=others,
    )
    return Finding(code="busy_annotator", sentence=text)


def worse_busy_annotators(votes: Votes, consensus: IntArray) -> tuple[int, float, float, float] | None:
    """Find out whether the annotators with the most work agree with the consensus less often than the others.

    Args:
        votes: the answers.
        consensus: shape (items,), the consensus labels.

    Returns:
        The number of these annotators, their share of the answers, and the share of agreeing answers of theirs and of
        the others; `None` if they do not agree clearly less often.
    """
    decided = consensus[votes.item] != NO_LABEL
    agrees = (votes.label == consensus[votes.item])[decided]
    person = votes.annotator[decided]
    answered = np.bincount(person, minlength=votes.annotators)
    order = np.argsort(-answered, kind="stable")
    cumulative = np.cumsum(answered[order])
    n = int(np.searchsorted(cumulative, _BUSY * agrees.size)) + 1
    people = int((answered > 0).sum())
    if people < 6 or n > people / 4:
        return None
    busy = np.isin(person, order[:n])
    own, others = float(agrees[busy].mean()), float(agrees[~busy].mean())
    error = np.sqrt(own * (1 - own) / busy.sum() + others * (1 - others) / (~busy).sum())
    if others - own < max(_WORSE, _STANDARD_ERRORS * float(error)):
        return None
    return n, float(busy.mean()), own, others
