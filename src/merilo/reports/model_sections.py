"""What a report says about models: their rows beside people, and who repeats their wrong answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from merilo.baselines.baseline import ModelEchoes
from merilo.baselines.comparison import rows_beside
from merilo.baselines.crowd import crowd_of
from merilo.baselines.evidence import Evidence
from merilo.baselines.model_answers import read_model
from merilo.baselines.model_echoes import echoes_or_reason
from merilo.baselines.row import Margin, Row
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
    rows, echoes = (
        rows_beside(crowd, samples, margin),
        tuple(echoes_or_reason(crowd, model) for model in samples),
    )
    return ModelSections(rows, tuple(model_answers(crowd, samples)), echoes)
