"""Comparison of annotators with models, and of models with each other, on the same items.

Single answers of annotators are compared with single answers of the model, and the majority of five annotators with the
majority of five answers of the model. The usual published comparison sets the consensus of the baseline against the
model's answers; it is marked as unlike if the model answered each item once. Every model after the first is compared
with the first one too, by the same differences and verdicts, in which items are then the only source of chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from merilo.baselines.baseline_reader import StoredBaseline
from merilo.baselines.estimates import by_majority_alone
from merilo.baselines.model_answers import Samples, by_criterion
from merilo.baselines.model_verdicts import (
    Compared,
    ComparisonVerdict,
    Margin,
    Outcome,
    verdicts,
)
from merilo.datasets.declaration import undeclared, with_metric
from merilo.errors import DataError, UsageError, argument
from merilo.metrics.label_comparison import compare_labels
from merilo.metrics.metric import Score
from merilo.metrics.scoring import mean_factors, parts, points, statistic_score
from merilo.models.harness_logs import LogMapping
from merilo.models.sheets import NoLabels, refuse_unreadable
from merilo.people.uncertainty.annotator_accuracy import answer_difference
from merilo.people.uncertainty.two_way import influences, shared_part
from merilo.people.votes import Votes
from merilo.statistics import FloatArray
from merilo.statistics.crossed_difference import NO_ANNOTATORS, CrossedDifference, crossed_difference
from merilo.statistics.intervals import Interval, cluster_codes, mean_interval
from merilo.statistics.paired_tests import Difference, compare_scores
from merilo.statistics.planning import FEWEST_ANNOTATORS
from merilo.text import Text
from merilo.wording import counted_noun, listed

#: What is compared with the model's answers; `first` are the answers of the first model.
Kind: TypeAlias = Literal["consensus", "single", "majority", "first"]
#: The metric by which programs of people are compared with those of a model.
PROGRAM_METRIC: Final = "pass@1"

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

#: Up to this many ways to choose a committee from a model's samples are enumerated; beyond it, committees are sampled.
_COMMITTEES: Final = 400


@dataclass(frozen=True, slots=True)
class Match:
    """One comparison of annotators, or of the first model, with a model.

    Attributes:
        kind: consensus against the model's answers, single annotator against single answer, majority
            against majority, or the answers of the first model against those of this one.
        like: whether both sides have as many answers per item, decided in the same way.
        difference: model minus annotators or first model, paired by item; its interval and its test are for these
            annotators.
        crossed: the difference over items and annotators together, or of two models over items; `None` if the
            metric is not a mean over items.
        corrected: `p` after Holm's correction over all models with this kind of comparison, or over all
            comparisons of several datasets.
        verdict: what may be said about the difference.
        beside: the name of the first model; empty if people are compared.
    """

    kind: Kind
    like: bool
    difference: Difference
    crossed: CrossedDifference | None
    corrected: float = 1.0
    verdict: ComparisonVerdict | None = None
    beside: str = ""

    def compared(self, margin: Margin | None, annotators: int) -> Compared:
        """Return what its verdict is told from; `annotators` is the number of those of the study."""
        of_study = 0 if self.beside else annotators
        return Compared(self.p, self.difference.value, self.crossed, margin, of_study)

    @property
    def both(self) -> Interval | None:
        """The interval of the difference over items and annotators together; `None` if the metric is not a mean."""
        return self.crossed.interval() if self.crossed else None

    @property
    def interval(self) -> Interval:
        """The interval of record: over items and annotators, or over items alone if the metric is not a mean."""
        return self.both or self.difference.interval

    @property
    def p(self) -> float:
        """The p-value over items and annotators; that for these annotators if the metric is not a mean over items."""
        return self.crossed.p if self.crossed else self.difference.test.p

    @property
    def detectable(self) -> float | None:
        """The smallest true difference that the test of `p` detects with power 0.8; `None` if no item differs."""
        return self.crossed.detectable() if self.crossed else self.difference.detectable


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """Comparison of annotators with one model.

    Attributes:
        model: the model's name.
        score: the metric of the model's answers on the compared items, with its interval over items.
        n: how many items have both a consensus and an answer of the model; without people, an answer of the model.
        undecided: how many items were left out because they have no consensus.
        people_only: items of the baseline that the model did not answer; empty without `force`.
        model_only: items that the model answered and the baseline does not have; empty without `force`.
        samples: the smallest and the largest number of answers of the model to an item.
        matches: the comparisons with people that could be made.
        missing: mapping from kind to the reason why this comparison could not be made.
        log: how the answers were found in the log of another harness; `None` for a file of answers.
        no_labels: the answers that are none of the dataset's labels; `None` if all are.
        first: the comparison with the first model; `None` for the first model itself.
    """

    model: str
    score: Score
    n: int
    undecided: int
    people_only: tuple[str, ...]
    model_only: tuple[str, ...]
    samples: tuple[int, int]
    matches: tuple[Match, ...]
    missing: dict[Kind, str]
    log: LogMapping | None = None
    no_labels: NoLabels | None = None
    first: Match | None = None

    @property
    def every(self) -> tuple[Match, ...]:
        """Return the comparisons with people, then that with the first model."""
        return (*self.matches, self.first) if self.first else self.matches

    @property
    def marked(self) -> tuple[Match, ...]:
        """Return the comparisons that tables show: those with people, or else that with the first model."""
        return self.matches or self.every


def compare(
    crowd: StoredBaseline,
    models: Sequence[Samples],
    *,
    first: str | None = None,
    metric: str | None = None,
    force: bool = False,
    margin: Margin | None = None,
    seed: int = 0,
) -> list[ModelComparison]:
    """Compare the annotators of a baseline with models on the same items, and the other models with the first.

    Args:
        crowd: the annotators of the baseline, or the items of a dataset without annotators.
        models: the models' answers.
        first: the model with which the others are compared, if it is among them; by default, the first one.
        metric: a metric that fits the dataset's answers; by default, the baseline's main metric.
        force: if the items differ, compare on the items that both answered.
        margin: the largest difference that counts as none; without it, equivalence is not tested.
        seed: random seed for all random draws.

    Returns:
        One comparison per model, in the order of `models`.

    Raises:
        UsageError: a file is given for two models, or the metric does not fit the answers.
        DataError: the items differ, or no answer of a model can be read, and `force` is not given; or there are no
            common items.
    """
    files = [Path(model.file).resolve() for model in models]
    if twice := next(
        (model.file for model, file in zip(models, files, strict=True) if files.count(file) > 1), None
    ):
        raise UsageError(f"{twice} is given twice: give each file once")
    if crowd.declaration.answer.kind == "criteria":
        raise UsageError(
            f"{crowd.declaration.name} has a correlation for each question and criterion: choose one with "
            f"{argument('metric')} ({listed([*by_criterion(crowd, ())], 15)})"
        )
    if metric is not None:
        crowd = replace(crowd, declaration=with_metric(crowd.declaration, metric))
    if crowd.declaration.answer.kind == "program" and crowd.metric != PROGRAM_METRIC:
        raise UsageError(
            f"programs of people are compared with a model by {PROGRAM_METRIC}, not by {crowd.metric}"
        )
    if (crowd.scored.points is None and crowd.scored.statistic is None) or crowd.scored.whole:
        raise UsageError(
            f"{crowd.metric} of {crowd.declaration.name} has no value for single items, so models "
            "cannot be compared by it"
        )
    reference = models[0] if first is None else next((one for one in models if one.model == first), None)
    comparisons = [_comparison(crowd, model, reference, force=force, seed=seed) for model in models]
    for kind in KINDS:
        annotators = crowd.votes.annotators
        matches = [match for one in comparisons for match in one.every if match.kind == kind]
        try:
            told = iter(verdicts([match.compared(margin, annotators) for match in matches]))
        except DataError as error:
            title = crowd.declaration.title
            raise DataError(f"{title}: {error.marked}" if title else error.marked) from None
        comparisons = [
            replace(
                one,
                matches=tuple(_told(match, kind, told) for match in one.matches),
                first=_told(one.first, kind, told) if one.first else None,
            )
            for one in comparisons
        ]
    return comparisons


def _told(match: Match, kind: Kind, told: Iterator[tuple[float, ComparisonVerdict]]) -> Match:
    """Give a comparison of this kind the next corrected p-value and verdict."""
    if match.kind != kind:
        return match
    corrected, verdict = next(told)
    return replace(match, corrected=corrected, verdict=verdict)


def _comparison(
    crowd: StoredBaseline, model: Samples, first: Samples | None, *, force: bool, seed: int
) -> ModelComparison:
    metric = crowd.metric
    own = set(crowd.names)
    people_only = tuple(name for name in crowd.names if name not in model.answers)
    model_only = tuple(name for name in model.answers if name not in own)
    if (people_only or model_only) and not force:
        raise DataError(_subsets(crowd, model, people_only, model_only), file=model.file)
    answered = _answered(crowd, model)
    if not answered:
        raise DataError(f"answers none of the {len(crowd.names)} items of {crowd.folder}", file=model.file)
    if not force:
        read = (one for place in answered for one in model.answers[crowd.names[place]])
        refuse_unreadable(read, model.log, model.file, also=_in_baseline(crowd))
    # In the exam, a question without consensus counts as blank, because every question of a variant is scored.
    programs = metric == PROGRAM_METRIC
    no_blanks = crowd.annotators and metric != "grade_norm" and not programs
    decided = [place for place in answered if not no_blanks or crowd.consensus[place] is not None]
    if not decided:
        raise DataError(f"none of the {len(answered)} items has a consensus", file=crowd.folder)
    everybody, agreed = crowd.on(answered), crowd.on(decided)
    given = [model.answers[name] for name in everybody.names]
    scores = _Scores.of(everybody, given)
    missing: dict[Kind, str] = {}
    matches = []
    if not crowd.annotators:
        pass
    elif programs:
        matches.append(_single(everybody, scores, seed))
        missing = dict.fromkeys(
            ("consensus", "majority"), "programs have no consensus: each person's program is a sample"
        )
    else:
        matches.append(_consensus(agreed, [model.answers[name] for name in agreed.names], seed))
        if crowd.scored.is_mean:
            matches.append(_single(everybody, scores, seed))
            committee = _majority(everybody, given, seed)
            if isinstance(committee, Match):
                matches.append(committee)
            else:
                missing["majority"] = committee
        else:
            missing = dict.fromkeys(("single", "majority"), f"{metric} is not a mean over items")
    return ModelComparison(
        model.model,
        _score(agreed, [model.answers[name] for name in agreed.names], seed),
        len(decided),
        len(answered) - len(decided),
        people_only,
        model_only,
        (min(map(len, given)), max(map(len, given))),
        tuple(matches),
        missing,
        model.log,
        model.no_labels,
        None if first is None or model is first else _beside_first(crowd, first, model, seed),
    )


def _answered(crowd: StoredBaseline, *models: Samples) -> list[int]:
    """Return the places of the items that all these models answered; of an exam, of whole variants only."""
    found = [
        place for place, name in enumerate(crowd.names) if all(name in model.answers for model in models)
    ]
    return _whole_variants(crowd, found, models[-1]) if found and crowd.metric == "grade_norm" else found


def _score(crowd: StoredBaseline, given: Sequence[Sequence[str]], seed: int) -> Score:
    """Return the mean score of a model's answers to these items; for a metric of labels, that of its first answers."""
    metric, n = crowd.metric, len(crowd.names)
    clusters = None if crowd.votes.cluster is None else crowd.votes.cluster.tolist()
    if crowd.scored.statistic:
        texts = [answers[0] for answers in given]
        return statistic_score(metric, crowd.scored, texts, crowd.gold, clusters, seed=seed)
    scores = model_scores(crowd, range(n), given)
    if metric != "grade_norm":
        return Score(metric, float(scores.mean()), n, mean_interval(scores, clusters, seed=seed))
    codes = cluster_codes([str(item.meta.get("variant")) for item in crowd.items])
    grades = np.bincount(codes, weights=scores) / np.bincount(codes)
    interval = mean_interval(grades, over="variants", seed=seed) if grades.size > 1 else None
    return Score(metric, float(scores.mean()), n, interval)


