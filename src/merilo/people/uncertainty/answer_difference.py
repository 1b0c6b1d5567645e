"""The difference between a single answer of a person and a single answer of a model, over items and annotators."""

from __future__ import annotations

import numpy as np

from merilo.people.uncertainty.annotator_accuracy import drawn_answer
from merilo.people.uncertainty.variance_components import clustered_variance, components
from merilo.people.votes import Votes
from merilo.statistics.arrays import FloatArray
from merilo.statistics.crossed_difference import CrossedDifference, SharedPart, crossed_difference


def answer_difference(votes: Votes, people: FloatArray, model: FloatArray) -> CrossedDifference:
    """Compute the difference of single answers, model minus people, with the variance components of its answers.

    On each item the mean score of the annotators is compared with the mean score of the model's samples. The variance
    between annotators is the part that more items do not remove.

    Args:
        votes: the answers.
        people: shape (n,), the score of each answer.
        model: shape (items,), the model's score of each item.

    References:
        F. Satterthwaite (1946), An approximate distribution of estimates of variance components. Biometrics 2, 110-114.
        S. Searle, G. Casella, C. McCulloch (1992), Variance components, chapter 5 (unbalanced data).

    Example:
        >>> item, annotator = np.divmod(np.arange(200), 5)
        >>> votes = Votes(item.astype(np.int32), annotator.astype(np.int32), np.zeros(200, np.int32), 40, 5, 1)
        >>> found = answer_difference(votes, (np.arange(200) % 4 > 0).astype(float), np.ones(40))
        >>> found.value, found.n, found.annotators
        (0.25, 40, 5)
    """
    parts, each = components(votes, model[votes.item] - people), drawn_answer(votes)
    answered = np.bincount(votes.annotator, minlength=votes.annotators)
    overlap = np.bincount(votes.item, minlength=votes.items)
    of_person = np.bincount(votes.annotator, weights=each, minlength=votes.annotators)[answered > 0]
    asked = overlap > 0
    concentration = float(of_person @ of_person)
    shared = parts.person * concentration
    # Chance in the annotators' means, from which the variance between annotators is estimated.
    noise = parts.rest * float((of_person**2 / answered[answered > 0]).sum())
    if votes.cluster is not None:
        of_cell, _ = votes.cell_sums(each)
        noise += parts.cell * float(of_cell @ of_cell)
    apart = model[votes.item] - people
    sums = np.bincount(votes.annotator, weights=each * (apart - float(each @ apart)))
    of_item = np.bincount(votes.item, weights=people, minlength=votes.items)[asked] / overlap[asked]
    part = SharedPart(
        shared,
        (shared + noise) ** 2 / max(1 / concentration - 1, 1),
        float((sums**3).sum()) if shared > 0 else 0.0,
        of_person.shape[0],
    )
    from_items = parts.item / of_item.shape[0] + parts.rest * float(each @ each)
    from_items += clustered_variance(votes, each, parts)
    clusters = None if votes.cluster is None else votes.cluster[asked]
    return crossed_difference(of_item, model[asked], part, item_variance=from_items, clusters=clusters)
