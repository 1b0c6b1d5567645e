"""The verdict is the first test's that was not right; nothing that a program says makes it pass."""

from hypothesis import given
from hypothesis import strategies as st

from merilo.metrics.pass_at_k import is_right
from merilo.sandbox.extraction import Stub
from merilo.sandbox.ledger import Ending, judge_execution
from merilo.sandbox.problems import Problem
from merilo.sandbox.program import CallResult, Check, Execution, Outcome

STUB = Stub.read("def f(x):", "f")
TEXTS = st.sampled_from(["1", "2", ""])
FAILURES = sorted(set(Outcome) - {Outcome.COMPLETED}, key=lambda outcome: outcome.value)
ANSWERS = st.one_of(
    st.builds(CallResult, st.just(Outcome.COMPLETED), TEXTS),
    st.builds(CallResult, st.sampled_from(FAILURES), st.none(), st.sampled_from(["ValueError", ""])),
)


@st.composite
def judged(draw: st.DrawFn) -> tuple[Problem, Execution]:
    gold = tuple(draw(st.lists(TEXTS, min_size=1, max_size=4)))
    answers = tuple(draw(st.lists(ANSWERS, max_size=5)))
    failed = [answer.outcome for answer in answers if answer.outcome is not Outcome.COMPLETED]
    outcome = failed[0] if failed else draw(st.sampled_from(Outcome)) if not answers else Outcome.COMPLETED
    calls = tuple({"x": number} for number in range(len(gold)))
    return Problem(1, STUB, calls, gold), Execution("a", outcome, answers)


@given(judged())
def test_a_program_passes_exactly_when_every_answer_is_the_gold(case):
    problem, execution = case
    verdict = judge_execution(problem, execution)
    assert verdict.passed == is_right(execution.texts, problem.gold)
    assert verdict.texts == execution.texts


@given(judged())
def test_the_first_test_that_is_not_right_says_how_it_ended(case):
    problem, execution = case
    verdict = judge_execution(problem, execution)
    for answer, gold in zip(execution.answers, problem.gold, strict=False):
        if answer.outcome is not Outcome.COMPLETED:
            expected = (
                Ending.WRONG_ANSWER if answer.outcome is Outcome.REFUSED else Ending(answer.outcome.value)
            )
            assert (verdict.result, verdict.error) == (expected, answer.error)
            return
        if answer.text != gold:
            assert verdict.result is Ending.WRONG_ANSWER
            return


@given(st.sampled_from(Outcome), st.sampled_from(["NameError", ""]))
def test_a_check_passes_exactly_when_it_returned(outcome, error):
    problem = Problem("HumanEval/0", STUB, Check("def check(candidate): ..."), ())
    verdict = judge_execution(problem, Execution("a", outcome, (), error))
    assert verdict.passed == (outcome is Outcome.COMPLETED)
    assert verdict.error == error


@given(judged())
def test_without_gold_nothing_passes(case):
    problem, execution = case
    closed = Problem(problem.id, problem.stub, problem.tests, None)
    verdict = judge_execution(closed, execution)
    assert not verdict.passed
    assert (verdict.result is Ending.NOT_JUDGED) == (execution.outcome is Outcome.COMPLETED)
