"""Ways to jail: what is asked of them, when they refuse, and that verdicts do not depend on them."""

import ast
import json
import os
import pwd
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from sandbox_arena import OUTCOMES, PROGRAMS, available, changed, jail_or_skip, jailed, only

import merilo
from merilo.errors import MissingPartError, UsageError
from merilo.sandbox import seccomp
from merilo.sandbox.backends import PACKAGES, Bubblewrap, Docker, NoJail, Start, backend, container_arguments
from merilo.sandbox.interpreter import interpreter
from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Limits, Outcome

SOURCES = Path(merilo.__file__).parent.parent

Verdicts = dict[str, tuple[Outcome, tuple[str | None, ...], str]]


def verdicts(pool: Pool) -> Verdicts:
    return {one.id: (one.outcome, one.texts, one.error) for one in pool.run(PROGRAMS)}


@pytest.fixture(scope="module")
def expected() -> Verdicts:
    with jailed(Limits(wall_seconds=2)) as pool:
        return verdicts(pool)


def test_outcomes_are_what_they_should_be(expected: Verdicts) -> None:
    assert {name: outcome.value for name, (outcome, _, _) in expected.items()} == OUTCOMES
    assert expected["right"][1] == ("4", "abab", "[1.5, None, 1.5, None]")
    assert expected["raises"][1] == ("0", None)
    assert expected["quit"][2] == "SystemExit"
    assert len(str(expected["big"][1][0])) == 5071  # more digits than Python turns into text by itself
    assert expected["surrogate"][1] == ("ё\ud800",)
    assert expected["many"][1] == tuple(str(2 * n) for n in range(500))


ENDS = (available()[0], available()[-1])


@pytest.mark.parametrize(
    "python",
    [pytest.param(each.version, marks=() if each in ENDS else pytest.mark.thorough) for each in available()],
)
def test_verdicts_are_the_same_on_every_python(python: str, expected: Verdicts) -> None:
    with jailed(Limits(wall_seconds=2), python=python) as pool:
        got = verdicts(pool)
        assert pool.python == python
    assert got == expected


def as_in_a_container(start: Start) -> Start:
    """A jail that gives the worker no rights, and a `/proc`: what a worker finds in a container."""
    words = [word for word in start.command if word != "--disable-userns"]
    for option in ("--cap-add", "--userns"):
        while option in words:
            del words[words.index(option) : words.index(option) + 2]
    user = [] if "--unshare-user" in words else ["--unshare-user", "--uid", "65534", "--gid", "65534"]
    end = words.index("--") - 2
    mounts = ["--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/dev/shm"]
    words = [words[0], *user, *words[1:end], *mounts, *words[end:]]
    return replace(start, command=words, settings=start.settings | {"user": None})


def test_a_worker_without_rights_makes_its_own_namespaces(
    expected: Verdicts,
) -> None:
    container = changed(jail_or_skip(), as_in_a_container)
    with Pool(1, backend=container, limits=Limits(wall_seconds=2)) as pool:
        assert verdicts(pool) == expected
        # Neither the worker nor its keeper can be looked into by way of /proc, although all have one user.
        source = (
            "import os\ndef attack():\n    seen, others = [], 0\n    for pid in os.listdir('/proc'):\n        if pid.isdigit() and pid != os.readlink('/proc/self'):\n            others += 1\n"
            "            for name in ('mem', 'environ', 'maps', 'root/etc'):\n                try:\n"
            "                    seen.append(open('/proc/%s/%s' % (pid, name), 'rb').read(1))\n                except OSError:\n"
            "                    pass\n    return seen, others"
        )
        assert only(pool, source).texts == ("([], 4)",)  # keeper, worker, fork server, judge


IN_ANOTHER_PROCESS = """
import os
from merilo.sandbox.backends import backend
from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Limits, Program
from merilo.sandbox.doctor import examine
jail = backend('bubblewrap')
{before}
with Pool(1, backend=jail, limits=Limits({limits})) as pool:
    programs = [Program(str(n), source, 'f', ({{}},)) for n, source in enumerate({sources!r})]
    print([e.texts + (e.attempts,) for e in pool.run(programs)] or [f for f in examine(pool) if not f.held])
"""


def told(code: str, *words: str, **options: object) -> list[object]:
    """What the code prints in a process of its own, which these words start."""
    done = subprocess.run([*words, "-c", code], capture_output=True, text=True, check=False, **options)
    older = ("No module named 'merilo", "No module named 'tomllib'", "SyntaxError", "cannot import name")
    if options.get("user") and any(reason in done.stderr for reason in older):
        pytest.skip("nobody cannot read Merilo's sources, or has an older Python")
    assert not done.returncode, done.stderr
    return ast.literal_eval(done.stdout)


