"""Targets on this machine that a program must not reach, and checks whether it did."""

import contextlib
import os
import secrets
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import pytest
from ended_process import ended_process

import merilo
from merilo.errors import MissingPartError
from merilo.sandbox.backends import Bubblewrap, NoJail, Start
from merilo.sandbox.interpreter import NEWEST, OLDEST, Interpreter, interpreter
from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Check, Execution, Limits, Outcome, Program


def jail_or_skip(python: str | None = None) -> Bubblewrap:
    """A sandbox; if the machine does not allow one, the test is skipped with the reason."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    if complaint := complaint_of_bubblewrap():
        pytest.skip(f"bubblewrap does not work here: {complaint}")
    return Bubblewrap(interpreter(python))


@cache
def complaint_of_bubblewrap() -> str:
    """Why bubblewrap itself does not work here; if it does, a jail of ours that fails is our fault and no reason to skip."""
    words = ["bwrap", "--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "true"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else ""


def jailed(limits: Limits | None = None, workers: int = 1, python: str | None = None) -> Pool:
    """A pool whose first worker is up."""
    pool = Pool(workers, backend=jail_or_skip(python), limits=limits or Limits(wall_seconds=5))
    list(pool.run([asked("1")]))
    return pool


def unjailed() -> Pool:
    return Pool(1, backend=NoJail(interpreter()), limits=Limits(wall_seconds=5, processes=8))


@cache
def available() -> list[Interpreter]:
    """One Python of each supported version that is installed, the oldest first."""
    found = []
    for minor in range(OLDEST[1], NEWEST[1] + 1):
        with contextlib.suppress(MissingPartError):
            found.append(interpreter(f"3.{minor}"))
    return found


def changed(jail: Bubblewrap | NoJail, change: Callable[[Start], Start]) -> Bubblewrap | NoJail:
    """The same jail, but that the start of every worker is changed."""
    start = jail.start
    jail.start = lambda number, limits: change(start(number, limits))
    return jail


def with_settings(**settings: object) -> Callable[[Start], Start]:
    return lambda start: replace(start, settings=start.settings | settings)


def without_words(*words: str) -> Callable[[Start], Start]:
    """The same command without these words."""
    return lambda start: replace(start, command=[word for word in start.command if word not in words])


def preceded_by(code: str) -> Callable[[Start], Start]:
    """The same worker, but that this code runs before the worker's own."""
    return lambda start: replace(start, command=[*start.command[:-1], f"{code}\n{start.command[-1]}"])


def asked(answer: str, name: str = "asked") -> Program:
    """A program whose only call gives the value of this expression."""
    return Program(name, f"def attack():\n    return {answer}\n", "attack", ({},))


def only(pool: Pool, source: str, tests: tuple[dict[str, object], ...] | Check = ({},)) -> Execution:
    """Run one program."""
    (execution,) = pool.run([Program("only", source, "attack", tests)])
    return execution


def is_healthy(pool: Pool) -> bool:
    """The pool still runs programs, and they come out as they should."""
    programs = [asked(f"{number} * 2", str(number)) for number in (1, 2)]
    return {execution.id: execution.texts for execution in pool.run(programs)} == {"1": ("2",), "2": ("4",)}


