"""Attacks on the machine: its files, its network, its processes."""

import fcntl
import os
import resource
import time
from pathlib import Path

import pytest
from sandbox_arena import (
    Arena,
    Attack,
    changes_files,
    is_healthy,
    is_heard,
    kills_the_victim,
    leaves_processes,
    names,
    only,
    says_so,
    tells_the_secret,
)

from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Check, Outcome

FILES = [
    Attack("read a file", "def attack():\n    return open('@FOLDER@/secret').read()", tells_the_secret),
    Attack("read a file by way of the root of process 1", "def attack():\n    return open('/proc/1/root@FOLDER@/secret').read()", tells_the_secret, safe=False),  # only root may
    Attack("climb out of the working folder", "def attack():\n    return open('../' * 40 + '@FOLDER@'.lstrip('/') + '/secret').read()", tells_the_secret),
    Attack("read through a symbolic link", "import os\ndef attack():\n    os.symlink('@FOLDER@/secret', 'link')\n    return open('link').read()", tells_the_secret),
    Attack("read with the raw system call", "import ctypes, os\ndef attack():\n    fd = ctypes.CDLL(None).open(b'@FOLDER@/secret', 0)\n    return os.read(fd, 100)", tells_the_secret),
    Attack("import a file as a module", "import runpy\ndef attack():\n    runpy.run_path('@FOLDER@/secret')", tells_the_secret),
    Attack("list a folder", "import os\ndef attack():\n    return 'GOT THROUGH' if os.listdir('@FOLDER@') else ''", says_so),
    Attack("read the accounts", "def attack():\n    return 'GOT THROUGH' if 'root:' in open('/etc/passwd').read() else ''", says_so),
    Attack("overwrite", "def attack():\n    open('@FOLDER@/precious', 'w').write('gone')", changes_files),
    Attack("append", "def attack():\n    open('@FOLDER@/precious', 'a').write('gone')", changes_files),
    Attack("truncate", "import os\ndef attack():\n    os.truncate('@FOLDER@/precious', 0)", changes_files),
    Attack("delete", "import os\ndef attack():\n    os.unlink('@FOLDER@/precious')", changes_files),
    Attack("rename", "import os\ndef attack():\n    os.rename('@FOLDER@/precious', '@FOLDER@/mine')", changes_files),
    Attack("create", "def attack():\n    open('@FOLDER@/new', 'w').write('new')", changes_files),
    Attack("change the mode", "import os\ndef attack():\n    os.chmod('@FOLDER@/precious', 0o777)", changes_files),
    Attack("link", "import os\ndef attack():\n    os.link('@FOLDER@/precious', '@FOLDER@/second')", changes_files),
    Attack("lock a file for itself", "import fcntl\ndef attack():\n    fcntl.flock(open('/dev/null'), fcntl.LOCK_EX | fcntl.LOCK_NB)\n    return 'GOT THROUGH'", says_so),
    Attack("make a folder", "import os\ndef attack():\n    os.mkdir('@FOLDER@/folder')", changes_files),
    Attack("delete everything", "import shutil\ndef attack():\n    shutil.rmtree('@FOLDER@')", changes_files),
    Attack("write into the standard library", "import os, random\ndef attack():\n    open(random.__file__, 'a').close()\n    return 'GOT THROUGH'", says_so, safe=False),
    Attack(
        "write beside the worker's own code",
        "import os, sys\ndef attack():\n    h = sys.modules['merilo.sandbox.inside.harness'].__file__\n"
        "    open(os.path.dirname(h) + '/evil.py', 'w').close()\n    return 'GOT THROUGH'",
        says_so,
        safe=False,
    ),
    Attack("make a folder at the root", "import os\ndef attack():\n    os.mkdir('/mine')\n    return 'GOT THROUGH'", says_so, safe=False),
    Attack("write into /dev", "def attack():\n    open('/dev/mine', 'w').close()\n    return 'GOT THROUGH'", says_so, safe=False),
    Attack("mount over a folder", "import ctypes\ndef attack():\n    return 'GOT THROUGH' if ctypes.CDLL(None).mount(b't', b'/tmp', b'tmpfs', 0, None) == 0 else ''", says_so, safe=False),
    Attack("undo the worker's mounts", "import ctypes\ndef attack():\n    return 'GOT THROUGH' if ctypes.CDLL(None).umount2(b'/tmp', 2) == 0 else ''", says_so, safe=False),
    Attack("change the root", "import os\ndef attack():\n    os.mkdir('r')\n    os.chroot('r')\n    return 'GOT THROUGH'", says_so, safe=False),
    Attack("make a device", "import os, stat\ndef attack():\n    os.mknod('disk', 0o600 | stat.S_IFBLK, os.makedev(254, 0))\n    return 'GOT THROUGH'", says_so, safe=False),
]  # fmt: skip

