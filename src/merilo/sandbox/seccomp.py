"""The seccomp filter for the system calls of jailed programs.

The filter is an allow list: the calls for files, memory, time, signals and threads that a Python interpreter
and numeric libraries need. It refuses all other calls with `EPERM`: sockets (except socket pairs), tracing,
other processes' memory, namespaces, keys, shared memory that outlasts its creator or its mapping, anonymous
files, kernel modules, BPF, io_uring and clocks. Calls of later kernels get `ENOSYS`. Unless a program may use
several processes, it can neither fork nor
execute: `clone` is allowed only for threads and in the one form that the worker uses, which the kernel refuses to a
process without the capability.

The filter is classic BPF, assembled here; the worker installs it. Numbers: the kernel's `unistd` tables.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Mapping
from itertools import groupby
from typing import Final

#: name=number on x86_64/number on aarch64, "-" if the architecture lacks the call.
_ALLOWED: Final = {
    "files": """
        read=0/63 write=1/64 readv=19/65 writev=20/66 pread64=17/67 pwrite64=18/68 preadv=295/69 pwritev=296/70
        preadv2=327/286 pwritev2=328/287 open=2/- openat=257/56 openat2=437/437 creat=85/- close=3/57
        close_range=436/436 lseek=8/62 stat=4/- fstat=5/80 lstat=6/- newfstatat=262/79 statx=332/291 access=21/-
        faccessat=269/48 faccessat2=439/439 readlink=89/- readlinkat=267/78 getdents=78/- getdents64=217/61
        getcwd=79/17 chdir=80/49 fchdir=81/50 rename=82/- renameat=264/38 renameat2=316/276 mkdir=83/- mkdirat=258/34
        rmdir=84/- unlink=87/- unlinkat=263/35 link=86/- linkat=265/37 symlink=88/- symlinkat=266/36 chmod=90/-
        fchmod=91/52 fchmodat=268/53 truncate=76/45 ftruncate=77/46 fallocate=285/47
        dup=32/23 dup2=33/- dup3=292/24 utimensat=280/88 utime=132/- utimes=235/- umask=95/166
        statfs=137/43 fstatfs=138/44 fadvise64=221/223
    """,
    "waiting": """
        pipe=22/- pipe2=293/59 select=23/- pselect6=270/72 poll=7/- ppoll=271/73 epoll_create=213/-
        epoll_create1=291/20 epoll_ctl=233/21 epoll_wait=232/- epoll_pwait=281/22 epoll_pwait2=441/441 eventfd=284/-
        eventfd2=290/19 timerfd_create=283/85 timerfd_settime=286/86 timerfd_gettime=287/87
    """,
    "messages": """
        recvmsg=47/212 recvfrom=45/207 shutdown=48/210
        getsockopt=55/209 getsockname=51/204 getpeername=52/205
    """,
    "memory": """
        munmap=11/215 mprotect=10/226 mremap=25/216 madvise=28/233 brk=12/214 mincore=27/232
        membarrier=324/283
    """,
    "signals": """
        rt_sigaction=13/134 rt_sigprocmask=14/135 rt_sigreturn=15/139 rt_sigpending=127/136 rt_sigtimedwait=128/137
        rt_sigsuspend=130/133 sigaltstack=131/132 kill=62/129 tgkill=234/131 tkill=200/130 pause=34/- alarm=37/-
        getitimer=36/102 setitimer=38/103 restart_syscall=219/128 signalfd4=289/74
    """,
    "time": """
        nanosleep=35/101 clock_nanosleep=230/115 clock_gettime=228/113 clock_getres=229/114 gettimeofday=96/169
        time=201/- times=100/153 timer_create=222/107 timer_settime=223/110 timer_gettime=224/108
        timer_getoverrun=225/109 timer_delete=226/111
    """,
    "identity": """
        getpid=39/172 getppid=110/173 gettid=186/178 getuid=102/174 geteuid=107/175 getgid=104/176 getegid=108/177
        getresuid=118/148 getresgid=120/150 getgroups=115/158 getpgid=121/155 getpgrp=111/- getsid=124/156
        setsid=112/157 setpgid=109/154 getrlimit=97/163 setrlimit=160/164 prlimit64=302/261 getrusage=98/165
        uname=63/160 sysinfo=99/179 sched_yield=24/124 sched_getaffinity=204/123 sched_getparam=143/121
        sched_getscheduler=145/120 sched_get_priority_max=146/125 sched_get_priority_min=147/126 getpriority=140/141
        capget=125/90 getcpu=309/168 getrandom=318/278
    """,
    "threads": """
        futex=202/98 set_robust_list=273/99 set_tid_address=218/96 rseq=334/293 arch_prctl=158/- exit=60/93
        exit_group=231/94 wait4=61/260 waitid=247/95
    """,
    "worker": """
        mount=165/40 umount2=166/39 capset=126/91 setresuid=117/147 setresgid=119/149 setgroups=116/159
    """,
    "processes": """
        fork=57/- vfork=58/- execve=59/221 execveat=322/281
    """,
}

#: Skipped and reported as successful: a program's files lie in memory, so a sync would only load the machine's disk.
_IGNORED: Final = "fsync=74/82 fdatasync=75/83 msync=26/227"

#: Allowed only for programs that may use several processes.
_PROCESSES: Final = _ALLOWED.pop("processes")

#: Calls whose arguments decide.
_RULED: Final = """
    clone=56/220 prctl=157/167 ioctl=16/29 fcntl=72/25 socketpair=53/199 mmap=9/222 sendto=44/206 sendmsg=46/211
    clone3=435/435