def told_to_nobody(*sources: str, before: str = "", limits: str = "") -> list[object]:
    """How programs of an ordinary user end, whose jail maps the one user and not root's block of ids; the doctor's findings if there are none."""
    jail_or_skip()
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin:/bin")
    if os.geteuid() != 0 or python is None:
        pytest.skip("this is an ordinary user, or there is no Python that every user can run")
    nobody = pwd.getpwnam("nobody")
    code = IN_ANOTHER_PROCESS.format(before=f"assert os.getuid()\n{before}", limits=limits, sources=sources)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES)}
    ids = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    try:
        return told(code, python, **ids, env=environment, cwd="/")
    except PermissionError as error:
        pytest.skip(f"nobody cannot run it: {error}")


def test_an_ordinary_user_gets_the_same_verdicts() -> None:
    assert told_to_nobody(limits="wall_seconds=2, memory_bytes=2 ** 28") == []


def test_what_an_ordinary_users_program_does_to_its_folders_does_not_reach_the_next() -> None:
    """That user owns the scratch folders themselves: their mode and their times are a program's to change."""
    look = (
        "import os\ndef f():\n    open('x', 'w').close()\n"
        "    return [oct(os.stat(p).st_mode) for p in ('/tmp', '/dev/shm')], os.stat('/dev/shm').st_mtime_ns == 5"
    )
    deeds = [f"os.chmod(p, {mode})" for mode in (0, 0o300, 0o444, 0o500, 0o777)] + ["os.utime(p, ns=(5, 5))"]
    leave = [f"import os\ndef f():\n    for p in ('/tmp', '/dev/shm'):\n        {deed}" for deed in deeds]
    ends = told_to_nobody(*[source for deed in leave for source in (deed, look)])
    assert set(ends) == {("None", 1), ("(['0o41777', '0o41777'], False)", 1)}


@pytest.mark.thorough
def test_what_an_ordinary_users_program_signals_to_its_group_reaches_no_worker() -> None:
    """That user's worker has the program's user id, and Python handles interrupts: an interrupt would end the worker."""
    source = "import os, signal\ndef f():\n    signal.signal(2, signal.SIG_IGN)\n    os.kill(0, 2)\n    return os.getpgrp()"
    assert told_to_nobody(*[source] * 3) == [("1", 1)] * 3


def test_an_ordinary_users_jail_forbids_user_namespaces_even_without_the_filter() -> None:
    """In one of its own a program would have every capability again."""
    before = (
        "start = jail.start\ndef unfiltered(number, limits):\n    changed = start(number, limits)\n"
        "    changed.settings['filter'] = ''\n    return changed\njail.start = unfiltered"
    )
    source = (
        "import ctypes, os\ndef f():\n    return ctypes.CDLL(None).unshare(0x10000000), os.listdir('/tmp')"
    )
    assert told_to_nobody(source, before=before) == [("(-1, [])", 1)]


@pytest.mark.thorough
def test_lower_bounds_are_kept_and_groups_of_roots_are_not() -> None:
    """The scoring process may have low limits itself, which programs cannot raise, and groups, which they do not get."""
    jail_or_skip()
    source = (
        "import os, resource\ndef f():\n"
        "    return [resource.getrlimit(n) for n in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE)], os.getgroups()"
    )
    code = IN_ANOTHER_PROCESS.format(before="", limits="open_files=64, file_bytes=2 ** 20", sources=[source])
    words = ["/bin/sh", "-c", 'ulimit -n 40; exec "$0" "$@"', sys.executable]
    groups = {"extra_groups": [1234]} if os.geteuid() == 0 else {}
    ((answer, attempts),) = told(code, *words, env={**os.environ, "PYTHONPATH": str(SOURCES)}, **groups)
    bounds, seen = ast.literal_eval(answer)
    assert (bounds, attempts) == ([(40, 40), (2**20, 2**20)], 1)
    assert not groups or seen == []


def test_packages_of_a_folder_can_be_imported_and_not_changed(tmp_path: Path) -> None:
    jail_or_skip()
    (tmp_path / "yardstick.py").write_text("def length():\n    return 'one yard'\n")
    (tmp_path / "yardstick.py").chmod(0o666)
    tmp_path.chmod(0o777)
    with Pool(1, backend=Bubblewrap(interpreter(), tmp_path)) as pool:
        source = "import yardstick\ndef attack():\n    return yardstick.length()"
        assert only(pool, source).texts == ("one yard",)
        source = "import yardstick\ndef attack():\n    open(yardstick.__file__, 'w').write('')"
        assert only(pool, source).outcome is Outcome.FORBIDDEN
        source = f"def attack():\n    open('{PACKAGES}/another.py', 'w').close()"
        assert only(pool, source).outcome is Outcome.FORBIDDEN
    assert (tmp_path / "yardstick.py").read_text().startswith("def length")


