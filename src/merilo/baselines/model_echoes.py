"""Annotators who repeat a model's wrong answers more often than their own errors and those of the others explain."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.baselines.baseline import AnnotatorEchoes, ModelEchoes
from merilo.baselines.crowd import Crowd
from merilo.baselines.model_answers import Samples
from merilo.errors import DataError, UsageError
from merilo.statistics import FloatArray
from merilo.statistics.crossed import holm

#: Annotators are named if their p-value after Holm's correction is at most this.
ALPHA: Final = 0.05
#: With fewer annotators nobody stands out, and with fewer errors of the model an echo looks like skill.
_FEWEST: Final = 3
#: The weight of the mean over items in an item's shares of errors and of repeated answers, in answers.
_PRIOR: Final = 2.0


def echoes_or_reason(crowd: Crowd, model: Samples) -> ModelEchoes:
    """Test who repeats a model's wrong answers, or give the reason why this cannot be tested."""
    try:
        return model_echoes(crowd, model)
    except (DataError, UsageError) as error:
        return ModelEchoes(model=model.model, reason=error.message)


def model_echoes(crowd: Crowd, model: Samples) -> ModelEchoes:
    """Test each annotator for repeating a model's wrong answers.

    Somebody who errs often also repeats the model's errors often. So the test is given the number of the annotator's
    errors: by the Rasch model, which of their answers are wrong then depends on the difficulty of the items alone, and
    not on their ability. The difficulty, and the share of errors that are the model's, are those of the other
    annotators on the same items, drawn towards the mean of the items on which the model is wrong, or right. The
    probability of at least as many repeated answers is computed exactly.

    Args:
        crowd: the annotators of a baseline.
        model: the model's answers; of several to an item, the most frequent one counts.

    Raises:
        DataError: it cannot be tested: answers are neither right nor wrong, there are fewer than three annotators, or
            the model is wrong on fewer than three items.

    References:
        G. Rasch (1960), Probabilistic models for some intelligence and attainment tests; S. Holm (1979), as for `holm`.
    """
    crowd = crowd.on([place for place, name in enumerate(crowd.names) if name in model.answers])
    votes = crowd.votes
    if np.unique(votes.annotator).size < _FEWEST:
        raise DataError(f"fewer than {_FEWEST} annotators answered the model's items")
    answers = [Counter(model.answers[name]).most_common(1)[0][0] for name in crowd.names]
    place, texts, of_vote = crowd.distinct(votes)
    own = crowd.points([crowd.items[at] for at in place.tolist()], texts)[of_vote]
    reached = crowd.points(crowd.items, answers)
    if not np.isin(np.concatenate((own, reached)), (0.0, 1.0)).all():
        raise DataError("an answer earns a part of the points, so it is neither right nor wrong")
    missed = reached == 0
    n_missed = int(missed[np.unique(votes.item)].sum())
    if n_missed < _FEWEST:
        raise DataError(
            f"the model is wrong on fewer than {_FEWEST} items, so an echo of it looks like skill"
        )
    code_of = {label: code for code, label in enumerate(crowd.labels)}
    label = np.array([code_of.get(answer, -1) for answer in answers])
    wrong = own == 0
    tests = echoes(votes.annotator, votes.item, wrong, wrong & (votes.label == label[votes.item]), missed)
    corrected = holm([test.p for test in tests])
    rows = [
        test.model_copy(update={"annotator": crowd.annotators[int(test.annotator)], "p_holm": p})
        for test, p in zip(tests, corrected, strict=True)
        if p <= ALPHA
    ]
    named = tuple(sorted(rows, key=lambda test: (test.p, test.annotator)))
    return ModelEchoes(model=model.model, missed=n_missed, annotators=len(tests), named=named)


def echoes(
    annotator: NDArray[np.int32],
    item: NDArray[np.int32],
    wrong: NDArray[np.bool_],
    repeated: NDArray[np.bool_],
    missed: NDArray[np.bool_],
) -> list[AnnotatorEchoes]:
    """Test each annotator who answered an item on which the model is wrong.

    Args:
        annotator: shape (n,), codes of the annotators, none of whom answered an item twice.
        item: shape (n,), codes of the items.
        wrong: shape (n,), whether the answer is wrong.
        repeated: shape (n,), whether it is the model's wrong answer.
        missed: shape (items,), whether the model is wrong.
    """
    of_missed = missed[item]
    repeated = repeated & of_missed
    sums = [
        np.bincount(item, weights=weights, minlength=missed.size)
        for weights in (np.ones(item.size), wrong, repeated)
    ]
    totals = [
        {group: float(by_item[missed == group].sum()) for group in (True, False)} for by_item in sums
    ]  # answers, errors and repeated answers, by whether the model is wrong
    tests = []
    order = np.argsort(annotator, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(annotator[order])) + 1):
        places, inside = item[rows], of_missed[rows]
        if not inside.any():
            continue
        mine = (np.ones(rows.size), wrong[rows].astype(float), repeated[rows].astype(float))
        answers, errors, repeats = (counts[places] - my for counts, my in zip(sums, mine, strict=True))
        n, w, r = (
            np.where(inside, counts[True] - my[inside].sum(), counts[False] - my[~inside].sum())
            for counts, my in zip(totals, mine, strict=True)
        )
        share = (errors + _PRIOR * (w + 0.5) / (n + 1)) / (answers + _PRIOR)
        alike = (repeats + _PRIOR * (r + 0.5) / (w + 1)) / (errors + _PRIOR)
        odds = share / (1 - share)
        shared = inside & (answers > 0)
        tests.append(
            AnnotatorEchoes(
                annotator=str(annotator[rows[0]]),
                answers=int(inside.sum()),
                repeated=int(mine[2].sum()),
                others=float((repeats[shared] / answers[shared]).mean()) if shared.any() else None,
                p=at_least(
                    int(mine[2].sum()), int(mine[1].sum()), odds[~inside], odds[inside], alike[inside]
                ),
            )
        )
    return tests


def at_least(repeated: int, errors: int, others: FloatArray, odds: FloatArray, alike: FloatArray) -> float:
    """Return the probability of at least so many repeated answers among so many errors.

    Args:
        repeated: the number of repeated answers.
        errors: the number of errors on all items.
        others: the odds of an error on each item on which the model is right.
        odds: the same on each item on which it is wrong.
        alike: the share of these errors that are the model's.
    """
    right = np.zeros(errors + 1)  # the weight of so many errors on items on which the model is right
    right[0] = 1.0
    for odd in others.tolist():
        right[1:] += odd * right[:-1].copy()
        right /= right.sum()
    # by the numbers of errors and of repeated answers
    table = np.zeros((errors + 1, min(odds.size, errors) + 1))
    table[0, 0] = 1.0
    for odd, share in zip(odds.tolist(), alike.tolist(), strict=True):
        more = table.copy()
        more[1:] += odd * (1 - share) * table[:-1]
        more[1:, 1:] += odd * share * table[:-1, :-1]
        table = more / more.sum()
    weight = right[::-1] @ table
    return float(min(weight[repeated:].sum() / weight.sum(), 1.0))
