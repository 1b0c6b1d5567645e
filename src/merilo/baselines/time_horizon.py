"""The time horizon of models: how long the items take people of which a model solves a given share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, inf, isfinite
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.baselines.baseline_reader import StoredBaseline
from merilo.baselines.model_answers import Samples
from merilo.baselines.model_comparison import model_scores, people_scores
from merilo.datasets.declaration import undeclared
from merilo.errors import DataError, UsageError, argument
from merilo.people.spelling import NOT_SHOWN
from merilo.people.uncertainty.two_way import LEAST_ANNOTATORS
from merilo.responses import page_of
from merilo.settings import HorizonSettings
from merilo.statistics import FloatArray
from merilo.statistics.intervals import at_least, at_most
from merilo.statistics.item_times import ItemTimes, Pages, fast_guessers, item_times
from merilo.statistics.success_curve import SuccessCurve, fit_curve
from merilo.text import Text

#: With fewer items that have times no curve is fitted.
FEWEST_ITEMS: Final = 10
#: With fewer items solved or failed no curve is fitted, and one bound is stated.
FEWEST_OUTCOMES: Final = 3
#: The chance of an error of a one-sided bound.
_ONE_SIDED: Final = 0.05
#: Below this share of the variance, measured times tell items apart badly.
_UNRELIABLE: Final = 0.5
#: Items' times do not differ beyond chance if their spread is below this share of the noise of one time.
_CONSTANT: Final = 0.05


@dataclass(frozen=True, slots=True)
class ModelHorizon:
    """The time horizon of one model.

    Attributes:
        model: the model's name.
        items: how many items with times it answered.
        score: the mean score of its answers to these.
        curve: the share of items that it solves by their time; `None` if it is not fitted.
        seconds: the time horizon; `None` if it is not estimated.
        interval: its interval; a bound may be 0 or infinite.
        exact: the horizon that a fit gives which takes measured times as exact; `None` if that curve does not fall.
        bound: for a model that solves or fails nearly all items, the seconds that the horizon is above or below, and
            how many items tell so.
        above: whether `bound` is a lower bound.
        reason: why there is no horizon.
        places: shape (items,), the places of its items in `TimeHorizons.names`.
        success: shape (items,), the score of its answers to each.
    """

    model: str
    items: int
    score: float
    curve: SuccessCurve | None
    seconds: float | None
    interval: tuple[float, float] | None
    exact: float | None
    bound: tuple[float, int] | None
    above: bool
    reason: Text | None
    places: NDArray[np.int64]
    success: FloatArray


@dataclass(frozen=True, slots=True)
class TimeHorizons:
    """The time horizons of models on the items of one baseline.

    Attributes:
        baseline: the baseline.
        settings: how they were estimated.
        times: the times of all items on the pages, those with gold first, in the order of `names`.
        names: the ids of the items with gold and times.
        people: how many people's times count.
        guessers: how many people were left out because they answer fast, and not faster where others do.
        pages: how many pages.
        cut_off: how many of these were cut off at the time limit.
        several: whether pages hold several items.
        without_times: how many items with gold have no time.
        models: the models.
        warnings: what limits the estimates, a sentence each.
    """

    baseline: StoredBaseline
    settings: HorizonSettings
    times: ItemTimes
    names: tuple[str, ...]
    people: int
    guessers: int
    pages: int
    cut_off: int
    several: bool
    without_times: int
    models: tuple[ModelHorizon, ...]
    warnings: tuple[Text, ...]

    @property
    def seconds(self) -> FloatArray:
        """The estimated seconds of each item of `names`, shrunk to the mean by the error of its measurement."""
        return np.asarray(np.exp(shrunk(self.times)[: len(self.names)]))


def shrunk(times: ItemTimes) -> FloatArray:
    """Return the expected log time of every item given its measurement, shape (items,)."""
    trust = times.spread**2 / (times.spread**2 + times.error)
    return np.asarray(times.mean + trust * (times.measured - times.mean))


def time_horizons(
    crowd: StoredBaseline, models: Sequence[Samples], settings: HorizonSettings
) -> TimeHorizons:
    """Estimate the time horizons of models.

    Args:
        crowd: the people of the baseline, with gold.
        models: the models' answers; a model may have answered only a part of the items.
        settings: how they are estimated.

    Raises:
        UsageError: a file is given for two models, or answers of the dataset are neither right nor wrong.
        DataError: people's times are missing, too few, or do not tell items apart; or a model answered none of the
            items.
    """
    files = [one.file for one in models]
    if twice := next((file for file in files if files.count(file) > 1), None):
        raise UsageError(f"{twice} is given twice: give each file once")
    if crowd.declaration.answer.kind == "criteria":
        raise UsageError(
            f"{crowd.metric} of {crowd.declaration.name} has no right or wrong answers to single items, so there is no "
            "time horizon"
        )
    if crowd.metric not in {"acc", "em"}:
        crowd = replace(crowd, declaration=undeclared("acc"))
    rows = _rows(crowd, settings)
    timed = _pages(crowd, rows, settings.time_limit)
    _refuse(crowd, timed, settings)
    times = item_times(timed.pages, settings.noise)
    guessing = fast_guessers(timed.pages, times)
    if guessing.any():
        guessers = [timed.people[code] for code in np.flatnonzero(guessing).tolist()]
        timed = _pages(crowd, rows.filter(~pl.col("respondent").is_in(guessers)), settings.time_limit)
        _refuse(crowd, timed, settings)
        times = item_times(timed.pages, settings.noise)
    known = len(timed.places)
    if times.spread <= _CONSTANT * times.noise:
        raise DataError(
            "the times of items do not differ beyond chance, so success cannot be compared with them",
            file=crowd.folder,
        )
    found = tuple(_horizon(crowd, timed.places, times, one, settings) for one in models)
    several = bool(timed.pages.page.shape[0] > timed.pages.seconds.shape[0])
    made = TimeHorizons(
        crowd,
        settings,
        times,
        tuple(crowd.names[place] for place in timed.places),
        timed.pages.people,
        int(guessing.sum()),
        timed.pages.seconds.shape[0],
        int(timed.pages.censored.sum()),
        several,
        len(crowd.names) - known,
        found,
        (),
    )
    return replace(made, warnings=tuple(_warnings(made)))


@dataclass(frozen=True, slots=True)
class _Timed:
    """The pages of people, the places in the baseline of the first items on them, and the people's ids."""

    pages: Pages
    places: tuple[int, ...]
    people: tuple[str, ...]


