"""`merilo score`: score the answers of people or models to a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from merilo.cli.output import emit_json, say, working
from merilo.cli.rater import CurvesOption, ModelsOption, rater_of
from merilo.cli.score_table import show_scores
from merilo.datasets import Dataset, dataset
from merilo.errors import DataError, InputError, UsageError
from merilo.items import Item, ItemId, read_split
from merilo.metrics.detox import Rater
from merilo.metrics.judgement import Judgement
from merilo.metrics.scoring import Scores, explain, score
from merilo.strict_json import Json
from merilo.submissions.evaluation import scores_content
from merilo.submissions.sheets import Matched, match, read_sheet
from merilo.wording import listed

app = typer.Typer(add_completion=False)


@app.command()
def score_responses(
    responses: Annotated[Path, typer.Argument(help="Answers by item id: JSON, JSONL, CSV or TSV of id and answer, or a submission's file.")],
    *,
    dataset_name: Annotated[str, typer.Option("--dataset", help="The dataset: a name, or the YAML declaration of one's own.")],
    data: Annotated[Path, typer.Option(help="The items with their right answers: JSON, JSONL or Parquet.")],
    split: Annotated[str | None, typer.Option(help="Which split of the file; 'test', or the only one, when not given.")] = None,
    explain_id: Annotated[list[str] | None, typer.Option("--explain", metavar="ID", help="Show how this item's answer was judged; may be given several times.")] = None,
    per_item: Annotated[bool, typer.Option("--per-item", help="Put what each item earned under each metric into the JSON.")] = False,
    rudetox_models: ModelsOption = None,
    rudetox_curves: CurvesOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the intervals' resampling.")] = 0,
    json_to: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="The result as one JSON object; - is standard output.")] = None,
) -> int:  # fmt: skip
    """Score answers to a dataset, whoever gave them: people and models go through the same metrics."""
    if per_item and not json_to:
        raise UsageError("--per-item needs --json")
    declared = dataset(dataset_name)
    with working("Reading the items"):
        items = read_split(data, split).items
    _refuse_other_dataset(declared, items, data)
    with working("Reading the answers"):
        matched = match(read_sheet(responses), items, declared.answer)
    _tell_unmatched(matched, len(items), declared)
    if not matched.given:
        raise DataError(
            f"not one of {len(matched.unknown)} answers belongs to an item of {data}", file=responses
        )
    rater = rater_of(rudetox_models, rudetox_curves)
    with working(f"Scoring {len(matched.given):,} answers"):
        scores = score(declared, items, matched.given, rater=rater, seed=seed)
    judgements = _judgements(declared, items, matched, explain_id or (), rater)
    if json_to:
        content = _content(declared, scores, matched, len(items), judgements, seed)
        if per_item:
            content["per_item"] = _per_item(scores)
        emit_json({**content, "rudetox": {**rater.making}} if rater else content, json_to)
    if json_to == "-":
        return 0
    if judgements:
        typer.echo("\n".join(_told(name, steps) for name, steps in judgements.items()))
    else:
        show_scores(declared.title, scores)
    return 0


def _refuse_other_dataset(declared: Dataset, items: Sequence[Item], data: Path) -> None:
    """Refuse items of another dataset: its metrics would give a meaningless score without an error."""
    asked = set(declared.fields)
    inputs = [item.inputs for item in items]
    if asked and inputs and not any(isinstance(one, Mapping) and asked & one.keys() for one in inputs):
        first = inputs[0]
        found = "a plain text" if isinstance(first, str) else listed(list(first)) or "nothing"
        raise InputError(
            f"its items hold {found} where {declared.title}'s hold {listed(declared.fields)}: is it another dataset's file?",
            file=data,
            field="inputs",
        )


def _tell_unmatched(matched: Matched, total: int, declared: Dataset) -> None:
    if matched.unanswered:
        names = listed([str(name) for name in matched.unanswered])
        # An exam variant with at least one answer is scored as a whole.
        exam = "grade_norm" in declared.metrics
        fate = "earn 0 in a variant that has others" if exam else "are left out"
        say(f"{len(matched.unanswered)} of {total} items have no answer and {fate}: {names}")
    if matched.unknown:
        names = listed([ascii(name)[1:-1] if not name.isprintable() else name for name in matched.unknown])
        say(f"{len(matched.unknown)} answers belong to no item and are left out: {names}")


def _judgements(
    declared: Dataset, items: Sequence[Item], matched: Matched, asked: Sequence[str], rater: Rater | None
) -> dict[str, list[Judgement]]:
    by_name = {str(item.id): item for item in items}
    found = {}
    for name in asked:
        item = by_name.get(name)
        if item is None:
            raise UsageError(f"there is no item '{name}' to explain")
        if item.id not in matched.given:
            raise UsageError(f"item '{name}' has no answer to explain")
        found[name] = explain(declared, item, matched.given[item.id], rater=rater)
    return found


def _told(name: str, judgements: list[Judgement]) -> str:
    lines = []
    for judgement in judgements:
        lines.append(f"item {name}, {judgement.metric}: {judgement.points:g} of {judgement.most:g}")
        lines += [f"  - {step}" for step in judgement.steps]
    return "\n".join(lines)


def _per_item(scores: Scores) -> dict[str, Json]:
    """Return metric -> item -> value, without macro F1 and MCC, which are not means over items."""
    earned: dict[str, Json] = {}
    for name, one in scores.main.items():
        if one.per_item:
            earned[name] = {str(item): share for item, share in one.per_item.items()}
    return earned


def _content(
    declared: Dataset,
    scores: Scores,
    matched: Matched,
    total: int,
    judgements: dict[str, list[Judgement]],
    seed: int,
) -> dict[str, Json]:
    unanswered: list[ItemId] = list(matched.unanswered)
    content: dict[str, Json] = {
        "dataset": declared.name,
        "items": {"total": total, "answered": len(matched.given)},
        "unanswered": [*unanswered],
        "unknown": [*matched.unknown],
        "metrics": scores_content(scores),
        "seed": seed,
    }
    if judgements:
        content["explained"] = {
            name: [
                {"metric": one.metric, "points": one.points, "most": one.most, "steps": [*one.steps]}
                for one in told
            ]
            for name, told in judgements.items()
        }
    return content
