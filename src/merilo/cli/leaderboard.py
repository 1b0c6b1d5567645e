"""`merilo leaderboard`: a static site of people and models."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from merilo.cli.options import ForceOption, JsonOption
from merilo.cli.output import check_places, deliver, say, show, working
from merilo.settings import INPUT, OUTPUT
from merilo.text import Text

if TYPE_CHECKING:
    from merilo.boards.board import Leaderboard

app = typer.Typer(add_completion=False)


@app.command()
def board_of_people_and_models(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN]...",
            help="Runs of 'merilo run', logs of other harnesses, or folders of these. Without runs, baselines and "
            "submissions: the published human values.",
            show_default=False,
        ),
    ] = None,
    *,
    out: Annotated[Path, typer.Option(help="The folder of the site; an earlier site in it is replaced.")],
    baselines: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="A folder in which human baselines are looked for; may be given several times.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    submissions: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder of submission archives (.zip).", rich_help_panel=INPUT),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The tests with their gold answers, as NAME.json or NAME/test.json: for submissions, logs of other "
            "harnesses, and runs of closed tests.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    options: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A TOML file with title, language, names, hidden rows, the total's datasets and groups.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where scored results are kept for the next time; it tells which items were answered rightly, so do "
            "not publish it. Default: a hidden folder beside --out.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Write a leaderboard: people and models as rows, with ranges of ranks, as a site that needs no server.

    Exit status 1: an archive of --submissions or a log has faults; the site explains each, and has all other rows.
    """
    from merilo.boards.board import leaderboard  # noqa: PLC0415 - slow

    given = [*(runs or []), *(baselines or []), *(one for one in (submissions, gold, options) if one)]
    stored = cache or out.parent / f".{out.resolve().name}-cache"
    check_places(given, json_to)
    with working(Text("Scoring and ranking")):
        board = leaderboard(
            runs or (),
            baselines=baselines or (),
            submissions=submissions,
            gold=gold,
            options=options,
            cache=stored,
        )
        page = board.save(out, force=force, needed=given)
    for one in board.faulty:
        say(
            Text(
                "{file}: {what}", file=one.name, what=one.reason or Text("has faults; the site explains them")
            )
        )
    deliver(json_to, board.to_dict, partial(_show, board, page))
    return 1 if board.faulty else 0


def _show(board: Leaderboard, page: Path) -> None:
    show(
        Text(
            "{models:# model|# models}, {studies:# study|# studies} of people, {datasets:# dataset|# datasets}: {file}",
            models=len(board.models),
            studies=len(board.people),
            datasets=len(board.datasets),
            file=page,
        )
    )