NETWORK = [
    Attack(
        "connect to a port of this machine",
        "import socket\ndef attack():\n    s = socket.create_connection(('127.0.0.1', @PORT@), 2)\n    s.sendall(b'x')\n    return s.recv(100)",
        is_heard,
    ),
    Attack(
        "send a datagram and wait for the machine to take it",
        "import socket\ndef attack():\n    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n    s.sendto(b'x', ('127.0.0.1', @PORT@))\n"
        "    t = socket.create_connection(('127.0.0.1', @PORT@), 2)\n    t.sendall(b'x')\n    return t.recv(100)",
        is_heard,
    ),
    Attack("fetch a page", "import urllib.request\ndef attack():\n    return urllib.request.urlopen('http://127.0.0.1:@PORT@/', timeout=2).read()", tells_the_secret),
    Attack(
        "connect to a socket in a folder",
        "import os, socket\ndef attack():\n    os.chdir('@FOLDER@')\n    s = socket.socket(socket.AF_UNIX)\n    s.connect('socket')\n    s.sendall(b'x')\n    return s.recv(100)",
        is_heard,
    ),
    Attack(
        "connect to a socket that has only a name",
        "import socket\ndef attack():\n    s = socket.socket(socket.AF_UNIX)\n    s.connect('\\0@NAME@')\n    s.sendall(b'x')\n    return s.recv(100)",
        is_heard,
    ),
    Attack("listen on a port", "import socket\ndef attack():\n    socket.create_server(('127.0.0.1', 0)).close()\n    return 'GOT THROUGH'", says_so),
    Attack("open a raw socket", "import socket\ndef attack():\n    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)\n    return 'GOT THROUGH'", says_so, safe=False),
    Attack("ask the kernel for its network", "import socket\ndef attack():\n    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()\n    return 'GOT THROUGH'", says_so),
]  # fmt: skip

SYSTEM_CALL = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"

PROCESSES = [
    Attack("kill", "import os\ndef attack():\n    os.kill(@VICTIM@, 9)", kills_the_victim),
    Attack("kill everybody", "import os\ndef attack():\n    assert os.getpid() == 1\n    os.kill(-1, 9)", kills_the_victim, safe=False),
    Attack("kill the group", "import os\ndef attack():\n    assert os.getpid() == 1\n    os.killpg(0, 9)", kills_the_victim, safe=False),
    Attack("kill by descriptor", "import os, signal\ndef attack():\n    signal.pidfd_send_signal(os.pidfd_open(@VICTIM@), 9)", kills_the_victim),
    Attack("read another's environment", "def attack():\n    return open('/proc/@VICTIM@/environ').read()", tells_the_secret),
    Attack("slow another down", "import os\ndef attack():\n    os.setpriority(os.PRIO_PROCESS, @VICTIM@, 19)", lambda arena, _: os.getpriority(os.PRIO_PROCESS, arena.victim.pid) == 19),
    Attack(
        "take files from another",
        "import resource\ndef attack():\n    resource.prlimit(@VICTIM@, resource.RLIMIT_NOFILE, (9, 9))",
        lambda arena, _: resource.prlimit(arena.victim.pid, resource.RLIMIT_NOFILE) == (9, 9),
    ),
    Attack(
        "trace another",
        SYSTEM_CALL
        + "def attack():\n    return 'GOT THROUGH' if libc.ptrace(16, @VICTIM@, 0, 0) == 0 else ''",
        says_so,
    ),
    Attack(
        "leave a daemon",
        SYSTEM_CALL + "import os, time\ndef attack():\n"
        "    ready, done = os.pipe()\n"
        "    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n"
        "            libc.prctl(15, b'@NAME@', 0, 0, 0)\n            os.write(done, b'x')\n            time.sleep(30)\n"
        "        os._exit(0)\n"
        "    os.read(ready, 1)",
        leaves_processes,
    ),
    Attack(
        "become another program that stays",
        "import os, sys\ndef attack():\n    ready, done = os.pipe()\n    os.set_inheritable(done, True)\n"
        '    code = \'import ctypes, os, time; os.setsid(); ctypes.CDLL(None).prctl(15, b"@NAME@", 0, 0, 0); os.write(%d, b"x"); time.sleep(30)\'\n'
        "    os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, '-S', '-c', code % done])\n"
        "    os.close(done)\n    os.read(ready, 1)",
        leaves_processes,
    ),
    Attack(
        "leave a thread",
        SYSTEM_CALL
        + "import threading, time\ndef run():\n    libc.prctl(15, b'@NAME@', 0, 0, 0)\n    time.sleep(30)\n"
        "def attack():\n    threading.Thread(target=run).start()",
        leaves_processes,
        safe=False,  # the worker ends the process in any case
    ),
    Attack("fork without end", "import os\ndef attack():\n    while True:\n        os.fork()", leaves_processes, safe=False),
    Attack(
        "fork children that fork and will not die",
        SYSTEM_CALL + "import os, signal\nlibc.prctl(15, b'@NAME@', 0, 0, 0)\n"
        "def attack():\n    for number in range(1, 65):\n        if number not in (9, 19, 32, 33):\n            signal.signal(number, signal.SIG_IGN)\n"
        "    while True:\n        try:\n            os.fork()\n        except OSError:\n            pass",
        leaves_processes,
        safe=False,
    ),
]  # fmt: skip


