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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
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
    """A hostile program.

    It does no damage even if the jail fails: it attacks only the doctor's targets, undoes its changes, and ends by
    itself.

    Attributes:
        family: what it attacks.
        claim: the property of the jail that it tests.
        sign: the sign of a successful attack; or, if the jail must end the program, the outcomes of which one
            must occur.
        source: source that defines `probe()`, which returns `None` or raises if the attack failed. `@FOLDER@`, `@PORT@`
            and `@PID@` are replaced by the doctor's targets.
    """

    family: str
    claim: str
    sign: Sign | frozenset[Outcome]
    source: str


def _probes(
    family: str, *attacks: tuple[str, Sign | frozenset[Outcome], str], helper: str = ""
) -> tuple[Probe, ...]:
    """Return the probes of a family, from the claim, the sign and the body of `probe` of each."""
    return tuple(
        Probe(family, claim, sign, f"{helper}def probe():\n{indent(body, '    ')}")
        for claim, sign, body in attacks
    )


_FILES: Final = _probes(
    "files",
    ("a file of this machine cannot be read", Sign.SECRET, "return open('@FOLDER@/secret').read()"),
    ("a file cannot be read through another process's root", Sign.SECRET,
     "return open('/proc/1/root@FOLDER@/secret').read()"),
    ("a file cannot be read through a link", Sign.SECRET,
     "import os; os.symlink('@FOLDER@/secret', 'link'); return open('link').read()"),
    ("a file of this machine cannot be written", Sign.FOLDER, "open('@FOLDER@/open', 'w').write('x')"),
    ("a file of this machine cannot be created", Sign.FOLDER, "open('@FOLDER@/new', 'w').close()"),
    ("a file of this machine cannot be locked", Sign.ANSWER, """
import fcntl, random
fcntl.flock(open(random.__file__), fcntl.LOCK_SH | fcntl.LOCK_NB)
return "a lock"
"""),
    ("accounts, settings and home folders are not visible", Sign.ANSWER, """
import os, sys
visible = [path for path in ("/etc/passwd", "/etc/hosts", "/proc/self/environ") if os.path.exists(path)]
for folder in ("/home", "/root", "/proc", "/sys", "/var"):
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        path = os.path.join(folder, name)
        if not (sys.base_prefix + "/").startswith(path + "/"):  # the way to Python itself
            visible.append(path)
return visible or None
"""),
    ("the system is read-only", Sign.ANSWER, """
import os, random
for folder in ("", "/dev", "/etc", "/usr/lib", "/merilo", os.path.dirname(random.__file__)):
    path = folder + "/merilo-doctor-was-here"
    try:
        open(path, "w").close()
    except OSError:
        continue
    os.unlink(path)
    return folder or "/"
"""),
    ("the devices hold no data", Sign.ANSWER, """
import os, stat
harmless = {(1, minor) for minor in (3, 7, 8, 9)}
for name in os.listdir("/dev"):
    status = os.stat("/dev/" + name)
    device = os.major(status.st_rdev), os.minor(status.st_rdev)
    if not stat.S_ISDIR(status.st_mode) and not (stat.S_ISCHR(status.st_mode) and device in harmless):
        return name
"""),
    ("a device cannot be changed, not even its times", Sign.ANSWER, """
import os
status = os.stat("/dev/null")
os.utime("/dev/null", ns=(status.st_atime_ns, status.st_mtime_ns))
return "the times of /dev/null"
"""),
)  # fmt: skip

_NETWORK: Final = _probes(
    "network",
    ("a port of this machine cannot be reached", Sign.CALL,
     "import socket; socket.create_connection(('127.0.0.1', @PORT@), 1)"),
    ("a socket in a folder of this machine cannot be reached", Sign.CALL,
     "import os, socket; os.chdir('@FOLDER@'); socket.socket(socket.AF_UNIX).connect('socket')"),
    ("no socket can be created", Sign.ANSWER, "import socket; socket.socket(); return 'a socket'"),
)  # fmt: skip

