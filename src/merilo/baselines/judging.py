"""A model that scores texts in place of people: whether it may, and the scores of the texts with its bias removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.baselines.baseline_reader import StoredBaseline
from merilo.baselines.item_clusters import column_of, fields_of, unknown_field
from merilo.baselines.model_answers import Samples
from merilo.errors import DataError, UsageError, argument
from merilo.people.agreement import Agreement, measure, places_on_scale
from merilo.people.alternative_annotator import (
    ENOUGH_WON,
    FEWEST_ANNOTATORS,
    FEWEST_TEXTS,
    AlternativeTest,
    alternative_annotator_test,
    chance_agreement,
)
from merilo.people.uncertainty.prediction_powered import (
    CorrectedMean,
    JudgedTexts,
    corrected_difference,
    corrected_mean,
    judges_weight,
    other_scores,
    other_shares,
)
from merilo.people.votes import MOST_CLOSED_LABELS, Votes
from merilo.settings import JudgeSettings
from merilo.statistics import FloatArray, IntArray
from merilo.statistics.paired_tests import holm
from merilo.text import Text

#: With fewer texts that people judged, a score has no interval.
_FEWEST_SCORED: Final = 10
#: People agree if chance has at most this probability.
_AGREE: Final = 0.05
#: Below this probability, after Holm's correction, the texts that people judged are not a random part of all texts.
_UNLIKE: Final = 0.01


@dataclass(frozen=True, slots=True)
class JudgedScore:
    """The mean score of the texts of a group.

    Attributes:
        group: the group's value, or the name of a system; `None` for all texts.
        label: the label whose share is the score; `None` if answers have points.
        texts: the number of texts.
        with_people: how many of them people judged.
        annotators: how many people judged them.
        judge: the judge's own mean.
        people: people's mean over the texts that they judged.
        bias: the judge's mean minus people's on these texts.
        corrected: the mean over all texts, with the judge's bias removed; `None` if the judge is refused.
        weight: the weight of the judge in it, 0 to 1.
        beside_first: of the values of a field, the mean minus that of the first value; by people alone if the judge is
            refused.
    """

    group: str | None
    label: str | None
    texts: int
    with_people: int
    annotators: int
    judge: float
    people: CorrectedMean | None = None
    bias: CorrectedMean | None = None
    corrected: CorrectedMean | None = None
    weight: float = 0.0
    beside_first: CorrectedMean | None = None


@dataclass(frozen=True, slots=True)
class Judging:
    """A judge beside people.

    Attributes:
        crowd: the annotators; its items are all texts.
        model: the judge's name.
        test: the alternative-annotator test.
        agreement: how far people agree with each other.
        reasons: why the judge is refused; empty if it may be used.
        notes: what a reader should know.
        scores: the scores, that of all texts first.
        points: label -> points; empty if the scores are shares of labels.
        unanswered: the number of texts to which the judge gave no answer.
    """

    crowd: StoredBaseline
    model: str
    test: AlternativeTest
    agreement: Agreement
    reasons: tuple[Text, ...]
    notes: tuple[Text, ...]
    scores: tuple[JudgedScore, ...]
    points: Mapping[str, float]
    unanswered: int

    @property
    def accepted(self) -> bool:
        """Whether the judge may be used in place of people."""
        return not self.reasons

    @property
    def with_people(self) -> int:
        """The number of texts that people judged."""
        return int(np.unique(self.crowd.votes.item).size)


@dataclass(frozen=True, slots=True)
class _Answers:
    """The scores of all answers, people's and the judge's.

    Attributes:
        labels: the label of each score if the scores are shares; else one `None`.
        points: shape (n, scores), of people's answers.
        judged: shape (texts, scores), of the judge; its mean where it gave no answer.
        judge: shape (texts,), the judge's answer as `alternative_annotator_test` takes it.
        numbers: shape (labels,), the number behind each of people's labels; `None` if the scores are shares.
        bounds: the smallest and the largest possible score.
        named: label -> points.
    """

    labels: tuple[str | None, ...]
    points: FloatArray
    judged: FloatArray
    judge: FloatArray
    numbers: FloatArray | None
    bounds: tuple[float, float]
    named: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Group:
    """Texts with a score of their own; the points of those turned round count from the other end of the scale."""

    name: str
    texts: NDArray[np.bool_]
    turned: NDArray[np.bool_]


def judging(crowd: StoredBaseline, judge: Samples, settings: JudgeSettings) -> Judging:
    """Test whether a judge may stand in for people, and correct its scores by people's.

    Args:
        crowd: the annotators, with all texts as items (`read_judged_texts`).
        judge: the judge's answers.
        settings: the points of labels, the groups, and the test.

    Raises:
        UsageError: there is no such field, or points are missing for a label.
        DataError: nobody judged a text, or the judge answered none of people's texts.
    """
    # Which further answers adaptive overlap asks for depends on the first ones.
    crowd = crowd.single_answers
    answers = _answers(crowd, judge, settings)
    groups, strata = _groups(crowd, answers, settings)
    votes, numbers = crowd.votes, answers.numbers
    known = ~np.isnan(answers.judge)
    if not known[votes.item].any():
        raise DataError("the judge answered none of the texts that people judged", file=judge.file)
    test = alternative_annotator_test(votes, answers.judge, numbers=numbers, epsilon=settings.epsilon)
    agreement = measure(votes, level="nominal" if numbers is None else "interval", values=numbers)
    texts = JudgedTexts(votes, answers.judged, strata)
    unlike = _unlike(crowd, texts, settings)
    reasons = (
        *_no_agreement(votes, numbers),
        *_failed(test, judge.model),
        *([unlike] if unlike else []),
    )
    scores: list[JudgedScore] = []
    first: list[JudgedScore] = []
    for group in (None, *groups):
        if group is None and not settings.pair:
            scores += _scores(None, texts, answers, np.ones(len(votes), np.bool_), corrected=not reasons)
        elif group is not None:
            turned = _turned(answers, group, votes.item)
            part, kept = replace(texts, judged=turned.judged).on(group.texts)
            own = [*_scores(group.name, part, turned, kept, corrected=not reasons)]
            if settings.by and group is not groups[0]:
                own = _beside(own, first, texts, answers, (groups[0], group), judge=not reasons)
            elif settings.by:
                first = own
            scores += own
    unanswered = int((~known).sum())
    return Judging(
        crowd,
        judge.model,
        test,
        agreement,
        reasons,
        tuple(_notes(crowd, scores, unanswered)),
        tuple(scores),
        answers.named,
        unanswered,
    )


def _answers(crowd: StoredBaseline, judge: Samples, settings: JudgeSettings) -> _Answers:
    """Return the scores of people's answers and of the judge's: points of labels, numbers, or shares of labels."""
    given = [judge.answers.get(name, ()) for name in crowd.names]
    points = _points(settings)
    numbers = _numbers(crowd.labels, points)
    if numbers is None:
        code = {label: place for place, label in enumerate(crowd.labels)}
        for label in (*crowd.declaration.answer.labels, *(one for each in given for one in each)):
            if label in crowd.declaration.answer.labels:
                code.setdefault(label, len(code))
        if len(code) > MOST_CLOSED_LABELS:
            raise DataError(
                f"people gave {len(code)} different answers, which are neither numbers nor up to "
                f"{MOST_CLOSED_LABELS} labels",
                file=crowd.folder,
            )
        own = np.eye(len(code))
        found = np.array([_shares([code[one] for one in each if one in code], len(code)) for each in given])
        first = [Counter(one for one in each if one in code).most_common(1) for each in given]
        chosen = np.array([code[top[0][0]] if top else np.nan for top in first])
        return _Answers(tuple(code), own[crowd.votes.label], _filled(found), chosen, None, (0.0, 1.0), {})
    each = [[value for one in answers if (value := _number(one, points)) is not None] for answers in given]
    mean = np.array([float(np.mean(values)) if values else np.nan for values in each])
    declared = _numbers(crowd.declaration.answer.labels, points)
    possible = np.concatenate([numbers, mean[~np.isnan(mean)], [] if declared is None else declared])
    low, high = float(possible.min()), float(possible.max())
    return _Answers(
        (None,),
        numbers[crowd.votes.label][:, None],
        _filled(mean[:, None]),
        mean,
        numbers,
        (low, high if high > low else low + 1),
        points or dict(zip(crowd.labels, numbers.tolist(), strict=True)),
    )


def _points(settings: JudgeSettings) -> dict[str, float]:
    """Return the points of labels, which are given as LABEL=POINTS."""
    found: dict[str, float] = {}
    for one in settings.points:
        label, _, value = one.rpartition("=")
        number = places_on_scale([value.strip()])
        if not label or number is None:
            raise UsageError(f"takes LABEL=POINTS with a number, not '{one}'", field=argument("points"))
        found[" ".join(label.split())] = float(number[0])
    return found


def _numbers(labels: Sequence[str], points: Mapping[str, float]) -> FloatArray | None:
    """Return the numbers behind labels: the points, or the labels if all are numbers; else `None`."""
    if not points:
        return places_on_scale(labels) if labels else None
    if without := [label for label in labels if label not in points]:
        raise UsageError(f"give the points of '{without[0]}' too", field=argument("points"))
    return np.array([points[label] for label in labels], dtype=np.float64)


def _number(answer: str, points: Mapping[str, float]) -> float | None:
    if points:
        return points.get(answer)
    found = places_on_scale([answer])
    return None if found is None else float(found[0])


def _shares(codes: Sequence[int], labels: int) -> FloatArray:
    """Return the share of each label among a judge's answers to one text; NaN without answers."""
    counts = np.bincount(np.array(codes, dtype=np.int64), minlength=labels).astype(np.float64)
    return counts / len(codes) if codes else np.full(labels, np.nan)