@dataclass
class Arena:
    """What a program must not reach.

    Attributes:
        folder: a folder outside the jail.
        secret: text that stands in `folder/secret`, and in the victim's environment.
        victim: a process outside the jail.
        name: a name that hostile processes give themselves, so that they can be found from outside.
        port: of a TCP listener on this machine; the UDP socket has the same.
        heard: what came over the network.
    """

    folder: Path
    secret: str = field(default_factory=lambda: "SECRET_" + secrets.token_hex(8))
    name: str = field(default_factory=lambda: "m" + secrets.token_hex(6))

    def __post_init__(self) -> None:
        self.heard: list[bytes] = []
        (self.folder / "secret").write_text(self.secret)
        (self.folder / "precious").write_text("precious")
        (self.folder / "precious").chmod(0o644)
        victim = ended_process(
            [sys.executable, "-S", "-c", "import sys; print(flush=True); sys.stdin.read()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"MERILO_TEST_SECRET": self.secret},
        )
        self._ending = contextlib.ExitStack()
        self.victim = self._ending.enter_context(victim)
        self.victim.stdout.readline()
        self._listeners = list(listeners_of_one_port())
        self.port = self._listeners[0].getsockname()[1]
        inside = os.open(self.folder, os.O_RDONLY)  # its name may be longer than an address can be
        for address in (f"/proc/self/fd/{inside}/socket", "\0" + self.name):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(address)
            listener.listen()
            self._listeners.append(listener)
        os.close(inside)
        self._over, over = socket.socketpair()
        self._listeners.append(over)
        self._thread = threading.Thread(target=self._listen, args=(over,))
        self._thread.start()

    def _listen(self, over: socket.socket) -> None:
        with selectors.DefaultSelector() as selector:
            for listener in self._listeners:
                selector.register(listener, selectors.EVENT_READ)
            while True:
                for listener in [key.fileobj for key, _ in selector.select()]:
                    if listener is over:
                        return
                    if listener.type == socket.SOCK_DGRAM:
                        self.heard.append(listener.recv(100))
                        continue
                    with contextlib.suppress(OSError), listener.accept()[0] as connection:
                        self.heard.append(connection.recv(4096))
                        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + self.secret.encode())

    def close(self) -> None:
        self._ending.close()
        self._over.send(b"x")
        self._thread.join(timeout=10)
        for listener in (*self._listeners, self._over):
            listener.close()
        for pid in self.strangers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def strangers(self) -> list[int]:
        """Processes on this machine that bear the arena's name."""
        found = []
        for process in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                # A process may have any bytes for a name, and the kernel cuts a long one within a letter.
                if process.name.isdigit() and (process / "comm").read_bytes().strip() == self.name.encode():
                    found.append(int(process.name))
        return found

    def is_untouched(self) -> bool:
        """Whether the folder is as it was."""
        if not self.folder.exists():
            return False
        names = sorted(path.name for path in self.folder.iterdir())
        precious = self.folder / "precious"
        return (
            names == ["precious", "secret", "socket"]
            and precious.read_text() == "precious"
            and (self.folder / "secret").read_text() == self.secret
            and precious.stat().st_mode & 0o777 == 0o644
            and precious.stat().st_nlink == 1
        )

    def filled_in(self, source: str) -> str:
        """The source of an attack, aimed at this arena."""
        aims = {
            "@FOLDER@": str(self.folder),
            "@PORT@": str(self.port),
            "@VICTIM@": str(self.victim.pid),
            "@NAME@": self.name,
        }
        for mark, aim in aims.items():
            source = source.replace(mark, aim)
        return source


def listeners_of_one_port() -> tuple[socket.socket, socket.socket]:
    """A TCP listener and a UDP socket; the kernel's choice for the one may be taken for the other."""
    while True:
        stream = socket.create_server(("127.0.0.1", 0))
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            datagrams.bind(stream.getsockname())
        except OSError:
            stream.close()
            datagrams.close()
            continue
        return stream, datagrams


@contextlib.contextmanager
def arena_in(folder: Path) -> Iterator[Arena]:
    arena = Arena(folder)
    try:
        yield arena
    finally:
        arena.close()


Harm = Callable[[Arena, Execution], bool]


def tells_the_secret(arena: Arena, execution: Execution) -> bool:
    return arena.secret in f"{execution.texts}{execution.message}"


def changes_files(arena: Arena, execution: Execution) -> bool:
    return not arena.is_untouched()


def is_heard(arena: Arena, execution: Execution) -> bool:
    return bool(arena.heard)


def kills_the_victim(arena: Arena, execution: Execution) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        arena.victim.wait(1)
    return arena.victim.returncode is not None


def leaves_processes(arena: Arena, execution: Execution) -> bool:
    return bool(arena.strangers())


def says_so(arena: Arena, execution: Execution) -> bool:
    """The program itself reports that it got through; for what leaves no trace elsewhere."""
    return "GOT THROUGH" in f"{execution.texts}"


