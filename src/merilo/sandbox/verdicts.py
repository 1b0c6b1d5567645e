"""Verdicts on programs: comparison of their answers with the gold answers, outside the jail."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from merilo.sandbox.problems import Problem
from merilo.sandbox.program import Check, Execution, Outcome


class Ending(Enum):
    """How a generation ended."""

    PASSED = "passed"
    WRONG_ANSWER = "wrong_answer"
    EXCEPTION = "exception"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    FORBIDDEN = "forbidden"
    OUTPUT = "output"
    SYNTAX_ERROR = "syntax_error"
    NO_SUCH_FUNCTION = "no_such_function"
    EXITED = "exited"
    TOO_LONG = "too_long"
    """The completion is longer than `LONGEST_COMPLETION` and was not run."""
    NOT_JUDGED = "not_judged"
    """Every call returned, but the gold answers are not public."""

    @property
    def words(self) -> str:
        """The name of the result for display."""
        return self.value.replace("_", " ").replace("timeout", "time-out")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one program for one problem.

    Attributes:
        result: how it ended.
        error: the type of the exception that it raised, or how its process ended.
        message: the shortened message of that error.
        texts: `str(result)` of every call, `None` if the call failed; empty for a check.
        seconds: wall time of its run.
    """

    result: Ending
    error: str = ""
    message: str = ""
    texts: tuple[str | None, ...] = ()
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether the program passed every test."""
        return self.result is Ending.PASSED


def judge_execution(problem: Problem, execution: Execution) -> Verdict:
    """Compare a program's answers with the gold answers.

    A generation passes if `str(result)` equals the gold answer for every test, or if the check accepted it. Otherwise the
    first failed test determines the result.

    Example:
        >>> from merilo.sandbox.extraction import Stub
        >>> from merilo.sandbox.program import CallResult
        >>> problem = Problem(1, Stub.read("def f(x):", "f"), ({"x": 1}, {"x": 2}), ("1", "2"))
        >>> answers = (CallResult(Outcome.COMPLETED, "1"), CallResult(Outcome.COMPLETED, "3"))
        >>> judge_execution(problem, Execution("a", Outcome.COMPLETED, answers)).result
        <Ending.WRONG_ANSWER: 'wrong_answer'>
    """
    result, error, message = _result(problem, execution)
    return Verdict(result, error, message, execution.texts, execution.seconds)


def _result(problem: Problem, execution: Execution) -> tuple[Ending, str, str]:
    if isinstance(problem.tests, Check) or problem.gold is None:
        return _plain(execution.outcome, closed=problem.is_closed), execution.error, execution.message
    for answer, gold in zip(execution.answers, problem.gold, strict=False):
        if answer.outcome is not Outcome.COMPLETED:
            return _plain(answer.outcome), answer.error, answer.message
        if answer.text != gold:
            return Ending.WRONG_ANSWER, "", ""
    if execution.outcome is Outcome.COMPLETED and len(execution.answers) == len(problem.gold):
        return Ending.PASSED, "", ""
    if execution.outcome is Outcome.COMPLETED:
        return Ending.EXITED, "", "answered fewer calls than it received"
    return _plain(execution.outcome), execution.error, execution.message


def _plain(outcome: Outcome, *, closed: bool = False) -> Ending:
    """Return the result for an outcome that needs no comparison with the gold answers."""
    match outcome:
        case Outcome.COMPLETED:
            return Ending.NOT_JUDGED if closed else Ending.PASSED
        case Outcome.REFUSED:
            return Ending.WRONG_ANSWER
        case _:
            return Ending(outcome.value)
