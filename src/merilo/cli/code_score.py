"""`merilo code score`: compute pass@k for programs that a model or people wrote."""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from merilo.atomic_write import refuse_existing, refuse_unwritable
from merilo.baselines.provenance import provenance
from merilo.cli.output import emit_json, named, refuse_json, say
from merilo.errors import DataError, OutputError, UsageError
from merilo.files import sha256
from merilo.sandbox.completions import LONGEST_COMPLETION, Census, count_completions
from merilo.sandbox.executors import Jails
from merilo.sandbox.job import Entry, Job, Step, run_job
from merilo.sandbox.ledger import SHORTENED, Ledger, open_ledger
from merilo.sandbox.output_files import write_generations, write_outputs
from merilo.sandbox.problems import Problem, read_problems
from merilo.sandbox.program import Check, Limits, new_judge_seed
from merilo.sandbox.results import JobTally, tally_job, unanswered
from merilo.strict_json import Json
from merilo.wording import listed, shortened, shown

if TYPE_CHECKING:
    from merilo.cli.code_table import CodeReport

_INPUT: Final = "Input"
_JAIL: Final = "How programs run"
_OUTPUT: Final = "Output"

#: Names of the files in --out.
VERDICTS: Final = "verdicts.jsonl"
GENERATIONS: Final = "generations.jsonl"
SCORE: Final = "score.json"
WHOLE: Final = "whole"
KEPT: Final = (VERDICTS, GENERATIONS, SCORE)

#: A valid k. More digits are refused: no file has so many generations, and Python does not parse 5,000 digits.
_K: Final = re.compile(r"0{0,9}[1-9][0-9]{0,14}")

#: A seed that a command line, a JSON file and every Python version read alike.
_SEED: Final = re.compile(r"[!-~]{1,100}")

#: The default k, each used if there are that many generations.
USUAL_KS: Final = (1, 5, 10)


