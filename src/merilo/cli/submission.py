"""`merilo submission`: pack and score submission archives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from merilo.cli.options import CurvesOption, ForceOption, JsonOption, RaterOption, rater_of
from merilo.cli.output import check_places, deliver, emit_json, say, working
from merilo.files import collecting_later
from merilo.strict_json import Json
from merilo.submissions.archive import ArchiveError
from merilo.submissions.evaluation import SubmissionResult, content_of, read_gold, refused, score_submission

if TYPE_CHECKING:
    from merilo.cli.output import Part

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Pack and score submissions to the benchmark."
)


@app.command("score")
def score_archive(
    archive: Annotated[
        Path, typer.Argument(metavar="ZIP", help="The submission: one <DatasetName>.json per dataset.")
    ],
    *,
    gold: Annotated[
        Path,
        typer.Option(
            help="The tests with gold answers: a folder of <name>.json, or your dataset's declaration."
        ),
    ],
    rudetox_models: RaterOption = None,
    rudetox_curves: CurvesOption = None,
    json_to: JsonOption = None,
) -> int:
    """Score a submission as the benchmark does: metrics, errors, total score.

    Exit status 1: the submission was scored, but has errors in a dataset that counts in the total or is your own.
    """
    rater = rater_of(rudetox_models, rudetox_curves)
    try:
        with working("Scoring the submission"), collecting_later():
            tests = read_gold(gold)
            result = score_submission(archive, tests, rater=rater)
    except ArchiveError as error:
        if json_to:
            emit_json(content_of(refused(error)), json_to)
        raise
    making: dict[str, Json] = {"rudetox": {**rater.making} if rater else None}

    deliver(json_to, lambda: {**content_of(result), **making}, _parts(result))
    return 0 if result.complete else 1


def _parts(result: SubmissionResult) -> Iterator[Part]:
    from merilo.cli.score_tables import submission_parts  # noqa: PLC0415 - the JSON needs no tables

    yield from submission_parts(result)


@app.command("pack")
def write_pack(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="A folder with one file of answers per dataset: <name>.jsonl with id and answer.",
        ),
    ],
    *,
    out: Annotated[Path, typer.Option(metavar="ZIP", help="The archive to write.")],
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="The declaration of your own dataset; repeatable. A run needs none."
        ),
    ] = None,
    force: ForceOption = False,
) -> int:
    """Pack answers into a submission."""
    from merilo.submissions.writing import pack  # noqa: PLC0415 - scoring reads no answers of runs

    check_places([run, *map(Path, datasets or ())], None, out, force=force)
    titles, unknown = pack(run, out, datasets or ())
    say(f"{out}: answers to {', '.join(titles)}")
    for name in unknown:
        say(f"{name}: no dataset of the benchmark has this name, so it is not packed")
    return 0