@dataclass(frozen=True)
class Attack:
    """A hostile program.

    Attributes:
        name: what it tries.
        source: defines `attack()`; may aim at the arena.
        harm: whether it did harm, seen from outside.
        safe: whether it may be tried without a jail, where it must do harm: this shows that the attack is a real one.
    """

    name: str
    source: str
    harm: Harm
    safe: bool = True

    def on(self, pool: Pool, arena: Arena) -> bool:
        """Try it; whether it did harm."""
        execution = only(pool, arena.filled_in(self.source))
        assert execution.outcome in Outcome
        return self.harm(arena, execution)


def names(attacks: list[Attack]) -> list[str]:
    return [attack.name for attack in attacks]


#: A process that holds a pool with a long program in every worker, and prints its processes; to be killed.
HOLDER = """
from merilo.sandbox.backends import backend
from merilo.sandbox.doctor import descendants
from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Check, Limits, Program
check = Check("def check(c):\\n    assert c() == 1")
stuck = Check("import ctypes\\nctypes.CDLL(None).prctl(15, b'stuck', 0, 0, 0)\\ndef check(c):\\n    while True:\\n        pass")
loop = "def f():\\n    open('left', 'w').write('x' * 10000)\\n    while True:\\n        pass"
programs = [Program("quick", "def f():\\n    return 1", "f", check)] * 8
with Pool({workers}, backend=backend({backend}), limits=Limits(wall_seconds=600, cpu_seconds=600)) as pool:
    long = [Program("long", loop, "f", test) for test in (stuck, check, ({{}},))]
    run = pool.run(programs + long * 2)
    for _ in range(8):
        next(run)
    print(*[pid for worker in pool.pids for pid in (worker, *descendants(worker))], flush=True)
    next(run)
"""


def holder(
    backend: str, workers: int, **environment: str
) -> contextlib.AbstractContextManager[subprocess.Popen]:
    command = [sys.executable, "-c", HOLDER.format(backend=backend, workers=workers)]
    search = {"PYTHONPATH": str(Path(merilo.__file__).parent.parent)}
    return ended_process(command, stdout=subprocess.PIPE, env=os.environ | search | environment)


#: Programs whose outcome must be the same on every Python and in every jail.
PROGRAMS = [
    Program("right", "def f(x):\n    return x * 2", "f", ({"x": 2}, {"x": "ab"}, {"x": [1.5, None]})),
    Program("raises", "def f(x):\n    return 1 // x", "f", ({"x": 2}, {"x": 0})),
    Program("locals", "import math\ndef g(n):\n    return math.sqrt(n)\ndef f(x):\n    return g(x)", "f", ({"x": 4},)),
    Program("syntax", "def f(x) return", "f", ({"x": 2},)),
    Program("missing", "def g(x):\n    return x", "f", ({"x": 2},)),
    Program("value", "f = 5", "f", ({"x": 2},)),
    Program("memory", "def f(x):\n    return bytearray(10 ** 11)", "f", ({"x": 2},)),
    Program("time", "def f(x):\n    while True:\n        pass", "f", ({"x": 2},)),
    Program("fork", "import os\ndef f(x):\n    return os.fork()", "f", ({"x": 2},)),
    Program("exit", "import os\ndef f(x):\n    os._exit(3)", "f", ({"x": 2},)),
    Program("quit", "def f(x):\n    exit(3)", "f", ({"x": 2},)),
    Program("big", "def f(x):\n    return 7 ** x", "f", ({"x": 6000},)),
    Program("many", "def f(x):\n    return 2 * x", "f", tuple({"x": n} for n in range(500))),
    Program("random", "import random\ndef f(x):\n    return random.randint(1, 10 ** 9)", "f", ({"x": 1},)),
    Program("check", "def f(x):\n    return [x]", "f", Check("def check(c):\n    assert c(3) == [3] and c(x=()) == [()]")),
    Program("refused", "def f(x):\n    return x", "f", Check("def check(c):\n    assert c(3) == 4")),
    Program("surrogate", "def f(x):\n    return x + chr(0xd800)", "f", ({"x": "ё"},)),
]  # fmt: skip
OUTCOMES = {program.id: "completed" for program in PROGRAMS} | {
    "raises": "exception", "syntax": "syntax_error", "missing": "no_such_function", "value": "no_such_function",
    "memory": "memory", "time": "timeout", "fork": "forbidden", "exit": "exited", "quit": "exception", "refused": "refused",
}  # fmt: skip
