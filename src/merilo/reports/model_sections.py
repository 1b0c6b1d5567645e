"""What a report says about models: their rows beside people, and who repeats their wrong answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from merilo.baselines.baseline import ModelEchoes
from merilo.baselines.comparison import judged, pairs
from merilo.baselines.crowd import Crowd, crowd_of
from merilo.baselines.evidence import Evidence
from merilo.baselines.model_answers import Samples, by_criterion, dataset_key, read_model
from merilo.baselines.model_echoes import model_echoes
from merilo.baselines.row import Margin, Row
from merilo.errors import DataError, UsageError
from merilo.reports.item_browser import ModelAnswers, model_answers


@dataclass(frozen=True, slots=True)
class ModelSections:
    """Models beside the annotators of a baseline.

    Attributes:
        rows: each model beside the annotators, as `compare` gives them.
        answered: the answers of models, item by item.
        echoes: who repeats each model's wrong answers, or why this cannot be tested.
    """

    rows: tuple[Row, ...] = ()
    answered: tuple[ModelAnswers, ...] = ()
    echoes: tuple[ModelEchoes, ...] = ()


def with_models(
    evidence: Evidence,
    models: Sequence[Path],
    *,
    margin: Margin | None = None,
) -> ModelSections:
    """Compare models with the annotators, item by item and as a whole.

    Args:
        evidence: what the baseline rests on.
        models: files of models' answers.
        margin: the margin for equality.

    Raises:
        DataError: the items differ.
        InputError: a file cannot be read.
    """
    if not models:
        return ModelSections()
    crowd = crowd_of(evidence)
    samples = [read_model(path, crowd) for path in models]
    compared = []
    for name, (people, own) in (by_criterion(crowd, samples) or {"": (crowd, samples)}).items():
        key = f"{dataset_key(crowd)} {name}".strip()
        for pair in pairs(people, own):
            row = pair.row.model_copy(update={"dataset": key})
            compared.append(pair._replace(row=row, margin=margin))
    echoes = tuple(_echoes(crowd, model) for model in samples)
    return ModelSections(tuple(judged(compared)), tuple(model_answers(crowd, samples)), echoes)


def _echoes(crowd: Crowd, model: Samples) -> ModelEchoes:
    """Test who repeats a model's wrong answers, or give the reason why this cannot be tested."""
    try:
        return model_echoes(crowd, model)
    except (DataError, UsageError) as error:
        return ModelEchoes(model=model.model, reason=error.message)
