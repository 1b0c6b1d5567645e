"""The doctor's hostile programs.

Each defines `probe()`. A probe does no damage even if the jail fails: it attacks only the doctor's targets, undoes its
changes, and ends by itself. `@FOLDER@`, `@PORT@` and `@PID@` are replaced by the doctor's targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from merilo.sandbox.program import Outcome


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

    Attributes:
        family: what it attacks.
        claim: the property of the jail that it tests.
        source: source that defines `probe()`, which returns `None` or raises if the attack failed.
        sign: the sign of a successful attack; or, if the jail must end the program, the outcomes of which one
            must occur.
    """

    family: str
    claim: str
    source: str
    sign: Sign | frozenset[Outcome]


#: Helper for probes: `tried` calls the C library and returns the call's name if it succeeded.
_C: Final = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def tried(name, *arguments):
    return name if getattr(libc, name)(*arguments) >= 0 else None
"""

_FILES: Final = (
    Probe("files", "a file of this machine cannot be read", """
def probe():
    return open("@FOLDER@/secret").read()
""", Sign.SECRET),
    Probe("files", "a file cannot be read through another process's root", """
def probe():
    return open("/proc/1/root@FOLDER@/secret").read()
""", Sign.SECRET),
    Probe("files", "a file cannot be read through a link", """
import os
def probe():
    os.symlink("@FOLDER@/secret", "link")
    return open("link").read()
""", Sign.SECRET),
    Probe("files", "a file of this machine cannot be written", """
def probe():
    open("@FOLDER@/open", "w").write("x")
""", Sign.FOLDER),
    Probe("files", "a file of this machine cannot be created", """
def probe():
    open("@FOLDER@/new", "w").close()
""", Sign.FOLDER),
    Probe("files", "a file of this machine cannot be locked", """
import fcntl, random
def probe():
    fcntl.flock(open(random.__file__), fcntl.LOCK_SH | fcntl.LOCK_NB)
    return "a lock"
""", Sign.ANSWER),
    Probe("files", "accounts, settings and home folders are not visible", """
import os, sys
def probe():
    found = [path for path in ("/etc/passwd", "/etc/hosts", "/proc/self/environ") if os.path.exists(path)]
    for folder in ("/home", "/root", "/proc", "/sys", "/var"):
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            if not (sys.base_prefix + "/").startswith(path + "/"):  # the way to Python itself
                found.append(path)
    return found or None
""", Sign.ANSWER),
    Probe("files", "the system is read-only", """
import os, random
def probe():
    for folder in ("", "/dev", "/etc", "/usr/lib", "/merilo", os.path.dirname(random.__file__)):
        path = folder + "/merilo-doctor-was-here"
        try:
            open(path, "w").close()
        except OSError:
            continue
        os.unlink(path)
        return folder or "/"
""", Sign.ANSWER),
    Probe("files", "the devices hold no data", """
import os, stat
def probe():
    harmless = {(1, minor) for minor in (3, 7, 8, 9)}
    for name in os.listdir("/dev"):
        found = os.stat("/dev/" + name)
        device = os.major(found.st_rdev), os.minor(found.st_rdev)
        if not stat.S_ISDIR(found.st_mode) and not (stat.S_ISCHR(found.st_mode) and device in harmless):
            return name
""", Sign.ANSWER),
    Probe("files", "a device cannot be changed, not even its times", """
import os
def probe():
    found = os.stat("/dev/null")
    os.utime("/dev/null", ns=(found.st_atime_ns, found.st_mtime_ns))
    return "the times of /dev/null"
""", Sign.ANSWER),
)  # fmt: skip

_NETWORK: Final = (
    Probe("network", "a port of this machine cannot be reached", """
import socket
def probe():
    socket.create_connection(("127.0.0.1", @PORT@), 1)
""", Sign.CALL),
    Probe("network", "a socket in a folder of this machine cannot be reached", """
import os, socket
def probe():
    os.chdir("@FOLDER@")
    socket.socket(socket.AF_UNIX).connect("socket")
""", Sign.CALL),
    Probe("network", "no socket can be created", """
import socket
def probe():
    socket.socket()
    return "a socket"
""", Sign.ANSWER),
)  # fmt: skip

_PROCESSES: Final = (
    Probe("processes", "a process of this machine cannot be killed", """
import os
def probe():
    os.kill(@PID@, 9)
""", Sign.DEATH),
    Probe("processes", "a process's environment cannot be read", """
def probe():
    return open("/proc/@PID@/environ").read()
""", Sign.SECRET),
    Probe("processes", "a program is process 1 of its own namespace", """
import os
def probe():
    return None if (os.getpid(), os.getppid()) == (1, 0) else "it is process %d" % os.getpid()
""", Sign.ANSWER),
    Probe("processes", "a program cannot start a process", """
