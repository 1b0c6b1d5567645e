"""`merilo.expert_baseline`: the baseline of experts, beside people without training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import polars as pl

from merilo.atomic_write import guarded
from merilo.baselines.baseline import (
    cluster_record,
    cost_record,
    ends_over_both,
    estimate_on_dataset,
    population_record,
    score_record,
)
from merilo.baselines.consensus_scorer import settings_for
from merilo.baselines.dataset_estimates import DatasetEstimate, DatasetEstimates, estimate_points
from merilo.baselines.evidence import Evidence
from merilo.baselines.expert_scores import LabelScores, score_experts, score_people
from merilo.baselines.experts import (
    Marks,
    beside_people,
    domains_of,
    marks_of,
    outside_labels,
    require_marks,
)
from merilo.baselines.pipeline import examine
from merilo.baselines.population import Population
from merilo.baselines.provenance import Provenance
from merilo.baselines.study_input import (
    IN_MEMORY,
    GoldSource,
    PopulationSource,
    StudyInput,
    find_gold,
    find_population,
    name_of,
    population_files,
    reading_inputs,
    reading_options,
    recorded,
    study_input,
)
from merilo.datasets import Dataset
from merilo.datasets import dataset as find_dataset
from merilo.datasets.declaration import undeclared
from merilo.errors import UsageError, argument
from merilo.metrics.metric import Score
from merilo.people.cost import cost
from merilo.people.out_of_bag import ONE_DOMAIN, OutOfBag, OutOfBagDesign, out_of_bag
from merilo.people.reading import Origin, Source, StudyResponses, read_responses
from merilo.people.recoding import settle
from merilo.people.spelling import same_answers
from merilo.people.uncertainty.two_way import TwoWay
from merilo.records import rounded, save_result
from merilo.responses import INPUT_MARK, Responses
from merilo.settings import DEFAULTS, ExpertSettings, Settings
from merilo.statistics.paired_tests import Difference
from merilo.strict_json import Json

#: Parameters that a recorded command leaves out if they have these values.
_DEFAULTS: Final[dict[str, Json]] = {**DEFAULTS, **ExpertSettings().parameters()}


@dataclass(frozen=True, slots=True, repr=False)
class ExpertBaseline:
    """The baseline of experts and, if given, of people without training on the same questions.

    Attributes:
        scored: the scores of the experts' answers.
        bag: the experts' out-of-bag answers; `None` for the basic protocol.
        people: the baseline of people without training; `None` if there is none.
        comparison: experts minus people on the items that both answered; `None` without people or gold.
        outside: answers outside the labels, with their counts; these answers count as votes.
        items: one row per question with its answers and how it was decided; `None` for the basic protocol.
        content: the result as JSON.
        inputs: the files that were read.
    """

    scored: LabelScores
    bag: OutOfBag | None
    people: Evidence | None
    comparison: Difference | None
    outside: Mapping[str, int]
    items: pl.DataFrame | None
    content: dict[str, Json]
    inputs: tuple[Path, ...]

    def to_dict(self) -> dict[str, Json]:
        """Return the result as JSON, as `merilo experts baseline --json` prints it."""
        return dict(self.content)

    def save(self, folder: str | Path, *, force: bool = False) -> dict[str, Json]:
        """Write the folder that `merilo experts baseline --out` writes: `experts.json` and, out of bag, `items.csv`.

        Args:
            folder: a new folder.
            force: replace an existing one.

        Returns:
            The result as JSON.

        Raises:
            OutputError: the folder exists and `force` is not given, or it contains an input file.
        """
        tables = {"items.csv": self.items}
        return save_result(folder, "experts.json", self.to_dict(), tables, force=force, needed=self.inputs)

    def __repr__(self) -> str:
        lines = [
            f"experts, {name} {one.value:.3f} on {one.n} items"
            for name, one in self.scored.scores.main.items()
        ]
        if self.comparison:
            lines.append(f"experts minus people: {self.comparison.value:+.3f} on {self.comparison.n} items")
        return "\n".join(lines) or "<experts without gold answers>"


def expert_baseline(
    responses: Responses | Source,
    *,
    people: Responses | Source | None = None,
    dataset: str | Dataset | None = None,
    gold: GoldSource = None,
    gold_column: str | None = None,
    population: PopulationSource = None,
    strata: Sequence[str] = (),
    test: ExpertSettings | None = None,
    settings: Settings | None = None,
    **chosen: object,
) -> ExpertBaseline:
    """Compute the baseline of experts, and compare it with people without training, as `merilo experts baseline` does.

    Args:
        responses: the experts' responses: the result of `read_responses`, or any source that it accepts.
        people: the responses of people without training to the same questions.
        dataset: a dataset's name, the path of a YAML declaration, or a declaration object.
        gold: the gold answers, in any form that `baseline` accepts.
        gold_column: the column of the gold answers, if it cannot be found by name.
        population: the whole dataset, if the questions are a sample of it, in any form that `baseline` accepts.
        strata: the fields of the questions whose values define the strata of the population.
        test: the settings of the expert test; by default, the defaults of `ExpertSettings`.
        settings: the settings of the baselines of people and, by the basic protocol, of experts; experts'
            answers out of bag use `repeats` and `cluster`.
        chosen: single settings of both kinds by name, such as `time_limit=60`; `merilo experts baseline --help`
            explains each.

    Raises:
        UsageError: no answer means "may be mine", or an argument does not fit the others or the data.
        InputError: a file cannot be read.
        DataError: a person gave two different answers to an item and `repeats` forbids it, or no item is left.
    """
    declared = find_dataset(dataset) if isinstance(dataset, str) else dataset
    own = {name: chosen.pop(name) for name in tuple(chosen) if name in ExpertSettings().parameters()}
    test = ExpertSettings.of(own, test)
    settings = settings_for(declared, Settings.of(chosen, settings))
    experts, others = _read(responses), None if people is None else _read(people)
    study = study_input(experts, declared, gold=gold, gold_column=gold_column)
    encoding = study.origin.reading.encoding if study.origin else None
    answers, known = study.responses, study.gold
    bag: OutOfBag | None = None
    outside: dict[str, int] = {}
    if test.protocol == "basic":
        whole = find_population(population, strata, responses=answers, gold=known, encoding=encoding)
        made = examine(StudyInput(responses=answers, gold=known, population=whole), settings)
        answers, scored = made.responses, score_people(made, declared)
        content = {**basic_summary(made, scored), **baseline_on_dataset_json(made.whole)}
    else:
        design = OutOfBagDesign(test.mine, test.time_limit, test.late, test.min_answers, test.decision)
        marks = _marks(study, test.mine_column) if test.mine_column else Marks()
        outside = outside_labels(answers, design, marks, known, declared)
        require_marks(answers, design, marks, outside)
        answers, known, _ = same_answers(answers, known, declared or undeclared(), skip=False)
        answers = settle(answers, settings.repeats)
        gold_file = Path(gold) if isinstance(gold, str | Path) else None
        domains = domains_of(answers, test.domain, gold_file, encoding) if test.domain else None
        bag = out_of_bag(answers, design, domains=domains, marks=marks.of)
        scored = score_experts(bag, answers, known, declared, settings.cluster)
        whole = find_population(population, strata, responses=answers, gold=known, encoding=encoding)
        content = {
            **out_of_bag_summary(bag, marks, scored, outside),
            **experts_on_dataset_json(scored, whole),
        }
    untrained, comparison, other = None, None, None
    if others:
        other_gold = find_gold(others, declared, gold, gold_column, encoding)
        everyone = find_population(population, strata, responses=others, gold=other_gold, encoding=encoding)
        other = examine(
            StudyInput(responses=others, dataset=declared, gold=other_gold, population=everyone), settings
        )
        points = score_people(other, declared)
        untrained = {**basic_summary(other, points), **baseline_on_dataset_json(other.whole)}
        if scored.decided_by and points.decided_by:
            comparison = beside_people(scored.decided_by, answers, known, points.decided_by, other)
    people_files = _origin_files(others)
    in_memory = (others is not None and not people_files) or name_of(population) == IN_MEMORY
    options: dict[str, Json] = {
        "people": IN_MEMORY
        if others is not None and not people_files
        else [str(path) for path in people_files],
        **test.parameters(),
        "dataset": dataset if isinstance(dataset, str) else settings.dataset,
        "gold": name_of(gold),
        "gold_column": gold_column,
        "population": name_of(population),
        "strata": [*strata],
        **reading_options(study.origin),
        **{name: settings.parameters()[name] for name in ("repeats", "min_control_accuracy", "cluster")},
    }
    gold_files = study.files[len(study.origin.files) if study.origin else 0 :]
    inputs = (
        *_origin_files(experts),
        *people_files,
        *gold_files,
        *population_files(population),
        *reading_inputs(study.origin),
    )
    in_memory = in_memory or name_of(gold) == IN_MEMORY
    record = recorded(
        replace(study, files=inputs),
        "expert_baseline",
        options,
        _DEFAULTS,
        command="experts baseline",
        in_memory=in_memory,
    )
    return ExpertBaseline(
        scored,
        bag,
        other,
        comparison,
        outside,
        guarded(expert_items(bag, scored, answers)) if bag else None,
        experts_summary(
            content,
            untrained,
            comparison,
            settings.dataset,
            record,
            cost=cost_record(cost(experts)).to_json(),
        ),
        inputs,
    )


def _read(given: Responses | Source) -> Responses:
    return given if isinstance(given, Responses) else read_responses(given)


def _origin_files(responses: Responses | None) -> tuple[Path, ...]:
    return responses.origin.files if isinstance(responses, StudyResponses) and responses.origin else ()


def _marks(study: StudyInput, column: str) -> Marks:
    """Read the experts' files again with the column of marks as the answers."""
    origin = study.origin
    if origin is None:
        raise UsageError("needs responses from read_responses", field=argument("mine_column"))
    reading = origin.reading.named(answer=column, recode={}, missing=())
    marked = Origin(origin.files, origin.tables, reading).read()
    return marks_of(marked, column, study.responses)