def test_a_container_has_no_network_no_rights_and_bounds() -> None:
    limits = Limits(memory_bytes=2**29, scratch_bytes=2**26, threads=10)
    words = container_arguments("python:3.12-slim", limits, "/proc/self/fd/7", Path("/srv/packages"))
    text = " ".join(words)
    for part in (
        "--network none", "--read-only", "--cap-drop ALL", "--security-opt no-new-privileges", "--security-opt seccomp=/proc/self/fd/7",
        "--user 65534:65534", "--ipc private", "--rm", "--interactive", "type=bind,source=/srv/packages,target=/packages,readonly",
        f"--tmpfs /tmp:rw,nosuid,nodev,noexec,size={2**26},nr_inodes=4096,mode=1777",
    ):  # fmt: skip
        assert part in text
    memory = int(words[words.index("--memory") + 1])
    assert 2**29 <= memory < 2**30
    assert words[words.index("--memory-swap") + 1] == str(memory)
    assert int(words[words.index("--pids-limit") + 1]) < 40
    assert not [word for word in words if "privileged" in word and word != "no-new-privileges"]
    assert words.index("--entrypoint") < words.index("python:3.12-slim") < words.index("-c")


def test_the_profile_of_a_container_lets_the_worker_make_namespaces_and_nobody_a_socket() -> None:
    profile = seccomp.docker_profile()
    (rule,) = profile["syscalls"]
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert rule["action"] == "SCMP_ACT_ALLOW"
    assert {"unshare", "mount", "clone", "execve"} <= set(rule["names"])
    assert not {"socket", "connect", "ptrace", "bpf", "keyctl", "io_uring_setup", "setns"} & set(
        rule["names"]
    )


def on_path(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_a_device_that_is_a_mere_file_is_handed_to_no_jail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jail_or_skip()
    (tmp_path / "null").touch()
    monkeypatch.setattr("merilo.sandbox.backends.DEVICES", ("/dev/zero", str(tmp_path / "null")))
    with pytest.raises(MissingPartError, match="null is not the expected device"):
        Bubblewrap(interpreter())


def test_without_bubblewrap_docker_is_taken_and_without_both_only_the_full_spelling_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("auto", "bubblewrap", "docker"):
        with pytest.raises(MissingPartError):
            backend(name)
    for name in ("none", "unsafe", "no-sandbox"):
        with pytest.raises(UsageError):
            backend(name)
    assert isinstance(backend(unsafe_no_sandbox=True), NoJail)
    on_path(tmp_path, "docker", "exit 1")
    with pytest.raises(MissingPartError, match="engine does not answer"):
        Docker("python:3.12-slim")
    with pytest.raises(MissingPartError, match="install bubblewrap, or Docker"):
        backend()
    on_path(tmp_path, "docker", "echo 27.0")
    chosen = backend(python="3.11")
    start = chosen.start(0, Limits())
    assert chosen.name == "docker"
    assert "python:3.11-slim" in start.command
    assert start.settings["jailed"]
    chosen.close()
    with pytest.raises(UsageError, match="not a path"):
        backend("docker", python="/usr/bin/python3")


def test_a_version_finds_its_python_and_a_path_is_taken(tmp_path: Path) -> None:
    own = interpreter()
    minor = ".".join(own.version.split(".")[:2])
    assert interpreter(minor).version.startswith(minor)
    assert interpreter(str(own.executable)).version == own.version
    # A virtual environment stands for the Python below it.
    assert own.executable == own.executable.resolve()
    assert sys.prefix == sys.base_prefix or not own.executable.is_relative_to(sys.prefix)
    on_path(tmp_path, "python", "echo hello")
    for wrong, sentence in (
        ("3.8", r"3\.9 to 3\.14"), ("2.7", r"3\.9 to 3\.14"), ("4.0", r"3\.9 to 3\.14"),
        (str(tmp_path / "none"), "neither a program"), (str(tmp_path / "python"), "does not answer as a Python"),
        ("/bin/true", "does not answer"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=sentence):
            interpreter(wrong)


def test_a_version_means_itself_and_no_other_that_begins_with_the_same_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for patch in ("2", "20"):
        folder = tmp_path / "versions" / f"3.9.{patch}" / "bin"
        folder.mkdir(parents=True)
        facts = {"version": [3, 9, int(patch)], "executable": str(folder), "path": [], "libraries": []}
        on_path(folder, "python3.9", f"echo '{json.dumps(facts)}'")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    for version in ("3.9.2", "3.9.20"):
        assert interpreter(version).version == version


def test_what_is_loaded_into_every_process_here_opens_no_folder_to_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = next(Path("/usr/lib").rglob("libm.so.6"), None)
    if library is None:
        pytest.skip("there is no libm in /usr/lib")
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(library, home / "loaded.so")
    (tmp_path / "python").symlink_to(interpreter().executable)
    monkeypatch.setenv("LD_PRELOAD", str(home / "loaded.so"))
    assert home not in interpreter(str(tmp_path / "python")).needs


def test_where_only_the_python_is_missing_nothing_is_said_about_jails(tmp_path, monkeypatch) -> None:
    jail_or_skip()
    (tmp_path / "bwrap").symlink_to(shutil.which("bwrap"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", "/" + "x" * 5000)  # a place for Pythons that cannot be looked into
    sentence = r"^python: there is no Python 3\.12\.99 on this machine"
    with pytest.raises(MissingPartError, match=sentence) as caught:
        backend("auto", python="3.12.99")
    assert "jail" not in str(caught.value)
