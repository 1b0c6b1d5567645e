"""`merilo code`: run generated programs in a sandbox, and try to break out of it."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from merilo.cli import abandon_output, tame
from merilo.cli.options import JsonOption, takes_settings
from merilo.cli.output import bars, check_places, deliver, emit_json, interval, number, say, show_table
from merilo.errors import UsageError
from merilo.settings import INPUT, OUTPUT, ProgramSettings
from merilo.strict_json import Json
from merilo.text import Text, joined
from merilo.wording import shortened

if TYPE_CHECKING:
    from merilo.metrics.metric import Score
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
    deliver(json_to, result.to_dict, partial(_show, result, per_problem=per_problem))
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
def watch_programs(out: Path | None, generations: int, resumed: int) -> Iterator[Progress]:
    """Show progress on standard error, if it is a terminal.

    Args:
        out: the folder from which the job resumes, as the user is told; `None` if another command resumes it.
        generations: how many programs there are.
        resumed: how many of them have verdicts from before.
    """
    if resumed and out:
        say(Text("resuming; programs that already have verdicts: {n}", n=resumed))
    done: Counter[bool] = Counter()
    try:
        with bars() as move:

            def tell(total: int, again: bool) -> None:
                done[again] += 1
                if move is not None:
                    move(Text("run again") if again else Text("programs"), total, done[again], "")

            if move is not None:
                move(Text("programs"), generations, 0, "")
            yield tell
    except KeyboardInterrupt:
        if out:
            say(Text("the verdicts so far are in {folder}; run the same command again to resume", folder=out))
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
            {
                "family": attempt.family,
                "claim": attempt.claim,
                "held": attempt.held,
                "detail": attempt.detail or None,
            }
            for attempt in findings
        ]
        emit_json({**jail, "held": len(findings) - broken, "broken": broken, "findings": rows}, json_to)
    name = Text("{sandbox} with Python {version}", sandbox=jail["backend"], version=jail["python"])
    if broken:
        say(
            Text(
                "{name}: {broken} of {n} guarantees did not hold; do not run untrusted programs on this machine",
                name=name,
                broken=broken,
                n=len(findings),
            )
        )
    else:
        say(Text("{name}: all {n} guarantees held", name=name, n=len(findings)))
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


#: How a program ended, in words.
_ENDINGS: Final = {
    "passed": Text("passed", context="program"),
    "wrong_answer": Text("wrong answer"),
    "exception": Text("exception"),
    "timeout": Text("time-out"),
    "memory": Text("memory"),
    "forbidden": Text("forbidden"),
    "output": Text("output"),
    "syntax_error": Text("syntax error"),
    "no_such_function": Text("no such function"),
    "exited": Text("exited"),
    "too_long": Text("too long"),
    "not_judged": Text("not judged"),
}

#: How many authors the terminal shows; the JSON holds all.
_MOST_AUTHORS: Final = 20

#: How many kinds of exceptions are named.
_MOST_EXCEPTIONS: Final = 4


def _show(report: ProgramScores, *, per_problem: bool) -> None:
    """Print the scores on standard output."""
    show_table(_rows(report), title=Text("Programs"))
    if per_problem:
        heads = [
            *(Text("problem"), Text("generations"), Text("passed", context="column")),
            *[score.name for score in report.scores],
            Text("how the others ended"),
        ]
        rows = [
            (
                tame(str(name)),
                len(tally),
                tally.passed,
                *[number(score.per_item[name], ".3f") for score in report.scores],
                ", ".join(
                    f"{_ENDINGS[outcome]} {_counted(n, outcome, tally.exceptions)}"
                    for outcome, n in tally.outcomes.items()
                    if outcome != "passed"
                ),
            )
            for name, tally in report.problems.items()
        ]
        show_table(rows, heads, left=(0, len(heads) - 1))


def _rows(report: ProgramScores) -> Iterator[tuple[object, object]]:
    from merilo.sandbox.extraction import NOTHING  # noqa: PLC0415 - slow

    for score in report.scores:
        yield score.name, _score(score)
    tally = report.tally
    yield from _author_rows(report)
    yield (
        Text("generations"),
        Text("{n}  of {problems:# problem|# problems}", n=len(tally), problems=len(report.problems)),
    )
    if report.repeated:
        yield (
            Text("repeated"),
            Text("{n}  duplicates within a problem; each counts as a sample", n=report.repeated),
        )
    yield Text("programs"), joined([Text("{n}  distinct", n=report.programs), _judged(report)], ", ")
    for outcome, count in tally.outcomes.items():
        yield f"  {_ENDINGS[outcome]}", _counted(count, outcome, tally.exceptions)
    if empty := sum(n for rule, n in report.rules.items() if rule.endswith(f": {NOTHING}")):
        yield Text("without code"), Text("{n}; only the stub was run", n=empty)
    if report.again:
        passed = sum(outcome.value == "passed" for outcome in report.again)
        yield (
            Text("time-outs run again"),
            Text("{n}, of which {passed} passed", n=len(report.again), passed=passed),
        )


def _score(score: Score) -> Text:
    return Text(
        "{value:.4f}{interval}  on {n:# problem|# problems}",
        value=score.value,
        interval=interval(score.interval),
        n=score.n,
    )


def _author_rows(report: ProgramScores) -> Iterator[tuple[object, object]]:
    """Yield the people who wrote the programs, if people did, as (name, text) rows."""
    single, authors = report.single_person, report.authors
    if single is None:
        return
    ends = f" [{single.ci95.low:.4f}, {single.ci95.high:.4f}]" if single.ci95 else ""
    yield Text("single person"), f"{number(single.value, '.4f')}{ends}"
    yield Text("people", context="row"), str(len(authors))
    for author in authors[:_MOST_AUTHORS]:
        solved = Text(
            "{share:.3f}  solved {n} of {of}", share=author.share, n=author.solved, of=author.problems
        )
        yield f"  {author.annotator}", solved
    if (more := len(authors) - _MOST_AUTHORS) > 0:
        yield "  …", Text("{n} more in the JSON", n=more)


def _judged(report: ProgramScores) -> Text:
    if not report.resumed:
        return Text("{rate:.0f} judged per second", rate=report.rate)
    if report.resumed >= report.programs:
        return Text("all judged before")
    return Text("{n} judged before, the others at {rate:.0f} per second", n=report.resumed, rate=report.rate)


def _counted(count: int, outcome: str, exceptions: Mapping[str, int]) -> str:
    """Return a count; that of exceptions with the kinds of exceptions, names from programs."""
    if outcome != "exception":
        return str(count)
    kinds = [f"{tame(name)} {n}" for name, n in list(exceptions.items())[:_MOST_EXCEPTIONS]]
    more = ", …" if len(exceptions) > _MOST_EXCEPTIONS else ""
    return f"{count}  ({', '.join(kinds)}{more})"


app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Run generated programs in a sandbox and score them."
)
app.command("score")(score)
app.command("doctor")(doctor)