def out_of_bag_summary(
    result: OutOfBag, marks: Marks, scored: LabelScores, outside: Mapping[str, int]
) -> dict[str, Json]:
    """Summarise the experts' scores and how every question was decided.

    Args:
        result: the experts' out-of-bag labels.
        marks: the marks from a separate column.
        scored: the scores of these labels.
        outside: answers outside the labels, with their counts; these answers count as votes.
    """
    total, decided = len(result.items) + len(marks.only_marked), sum(one.by_rule for one in result.items)
    fallbacks: dict[str, Json] = {
        name: [one.item for one in result.items if one.fallback == name]
        for name in ("votes", "late", "skill")
    }
    return {
        "protocol": "out-of-bag",
        "experts": {name: len(ids) for name, ids in result.experts.items()},
        "people": {
            "total": result.people,
            "answered_all": result.people - len(result.unanswered),
            "unanswered": sum(result.unanswered.values()),
        },
        "items": {
            "total": total,
            "decided": decided,
            "decided_share": rounded(decided / total),
            "fallback": fallbacks,
            "counted_as_wrong": [
                one.item for one in result.items if not one.by_rule and one.fallback is None
            ],
            "too_few": list(result.named("too_few")),
            "no_majority": list(result.named("no_majority")),
            "only_marked": list(marks.only_marked),
            "answers_left": _counts([one.left for one in result.items]),
        },
        "answers": {
            "counted": sum(one.left for one in result.items),
            "may_be_mine": sum(one.marks for one in result.items),
            "not_shown": sum(one.not_shown for one in result.items),
            "late": sum(one.late for one in result.items),
            "missing": sum(one.missing for one in result.items),
        },
        "taken_as_mine": dict(result.mine),
        "outside_labels": dict(outside),
        "design": {
            "time_limit_seconds": result.design.seconds,
            "late": result.design.late,
            "min_answers": result.design.min_answers,
            "decision": result.design.decision,
            "mine": list(result.design.mine),
            "domains": {
                name: [one.item for one in result.items if one.domain == name]
                for name in result.experts
                if name != ONE_DOMAIN
            },
        },
        "clusters": _clusters(scored),
        **_metrics(scored),
        "decided_by_rule": score_record(scored.by_rule).to_json() if scored.by_rule else None,
        "by_domain": {
            name: _over_both(score, scored.domain_two_ways.get(name))
            for name, score in scored.by_domain.items()
        },
    }


