"""A worker's report on a program counts only as the program's answer, whatever bytes it contains."""

import json
import signal

from hypothesis import example, given
from hypothesis import strategies as st

from merilo.sandbox.inside.framing import frame
from merilo.sandbox.inside.server import ENDED, OVERFLOWED, REPORT, TIMED_OUT
from merilo.sandbox.program import Check, Limits, Outcome, Program
from merilo.sandbox.worker_process import execution_of, lost_its_judge, report_of

CALLS = Program("calls", "", "f", ({}, {}, {}))
CHECKED = Program("checked", "", "f", Check(""))
LIMITS = Limits(wall_seconds=3, cpu_seconds=4)

#: What only a judge may say.
JUDGES_WORDS = {Outcome.REFUSED}

words = st.sampled_from(
    ["completed", "exception", "memory", "forbidden", "output", "accepted", "refused", "gone", "broken", "?"]
)
values = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
records = st.one_of(
    st.tuples(words, values).map(list),
    st.tuples(words).map(list),
    st.tuples(words, st.text(max_size=5), st.text(max_size=600)).map(list),
    values,
).map(lambda value: json.dumps(value).encode())
failures = st.tuples(
    st.sampled_from(["exception", "forbidden", "syntax_error"]), st.text(max_size=200), st.text(max_size=600)
).map(lambda record: json.dumps(record).encode())
answers = st.text(max_size=5).map(lambda text: b"+" + text.encode())
said = st.lists(
    st.one_of(
        answers.map(frame), records.map(frame), st.binary(max_size=12).map(frame), st.binary(max_size=6)
    ),
    max_size=6,
).map(b"".join)
statuses = st.sampled_from([0, 3 << 8, signal.SIGSEGV, signal.SIGKILL, signal.SIGSYS, signal.SIGXCPU, 50])


def report(cause: int, status: int, text: bytes, cpu_seconds: float = 0.0) -> bytes:
    return REPORT.pack(cause, status, 0.5, cpu_seconds, 2**20) + text


@given(st.sampled_from([ENDED, TIMED_OUT, OVERFLOWED]), statuses, said)
@example(ENDED, 0, frame(json.dumps(["exception", "Red\x1b[31m", "a\nb\0"]).encode()))
@example(ENDED, 0, frame(json.dumps(["exception", "E" * 600, "m" * 600]).encode()))
def test_whatever_a_program_writes_every_call_has_one_answer(cause: int, status: int, text: bytes) -> None:
    execution = execution_of(report_of(report(cause, status, text)), CALLS, LIMITS, 1)
    assert len(execution.answers) == 3
    for answer in execution.answers:
        assert (answer.text is not None) == (answer.outcome is Outcome.COMPLETED)
        assert answer.outcome not in JUDGES_WORDS
        assert len(answer.error) <= 100
        assert len(answer.message) <= 500
        assert (answer.error + answer.message).isprintable()
    failed = [answer.outcome for answer in execution.answers if answer.outcome is not Outcome.COMPLETED]
    assert execution.outcome is (failed[0] if failed else Outcome.COMPLETED)


@given(st.lists(st.text(st.characters(codec=None), max_size=5), max_size=3), st.data())
def test_answers_that_came_whole_count_though_the_next_is_cut(texts: list[str], data: st.DataObject) -> None:
    frames = [frame(b"+" + text.encode("utf-8", "surrogatepass")) for text in texts]
    whole = b"".join(frames)
    size = data.draw(st.integers(0, len(whole)))
    count = sum(len(b"".join(frames[: number + 1])) <= size for number in range(len(frames)))
    execution = execution_of(report_of(report(TIMED_OUT, signal.SIGKILL, whole[:size])), CALLS, LIMITS, 1)
    assert execution.texts == (*texts[:count], *[None] * (3 - count))
    if count < 3:
        assert execution.outcome is Outcome.TIMEOUT


@given(st.sampled_from([ENDED, TIMED_OUT]), statuses, records | st.binary(max_size=12))
def test_a_check_passes_by_one_word_alone(cause: int, status: int, verdict: bytes) -> None:
    execution = execution_of(report_of(report(cause, status, verdict)), CHECKED, LIMITS, 1)
    passed = execution.outcome is Outcome.COMPLETED
    try:
        word = json.loads(verdict)
    except ValueError:
        word = None
    if passed:
        assert cause == ENDED
        assert word[0] == "accepted"
    assert execution.answers == ()


def test_a_check_without_a_verdict_is_run_again_unless_the_program_was_late() -> None:
    assert lost_its_judge(report_of(report(ENDED, 0, b"")), CHECKED)
    assert not lost_its_judge(report_of(report(TIMED_OUT, 9, b"")), CHECKED)
    assert not lost_its_judge(report_of(report(ENDED, 0, b'["accepted"]')), CHECKED)
    assert not lost_its_judge(report_of(report(ENDED, 0, b"")), CALLS)


def test_a_kill_is_a_time_out_when_the_processor_time_was_used_up() -> None:
    for number in (signal.SIGXCPU, signal.SIGKILL):
        late = execution_of(report_of(report(ENDED, number, b"", cpu_seconds=4.0)), CALLS, LIMITS, 1)
        killed = execution_of(report_of(report(ENDED, number, b"", cpu_seconds=1.0)), CALLS, LIMITS, 1)
        assert late.outcome is Outcome.TIMEOUT
        assert (killed.outcome, killed.error) == (Outcome.EXITED, signal.Signals(number).name)


def test_a_signal_of_the_filters_is_a_refusal_and_a_nameless_one_has_its_number() -> None:
    refused = execution_of(report_of(report(ENDED, signal.SIGSYS, b"")), CALLS, LIMITS, 1)
    nameless = execution_of(report_of(report(ENDED, 50, b"")), CALLS, LIMITS, 1)
    assert (refused.outcome, refused.error) == (Outcome.FORBIDDEN, "SIGSYS")
    assert (nameless.outcome, nameless.error) == (Outcome.EXITED, "signal 50")
