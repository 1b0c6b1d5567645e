"""One model beside people, or beside another model, on the same items: scores, difference, verdict and its sentence.

The consensus of a baseline is set beside the model's answers, as published tables do, and a single person beside a
single answer. Without people, every other model is set beside the first one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, get_args

import numpy as np

from merilo.baselines.crowd import Crowd
from merilo.baselines.estimates import by_majority_alone
from merilo.baselines.model_answers import Samples, by_criterion, dataset_key
from merilo.baselines.row import Beside, Margin, Row, Verdict
from merilo.errors import DataError, UsageError, argument
from merilo.estimate import Estimate
from merilo.metrics.worth import worth
from merilo.models.reply_answers import refuse_unreadable
from merilo.people.aggregation import NO_LABEL
from merilo.people.influence import person_influence
from merilo.records import rounded
from merilo.statistics import FloatArray
from merilo.statistics.crossed import Crossed, Influence, apart, crossed, holm, of_mean, student_quantile
from merilo.statistics.planning import FEWEST_ANNOTATORS, study_size
from merilo.text import Text, joined
from merilo.wording import counted_noun, listed

#: The significance level of every test.
ALPHA: Final = 0.05
#: Above this p-value a significant difference is called narrow.
NARROW: Final = 0.01
#: With fewer items, or clusters of items, equality is not tested.
FEWEST_ITEMS: Final = 10


class Pair(NamedTuple):
    """A row whose verdict waits for the correction over all comparisons.

    Attributes:
        row: the row without p, verdict and sentence.
        crossed: the difference with its uncertainty.
        margin: the margin.
        paired: whether both sides have a score on each item.
    """

    row: Row
    crossed: Crossed
    margin: Margin | None = None
    paired: bool = True


class _Scored(NamedTuple):
    """Answers to the items of a dataset: their metric, its `Influence`, and the score of every item, shape (items,)."""

    value: float
    influence: Influence
    scores: FloatArray


def pairs(people: Crowd, models: Sequence[Samples], *, force: bool = False) -> list[Pair]:
    """Set models beside the people of a baseline, or without people beside the first model.

    Args:
        people: the annotators of the baseline, or the items of a dataset without annotators.
        models: the models' answers.
        force: if the items differ, compare on the items that both answered.

    Raises:
        UsageError: a file is given for two models, or the metric scores neither single answers nor labels.
        DataError: the items differ and `force` is not given, or there are no common items.
    """
    metric = people.scored
    if people.declaration.answer.kind == "program" and people.metric != "pass@1":
        raise UsageError(f"programs of people are compared with a model by pass@1, not by {people.metric}")
    if metric.points is None and metric.statistic is None:
        raise UsageError(
            f"{people.metric} of {people.declaration.name} has no value for single items, so models cannot be "
            "compared by it"
        )
    files = [Path(model.file).resolve() for model in models]
    if twice := next((model.file for at, model in enumerate(models) if files[at] in files[:at]), None):
        raise UsageError(f"{twice} is given twice: give each file once")
    return [pair for model in models for pair in _pairs(people, models[0], model, force=force)]


def rows_beside(people: Crowd, models: Sequence[Samples], margin: Margin | None) -> tuple[Row, ...]:
    """Return the rows of models beside the people of one baseline; of a dataset of criteria, for each correlation.

    Raises:
        UsageError, DataError: as for `pairs`.
    """
    compared = [
        pair._replace(
            row=pair.row.model_copy(update={"dataset": f"{dataset_key(people)} {name}".strip()}),
            margin=margin,
        )
        for name, (part, answers) in (by_criterion(people, models) or {"": (people, [*models])}).items()
        for pair in pairs(part, answers)
    ]
    return tuple(judged(compared))


def _pairs(people: Crowd, first: Samples, model: Samples, *, force: bool) -> Iterator[Pair]:
    if not force:
        refuse_other_items(people, model)
    alone = people.baseline is None
    places = answered(people, first, model) if alone else answered(people, model)
    if not places:
        raise DataError(f"answers none of the {len(people.names)} items of {people.folder}", file=model.file)
    if not force:
        sampled = (answer for place in places for answer in model.answers[people.names[place]])
        refuse_unreadable(sampled, model.log, model.file)
    common = people.on(places)
    if alone:
        if model is not first:
            yield _pair(common, model, "model", _of_model(common, first), other=first.model)
        return
    if not common.annotators:
        yield from _beside_published(common, model)
        return
    programs = common.declaration.answer.kind == "program"
    if not programs:
        # In an exam, a question without consensus counts as blank, because every question of a variant is scored.
        whole = common.scored.counted is not None
        decided = [at for at, label in enumerate(common.consensus.tolist()) if whole or label != NO_LABEL]
        if not decided:
            raise DataError(f"none of the {len(places)} items has a consensus", file=people.folder)
        agreed = common.on(decided)
        yield _pair(agreed, model, "consensus", _of_consensus(agreed))
    if programs or common.scored.is_mean:
        asked = common.on(np.unique(common.votes.item).tolist())
        yield _pair(asked, model, "person", _of_person(asked))


def _pair(people: Crowd, model: Samples, beside: Beside, theirs: _Scored, *, other: str = "") -> Pair:
    """Compare a model with one side on exactly these items."""
    n, name, bounds = len(people.names), people.metric_name, people.scored.bounds
    mine = _of_model(people, model)
    reach = bounds[1] - bounds[0]
    score, side = (
        crossed(answers.value, _clustered(people, answers.influence), bounds).estimate(name, n)
        for answers in (mine, theirs)
    )
    known = published(people, name).get(beside)
    if known and known.n == n and known.ci95:
        side = side.model_copy(update={"ci95": known.ci95})
    influence = _clustered(people, apart(theirs.influence, mine.influence))
    difference = crossed(mine.value - theirs.value, influence, (-reach, reach))
    row = _row(people, model, beside, score, side, difference.estimate(name, n), other)
    return Pair(row, difference)


def _beside_published(people: Crowd, model: Samples) -> Iterator[Pair]:
    """Set a model's own score beside the published estimates of people, whose points of items are withheld.

    The two are taken as independent, although hard items are hard for both: the interval is rather too wide. Of each
    estimate the end that faces the other one gives the variance.

    References:
        R. Newcombe (1998), Interval estimation for the difference between independent proportions. Statistics in
        Medicine 17, 873-890 (method 10).
    """
    name, bounds, n = people.metric_name, people.scored.bounds, len(people.names)
    scored = _of_model(people, model)
    mine = crossed(scored.value, _clustered(people, scored.influence), bounds)
    for beside, theirs in published(people, name).items():
        if theirs.name == name and theirs.value is not None:
            difference = _independent(mine, theirs)
            row = _row(people, model, beside, mine.estimate(name, n), theirs, difference.estimate(name, n))
            yield Pair(row, difference, paired=False)


def published(people: Crowd, metric: str) -> dict[Beside, Estimate]:
    """Return the estimates of the people's baseline: of the consensus by a metric, and of one person."""
    baseline = people.baseline
    sides = (baseline.metrics.get(metric), baseline.single_person) if baseline else ()
    return {beside: side for beside, side in zip(get_args(Beside), sides, strict=False) if side}


