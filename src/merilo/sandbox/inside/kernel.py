"""The system calls that the standard library lacks, bound once so that a forked child touches few pages."""

from __future__ import annotations

import ctypes
import os
import signal

CLONE_NEWNS = 0x0002_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWUSER = 0x1000_0000
CLONE_NEWPID = 0x2000_0000

_SYS_CLONE = {"x86_64": 56, "aarch64": 220}
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x2008_0522
_MS_NOSUID_NODEV_NOATIME = 2 | 4 | 1024
_MS_REMOUNT_BIND_RDONLY = 32 | 4096 | 1
_MS_NOEXEC = 8
_MS_RELATIME = 1 << 21
_MS_BIND = 4096
_MS_MOVE = 8192
_MS_PRIVATE_ALL = 0x4000 | 0x4_0000
_MNT_DETACH = 2


class _CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


class Kernel:
    """System calls, with `OSError` where they fail."""

    def __init__(self) -> None:
        # PyDLL keeps the interpreter's lock during the call: `clone` must come back to the thread that holds it.
        self._libc = ctypes.PyDLL(None, use_errno=True)
        self._syscall = self._libc.syscall
        self._syscall.restype = ctypes.c_long
        self._syscall.argtypes = [ctypes.c_long] * 6
        self._capset = self._libc.capset
        self._no_capabilities = (
            ctypes.byref(_CapabilityHeader(_CAPABILITY_VERSION_3, 0)),
            (ctypes.c_uint32 * 6)(),
        )
        self._clone_number = _SYS_CLONE.get(os.uname().machine)
        self._before_fork = ctypes.pythonapi.PyOS_BeforeFork
        self._after_fork_parent = ctypes.pythonapi.PyOS_AfterFork_Parent
        self._after_fork_child = ctypes.pythonapi.PyOS_AfterFork_Child
        for function in (self._before_fork, self._after_fork_parent, self._after_fork_child):
            function.restype = None

    def fork_into_new_pid_namespace(self) -> int:
        """`os.fork`, with the child as the first process of a PID namespace: with it dies everything that it starts.

        `clone` itself and not `unshare` before `fork`: a process gets only one `unshare`, and a filter can allow
        nobody to fork but this call, which the kernel refuses to whoever lacks the capability.
        """
        if self._clone_number is None:
            raise OSError(f"no number is known for clone on {os.uname().machine}")
        self._before_fork()
        pid = int(self._syscall(self._clone_number, CLONE_NEWPID | signal.SIGCHLD, 0, 0, 0, 0))
        if pid == 0:
            self._after_fork_child()
            return 0
        error = ctypes.get_errno()
        self._after_fork_parent()
        if pid < 0:
            raise OSError(error, os.strerror(error))
        return pid

    def unshare(self, flags: int) -> None:
        """Leave the namespaces that the flags name for new ones."""
        self._do("unshare", flags)

    def keep_mounts_private(self) -> None:
        """What is mounted from here on is seen in this process's mount namespace alone."""
        self._do("mount", None, b"/", None, _MS_PRIVATE_ALL, None)

    def mount_scratch(self, path: str, size: int, files: int) -> None:
        """An empty folder in memory on `path`, of bounded size and number of files."""
        options = f"size={size},nr_inodes={files},mode=1777".encode()
        self._do("mount", b"tmpfs", path.encode(), b"tmpfs", _MS_NOSUID_NODEV_NOATIME, options)

    def cover(self, path: str, kept: list[str], by_way_of: str) -> None:
        """Put an empty read-only folder in the place of one, with some of what was in it.

        Args:
            path: the folder.
            kept: paths below it; folders are kept as empty ones.
            by_way_of: an empty folder that can be written to.
        """
        self._do(
            "mount", b"tmpfs", by_way_of.encode(), b"tmpfs", _MS_NOSUID_NODEV_NOATIME, b"size=64k,mode=755"
        )
        for old in kept:
            new = f"{by_way_of}{old[len(path) :]}"
            if os.path.isdir(old):
                os.mkdir(new)
            elif os.path.exists(old):
                os.close(os.open(new, os.O_CREAT | os.O_WRONLY))
                self._do("mount", old.encode(), new.encode(), None, _MS_BIND, None)
        self._do("mount", by_way_of.encode(), path.encode(), None, _MS_MOVE, None)
        self.seal(path)

    def seal(self, path: str) -> None:
        """Make a mount read-only: a device still takes what is written, but nobody changes the file that stands for it.

        The flags that the mount has already are given again: without them the kernel refuses.
        """
        has = os.statvfs(path).f_flag
        kept = has & (_MS_NOSUID_NODEV_NOATIME | _MS_NOEXEC) | (_MS_RELATIME if has & os.ST_RELATIME else 0)
        self._do("mount", None, path.encode(), None, _MS_REMOUNT_BIND_RDONLY | kept, None)

    def unmount(self, path: str) -> None:
        """Take away what is mounted on `path`, whoever still holds it."""
        self._do("umount2", path.encode(), _MNT_DETACH)

    def drop_capabilities(self) -> None:
        """Give up every capability, for good."""
        if self._capset(*self._no_capabilities):
            raise OSError(ctypes.get_errno(), "capset")

    def gain_no_privileges(self) -> None:
        """No program that is executed from here on gets more rights than this process has."""
        self._do("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)

    def hide(self) -> None:
        """Close `/proc/PID` of this process and its children to all that share the user's name."""
        self._do("prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0)

    def die_with_parent(self) -> None:
        """SIGKILL when the parent ends."""
        self._do("prctl", _PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)

    def install_filter(self, instructions: bytes) -> None:
        """Let the kernel ask this filter about every system call of this process and its children, for good."""
        buffer = ctypes.create_string_buffer(instructions, len(instructions))
        program = _FilterProgram(len(instructions) // 8, ctypes.cast(buffer, ctypes.c_void_p))
        self._do("prctl", _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)

    def _do(self, name: str, *arguments: object) -> None:
        if getattr(self._libc, name)(*arguments) < 0:
            error = ctypes.get_errno()
            raise OSError(error, f"{name}: {os.strerror(error)}")