_PROCESSES: Final = _probes(
    "processes",
    ("a process of this machine cannot be killed", Sign.DEATH, "import os; os.kill(@PID@, 9)"),
    ("a process's environment cannot be read", Sign.SECRET, "return open('/proc/@PID@/environ').read()"),
    ("a program is process 1 of its own namespace", Sign.ANSWER, """
import os
return None if (os.getpid(), os.getppid()) == (1, 0) else "it is process %d" % os.getpid()
"""),
    ("a program cannot start a process", Sign.ANSWER, """
import os
if os.fork() == 0:
    os._exit(0)
return "a process"
"""),
    ("a program cannot execute another program", frozenset({Outcome.FORBIDDEN}),
     "import os, sys; os.execv(sys.executable, [sys.executable, '-c', ''])"),
)  # fmt: skip

#: Helper of the probes below: `tried` calls the C library and returns the call's name if it succeeded.
_C: Final = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def tried(name, *arguments):
    return name if getattr(libc, name)(*arguments) >= 0 else None
"""

_PRIVILEGES: Final = _probes(
    "privileges",
    ("a program has no capabilities", Sign.ANSWER, """
capabilities = (ctypes.c_uint32 * 6)()
libc.capget((ctypes.c_uint32 * 2)(0x20080522, 0), capabilities)
return list(capabilities) if any(capabilities) else None
"""),
    ("a program cannot create a user namespace", Sign.ANSWER, "return tried('unshare', 0x10000000)"),
    ("a program cannot mount anything", Sign.ANSWER, """
os.mkdir("m")
mounted = tried("mount", b"t", b"m", b"tmpfs", 0, None)
if mounted:
    libc.umount2(b"m", 2)
return mounted
"""),
    ("a program cannot trace a process", Sign.ANSWER, "return tried('ptrace', 0, 0, 0, 0)"),
    ("the system-call filter is active", Sign.ANSWER,
     "os.close(os.memfd_create('x')); return 'memfd_create'"),
    ("a program cannot become root", Sign.ANSWER, "os.setuid(0); return 'root'"),
    helper=_C,
)  # fmt: skip

_LIMITS: Final = _probes(
    "limits",
    ("memory is limited", frozenset({Outcome.MEMORY}), "kept = [bytes(2 ** 26) for _ in range(32)]"),
    ("no memory outlives its mapping", Sign.ANSWER,
     "import mmap; mmap.mmap(-1, 4096); return 'shared memory'"),
    ("time is limited", frozenset({Outcome.TIMEOUT}), """
import time
end = time.monotonic() + 30
while time.monotonic() < end:
    try:
        while time.monotonic() < end:
            pass
    except BaseException:
        pass
"""),
    ("output is limited", frozenset({Outcome.OUTPUT}), "return 'x' * 10 ** 8"),
    ("the number of threads is limited", frozenset({Outcome.EXCEPTION, Outcome.MEMORY}), """
import threading, time
for _ in range(300):
    threading.Thread(target=time.sleep, args=(1,)).start()
"""),
    ("the number of descriptors is limited", frozenset({Outcome.EXCEPTION}),
     "kept = [open('/dev/null') for _ in range(900)]"),
    ("the size of a file is limited", frozenset({Outcome.EXCEPTION, Outcome.EXITED}), """
with open("f", "wb", buffering=0) as file:
    for _ in range(256):
        file.write(bytes(2 ** 20))
"""),
    ("the size of the scratch folder is limited", frozenset({Outcome.EXCEPTION}), """
for number in range(256):
    open(str(number), "wb").write(bytes(2 ** 20))