ATTACKS = FILES + NETWORK + PROCESSES


def is_out_of_reach(attack: Attack, pool: Pool, arena: Arena) -> bool:
    """Whether the attack did no harm, neither what it meant nor any other, and the pool works on."""
    return (
        not attack.on(pool, arena)
        and arena.is_untouched()
        and arena.heard == []
        and arena.victim.poll() is None
        and arena.strangers() == []
        and is_healthy(pool)
    )


@pytest.mark.parametrize("attack", ATTACKS, ids=names(ATTACKS))
def test_the_machine_is_out_of_reach(attack: Attack, pool: Pool, arena: Arena) -> None:
    assert is_out_of_reach(attack, pool, arena)


@pytest.mark.thorough
@pytest.mark.parametrize("attack", PROCESSES, ids=names(PROCESSES))
def test_the_machine_is_out_of_reach_of_a_program_that_may_be_several(
    attack: Attack, roomy_pool: Pool, arena: Arena
) -> None:
    assert is_out_of_reach(attack, roomy_pool, arena)


REAL = [attack for attack in ATTACKS if attack.safe]


@pytest.mark.parametrize("attack", REAL, ids=names(REAL))
def test_without_a_jail_the_attack_does_harm(attack: Attack, open_pool: Pool, arena: Arena) -> None:
    assert attack.on(open_pool, arena)


def test_a_program_changes_nothing_of_the_devices_it_is_given(pool: Pool) -> None:
    """A program that may write to a device may also set the times of its file on this machine."""
    devices = ["/dev/null", "/dev/full", "/dev/random", "/dev/urandom"]
    before = [Path(device).stat().st_mode for device in devices]
    for device in devices:
        for deed in (f"os.utime({device!r})", f"os.chmod({device!r}, 0o777)", f"os.chown({device!r}, -1, 1)"):
            assert only(pool, f"import os\ndef attack():\n    {deed}").outcome is Outcome.FORBIDDEN, deed
    assert only(pool, "def attack():\n    return open('/dev/null', 'w').write('taken')").texts == ("5",)
    assert [Path(device).stat().st_mode for device in devices] == before


def test_a_program_leaves_no_lock_on_what_the_machine_and_its_neighbours_have_open(pool: Pool) -> None:
    """A lock on a descriptor that a program shares with its worker would outlive it."""
    if not is_free("/dev/null", seconds=0):
        pytest.skip("somebody else on this machine holds a lock on /dev/null")
    leave = "import fcntl, os, struct\nanyone = struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 0, 0)\n"
    for deed in ("fcntl.flock(1, fcntl.LOCK_EX)", "fcntl.fcntl(1, 37, anyone)"):
        assert only(pool, f"{leave}def attack():\n    {deed}").outcome is Outcome.FORBIDDEN
        assert is_free("/dev/null", seconds=20)


def is_free(path: str, seconds: float) -> bool:
    """Return whether the file is unlocked within a short time; other processes of this machine may lock it briefly."""
    end = time.monotonic() + seconds
    while True:
        with Path(path).open("w") as ours:
            try:
                fcntl.flock(ours, fcntl.LOCK_EX | fcntl.LOCK_NB)
                fcntl.lockf(ours, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= end:
                    return False
            else:
                return True


@pytest.mark.thorough
@pytest.mark.parametrize(
    "test", [({},), Check("def check(candidate):\n    assert candidate() == []")], ids=["calls", "check"]
)
def test_a_program_finds_no_descriptor_but_nothing_and_the_one_it_answers_on(
    test: tuple[dict[str, object], ...] | Check, pool: Pool
) -> None:
    source = (
        "import os, stat\ndef attack():\n    found = []\n    for number in range(3, 4096):\n"
        "        try:\n            mode = os.fstat(number).st_mode\n        except OSError:\n            continue\n"
        "        found.append('answers' if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else oct(mode))\n"
        "    found.remove('answers')\n    return found"
    )
    execution = only(pool, source, test)
    assert execution.outcome is Outcome.COMPLETED
    assert execution.texts in {("[]",), ()}