def _filled(scores: FloatArray) -> FloatArray:
    """Put the mean in place of missing scores; any rule that ignores people's answers keeps the estimate unbiased."""
    missing = np.isnan(scores)
    counts = np.maximum((~missing).sum(axis=0), 1)
    return np.where(missing, np.where(missing, 0.0, scores).sum(axis=0) / counts, scores)


def _groups(
    crowd: StoredBaseline, answers: _Answers, settings: JudgeSettings
) -> tuple[list[_Group], IntArray]:
    """Return the groups of texts, and the stratum of each text: its group, or one for all."""
    none, one = np.zeros(len(crowd.names), np.bool_), np.zeros(len(crowd.names), np.int64)
    if settings.by and settings.pair:
        raise UsageError(f"give either {argument('by')} or {argument('pair')}")
    if settings.pair:
        if len(settings.pair) != 2:
            raise UsageError(
                "takes two fields: the system of the first text, and of the second", field=argument("pair")
            )
        if answers.numbers is None:
            raise UsageError(f"needs the points of the labels: {argument('points')}", field=argument("pair"))
        first, second = (_values(crowd, name, "pair") for name in settings.pair)
        names = sorted({*first, *second} - {""})
        sides = [
            (np.array([one == name for one in first]), np.array([one == name for one in second]))
            for name in names
        ]
        return [
            _Group(name, a ^ b, b) for name, (a, b) in zip(names, sides, strict=True) if (a ^ b).any()
        ], one
    if not settings.by:
        return [], one
    columns = [_values(crowd, name, "by") for name in settings.by]
    values = [", ".join(each) for each in zip(*columns, strict=True)]
    codes = {value: place for place, value in enumerate(sorted(set(values)))}
    stratum = np.array([codes[value] for value in values], dtype=np.int64)
    return [_Group(name, stratum == place, none) for name, place in codes.items()], stratum


