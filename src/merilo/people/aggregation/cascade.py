"""The cascade: most votes decide; a tie goes to skill, then to the three most skilled, then to GLAD's abilities."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from numpy.typing import ArrayLike

from merilo.people.aggregation import NO_LABEL, Consensus, Fit, Resolution
from merilo.people.aggregation.glad import glad
from merilo.people.aggregation.majority import (
    MinVotes,
    known_skill,
    plurality,
    resolve_by_skill,
    resolve_by_weight,
)
from merilo.people.votes import Votes


def cascade(
    votes: Votes,
    *,
    everyone: Votes | None = None,
    skill: ArrayLike | None = None,
    open_answers: bool | None = None,
    min_votes: MinVotes = 3,
) -> Consensus:
    """Aggregate by plurality; resolve ties by skill, then by the three most skilled, then by GLAD's abilities.

    The label with the most votes wins. A tie goes to the larger sum of skill, then to the larger sum of skill among the
    three most skilled annotators, then to the larger sum of GLAD's abilities. Labels are ranked by votes,
    then by the sum. Only the first two are compared, and equal sums pass to the next step. Annotators of
    equal skill are ranked by GLAD's ability when the three are selected. An item still tied after the last
    step is unresolved; row order and alphabetical order never decide.

    Args:
        votes: the answers that count: answers to the items to be decided, without excluded annotators.
        everyone: all answers of the pool in the same codes, including answers to control items and by excluded
            annotators. GLAD is fitted to them. `votes` by default.
        skill: shape (annotators,), larger is better, NaN if unknown (see `resolve_by_skill`); without it the two steps
            that use skill are skipped.
        open_answers: whether labels are typed freely; if None, inferred from their number (see `is_open`).
        min_votes: the number of votes from which the winning label is called a majority.

    Returns:
        The consensus, with GLAD's fit to `everyone` if skill left a tie.

    Raises:
        UsageError: `skill` does not fit the votes, or `min_votes` is below 1.

    Example:
        >>> import numpy as np
        >>> tie = [[0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 0, 1, 2, 0, 1, 2], [0, 1, 0, 1, 0, 1, 0, 1]]
        >>> consensus = cascade(Votes(*np.array(tie), 3, 3, 2))
        >>> consensus.label.tolist(), Resolution(consensus.how[0]).name
        ([0, 0, 1], 'GLAD')
    """
    decided = plurality(votes, min_votes)
    if skill is not None:
        decided = resolve_by_weight(decided, votes, known_skill(skill, votes.annotators), Resolution.SKILL)
    if not (decided.label[votes.item] == NO_LABEL).any():
        return decided
    pool = votes if everyone is None else everyone
    fit = cast("Fit", glad(pool, open_answers=open_answers).fit)
    if skill is not None:
        decided = resolve_by_skill(votes, skill, min_votes, ability=fit.quality)
    return replace(resolve_by_weight(decided, votes, fit.quality, Resolution.GLAD), fit=fit)
