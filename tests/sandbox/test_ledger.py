"""Verdicts on disk are kept, however the process ends."""

import hashlib
import json
import os
import resource
from contextlib import contextmanager

import pytest
from every import every
from hypothesis import given, settings
from hypothesis import strategies as st

from merilo.errors import InputError, OutputError, UsageError
from merilo.sandbox.ledger import LONGEST_ANSWERS, SHORTENED, open_ledger
from merilo.sandbox.program import Execution, Outcome

HEADER = {"completions": "abc", "timeout": 3.0}


def keep(path, *verdicts, header=HEADER):
    with open_ledger(path, header) as ledger:
        for key, result in verdicts:
            ledger.append("1", Execution(key, result, ("1", None), "ValueError", "no", 0.5))
        return dict(ledger.executions)


def test_a_header_that_was_cut_off_is_written_again(tmp_path):
    for length in (1, 9, 25, 40):
        path = tmp_path / f"{length}.jsonl"
        keep(path)
        os.truncate(path, length)
        assert set(keep(path, ("a", Outcome.PASSED))) == {"a"} == set(keep(path))


@contextmanager
def disk_of(size: int):
    """A file may grow to this size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        told = r"verdicts.jsonl: the verdicts cannot be written \(File too large\)"
        with pytest.raises(OutputError, match=told):
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_one_sentence_with_the_file_and_costs_no_whole_line(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    many = [(str(number), Outcome.PASSED) for number in range(200)]
    with disk_of(10_000):
        keep(path, *many)
    assert path.stat().st_size == 10_000
    assert 50 < len(keep(path)) < 200
    assert len(keep(path, *many)) == 200
    # What waits to be written when the job ends is not lost in silence.
    with disk_of(path.stat().st_size + 10):
        keep(path, ("a", Outcome.PASSED))
    assert "a" not in keep(path)


executions = st.builds(
    Execution,
    st.sampled_from("abc"),
    st.sampled_from(Outcome),
    st.lists(st.none() | st.text(st.characters(codec=None)), max_size=3).map(tuple),
    st.text(),
    st.text(st.characters(codec=None)),
    st.floats(0, 10),
)


@given(st.lists(executions, max_size=5), st.data())
@settings(deadline=None)
def test_cut_anywhere_a_ledger_keeps_every_whole_line(tmp_path_factory, kept, data):
    path = tmp_path_factory.mktemp("ledger") / "verdicts.jsonl"
    with open_ledger(path, HEADER) as ledger:
        for execution in kept:
            ledger.append("1", execution)
    whole = path.read_bytes()
    size = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:size])
    left = max(0, whole[:size].count(b"\n") - 1)
    with open_ledger(path, HEADER) as ledger:
        assert sum(stored.attempts for stored in ledger.executions.values()) == left
        assert ledger.resumed == len(ledger.executions)
        last = {execution.id: execution for execution in kept[:left]}
        for key, execution in last.items():
            assert ledger.texts(key) == list(execution.texts)
            stored = ledger.executions[key]
            assert (stored.outcome, stored.error) == (execution.outcome, execution.error)
        for execution in kept[left:]:
            ledger.append("1", execution)
    with open_ledger(path, HEADER) as ledger:
        assert sum(stored.attempts for stored in ledger.executions.values()) == len(kept)
    assert path.read_bytes() == whole


@every("content", [
    "hello\n", "{}\n", "[]\n", "\x00\n", "theirs", '{"format":"other', '{"format":"merilo verdicts 1"}\n', '{"format":"merilo verdicts 2"}x',
])  # fmt: skip
def test_a_file_that_is_no_ledger_is_left_alone(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("ledger") / "verdicts.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match="is not a file of verdicts"):
        keep(path)
    assert path.read_text() == content


def test_a_line_that_is_no_verdict_is_named(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    keep(path, ("a", Outcome.PASSED))
    with path.open("a") as stream:
        stream.write(json.dumps({"program": "b", "result": "guessed", "error": ""}) + "\n")
    with pytest.raises(InputError, match="row 3: is not a verdict written by this version"):
        keep(path)


def test_what_is_chosen_for_a_new_ledger_stands_when_the_job_goes_on(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    with open_ledger(path, HEADER, {"judge_seed": "first"}) as ledger:
        assert ledger.header["judge_seed"] == "first"
    with open_ledger(path, HEADER, {"judge_seed": "second"}) as ledger:
        assert ledger.header["judge_seed"] == "first"
    keep(path, header=HEADER | {"judge_seed": "first"})
    with pytest.raises(UsageError, match='judge_seed was "first" and is now "second"'):
        keep(path, header=HEADER | {"judge_seed": "second"})
    with pytest.raises(UsageError, match='judge_seed was "first" and is now null'):
        keep(path)
    with pytest.raises(UsageError, match="python was null"):
        keep(path, header=HEADER | {"judge_seed": "first", "python": "3.9"})


def test_a_ledger_of_shortened_answers_stays_small_and_still_tells_answers_apart(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    header = HEADER | {"answers": SHORTENED}
    long = ["\x01" * 300_000, "\x01" * 300_000 + "\ud800", None, "short"]
    with open_ledger(path, header) as ledger:
        ledger.append("1", Execution("a", Outcome.WRONG_ANSWER, ("right", *long)))
        ledger.append("1", Execution("b", Outcome.WRONG_ANSWER, ("x" * LONGEST_ANSWERS, "y")))
    first, second = (json.loads(line)["texts"] for line in path.read_text().splitlines()[1:])
    assert first[0] == "right"
    assert first[3] is None
    assert [(one["length"], one["start"]) for one in first[1:3]] == [
        (300_000, "\x01" * 100),
        (300_001, "\x01" * 100),
    ]
    assert first[1]["sha256"] == hashlib.sha256(long[0].encode()).hexdigest() != first[2]["sha256"]
    assert second[0] == "x" * LONGEST_ANSWERS
    assert second[1]["length"] == 1
    assert path.stat().st_size < 10_000


def test_a_ledger_that_another_writes_or_that_cannot_be_written_is_refused(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    with open_ledger(path, HEADER), pytest.raises(OutputError, match="another process is writing it"):
        keep(path)
    with pytest.raises(OutputError, match="cannot be written"):
        keep(path / "verdicts.jsonl")


def test_without_a_path_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with open_ledger(None, HEADER) as ledger:
        ledger.append("1", Execution("a", Outcome.PASSED, ("1",)))
        assert ledger.texts("a") == ["1"]
        assert not list(tmp_path.iterdir())