def _independent(mine: Crossed, theirs: Estimate) -> Crossed:
    """Return the difference of a model's score and a published estimate, with the variances of both."""
    value, reach = mine.value - (theirs.value or 0.0), mine.bounds[1] - mine.bounds[0]
    ends, own = theirs.ci95, mine.interval()
    people = theirs.people or 0
    if ends is None or own is None or people < 2:
        return Crossed(value, people, 0.0, 0.0, (0.0, 0.0), 1.0, 0.0, (-reach, reach))
    facing = int(value > 0)
    steps = (
        (own[1 - facing] - mine.value) / student_quantile(0.975, mine.freedom),
        (ends[facing] - (theirs.value or 0.0)) / student_quantile(0.975, people - 1),
    )
    variance = max(sum(step**2 for step in steps), 1e-12)
    share = (value + reach) / (2 * reach)
    worth = share * (1 - share) * (2 * reach) ** 2 / variance or 1.0
    freedom = min(mine.freedom, people - 1)
    return Crossed(value, people, variance, 0.0, (0.0, 0.0), worth, freedom, (-reach, reach))


def _row(  # noqa: PLR0917 - the columns of a row
    people: Crowd,
    model: Samples,
    beside: Beside,
    score: Estimate,
    side: Estimate,
    difference: Estimate,
    other: str = "",
) -> Row:
    return Row(
        dataset=dataset_key(people),
        model=model.model,
        beside=beside,
        other=other,
        score=score,
        people=side,
        difference=difference,
        seconds=people.baseline.cost.median_seconds_per_answer if people.baseline else None,
        usd=model.usd,
    )


