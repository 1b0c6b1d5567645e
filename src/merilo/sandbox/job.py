"""Judging a file of completions: run every distinct program and give each generation its verdict.

The file is read row by row, and a program is kept in memory only until it has run. An executor returns executions in
any order. Only a small record of each generation stays in memory. Programs that timed out are run once more, on fewer
workers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from sys import intern
from typing import Final, TypeAlias

from merilo.atomic_write import replaced
from merilo.errors import InputError
from merilo.files import sha256 as hash_of
from merilo.items import ItemId
from merilo.sandbox.executors import Jails
from merilo.sandbox.ledger import Ledger
from merilo.sandbox.problems import Census, Problem, read_completions
from merilo.sandbox.program import Check, Execution, Outcome, Program, new_judge_seed

#: The end of a completion that is too long to be run.
TOO_LONG: Final = Execution("", Outcome.TOO_LONG, attempts=0)

#: The rule recorded for a generation that is too long to be read.
UNREAD: Final = "too long: not read"

#: Called for each generation that is finished, and for each program that was run again, with how many there are of
#: them, and whether it was run again.
Progress: TypeAlias = Callable[[int, bool], None]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the program of one generation ended.

    Attributes:
        row: the generation's line in the file of completions.
        problem: its problem's id.
        rule: the rule by which the program was extracted.
        annotator: the person who wrote it; `None` if a model did.
        execution: the program's judged execution, without its answers; its id is the program's key, which is empty if
            the completion was too long to be run, and its `attempts` say how often the program was judged.
    """

    row: int
    problem: ItemId
    rule: str
    annotator: str | None
    execution: Execution = TOO_LONG

    @property
    def passed(self) -> bool:
        """Whether the program passed every test."""
        return self.execution.outcome is Outcome.PASSED


def judged(problem: Problem, execution: Execution) -> Execution:
    """Return an execution with its outcome decided by comparing the answers with the gold answers.

    A program passes if `str(result)` equals the gold answer for every test, or if the check accepted it. Otherwise the
    first failed test determines the outcome.

    Example:
        >>> from merilo.sandbox.extraction import Stub
        >>> problem = Problem(1, Stub.read("def f(x):", "f"), ({"x": 1}, {"x": 2}), ("1", "2"))
        >>> judged(problem, Execution("a", Outcome.COMPLETED, ("1", "3"))).outcome
        <Outcome.WRONG_ANSWER: 'wrong_answer'>
    """
    outcome, gold = execution.outcome, problem.gold
    if isinstance(problem.tests, Check) or gold is None:
        completed = Outcome.NOT_JUDGED if problem.is_closed else Outcome.PASSED
        verdicts = {Outcome.COMPLETED: completed, Outcome.REFUSED: Outcome.WRONG_ANSWER}
        return replace(execution, outcome=verdicts.get(outcome, outcome))
    if outcome is Outcome.COMPLETED and execution.texts == gold:
        return replace(execution, outcome=Outcome.PASSED)
    answered = takewhile(lambda pair: pair[0] is not None, zip(execution.texts, gold, strict=True))
    if any(text != true for text, true in answered):
        return replace(execution, outcome=Outcome.WRONG_ANSWER, error="", message="")
    return execution


@dataclass(slots=True)
class _Run:
    """The state of a running job; the keys of programs stand in for their executions until all have ended."""

    problems: Mapping[str, Problem]
    census: Census
    ledger: Ledger
    tell: Progress
    judge_seed: str
    generations: list[tuple[Verdict, str]] = field(default_factory=list)
    pending: dict[str, Problem] = field(default_factory=dict)

    def programs(self, late: Collection[str] = ()) -> Iterator[Program]:
        """Yield every distinct program without a verdict, or those with the keys in `late`, while reading the file."""
        waiting = set(late)
        for generation in read_completions(self.census.file, self.problems):
            extraction = generation.extraction()
            problem, source = generation.problem, extraction.source if extraction else ""
            key = intern(program_key(str(problem.id), source)) if extraction else ""
            if not late:
                rule = extraction.rule if extraction else UNREAD
                self.generations.append(
                    (Verdict(generation.row, problem.id, rule, generation.annotator), key)
                )
            known = not key or key in self.ledger.executions or key in self.pending
            if key in waiting if late else not known:
                waiting.discard(key)
                self.pending[key] = problem
                attempts = self.ledger.executions[key].attempts if late else 0
                yield generation.problem.program(key, source, attempts, self.judge_seed)
            elif not late:
                self.tell(self.census.generations, False)

    def take(self, executions: Iterable[Execution], total: int, *, again: bool) -> None:
        """Judge executions and append them to the ledger."""
        for execution in executions:
            problem = self.pending.pop(execution.id)
            self.ledger.append(str(problem.id), judged(problem, execution))
            self.tell(total, again)
        self.ledger.sync()

    def late(self) -> set[str]:
        """Return the keys of the programs that timed out and are to be run once more."""
        ends = ((key, self.ledger.executions[key]) for _, key in self.generations if key)
        return {key for key, end in ends if end.outcome is Outcome.TIMEOUT and end.attempts == 1}


