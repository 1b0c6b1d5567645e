"""The doctor says that a jail holds when it does, and what does not hold when it does not."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from command import merilo
from sandbox_arena import changed, jail_or_skip, jailed, preceded_by, unjailed, with_settings, without_words

from merilo.errors import UsageError
from merilo.sandbox.backends import Start
from merilo.sandbox.doctor import PROBES, Attempt, Sign, examine, targets
from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Execution, Limits, Outcome

LIMITS = Limits(wall_seconds=2, memory_bytes=256 << 20)


def broken(findings: list[Attempt]) -> set[str]:
    return {finding.claim for finding in findings if not finding.held}


def examined(change: Callable[[Start], Start]) -> list[Attempt]:
    """What the doctor finds of a jail whose workers start otherwise."""
    with Pool(1, backend=changed(jail_or_skip(), change), limits=LIMITS) as pool:
        return list(examine(pool))


def test_everything_holds_in_the_jail_as_it_is_and_is_told_as_one_json_object() -> None:
    jail_or_skip()
    outcome = merilo("code", "doctor", "--json", "-")
    answer = json.loads(outcome.out)
    assert outcome.status == 0
    assert answer["backend"] == "bubblewrap"
    assert answer["python"].startswith("3.")
    assert answer["broken"] == 0
    assert answer["held"] == len(answer["findings"]) > len(PROBES)
    assert set(answer["findings"][0]) == {"family", "claim", "held", "detail"}
    assert all(finding["held"] and not finding["detail"] for finding in answer["findings"])


@pytest.mark.thorough
def test_the_name_of_the_temporary_folder_may_be_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 200)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    with jailed(LIMITS) as pool:
        assert broken(list(examine(pool))) == set()
    assert list(long.iterdir()) == []


def seeing(shown: Path, start: Start) -> Start:
    """A jail that sees all settings of the machine, and may write in a folder of it."""
    end = start.command.index("--remount-ro", start.command.index("--") - 2)
    words = [
        "--ro-bind", "/etc", "/etc", "--perms", "0755", "--dir", "/var", "--perms", "0755", "--dir", "/var/tmp",
        "--bind", str(shown), str(shown),
    ]  # fmt: skip
    return replace(start, command=[*start.command[:end], *words, *start.command[end:]])


@pytest.fixture
def shown() -> Iterator[Path]:
    """A folder that anybody may enter, and that no jail's own /tmp covers."""
    if not Path("/var/tmp").is_dir():
        pytest.skip("there is no /var/tmp")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_jail_that_sees_the_machines_files_is_found_out(
    shown: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jail_or_skip()
    monkeypatch.setattr("tempfile.tempdir", str(shown))
    found = broken(examined(partial(seeing, shown)))
    assert {
        "a file of this machine cannot be read",
        "a file cannot be read through a link",
        "a file of this machine cannot be written",
    } <= found
    assert "accounts, settings and home folders are not visible" in found
    assert "a process of this machine cannot be killed" not in found


def test_a_jail_without_a_filter_and_with_the_machines_network_is_found_out() -> None:
    unfiltered, networked = with_settings(filter=""), without_words("--unshare-net")
    findings = examined(lambda start: networked(unfiltered(start)))
    assert {
        "a port of this machine cannot be reached",
        "no socket can be created",
        "the system-call filter is active",
        "a program cannot start a process",
    } <= broken(findings)
    assert {"a file of this machine cannot be read", "a process of this machine cannot be killed"} & broken(
        findings
    ) == set()
    assert all(finding.detail for finding in findings if not finding.held)


def test_every_sign_of_harm_is_seen() -> None:
    nothing = Execution("probe", Outcome.EXCEPTION, (None,))

    def said(text: str) -> Execution:
        return Execution("probe", Outcome.COMPLETED, (text,))

    with targets() as aims:
        assert not any(aims.shows(sign, nothing) for sign in Sign)
        assert not aims.shows(Sign.ANSWER, said("None"))
        assert aims.shows(Sign.ANSWER, said("a socket"))
        assert aims.shows(Sign.SECRET, said(f"it is {aims.secret}"))
        inside = os.open(aims.folder, os.O_RDONLY)  # the folder's name may be longer than an address
        for address in (("127.0.0.1", aims.port), f"/proc/self/fd/{inside}/socket"):
            with socket.socket(socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX) as caller:
                caller.connect(address)
            assert aims.shows(Sign.CALL, nothing)
            assert not aims.shows(Sign.CALL, nothing)  # one call is one sign
        os.close(inside)
        (aims.folder / "new").touch()
        assert aims.shows(Sign.FOLDER, nothing)
        (aims.folder / "new").unlink()
        assert not aims.shows(Sign.FOLDER, nothing)
        (aims.folder / "open").write_text("x")
        assert aims.shows(Sign.FOLDER, nothing)
        aims.bystander.kill()
        aims.bystander.wait()
        assert aims.shows(Sign.DEATH, nothing)


def test_a_jail_that_hands_files_on_is_found_out() -> None:
    code = "from merilo.sandbox.inside.worker import Scratch; Scratch.sweep = lambda self: None"
    found = broken(examined(preceded_by(code)))
    assert "a program leaves no trace in files" in found
    if os.geteuid() == 0:
        # An ordinary user's worker is kept out of a folder whose mode a program changed, for good.
        assert "a program leaves no trace in the environment" not in found


def test_a_jail_that_outlives_its_worker_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("merilo.sandbox.doctor._DYING", 0.2)
    findings = examined(without_words("--die-with-parent"))
    assert broken(findings) == {"all processes of a killed worker end"}


@pytest.mark.thorough
def test_limits_that_are_too_wide_are_found_out() -> None:
    with jailed(Limits(wall_seconds=5, memory_bytes=2**33, threads=1000, open_files=1000)) as pool:
        found = broken(list(examine(pool)))
    limited = ("memory is", "the number of threads is", "the number of descriptors is")
    assert {f"{what} limited" for what in limited} <= found


def test_hostile_programs_are_never_run_without_a_jail() -> None:
    with unjailed() as pool, pytest.raises(UsageError, match="only a sandbox"):
        next(examine(pool))


def test_the_command_says_what_does_not_hold_and_that_the_answer_is_no(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bubblewrap that shows programs the machine's settings."""
    jail_or_skip()
    real = shutil.which("bwrap")
    (tmp_path / "bwrap").write_text(f'#!/bin/sh\nexec {real} --ro-bind /etc /etc "$@"\n')
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    outcome = merilo("code", "doctor")
    assert outcome.status == 1
    assert "BROKEN  accounts, settings and home folders are not visible: the program got" in outcome.out
    assert "guarantees did not hold; do not run untrusted programs on this machine" in outcome.complaint


@pytest.mark.thorough
def test_the_exit_status_is_that_of_the_whole_examination_though_the_reader_has_gone() -> None:
    jail_or_skip()
    read, write = os.pipe()
    os.close(read)
    words = [sys.executable, "-m", "merilo", "code", "doctor"]
    done = subprocess.run(words, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert done.returncode == 0
    assert "guarantees held" in done.stderr
