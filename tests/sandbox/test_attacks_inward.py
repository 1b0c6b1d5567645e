"""Attacks on the worker: its memory, its time, its interpreter, and the programs that come after."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from sandbox_arena import is_healthy, jailed, only

from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Limits, Outcome, Program

MEBIBYTE = 2**20
LIMITS = Limits(
    wall_seconds=0.75,
    memory_bytes=256 * MEBIBYTE,
    scratch_bytes=8 * MEBIBYTE,
    file_bytes=2 * MEBIBYTE,
    output_bytes=100_000,
    threads=8,
)


@pytest.fixture(scope="module")
def tight_pool() -> Iterator[Pool]:
    """A worker that gives a program little time."""
    with jailed(LIMITS) as pool:
        yield pool


@pytest.fixture(scope="module")
def patient_pool() -> Iterator[Pool]:
    """A worker with the same bounds, but time: on a busy machine, too, memory ends before it."""
    with jailed(replace(LIMITS, wall_seconds=30)) as pool:
        yield pool


@dataclass(frozen=True)
class Bomb:
    """A program that takes more than it may, and how that ends."""

    name: str
    source: str
    ends: set[Outcome]


#: Takes 640 MiB, and never more than a few of them at addresses of its own.
UNMAPPED = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
def attack():
    for _ in range(40):
        block = libc.mmap(None, 2 ** 24, 3, {flags}, {descriptor}, 0)
        if block == 2 ** 64 - 1:
            raise OSError(ctypes.get_errno(), 'no')
        ctypes.memset(block, 1, 2 ** 24)
        libc.munmap(block + 4096, 2 ** 24 - 4096)
    return 'took it'
"""

#: The kernel's memory, which no limit of a process's own counts.
TIMERS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def attack():
    timer = ctypes.c_void_p()
    for _ in range(20_000):
        if libc.timer_create(1, None, ctypes.byref(timer)):
            raise OSError(ctypes.get_errno(), 'no more')
