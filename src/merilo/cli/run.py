"""`merilo run`: ask a model the items of datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from merilo.cli.code import watch_programs
from merilo.cli.options import JsonOption, takes_settings
from merilo.cli.output import bars, check_places, deliver, say
from merilo.settings import INPUT, OUTPUT, RunSettings

if TYPE_CHECKING:
    from merilo.models.asking import Progress

app = typer.Typer(add_completion=False)

#: What a text on the command line writes for a line break and a tabulator.
_ESCAPES: Final = {"\\n": "\n", "\\t": "\t"}


_Backend: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="BACKEND",
        help="The backend (openai-chat-completions, anthropic-chat, local-completions, hf, vllm, "
        "...), or a built-in respondent: random, most-frequent, longest, gold.",
        rich_help_panel=INPUT,
    ),
]
_BackendArguments: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="K=V,...",
        help="The backend's arguments, as lm-eval's --model_args: model=NAME,base_url=URL.",
        rich_help_panel=INPUT,
    ),
]
_DatasetNames: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="A,B",
        help="The datasets: names of the catalogue, or paths of YAML declarations.",
        rich_help_panel=INPUT,
    ),
]
_DataPlace: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="A folder with NAME.json or NAME/test.json, the folder of a baseline, or a file. Default: the "
        "items included in Merilo.",
        rich_help_panel=INPUT,
    ),
]
_StudyFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Ask the items of this study folder, exactly as people saw them.",
        rich_help_panel=INPUT,
    ),
]
_RunFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="The folder of the run; the same command resumes a run that was interrupted. Without it, nothing "
        "is asked: the prompts, the number of requests, and estimated tokens and cost are shown.",
        rich_help_panel=OUTPUT,
    ),
]


@app.command()
@takes_settings(of=RunSettings)
def ask(
    *,
    model: _Backend,
    model_args: _BackendArguments = "",
    datasets: _DatasetNames = "",
    data: _DataPlace = None,
    study: _StudyFolder = None,
    settings: RunSettings,
    out: _RunFolder = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Delete the run in the folder and start again.", rich_help_panel=OUTPUT),
    ] = False,
    json_to: JsonOption = None,
) -> int:
    """Ask a model the items of datasets, log every reply, and score the answers.

    Exit status 1: some requests failed or were not asked; the same command asks them.
    """
    from merilo.cli.score_tables import deliver_run, plan_parts  # noqa: PLC0415 - slow; the help needs only declarations
    from merilo.models.backends.model_arguments import parse_model_arguments  # noqa: PLC0415
    from merilo.runs.model_run import RunOptions, plan_run, run_model  # noqa: PLC0415

    check_places([data, study], json_to)
    if settings.stop:
        settings = replace(settings, stop=tuple(map(_unescaped, settings.stop)))
    options = RunOptions(
        model=model,
        datasets=tuple(filter(None, map(str.strip, datasets.split(",")))),
        model_args=parse_model_arguments(model_args),
        data=data,
        study=study,
        settings=settings,
        command="merilo run",
    )
    if out is None:
        plan = plan_run(options)
        deliver(json_to, plan.to_dict, plan_parts(plan))
        say("nothing was asked; --out DIR asks the model")
        return 0
    result = run_model(
        options,
        out,
        force=force,
        watch=partial(_watch, out),
        watch_programs=partial(watch_programs, None),
        say=say,
    )
    deliver_run(result, [], json_to)
    if result.stopped:
        say(f"stopped: {result.stopped}; a higher limit resumes the run")
    elif not result.is_complete:
        say(f"some requests have no answer; the same command asks them again: {out}")
    return 0 if result.is_complete else 1


def _unescaped(text: str) -> str:
    for written, meant in _ESCAPES.items():
        text = text.replace(written, meant)
    return text


#: Replies after which the bar is drawn again; drawing costs more than a reply.
_STEP: Final = 16


@contextmanager
def _watch(out: Path, requests: int, answered: int) -> Iterator[Callable[[Progress], None]]:
    """Show progress on standard error, if it is a terminal; when the user stops the run, say how to resume it."""
    if answered:
        say(f"resuming with {answered:,} of {answered + requests:,} replies")
    try:
        with bars() as move:

            def tell(progress: Progress) -> None:
                done = progress.answered + progress.failed
                if move is not None and (not done % _STEP or done >= requests or done <= _STEP):
                    move("asking", requests, done, progress_text(progress))

            yield tell
    except KeyboardInterrupt:
        say(f"the replies so far are in {out}; run the same command again to resume")
        raise


def progress_text(progress: Progress) -> str:
    """Return what the bar says beside its numbers.

    Example:
        >>> from merilo.models.asking import Progress
        >>> progress_text(Progress(answered=3, failed=1, retried=2, running=4, usd=0.0123))
        '4 running, 1 failed, 2 retried, $0.0123'
    """
    counts = {"running": progress.running, "failed": progress.failed, "retried": progress.retried}
    parts = [f"{n} {name}" for name, n in counts.items() if n or name == "running"]
    return ", ".join([*parts, *([f"${progress.usd:.4f}"] if progress.usd else [])])
