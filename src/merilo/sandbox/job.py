"""Judging a file of completions: run every distinct program, record its verdict, and retry failures on fewer workers.

The file is read row by row, and a program is kept in memory only until it has run. An executor returns executions in
any order. Only a small record of each generation stays in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final, Protocol

from merilo.errors import InputError
from merilo.files import sha256 as hash_of
from merilo.sandbox.ledger import Ending, Ledger, StoredVerdict, judge_execution
from merilo.sandbox.problems import Census, Generation, Problem, read_completions
from merilo.sandbox.program import Execution, Program, new_judge_seed

#: Results that a retry cannot change.
SETTLED: Final = frozenset({Ending.PASSED, Ending.NOT_JUDGED, Ending.SYNTAX_ERROR, Ending.TOO_LONG})

#: The rule recorded for a generation that is too long to be read.
UNREAD: Final = "too long: not read"


class Executor(Protocol):
    """Interface of what runs programs: a pool on this machine, or a cluster."""

    def run(self, programs: Iterable[Program]) -> Iterator[Execution]:
        """Run programs; yield one execution for each, in any order."""
        ...


class OpenExecutor(Protocol):
    """Interface of a function that opens an executor for a `with` block, as `merilo.sandbox.executors.Jails.open`."""

    def __call__(self, workers: int | None, *, quiet: bool) -> AbstractContextManager[Executor]:
        """Open an executor with this number of workers, or with fewer if `quiet` is set."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be judged.

    Attributes:
        problems: by the text of their id.
        completions: the file.
        census: the counts from the first pass over the file.
        retries: how often a failed program is run again; a time-out is always run again at least once.
        workers: how many programs run at a time on each machine; by default, one for each processor.
        judge_seed: the seed of the tests that checks draw at random; the same seed gives the same tests. By default, a
            new seed is drawn for each job, so that no program can know those tests.
    """

    problems: Mapping[str, Problem]
    completions: Path
    census: Census
    retries: int = 0
    workers: int | None = None
    judge_seed: str = field(default_factory=new_judge_seed)

    def is_due(self, stored: StoredVerdict) -> bool:
        """Return whether a program must be run again."""
        if stored.result in SETTLED:
            return False
        tries = max(1, self.retries) if stored.result is Ending.TIMEOUT else self.retries
        return stored.attempts <= tries


@dataclass(frozen=True, slots=True)
class Entry:
    """A generation whose program was extracted.

    Attributes:
        row: its line in the file of completions.
        problem: its problem's id, as text.
        key: its program's key in the ledger; `None` if the completion was too long to be run.
        rule: the rule by which the program was extracted.
        annotator: the person who wrote it; `None` if a model did.
    """

    row: int
    problem: str
    key: str | None
    rule: str
    annotator: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Progress of a job.

    Attributes:
        generations: generations finished, or programs retried, since the last step.
        total: the number of them in this part of the job.
        quiet: whether this is the part that retries programs.
    """

    generations: int
    total: int
    quiet: bool = False


@dataclass(slots=True)
class _Run:
    """The state of a running job."""

    job: Job
    ledger: Ledger
    tell: Callable[[Step], None]
    entries: list[Entry] = field(default_factory=list)
    pending: dict[str, str] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)

    def first_programs(self) -> Iterator[Program]:
        """Yield every distinct program that has no verdict yet, while reading the file."""
        total = self.job.census.generations
        for generation in read_completions(self.job.completions, self.job.problems):
            entry, source = self._entry(generation)
            self.entries.append(entry)
            if entry.key is None or entry.key in self.ledger.verdicts or entry.key in self.pending:
                self.tell(Step(1, total))
            else:
                self.pending[entry.key] = entry.problem
                yield generation.problem.program(entry.key, source, judge_seed=self.job.judge_seed)

    def due_programs(self, due: Mapping[int, str]) -> Iterator[Program]:
        """Read the file again and yield the programs to be retried; `due` maps rows to program keys."""
        for generation in read_completions(self.job.completions, self.job.problems):
            if generation.row in due:
                entry, source = self._entry(generation)
                key = due[generation.row]
                self.pending[key] = entry.problem
                seed = self.ledger.verdicts[key].attempts
                yield generation.problem.program(key, source, seed, self.job.judge_seed)

    def take(self, executions: Iterable[Execution], total: int, *, quiet: bool) -> None:
        """Judge executions and append their verdicts to the ledger."""
        for execution in executions:
            problem = self.job.problems[self.pending.pop(execution.id)]
            self.ledger.append(execution.id, str(problem.id), judge_execution(problem, execution))
            self.tell(Step(1, total, quiet))

    def due(self) -> dict[int, str]:
        """Return the keys of the programs to be retried, by the first row that holds each."""
        programs = {}
        seen = set()
        for entry in self.entries:
            if entry.key is not None and entry.key not in seen:
                seen.add(entry.key)
                if self.job.is_due(self.ledger.verdicts[entry.key]):
                    programs[entry.row] = entry.key
        return programs

    def _entry(self, generation: Generation) -> tuple[Entry, str]:
        extraction = generation.extraction()
        name = str(generation.problem.id)
        annotator = generation.annotator
        if annotator is not None:
            annotator = self.seen.setdefault(annotator, annotator)
        if extraction is None:
            return Entry(generation.row, name, None, UNREAD, annotator), ""
        key = program_key(name, extraction.source)
        key = self.seen.setdefault(key, key)
        return Entry(generation.row, name, key, extraction.rule, annotator), extraction.source


def program_key(problem: str, source: str) -> str:
    """Return the key of a program; equal programs for one problem have the same key.

    Example:
        >>> program_key("1", "pass") == program_key("1", "pass") != program_key("2", "pass")
        True
    """
    text = f"{problem}\0{source}".encode("utf-8", "surrogatepass")
    return sha256(text).hexdigest()[:32]


def run_job(
    job: Job, ledger: Ledger, open_executor: OpenExecutor, tell: Callable[[Step], None] = lambda _: None
) -> list[Entry]:
    """Judge every generation of a file.

    Args:
        job: what is to be judged.
        ledger: the file of verdicts; programs that already have a verdict in it are not judged again.
        open_executor: opens the executor that runs the programs.
        tell: called with each step of progress.

    Returns:
        The generations, in the order of the file; their verdicts are in the ledger.

    Raises:
        InputError: the file was changed after its census, so that the verdicts may not belong to it.
        MeriloError: reading the file, running programs or writing verdicts failed.
    """
    run = _Run(job, ledger, tell)
    with open_executor(job.workers, quiet=False) as pool:
        run.take(pool.run(run.first_programs()), job.census.generations, quiet=False)
    ledger.sync()
    while due := run.due():
        with open_executor(job.workers, quiet=True) as pool:
            run.take(pool.run(run.due_programs(due)), len(due), quiet=True)
        ledger.sync()
    if hash_of(job.completions) != job.census.sha256:
        raise InputError(
            "was changed while it was scored; score it again when it is complete", file=job.completions
        )
    return run.entries
