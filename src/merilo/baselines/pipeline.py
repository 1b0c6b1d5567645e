"""The published procedure: from the answers of a study to its baseline.

Annotators who fail the control items are excluded with all their answers; the others decide each item; items without
a majority are counted; the consensus is scored against the gold answers.
"""

from __future__ import annotations

from dataclasses import replace

from merilo.baselines.arms import PEOPLE
from merilo.baselines.baseline import Baseline, record_of
from merilo.baselines.consensus_scorer import consensus_scorer, declared, settings_for, without_scorer
from merilo.baselines.dataset_estimates import estimate_dataset
from merilo.baselines.doubtful_items import doubtful_items
from merilo.baselines.estimates import Estimates, estimate_metrics, needed_votes
from merilo.baselines.evidence import Evidence
from merilo.baselines.findings import findings_of, status_of
from merilo.baselines.groups import group_estimates
from merilo.baselines.program_estimates import estimate_programs, refuse_programs, verdict_gold
from merilo.baselines.steps import agreement_of, clean, decide_items, screen, tabulate, with_quality
from merilo.baselines.study_input import StudyInput
from merilo.datasets.declaration import Dataset, scored_elsewhere
from merilo.errors import UsageError
from merilo.people.cost import cost
from merilo.people.quality.controls import ExclusionRule, control_health
from merilo.settings import Settings


def compute(study: StudyInput, settings: Settings) -> Baseline:
    """Compute the baseline of a study, and of its other arms.

    Raises:
        UsageError: the metric does not fit the dataset's answers, or answers are programs, which must be run.
        DataError: there are no test items, an annotator gave two different answers to an item, or no
            annotator passes the control items.
    """
    others = {name: compute(*one) for name, one in study.arms.items()}
    return record_of(examine(study, settings)).beside(study.arm or PEOPLE, others)


def examine(study: StudyInput, settings: Settings) -> Evidence:
    """Decide and score a study, and return everything that its baseline rests on."""
    study, settings, declaration = _declared(study, settings)
    cleaned = clean(
        study.responses, study.gold, declaration, settings, study.dataset.cluster if study.dataset else None
    )
    screened = screen(cleaned, settings, study.skills)
    decided = decide_items(cleaned, screened, declaration, settings)
    screened = with_quality(screened, decided, study.other, programs=declaration.judged)
    pool, scorer = screened.pool, consensus_scorer(declaration, screened.pool, cleaned.gold, cleaned.clusters)
    estimates = Estimates(missing=without_scorer(declaration, cleaned.gold))
    if scorer and declaration.judged:
        estimates = estimate_programs(scorer, pool, declaration.metrics)
    elif scorer:
        estimates = estimate_metrics(scorer, screened, decided, settings)
    exclusion = ExclusionRule(settings.min_control_accuracy, settings.min_controls)
    evidence = Evidence(
        study=study,
        settings=settings,
        declaration=declaration,
        responses=cleaned.responses,
        gold=cleaned.gold,
        merged=cleaned.merged,
        items=cleaned.items,
        clusters=cleaned.clusters,
        annotators=screened.annotators,
        used=screened.used,
        pool=pool,
        decided=decided,
        consensus=tabulate(cleaned, screened, decided, scorer),
        scorer=scorer,
        health=control_health(cleaned.responses, screened.annotators, exclusion),
        estimates=estimates,
        whole=estimate_dataset(
            pool.votes, needed_votes(pool, settings), scorer, decided.consensus, study.population
        )
        if scorer and study.population and not declaration.judged
        else {},
        agreement=agreement_of(pool, settings, no_agreement=declaration.judged),
        groups=group_estimates(
            settings,
            items=cleaned.items,
            gold=cleaned.gold,
            pool=pool,
            scorer=scorer,
            decided=decided.consensus,
        ),
        cost=cost(cleaned.responses, settings.currency),
    )
    findings = findings_of(evidence)
    evidence = replace(evidence, findings=findings, status=status_of(evidence, findings))
    return replace(evidence, doubtful=doubtful_items(evidence))


def _declared(study: StudyInput, settings: Settings) -> tuple[StudyInput, Settings, Dataset]:
    """Return the study, the settings with the facts of its dataset, and the dataset as the scorer uses it.

    Raises:
        UsageError: the metric does not fit the answers, or the answers are programs that were not run.
    """
    responses, settings = study.responses, settings_for(study.dataset, settings)
    if responses.reading and responses.reading.order:
        level = "ordinal" if settings.level == "nominal" else settings.level
        settings = replace(settings, labels=responses.reading.order, level=level)
    if not responses.scored:
        declaration = declared(study.dataset, settings)
    elif settings.metric in {None, "acc"}:
        declaration = scored_elsewhere(study.dataset)
        study = replace(study, gold=study.gold or verdict_gold(responses))
    else:
        raise UsageError(f"answers that were scored elsewhere have the metric acc, not {settings.metric}")
    if declaration.answer.kind == "program":
        refuse_programs(responses, study.dataset.title if study.dataset else declaration.name)
    return study, settings, declaration
