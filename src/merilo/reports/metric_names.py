"""Names of metrics: how cards call them, and how prose does."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

#: Our metric -> display names that mean it, most usual first, without case, spaces and punctuation.
_DISPLAYED: Final[Mapping[str, tuple[str, ...]]] = {
    "acc": ("accuracy", "acc"),
    "em": ("exactmatch", "em"),
    "f1": ("f1", "f1score", "tokenf1", "squadf1"),
    "f1_macro": ("f1macro", "macrof1", "f1macroscore", "macrof1score", "f1scoremacro"),
    "mcc": ("mcc", "matthewscorrelationcoefficient", "matthewscorrelation", "5mcc"),
    "grade_norm": ("gradenorm", "gradenormalised", "gradenormalized"),
    "j": ("j", "jointscore", "joint", "jstasimfl"),
    "sta": ("sta", "styletransferaccuracy"),
    "sim": ("sim", "meaningpreservationscore", "similarity"),
    "fl": ("fl", "fluency", "fluencyscore"),
}

#: Names that mean a metric only if no other computed metric has a better claim to them. Accuracy and exact match are both
#: the share of answers that equal the gold answer.
_ALSO: Final[Mapping[str, tuple[str, ...]]] = {
    "acc": ("exactmatch", "em"),
    "em": ("accuracy", "acc"),
    "f1_macro": ("f1", "f1score"),
}

_MARKS: Final = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class MetricTitle:
    """What a metric is called in prose.

    Attributes:
        en: in English, to stand before "of the consensus".
        ru: in Russian, nominative.
        feminine: whether the Russian noun is feminine, for the verb that agrees with it.
    """

    en: str
    ru: str
    feminine: bool = True


_TITLES: Final[Mapping[str, MetricTitle]] = {
    "acc": MetricTitle("accuracy", "точность"),
    "em": MetricTitle("exact match", "доля точных совпадений"),
    "f1": MetricTitle("token F1", "F1-мера по токенам"),
    "f1_macro": MetricTitle("macro F1", "макро-F1-мера"),
    "mcc": MetricTitle("Matthews correlation coefficient", "корреляция Мэтьюза (MCC)"),
    "grade_norm": MetricTitle("normalised grade", "нормированная оценка за экзамен"),
    "j": MetricTitle("joint score J", "совместная оценка J"),
    "sta": MetricTitle("style transfer accuracy (STA)", "точность переноса стиля (STA)"),
    "sim": MetricTitle("meaning preservation (SIM)", "сохранность смысла (SIM)"),
    "fl": MetricTitle("fluency (FL)", "естественность текста (FL)"),
}


#: Groups of questions and criteria of the catalogue, in Russian.
_GROUPS_RU: Final = {
    "correct": "правильно",
    "good": "хорошо",
    "ethical": "этично",
    "virtue": "добродетель",
    "law": "закон",
    "moral": "мораль",
    "justice": "справедливость",
    "utilitarianism": "утилитаризм",
    "honest": "честность",
    "helpful": "полезность",
    "harmless": "безвредность",
}


def group_ru(name: str) -> str:
    """Return the Russian name of a group of items; a group that is not of the catalogue keeps its name.

    Example:
        >>> group_ru("correct.law"), group_ru("acc.honest"), group_ru("anatomy")
        ('правильно: закон', 'acc.честность', 'anatomy')
    """
    parts = name.split(".")
    between = ": " if _GROUPS_RU.keys() >= set(parts) else "."
    return between.join(_GROUPS_RU.get(part, part) for part in parts)


def metric_title(name: str) -> MetricTitle:
    """Return what a metric is called in prose; a metric by group has the group behind it.

    Example:
        >>> metric_title("acc").en, metric_title("acc.science").en, metric_title("pass@1").en
        ('accuracy', 'accuracy (science)', 'pass@1')
    """
    base, _, group = name.partition(".")
    title = _TITLES.get(base, MetricTitle(base, base))
    return MetricTitle(f"{title.en} ({group})", f"{title.ru} ({group_ru(group)})") if group else title


def metric_ru(name: str) -> str:
    """Return what the Russian report calls a metric, or a group of a metric.

    Example:
        >>> metric_ru("acc"), metric_ru("acc.honest"), metric_ru("correct.law"), metric_ru("pass@1")
        ('точность', 'точность (честность)', 'правильно: закон', 'pass@1')
    """
    return metric_title(name).ru if name.partition(".")[0] in _TITLES else group_ru(name)


def display_names(computed: Sequence[str], displayed: Sequence[str]) -> dict[str, str]:
    """Find the display name of each computed metric among the names that a card uses.

    Equal names come first, then usual display names, then names that also fit: a card that calls the exact match "Accuracy" gets
    it there, unless the accuracy was computed too. No display name is given to two metrics.

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
    free = {_plain(name): name for name in reversed(displayed)}
    found: dict[str, str] = {}
    for meanings in ({}, _DISPLAYED, _ALSO):
        for name in computed:
            if name in found:
                continue
            base, mark, group = name.partition(".")
            candidates = [f"{plain}{_plain(group)}" for plain in meanings.get(base, ())]
            if not meanings:
                candidates = [_plain(name)]
            fitting = next((plain for plain in candidates if plain in free), None)
            if fitting is not None and not (mark and not group):
                found[name] = free.pop(fitting)
    return {name: found[name] for name in computed if name in found}


def _plain(name: str) -> str:
    # The sign of pass@k keeps "pass@1" and "pass@10" apart from other names.
    return _MARKS.sub("", name.casefold().replace("@", "at"))
