"""`merilo run`: ask a model the items of datasets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from merilo.cli.output import emit_json, refuse_json, say
from merilo.cli.procedure_options import takes_settings
from merilo.cli.rater import CurvesOption, ModelsOption, rater_of
from merilo.errors import UsageError
from merilo.models.runner import Progress
from merilo.runs.model_run import RunOptions, plan_run, run_model
from merilo.runs.run_explanation import explain_item
from merilo.sandbox.job import Step
from merilo.settings import INPUT, RunSettings

app = typer.Typer(add_completion=False)

_OUTPUT: Final = "Output"

#: What a text on the command line writes for a line break and a tabulator.
_ESCAPES: Final = {"\\n": "\n", "\\t": "\t"}


@app.command()
@takes_settings(of=RunSettings)
def ask(
    *,
    model: Annotated[
        str,
        typer.Option(
            metavar="BACKEND",
            help="The backend (openai-chat-completions, anthropic-chat, local-completions, hf, vllm, "
            "...), or a built-in respondent: random, most-frequent, longest, gold.",
            rich_help_panel=INPUT,
        ),
    ],
    model_args: Annotated[
        str,
        typer.Option(
            metavar="K=V,...",
            help="The backend's arguments, as lm-eval's --model_args: model=NAME,base_url=URL.",
            rich_help_panel=INPUT,
        ),
    ] = "",
    datasets: Annotated[
        str,
        typer.Option(
            metavar="A,B",
            help="The datasets: names of the catalogue, or paths of YAML declarations.",
            rich_help_panel=INPUT,
        ),
    ] = "",
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A folder with NAME.json or NAME/test.json, or a file. Default: the items included in "
            "Merilo.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Ask the items of this study folder, exactly as people saw them.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    settings: RunSettings,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show the prompts, the number of requests, and estimated tokens and cost; ask nothing.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False,
    explain_id: Annotated[
        list[str] | None,
        typer.Option(
            "--explain",
            metavar="ID",
            help="Show the prompt, the reply, and how the answer of this item was found and scored; may "
            "be given several times.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    rudetox_models: ModelsOption = None,
    rudetox_curves: CurvesOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder of the run. The same command resumes a run that was interrupted.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Delete the run in the folder and start again.", rich_help_panel=_OUTPUT
        ),
    ] = False,
    json_to: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="FILE|-",
            help="Write the result as one JSON object; - is standard output.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
) -> int:
    """Ask a model the items of datasets, log every reply, and score the answers.

    Exit status 1: some requests failed or were not asked; the same command asks them.
    """
    refuse_json(json_to, [one for one in (data, study) if one is not None])
    if settings.stop:
        settings = replace(settings, stop=tuple(map(_unescaped, settings.stop)))
    options = RunOptions(
        model=model,
        datasets=tuple(filter(None, map(str.strip, datasets.split(",")))),
        model_args=_arguments(model_args),
        data=data,
        study=study,
        settings=settings,
        command="merilo run",
    )
    if dry_run:
        return _show_plan(options, explain_id or (), json_to)
    if out is None:
        raise UsageError("name the folder of the run: --out DIR (or --dry-run to see the prompts)")
    result = run_model(
        options,
        out,
        rater=rater_of(rudetox_models, rudetox_curves),
        force=force,
        watch=partial(_watch, out),
        watch_programs=_watch_programs,
        say=say,
    )
    explained = [explain_item(out, name, data=data) for name in explain_id or ()]
    if json_to:
        emit_json(
            {
                **result.to_dict(),
                **({"explained": [one.to_dict() for one in explained]} if explained else {}),
            },
            json_to,
        )
    if json_to != "-":
        from merilo.cli.run_table import show_explanation, show_run  # noqa: PLC0415 - the JSON needs no tables

        for one in explained:
            show_explanation(one)
        if not explained:
            show_run(result)
    for note in result.notes:
        say(note)
    if result.stopped:
        say(f"stopped: {result.stopped}; a higher limit resumes the run")
    elif not result.is_complete:
        say(f"some requests have no answer; the same command asks them again: {out}")
    return 0 if result.is_complete else 1


def _arguments(text: str) -> dict[str, str]:
    from merilo.models.backends.model_arguments import parse_model_arguments  # noqa: PLC0415

    return parse_model_arguments(text)


def _unescaped(text: str) -> str:
    for written, meant in _ESCAPES.items():
        text = text.replace(written, meant)
    return text


def _show_plan(options: RunOptions, wanted: Sequence[str], json_to: str | None) -> int:
    plan = plan_run(options)
    if json_to:
        emit_json(plan.to_dict(), json_to)
    if json_to != "-":
        from merilo.cli.run_table import show_plan  # noqa: PLC0415 - the JSON needs no tables

        show_plan(plan, wanted)
    return 0


@contextmanager
def _watch(out: Path, requests: int, answered: int) -> Iterator[Callable[[Progress], None]]:
    """Show progress on standard error, if it is a terminal; when the user stops the run, say how to resume it."""
    if answered:
        say(f"resuming with {answered:,} of {answered + requests:,} replies")
    try:
        if not sys.stderr.isatty():
            yield lambda _: None
            return
        from merilo.cli.run_table import bar  # noqa: PLC0415 - needed only on a terminal

        with bar(requests) as tell:
            yield tell
    except KeyboardInterrupt:
        say(f"the replies so far are in {out}; run the same command again to resume")
        raise


@contextmanager
def _watch_programs(generations: int, resumed: int) -> Iterator[Callable[[Step], None]]:
    """Show the sandbox's progress on standard error, if it is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from merilo.cli.code_table import bars  # noqa: PLC0415 - needed only on a terminal

    with bars(generations) as tell:
        yield tell
