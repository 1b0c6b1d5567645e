"""`merilo score RUN`: score the folder of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from merilo.cli.output import emit_json, say, working
from merilo.cli.run_table import show_explanation, show_run
from merilo.metrics.detox import Rater
from merilo.runs.run_explanation import explain_item
from merilo.runs.run_scores import score_run


def score_folder(
    run: Path, data: Path | None, wanted: Sequence[str], rater: Rater | None, seed: int, json_to: str | None
) -> int:
    """Score a run and print the table, or the explanation of the wanted items."""
    with working("Scoring the run"):
        result = score_run(run, data=data, rudetox_models=rater, seed=seed)
    explained = [explain_item(run, name, data=data, rater=rater) for name in wanted]
    if json_to:
        content = result.to_dict()
        if explained:
            content["explained"] = [one.to_dict() for one in explained]
        emit_json(content, json_to)
    if json_to != "-":
        for one in explained:
            show_explanation(one)
        if not explained:
            show_run(result)
    for note in result.notes:
        say(note)
    return 0
