"""The registry of metrics, each its module and its line here, and what a dataset declares of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from merilo.errors import UsageError
from merilo.metrics import detox, exam, labels, slots, squad
from merilo.metrics.answers import Answer, AnswerKind
from merilo.metrics.metric import Metric, Statistic
from merilo.metrics.pass_at_k import pass_metric
from merilo.text import Text

if TYPE_CHECKING:
    from merilo.statistics import FloatArray

_CLOSED: Final = frozenset[AnswerKind]({"choice", "integer", "label"})
_WRITTEN: Final = _CLOSED | frozenset[AnswerKind]({"text"})
_TEXT: Final = frozenset[AnswerKind]({"text"})
_SLOTS: Final = frozenset[AnswerKind]({"slots"})
_FOLDED: Final = partial(labels.matching, labels.folded)
_NORMALISED: Final = partial(labels.matching, squad.normalised)


def _statistic(name: str) -> Statistic:
    """Return a statistic whose module is imported when it is computed: without it, no metric needs NumPy."""

    def computed(gold: Sequence[str], answers: Sequence[str], weight: FloatArray) -> FloatArray:
        statistic: Statistic = getattr(import_module("merilo.metrics.table_statistics"), name)
        return statistic(gold, answers, weight)

    return computed


_ALL: Final = (
    Metric("acc", _WRITTEN | {"verdict"}, labels.equal, exact=True, title=Text("accuracy"),
           display=("Accuracy",)),
    Metric("exact_match", _WRITTEN, _FOLDED, exact=True, key=labels.folded, title=Text("exact match")),
    Metric("group_exact_match", _WRITTEN, _FOLDED, unit="group_id", whole=True, key=labels.folded),
    Metric("em", _CLOSED, labels.equal, exact=True, title=Text("exact match"), display=("Exact match",)),
    Metric("em", _TEXT, _NORMALISED, exact=True, display=("Exact match",), steps=squad.steps),
    Metric("f1", _TEXT, squad.f1, steps=squad.steps, title=Text("token F1"),
           display=("F1 score", "Token F1")),
    Metric("f1_macro", _CLOSED, statistic=_statistic("f1_macro"), title=Text("macro F1"),
           display=("Macro F1", "F1 macro score", "Macro F1 score", "F1 score macro")),
    Metric("mcc", _CLOSED | {"criteria"}, statistic=_statistic("mcc"), bounds=(-1.0, 1.0),
           title=Text("Matthews correlation coefficient"),
           display=("Matthews correlation coefficient", "Matthews correlation", "5 MCC")),
    Metric("pearson", _WRITTEN, statistic=_statistic("pearson"), bounds=(-1.0, 1.0)),
    Metric("spearman", _WRITTEN, statistic=_statistic("spearman"), bounds=(-1.0, 1.0)),
    Metric("intent_exact_match", _SLOTS, slots.intent_points, exact=True),
    Metric("slots_f1", _SLOTS, slots.slot_points),
    Metric("grade_norm", _TEXT, exam.points, most=exam.most, unit="variant", counted=exam.complete_rows,
           lacking=exam.lacking, title=Text("normalised grade"), steps=exam.steps,
           display=("Grade normalised", "Grade normalized")),
    Metric("j", _TEXT, ratings=detox.product, title=Text("joint score J"),
           display=("Joint score", "Joint", "J (STA SIM FL)")),
    Metric("sta", _TEXT, ratings=attrgetter("sta"), title=Text("style transfer accuracy (STA)"),
           display=("Style transfer accuracy",)),
    Metric("sim", _TEXT, ratings=attrgetter("sim"), title=Text("meaning preservation (SIM)"),
           display=("Meaning preservation score", "Similarity")),
    Metric("fl", _TEXT, ratings=attrgetter("fl"), title=Text("fluency (FL)"),
           display=("Fluency", "Fluency score")),
)  # fmt: skip
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """How the answers to a dataset are scored.

    Attributes:
        name: the dataset's name in lower case: the key in the catalogue, the file's name, the configuration on the hub.
        answer: the form of an answer.
        metrics: names of metrics, the main one first.
        extra: the name of the metric by group, the group's field or fields in braces: `acc.{domain}`.
        cluster: the field of `inputs` or `meta` that items of one cluster share: a text, a dialogue. Items
            with the same value are not independent, which every interval and test takes into account; by
            default, the units of a metric that counts whole units, or else none: all items are independent.
    """

    name: str
    answer: Answer
    metrics: tuple[str, ...]
    extra: str | None = None
    cluster: str | None = None

    def __post_init__(self) -> None:
        if not self.metrics:
            raise ValueError("a dataset needs a metric")
        grouped = self.fields_of_groups and self.answer.kind != "criteria"
        names = (*self.metrics, *([str(self.extra).partition(".")[0]] if grouped else []))
        try:
            metrics = [metric_of(name, self.answer.kind) for name in names]
        except UsageError as error:
            raise ValueError(str(error)) from None
        if len(set(self.metrics)) < len(self.metrics):
            raise ValueError("a metric is named twice")
        if self.cluster is None:
            unit = next((metric.unit for metric in metrics if metric.whole), None)
            object.__setattr__(self, "cluster", unit)

    @property
    def rated(self) -> bool:
        """Whether all metrics are computed by the classifiers of ruDetox, whose gold is the toxic sentence itself."""
        return all(metric_of(name, self.answer.kind).ratings for name in self.metrics)

    @property
    def judged(self) -> bool:
        """Whether every answer is right or wrong by itself and has no consensus: programs and scored answers."""
        return self.answer.kind in {"program", "verdict"}

    @property
    def fields_of_groups(self) -> tuple[str, ...]:
        """The fields of `meta` by which the items are grouped, each group with a metric of its own."""
        return tuple(name for name in re.findall(r"\{([\w.]+)\}", self.extra or "") if name != "criterion")
