"""What a report says about models: comparisons and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from merilo.baselines.assistance import Assistance, assistance
from merilo.baselines.baseline_reader import StoredBaseline, stored_baseline_of
from merilo.baselines.model_answers import Samples, by_criterion, read_model
from merilo.baselines.model_comparison import ModelComparison
from merilo.baselines.model_verdicts import Margin
from merilo.baselines.pipeline import Baseline
from merilo.baselines.record import AssistanceRecord, LevelRecord
from merilo.errors import DataError, UsageError
from merilo.records import Span
from merilo.reports.comparison import ComparedModel, Comparison, compared
from merilo.reports.item_browser import ModelAnswers, model_answers
from merilo.settings import ComparisonSettings
from merilo.strict_json import Json


@dataclass(frozen=True, slots=True)
class ModelSections:
    """Models beside the annotators of a baseline.

    Attributes:
        content: the summary of the baseline with the models.
        comparisons: the comparison of each model with the annotators.
        answered: the answers of models, item by item.
        assistance: how many answers of people echo each model for which this can be estimated.
    """

    content: dict[str, Json]
    comparisons: list[ModelComparison]
    answered: list[ModelAnswers]
    assistance: tuple[Assistance, ...] = ()


def with_models(
    baseline: Baseline,
    content: dict[str, Json],
    models: Sequence[Path],
    *,
    common_items: bool,
    margin: Margin | None = None,
) -> ModelSections:
    """Compare models with the annotators, and add the comparisons to the summary.

    Args:
        baseline: the baseline.
        content: the summary of the baseline.
        models: files of models' answers; without any, the summary is returned unchanged.
        common_items: if the items differ, compare on the items that both answered.
        margin: the margin for equivalence.

    Raises:
        DataError: the items differ and `common_items` is not given, or the study is too small for the margin.
        InputError: a file cannot be read.
    """
    if not models:
        return ModelSections(content, [], [])
    crowd = stored_baseline_of(baseline)
    samples = [read_model(path, crowd) for path in models]
    settings = ComparisonSettings(force=common_items)
    found: list[ComparedModel] = []
    for name, (people, own) in (by_criterion(crowd, samples) or {"": (crowd, samples)}).items():
        named = [replace(one, model=f"{one.model}, {name}") if name else one for one in own]
        found += compared(people, named, settings, margin).models
    listed = tuple(replace(one, opposites=None) for one in found)
    comparison = Comparison(crowd, crowd.metric, settings, listed)
    told: dict[str, Json] = {key: value for key, value in comparison.to_dict().items() if key != "baseline"}
    echoes = [_assistance(crowd, one) for one in samples]
    return ModelSections(
        {
            **content,
            "models": told,
            "assistance": [record.to_json() for record, _ in echoes],
        },
        [one.tests for one in found],
        model_answers(crowd, samples, by=_fields(crowd, baseline.settings.by)),
        tuple(found for _, found in echoes if found),
    )


def _assistance(crowd: StoredBaseline, model: Samples) -> tuple[AssistanceRecord, Assistance | None]:
    """Estimate how many answers of people echo a model, if possible; the record has the result or the reason."""
    try:
        found = assistance(crowd, model)
    except (DataError, UsageError) as error:
        return AssistanceRecord(model=model.model, reason=error.message), None
    levels = tuple(
        LevelRecord(share=one.share, single=one.single, consensus=one.consensus) for one in found.levels
    )
    record = AssistanceRecord(
        model=found.model, share=found.share, ci95=Span.of(found.interval), annotators=found.people,
        named=found.named, missed=found.missed, most=found.most, levels=levels,
    )  # fmt: skip
    return record, found


def _fields(crowd: StoredBaseline, by: Sequence[str]) -> tuple[str, ...]:
    """Return those fields of the groups that the items have; others come from a table of gold answers."""
    known = {
        name
        for item in crowd.items
        for name in (*item.meta, *(item.inputs if isinstance(item.inputs, Mapping) else ()))
    }
    return tuple(name for name in (one.removeprefix("meta.") for one in by) if name in known)