def _beside_first(crowd: StoredBaseline, first: Samples, model: Samples, seed: int) -> Match:
    """Compare the mean scores of two models' answers to the items that both answered."""
    places = _answered(crowd, first, model)
    if not places:
        raise DataError(f"has no item in common with {first.file}", file=model.file)
    crowd = crowd.on(places)
    clusters = crowd.votes.cluster
    sides = [[one.answers[name] for name in crowd.names] for one in (first, model)]
    if crowd.scored.statistic:
        theirs, mine = ([answers[0] for answers in side] for side in sides)
        difference = compare_labels(crowd.scored, theirs, mine, crowd.gold, clusters=clusters, seed=seed)
        return Match("first", True, difference, None, beside=first.model)
    before, after = (model_scores(crowd, range(len(places)), side) for side in sides)
    difference = compare_scores(before, after, clusters=clusters, seed=seed)
    crossed = crossed_difference(before, after, NO_ANNOTATORS, clusters=clusters)
    return Match("first", True, difference, crossed, beside=first.model)


def _subsets(
    crowd: StoredBaseline, model: Samples, people_only: Sequence[str], model_only: Sequence[str]
) -> str:
    parts = []
    if people_only:
        parts.append(
            f"{len(people_only)} of the {len(crowd.names)} items of {crowd.folder} have no answer here "
            f"({listed([name[:40] for name in people_only], 5)})"
        )
    if model.log and (lost := model.log.lost()):
        parts.append(counted_noun(lost, "request of the log failed", "requests of the log failed"))
    if model.unasked:
        parts.append(f"the run is unfinished ({model.unasked} items; the same 'merilo run' asks them)")
    if model_only:
        parts.append(
            f"{counted_noun(len(model_only), 'answer is', 'answers are')} to items outside "
            f"{'the baseline' if crowd.annotators else crowd.folder} "
            f"({listed([name[:40] for name in model_only], 5)})"
        )
    if len(people_only) == len(crowd.names):
        return f"{' and '.join(parts)}: there is no item in common"
    return (
        f"{' and '.join(parts)}: results on different items are not comparable; use {argument('force', given=True)}"
        f"{_in_baseline(crowd)} to compare on the {len(crowd.names) - len(people_only)} items that both answered"
    )


