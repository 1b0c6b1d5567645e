"""`merilo code`: run generated programs in a sandbox, and try to break out of it."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from merilo.cli import abandon_output
from merilo.cli.options import JsonOption, takes_settings
from merilo.cli.output import bars, check_places, deliver, emit_json, refuse_idle, say
from merilo.errors import UsageError
from merilo.estimate import Estimate
from merilo.records import Span
from merilo.settings import INPUT, OUTPUT, ProgramSettings
from merilo.strict_json import Json
from merilo.wording import counted_noun, shortened

if TYPE_CHECKING:
    from merilo.cli.output import Part
    from merilo.reports.table import Cell
    from merilo.runs.program_scores import ProgramScores
    from merilo.sandbox.doctor import Attempt
    from merilo.sandbox.job import Progress

#: A valid k. More digits are refused: no file has so many generations, and Python does not parse 5,000 digits.
_K: Final = re.compile(r"0{0,9}[1-9][0-9]{0,14}")


_Completions: TypeAlias = Annotated[
    Path,
    typer.Argument(
        help="JSON Lines, plain or .gz, with task_id (or id), completion, and annotator if people "
        "wrote the programs."
    ),
]
_Problems: TypeAlias = Annotated[
    Path,
    typer.Option(
        help="The problems: ruHumanEval's items (JSON, JSONL, Parquet), or HumanEval's own JSONL, plain or .gz.",
        rich_help_panel=INPUT,
    ),
]
_Ks: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "-k",
        "--k",
        metavar="1,5,10",
        help="The k of pass@k. Default: those of 1, 5 and 10 for which there are enough generations.",
        rich_help_panel=INPUT,
    ),
]
_VerdictsFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="A folder for verdicts, generations and the score. An interrupted run resumes from it.",
        rich_help_panel=OUTPUT,
    ),
]
_AnswersFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the programs' answers to this file, in the format of a submission.",
        rich_help_panel=OUTPUT,
    ),
]


@takes_settings(of=ProgramSettings)
def score(
    completions: _Completions,
    *,
    data: _Problems,
    k: _Ks = None,
    settings: ProgramSettings,
    out: _VerdictsFolder = None,
    outputs: _AnswersFile = None,
    per_problem: Annotated[
        bool, typer.Option("--per-problem", help="Print one line per problem.", rich_help_panel=OUTPUT)
    ] = False,
    json_to: JsonOption = None,
) -> int:
    """Score programs of a model or of people by pass@k.

    Every distinct program runs once, in a separate sandbox, and its answers are compared with the gold answers outside.

    Exit status 1: pass@k could not be computed for a requested k, because a problem has fewer generations; or a
    problem or a completion is invalid, and nothing was run.
    """
    from merilo.runs.program_scores import refuse_places, score_programs  # noqa: PLC0415 - slow

    asked = _ks(k)
    if str(outputs) == "-":
        raise UsageError("must be a file; only --json prints on standard output", field="--outputs")
    check_places([completions, data], json_to)
    refuse_idle(out, json_to, per_problem=per_problem)
    json_file = None if json_to in {None, "-"} else Path(str(json_to))
    refuse_places([completions, data], settings.packages, out, outputs, json_file)
    result = score_programs(
        completions,
        data=data,
        k=asked,
        out=out,
        outputs=outputs,
        watch=partial(watch_programs, out),
        settings=settings,
    )
    for sentence in result.warnings:
        say(sentence)
    deliver(json_to, result.to_dict, _parts(result, per_problem=per_problem))
    return 1 if len(result.metrics) < len(asked) else 0


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
def watch_programs(out: Path | None, generations: int, resumed: int) -> Iterator[Progress]:
    """Show progress on standard error, if it is a terminal.

    Args:
        out: the folder from which the job resumes, as the user is told; `None` if another command resumes it.
        generations: how many programs there are.
        resumed: how many of them have verdicts from before.
    """
    if resumed and out:
        say(f"resuming; programs that already have verdicts: {resumed}")
    done: Counter[bool] = Counter()
    try:
        with bars() as move:

            def tell(total: int, again: bool) -> None:
                done[again] += 1
                if move is not None:
                    move("run again" if again else "programs", total, done[again], "")

            if move is not None:
                move("programs", generations, 0, "")
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
    json_to: JsonOption = None,
) -> int:
    """Try to break out of the sandbox of generated programs, and print which guarantees held.

    Hostile programs attack a file, a port and a process made for this test, other programs, the verdict and the
    worker. They are harmless even if the sandbox fails.

    Exit status 1: a guarantee did not hold. Do not run untrusted programs on this machine.
    """
    from merilo.sandbox.backends import backend as choose_backend  # noqa: PLC0415 - slow
    from merilo.sandbox.doctor import examine  # noqa: PLC0415
    from merilo.sandbox.pool import Pool  # noqa: PLC0415
    from merilo.sandbox.program import Limits  # noqa: PLC0415

    check_places([], json_to)
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
        rows: list[Json] = [
            {**asdict(attempt), "held": attempt.held, "detail": attempt.detail or None}
            for attempt in findings
        ]
        emit_json({**jail, "held": len(findings) - broken, "broken": broken, "findings": rows}, json_to)
    outcome = f"all {len(findings)} guarantees held"
    if broken:
        outcome = f"{broken} of {len(findings)} guarantees did not hold; do not run untrusted programs on this machine"
    say(f"{jail['backend']} with Python {jail['python']}: {outcome}")
    return 1 if broken else 0


def _print(text: str) -> None:
    """Print a text; if the reader closed the pipe, the checks go on, so that the exit status covers all of them."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_output()