def answered(people: Crowd, *models: Samples) -> list[int]:
    """Return the places of the items that all these models answered; of an exam, of whole variants only."""
    places = [at for at, name in enumerate(people.names) if all(name in model.answers for model in models)]
    if not places or people.scored.counted is None:
        return places
    rows = people.scored.counted([people.items[place] for place in places])
    if not rows:
        raise DataError("no variant was answered completely by both sides", file=models[-1].file)
    return [places[row] for row in rows]


def refuse_other_items(people: Crowd, model: Samples) -> None:
    """Raise `DataError` if the model answered other items than the people were asked.

    Where people were asked a sample of the dataset, a model may have answered the rest of it too.
    """
    without, others = left_out(people, model)
    if people.sampled_from and len(others) <= people.sampled_from - len(people.names):
        others = []
    reasons = []
    if without:
        reasons.append(
            f"{len(without)} of the {len(people.names)} items of {people.folder} have no answer here "
            f"({listed([name[:40] for name in without], 5)})"
        )
    if model.log and (lost := model.log.failed):
        reasons.append(counted_noun(lost, "request of the log failed", "requests of the log failed"))
    if model.log and model.log.source and without:
        reasons += model.log.source.lost
    if model.unasked:
        reasons.append(f"the run is unfinished ({model.unasked} items; the same 'merilo run' asks them)")
    if others:
        outside = "the baseline" if people.baseline else people.folder
        reasons.append(
            f"{counted_noun(len(others), 'answer is', 'answers are')} to items outside {outside} "
            f"({listed([name[:40] for name in others], 5)})"
        )
    common = len(people.names) - len(without)
    if without or others:
        why = (
            f"results on different items are not comparable; use {argument('force', given=True)} to compare on the "
            f"{common} items that both answered"
        )
        whole = f"{' and '.join(reasons)}: {why if common else 'there is no item in common'}"
        raise DataError(whole, file=model.file)


def left_out(people: Crowd, model: Samples) -> tuple[list[str], list[str]]:
    """Return the items that only the people, and that only the model answered."""
    own = set(people.names)
    without = [name for name in people.names if name not in model.answers]
    return without, [name for name in model.answers if name not in own]


def _of_model(people: Crowd, model: Samples) -> _Scored:
    """Return the mean over a model's answers to each item."""
    by_item = [model.answers[name] for name in people.names]
    samples = np.array([len(answers) for answers in by_item])
    place = np.repeat(np.arange(len(by_item)), samples)
    weight = np.repeat(1 / samples, samples)
    texts = [answer for answers in by_item for answer in answers]
    sample = np.arange(len(place)) - np.repeat(np.cumsum(samples) - samples, samples)
    asked = (people.declaration, people.whole, people.items)
    contributed = worth(*asked, place=place, answers=texts, weight=weight, sample=sample)
    scores: FloatArray = np.bincount(place, contributed.answer * weight).astype(np.float64)
    return _Scored(contributed.value, of_mean(scores)._replace(alike=contributed.alike), scores)


def metric_value(people: Crowd, model: Samples) -> float:
    """Return the metric of a model's answers to the items that it answered."""
    return _of_model(people.on(answered(people, model)), model).value


