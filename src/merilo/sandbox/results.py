"""Results of a judged job: pass@k, and how every problem's generations ended."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from merilo.atomic_write import replaced
from merilo.errors import DataError
from merilo.metrics.metric import Score
from merilo.metrics.pass_at_k import pass_at_k
from merilo.metrics.scoring import mean_score
from merilo.sandbox.job import Entry
from merilo.sandbox.ledger import Ending, Ledger, StoredVerdict
from merilo.sandbox.problems import Problem
from merilo.sandbox.program import Check
from merilo.wording import listed


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
    results: Counter[Ending] = field(default_factory=Counter)
    exceptions: Counter[str] = field(default_factory=Counter)
    complaints: Counter[str] = field(default_factory=Counter)

    @property
    def generations(self) -> int:
        """The number of generations for this problem."""
        return self.results.total()

    @property
    def passed(self) -> int:
        """The number of generations that passed every test."""
        return self.results[Ending.PASSED]

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
class Retries:
    """Effect of the retries, counted in distinct programs.

    Attributes:
        timeouts: retried programs whose first run timed out.
        timeouts_passed: those time-outs that passed in a retry, with fewer workers running.
        failures: retried programs whose first run failed in another way.
        failures_passed: those failures that passed in a retry: the programs or their tests are flaky.
    """

    timeouts: int
    timeouts_passed: int
    failures: int
    failures_passed: int


@dataclass(frozen=True, slots=True)
class JobTally:
    """The counts of a judged job.

    Attributes:
        problems: one tally for each problem that has generations, in the problems' order.
        rules: the number of generations by rule of extraction.
        programs: the number of distinct programs.
        repeated: the number of generations whose program equals that of an earlier generation of their problem; each
            still counts as a sample.
        retries: the effect of the retries.
    """

    problems: tuple[ProblemTally, ...]
    rules: Counter[str]
    programs: int
    repeated: int
    retries: Retries

    @property
    def generations(self) -> int:
        """The number of generations of all problems."""
        return sum(tally.generations for tally in self.problems)

    @property
    def results(self) -> Counter[Ending]:
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
    problems: Mapping[str, Problem], entries: Sequence[Entry], verdicts: Mapping[str, StoredVerdict]
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
            tally.results[Ending.TOO_LONG] += 1
            continue
        stored = verdicts[entry.key]
        tally.results[stored.result] += 1
        if stored.result is Ending.EXCEPTION:
            tally.exceptions[stored.error or "unknown"] += 1
        elif stored.result is Ending.WRONG_ANSWER and isinstance(tally.problem.tests, Check):
            tally.complaints[stored.error] += 1
    keys = {entry.key for entry in entries if entry.key is not None}
    answered = tuple(tally for tally in tallies.values() if tally.generations)
    repeated = sum(entry.key is not None for entry in entries) - len(keys)
    return JobTally(answered, rules, len(keys), repeated, _retries([verdicts[key] for key in keys]))


def _retries(verdicts: Iterable[StoredVerdict]) -> Retries:
    again = [stored for stored in verdicts if stored.attempts > 1]
    timeouts = [stored for stored in again if stored.first is Ending.TIMEOUT]
    failures = [stored for stored in again if stored.first is not Ending.TIMEOUT]
    passed = Ending.PASSED
    return Retries(
        len(timeouts),
        sum(stored.result is passed for stored in timeouts),
        len(failures),
        sum(stored.result is passed for stored in failures),
    )


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
            stored = None if entry.key is None else ledger.verdicts[entry.key]
            result = Ending.TOO_LONG if stored is None else stored.result
            line = {
                "row": entry.row,
                "id": entry.problem,
                "passed": result is Ending.PASSED,
                "result": result.value,
                "error": "" if stored is None else stored.error,
                "attempts": 0 if stored is None else stored.attempts,
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
        DataError: a problem is tested by a check, which has no outputs.
        UsageError: the ledger shortens long answers.
        OutputError: the file cannot be written.
    """
    rows: dict[str, list[Entry]] = {name: [] for name in problems}
    for entry in entries:
        rows[entry.problem].append(entry)
    with replaced(path) as stream:
        separator = '{"data": {"test": ['
        for name, problem in problems.items():
            if isinstance(problem.tests, Check):
                message = f"problem {name} is tested by check(candidate), which has no outputs"
                raise DataError(message, file=path)
            stream.write(f'{separator}\n{{"outputs": ['.encode())
            for number, entry in enumerate(rows[name]):
                none: list[str | None] = [None] * len(problem.tests)
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
