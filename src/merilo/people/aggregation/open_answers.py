"""Open answers: answers without a fixed list of labels."""

from __future__ import annotations

from typing import Final

from merilo.people.votes import Votes

#: With at most this many different labels, answers count as closed by default.
MOST_CLOSED_LABELS: Final = 20


def is_open(votes: Votes, declared: bool | None = None) -> bool:
    """Determine whether the answers are open (typed freely) or closed (chosen from a list).

    Args:
        votes: the answers.
        declared: what the dataset declares. If None, more than `MOST_CLOSED_LABELS` labels mean open answers.

    Example:
        >>> import numpy as np
        >>> answers = np.arange(25)
        >>> votes = Votes(answers, answers, answers, 25, 25, 25)
        >>> is_open(votes), is_open(votes, declared=False)
        (True, False)
    """
    return votes.labels > MOST_CLOSED_LABELS if declared is None else declared