def score(
    completions: Annotated[Path, typer.Argument(help="JSON Lines with task_id (or id) and completion, and annotator where people wrote them; many rows a problem; may be packed by gzip.")],
    *,
    data: Annotated[Path, typer.Option(help="The problems: ruHumanEval's items (JSON, JSONL, Parquet), or HumanEval's own JSONL, plain or .gz.", rich_help_panel=_INPUT)],
    k: Annotated[list[str] | None, typer.Option("-k", "--k", metavar="1,5,10", help="For which k; 1, 5 and 10, as far as there are that many generations, when not given.", rich_help_panel=_INPUT)] = None,
    partial: Annotated[bool, typer.Option("--partial", help="Score the problems that have completions, though others have none.", rich_help_panel=_INPUT)] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="How many programs run at a time; with --ray, on each node. All processors when not given.", rich_help_panel=_JAIL)] = None,
    timeout: Annotated[float, typer.Option(min=0.01, max=86_400, help="Seconds that one program may take, all its tests together.", rich_help_panel=_JAIL)] = 3.0,
    memory: Annotated[int, typer.Option(min=16, max=1 << 24, help="MiB that one program may use.", rich_help_panel=_JAIL)] = 512,
    retries: Annotated[int, typer.Option(min=0, help="How often a program that failed is tried again. A time-out always is once, on a quiet machine.", rich_help_panel=_JAIL)] = 0,
    judge_seed: Annotated[str | None, typer.Option(metavar="TEXT", help="Repeat the tests that checks draw at random: the seed of an earlier result. A fresh secret when not given.", rich_help_panel=_JAIL)] = None,
    python: Annotated[str | None, typer.Option(metavar="3.12|PATH", help="The Python that runs the programs, 3.9 to 3.14; Merilo's own when not given.", rich_help_panel=_JAIL)] = None,
    packages: Annotated[Path | None, typer.Option(metavar="DIR", help="A folder of packages that programs may import.", rich_help_panel=_JAIL)] = None,
    backend: Annotated[str, typer.Option(help="The jail: bubblewrap, docker, or auto for the first that is here.", rich_help_panel=_JAIL)] = "auto",
    ray: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Spread the work over a Ray cluster: its address, auto, or local.", rich_help_panel=_JAIL)] = None,
    unsafe_no_sandbox: Annotated[bool, typer.Option("--unsafe-no-sandbox", help="Run without a jail. Strangers' programs can then do anything that you can.", rich_help_panel=_JAIL)] = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="A folder for verdicts, generations and the score. A killed run goes on from it.", rich_help_panel=_OUTPUT)] = None,
    outputs: Annotated[Path | None, typer.Option(metavar="FILE", help="What the programs answered, in the form of a submission.", rich_help_panel=_OUTPUT)] = None,
    per_problem: Annotated[bool, typer.Option("--per-problem", help="Print a line a problem.", rich_help_panel=_OUTPUT)] = False,
    json_to: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="The result as one JSON object; - is standard output.", rich_help_panel=_OUTPUT)] = None,
) -> int:  # fmt: skip
    """Score programs of a model or of people by pass@k.

    Every distinct program runs once, in a jail of its own, and its answers are compared outside of it.

    Exit status 1: a k that was asked for was refused, because a problem has fewer generations; or a problem or a
    completion is invalid, and nothing was run.
    """
    asked = _ks(k)
    jails = Jails(
        limits=Limits(wall_seconds=timeout, memory_bytes=memory << 20),
        backend=backend,
        python=python,
        packages=packages,
        unsafe_no_sandbox=unsafe_no_sandbox,
        ray=ray,
    )
    _refuse_places([completions, data], packages, out, outputs, json_to)
    problems = read_problems(data)
    census = count_completions(completions, problems)
    _refuse_gaps(problems, census, completions, data, partial=partial, outputs=outputs)
    jail = jails.described()
    header: dict[str, Json] = {
        "completions": census.sha256,
        "data": sha256(data),
        **jail,
        "retries": retries,
    }
    chosen: dict[str, Json] = {}
    (header if outputs else chosen)["answers"] = WHOLE if outputs else SHORTENED
    if any(isinstance(problem.tests, Check) for problem in problems.values()):
        if judge_seed is not None and not _SEED.fullmatch(judge_seed):
            raise UsageError("must be 1 to 100 letters, digits or signs without spaces", field="--judge-seed")
        (chosen if judge_seed is None else header)["judge_seed"] = judge_seed or new_judge_seed()
    elif judge_seed is not None:
        raise UsageError("no problem has a check(candidate) that could draw tests", field="--judge-seed")
    begun = time.monotonic()
    with open_ledger(out / VERDICTS if out else None, header, chosen) as ledger:
        job = Job(problems, completions, census, retries, workers)
        if seed := ledger.header.get("judge_seed"):
            job = replace(job, judge_seed=str(seed))
        if ledger.resumed:
            say(f"going on; programs that have their verdicts already: {ledger.resumed}")
        with _hint(out), _progress(census) as tell:
            entries = run_job(job, ledger, jails.open, tell)
        seconds = time.monotonic() - begun
        tally = tally_job(problems, entries, ledger.standings)
        options: dict[str, Json] = {
            "data": named(data), "k": ",".join(map(str, asked)) or None, "partial": partial, "workers": workers, "timeout": timeout, "memory": memory,
            "retries": retries, "judge_seed": seed, "python": named(python), "packages": named(packages), "backend": backend, "ray": ray,
            "unsafe_no_sandbox": unsafe_no_sandbox, "out": named(out), "outputs": named(outputs),
        }  # fmt: skip
        report = _report(tally, census, asked, seconds, ledger, entries, jailed=not unsafe_no_sandbox)
        content = report.content() | {
            "provenance": provenance(
                _command(completions, options),
                [completions, data],
                options | {"jail": jail},
            ).to_json()
        }
        _write(out, outputs, content, problems, entries, ledger)
    for sentence in report.warnings:
        say(sentence)
    if json_to:
        emit_json(content, json_to)
    if json_to != "-":
        from merilo.cli.code_table import show  # noqa: PLC0415 - the JSON needs no tables

        show(report, per_problem=per_problem)
    return 1 if asked and report.refused else 0


def _ks(texts: list[str] | None) -> tuple[int, ...]:
    """Parse the values of --k; an empty tuple if the option is not given."""
    words = [word.strip() for text in texts or () for word in text.split(",")]
    for word in words:
        if not _K.fullmatch(word):
            raise UsageError(
                f"must be whole numbers from 1 on with commas between, not '{shortened(word)}'", field="-k"
            )
    return tuple(dict.fromkeys(map(int, words)))


def _refuse_places(
    read: list[Path], packages: Path | None, out: Path | None, outputs: Path | None, json_to: str | None
) -> None:
    """Refuse outputs that overwrite a file or cannot be written, and a packages folder that holds gold answers."""
    for one in read:
        if str(one) == "-":
            raise UsageError("standard input cannot be read, for it is read twice; save it as a file")
    if str(outputs) == "-":
        raise UsageError("must be a file; only --json prints on standard output", field="--outputs")
    kept = [out / name for name in KEPT] if out else []
    refuse_json(json_to, read)
    for path in [*([outputs] if outputs else []), *kept]:
        refuse_existing(path, force=True, needed=read)
    if out and not (out / VERDICTS).exists():
        for path in kept:
            if path.exists():
                raise OutputError(
                    f"exists already, and no {VERDICTS} beside it tells that this command wrote it; choose another folder",
                    file=path,
                )
    json_file = None if json_to in {None, "-"} else Path(str(json_to))
    # Both options may name the same score file.
    _refuse_same(json_file, [path for path in kept if path.name != SCORE])
    _refuse_same(outputs, [*kept, *([json_file] if json_file else [])])
    written = [*kept, *([outputs] if outputs else []), *([json_file] if json_file else [])]
    for path in written:
        refuse_unwritable(path)
    # The outputs of correct programs reveal as much as the gold answers.
    for one in [*read, *written] if packages and packages.is_dir() else []:
        if Path(os.path.realpath(one)).is_relative_to(os.path.realpath(str(packages))):
            raise UsageError(
                f"'{packages}' holds {one}, which programs must not see; choose another folder",
                field="--packages",
            )


