"""Withholding closed gold answers from a published folder, and everything from which they follow.

The folder is made from a baseline that was computed again without gold answers, so that no table, page, plot
or notebook can show one. Only totals are taken from the baseline with gold: metrics, their intervals, the
groups of items that are large enough, and the comparisons with models. These are rounded to three decimals,
and whatever differs from another total by a few items only is left out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeVar, cast

import polars as pl

from merilo.baselines.baseline import record_of
from merilo.baselines.estimates import Estimates
from merilo.baselines.evidence import Evidence
from merilo.baselines.groups import ALPHA, field_values
from merilo.errors import DataError, argument
from merilo.estimate import Estimate
from merilo.people.aggregation import NO_LABEL
from merilo.people.gold import Gold
from merilo.reports.hb.raw_study import RawStudy
from merilo.reports.hb.recomputation import Recomputed, as_written, recompute
from merilo.reports.model_sections import ModelSections
from merilo.wording import counted_noun

#: A total over fewer items of closed gold is not published: with a single item it would tell whether its
#: consensus is right.
LEAST_ITEMS: Final = 10

#: Totals of closed gold have this many decimals, so that they do not tell which items are right.
DECIMALS: Final = 3

#: Why a metric has no value.
TOO_FEW: Final = (
    f"withheld: the gold answers are closed, and fewer than {LEAST_ITEMS} items would give them away"
)

T = TypeVar("T")


def gold_is_closed(raw: RawStudy) -> bool:
    """Return whether the dataset says that its gold answers are not published."""
    return raw.dataset is not None and raw.dataset.gold == "closed"


def withheld(made: Recomputed) -> Recomputed:
    """Return the baseline as it may be published if its gold answers are closed.

    Args:
        made: the baseline with gold answers.

    Raises:
        DataError: annotators were excluded by control items that are test items too, whose known answers are closed.
    """
    raw = without_gold(made.raw)
    unknown = recompute(raw)
    full, open_baseline = made.baseline, unknown.baseline
    excluded = [set(one.annotators.filter("excluded")["annotator"]) for one in (full, open_baseline)]
    if excluded[0] != excluded[1]:
        raise DataError(
            "the exclusion of "
            f"{counted_noun(len(excluded[0] ^ excluded[1]), 'annotator', 'annotators')} depends on "
            "control items that are "
            "test items too, and the gold answers of this dataset are closed: take other control items, or give "
            f"{argument('with_gold')} for a folder that is not published"
        )
    estimates = _estimates(full, raw.gold)
    shown = replace(
        open_baseline,
        estimates=estimates,
        whole=_whole(full, estimates),
        status=full.status,
        findings=(
            *(one for one in full.findings if one.rejects),
            *(one for one in open_baseline.findings if not one.rejects),
        ),
        groups=_groups(full, open_baseline),
    )
    others = {
        name: withheld(Recomputed(made.raw.arms[name], arm, {}, ModelSections()))
        for name, arm in made.record.arms.items()
    }
    record = record_of(shown).beside(
        made.record.arm or "",
        {name: one.record for name, one in others.items()},
        [_rounded_estimate(one) for one in made.record.differences],
    )
    raw = replace(raw, arms={name: one.raw for name, one in others.items()})
    content = as_written(record.to_json())
    if "models" in made.content:
        content["models"] = made.content["models"]
    models = ModelSections(made.models.rows)
    return Recomputed(raw, record, content, models)


def without_gold(raw: RawStudy) -> RawStudy:
    """Return the raw state of a study without its gold answers, its arms, and models' files, which may repeat gold."""
    gold, settings, population = raw.gold, raw.settings, raw.population
    table = raw.responses.table
    tests = table.filter(~pl.col("is_control"))["item"].unique()
    known = pl.when(~pl.col("item").is_in(tests.implode())).then("control").alias("control")
    if gold is not None:
        told = dict(gold.answers.select("item", "gold").iter_rows())
        settings = replace(
            settings, by=tuple(name for name in settings.by if not _tells(_values(raw, name), told))
        )
        if population is not None and _tells(population.of, told):
            population = None
        chosen = (*settings.by, settings.cluster, raw.dataset.cluster if raw.dataset else None, "type")
        kept = {name for name in chosen if name is not None}
        gold = gold.without_answers({*kept, *(f"meta.{name}" for name in kept)})
    return replace(
        raw,
        responses=replace(raw.responses, table=table.with_columns(known)),
        settings=settings,
        gold=gold,
        population=population,
        models=(),
        arms={},
    )


def _values(raw: RawStudy, name: str) -> dict[int, str]:
    column = field_values(name, raw.responses.items, raw.gold)
    return {int(item): str(value) for item, value in column.drop_nulls().iter_rows()}


def _tells(values: Mapping[int, Hashable], gold: Mapping[int, str]) -> bool:
    """Return whether items with the same value of a field always have the same gold answer.

    The field then gives the gold answer away.
    """
    golds: dict[Hashable, set[str]] = defaultdict(set)
    counts: dict[Hashable, int] = defaultdict(int)
    for item, value in values.items():
        if item in gold:
            golds[value].add(gold[item])
            counts[value] += 1
    several = [golds[value] for value, n in counts.items() if n > 1]
    return bool(several) and all(len(one) == 1 for one in several) and len(set(map(frozenset, several))) > 1