def _rows(crowd: StoredBaseline, settings: HorizonSettings) -> pl.DataFrame:
    """Return a row for each page with a known time of annotators who count, with all its items."""
    if crowd.study is None:
        raise DataError("there are no people whose times could be known", file=crowd.folder)
    table = crowd.study.responses
    needed = {"page_seconds", "page", "file", "row"}
    if not needed <= set(table.columns) or not (table["page_seconds"] > 0).any():
        raise DataError(
            "people's answers have no times: export 'started' and 'submitted', or seconds, and compute the baseline "
            "again",
            file=crowd.folder,
        )
    out = table.filter(pl.col("became") == "excluded_annotator")["respondent"].unique().implode()
    counted = table.filter(
        ~pl.col("respondent").is_in(out), pl.col("answer").ne_missing(NOT_SHOWN)
    ).with_columns(page=page_of())
    if settings.times == "correct":
        counted = counted.with_columns(right=_right(crowd, counted))
    keys = ["file", "page", "respondent"]
    pages = (
        counted.group_by(keys, maintain_order=True)
        .agg(
            pl.col("page_seconds").drop_nulls().first(),
            pl.col("item").unique(maintain_order=True),
            pl.col("right").all() if settings.times == "correct" else pl.lit(value=True).alias("right"),
        )
        .filter(pl.col("page_seconds") > 0, pl.col("right"))
    )
    if not pages.height:
        raise DataError("no page with a time has only right answers", file=crowd.folder)
    return pages