import os
def probe():
    if os.fork() == 0:
        os._exit(0)
    return "a process"
""", Sign.ANSWER),
    Probe("processes", "a program cannot execute another program", """
import os, sys
def probe():
    os.execv(sys.executable, [sys.executable, "-c", ""])
""", frozenset({Outcome.FORBIDDEN})),
)  # fmt: skip

_PRIVILEGES: Final = (
    Probe("privileges", "a program has no capabilities", _C + """
def probe():
    capabilities = (ctypes.c_uint32 * 6)()
    libc.capget((ctypes.c_uint32 * 2)(0x20080522, 0), capabilities)
    return list(capabilities) if any(capabilities) else None
""", Sign.ANSWER),
    Probe("privileges", "a program cannot create a user namespace", _C + """
def probe():
    return tried("unshare", 0x10000000)
""", Sign.ANSWER),
    Probe("privileges", "a program cannot mount anything", _C + """
def probe():
    os.mkdir("m")
    mounted = tried("mount", b"t", b"m", b"tmpfs", 0, None)
    if mounted:
        libc.umount2(b"m", 2)
    return mounted
""", Sign.ANSWER),
    Probe("privileges", "a program cannot trace a process", _C + """
def probe():
    return tried("ptrace", 0, 0, 0, 0)
""", Sign.ANSWER),
    Probe("privileges", "the system-call filter is active", """
import os
def probe():
    os.close(os.memfd_create("x"))
    return "memfd_create"
""", Sign.ANSWER),
    Probe("privileges", "a program cannot become root", """
import os
def probe():
    os.setuid(0)
    return "root"
""", Sign.ANSWER),
)  # fmt: skip

_LIMITS: Final = (
    Probe("limits", "memory is limited", """
def probe():
    kept = [bytes(2 ** 26) for _ in range(32)]
""", frozenset({Outcome.MEMORY})),
    Probe("limits", "no memory outlives its mapping", """
import mmap
def probe():
    mmap.mmap(-1, 4096)
    return "shared memory"
""", Sign.ANSWER),
    Probe("limits", "time is limited", """
import time
def probe():
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            while time.monotonic() < end:
                pass
        except BaseException:
            pass
""", frozenset({Outcome.TIMEOUT})),
    Probe("limits", "output is limited", """
def probe():
    return "x" * 10 ** 8
""", frozenset({Outcome.OUTPUT})),
    Probe("limits", "the number of threads is limited", """
import threading, time
def probe():
    for _ in range(300):
        threading.Thread(target=time.sleep, args=(1,)).start()
""", frozenset({Outcome.EXCEPTION, Outcome.MEMORY})),
    Probe("limits", "the number of descriptors is limited", """
def probe():
    kept = [open("/dev/null") for _ in range(900)]
""", frozenset({Outcome.EXCEPTION})),
    Probe("limits", "the size of a file is limited", """
def probe():
    with open("f", "wb", buffering=0) as file:
        for _ in range(256):
            file.write(bytes(2 ** 20))
""", frozenset({Outcome.EXCEPTION, Outcome.EXITED})),
    Probe("limits", "the size of the scratch folder is limited", """
def probe():
    for number in range(256):
        open(str(number), "wb").write(bytes(2 ** 20))
""", frozenset({Outcome.EXCEPTION})),
    Probe("limits", "a source that crashes the parser affects nothing else",
          "x = " + "-(" * 50_000 + ")" * 50_000, frozenset({Outcome.SYNTAX_ERROR, Outcome.MEMORY, Outcome.EXITED})),
)  # fmt: skip

PROBES: Final = _FILES + _NETWORK + _PROCESSES + _PRIVILEGES + _LIMITS

#: A kind of trace, the statement that leaves it, and the expression by which the next program could find it.
TRACES: Final = (
    (
        "files",
        "open('/tmp/x', 'w').close(); open('/dev/shm/x', 'w').close()",
        "__import__('os').listdir('/tmp') + __import__('os').listdir('/dev/shm') or None",
    ),
    (
        "the scratch folder's mode and times",
        "import os; os.utime('/tmp', (1, 1)); os.chmod('/tmp', 0)",
        "[found.st_mode & 0o7777, found.st_mtime] if (found := "
        "__import__('os').stat('/tmp')).st_mode & 0o7777 != 0o1777 or found.st_mtime < 2 else None",
    ),
    ("modules", "import math; math.pi = 3", "'a changed pi' if __import__('math').pi == 3 else None"),
    (
        "the state of random",
        "import random; random.seed(5)",
        "'the seed' if __import__('random').random() == __import__('random').Random(5).random() else None",
    ),
    ("the environment", "import os; os.environ['X'] = 'x'", "__import__('os').environ.get('X')"),
)

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
