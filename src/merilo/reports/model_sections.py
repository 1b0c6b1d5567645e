"""What a report says about models: comparisons and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from merilo.baselines.baseline import ModelEchoes
from merilo.baselines.baseline_reader import StoredBaseline, stored_baseline_of
from merilo.baselines.evidence import Evidence
from merilo.baselines.model_answers import Samples, by_criterion, read_model
from merilo.baselines.model_comparison import ModelComparison
from merilo.baselines.model_echoes import model_echoes
from merilo.baselines.model_verdicts import Margin
from merilo.errors import DataError, UsageError
from merilo.reports.comparison import ComparedModel, Comparison, compared
from merilo.reports.item_browser import ModelAnswers, model_answers
from merilo.settings import ComparisonSettings
from merilo.strict_json import Json


@dataclass(frozen=True, slots=True)
class ModelSections:
    """Models beside the annotators of a baseline.

    Attributes:
        told: the comparisons as JSON; empty without models.
        comparisons: the comparison of each model with the annotators.
        answered: the answers of models, item by item.
        echoes: who repeats each model's wrong answers, or why this cannot be tested.
    """

    told: dict[str, Json]
    comparisons: list[ModelComparison]
    answered: list[ModelAnswers]
    echoes: tuple[ModelEchoes, ...] = ()


def with_models(
    evidence: Evidence,
    models: Sequence[Path],
    *,
    common_items: bool,
    margin: Margin | None = None,
) -> ModelSections:
    """Compare models with the annotators, item by item and as a whole.

    Args:
        evidence: what the baseline rests on.
        models: files of models' answers.
        common_items: if the items differ, compare on the items that both answered.
        margin: the margin for equivalence.

    Raises:
        DataError: the items differ and `common_items` is not given, or the study is too small for the margin.
        InputError: a file cannot be read.
    """
    if not models:
        return ModelSections({}, [], [])
    crowd = stored_baseline_of(evidence)
    samples = [read_model(path, crowd) for path in models]
    settings = ComparisonSettings(force=common_items)
    found: list[ComparedModel] = []
    for name, (people, own) in (by_criterion(crowd, samples) or {"": (crowd, samples)}).items():
        named = [replace(one, model=f"{one.model}, {name}") if name else one for one in own]
        found += compared(people, named, settings, margin).models
    listed = tuple(replace(one, opposites=None) for one in found)
    comparison = Comparison(crowd, crowd.metric, settings, listed)
    told: dict[str, Json] = {key: value for key, value in comparison.to_dict().items() if key != "baseline"}
    echoes = [_echoes(crowd, one) for one in samples]
    return ModelSections(
        told,
        [one.tests for one in found],
        model_answers(crowd, samples, by=_fields(crowd, evidence.settings.by)),
        tuple(echoes),
    )


def _echoes(crowd: StoredBaseline, model: Samples) -> ModelEchoes:
    """Test who repeats a model's wrong answers, or give the reason why this cannot be tested."""
    try:
        return model_echoes(crowd, model)
    except (DataError, UsageError) as error:
        return ModelEchoes(model=model.model, reason=error.message)


def _fields(crowd: StoredBaseline, by: Sequence[str]) -> tuple[str, ...]:
    """Return those fields of the groups that the items have; others come from a table of gold answers."""
    known = {
        name
        for item in crowd.items
        for name in (*item.meta, *(item.inputs if isinstance(item.inputs, Mapping) else ()))
    }
    return tuple(name for name in (one.removeprefix("meta.") for one in by) if name in known)
