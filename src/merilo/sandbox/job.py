"""Judging a file of completions: every distinct program once, every verdict on disk, the failed ones again in quiet.

The job holds no program longer than it takes to run it. The file is read row by row, programs go to an executor and
come back as executions in any order, and what stays in memory is a few words a generation.
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
from merilo.sandbox.completions import Census, Generation, read_completions
from merilo.sandbox.ledger import Ledger, Standing
from merilo.sandbox.problems import Problem
from merilo.sandbox.program import Execution, Program, new_judge_seed
from merilo.sandbox.verdicts import Result, judge_execution

#: What no second try can change.
SETTLED: Final = frozenset({Result.PASSED, Result.NOT_JUDGED, Result.SYNTAX_ERROR, Result.TOO_LONG})

#: The rule of a generation that is too long to be read.
UNREAD: Final = "too long: not read"


class Executor(Protocol):
    """What runs programs: a pool of jailed workers, on this machine or on many."""

    def run(self, programs: Iterable[Program]) -> Iterator[Execution]:
        """Run programs as they come; give one execution for each, in any order."""
        ...


class OpenExecutor(Protocol):
    """What opens an executor for the length of a block: `merilo.sandbox.executors.Jails.open`."""

    def __call__(self, workers: int | None, *, quiet: bool) -> AbstractContextManager[Executor]:
        """Open an executor with so many workers, with fewer where quiet is wanted."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be judged.

    Attributes:
        problems: by the text of their id.
        completions: the file.
        census: what a first reading of the file found.
        retries: how often a program that failed is tried again; a time-out always is once.
        workers: how many run at a time, on each machine; as many as it has processors when not given.
        judge_seed: seeds the tests that checks draw at random. Drawn anew for each job when not given, so that no program
            can know those tests; the same seed gives the same tests again.
    """

    problems: Mapping[str, Problem]
    completions: Path
    census: Census
    retries: int = 0
    workers: int | None = None
    judge_seed: str = field(default_factory=new_judge_seed)

    def is_due(self, standing: Standing) -> bool:
        """Whether a program is to be tried again."""
        if standing.result in SETTLED:
            return False
        tries = max(1, self.retries) if standing.result is Result.TIMEOUT else self.retries
        return standing.attempts <= tries


@dataclass(frozen=True, slots=True)
class Entry:
    """A generation, after its program was cut out.

    Attributes:
        row: its line in the file of completions.
        problem: its problem's id, as text.
        key: what its program is known by in the ledger; `None` where it was too long to be run.
        rule: how the program was cut out.
        annotator: the person who wrote it; `None` for a model's.
    """

    row: int
    problem: str
    key: str | None
    rule: str
    annotator: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """How far a job has come.

    Attributes:
        generations: how many more generations are settled, or programs tried again.
        total: how many there are in this part of the job.
        quiet: whether this is the part that tries again.
    """

    generations: int
    total: int
    quiet: bool = False


@dataclass(slots=True)
class _Run:
    """A job under way."""

    job: Job
    ledger: Ledger
    tell: Callable[[Step], None]
    entries: list[Entry] = field(default_factory=list)
    pending: dict[str, str] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)

    def first_programs(self) -> Iterator[Program]:
        """Every distinct program that has no verdict yet, as the file is read."""
        total = self.job.census.generations
        for generation in read_completions(self.job.completions, self.job.problems):
            entry, source = self._entry(generation)
            self.entries.append(entry)
            if entry.key is None or entry.key in self.ledger.standings or entry.key in self.pending:
                self.tell(Step(1, total))
            else:
                self.pending[entry.key] = entry.problem
                yield generation.problem.program(entry.key, source, judge_seed=self.job.judge_seed)

    def due_programs(self, due: Mapping[int, str]) -> Iterator[Program]:
        """The programs to be tried again, read once more; `due` is the keys by row."""
        for generation in read_completions(self.job.completions, self.job.problems):
            if generation.row in due:
                entry, source = self._entry(generation)
                key = due[generation.row]
                self.pending[key] = entry.problem
                seed = self.ledger.standings[key].attempts
                yield generation.problem.program(key, source, seed, self.job.judge_seed)

    def take(self, executions: Iterable[Execution], total: int, *, quiet: bool) -> None:
        """Judge what comes back."""
        for execution in executions:
            problem = self.job.problems[self.pending.pop(execution.id)]
            self.ledger.append(execution.id, str(problem.id), judge_execution(problem, execution))
            self.tell(Step(1, total, quiet))

    def due(self) -> dict[int, str]:
        """The keys of the programs to be tried again, by the row where each stands first."""
        found = {}
        seen = set()
        for entry in self.entries:
            if entry.key is not None and entry.key not in seen:
                seen.add(entry.key)
                if self.job.is_due(self.ledger.standings[entry.key]):
                    found[entry.row] = entry.key
        return found

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
    """What a program of a problem is known by: equal programs of one problem are one.

    Example:
        >>> program_key("1", "pass") == program_key("1", "pass") != program_key("2", "pass")
        True
    """
    text = f"{problem}\0{source}".encode("utf-8", "surrogatepass")
    return sha256(text).hexdigest()[:32]


def run_job(
    job: Job,
    ledger: Ledger,
    open_executor: OpenExecutor,
    tell: Callable[[Step], None] = lambda _: None,
) -> list[Entry]:
    """Judge every generation of a file.

    Args:
        job: what is to be judged.
        ledger: where the verdicts go, and what it already holds is not judged again.
        open_executor: opens what runs the programs.
        tell: called as the job goes on.

    Returns:
        The generations, in the order of the file; their verdicts stand in the ledger.

    Raises:
        InputError: the file was changed after its census: the verdicts would not be those of what is named.
        MeriloError: what reading, running and writing raise.
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
        raise InputError("was changed while it was scored; score it when it is whole", file=job.completions)
    return run.entries