"""

MEMORY = [
    Bomb("one large block", "def attack():\n    return len(bytearray(10 ** 10))", {Outcome.MEMORY}),
    Bomb("a list that grows", "def attack():\n    a = [0]\n    while True:\n        a += a", {Outcome.MEMORY}),
    Bomb("many mappings", "import mmap\ndef attack():\n    kept = []\n    while True:\n        kept.append(mmap.mmap(-1, 2 ** 24, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))", {Outcome.MEMORY, Outcome.FORBIDDEN, Outcome.EXCEPTION}),
    Bomb("a text that doubles", "def attack():\n    s = 'x'\n    while True:\n        s += s", {Outcome.MEMORY}),
    Bomb("a compressed bomb", "import zlib\ndef attack():\n    return len(zlib.decompress(zlib.compress(bytes(10 ** 8)) * 1 , bufsize=2 ** 30))", {Outcome.MEMORY}),
    Bomb("memory that nobody names", "def attack():\n    try:\n        while True:\n            attack.kept = getattr(attack, 'kept', []) + [bytearray(2 ** 24)]\n    except MemoryError:\n        del attack.kept\n        raise", {Outcome.MEMORY}),
    Bomb("shared memory that stays whole while one page of it is mapped", UNMAPPED.format(flags="0x21", descriptor="-1"), {Outcome.FORBIDDEN}),
    Bomb("the same by way of a device", UNMAPPED.format(flags="1", descriptor="os.open('/dev/zero', 2)"), {Outcome.EXCEPTION}),
    Bomb("timers without end", TIMERS, {Outcome.FORBIDDEN, Outcome.EXCEPTION}),
    Bomb("large pipes", "import fcntl, os\ndef attack():\n    return [fcntl.fcntl(os.pipe()[1], 1031, 2 ** 20) for _ in range(20)]", {Outcome.FORBIDDEN}),
    Bomb("a file in memory", "import os\ndef attack():\n    return os.memfd_create('x')", {Outcome.FORBIDDEN}),
    Bomb("shared memory that stays", "import ctypes\ndef attack():\n    key = ctypes.CDLL(None, use_errno=True).shmget(77, 4096, 0o1666)\n    if key < 0:\n        raise OSError(ctypes.get_errno(), 'no')\n    return key", {Outcome.FORBIDDEN}),
]  # fmt: skip

FILES = [
    Bomb("a large file", "def attack():\n    with open('f', 'wb') as f:\n        while True:\n            f.write(bytes(2 ** 20))", {Outcome.EXCEPTION, Outcome.EXITED}),
    Bomb("many files", "def attack():\n    for n in range(10 ** 6):\n        open(str(n), 'w').close()", {Outcome.EXCEPTION}),
    Bomb("a full folder", "import itertools\ndef attack():\n    for n in itertools.count():\n        open(str(n), 'wb').write(bytes(10 ** 6))", {Outcome.EXCEPTION}),
    Bomb("a full folder of shared memory", "import itertools\ndef attack():\n    for n in itertools.count():\n        open('/dev/shm/%d' % n, 'wb').write(bytes(10 ** 6))", {Outcome.EXCEPTION}),
    Bomb("folders without end", "import os\ndef attack():\n    while True:\n        os.mkdir('d')\n        os.chdir('d')", {Outcome.EXCEPTION}),
    Bomb("many descriptors", "def attack():\n    return [open('/dev/null') for _ in range(10 ** 5)]", {Outcome.EXCEPTION}),
]  # fmt: skip

OUTPUT = [
    Bomb("a long answer", "def attack():\n    return 'x' * 10 ** 7", {Outcome.OUTPUT}),
    Bomb("a long number", "def attack():\n    return 1 << 400_000", {Outcome.OUTPUT}),
    Bomb("printing without end", "def attack():\n    while True:\n        print('x' * 10 ** 6)", {Outcome.TIMEOUT}),
    Bomb("a long complaint", "def attack():\n    raise ValueError('x' * 10 ** 7)", {Outcome.EXCEPTION}),
    Bomb("a type with a long name", "def attack():\n    raise type('E' * 10 ** 6, (Exception,), {})", {Outcome.EXCEPTION}),
    Bomb("a flood into every descriptor", "import os\ndef attack():\n    while True:\n        for d in range(3, 60):\n            try:\n                os.write(d, b'x' * 65536)\n            except OSError:\n                pass", {Outcome.OUTPUT, Outcome.TIMEOUT}),
]  # fmt: skip

PARSER = [
    Bomb("parentheses", "x = " + "(" * 100_000 + ")" * 100_000, {Outcome.SYNTAX_ERROR, Outcome.MEMORY}),
    Bomb("a chain of minus signs", "x = " + "-" * 200_000 + "1", {Outcome.SYNTAX_ERROR, Outcome.MEMORY, Outcome.EXITED}),
    Bomb("a chain of additions", "x = " + "+".join(["1"] * 200_000), {Outcome.SYNTAX_ERROR, Outcome.MEMORY, Outcome.EXITED, Outcome.NO_SUCH_FUNCTION}),
    Bomb("a chain of attributes", "x" + ".x" * 200_000, {Outcome.SYNTAX_ERROR, Outcome.MEMORY, Outcome.EXITED, Outcome.EXCEPTION}),
    Bomb("nested functions", "".join(" " * n + "def f():\n" for n in range(99)) + " " * 99 + "pass", {Outcome.SYNTAX_ERROR, Outcome.NO_SUCH_FUNCTION}),
    Bomb("nested format strings", "x = " + "f'{" * 500 + "1" + "}'" * 500, {Outcome.SYNTAX_ERROR}),
    Bomb("constants to be folded", "x = 'x' * 10 ** 10", {Outcome.MEMORY, Outcome.SYNTAX_ERROR}),
    Bomb("a power to be folded", "x = ((((9 ** 99999) ** 99) ** 99) ** 99)", {Outcome.TIMEOUT, Outcome.MEMORY, Outcome.NO_SUCH_FUNCTION, Outcome.EXCEPTION}),
    Bomb("a declared encoding", "# -*- coding: utf-7 -*-\n+AGYAbwByACA-", {Outcome.SYNTAX_ERROR}),
    Bomb("NUL bytes", "def attack():\n    return '\0'", {Outcome.SYNTAX_ERROR}),
    Bomb("half a surrogate", "def attack():\n    return '\ud800'", {Outcome.SYNTAX_ERROR}),
    Bomb("twenty megabytes", "x = '" + "x" * 20_000_000 + "'", {Outcome.NO_SUCH_FUNCTION, Outcome.MEMORY, Outcome.SYNTAX_ERROR}),
]  # fmt: skip

TIME = [
    Bomb("a loop", "def attack():\n    while True:\n        pass", {Outcome.TIMEOUT}),
    Bomb("a loop while loading", "while True:\n    pass", {Outcome.TIMEOUT}),
    Bomb("sleep", "import time\ndef attack():\n    time.sleep(10 ** 6)", {Outcome.TIMEOUT}),
    Bomb("a loop that swallows everything", "def attack():\n    while True:\n        try:\n            while True:\n                pass\n        except BaseException:\n            pass", {Outcome.TIMEOUT}),
    Bomb("a loop that ignores signals", "import signal\nfor n in range(1, 65):\n    try:\n        signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError):\n        pass\nwhile True:\n    pass", {Outcome.TIMEOUT}),
    Bomb("a loop in the result's text", "class R:\n    def __str__(self):\n        while True:\n            pass\ndef attack():\n    return R()", {Outcome.TIMEOUT}),
    Bomb("a loop in the error's text", "class E(Exception):\n    def __str__(self):\n        while True:\n            pass\ndef attack():\n    raise E", {Outcome.TIMEOUT}),
    Bomb("a power", "def attack():\n    return len(str(9 ** 9 ** 9))", {Outcome.TIMEOUT, Outcome.MEMORY}),
    Bomb("a regular expression", "import re\ndef attack():\n    return re.match('(a+)+$', 'a' * 64 + 'b')", {Outcome.TIMEOUT}),
    Bomb("a deadlock", "import threading\ndef attack():\n    lock = threading.Lock()\n    lock.acquire()\n    lock.acquire()", {Outcome.TIMEOUT}),
    Bomb("stopping itself", "import os, signal\ndef attack():\n    os.kill(os.getpid(), signal.SIGSTOP)\n    while True:\n        pass", {Outcome.TIMEOUT}),
    Bomb("many threads", "import threading, time\ndef attack():\n    while True:\n        threading.Thread(target=time.sleep, args=(99,)).start()", {Outcome.EXCEPTION, Outcome.MEMORY}),
    Bomb("busy threads", "import threading\ndef run():\n    while True:\n        pass\ndef attack():\n    for _ in range(4):\n        threading.Thread(target=run).start()\n    run()", {Outcome.TIMEOUT}),
    Bomb("setting the clock", "import time\ndef attack():\n    time.clock_settime(time.CLOCK_REALTIME, 0)", {Outcome.FORBIDDEN}),
    Bomb("closing its way out and going on", "import os\ndef attack():\n    os.closerange(3, 100)\n    while True:\n        pass", {Outcome.EXITED}),
    Bomb("more time for itself", "import resource\ndef attack():\n    resource.setrlimit(resource.RLIMIT_CPU, (10 ** 6, 10 ** 6))", {Outcome.EXCEPTION}),
    Bomb("an answer that drips", "import os, time\ndef attack():\n    while True:\n        for d in range(3, 60):\n            try:\n                os.write(d, b'x')\n            except OSError:\n                pass\n        time.sleep(0.001)", {Outcome.TIMEOUT}),
    Bomb("an answer, and then a loop at the end", "import atexit\ndef loop():\n    while True:\n        pass\natexit.register(loop)\ndef attack():\n    return 1", {Outcome.COMPLETED}),
]  # fmt: skip

INTERPRETER = [
    Bomb("recursion", "def attack():\n    return attack()", {Outcome.EXCEPTION}),
    Bomb("recursion without a limit", "import sys\ndef attack():\n    sys.setrecursionlimit(10 ** 9)\n    f = lambda: f()\n    return f()", {Outcome.EXITED, Outcome.MEMORY, Outcome.TIMEOUT}),
    Bomb("recursion in C", "import sys\nsys.setrecursionlimit(10 ** 9)\nclass R:\n    def __repr__(self):\n        return repr([self])\ndef attack():\n    return repr(R())", {Outcome.EXITED, Outcome.MEMORY, Outcome.EXCEPTION}),
    Bomb("reading address 0", "import ctypes\ndef attack():\n    return ctypes.string_at(0)", {Outcome.EXITED}),
    Bomb("writing over None", "import ctypes\ndef attack():\n    ctypes.memset(id(None), 0, 16)\n    return [None] * 10", {Outcome.EXITED, Outcome.COMPLETED, Outcome.EXCEPTION, Outcome.TIMEOUT}),
    Bomb("code that is none", "def attack():\n    pass\nattack.__code__ = attack.__code__.replace(co_code=b'\\xff\\x00' * 50)", {Outcome.EXITED, Outcome.EXCEPTION, Outcome.TIMEOUT, Outcome.MEMORY}),
    Bomb("marshalled nonsense", "import marshal\ndef attack():\n    return marshal.loads(b'c' + b'\\xff' * 400)", {Outcome.EXITED, Outcome.EXCEPTION, Outcome.MEMORY}),
    Bomb("abort", "import os\ndef attack():\n    os.abort()", {Outcome.EXITED}),
    Bomb("leaving by the first thread alone", "import ctypes, threading, time\ndef attack():\n    threading.Thread(target=time.sleep, args=(99,)).start()\n    ctypes.CDLL(None).syscall(60, 0)", {Outcome.TIMEOUT}),
    Bomb("deaf to every signal", "import signal\ndef attack():\n    for number in set(range(1, 65)) - {9, 19, 32, 33}:\n        signal.signal(number, signal.SIG_IGN)\n    while True:\n        pass", {Outcome.TIMEOUT}),
    Bomb("a name and a message that lie about themselves", "class S(str):\n    def __getitem__(self, key):\n        return object()\nclass E(Exception):\n    def __str__(self):\n        return S('a')\ndef attack():\n    raise E", {Outcome.EXITED}),
    Bomb("a folder below a folder, 4000 times", "import os\ndef attack():\n    for _ in range(4000):\n        os.mkdir('d')\n        os.chdir('d')\n    return 1", {Outcome.COMPLETED}),
    Bomb("leaving", "import os\ndef attack():\n    os._exit(0)", {Outcome.EXITED}),
    Bomb("SystemExit", "def attack():\n    raise SystemExit", {Outcome.EXCEPTION}),
    Bomb("KeyboardInterrupt", "def attack():\n    raise KeyboardInterrupt", {Outcome.EXCEPTION}),
    Bomb("an exception of its own base", "class E(BaseException):\n    pass\ndef attack():\n    raise E", {Outcome.EXCEPTION}),
    Bomb("an exception that cannot be told", "class M(type):\n    @property\n    def __name__(cls):\n        raise SystemExit\nclass E(Exception, metaclass=M):\n    def __str__(self):\n        raise MemoryError\ndef attack():\n    raise E", {Outcome.EXCEPTION}),
    Bomb("a result that cannot be told", "class R:\n    def __str__(self):\n        raise GeneratorExit\ndef attack():\n    return R()", {Outcome.EXCEPTION}),
    Bomb("a timer", "import signal, time\ndef attack():\n    signal.setitimer(signal.ITIMER_REAL, 0.05)\n    time.sleep(0.1)\n    return 1", {Outcome.COMPLETED, Outcome.EXITED}),
    Bomb("no builtins", "import builtins\nfor name in list(vars(builtins)):\n    delattr(builtins, name)\ndef attack():\n    return 1", {Outcome.EXITED, Outcome.EXCEPTION}),
    Bomb("the harness replaced", "import sys\nfor name, module in list(sys.modules.items()):\n    if 'merilo' in name:\n        vars(module).clear()\ndef attack():\n    return 1", {Outcome.EXITED, Outcome.EXCEPTION}),
    Bomb("the fork server's loop entered again", "import sys\ndef attack():\n    frame = sys._getframe()\n    while 'control' not in frame.f_locals:\n        frame = frame.f_back\n    known = frame.f_locals\n    sys.modules['merilo.sandbox.inside.fork_server']._serve_forks(known['control'], known['setup'], {'scratch': ['/tmp'], 'output': 1000})", {Outcome.EXCEPTION, Outcome.EXITED, Outcome.FORBIDDEN}),
    Bomb("a PID namespace of its own", "import sys\ndef attack():\n    frame = sys._getframe()\n    while 'setup' not in frame.f_locals:\n        frame = frame.f_back\n    return frame.f_locals['setup'].fork()", {Outcome.FORBIDDEN}),
    Bomb("a lease on a file", "import fcntl\ndef attack():\n    with open('/tmp/leased', 'w') as file:\n        return fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)", {Outcome.FORBIDDEN}),
    Bomb("forking", "import os\ndef attack():\n    return os.fork()", {Outcome.FORBIDDEN}),
    Bomb("another program", "import subprocess, sys\ndef attack():\n    return subprocess.run([sys.executable, '-c', ''])", {Outcome.FORBIDDEN}),
]  # fmt: skip

#: System calls by their numbers on x86_64, with arguments that could not harm even if they were let through.
SYSTEM_CALLS = {
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "pidfd_open": 434, "pidfd_getfd": 438,
    "unshare": 272, "setns": 308, "pivot_root": 155, "chroot": 161, "move_mount": 429, "fsopen": 430, "open_tree": 428,
    "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425, "memfd_create": 319, "memfd_secret": 447,
    "keyctl": 250, "add_key": 248, "request_key": 249, "shmget": 29, "semget": 64, "msgget": 68, "mq_open": 240,
    "socket": 41, "connect": 42, "bind": 49, "inotify_init1": 294, "fanotify_init": 300, "open_by_handle_at": 304,
    "personality": 135, "quotactl": 179, "swapon": 167, "syslog": 103, "init_module": 175, "finit_module": 313,
    "delete_module": 176, "kexec_load": 246, "sethostname": 170, "settimeofday": 164, "adjtimex": 159, "acct": 163,
    "iopl": 172, "ioperm": 173, "modify_ldt": 154, "vmsplice": 278, "splice": 275, "tee": 276, "setxattr": 188,
    "mknod": 133, "seccomp": 317, "landlock_create_ruleset": 444, "vhangup": 153, "ioprio_set": 251, "migrate_pages": 256,
    "move_pages": 279, "sched_setattr": 314, "execve": 59, "fork": 57, "vfork": 58,
}  # fmt: skip

BOMBS = MEMORY + FILES + OUTPUT + PARSER + TIME + INTERPRETER


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.name)
def test_a_bomb_ends_as_it_must_and_hurts_nobody_else(
    bomb: Bomb, tight_pool: Pool, patient_pool: Pool
) -> None:
    pool = tight_pool if Outcome.TIMEOUT in bomb.ends else patient_pool
    worker = pool.pids
    execution = only(pool, bomb.source)
    assert execution.outcome in bomb.ends, execution
    assert execution.peak_bytes < LIMITS.memory_bytes + 32 * MEBIBYTE
    assert execution.attempts == 1
    assert pool.pids == worker
    assert is_healthy(pool)


@pytest.mark.skipif(
    sys.platform != "linux" or __import__("platform").machine() != "x86_64", reason="numbers of x86_64"
)
def test_the_filter_refuses_every_system_call_of_these(pool: Pool) -> None:
    source = (
        "import ctypes, errno\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "def attack(number):\n    done = libc.syscall(number, -1, 0, 0, 0, 0, 0)\n"
        "    return done, errno.errorcode.get(ctypes.get_errno())"
    )
    programs = (
        Program(name, source, "attack", ({"number": number},)) for name, number in SYSTEM_CALLS.items()
    )
    said = {execution.id: execution.texts for execution in pool.run(programs)}
    assert said == dict.fromkeys(SYSTEM_CALLS, ("(-1, 'EPERM')",))


def test_system_calls_of_another_architecture_end_the_program(pool: Pool) -> None:
    """32-bit calls by way of `int 0x80` have other numbers, which a filter for 64 bits would misread."""
    source = (
        "import ctypes, mmap\ncode = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)\n"
        "code.write(bytes.fromhex('b814000000cd80c3'))\n"  # getpid in the numbers of 32 bits
        "def attack():\n    address = ctypes.addressof(ctypes.c_char.from_buffer(code))\n"
        "    return ctypes.CFUNCTYPE(ctypes.c_int)(address)()"
    )
    execution = only(pool, source)
    assert execution.outcome in {Outcome.FORBIDDEN, Outcome.EXITED}
    assert is_healthy(pool)


#: What one program leaves, and what the next would see of it.
TRACES = {
    "a file": ("open('/tmp/trace', 'w').close()", "__import__('os').path.exists('/tmp/trace')"),
    "a hidden file": ("open('/tmp/.trace', 'w').close()", "__import__('os').listdir('/tmp') != []"),
    "a file of shared memory": ("open('/dev/shm/trace', 'w').close()", "__import__('os').listdir('/dev/shm') != []"),
    "a folder that nobody may enter": (
        "import os; os.makedirs('/tmp/t/t'); os.chmod('/tmp/t', 0)",
        "__import__('os').listdir('/tmp') != []",
    ),
    "a constant of mathematics": ("import math; math.pi = 3", "__import__('math').pi == 3"),
    "a builtin": ("import builtins; builtins.sum = len", "sum([5]) == 1"),
    "a method of a type": (
        "import ctypes, gc; gc.get_referents(str.__dict__)[0]['trace'] = 1; ctypes.pythonapi.PyType_Modified(ctypes.py_object(str))",
        "hasattr(str, 'trace')",
    ),
    "a module": ("import sys; sys.modules['trace_of'] = sys", "'trace_of' in __import__('sys').modules"),
    "a path": ("import sys; sys.path.insert(0, '/tmp')", "'/tmp' in __import__('sys').path"),
    "an import hook": ("import sys; sys.meta_path.insert(0, type('F', (), {'find_spec': None}))", "len(__import__('sys').meta_path) != 3"),
    "the environment": ("import os; os.environ['TRACE'] = '1'", "'TRACE' in __import__('os').environ"),
    "the state of random": ("import random; random.seed(5)", "__import__('random').random() == __import__('random').Random(5).random()"),
    "the working folder": ("import os; os.chdir('/')", "__import__('os').getcwd() == '/'"),
    "the mask for new files": ("import os; os.umask(0o777)", "__import__('os').umask(0o22) == 0o777"),
    "the limit of recursion": ("import sys; sys.setrecursionlimit(77)", "__import__('sys').getrecursionlimit() == 77"),
    "a handler of signals": ("import signal; signal.signal(10, signal.SIG_IGN)", "__import__('signal').getsignal(10) == 1"),
    "a limit": ("import resource; resource.setrlimit(4, (0, 0))", "__import__('resource').getrlimit(7)[0] < 10"),
    "a flag of its standard output": (
        "import fcntl, os; fcntl.fcntl(1, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)",
        "__import__('fcntl').fcntl(1, 3) & __import__('os').O_NONBLOCK != 0",
    ),
    "an alarm": ("import signal; signal.setitimer(0, 100)", "__import__('signal').getitimer(0)[0] > 0"),
    "the precision of decimals": ("import decimal; decimal.getcontext().prec = 3", "__import__('decimal').getcontext().prec == 3"),
    "a filter of warnings": ("import warnings; warnings.simplefilter('error')", "'error' in str(__import__('warnings').filters[:1])"),
}  # fmt: skip

#: Refused or void in itself even to a program alone, so that there is nothing to pass on.
VOID = {"a limit"}


def program_of(expression: str) -> str:
    return f"def attack():\n    return {expression}"


@pytest.mark.parametrize("trace", TRACES)
def test_nothing_of_a_program_reaches_the_next(trace: str, pool: Pool) -> None:
    leave, look = TRACES[trace]
    assert only(pool, program_of(look)).texts == ("False",)
    only(pool, f"def attack():\n    {leave}")
    assert only(pool, program_of(look)).texts == ("False",)


@pytest.mark.parametrize("trace", [trace for trace in TRACES if trace not in VOID])
def test_within_one_process_the_trace_is_seen(trace: str, pool: Pool) -> None:
    leave, look = TRACES[trace]
    assert only(pool, f"{leave}\n{program_of(look)}").texts == ("True",)


def test_the_interpreter_alone_says_how_many_bytes_programs_hide() -> None:
    """The scratch folder's bound is the kernel's, not a count of the worker's."""
    with jailed(LIMITS) as pool:
        source = (
            "import os\ndef attack():\n    written = 0\n    try:\n        for n in range(100):\n"
            "            with open(str(n), 'wb', buffering=0) as f:\n                written += f.write(bytes(10 ** 6))\n"
            "    except OSError:\n        pass\n    return written"
        )
        assert int(str(only(pool, source).texts[0])) <= LIMITS.scratch_bytes


@pytest.mark.thorough
def test_bombs_do_explode_without_limits() -> None:
    """A bomb in a process of its own, with nothing but a timeout around it, does what it says."""
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, "-S", "-c", f"{TIME[3].source}\nattack()"], timeout=1, check=False)