"""

#: Calls with which a worker in a container makes its namespaces, before it installs the filter.
_BEFORE: Final = "seccomp unshare setuid setgid"

#: The highest system call number known when the table was written.
_LAST_KNOWN: Final = 462

_AUDIT_ARCHITECTURE: Final = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
_COLUMN: Final = {"x86_64": 0, "aarch64": 1}

_CLONE_THREAD: Final = 0x0001_0000
_CLONE_ANY_NAMESPACE: Final = 0x7E02_0000
_CLONE_OF_THE_WORKER: Final = 0x2000_0000 | 17
_PR_NAMES: Final = (15, 16)
_TERMINAL_AND_DESCRIPTOR: Final = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
#: Duplicates, flags, and a process's own locks, which SQLite takes. Leases and open-file locks are refused,
#: as `flock` is:
#: they would block other processes of the machine that open or lock the file. Larger pipes are refused
#: because they count
#: toward a limit that the kernel sets for a user on the whole machine.
_DESCRIPTOR_COMMANDS: Final = (0, 1, 2, 3, 4, 5, 6, 7, 1030, 1032)
_AF_UNIX: Final = 1
_MAP_SHARED: Final = 0x01
_MAP_ANONYMOUS: Final = 0x20
_MSG_OOB: Final = 0x01

_ALLOW: Final = 0x7FFF_0000
_KILL: Final = 0x8000_0000
_ERRNO: Final = 0x0005_0000

_LOAD: Final = 0x20
_JUMP_EQUAL: Final = 0x15
_JUMP_GREATER: Final = 0x25
_JUMP_NOT_LESS: Final = 0x35
_JUMP_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06

_NUMBER: Final = 0
_ARCHITECTURE: Final = 4
_ARGUMENTS: Final = 16


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Return an instruction of classic BPF; jumps count instructions from the next one."""
    return struct.pack("=HBBI", code, if_true, if_false, value)


def filter_for(*, several_processes: bool, machine: str | None = None) -> bytes:
    """Build the filter for a worker and its programs.

    Args:
        several_processes: whether a program may fork and execute.
        machine: the architecture as named by `platform.machine()`; by default, that of this machine.

    Returns:
        The instructions, 8 bytes each; empty for an architecture whose numbers are not in the table.

    Example:
        >>> len(filter_for(several_processes=False, machine="x86_64")) % 8
        0
        >>> filter_for(several_processes=False, machine="abacus")
        b''
    """
    name = machine or platform.machine()
    if name not in _COLUMN:
        return b""
    return b"".join(_instructions(name, several_processes))


def docker_profile() -> dict[str, object]:
    """Return the seccomp profile for a worker's container, in Docker's format.

    It allows the calls with which the worker creates namespaces; the worker's own filter forbids them to programs.
    """
    table = " ".join([*_ALLOWED.values(), _PROCESSES, _IGNORED, _RULED, _BEFORE])
    names = {entry.partition("=")[0] for entry in table.split()}
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": errno.EPERM,
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"],
        "syscalls": [{"names": sorted(names), "action": "SCMP_ACT_ALLOW"}],
    }


