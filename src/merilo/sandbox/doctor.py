"""Does the jail hold on this machine? Found out by trying to break it.

Every probe is a hostile program. It runs in the pool as any program does, aimed at real things outside: a file, a
listener, a process. Whether it did harm is seen from outside, as far as harm can be seen there.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from merilo.errors import UsageError
from merilo.sandbox.pool import Pool
from merilo.sandbox.probes import FORGERIES, PROBES, TRACES, Probe, Sign
from merilo.sandbox.program import Check, Execution, Outcome, Program

#: Stands by, and clears the folder away if the doctor is killed.
_BYSTANDER: Final = "import shutil, sys; sys.stdin.read(); shutil.rmtree(sys.argv[1], ignore_errors=True)"

#: Seconds that a killed process may take to be seen dead.
_DYING: Final = 5.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one attempt.

    Attributes:
        family: what was attacked.
        claim: what the jail promises.
        held: whether it kept it.
        detail: what was seen, where it did not.
    """

    family: str
    claim: str
    held: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Targets:
    """Things on this machine that no program may reach.

    Attributes:
        folder: a folder with a file `secret`, and a file `open` that anybody may write.
        secret: what stands in it, and in the bystander's environment.
        bystander: a process.
        listeners: sockets that nobody may connect to: a port of this machine, a socket in the folder.
        port: the first one's.
    """

    folder: Path
    secret: str
    bystander: subprocess.Popen[bytes]
    listeners: Sequence[socket.socket]
    port: int

    def shows(self, sign: Sign, execution: Execution) -> bool:
        """Whether harm shows in this way."""
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

    def aim(self, source: str) -> str:
        """The source of a probe, aimed at these."""
        marks = {"@FOLDER@": self.folder, "@PORT@": self.port, "@PID@": self.bystander.pid}
        for mark, aim in marks.items():
            source = source.replace(mark, str(aim))
        return source


@contextmanager
def targets() -> Iterator[Targets]:
    """Something to aim at, for the length of a block."""
    secret = secrets.token_hex(16)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="merilo-doctor-")))
        # Anybody may enter: what keeps a program out must be the jail, not the folder's mode.
        folder.chmod(0o755)
        (folder / "secret").write_text(secret)
        (folder / "open").touch()
        (folder / "open").chmod(0o666)
        network = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        local = stack.enter_context(socket.socket(socket.AF_UNIX))
        inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, inside)
        # An address has room for 107 bytes, and the folder's own name may be longer.
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


def examine(pool: Pool) -> Iterator[Finding]:
    """Try to break out of the pool's jails.

    Args:
        pool: a pool whose programs may be one process each.

    Yields:
        A finding for each promise, in a fixed order.

    Raises:
        MissingPartError: no jail works here.
        UsageError: the pool has no jail; hostile programs are never run without one.
    """
    if not pool.backend.jailed:
        raise UsageError("only a jail can be examined: hostile programs are never run without one")
    with targets() as aims:
        for probe in PROBES:
            yield _tried(probe, pool, aims)
    yield from _neighbours(pool)
    yield from _verdicts(pool)
    yield from _workers(pool)


def _tried(probe: Probe, pool: Pool, aims: Targets) -> Finding:
    execution = _run(pool, aims.aim(probe.source))
    if isinstance(probe.sign, frozenset):
        held = execution.outcome in probe.sign
        detail = f"the program ended as '{execution.outcome.value}'"
    else:
        held = not aims.shows(probe.sign, execution)
        detail = f"the program got {execution.texts[0]}" if probe.sign is Sign.ANSWER else probe.sign.value
    return Finding(probe.family, probe.claim, held, "" if held else detail)


def _neighbours(pool: Pool) -> Iterator[Finding]:
    for what, leave, look in TRACES:
        _run(pool, f"def probe():\n    {leave}")
        found = _run(pool, f"def probe():\n    return {look}").texts[0]
        held = found == "None"
        yield Finding(
            "neighbours",
            f"of {what}, a program leaves the next nothing",
            held,
            "" if held else f"the next found {found}",
        )


def _verdicts(pool: Pool) -> Iterator[Finding]:
    gold = secrets.token_hex(16)
    check = Check(f"def check(candidate):\n    assert candidate() == '{gold}'  # GOLD-{gold}\n")
    for claim, source in FORGERIES:
        # Twice: what is left of the first one's check would serve the second.
        held = all(_run(pool, source, check).outcome is not Outcome.COMPLETED for _ in range(2))
        yield Finding("verdict", claim, held, "" if held else "a wrong program passed")
    outcome = _run(pool, f"def probe():\n    return '{gold}'", check).outcome
    held = outcome is Outcome.COMPLETED
    yield Finding("verdict", "a right program passes", held, "" if held else f"it ended as '{outcome.value}'")


def _workers(pool: Pool) -> Iterator[Finding]:
    """Kill the workers: programs are run by new ones, nothing of the old ones is left."""
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
    yield Finding(
        "workers",
        "a killed worker takes all its processes with it",
        not left,
        f"{left} are left" if left else "",
    )
    execution = _run(pool, "def probe():\n    return 6 * 7")
    held = execution.texts == ("42",)
    yield Finding("workers", "and is replaced", held, "" if held else execution.message)


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *descendants(child)]
    return found


def _run(pool: Pool, source: str, tests: Check | tuple[dict[str, object], ...] = ({},)) -> Execution:
    (execution,) = pool.run([Program("probe", source, "probe", tests)])
    return execution


def _was_called(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True
