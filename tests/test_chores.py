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


ALL_OF_IT = """\
Debian packages to be installed for tests (NO_SYSTEM=1 installs none):
  bubblewrap: programs in their jail
  chromium: reports in a browser
  running: env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  running: env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq bubblewrap chromium
"""
NOT_WANTED = "not installed (NO_SYSTEM is set); the tests that need them are skipped:\n  bubblewrap"
FAILED = "('apt-get install -y -qq bubblewrap' failed); the tests that need them are skipped"
INSTALL = "apt-get install -y -qq"


#: What is installed, what is wanted, what the script says, and the last command that it runs; options of the machine.
MACHINES = {
    "a new machine": ("apt-get", JAIL + BROWSER, ALL_OF_IT, f"{INSTALL} bubblewrap chromium", {}),
    "a browser of another name": ("apt-get google-chrome", JAIL + BROWSER, "bubblewrap", f"{INSTALL} bubblewrap", {}),
    "everything": ("apt-get google-chrome bwrap", JAIL + BROWSER, "", None, {}),
    "nothing is wanted": ("apt-get", JAIL, NOT_WANTED, None, {"NO_SYSTEM": "1"}),
    "an ordinary user": ("apt-get sudo", JAIL, f"running: sudo -n env DEBIAN_FRONTEND=noninteractive {INSTALL} bubblewrap", f"{INSTALL} bubblewrap", {"user": 1000}),
    "a user without sudo": ("apt-get", JAIL, "this user is not root, and there is no sudo", None, {"user": 1000}),
    "another system": ("", JAIL, "there is no apt-get", None, {}),
    "a failure": ("apt-get", JAIL, FAILED, f"{INSTALL} bubblewrap", {"fails": True}),
}  # fmt: skip


@pytest.mark.parametrize("name", MACHINES)
def test_packages_are_named_with_their_tests_before_they_are_installed(name: str, tmp_path: Path) -> None:
    installed, words, says, last, more = MACHINES[name]
    of_machine = {key: value for key, value in more.items() if key != "NO_SYSTEM"}
    machine = Machine(tmp_path, *installed.split(), **of_machine)
    said = machine.install(*words, **{key: value for key, value in more.items() if key == "NO_SYSTEM"})
    assert says in said
    assert bool(says) == bool(said)
    assert machine.called[-1:] == ([last] if last else [])
    assert ("chromium" in said) == (name == "a new machine")
    assert any(call.startswith("sudo -n env") for call in machine.called) == (name == "an ordinary user")


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
