"""The Makefile announces what it installs on a machine, and installs only what was requested."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts" / "system-packages"
JAIL = ["bubblewrap", "bwrap", "programs in their jail"]
BROWSER = ["chromium", "chromium google-chrome", "reports in a browser"]

pytestmark = pytest.mark.skipif(
    not SCRIPT.exists(), reason="the chores come with a clone, not with the package"
)


class Machine:
    """A machine with these commands on its path, which write down how they were called.

    Args:
        folder: an empty folder.
        commands: what is installed beside a shell.
        user: the number of the user.
        fails: whether apt-get fails.
    """

    def __init__(self, folder: Path, *commands: str, user: int = 0, fails: bool = False) -> None:
        self.calls = folder / "calls"
        self.calls.touch()
        self.path = folder / "bin"
        self.path.mkdir()
        for name in ("bash", "env"):
            (self.path / name).symlink_to(str(shutil.which(name)))
        self._write("id", f"echo {user}")
        for name in commands:
            last = '"${@:2}"' if name == "sudo" else f"exit {int(fails)}"
            self._write(name, f'echo "{name} $*" >> {self.calls}\n{last}')

    def _write(self, name: str, body: str) -> None:
        (self.path / name).write_text(f"#!/bin/bash\n{body}\n")
        (self.path / name).chmod(0o755)

    def install(self, *words: str, **environment: str) -> str:
        """What the script says; it never fails."""
        done = subprocess.run(
            ["bash", SCRIPT, *words],
            env={"PATH": str(self.path), **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        return done.stdout

    @property
    def called(self) -> list[str]:
        return self.calls.read_text().splitlines()


def test_packages_are_named_with_their_tests_before_they_are_installed(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "apt-get")
    said = machine.install(*JAIL, *BROWSER)
    assert said.splitlines() == [
        "Debian packages to be installed for tests (NO_SYSTEM=1 installs none):",
        "  bubblewrap: programs in their jail",
        "  chromium: reports in a browser",
        "  running: env DEBIAN_FRONTEND=noninteractive apt-get update -qq",
        "  running: env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq bubblewrap chromium",
    ]
    assert machine.called == ["apt-get update -qq", "apt-get install -y -qq bubblewrap chromium"]


def test_what_is_there_under_any_of_its_names_is_not_installed(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "apt-get", "google-chrome")
    assert "chromium" not in machine.install(*JAIL, *BROWSER)
    assert machine.called[-1] == "apt-get install -y -qq bubblewrap"
    (tmp_path / "other").mkdir()
    everything = Machine(tmp_path / "other", "apt-get", "google-chrome", "bwrap")
    assert (everything.install(*JAIL, *BROWSER), everything.called) == ("", [])


def test_nothing_is_installed_where_that_is_not_wanted(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "apt-get")
    said = machine.install(*JAIL, NO_SYSTEM="1")
    assert "not installed (NO_SYSTEM is set); the tests that need them are skipped:\n  bubblewrap" in said
    assert machine.called == []


def test_an_ordinary_user_is_told_of_sudo_before_it_is_used(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "apt-get", "sudo", user=1000)
    said = machine.install(*JAIL)
    assert "running: sudo -n env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq bubblewrap" in said
    assert machine.called[0].startswith("sudo -n env")


def test_a_machine_where_nothing_can_be_installed_says_why_and_goes_on(tmp_path: Path) -> None:
    for name, commands, user, reason in (
        ("a", ["apt-get"], 1000, "this user is not root, and there is no sudo"),
        ("b", [], 0, "there is no apt-get"),
    ):
        (tmp_path / name).mkdir()
        assert reason in Machine(tmp_path / name, *commands, user=user).install(*JAIL)
    (tmp_path / "c").mkdir()
    failing = Machine(tmp_path / "c", "apt-get", fails=True)
    assert (
        "('apt-get install -y -qq bubblewrap' failed); the tests that need them are skipped"
        in failing.install(*JAIL)
    )


def test_the_chore_for_all_tests_installs_docker_and_leaves_out_no_test() -> None:
    if shutil.which("make") is None:
        pytest.skip("there is no make")
    environment = {
        name: text for name, text in os.environ.items() if name not in {"MARKED", "MAKEFLAGS", "VENV"}
    }

    def planned(*words: str) -> str:
        command = ["make", "--dry-run", "VENV=absent", *words]
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        ).stdout

    for chore in ("test", "test-all"):
        assert "bubblewrap" in planned(chore)
        assert "postgresql 'pg_ctlcluster initdb'" in planned(chore)
    assert "docker" not in planned("test")
    assert '-m "not thorough"' in planned("test")
    assert "docker.io dockerd" in planned("test-all")
    assert "thorough" not in planned("test-all")
    assert '-m "thorough"' in planned("test-all", "MARKED=thorough")
