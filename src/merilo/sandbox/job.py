"""Judging a file of completions: run every distinct program, record its verdict, and count the results.

The file is read row by row, and a program is kept in memory only until it has run. An executor returns executions in
any order. Only a small record of each generation stays in memory. Programs that timed out are run once more, on fewer
workers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from sys import intern
from typing import Final

from merilo.atomic_write import replaced
from merilo.errors import InputError
from merilo.files import sha256 as hash_of
from merilo.metrics.metric import Score
from merilo.metrics.pass_at_k import pass_at_k
from merilo.metrics.scoring import mean_score
from merilo.sandbox.executors import Jails
from merilo.sandbox.ledger import Ledger, Verdict, judged
from merilo.sandbox.problems import Census, Generation, Problem, read_completions
from merilo.sandbox.program import Check, Execution, Outcome, Program, new_judge_seed
from merilo.wording import listed

#: The verdict on a completion that is too long to be run.
TOO_LONG: Final = Verdict(Outcome.TOO_LONG, "", 0, 0)

#: The rule recorded for a generation that is too long to be read.
UNREAD: Final = "too long: not read"


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be judged.

    Attributes:
        problems: by the text of their id.
        completions: the file.
        census: the counts from the first pass over the file.
        workers: how many programs run at a time on each machine; by default, one for each processor.
        judge_seed: the seed of the tests that checks draw at random; the same seed gives the same tests. By default, a
            new seed is drawn for each job, so that no program can know those tests.
    """

    problems: Mapping[str, Problem]
    completions: Path
    census: Census
    workers: int | None = None
    judge_seed: str = field(default_factory=new_judge_seed)


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
        generations: generations finished, or programs run again, since the last step.
        total: the number of them in this part of the job.
        quiet: whether this is the part that repeats programs that timed out.
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
        """Read the file again and yield the programs to be run again; `due` maps rows to program keys."""
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
            self.ledger.append(str(problem.id), judged(problem, execution))
            self.tell(Step(1, total, quiet))

    def due(self) -> dict[int, str]:
        """Return the keys of the programs that timed out and are to be run once more, by the first row of each."""
        rows: dict[str, int] = {}
        for entry in self.entries:
            if entry.key is not None:
                rows.setdefault(entry.key, entry.row)
        verdicts = self.ledger.verdicts
        return {
            row: key
            for key, row in rows.items()
            if verdicts[key].outcome is Outcome.TIMEOUT and verdicts[key].attempts == 1
        }

    def _entry(self, generation: Generation) -> tuple[Entry, str]:
        extraction = generation.extraction()
        name = str(generation.problem.id)
        annotator = generation.annotator
        if annotator is not None:
            annotator = intern(annotator)
        if extraction is None:
            return Entry(generation.row, name, None, UNREAD, annotator), ""
        key = intern(program_key(name, extraction.source))
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
    job: Job, ledger: Ledger, jails: Jails, tell: Callable[[Step], None] = lambda _: None
) -> list[Entry]:
    """Judge every generation of a file.

    Args:
        job: what is to be judged.
        ledger: the file of verdicts; programs that already have a verdict in it are not judged again.
        jails: where the programs run.
        tell: called with each step of progress.

    Returns:
        The generations, in the order of the file; their verdicts are in the ledger.

    Raises:
        InputError: the file was changed after its census, so that the verdicts may not belong to it.
        MeriloError: reading the file, running programs or writing verdicts failed.
    """
    run = _Run(job, ledger, tell)
    with jails.open(job.workers, quiet=False) as pool:
        run.take(pool.run(run.first_programs()), job.census.generations, quiet=False)
    ledger.sync()
    if due := run.due():
        with jails.open(job.workers, quiet=True) as pool:
            run.take(pool.run(run.due_programs(due)), len(due), quiet=True)
        ledger.sync()
    if hash_of(job.completions) != job.census.sha256:
        raise InputError(
            "was changed while it was scored; score it again when it is complete", file=job.completions
        )
    return run.entries


@dataclass(slots=True)
class ProblemTally:
    """How one problem's generations ended.

    Attributes:
        problem: the problem.
        results: the number of generations by result.
        exceptions: the number of generations that raised, by type of exception.
        complaints: the number of generations that a check rejected, by type of the check's exception.
    """

    problem: Problem
    results: Counter[Outcome] = field(default_factory=Counter)
    exceptions: Counter[str] = field(default_factory=Counter)
    complaints: Counter[str] = field(default_factory=Counter)

    @property
    def generations(self) -> int:
        """The number of generations for this problem."""
        return self.results.total()

    @property
    def passed(self) -> int:
        """The number of generations that passed every test."""
        return self.results[Outcome.PASSED]

    @property
    def suspect(self) -> str | None:
        """The exception that its check raised for every generation.

        If it is always the same and not `AssertionError`.
        """
        if self.complaints.total() < self.generations or len(self.complaints) != 1:
            return None
        (complaint,) = self.complaints
        return None if complaint in {"", "AssertionError"} else complaint