def program_key(problem: str, source: str) -> str:
    """Return the key of a program; equal programs for one problem have the same key.

    Example:
        >>> program_key("1", "pass") == program_key("1", "pass") != program_key("2", "pass")
        True
    """
    text = f"{problem}\0{source}".encode("utf-8", "surrogatepass")
    return sha256(text).hexdigest()[:32]


def run_job(
    problems: Mapping[str, Problem],
    census: Census,
    ledger: Ledger,
    jails: Jails,
    *,
    workers: int | None = None,
    tell: Progress = lambda _, __: None,
) -> list[Verdict]:
    """Judge every generation of a file.

    Args:
        problems: the problems, by the text of their id.
        census: the counts from the first pass over the file of completions.
        ledger: the file of executions; programs that are in it are not run again. Its header's "judge_seed" is the seed
            of the tests that checks draw at random; by default, a new seed is drawn, so that no program can know it.
        jails: where the programs run.
        workers: how many programs run at a time on each machine; by default, one for each processor.
        tell: called at each step of progress.

    Returns:
        The verdicts, in the order of the file.

    Raises:
        InputError: the file was changed after its census, so that the verdicts may not belong to it.
        MeriloError: reading the file, running programs or writing verdicts failed.
    """
    run = _Run(problems, census, ledger, tell, str(ledger.header.get("judge_seed") or new_judge_seed()))
    with jails.open(workers) as pool:
        run.take(pool.run(run.programs()), census.generations, again=False)
    if late := run.late():
        with jails.open(workers, quiet=True) as pool:
            run.take(pool.run(run.programs(late)), len(late), again=True)
    if hash_of(census.file) != census.sha256:
        raise InputError(
            "was changed while it was scored; score it again when it is complete", file=census.file
        )
    return [
        replace(verdict, execution=ledger.executions[key]) if key else verdict
        for verdict, key in run.generations
    ]


def write_generations(path: Path, verdicts: Sequence[Verdict]) -> None:
    """Write one line of JSON a generation: its row, problem, result, and the rule by which it was extracted.

    Raises:
        OutputError: the file cannot be written.
    """
    with replaced(path) as stream:
        for verdict in verdicts:
            end = verdict.execution
            line = {
                "row": verdict.row,
                "id": str(verdict.problem),
                "passed": verdict.passed,
                "result": end.outcome.value,
                "error": end.error,
                "attempts": end.attempts,
                "rule": verdict.rule,
                "program": end.id or None,
            }
            stream.write(json.dumps(line).encode() + b"\n")


def write_outputs(
    path: Path, problems: Mapping[str, Problem], verdicts: Sequence[Verdict], ledger: Ledger
) -> None:
    """Write the programs' answers in the form of a submission.

    Each item's `outputs` is a list of its generations, and each generation is the list of `str(result)` for every test.
    An answer is `null` if the program failed or answered with a lone surrogate, which strict JSON readers reject. Only
    one generation's answers are held in memory at a time.

    Raises:
        OutputError: the file cannot be written.
    """
    keys: dict[ItemId, list[str]] = {problem.id: [] for problem in problems.values()}
    for verdict in verdicts:
        keys[verdict.problem].append(verdict.execution.id)
    with replaced(path) as stream:
        separator = '{"data": {"test": ['
        for problem in problems.values():
            stream.write(f'{separator}\n{{"outputs": ['.encode())
            none: list[str | None] = [] if isinstance(problem.tests, Check) else [None] * len(problem.tests)
            for number, key in enumerate(keys[problem.id]):
                texts = (ledger.texts(key) if key else None) or none
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
