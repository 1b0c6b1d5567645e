"""The quality of a baseline's people, and how much its figure hangs on who is kept and who decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import polars as pl

from merilo.errors import UsageError
from merilo.metrics.intervals import wilson
from merilo.metrics.score import Score
from merilo.people.aggregation import NO_LABEL, Consensus, dawid_skene, fit_glad, glad, majority, plurality
from merilo.people.baseline import Baseline
from merilo.people.quality.annotators import PeopleQuality, Rule, people_quality
from merilo.people.quality.reading import StudyWork, study_work
from merilo.people.quality.sensitivity import Aggregator, SensitivityRow, sensitivity
from merilo.people.quality.work import FloatArray
from merilo.people.votes import Votes

#: Beyond so many answers models of people are fitted only where they are asked for, not ten times for a table.
MOST_ANSWERS: Final = 50_000


@dataclass(frozen=True, slots=True)
class StudyQuality:
    """The quality of a study's people and the sensitivity of its figure.

    Attributes:
        people: one row a person, and the tests.
        sensitivity: the figure under every threshold on controls and every aggregator.
        left_out: aggregators that could not be run, and why.
    """

    people: PeopleQuality
    sensitivity: tuple[SensitivityRow, ...]
    left_out: Mapping[str, str]


def study_quality(baseline: Baseline) -> StudyQuality:
    """Look at the people behind a baseline, and at what becomes of its figure without some of them.

    Models of people are fitted on every answer of the study, controls and excluded people included.

    Args:
        baseline: the baseline.

    Returns:
        The quality.
    """
    golds = _golds(baseline)
    study = study_work(baseline.responses, golds.values())
    votes = study.work.votes
    rule = Rule(baseline.settings.min_control_accuracy, baseline.settings.min_controls)
    first = votes.where(_first_answers(votes))
    abilities, left_out = _abilities(first)
    labels = baseline.settings.labels
    people = people_quality(
        study.work,
        study.annotators,
        rule=rule,
        guess=1.0 / len(labels) if labels else None,
        abilities=abilities,
    )
    aggregators = {
        name: aggregate for name, aggregate in _aggregators(baseline).items() if name not in left_out
    }
    tests = votes.where(~baseline.responses.table["is_control"].to_numpy())
    rows = sensitivity(
        tests,
        [one.controls for one in people.annotators],
        aggregators,
        partial(_score, codes=_codes(study, golds), metric=baseline.settings.metric),
        min_controls=baseline.settings.min_controls,
    )
    return StudyQuality(people, rows, left_out)


def _aggregators(baseline: Baseline) -> dict[str, Aggregator]:
    return {
        "majority": partial(majority, min_votes=baseline.settings.min_votes),
        "plurality": partial(plurality, min_votes=baseline.settings.min_votes),
        "dawid-skene": dawid_skene,
        "glad": glad,
    }


def _abilities(votes: Votes) -> tuple[dict[str, FloatArray], dict[str, str]]:
    """Everybody's ability by each model, and the models that could not be fitted."""
    abilities: dict[str, FloatArray] = {}
    if len(votes) > MOST_ANSWERS:
        reason = f"not fitted for a table on more than {MOST_ANSWERS} answers"
        return abilities, {"dawid-skene": reason, "glad": reason}
    left_out = {}
    try:
        fit = dawid_skene(votes).fit
    except UsageError as error:
        left_out["dawid-skene"] = error.message
    else:
        abilities["dawid-skene"] = fit.quality if fit else np.full(votes.annotators, np.nan)
    abilities["glad"] = fit_glad(votes).quality
    return abilities, left_out


def _first_answers(votes: Votes) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Each person's first answer to each item: a control met twice must not count as two witnesses."""
    pair = votes.annotator.astype(np.int64) * max(1, votes.items) + votes.item
    _, first = np.unique(pair, return_index=True)
    keep = np.zeros(len(votes), dtype=np.bool_)
    keep[first] = True
    return keep


def _golds(baseline: Baseline) -> dict[int, str]:
    known = baseline.consensus.filter(pl.col("gold").is_not_null()).select("item", "gold")
    return {int(item): str(gold) for item, gold in known.iter_rows()}


def _codes(study: StudyWork, golds: Mapping[int, str]) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    """The golds' codes, shape (items,), -1 where there is none."""
    code = {label: place for place, label in enumerate(study.labels)}
    return np.array([code[golds[n]] if n in golds else NO_LABEL for n in study.items], dtype=np.int32)


def _score(
    consensus: Consensus, *, codes: np.ndarray[tuple[int, ...], np.dtype[np.int32]], metric: str
) -> Score | None:
    scored = (consensus.label != NO_LABEL) & (codes != NO_LABEL)
    n = int(scored.sum())
    if not n:
        return None
    right = int((consensus.label == codes)[scored].sum())
    return Score(metric, right / n, n, wilson(right, n))
