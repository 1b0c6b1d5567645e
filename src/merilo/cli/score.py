"""`merilo score`: score the answers of people or models to a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from merilo.cli.options import CurvesOption, ExplainOption, JsonOption, RaterOption, rater_of
from merilo.cli.output import deliver, say, working
from merilo.errors import InputError, UsageError
from merilo.settings import REPLIES_HELP
from merilo.wording import counted_noun, listed

if TYPE_CHECKING:
    from merilo.cli.output import Part
    from merilo.metrics.detox import Rater
    from merilo.runs.scores import ScoreResult

app = typer.Typer(add_completion=False)

_Responses = Annotated[
    Path,
    typer.Argument(
        help="Answers by item id: JSON, JSONL, CSV or TSV with id and answer; a submission's file; the log of "
        "another harness; or the folder of a run."
    ),
]
_DatasetName = Annotated[
    str | None,
    typer.Option(
        "--dataset", help="The dataset: a name, or the path of a YAML declaration. A run knows its datasets."
    ),
]
_Data = Annotated[
    Path | None,
    typer.Option(
        help="The items with their gold answers: a file, or a folder with NAME.json or NAME/test.json. Default: the "
        "file of the declaration; for a run, the items that were asked."
    ),
]
_Split = Annotated[str | None, typer.Option(help="The split of the file. Default: 'test', or the only one.")]
_Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="FIELD",
        help="A field of the items, such as a text or a dialogue: items with the same value are not independent, "
        "and every interval takes this into account. Default: declared by the dataset.",
    ),
]
_PerItem = Annotated[
    bool, typer.Option("--per-item", help="Add each item's score under each metric to the JSON.")
]
_Replies = Annotated[bool, typer.Option("--replies", help=REPLIES_HELP)]
_Force = Annotated[
    bool, typer.Option("--force", help="Score answers even if none can be read: all count as wrong.")
]


@app.command()
def score_responses(
    responses: _Responses,
    *,
    dataset_name: _DatasetName = None,
    data: _Data = None,
    split: _Split = None,
    cluster: _Cluster = None,
    explain_id: ExplainOption = None,
    per_item: _PerItem = False,
    replies: _Replies = False,
    force: _Force = False,
    rudetox_models: RaterOption = None,
    rudetox_curves: CurvesOption = None,
    json_to: JsonOption = None,
) -> int:
    """Score the answers of people or models to a dataset with the same metrics."""
    from merilo.models.run_folder import is_run  # noqa: PLC0415 - slow; the help needs only declarations
    from merilo.runs.scores import score  # noqa: PLC0415

    if is_run(responses):
        of_file = {"per_item": per_item, "replies": replies, "force": force}
        _refuse_for_a_run(dataset=dataset_name, split=split, cluster=cluster, **of_file)
        rater = rater_of(rudetox_models, rudetox_curves)
        return _score_run(responses, explain_id or [], data, rater, json_to=json_to)
    if per_item and not json_to:
        raise UsageError("--per-item needs --json")
    if not responses.exists():
        raise InputError("there is no such file", file=responses)
    if dataset_name is None:
        raise UsageError("answers need --dataset NAME; only the folder of a run names it itself")
    rater = rater_of(rudetox_models, rudetox_curves)
    with working("Scoring the answers"):
        result = score(
            responses,
            dataset=dataset_name,
            data=data,
            split=split,
            cluster=cluster,
            rudetox_models=rater,
            replies=replies,
            force=force,
        )
    _tell_unmatched(result)
    wanted = explain_id or []
    for name in wanted:
        result.explain(name)  # refuses an unknown item before anything is printed
    deliver(json_to, lambda: result.to_dict(explain=wanted, per_item=per_item), _parts(result, wanted))
    if json_to != "-" and not wanted and (clusters := result.clusters) is not None:
        answered = counted_noun(result.answered, "answered item", "answered items")
        say(f"{answered} in {counted_noun(clusters, 'cluster', 'clusters')} by '{result.cluster}'")
    return 0


def _refuse_for_a_run(**options: object) -> None:
    """Refuse options that only answers in a file have."""
    unfit = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
    if unfit:
        goes = "does" if len(unfit) == 1 else "do"
        raise UsageError(
            f"{listed(unfit)} {goes} not go with the folder of a run, which is scored as it was asked"
        )


def _score_run(
    run: Path, wanted: list[str], data: Path | None, rater: Rater | None, *, json_to: str | None
) -> int:
    from merilo.cli.score_tables import deliver_run  # noqa: PLC0415 - slow; the help needs only declarations
    from merilo.runs.run_explanation import explain_item  # noqa: PLC0415
    from merilo.runs.scores import score_run  # noqa: PLC0415

    with working("Scoring the run"):
        scored = score_run(run, data=data, rudetox_models=rater)
    explained = [
        explanation for name in wanted for explanation in explain_item(run, name, data=data, rater=rater)
    ]
    deliver_run(scored, explained, json_to)
    return 0


def _parts(result: ScoreResult, wanted: list[str]) -> Iterator[Part]:
    from merilo.cli.score_tables import judgement_parts, score_parts  # noqa: PLC0415 - slow

    for name in wanted:
        yield from judgement_parts(result.explain(name), name)
    if not wanted:
        yield from score_parts(result.answers.declared.title, result.scores)


def _tell_unmatched(result: ScoreResult) -> None:
    for sentence in result.answers.sentences():
        say(sentence)
    if result.unanswered:
        named = (("grade_norm", "variant"), ("group_exact_match", "group"))
        units = [unit for name, unit in named if name in result.answers.declared.metrics]
        fate = f"score 0 in a {units[0]} that has other answers" if units else "are left out"
        say(
            f"{len(result.unanswered)} of {counted_noun(result.items, 'item', 'items')} have no answer and {fate}: "
            f"{listed([str(name) for name in result.unanswered])}"
        )
    if result.unknown:
        from merilo.models.reply_answers import printable  # noqa: PLC0415 - slow

        names = listed([*map(printable, result.unknown)])
        say(f"{len(result.unknown)} answers belong to no item and are left out: {names}")
    if result.no_labels:
        say(result.no_labels.sentence)
