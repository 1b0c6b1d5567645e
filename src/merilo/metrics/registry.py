"""The registry of metrics: each metric is its module, and its line here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from merilo.errors import UsageError
from merilo.metrics import detox, exam, labels, slots, squad
from merilo.metrics.answers import AnswerKind
from merilo.metrics.metric import Metric, Statistic
from merilo.metrics.pass_at_k import pass_metric
from merilo.text import Text

if TYPE_CHECKING:
    from merilo.metrics.detox import Ratings
    from merilo.statistics import FloatArray

_Kinds = frozenset[AnswerKind]
_CLOSED: Final[_Kinds] = frozenset({"choice", "integer", "label"})
_WRITTEN: Final[_Kinds] = frozenset({"choice", "integer", "label", "text"})
_TEXT: Final[_Kinds] = frozenset({"text"})
_SLOTS: Final[_Kinds] = frozenset({"slots"})

_CORRELATION: Final = (-1.0, 1.0)
_EXACT: Final = ("Exact match",)

_FOLDED: Final = partial(labels.matching, labels.folded)
_MACRO: Final = ("Macro F1", "F1 macro score", "Macro F1 score", "F1 score macro")
_MATTHEWS: Final = ("Matthews correlation coefficient", "Matthews correlation", "5 MCC")
_GRADE: Final = ("Grade normalised", "Grade normalized")


def _rated(name: str, ratings: Callable[[Ratings], FloatArray], title: Text, *display: str) -> Metric:
    return Metric(name, _TEXT, ratings=ratings, title=title, display=display)


def _statistic(module: str, name: str) -> Statistic:
    """Return a statistic whose module is imported when it is computed: without it, no metric needs NumPy."""

    def computed(gold: Sequence[str], answers: Sequence[str], weight: FloatArray) -> FloatArray:
        statistic: Statistic = getattr(import_module(f"merilo.metrics.{module}"), name)
        return statistic(gold, answers, weight)

    return computed


_ALL: Final = (
    Metric(
        "acc", _WRITTEN | {"verdict"}, labels.equal, exact=True, title=Text("accuracy"), display=("Accuracy",)
    ),
    Metric("exact_match", _WRITTEN, _FOLDED, exact=True, key=labels.folded, title=Text("exact match")),
    Metric("group_exact_match", _WRITTEN, _FOLDED, unit="group_id", whole=True, key=labels.folded),
    Metric("em", _CLOSED, labels.equal, exact=True, title=Text("exact match"), display=_EXACT),
    Metric(
        "em", _TEXT, partial(labels.matching, squad.normalised), exact=True, display=_EXACT, steps=squad.steps
    ),
    Metric(
        "f1", _TEXT, squad.f1, steps=squad.steps, title=Text("token F1"), display=("F1 score", "Token F1")
    ),
    Metric(
        "f1_macro",
        _CLOSED,
        statistic=_statistic("label_statistics", "f1_macro"),
        title=Text("macro F1"),
        display=_MACRO,
    ),
    Metric(
        "mcc",
        _CLOSED | {"criteria"},
        statistic=_statistic("label_statistics", "mcc"),
        bounds=_CORRELATION,
        title=Text("Matthews correlation coefficient"),
        display=_MATTHEWS,
    ),
    Metric("pearson", _WRITTEN, statistic=_statistic("correlation", "pearson"), bounds=_CORRELATION),
    Metric("spearman", _WRITTEN, statistic=_statistic("correlation", "spearman"), bounds=_CORRELATION),
    Metric("intent_exact_match", _SLOTS, slots.intent_points, exact=True),
    Metric("slots_f1", _SLOTS, slots.slot_points),
    Metric(
        "grade_norm",
        _TEXT,
        exam.points,
        most=exam.most,
        unit="variant",
        counted=exam.complete_rows,
        lacking=exam.lacking,
        title=Text("normalised grade"),
        display=_GRADE,
        steps=exam.steps,
    ),
    _rated("j", detox.product, Text("joint score J"), "Joint score", "Joint", "J (STA SIM FL)"),
    _rated("sta", attrgetter("sta"), Text("style transfer accuracy (STA)"), "Style transfer accuracy"),
    _rated(
        "sim",
        attrgetter("sim"),
        Text("meaning preservation (SIM)"),
        "Meaning preservation score",
        "Similarity",
    ),
    _rated("fl", attrgetter("fl"), Text("fluency (FL)"), "Fluency", "Fluency score"),
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
    return bool(_named(name))


def _named(name: str) -> list[Metric]:
    """Return the metrics of a name, each for other kinds of answers."""
    at_k = _PASS_AT.fullmatch(name)
    return [pass_metric(int(at_k[1]))] if at_k else [metric for metric in _ALL if metric.name == name]


def metric_of(name: str, kind: AnswerKind) -> Metric:
    """Return the metric of a name that scores answers of a kind.

    Raises:
        UsageError: there is no such metric, or it does not score such answers; the message names those that do.

    Example:
        >>> metric_of("mcc", "choice").is_mean
        False
    """
    if not (named := _named(name)):
        raise UsageError(f"there is no metric '{name}' (choose from: {', '.join(NAMES)})")
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
    names = dict.fromkeys(metric.name for metric in _ALL if kind in metric.answers)
    return tuple(names) if kind != "program" else ("pass@k",)


def displayed(name: str, kind: AnswerKind) -> str | None:
    """Return the metric that metadata of the benchmark call by this name, if it scores answers of a kind.

    Example:
        >>> displayed("Exact match", "text"), displayed("macro-F1", "choice"), displayed("BLEU", "text")
        ('exact_match', 'f1_macro', None)
    """
    plain = plain_name(name)
    named = (metric for metric in _ALL if plain in map(plain_name, (metric.name, *metric.display)))
    return next((metric.name for metric in named if kind in metric.answers), None)


def display_of(name: str) -> tuple[str, ...]:
    """Return the names of a metric in metadata of the benchmark, as `plain_name` writes them."""
    return tuple(plain_name(shown) for metric in _ALL if metric.name == name for shown in metric.display)


def title_of(name: str) -> Text | None:
    """Return what a metric is called in prose; `None` if it has no title."""
    return next((metric.title for metric in _ALL if metric.name == name), None)


def plain_name(name: str) -> str:
    """Return a name without case, spaces and punctuation; "pass@1" and "pass@10" stay apart from other names."""
    return re.sub(r"[\W_]+", "", name.casefold().replace("@", "at"))
