"""The cascade of aggregation rules: the first step without a tie decides an item; a tie at every step leaves it unresolved."""

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
    """Aggregate by plurality; resolve ties by skill, then by the three most skilled, then by GLAD's abilities.

    The label with the most votes wins. A tie goes to the larger sum of skill, then to the larger sum of skill among the
    three most skilled annotators, then to the larger sum of GLAD's abilities. Labels are ranked by votes, then by the sum.
    Only the first two are compared, and equal sums pass to the next step. Annotators of equal skill are ranked by GLAD's
    ability when the three are selected. An item still tied after the last step is unresolved; row order and alphabetical
    order never decide.

    Args:
        votes: the answers that count: answers to the items to be decided, without excluded annotators.
        everyone: all answers of the pool in the same codes, including answers to control items and by excluded
            annotators. GLAD is fitted to them. `votes` by default.
        skill: shape (annotators,), larger is better, NaN if unknown (see `resolve_by_skill`); without it the two steps
            that use skill are skipped.
        anchors: shape (items,), labels of control items known to GLAD, -1 if unknown.
        open_answers: whether labels are typed freely; if None, inferred from their number (see `open_answers.is_open`).
        min_votes: the number of votes from which the winning label is called a majority.
        fit: GLAD's fit to `everyone`, if it is already available.

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