def _of_consensus(people: Crowd) -> _Scored:
    """Return the consensus of the people, which all items have."""
    alone = people.baseline is not None and by_majority_alone(people.baseline.settings)
    decided = people.by_consensus(people.whole, people.needed if alone else 0, blank=True)
    influence = of_mean(decided.scores)._replace(alike=decided.alike)
    if decided.influence is not None:
        influence = decided.influence._replace(items=influence.items, alike=decided.alike)
    return _Scored(decided.value, influence, decided.scores)


def _of_person(people: Crowd) -> _Scored:
    """Return one answer drawn for every item, all of which have answers."""
    votes, points = people.by_person(people.whole, np.ones(len(people.votes), dtype=np.bool_))
    value, influence = person_influence(votes, points, bounds=people.scored.bounds)
    return _Scored(value, influence, influence.items * len(people.names) + value)


def _clustered(people: Crowd, influence: Influence) -> Influence:
    clusters = people.votes.cluster
    return influence if clusters is None else influence.clustered(clusters, clusters[influence.unit])


def judged(compared: Sequence[Pair]) -> list[Row]:
    """Correct the p-values of all comparisons of a kind together by Holm's method, and tell the verdicts.

    A difference inside the margin counts as none even if it is significant: two one-sided tests at 5 %, which is that
    the 90 % interval lies within the margin. With too few annotators no verdict is told.

    References:
        D. Schuirmann (1987), as for `Crossed.p_within`; S. Holm (1979), as for `holm`.
    """
    rows: dict[int, Row] = {}
    for beside in get_args(Beside):
        kind = [at for at, pair in enumerate(compared) if pair.row.beside == beside]
        corrected = holm([compared[at].crossed.p() for at in kind])
        margins = {at: margin.value for at in kind if (margin := compared[at].margin)}
        within = holm([compared[at].crossed.p_within(margin) for at, margin in margins.items()])
        above = holm([compared[at].crossed.p_above(-margin) for at, margin in margins.items()])
        of_margin = dict(zip(margins, zip(within, above, strict=True), strict=True))
        for at, p in zip(kind, corrected, strict=True):
            rows[at] = _judged(compared[at], p, *of_margin.get(at, (1.0, 1.0)), family=len(kind))
    return [rows[at] for at in range(len(compared))]


def _judged(pair: Pair, p: float, within: float, not_worse: float, *, family: int) -> Row:
    """Return a row with its verdict, from p-values after the correction over `family` comparisons."""
    verdict: Verdict = "untold"
    if not _few(pair):
        # Student's distribution has one degree of freedom less than there are items, clusters or annotators.
        enough = pair.crossed.freedom >= FEWEST_ITEMS - 1
        if within <= ALPHA and enough:
            verdict = "equal"
        elif p <= ALPHA:
            verdict = "above" if pair.crossed.value > 0 else "below"
        elif not_worse <= ALPHA and enough:
            verdict = "not_worse"
    margin = pair.margin.value if pair.margin else None
    row = pair.row.model_copy(update={"p": rounded(p, 9), "verdict": verdict, "margin": margin})
    return row.model_copy(update={"sentence": _sentence(row, pair, family)})


def _few(pair: Pair) -> bool:
    """Whether too few annotators answered for a verdict."""
    return pair.crossed.people is not None and pair.crossed.people < FEWEST_ANNOTATORS


_SENTENCES: Final[dict[Verdict, Text]] = {
    "above": Text("{model} is above {who} ({numbers}){tail}."),
    "below": Text("{model} is below {who} ({numbers}){tail}."),
    "equal": Text("{model} is level with {who} within ±{margin:g} ({numbers}){tail}."),
    "not_worse": Text(
        "{model} is not worse than {who} by {margin:g} or more ({numbers}); whether it is level or above cannot be told"
        "{tail}."
    ),
    "untold": Text("{model} cannot be told from {who} ({numbers}){tail}."),
}


_UNPAIRED: Final = Text(
    "unpaired: the gold answers are closed, so the published estimate of people is beside the model’s own score"
)


