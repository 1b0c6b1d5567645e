"""The doctor says that a jail holds when it does, and what does not hold when it does not."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import merilo
from sandbox_arena import jail_or_skip, jailed, preceded, unjailed

from merilo.errors import UsageError
from merilo.sandbox.backends import Bubblewrap, Start
from merilo.sandbox.doctor import PROBES, Attempt, Sign, examine, targets
from merilo.sandbox.interpreter import interpreter
from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Execution, Limits, Outcome

LIMITS = Limits(wall_seconds=2, memory_bytes=256 << 20)


def broken(findings: list[Attempt]) -> set[str]:
    return {finding.claim for finding in findings if not finding.held}


def test_everything_holds_in_the_jail_as_it_is() -> None:
    with jailed(LIMITS) as pool:
        findings = list(examine(pool))
    assert broken(findings) == set()
    assert len(findings) > len(PROBES)
    assert all(not finding.detail for finding in findings)


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


class SeesTheMachine(Bubblewrap):
    """A jail that sees all files of the machine, and may write in temporary folders."""

    def _files(self) -> list[str]:
        words = super()._files()
        end = words.index("--remount-ro", len(words) - 2)
        return [
            *words[:end],
            *("--ro-bind", "/etc", "/etc"),
            *("--perms", "0755", "--dir", "/var", "--perms", "0755", "--dir", "/var/tmp"),
            "--bind",
            str(self.shown),
            str(self.shown),
            *words[end:],
        ]

    shown = Path()


class WithoutFilter(Bubblewrap):
    """A jail in which the kernel is asked nothing, and which shares the machine's network."""

    def start(self, number: int, limits: Limits) -> Start:
        start = super().start(number, limits)
        start.settings["filter"] = ""
        start.command.remove("--unshare-net")
        return start


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
    jail = SeesTheMachine(interpreter())
    jail.shown = shown
    with Pool(1, backend=jail, limits=LIMITS) as pool:
        found = broken(list(examine(pool)))
    assert {
        "a file of this machine cannot be read",
        "a file cannot be read through a link",
        "a file of this machine cannot be written",
    } <= found
    assert "accounts, settings and home folders are not visible" in found
    assert "a process of this machine cannot be killed" not in found


def test_a_jail_without_a_filter_and_with_the_machines_network_is_found_out() -> None:
    jail_or_skip()
    with Pool(1, backend=WithoutFilter(interpreter()), limits=LIMITS) as pool:
        findings = list(examine(pool))
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


class Untidy(Bubblewrap):
    """A jail whose worker does not clear away what a program has written."""

    def start(self, number: int, limits: Limits) -> Start:
        code = "from merilo.sandbox.inside.worker import Scratch; Scratch.sweep = lambda self: None"
        return preceded(super().start(number, limits), code)


def test_a_jail_that_hands_files_on_is_found_out() -> None:
    jail_or_skip()
    with Pool(1, backend=Untidy(interpreter()), limits=LIMITS) as pool:
        found = broken(list(examine(pool)))
    assert "a program leaves no trace in files" in found
    if os.geteuid() == 0:
        # An ordinary user's worker is kept out of a folder whose mode a program changed, for good.
        assert "a program leaves no trace in the environment" not in found


class Outliving(Bubblewrap):
    """A jail that does not end with what holds it."""

    def start(self, number: int, limits: Limits) -> Start:
        start = super().start(number, limits)
        start.command.remove("--die-with-parent")
        return start


def test_a_jail_that_outlives_its_worker_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    jail_or_skip()
    monkeypatch.setattr("merilo.sandbox.doctor._DYING", 0.2)
    with Pool(1, backend=Outliving(interpreter()), limits=LIMITS) as pool:
        findings = list(examine(pool))
    assert broken(findings) == {"all processes of a killed worker end"}


@pytest.mark.thorough
def test_limits_that_are_too_wide_are_found_out() -> None:
    with jailed(Limits(wall_seconds=5, memory_bytes=2**33, threads=1000, open_files=1000)) as pool:
        found = broken(list(examine(pool)))
    assert {
        "memory is limited",
        "the number of threads is limited",
        "the number of descriptors is limited",
    } <= found


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


def test_the_command_answers_with_one_json_object() -> None:
    jail_or_skip()
    outcome = merilo("code", "doctor", "--json", "-")
    answer = json.loads(outcome.out)
    assert outcome.status == 0
    assert answer["backend"] == "bubblewrap"
    assert answer["python"].startswith("3.")
    assert answer["broken"] == 0
    assert answer["held"] == len(answer["findings"])
    assert set(answer["findings"][0]) == {"family", "claim", "held", "detail"}


def test_without_any_jail_the_command_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("bwrap") is None
    outcome = merilo("code", "doctor")
    assert outcome.status == 2
    assert "install bubblewrap" in outcome.complaint


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
