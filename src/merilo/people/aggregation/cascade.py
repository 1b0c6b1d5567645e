"""The cascade: an item gets an answer from the first step that gives it one; equal sums at every step leave it unresolved."""

from __future__ import annotations

from dataclasses import replace

from numpy.typing import ArrayLike

from merilo.people.aggregation.consensus import Consensus, Fit, Resolution
from merilo.people.aggregation.glad import fit_glad
from merilo.people.aggregation.majority import MinVotes, plurality, resolve_by_skill, resolve_by_weight
from merilo.people.votes import Votes


def cascade(
    votes: Votes,
    *,
    everyone: Votes | None = None,
    skill: ArrayLike | None = None,
    anchors: ArrayLike | None = None,
    open_answers: bool | None = None,
    min_votes: MinVotes = 3,
    fit: Fit | None = None,
) -> Consensus:
    """Most votes; on a tie more skill; else more skill among the three most skilled; else more ability by GLAD.

    In full: all agree; else most votes; on a tie the larger sum of skill; else the same among the three most skilled;
    else the larger sum of GLAD's abilities. Labels are ranked by votes, then by the sum; only the first two are compared,
    and equal sums pass to the next step. Of people equally skilled, the more able by GLAD belong to the three. What is
    still equal after the last step is unresolved, and says so: the order of rows or of the alphabet never decides.

    Args:
        votes: the answers that count: to the items in question, without the people who were excluded.
        everyone: all answers of the pool, to control items and of excluded people too, in the same codes; GLAD learns from
            them. `votes` when not given.
        skill: shape (annotators,), larger is better, NaN where it is unknown (see `resolve_by_skill`); without it its two
            steps are left out.
        anchors: shape (items,), labels of control items known to GLAD, -1 where unknown.
        open_answers: whether labels are typed freely; None: told by their number (see `open_answers.is_open`).
        min_votes: from how many votes on the most votes are called a majority.
        fit: GLAD's fit to `everyone`, where it was made before.

    Returns:
        The consensus, with GLAD's fit to `everyone`.

    Raises:
        UsageError: `skill` or `anchors` do not fit the votes, or `min_votes` is below 1.

    Example:
        >>> import numpy as np
        >>> tie = [[0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 0, 1, 2, 0, 1, 2], [0, 1, 0, 1, 0, 1, 0, 1]]
        >>> consensus = cascade(Votes(*np.array(tie), 3, 3, 2))
        >>> consensus.label.tolist(), Resolution(consensus.how[0]).name
        ([0, 0, 1], 'GLAD')
    """
    pool = votes if everyone is None else everyone
    fit = fit or fit_glad(pool, anchors=anchors, open_answers=open_answers)
    decided = (
        plurality(votes, min_votes)
        if skill is None
        else resolve_by_skill(votes, skill, min_votes, ability=fit.quality)
    )
    return replace(resolve_by_weight(decided, votes, fit.quality, Resolution.GLAD), fit=fit)