def _in_baseline(crowd: StoredBaseline) -> str:
    """Return what `force` is called where a baseline is computed; empty without people."""
    return f" (in merilo baseline: {argument('common_items', given=True)})" if crowd.annotators else ""


@dataclass(frozen=True, slots=True)
class _Scores:
    """Scores of the annotators' answers by row of the votes, and of the model's answers by item."""

    people: FloatArray
    model: FloatArray

    @staticmethod
    def of(crowd: StoredBaseline, given: Sequence[Sequence[str]]) -> _Scores:
        if not crowd.scored.is_mean:
            # A metric of labels has no points: an answer is right or wrong.
            crowd = replace(crowd, declaration=undeclared("acc"))
        return _Scores(people_scores(crowd), model_scores(crowd, range(len(given)), given))


def people_scores(crowd: StoredBaseline) -> FloatArray:
    """Return the points of every counted answer, shape (n,): those of `crowd.votes`, in their order."""
    votes = crowd.votes
    width = max(votes.labels, 1)
    cells, pair = np.unique(votes.item.astype(np.int64) * width + votes.label, return_inverse=True)
    places, labels = np.divmod(cells, width)
    return earned(crowd, places.tolist(), [crowd.labels[code] for code in labels.tolist()])[pair]


def model_scores(crowd: StoredBaseline, places: Sequence[int], given: Sequence[Sequence[str]]) -> FloatArray:
    """Return the mean points of a model's answers to each of the items at these places, shape of `places`."""
    samples = np.array([len(answers) for answers in given])
    owner = np.repeat(np.arange(len(given)), samples)
    each = earned(
        crowd, [places[row] for row in owner.tolist()], [answer for answers in given for answer in answers]
    )
    means: FloatArray = np.bincount(owner, weights=each, minlength=len(given)) / samples
    return means