def basic_summary(baseline: Evidence, scored: LabelScores) -> dict[str, Json]:
    """Summarise the baseline of non-experts, or of experts who had not seen the questions.

    Args:
        baseline: the baseline, as `merilo baseline` computes it.
        scored: the scores of the consensus.
    """
    return {
        "protocol": "basic",
        "status": baseline.status,
        "annotators": baseline.annotators.height,
        "excluded": int(baseline.annotators["excluded"].sum()),
        "items": baseline.items.height,
        "clusters": _clusters(scored),
        **_metrics(scored),
    }


def experts_summary(
    experts: dict[str, Json],
    people: dict[str, Json] | None,
    comparison: Difference | None,
    dataset: str | None,
    provenance: Provenance,
    *,
    cost: Mapping[str, Json],
) -> dict[str, Json]:
    """Summarise both baselines together.

    Args:
        experts: the summary of the experts' baseline.
        people: the summary of the non-experts' baseline, if there is one.
        comparison: the comparison of both baselines on the items that both answered.
        dataset: the dataset's name.
        provenance: the provenance of the result.
        cost: the experts' pay and time; see `CostRecord`.
    """
    return {
        "dataset": dataset,
        "experts": experts,
        "people": people,
        "comparison": None if comparison is None else comparison_json(comparison),
        "cost": {**cost},
        "provenance": provenance.to_json(),
    }


