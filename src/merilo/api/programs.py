"""`merilo.score_programs`: pass@k of generated programs, each run in a sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from merilo.errors import DataError, UsageError, argument
from merilo.metrics.score import Score
from merilo.sandbox.completions import count_completions
from merilo.sandbox.executors import Jails
from merilo.sandbox.job import Job, run_job
from merilo.sandbox.ledger import SHORTENED, open_ledger
from merilo.sandbox.problems import read_problems
from merilo.sandbox.program import Limits
from merilo.sandbox.results import JobTally, tally_job, unanswered
from merilo.wording import listed


@dataclass(frozen=True, slots=True, repr=False)
class ProgramScores:
    """The scores of programs.

    Attributes:
        metrics: "pass@1" and others, each with `value`, `n`, `interval` and `per_item`.
        refused: mapping from k to the reason why pass@k was not computed.
        tally: outcomes of the programs of each problem, counted.
    """

    metrics: Mapping[str, Score]
    refused: Mapping[int, str]
    tally: JobTally

    def __repr__(self) -> str:
        return "\n".join(f"{name} {one.value:.4f} on {one.n} problems" for name, one in self.metrics.items())


def score_programs(
    completions: str | Path,
    *,
    data: str | Path,
    k: Sequence[int] = (1, 5, 10),
    partial: bool = False,
    workers: int | None = None,
    timeout: float = 3.0,
    memory: int = 512,
    retries: int = 0,
    python: str | None = None,
    packages: str | Path | None = None,
    backend: str = "auto",
) -> ProgramScores:
    """Score programs written by a model or by annotators with pass@k.

    Args:
        completions: JSON Lines with `task_id` (or `id`) and `completion`, several rows per problem.
        data: the problems.
        k: the values of k.
        partial: score only the problems that have completions if others have none.
        workers: how many programs run at the same time; by default, one per processor.
        timeout: time limit of one program in seconds, for all its tests together.
        memory: memory limit of one program in MiB.
        retries: how many times a failed program is run again.
        python: the Python interpreter that runs the programs; by default, the current one.
        packages: a folder of packages that programs may import.
        backend: the sandbox: "bubblewrap", "docker", or "auto" for the first that is installed.

    Raises:
        UsageError: a k is below 1.
        InputError: a file cannot be read.
        DataError: a problem has no completions and `partial` is not given, or a problem has no expected outputs.
        MissingPartError: no sandbox is installed.
    """
    if any(one < 1 for one in k):
        raise UsageError("takes whole numbers from 1 on", field=argument("k"))
    problems = read_problems(Path(data))
    census = count_completions(Path(completions), problems)
    if (gaps := unanswered(census.counts)) and not partial:
        raise DataError(f"{gaps}; {argument('partial', given=True)} scores the others", file=completions)
    if closed := [str(name) for name, problem in problems.items() if problem.is_closed]:
        raise DataError(
            f"there are no outputs to compare with for the problems {listed(closed, 5)}", file=data
        )
    jails = Jails(
        limits=Limits(wall_seconds=timeout, memory_bytes=memory << 20),
        backend=backend,
        python=python,
        packages=None if packages is None else Path(packages),
        unsafe_no_sandbox=False,
        ray=None,
    )
    with open_ledger(None, {}, {"answers": SHORTENED}) as ledger:
        job = Job(problems, Path(completions), census, retries, workers)
        entries = run_job(job, ledger, jails.open, lambda _: None)
        tally = tally_job(problems, entries, ledger.standings)
    refused = {one: sentence for one in k if (sentence := tally.refusal(one))}
    scores = [tally.score(one) for one in k if one not in refused]
    return ProgramScores({one.name: one for one in scores}, refused, tally)