def earned(crowd: StoredBaseline, places: Sequence[int], answers: Sequence[str]) -> FloatArray:
    """Return the points of answers to the items at these places by the baseline's metric, shape (n,)."""
    rows = np.asarray(places, dtype=np.int64)
    each = points(
        crowd.declaration.answer, crowd.scored, [crowd.items[row] for row in rows.tolist()], answers
    )
    return np.asarray(each * mean_factors(crowd.scored, crowd.items)[rows])


def _whole_variants(crowd: StoredBaseline, answered: Sequence[int], model: Samples) -> list[int]:
    """Return the places of the items of complete exam variants in which both sides have every question."""
    main, _ = parts(crowd.declaration, [crowd.items[place] for place in answered])
    rows = [answered[row] for row in main[0].rows]
    if not rows:
        raise DataError(
            "no variant was answered completely by both the annotators and the model", file=model.file
        )
    return rows


def _consensus(crowd: StoredBaseline, given: Sequence[Sequence[str]], seed: int) -> Match:
    """Compare the baseline's consensus with the mean over the model's answers.

    If no mean is defined, the model's first answer counts.
    """
    people = ["" if label is None else label for label in crowd.consensus]
    if crowd.scored.statistic:
        difference = compare_labels(
            crowd.scored,
            people,
            [answers[0] for answers in given],
            crowd.gold,
            clusters=crowd.votes.cluster,
            seed=seed,
        )
        return Match("consensus", False, difference, None)
    scores = _Scores.of(crowd, given)
    right = earned(crowd, range(len(people)), people)
    clusters = crowd.votes.cluster
    difference = compare_scores(right, scores.model, clusters=clusters, seed=seed)
    crossed = consensus_difference(
        crowd.votes,
        scores.people,
        right,
        scores.model,
        needed=crowd.needed if by_majority_alone(crowd.settings) else 0,
    )
    overlap = np.bincount(crowd.votes.item, minlength=len(crowd.names))
    return Match("consensus", bool((overlap == 1).all()), difference, crossed)