"""),
)  # fmt: skip

_CRASHES: Final = frozenset({Outcome.SYNTAX_ERROR, Outcome.MEMORY, Outcome.EXITED})
_NESTED: Final = "x = " + "-(" * 50_000 + ")" * 50_000
PROBES: Final = (
    *(*_FILES, *_NETWORK, *_PROCESSES, *_PRIVILEGES, *_LIMITS),
    Probe("limits", "a source that crashes the parser affects nothing else", _CRASHES, _NESTED),
)


#: A kind of trace, the statement that leaves it, and the expression by which the next program could find it.
TRACES: Final = (
    ("files", "open('/tmp/x', 'w').close(); open('/dev/shm/x', 'w').close()",
     "__import__('os').listdir('/tmp') + __import__('os').listdir('/dev/shm') or None"),
    ("the scratch folder's mode and times", "import os; os.utime('/tmp', (1, 1)); os.chmod('/tmp', 0)",
     "[now.st_mode & 0o7777, now.st_mtime] if (now := "
     "__import__('os').stat('/tmp')).st_mode & 0o7777 != 0o1777 or now.st_mtime < 2 else None"),
    ("modules", "import math; math.pi = 3", "'a changed pi' if __import__('math').pi == 3 else None"),
    ("the state of random", "import random; random.seed(5)",
     "'the seed' if __import__('random').random() == __import__('random').Random(5).random() else None"),
    ("the environment", "import os; os.environ['X'] = 'x'", "__import__('os').environ.get('X')"),
)  # fmt: skip

#: Incorrect programs that try to pass a check: the claim and the source.
FORGERIES: Final = (
    ("an object that equals everything does not pass", """
class Equal(str):
    def __eq__(self, other):
        return True
    __hash__ = str.__hash__
def probe():
    return Equal("x")
"""),
    ("a program that exits with status 0 does not pass", """
import os
def probe():
    os._exit(0)
"""),
    ("a program that writes to every descriptor does not pass", """
import os, struct
for descriptor in range(3, 99):
    for message in (b'["completed", ""]', b'["accepted"]'):
        try:
            os.write(descriptor, struct.pack("<I", len(message)) + message)
        except OSError:
            pass
def probe():
    return "x"
"""),
    ("the gold answer is in no frame and in no object", """
import gc, sys
def texts():
    frame = sys._getframe()
    while frame:
        yield from frame.f_locals.values()
        frame = frame.f_back
    for thing in gc.get_objects():
        if isinstance(thing, dict):
            yield from list(dict.values(thing))
def probe():
    for text in texts():
        if isinstance(text, str):
            text = text.encode("utf-8", "replace")
        if isinstance(text, (bytes, bytearray, memoryview)) and b"GOLD" + b"-" in bytes(text):
            return bytes(text).split(b"GOLD" + b"-")[1][:32].decode("latin-1")
"""),
)  # fmt: skip

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

    def aim(self, source: str) -> str:
        """Return the source of a probe with these targets filled in."""
        marks = {"@FOLDER@": self.folder, "@PORT@": self.port, "@PID@": self.bystander.pid}
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
    execution = _run(pool, aims.aim(probe.source))
    if isinstance(probe.sign, frozenset):
        holds, detail = execution.outcome in probe.sign, _ended(execution)
    else:
        holds = not aims.shows(probe.sign, execution)
        detail = f"the program got {execution.texts[0]}" if probe.sign is Sign.ANSWER else probe.sign.value
    return Attempt(probe.family, probe.claim, "" if holds else detail)


def _ended(execution: Execution) -> str:
    return f"the program ended as '{execution.outcome.value}'"


def _neighbours(pool: Pool) -> Iterator[Attempt]:
    for what, leave, look in TRACES:
        _run(pool, f"def probe():\n    {leave}")
        trace = _run(pool, f"def probe():\n    return {look}").texts[0]
        detail = "" if trace == "None" else f"the next program found {trace}"
        yield Attempt("neighbours", f"a program leaves no trace in {what}", detail)


def _verdicts(pool: Pool) -> Iterator[Attempt]:
    gold = secrets.token_hex(16)
    check = Check(f"def check(candidate):\n    assert candidate() == '{gold}'  # GOLD-{gold}\n")
    for claim, source in FORGERIES:
        # Twice: the second run could use what the first run's check left behind.
        passed = any(_run(pool, source, check).outcome is Outcome.COMPLETED for _ in range(2))
        yield Attempt("verdict", claim, "a wrong program passed" if passed else "")
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
