"""Simulated studies of crowds that are known: who answers what, with which right labels.

Every study draws new people and new items. A person knows an item with the probability of a logistic curve of ability
less difficulty; 30 % of wrong answers are the most attractive wrong label. Some people answer several times as much as
others. The coverage of intervals is measured on these studies by `coverage.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
#: The share of wrong answers that are the most attractive wrong label.
ATTRACTED = 0.3


@dataclass(frozen=True)
class Crowd:
    """A population of people and items, and the design of a study.

    Attributes:
        name: the name in the table.
        ability: the mean ability in logits, with the standard deviation `spread`; that of items' difficulties is 1.
        labels: the number of labels; shares of the labels among the gold answers are equal, or `shares`.
        items: items of a study; overlap: the answers to each; people: the annotators of a study.
        sloppy: the share of people whose ability is lower by 1.5.
        guessers: the share of people who guess, and how many times as much as others they answer.
        controls: the number of control items that each person answers.
        cluster: how many items share a text, a half of the variance of difficulties, and people's luck with a text.
        ordered: errors are along the scale of labels, by one label.
        strata: the items of each stratum of a fixed dataset and their mean difficulty, of which a study samples as many
            from each.
        options: keyword arguments of `merilo.baseline`.
    """

    name: str
    ability: float = 1.5
    spread: float = 0.8
    labels: int = 4
    items: int = 200
    overlap: int = 5
    people: int = 24
    shares: tuple[float, ...] = ()
    sloppy: float = 0.0
    guessers: tuple[float, float] = (0.0, 1.0)
    controls: int = 0
    cluster: int = 1
    ordered: bool = False
    strata: tuple[tuple[int, float], ...] = ()
    options: tuple[tuple[str, object], ...] = ()

    def text(self, label: int) -> str:
        """Return the text of a label: numbers have an order."""
        return str(label) if self.ordered else f"label {label}"


@dataclass(frozen=True)
class Study:
    """The answers of a study, one row each, the gold answers, and the weights of a sample."""

    rows: pl.DataFrame
    gold: pl.DataFrame
    weights: pl.DataFrame | None = None


def people_of(crowd: Crowd, rng: np.random.Generator) -> tuple[FloatArray, NDArray[np.bool_], FloatArray]:
    """Draw the people: their abilities, who guesses, and the logarithm of how much each works."""
    share, work = crowd.guessers
    guesses = rng.random(crowd.people) < share
    ability = crowd.ability + crowd.spread * rng.standard_normal(crowd.people)
    ability -= 1.5 * (rng.random(crowd.people) < crowd.sloppy)
    busy = 0.7 * rng.standard_normal(crowd.people) + np.log(np.where(guesses, work, 1.0))
    return ability, guesses, busy


def study(crowd: Crowd, rng: np.random.Generator) -> Study:
    """Draw a study."""
    ability, guesses, busy = people_of(crowd, rng)
    # Nobody answers an item twice; who works more is chosen more often.
    chosen = np.argsort(-(busy + rng.gumbel(size=(crowd.items, crowd.people))), axis=1)[:, : crowd.overlap]
    item, person = np.repeat(np.arange(crowd.items), crowd.overlap), chosen.ravel()
    right = rng.choice(crowd.labels, crowd.items, p=crowd.shares or None)
    text = np.arange(crowd.items) // crowd.cluster
    difficulty, weights = rng.standard_normal(crowd.items), None
    if crowd.strata:
        difficulty, right, weights = _sample(crowd, rng)
    luck = np.zeros((crowd.people, int(text.max()) + 1))
    if crowd.cluster > 1:
        difficulty = (difficulty + rng.standard_normal(int(text.max()) + 1)[text]) / np.sqrt(2)
        luck = 0.4 * rng.standard_normal(luck.shape)
    able = ability[person] + luck[person, text[item]] - difficulty[item]
    label = answered(crowd, able, guesses[person], right[item], rng)
    columns = {"item": [f"q{n}" for n in item], "annotator": [f"p{n}" for n in person]}
    rows = pl.DataFrame({**columns, "answer": [crowd.text(n) for n in label]})
    if crowd.cluster > 1:
        rows = rows.with_columns(text=pl.Series([f"t{n}" for n in text[item]]))
    if crowd.controls:
        rows = pl.concat(
            [rows.with_columns(control=pl.lit(None, pl.String)), _controls(crowd, ability, guesses, rng)]
        )
    names = {"item": [f"q{n}" for n in range(crowd.items)], "gold": [crowd.text(n) for n in right]}
    return Study(rows, pl.DataFrame(names), weights)


def _sample(crowd: Crowd, rng: np.random.Generator) -> tuple[FloatArray, NDArray[np.int64], pl.DataFrame]:
    """Sample as many items from each stratum of the crowd's dataset: difficulties, right labels and weights."""
    fixed, drawn, parts = np.random.default_rng(1), crowd.items // len(crowd.strata), []
    for n, hard in crowd.strata:
        dataset = hard + fixed.standard_normal(n), fixed.integers(0, crowd.labels, n)
        chosen = rng.choice(n, drawn, replace=False)
        parts.append([values[chosen] for values in dataset])
    difficulty, right = (np.concatenate(values) for values in zip(*parts, strict=True))
    stratum = np.repeat(np.arange(len(crowd.strata)), drawn)
    weight = np.array([n / drawn for n, _ in crowd.strata])[stratum]
    columns = {"id": [f"q{n}" for n in range(crowd.items)], "stratum": [f"part={n}" for n in stratum]}
    return difficulty, right, pl.DataFrame({**columns, "weight": [str(one) for one in weight]})


def answered(
    crowd: Crowd,
    able: FloatArray,
    guesses: NDArray[np.bool_],
    right: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw the label of each answer, from the ability less the difficulty."""
    off = np.where(rng.random(able.size) < ATTRACTED, 1, rng.integers(1, max(crowd.labels, 2), able.size))
    wrong = (right + off) % crowd.labels
    if crowd.ordered:
        wrong = np.clip(right + rng.choice([-1, 1], able.size), 0, crowd.labels - 1)
        wrong = np.where(wrong == right, np.where(right > 0, right - 1, right + 1), wrong)
    label = np.where(rng.random(able.size) < 1 / (1 + np.exp(-able)), right, wrong)
    return np.where(guesses, rng.integers(0, crowd.labels, able.size), label)


def _controls(
    crowd: Crowd, ability: FloatArray, guesses: NDArray[np.bool_], rng: np.random.Generator
) -> pl.DataFrame:
    """Draw the answers to control items, which are easy, of a pool of twice as many."""
    count, people = crowd.controls, crowd.people
    pool = rng.integers(0, crowd.labels, 2 * count)
    asked = np.concatenate([rng.choice(pool.size, count, replace=False) for _ in range(people)])
    who = np.repeat(np.arange(people), count)
    label = answered(crowd, ability[who] + 1.5, guesses[who], pool[asked], rng)
    return pl.DataFrame(
        {
            "item": [f"c{n}" for n in asked],
            "annotator": [f"p{n}" for n in who],
            "answer": [crowd.text(n) for n in label],
            "control": [crowd.text(n) for n in pool[asked]],
        }
    )