def _values(crowd: StoredBaseline, field: str, option: str) -> list[str]:
    """Return the value of a field of each text; empty without one."""
    table = _fields(crowd)
    if len(table.columns) == 1:
        raise UsageError(
            f"the fields of the texts are not known: give {argument('data', 'FILE')}", field=argument(option)
        )
    column = column_of(field, [table])
    if column is None:
        raise unknown_field(option, field, [table])
    return column["value"].fill_null("").to_list()


def _turned(answers: _Answers, group: _Group, item: NDArray[np.int32]) -> _Answers:
    """Count the points of the group's turned texts from the other end of the scale."""
    total = sum(answers.bounds)
    return replace(
        answers,
        points=np.where(group.turned[item][:, None], total - answers.points, answers.points),
        judged=np.where(group.turned[:, None], total - answers.judged, answers.judged),
    )


def _scores(
    name: str | None, texts: JudgedTexts, answers: _Answers, kept: NDArray[np.bool_], *, corrected: bool
) -> Iterator[JudgedScore]:
    """Yield the scores of a group: one, or the share of each label.

    Args:
        name: the group's name.
        texts: its texts.
        answers: the scores of all texts.
        kept: shape (n,), people's answers to its texts.
        corrected: whether the judge may be used.
    """
    points, asked = answers.points[kept], texts.with_people
    annotators = int(np.unique(texts.votes.annotator).size)
    covered = np.bincount(texts.stratum[asked], minlength=texts.sizes.size) >= min(2, int(asked.sum()))
    possible = int(asked.sum()) >= _FEWEST_SCORED and annotators >= FEWEST_ANNOTATORS and bool(covered.all())
    weight = judges_weight(texts, points) if possible else 0.0
    low, high = answers.bounds
    for place, label in enumerate(answers.labels):
        judged, own = texts.judged[:, place], points[:, place]
        score = JudgedScore(
            name, label, texts.votes.items, int(asked.sum()), annotators, float(judged.mean()), weight=weight
        )
        if possible:
            apart = judged[texts.votes.item] - own
            width = high - low
            score = replace(
                score,
                people=corrected_mean(texts, own, judged, 0.0, bounds=answers.bounds),
                bias=corrected_mean(texts, apart, judged, 0.0, bounds=(-width, width)),
                corrected=corrected_mean(texts, own, judged, weight, bounds=answers.bounds)
                if corrected
                else None,
            )
        yield score