def _sentence(row: Row, pair: Pair, family: int) -> Text:
    """Say the verdict, both values, the difference with its interval, and how sure it is."""
    assert row.verdict is not None  # noqa: S101 - `_judged` has set it
    if row.other:
        who = joined([row.other])
    elif row.beside == "person":
        who = Text("one person", context="beside")
    else:
        who = Text("the consensus of {n:# person|# people}", n=row.difference.people)
    tail = joined(_how_sure(row, pair, family), "; ")
    return Text(
        _SENTENCES[row.verdict].english,
        model=row.model,
        who=who,
        numbers=_numbers(row),
        margin=row.margin,
        tail=joined(["; ", tail], "") if tail.en else "",
    )


def _numbers(row: Row) -> Text:
    """Name both values and the difference with its interval.

    They have the digits of tables, or one more if the difference would not be that of the values shown, or a number
    other than 0 would be shown as 0.
    """
    ends = row.difference.ci95 or ()
    values = [value or 0.0 for value in (row.difference.value, *ends)]
    seen = all(not value or round(value, 3) for value in values)
    digits = 3 if seen and (row.adds_up(3) or not row.adds_up(4)) else 4
    signs = [signed(value, digits) for value in values]
    mine, theirs = (plain(side.value if side else None, digits) for side in (row.score, row.people))
    span = Text(" [{low}, {high}]", low=signs[1], high=signs[2]) if ends else ""
    sentence = Text("{mine} against {theirs}, difference {difference}{span}")
    if not row.adds_up(digits):
        sentence = Text("{mine} against {theirs}, difference before rounding {difference}{span}")
    return Text(sentence.english, mine=mine, theirs=theirs, difference=signs[0], span=span)


def _how_sure(row: Row, pair: Pair, family: int) -> Iterator[Text]:
    """Yield the p-value, what a study would need that could tell, and when the margin was planned."""
    p, alone = row.p or 0.0, pair.crossed.p()
    if _few(pair):
        yield Text("a verdict needs at least {fewest} people", fewest=FEWEST_ANNOTATORS)
        yield from () if pair.paired else (_UNPAIRED,)
        return
    if alone <= ALPHA < p:
        yield Text(
            "{alone} by itself, but {p} with Holm’s correction for {n:# comparison|# comparisons}",
            alone=_p(alone),
            p=_p(p),
            n=family,
        )
    elif row.verdict in {"above", "below"} and p > NARROW:
        yield Text("narrowly: {p}", p=_p(p))
    elif row.verdict == "equal" and p <= ALPHA:
        yield Text("the difference is significant, {p}, and smaller than the margin", p=_p(p))
    elif row.verdict != "equal":
        yield _p(p)
    if not pair.paired:
        yield _UNPAIRED
    elif row.verdict == "untold":
        sizes = [study_size(pair.crossed, row.difference.n, margin) for margin in {row.margin, None}]
        size = min(filter(None, sizes), key=lambda need: need.items * max(need.annotators, 1), default=None)
        if size and row.other:
            yield Text("it would take about {items} items to tell", items=size.items)
        elif size:
            yield Text(
                "it would take about {items} items and {people} people to tell",
                items=size.items,
                people=size.annotators,
            )
    if pair.margin and pair.margin.planned and row.verdict not in {"above", "below"}:
        yield Text("margin planned on {day:date}", day=pair.margin.planned)


def _p(p: float) -> Text:
    return Text("p < 0.001") if p < 0.001 else Text("p = {p:.3g}", p=p)


def plain(value: float | None, digits: int = 3) -> Text:
    """Return a number; a dash without one."""
    size = Text(f"{{size:.{digits}f}}", size=abs(value or 0.0))
    return (
        joined(["—"]) if value is None else Text("−{size}", size=size) if round(value, digits) < 0 else size
    )


def signed(value: float, digits: int = 3) -> Text:
    """Return a number with its sign; a minus is as long as a plus."""
    size = Text(f"{{size:.{digits}f}}", size=abs(value))
    return Text("−{size}", size=size) if round(value, digits) < 0 else Text("+{size}", size=size)
