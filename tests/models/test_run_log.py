"""Replies are appended, survive a killed process, and are read back as they were."""

import errno
import math
import os
from pathlib import Path

import pytest

from merilo.errors import InputError, OutputError
from merilo.models import run_log
from merilo.models.asking import ModelReply, Request
from merilo.models.run_log import cut_line, log_path, open_log, read_log, reply_of


def request(item: str = "1", sample: int = 1) -> Request:
    return Request("lcs", item, sample, (), f"question {item}")


def write(run: Path, *items: str) -> Path:
    with open_log(run) as log:
        for item in items:
            log.append(request(item), ModelReply(text=f"answer {item}"), 0.5)
    return log_path(run, "lcs")


def test_a_reply_is_read_back_as_it_was(tmp_path: Path) -> None:
    reply = ModelReply(
        text="«ответ»\n\x00\u2028", thought="мысль", finish="length", loglikelihoods=(-1.5, -math.inf), prompt_tokens=3,
        completion_tokens=2, thought_tokens=1, seconds=0.25, attempts=2, error="HTTP 429", model="m-2026",
    )  # fmt: skip
    with open_log(tmp_path) as log:
        log.append(request(), reply, 0.001)
    (row,) = read_log(log_path(tmp_path, "lcs")).iter_rows(named=True)
    assert reply_of(row) == reply
    assert (row["item"], row["sample"], row["cost"]) == ("1", 1, 0.001)
    assert row["request"] == request().sha256


def test_a_record_is_in_the_file_before_the_log_is_synced(tmp_path: Path) -> None:
    with open_log(tmp_path) as log:
        log.append(request(), ModelReply(text="x"))
        assert log.unsynced == 1
        assert read_log(log_path(tmp_path, "lcs")).height == 1


def test_what_was_answered_before_is_known_and_failed_requests_are_not_among_it(tmp_path: Path) -> None:
    write(tmp_path, "1", "2")
    with open_log(tmp_path) as log:
        log.append(request("3"), ModelReply(finish="failed", error="HTTP 500"), 0.0)
    with open_log(tmp_path) as log:
        found, spent = log.earlier("lcs", replies=True)
        assert set(found) == {("1", 1), ("2", 1)}
        assert found["1", 1].request == request("1").sha256
        assert found["2", 1].reply == ModelReply(text="answer 2")
        assert log.earlier("lcs")[0]["1", 1].reply is None
        assert spent == log.earlier("lcs")[1] == 1.0
        assert log.earlier("bps") == ({}, 0.0)


def test_the_latest_record_of_a_request_counts(tmp_path: Path) -> None:
    with open_log(tmp_path) as log:
        log.append(request("1"), ModelReply(finish="failed"))
        log.append(request("2"), ModelReply(text="b"))
        log.append(request("1"), ModelReply(text="a"))
    table = read_log(log_path(tmp_path, "lcs"))
    assert sorted(zip(table["item"], table["text"], strict=True)) == [("1", "a"), ("2", "b")]
    assert read_log(log_path(tmp_path, "lcs"), latest=False).height == 3


@pytest.mark.parametrize("tail", [b'{"item":"3","te', b"\x00" * 5000, b"x" * 200_000])
def test_a_line_cut_off_by_a_killed_process_is_moved_aside_and_said(tmp_path: Path, tail: bytes) -> None:
    path = write(tmp_path, "1", "2")
    with path.open("ab") as stream:
        stream.write(tail)
    found = cut_line(path)
    assert f"the last line is cut off after {len(tail)} bytes; it is left out" in found
    assert read_log(path).height == 2
    with open_log(tmp_path) as log:
        assert len(log.earlier("lcs")[0]) == 2
        log.append(request("3"), ModelReply(text="c"))
        (cut,) = log.cut
    assert "it is now in lcs.cut" in cut
    assert path.with_suffix(".cut").read_bytes() == tail + b"\n"
    assert read_log(path)["item"].to_list() == ["1", "2", "3"]
    assert cut_line(path) == ""


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[1]",
        '{"item": 1, "sample": "x"}',
        '{"sample": 1}',
        "\x00",
        '{"item": "9", "sample": null}',
        "null",
    ],
)
def test_a_line_in_the_middle_that_is_no_record_is_named(tmp_path: Path, line: str) -> None:
    path = write(tmp_path, "1", "2")
    first, second = path.read_text().splitlines()
    path.write_text(f"{first}\n{line}\n{second}\n")
    with pytest.raises(InputError, match="row 2: is not a record of a run's log"):
        read_log(path)


def test_two_processes_cannot_write_one_run(tmp_path: Path) -> None:
    with (
        open_log(tmp_path),
        pytest.raises(OutputError, match="another process is writing this run"),
        open_log(tmp_path),
    ):
        pass
    with open_log(tmp_path):
        pass


def test_a_full_disk_leaves_whole_records_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "1", "2")
    whole = path.read_bytes()
    written: list[int] = []

    def short(file: int, data: bytes) -> int:
        if written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(real(file, bytes(data[:20])))
        return written[0]

    real = os.write
    with open_log(tmp_path) as log:
        monkeypatch.setattr(run_log.os, "write", short)
        with pytest.raises(
            OutputError,
            match=r"lcs\.jsonl: the log cannot be written \(No space left on device\); the replies",
        ):
            log.append(request("3"), ModelReply(text="c"))
        monkeypatch.setattr(run_log.os, "write", real)
        assert path.read_bytes() == whole
        log.append(request("3"), ModelReply(text="c"))
    assert read_log(path).height == 3
