"""Fleiss' kappa and Gwet's AC1: nominal agreement of many annotators, with two definitions of chance agreement."""

from __future__ import annotations

import numpy as np

from merilo.people.votes import Votes


def fleiss_kappa(votes: Votes) -> float:
    """Compute Fleiss' kappa, for any number of answers per item.

    With p_a the mean over items (of two answers or more) of the share of agreeing pairs, and pi_k the mean over items
    of the share of label k, kappa = (p_a - p_e) / (1 - p_e) with p_e = sum of pi_k squared. If all items have the
    same number of answers, this is Fleiss' original formula.

    Args:
        votes: the answers.

    Returns:
        Kappa, or NaN if it is not defined: no item with two answers, or one label in all answers.

    References:
        J. L. Fleiss, Measuring nominal scale agreement among many raters, Psychological Bulletin 76(5), 1971; for unequal
        numbers of answers K. L. Gwet, Handbook of Inter-Rater Reliability, 4th edition (2014), chapter 2.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 1]]), 3, 2, 2)
        >>> round(fleiss_kappa(votes), 4)
        0.3333
    """
    agreeing, shares = _agreement_and_shares(votes)
    return beyond_chance(agreeing, float(shares @ shares))


def gwet_ac1(votes: Votes) -> float:
    """Compute Gwet's AC1: like kappa, but stable if nearly all answers have one label.

    As `fleiss_kappa` with p_e = sum of pi_k (1 - pi_k) / (K - 1), where K counts all labels that can be given.

    Args:
        votes: the answers; `votes.labels` is K.

    Returns:
        AC1, or NaN if it is not defined: no item with two answers, or fewer than two labels that can be given.

    References:
        K. L. Gwet, Computing inter-rater reliability and its variance in the presence of high agreement, British Journal of
        Mathematical and Statistical Psychology 61(1), 2008.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 1]]), 3, 2, 2)
        >>> round(gwet_ac1(votes), 4)
        0.3333
    """
    if votes.labels < 2:
        return float("nan")
    agreeing, shares = _agreement_and_shares(votes)
    return beyond_chance(agreeing, float(shares @ (1 - shares)) / (votes.labels - 1))


def beyond_chance(observed: float, expected: float) -> float:
    """Return (observed - expected) / (1 - expected); NaN if the expected agreement is 1."""
    return (observed - expected) / (1 - expected) if 1 - expected > 1e-12 else float("nan")


def _agreement_and_shares(votes: Votes) -> tuple[float, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Compute the mean share of agreeing pairs over items with two answers, and each label's mean share over all items."""
    tally = votes.tally()
    answers = np.bincount(votes.item, minlength=votes.items).astype(np.float64)
    pairs = np.bincount(tally.item, weights=tally.votes * (tally.votes - 1.0), minlength=votes.items)
    pairable = answers >= 2
    if not pairable.any():
        return float("nan"), np.zeros(votes.labels)
    agreeing = (pairs[pairable] / (answers[pairable] * (answers[pairable] - 1))).mean()
    share = np.bincount(tally.label, weights=tally.votes / answers[tally.item], minlength=votes.labels)
    return float(agreeing), share / np.count_nonzero(answers)