def _beside(
    scores: Sequence[JudgedScore],
    first: Sequence[JudgedScore],
    texts: JudgedTexts,
    answers: _Answers,
    groups: tuple[_Group, _Group],
    *,
    judge: bool,
) -> list[JudgedScore]:
    """Add to the scores of a group their differences from those of the first group."""
    before, after = groups
    both = before.texts | after.texts
    part, kept = texts.on(both)
    part = replace(part, stratum=after.texts[both].astype(np.int64))
    return [
        replace(
            score,
            beside_first=corrected_difference(
                part, answers.points[kept, place], part.judged[:, place], judge=judge, bounds=answers.bounds
            )
            if score.people and other.people
            else None,
        )
        for place, (score, other) in enumerate(zip(scores, first, strict=True))
    ]


def _no_agreement(votes: Votes, numbers: FloatArray | None) -> Iterator[Text]:
    """Tell if people do not agree: then any judge is as close to them as they are to each other."""
    p = chance_agreement(votes, numbers)
    if p > _AGREE:
        yield Text(
            "people's judgements do not agree with each other beyond chance (p = {p:.2g}), so any judge is as close to "
            "people as they are to each other",
            p=p,
        )


def _failed(test: AlternativeTest, judge: str) -> Iterator[Text]:
    if not test.possible:
        yield Text(
            "{n:# annotator|# annotators} judged {texts} or more texts that another annotator judged too, and the test "
            "needs {fewest}",
            n=len(test.tested),
            texts=FEWEST_TEXTS,
            fewest=FEWEST_ANNOTATORS,
        )
    elif not test.passed:
        yield Text(
            "{judge} represents people at least as well as one of them does for {won} of {n:# annotator|# annotators} "
            "(winning rate {rate:.2f}, at least {enough:.2f} needed at epsilon {epsilon:g}; average advantage "
            "probability {advantage:.3f})",
            judge=judge,
            won=sum(one.won for one in test.tested),
            n=len(test.tested),
            rate=test.winning_rate,
            enough=ENOUGH_WON,
            epsilon=test.epsilon,
            advantage=test.advantage,
        )


def _unlike(crowd: StoredBaseline, texts: JudgedTexts, settings: JudgeSettings) -> Text | None:
    """Tell if the texts that people judged differ from the others, within strata, in the judge's scores or a field."""
    if texts.with_people.all():
        return None
    found = [(p, "") for p in other_scores(texts)]
    table = _fields(crowd)
    for name in table.columns[1:]:
        bare = name.removeprefix("meta.")
        if {name, bare}.isdisjoint({"id", *settings.by}):
            p = other_shares(texts, table[name].fill_null("").to_numpy().astype(str))
            found += [] if p is None else [(p, bare)]
    p, field = min(zip(holm([p for p, _ in found]), (name for _, name in found), strict=True))
    if p > _UNLIKE:
        return None
    if field:
        return Text(
            "the texts that people judged are not a random part of all texts: their shares of the values of {field} "
            "differ (p = {p:.2g}; with {option}, each value has its share of all texts)",
            field=field,
            p=p,
            option=argument("by", field),
        )
    return Text(
        "the texts that people judged are not a random part of all texts: the judge scores them otherwise than the "
        "other texts (p = {p:.2g})",
        p=p,
    )


def _fields(crowd: StoredBaseline) -> pl.DataFrame:
    """Return the fields of all texts: `item`, then the fields."""
    return fields_of(dict(zip(crowd.numbers, crowd.items, strict=True)))


def _notes(crowd: StoredBaseline, scores: Sequence[JudgedScore], unanswered: int) -> Iterator[Text]:
    if crowd.status == "rejected":
        yield Text(
            "the baseline of people is rejected ({reasons}); the scores here are means of single judgements, which "
            "need no majority",
            reasons="; ".join(crowd.reasons),
        )
    if unanswered:
        yield Text(
            "the judge gave no answer to {n:# text|# texts} of {all}: its mean stands for it, and in the test it loses "
            "there",
            n=unanswered,
            all=len(crowd.names),
        )
    if without := [*dict.fromkeys(one.group for one in scores if one.people is None)]:
        yield Text(
            "no interval for {groups}: it needs {texts} texts that people judged, {annotators} annotators, and two "
            "such texts in each group",
            groups=[Text("all texts") if one is None else one for one in without],
            texts=_FEWEST_SCORED,
            annotators=FEWEST_ANNOTATORS,
        )
