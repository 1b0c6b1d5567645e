"""`merilo score`: score the answers of people or models to a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from merilo.cli.output import emit_json, say, working
from merilo.cli.rater import CurvesOption, ModelsOption, rater_of
from merilo.cli.score_table import show_scores
from merilo.errors import UsageError
from merilo.metrics.detox import Rater
from merilo.metrics.score import Judgement
from merilo.models.run_folder import is_run
from merilo.runs.answer_scores import MatchedAnswers, match_answers
from merilo.wording import listed

app = typer.Typer(add_completion=False)


@app.command()
def score_responses(
    responses: Annotated[
        Path,
        typer.Argument(
            help="Answers by item id: JSON, JSONL, CSV or TSV with id and answer; a submission's file; the "
            "log of another harness; or the folder of a run."
        ),
    ],
    *,
    dataset_name: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            help="The dataset: a name, or the path of a YAML declaration. A run knows its datasets.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="The items with their gold answers; for a run, a folder of them. Default: the items that "
            "were asked."
        ),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="The split of the file. Default: 'test', or the only one.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="A field of the items, such as a text or a dialogue: items with the same value are not "
            "independent, and every interval takes this into account. Default: declared by the "
            "dataset.",
        ),
    ] = None,
    explain_id: Annotated[
        list[str] | None,
        typer.Option(
            "--explain",
            metavar="ID",
            help="Show how this item's answer was judged; may be given several times.",
        ),
    ] = None,
    per_item: Annotated[
        bool, typer.Option("--per-item", help="Add each item's score under each metric to the JSON.")
    ] = False,
    rudetox_models: ModelsOption = None,
    rudetox_curves: CurvesOption = None,
    seed: Annotated[
        int, typer.Option(min=0, help="The random seed of the intervals' bootstrap resamples.")
    ] = 0,
    json_to: Annotated[
        str | None,
        typer.Option(
            "--json", metavar="FILE|-", help="Write the result as one JSON object; - is standard output."
        ),
    ] = None,
) -> int:
    """Score the answers of people or models to a dataset with the same metrics."""
    if per_item and not json_to:
        raise UsageError("--per-item needs --json")
    if is_run(responses):
        rater = rater_of(rudetox_models, rudetox_curves)
        return _score_run(responses, data, explain_id or (), rater, seed, json_to)
    if dataset_name is None or data is None:
        raise UsageError(
            "answers need --dataset NAME and --data FILE; only the folder of a run names them itself"
        )
    with working("Reading the items and the answers"):
        answers = match_answers(responses, dataset=dataset_name, data=data, split=split, cluster=cluster)
    for sentence in answers.log.sentences() if answers.log else ():
        say(sentence)
    _tell_unmatched(answers)
    rater = rater_of(rudetox_models, rudetox_curves) if answers.matched.given else None
    with working(f"Scoring {len(answers.matched.given):,} answers"):
        result = answers.scored(rater=rater, seed=seed)
    judgements = {name: result.explain(name) for name in explain_id or ()}
    if json_to:
        emit_json(result.to_dict(explain=list(judgements), per_item=per_item), json_to)
    if json_to == "-":
        return 0
    if judgements:
        typer.echo("\n".join(_told(name, steps) for name, steps in judgements.items()))
    else:
        show_scores(answers.declared.title, result.scores)
        if result.answers.clusters is not None:
            say(
                f"{len(answers.matched.given)} answered items in {result.answers.clusters} "
                f"clusters by '{result.answers.cluster}'"
            )
    return 0


def _score_run(
    run: Path, data: Path | None, wanted: Sequence[str], rater: Rater | None, seed: int, json_to: str | None
) -> int:
    """Score a run and print the table, or the explanation of the wanted items."""
    from merilo.cli.run_table import show_explanation, show_run  # noqa: PLC0415 - files of answers need no runs
    from merilo.runs.run_explanation import explain_item  # noqa: PLC0415 - as above
    from merilo.runs.run_scores import score_run  # noqa: PLC0415 - as above

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


def _tell_unmatched(answers: MatchedAnswers) -> None:
    matched = answers.matched
    if matched.unanswered:
        names = listed([str(name) for name in matched.unanswered])
        # An exam variant with at least one answer is scored as a whole.
        exam = "grade_norm" in answers.declared.metrics
        fate = "score 0 in a variant that has other answers" if exam else "are left out"
        say(f"{len(matched.unanswered)} of {len(answers.items)} items have no answer and {fate}: {names}")
    if matched.unknown:
        names = listed([ascii(name)[1:-1] if not name.isprintable() else name for name in matched.unknown])
        say(f"{len(matched.unknown)} answers belong to no item and are left out: {names}")


def _told(name: str, judgements: list[Judgement]) -> str:
    lines = []
    for judgement in judgements:
        lines.append(f"item {name}, {judgement.metric}: {judgement.points:g} of {judgement.most:g}")
        lines += [f"  - {step}" for step in judgement.steps]
    return "\n".join(lines)
