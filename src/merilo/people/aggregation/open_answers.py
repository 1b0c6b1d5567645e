"""Open answers: when a set of answers has no fixed list of labels."""

from __future__ import annotations

from typing import Final

from merilo.people.votes import Votes

#: Up to this many different labels an answer set counts as closed unless the caller says otherwise.
MOST_CLOSED_LABELS: Final = 20


def is_open(votes: Votes, declared: bool | None = None) -> bool:
    """Tell whether the answers are open (typed freely) or closed (chosen from a list).

    Args:
        votes: the answers.
        declared: what the dataset says; None where it says nothing. Then more than `MOST_CLOSED_LABELS` labels mean open answers.

    Example:
        >>> import numpy as np
        >>> answers = np.arange(25)
        >>> votes = Votes(answers, answers, answers, 25, 25, 25)
        >>> is_open(votes), is_open(votes, declared=False)
        (True, False)
    """
    return votes.labels > MOST_CLOSED_LABELS if declared is None else declared