def comparison_json(comparison: Difference) -> dict[str, Json]:
    """Convert the comparison of experts (second) with non-experts (first) to JSON."""
    return {
        "n": comparison.n,
        "experts": rounded(comparison.second),
        "people": rounded(comparison.first),
        **difference_summary(comparison),
        "only_experts_right": comparison.better,
        "only_people_right": comparison.worse,
    }


def difference_summary(found: Difference) -> dict[str, Json]:
    """Convert a difference with its interval, test and smallest detectable difference to JSON."""
    return {
        "difference": rounded(found.value),
        "ci95": [rounded(found.interval.low), rounded(found.interval.high)],
        "interval": found.interval.method,
        "p": rounded(found.test.p),
        "test": found.test.method,
        "detectable": None if found.detectable is None else rounded(found.detectable),
    }


def expert_items(result: OutOfBag, scored: LabelScores, responses: Responses) -> pl.DataFrame:
    """Return one row per item: counts of experts and marks, the answers, how the item was decided, and its points."""
    rows = [
        {
            "item": one.item,
            "domain": one.domain,
            "experts": one.experts,
            "may_be_mine": one.marks,
            "not_shown": one.not_shown,
            "late": one.late,
            "missing": one.missing,
            "left": one.left,
            "answers": "; ".join(f"{label or '(late)'}: {n}" for label, n in one.answers.items()),
            "label": one.label,
            "outcome": one.outcome,
            "fallback": one.fallback,
            "points": scored.points.get(one.item),
        }
        for one in result.items
    ]
    inputs = responses.items.rename(
        {name: f"INPUT:{name.removeprefix(INPUT_MARK)}" for name in responses.fields}
    )
    table = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("item").cast(pl.UInt32))
    return table.join(inputs, on="item", how="left", maintain_order="left")


def _metrics(scored: LabelScores) -> dict[str, Json]:
    scores, over_both = scored.scores, scored.two_ways
    return {
        "metrics": {name: _over_both(score, over_both.get(name)) for name, score in scores.main.items()},
        "by_group": {name: _over_both(score, over_both.get(name)) for name, score in scores.extra.items()},
        "missing_metrics": dict(scores.missing),
    }


def _clusters(scored: LabelScores) -> Json:
    found = cluster_record(scored.clusters)
    return found.to_json() if found else None


def _over_both(score: Score, crowd: TwoWay | None) -> dict[str, Json]:
    return score_record(score, over_both=ends_over_both(crowd)).to_json()


def _counts(values: list[int]) -> dict[str, Json]:
    return {str(value): values.count(value) for value in sorted(set(values), reverse=True)}


def baseline_on_dataset_json(whole: DatasetEstimates | None) -> dict[str, Json]:
    """Return the key `whole_dataset` of one side of an expert study: the population, and its metrics.

    Empty without it.
    """
    if whole is None:
        return {}
    metrics: dict[str, Json] = {
        name: estimate_on_dataset(one, whole).to_json() for name, one in whole.metrics.items()
    }
    metrics |= {name: {"value": None, "reason": reason} for name, reason in whole.missing.items()}
    return {"whole_dataset": {"population": population_record(whole).to_json(), "metrics": metrics}}


def experts_on_dataset_json(scored: LabelScores, population: Population | None) -> dict[str, Json]:
    """Return the key `whole_dataset` of experts who skip their own questions; empty without a population or scores.

    The metric is the first one that scores single items.
    """
    metric = next((name for name in scored.scores.main if name in {"acc", "em", "f1"}), None)
    by = scored.decided_by
    part = next((one for one in by.scorer.parts()[0] if one.name == metric), None) if by else None
    if population is None or not scored.points or by is None or part is None:
        return {}
    whole, found = estimate_points(
        scored.points, population, part, scorer=by.scorer, rule=by.rule, consensus=by.consensus
    )
    content = estimate_on_dataset(DatasetEstimate(found, None), whole).to_json()
    return {
        "whole_dataset": {"population": population_record(whole).to_json(), "metrics": {part.name: content}}
    }