def _line(finding: Attempt) -> str:
    detail = f": {finding.detail}" if finding.detail else ""
    return f"  {'held   ' if finding.held else 'BROKEN '} {finding.claim}{detail}\n"


#: How many authors the terminal shows; the JSON holds all.
_MOST_AUTHORS: Final = 20

#: How many kinds of exceptions are named.
_MOST_EXCEPTIONS: Final = 4


def _parts(report: ProgramScores, *, per_problem: bool) -> Iterator[Part]:
    """Yield the scores, and a line per problem if these are wanted."""
    from merilo.reports.table import Table  # noqa: PLC0415 - slow

    yield Table("Programs", (), tuple(_rows(report)))
    if per_problem:
        names = [score.name for score in report.scores]
        rows: Iterator[tuple[Cell, ...]] = (
            (
                str(name),
                len(tally),
                tally.passed,
                *[score.per_item[name] for score in report.scores],
                ", ".join(
                    f"{_ending(outcome)} {_counted(n, outcome, tally.exceptions)}"
                    for outcome, n in tally.outcomes.items()
                    if outcome != "passed"
                ),
            )
            for name, tally in report.problems.items()
        )
        heads = ("problem", "generations", "passed", *names, "how the others ended")
        yield Table("", heads, tuple(rows))


def _rows(report: ProgramScores) -> Iterator[tuple[str, Cell]]:
    from merilo.reports.table import estimate_text  # noqa: PLC0415 - slow
    from merilo.sandbox.extraction import NOTHING  # noqa: PLC0415 - slow

    tally = report.tally
    for score in report.scores:
        estimate = Estimate(value=score.value, ci95=Span.of(score.interval))
        yield score.name, f"{estimate_text(estimate)} on {counted_noun(score.n, 'problem', 'problems')}"
    if report.single_person is not None:
        yield "single person", report.single_person
        yield "people", len(report.authors)
        for author in report.authors[:_MOST_AUTHORS]:
            yield f"- {author.annotator}", f"{author.share:.3f}, solved {author.solved} of {author.problems}"
        if (more := len(report.authors) - _MOST_AUTHORS) > 0:
            yield "- …", f"{more} more in the JSON"
    yield "generations", f"{len(tally)} of {counted_noun(len(report.problems), 'problem', 'problems')}"
    if report.repeated:
        yield "repeated", f"{report.repeated} duplicates within a problem; each counts as a sample"
    yield "programs", f"{report.programs} distinct, {_judged(report)}"
    for outcome, count in tally.outcomes.items():
        yield f"- {_ending(outcome)}", _counted(count, outcome, tally.exceptions)
    if empty := sum(n for rule, n in report.rules.items() if rule.endswith(f": {NOTHING}")):
        yield "without code", f"{empty}; only the stub was run"
    if report.again:
        passed = sum(outcome.value == "passed" for outcome in report.again)
        yield "time-outs run again", f"{len(report.again)}, of which {passed} passed"


def _judged(report: ProgramScores) -> str:
    if not report.resumed:
        return f"{report.rate:.0f} judged per second"
    if report.resumed >= report.programs:
        return "all judged before"
    return f"{report.resumed} judged before, the others at {report.rate:.0f} per second"


def _ending(outcome: str) -> str:
    return {"timeout": "time-out"}.get(outcome, outcome.replace("_", " "))


def _counted(count: int, outcome: str, exceptions: Mapping[str, int]) -> str:
    """Return a count; that of exceptions with the kinds of exceptions, names from programs."""
    if outcome != "exception":
        return str(count)
    kinds = [f"{name} {n}" for name, n in list(exceptions.items())[:_MOST_EXCEPTIONS]]
    more = ", …" if len(exceptions) > _MOST_EXCEPTIONS else ""
    return f"{count} ({', '.join(kinds)}{more})"


app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Run generated programs in a sandbox and score them."
)
app.command("score")(score)
app.command("doctor")(doctor)