def _refuse_same(path: Path | None, others: list[Path]) -> None:
    if path is None or (path.exists() and not path.is_file()):
        return
    for other in others:
        if os.path.realpath(path) == os.path.realpath(other):
            raise OutputError(
                "would be written twice, with different results; choose another place", file=path
            )


def _refuse_gaps(
    problems: dict[str, Problem],
    census: Census,
    completions: Path,
    data: Path,
    *,
    partial: bool,
    outputs: Path | None,
) -> None:
    """Refuse, before any program runs, input that could not be scored."""
    gaps = unanswered(census.counts)
    if gaps and not partial:
        raise DataError(f"{gaps}; --partial scores the others", file=completions)
    closed = [name for name, problem in problems.items() if problem.is_closed]
    if closed and not outputs:
        raise DataError(
            f"there are no outputs to compare with for {len(closed)} of {len(problems)} problems ({listed(closed, 5)}); "
            "--outputs FILE runs the programs and writes what they answer",
            file=data,
        )
    checked = [name for name, problem in problems.items() if isinstance(problem.tests, Check)]
    if checked and outputs:
        raise UsageError(
            "the problems are tested by check(candidate), which has no outputs", field="--outputs"
        )


def _report(
    tally: JobTally,
    census: Census,
    asked: tuple[int, ...],
    seconds: float,
    ledger: Ledger,
    entries: list[Entry],
    *,
    jailed: bool,
) -> CodeReport:
    from merilo.cli.code_table import CodeReport  # noqa: PLC0415 - see TYPE_CHECKING

    people = None
    if entries[0].annotator is not None:
        from merilo.cli.code_people import authors  # noqa: PLC0415 - imports NumPy, not needed for a model's programs

        people = authors(entries, ledger.standings)
    fewest = tally.fewest().generations
    warnings = [] if jailed else ["the programs ran without a jail, and could do anything that you can"]
    if census.too_long:
        rows = listed([str(row) for row in census.too_long], 5)
        warnings.append(
            f"completions longer than {LONGEST_COMPLETION} characters count as failed: {len(census.too_long)} (row {rows})"
        )
    if gaps := unanswered(census.counts):
        warnings.append(f"{gaps}; they are left out")
    warnings += [
        f"the check of problem {one.problem.id} raised {one.suspect} at every answer; it may be broken itself"
        for one in tally.problems
        if one.suspect
    ]
    closed = any(one.problem.is_closed for one in tally.problems)
    if closed:
        warnings.append("some problems have no outputs to compare with, so that there is no pass@k")
    ks = () if closed else asked or tuple(k for k in USUAL_KS if k <= fewest)
    refused = {k: sentence for k in ks if (sentence := tally.refusal(k))}
    scores = [tally.score(k) for k in ks if k not in refused]
    return CodeReport(tally, scores, refused, [*refused.values(), *warnings], seconds, ledger.resumed, people)


def _write(
    out: Path | None,
    outputs: Path | None,
    content: dict[str, Json],
    problems: dict[str, Problem],
    entries: list[Entry],
    ledger: Ledger,
) -> None:
    if outputs:
        write_outputs(outputs, problems, entries, ledger)
    if out:
        write_generations(out / GENERATIONS, entries, ledger)
        emit_json(content, str(out / SCORE))


@contextmanager
def _hint(out: Path | None) -> Iterator[None]:
    """When the user stops a job, print how to resume it."""
    try:
        yield
    except KeyboardInterrupt:
        if out:
            say(f"the verdicts so far are in {out}; the same command goes on from there")
        raise


@contextmanager
def _progress(census: Census) -> Iterator[Callable[[Step], None]]:
    """Show a progress bar with rate and time left on standard error, if it is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from merilo.cli.code_table import bars  # noqa: PLC0415 - needed only on a terminal

    with bars(census.generations) as tell:
        yield tell


def _command(completions: Path, options: dict[str, Json]) -> str:
    words = ["merilo", "code", "score", shown(completions)]
    for name, value in options.items():
        flag = "-k" if name == "k" else f"--{name.replace('_', '-')}"
        if value is True:
            words.append(flag)
        elif value not in (None, False):
            words += [flag, str(value)]
    return shlex.join(words)
