"""The registry of metrics: each metric is its module, and its line here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from merilo.errors import UsageError
from merilo.metrics import correlation, detox, exam, labels, slots, squad
from merilo.metrics.answers import AnswerKind
from merilo.metrics.metric import Metric
from merilo.metrics.pass_at_k import pass_metric

_Kinds = frozenset[AnswerKind]
_CLOSED: Final[_Kinds] = frozenset({"choice", "integer", "label"})
_WRITTEN: Final[_Kinds] = frozenset({"choice", "integer", "label", "text"})
_TEXT: Final[_Kinds] = frozenset({"text"})
_SLOTS: Final[_Kinds] = frozenset({"slots"})

_ALL: Final = (
    Metric("acc", _WRITTEN | {"verdict"}, labels.equal, display=("Accuracy", "acc")),
    Metric("exact_match", _WRITTEN, labels.equal_folded, display=("Exact match",)),
    Metric(
        "group_exact_match",
        _WRITTEN,
        labels.equal_folded,
        unit="group_id",
        whole=True,
        display=("Group Exact match",),
    ),
    Metric("em", _CLOSED, labels.equal, display=("Exact match",)),
    Metric("em", _TEXT, squad.em, display=("Exact match",), steps=squad.steps),
    Metric("f1", _TEXT, squad.f1, display=("F1", "Token F1"), steps=squad.steps),
    Metric("f1_macro", _CLOSED, statistic=labels.f1_macro, display=("F1 macro", "Macro F1")),
    Metric("mcc", _CLOSED | {"criteria"}, statistic=labels.mcc, bounds=(-1.0, 1.0), display=("MCC",)),
    Metric("pearson", _WRITTEN, statistic=correlation.pearson, bounds=(-1.0, 1.0), display=("Pearson",)),
    Metric("spearman", _WRITTEN, statistic=correlation.spearman, bounds=(-1.0, 1.0), display=("Spearman",)),
    Metric("intent_exact_match", _SLOTS, slots.intent_points, display=("Intent Exact Match",)),
    Metric("slots_f1", _SLOTS, slots.slot_points, display=("Slots F1",)),
    Metric(
        "grade_norm",
        _TEXT,
        exam.points,
        most=exam.most,
        unit="variant",
        counted=exam.complete_rows,
        lacking=exam.lacking,
        display=("Grade Norm",),
        steps=exam.steps,
    ),
    Metric("j", _TEXT, ratings=detox.product, display=("J",)),
    Metric("sta", _TEXT, ratings=lambda ratings: ratings.sta, display=("STA",)),
    Metric("sim", _TEXT, ratings=lambda ratings: ratings.sim, display=("SIM",)),
    Metric("fl", _TEXT, ratings=lambda ratings: ratings.fl, display=("FL",)),
)
_PASS_AT: Final = re.compile(r"pass@([1-9][0-9]*)")

#: The names of all metrics; `pass@k` takes any k.
NAMES: Final = tuple(dict.fromkeys((*(metric.name for metric in _ALL), "pass@k")))


def is_metric(name: str) -> bool:
    """Check whether a metric of this name exists.

    Example:
        >>> is_metric("acc"), is_metric("pass@10"), is_metric("pass@0")
        (True, True, False)
    """
    return name in NAMES[:-1] or _PASS_AT.fullmatch(name) is not None


def metric_of(name: str, kind: AnswerKind) -> Metric:
    """Return the metric of a name that scores answers of a kind.

    Raises:
        UsageError: there is no such metric, or it does not score such answers; the message names those that do.

    Example:
        >>> metric_of("mcc", "choice").is_mean
        False
    """
    if not is_metric(name):
        raise UsageError(f"there is no metric '{name}' (choose from: {', '.join(NAMES)})")
    at_k = _PASS_AT.fullmatch(name)
    named = [pass_metric(int(at_k[1]))] if at_k else [metric for metric in _ALL if metric.name == name]
    for metric in named:
        if kind in metric.answers:
            return metric
    raise UsageError(
        f"the metric '{name}' does not fit answers of kind '{kind}' (choose from: {', '.join(fitting(kind))})"
    )


def fitting(kind: AnswerKind) -> tuple[str, ...]:
    """Return the names of the metrics that score answers of a kind.

    Example:
        >>> fitting("program"), fitting("verdict")
        (('pass@k',), ('acc',))
    """
    return tuple(name for name in NAMES if kind in _kinds(name))


def _kinds(name: str) -> frozenset[AnswerKind]:
    if name == "pass@k":
        return pass_metric(1).answers
    return frozenset(kind for metric in _ALL if metric.name == name for kind in metric.answers)


def displayed(name: str, kind: AnswerKind) -> str | None:
    """Return the metric that metadata of the benchmark call by this name, if it scores answers of a kind.

    Example:
        >>> displayed("Exact match", "text"), displayed("macro-F1", "choice"), displayed("BLEU", "text")
        ('exact_match', 'f1_macro', None)
    """
    plain = _plain(name)
    return next((one.name for one in _ALL if kind in one.answers and plain in map(_plain, _names(one))), None)


def _names(metric: Metric) -> Iterable[str]:
    return (metric.name, *metric.display)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())