def _pages(crowd: StoredBaseline, pages: pl.DataFrame, limit: float | None) -> _Timed:
    """Return pages with their people and items as numbers."""
    timed = set(pages["item"].explode().to_list())
    places = tuple(place for place, number in enumerate(crowd.numbers) if number in timed)
    order = [crowd.numbers[place] for place in places]
    order += sorted(timed - set(order))
    code = {number: at for at, number in enumerate(order)}
    sizes = pages["item"].list.len().to_numpy()
    seconds = pages["page_seconds"].cast(pl.Float64).to_numpy()
    cut = np.zeros(seconds.shape[0], dtype=np.bool_) if limit is None else seconds >= limit
    people, person = np.unique(pages["respondent"].to_numpy(), return_inverse=True)
    return _Timed(
        Pages(
            np.repeat(np.arange(pages.height), sizes),
            np.array([code[number] for number in pages["item"].explode().to_list()], dtype=np.int64),
            person.astype(np.int64),
            seconds if limit is None else np.minimum(seconds, limit),
            cut,
            len(order),
            people.shape[0],
        ),
        places,
        tuple(map(str, people.tolist())),
    )


def _right(crowd: StoredBaseline, counted: pl.DataFrame) -> pl.Series:
    """Return whether each answer is right; answers to items without a known answer count as right."""
    place = {number: at for at, number in enumerate(crowd.numbers)}
    single = crowd.votes
    points = people_scores(crowd)
    right = {
        (item, annotator, label): bool(point >= 1 - 1e-9)
        for item, annotator, label, point in zip(
            single.item.tolist(),
            single.annotator.tolist(),
            single.label.tolist(),
            points.tolist(),
            strict=True,
        )
    }
    people = {name: code for code, name in enumerate(crowd.annotators)}
    labels = {name: code for code, name in enumerate(crowd.labels)}
    found = []
    for number, who, answer, control in counted.select("item", "respondent", "answer", "control").iter_rows():
        if control is not None:
            found.append(answer == control)
        else:
            key = (place.get(number, -1), people.get(who, -1), labels.get(answer, -1))
            found.append(right.get(key, key[0] < 0))
    return pl.Series(found, dtype=pl.Boolean)


def _refuse(crowd: StoredBaseline, timed: _Timed, settings: HorizonSettings) -> None:
    """Refuse times that no curve can be fitted to."""
    pages, known = timed.pages, len(timed.places)
    if known < FEWEST_ITEMS:
        raise DataError(
            f"{known} items with gold answers have times of people: a time horizon needs at least {FEWEST_ITEMS}",
            file=crowd.folder,
        )
    if pages.people < LEAST_ANNOTATORS:
        raise DataError(
            f"the times are of {pages.people} annotators: a time horizon of people needs at least {LEAST_ANNOTATORS}",
            file=crowd.folder,
        )
    if np.ptp(pages.seconds) <= 1e-9 * float(pages.seconds.max()) or pages.censored.all():
        raise DataError(
            "all times are equal or were cut off, so success cannot be compared with them", file=crowd.folder
        )
    pairs = np.unique(np.stack([pages.item, pages.person[pages.page]]), axis=1)
    if settings.noise is None and np.bincount(pairs[0]).max() < 2:
        raise DataError(
            "no item has times of two people, so their errors are not known: give "
            f"{argument('noise', 'SD')}, the standard deviation of the log of a person's time on the same item (0.5 is "
            "usual in tests)",
            file=crowd.folder,
        )


