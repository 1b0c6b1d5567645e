"""`merilo code`: run generated programs in a sandbox, and try to break out of it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from merilo.cli import abandon_output
from merilo.cli.output import emit_json, refuse_json, say
from merilo.cli.procedure_options import takes_settings
from merilo.errors import UsageError
from merilo.runs.program_scores import refuse_places, score_programs
from merilo.sandbox.backends import backend as choose_backend
from merilo.sandbox.doctor import Attempt, examine
from merilo.sandbox.job import Step
from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Limits
from merilo.settings import INPUT, ProgramSettings
from merilo.strict_json import Json
from merilo.wording import shortened

_OUTPUT: Final = "Output"

#: A valid k. More digits are refused: no file has so many generations, and Python does not parse 5,000 digits.
_K: Final = re.compile(r"0{0,9}[1-9][0-9]{0,14}")


@takes_settings(of=ProgramSettings)
def score(
    completions: Annotated[
        Path,
        typer.Argument(
            help="JSON Lines, plain or .gz, with task_id (or id), completion, and annotator if people "
            "wrote the programs."
        ),
    ],
    *,
    data: Annotated[
        Path,
        typer.Option(
            help="The problems: ruHumanEval's items (JSON, JSONL, Parquet), or HumanEval's own JSONL, plain or .gz.",
            rich_help_panel=INPUT,
        ),
    ],
    k: Annotated[
        list[str] | None,
        typer.Option(
            "-k",
            "--k",
            metavar="1,5,10",
            help="The k of pass@k. Default: those of 1, 5 and 10 for which there are enough generations.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    settings: ProgramSettings,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A folder for verdicts, generations and the score. An interrupted run resumes from it.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    outputs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the programs' answers to this file, in the format of a submission.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    per_problem: Annotated[
        bool, typer.Option("--per-problem", help="Print one line per problem.", rich_help_panel=_OUTPUT)
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
    """Score programs of a model or of people by pass@k.

    Every distinct program runs once, in a separate sandbox, and its answers are compared with the gold answers outside.

    Exit status 1: pass@k could not be computed for a requested k, because a problem has fewer generations; or a
    problem or a completion is invalid, and nothing was run.
    """
    asked = _ks(k)
    if str(outputs) == "-":
        raise UsageError("must be a file; only --json prints on standard output", field="--outputs")
    refuse_json(json_to, [completions, data])
    json_file = None if json_to in {None, "-"} else Path(str(json_to))
    refuse_places([completions, data], settings.packages, out, outputs, json_file)
    result = score_programs(
        completions,
        data=data,
        k=asked,
        out=out,
        outputs=outputs,
        watch=partial(_watch, out),
        settings=settings,
    )
    for sentence in result.warnings:
        say(sentence)
    if json_to:
        emit_json(result.to_dict(), json_to)
    if json_to != "-":
        from merilo.cli.code_table import show  # noqa: PLC0415 - the JSON needs no tables

        show(result, per_problem=per_problem)
    return 1 if asked and result.refused else 0


def _ks(texts: list[str] | None) -> tuple[int, ...]:
    """Parse the values of --k; an empty tuple if the option is not given."""
    words = [word.strip() for text in texts or () for word in text.split(",")]
    for word in words:
        if not _K.fullmatch(word):
            raise UsageError(
                f"must be whole numbers of at least 1, separated by commas, not '{shortened(word)}'",
                field="-k",
            )
    return tuple(dict.fromkeys(map(int, words)))


@contextmanager
def _watch(out: Path | None, generations: int, resumed: int) -> Iterator[Callable[[Step], None]]:
    """Show progress on standard error, if it is a terminal; when the user stops the job, print how to resume it."""
    if resumed:
        say(f"resuming; programs that already have verdicts: {resumed}")
    try:
        if not sys.stderr.isatty():
            yield lambda _: None
            return
        from merilo.cli.code_table import bars  # noqa: PLC0415 - needed only on a terminal

        with bars(generations) as tell:
            yield tell
    except KeyboardInterrupt:
        if out:
            say(f"the verdicts so far are in {out}; run the same command again to resume")
        raise


def doctor(
    *,
    backend: Annotated[
        str, typer.Option(help="The sandbox: bubblewrap, docker, or auto for the first one available.")
    ] = "auto",
    python: Annotated[
        str | None,
        typer.Option(
            metavar="3.12|PATH",
            help="The Python that runs the programs, 3.9 to 3.14. Default: the one that runs Merilo.",
        ),
    ] = None,
    packages: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A folder of packages that programs may import.")
    ] = None,
    json_to: Annotated[
        str | None,
        typer.Option(
            "--json", metavar="FILE|-", help="Write the results as one JSON object; - is standard output."
        ),
    ] = None,
) -> int:
    """Try to break out of the sandbox of generated programs, and print which guarantees held.

    Hostile programs attack a file, a port and a process made for this test, other programs, the verdict and the
    worker. They are harmless even if the sandbox fails.

    Exit status 1: a guarantee did not hold. Do not run untrusted programs on this machine.
    """
    limits = Limits(wall_seconds=2.0, memory_bytes=256 << 20)
    findings: list[Attempt] = []
    with Pool(1, backend=choose_backend(backend, python=python, packages=packages), limits=limits) as pool:
        for finding in examine(pool):
            if json_to != "-":
                family = "" if findings and findings[-1].family == finding.family else f"{finding.family}\n"
                _print(family + _line(finding))
            findings.append(finding)
        jail: dict[str, Json] = {"backend": pool.backend.name, "python": pool.python}
    broken = sum(not finding.held for finding in findings)
    if json_to:
        emit_json(
            {**jail, "held": len(findings) - broken, "broken": broken, "findings": list(map(_row, findings))},
            json_to,
        )
    name = f"{jail['backend']} with Python {jail['python']}"
    if broken:
        say(
            f"{name}: {broken} of {len(findings)} guarantees did not hold; do not run untrusted "
            "programs on this machine"
        )
    else:
        say(f"{name}: all {len(findings)} guarantees held")
    return 1 if broken else 0


def _print(text: str) -> None:
    """Print a text; if the reader closed the pipe, the checks go on, so that the exit status covers all of them."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_output()


def _line(finding: Attempt) -> str:
    return (
        f"  {'held   ' if finding.held else 'BROKEN '} "
        f"{finding.claim}{f': {finding.detail}' if finding.detail else ''}\n"
    )


def _row(finding: Attempt) -> Json:
    return {
        "family": finding.family,
        "claim": finding.claim,
        "held": finding.held,
        "detail": finding.detail or None,
    }


app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Run generated programs in a sandbox and score them."
)


@app.callback()
def code() -> None:
    """Run generated programs in a sandbox and score them."""


app.command("score")(score)
app.command("doctor")(doctor)
