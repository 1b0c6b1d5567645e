"""The result of a recipe as JSON."""

from __future__ import annotations

from merilo.baselines.pipeline import Baseline
from merilo.baselines.provenance import Provenance
from merilo.baselines.recipes.running import RecipeResult
from merilo.baselines.record import resolved_by, score_record
from merilo.metrics.score import Score
from merilo.records import rounded
from merilo.reports.experts import difference_summary
from merilo.strict_json import Json


def recipe_summary(result: RecipeResult, provenance: Provenance) -> dict[str, Json]:
    """Summarise every question's baseline, the items kept, the scores and the comparison.

    Args:
        result: the result of the recipe.
        provenance: the provenance of the result.
    """
    recipe = result.recipe
    return {
        "recipe": recipe.name,
        "items": result.table.height,
        "questions": {name: _question(name, made, result) for name, made in result.questions.items()},
        "kept": _kept(result) if recipe.keep else None,
        "metrics": {name: _score(score) for name, score in result.scores.items()},
        "comparison": None
        if result.agreement is None
        else {
            "questions": list(recipe.compare),
            "same_answer": result.agreement[0],
            "n": result.agreement[1],
            **_comparison(result),
        },
        "left_undone": list(result.left_undone),
        "provenance": provenance.to_json(),
    }


def _comparison(result: RecipeResult) -> dict[str, Json]:
    found = result.comparison
    if found is None:
        return {"accuracy": None}
    return {
        "accuracy": [rounded(found.second), rounded(found.first)],
        **difference_summary(found),
        "only_first_right": found.better,
        "only_second_right": found.worse,
    }


def _question(name: str, made: Baseline, result: RecipeResult) -> dict[str, Json]:
    counts = result.table[name].drop_nulls().value_counts().sort(name)
    return {
        "about": result.recipe.questions[name].about,
        "annotators": made.annotators.height,
        "excluded": int(made.annotators["excluded"].sum()),
        "responses": made.used.height,
        "items": made.items,
        "resolved_by": resolved_by(made.resolved_by).to_json(),
        "answers": {str(label): int(n) for label, n in counts.iter_rows()},
        "krippendorff_alpha": rounded(made.alpha),
    }


def _kept(result: RecipeResult) -> dict[str, Json]:
    kept = result.table["kept"]
    accepted: dict[str, Json] = {
        name: int(result.table[name].is_in(result.accepted[name]).sum()) for name in result.recipe.keep
    }
    return {
        "items": int(kept.sum()),
        "refused": int((~kept).sum()),
        "undecided": kept.null_count(),
        "accepted_by": accepted,
    }


def _score(score: Score) -> dict[str, Json]:
    method = score.interval.method if score.interval else None
    return score_record(score, method=method).to_json()
