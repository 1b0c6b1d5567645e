"""Tests of the jail on this machine: attempts to break out of it.

Every probe is a hostile program that runs in the pool as any other program. It attacks real targets outside the jail: a
file, a listening socket, a process. The doctor checks from outside, where possible, whether the attack succeeded.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from importlib.resources import files
from pathlib import Path
from textwrap import indent
from typing import Final

from merilo.errors import UsageError
from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Check, Execution, Outcome, Program


class Sign(Enum):
    """The sign of a successful attack."""

    SECRET = "it read the secret"  # noqa: S105 - no password
    FOLDER = "the folder was changed"
    CALL = "it reached a socket outside"
    DEATH = "the process is dead"
    ANSWER = "the program reports it"


@dataclass(frozen=True, slots=True)
class Probe:
    """A hostile program of the table `probes.toml`.

    Attributes:
        family: what it attacks.
        claim: the property of the jail that it tests.
        source: the body of `probe()`, which returns `None` or raises if the attack failed.
        before: what stands before the function.
        sign: the sign of a successful attack.
        ends: if the jail must end the program, the outcomes of which one must occur.
    """

    family: str
    claim: str
    source: str
    before: str = ""
    sign: Sign | None = None
    ends: frozenset[Outcome] = frozenset()


def _probe(sign: str | None = None, ends: Sequence[str] = (), **texts: str) -> Probe:
    return Probe(**texts, sign=Sign(sign) if sign else None, ends=frozenset(map(Outcome, ends)))


#: Read without Pydantic, so that any Python with Merilo's sources can examine its machine.
_TABLE: Final = tomllib.loads((files("merilo.sandbox") / "probes.toml").read_text("utf-8"))
PROBES: Final = tuple(_probe(**row) for row in _TABLE["probe"])

_NESTED: Final = "-(" * 50_000 + ")" * 50_000

#: Source of the bystander process, a target of probes, which removes the folder if the doctor is killed.
_BYSTANDER: Final = "import shutil, sys; sys.stdin.read(); shutil.rmtree(sys.argv[1], ignore_errors=True)"

#: Seconds within which a killed process must end.
_DYING: Final = 5.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of one attempt.

    Attributes:
        family: what was attacked.
        claim: the property of the jail that was tested.
        detail: what was observed if the property does not hold; otherwise empty.
    """

    family: str
    claim: str
    detail: str = ""

    @property
    def held(self) -> bool:
        """Whether the property holds."""
        return not self.detail


@dataclass(frozen=True, slots=True)
class Targets:
    """Things on this machine that no program may reach.

    Attributes:
        folder: a folder with a file `secret`, and a file `open` that anybody may write.
        secret: the text of the file `secret` and of a variable in the bystander's environment.
        bystander: a process.
        listeners: listening sockets: a port of this machine, and a socket in the folder.
        port: the port of the first listener.
    """

    folder: Path
    secret: str
    bystander: subprocess.Popen[bytes]
    listeners: Sequence[socket.socket]
    port: int

    def shows(self, sign: Sign, execution: Execution) -> bool:
        """Return whether this sign of a successful attack is present."""
        match sign:
            case Sign.SECRET:
                return self.secret in f"{execution.texts}{execution.message}"
            case Sign.FOLDER:
                names = sorted(path.name for path in self.folder.iterdir())
                return names != ["open", "secret", "socket"] or (self.folder / "open").stat().st_size > 0
            case Sign.CALL:
                return any(_was_called(listener) for listener in self.listeners)
            case Sign.DEATH:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.bystander.wait(0.2)
                return self.bystander.returncode is not None
            case Sign.ANSWER:
                return execution.texts[0] not in {"None", None}

    def aim(self, probe: Probe) -> str:
        """Return the source of a probe with these targets filled in."""
        source = f"{probe.before}def probe():\n{indent(probe.source, '    ')}"
        marks = {
            "@FOLDER@": self.folder,
            "@PORT@": self.port,
            "@PID@": self.bystander.pid,
            "@NESTED@": _NESTED,
        }
        for mark, aim in marks.items():
            source = source.replace(mark, str(aim))
        return source


