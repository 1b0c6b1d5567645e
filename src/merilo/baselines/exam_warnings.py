"""Warnings about incomplete variants of the exam, which are not scored."""

from __future__ import annotations

from merilo.baselines.consensus_scorer import ConsensusScorer
from merilo.baselines.warnings import BaselineWarning
from merilo.metrics.exam import VARIANT_ITEMS, VARIANT_POINTS, incomplete_variants
from merilo.metrics.scoring import exam_items


def warnings_on_variants(scorer: ConsensusScorer | None) -> tuple[BaselineWarning, ...]:
    """Return a warning for each incomplete variant of the exam, with its missing tasks.

    Args:
        scorer: the study's scorer; `None` without gold.

    Raises:
        DataError: an item lacks data required by the exam's scoring rules.
    """
    if scorer is None or "grade_norm" not in scorer.dataset.metrics:
        return ()
    return tuple(
        _warning(str(variant), lacking)
        for variant, lacking in incomplete_variants(exam_items(scorer.dataset, scorer.items)).items()
    )


def _warning(variant: str, lacking: list[str]) -> BaselineWarning:
    if lacking:
        names = ", ".join(lacking)
        en = f"variant {variant} has no item with a gold answer for {'task' if len(lacking) == 1 else 'tasks'} {names}"
        ru = f"в варианте {variant} нет вопросов с эталонным ответом для {'задания' if len(lacking) == 1 else 'заданий'} {names}"
    else:
        en = f"variant {variant} does not have {VARIANT_ITEMS} different tasks worth {VARIANT_POINTS} points"
        ru = f"вариант {variant} не содержит {VARIANT_ITEMS} разных заданий суммарной стоимостью {VARIANT_POINTS} балла"
    return BaselineWarning(
        "incomplete_variant",
        f"{en}: the variant is incomplete and is not part of grade_norm",
        f"{ru}: вариант неполный и не входит в grade_norm",
    )