def consensus_difference(
    votes: Votes,
    worth: FloatArray,
    right: FloatArray,
    model: FloatArray,
    *,
    needed: NDArray[np.int64] | int,
) -> CrossedDifference:
    """Compute the difference of a model's answers and a consensus, over items and annotators.

    Args:
        votes: the answers.
        worth: shape (n,), the points of each answer.
        right: shape (items,), the points of the consensus.
        model: shape (items,), the points of the model.
        needed: shape (items,), how many equal votes make a majority.
    """
    influence = influences(
        votes,
        model[votes.item] - worth,
        min_votes=needed,
        unseen=model,
    )
    return crossed_difference(right, model, shared_part(votes, influence), clusters=votes.cluster)


def majority_difference(
    votes: Votes, worth: FloatArray, model: FloatArray
) -> tuple[FloatArray, CrossedDifference]:
    """Compute the points of the majority of each item's annotators, and the model's difference from them.

    Args:
        votes: the answers; each item has one.
        worth: shape (n,), the points of each answer.
        model: shape (items,), the points of the majority of the model's answers.
    """
    of_people = influences(votes, worth)
    people = of_people.item + of_people.value
    apart = influences(votes, model[votes.item] - worth, unseen=model)
    return people, crossed_difference(people, model, shared_part(votes, apart), clusters=votes.cluster)


def _single(crowd: StoredBaseline, scores: _Scores, seed: int) -> Match:
    """Compare single answers: on each item, the mean score of annotators with the mean score of the model's samples."""
    votes = crowd.votes
    overlap = np.bincount(votes.item, minlength=len(crowd.names))
    asked = overlap > 0
    people = (
        np.bincount(votes.item, weights=scores.people, minlength=len(crowd.names))[asked] / overlap[asked]
    )
    clusters = None if votes.cluster is None else votes.cluster[asked]
    difference = compare_scores(people, scores.model[asked], clusters=clusters, seed=seed)
    crossed = answer_difference(votes, scores.people, scores.model)
    return Match("single", True, difference, crossed)