@contextmanager
def targets() -> Iterator[Targets]:
    """Create targets for a `with` block."""
    secret = secrets.token_hex(16)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="merilo-doctor-")))
        # Everybody may enter, so that only the jail, and not the folder's mode, keeps a program out.
        folder.chmod(0o755)
        (folder / "secret").write_text(secret)
        (folder / "open").touch()
        (folder / "open").chmod(0o666)
        network = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        local = stack.enter_context(socket.socket(socket.AF_UNIX))
        inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, inside)
        # A socket's address holds at most 107 bytes, and the folder's path may be longer.
        local.bind(f"/proc/self/fd/{inside}/socket")
        local.listen()
        for listener in (network, local):
            listener.setblocking(False)
        bystander = stack.enter_context(
            subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, "-S", "-c", _BYSTANDER, str(folder)],
                stdin=subprocess.PIPE,
                env={"MERILO_SECRET": secret},
            )
        )
        stack.callback(bystander.kill)
        yield Targets(folder, secret, bystander, (network, local), network.getsockname()[1])


def examine(pool: Pool) -> Iterator[Attempt]:
    """Try to break out of the pool's jails.

    Args:
        pool: a pool whose programs may use only one process each.

    Yields:
        A finding for each tested property, in a fixed order.

    Raises:
        MissingPartError: no jail works on this machine.
        UsageError: the pool has no jail; hostile programs are never run without one.
    """
    if not pool.backend.jailed:
        raise UsageError("only a sandbox can be examined: hostile programs are never run without one")
    with targets() as aims:
        for probe in PROBES:
            yield _tried(probe, pool, aims)
    yield from _neighbours(pool)
    yield from _verdicts(pool)
    yield from _workers(pool)


def _tried(probe: Probe, pool: Pool, aims: Targets) -> Attempt:
    execution = _run(pool, aims.aim(probe))
    if probe.sign is None:
        holds, detail = execution.outcome in probe.ends, _ended(execution)
    else:
        holds = not aims.shows(probe.sign, execution)
        detail = f"the program got {execution.texts[0]}" if probe.sign is Sign.ANSWER else probe.sign.value
    return Attempt(probe.family, probe.claim, "" if holds else detail)


def _ended(execution: Execution) -> str:
    return f"the program ended as '{execution.outcome.value}'"


def _neighbours(pool: Pool) -> Iterator[Attempt]:
    for trace in _TABLE["trace"]:
        _run(pool, f"def probe():\n    {trace['leave'].strip()}")
        seen = _run(pool, f"def probe():\n    return {trace['look'].strip()}").texts[0]
        detail = "" if seen == "None" else f"the next program found {seen}"
        yield Attempt("neighbours", f"a program leaves no trace in {trace['what']}", detail)


def _verdicts(pool: Pool) -> Iterator[Attempt]:
    gold = secrets.token_hex(16)
    check = Check(f"def check(candidate):\n    assert candidate() == '{gold}'  # GOLD-{gold}\n")
    for forgery in _TABLE["forgery"]:
        # Twice: the second run could use what the first run's check left behind.
        passed = any(_run(pool, forgery["source"], check).outcome is Outcome.COMPLETED for _ in range(2))
        yield Attempt("verdict", forgery["claim"], "a wrong program passed" if passed else "")
    execution = _run(pool, f"def probe():\n    return '{gold}'", check)
    detail = "" if execution.outcome is Outcome.COMPLETED else _ended(execution)
    yield Attempt("verdict", "a correct program passes", detail)


def _workers(pool: Pool) -> Iterator[Attempt]:
    """Kill the workers; check that their processes end and that new workers run programs."""
    before = [pid for worker in pool.pids for pid in (worker, *descendants(worker))]
    with contextlib.ExitStack() as stack:
        watched = {pid: os.pidfd_open(pid) for pid in before}
        for descriptor in watched.values():
            stack.callback(os.close, descriptor)
        for pid in pool.pids:
            os.kill(pid, signal.SIGKILL)
        left = [
            pid for pid, descriptor in watched.items() if not select.select([descriptor], [], [], _DYING)[0]
        ]
    detail = f"the processes {left} are still running" if left else ""
    yield Attempt("workers", "all processes of a killed worker end", detail)
    execution = _run(pool, "def probe():\n    return 6 * 7")
    detail = "" if execution.texts == ("42",) else execution.message or _ended(execution)
    yield Attempt("workers", "a killed worker is replaced", detail)


def descendants(pid: int) -> list[int]:
    """Return the ids of all descendants of a process."""
    pids: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                pids += [child, *descendants(child)]
    return pids


def _run(pool: Pool, source: str, tests: Check | tuple[dict[str, object], ...] = ({},)) -> Execution:
    (execution,) = pool.run([Program("probe", source, "probe", tests)])
    return execution


def _was_called(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True
