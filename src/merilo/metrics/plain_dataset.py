"""A minimal dataset declaration for scoring, for datasets that are not in the catalogue or are read from a baseline's folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from merilo.errors import DataError, UsageError
from merilo.items import Item
from merilo.metrics.answers import AnswerForm
from merilo.strict_json import Json

#: Metrics that need only the labels of the answer and of the gold answer.
LABEL_METRICS: Final = ("acc", "em", "f1_macro", "mcc", "f1")

#: Kind of answer -> metrics that fit it.
_FITTING: Final[Mapping[str, tuple[str, ...]]] = {
    "label": LABEL_METRICS,
    "choice": ("acc", "em", "f1_macro", "mcc"),
    "integer": ("acc", "em"),
    "text": ("f1", "em", "acc"),
}


@dataclass(frozen=True, slots=True)
class PlainAnswer:
    """The form of an answer; see `merilo.metrics.answers.AnswerForm`."""

    kind: str = "label"
    labels: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    alternatives: str | None = None


@dataclass(frozen=True, slots=True)
class PlainDataset:
    """A dataset's name, metrics and answers, without its prompts; see `merilo.metrics.scoring.Declared`.

    Attributes:
        name: the dataset's name; empty if it has none.
        metrics: names of metrics, the main one first.
        answer: the form of an answer.
        extra: the name of the metric by group, the group's fields in braces: `acc.{domain}`.
        cluster: the field of `inputs` or `meta` that items of one cluster share.
    """

    name: str
    metrics: tuple[str, ...]
    answer: AnswerForm
    extra: str | None = None
    cluster: str | None = None

    def group(self, item: Item) -> str | None:
        """Return the name of the metric of the item's group; `None` if there are no groups."""
        return item.fill(self.extra)

    def results(self, item: Item) -> Sequence[str]:
        """Raise an error: programs can be scored only with their dataset.

        Raises:
            DataError: always.
        """
        raise DataError(f"item {item.id!r}: programs can be scored only with their dataset's declaration")


def undeclared(metric: str = "acc", alternatives: str | None = None) -> PlainDataset:
    """Return a declaration for labels without a declared dataset.

    Args:
        metric: one of `LABEL_METRICS`.
        alternatives: the separator between alternative answers in a gold text; answers are then free texts.

    Raises:
        UsageError: the metric needs more than labels.

    Example:
        >>> undeclared("f1", ";").answer.kind
        'text'
    """
    if metric not in LABEL_METRICS:
        raise UsageError(
            f"the metric '{metric}' needs a dataset; without a dataset, choose from: {', '.join(LABEL_METRICS)}"
        )
    if alternatives is not None and metric not in _FITTING["text"]:
        raise UsageError(f"{metric} takes one gold answer per item, but alternatives were given")
    kind = "text" if metric == "f1" or alternatives is not None else "label"
    return PlainDataset("", (metric,), PlainAnswer(kind, alternatives=alternatives))


def with_metric(dataset: PlainDataset, metric: str) -> PlainDataset:
    """Return the dataset with this metric as its main metric.

    Raises:
        UsageError: the metric does not fit the dataset's answers; the message names those that do.
    """
    fitting = tuple(dict.fromkeys((*dataset.metrics, *_FITTING.get(dataset.answer.kind, ()))))
    if metric not in fitting:
        raise UsageError(
            f"the metric '{metric}' does not fit the answers of {dataset.name} (choose from: {', '.join(fitting)})"
        )
    return PlainDataset(
        dataset.name,
        tuple(dict.fromkeys((metric, *dataset.metrics))),
        dataset.answer,
        dataset.extra,
    )


def declaration_json(dataset: PlainDataset) -> dict[str, Json]:
    """Convert the declaration to JSON; `read_declaration_json` reads it back."""
    answer = dataset.answer
    return {
        "name": dataset.name,
        "metrics": list(dataset.metrics),
        "extra": dataset.extra,
        "answer": {
            "kind": answer.kind,
            "labels": list(answer.labels),
            "criteria": list(answer.criteria),
            "alternatives": answer.alternatives,
        },
    }


def read_declaration_json(content: Json) -> PlainDataset | None:
    """Read what `declaration_json` wrote; `None` if the content is not such a declaration."""
    answer = content.get("answer") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(answer, dict):
        return None
    metrics, extra, alternatives = content.get("metrics"), content.get("extra"), answer.get("alternatives")
    if not isinstance(metrics, list) or not metrics:
        return None

    def texts(name: str) -> tuple[str, ...]:
        value = answer.get(name) if isinstance(answer, dict) else None
        return tuple(map(str, value)) if isinstance(value, list) else ()

    return PlainDataset(
        str(content.get("name") or ""),
        tuple(map(str, metrics)),
        PlainAnswer(
            str(answer.get("kind")),
            texts("labels"),
            texts("criteria"),
            alternatives if isinstance(alternatives, str) else None,
        ),
        extra if isinstance(extra, str) else None,
    )
