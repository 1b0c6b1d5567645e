"""A worker's report on a program counts only as the program's answer, whatever bytes it contains."""

import json
import signal

from hypothesis import example, given
from hypothesis import strategies as st

from merilo.sandbox.inside.messages import ENDED, OVERFLOWED, REPORT, TIMED_OUT, frame
from merilo.sandbox.program import Check, Execution, Limits, Outcome, Program, execution_of

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


def read(
    program: Program, cause: int, status: int, text: bytes, cpu_seconds: float = 0.0
) -> Execution | None:
    return execution_of(REPORT.pack(cause, status, 0.5, cpu_seconds, 2**20) + text, program, LIMITS)


@given(st.sampled_from([ENDED, TIMED_OUT, OVERFLOWED]), statuses, said)
@example(ENDED, 0, frame(json.dumps(["exception", "Red\x1b[31m", "a\nb\0"]).encode()))
@example(ENDED, 0, frame(json.dumps(["exception", "E" * 600, "m" * 600]).encode()))
def test_whatever_a_program_writes_every_call_has_one_answer(cause: int, status: int, text: bytes) -> None:
    execution = read(CALLS, cause, status, text)
    assert len(execution.texts) == 3
    assert (execution.outcome is Outcome.COMPLETED) == (None not in execution.texts)
    assert execution.outcome not in JUDGES_WORDS
    assert len(execution.error) <= 100
    assert len(execution.message) <= 500
    assert (execution.error + execution.message).isprintable()


@given(st.lists(st.text(st.characters(codec=None), max_size=5), max_size=3), st.data())
def test_answers_that_came_whole_count_though_the_next_is_cut(texts: list[str], data: st.DataObject) -> None:
    frames = [frame(b"+" + text.encode("utf-8", "surrogatepass")) for text in texts]
    whole = b"".join(frames)
    size = data.draw(st.integers(0, len(whole)))
    count = sum(len(b"".join(frames[: number + 1])) <= size for number in range(len(frames)))
    execution = read(CALLS, TIMED_OUT, signal.SIGKILL, whole[:size])
    assert execution.texts == (*texts[:count], *[None] * (3 - count))
    if count < 3:
        assert execution.outcome is Outcome.TIMEOUT


@given(st.sampled_from([ENDED, TIMED_OUT]), statuses, records | st.binary(min_size=1, max_size=12))
def test_a_check_passes_by_one_word_alone(cause: int, status: int, verdict: bytes) -> None:
    execution = read(CHECKED, cause, status, verdict)
    if execution.outcome is Outcome.COMPLETED:
        assert cause == ENDED
        assert json.loads(verdict)[0] == "accepted"
    assert execution.texts == ()


def test_a_check_without_a_verdict_is_run_again_unless_the_program_was_late() -> None:
    assert read(CHECKED, ENDED, 0, b"") is None
    assert read(CHECKED, TIMED_OUT, 9, b"").outcome is Outcome.TIMEOUT
    assert read(CHECKED, ENDED, 0, b'["accepted"]').outcome is Outcome.COMPLETED
    assert read(CALLS, ENDED, 0, b"").outcome is Outcome.EXITED


def test_a_kill_is_a_time_out_when_the_processor_time_was_used_up() -> None:
    for number in (signal.SIGXCPU, signal.SIGKILL):
        late = read(CALLS, ENDED, number, b"", cpu_seconds=4.0)
        killed = read(CALLS, ENDED, number, b"", cpu_seconds=1.0)
        assert late.outcome is Outcome.TIMEOUT
        assert (killed.outcome, killed.error) == (Outcome.EXITED, signal.Signals(number).name)


def test_a_signal_of_the_filters_is_a_refusal_and_a_nameless_one_has_its_number() -> None:
    refused = read(CALLS, ENDED, signal.SIGSYS, b"")
    nameless = read(CALLS, ENDED, 50, b"")
    assert (refused.outcome, refused.error) == (Outcome.FORBIDDEN, "SIGSYS")
    assert (nameless.outcome, nameless.error) == (Outcome.EXITED, "signal 50")
