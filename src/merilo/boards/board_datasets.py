"""The datasets of a board: what its columns, totals and groups need of a declaration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from merilo.datasets import CATALOGUE, Dataset, HumanFigure
from merilo.strict_json import Json


@dataclass(frozen=True, slots=True)
class BoardDataset:
    """A dataset of a board.

    Attributes:
        key: its name in lower case.
        title: its title.
        metrics: the main metrics; empty if it has metrics by group only.
        in_total: whether it counts in the benchmark's total score.
        skills: the skills that it tests.
        human: the published values of people.
    """

    key: str
    title: str
    metrics: tuple[str, ...]
    in_total: bool = False
    skills: tuple[str, ...] = ()
    human: tuple[HumanFigure, ...] = ()

    @property
    def of_catalogue(self) -> bool:
        """Whether it is a dataset of the benchmark."""
        return self.key in CATALOGUE

    @staticmethod
    def of(declared: Dataset) -> BoardDataset:
        """Return what a board needs of a declaration."""
        known = CATALOGUE.get(declared.name.lower(), declared)
        main = () if known.answer.kind == "criteria" else known.metrics
        return BoardDataset(
            known.name.lower(), known.title or known.name, main, known.in_total, known.skills, known.human
        )

    def to_json(self) -> dict[str, Json]:
        """Return the dataset as JSON; `of_json` reads it back."""
        return {
            "dataset": self.key,
            "title": self.title,
            "metrics": [*self.metrics],
            "in_total": self.in_total,
            "skills": [*self.skills],
            "published": [
                {
                    "metric": one.metric,
                    "value": one.value,
                    "n": one.n,
                    "kind": one.provenance,
                    "source": one.source,
                }
                for one in self.human
            ],
        }

    @staticmethod
    def of_json(held: Json) -> BoardDataset:
        """Read what `to_json` wrote."""
        known = cast("Mapping[str, Any]", held)
        if known["dataset"] in CATALOGUE:
            return BoardDataset.of(CATALOGUE[known["dataset"]])
        human = (
            HumanFigure(
                metric=one["metric"],
                value=one["value"],
                n=one["n"],
                provenance=one["kind"],
                source=one["source"],
            )
            for one in known["published"]
        )
        return BoardDataset(
            known["dataset"],
            known["title"],
            tuple(known["metrics"]),
            known["in_total"],
            tuple(known["skills"]),
            tuple(human),
        )