def _majority(crowd: StoredBaseline, given: Sequence[Sequence[str]], seed: int) -> Match | str:
    """Compare the majority of an item's annotators with the majority of as many answers of the model.

    Ties share the item.
    """
    overlap = np.bincount(crowd.votes.item, minlength=len(crowd.names))
    asked = np.flatnonzero(overlap)
    short = sum(len(given[place]) < overlap[place] for place in asked.tolist())
    if short:
        return (
            f"on {short} of {asked.shape[0]} items the model gave fewer answers than the annotators (up to "
            f"{int(overlap.max())}): the majority comparison needs as many samples of an item as it has annotators"
        )
    crowd = crowd.on(asked.tolist())
    rng = np.random.default_rng(seed)
    model = np.array(
        [
            committee_score(
                given[place], earned(crowd, [row] * len(given[place]), given[place]), int(overlap[place]), rng
            )
            for row, place in enumerate(asked.tolist())
        ]
    )
    scores = _Scores.of(crowd, [given[place] for place in asked.tolist()])
    people, crossed = majority_difference(crowd.votes, scores.people, model)
    difference = compare_scores(people, model, clusters=crowd.votes.cluster, seed=seed)
    return Match("majority", True, difference, crossed)


def committee_score(
    answers: Sequence[str], worth: Sequence[float] | FloatArray, size: int, rng: np.random.Generator
) -> float:
    """Return the expected points of the majority of `size` of a model's answers, over all ways to choose them.

    Ties share.

    Args:
        answers: the model's answers to one item, at least `size`.
        worth: the points of each answer, shape of `answers`.
        size: how many answers a committee has.
        rng: samples committees if there are too many to enumerate.

    Example:
        >>> committee_score(["A", "A", "B"], [1, 1, 0], 3, np.random.default_rng(0))
        1.0
        >>> committee_score(["A", "B"], [1, 0], 2, np.random.default_rng(0))
        0.5
    """
    distinct = {answer: code for code, answer in enumerate(dict.fromkeys(answers))}
    codes = np.array([distinct[answer] for answer in answers])
    each = np.zeros(len(distinct))
    each[codes] = worth
    n = len(answers)
    if comb(n, size) <= _COMMITTEES:
        chosen = np.array(list(combinations(range(n), size)))
    else:
        chosen = np.argsort(rng.random((_COMMITTEES, n)), axis=1)[:, :size]
    votes = np.zeros((chosen.shape[0], len(distinct)))
    np.add.at(votes, (np.arange(chosen.shape[0])[:, None], codes[chosen]), 1)
    leading = votes == votes.max(axis=1, keepdims=True)
    return float(((leading * each).sum(axis=1) / leading.sum(axis=1)).mean())


def verdict_sentence(match: Match, model: str) -> Text:
    """Describe the verdict of a comparison with people or with the first model in one sentence.

    Args:
        match: the comparison, which has a verdict.
        model: the model's name.

    Raises:
        ValueError: the comparison has no verdict.
    """
    verdict, difference = match.verdict, match.difference
    if verdict is None:
        raise ValueError("the comparison has no verdict")
    if match.beside:
        return _model_sentence(match, verdict, model)
    mine, theirs = _sides(match.kind, model)
    scores = Text(
        "{name:capital}: {mine} scored {model:.3f} and {theirs} {people:.3f}",
        name=_outcome_name(verdict, abs(difference.value)),
        mine=mine,
        model=difference.second,
        theirs=theirs,
        people=difference.first,
    )
    if verdict.few_annotators is not None:
        return Text(
            "{scores}, but the answers of {n:# annotator|# annotators} do not show how other people would score (a "
            "verdict needs at least {fewest} annotators).",
            scores=scores,
            n=verdict.few_annotators,
            fewest=FEWEST_ANNOTATORS,
        )
    when = _when(verdict.margin)
    if verdict.outcome == "untold":
        return Text(
            "{scores}, but with other {crossed:True=items and other people|items} the difference could be anything "
            "from {low} to {high}{needed}{when}.",
            scores=scores,
            crossed=match.crossed is not None,
            low=signed(match.interval.low),
            high=signed(match.interval.high),
            needed=_needed(verdict),
            when=when,
        )
    return _told_sentence(scores, verdict, when, crossed=match.crossed is not None)


_BESIDE_MODEL: Final[Mapping[Outcome, Text]] = {
    "above": Text("above {other}"),
    "below": Text("below {other}"),
    "not_worse": Text("not worse than {other} (by {margin:g})"),
    "human_level": Text("equivalent to {other} (within ±{margin:g})"),
    "untold": Text("cannot be told"),
}