def _horizon(
    crowd: StoredBaseline,
    places: Sequence[int],
    times: ItemTimes,
    model: Samples,
    settings: HorizonSettings,
) -> ModelHorizon:
    mine = [at for at, place in enumerate(places) if crowd.names[place] in model.answers]
    if not mine:
        raise DataError(
            f"answers none of the {len(places)} items of {crowd.folder} that have times", file=model.file
        )
    of_baseline = [places[at] for at in mine]
    success = model_scores(crowd, of_baseline, [model.answers[crowd.names[place]] for place in of_baseline])
    item = np.array(mine, dtype=np.int64)
    plain = ModelHorizon(
        model.model,
        len(mine),
        float(success.mean()),
        None,
        None,
        None,
        None,
        None,
        False,
        None,
        item,
        success,
    )
    if len(mine) < FEWEST_ITEMS:
        return replace(
            plain,
            reason=Text(
                "it answered {n:# item|# items} with times: at least {least} are needed",
                n=len(mine),
                least=FEWEST_ITEMS,
            ),
        )
    share = settings.share
    failed, solved = float((1 - success).sum()), float(success.sum())
    if min(failed, solved) < FEWEST_OUTCOMES:
        return _one_sided(plain, shrunk(times)[item], share, above=failed < solved)
    clusters = None
    if crowd.votes.cluster is not None:
        clusters = np.asarray(crowd.votes.cluster)[of_baseline].astype(np.int64)
    curve = fit_curve(times, item, success, clusters=clusters)
    exact = fit_curve(replace(times, error=np.full_like(times.error, 1e-9), noise_error=0.0), item, success)
    naive = exp(exact.horizon(share)) if exact.slope > 0 else None
    if curve.slope <= 0:
        return replace(
            plain,
            curve=curve,
            reason=Text(
                "it solves items that take people long at least as often as quick ones, so there is no time at which "
                "its success falls to {share:.0%}",
                share=share,
            ),
        )
    low, high = curve.interval(share)
    return replace(
        plain, curve=curve, seconds=_exp(curve.horizon(share)), interval=(_exp(low), _exp(high)), exact=naive
    )


def _exp(value: float) -> float:
    return inf if value > 700 else exp(value)


def _one_sided(plain: ModelHorizon, level: FloatArray, share: float, *, above: bool) -> ModelHorizon:
    """State one bound for a model that solves, or fails, nearly all items.

    If its share of solved items fell to `share` before the k longest items, it would solve nearly all of them with a
    small probability; k is the smallest number that makes this probability at most 5 %, so the horizon is longer than
    the shortest of these.
    """
    rest = ceil(float((1 - plain.success).sum() if above else plain.success.sum()) - 1e-9)
    for k in range(1, plain.items + 1):
        chance = at_least(k - rest, k, share) if above else at_most(rest, k, share)
        if k > rest and chance <= _ONE_SIDED:
            order = np.sort(level)
            bound = float(np.exp(order[-k] if above else order[k - 1]))
            return replace(plain, bound=(bound, k), above=above)
    reason = (
        Text("it solves nearly all items, and there are too few to bound its horizon")
        if above
        else Text("it fails nearly all items, and there are too few to bound its horizon")
    )
    return replace(plain, reason=reason, above=above)


def _warnings(found: TimeHorizons) -> Iterator[Text]:
    times = found.times
    if found.guessers:
        yield Text(
            "{n:# annotator answers|# annotators answer} in less than half the time of others, and not faster where "
            "others do, as people who guess; these times are left out",
            n=found.guessers,
        )
    if found.without_times:
        yield Text("{n:# item|# items} without times of people: left out", n=found.without_times)
    if found.several:
        yield Text(
            "pages hold several items: the time of an item is inferred from the times of pages with different items, "
            "which makes it uncertain"
        )
    if found.cut_off:
        yield Text(
            "{n:# page was|# pages were} cut off at {limit:g} seconds: the model of the times extends beyond the limit",
            n=found.cut_off,
            limit=found.settings.time_limit,
        )
    if times.reliability < _UNRELIABLE:
        yield Text(
            "people's times tell items apart badly: {share:.0%} of the variance of measured times is of true times",
            share=times.reliability,
        )
    if not isfinite(times.noise_error) or times.noise_error > 1:
        yield Text(
            "few items have times of several people: the errors of the times are hardly known, and intervals are too "
            "narrow"
        )
    longest, shortest = float(found.seconds.max()), float(found.seconds.min())
    for one in found.models:
        if one.seconds is not None and not shortest <= one.seconds <= longest:
            yield Text(
                "the horizon of {model} is outside the times of the items: it extends the curve beyond them",
                model=one.model,
            )
        if one.interval is not None and not (one.interval[0] > 0 and isfinite(one.interval[1])):
            yield Text(
                "the success of {model} hardly depends on people's time: its horizon has no interval with two bounds",
                model=one.model,
            )