def _instructions(machine: str, several_processes: bool) -> list[bytes]:
    column = _COLUMN[machine]
    code = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_JUMP_EQUAL, _AUDIT_ARCHITECTURE[machine], if_true=1),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
    ]
    rules = {
        "clone": _clone_rules(several_processes),
        # No filter can read the flags of clone3, which lie in memory; with ENOSYS, glibc falls back to clone.
        "clone3": [_step(_RETURN, _ERRNO | errno.ENOSYS)],
        "prctl": _any_of(0, _PR_NAMES),
        "ioctl": _any_of(1, _TERMINAL_AND_DESCRIPTOR),
        "fcntl": _any_of(1, _DESCRIPTOR_COMMANDS),
        "socketpair": _any_of(0, (_AF_UNIX,)),
        # Shared anonymous memory is freed only when its last page is unmapped, so it would escape every limit.
        "mmap": _not_all_bits(3, _MAP_SHARED, _MAP_ANONYMOUS),
        # Out-of-band data is not needed here and has been used to exploit the kernel.
        "sendto": _not_all_bits(3, _MSG_OOB),
        "sendmsg": _not_all_bits(2, _MSG_OOB),
    }
    for name, number in _numbers(_RULED, column).items():
        code += [_step(_JUMP_EQUAL, number, if_false=len(rules[name])), *rules[name]]
    table = " ".join([*_ALLOWED.values(), _PROCESSES if several_processes else ""])
    code += _these(_numbers(table, column), _ALLOW)
    code += _these(_numbers(_IGNORED, column), _ERRNO)  # error number 0 reports success
    return [
        *code,
        _step(_JUMP_GREATER, _LAST_KNOWN, if_false=1),
        _step(_RETURN, _ERRNO | errno.ENOSYS),
        _step(_RETURN, _ERRNO | errno.EPERM),
    ]


def _any_of(argument: int, values: tuple[int, ...]) -> list[bytes]:
    code = [_step(_LOAD, _ARGUMENTS + 8 * argument)]
    for value in values:
        code += [_step(_JUMP_EQUAL, value, if_false=1), _step(_RETURN, _ALLOW)]
    return [*code, _step(_RETURN, _ERRNO | errno.EPERM)]


def _not_all_bits(argument: int, *bits: int) -> list[bytes]:
    jumps = [_step(_JUMP_ANY_BIT, bit, if_false=len(bits) - number) for number, bit in enumerate(bits)]
    return [
        _step(_LOAD, _ARGUMENTS + 8 * argument),
        *jumps,
        _step(_RETURN, _ERRNO | errno.EPERM),
        _step(_RETURN, _ALLOW),
    ]


def _clone_rules(several_processes: bool) -> list[bytes]:
    worker = [
        _step(_LOAD, _ARGUMENTS),
        _step(_JUMP_EQUAL, _CLONE_OF_THE_WORKER, if_false=1),
        _step(_RETURN, _ALLOW),
        _step(_JUMP_ANY_BIT, _CLONE_ANY_NAMESPACE, if_false=1),
        _step(_RETURN, _ERRNO | errno.EPERM),
    ]
    if several_processes:
        return [*worker, _step(_RETURN, _ALLOW)]
    return [
        *worker,
        _step(_JUMP_ANY_BIT, _CLONE_THREAD, if_false=1),
        _step(_RETURN, _ALLOW),
        _step(_RETURN, _ERRNO | errno.EPERM),
    ]


def _numbers(table: str, column: int) -> dict[str, int]:
    """Return the numbers of the calls of a table that the architecture has, by name."""
    entries = {
        name: both.split("/")[column] for name, _, both in (each.partition("=") for each in table.split())
    }
    return {name: int(number) for name, number in entries.items() if number != "-"}


def _these(numbers: Mapping[str, int], verdict: int) -> list[bytes]:
    """Return code that ends with a verdict for these numbers, compared by ranges."""
    code, ordered = [], sorted(numbers.values())
    # In a range, a number and its place differ by the same.
    for _, places in groupby(range(len(ordered)), key=lambda place: ordered[place] - place):
        first, *others = [ordered[place] for place in places]
        code += [
            _step(_JUMP_NOT_LESS, first, if_false=2),
            _step(_JUMP_GREATER, others[-1] if others else first, if_true=1),
            _step(_RETURN, verdict),
        ]
    return code