def _estimates(full: Evidence, gold: Gold | None) -> Estimates:
    """Return the metrics that may be published.

    No groups of few items, no single annotators, no total close to another.
    """
    scorer = full.scorer
    if scorer is None or gold is None:
        return full.estimates
    label = full.decided.consensus.label[scorer.codes]
    main, extra = scorer.parts()
    items = {
        part.name: frozenset(row for row in part.rows if label[row] != NO_LABEL) for part in (*main, *extra)
    }
    every = frozenset(row for row in range(len(scorer.items)) if label[row] != NO_LABEL)
    hidden = too_small({name: items.get(name, frozenset()) for name in full.estimates.extra}, every)
    # How many items the two ways to decide do not decide alike.
    moved = int((label != full.decided.majority.label[scorer.codes]).sum())
    alone = {} if 0 < moved < LEAST_ITEMS else full.estimates.by_majority_alone
    kept, extra_shown, alone = (
        {name: _rounded_estimate(one) for name, one in estimates.items() if name not in hidden}
        for estimates in (full.estimates.main, full.estimates.extra, alone)
    )
    return replace(
        full.estimates,
        main=kept,
        extra=extra_shown,
        by_majority_alone=alone,
        single_person=full.estimates.single_person and _rounded_estimate(full.estimates.single_person),
        missing={**full.estimates.missing, **dict.fromkeys(hidden, TOO_FEW)},
    )


def _whole(full: Evidence, shown: Estimates) -> dict[str, Estimate]:
    """Keep the metrics that are shown, on the whole dataset.

    None if the weights single out the items of a small stratum.
    """
    sizes = Counter(full.study.population.of.values()) if full.study.population else Counter()
    if any(n < LEAST_ITEMS for n in sizes.values()):
        return {}
    return {name: _rounded_estimate(one) for name, one in full.whole.items() if name in shown.all()}


def _groups(full: Evidence, unknown: Evidence) -> tuple[Estimate, ...]:
    """Return the groups of items, with the metrics of those that are large enough."""
    if full.scorer is None:
        return unknown.groups
    decided = set(full.consensus.filter(pl.col("label").is_not_null())["item"].to_list())
    scored = frozenset(int(item.id) for item in full.scorer.items if item.id in decided)
    members: dict[str, frozenset[int]] = {}
    for name in unknown.settings.by:
        column = field_values(name, full.items, full.gold)
        for value, group in column.drop_nulls().group_by("value"):
            members[f"{name}={value[0]}"] = scored.intersection(group["item"].to_list())
    hidden = too_small(members, scored)
    return tuple(
        _rounded_estimate(one)
        for one in full.groups
        if (name := one.name.rpartition(": ")[0]) in members
        and (name not in hidden or one.name.endswith(ALPHA))
    )


def too_small(groups: Mapping[T, frozenset[int]], every: frozenset[int], least: int = LEAST_ITEMS) -> set[T]:
    """Return the groups whose totals must not be published.

    A group of fewer than `least` items is hidden. So is the smaller of two groups that differ by fewer than
    `least` items, or of a group and everything; and the smallest group inside a larger one whose other
    published parts leave fewer than `least` of its items.

    Args:
        groups: the items of each group; groups of several fields may overlap.
        every: all items, whose total is published.
        least: the smallest number of items of a published total.

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
    """Return a group that, with the others, gives the total of a few items; `None` if there is none."""
    for larger in [every, *shown.values()]:
        inside = sorted(
            (name for name, items in shown.items() if items < larger), key=lambda name: len(shown[name])
        )
        close = next((name for name in inside if len(larger - shown[name]) < least), None)
        if close is not None:
            return close
        rest = larger.difference(*(shown[name] for name in inside))
        if inside and 0 < len(rest) < least:
            return inside[0]
    pairs = [(len(items), name, items) for name, items in shown.items()]
    for place, (_, _, items) in enumerate(pairs):
        for _, name, others in pairs[place + 1 :]:
            if 0 < len(items ^ others) < least:
                return name
    return None


def _rounded_estimate(one: Estimate) -> Estimate:
    """Return an estimate as it may be published; one of few items has no value."""
    if one.n < LEAST_ITEMS:
        return Estimate(name=one.name, n=one.n, people=one.people, reason=TOO_FEW)
    return Estimate.model_validate(_rounded(one.model_dump()))


def _rounded(value: T) -> T:
    """Return a result with every number rounded, in all its parts."""
    found: Any = value
    if isinstance(value, float):
        found = round(value, DECIMALS)
    elif is_dataclass(value) and not isinstance(value, type):
        found = replace(
            value, **{one.name: _rounded(getattr(value, one.name)) for one in fields(value) if one.init}
        )
    elif isinstance(value, dict):
        found = {name: _rounded(inner) for name, inner in value.items()}
    elif isinstance(value, tuple | list):
        found = type(value)(map(_rounded, value))
    return cast("T", found)
