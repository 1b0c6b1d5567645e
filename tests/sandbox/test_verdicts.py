"""The verdict is the first test's that was not right; nothing that a program says makes it pass."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

from every import every
from hypothesis import given
from hypothesis import strategies as st

from merilo.sandbox.extraction import Form, Place, Stub
from merilo.sandbox.job import judged
from merilo.sandbox.problems import Problem
from merilo.sandbox.program import Check, Execution, Outcome

STUB = Stub.read("def f(x):", "f")
TEXTS = st.sampled_from(["1", "2", ""])
VERDICTS = {Outcome.PASSED, Outcome.WRONG_ANSWER, Outcome.NOT_JUDGED, Outcome.TOO_LONG}
FAILURES = sorted(
    set(Outcome) - VERDICTS - {Outcome.COMPLETED, Outcome.REFUSED}, key=lambda outcome: outcome.value
)


@st.composite
def executions(draw: st.DrawFn) -> tuple[Problem, Execution]:
    gold = tuple(draw(st.lists(TEXTS, min_size=1, max_size=4)))
    texts = tuple(draw(st.tuples(*[TEXTS | st.none()] * len(gold))))
    failed = None in texts
    outcome = draw(st.sampled_from(FAILURES)) if failed else Outcome.COMPLETED
    calls = tuple({"x": number} for number in range(len(gold)))
    return Problem(1, STUB, calls, gold), Execution("a", outcome, texts, "ValueError" if failed else "")


@given(executions())
def test_a_program_passes_exactly_when_every_answer_is_the_gold(case):
    problem, execution = case
    verdict = judged(problem, execution)
    assert (verdict.outcome is Outcome.PASSED) == (execution.texts == problem.gold)
    assert replace(verdict, outcome=execution.outcome, error=execution.error) == execution
    for text, gold in zip(execution.texts, problem.gold, strict=True):
        if text != gold:
            wrong = Outcome.WRONG_ANSWER, ""
            assert (verdict.outcome, verdict.error) == (
                (execution.outcome, execution.error) if text is None else wrong
            )
            return


@given(st.sampled_from(sorted(set(Outcome) - VERDICTS, key=lambda outcome: outcome.value)))
def test_a_check_passes_exactly_when_it_returned(outcome):
    problem = Problem("HumanEval/0", STUB, Check("def check(candidate): ..."), ())
    verdict = judged(problem, Execution("a", outcome, (), "NameError"))
    expected = {Outcome.COMPLETED: Outcome.PASSED, Outcome.REFUSED: Outcome.WRONG_ANSWER}
    assert (verdict.outcome, verdict.error) == (expected.get(outcome, outcome), "NameError")


@given(executions())
def test_without_gold_nothing_passes(case):
    problem, execution = case
    verdict = judged(replace(problem, gold=None), execution)
    completed = execution.outcome is Outcome.COMPLETED
    assert verdict.outcome is (Outcome.NOT_JUDGED if completed else execution.outcome)


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "code.md").read_text(encoding="utf-8")
ENDS = sorted(outcome.value for outcome in set(Outcome) - {Outcome.COMPLETED, Outcome.REFUSED})


@every("word", [*ENDS, *get_args(Place), *get_args(Form)])
def test_every_outcome_and_every_rule_stands_in_a_table_of_the_page(word):
    assert f"\n| `{word}` |" in PAGE
