"""Populations of annotators and items that the coverage benchmarks draw from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: The share of wrong answers that are the most attractive wrong label.
ATTRACTED = 0.3


@dataclass(frozen=True)
class Population:
    """Whom and what a study draws from."""

    name: str
    ability: float
    spread: float
    labels: int
    difficulty: float = 1.0


POPULATIONS = (
    Population("hard", 0.5, 0.5, 2),
    Population("middling", 1.2, 0.8, 4),
    Population("easy", 2.5, 1.0, 4),
    Population("near 1", 3.3, 1.0, 4),
)


def answered(
    population: Population,
    item: NDArray[np.intp],
    person: NDArray[np.intp],
    rng: np.random.Generator,
    shift: float,
) -> NDArray[np.int32]:
    """Return the labels of answers; 0 is correct."""
    ability = population.ability + shift + population.spread * rng.standard_normal(int(person.max()) + 1)
    difficulty = population.difficulty * rng.standard_normal(int(item.max()) + 1)
    right = rng.random(item.shape[0]) < 1 / (1 + np.exp(difficulty[item] - ability[person]))
    wrong = rng.integers(1, population.labels, item.shape[0])
    wrong = np.where(rng.random(item.shape[0]) < ATTRACTED, 1, wrong)
    return np.where(right, 0, wrong).astype(np.int32)
