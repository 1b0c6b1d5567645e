"""Withholding closed gold answers from a published folder, and everything from which they follow.

The baseline is computed again without gold answers, so that no table, page or notebook can show one. Only estimates are
taken from the baseline with gold, rounded to three decimals: none of a few items, none that another estimate completes
to a few items, and none of 0 or 1, which tells the gold answer of every item.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, Final, TypeVar, cast

import polars as pl

from merilo.baselines.baseline import Baseline, Evidence, HumanBenchmark
from merilo.baselines.estimates import ALPHA, field_values
from merilo.baselines.people_table import PeopleTable
from merilo.baselines.pipeline import compute
from merilo.baselines.row import Row
from merilo.baselines.study_input import StudyInput
from merilo.errors import DataError, argument
from merilo.estimate import Estimate
from merilo.records import Span
from merilo.settings import Settings
from merilo.wording import counted_noun

#: An estimate of fewer items is not published: with one item it would tell whether its consensus is right.
LEAST_ITEMS: Final = 5

#: Digits of an estimate after the decimal point, so that it does not tell which items are right.
DECIMALS: Final = 3

#: The keys of `baseline.json` whose values need the gold answers.
NEEDS_GOLD: Final = (
    "status", "reasons", "metrics", "by_majority_alone", "human_benchmark", "whole_dataset", "single_person", "groups",
    "people", "models", "echoes",
)  # fmt: skip

#: Why an estimate has no value.
TELLING: Final = "withheld: the gold answers are closed, and this value would give some of them away"

T = TypeVar("T")


def is_closed(study: StudyInput) -> bool:
    """Return whether the dataset says that its gold answers are not published."""
    return study.dataset is not None and study.dataset.gold == "closed"


def withheld(baseline: Baseline) -> Baseline:
    """Return the baseline as it may be published if its gold answers are closed.

    Args:
        baseline: the baseline with gold answers.

    Raises:
        DataError: annotators were excluded by control items that are test items too, whose known answers are closed.
    """
    evidence = baseline.evidence
    hidden = compute(*_without_gold(evidence.study, evidence.settings))
    excluded = [set(version.annotators.filter("excluded")["annotator"]) for version in (baseline, hidden)]
    if excluded[0] != excluded[1]:
        raise DataError(
            f"the exclusion of {counted_noun(len(excluded[0] ^ excluded[1]), 'annotator', 'annotators')} depends on "
            "control items that are test items too, and the gold answers of this dataset are closed: take other "
            f"control items, or give {argument('with_gold')} for a folder that is not published"
        )
    arms = {name: withheld(arm) for name, arm in baseline.arms.items()}
    differences = [_safe(difference) for difference in baseline.differences]
    shown = hidden.with_values(_shown(baseline, hidden), NEEDS_GOLD)
    return shown.beside(baseline.arm or "", arms, differences)


def _without_gold(study: StudyInput, settings: Settings) -> tuple[StudyInput, Settings]:
    """Return the study without gold answers, and without what repeats them or tells them.

    That are the known answers of control items that are test items too, the answers of models, and fields that tell
    the gold answer. Arms are left out.
    """
    gold, population, table = study.gold, study.population, study.responses.table
    tests = table.filter(~pl.col("is_control"))["item"].unique()
    known = pl.when(~pl.col("item").is_in(tests.implode())).then("control").alias("control")
    if gold is not None:
        answers = dict(gold.answers.select("item", "gold").iter_rows())
        safe = [name for name in settings.by if not _tells(_values(study, name), answers)]
        settings = replace(settings, by=tuple(safe))
        if population is not None and _tells(population.of, answers):
            population = None
        fields = {*safe, settings.cluster, study.dataset.cluster if study.dataset else None, "type"} - {None}
        gold = gold.without_answers({name for field in fields for name in (str(field), f"meta.{field}")})
    responses = replace(study.responses, table=table.with_columns(known))
    study = replace(study, responses=responses, gold=gold, population=population, models=(), arms={})
    return study, settings


def _values(study: StudyInput, name: str) -> dict[int, str]:
    column = field_values(name, study.responses.items, study.gold)
    return {int(item): str(value) for item, value in column.drop_nulls().iter_rows()}


def _tells(values: Mapping[int, Hashable], gold: Mapping[int, str]) -> bool:
    """Return whether items with the same value of a field always have the same gold answer."""
    golds: dict[Hashable, list[str]] = defaultdict(list)
    for item, value in values.items():
        if item in gold:
            golds[value].append(gold[item])
    several = [set(golds_of) for golds_of in golds.values() if len(golds_of) > 1]
    return (
        bool(several)
        and all(len(golds_of) == 1 for golds_of in several)
        and len(set(map(frozenset, several))) > 1
    )


def _shown(full: Baseline, hidden: Baseline) -> Baseline:
    """Return the baseline with the values of `NEEDS_GOLD` that may be published."""
    evidence = full.evidence
    secret = too_small(*_members(evidence, hidden))
    moved = int((evidence.decided.consensus.label != evidence.decided.majority.label).sum())
    population = hidden.evidence.study.population
    few = population is None or min(Counter(population.of.values()).values()) < LEAST_ITEMS
    telling = 0 < moved < LEAST_ITEMS
    benchmark = full.human_benchmark
    if benchmark:
        # With both values, on all items and on those with a majority, the few others could be told apart.
        values = full.metrics if telling else benchmark.metrics
        chosen = {name: Estimate(value=values[name].value, n=values[name].n) for name in benchmark.metrics}
        items = "all" if telling else benchmark.items
        benchmark = HumanBenchmark(items=items, metrics=_all_safe(chosen))
    return full.model_copy(
        update={
            "metrics": {
                name: _hidden(estimate) if name in secret else estimate
                for name, estimate in _all_safe(full.metrics).items()
            },
            "by_majority_alone": {} if telling else _all_safe(full.by_majority_alone),
            "human_benchmark": benchmark,
            "whole_dataset": {} if few else _all_safe(full.whole_dataset),
            "single_person": full.single_person and _safe(full.single_person),
            "groups": tuple(
                _hidden(estimate) if group in secret and not name.endswith(ALPHA) else _safe(estimate)
                for estimate in full.groups
                for group, _, name in [estimate.name.rpartition(": ")]
                if group.partition("=")[0] in hidden.settings.by
            ),
            "people": full.people and _safe_people(full.people),
            "models": tuple(
                Row.of_json(_rounded(model.to_json()))
                for model in full.models
                if not any(part and part.value in {0, 1} for part in (model.score, model.people))
            ),
        }
    )


def _hidden(estimate: Estimate) -> Estimate:
    return estimate.model_copy(update={"value": None, "ci95": None, "reason": TELLING})


def _safe(estimate: Estimate) -> Estimate:
    """Round an estimate; leave out one of a few items, and one that tells the gold answer of every item."""
    if estimate.value is None:
        return estimate
    if estimate.n < LEAST_ITEMS or estimate.value in {0, 1}:
        return _hidden(estimate)
    ends = estimate.ci95 and Span(*(round(end, DECIMALS) for end in estimate.ci95))
    return estimate.model_copy(update={"value": round(estimate.value, DECIMALS), "ci95": ends})


def _all_safe(estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
    return {name: _safe(estimate) for name, estimate in estimates.items()}


def _safe_people(table: PeopleTable) -> PeopleTable:
    rows = {
        name: None
        if row.value in {0, 1}
        else row.model_copy(update={"value": row.value and round(row.value, DECIMALS)})
        for name, row in table.rows().items()
    }
    return table.model_copy(update=rows)


def _rounded(value: T) -> T:
    """Return JSON with every number rounded."""
    rounded: Any = value
    if isinstance(value, float):
        rounded = round(value, DECIMALS)
    elif isinstance(value, dict):
        rounded = {name: _rounded(inner) for name, inner in value.items()}
    elif isinstance(value, list):
        rounded = [_rounded(inner) for inner in value]
    return cast("T", rounded)


def _members(evidence: Evidence, hidden: Baseline) -> tuple[dict[str, frozenset[int]], frozenset[int]]:
    """Return the decided items of each group and of each metric of a part of the items, and of all."""
    if evidence.crowd is None:
        return {}, frozenset()
    numbers = [int(item.id) for item in evidence.crowd.items]
    every = frozenset(int(item) for item in evidence.crowd.answers)
    main, extra = evidence.crowd.parts()
    parts = {
        part.name: every.intersection(numbers[row] for row in part.rows)
        for part in (*main, *extra)
        if "." in part.name
    }
    for field in hidden.settings.by:
        column = field_values(field, evidence.items, evidence.gold)
        for (value,), group in column.drop_nulls().group_by("value"):
            parts[f"{field}={value}"] = every.intersection(group["item"].to_list())
    return parts, every


def too_small(groups: Mapping[T, frozenset[int]], every: frozenset[int], least: int = LEAST_ITEMS) -> set[T]:
    """Return the groups whose estimates must not be published.

    A group of fewer than `least` items is hidden. So is the smaller of two groups that differ by fewer than `least`
    items, or of a group and everything; and the smallest group inside a larger one whose other published parts leave
    fewer than `least` of its items.

    Args:
        groups: the items of each group; groups of several fields may overlap.
        every: all items, whose estimate is published.
        least: the smallest number of items of a published estimate.

    Example:
        >>> groups = {"law": frozenset(range(20)), "art": frozenset(range(20, 36)), "tea": frozenset({36})}
        >>> sorted(too_small(groups, frozenset(range(37))))
        ['art', 'tea']
    """
    shown = {name: items for name, items in groups.items() if len(items) >= least}
    while shown and (name := _revealing(shown, every, least)) is not None:
        del shown[name]
    return {name for name in groups if name not in shown}


def _revealing(shown: Mapping[T, frozenset[int]], every: frozenset[int], least: int) -> T | None:
    """Return a group that, with the others, gives the estimate of a few items; `None` if there is none."""
    by_size = sorted(shown, key=lambda name: len(shown[name]))
    for larger in [every, *shown.values()]:
        inside = [name for name in by_size if shown[name] < larger]
        close = next((name for name in inside if len(larger - shown[name]) < least), None)
        if close is not None:
            return close
        if inside and 0 < len(larger.difference(*(shown[name] for name in inside))) < least:
            return inside[0]
    return next(
        (name for name, other in combinations(by_size, 2) if 0 < len(shown[name] ^ shown[other]) < least),
        None,
    )
