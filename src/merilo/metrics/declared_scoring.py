"""How the answers to a dataset are scored, as its declaration says."""

from __future__ import annotations

import re
from dataclasses import dataclass

from merilo.errors import UsageError
from merilo.metrics.answers import Answer
from merilo.metrics.registry import metric_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """How the answers to a dataset are scored.

    Attributes:
        name: the dataset's name in lower case: the key in the catalogue, the file's name, the configuration on the hub.
        answer: the form of an answer.
        metrics: names of metrics, the main one first.
        extra: the name of the metric by group, the group's field or fields in braces: `acc.{domain}`.
        cluster: the field of `inputs` or `meta` that items of one cluster share: a text, a dialogue. Items
            with the same value are not independent, which every interval and test takes into account; `None`:
            all items are independent.
    """

    name: str
    answer: Answer
    metrics: tuple[str, ...]
    extra: str | None = None
    cluster: str | None = None

    def __post_init__(self) -> None:
        if not self.metrics:
            raise ValueError("a dataset needs a metric")
        for name in self.metrics:
            self._check(name)
        if self.fields_of_groups and self.answer.kind != "criteria":
            self._check(str(self.extra).partition(".")[0])
        if len(set(self.metrics)) < len(self.metrics):
            raise ValueError("a metric is named twice")

    def _check(self, metric: str) -> None:
        try:
            metric_of(metric, self.answer.kind)
        except UsageError as error:
            raise ValueError(str(error)) from None

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
