"""`merilo run`: ask a model the items of datasets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from merilo.cli.output import emit_json, refuse_json, say
from merilo.cli.rater import CurvesOption, ModelsOption, rater_of
from merilo.errors import UsageError
from merilo.models.backends import RateLimits
from merilo.models.prompter import AskedMode, PromptSettings
from merilo.models.runner import Progress
from merilo.runs.model_run import RunOptions, plan_run, price_given, run_model
from merilo.runs.run_explanation import explain_item
from merilo.sandbox.job import Step

app = typer.Typer(add_completion=False)

_INPUT: Final = "Input"
_PROMPT: Final = "Prompt"
_LIMITS: Final = "Limits"
_OUTPUT: Final = "Output"

#: What a text on the command line writes for a line break and a tabulator.
_ESCAPES: Final = {"\\n": "\n", "\\t": "\t"}


@app.command()
def ask(
    *,
    model: Annotated[str, typer.Option(metavar="BACKEND", help="The backend (openai-chat-completions, anthropic-chat, local-completions, hf, vllm, ...), or a built-in respondent: random, most-frequent, longest, gold.", rich_help_panel=_INPUT)],
    model_args: Annotated[str, typer.Option(metavar="K=V,...", help="The backend's arguments, as lm-eval's --model_args: model=NAME,base_url=URL.", rich_help_panel=_INPUT)] = "",
    datasets: Annotated[str, typer.Option(metavar="A,B", help="The datasets: names of the catalogue, or paths of YAML declarations.", rich_help_panel=_INPUT)] = "",
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="A folder with NAME.json or NAME/test.json for each dataset, or a file. Default: the items included in Merilo.", rich_help_panel=_INPUT)] = None,
    study: Annotated[Path | None, typer.Option(metavar="DIR", help="Ask the items of this study folder, exactly as people saw them.", rich_help_panel=_INPUT)] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Ask only so many of the first items of each dataset.", rich_help_panel=_INPUT)] = None,
    shots: Annotated[int | None, typer.Option(min=0, help="Solved items before each question. Default: as many as the dataset declares.", rich_help_panel=_PROMPT)] = None,
    shots_as_turns: Annotated[bool, typer.Option("--shots-as-turns", help="Give solved items as turns of the conversation.", rich_help_panel=_PROMPT)] = False,
    as_people: Annotated[bool, typer.Option("--as-people", help="Ask exactly what people saw: no shots, each item with its instruction.", rich_help_panel=_PROMPT)] = False,
    mode: Annotated[AskedMode, typer.Option(help="How closed answers are asked; auto compares log-likelihoods if the backend continues a text.", rich_help_panel=_PROMPT)] = "auto",
    samples: Annotated[int | None, typer.Option(min=1, help="Answers to each item. Default: 10 programs, else 1.", rich_help_panel=_PROMPT)] = None,
    seed: Annotated[int, typer.Option(min=0, help="The random seed of the choice of shots and of sampling.", rich_help_panel=_PROMPT)] = 0,
    system: Annotated[str | None, typer.Option(help="The system prompt.", rich_help_panel=_PROMPT)] = None,
    stop: Annotated[list[str] | None, typer.Option(help="A string that ends an answer, \\n for a line break; may be given several times. Default: those of the dataset, none for chat.", rich_help_panel=_PROMPT)] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="The most tokens of an answer, thought included. Default: by kind of answer.", rich_help_panel=_PROMPT)] = None,
    temperature: Annotated[float | None, typer.Option(min=0, help="The temperature of sampling. Default: 0.6 for programs, else 0.", rich_help_panel=_PROMPT)] = None,
    top_p: Annotated[float | None, typer.Option(help="The share of probability that is sampled from.", rich_help_panel=_PROMPT)] = None,
    price_in: Annotated[float | None, typer.Option(min=0, metavar="USD", help="The price of a million tokens of requests.", rich_help_panel=_LIMITS)] = None,
    price_out: Annotated[float | None, typer.Option(min=0, metavar="USD", help="The price of a million tokens of answers.", rich_help_panel=_LIMITS)] = None,
    max_usd: Annotated[float | None, typer.Option(min=0, metavar="USD", help="Stop before the run costs more, earlier commands included.", rich_help_panel=_LIMITS)] = None,
    max_requests: Annotated[int | None, typer.Option(min=1, help="Stop after so many requests, earlier commands included.", rich_help_panel=_LIMITS)] = None,
    requests_per_minute: Annotated[float | None, typer.Option(help="The most requests a minute.", rich_help_panel=_LIMITS)] = None,
    tokens_per_minute: Annotated[float | None, typer.Option(help="The most tokens a minute.", rich_help_panel=_LIMITS)] = None,
    device: Annotated[str | None, typer.Option(help="Where local weights are put: cpu, cuda:0.", rich_help_panel=_LIMITS)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the rendered prompts, the number of requests, and the estimated tokens and cost; ask nothing.", rich_help_panel=_OUTPUT)] = False,
    explain_id: Annotated[list[str] | None, typer.Option("--explain", metavar="ID", help="Show the prompt, the reply, and how the answer of this item was found and scored; may be given several times.", rich_help_panel=_OUTPUT)] = None,
    contamination: Annotated[bool, typer.Option("--contamination", help="Also ask for the continuation of each item's text, and report verbatim overlap.", rich_help_panel=_OUTPUT)] = False,
    rudetox_models: ModelsOption = None,
    rudetox_curves: CurvesOption = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The folder of the run. The same command resumes a run that was interrupted.", rich_help_panel=_OUTPUT)] = None,
    force: Annotated[bool, typer.Option("--force", help="Delete the run in the folder and start again.", rich_help_panel=_OUTPUT)] = False,
    json_to: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the result as one JSON object; - is standard output.", rich_help_panel=_OUTPUT)] = None,
) -> int:  # fmt: skip
    """Ask a model the items of datasets, log every reply, and score the answers.

    Exit status 1: some requests failed or were not asked; the same command asks them.
    """
    refuse_json(json_to, [one for one in (data, study) if one is not None])
    options = RunOptions(
        model=model,
        datasets=tuple(filter(None, map(str.strip, datasets.split(",")))),
        model_args=_arguments(model_args),
        data=data,
        study=study,
        settings=PromptSettings(
            shots=shots,
            shots_as_turns=shots_as_turns,
            system=system,
            as_people=as_people,
            mode=mode,
            stop=tuple(map(_unescaped, stop)) if stop else None,
            max_tokens=max_tokens,
            temperature=temperature,
            top_p=top_p,
            seed=seed,
        ),
        samples=samples,
        limit=limit,
        contamination=contamination,
        limits=RateLimits(requests_per_minute, tokens_per_minute),
        price=price_given(price_in, price_out),
        max_usd=max_usd,
        max_requests=max_requests,
        device=device,
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
    from merilo.models.backends.model_arguments import parse_model_arguments  # noqa: PLC0415 - only this command takes them

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
        from merilo.cli.run_progress import bar  # noqa: PLC0415 - needed only on a terminal

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
