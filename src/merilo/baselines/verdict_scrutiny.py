"""Under which other choices the verdict of a comparison is the same.

The consensus is decided again with other thresholds on control items and by other procedures; items with a suspect gold
answer and single annotators are left out. Each time the comparison is made again, and its verdict is told as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.baselines.audit import suspect_golds
from merilo.baselines.baseline_reader import BY_DESIGN, StoredBaseline, WholeStudy
from merilo.baselines.decision_rule import DecisionRule, by_majority_alone, vote_weights
from merilo.baselines.model_answers import Samples
from merilo.baselines.model_comparison import (
    PROGRAM_METRIC,
    Kind,
    Match,
    ModelComparison,
    committee_score,
    consensus_difference,
    earned,
    majority_difference,
    model_scores,
)
from merilo.baselines.model_verdicts import FEWEST_ANNOTATORS, Compared, Holds, Margin, Outcome, verdicts
from merilo.baselines.panel import Ceiling
from merilo.baselines.quality import (
    MOST_ANSWERS,
    USUAL_THRESHOLDS,
    by_models,
    own_procedure,
    procedures_of,
    rule_of,
)
from merilo.errors import DataError
from merilo.metrics.label_comparison import compare_labels
from merilo.metrics.worth import OF_LABELS, parts
from merilo.people.aggregation import NO_LABEL, Consensus
from merilo.people.audit.findings import Audit, audit
from merilo.people.decision import PoolVotes, decide_by, pool_votes
from merilo.people.quality.controls import ExclusionRule
from merilo.people.uncertainty.annotator_accuracy import answer_difference
from merilo.people.votes import IntArray, Votes
from merilo.responses import Responses
from merilo.settings import Settings
from merilo.statistics import FloatArray
from merilo.statistics.crossed_difference import CrossedDifference

#: With a larger product of the numbers of answers and annotators, annotators are not left out one at a time.
MOST_LEFT_OUT: Final = 2_000_000

#: Mapping from the place of a model and the kind of a comparison to its outcome.
_Outcomes: TypeAlias = dict[tuple[int, Kind], Outcome]


def scrutinised(
    crowd: StoredBaseline,
    models: Sequence[Samples],
    comparisons: Sequence[ModelComparison],
    margin: Margin | None,
    *,
    seed: int = 0,
    others: Sequence[Compared] | None = None,
) -> list[ModelComparison]:
    """Add to each comparison under which other choices its verdict is the same.

    Args:
        crowd: the annotators of the baseline, with the metric of the comparisons.
        models: the models' answers.
        comparisons: the comparisons of these models, in the same order.
        margin: the margin for equivalence.
        seed: the random seed of the comparisons.
        others: the comparisons on other datasets with which p-values are corrected together; `None` if each kind of
            comparison of this dataset is corrected by itself.
    """
    told = [match.verdict for one in comparisons for match in one.matches if match.verdict]
    if crowd.study is None or all(verdict.few_annotators is not None for verdict in told):
        return [*comparisons]
    study = _Study(crowd, crowd.study, models, comparisons, margin, seed, others)
    thresholds = {one: study.outcomes(study.by_threshold(one)) for one in study.thresholds}
    procedures = {name: study.outcomes(alternative) for name, alternative in study.by_procedures()}
    suspects = study.suspects
    without = study.outcomes(study.own, ~suspects) if suspects.any() else None
    left_out = {name: study.outcomes(one, fewest=FEWEST_ANNOTATORS - 1) for name, one in study.without_each()}

    def held(place: int, match: Match) -> Holds | None:
        if match.verdict is None or match.verdict.few_annotators is not None:
            return None
        key, outcome = (place, match.kind), match.verdict.outcome
        doubted = int((suspects & study.compared[place]).sum())
        found = Holds(
            {one: told.get(key) == outcome for one, told in thresholds.items()},
            {name: told.get(key) == outcome for name, told in procedures.items()}
            if match.kind == "consensus"
            else {},
            doubted,
            without.get(key) == outcome if without is not None and doubted else None,
            len(left_out),
            tuple(name for name, told in left_out.items() if told.get(key) != outcome),
            study.surviving(place, match) if doubted else None,
        )
        return found if found.tried else None

    return [
        replace(
            one,
            matches=tuple(replace(match, holds=held(place, match)) for match in one.matches),
            ceiling=study.ceiling,
        )
        for place, one in enumerate(comparisons)
    ]


@dataclass(frozen=True, slots=True)
class _Alternative:
    """The answers that count and the consensus under other choices.

    Attributes:
        rows: shape (n,), the counted answers, as places in the study's votes.
        label: shape (items,), the codes of the consensus; `NO_LABEL` without one.
        needed: shape (items,), how many equal votes make a majority.
        weight: shape (n,), the weight of each answer; `None` if a majority decides.
    """

    rows: NDArray[np.int64]
    label: IntArray
    needed: NDArray[np.int64]
    weight: FloatArray | None


@dataclass(frozen=True)
class _Study:
    """A study with all its answers, the models, and the original comparisons."""

    crowd: StoredBaseline
    whole: WholeStudy
    models: Sequence[Samples]
    comparisons: Sequence[ModelComparison]
    margin: Margin | None
    seed: int
    others: Sequence[Compared] | None

    @cached_property
    def settings(self) -> Settings:
        return self.crowd.settings

    @cached_property
    def pool(self) -> PoolVotes:
        """All answers of the study; `kept` and `counted` are those of the baseline."""
        table = self.whole.responses
        items = table.select("item").unique()
        pool = pool_votes(Responses(table, items, table.height, {}), self.whole.annotators)
        design = self.settings.design
        if design is None:
            return pool
        given = table.filter(pl.all_horizontal(pl.col("item", "respondent", "answer").is_not_null()))
        return replace(pool, by_design=given[BY_DESIGN].to_numpy(), overlap=design.overlap)

    @cached_property
    def labels(self) -> list[str]:
        return [str(label) for label in self.pool.everyone.labels]

    @cached_property
    def item_codes(self) -> NDArray[np.int64]:
        """The code in the pool of each item of the comparison, shape (items,)."""
        code = {int(number): place for place, number in enumerate(self.pool.everyone.items)}
        return np.array([code.get(number, -1) for number in self.crowd.numbers], dtype=np.int64)

    @cached_property
    def votes(self) -> Votes:
        """All answers of the study; items are coded by their place in the comparison, -1 for other items."""
        votes = self.pool.everyone.votes
        place = np.full(votes.items, -1, dtype=np.int32)
        known = self.item_codes >= 0
        place[self.item_codes[known]] = np.flatnonzero(known)
        return replace(
            votes, item=place[votes.item], items=len(self.crowd.numbers), cluster=self.crowd.votes.cluster
        )

    @cached_property
    def compared(self) -> list[NDArray[np.bool_]]:
        """For each model the items that are compared, shape (items,)."""
        found = []
        for model in self.models:
            answered = np.array([name in model.answers for name in self.crowd.names])
            if self.crowd.metric == "grade_norm":
                answered &= self._whole_variants(answered)
            found.append(answered)
        return found

    def _whole_variants(self, answered: NDArray[np.bool_]) -> NDArray[np.bool_]:
        places = np.flatnonzero(answered)
        main, _ = parts(self.crowd.declaration, [self.crowd.items[place] for place in places.tolist()])
        kept = np.zeros_like(answered)
        kept[places[list(main[0].rows)]] = True
        return kept

    @cached_property
    def own(self) -> _Alternative:
        """The original answers and consensus."""
        code = {label: place for place, label in enumerate(self.labels)}
        label = np.array(
            [code.get(one, NO_LABEL) if one is not None else NO_LABEL for one in self.crowd.consensus],
            dtype=np.int32,
        )
        return self._alternative(self.pool, label, self._own_rule(self.pool))

    def _own_rule(self, pool: PoolVotes) -> DecisionRule:
        if by_majority_alone(self.settings):
            return DecisionRule(pool.votes, needed=np.asarray(pool.needed(self.settings.min_votes)))
        names = pool.everyone.annotators
        weight = vote_weights(pool.votes, names, self.whole.annotators, self.settings)
        return DecisionRule(pool.votes, weight=weight)

    def _alternative(self, pool: PoolVotes, label: IntArray, rule: DecisionRule) -> _Alternative:
        rows = np.flatnonzero(pool.counted)
        inside = self.votes.item[rows] >= 0
        asked = np.zeros(label.shape, dtype=np.bool_)
        asked[self.votes.item[rows[inside]]] = True
        label = np.where(asked, label, NO_LABEL).astype(np.int32)
        needed = np.broadcast_to(rule.needed, pool.everyone.votes.items)[self.item_codes]
        return _Alternative(rows[inside], label, needed, None if rule.weight is None else rule.weight[inside])

    @cached_property
    def _everyone(self) -> Mapping[str, Consensus]:
        """The consensus of each model on the answers of all annotators; empty if there are too many."""
        if len(self.pool.everyone.votes) > MOST_ANSWERS or self.crowd.metric == PROGRAM_METRIC:
            return {}
        return by_models(replace(self.pool, kept=np.ones_like(self.pool.kept)), self.settings)

    @cached_property
    def _free_text(self) -> bool:
        return self.crowd.declaration.answer.kind == "text"

    @cached_property
    def _procedures(self) -> dict[str, Callable[[PoolVotes], Consensus]]:
        if self.crowd.metric == PROGRAM_METRIC or not any(
            match.kind == "consensus" for one in self.comparisons for match in one.matches
        ):
            return {}
        return procedures_of(self.settings, self._everyone, free_text=self._free_text)

    def _decided(self, pool: PoolVotes, name: str) -> _Alternative:
        """Decide the items by a procedure."""
        if name in self._procedures:
            consensus = self._procedures[name](pool)
            ability = self._everyone["glad"].fit if self._everyone else None
            rule = rule_of(name, pool, consensus, self.settings, ability)
        elif self._procedures:
            consensus = decide_by(self.settings, pool, free_text=self._free_text)
            rule = self._own_rule(pool)
        else:
            return self._alternative(pool, self.own.label, self._own_rule(pool))
        return self._alternative(pool, consensus.label[self.item_codes], rule)

    @cached_property
    def _controls(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The right answers and all answers of each annotator to control items, shape (annotators,) each."""
        people = self.pool.everyone.annotators.cast(pl.String).to_frame("annotator")
        found = people.join(self.whole.annotators, on="annotator", how="left", maintain_order="left")
        right, answers = (
            found[name].fill_null(0).cast(pl.Int64).to_numpy() for name in ("controls_correct", "controls")
        )
        return right, answers

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The thresholds that are tried; none without control items."""
        rule = ExclusionRule(0.5, self.settings.min_controls)
        return USUAL_THRESHOLDS if rule.judged(self._controls[1]).any() else ()

    def by_threshold(self, threshold: float) -> _Alternative | None:
        """Decide the items with another threshold; `None` if it excludes everybody."""
        stays = ~ExclusionRule(threshold, self.settings.min_controls).excluded(*self._controls)
        kept = stays[self.pool.everyone.votes.annotator]
        if np.array_equal(kept, self.pool.kept):
            return self.own
        pool = replace(self.pool, kept=kept, counted=kept & self.pool.tests)
        if not pool.counted.any():
            return None
        return self._decided(pool, own_procedure(self.settings))

    def by_procedures(self) -> Iterable[tuple[str, _Alternative]]:
        """Decide the items by each procedure."""
        for name in self._procedures:
            own = name == own_procedure(self.settings)
            yield name, self.own if own else self._decided(self.pool, name)

    @cached_property
    def suspects(self) -> NDArray[np.bool_]:
        """Whether the gold answer of each item is suspect, shape (items,); false if the audit is not made."""
        suspect = suspect_golds(self.audited) if self.audited else []
        return np.isin(self.item_codes, [one.item for one in suspect])

    def surviving(self, place: int, match: Match) -> CrossedDifference | None:
        """Compare a model again on the items whose gold answers are not suspect; `None` if that is not possible."""
        try:
            made = self._again(self.own, place, match.kind, self.compared[place] & ~self.suspects)
        except DataError:  # no item is left, or one cluster
            return None
        return made.crossed if made else None

    @property
    def ceiling(self) -> Ceiling | None:
        """The reachable maximum by the audit; `None` if it does not bound the number of wrong gold answers."""
        found = self.audited
        if found is None or found.wrong_golds is None or self.crowd.metric not in {"acc", "em"}:
            return None
        return Ceiling(found.golds, found.wrong_golds)

    @cached_property
    def audited(self) -> Audit | None:
        """The audit of the gold answers; `None` if there are too many answers, or programs."""
        if len(self.pool.everyone.votes) > MOST_ANSWERS or self.crowd.metric == PROGRAM_METRIC:
            return None
        table = self.whole.responses.filter(pl.col("is_control") & pl.col("control").is_not_null())
        controls = table.select("item", "control").unique("item", keep="first", maintain_order=True)
        known = dict(controls.iter_rows()) | dict(zip(self.crowd.numbers, self.crowd.gold, strict=True))
        coded = self.pool.everyone.with_labels(known.values())
        code = {str(label): place for place, label in enumerate(coded.labels)}
        golds = np.array([code[known[n]] if n in known else -1 for n in coded.items], dtype=np.int32)
        return audit(
            coded.votes,
            golds,
            [str(name) for name in coded.annotators],
            [*code],
            choice=True if self.settings.labels else None,
        )

    def without_each(self) -> Iterable[tuple[str, _Alternative]]:
        """Leave out each annotator; the items that they answered are decided again by the votes of the others."""
        annotator = self.votes.annotator[self.own.rows]
        people = np.unique(annotator)
        if self.own.rows.size * people.size > MOST_LEFT_OUT or self.crowd.metric in OF_LABELS:
            return
        for person in people.tolist():
            kept = annotator != person
            touched = np.unique(self.votes.item[self.own.rows[~kept]])
            weight = None if self.own.weight is None else self.own.weight[kept]
            left = replace(self.own, rows=self.own.rows[kept], weight=weight)
            if self.crowd.metric != PROGRAM_METRIC:
                label = self.own.label.copy()
                label[touched] = self._leading(left, touched)
                left = replace(left, label=label)
            yield str(self.pool.everyone.annotators[person]), left

    def _leading(self, one: _Alternative, places: NDArray[np.int32]) -> IntArray:
        """Return the leading label of these items, shape of `places`; `NO_LABEL` without a majority or answers."""
        inside = np.isin(self.votes.item[one.rows], places)
        rows = one.rows[inside]
        totals = np.zeros((places.shape[0], len(self.labels)))
        at = np.searchsorted(places, self.votes.item[rows])
        weight = 1.0 if one.weight is None else one.weight[inside]
        np.add.at(totals, (at, self.votes.label[rows]), weight)
        top = totals.max(axis=1)
        told = top > 0
        if one.weight is None:
            told &= (top >= one.needed[places]) & ((totals == top[:, None]).sum(axis=1) == 1)
        return np.where(told, totals.argmax(axis=1), NO_LABEL).astype(np.int32)

    @cached_property
    def _points(self) -> dict[tuple[int, int], float]:
        """The points of labels by place of the item and code of the label; those met so far."""
        return {}

    def points(self, places: NDArray[np.integer], labels: NDArray[np.integer]) -> FloatArray:
        """Return the points of labels on the items at these places; no label is an empty answer."""
        cells = [*zip(places.tolist(), labels.tolist(), strict=True)]
        if new := [*dict.fromkeys(cell for cell in cells if cell not in self._points)]:
            answers = [self.labels[label] if label != NO_LABEL else "" for _, label in new]
            values = earned(self.crowd, [place for place, _ in new], answers)
            self._points.update(zip(new, values.tolist(), strict=True))
        return np.array([self._points[cell] for cell in cells])

    @cached_property
    def _model_scores(self) -> list[FloatArray]:
        """The points of each model on each item, shape (items,); 0 where it did not answer."""
        if self.crowd.metric in OF_LABELS:
            return []
        found = []
        for model in self.models:
            places = [place for place, name in enumerate(self.crowd.names) if name in model.answers]
            scores = np.zeros(len(self.crowd.names))
            given = [model.answers[self.crowd.names[place]] for place in places]
            scores[places] = model_scores(self.crowd, places, given)
            found.append(scores)
        return found

    def outcomes(
        self,
        one: _Alternative | None,
        among: NDArray[np.bool_] | None = None,
        *,
        fewest: int = FEWEST_ANNOTATORS,
    ) -> _Outcomes:
        """Tell the verdicts of all comparisons again; a comparison that cannot be made has none.

        Args:
            one: the answers that count and the consensus; `None` if no answer counts.
            among: the items that are compared, shape (items,); by default, all.
            fewest: with fewer annotators, no verdict is told.
        """
        if one is None:
            return {}
        found: dict[tuple[int, Kind], Compared] = {}
        for place, comparison in enumerate(self.comparisons):
            items = self.compared[place] if among is None else self.compared[place] & among
            for match in comparison.matches:
                try:
                    made = self._again(one, place, match.kind, items)
                except DataError:  # no item is left, or one cluster
                    continue
                if made:
                    found[place, match.kind] = made
        try:
            if self.others is not None:
                told = verdicts([*found.values(), *self.others], fewest=fewest)
                return {key: verdict.outcome for key, (_, verdict) in zip(found, told, strict=False)}
            outcomes: _Outcomes = {}
            for kind in dict.fromkeys(kind for _, kind in found):
                own = {key: one for key, one in found.items() if key[1] == kind}
                told = verdicts([*own.values()], fewest=fewest)
                outcomes |= {key: verdict.outcome for key, (_, verdict) in zip(own, told, strict=True)}
        except DataError:  # too few items or annotators for the margin
            return {}
        return outcomes

    def _again(self, one: _Alternative, place: int, kind: Kind, items: NDArray[np.bool_]) -> Compared | None:
        """Compare one model with the annotators again; `None` if nothing is left to compare."""
        rows, weight = one.rows, one.weight
        if kind == "single" and self.pool.by_design is not None:
            designed = self.pool.by_design[rows]
            rows, weight = rows[designed], None if weight is None else weight[designed]
        if kind == "consensus" and self.crowd.metric != "grade_norm":
            items = items & (one.label != NO_LABEL)
        if kind != "consensus":
            answered = np.zeros_like(items)
            answered[self.votes.item[rows]] = True
            items = items & answered
        places = np.flatnonzero(items)
        inside = items[self.votes.item[rows]]
        if not places.size or not inside.any():
            return None
        votes = self._votes_on(rows[inside], places)
        annotators = int(np.unique(votes.annotator).shape[0])
        if self.crowd.metric in OF_LABELS:
            return self._of_labels(one, place, places, annotators)
        worth = self.points(places[votes.item], votes.label)
        model = self._model_scores[place][places]
        if kind == "single":
            crossed = answer_difference(votes, worth, model)
        elif kind == "majority":
            _, crossed = majority_difference(votes, worth, self._committees(place, places, votes))
        else:
            crossed = consensus_difference(
                votes,
                worth,
                self.points(places, one.label[places]),
                model,
                needed=one.needed[places],
                weight=None if weight is None else weight[inside],
            )
        return Compared(crossed.p, crossed.value, crossed, self.margin, annotators)

    def _votes_on(self, rows: NDArray[np.int64], places: NDArray[np.int64]) -> Votes:
        """Return these answers, with the items coded along `places`."""
        votes = self.votes
        return Votes(
            np.searchsorted(places, votes.item[rows]).astype(np.int32),
            votes.annotator[rows],
            votes.label[rows],
            places.shape[0],
            votes.annotators,
            votes.labels,
            None if votes.cluster is None else votes.cluster[places],
        )

    def _of_labels(
        self, one: _Alternative, place: int, places: NDArray[np.int64], annotators: int
    ) -> Compared:
        crowd = self.crowd
        found = compare_labels(
            crowd.metric,
            [self.labels[label] for label in one.label[places].tolist()],
            [self.models[place].answers[crowd.names[item]][0] for item in places.tolist()],
            [crowd.gold[item] for item in places.tolist()],
            clusters=None if crowd.votes.cluster is None else crowd.votes.cluster[places],
            seed=self.seed,
        )
        return Compared(found.test.p, found.value, None, self.margin, annotators)

    @cached_property
    def _known_committees(self) -> dict[tuple[int, int, int], float]:
        """The points of the majority of a model's answers by model, item and size; those met so far."""
        return {}

    def _committees(self, place: int, places: NDArray[np.int64], votes: Votes) -> FloatArray:
        """Return the points of the majority of as many of a model's answers as an item has annotators.

        Raises:
            DataError: the model gave fewer answers.
        """
        sizes = np.bincount(votes.item, minlength=places.shape[0]).tolist()
        rng = np.random.default_rng(self.seed)
        for item, size in zip(places.tolist(), sizes, strict=True):
            if (place, item, size) in self._known_committees:
                continue
            given = self.models[place].answers[self.crowd.names[item]]
            if len(given) < size:
                raise DataError("the model gave fewer answers than the annotators")
            worth = earned(self.crowd, [item] * len(given), given)
            self._known_committees[place, item, size] = committee_score(given, worth, size, rng)
        return np.array(
            [
                self._known_committees[place, item, size]
                for item, size in zip(places.tolist(), sizes, strict=True)
            ]
        )
