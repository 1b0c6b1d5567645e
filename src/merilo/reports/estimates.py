"""Estimates as text: counts, intervals, and the names of metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from merilo.metrics.registry import display_of, plain_name, title_of
from merilo.text import Text, joined

#: Names that mean a metric only if no other computed metric has a better claim to them. Accuracy and exact
#: match are both
#: the share of answers that equal the gold answer.
_ALSO: Final[Mapping[str, tuple[str, ...]]] = {
    "acc": ("exactmatch", "em"),
    "em": ("accuracy", "acc"),
    "f1_macro": ("f1", "f1score"),
}

#: Groups of questions and criteria of the catalogue.
_GROUPS: Final = {
    "correct": Text("correct"),
    "good": Text("good"),
    "ethical": Text("ethical"),
    "virtue": Text("virtue"),
    "law": Text("law"),
    "moral": Text("moral"),
    "justice": Text("justice"),
    "utilitarianism": Text("utilitarianism"),
    "honest": Text("honest"),
    "helpful": Text("helpful"),
    "harmless": Text("harmless"),
}


def group_title(name: str) -> Text:
    """Return what a group of items is called in prose; a group that is not of the catalogue keeps its name.

    Example:
        >>> group_title("correct.law").en, group_title("honest").en, group_title("anatomy").en
        ('correct: law', 'honest', 'anatomy')
    """
    parts = name.split(".")
    if _GROUPS.keys() >= set(parts):
        return joined((_GROUPS[part] for part in parts), ": ")
    return joined([name])


def metric_title(name: str) -> Text:
    """Return what a metric is called in prose, to stand before "of the consensus".

    The group of a metric stands behind it.

    Example:
        >>> metric_title("acc").en, metric_title("acc.science").en, metric_title("pass@1").en
        ('accuracy', 'accuracy (science)', 'pass@1')
    """
    base, _, group = name.partition(".")
    title = title_of(base)
    if title is None:
        return group_title(name)
    return Text("{metric} ({group})", metric=title, group=group_title(group)) if group else title


def display_names(computed: Sequence[str], displayed: Sequence[str]) -> dict[str, str]:
    """Find the display name of each computed metric among the names that a card uses.

    Equal names come first, then usual display names, then names that also fit: a card that calls the exact
    match "Accuracy" gets it there, unless the accuracy was computed too. No display name is given to two metrics.

    Args:
        computed: our names of metrics, main ones first.
        displayed: the names that the card's `metrics` uses.

    Returns:
        Our name -> display name, for the metrics that the card names.

    Example:
        >>> display_names(["acc", "f1_macro"], ["F1-score", "Accuracy"])
        {'acc': 'Accuracy', 'f1_macro': 'F1-score'}
        >>> display_names(["em"], ["Accuracy"]), display_names(["acc"], ["chrf"])
        ({'em': 'Accuracy'}, {})
    """
    free = {plain_name(name): name for name in reversed(displayed)}
    displays: dict[str, str] = {}
    for meanings in (lambda base: (base,), display_of, lambda base: _ALSO.get(base, ())):
        for name in computed:
            if name in displays:
                continue
            base, mark, group = name.partition(".")
            candidates = [f"{plain_name(meaning)}{plain_name(group)}" for meaning in meanings(base)]
            fitting = next((plain for plain in candidates if plain in free), None)
            if fitting is not None and not (mark and not group):
                displays[name] = free.pop(fitting)
    return {name: displays[name] for name in computed if name in displays}