@dataclass(frozen=True, slots=True)
class JobTally:
    """The counts of a judged job.

    Attributes:
        problems: one tally for each problem that has generations, in the problems' order.
        rules: the number of generations by rule of extraction.
        programs: the number of distinct programs.
        repeated: the number of generations whose program equals that of an earlier generation of their problem; each
            still counts as a sample.
        timeouts: the number of distinct programs that timed out and were run again.
        timeouts_passed: the number of these that passed then, with fewer workers running.
    """

    problems: tuple[ProblemTally, ...]
    rules: Counter[str]
    programs: int
    repeated: int
    timeouts: int
    timeouts_passed: int

    @property
    def generations(self) -> int:
        """The number of generations of all problems."""
        return sum(tally.generations for tally in self.problems)

    @property
    def results(self) -> Counter[Outcome]:
        """The number of generations by result."""
        return sum((tally.results for tally in self.problems), Counter())

    @property
    def exceptions(self) -> Counter[str]:
        """The number of generations that raised, by type of exception."""
        return sum((tally.exceptions for tally in self.problems), Counter())

    def fewest(self) -> ProblemTally:
        """Return the problem with the fewest generations; pass@k is defined up to that number."""
        return min(self.problems, key=lambda tally: tally.generations)

    def score(self, k: int) -> Score:
        """Compute pass@k over the problems, with its confidence interval.

        Raises:
            ValueError: a problem has fewer than k generations; `refusal` gives the message.
        """
        values = [pass_at_k(tally.generations, tally.passed, k) for tally in self.problems]
        return mean_score(f"pass@{k}", values, [tally.problem.id for tally in self.problems])

    def refusal(self, k: int) -> str | None:
        """Return a message if pass@k is not defined, otherwise `None`."""
        if k < 1:
            return f"pass@{k} is not defined; k must be at least 1"
        short = [tally for tally in self.problems if tally.generations < k]
        if not short:
            return None
        fewest = self.fewest()
        return (
            f"pass@{k} needs {k} generations of every problem, but {len(short)} of {len(self.problems)} problems have "
            f"fewer (problem {fewest.problem.id}: {fewest.generations})"
        )


def tally_job(
    problems: Mapping[str, Problem], entries: Sequence[Entry], verdicts: Mapping[str, Verdict]
) -> JobTally:
    """Count a job's verdicts.

    Args:
        problems: the problems by their id as text.
        entries: the generations.
        verdicts: the verdicts by program key.
    """
    tallies = {name: ProblemTally(problem) for name, problem in problems.items()}
    rules: Counter[str] = Counter()
    for entry in entries:
        tally = tallies[entry.problem]
        rules[entry.rule] += 1
        if entry.key is None:
            tally.results[Outcome.TOO_LONG] += 1
            continue
        verdict = verdicts[entry.key]
        tally.results[verdict.outcome] += 1
        if verdict.outcome is Outcome.EXCEPTION:
            tally.exceptions[verdict.error or "unknown"] += 1
        elif verdict.outcome is Outcome.WRONG_ANSWER and isinstance(tally.problem.tests, Check):
            tally.complaints[verdict.error] += 1
    keys = {entry.key for entry in entries if entry.key is not None}
    answered = tuple(tally for tally in tallies.values() if tally.generations)
    repeated = sum(entry.key is not None for entry in entries) - len(keys)
    again = [verdicts[key].outcome for key in keys if verdicts[key].attempts > 1]
    return JobTally(answered, rules, len(keys), repeated, len(again), again.count(Outcome.PASSED))


def unanswered(counts: Mapping[str, int]) -> str | None:
    """Return a message about problems without completions; `None` if every problem has one."""
    names = [name for name, count in counts.items() if not count]
    if not names:
        return None
    return f"there are no completions for {len(names)} of {len(counts)} problems ({listed(names, 5)})"


def write_generations(path: Path, entries: Sequence[Entry], ledger: Ledger) -> None:
    """Write one line of JSON a generation: its row, problem, result, and the rule by which it was extracted.

    Raises:
        OutputError: the file cannot be written.
    """
    with replaced(path) as stream:
        for entry in entries:
            verdict = TOO_LONG if entry.key is None else ledger.verdicts[entry.key]
            line = {
                "row": entry.row,
                "id": entry.problem,
                "passed": verdict.outcome is Outcome.PASSED,
                "result": verdict.outcome.value,
                "error": verdict.error,
                "attempts": verdict.attempts,
                "rule": entry.rule,
                "program": entry.key,
            }
            stream.write(json.dumps(line).encode() + b"\n")


def write_outputs(
    path: Path, problems: Mapping[str, Problem], entries: Sequence[Entry], ledger: Ledger
) -> None:
    """Write the programs' answers in the form of a submission.

    Each item's `outputs` is a list of its generations, and each generation is the list of `str(result)` for every test.
    An answer is `null` if the program failed or answered with a lone surrogate, which strict JSON readers reject. Only
    one generation's answers are held in memory at a time.

    Raises:
        UsageError: the ledger shortens long answers.
        OutputError: the file cannot be written.
    """
    rows: dict[str, list[Entry]] = {name: [] for name in problems}
    for entry in entries:
        rows[entry.problem].append(entry)
    with replaced(path) as stream:
        separator = '{"data": {"test": ['
        for name, problem in problems.items():
            stream.write(f'{separator}\n{{"outputs": ['.encode())
            for number, entry in enumerate(rows[name]):
                calls = 0 if isinstance(problem.tests, Check) else len(problem.tests)
                none: list[str | None] = [None] * calls
                texts = none if entry.key is None else ledger.texts(entry.key) or none
                answers = json.dumps([_strict(text) for text in texts])
                stream.write(f"{', ' if number else ''}{answers}".encode())
            stream.write(f'], "meta": {json.dumps({"id": problem.id})}}}'.encode())
            separator = ","
        stream.write(b"\n]}}\n")


def _strict(text: str | None) -> str | None:
    """Return the text, or `None` if it holds a lone surrogate, which would make the whole file unreadable."""
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        return None
    return text