def _model_sentence(match: Match, verdict: ComparisonVerdict, model: str) -> Text:
    """Describe the verdict of a comparison of two models."""
    difference, margin = match.difference, verdict.margin
    name = Text(
        _BESIDE_MODEL[verdict.outcome].english,
        other=match.beside,
        margin=margin.value if margin else 0.0,
    )
    return Text(
        "{outcome:capital}: {model} scored {mine:.3f} and {other} {theirs:.3f}, difference {difference} "
        "[{low}, {high}], p = {p:.2g} after Holm’s correction, {n:# item|# items}{needed}{when}.",
        outcome=name,
        model=model,
        other=match.beside,
        mine=difference.second,
        theirs=difference.first,
        difference=signed(difference.value),
        low=signed(match.interval.low),
        high=signed(match.interval.high),
        p=match.corrected,
        n=difference.n,
        needed=_items_needed(verdict),
        when=_when(margin),
    )


def _items_needed(verdict: ComparisonVerdict) -> Text | str:
    needed = verdict.needed
    return Text("; it would take about {items} items", items=needed.items) if needed else ""


def _told_sentence(scores: Text, verdict: ComparisonVerdict, when: Text | str, *, crossed: bool) -> Text:
    """Describe a verdict other than "cannot be told"."""
    margin = verdict.margin.value if verdict.margin else 0.0
    if verdict.outcome == "human_level":
        return Text(
            "{scores}, and with other items and other people too the true scores differ by less than {margin:g}{when}.",
            scores=scores,
            margin=margin,
            when=when,
        )
    if verdict.outcome == "not_worse":
        return Text(
            "{scores}; the model is at most {margin:g} below people, and this study cannot tell whether it is level "
            "with them or above them{when}.",
            scores=scores,
            margin=margin,
            when=when,
        )
    if not crossed:
        return Text(
            "{scores}, and chance in the choice of items does not explain the difference; for this metric it is not "
            "known how other people would score{when}.",
            scores=scores,
            when=when,
        )
    return Text(
        "{scores}, and chance in the choice of items and people does not explain the difference{when}.",
        scores=scores,
        when=when,
    )


def _sides(kind: Kind, model: str) -> tuple[Text, Text]:
    """Name the model's side and the people's side of a kind of comparison."""
    if kind == "consensus":
        return Text("single answers of {model}", model=model), Text("the consensus of people")
    if kind == "single":
        return Text("a single answer of {model}", model=model), Text("a single person", context="side")
    mine = Text("the majority of several answers of {model} (maj@k)", model=model)
    return mine, Text("the majority of as many people")


def _outcome_name(verdict: ComparisonVerdict, difference: float) -> Text:
    """Name the outcome of a verdict, with its margin, and with a significant difference within the margin."""
    margin = verdict.margin.value if verdict.margin else 0.0
    match verdict.outcome:
        case "above":
            return Text("above people")
        case "below":
            return Text("below people")
        case "not_worse":
            return Text("not worse than people (by {margin:g})", margin=margin)
        case "untold":
            return Text("cannot be told")
    if verdict.significant:
        return Text(
            "{side:above=above|below} people by {difference:.3f}, and within the margin (±{margin:g})",
            side=verdict.significant,
            difference=difference,
            margin=margin,
        )
    return Text("at human level (within ±{margin:g})", margin=margin)


def signed(value: float, digits: int = 3) -> Text:
    """Return a number with its sign; a minus is as long as a plus."""
    size = Text(f"{{size:.{digits}f}}", size=abs(value))
    return Text("−{size}", size=size) if round(value, digits) < 0 else Text("+{size}", size=size)


def _needed(verdict: ComparisonVerdict) -> Text | str:
    """Say what would tell the difference, after a verdict that does not."""
    if verdict.needed is not None:
        return Text(
            "; it would take about {items} items and {annotators} people",
            items=verdict.needed.items,
            annotators=verdict.needed.annotators,
        )
    if verdict.margin is None:
        return Text("; this does not show that the model is at human level, which takes a margin")
    return ""


def _when(margin: Margin | None) -> Text | str:
    """Say when the margin was chosen."""
    if margin is None:
        return ""
    if margin.planned is None:
        return Text(" [margin given after the data]")
    return Text(" [margin planned on {day:date}]", day=margin.planned)
